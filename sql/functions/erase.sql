-- Erasing a user, whatever is in flight.
--
-- maas_erase deletes a bounded number of rows, so that nobody waits long for a lock that it holds; erasures records
-- that it has begun and what it has deleted. The newest runs go first, and with them all that are unfinished: they
-- alone need the engine lock. Writers lock the run's row in the statement that writes, so a late writer finds none. It
-- has ended when a whole pass finds nothing: what was written while a delete waited, or between two calls, goes in the
-- next pass.

create or replace function maas.maas_user_tables()
returns table (name text, condition text, run_condition text) language sql stable as $$
  with recursive own as (
    select k.oid, k.relname from pg_class k
    join pg_attribute a on a.attrelid = k.oid and a.attname = 'user_id' and not a.attisdropped
    where k.relnamespace = 'maas'::regnamespace and k.relkind in ('r', 'p') and k.relname not in ('audit', 'erasures')
  ), chains(oid, depth) as (  -- how many references lead from a table to one that refers to none
    select oid, 0 from own
    union
    select c.conrelid, r.depth + 1 from chains r
    join pg_constraint c on c.contype = 'f' and c.confrelid = r.oid and c.conrelid <> r.oid
    join own on own.oid = c.conrelid where r.depth < 20
  )
  select t.name::text, t.condition, t.run_condition from (
    -- Tables that refer to runs come first, then the runs themselves.
    select k.relname, format('%I in (select id from maas.pipeline_runs where user_id = $1)', a.attname),
      format('%I = any($2)', a.attname),
      -- what says that a run is counted stays as long as the run
      case k.relname when 'sum_exceptions' then 3 else 1 end, 0
    from pg_constraint c join pg_class k on k.oid = c.conrelid and k.relnamespace = 'maas'::regnamespace
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.confrelid = 'maas.pipeline_runs'::regclass
    union all
    -- Copies before the logs, and tables that refer to others before those: a trigger or a cascade would delete them
    -- uncounted.
    select o.relname, 'user_id = $1', case o.relname when 'pipeline_runs' then 'id = any($2)' end,
      case o.relname when 'pipeline_runs' then 2 when 'raw_logs' then 4 else 3 end,
      -(select max(depth) from chains where chains.oid = o.oid)
    from own o
  ) t(name, condition, run_condition, place, depth) order by t.place, t.depth, t.name
$$;
comment on function maas.maas_user_tables is
  'Every table of the schema that refers to users or to runs of users, a condition for the rows of user $1 and, '
  'of runs and what refers to them, one for the runs $2; in the order of deletion';

create or replace function maas.maas_erase(p_user uuid, p_actor text default null, p_rows int default 1000)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  tables text[];
  conditions text[];      -- of the rows that belong to the user, null for rows of a run
  run_conditions text[];
  -- the newest, with all that refers to them; looked for at the beginning of a call and of a pass
  runs uuid[];
  freed uuid[] := '{}';   -- keys that lose their head; with one key for all users, other users' runs wait behind it
  is_late boolean := false;
  is_over boolean := false;
  budget int := p_rows;   -- how many rows this call may still delete
  found_rows int;
  gone int;
  former_call timestamptz;
  erasure maas.erasures;
begin
  perform maas.maas_lock_memory(p_user);
  perform maas.maas_lock_sums();
  select e.touched_at into former_call from maas.erasures e where e.user_id = p_user;
  insert into maas.erasures (user_id, actor, touched_at)
  values (p_user, coalesce(p_actor, 'sql:' || session_user), maas.maas_now())
  on conflict (user_id) do update set touched_at = maas.maas_now() returning * into erasure;
  select array_agg(t.name order by t.place), array_agg(t.condition order by t.place),
    array_agg(t.run_condition order by t.place)
  into tables, conditions, run_conditions
  from maas.maas_user_tables() with ordinality t(name, condition, run_condition, place);
  erasure.deleted := (select jsonb_object_agg(t.name, 0) from unnest(tables) t(name)) || erasure.deleted;
  while budget > 0 and not is_over loop
    if runs is null or erasure.place = 1 then
      runs := array(select r.id from maas.pipeline_runs r where r.user_id = p_user order by r.seq desc limit 100);
      if exists (select from maas.pipeline_runs r where r.id = any(runs) and r.queue_state < 2) then
        exit when budget < p_rows;  -- the next call takes the engine lock before it deletes anything
        perform maas.maas_lock_runs(p_user, runs);
        freed := array(
          select distinct r.queue_key from maas.pipeline_runs r where r.id = any(runs) and r.queue_state in (0, 1));
      end if;
      perform maas.maas_count_runs(runs);
      is_late := is_late or exists (
        select from maas.pipeline_runs r where r.id = any(runs) and r.created_at > former_call);
    end if;
    for n in case when runs = '{}' then erasure.place else 1 end..cardinality(tables) loop
      continue when runs <> '{}' and run_conditions[n] is null;  -- the user's other rows go when no run is left
      execute format('with found as materialized (select ctid from maas.%1$I where %2$s limit $3), gone as (
          delete from maas.%1$I where ctid = any(array(select ctid from found)) and %2$s returning 1)
        select (select count(*) from found), (select count(*) from gone)', tables[n],
        case when runs <> '{}' then run_conditions[n] else conditions[n] end)
        into found_rows, gone using p_user, runs, budget;
      erasure.deleted := jsonb_set(
        erasure.deleted, array[tables[n]], to_jsonb(gone + (erasure.deleted->>tables[n])::bigint));
      -- a row that changed while its delete waited is left for the next pass
      erasure.is_clean := erasure.is_clean and found_rows = 0;
      erasure.place := case when runs = '{}' then n else erasure.place end;
      budget := budget - found_rows;
      exit when budget <= 0;
    end loop;
    if runs <> '{}' then
      runs := null;
    elsif budget > 0 then
      is_over := erasure.is_clean;
      erasure.place := 1;
      erasure.is_clean := true;
    end if;
  end loop;
  perform maas.maas_promote(freed);
  if not is_over then
    update maas.erasures e set deleted = erasure.deleted, place = erasure.place, is_clean = erasure.is_clean,
      late_calls = e.late_calls + is_late::int where e.user_id = p_user;
    return null;
  end if;
  delete from maas.erasures e where e.user_id = p_user;
  perform maas.maas_write_audit('erase', p_user, null, erasure.deleted, erasure.actor);
  perform maas.maas_emit('user.erased', p_user, p_user, jsonb_build_object('user_id', p_user));
  return erasure.deleted;
end
$$;
comment on function maas.maas_erase is
  'Deletes rows of a user, whatever is in flight, about p_rows in a call; '
  'null while some are left: call it again, or orchestrators will. '
  'Then the number of rows per table; a user who returns is new';

create or replace function maas.maas_resume_erasure(p_silent interval, p_user uuid default null)
returns table (user_id uuid, receipt jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  update maas.erasures e set touched_at = maas.maas_now()
  where e.user_id = (
    select o.user_id from maas.erasures o
    where case when p_user is null then o.touched_at < maas.maas_now() - p_silent else o.user_id = p_user end
    order by o.touched_at limit 1 for update skip locked)
  returning e.user_id into user_id;
  if found then
    receipt := maas.maas_erase(user_id);
    return next;
  end if;
end
$$;
comment on function maas.maas_resume_erasure is
  'Goes on with the erasing of p_user, or of a user whose caller has been silent for so long, as maas_erase does; '
  'no row if there is none';
