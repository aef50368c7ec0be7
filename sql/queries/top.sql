-- What `maas top` shows.

-- name: statuses_now
select status, count(*) as runs from maas.v_runs_current where queue_state in (0, 1) group by status;

-- name: rates
select extract(epoch from period)::int as seconds, accepted, completed, failed from maas.v_rates order by period;

-- name: stages_recent
select stage, runs::int as runs, p50_ms, p95_ms from maas.v_stage_recent;

-- name: orchestrators
select owner, host, pid, stages, is_alive, in_flight, concurrency,
  extract(epoch from lease_left)::float8 as lease_seconds, extract(epoch from up_for)::float8 as up_seconds
from maas.v_orchestrators order by is_alive desc, host, pid;

-- name: longest_queues  -- $1 how many
select user_id, inbox + waiting + runnable + in_flight as unfinished,
  extract(epoch from now() - oldest)::float8 as oldest_seconds
from maas.v_user_queue where oldest is not null order by unfinished desc, oldest limit $1;

-- name: stuck_by_reason
select why, count(*) as runs, extract(epoch from max(age))::float8 as oldest_seconds,
  (array_agg(id order by age desc))[1] as oldest_run
from maas.v_runs_stuck group by why order by runs desc;

-- name: limits_reached  -- models whose next call waits, for how long and for what; 6 s ahead is no wait
select l.name, w.seconds, w.cause from maas.model_limits l cross join lateral (
  select extract(epoch from greatest(u.until, clock_timestamp()) - clock_timestamp())::float8 - u.free as seconds,
    u.cause
  from (values (l.blocked_until, 0, 'the provider asked for a pause'), (l.requests_until, 6, 'requests a minute'),
    (l.tokens_until, 6, 'tokens a minute')) u(until, free, cause)
  order by 1 desc limit 1) w
where w.seconds > 0 order by w.seconds desc limit 10;

-- name: schedules_now
select count(*) filter (where paused_at is null) as active, count(paused_at) as paused,
  count(*) filter (where paused_at is null and next_at < maas.maas_now() - interval '1 minute') as overdue,
  count(*) filter (where paused_at is null and error is not null) as failing,
  (array_agg(error order by last_at desc nulls last)
    filter (where paused_at is null and error is not null))[1] as error
from maas.schedules;

-- name: login  -- as `grant` takes it
select quote_ident(session_user);
