-- What happened, in numbers. Orchestrators add what they counted each second; the last five minutes are kept in slots of
-- five seconds, for v_rates and v_stage_recent, and what is older is summed up in the slot -infinity: sums never fall.

create table engine_metrics (
  slot timestamptz not null,
  name text not null,
  labels jsonb not null default '{}',
  le double precision not null default 'Infinity',
  events bigint not null,
  seconds double precision not null default 0,
  primary key (slot, name, labels, le)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.5);
comment on table engine_metrics is 'Counters and times, shown at /metrics: sum over all slots';
comment on column engine_metrics.le is 'Upper limit of the bucket in seconds, for what is a time; buckets do not overlap';
comment on column engine_metrics.seconds is 'The sum of the times of these events';

-- What an alert looks at is there before it happens for the first time.
insert into engine_metrics (slot, name, labels, events) values
  ('-infinity', 'runs_finished', '{"kind": "ask", "status": "COMPLETED", "code": ""}', 0),
  ('-infinity', 'runs_finished', '{"kind": "ask", "status": "FAILED", "code": "engine_died"}', 0),
  ('-infinity', 'archives_failed', '{"kind": "ask"}', 0),
  ('-infinity', 'runs_reclaimed', '{}', 0),
  ('-infinity', 'runs_adopted', '{}', 0);

create function maas_add_metrics(p_items jsonb) returns void language plpgsql as $$
declare
  current timestamptz := date_bin('5 s', maas_now(), 'epoch');
begin
  -- In one order, so that two orchestrators never wait for each other in a circle.
  insert into engine_metrics as m (slot, name, labels, le, events, seconds)
  select current, i.name, coalesce(i.labels, '{}'), coalesce(i.le, 'Infinity'), i.events, coalesce(i.seconds, 0)
  from jsonb_to_recordset(p_items) as i(name text, labels jsonb, le double precision, events bigint, seconds double precision)
  order by 2, 3, 4
  on conflict (slot, name, labels, le) do update set events = m.events + excluded.events, seconds = m.seconds + excluded.seconds;

  if pg_try_advisory_xact_lock(4713, 1) then
    with old as (
      delete from engine_metrics where slot > '-infinity' and slot < current - interval '5 minutes' returning *
    )
    insert into engine_metrics as m (slot, name, labels, le, events, seconds)
    select '-infinity', name, labels, le, sum(events), sum(seconds) from old group by name, labels, le
    on conflict (slot, name, labels, le) do update set events = m.events + excluded.events, seconds = m.seconds + excluded.seconds;
  end if;
end $$;
comment on function maas_add_metrics is 'Adds [{name, labels, le, events, seconds}] to the slot of now';

create function count_failure() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  perform maas_add_metrics(jsonb_build_array(case tg_argv[0]
    when 'run' then jsonb_build_object('name', 'runs_finished', 'events', 1,
      'labels', jsonb_build_object('kind', new.kind, 'status', new.status, 'code', coalesce(new.error_code, '')))
    else jsonb_build_object('name', 'archives_failed', 'events', 1, 'labels', jsonb_build_object('kind', new.kind))
  end));
  return null;
end $$;
comment on function count_failure is 'Failures are counted where they are written, whoever writes them; they are rare';
create trigger count_failed_run after update of status on pipeline_runs for each row
  when (old.status <> 'FAILED' and new.status = 'FAILED') execute function count_failure('run');
create trigger count_failed_archive after update of archive_status on pipeline_runs for each row
  when (old.archive_status <> 'FAILED' and new.archive_status = 'FAILED') execute function count_failure('archive');

create view v_queue as
select q.inbox, q.waiting, q.runnable, q.in_flight, q.oldest_at, now() - q.oldest_at as oldest_for, (
    select r.user_id from pipeline_runs r where r.created_at = q.oldest_at and r.lane < 1 limit 1) as oldest_user,
  (select count(*) from v_engines where is_alive) as orchestrators, pg_notification_queue_usage() as notify_queue_usage
from (
  select count(*) filter (where r.lane = -2) as inbox, count(*) filter (where r.lane = -1) as waiting,
    count(*) filter (where r.lane = 0) as runnable, count(*) filter (where r.lane = 1) as in_flight,
    min(r.created_at) filter (where r.lane < 1) as oldest_at
  from (
    -- bounded, so that looking at a flood does not add to it
    (select lane, created_at from pipeline_runs where lane = -2 order by seq limit 100000) union all
    (select lane, created_at from pipeline_runs where lane = -1 order by lane_key, seq limit 100000) union all
    select lane, created_at from pipeline_runs where lane in (0, 1)
  ) r) q;
comment on view v_queue is 'The queue in one row: runs by lane (inbox and waiting are counted up to 100,000), who waits longest, who works';
