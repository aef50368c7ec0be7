-- What the orchestrator says to the engine's functions.

-- name: step
select * from maas_step($1, $2::text[], $3, $4::jsonb, $5);

-- name: advance
select id, is_cancelled from maas_advance($1, $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb);

-- name: archive_exchange
select maas_archive_exchange($1, $2, $3, $4::jsonb, $5::jsonb);

-- name: register_engine
select maas_register($1, $2, $3::text[], $4, $5::interval);

-- name: heartbeat
select maas_heartbeat($1, $2::interval);

-- name: reap
select reclaimed, failed, adopted, suspects from maas_reap($1, $2::text[], $3);

-- name: configure_engine
update engine_settings s set value = v.value
from (values ('blocking_scope', $1), ('timezone', $2), ('max_in_flight', $3)) as v(key, value) where s.key = v.key and s.value <> v.value;

-- name: ring
select pg_notify($1, $2);

-- name: ping
select 1;

-- name: session
select pg_backend_pid();

-- name: notice_dead_peer
-- Postgres notices within some 10 s that the other end is gone, and frees what it locked. Not told as the connection
-- is opened: a pooler refuses that.
select set_config('tcp_keepalives_idle', '4', false), set_config('tcp_keepalives_interval', '2', false),
  set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false);

-- name: living_engines
select owner, host, pid, stages, concurrency, started_at from v_engines where is_alive order by owner;

-- name: unregister_engine
select maas_unregister($1);

-- name: add_metrics
select maas_add_metrics($1::jsonb);

-- name: metrics
select name, labels, le, sum(events)::bigint as events, sum(seconds) as seconds from engine_metrics
group by name, labels, le order by name, labels, le;

-- name: queue
select inbox, waiting, runnable, in_flight, coalesce(extract(epoch from oldest_for), 0)::float8 as oldest_seconds,
  oldest_user, orchestrators, notify_queue_usage
from v_queue;
