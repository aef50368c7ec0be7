-- Calls of the engine's functions, and settings of its connections.

-- name: step
select s.verdict, s.id, (s.cancelled).error_code, (s.cancelled).error_message, (s.claimed).*
from maas.maas_step($1, $2::text[], $3, $4::jsonb, $5, $6::text[], $7::uuid[], $8, $9) s;

-- name: advance
select id, is_cancelled, assistants_version
from maas.maas_advance($1, $2::uuid[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::jsonb,
  $9::jsonb, $10::text[], $11::text[], $12::text[]);

-- name: archive_exchange
select maas.maas_archive_exchange($1, $2, $3, $4::jsonb, $5::jsonb);

-- name: register_engine
select maas.maas_register($1, $2, $3::text[], $4, $5::interval);

-- name: heartbeat
select maas.maas_heartbeat($1, $2::interval);

-- name: reap
select reclaimed, failed, recovered, quarantined, moved from maas.maas_reap($1, $2::text[], $3);

-- name: configure_engine  -- $1 {key: value}, values as text
update maas.engine_settings s set value = v.value from jsonb_each_text($1::jsonb) v(key, value)
where s.key = v.key and s.value <> v.value;

-- name: ring
select pg_notify($1, $2);

-- name: ping
select 1;

-- name: session
select pg_backend_pid();

-- name: set_up_session
-- Postgres notices a dead client within about 10 s and releases its locks. Plans are generic, because most queries look
-- up keys and cost less than planning. Not startup parameters, because poolers refuse those.
select set_config('plan_cache_mode', 'force_generic_plan', false),
  set_config('tcp_keepalives_idle', '4', false), set_config('tcp_keepalives_interval', '2', false),
  set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false);

-- name: limit_statements  -- $1 milliseconds that a statement of this session may take
select set_config('statement_timeout', $1::text, false);

-- name: plan_for_values  -- for the rest of the transaction
select set_config('plan_cache_mode', 'force_custom_plan', true);

-- name: lift_limit_of_statements  -- for the rest of the transaction
select set_config('statement_timeout', '0', true);

-- name: trace_parent  -- $1 run: the traceparent (W3C) of the request
select metadata->>'traceparent' from maas.pipeline_runs where id = $1;

-- name: living_engines
select owner, host, pid, stages, concurrency, started_at from maas.v_engines where is_alive order by owner;

-- name: unregister_engine
select maas.maas_unregister($1);

-- name: excuse_engine  -- $1 owner, $2 the runs that it had
select maas.maas_excuse($1, $2::uuid[]);

-- name: add_metrics  -- $1 items; the cost of their tokens at current prices, in micro-dollars, is added
select maas.maas_add_metrics($1::jsonb || coalesce((
  select jsonb_agg(jsonb_build_object('name', 'model_cost', 'events', m.price,
    'labels', jsonb_build_object('provider', m.provider, 'model', m.model)))
  from (
    select t.provider, t.model, maas.maas_price(t.provider, t.model, t.tokens_in, t.cached, t.tokens_out) as price
    from (
      select i.labels->>'provider' as provider, i.labels->>'model' as model,
        coalesce(sum(i.events) filter (where i.labels->>'kind' = 'in'), 0)::int as tokens_in,
        coalesce(sum(i.events) filter (where i.labels->>'kind' = 'cached'), 0)::int as cached,
        coalesce(sum(i.events) filter (where i.labels->>'kind' = 'out'), 0)::int as tokens_out
      from jsonb_to_recordset($1::jsonb) as i(name text, labels jsonb, events bigint)
      where i.name = 'model_tokens' group by 1, 2) t) m
  where m.price > 0), '[]'));

-- name: stock  -- sizes: rows as estimated by the planner, because counting takes longer as they grow
select pg_database_size(current_database()) as bytes,
  (select greatest(reltuples, 0)::bigint from pg_class where oid = 'maas.raw_logs'::regclass) as turns,
  (select greatest(reltuples, 0)::bigint from pg_class where oid = 'maas.lsm_storage'::regclass) as records,
  (select count(*) from maas.chat_pending_actions where status = 'pending' and expires_at > now()) as actions;

-- name: fills
select model, turns, refused, tokens from maas.embedding_fills order by model;

-- name: metrics
select name, labels, le, sum(events)::bigint as events, sum(seconds) as seconds from maas.engine_metrics
group by name, labels, le order by name, labels, le;

-- name: queue
select inbox, waiting, runnable, deferred, in_flight, paused, scheduled,
  coalesce(extract(epoch from oldest_for), 0)::float8 as oldest_seconds, oldest_user, orchestrators, notify_queue_usage
from maas.v_queue;
