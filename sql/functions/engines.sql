-- Orchestrators: registration, lease, recovery, metrics.
--
-- An orchestrator is alive while its session holds advisory lock (4711, lock_key) and its lease has not expired.
-- maas_reap takes over the runs of all others, whichever process calls it. The key is drawn by chance and the session
-- is noted, so that no other login can take the lock first, or keep a dead orchestrator alive by holding it.

create or replace function maas.maas_timeline()
returns text language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception when feature_not_supported or insufficient_privilege or undefined_function then
  return null;  -- some hosted servers do not tell
end
$$;
comment on function maas.maas_timeline is
  'The timeline of the write-ahead log, 8 hexadecimal digits; null where the server does not tell';

create or replace function maas.maas_register(
  p_host text, p_pid int, p_stages text[], p_concurrency int, p_lease interval)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  me int := nextval('maas.owner_seq');
  key int;
begin
  loop
    key := ('x' || left(replace(gen_random_uuid()::text, '-', ''), 8))::bit(32)::int;
    exit when pg_try_advisory_lock(4711, key);
  end loop;
  insert into maas.engines (owner, host, pid, stages, concurrency, lease_until, lock_key, session, timeline)
  values (me, p_host, p_pid, p_stages, p_concurrency, maas.maas_now() + p_lease, key, pg_backend_pid(),
    maas.maas_timeline())
  on conflict (owner) do update set host = excluded.host, pid = excluded.pid, stages = excluded.stages,
    concurrency = excluded.concurrency, started_at = now(), heartbeat_at = now(), lease_until = excluded.lease_until,
    lock_key = excluded.lock_key, session = excluded.session, timeline = excluded.timeline;
  return me;
end
$$;
comment on function maas.maas_register is
  'Returns a new owner number, alive as long as this session holds its advisory lock';

create or replace function maas.maas_heartbeat(p_owner int, p_lease interval)
returns boolean language sql security definer set search_path = pg_catalog, pg_temp as $$
  with beat as (
    update maas.engines set lease_until = maas.maas_now() + p_lease, heartbeat_at = maas.maas_now()
    where owner = p_owner returning 1
  )
  select exists (select from beat)
$$;
comment on function maas.maas_heartbeat is 'Extends the lease; false if the owner was reaped';

create or replace function maas.maas_unregister(p_owner int)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  given_back int;
begin
  perform maas.maas_lock_engine();
  update maas.pipeline_runs set queue_state = 0, owner = null, updated_at = clock_timestamp(),
    archive_status = case when status = 'COMPLETED' then 'PENDING' else archive_status end
  where owner = p_owner and queue_state = 1;
  get diagnostics given_back = row_count;
  delete from maas.engines where owner = p_owner;
  if given_back > 0 then
    perform pg_notify('pipeline_wakeup', '');
  end if;
  return given_back;
end
$$;
comment on function maas.maas_unregister is
  'Removes an owner; its runs become runnable again without counting as losses';

create or replace function maas.maas_excuse(p_owner int, p_runs uuid[])
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  excused int;
begin
  perform maas.maas_unregister(p_owner);  -- holds the engine lock from here on
  update maas.pipeline_runs r set losses = 0, deaths = 0
  where r.id = any(p_runs) and r.losses > 0 and r.queue_state < 2 and (
    select e.payload ->> 'owner' from maas.run_events e
    where e.run_id = r.id and e.type = 'reclaimed' order by e.n desc limit 1) = p_owner::text;
  get diagnostics excused = row_count;
  return excused;
end
$$;
comment on function maas.maas_excuse is
  'Removes an owner that could not reach Postgres: what it still has is returned, and those of p_runs that were '
  'reclaimed from it last, and are not finished, count no losses; returns how many';

create or replace function maas.maas_reap(
  p_max_deaths int, p_statuses text[] default '{}', p_sweep boolean default true)
returns table (reclaimed int, failed int, recovered int, quarantined int, moved jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
  set jit = off set plan_cache_mode = force_generic_plan set random_page_cost = 0 set cpu_operator_cost = 0
  set cpu_index_tuple_cost = 0 set cpu_tuple_cost = 1 as $$
#variable_conflict use_column
declare
  now_at timestamptz := clock_timestamp();
  lost uuid[] := '{}';
  freed uuid[] := '{}';
  headless uuid[] := '{}';  -- keys whose runs wait although none of them is runnable or in flight
  blamed int[] := '{}';    -- owners whose process crashed or stopped responding
begin
  reclaimed := 0; failed := 0; recovered := 0; quarantined := 0; moved := '[]';
  if p_sweep then
    with recursive keys as (  -- one index probe per key, however many of its runs wait
      (select queue_key from maas.pipeline_runs where queue_state = -1 order by queue_key limit 1)
      union all
      select (
        select w.queue_key from maas.pipeline_runs w
        where w.queue_state = -1 and w.queue_key > k.queue_key order by w.queue_key limit 1)
      from keys k where k.queue_key is not null
    )
    select coalesce(array_agg(k.queue_key), '{}') into headless from keys k
    where k.queue_key is not null and not exists (
      select from maas.pipeline_runs h where h.queue_key = k.queue_key and h.queue_state in (0, 1));
  end if;
  if cardinality(headless) > 0 or exists (select from maas.v_engines where not is_alive)
    or exists (
      select from maas.pipeline_runs r
      where r.queue_state = 1 and not exists (select from maas.engines e where e.owner = r.owner)) then
    perform maas.maas_lock_engine();
    now_at := clock_timestamp();
    -- A restart of Postgres and a standby that takes over end every session: such owners are not to blame.
    with removed as (
      delete from maas.engines e using maas.v_engines v where v.owner = e.owner and not v.is_alive
      returning e.owner, e.started_at > pg_postmaster_start_time()
        and e.timeline is not distinct from maas.maas_timeline() as is_blamed
    )
    select coalesce(array_agg(g.owner) filter (where g.is_blamed), '{}') into blamed from removed g;

    -- A loss counts as a death only for a run that was the only one in flight: of several, the cause is unknown.
    with dead as materialized (
      select r.id, r.owner, r.status, r.losses + (r.owner = any(blamed))::int as losses,
        r.deaths + (r.owner = any(blamed) and count(*) over (partition by r.owner) = 1)::int as deaths
      from maas.pipeline_runs r
      where r.queue_state = 1 and not exists (select from maas.engines e where e.owner = r.owner)
    ), u as (
      update maas.pipeline_runs r set
        owner = null, losses = d.losses, deaths = d.deaths, updated_at = now_at,
        queue_state = case when d.deaths >= p_max_deaths then 2 else 0 end,
        status = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED' then 'FAILED' else r.status end,
        error_code = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED'
          then 'engine_died' else r.error_code end,
        error_message = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED'
          then format(
            '%s: %s orchestrators in a row crashed or stopped responding with only this run in flight',
            d.status, d.deaths)
          else r.error_message end,
        failed_at = case when d.deaths >= p_max_deaths and d.status <> 'COMPLETED' then now_at else r.failed_at end,
        archive_status = case
          when d.deaths < p_max_deaths then 'PENDING' when d.status = 'COMPLETED' then 'FAILED' else 'SKIPPED' end
      from dead d where r.id = d.id
      returning r.id, r.queue_key, r.queue_state, r.status, d.owner as of_owner, r.deaths,
        maas.maas_add_event(r.id, 'reclaimed', jsonb_build_object(
          'owner', d.owner, 'status', d.status, 'losses', r.losses, 'deaths', r.deaths))
    )
    select count(*) filter (where u.queue_state = 0), count(*) filter (where u.queue_state = 2),
      coalesce(array_agg(u.id) filter (where u.status = 'FAILED'), '{}'),
      coalesce(array_agg(u.queue_key) filter (where u.queue_state = 2), '{}'),
      coalesce(jsonb_agg(jsonb_build_object(
        'id', u.id, 'status', u.status, 'verdict', case u.queue_state when 2 then 'failed' else 'reclaimed' end,
        'message', case u.queue_state when 2
          then format('%s orchestrators in a row crashed or stopped responding with only this run in flight', u.deaths)
          else format('orchestrator %s crashed or stopped responding', u.of_owner) end)), '[]')
    into reclaimed, failed, lost, freed, moved from u;
    if failed > 0 then
      delete from maas.lsm_storage l using maas.pipeline_runs r  -- its summary will not be written
      where r.queue_key = any(freed) and r.queue_state = 2 and r.archive_status = 'FAILED' and l.run_id = r.id
        and l.superseded_at is null and l.user_id is not distinct from r.user_id and l.is_provisional;
      perform maas.maas_record_failures(lost);
      update maas.raw_logs g set archive_owed = true from maas.pipeline_runs r
      where r.queue_key = any(freed) and r.queue_state = 2 and r.archive_status = 'FAILED' and g.run_id = r.id
        and g.user_id is not distinct from r.user_id and g.archived_at is null;
    end if;

    with u as (
      update maas.pipeline_runs r set queue_state = 0, updated_at = now_at
      from unnest(headless || freed) o(queue_key) cross join lateral (
        select w.id from maas.pipeline_runs w
        where w.queue_key = o.queue_key and w.queue_state = -1 order by w.seq limit 1) w
      where r.id = w.id and not exists (
        select from maas.pipeline_runs h where h.queue_key = o.queue_key and h.queue_state in (0, 1))
      returning r.id, r.status, o.queue_key,
        case when o.queue_key = any(headless) then maas.maas_add_event(r.id, 'adopted', '{}') end
    )
    select count(*), moved || coalesce(jsonb_agg(jsonb_build_object(
      'id', u.id, 'status', u.status, 'verdict', 'adopted', 'message', 'it waited behind no other run')), '[]')
    into recovered, moved from u where u.queue_key = any(headless);
    if reclaimed + failed + recovered > 0 then
      perform pg_notify('pipeline_wakeup', '');
    end if;
  end if;
  -- Runs quarantined by this call count at once, so that one loss starts one process and not one per orchestrator;
  -- others count when no orchestrator has taken them for 5 s.
  select count(*) into quarantined from maas.pipeline_runs r
  where r.queue_state = 0 and r.losses > 1 and r.status = any(p_statuses)
    and (r.not_before is null or r.not_before <= now_at)
    and (r.updated_at = now_at or r.updated_at < now_at - interval '5 seconds');
  return next;
end
$$;
comment on function maas.maas_reap is
  'Recovers runs of dead or silent orchestrators: back to runnable, or FAILED if they kill their process; '
  'promotes keys without a head. quarantined counts the runs to be run alone. moved: [{id, status, verdict, message}]';

create or replace function maas.maas_add_metrics(p_items jsonb)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  current timestamptz := date_bin('5 s', maas.maas_now(), 'epoch');
begin
  -- In one order, so that two orchestrators never deadlock.
  insert into maas.engine_metrics as m (slot, name, labels, le, events, seconds)
  select current, i.name, coalesce(i.labels, '{}'), coalesce(i.le, 'Infinity'), i.events, coalesce(i.seconds, 0)
  from jsonb_to_recordset(p_items) as i(
    name text, labels jsonb, le double precision, events bigint, seconds double precision)
  order by 2, 3, 4
  on conflict (slot, name, labels, le) do update
    set events = m.events + excluded.events, seconds = m.seconds + excluded.seconds;

  if maas.maas_try_lock('metrics') then
    with old as (
      delete from maas.engine_metrics where slot > '-infinity' and slot < current - interval '5 minutes' returning *
    )
    insert into maas.engine_metrics as m (slot, name, labels, le, events, seconds)
    select '-infinity', name, labels, le, sum(events), sum(seconds) from old group by name, labels, le
    on conflict (slot, name, labels, le) do update
      set events = m.events + excluded.events, seconds = m.seconds + excluded.seconds;
  end if;
end
$$;
comment on function maas.maas_add_metrics is 'Adds [{name, labels, le, events, seconds}] to the current slot';
