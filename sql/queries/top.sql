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

-- name: login  -- as `grant` takes it
select quote_ident(session_user);
