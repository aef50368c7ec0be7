-- The ledger of model calls, and what they cost.

create or replace function maas.maas_add_calls(p_calls jsonb) returns void language plpgsql as $$
begin
  with owned as materialized (
    select r.user_id, r.try, r.kind, c.*, coalesce(c.cached, 0) as tokens_cached, coalesce(c.images, 0) as drawn,
      maas.maas_price(
        c.provider, c.model, c.tokens_in, coalesce(c.cached, 0), c.tokens_out, coalesce(c.images, 0)) as price
    from jsonb_to_recordset(p_calls) as c(
      run_id uuid, attempt int, stage text, round int, provider text, model text, role_name text, prompt_version int,
      request_hash text, reply text, calls jsonb, parts jsonb, finish text, attempts int,
      tokens_in int, tokens_out int, cached int, images int, ms real, first_ms real, error text)
    join maas.pipeline_runs r on r.id = c.run_id and r.attempt = c.attempt
      and (r.queue_state < 2 or r.updated_at > now() - interval '5 minutes')  -- later ones would miss the sums of days
    for key share of r  -- waits for an erasure in progress; a foreign key would refuse the whole batch
  ), noted as (
    insert into maas.llm_calls (
      run_id, try, stage, round, attempt, provider, model, role_name, prompt_version, request_hash,
      reply, calls, parts, finish, attempts, tokens_in, tokens_out, tokens_cached, images, price, ms, first_ms, error)
    select run_id, try, stage, round, attempt, provider, model, role_name, prompt_version, request_hash,
      reply, calls, parts, finish, attempts, tokens_in, tokens_out, tokens_cached, drawn, price, ms, first_ms, error
    from owned
    on conflict (run_id, try, stage, round) do update set
      attempt = excluded.attempt, request_hash = excluded.request_hash,
      provider = excluded.provider, model = excluded.model, reply = excluded.reply, calls = excluded.calls,
      parts = excluded.parts, finish = excluded.finish, attempts = llm_calls.attempts + excluded.attempts,
      ms = excluded.ms, first_ms = excluded.first_ms, error = excluded.error,
      tokens_in = llm_calls.tokens_in + excluded.tokens_in, tokens_out = llm_calls.tokens_out + excluded.tokens_out,
      tokens_cached = llm_calls.tokens_cached + excluded.tokens_cached, images = llm_calls.images + excluded.images,
      price = llm_calls.price + excluded.price
  )
  insert into maas.token_usage (user_id, day, tokens, price)
  select user_id, maas.maas_day(now()), sum(tokens_in + tokens_out), coalesce(sum(price), 0) from owned
  where tokens_in + tokens_out + drawn > 0 and kind <> 'trial'
  group by user_id order by user_id  -- in one order, so that two batches never deadlock
  on conflict (user_id, day) do update
    set tokens = token_usage.tokens + excluded.tokens, price = token_usage.price + excluded.price;
end
$$;
comment on function maas.maas_add_calls is 'Writes model calls, with their price, of runs that the caller still owns';

create or replace function maas.maas_pin_calls(p_run uuid, p_attempt int, p_calls jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_add_calls(p_calls);
  return exists (select from maas.pipeline_runs where id = p_run and attempt = p_attempt);
end
$$;
comment on function maas.maas_pin_calls is
  'Writes the calls of a round before the stage acts on them; false if another process has taken over the run';

create or replace function maas.maas_add_usage(p_user uuid, p_provider text, p_model text, p_in int, p_out int)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.token_usage (user_id, day, tokens, price)
  select p_user, maas.maas_day(now()), p_in + p_out, coalesce(maas.maas_price(p_provider, p_model, p_in, 0, p_out), 0)
  -- not of a user who was just erased
  where p_in + p_out > 0 and exists (select from maas.lsm_storage where user_id = p_user)
  on conflict (user_id, day) do update
    set tokens = token_usage.tokens + excluded.tokens, price = token_usage.price + excluded.price
$$;
comment on function maas.maas_add_usage is
  'Counts model calls that belong to no run, of the Compactor and of rebuilt facts, among what their user used today';

create or replace function maas.maas_price(
  p_provider text, p_model text, p_in int, p_cached int, p_out int, p_images int default 0)
returns bigint language sql stable as $$
  select round(
    (p_in - least(p_cached, p_in)) * p.input + least(p_cached, p_in) * coalesce(p.cached, p.input) + p_out * p.output
    + case p_images when 0 then 0 else p_images * p.image * 1000000 end)::bigint
  from maas.model_prices p where p.provider = p_provider and p_model like p.model order by length(p.model) desc limit 1
$$;
comment on function maas.maas_price is
  'Price in micro-dollars (dollars per million tokens are micro-dollars per token); null for a model without a price';

-- Limits a minute -----------------------------------------------------------------------------------------------------
--
-- Each request moves a time forward by what it may take of a minute. Where that time is more than 6 s ahead, the next
-- one waits: a tenth of a minute may be asked for at once. Who waits has taken its place already, so nobody is passed.

create or replace function maas.maas_take_call(
  p_name text, p_requests float8, p_tokens float8, p_size int, p_wait float8) returns float8
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz;
  one maas.model_limits;
  request interval := coalesce(make_interval(secs => 60 / p_requests), '0');
  ahead float8;  -- seconds
begin
  insert into maas.model_limits (name) values (p_name) on conflict do nothing;
  select * into one from maas.model_limits l where l.name = p_name for no key update;
  now_at := clock_timestamp();  -- behind the lock
  ahead := greatest(0, extract(epoch from greatest(one.blocked_until, now_at) - now_at),
    case when p_requests is not null then
      extract(epoch from greatest(one.requests_until, now_at) - now_at) - greatest(0, 6 - 60 / p_requests) end,
    case when p_tokens is not null then extract(epoch from greatest(one.tokens_until, now_at) - now_at) - 6 end);
  if ahead <= p_wait then
    update maas.model_limits l set requests_until = greatest(l.requests_until, now_at) + request,
      tokens_until = case when p_tokens is null then l.tokens_until
        else greatest(l.tokens_until, now_at) + make_interval(secs => 60 * p_size / p_tokens) end
    where l.name = p_name;
  end if;
  return ahead;
end
$$;
comment on function maas.maas_take_call is
  'Takes a call of p_size tokens from what a model may be asked a minute; null: no limit of that kind. Returns the '
  'seconds to wait before it is made; more than p_wait: nothing was taken';

create or replace function maas.maas_charge_tokens(p_name text, p_tokens float8, p_size int) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.model_limits l set tokens_until =
    greatest(l.tokens_until, clock_timestamp()) + make_interval(secs => 60 * p_size / p_tokens)
  where l.name = p_name
$$;
comment on function maas.maas_charge_tokens is
  'Takes p_size tokens more, or gives them back, once a reply says what it took; p_tokens is the limit of a minute';

create or replace function maas.maas_block_model(p_name text, p_seconds float8) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.model_limits (name) values (p_name) on conflict do nothing;
  update maas.model_limits l set blocked_until = clock_timestamp() + make_interval(secs => p_seconds)
  where l.name = p_name and l.blocked_until < clock_timestamp() + make_interval(secs => p_seconds - 1);
  if found then  -- orchestrators read it with the version of the assistants, which they see at every stage
    update maas.engine_settings set value = value::bigint + 1 where key = 'assistants_version';
  end if;
end
$$;
comment on function maas.maas_block_model is
  'Notes that a provider wants no call of a model for some seconds; all orchestrators learn of it';
