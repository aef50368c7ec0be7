-- The trial of a cluster of Postgres servers: who led when, and which runs a failover was held against.

-- name: failover_tables
create table public.chaos_leaders (kind text not null, struck_at timestamptz not null, led_at timestamptz,
  node text not null);
create table public.chaos_blamed (run_id uuid not null, at timestamptz not null default clock_timestamp());
create function public.chaos_note_blame() returns trigger language plpgsql as $$
begin
  insert into public.chaos_blamed (run_id) values (new.id);
  return null;
end $$;
create trigger chaos_note_blame after update of losses on maas.pipeline_runs for each row
  when (new.losses > old.losses) execute function public.chaos_note_blame();

-- name: failover_checks
with late as (
  select l.kind, l.led_at, extract(epoch from (select min(r.completed_at) from pipeline_runs r
    where r.completed_at > l.led_at) - l.led_at) as s
  from public.chaos_leaders l where l.led_at is not null
)
select c.name as "check", cardinality(c.items) as found, 0 as expected, c.items[1:5] as examples from (values
  (1, 'runs that a failover was held against', array(
    select format('%s at %s: %s', b.run_id, b.at, (
      select format('%s at %s, next leader at %s', l.kind, l.struck_at, l.led_at)
      from public.chaos_leaders l where l.struck_at <= b.at order by l.struck_at desc limit 1))
    from public.chaos_blamed b order by b.at)),
  (2, 'runs FAILED', array(select format('%s: %s', r.id, r.error_code) from pipeline_runs r where r.status = 'FAILED')),
  (3, 'new leaders after which no answer came within 3 s',
    array(select format('%s: %s s', l.kind, round(l.s, 1)) from late l where l.s is null or l.s > 3))
) as c(n, name, items) order by c.n;

-- name: failover_figures  -- seconds, by what struck
select l.kind, count(*)::int as times,
  percentile_cont(array[0.5, 1]) within group (order by extract(epoch from l.led_at - l.struck_at)) as to_leader,
  percentile_cont(array[0.5, 1]) within group (order by extract(epoch from (
    select min(r.completed_at) from pipeline_runs r where r.completed_at > l.led_at) - l.led_at)) as to_answer,
  percentile_cont(array[0.5, 1]) within group (order by extract(epoch from (
    select min(r.completed_at) from pipeline_runs r where r.completed_at > l.struck_at) - l.struck_at)) as in_all
from public.chaos_leaders l group by l.kind order by l.kind;
