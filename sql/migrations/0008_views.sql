-- Views for people. docs/sql.md shows each at work.

create or replace view v_run_history as
select r.id as run_id, r.user_id, h.happened, h.at, null::jsonb as details
from pipeline_runs r cross join lateral (values
  ('NEW', r.created_at), ('ANALYZING', r.analyzing_at), ('ANALYZED', r.analyzed_at), ('ASSEMBLING', r.assembling_at),
  ('READY', r.ready_at), ('RESPONDING', r.responding_at), ('COMPLETED', r.completed_at), ('FAILED', r.failed_at),
  ('ARCHIVED', r.archived_at)) as h(happened, at)
where h.at is not null
union all
select e.run_id, r.user_id, e.type, e.created_at, e.payload from run_events e join pipeline_runs r on r.id = e.run_id;
comment on view v_run_history is 'What happened to a run and when; order by at';

create or replace view v_runs_current as
select r.id, r.user_id, r.seq, r.kind, r.assistant, r.status, r.archive_status, r.lane, r.owner, e.host, e.pid, r.attempt,
  r.deaths, r.created_at, now() - r.created_at as age, now() - r.updated_at as in_status_for, left(r.user_query, 80) as query
from (
  select * from pipeline_runs where lane = -2 union all
  select * from pipeline_runs where lane = -1 union all
  select * from pipeline_runs where lane in (0, 1)  -- one branch an index: history is never read
) r left join v_engines e on e.owner = r.owner and e.is_alive;
comment on view v_runs_current is 'Every run that is not finished, and who works on it';

create or replace view v_runs_stuck as
select c.*, case
    when not exists (select from v_engines where is_alive) then 'no orchestrator is running; start one'
    when c.lane = 1 and c.host is null then 'its orchestrator is gone; another takes it over within seconds'
    when c.lane = 1 then 'in one status for over 5 minutes; look at the model or cancel it'
    when c.lane = -1 then 'waits behind an earlier run of its user'
    else 'not taken yet; every orchestrator is busy or none runs its stage'
  end as why
from v_runs_current c
where (c.lane = 1 and (c.host is null or c.in_status_for > interval '5 minutes')) or (c.lane < 1 and c.in_status_for > interval '1 minute');
comment on view v_runs_stuck is 'Runs that should have moved by now, and why they have not';

create or replace view v_stage_latency as
select s.stage, count(*) as runs,
  round((percentile_cont(0.5) within group (order by s.ms))::numeric, 1) as p50_ms,
  round((percentile_cont(0.95) within group (order by s.ms))::numeric, 1) as p95_ms,
  round((percentile_cont(0.99) within group (order by s.ms))::numeric, 1) as p99_ms
from pipeline_runs r cross join lateral (values
  ('1 claim', extract(epoch from r.analyzing_at - r.created_at) * 1000),
  ('2 analyzer', extract(epoch from r.analyzed_at - r.analyzing_at) * 1000),
  ('3 draft_builder', extract(epoch from r.assembling_at - r.analyzed_at) * 1000),
  ('4 assembler', extract(epoch from r.ready_at - r.assembling_at) * 1000),
  ('5 final_responder', extract(epoch from r.completed_at - r.responding_at) * 1000),
  ('6 archivist', extract(epoch from r.archived_at - r.completed_at) * 1000),
  ('whole answer', extract(epoch from r.completed_at - r.created_at) * 1000)) as s(stage, ms)
where s.ms is not null and r.kind = 'ask' and r.created_at > now() - interval '1 day'
group by s.stage;
comment on view v_stage_latency is 'Milliseconds of each stage over the last day';

create or replace view v_user_memory as
select l.user_id, l.id, l.level, maas_period(l.time_bucket_start) as period, l.time_bucket_start, l.time_bucket_end, l.tags, l.summary,
  cardinality(l.raw_log_ids) as logs, l.raw_log_ids, l.is_degraded, l.occurred_at, l.created_at
from lsm_storage l where not l.is_provisional and l.superseded_at is null;
comment on view v_user_memory is 'The records that are valid now';

create or replace view v_user_queue as
select r.user_id, count(*) filter (where r.lane = -2) as inbox, count(*) filter (where r.lane = -1) as waiting,
  count(*) filter (where r.lane = 0) as runnable, count(*) filter (where r.lane = 1) as in_flight, min(r.created_at) as oldest
from v_runs_current r group by r.user_id;
comment on view v_user_queue is 'How much each user has waiting';

create or replace view v_daily_metrics as
select maas_day(r.created_at) as day, count(*) as runs, count(distinct r.user_id) as users,
  count(*) filter (where r.status = 'COMPLETED') as completed, count(*) filter (where r.status = 'FAILED') as failed,
  count(*) filter (where cardinality(r.degraded) > 0) as degraded, count(*) filter (where exists (
    select from run_events e where e.run_id = r.id and e.type = 'reclaimed')) as reclaimed,
  round((percentile_cont(0.5) within group (order by extract(epoch from r.completed_at - r.created_at) * 1000))::numeric, 1) as answer_p50_ms,
  round((percentile_cont(0.95) within group (order by extract(epoch from r.completed_at - r.created_at) * 1000))::numeric, 1) as answer_p95_ms
from pipeline_runs r where r.kind = 'ask' group by 1;
comment on view v_daily_metrics is 'One row a day: how many runs, how they ended, how long they took';
