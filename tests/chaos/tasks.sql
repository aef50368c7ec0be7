-- What SQL says about tasks whose orchestrators were killed.

-- name: task_tables
create table chaos_marks (run_id uuid not null, number int not null, at timestamptz not null default clock_timestamp());

-- name: mark_step  -- $1 run, $2 step
insert into chaos_marks (run_id, number) values ($1, $2);

-- name: insert_chaos_task  -- user, title, steps
select verdict from maas_insert_task(%s, %s, %s, p_assistant => 'worker');

-- name: unfinished_tasks
select count(*) as n from pipeline_runs where kind = 'task' and queue_state < 2;

-- name: unfinished_steps
select count(*) as n from task_steps where status not in ('done', 'in_doubt', 'skipped');

-- name: task_verdict
with steps as materialized (
  select s.*, (select count(*) from chaos_marks m where m.run_id = s.run_id and m.number = s.number) as marks
  from task_steps s
)
select * from (values
  (1, 'tasks that did not end in a report', (select count(*) from pipeline_runs r where r.kind = 'task'
    and (r.status <> 'COMPLETED' or r.archive_status <> 'ARCHIVED' or r.final_answer is null))),
  (2, 'reports that are not one exchange in memory', (
    select count(*) from pipeline_runs r where r.kind = 'task' and 3 <> (
      (select count(*) from raw_logs g where g.run_id = r.id and g.archived_at is not null)
      + (select count(*) from lsm_storage l where l.run_id = r.id and not l.is_provisional)))),
  (3, 'steps that are neither done nor in doubt nor skipped',
    (select count(*) from steps where status not in ('done', 'in_doubt', 'skipped'))),
  (4, 'steps skipped although all that they depend on are done', (
    select count(*) from steps s where s.status = 'skipped' and not exists (
      select from steps d
      where d.run_id = s.run_id and d.number = any(s.depends_on) and d.status in ('in_doubt', 'skipped')))),
  (5, 'steps done although something that they depend on is not', (
    select count(*) from steps s where s.status = 'done' and exists (
      select from steps d where d.run_id = s.run_id and d.number = any(s.depends_on) and d.status <> 'done'))),
  (6, 'writes that are done, but not once',
    (select count(*) from steps where status = 'done' and tool = 'mark' and marks <> 1)),
  (7, 'writes in doubt that were made twice', (select count(*) from steps where status = 'in_doubt' and marks > 1)),
  (8, 'writes skipped, but made', (select count(*) from steps where status = 'skipped' and marks > 0)),
  (9, 'repeatable steps in doubt, or never made', (select count(*) from steps
    where tool <> 'mark' and (status = 'in_doubt' or (status = 'done' and marks = 0)))),
  (10, 'tasks with more steps in doubt than lost processes', (
    select count(*) from (
      select run_id from steps where status = 'in_doubt' group by run_id
      having count(*) > (select count(*) from run_events e where e.run_id = steps.run_id and e.type = 'reclaimed')) d))
) v(place, name, found) order by place;

-- name: task_figures
select (select count(*) from pipeline_runs where kind = 'task') as tasks, count(*) as steps,
  count(*) filter (where status = 'done') as done, count(*) filter (where status = 'in_doubt') as in_doubt,
  count(*) filter (where status = 'skipped') as skipped,
  (select count(*) from run_events where type = 'reclaimed') as reclaimed
from task_steps;
