-- The heart of the engine: maas_step, by maas_end_runs, maas_cancel_runs and maas_claim_runs (claims.sql); and
-- maas_advance.
--
-- A plan is made once per session, often while the queue is empty, and must hold when it is full. So maas_step, whose
-- settings hold in what it calls, and maas_advance set the planner's costs so that a plan costs the rows that it
-- touches: a probe by key is then always the cheapest.

create or replace function maas.maas_step(p_owner int, p_statuses text[], p_capacity int, p_done jsonb default '[]',
  p_is_alone boolean default false, p_assistants text[] default '{}', p_users uuid[] default '{}',
  p_assistant_share int default null, p_user_share int default null)
returns table (verdict text, id uuid, cancelled maas.cancelled_run, claimed maas.claimed_run)
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
  set jit = off set plan_cache_mode = force_generic_plan set random_page_cost = 0 set cpu_operator_cost = 0
  set cpu_index_tuple_cost = 0 set cpu_tuple_cost = 1 as $$
declare
  now_at timestamptz;
  ended uuid[];                               -- runs of p_done that the caller still owned
  freed uuid[] := '{}';                       -- keys that lost their head
  is_runnable boolean := false;               -- whether a run of p_done may be claimed again
  cancelled_now maas.cancelled_run[] := '{}';
  has_more_cancelled boolean := false;
  is_due boolean;                             -- whether the time of a deferred run has come
begin
  perform maas.maas_lock_engine();
  now_at := clock_timestamp();  -- after the lock, so that it is later than what a concurrent step wrote

  -- An owner whose runs were or will be recovered by maas_reap claims nothing more.
  if not exists (select from maas.engines e where e.owner = p_owner and e.lease_until > maas.maas_now()) then
    p_capacity := 0;
  end if;

  if jsonb_array_length(p_done) > 0 then
    select e.ended, e.freed, e.is_runnable into ended, freed, is_runnable
    from maas.maas_end_runs(p_owner, p_done, now_at) e;
    return query select 'ended', e, null::maas.cancelled_run, null::maas.claimed_run from unnest(ended) e;
  end if;

  if exists (select from maas.pipeline_runs r where r.cancel_requested_at is not null and r.queue_state < 2) then
    cancelled_now := array(select c from maas.maas_cancel_runs(now_at) c);
    freed := freed || array(select c.queue_key from unnest(cancelled_now) c);
    has_more_cancelled := cardinality(cancelled_now) >= 500;
    if has_more_cancelled then
      p_capacity := 0;  -- the next step claims, when none is left that was cancelled
    end if;
    return query select 'cancelled', c.id, c, null::maas.claimed_run from unnest(cancelled_now) c;
    return query select 'cancel', r.id, null::maas.cancelled_run, null::maas.claimed_run from maas.pipeline_runs r
      where r.cancel_requested_at is not null and r.queue_state = 1 and r.owner = p_owner and r.status <> 'COMPLETED';
  end if;

  if p_capacity > 0 and exists (
    select from maas.pipeline_runs r where r.queue_state = -4 and r.run_at <= now_at)
  then
    update maas.pipeline_runs r set queue_state = -2, seq = d.turn, updated_at = now_at
    from (
      select s.id, nextval('maas.run_seq') as turn
      from (
        select c.id from maas.pipeline_runs c
        where c.queue_state = -4 and c.run_at <= now_at order by c.run_at limit 500
        for update skip locked) s) d
    where r.id = d.id;
  end if;
  is_due := p_capacity > 0
    and exists (select from maas.pipeline_runs r where r.queue_state = 0 and r.not_before <= now_at);
  if cardinality(freed) > 0 or is_runnable or is_due or p_capacity > 0 and (
    exists (select from maas.pipeline_runs r where r.queue_state = -2)
    or exists (select from maas.pipeline_runs r where r.queue_state = 0 and r.not_before is null))
  then
    return query select c.verdict, c.id, null::maas.cancelled_run, c.claimed
      from maas.maas_claim_runs(p_owner, p_statuses, p_capacity, p_is_alone, p_assistants, p_users, p_assistant_share,
        p_user_share, freed, is_due, has_more_cancelled, now_at) c;
  end if;
  if is_runnable or cardinality(freed) > 0 then
    perform pg_notify('pipeline_wakeup', '')
    where exists (select from maas.pipeline_runs r where r.queue_state = 0 and r.not_before is null);
  end if;
end
$$;
comment on function maas.maas_step is
  'Finish, take the inbox, promote, claim: one commit. verdict: ended; cancelled, with why; cancel: the caller is to '
  'stop this run; claimed, with the run; more: the caller should call again. p_assistants, p_users: of each run that '
  'the caller holds; it claims no run beyond p_assistant_share and p_user_share';

create or replace function maas.maas_end_runs(p_owner int, p_done jsonb, p_now timestamptz,
  out ended uuid[], out freed uuid[], out is_runnable boolean)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  records jsonb;
  failures uuid[];
begin
  if jsonb_path_exists(p_done, '$[*].calls[0]') then
    -- Model calls first: they are fenced by the owner, which the next statement clears.
    perform maas.maas_add_calls((
      select jsonb_agg(c) from jsonb_array_elements(p_done) d, jsonb_array_elements(d->'calls') c));
  end if;
  with done as materialized (
    -- the owner is joined: filtering by it makes the planner scan the table
    select *, p_owner as owner
    from jsonb_to_recordset(p_done) as d(id uuid, attempt int, outcome text, code text, message text, item jsonb,
      wait float8, time_left float8, limited text)
  ), u as (
    update maas.pipeline_runs r set
      queue_state = case
        when d.outcome in ('released', 'deferred') or (d.outcome = 'failed' and r.status = 'COMPLETED') then 0
        else 2 end,
      owner = null,
      status = case when d.outcome = 'failed' and r.status <> 'COMPLETED' then 'FAILED' else r.status end,
      error_code = case d.outcome when 'failed' then d.code else r.error_code end,
      error_message = case d.outcome when 'failed' then d.message else r.error_message end,
      failed_at = case d.outcome when 'failed' then p_now else r.failed_at end,
      degraded = case when (d.item->>'degraded')::boolean then r.degraded || 'Archivist'::text else r.degraded end,
      limited = coalesce(d.limited, r.limited),
      archive_status = case
        when d.outcome = 'archived' then 'ARCHIVED'
        when d.outcome = 'archive_failed' then 'FAILED'
        when d.outcome = 'failed' and r.status <> 'COMPLETED' then 'SKIPPED'
        else 'PENDING' end,
      archived_at = case d.outcome when 'archived' then p_now end,
      not_before = case d.outcome when 'deferred' then p_now + make_interval(secs => d.wait) end,
      answer_by = case d.outcome
        when 'deferred' then coalesce(r.answer_by, p_now + make_interval(secs => d.time_left))
        else r.answer_by end,
      updated_at = p_now
    from done d where r.id = d.id and r.owner = d.owner and r.attempt = d.attempt
    returning r.id, r.queue_key, r.user_id, r.kind, r.queue_state, r.status, r.analyzing_at, d.outcome, d.item
  )
  select coalesce(array_agg(u.id), '{}'),
    coalesce(array_agg(u.queue_key) filter (where u.queue_state = 2), '{}'),
    coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'),
    coalesce(jsonb_agg(u.item || jsonb_build_object(
        'run_id', u.id, 'archiver', u.id, 'user_id', u.user_id, 'began', u.analyzing_at))
      filter (where u.outcome = 'archived' and u.kind in ('ask', 'action', 'task')), '[]'),
    coalesce(bool_or(u.queue_state = 0 and u.outcome <> 'deferred'), false)
  into ended, freed, failures, records, is_runnable from u;
  if jsonb_array_length(records) > 0 then
    perform maas.maas_write_records(records);
  end if;
  if cardinality(failures) > 0 then
    perform maas.maas_record_failures(failures);
  end if;
  if jsonb_path_exists(p_done, '$[*] ? (@.outcome == "archive_failed")') then
    update maas.raw_logs g set archive_owed = true from jsonb_to_recordset(p_done) as d(id uuid, outcome text)
    where d.outcome = 'archive_failed' and d.id = any(ended) and g.run_id = d.id
      and g.user_id is not distinct from (select r.user_id from maas.pipeline_runs r where r.id = d.id)
      and g.archived_at is null;
    -- the summary will not be written
    delete from maas.lsm_storage l using jsonb_to_recordset(p_done) as d(id uuid, outcome text)
    where d.outcome = 'archive_failed' and d.id = any(ended) and l.run_id = d.id and l.superseded_at is null
      and l.user_id is not distinct from (select r.user_id from maas.pipeline_runs r where r.id = d.id)
      and l.is_provisional;
  end if;
  if jsonb_path_exists(p_done, '$[*] ? (@.outcome == "deferred" && @.message != null)') then
    perform maas.maas_add_event(d.id, 'deferred', jsonb_build_object(
      'until', p_now + make_interval(secs => d.wait), 'code', d.code, 'cause', d.message))
    from jsonb_to_recordset(p_done) as d(id uuid, outcome text, code text, message text, wait float8)
    where d.outcome = 'deferred' and d.message is not null and d.id = any(ended);
  end if;
end
$$;
comment on function maas.maas_end_runs is
  'Part of maas_step: how claims ended, fenced by owner and attempt. freed: the keys of the runs that are finished';

create or replace function maas.maas_cancel_runs(p_now timestamptz) returns setof maas.cancelled_run
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  runs maas.cancelled_run[];
begin
  with u as (
    -- A run that somebody set to FAILED keeps the reason that was given; its owner drops it.
    update maas.pipeline_runs r set queue_state = 2, status = 'FAILED', owner = null,
      error_code = case when r.status <> 'FAILED' then 'cancelled' else coalesce(r.error_code, 'cancelled') end,
      error_message = case
        when r.status <> 'FAILED' then 'cancelled before it was answered'
        else coalesce(r.error_message, 'set to FAILED') end,
      failed_at = p_now, archive_status = 'SKIPPED', not_before = null, updated_at = p_now
    where r.id in (  -- in portions, so that thousands hold up nobody
      select c.id from maas.pipeline_runs c
      where c.cancel_requested_at is not null and c.queue_state < 2
        and (c.queue_state < 1 and c.status <> 'COMPLETED' or c.queue_state = 1 and c.status = 'FAILED')
      order by c.id limit 500)
    returning r.id, r.queue_key, r.error_code, r.error_message
  )
  select coalesce(array_agg(row(u.id, u.queue_key, u.error_code, u.error_message)::maas.cancelled_run), '{}')
  into runs from u;
  perform maas.maas_record_failures(array(select c.id from unnest(runs) c));
  return query select * from unnest(runs);
end
$$;
comment on function maas.maas_cancel_runs is
  'Part of maas_step: makes runs FAILED that were cancelled before they were claimed, at most 500';

create or replace function maas.maas_advance(p_owner int, p_ids uuid[], p_attempts int[], p_statuses text[],
  p_wrote text[], p_sources text[], p_degraded text[], p_calls jsonb, p_messages jsonb default '[]',
  p_limited text[] default null, p_gaps text[] default null, p_searched text[] default null)
returns table (id uuid, is_cancelled boolean, assistants_version text)
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
  set jit = off set plan_cache_mode = force_generic_plan set random_page_cost = 0 set cpu_operator_cost = 0
  set cpu_index_tuple_cost = 0 set cpu_tuple_cost = 1 as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  version text := (select value from maas.engine_settings where key = 'assistants_version');
begin
  if jsonb_array_length(p_calls) > 0 then
    perform maas.maas_add_calls(p_calls);
  end if;
  if jsonb_array_length(p_messages) > 0 then
    perform maas.maas_add_tool_messages(p_owner, p_ids, p_attempts, p_messages);
  end if;
  -- No condition on queue_state: it would make the planner scan the small queue index instead of the primary key.
  return query update maas.pipeline_runs r set
    status = t.status,
    analysis_result = case when t.status = 'ANALYZED' then t.wrote::jsonb else r.analysis_result end,
    draft_context = case when t.status = 'ASSEMBLING' then t.wrote else r.draft_context end,
    final_context_payload = case when t.status = 'READY' then t.wrote else r.final_context_payload end,
    final_answer = case when t.status = 'COMPLETED' then t.wrote else r.final_answer end,
    -- The same list again keeps its place: its text is written to the log once.
    sources = coalesce(nullif(t.sources::jsonb, r.sources), r.sources),
    searched = coalesce(t.searched::jsonb, r.searched),
    degraded = case when t.degraded is null then r.degraded else r.degraded || t.degraded end,
    limited = coalesce(t.limited, r.limited),
    memory_reasons = case when t.gaps is null then r.memory_reasons
      else array(select distinct unnest(r.memory_reasons || string_to_array(t.gaps, ',')) order by 1) end,
    archive_status = case when t.status = 'COMPLETED' then 'ARCHIVING' else r.archive_status end,
    analyzed_at = case when t.status = 'ANALYZED' then now_at else r.analyzed_at end,
    assembling_at = case when t.status = 'ASSEMBLING' then now_at else r.assembling_at end,
    ready_at = case when t.status = 'READY' then now_at else r.ready_at end,
    responding_at = case when t.status = 'RESPONDING' then now_at else r.responding_at end,
    completed_at = case when t.status = 'COMPLETED' then now_at else r.completed_at end,
    losses = 0, deaths = 0, updated_at = now_at
  from unnest(p_ids, p_attempts, p_statuses, p_wrote, p_sources, p_degraded, p_limited, p_gaps,
      p_searched)
    as t(id, attempt, status, wrote, sources, degraded, limited, gaps, searched)
  where r.id = t.id and r.owner = p_owner and r.attempt = t.attempt and r.status = case t.status
    when 'ANALYZED' then 'ANALYZING' when 'ASSEMBLING' then 'ANALYZED' when 'READY' then 'ASSEMBLING'
    when 'RESPONDING' then 'READY' when 'COMPLETED' then 'RESPONDING' end
  returning r.id, r.cancel_requested_at is not null, version;
end
$$;
comment on function maas.maas_advance is
  'Moves runs to their next status and stores what their stage wrote, with an answer the tool calls before it; a run '
  'missing from the result was lost: drop the work';
