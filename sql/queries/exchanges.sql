-- Exchanges with pass-through models.

-- name: store_exchange
select maas.maas_store_exchange($1::uuid, $2::jsonb);

-- name: logs_of_exchange  -- $1 user, $2 caller, $3 key: the messages of the exchange that this one would replace
select g.id from maas.pipeline_runs r join maas.raw_logs g on g.run_id = r.id and g.user_id = r.user_id
where r.caller = $2 and r.idempotency_key = $3 and r.user_id = $1;

-- name: conversation_party  -- $1 conversation
select user_id, assistant from maas.chat_conversations where id = $1;

-- name: drop_replaced
select maas.maas_drop_replaced($1::uuid);
