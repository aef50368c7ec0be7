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
