-- What `maas top` shows, for any client of SQL.

create view v_rates as
select w.period, round(a.accepted / w.seconds, 2) as accepted, round(coalesce(e.completed, 0) / w.seconds, 2) as completed,
  round(coalesce(e.failed, 0) / w.seconds, 2) as failed
from (
  select s.period, s.since, extract(epoch from maas_now() - s.since) as seconds
  from (select p as period, date_bin('5 s', maas_now() - p, 'epoch') as since
    from unnest(array[interval '10 s', interval '1 min']) p) s
) w
cross join lateral (select count(*) as accepted from pipeline_runs r where r.created_at >= w.since) a
cross join lateral (
  select sum(m.events) filter (where m.labels->>'status' = 'COMPLETED') as completed,
    sum(m.events) filter (where m.labels->>'status' = 'FAILED') as failed
  from engine_metrics m where m.slot >= w.since and m.name = 'runs_finished') e;
comment on view v_rates is 'Runs a second over the last 10 s and the last minute: accepted, completed, failed';

create view v_stage_recent as
select s.stage, s.total as runs,
  round(min(s.mean_ms) filter (where s.up_to >= 0.5 * s.total), 1) as p50_ms,
  round(min(s.mean_ms) filter (where s.up_to >= 0.95 * s.total), 1) as p95_ms
from (
  select c.stage, c.mean_ms, sum(c.runs) over (partition by c.stage order by c.le) as up_to,
    sum(c.runs) over (partition by c.stage) as total
  from (
    select m.labels->>'stage' as stage, m.le, sum(m.events) as runs, (sum(m.seconds) * 1000 / sum(m.events))::numeric as mean_ms
    from engine_metrics m where m.slot >= maas_now() - interval '5 minutes' and m.name = 'stage' group by 1, 2) c
) s group by s.stage, s.total;
comment on view v_stage_recent is 'Milliseconds of each stage over the last 5 minutes, to the mean of the bucket: cheap at any load';

create view v_orchestrators as
select e.owner, e.host, e.pid, e.stages, e.is_alive, coalesce(f.runs, 0) as in_flight, e.concurrency,
  e.lease_until - maas_now() as lease_left, now() - e.started_at as up_for
from v_engines e left join (
  select r.owner, count(*) as runs from pipeline_runs r where r.lane in (0, 1) and r.owner is not null group by r.owner) f using (owner);
comment on view v_orchestrators is 'Each orchestrator: what it runs, how busy it is, how long its lease lasts';
