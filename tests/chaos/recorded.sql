-- What SQL says about runs whose orchestrator was killed at each call of their model.

-- name: orchestrators
select pid from engines where lease_until > now();

-- name: stage_in_flight
select case status when 'COMPLETED' then 'Archivist' when 'RESPONDING' then 'Responder' when 'ANALYZING' then 'Analyzer'
  else 'Assembler' end as stage
from pipeline_runs where queue_state = 1 order by claimed_at desc limit 1;

-- name: recorded_verdict
select * from (values
  (1, 'runs that were not answered', (select count(*) from pipeline_runs where status <> 'COMPLETED')),
  (2, 'runs whose exchange is not in memory', (select count(*) from pipeline_runs where archive_status <> 'ARCHIVED')),
  (3, 'messages that are missing or doubled', (select count(*) from pipeline_runs r where r.kind = 'ask' and 2 <> (
    select count(*) from raw_logs g where g.run_id = r.id and g.archived_at is not null))),
  (4, 'summaries that are doubled or not final', (select count(*) from pipeline_runs r where 1 < (
    select count(*) from lsm_storage l where l.run_id = r.id and l.level = 0 and l.superseded_at is null)
    or exists (select from lsm_storage l where l.run_id = r.id and l.is_provisional and l.superseded_at is null))),
  (5, 'calls of tools that were made twice', (select count(*) from (
    select run_id, call_id from tool_executions where status = 'done' group by run_id, call_id having count(*) > 1) d))
) v(place, name, found) order by place;
