-- Secrets of users for MCP servers.

-- name: set_secret  -- $1 user, $2 name, $3 value, $4 actor
select maas.maas_set_secret($1, $2, $3, $4);

-- name: renew_secret  -- $1 user, $2 name, $3 value, $4 the new value, $5 actor; false: it has another value by now
select maas.maas_renew_secret($1, $2, $3, $4, $5);

-- name: delete_secret  -- $1 user, $2 name, $3 actor
select maas.maas_delete_secret($1, $2, $3);

-- name: read_secrets  -- $1 user, $2 names
select name, value, changed_at from maas.maas_read_secrets($1, $2);

-- name: secret_times  -- $1 users
select user_id, name, changed_at from maas.maas_secret_times($1);

-- name: list_secrets  -- $1 user
select name, changed_at from maas.maas_secret_times(array[$1::uuid]) order by name;
