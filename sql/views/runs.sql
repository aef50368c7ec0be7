-- Runs and stages in numbers.

create view maas.v_run_history as
select r.id as run_id, r.user_id, h.happened, h.at, null::jsonb as details
from maas.pipeline_runs r cross join lateral (values
  ('NEW', r.created_at), ('ANALYZING', r.analyzing_at), ('ANALYZED', r.analyzed_at), ('ASSEMBLING', r.assembling_at),
  ('READY', r.ready_at), ('RESPONDING', r.responding_at), ('COMPLETED', r.completed_at), ('FAILED', r.failed_at),
  ('ARCHIVED', r.archived_at)) as h(happened, at)
where h.at is not null
union all
select e.run_id, r.user_id, e.type, e.created_at, e.payload from maas.run_events e
join maas.pipeline_runs r on r.id = e.run_id;
comment on view maas.v_run_history is 'What happened to a run and when; order by at';

create view maas.v_stage_latency as
select s.stage, count(*) as runs,
  round((percentile_cont(0.5) within group (order by s.ms))::numeric, 1) as p50_ms,
  round((percentile_cont(0.95) within group (order by s.ms))::numeric, 1) as p95_ms,
  round((percentile_cont(0.99) within group (order by s.ms))::numeric, 1) as p99_ms
from maas.pipeline_runs r cross join lateral (values
  ('1 claim', extract(epoch from r.analyzing_at - greatest(r.created_at, r.run_at)) * 1000),
  ('2 analyzer', extract(epoch from r.analyzed_at - r.analyzing_at) * 1000),
  ('3 draft_builder', extract(epoch from r.assembling_at - r.analyzed_at) * 1000),
  ('4 assembler', extract(epoch from r.ready_at - r.assembling_at) * 1000),
  ('5 final_responder', extract(epoch from r.completed_at - r.responding_at) * 1000),
  ('6 archivist', extract(epoch from r.archived_at - r.completed_at) * 1000),
  ('whole answer', extract(epoch from r.completed_at - greatest(r.created_at, r.run_at)) * 1000)) as s(stage, ms)
where s.ms is not null and r.kind = 'ask' and r.created_at > now() - interval '1 day'
group by s.stage;
comment on view maas.v_stage_latency is 'Milliseconds per stage over the last day';

create view maas.v_stage_recent as
select s.stage, s.total as runs,
  round(min(s.mean_ms) filter (where s.up_to >= 0.5 * s.total), 1) as p50_ms,
  round(min(s.mean_ms) filter (where s.up_to >= 0.95 * s.total), 1) as p95_ms
from (
  select c.stage, c.mean_ms, sum(c.runs) over (partition by c.stage order by c.le) as up_to,
    sum(c.runs) over (partition by c.stage) as total
  from (
    select m.labels->>'stage' as stage, m.le, sum(m.events) as runs,
      (sum(m.seconds) * 1000 / sum(m.events))::numeric as mean_ms
    from maas.engine_metrics m where m.slot >= maas.maas_now() - interval '5 minutes' and m.name = 'stage'
    group by 1, 2) c
) s group by s.stage, s.total;
comment on view maas.v_stage_recent is
  'Milliseconds per stage over the last 5 minutes, rounded to the mean of the histogram bucket: cheap at any load';

create view maas.v_rates as
select w.period, round(a.accepted / w.seconds, 2) as accepted,
  round(coalesce(e.completed, 0) / w.seconds, 2) as completed, round(coalesce(e.failed, 0) / w.seconds, 2) as failed
from (
  select s.period, s.since, extract(epoch from maas.maas_now() - s.since) as seconds
  from (select p as period, date_bin('5 s', maas.maas_now() - p, 'epoch') as since
    from unnest(array[interval '10 s', interval '1 min']) p) s
) w
cross join lateral (select count(*) as accepted from maas.pipeline_runs r where r.created_at >= w.since) a
cross join lateral (
  select sum(m.events) filter (where m.labels->>'status' = 'COMPLETED') as completed,
    sum(m.events) filter (where m.labels->>'status' = 'FAILED') as failed
  from maas.engine_metrics m where m.slot >= w.since and m.name = 'runs_finished') e;
comment on view maas.v_rates is 'Runs per second over the last 10 s and the last minute: accepted, completed, failed';

create view maas.v_daily_metrics as
select maas.maas_day(r.created_at) as day, count(*) as runs, count(distinct r.user_id) as users,
  count(*) filter (where r.status = 'COMPLETED') as completed, count(*) filter (where r.status = 'FAILED') as failed,
  count(*) filter (where cardinality(r.degraded) > 0) as degraded, count(*) filter (where exists (
    select from maas.run_events e where e.run_id = r.id and e.type = 'reclaimed')) as reclaimed,
  round((percentile_cont(0.5) within group (
    order by extract(epoch from r.completed_at - greatest(r.created_at, r.run_at)) * 1000))::numeric, 1)
    as answer_p50_ms,
  round((percentile_cont(0.95) within group (
    order by extract(epoch from r.completed_at - greatest(r.created_at, r.run_at)) * 1000))::numeric, 1)
    as answer_p95_ms
from maas.pipeline_runs r where r.kind = 'ask' group by 1;
comment on view maas.v_daily_metrics is 'One row per day: number of runs, how they ended, how long they took';
