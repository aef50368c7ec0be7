-- What `maas migrate` asks and does, besides executing the files of sql/.

-- name: schema_exists
select exists (select from pg_namespace where nspname = 'maas');

-- name: schema_files_exist
-- Not to_regclass: after waiting for a lock it may still answer from a cache.
select exists (select from pg_tables where schemaname = 'maas' and tablename = 'schema_files');

-- name: former_layout_exists
select to_regclass('public._yoyo_migration') is not null and to_regclass('public.pipeline_runs') is not null;

-- name: lock_schema
select pg_advisory_xact_lock($1);

-- name: begin_migration
-- Functions may call those of later files, and extensions do not belong into the schema maas.
select set_config('check_function_bodies', 'off', true),
  set_config('search_path', coalesce(string_agg(quote_ident(name), ', '), 'public'), true)
from unnest(current_schemas(false)) name where name <> 'maas';

-- name: limit_lock_wait
select set_config('lock_timeout', $1, true);

-- name: create_schema
create schema maas;

-- name: create_schema_files
create table if not exists maas.schema_files (
  name text primary key,
  hash text not null,
  applied_at timestamptz not null default now()
);

-- name: comment_schema_files
comment on table maas.schema_files is 'Files of sql/ that were applied to this database; written by `maas migrate`';

-- name: view_drops
select format('drop view %s', string_agg(oid::regclass::text, ', ')) from pg_class
where relnamespace = 'maas'::regnamespace and relkind = 'v' having count(*) > 0;

-- name: schema_files
select name, hash from maas.schema_files;

-- name: record_schema_file
insert into maas.schema_files (name, hash) values ($1, $2)
on conflict (name) do update set hash = excluded.hash, applied_at = now();

-- name: forget_schema_files
-- Those that are no longer part of this version, $1, of ours and of the plugins that are on, $2.
delete from maas.schema_files
where name <> all($1) and case when position(':' in name) > 0 then split_part(name, ':', 1) else '' end = any($2);

-- name: forget_views
delete from maas.schema_files where name like 'views/%' or name like '%:views/%';

-- name: finds_maas
select 'maas' = any(current_schemas(false));

-- name: search_path
-- Of this database, with the statement that adds maas to it; is_alone: nothing else is in the database.
select pg_has_role(current_user, d.datdba, 'usage') as is_owned, path.value as path, not exists (
    select from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname not in ('maas', 'information_schema') and n.nspname !~ '^pg_' and not exists (
      select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
  ) as is_alone,
  format('alter database %I set search_path = %s, maas', d.datname, coalesce(path.value, $1)) as statement
from pg_database d
left join lateral (
  select substr(setting, 13) as value from pg_db_role_setting s cross join unnest(s.setconfig) setting
  where s.setdatabase = d.oid and s.setrole = 0 and setting like 'search_path=%'
) path on true
where d.datname = current_database();

-- name: hide_new_functions
alter default privileges revoke execute on functions from public;

-- name: strangers  -- logins that have none of our roles and may connect to this database
select r.rolname::text as login, current_database()::text as database from pg_roles r
where r.rolcanlogin and not r.rolsuper and has_database_privilege(r.oid, current_database(), 'connect')
  and not exists (select from pg_namespace n where n.nspname = 'maas' and pg_has_role(r.oid, n.nspowner, 'member'))
  and not exists (select from pg_roles m where pg_has_role(r.oid, m.oid, 'member')
    and m.rolname in ('authenticated', 'anon', 'maas_app', 'maas_ops', 'maas_server', 'maas_worker'))
order by 1;

-- name: make_roles  -- of a database whose functions were restored: the roles that could not be made
select maas.maas_make_roles();

-- name: contents
select (select count(distinct user_id) from maas.raw_logs) as users, (select count(*) from maas.pipeline_runs) as runs,
  (select count(*) from maas.raw_logs) as messages;

-- name: limit_statement
select set_config('statement_timeout', $1, true);

-- name: stored_relations  -- file: another one once it is rewritten
select c.oid::bigint as id, format('%I.%I', n.nspname, c.relname) as name, c.relfilenode::bigint as file
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'v', 'm') and c.oid >= 16384 and n.nspname <> 'pg_toast';

-- name: held_locks  -- those of this session
select l.relation::bigint as id, l.mode from pg_locks l
where l.pid = pg_backend_pid() and l.locktype = 'relation' and l.granted;

-- name: hide_schema
alter schema maas rename to maas_present;

-- name: look_into
select set_config('search_path', $1, true);

-- name: schema_objects
-- What a schema has: kind, of which table, name, how it is defined. Names in definitions have no schema where it is in
-- the search path. Partitions, and what belongs to an extension, are left out.
with tables as (
  select c.oid, c.relname::text as name, c.relkind, c.relrowsecurity, c.relforcerowsecurity from pg_class c
  where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p', 'v') and not c.relispartition
), functions as (
  select p.* from pg_proc p where p.pronamespace = to_regnamespace($1) and not exists (
    select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
)
select 'table' as kind, null::text as of, t.name,
  concat_ws(' ', case t.relkind when 'v' then 'view' end, case when t.relrowsecurity then 'row security' end,
    case when t.relforcerowsecurity then 'forced' end) as definition
from tables t
union all
select 'column', t.name, a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
  case when a.attnotnull then 'not null' end,
  case when a.attgenerated = 's' then 'generated' when d.oid is not null then 'default' end,
  pg_get_expr(d.adbin, d.adrelid))
from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
union all
select 'constraint', t.name, c.conname, pg_get_constraintdef(c.oid)
from tables t join pg_constraint c on c.conrelid = t.oid and c.contype <> 'n'
union all
select 'index', t.name, i.relname, pg_get_indexdef(i.oid) || case when not x.indisvalid then ' (invalid)' else '' end
from tables t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
union all
select 'trigger', t.name, g.tgname,
  pg_get_triggerdef(g.oid) || case g.tgenabled when 'D' then ' (disabled)' else '' end
from tables t join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
union all
select 'policy', t.name, p.polname, concat_ws(' ', case when not p.polpermissive then 'restrictive' end, p.polcmd,
  array(select r::regrole::text from unnest(p.polroles) r order by 1)::text,
  pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
from tables t join pg_policy p on p.polrelid = t.oid
union all
select 'function', null, f.oid::regprocedure::text, concat_ws(' ', pg_get_function_result(f.oid), f.provolatile,
  case when f.prosecdef then 'security definer' end, f.proconfig::text, md5(f.prosrc))
from functions f
union all
select 'right', o.name, coalesce(r.rolname::text, 'public'),
  string_agg(a.privilege_type, ', ' order by a.privilege_type)
from (
  select t.name, c.relacl, c.relowner from tables t join pg_class c on c.oid = t.oid
  union all
  select f.oid::regprocedure::text, coalesce(f.proacl, acldefault('f', f.proowner)), f.proowner from functions f
) o(name, acl, owner) cross join aclexplode(o.acl) a left join pg_roles r on r.oid = a.grantee
where a.grantee <> o.owner
group by o.name, r.rolname;
