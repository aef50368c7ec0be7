-- The queue and the orchestrators. Views are for people; docs/sql.md shows each at work.

create view maas.v_engines as
select e.*, e.lease_until > maas.maas_now() and exists (
  select from pg_locks l
  where l.locktype = 'advisory' and l.classid = 4711 and l.objid = e.lock_key::oid and l.objsubid = 2
    and l.pid = e.session and l.granted
    and l.database = (select oid from pg_database where datname = current_database())) as is_alive
from maas.engines e;
comment on view maas.v_engines is 'Orchestrators, and whether each holds its advisory lock and its lease';

create view maas.v_runs_current as
select r.id, r.user_id, r.seq, r.kind, r.assistant, r.status, r.archive_status, r.queue_state, r.owner, e.host, e.pid,
  r.attempt, r.deaths, r.created_at, now() - r.created_at as age, now() - r.updated_at as in_status_for,
  left(r.user_query, 80) as query, r.not_before, r.answer_by, r.priority, r.run_at, r.attributes
from (
  select * from maas.pipeline_runs where queue_state = -4 union all
  select * from maas.pipeline_runs where queue_state = -3 union all
  select * from maas.pipeline_runs where queue_state = -2 union all
  select * from maas.pipeline_runs where queue_state = -1 union all
  select * from maas.pipeline_runs where queue_state in (0, 1)  -- one branch per index: history is never read
) r left join maas.v_engines e on e.owner = r.owner and e.is_alive;
comment on view maas.v_runs_current is 'Every run that is not finished, and the orchestrator that works on it';

create view maas.v_runs_stuck as
select c.*, case
    when not exists (select from maas.v_engines where is_alive) then 'no orchestrator is running; start one'
    when c.queue_state = 1 and c.host is null
      then 'its orchestrator is no longer running; another one takes over within seconds'
    when c.queue_state = 1 then 'in one status for over 5 minutes; look at the model or cancel it'
    when c.queue_state = -1 then 'waits behind an earlier run of its user'
    when c.not_before is not null and c.kind = 'task'
      then 'gives way to runs that wait for a free orchestrator; it continues after not_before'
    when c.not_before is not null
      then 'its model is unavailable; it is called again after not_before, and the run is FAILED after answer_by; '
        'maas trace says why'
    else 'not claimed yet; every orchestrator is busy or none runs its stage'
  end as why
from maas.v_runs_current c
where (c.queue_state = 1 and (c.host is null or c.in_status_for > interval '5 minutes'))
  or (c.queue_state between -2 and 0 and c.in_status_for > interval '1 minute') or c.not_before is not null;
comment on view maas.v_runs_stuck is 'Runs that should have moved by now or wait for their model, and why';

create view maas.v_user_queue as
select r.user_id, count(*) filter (where r.queue_state = -2) as inbox,
  count(*) filter (where r.queue_state = -1) as waiting, count(*) filter (where r.queue_state = 0) as runnable,
  count(*) filter (where r.queue_state = 1) as in_flight,
  min(r.created_at) filter (where r.queue_state > -3) as oldest,
  count(*) filter (where r.queue_state = -3) as paused, count(*) filter (where r.queue_state = -4) as scheduled
from maas.v_runs_current r group by r.user_id;
comment on view maas.v_user_queue is 'Unfinished runs of each user by queue state';

create view maas.v_queue as
select q.inbox, q.waiting, q.runnable, q.in_flight, q.oldest_at, now() - q.oldest_at as oldest_for, (
    select r.user_id from maas.pipeline_runs r
    where r.created_at = q.oldest_at and r.queue_state between -2 and 0 limit 1) as oldest_user,
  (select count(*) from maas.v_engines where is_alive) as orchestrators,
  pg_notification_queue_usage() as notify_queue_usage, q.deferred, q.paused, q.scheduled
from (
  select count(*) filter (where r.queue_state = -2) as inbox, count(*) filter (where r.queue_state = -1) as waiting,
    count(*) filter (where r.queue_state = 0 and r.not_before is null) as runnable,
    count(*) filter (where r.queue_state = 1) as in_flight,
    min(r.created_at) filter (where r.queue_state between -2 and 0) as oldest_at, count(r.not_before) as deferred,
    count(*) filter (where r.queue_state = -3) as paused, count(*) filter (where r.queue_state = -4) as scheduled
  from (
    -- bounded, so that watching a flood does not add to it
    (select queue_state, created_at, null::timestamptz as not_before from maas.pipeline_runs
     where queue_state = -2 order by priority desc, seq limit 100000)
    union all
    (select queue_state, created_at, null from maas.pipeline_runs where queue_state = -3 order by seq limit 100000)
    union all
    (select queue_state, created_at, null from maas.pipeline_runs where queue_state = -4 order by run_at limit 100000)
    union all
    (select queue_state, created_at, null from maas.pipeline_runs
     where queue_state = -1 order by queue_key, seq limit 100000)
    union all
    select queue_state, created_at, not_before from maas.pipeline_runs where queue_state in (0, 1)
  ) r) q;
comment on view maas.v_queue is
  'The queue in one row: runs by queue state (inbox, waiting, paused and scheduled are counted up to 100,000), '
  'runs deferred until their model is back, the user who waits longest, the number of orchestrators';

create view maas.v_orchestrators as
select e.owner, e.host, e.pid, e.stages, e.is_alive, coalesce(f.runs, 0) as in_flight, e.concurrency,
  e.lease_until - maas.maas_now() as lease_left, now() - e.started_at as up_for, e.heartbeat_at
from maas.v_engines e left join (
  select r.owner, count(*) as runs from maas.pipeline_runs r where r.queue_state in (0, 1) and r.owner is not null
  group by r.owner) f using (owner);
comment on view maas.v_orchestrators is 'Each orchestrator: its stages, its runs in flight, the rest of its lease';

create view maas.v_pauses as
select p.subject, p.name, p.reason, p.actor, p.since, now() - p.since as for_time from maas.pauses p;
comment on view maas.v_pauses is 'What operators have paused and since when; maas_pause and maas_resume change it';
