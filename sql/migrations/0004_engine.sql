-- The engine: every change of a lane happens in this file, under advisory lock (4712, 1). Each function is one call and
-- one commit of its caller, so a stopped or killed client never holds the lock. The SET clauses keep freshly loaded or
-- emptied queue tables from tempting the planner away from their small indexes.

create function maas_lock_engine() returns void language sql as $$ select pg_advisory_xact_lock(4712, 1) $$;

create view v_engines as
select e.*, e.lease_until > maas_now() and exists (
  select from pg_locks l where l.locktype = 'advisory' and l.classid = 4711 and l.objid = e.owner::oid and l.objsubid = 2
    and l.granted and l.database = (select oid from pg_database where datname = current_database())) as is_alive
from engines e;
comment on view v_engines is 'Orchestrators, and whether each holds its advisory lock and its lease';

create function maas_register(p_host text, p_pid int, p_stages text[], p_concurrency int, p_lease interval) returns int language plpgsql as $$
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

create function maas_heartbeat(p_owner int, p_lease interval) returns boolean language sql as $$
  with beat as (update engines set lease_until = maas_now() + p_lease where owner = p_owner returning 1)
  select exists (select from beat)
$$;
comment on function maas_heartbeat is 'Prolongs the lease; false when the owner was reaped';

-- Records -------------------------------------------------------------------------------------------------------------

create function maas_write_records(p_items jsonb) returns void language plpgsql as $$
begin
  -- items: {run_id, archiver, user_id, log_ids, tags, summary, degraded}; run_id is null for imported exchanges, summary
  -- is blank for small talk, which leaves no record. Logs that were archived before are left out.
  with items as materialized (
    select row_number() over () as n, i.*
    from jsonb_to_recordset(p_items) as i(
      run_id uuid, archiver uuid, user_id uuid, log_ids uuid[], tags text[], summary text, degraded boolean)
  ), spans as materialized (
    select i.n, min(g.occurred_at) as first_at, max(g.occurred_at) as last_at, max(g.known_at) as known_at,
      array_agg(g.id order by g.occurred_at, g.seq) as log_ids
    from items i cross join lateral unnest(i.log_ids) as u(id)
    cross join lateral (select * from raw_logs r where r.id = u.id offset 0) g  -- one probe an id, never the whole table
    where g.user_id = i.user_id and g.archived_at is null
    group by i.n
  ), written as (
    insert into lsm_storage as l (user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids,
      is_degraded, occurred_at, known_at)
    select i.user_id, i.run_id, maas_day(s.first_at), maas_day(s.last_at), i.tags, i.summary, s.log_ids,
      coalesce(i.degraded, false), s.last_at, s.known_at
    from items i join spans s using (n) where i.summary <> ''
    on conflict (run_id) where superseded_at is null do update set
      time_bucket_start = excluded.time_bucket_start, time_bucket_end = excluded.time_bucket_end, tags = excluded.tags,
      summary = excluded.summary, raw_log_ids = excluded.raw_log_ids, is_provisional = false,
      is_degraded = excluded.is_degraded, occurred_at = excluded.occurred_at, known_at = excluded.known_at
      where l.is_provisional
    returning l.id, l.raw_log_ids
  ), forgotten as (
    delete from lsm_storage l using items i where l.run_id = i.run_id and l.is_provisional
      and (i.summary = '' or not exists (select from spans s where s.n = i.n))
  )
  update raw_logs g set archived_at = now(), archived_run_id = i.archiver, record_id = w.id, archive_owed = false,
    -- A query that waited while others were answered was said, as the dialogue goes, when its turn began.
    occurred_at = case when g.message_type = 'user_query' and g.run_id = r.id and exists (
        select from raw_logs p where p.user_id = g.user_id and p.occurred_at > g.occurred_at and p.occurred_at < r.analyzing_at)
      then r.analyzing_at else g.occurred_at end
  from spans s join items i using (n) cross join lateral unnest(s.log_ids) as u(id)
  left join written w on w.raw_log_ids = s.log_ids
  left join pipeline_runs r on r.id = i.run_id
  where g.id = u.id;
end $$;
comment on function maas_write_records is 'Final records, their logs marked, the provisional ones gone: all or nothing';

create function maas_record_failures(p_runs uuid[]) returns void language sql as $$
  select maas_write_records(coalesce(jsonb_agg(jsonb_build_object(
    'run_id', r.id, 'archiver', r.id, 'user_id', r.user_id, 'tags', array['Unanswered'], 'summary', left(r.user_query, 300),
    'degraded', true, 'log_ids', (select array_agg(g.id) from raw_logs g where g.run_id = r.id))), '[]'))
  from pipeline_runs r where r.id = any(p_runs) and r.kind = 'ask'
$$;
comment on function maas_record_failures is 'A failed run keeps a record of what the user said';

-- The step ------------------------------------------------------------------------------------------------------------

create function maas_step(p_owner int, p_statuses text[], p_capacity int, p_done jsonb default '[]')
returns table (verdict text, id uuid, run jsonb) language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  ended uuid[] := '{}';       -- runs of p_done that were still the caller's
  records jsonb;
  failures uuid[] := '{}';
  freed uuid[] := '{}';       -- lane keys that lost their head
  taking int := 0;            -- how much of the inbox to take
  waiting_elsewhere boolean := false;
begin
  perform maas_lock_engine();

  if jsonb_array_length(p_done) > 0 then
    -- Calls first: they are fenced by the attempt that the next statement takes away.
    perform maas_add_calls(coalesce((select jsonb_agg(c) from jsonb_array_elements(p_done) d, jsonb_array_elements(d->'calls') c), '[]'));
    with done as materialized (
      select * from jsonb_to_recordset(p_done) as d(id uuid, attempt int, outcome text, code text, message text, item jsonb)
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
      from done d where r.id = d.id and r.owner = p_owner and r.attempt = d.attempt
      returning r.id, r.lane_key, r.user_id, r.kind, r.lane, r.status, d.outcome, d.item
    )
    select coalesce(array_agg(u.id), '{}'),
      coalesce(array_agg(u.lane_key) filter (where u.lane = 2), '{}'),
      coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'),
      coalesce(jsonb_agg(u.item || jsonb_build_object('run_id', u.id, 'archiver', u.id, 'user_id', u.user_id))
        filter (where u.outcome = 'archived' and u.kind = 'ask'), '[]'),
      coalesce(bool_or(u.lane = 0), false)
    into ended, freed, failures, records, waiting_elsewhere from u;
    if jsonb_array_length(records) > 0 then
      perform maas_write_records(records);
    end if;
    if cardinality(failures) > 0 then
      perform maas_record_failures(failures);
    end if;
    update raw_logs g set archive_owed = true from jsonb_to_recordset(p_done) as d(id uuid, outcome text)
    where d.outcome = 'archive_failed' and d.id = any(ended) and g.run_id = d.id and g.archived_at is null;
    return query select 'ended', e, null::jsonb from unnest(ended) e;
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
    return query select 'cancel', r.id, null::jsonb from pipeline_runs r where r.cancel_requested_at is not null and r.lane = 1 and r.owner = p_owner;
  end if;

  if cardinality(freed) = 0 and not waiting_elsewhere and (p_capacity <= 0 or (
    not exists (select from pipeline_runs where lane = -2) and not exists (select from pipeline_runs where lane = 0))) then
    return;
  end if;
  if p_capacity > 0 and 'NEW' = any(p_statuses) then
    -- Bounded by free capacity: a flood in the inbox is taken in portions, each with the heads of its keys.
    taking := greatest(16, p_capacity - (select count(*)::int from (select from pipeline_runs where lane = 0 limit p_capacity) ready));
  end if;

  return query with inbox as materialized (
    select i.id, i.lane_key, nextval('run_seq') as turn
    from (select id, lane_key from pipeline_runs where lane = -2 order by seq limit taking) i
  ), keys as materialized (
    select k.lane_key, (array_agg(k.id order by k.turn))[1] as id, min(k.turn) as turn
    from (select i.id, i.lane_key, i.turn from inbox i union all select null, f, null from unnest(freed) f) k group by k.lane_key
  ), heads as materialized (
    -- who goes next: the longest waiting of the key, else its first in the inbox; nobody while one is in flight
    select coalesce(w.id, k.id) as id, coalesce(w.seq, k.turn) as turn
    from keys k left join lateral (
      select w.id, w.seq from pipeline_runs w where w.lane_key = k.lane_key and w.lane = -1 order by w.seq limit 1) w on true
    where coalesce(w.id, k.id) is not null
      and not exists (select from pipeline_runs h where h.lane_key = k.lane_key and h.lane in (0, 1))
  ), candidates as (
    select h.id, h.turn, true as is_new from heads h
    union all
    (select r.id, r.seq, false from pipeline_runs r
     where r.lane = 0 and r.status = any(p_statuses) order by r.seq limit greatest(p_capacity, 0))
  ), ranked as (
    select c.id, c.turn, c.is_new,
      row_number() over (order by (c.is_new and not 'NEW' = any(p_statuses)), c.turn) <= p_capacity
        and (not c.is_new or 'NEW' = any(p_statuses)) as is_mine
    from candidates c
  ), plan as materialized (
    select r.id, case when r.is_mine then 1 else 0 end as lane, r.turn from ranked r where r.is_mine or r.is_new
    union all
    select i.id, -1, i.turn from inbox i where not exists (select from heads h where h.id = i.id)
  ), moved as (
    update pipeline_runs r set
      lane = p.lane, seq = p.turn,
      status = case when p.lane < 1 then r.status when r.status = 'NEW' then 'ANALYZING' when r.status = 'READY' then 'RESPONDING' else r.status end,
      archive_status = case when p.lane = 1 and r.status = 'COMPLETED' then 'ARCHIVING' else r.archive_status end,
      owner = case when p.lane = 1 then p_owner end,
      attempt = r.attempt + (p.lane = 1)::int,
      claimed_at = case when p.lane = 1 then now_at else r.claimed_at end,
      analyzing_at = case when p.lane = 1 and r.status = 'NEW' then now_at else r.analyzing_at end,
      responding_at = case when p.lane = 1 and r.status = 'READY' then now_at else r.responding_at end,
      updated_at = now_at
    from plan p where r.id = p.id
    returning r.*
  ), traces as (
    -- Signal 1 of the Archivist: a trace of the query, without any model.
    insert into lsm_storage (user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, is_provisional)
    select m.user_id, m.id, maas_day(now_at), maas_day(now_at), '{}', left(m.user_query, 200), true
    from moved m where m.lane = 1 and m.status = 'ANALYZING' and m.kind = 'ask'
    on conflict (run_id) where superseded_at is null do nothing
  )
  select 'claimed', m.id, jsonb_build_object('id', m.id, 'attempt', m.attempt, 'seq', m.seq, 'kind', m.kind,
    'status', m.status, 'user_id', m.user_id, 'user_query', m.user_query, 'assistant', m.assistant,
    'conversation_id', m.conversation_id, 'created_at', m.created_at, 'analysis_result', m.analysis_result,
    'draft_context', m.draft_context, 'final_context_payload', m.final_context_payload)
  from moved m where m.lane = 1
  union all
  select 'more', null, null
  from (select count(*) as taken from inbox) t where t.taken = taking and taking > 0;

  if waiting_elsewhere or cardinality(freed) > 0 then
    perform pg_notify('pipeline_bell', '') where exists (select from pipeline_runs where lane = 0);
  end if;
end $$;
comment on function maas_step is 'Finish, take the inbox, promote, claim: one commit. verdict: ended, cancel, claimed, more';

-- One status further --------------------------------------------------------------------------------------------------

create function maas_advance(p_owner int, p_ids uuid[], p_attempts int[], p_from text[], p_to text[],
  p_analysis text[], p_sources text[], p_draft text[], p_payload text[], p_answer text[], p_degraded text[], p_calls jsonb)
returns table (id uuid, is_cancelled boolean) language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set plan_cache_mode = force_generic_plan
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
    analysis_result = coalesce(t.analysis::jsonb, r.analysis_result),
    sources = coalesce(t.sources::jsonb, r.sources),
    draft_context = coalesce(t.draft, r.draft_context),
    final_context_payload = coalesce(t.payload, r.final_context_payload),
    final_answer = coalesce(t.answer, r.final_answer),
    degraded = case when t.degraded is null then r.degraded else r.degraded || t.degraded end,
    archive_status = case when t.status = 'COMPLETED' then 'ARCHIVING' else r.archive_status end,
    analyzed_at = case when t.status = 'ANALYZED' then now_at else r.analyzed_at end,
    assembling_at = case when t.status = 'ASSEMBLING' then now_at else r.assembling_at end,
    ready_at = case when t.status = 'READY' then now_at else r.ready_at end,
    responding_at = case when t.status = 'RESPONDING' then now_at else r.responding_at end,
    completed_at = case when t.status = 'COMPLETED' then now_at else r.completed_at end,
    updated_at = now_at
  from unnest(p_ids, p_attempts, p_from, p_to, p_analysis, p_sources, p_draft, p_payload, p_answer, p_degraded)
    as t(id, attempt, was, status, analysis, sources, draft, payload, answer, degraded)
  where r.id = t.id and r.owner = p_owner and r.attempt = t.attempt and r.status = t.was
  returning r.id, r.cancel_requested_at is not null;
end $$;
comment on function maas_advance is 'Moves runs one status on and stores what their stage wrote; a run missing from the result was lost: drop the work';

create function maas_archive_exchange(p_owner int, p_run uuid, p_attempt int, p_item jsonb, p_calls jsonb) returns boolean language plpgsql as $$
declare
  whose uuid;
begin
  select r.user_id into whose from pipeline_runs r
  where r.id = p_run and r.owner = p_owner and r.attempt = p_attempt for no key update;
  if not found then
    return false;
  end if;
  perform maas_add_calls(p_calls);
  perform maas_write_records(jsonb_build_array(p_item || jsonb_build_object('run_id', null, 'archiver', p_run, 'user_id', whose)));
  return true;
end $$;
comment on function maas_archive_exchange is 'One imported exchange recorded; false when the run is no longer the caller''s';

-- Faults --------------------------------------------------------------------------------------------------------------

create function maas_reap(p_max_deaths int) returns table (reclaimed int, failed int, adopted int) language plpgsql
set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  lost uuid[] := '{}';
  freed uuid[] := '{}';
begin
  perform maas_lock_engine();
  delete from engines e using v_engines v where v.owner = e.owner and not v.is_alive;

  with dead as materialized (
    select r.id, r.owner, r.status, r.deaths + 1 >= p_max_deaths as is_fatal from pipeline_runs r
    where r.lane = 1 and not exists (select from engines e where e.owner = r.owner) for update skip locked
  ), u as (
    update pipeline_runs r set
      owner = null, deaths = r.deaths + 1, updated_at = now_at,
      lane = case when d.is_fatal then 2 else 0 end,
      status = case when d.is_fatal and d.status <> 'COMPLETED' then 'FAILED' else r.status end,
      error_code = case when d.is_fatal and d.status <> 'COMPLETED' then 'engine_died' else r.error_code end,
      error_message = case when d.is_fatal and d.status <> 'COMPLETED'
        then format('%s: %s orchestrators in turn died or fell silent with this run in flight', d.status, r.deaths + 1) else r.error_message end,
      failed_at = case when d.is_fatal and d.status <> 'COMPLETED' then now_at else r.failed_at end,
      archive_status = case when not d.is_fatal then 'PENDING' when d.status = 'COMPLETED' then 'FAILED' else 'SKIPPED' end
    from dead d where r.id = d.id
    returning r.id, r.lane_key, r.lane, r.status, maas_add_event(r.id, 'reclaimed',
      jsonb_build_object('owner', d.owner, 'status', d.status, 'deaths', r.deaths))
  )
  select count(*) filter (where u.lane = 0), count(*) filter (where u.lane = 2),
    coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'), coalesce(array_agg(u.lane_key) filter (where u.lane = 2), '{}')
  into reclaimed, failed, lost, freed from u;
  perform maas_record_failures(lost);
  update raw_logs g set archive_owed = true from pipeline_runs r
  where r.lane_key = any(freed) and r.lane = 2 and r.archive_status = 'FAILED' and g.run_id = r.id and g.archived_at is null;

  -- A key with waiting runs and no head has lost its baton.
  with orphans as (
    select distinct on (w.lane_key) w.id from pipeline_runs w
    where w.lane = -1 and not exists (select from pipeline_runs h where h.lane_key = w.lane_key and h.lane in (0, 1))
    order by w.lane_key, w.seq
  ), u as (
    update pipeline_runs r set lane = 0, updated_at = now_at from orphans o where r.id = o.id
    returning maas_add_event(r.id, 'adopted', '{}')
  )
  select count(*) into adopted from u;
  if reclaimed + failed + adopted > 0 then
    perform pg_notify('pipeline_bell', '');
  end if;
  return next;
end $$;
comment on function maas_reap is 'Runs of dead or silent orchestrators go back to lane 0, too often reclaimed ones fail, lost batons are found';

create function maas_cancel_run(p_id uuid) returns text language plpgsql as $$
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

create function maas_retry_run(p_id uuid) returns text language plpgsql as $$
declare
  old_error jsonb;
begin
  -- An archive that failed is tried again by itself: the answer stands, an import goes on with what no record covers.
  update pipeline_runs set lane = -2, seq = nextval('run_seq'), deaths = 0, archive_status = 'PENDING'
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
  update pipeline_runs set status = 'NEW', lane = -2, try = try + 1, seq = nextval('run_seq'), deaths = 0,
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

create function maas_import(p_user uuid, p_label text, p_turns jsonb, p_source text default 'import')
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
