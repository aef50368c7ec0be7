-- Cancel and retry; events of runs. Events are numbered without gaps and committed in order, so that a reader
-- resumes after n.

create or replace function maas.maas_cancel_run(p_id uuid, p_actor text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  run record;
begin
  update maas.pipeline_runs set cancel_requested_at = coalesce(cancel_requested_at, now())
  where id = p_id and queue_state < 2 and status <> 'COMPLETED' returning status, user_id into run;
  if not found then
    return case when exists (select from maas.pipeline_runs where id = p_id) then 'finished' else 'not_found' end;
  end if;
  perform maas.maas_add_event(p_id, 'cancel_requested', jsonb_build_object('status', run.status));
  perform pg_notify('pipeline_wakeup', '');
  perform maas.maas_write_audit('cancel', run.user_id, p_id, '{}', p_actor);
  return 'cancelling';
end $$;
comment on function maas.maas_cancel_run is
  'Returns cancelling, finished or not_found: marks a run; '
  'the next maas_step makes it FAILED with error_code cancelled';

create or replace function maas.maas_retry_run(p_id uuid, p_actor text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  run_user uuid := (select user_id from maas.pipeline_runs where id = p_id);
  former_error jsonb;
  verdict text := 'archiving';
begin
  perform maas.maas_lock_memory(run_user);
  perform maas.maas_count_runs(array[p_id], false);
  -- A failed archive alone is repeated: the answer stays, and an import continues with the messages that no
  -- summary covers.
  update maas.pipeline_runs
  set queue_state = -2, seq = nextval('maas.run_seq'), losses = 0, deaths = 0, archive_status = 'PENDING'
  where id = p_id and status = 'COMPLETED' and archive_status = 'FAILED' and queue_state = 2;
  if found then
    perform maas.maas_add_event(p_id, 'archive_retried', '{}');
  else
    select jsonb_build_object('try', try, 'error_code', error_code, 'error_message', error_message) into former_error
    from maas.pipeline_runs where id = p_id and status = 'FAILED' and kind <> 'call' and queue_state = 2
      and not maas.maas_is_forgotten(user_query) for update;
    if not found then
      return case when exists (select from maas.pipeline_runs where id = p_id) then 'not_failed' else 'not_found' end;
    end if;
    verdict := 'retrying';
    perform maas.maas_add_event(p_id, 'retried', former_error);
    -- The summary of the failed try may be part of the summary of its day; its messages get a new one.
    perform maas.maas_dissolve_parents(array(
      select l.id from maas.pipeline_runs r
      join maas.raw_logs g on g.run_id = r.id and g.user_id is not distinct from r.user_id
      join maas.lsm_storage l on l.id = g.record_id and l.run_id = r.id and l.user_id = r.user_id
      where r.id = p_id));
    perform maas.maas_show_question(p_id);
    update maas.raw_logs set archived_at = null, archived_run_id = null, record_id = null
    where run_id = p_id and is_remembered and exists (
      select from maas.pipeline_runs r
      where r.id = p_id and r.user_id = raw_logs.user_id and r.kind in ('ask', 'action', 'task'));
    update maas.lsm_storage set superseded_at = now()
    where run_id = p_id and superseded_at is null
      and user_id is not distinct from (select r.user_id from maas.pipeline_runs r where r.id = p_id);
    -- What is done or in doubt stays; the other steps of a task begin anew.
    update maas.task_steps set status = 'pending', started_at = null, ended_at = null, result = null
    where run_id = p_id and status in ('failed', 'skipped');
    update maas.pipeline_runs set
      status = 'NEW', queue_state = case when run_at > now() then -4 else -2 end, try = try + 1,
      seq = nextval('maas.run_seq'), losses = 0, deaths = 0,
      archive_status = 'PENDING', cancel_requested_at = null, error_code = null, error_message = null,
      degraded = '{}', limited = null, memory_reasons = '{}',
      analysis_result = null, sources = null, searched = null, draft_context = null, final_context_payload = null,
      claimed_at = null, analyzing_at = null, analyzed_at = null, assembling_at = null, ready_at = null,
      responding_at = null, completed_at = null, failed_at = null, archived_at = null,
      not_before = null, answer_by = null
    where id = p_id;
  end if;
  perform pg_notify('pipeline_wakeup', '');
  perform maas.maas_write_audit('retry', run_user, p_id, '{}', p_actor);
  return verdict;
end $$;
comment on function maas.maas_retry_run is
  'Returns retrying (FAILED -> NEW as a new try), archiving (a failed archive again), not_failed (also of a forgotten '
  'question) or not_found';

create or replace function maas.maas_promote(p_keys uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update maas.pipeline_runs r set queue_state = 0, updated_at = clock_timestamp()
  from unnest(p_keys) k(queue_key) cross join lateral (
    select w.id from maas.pipeline_runs w where w.queue_key = k.queue_key and w.queue_state = -1
    order by w.seq limit 1) w
  where r.id = w.id and not exists (
    select from maas.pipeline_runs h where h.queue_key = k.queue_key and h.queue_state in (0, 1));
  if found then
    perform pg_notify('pipeline_wakeup', '');
  end if;
end
$$;
comment on function maas.maas_promote is
  'Under the engine lock: makes the first waiting run runnable of each of these keys, each named once, that has no '
  'head';

create or replace function maas.maas_add_event(p_run uuid, p_type text, p_payload jsonb)
returns void language plpgsql as $$
begin
  loop
    insert into maas.run_events (run_id, n, type, payload)
    select r.id, (select coalesce(max(e.n), 0) + 1 from maas.run_events e where e.run_id = p_run), p_type, p_payload
    from maas.pipeline_runs r where r.id = p_run for key share of r
    on conflict (run_id, n) do nothing;  -- a concurrent event took the number: a new statement sees it
    exit when found or not exists (select from maas.pipeline_runs where id = p_run);
  end loop;
end
$$;
comment on function maas.maas_add_event is 'Adds an event to a run; does nothing if the run was erased';

create or replace function maas.maas_add_events(p_events jsonb)
returns setof int language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off as $$
declare
  todo int[] := array(select generate_series(1, jsonb_array_length(p_events)));
  written int[];
  lost int[];
begin
  -- p_events: {run_id, attempt, type, payload}. One event per run and statement, so that their order is kept.
  while cardinality(todo) > 0 loop
    with batch as materialized (
      select distinct on (e.run_id) e.run_id, e.attempt, e.type, e.payload, e.place
      from rows from (
        jsonb_to_recordset(p_events) as (run_id uuid, attempt int, type text, payload jsonb)) with ordinality
        as e(run_id, attempt, type, payload, place)
      where e.place = any(todo) order by e.run_id, e.place
    ), mine as materialized (
      select g.* from batch g cross join lateral (  -- one index probe per run; waits for an erasure in progress
        select from maas.pipeline_runs r
        where r.id = g.run_id and r.attempt = g.attempt and r.owner is not null for key share) r
    ), added as (
      insert into maas.run_events (run_id, n, type, payload, created_at)
      select m.run_id, (select coalesce(max(e.n), 0) + 1 from maas.run_events e where e.run_id = m.run_id),
        m.type, m.payload, clock_timestamp()
      from mine m on conflict (run_id, n) do nothing returning run_id
    )
    select coalesce(array_agg(g.place) filter (where a.run_id is not null), '{}'),
      coalesce(array_agg(g.place) filter (where m.run_id is null), '{}')
    into written, lost from batch g left join mine m using (run_id) left join added a using (run_id);
    return query select unnest(written);
    todo := array(select t from unnest(todo) t where t <> all(written || lost) order by t);
  end loop;
end
$$;
comment on function maas.maas_add_events is
  'Writes events of runs that the caller still owns, in order; returns the positions written, from 1';
