-- Accounts of people who sign in, and their sessions.

-- name: signing_key
select maas.maas_signing_key();

-- name: find_account  -- $1 email
select user_id, password_hash from maas.maas_find_account($1);

-- name: password_hash  -- $1 user
select maas.maas_password_hash($1);

-- name: account  -- $1 user
select u.user_id, u.email, u.name, u.created_at, u.updated_at, u.last_sign_in_at,
  exists (select from maas.user_roles r where r.user_id = u.user_id and r.role = 'admin') as is_admin
from maas.auth_users u where u.user_id = $1;

-- name: is_blocked  -- $1 user
select exists (select from maas.user_roles where user_id = $1 and role = 'blocked');

-- name: list_accounts
select u.user_id, u.email, u.name, u.created_at, u.updated_at, u.last_sign_in_at,
  exists (select from maas.user_roles r where r.user_id = u.user_id and r.role = 'admin') as is_admin
from maas.auth_users u order by u.created_at, u.user_id;

-- name: blocked_users  -- since when, and the email of those who have an account; the latest first
select r.user_id, r.granted_at, u.email from maas.user_roles r left join maas.auth_users u on u.user_id = r.user_id
where r.role = 'blocked' order by r.granted_at desc, r.user_id;

-- name: count_accounts
select count(*) from maas.auth_users;

-- name: sign_up  -- $1 email, $2 hash, $3 name, $4 hash of the administrator's code or null, $5 whether sign-up is open
select verdict, user_id from maas.maas_sign_up($1, $2, $3, $4, $5);

-- name: create_account  -- $1 email, $2 hash, $3 name, $4 user or null, $5 whether an administrator, $6 actor
select verdict, user_id from maas.maas_create_account($1, $2, $3, $4, $5, $6);

-- name: invite  -- $1 email, $2 hash, $3 name, $4 actor
select verdict, user_id from maas.maas_invite($1, $2, $3, $4);

-- name: offer_admin_code  -- $1 hash, $2 hours
select maas.maas_offer_admin_code($1, $2);

-- name: begin_session  -- $1 user, $2 method, $3 hash of the refresh token, $4 days
select maas.maas_begin_session($1, $2, $3, $4);

-- name: refresh_session  -- $1 hash, $2 hash of the next token, $3 days, $4 grace in seconds
select verdict, session_id, user_id from maas.maas_refresh_session($1, $2, $3, $4);

-- name: find_session  -- $1 hash of a refresh token
select session_id, user_id from maas.maas_find_session($1);

-- name: auth_session  -- $1 user, $2 session; no row once it has ended
select method, extract(epoch from maas.maas_now() - created_at)::float8 as age_s from maas.auth_sessions
where user_id = $1 and id = $2 and revoked_at is null and expires_at > maas.maas_now();

-- name: end_sessions  -- $1 user, $2 session, $3 scope
select maas.maas_end_sessions($1, $2, $3);

-- name: change_account  -- $1 user, $2 session, $3 password hash or null, $4 name or null
select maas.maas_change_account($1, $2, $3, $4);

-- name: create_link  -- $1 user, $2 hash, $3 hours, $4 actor
select maas.maas_create_link($1, $2, $3, $4);

-- name: use_link  -- $1 hash, $2 hash of the refresh token, $3 days
select session_id, user_id from maas.maas_use_link($1, $2, $3);
