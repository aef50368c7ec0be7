-- Events of runs.

-- name: add_events
select maas.maas_add_events($1::jsonb) as place;

-- name: ring_followers  -- writes nothing, so that the commit does not wait for the disk
select pg_notify('run_events', r.id::text) from (select distinct unnest($1::uuid[])) r(id);

-- name: users_of_runs
select id, user_id from maas.pipeline_runs where id = any($1::uuid[]);

-- name: follow_runs  -- $1 runs, $2 the try and $3 the last event that each follower knows, $4 types, $5 how many
-- One statement, one snapshot: a reader that sees a run ended sees all its events. Earlier tries are left out.
select f.place::int as place, r.status, r.try, r.times, r.final_answer, r.error_code, r.error_message, r.limited,
  r.memory, r.memory_reasons, e.numbers, e.types, e.payloads, e.moments
from unnest($1::uuid[], $2::int[], $3::int[]) with ordinality as f(run_id, try, n, place)
cross join lateral (
  select status, try, array[
    created_at, analyzing_at, analyzed_at, assembling_at, ready_at, responding_at, completed_at, failed_at] as times,
    case status when 'COMPLETED' then final_answer end as final_answer, error_code, error_message, limited,
      memory, memory_reasons
  from maas.pipeline_runs where id = f.run_id offset 0) r
cross join lateral (
  select array_agg(x.n order by x.n) as numbers, array_agg(x.type order by x.n) as types,
    array_agg(x.payload::text order by x.n) as payloads, array_agg(x.created_at order by x.n) as moments
  from (
    select v.n, v.type, v.payload, v.created_at from maas.run_events v
    where v.run_id = f.run_id and v.type = any($4::text[]) and v.n > greatest(f.n, case when f.try < r.try then (
      select max(t.n) from maas.run_events t where t.run_id = f.run_id and t.type = 'retried') end)
    order by v.n limit $5) x) e;

-- name: follow_users  -- changes of runs of many users, each after a cursor (maas/runs/user_events.py)
-- $1 users; their cursors: $2 the first transaction that was not seen, null for none, $3 those before it that were in
-- flight, arrays as text, $4 $5 a transaction that was seen up to this run; $6 runs that were notified, arrays as text,
-- $7 how many of the newest runs are compared, null for all. A row without a run holds the present snapshot alone.
with present as materialized (
  select pg_snapshot_xmax(x)::text::bigint as next_xid, array(select pg_snapshot_xip(x)::text::bigint) as in_flight
  from pg_current_snapshot() x
)
select f.place::int as place, p.next_xid, p.in_flight, r.id, r.conversation_id, r.kind, r.status,
  r.archive_status, r.updated_at, r.xid
from present p
cross join unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::uuid[], $6::text[], $7::int[]) with ordinality
  as f(user_id, next_xid, in_flight, last_xid, last_id, notified, newest, place)
left join lateral (
  select n.id, n.conversation_id, n.kind, n.status, n.archive_status, n.updated_at,
    p.next_xid - ((p.next_xid & 4294967295) - n.xmin & 4294967295) as xid  -- xmin without its epoch
  from (
    (select id, conversation_id, kind, status, archive_status, updated_at, xmin::text::bigint as xmin
     from maas.pipeline_runs where user_id = f.user_id and kind <> 'trial' order by seq desc limit f.newest)
    union
    (select id, conversation_id, kind, status, archive_status, updated_at, xmin::text::bigint
     from maas.pipeline_runs where user_id = f.user_id and queue_state < 2 and kind in ('ask', 'action'))
    union
    (select id, conversation_id, kind, status, archive_status, updated_at, xmin::text::bigint
     from maas.pipeline_runs where id = any(f.notified::uuid[]) and user_id = f.user_id and kind <> 'trial')) n
  offset 0) r
  on f.next_xid is null or r.id = any(f.notified::uuid[])
    or (r.xid >= f.next_xid or r.xid = any(f.in_flight::bigint[]))
    and not coalesce(r.xid = f.last_xid and r.id <= f.last_id, false);

-- name: layers_wanted  -- of a run whose client asked for debug information: whose it is, and the timings so far
select exists (
  select from maas.app_users u where u.user_id = r.user_id and u.is_tech_admin) as is_tech_admin,
  r.source, r.created_at, r.analyzing_at, r.ready_at,
  case jsonb_typeof(r.sources) when 'array' then jsonb_array_length(r.sources) else 0 end as memories
from maas.pipeline_runs r where r.id = $1;
