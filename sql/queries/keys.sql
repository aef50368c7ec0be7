-- API keys and administrators.

-- name: create_key  -- $1 id, $2 name, $3 hash, $4 scopes, $5 user, $6 prefix, $7 requests a minute, $8 days, $9 actor
select maas.maas_create_key($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: revoke_key  -- $1 id, $2 actor
select maas.maas_revoke_key($1, $2);

-- name: create_own_key  -- $1 user, $2 id, $3 name, $4 hash, $5 scopes, $6 days, $7 actor
select maas.maas_create_own_key($1, $2, $3, $4, $5, $6, $7);

-- name: list_own_keys  -- $1 user: the keys that act for this user only, the newest first
select id, name, scopes, state, created_at, expires_at, last_used_at from maas.v_keys
where user_id = $1 order by created_at desc, id;

-- name: revoke_own_key  -- $1 user, $2 id, $3 actor
select case when exists (select from maas.api_keys k where k.id = $2 and k.user_id = $1)
  then maas.maas_revoke_key($2, $3) else 'not_found' end;

-- name: touch_key
select maas.maas_touch_key($1);

-- name: find_key
select v.*, k.secret_hash from maas.v_keys v join maas.api_keys k on k.id = v.id where v.id = $1;

-- name: list_keys
select * from maas.v_keys order by created_at, id;

-- name: admin_keys  -- $1 $2 before this created_at and id, $3 how many: the newest first
select * from maas.v_keys where $1::timestamptz is null or (created_at, id) < ($1, $2)
order by created_at desc, id desc limit $3;

-- name: roles
select user_id, role from maas.user_roles;
