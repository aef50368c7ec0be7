-- Users by name, and the owners of rows.

-- name: find_user  -- $1 provider, $2 name
select user_id from maas.user_identities where provider = $1 and external_id = $2;

-- name: name_user  -- $1 provider, $2 name
select maas.maas_resolve_user($1, $2);

-- name: has_name  -- $1 user, $2 provider, $3 how the name begins
select exists (select from maas.user_identities where user_id = $1 and provider = $2 and starts_with(external_id, $3));

-- name: owner_of_run
select user_id from maas.pipeline_runs where id = $1;

-- name: owner_of_conversation
select user_id from maas.chat_conversations where id = $1;

-- name: owner_of_action
select user_id from maas.chat_pending_actions where id = $1;

-- name: owner_of_attachment
select user_id from maas.attachments where id = $1;

-- name: owner_of_fact
select user_id from maas.facts where id = $1;

-- name: owner_of_memory
select user_id from maas.lsm_storage where id = $1 and not is_provisional
union all select user_id from maas.raw_logs where id = $1
union all select user_id from maas.facts where id = $1
union all select user_id from maas.forgotten_memories where memory_id = $1;
