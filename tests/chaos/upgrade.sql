-- The trial of an upgrade: which version moved which run on, and how long requests waited for the migration.

-- name: upgrade_tables
create table public.chaos_versions (pid int not null, version text not null);
create table public.chaos_migrations (began_at timestamptz not null, ended_at timestamptz not null);
create table public.chaos_moves (
  run_id uuid not null, owner int not null, at timestamptz not null default clock_timestamp());
create function public.chaos_note_move() returns trigger language plpgsql as $$
begin
  insert into public.chaos_moves (run_id, owner) values (new.id, coalesce(new.owner, old.owner));
  return null;
end $$;
create trigger chaos_note_move after update of status on maas.pipeline_runs for each row
  when (new.status <> old.status and coalesce(new.owner, old.owner) is not null)
  execute function public.chaos_note_move();

-- name: upgrade_checks
with accepted as (
  select a.*, m.began_at, extract(epoch from a.accepted_at - a.sent_at) as s
  from chaos_accepted a cross join chaos_migrations m
  where a.sent_at < m.ended_at and a.accepted_at > m.began_at
)
select c.name as "check", cardinality(c.items) as found, 0 as expected, c.items[1:5] as examples from (values
  (1, 'runs FAILED', array(select format('%s: %s', r.id, r.error_code) from pipeline_runs r where r.status = 'FAILED')),
  (2, 'runs reclaimed, though every process ended politely', array(
    select format('%s at %s', e.run_id, e.created_at) from run_events e where e.type = 'reclaimed')),
  (3, 'requests that waited for the migration for more than a second',
    array(select format('%s, %s: %s s', a.mark, a.way, round(a.s, 1)) from accepted a where a.s > 1))
) as c(n, name, items) order by c.n;

-- name: upgrade_happened
with moves as (
  select m.run_id, v.version, m.at > (select ended_at from chaos_migrations) as is_migrated
  from chaos_moves m join chaos_engines e on e.owner = m.owner join chaos_versions v on v.pid = e.pid
)
select w.name, w.found::int, w.least from (values
  (1, 'moves by the former version before the migration',
    (select count(*) from moves where version = 'former' and not is_migrated), 100),
  (2, 'moves by it on the new schema', (select count(*) from moves where version = 'former' and is_migrated), 100),
  (3, 'moves by the new version', (select count(*) from moves where version = 'new' and is_migrated), 100),
  (4, 'runs that both versions moved on',
    (select count(*) from (select from moves group by run_id having count(distinct version) = 2) r), 1),
  (5, 'requests accepted while the schema was migrated', (select count(*) from chaos_accepted a
    cross join chaos_migrations m where a.sent_at < m.ended_at and a.accepted_at > m.began_at), 1),
  (6, 'runs COMPLETED', (select count(*) from pipeline_runs where status = 'COMPLETED'), 100)
) as w(n, name, found, least) order by w.n;
