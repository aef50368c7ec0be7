-- The engine: every change of a lane happens in this file, under advisory lock (4712, 1). Each function is one call and
-- one commit of its caller, so a stopped or killed client never holds the lock. The planner is told at the end of the
-- file to count rows and nothing else; without hash joins a join of two CTEs is quadratic, so there is none: what belongs
-- together is carried in one row.

-- A database that holds an earlier engine loses its functions here; what they worked on stays.
drop function if exists maas_step, maas_advance, maas_reap, maas_write_records;

alter table pipeline_runs add losses smallint not null default 0;
comment on column pipeline_runs.losses is 'Processes in a row that were lost with it in flight, since it last moved on; from 2 on it is run alone';
comment on column pipeline_runs.deaths is 'Those of them in which it was alone in flight; maas_reap fails it when there are too many';

insert into engine_settings values ('max_in_flight', '') on conflict do nothing;

-- Updates find room in their page and touch no index: measured at 64 B to 4 kB of text, 96 % and more of those that move
-- a status (94 % at 70), and all that archive a log, which would otherwise be put into the index of its words again.
alter table pipeline_runs set (fillfactor = 60);
alter table raw_logs set (fillfactor = 50);

-- Who comes and goes --------------------------------------------------------------------------------------------------

create or replace function run_intake() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if new.status in ('ANALYZING', 'ANALYZED', 'ASSEMBLING', 'READY', 'RESPONDING', 'COMPLETED', 'FAILED') then
    new.status := 'NEW';  -- a client cannot skip a stage; a word that is no status is left for the CHECK
  end if;
  if not exists (select from assistants a where a.name = new.assistant and a.is_active) then
    raise foreign_key_violation using message = format('assistant: there is no active assistant "%s"', new.assistant),
      hint = 'select name from assistants where is_active', table = 'pipeline_runs', column = 'assistant';
  end if;
  new.lane_key := case
    when new.kind = 'archive' then md5('archive:' || new.user_id)::uuid
    when new.kind = 'task' then new.id
    when (select value from engine_settings where key = 'blocking_scope') = 'global' then '00000000-0000-0000-0000-000000000000'
    else new.user_id
  end;
  new.seq := nextval('run_seq');
  new.lane := -2; new.owner := null; new.attempt := 0; new.losses := 0; new.deaths := 0; new.try := 1;
  new.cancel_requested_at := null; new.archive_status := 'PENDING'; new.degraded := '{}';
  new.analysis_result := null; new.sources := null; new.draft_context := null; new.final_context_payload := null; new.final_answer := null;
  new.error_code := null; new.error_message := null;
  new.created_at := now(); new.updated_at := now();
  new.claimed_at := null; new.analyzing_at := null; new.analyzed_at := null; new.assembling_at := null;
  new.ready_at := null; new.responding_at := null; new.completed_at := null; new.failed_at := null; new.archived_at := null;
  return new;
end $$;
create or replace trigger run_intake before insert on pipeline_runs for each row execute function run_intake();

create or replace function maas_lock_engine() returns void language sql as $$ select pg_advisory_xact_lock(4712, 1) $$;

create or replace view v_engines as
select e.*, e.lease_until > maas_now() and exists (
  select from pg_locks l where l.locktype = 'advisory' and l.classid = 4711 and l.objid = e.owner::oid and l.objsubid = 2
    and l.granted and l.database = (select oid from pg_database where datname = current_database())) as is_alive
from engines e;
comment on view v_engines is 'Orchestrators, and whether each holds its advisory lock and its lease';

create or replace function maas_register(p_host text, p_pid int, p_stages text[], p_concurrency int, p_lease interval) returns int language plpgsql as $$
declare
  me int := nextval('owner_seq');
begin
  if not pg_try_advisory_lock(4711, me) then
    raise exception 'owner % is taken', me;
  end if;
  insert into engines (owner, host, pid, stages, concurrency, lease_until)
  values (me, p_host, p_pid, p_stages, p_concurrency, maas_now() + p_lease)
  on conflict (owner) do update set host = excluded.host, pid = excluded.pid, stages = excluded.stages,
    concurrency = excluded.concurrency, started_at = now(), lease_until = excluded.lease_until;
  return me;
end $$;
comment on function maas_register is 'A new owner number, alive as long as this very session holds its advisory lock';

create or replace function maas_heartbeat(p_owner int, p_lease interval) returns boolean language sql as $$
  with beat as (update engines set lease_until = maas_now() + p_lease where owner = p_owner returning 1)
  select exists (select from beat)
$$;
comment on function maas_heartbeat is 'Prolongs the lease; false when the owner was reaped';

create function maas_unregister(p_owner int) returns int language plpgsql as $$
declare
  given_back int;
begin
  perform maas_lock_engine();
  update pipeline_runs set lane = 0, owner = null, updated_at = clock_timestamp(),
    archive_status = case when status = 'COMPLETED' then 'PENDING' else archive_status end
  where owner = p_owner and lane = 1;
  get diagnostics given_back = row_count;
  delete from engines where owner = p_owner;
  if given_back > 0 then
    perform pg_notify('pipeline_bell', '');
  end if;
  return given_back;
end $$;
comment on function maas_unregister is 'An owner leaves; what it still had goes back to lane 0 without blame';

-- Records -------------------------------------------------------------------------------------------------------------

create function maas_write_records(p_items jsonb) returns void language plpgsql as $$
declare
  zone text := (select value from engine_settings where key = 'timezone');
begin
  -- items: {run_id, archiver, user_id, log_ids, tags, summary, degraded, began}; run_id is null for imported exchanges,
  -- log_ids is null for all that the run said, summary is blank for small talk, which leaves no record. Logs that were
  -- archived before are left out.
  with items as materialized (
    select i.*, s.*, coalesce(
      (select l.id from lsm_storage l where l.run_id = i.run_id and l.superseded_at is null), gen_random_uuid()) as record_id
    from jsonb_to_recordset(p_items) as i(
      run_id uuid, archiver uuid, user_id uuid, log_ids uuid[], tags text[], summary text, degraded boolean, began timestamptz)
    cross join lateral (
      select min(g.occurred_at) as first_at, max(g.occurred_at) as last_at, max(g.known_at) as known_at,
        array_agg(g.id order by g.occurred_at, g.seq) as logs
      from unnest(coalesce(i.log_ids, array(select o.id from raw_logs o where o.run_id = i.run_id))) as u(id)
      cross join lateral (select * from raw_logs r where r.id = u.id offset 0) g  -- one probe an id, never the whole table
      where g.user_id = i.user_id and g.archived_at is null
    ) s
  ), written as (
    insert into lsm_storage as l (id, user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids,
      is_degraded, occurred_at, known_at)
    select i.record_id, i.user_id, i.run_id, (i.first_at at time zone zone)::date, (i.last_at at time zone zone)::date,
      i.tags, i.summary, i.logs, coalesce(i.degraded, false), i.last_at, i.known_at
    from items i where i.summary <> '' and i.logs is not null
    on conflict (run_id) where superseded_at is null do update set
      time_bucket_start = excluded.time_bucket_start, time_bucket_end = excluded.time_bucket_end, tags = excluded.tags,
      summary = excluded.summary, raw_log_ids = excluded.raw_log_ids, is_provisional = false,
      is_degraded = excluded.is_degraded, occurred_at = excluded.occurred_at, known_at = excluded.known_at
      where l.is_provisional
  ), forgotten as (
    delete from lsm_storage l using items i
    where l.run_id = i.run_id and l.is_provisional and (i.summary = '' or i.logs is null)
  )
  update raw_logs g set archived_at = now(), archived_run_id = i.archiver, archive_owed = false,
    record_id = case when i.summary <> '' then i.record_id end,
    -- A query that waited while others were answered was said, as the dialogue goes, when its turn began.
    occurred_at = case when g.message_type = 'user_query' and g.run_id = i.run_id and exists (
        select from raw_logs p where p.user_id = g.user_id and p.occurred_at > g.occurred_at and p.occurred_at < i.began)
      then i.began else g.occurred_at end
  from items i cross join lateral unnest(i.logs) as u(id)
  where g.id = u.id;
end $$;
comment on function maas_write_records is 'Final records, their logs marked, the provisional ones gone: all or nothing';

create or replace function maas_record_failures(p_runs uuid[]) returns void language sql as $$
  select maas_write_records(coalesce(jsonb_agg(jsonb_build_object(
    'run_id', r.id, 'archiver', r.id, 'user_id', r.user_id, 'began', r.analyzing_at, 'tags', array['Unanswered'],
    'summary', left(r.user_query, 300), 'degraded', true)), '[]'))
  from pipeline_runs r where r.id = any(p_runs) and r.kind = 'ask'
$$;
comment on function maas_record_failures is 'A failed run keeps a record of what the user said';

-- The step ------------------------------------------------------------------------------------------------------------

create function maas_step(p_owner int, p_statuses text[], p_capacity int, p_done jsonb default '[]', p_is_alone boolean default false)
returns table (verdict text, id uuid, attempt int, seq bigint, kind varchar, status varchar, user_id uuid, user_query text,
  assistant varchar, conversation_id uuid, created_at timestamptz, waited double precision, analysis_result jsonb,
  draft_context text, final_context_payload text) language plpgsql
as $$
#variable_conflict use_column
declare
  now_at timestamptz;
  ended uuid[] := '{}';       -- runs of p_done that were still the caller's
  records jsonb;
  failures uuid[] := '{}';
  freed uuid[] := '{}';       -- lane keys that lost their head
  taking int := 0;            -- how much of the inbox to take
  waiting_elsewhere boolean := false;
  today date;
  most int;                   -- runs in flight in all orchestrators together
begin
  perform maas_lock_engine();
  now_at := clock_timestamp();  -- not before the lock: what another step wrote while this one waited is earlier

  -- An owner that was reaped, or is about to be, claims nothing more: it has not noticed yet.
  if not exists (select from engines where owner = p_owner and lease_until > maas_now()) then
    p_capacity := 0;
  end if;

  if jsonb_array_length(p_done) > 0 then
    if jsonb_path_exists(p_done, '$[*].calls[0]') then
      -- Calls first: they are fenced by the attempt that the next statement takes away.
      perform maas_add_calls((select jsonb_agg(c) from jsonb_array_elements(p_done) d, jsonb_array_elements(d->'calls') c));
    end if;
    with done as materialized (
      -- with the owner, so that no filter by owner makes the planner walk the whole table for one row
      select *, p_owner as owner
      from jsonb_to_recordset(p_done) as d(id uuid, attempt int, outcome text, code text, message text, item jsonb)
    ), u as (
      update pipeline_runs r set
        lane = case when d.outcome = 'released' or (d.outcome = 'failed' and r.status = 'COMPLETED') then 0 else 2 end,
        owner = null,
        status = case when d.outcome = 'failed' and r.status <> 'COMPLETED' then 'FAILED' else r.status end,
        error_code = case d.outcome when 'failed' then d.code else r.error_code end,
        error_message = case d.outcome when 'failed' then d.message else r.error_message end,
        failed_at = case d.outcome when 'failed' then now_at else r.failed_at end,
        degraded = case when (d.item->>'degraded')::boolean then r.degraded || 'Archivist'::text else r.degraded end,
        archive_status = case when d.outcome = 'archived' then 'ARCHIVED' when d.outcome = 'archive_failed' then 'FAILED'
          when d.outcome = 'failed' and r.status <> 'COMPLETED' then 'SKIPPED' else 'PENDING' end,
        archived_at = case d.outcome when 'archived' then now_at end,
        updated_at = now_at
      from done d where r.id = d.id and r.owner = d.owner and r.attempt = d.attempt
      returning r.id, r.lane_key, r.user_id, r.kind, r.lane, r.status, r.analyzing_at, d.outcome, d.item
    )
    select coalesce(array_agg(u.id), '{}'),
      coalesce(array_agg(u.lane_key) filter (where u.lane = 2), '{}'),
      coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'),
      coalesce(jsonb_agg(u.item || jsonb_build_object(
          'run_id', u.id, 'archiver', u.id, 'user_id', u.user_id, 'began', u.analyzing_at))
        filter (where u.outcome = 'archived' and u.kind = 'ask'), '[]'),
      coalesce(bool_or(u.lane = 0), false)
    into ended, freed, failures, records, waiting_elsewhere from u;
    if jsonb_array_length(records) > 0 then
      perform maas_write_records(records);
    end if;
    if cardinality(failures) > 0 then
      perform maas_record_failures(failures);
    end if;
    if jsonb_path_exists(p_done, '$[*] ? (@.outcome == "archive_failed")') then
      update raw_logs g set archive_owed = true from jsonb_to_recordset(p_done) as d(id uuid, outcome text)
      where d.outcome = 'archive_failed' and d.id = any(ended) and g.run_id = d.id and g.archived_at is null;
      delete from lsm_storage l using jsonb_to_recordset(p_done) as d(id uuid, outcome text)  -- it announced a record
      where d.outcome = 'archive_failed' and d.id = any(ended) and l.run_id = d.id and l.is_provisional;
    end if;
    return query select 'ended', e, null::int, null::bigint, null::varchar, null::varchar, null::uuid, null::text,
      null::varchar, null::uuid, null::timestamptz, null::float8, null::jsonb, null::text, null::text from unnest(ended) e;
  end if;

  -- Runs that were cancelled before anybody worked on them.
  if exists (select from pipeline_runs where cancel_requested_at is not null and lane < 2) then
    with u as (
      update pipeline_runs r set lane = 2, status = 'FAILED', error_code = 'cancelled',
        error_message = 'cancelled before it was answered', failed_at = now_at, archive_status = 'SKIPPED', updated_at = now_at
      where r.cancel_requested_at is not null and r.lane < 1 and r.status <> 'COMPLETED' returning r.id, r.lane_key
    )
    select freed || coalesce(array_agg(u.lane_key), '{}'), coalesce(array_agg(u.id), '{}') into freed, failures from u;
    perform maas_record_failures(failures);
    return query select 'cancel', r.id, null::int, null::bigint, null::varchar, null::varchar, null::uuid, null::text,
      null::varchar, null::uuid, null::timestamptz, null::float8, null::jsonb, null::text, null::text
    from pipeline_runs r where r.cancel_requested_at is not null and r.lane = 1 and r.owner = p_owner;
  end if;

  if cardinality(freed) = 0 and not waiting_elsewhere and (p_capacity <= 0 or (
    not exists (select from pipeline_runs where lane = -2) and not exists (select from pipeline_runs where lane = 0))) then
    return;
  end if;
  select (now_at at time zone max(value) filter (where key = 'timezone'))::date,
    nullif(max(value) filter (where key = 'max_in_flight'), '')::int
  into today, most from engine_settings;
  if most is not null and p_capacity > 0 then
    p_capacity := least(p_capacity, most - (select count(*)::int from pipeline_runs where lane = 1));
  end if;
  if p_capacity > 0 and 'NEW' = any(p_statuses) and not p_is_alone then
    -- Bounded by free capacity: a flood in the inbox is taken in portions, each with the heads of its keys.
    taking := greatest(16, p_capacity - (select count(*)::int from (select from pipeline_runs where lane = 0 limit p_capacity) ready));
  end if;

  return query with inbox as materialized (
    select i.id, i.lane_key, nextval('run_seq') as turn
    from (select id, lane_key from pipeline_runs where lane = -2 order by seq limit taking) i
  ), keys as materialized (
    -- every key that may get a new head: its longest waiting run, its new ones in order, and whether the baton is free
    select k.ids, k.turns, w.id as waiting_id, w.seq as waiting_turn, h.is_taken is null as is_free
    from (
      select i.lane_key, array_agg(i.id order by i.turn) filter (where i.id is not null) as ids,
        array_agg(i.turn order by i.turn) filter (where i.id is not null) as turns
      from (select lane_key, id, turn from inbox union all select f, null, null from unnest(freed) f) i group by i.lane_key
    ) k left join lateral (
      select w.id, w.seq from pipeline_runs w where w.lane_key = k.lane_key and w.lane = -1 order by w.seq limit 1) w on true
    left join lateral (
      select true as is_taken from pipeline_runs h where h.lane_key = k.lane_key and h.lane in (0, 1) limit 1) h on true
  ), candidates as (
    select coalesce(k.waiting_id, k.ids[1]) as id, coalesce(k.waiting_turn, k.turns[1]) as turn, true as is_new
    from keys k where k.is_free and coalesce(k.waiting_id, k.ids[1]) is not null
    union all
    (select r.id, r.seq, false from pipeline_runs r
     where r.lane = 0 and r.status = any(p_statuses) and (r.losses > 1) = p_is_alone order by r.seq limit greatest(p_capacity, 0))
  ), ranked as (
    select c.id, c.turn, c.is_new,
      not (c.is_new and (p_is_alone or not 'NEW' = any(p_statuses)))
        and row_number() over (order by (c.is_new and (p_is_alone or not 'NEW' = any(p_statuses))), c.turn) <= p_capacity as is_mine
    from candidates c
  ), plan as materialized (
    select r.id, case when r.is_mine then 1 else 0 end as lane, r.turn from ranked r where r.is_mine or r.is_new
    union all
    select u.id, -1, u.turn from keys k cross join lateral unnest(k.ids, k.turns) with ordinality as u(id, turn, place)
    where not (k.is_free and k.waiting_id is null and u.place = 1)
  ), moved as (
    update pipeline_runs r set
      lane = p.lane, seq = p.turn,
      status = case when p.lane < 1 then r.status when r.status = 'NEW' then 'ANALYZING' when r.status = 'READY' then 'RESPONDING' else r.status end,
      archive_status = case when p.lane = 1 and r.status = 'COMPLETED' then 'ARCHIVING' else r.archive_status end,
      owner = case when p.lane = 1 then p_owner end,
      attempt = r.attempt + (p.lane = 1)::int,
      -- Not now_at: a row that was inserted since is claimed, too.
      claimed_at = case when p.lane = 1 then clock_timestamp() else r.claimed_at end,
      analyzing_at = case when p.lane = 1 and r.status = 'NEW' then clock_timestamp() else r.analyzing_at end,
      responding_at = case when p.lane = 1 and r.status = 'READY' then clock_timestamp() else r.responding_at end,
      updated_at = now_at
    from plan p where r.id = p.id
    returning r.id, r.lane, r.attempt, r.seq, r.kind, r.status, r.user_id, r.user_query, r.assistant, r.conversation_id,
      r.created_at, r.try, r.analysis_result, r.draft_context, r.final_context_payload
  ), traces as (
    -- Signal 1 of the Archivist: a trace of the query, without any model.
    insert into lsm_storage (user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, is_provisional)
    select m.user_id, m.id, today, today, '{}', left(m.user_query, 200), true
    from moved m where m.lane = 1 and m.status = 'ANALYZING' and m.kind = 'ask'
    on conflict (run_id) where superseded_at is null do nothing
  )
  select 'claimed', m.id, m.attempt, m.seq, m.kind, m.status, m.user_id, m.user_query, m.assistant, m.conversation_id,
    m.created_at, case m.try when 1 then extract(epoch from now_at - m.created_at) end::float8, m.analysis_result,
    m.draft_context, m.final_context_payload
  from moved m where m.lane = 1
  union all
  select 'more', null, null, null, null, null, null, null, null, null, null, null, null, null, null
  from (select count(*) as taken from inbox) t where t.taken = taking and taking > 0;

  if waiting_elsewhere or cardinality(freed) > 0 then
    perform pg_notify('pipeline_bell', '') where exists (select from pipeline_runs where lane = 0);
  end if;
end $$;
comment on function maas_step is 'Finish, take the inbox, promote, claim: one commit. verdict: ended, cancel, claimed, more';

-- One status further --------------------------------------------------------------------------------------------------

create function maas_advance(p_owner int, p_ids uuid[], p_attempts int[], p_statuses text[], p_wrote text[],
  p_sources text[], p_degraded text[], p_calls jsonb)
returns table (id uuid, is_cancelled boolean) language plpgsql
as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
begin
  if jsonb_array_length(p_calls) > 0 then
    perform maas_add_calls(p_calls);
  end if;
  -- No condition on lane: it would make the planner scan the small queue index instead of the primary key.
  return query update pipeline_runs r set
    status = t.status,
    analysis_result = case when t.status = 'ANALYZED' then t.wrote::jsonb else r.analysis_result end,
    draft_context = case when t.status = 'ASSEMBLING' then t.wrote else r.draft_context end,
    final_context_payload = case when t.status = 'READY' then t.wrote else r.final_context_payload end,
    final_answer = case when t.status = 'COMPLETED' then t.wrote else r.final_answer end,
    sources = coalesce(t.sources::jsonb, r.sources),
    degraded = case when t.degraded is null then r.degraded else r.degraded || t.degraded end,
    archive_status = case when t.status = 'COMPLETED' then 'ARCHIVING' else r.archive_status end,
    analyzed_at = case when t.status = 'ANALYZED' then now_at else r.analyzed_at end,
    assembling_at = case when t.status = 'ASSEMBLING' then now_at else r.assembling_at end,
    ready_at = case when t.status = 'READY' then now_at else r.ready_at end,
    responding_at = case when t.status = 'RESPONDING' then now_at else r.responding_at end,
    completed_at = case when t.status = 'COMPLETED' then now_at else r.completed_at end,
    losses = 0, deaths = 0, updated_at = now_at
  from unnest(p_ids, p_attempts, p_statuses, p_wrote, p_sources, p_degraded) as t(id, attempt, status, wrote, sources, degraded)
  where r.id = t.id and r.owner = p_owner and r.attempt = t.attempt and r.status = case t.status
    when 'ANALYZED' then 'ANALYZING' when 'ASSEMBLING' then 'ANALYZED' when 'READY' then 'ASSEMBLING'
    when 'RESPONDING' then 'READY' when 'COMPLETED' then 'RESPONDING' end
  returning r.id, r.cancel_requested_at is not null;
end $$;
comment on function maas_advance is 'Moves runs one status on and stores what their stage wrote; a run missing from the result was lost: drop the work';

create or replace function maas_archive_exchange(p_owner int, p_run uuid, p_attempt int, p_item jsonb, p_calls jsonb) returns boolean language plpgsql as $$
declare
  whose uuid;
begin
  select r.user_id into whose from pipeline_runs r
  where r.id = p_run and r.owner = p_owner and r.attempt = p_attempt for no key update;
  if not found then
    return false;
  end if;
  perform maas_add_calls(p_calls);
  update pipeline_runs set losses = 0, deaths = 0 where id = p_run and losses > 0;
  perform maas_write_records(jsonb_build_array(p_item || jsonb_build_object('run_id', null, 'archiver', p_run, 'user_id', whose)));
  return true;
end $$;
comment on function maas_archive_exchange is 'One imported exchange recorded; false when the run is no longer the caller''s';

-- Faults --------------------------------------------------------------------------------------------------------------

create function maas_reap(p_max_deaths int, p_statuses text[] default '{}', p_sweep boolean default true)
returns table (reclaimed int, failed int, adopted int, suspects int) language plpgsql
as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  lost uuid[] := '{}';
  freed uuid[] := '{}';
  orphans uuid[] := '{}';  -- keys that wait without a head: they have lost their baton
  blamed int[] := '{}';    -- owners whose process died or fell silent
begin
  reclaimed := 0; failed := 0; adopted := 0; suspects := 0;
  if p_sweep then
    with recursive keys as (  -- one probe a key, however many of its runs wait
      (select lane_key from pipeline_runs where lane = -1 order by lane_key limit 1)
      union all
      select (select w.lane_key from pipeline_runs w where w.lane = -1 and w.lane_key > k.lane_key order by w.lane_key limit 1)
      from keys k where k.lane_key is not null
    )
    select coalesce(array_agg(k.lane_key), '{}') into orphans from keys k
    where k.lane_key is not null and not exists (select from pipeline_runs h where h.lane_key = k.lane_key and h.lane in (0, 1));
  end if;
  if cardinality(orphans) > 0 or exists (select from v_engines where not is_alive)
    or exists (select from pipeline_runs r where r.lane = 1 and not exists (select from engines e where e.owner = r.owner)) then
    perform maas_lock_engine();
    now_at := clock_timestamp();
    -- When Postgres starts anew every session is lost, whatever it worked on.
    with gone as (
      delete from engines e using v_engines v where v.owner = e.owner and not v.is_alive
      returning e.owner, e.started_at > pg_postmaster_start_time() as is_blamed
    )
    select coalesce(array_agg(g.owner) filter (where g.is_blamed), '{}') into blamed from gone g;

    -- A loss counts as a death only for a run that was alone in flight: of several nobody knows which one did it.
    with dead as materialized (
      select r.id, r.owner, r.status, r.losses + (r.owner = any(blamed))::int as losses,
        r.deaths + (r.owner = any(blamed) and count(*) over (partition by r.owner) = 1)::int as deaths
      from pipeline_runs r where r.lane = 1 and not exists (select from engines e where e.owner = r.owner)
    ), u as (
      update pipeline_runs r set
        owner = null, losses = d.losses, deaths = d.deaths, updated_at = now_at,
        lane = case when d.deaths >= p_max_deaths then 2 else 0 end,
        status = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED' then 'FAILED' else r.status end,
        error_code = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED' then 'engine_died' else r.error_code end,
        error_message = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED'
          then format('%s: %s orchestrators in a row died or fell silent with this run alone in flight', d.status, d.deaths)
          else r.error_message end,
        failed_at = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED' then now_at else r.failed_at end,
        archive_status = case when d.deaths < p_max_deaths then 'PENDING' when d.status = 'COMPLETED' then 'FAILED' else 'SKIPPED' end
      from dead d where r.id = d.id
      returning r.id, r.lane_key, r.lane, r.status, maas_add_event(r.id, 'reclaimed',
        jsonb_build_object('owner', d.owner, 'status', d.status, 'losses', r.losses, 'deaths', r.deaths))
    )
    select count(*) filter (where u.lane = 0), count(*) filter (where u.lane = 2),
      coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'), coalesce(array_agg(u.lane_key) filter (where u.lane = 2), '{}')
    into reclaimed, failed, lost, freed from u;
    if failed > 0 then
      delete from lsm_storage l using pipeline_runs r  -- nobody writes the record that it announced
      where r.lane_key = any(freed) and r.lane = 2 and r.archive_status = 'FAILED' and l.run_id = r.id and l.is_provisional;
      perform maas_record_failures(lost);
      update raw_logs g set archive_owed = true from pipeline_runs r
      where r.lane_key = any(freed) and r.lane = 2 and r.archive_status = 'FAILED' and g.run_id = r.id and g.archived_at is null;
    end if;

    with u as (
      update pipeline_runs r set lane = 0, updated_at = now_at
      from unnest(orphans || freed) o(lane_key) cross join lateral (
        select w.id from pipeline_runs w where w.lane_key = o.lane_key and w.lane = -1 order by w.seq limit 1) w
      where r.id = w.id and not exists (select from pipeline_runs h where h.lane_key = o.lane_key and h.lane in (0, 1))
      returning o.lane_key, case when o.lane_key = any(orphans) then maas_add_event(r.id, 'adopted', '{}') end
    )
    select count(*) filter (where u.lane_key = any(orphans)) into adopted from u;
    if reclaimed + failed + adopted > 0 then
      perform pg_notify('pipeline_bell', '');
    end if;
  end if;
  -- Its own at once, so that a loss starts one process and not one an orchestrator; others' when nobody has come for them.
  select count(*) into suspects from pipeline_runs r where r.lane = 0 and r.losses > 1 and r.status = any(p_statuses)
    and (r.updated_at = now_at or r.updated_at < now_at - interval '5 seconds');
  return next;
end $$;
comment on function maas_reap is 'Runs of dead or silent orchestrators go back to lane 0, those that kill their process fail, lost batons are found; suspects wait to be run alone';

create or replace function maas_cancel_run(p_id uuid) returns text language plpgsql as $$
declare
  now_status text;
begin
  update pipeline_runs set cancel_requested_at = coalesce(cancel_requested_at, now())
  where id = p_id and lane < 2 and status <> 'COMPLETED' returning status into now_status;
  if found then
    perform maas_add_event(p_id, 'cancel_requested', jsonb_build_object('status', now_status));
    perform pg_notify('pipeline_bell', '');
    return 'cancelling';
  end if;
  return case when exists (select from pipeline_runs where id = p_id) then 'finished' else 'not_found' end;
end $$;
comment on function maas_cancel_run is 'cancelling, finished or not_found; the engine makes the run FAILED with error_code cancelled';

create or replace function maas_retry_run(p_id uuid) returns text language plpgsql as $$
declare
  old_error jsonb;
begin
  -- An archive that failed is tried again by itself: the answer stands, an import goes on with what no record covers.
  update pipeline_runs set lane = -2, seq = nextval('run_seq'), losses = 0, deaths = 0, archive_status = 'PENDING'
  where id = p_id and status = 'COMPLETED' and archive_status = 'FAILED' and lane = 2;
  if found then
    perform maas_add_event(p_id, 'archive_retried', '{}');
    perform pg_notify('pipeline_bell', '');
    return 'archiving';
  end if;
  select jsonb_build_object('try', try, 'error_code', error_code, 'error_message', error_message) into old_error
  from pipeline_runs where id = p_id and status = 'FAILED' and lane = 2 for update;
  if not found then
    return case when exists (select from pipeline_runs where id = p_id) then 'not_failed' else 'not_found' end;
  end if;
  perform maas_add_event(p_id, 'retried', old_error);
  update raw_logs set archived_at = null, archived_run_id = null, record_id = null
  where run_id = p_id and exists (select from pipeline_runs where id = p_id and kind = 'ask');
  update lsm_storage set superseded_at = now() where run_id = p_id and superseded_at is null;
  update pipeline_runs set status = 'NEW', lane = -2, try = try + 1, seq = nextval('run_seq'), losses = 0, deaths = 0,
    archive_status = 'PENDING', cancel_requested_at = null, error_code = null, error_message = null, degraded = '{}',
    analysis_result = null, sources = null, draft_context = null, final_context_payload = null,
    claimed_at = null, analyzing_at = null, analyzed_at = null, assembling_at = null, ready_at = null, responding_at = null,
    completed_at = null, failed_at = null, archived_at = null
  where id = p_id;
  perform pg_notify('pipeline_bell', '');
  return 'retrying';
end $$;
comment on function maas_retry_run is 'retrying, archiving, not_failed or not_found; a FAILED run becomes NEW, a new try in a new turn';

-- Words from elsewhere ------------------------------------------------------------------------------------------------

create or replace function maas_import(p_user uuid, p_label text, p_turns jsonb, p_source text default 'import')
returns table (run_id uuid, added int, known int) language plpgsql as $$
#variable_conflict use_column
begin
  run_id := gen_random_uuid();
  with turns as (
    select t.*, row_number() over () as n from jsonb_to_recordset(p_turns) as t(
      role text, content text, at timestamptz, speaker text, conversation text, external_id text)
  ), added_logs as (
    insert into raw_logs (user_id, run_id, turn_no, message_type, content, speaker, conversation, external_id, metadata, occurred_at, known_at)
    select p_user, run_id, t.n, case t.role when 'assistant' then 'assistant_response' else 'user_query' end, t.content, t.speaker,
      coalesce(t.conversation, to_char(coalesce(t.at, now()) at time zone 'UTC', 'YYYY-MM-DD')), t.external_id,
      jsonb_build_object('request_id', run_id, 'timestamp', coalesce(t.at, now()), 'source', p_source),
      coalesce(t.at, now()), coalesce(t.at, now())
    from turns t order by t.n
    on conflict (user_id, conversation, external_id) where external_id is not null do nothing
    returning 1
  )
  select count(*) into added from added_logs;
  known := jsonb_array_length(p_turns) - added;
  if added = 0 then
    run_id := null;
  else
    insert into pipeline_runs (id, user_id, user_query, kind, source) values (run_id, p_user, p_label, 'archive', p_source);
  end if;
  return next;
end $$;
comment on function maas_import is 'Logs turns {role, content, at, speaker, conversation, external_id} once, and one run that records them';

-- The planner ---------------------------------------------------------------------------------------------------------

-- A plan is made once a session, often while the queue is empty, and must hold when it is full. So in these functions a
-- plan costs the rows that it touches: a probe by key is then always the cheapest way, and no scan is tempting.
do $$
declare
  engine regproc;
begin
  foreach engine in array array['maas_step', 'maas_advance', 'maas_reap', 'maas_write_records']::regproc[] loop
    execute format('alter function %s set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
      set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
      set random_page_cost = 0 set cpu_operator_cost = 0 set cpu_index_tuple_cost = 0 set cpu_tuple_cost = 1', engine);
  end loop;
end $$;
