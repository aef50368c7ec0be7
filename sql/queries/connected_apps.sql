-- Apps that people have connected.

-- name: register_client  -- $1 id, $2 name or null, $3 redirect addresses, $4 most that wait for somebody
select maas.maas_register_client($1, $2, $3, $4);

-- name: find_client
select name, redirect_uris from maas.maas_find_client($1);

-- name: connect_app  -- $1 user, $2 client, $3 name, $4 redirect address, $5 scopes, $6 resource, $7 hash of the code,
-- $8 challenge, $9 lifetime of the code in seconds, $10 who does it
select maas.maas_connect_app($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: exchange_code  -- $1 hash of the code, $2 client, $3 redirect address or null, $4 challenge,
-- $5 resource or null, $6 hash of the access token, $7 hash of the refresh token, $8 lifetime of the first in seconds,
-- $9 of the other in days
select verdict, scopes from maas.maas_exchange_code($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: renew_app  -- $1 hash of the refresh token, $2 client, $3 resource or null, $4 hash of the access token,
-- $5 hash of the next refresh token, $6 lifetime of the access token in seconds, $7 of the other in days
select verdict, scopes from maas.maas_renew_app($1, $2, $3, $4, $5, $6, $7);

-- name: app_of_token  -- $1 hash of an access token
select app_id, user_id, scopes, resource from maas.maas_app_of_token($1);

-- name: list_apps  -- $1 user
select id, name, redirect_uri, scopes, created_at, renewed_at, expires_at from maas.maas_list_apps($1);

-- name: owner_of_app
select maas.maas_app_owner($1);

-- name: disconnect_app  -- $1 app, $2 who does it
select maas.maas_disconnect_app($1, $2);

-- name: revoke_app_token  -- $1 hash, $2 client
select maas.maas_revoke_app_token($1, $2);
