-- A run whose model is away waits for it without a slot. What orchestrators are told of runs that end in SQL.
--
--   deferred   An outcome of maas_step: back to lane 0 at the status that the run has, with a time before which nobody
--              claims it. Lane 0 keeps its user's turn (idx_pipeline_runs_baton). `answer_by` is set by the first wait and
--              stays: when it is over the run is FAILED by who claims it then.
--
-- Runs that wait stand in an index of their own, so that a step never walks past them: to look for one whose time has
-- come is one probe, however many wait.

alter table pipeline_runs add not_before timestamptz, add answer_by timestamptz;
comment on column pipeline_runs.not_before is 'In lane 0: nobody claims it earlier, since its model is away; null for all others';
comment on column pipeline_runs.answer_by is 'Set when it first had to wait for its model: no wait goes on beyond this';

drop index idx_pipeline_runs_status;
create index idx_pipeline_runs_status on pipeline_runs (seq) where lane = 0 and not_before is null;
create index idx_pipeline_runs_deferred on pipeline_runs (not_before) where lane = 0 and not_before is not null;

do $$
declare
  place regprocedure;
  old_text text;
  new_text text;
begin
  foreach place in array array['run_intake()', 'maas_begin_again(uuid)']::regprocedure[] loop
    old_text := pg_get_functiondef(place);
    new_text := replace(replace(old_text, 'new.archived_at := null;', 'new.archived_at := null; new.not_before := null; new.answer_by := null;'),
      'failed_at = null, archived_at = null', 'failed_at = null, archived_at = null, not_before = null, answer_by = null');
    if new_text = old_text then
      raise exception '% clears no times', place;
    end if;
    execute new_text;
  end loop;
end $$;

drop function maas_step;
create function maas_step(p_owner int, p_statuses text[], p_capacity int, p_done jsonb default '[]', p_is_alone boolean default false)
returns table (verdict text, id uuid, attempt int, seq bigint, kind varchar, status varchar, user_id uuid, user_query text,
  assistant varchar, conversation_id uuid, created_at timestamptz, waited double precision, analysis_result jsonb,
  draft_context text, final_context_payload text, time_left double precision, note text) language plpgsql
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
  is_due boolean := false;    -- whether a run that was put off may go on
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
      from jsonb_to_recordset(p_done) as d(id uuid, attempt int, outcome text, code text, message text, item jsonb, wait float8, time_left float8)
    ), u as (
      update pipeline_runs r set
        lane = case when d.outcome in ('released', 'deferred') or (d.outcome = 'failed' and r.status = 'COMPLETED') then 0 else 2 end,
        owner = null,
        status = case when d.outcome = 'failed' and r.status <> 'COMPLETED' then 'FAILED' else r.status end,
        error_code = case d.outcome when 'failed' then d.code else r.error_code end,
        error_message = case d.outcome when 'failed' then d.message else r.error_message end,
        failed_at = case d.outcome when 'failed' then now_at else r.failed_at end,
        degraded = case when (d.item->>'degraded')::boolean then r.degraded || 'Archivist'::text else r.degraded end,
        archive_status = case when d.outcome = 'archived' then 'ARCHIVED' when d.outcome = 'archive_failed' then 'FAILED'
          when d.outcome = 'failed' and r.status <> 'COMPLETED' then 'SKIPPED' else 'PENDING' end,
        archived_at = case d.outcome when 'archived' then now_at end,
        not_before = case d.outcome when 'deferred' then now_at + make_interval(secs => d.wait) end,
        answer_by = case d.outcome when 'deferred' then coalesce(r.answer_by, now_at + make_interval(secs => d.time_left)) else r.answer_by end,
        updated_at = now_at
      from done d where r.id = d.id and r.owner = d.owner and r.attempt = d.attempt
      returning r.id, r.lane_key, r.user_id, r.kind, r.lane, r.status, r.analyzing_at, d.outcome, d.item
    )
    select coalesce(array_agg(u.id), '{}'),
      coalesce(array_agg(u.lane_key) filter (where u.lane = 2), '{}'),
      coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'),
      coalesce(jsonb_agg(u.item || jsonb_build_object(
          'run_id', u.id, 'archiver', u.id, 'user_id', u.user_id, 'began', u.analyzing_at))
        filter (where u.outcome = 'archived' and u.kind in ('ask', 'action')), '[]'),
      coalesce(bool_or(u.lane = 0 and u.outcome <> 'deferred'), false)
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
    if jsonb_path_exists(p_done, '$[*] ? (@.outcome == "deferred" && @.message != null)') then
      perform maas_add_event(d.id, 'deferred', jsonb_build_object(
        'until', now_at + make_interval(secs => d.wait), 'code', d.code, 'cause', d.message))
      from jsonb_to_recordset(p_done) as d(id uuid, outcome text, code text, message text, wait float8)
      where d.outcome = 'deferred' and d.message is not null and d.id = any(ended);
    end if;
    return query select 'ended', e, null::int, null::bigint, null::varchar, null::varchar, null::uuid, null::text,
      null::varchar, null::uuid, null::timestamptz, null::float8, null::jsonb, null::text, null::text, null::float8, null::text
    from unnest(ended) e;
  end if;

  -- Runs that were cancelled before anybody worked on them.
  if exists (select from pipeline_runs where cancel_requested_at is not null and lane < 2) then
    with u as (
      update pipeline_runs r set lane = 2, status = 'FAILED', error_code = 'cancelled',
        error_message = 'cancelled before it was answered', failed_at = now_at, archive_status = 'SKIPPED', not_before = null,
        updated_at = now_at
      where r.cancel_requested_at is not null and r.lane < 1 and r.status <> 'COMPLETED' returning r.id, r.lane_key
    )
    select freed || coalesce(array_agg(u.lane_key), '{}'), coalesce(array_agg(u.id), '{}') into freed, failures from u;
    perform maas_record_failures(failures);
    return query select 'cancelled', f, null::int, null::bigint, null::varchar, 'FAILED'::varchar, null::uuid, null::text,
      null::varchar, null::uuid, null::timestamptz, null::float8, null::jsonb, null::text, null::text, null::float8,
      'cancelled before it was answered' from unnest(failures) f;
    return query select 'cancel', r.id, null::int, null::bigint, null::varchar, null::varchar, null::uuid, null::text,
      null::varchar, null::uuid, null::timestamptz, null::float8, null::jsonb, null::text, null::text, null::float8, null::text
    from pipeline_runs r where r.cancel_requested_at is not null and r.lane = 1 and r.owner = p_owner;
  end if;

  is_due := p_capacity > 0 and exists (select from pipeline_runs where lane = 0 and not_before <= now_at);
  if cardinality(freed) = 0 and not waiting_elsewhere and not is_due and (p_capacity <= 0 or (
    not exists (select from pipeline_runs where lane = -2)
    and not exists (select from pipeline_runs where lane = 0 and not_before is null))) then
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
    taking := greatest(16, p_capacity - (select count(*)::int from (select from pipeline_runs where lane = 0 and not_before is null limit p_capacity) ready));
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
     where r.lane = 0 and r.not_before is null and r.status = any(p_statuses) and (r.losses > 1) = p_is_alone
     order by r.seq limit greatest(p_capacity, 0))
    union all
    (select r.id, r.seq, false from pipeline_runs r
     where is_due and r.lane = 0 and r.not_before <= now_at and r.status = any(p_statuses) and (r.losses > 1) = p_is_alone
     order by r.not_before limit greatest(p_capacity, 0))
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
      not_before = null,
      updated_at = now_at
    from plan p where r.id = p.id
    returning r.id, r.lane, r.attempt, r.seq, r.kind, r.status, r.user_id, r.user_query, r.assistant, r.conversation_id,
      r.created_at, r.try, r.analysis_result, r.draft_context, r.final_context_payload, r.answer_by
  ), traces as (
    -- Signal 1 of the Archivist: a trace of the query, without any model.
    insert into lsm_storage (user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, is_provisional)
    select m.user_id, m.id, today, today, '{}', left(m.user_query, 200), true
    from moved m where m.lane = 1 and m.status = 'ANALYZING' and m.kind in ('ask', 'action')
    on conflict (run_id) where superseded_at is null do nothing
  )
  select 'claimed', m.id, m.attempt, m.seq, m.kind, m.status, m.user_id, m.user_query, m.assistant, m.conversation_id,
    m.created_at, case m.try when 1 then extract(epoch from now_at - m.created_at) end::float8, m.analysis_result,
    m.draft_context, m.final_context_payload, extract(epoch from m.answer_by - now_at)::float8, null::text
  from moved m where m.lane = 1
  union all
  select 'more', null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
  from (select count(*) as taken from inbox) t where t.taken = taking and taking > 0;

  if waiting_elsewhere or cardinality(freed) > 0 then
    perform pg_notify('pipeline_bell', '') where exists (select from pipeline_runs where lane = 0 and not_before is null);
  end if;
end
$$;
comment on function maas_step is 'Finish, take the inbox, promote, claim: one commit. verdict: ended, cancelled (waiting, note says why), cancel, claimed, more';

drop function maas_reap;
create function maas_reap(p_max_deaths int, p_statuses text[] default '{}', p_sweep boolean default true)
returns table (reclaimed int, failed int, adopted int, suspects int, moved jsonb) language plpgsql
as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  lost uuid[] := '{}';
  freed uuid[] := '{}';
  orphans uuid[] := '{}';  -- keys that wait without a head: they have lost their baton
  blamed int[] := '{}';    -- owners whose process died or fell silent
begin
  reclaimed := 0; failed := 0; adopted := 0; suspects := 0; moved := '[]';
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
      returning r.id, r.lane_key, r.lane, r.status, d.owner as of_owner, r.deaths, maas_add_event(r.id, 'reclaimed',
        jsonb_build_object('owner', d.owner, 'status', d.status, 'losses', r.losses, 'deaths', r.deaths))
    )
    select count(*) filter (where u.lane = 0), count(*) filter (where u.lane = 2),
      coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'), coalesce(array_agg(u.lane_key) filter (where u.lane = 2), '{}'),
      coalesce(jsonb_agg(jsonb_build_object('id', u.id, 'status', u.status, 'verdict', case u.lane when 2 then 'failed' else 'reclaimed' end,
        'message', case u.lane when 2
          then format('%s orchestrators in a row died or fell silent with this run alone in flight', u.deaths)
          else format('orchestrator %s died or fell silent', u.of_owner) end)), '[]')
    into reclaimed, failed, lost, freed, moved from u;
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
      returning r.id, r.status, o.lane_key, case when o.lane_key = any(orphans) then maas_add_event(r.id, 'adopted', '{}') end
    )
    select count(*), moved || coalesce(jsonb_agg(jsonb_build_object('id', u.id, 'status', u.status, 'verdict', 'adopted',
      'message', 'it waited behind no other run')), '[]')
    into adopted, moved from u where u.lane_key = any(orphans);
    if reclaimed + failed + adopted > 0 then
      perform pg_notify('pipeline_bell', '');
    end if;
  end if;
  -- Its own at once, so that a loss starts one process and not one an orchestrator; others' when nobody has come for them.
  select count(*) into suspects from pipeline_runs r where r.lane = 0 and r.losses > 1 and r.status = any(p_statuses)
    and (r.not_before is null or r.not_before <= now_at)
    and (r.updated_at = now_at or r.updated_at < now_at - interval '5 seconds');
  return next;
end
$$;
comment on function maas_reap is 'Runs of dead or silent orchestrators go back to lane 0, those that kill their process fail, lost batons are found; suspects wait to be run alone. moved: [{id, status, verdict, message}]';

do $$
declare
  engine regproc;
begin
  foreach engine in array array['maas_step', 'maas_reap']::regproc[] loop
    execute format('alter function %s set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
      set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
      set random_page_cost = 0 set cpu_operator_cost = 0 set cpu_index_tuple_cost = 0 set cpu_tuple_cost = 1', engine);
  end loop;
end $$;

-- What people see -----------------------------------------------------------------------------------------------------

create or replace view v_runs_current as
select r.id, r.user_id, r.seq, r.kind, r.assistant, r.status, r.archive_status, r.lane, r.owner, e.host, e.pid, r.attempt,
  r.deaths, r.created_at, now() - r.created_at as age, now() - r.updated_at as in_status_for, left(r.user_query, 80) as query,
  r.not_before, r.answer_by
from (
  select * from pipeline_runs where lane = -2 union all
  select * from pipeline_runs where lane = -1 union all
  select * from pipeline_runs where lane in (0, 1)  -- one branch an index: history is never read
) r left join v_engines e on e.owner = r.owner and e.is_alive;

drop view v_runs_stuck;
create view v_runs_stuck as
select c.*, case
    when not exists (select from v_engines where is_alive) then 'no orchestrator is running; start one'
    when c.lane = 1 and c.host is null then 'its orchestrator is gone; another takes it over within seconds'
    when c.lane = 1 then 'in one status for over 5 minutes; look at the model or cancel it'
    when c.lane = -1 then 'waits behind an earlier run of its user'
    when c.not_before is not null then 'its model is away; it is asked again after not_before, FAILED after answer_by; maas trace says why'
    else 'not taken yet; every orchestrator is busy or none runs its stage'
  end as why
from v_runs_current c
where (c.lane = 1 and (c.host is null or c.in_status_for > interval '5 minutes')) or (c.lane < 1 and c.in_status_for > interval '1 minute')
  or c.not_before is not null;
comment on view v_runs_stuck is 'Runs that should have moved by now, or wait for their model, and why';

create or replace view v_queue as
select q.inbox, q.waiting, q.runnable, q.in_flight, q.oldest_at, now() - q.oldest_at as oldest_for, (
    select r.user_id from pipeline_runs r where r.created_at = q.oldest_at and r.lane < 1 limit 1) as oldest_user,
  (select count(*) from v_engines where is_alive) as orchestrators, pg_notification_queue_usage() as notify_queue_usage, q.deferred
from (
  select count(*) filter (where r.lane = -2) as inbox, count(*) filter (where r.lane = -1) as waiting,
    count(*) filter (where r.lane = 0 and r.not_before is null) as runnable, count(*) filter (where r.lane = 1) as in_flight,
    min(r.created_at) filter (where r.lane < 1) as oldest_at, count(r.not_before) as deferred
  from (
    -- bounded, so that looking at a flood does not add to it
    (select lane, created_at, null::timestamptz as not_before from pipeline_runs where lane = -2 order by seq limit 100000) union all
    (select lane, created_at, null from pipeline_runs where lane = -1 order by lane_key, seq limit 100000) union all
    select lane, created_at, not_before from pipeline_runs where lane in (0, 1)
  ) r) q;
comment on view v_queue is 'The queue in one row: runs by lane (inbox and waiting are counted up to 100,000), those put off until their model is back, who waits longest, who works';

do $$ begin perform maas_grant_rights(); end $$;
