-- Loading of stored data that the tools of assistants read. `maas_load` inserts rows, or updates those whose key
-- exists; the same rows a second time change nothing. A table is open if loadable_tables has a row for it:
--
--   insert into maas.loadable_tables (name, columns) values ('orders', '{id,name,price}');

create or replace function maas.maas_json_kind(p_type regtype) returns text language sql stable as $$
  select case when p_type in ('json'::regtype, 'jsonb'::regtype) then 'any' when t.typcategory = 'N' then 'number'
    when t.typcategory = 'B' then 'boolean' when t.typcategory = 'A' then 'array' else 'string' end
  from pg_type t where t.oid = p_type
$$;
comment on function maas.maas_json_kind is
  'The kind of JSON value that a column of this type is loaded from; any for json and jsonb';

create or replace function maas.maas_check_load(p_table name, p_rows jsonb) returns void language plpgsql as $$
declare
  opened maas.loadable_tables;
  names text[];
  problem text;
begin
  select * into opened from maas.loadable_tables l where l.name = p_table;
  if not found then
    raise feature_not_supported using
      message = format('the table %s is not open for loading', quote_ident(p_table)),
      hint = coalesce((
        select 'open: ' || string_agg(l.name, ', ' order by l.name) from maas.loadable_tables l), 'no table is open');
  end if;
  if jsonb_typeof(p_rows) is distinct from 'array' or exists (
    select from jsonb_array_elements(p_rows) r where jsonb_typeof(r) <> 'object') then
    raise invalid_parameter_value using message = 'each row must be a JSON object';
  end if;
  names := array(select k from jsonb_object_keys(p_rows->0) k order by k);
  if exists (
    select from jsonb_array_elements(p_rows) r
    where array(select k from jsonb_object_keys(r) k order by k) <> names) then
    raise invalid_parameter_value using message = 'all rows of one call must have the same columns';
  end if;
  select case
      when a.attname is null or a.attgenerated <> '' or a.attidentity = 'a'
        then format('there is no column %s', to_json(n))
      else format('the column %s is not open for loading', to_json(n)) end
    || format('; open: %s', array_to_string(opened.columns, ', '))
  into problem from unnest(names) with ordinality u(n, place)
  left join pg_attribute a
    on a.attrelid = format('maas.%I', p_table)::regclass and a.attname = n and a.attnum > 0 and not a.attisdropped
  where a.attname is null or a.attgenerated <> '' or a.attidentity = 'a'
    or n <> all(opened.columns || '{user_id}'::name[])
  order by u.place limit 1;
  if problem is not null then
    raise undefined_column using message = problem;
  end if;
  select case
      when j.value = 'null' then format('%s: null, but the key needs a value', c.attname)
      when c.kind in ('any', jsonb_typeof(j.value)) then format('%s: must begin with %s', c.attname,
        case when c.begins ~ ':' then 'hours:minutes' else 'year-month-day' end)
      else format('%s: must be %s, not %s', c.attname, case c.kind when 'array' then 'an array' else 'a ' || c.kind end,
        case jsonb_typeof(j.value) when 'object' then 'an object' when 'array' then 'an array'
          else 'a ' || jsonb_typeof(j.value) end) end
  into problem
  from jsonb_array_elements(p_rows) with ordinality r(line, place) cross join jsonb_each(r.line) j
  join (
    select a.attname, maas.maas_json_kind(coalesce(nullif(t.typbasetype, 0), t.oid)::regtype) as kind,
      case when t.typcategory = 'D' then
        case when t.typname in ('time', 'timetz') then '^\d{1,2}:\d{2}' else '^\d{4}-\d{2}-\d{2}' end end as begins,
      coalesce(i.indisprimary, false) or a.attname = 'user_id' as is_key
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    left join pg_index i on i.indrelid = a.attrelid and i.indisprimary and a.attnum = any(i.indkey)
    where a.attrelid = format('maas.%I', p_table)::regclass and a.attnum > 0) c on c.attname = j.key
  where case when j.value = 'null' then c.is_key else c.kind not in ('any', jsonb_typeof(j.value))
    or c.begins is not null and (j.value #>> '{}') !~ c.begins end  -- 'now' would be another time in a repetition
  order by r.place, j.key limit 1;
  if problem is not null then
    raise invalid_text_representation using message = problem;
  end if;
end
$$;
comment on function maas.maas_check_load is
  'Raises an error for a table or column that is not open for loading, '
  'and for values of other types than those of the columns';

create or replace function maas.maas_check_loaded_owners(p_table name, p_rows jsonb, p_key name[])
returns void language plpgsql as $$
declare
  target regclass := format('maas.%I', p_table)::regclass;
  reference record;
  stranger boolean;
begin
  execute format(
    'select exists (select from jsonb_populate_recordset(null::%1$s, $1) r join %1$s t using (%2$s) '
    'where t.user_id <> r.user_id)',
    target, (select string_agg(quote_ident(k), ', ') from unnest(p_key) k)) into stranger using p_rows;
  if stranger then
    raise foreign_key_violation using message = format('%s: names a row of another user', array_to_string(p_key, ', '));
  end if;
  for reference in
    select c.confrelid::regclass as other, o.names,
      string_agg(format('o.%I = r.%I', f.attname, a.attname), ' and ') as condition
    from pg_constraint c
    cross join lateral unnest(c.conkey, c.confkey) k(own, foreign_one)
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.own
    join pg_attribute f on f.attrelid = c.confrelid and f.attnum = k.foreign_one
    cross join lateral (select string_agg(n.attname, ', ' order by n.attnum) as names from pg_attribute n
      where n.attrelid = c.conrelid and n.attnum = any(c.conkey)) o
    where c.contype = 'f' and c.conrelid = target and exists (
      select from pg_attribute u where u.attrelid = c.confrelid and u.attname = 'user_id' and not u.attisdropped)
    group by c.oid, c.confrelid, o.names
  loop
    execute format(
      'select exists (select from jsonb_populate_recordset(null::%s, $1) r join %s o on %s '
      'where o.user_id <> r.user_id)',
      target, reference.other, reference.condition) into stranger using p_rows;
    if stranger then
      raise foreign_key_violation using message = format('%s: names a row of another user', reference.names);
    end if;
  end loop;
end
$$;
comment on function maas.maas_check_loaded_owners is
  'Raises foreign_key_violation for a row whose key, or whose reference to another table, belongs to a different user';

create or replace function maas.maas_load(p_table text, p_rows jsonb, p_user uuid default null)
returns table (added int, changed int, unchanged int) language plpgsql security definer
set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO, YMD' as $$
declare
  target regclass;
  key name[];
  names text[];
  statement text;
  rounds int;
  inserted int;
  updated int;
begin
  added := 0;
  changed := 0;
  perform maas.maas_check_load(p_table::name, p_rows);
  target := format('maas.%I', p_table)::regclass;
  key := array(
    select a.attname from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
    where i.indrelid = target and i.indisprimary order by a.attnum);
  if key = '{}' then
    raise feature_not_supported
      using message = format('the table %s has no primary key, so it cannot be loaded twice', p_table);
  end if;
  if p_user is not null then
    if exists (select from jsonb_array_elements(p_rows) r where lower(r->>'user_id') <> p_user::text) then
      raise invalid_parameter_value
        using message = format('user_id: must be %s, the user whose rows are loaded', p_user);
    end if;
    p_rows := coalesce((select jsonb_agg(r || jsonb_build_object('user_id', p_user) order by place)
      from jsonb_array_elements(p_rows) with ordinality u(r, place)), '[]');
  end if;
  names := array(select jsonb_object_keys(p_rows->0));
  if names = '{}' then
    unchanged := 0;
    return next;
    return;
  end if;
  if not names @> (key || '{user_id}'::name[])::text[] then
    raise not_null_violation using message = format('a row needs %s', array_to_string(
      array(select k from unnest(key || '{user_id}'::name[]) k where k <> all(names) group by k order by k), ', '));
  end if;
  statement := format(
    'with lines as (select r.*, row_number() over (partition by %2$s order by maas_line) as maas_round
       from jsonb_populate_recordset(null::%1$s, $1) with ordinality r(%5$s, maas_line)),
     written as (insert into %1$s as t (%3$s) select %3$s from lines where maas_round = $2 order by %2$s
       on conflict (%2$s) do %4$s returning t.xmax = 0 as is_new)
     select (select max(maas_round) from lines)::int, (select count(*) from written where is_new)::int, '
       '(select count(*) from written where not is_new)::int',
    target, (select string_agg(quote_ident(k), ', ') from unnest(key) k),
    (select string_agg(quote_ident(n), ', ') from unnest(names) n), coalesce((
      select 'update set ' || string_agg(format('%1$I = excluded.%1$I', n), ', ')
        || ' where t.user_id = excluded.user_id and ('
        || string_agg(format('t.%1$I is distinct from excluded.%1$I', n), ' or ') || ')'
      from unnest(names) n where n <> all(key) and n <> 'user_id'), 'nothing'),
    (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
     where a.attrelid = target and a.attnum > 0 and not a.attisdropped));
  rounds := 1;
  for round in 1..jsonb_array_length(p_rows) loop  -- a later row with the same key replaces an earlier one
    exit when round > rounds;
    execute statement into rounds, inserted, updated using p_rows, round;
    added := added + inserted;
    changed := changed + updated;
    perform maas.maas_check_loaded_owners(p_table::name, p_rows, key);
  end loop;
  unchanged := jsonb_array_length(p_rows) - added - changed;
  return next;
end
$$;
comment on function maas.maas_load is
  'Inserts rows into a table that is open for loading, or updates those whose key exists; '
  'p_user: all rows are of this user. The same rows again change nothing';
