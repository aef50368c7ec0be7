-- Erasing a user, whatever is in flight. Writers lock the run's row in the statement that writes, so a late writer finds none.

create or replace function maas.maas_user_tables() returns table (name text, condition text) language sql stable as $$
  with recursive own as (
    select k.oid, k.relname from pg_class k join pg_attribute a on a.attrelid = k.oid and a.attname = 'user_id' and not a.attisdropped
    where k.relnamespace = 'maas'::regnamespace and k.relkind in ('r', 'p') and k.relname <> 'audit'
  ), chains(oid, depth) as (  -- how many references lead from a table to one that refers to none
    select oid, 0 from own
    union
    select c.conrelid, r.depth + 1 from chains r join pg_constraint c on c.contype = 'f' and c.confrelid = r.oid and c.conrelid <> r.oid
    join own on own.oid = c.conrelid where r.depth < 20
  )
  select t.name::text, t.condition from (
    -- Tables that refer to runs come first, then the runs themselves.
    select k.relname, format('%I in (select id from maas.pipeline_runs where user_id = $1)', a.attname), 1, 0
    from pg_constraint c join pg_class k on k.oid = c.conrelid and k.relnamespace = 'maas'::regnamespace
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.confrelid = 'maas.pipeline_runs'::regclass
    union all
    -- Copies before the logs, and tables that refer to others before those: a trigger or a cascade would delete them uncounted.
    select o.relname, 'user_id = $1', case o.relname when 'pipeline_runs' then 2 when 'raw_logs' then 4 else 3 end,
      -(select max(depth) from chains where chains.oid = o.oid)
    from own o
  ) t(name, condition, place, depth) order by t.place, t.depth, t.name
$$;
comment on function maas.maas_user_tables is
  'Every table of the schema that refers to users or to runs of users, and a condition for the rows of user $1, in the order of deletion';

create or replace function maas.maas_erase(p_user uuid, p_actor text default null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  receipt jsonb := '{}';
  freed uuid[];      -- keys that lose their head; with one key for all users, other users' runs wait behind it
  gone bigint;
  gone_now bigint;
  target record;
begin
  perform maas.maas_lock_memory(p_user);
  perform maas.maas_lock_runs(p_user);
  freed := array(select distinct queue_key from maas.pipeline_runs where user_id = p_user and queue_state in (0, 1));
  for pass in 1..101 loop
    if pass > 100 then
      raise serialization_failure using message = 'requests of this user keep coming in', hint = 'stop them, then erase again';
    end if;
    gone_now := 0;
    for target in select t.name, t.condition from maas.maas_user_tables() t loop
      execute format('delete from maas.%I where %s', target.name, target.condition) using p_user;
      get diagnostics gone = row_count;
      gone_now := gone_now + gone;
      receipt := jsonb_set(receipt, array[target.name], to_jsonb(gone + coalesce((receipt->>target.name)::bigint, 0)));
    end loop;
    exit when gone_now = 0;  -- again, for rows of a transaction that a delete had to wait for
  end loop;
  update maas.pipeline_runs r set queue_state = 0, updated_at = clock_timestamp()
  from unnest(freed) f(queue_key) cross join lateral (
    select w.id from maas.pipeline_runs w where w.queue_key = f.queue_key and w.queue_state = -1 order by w.seq limit 1) w
  where r.id = w.id;
  if found then
    perform pg_notify('pipeline_wakeup', '');
  end if;
  perform maas.maas_write_audit('erase', p_user, null, receipt, p_actor);
  return receipt;
end
$$;
comment on function maas.maas_erase is
  'Deletes a user from every table, whatever is in flight; returns the number of rows per table. A user who returns is new';
