-- What model calls cost. Prices are rows that operators edit; what a call cost is fixed when it is written.
create table model_prices (
  provider varchar(50) not null,
  model text not null,
  input numeric not null check (input >= 0),
  cached numeric check (cached >= 0),
  output numeric not null check (output >= 0),
  updated_at timestamptz not null default now(),
  primary key (provider, model)
);
comment on table model_prices is 'Dollars per million tokens. Later changes do not touch what was already written: check them against your provider';
comment on column model_prices.model is 'A pattern for LIKE; the longest that fits counts';
comment on column model_prices.cached is 'Of input tokens that the provider had cached; null: as input';

insert into model_prices (provider, model, input, cached, output) values
  ('extractive', '%', 0, 0, 0), ('local', '%', 0, 0, 0),
  ('openai', 'gpt-4o%', 2.5, 1.25, 10), ('openai', 'gpt-4o-mini%', 0.15, 0.075, 0.6),
  ('openai', 'gpt-4.1%', 2, 0.5, 8), ('openai', 'gpt-4.1-mini%', 0.4, 0.1, 1.6), ('openai', 'gpt-4.1-nano%', 0.1, 0.025, 0.4),
  ('openai', 'gpt-5', 1.25, 0.125, 10), ('openai', 'gpt-5-20%', 1.25, 0.125, 10),
  ('openai', 'gpt-5-mini%', 0.25, 0.025, 2), ('openai', 'gpt-5-nano%', 0.05, 0.005, 0.4),
  ('openai', 'o3', 2, 0.5, 8), ('openai', 'o4-mini%', 1.1, 0.275, 4.4),
  ('openai', 'text-embedding-3-small%', 0.02, null, 0), ('openai', 'text-embedding-3-large%', 0.13, null, 0),
  ('gemini', 'gemini-2.5-pro%', 1.25, 0.125, 10), ('gemini', 'gemini-2.5-flash%', 0.3, 0.03, 2.5),
  ('gemini', 'gemini-2.5-flash-lite%', 0.1, 0.01, 0.4), ('gemini', 'gemini-2.0-flash%', 0.1, 0.025, 0.4),
  ('gemini', 'gemini-embedding-001%', 0.15, null, 0),
  ('anthropic', 'claude-opus-4-5%', 5, 0.5, 25), ('anthropic', 'claude-sonnet-4%', 3, 0.3, 15),
  ('anthropic', 'claude-haiku-4-5%', 1, 0.1, 5), ('anthropic', 'claude-3-5-haiku%', 0.8, 0.08, 4);

create function maas_price(p_provider text, p_model text, p_in int, p_cached int, p_out int) returns bigint language sql stable as $$
  select round((p_in - least(p_cached, p_in)) * p.input + least(p_cached, p_in) * coalesce(p.cached, p.input) + p_out * p.output)::bigint
  from model_prices p where p.provider = p_provider and p_model like p.model order by length(p.model) desc limit 1
$$;
comment on function maas_price is 'Micro-dollars (dollars per million tokens are micro-dollars per token); null for a model without a price';

alter table llm_calls add tokens_cached int not null default 0, add price bigint, add request_hash text, add calls jsonb, add parts jsonb;
comment on column llm_calls.tokens_cached is 'Those of tokens_in that the provider had cached';
comment on column llm_calls.price is 'Micro-dollars; null: model_prices knew no price';
comment on column llm_calls.request_hash is 'sha256 of the request as it was sent: the same request has the same';
comment on column llm_calls.calls is 'Tool calls that the model asked for';
comment on column llm_calls.parts is 'The provider''s own parts of a reply that must be sent back unchanged';

create table token_usage (
  user_id uuid not null,
  day date not null,
  tokens bigint not null,
  price bigint not null,
  primary key (user_id, day)
);
comment on table token_usage is 'What the model calls of a user''s runs took on a day (MAAS_TIMEZONE): tokens in and out, known prices in micro-dollars';

create or replace function maas_add_calls(p_calls jsonb) returns void language plpgsql as $$
begin
  with said as materialized (
    select r.user_id, r.try, c.*, coalesce(c.cached, 0) as tokens_cached,
      maas_price(c.provider, c.model, c.tokens_in, coalesce(c.cached, 0), c.tokens_out) as price
    from jsonb_to_recordset(p_calls) as c(run_id uuid, attempt int, stage text, round int, provider text, model text,
      role_name text, prompt_version int, request_hash text, reply text, calls jsonb, parts jsonb, finish text, attempts int,
      tokens_in int, tokens_out int, cached int, ms real, error text)
    join pipeline_runs r on r.id = c.run_id and r.attempt = c.attempt
    for key share of r  -- a run that is being erased is waited for here, and not found; its foreign key would refuse the batch
  ), noted as (
    insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, prompt_version, request_hash,
      reply, calls, parts, finish, attempts, tokens_in, tokens_out, tokens_cached, price, ms, error)
    select run_id, try, stage, round, attempt, provider, model, role_name, prompt_version, request_hash,
      reply, calls, parts, finish, attempts, tokens_in, tokens_out, tokens_cached, price, ms, error
    from said
    on conflict (run_id, try, stage, round) do update set attempt = excluded.attempt, request_hash = excluded.request_hash,
      provider = excluded.provider, model = excluded.model, reply = excluded.reply, calls = excluded.calls, parts = excluded.parts,
      finish = excluded.finish, attempts = llm_calls.attempts + excluded.attempts, ms = excluded.ms, error = excluded.error,
      tokens_in = llm_calls.tokens_in + excluded.tokens_in, tokens_out = llm_calls.tokens_out + excluded.tokens_out,
      tokens_cached = llm_calls.tokens_cached + excluded.tokens_cached, price = llm_calls.price + excluded.price
  )
  insert into token_usage (user_id, day, tokens, price)
  select user_id, maas_day(now()), sum(tokens_in + tokens_out), coalesce(sum(price), 0) from said
  where tokens_in + tokens_out > 0 group by user_id order by user_id  -- in one order: two batches never wait for each other
  on conflict (user_id, day) do update set tokens = token_usage.tokens + excluded.tokens, price = token_usage.price + excluded.price;
end $$;
comment on function maas_add_calls is 'Writes model calls of runs that are still the caller''s, with what they cost';

create function maas_pin_calls(p_run uuid, p_attempt int, p_calls jsonb) returns boolean language plpgsql as $$
begin
  perform maas_add_calls(p_calls);
  return exists (select from pipeline_runs where id = p_run and attempt = p_attempt);
end $$;
comment on function maas_pin_calls is 'Writes calls of a stage that asks again before it acts on them; false when the run was taken over';

create view v_run_cost as
select c.run_id, r.user_id, r.assistant, r.created_at, count(*) as calls, count(*) filter (where c.finish = 'skipped') as skipped,
  sum(c.attempts) as requests, sum(c.tokens_in) as tokens_in, sum(c.tokens_cached) as tokens_cached, sum(c.tokens_out) as tokens_out,
  sum(c.price) as price, count(*) filter (where c.price is null) as unpriced, round(sum(c.ms)::numeric, 1) as ms
from llm_calls c join pipeline_runs r on r.id = c.run_id group by c.run_id, r.user_id, r.assistant, r.created_at;
comment on view v_run_cost is 'What the model calls of each run took, all tries; price in micro-dollars, without those of unpriced calls';

create view v_cost_daily as
select maas_day(created_at) as day, provider, model, role_name as role, count(*) as calls, sum(attempts) as requests,
  sum(tokens_in) as tokens_in, sum(tokens_cached) as tokens_cached, sum(tokens_out) as tokens_out,
  sum(price) as price, count(*) filter (where price is null) as unpriced, round(avg(ms)::numeric, 1) as ms
from llm_calls group by 1, 2, 3, 4;
comment on view v_cost_daily is 'Calls, tokens and micro-dollars by day, model and role';

create view v_cost_user as
select user_id, sum(tokens) filter (where day = maas_day(now())) as tokens_today,
  sum(price) filter (where day = maas_day(now())) as price_today, sum(tokens) as tokens, sum(price) as price, max(day) as last_day
from token_usage group by user_id;
comment on view v_cost_user is 'Tokens and micro-dollars of each user, today and in all';
