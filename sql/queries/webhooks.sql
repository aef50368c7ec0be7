-- Webhooks: endpoints, and what is sent to them.

-- name: create_webhook  -- $1 user, null: an operator's, $2 url, $3 events, null: all, $4 has texts, $5 actor
select id, secret from maas.maas_create_webhook($1, $2, $3, $4, $5);

-- name: change_webhook  -- $1 id, $2 url, $3 events, $4 has texts, $5 is enabled, $6 actor; null leaves as it is
select maas.maas_change_webhook($1, $2, $3, $4, $5, $6);

-- name: rotate_webhook  -- $1 id, $2 hours for which the former secret stays valid, $3 actor
select maas.maas_rotate_webhook($1, $2, $3);

-- name: delete_webhook  -- $1 id, $2 actor
select maas.maas_delete_webhook($1, $2);

-- name: replay_webhook  -- $1 id, $2 delivery, null: all that failed, $3 actor
select maas.maas_replay_webhook($1, $2, $3);

-- name: webhook
select * from maas.v_webhooks where id = $1;

-- name: list_webhooks  -- $1 user, null: those of operators
select * from maas.v_webhooks where user_id is not distinct from $1 order by created_at, id;

-- name: owner_of_webhook  -- null: an operator's
select user_id from maas.webhook_endpoints where id = $1;

-- name: webhook_deliveries  -- $1 endpoint, $2 state, null: all, $3, $4 before, null: newest, $5 limit
select id, type, data, state, attempts, status, error, created_at, changed_at,
  case when state = 'waiting' then next_at end as next_at
from maas.webhook_deliveries
where endpoint_id = $1 and ($2::text is null or state = $2)
  and ($3::timestamptz is null or (created_at, id) < ($3, $4::uuid))
order by created_at desc, id desc limit $5;

-- name: has_webhooks
select exists (select from maas.webhook_endpoints) or exists (select from maas.webhook_deliveries);

-- name: claim_deliveries  -- $1 host, $2 pid, $3 places, $4 places for slow endpoints, $5 lease
select id, user_id, task_id, attempt, is_slow, url, secrets, headers, body
from maas.maas_claim_deliveries($1, $2, $3, $4, $5);

-- name: finish_deliveries  -- $1 [{id, attempt, status, error, is_slow, wait}]
select maas.maas_finish_deliveries($1);

-- name: purge_deliveries  -- $1 days
select maas.maas_purge_deliveries($1);

-- name: webhook_backlog  -- of enabled webhooks; $1 at most so many events are counted
select count(*) as waiting,
  coalesce(extract(epoch from maas.maas_now() - min(w.created_at)), 0)::float8 as oldest_seconds
from (
  select d.created_at from maas.webhook_endpoints e join maas.webhook_deliveries d on d.endpoint_id = e.id
  where e.disabled_at is null and d.state = 'waiting' limit $1) w;

-- name: webhook_states
select coalesce(disabled_because, 'enabled') as state, count(*) as webhooks from maas.webhook_endpoints group by 1;
