-- Webhooks: sending what was recorded, by a background task of the orchestrators.
--
-- maas_claim_deliveries gives a process what it may send now, one process at a time, so that shares are exact;
-- maas_finish_deliveries says what came of it. A delivery whose process has died is due at once, or when its claim
-- ends.

create or replace function maas.maas_delivery_texts(p_delivery maas.webhook_deliveries) returns jsonb
language sql stable as $$
  select case
    when p_delivery.type in ('run.completed', 'run.failed') then (
      select jsonb_object_agg(case g.message_type when 'user_query' then 'question' else 'answer' end,
        left(g.content, 4000))
      from maas.raw_logs g
      where g.run_id = p_delivery.key and g.user_id = p_delivery.user_id and g.turn_no = 0
        and g.message_type in ('user_query', 'assistant_response'))
    when p_delivery.type = 'run.approval_required' then (
      select jsonb_build_object('call', maas.maas_format_call(a.tool_name, a.tool_args))
      from maas.chat_pending_actions a
      where a.id = (p_delivery.data->>'action_id')::uuid and a.user_id = p_delivery.user_id)
    when p_delivery.type = 'memory.added' then (
      select jsonb_build_object('memory', left(l.summary, 4000)) from maas.lsm_storage l
      where l.id = (p_delivery.data->>'memory_id')::uuid and l.user_id = p_delivery.user_id)
    when p_delivery.type = 'fact.changed' then (
      select jsonb_build_object('fact', f.statement, 'about', f.subject) from maas.facts f
      where f.id = (p_delivery.data->>'fact_id')::uuid and f.user_id = p_delivery.user_id)
    when p_delivery.type = 'task.progress' then (
      select jsonb_build_object('title', left(s.title, 4000)) from maas.task_steps s
      where s.run_id = p_delivery.key and s.number = (p_delivery.data->>'step')::int)
  end
$$;
comment on function maas.maas_delivery_texts is
  'What was said in what an event is about, as far as it is still there: it may have been forgotten meanwhile';

create or replace function maas.maas_claim_deliveries(
  p_host text, p_pid int, p_places int, p_slow_places int, p_lease interval)
returns table (
  id uuid, endpoint_id uuid, user_id uuid, task_id uuid, attempt int, is_slow boolean, url text, secrets text[],
  headers jsonb, body jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
  now_at timestamptz;
begin
  if not exists (select from maas.webhook_endpoints) or not maas.maas_try_lock('webhooks') then
    return;
  end if;
  now_at := clock_timestamp();
  update maas.webhook_deliveries d set claimed_until = null, next_at = now_at
  where d.claimed_until > now_at and not exists (
    select from maas.v_engines e where e.is_alive and e.host || ' ' || e.pid = d.claimed_by);
  return query with recursive waiting(id) as (
    -- one look at the index for each endpoint for which something waits, however many there are
    (select d.endpoint_id from maas.webhook_deliveries d where d.state = 'waiting' order by d.endpoint_id limit 1)
    union all
    select (select d.endpoint_id from maas.webhook_deliveries d
      where d.state = 'waiting' and d.endpoint_id > w.id order by d.endpoint_id limit 1)
    from waiting w where w.id is not null
  ), busy as materialized (
    select d.endpoint_id, e.user_id, count(*)::int as held
    from maas.webhook_deliveries d join maas.webhook_endpoints e on e.id = d.endpoint_id
    where d.claimed_until > now_at group by d.endpoint_id, e.user_id
  ), open as materialized (
    select e.id, e.user_id, e.is_slow,
      case when e.is_slow then 1 when e.user_id is null then 16 else 4 end
        - coalesce((select b.held from busy b where b.endpoint_id = e.id), 0) as room,
      case when e.user_id is null then p_places
        else 8 - coalesce((select sum(b.held)::int from busy b where b.user_id = e.user_id), 0) end as user_room
    from waiting join maas.webhook_endpoints e using (id)
    where e.disabled_at is null and (e.paused_until is null or e.paused_until <= now_at)
  ), due as (
    select o.*, d.id as delivery, d.next_at, row_number() over (partition by o.id order by d.next_at, d.seq) as turn
    from open o cross join lateral (
      select w.id, w.next_at, w.seq from maas.webhook_deliveries w
      where w.endpoint_id = o.id and w.state = 'waiting' and w.next_at <= now_at
        and not exists (
          select from maas.webhook_deliveries b
          where b.endpoint_id = w.endpoint_id and b.key = w.key and b.state = 'waiting' and b.seq < w.seq)
      order by w.next_at, w.seq limit greatest(o.room, 0)) d
  ), fair as (
    select f.* from (
      select d.*, row_number() over (partition by d.user_id order by d.turn, d.next_at) as of_user from due d) f
    where f.user_id is null or f.of_user <= f.user_room
  ), chosen as materialized (
    select c.delivery from (
      select f.*, row_number() over (partition by f.is_slow order by f.turn, f.next_at) as of_kind from fair f) c
    where not c.is_slow or c.of_kind <= p_slow_places
    order by c.turn, c.next_at limit p_places
  ), claimed as (
    update maas.webhook_deliveries d set attempts = d.attempts + 1, claimed_until = now_at + p_lease,
      claimed_by = p_host || ' ' || p_pid, next_at = now_at + p_lease
    from chosen c where d.id = c.delivery and d.state = 'waiting' returning d as one
  )
  select (c.one).id, e.id, e.user_id, e.task_id, (c.one).attempts, e.is_slow, e.url,
    array(select s.value from maas.webhook_secrets s
      where s.endpoint_id = e.id and s.value is not null and (s.expires_at is null or s.expires_at > maas.maas_now())
      order by s.expires_at nulls first),
    (select s.headers from maas.webhook_secrets s where s.endpoint_id = e.id and s.headers is not null),
    jsonb_build_object('type', (c.one).type, 'timestamp', (c.one).created_at, 'data', (c.one).data
      || case when (c.one).user_id is null then '{}' else jsonb_build_object('user_id', (c.one).user_id) end
      || case when e.has_texts then coalesce(maas.maas_delivery_texts(c.one), '{}') else '{}' end)
  from claimed c join maas.webhook_endpoints e on e.id = (c.one).endpoint_id;
end
$$;
comment on function maas.maas_claim_deliveries is
  'What may be sent now, at most p_places, p_slow_places of them to slow endpoints: four of a user''s endpoint, '
  '16 of an operator''s, one of a slow one, eight of a user, and of a key the first. '
  'Nothing while another process claims';

create or replace function maas.maas_finish_deliveries(p_results jsonb) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  -- seconds until the next attempt, after the first, second, ...
  pauses int[] := '{5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400}';
  delivered int;
  counters jsonb;
begin
  with results as materialized (
    select r.*, coalesce(r.status between 200 and 299, false) as is_delivered,
      r.status is null or r.status in (429, 502, 503, 504) as is_unavailable
    from jsonb_to_recordset(p_results) as r(
      id uuid, attempt int, status int, error text, is_slow boolean, wait float8)
  ), ended as (
    update maas.webhook_deliveries d set claimed_until = null, changed_at = now_at, status = r.status, error = r.error,
      state = case when r.is_delivered then 'delivered'
        when r.status = 410 or d.attempts > cardinality(pauses) then 'failed' else 'waiting' end,
      next_at = now_at + make_interval(secs => greatest(
        r.wait, pauses[least(d.attempts, cardinality(pauses))] * (1 + 0.1 * random())))
    from results r where d.id = r.id and d.state = 'waiting' and d.attempts = r.attempt
    returning d.endpoint_id, d.state, r.is_delivered, r.is_unavailable, r.status, r.is_slow, r.wait
  ), of_endpoints as (
    select n.endpoint_id, bool_or(n.is_delivered) as is_delivered, bool_and(n.is_unavailable) as is_unavailable,
      coalesce(bool_or(n.status = 410), false) as is_gone, bool_or(n.is_slow) as is_slow, max(n.wait) as wait
    from ended n group by n.endpoint_id
  ), endpoints as (
    update maas.webhook_endpoints e set is_slow = o.is_slow,
      failures = case when o.is_unavailable then e.failures + 1 else 0 end,
      failing_since = case when not o.is_delivered then coalesce(e.failing_since, now_at) end,
      paused_until = case when o.is_unavailable or o.wait > 0 then now_at + make_interval(secs => greatest(
        o.wait, case when o.is_unavailable then least(5 * 2 ^ least(e.failures, 6), 300) end)) end,
      disabled_at = case
        when o.is_gone or not o.is_delivered and e.failing_since < now_at - interval '3 days'
        then coalesce(e.disabled_at, now_at) else e.disabled_at end,
      disabled_because = case when o.is_gone then coalesce(e.disabled_because, 'gone')
        when not o.is_delivered and e.failing_since < now_at - interval '3 days'
        then coalesce(e.disabled_because, 'failing') else e.disabled_because end
    from of_endpoints o where e.id = o.endpoint_id
  )
  select coalesce(sum(o.events) filter (where o.outcome = 'delivered'), 0), coalesce(jsonb_agg(jsonb_build_object(
    'name', 'webhook_deliveries', 'labels', jsonb_build_object('outcome', o.outcome), 'events', o.events)), '[]')
  into delivered, counters
  from (
    select case n.state when 'waiting' then 'retried' else n.state end as outcome, count(*) as events
    from ended n group by 1) o;
  perform maas.maas_add_metrics(counters);
  return delivered;
end
$$;
comment on function maas.maas_finish_deliveries is
  'What came of deliveries: {id, attempt, status, error, is_slow, wait}, wait in seconds as the endpoint asked for. '
  'Failed ones are tried again over three days, ten times in all; 410 disables the endpoint. Attempts are counted by '
  'outcome in engine_metrics. Returns how many arrived';

create or replace function maas.maas_purge_deliveries(p_days int, p_limit int default 1000) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  purged int;
begin
  delete from maas.webhook_deliveries d where d.id in (
    select w.id from maas.webhook_deliveries w
    where w.changed_at < maas.maas_now() - make_interval(days => p_days) order by w.changed_at limit p_limit
    for update skip locked);
  get diagnostics purged = row_count;
  delete from maas.webhook_endpoints e
  where e.task_id is not null and e.created_at < maas.maas_now() - make_interval(days => p_days);
  return purged;
end
$$;
comment on function maas.maas_purge_deliveries is
  'Deletes deliveries whose last attempt is older than p_days, at most p_limit, and push notifications of A2A that '
  'were asked for before; returns how many deliveries';
