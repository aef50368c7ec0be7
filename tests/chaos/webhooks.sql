-- What SQL says about webhooks whose senders were killed, and whose receiver fails half the time.

-- name: hook_tables
create table chaos_hooks (
  id uuid not null, type text not null, run_id uuid, is_taken boolean not null, at float8 not null);

-- name: insert_hook_runs  -- runs, users
insert into pipeline_runs (user_id, user_query)
select lpad(to_hex(mod(n, %s) + 1), 32, '0')::uuid, 'I keep note ' || n from generate_series(1, %s) n;

-- name: hooks_left  -- endpoint
select (select count(*) from pipeline_runs where queue_state < 2)
  + (select count(*) from webhook_deliveries where endpoint_id = %s and state <> 'delivered') as n;

-- name: hooks_hurry  -- endpoint: all pauses are over, and nothing is given up
update webhook_deliveries set next_at = clock_timestamp(), attempts = least(attempts, 5)
where endpoint_id = %s and state = 'waiting' and next_at > clock_timestamp()
  and (claimed_until is null or claimed_until < clock_timestamp());

-- name: hooks_verdict  -- endpoint
with taken as materialized (
  select h.id, h.type, h.run_id, min(h.at) as at
  from chaos_hooks h join webhook_deliveries d using (id) where h.is_taken and d.endpoint_id = %s group by 1, 2, 3
)
select * from (values
  (1, 'runs that have not ended', (select count(*) from pipeline_runs where queue_state < 2)),
  (2, 'runs whose end did not arrive', (
    select count(*) from pipeline_runs r where not exists (
      select from taken t where t.run_id = r.id and t.type = case r.status when 'COMPLETED' then 'run.completed'
        else 'run.failed' end))),
  (3, 'memories that did not arrive', (
    select count(*) from lsm_storage l where l.level = 0 and not l.is_provisional and not exists (
      select from taken t where t.run_id = l.run_id and t.type = 'memory.added'))),
  (4, 'facts that did not arrive', (
    select (select count(*) from facts) - (select count(*) from taken where type = 'fact.changed'))),
  (5, 'recorded events that did not arrive', (
    select count(*) from webhook_deliveries d where d.endpoint_id = %s and not exists (
      select from taken t where t.id = d.id))),
  (6, 'events that arrived and are not recorded', (
    select count(*) from chaos_hooks h where not exists (select from webhook_deliveries d where d.id = h.id))),
  (7, 'memories that arrived before their answers', (
    select count(*) from taken m join taken r using (run_id)
    where m.type = 'memory.added' and r.type = 'run.completed' and m.at < r.at))
) v(place, name, found) order by place;

-- name: hooks_figures  -- the endpoint that hangs, the quiet one, and the one that fails
select (select count(*) from pipeline_runs) as runs,
  count(*) as events, (select count(*) from chaos_hooks) as requests,
  (select count(*) from chaos_hooks where not is_taken) as refused,
  (select count(*) from chaos_hooks where is_taken) - (select count(distinct id) from chaos_hooks where is_taken)
    as taken_again,
  (select sum(attempts) from webhook_deliveries where endpoint_id = %s) as attempts_of_the_hanging_one,
  (select round(1000 * max(q.at - extract(epoch from d.created_at)::float8))::int
    from webhook_deliveries d join chaos_hooks q using (id) where d.endpoint_id = %s) as slowest_ms_to_the_quiet_one,
  (select count(*) from run_events where type = 'reclaimed') as runs_reclaimed,
  round(1000 * percentile_disc(0.5) within group (order by f.at - extract(epoch from d.created_at)::float8))::int
    as median_ms_to_the_first_attempt,
  round(1000 * percentile_disc(0.95) within group (order by f.at - extract(epoch from d.created_at)::float8))::int
    as p95_ms_to_the_first_attempt
from webhook_deliveries d join (select id, min(at) as at from chaos_hooks group by id) f using (id)
where d.endpoint_id = %s;
