-- API keys and administrators.

-- name: create_key  -- $1 id, $2 name, $3 hash, $4 scopes, $5 user, $6 prefix, $7 requests a minute, $8 days, $9 actor
select maas.maas_create_key($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: revoke_key  -- $1 id, $2 actor
select maas.maas_revoke_key($1, $2);

-- name: touch_key
select maas.maas_touch_key($1);

-- name: find_key
select v.*, k.secret_hash from maas.v_keys v join maas.api_keys k on k.id = v.id where v.id = $1;

-- name: list_keys
select * from maas.v_keys order by created_at, id;

-- name: roles
select user_id, role from maas.user_roles;
