-- Accounts, their sessions and one-time links. Callers hash passwords (scrypt) and tokens (SHA-256); no function is
-- given either.

create or replace function maas.maas_signing_key()
returns text language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select encode(secret, 'hex') from maas.signing_key
$$;
comment on function maas.maas_signing_key is 'The secret that signs access tokens where MAAS_JWT_SECRET is unset';

create or replace function maas.maas_find_account(p_email text)
returns table (user_id uuid, password_hash text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select u.user_id, u.password_hash from maas.auth_users u where lower(u.email) = lower(p_email)
$$;
comment on function maas.maas_find_account is 'The account of an email, to verify a password; only servers may call it';

create or replace function maas.maas_password_hash(p_user uuid)
returns text language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select u.password_hash from maas.auth_users u where u.user_id = p_user
$$;
comment on function maas.maas_password_hash is
  'The password hash of an account, to verify the present password; only servers may call it';

create or replace function maas.maas_create_account(
  p_email text, p_hash text, p_name text, p_user uuid, p_is_admin boolean, p_actor text default null)
returns table (verdict text, user_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  new_user uuid;
begin
  insert into maas.auth_users (user_id, email, password_hash, name, created_at, updated_at)
  values (coalesce(p_user, gen_random_uuid()), p_email, p_hash, p_name, maas.maas_now(), maas.maas_now())
  on conflict do nothing returning auth_users.user_id into new_user;
  if new_user is null then
    return query select 'exists', null::uuid;
    return;
  end if;
  if p_is_admin then
    insert into maas.user_roles (user_id, role) values (new_user, 'admin') on conflict do nothing;
    delete from maas.auth_links where kind = 'admin';
  end if;
  perform maas.maas_write_audit('account_create', new_user, null, jsonb_build_object('admin', p_is_admin), p_actor);
  return query select 'created', new_user;
end
$$;
comment on function maas.maas_create_account is
  'Creates an account, of p_user if that is not null; returns created, or exists where the email or the user has one';

create or replace function maas.maas_invite(p_email text, p_hash text, p_name text, p_actor text)
returns table (verdict text, user_id uuid) language sql security definer set search_path = pg_catalog, pg_temp as $$
  select c.verdict, c.user_id from maas.maas_create_account(p_email, p_hash, p_name, null, false, p_actor) c
$$;
comment on function maas.maas_invite is
  'Creates an account of a new user who is no administrator, for an administrator; returns created or exists';

create or replace function maas.maas_sign_up(p_email text, p_hash text, p_name text, p_code bytea, p_is_open boolean)
returns table (verdict text, user_id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if p_code is not null then
    -- of two who use codes at once, one waits
    perform from maas.auth_links l where l.kind = 'admin' order by l.hash for update;
    if exists (select from maas.user_roles r where r.role = 'admin')
      or not exists (
        select from maas.auth_links l where l.kind = 'admin' and l.hash = p_code and l.expires_at > maas.maas_now())
    then
      return query select 'wrong_code', null::uuid;
      return;
    end if;
  elsif not p_is_open then
    return query select 'closed', null::uuid;
    return;
  end if;
  return query select c.verdict, c.user_id
  from maas.maas_create_account(p_email, p_hash, p_name, null, p_code is not null, 'sign-up') c;
end
$$;
comment on function maas.maas_sign_up is
  'Creates an account: created, exists, closed or wrong_code. '
  'With a valid code it is the first administrator''s, and all codes are spent';

create or replace function maas.maas_offer_admin_code(p_hash bytea, p_hours int)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from maas.user_roles where role = 'admin') then
    return false;
  end if;
  delete from maas.auth_links l where l.kind = 'admin' and l.hash not in (
    select k.hash from maas.auth_links k where k.kind = 'admin' and k.expires_at > maas.maas_now()
    order by k.created_at desc limit 20);
  insert into maas.auth_links (hash, kind, expires_at)
  values (p_hash, 'admin', maas.maas_now() + make_interval(hours => p_hours));
  return true;
end
$$;
comment on function maas.maas_offer_admin_code is
  'Stores the code with which the first administrator may sign up; false if there is an administrator. '
  'Each server process has a code of its own';

create or replace function maas.maas_begin_session(p_user uuid, p_method text, p_hash bytea, p_days int)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  new_session uuid;
  until timestamptz := maas.maas_now() + make_interval(days => p_days);
begin
  delete from maas.auth_sessions where id in (
    select id from maas.auth_sessions where expires_at < maas.maas_now()
    order by expires_at limit 100 for update skip locked);
  update maas.auth_users set last_sign_in_at = maas.maas_now() where user_id = p_user
    and not exists (select from maas.user_roles r where r.user_id = p_user and r.role = 'blocked');
  if not found then
    return null;
  end if;
  delete from maas.auth_sessions where id in (
    select id from maas.auth_sessions where user_id = p_user order by created_at desc, id offset 49);
  insert into maas.auth_sessions (user_id, method, rotated_at, created_at, expires_at)
  values (p_user, p_method, maas.maas_now(), maas.maas_now(), until) returning id into new_session;
  insert into maas.auth_refresh_tokens (hash, session_id, user_id, generation, created_at)
  values (p_hash, new_session, p_user, 0, maas.maas_now());
  return new_session;
end
$$;
comment on function maas.maas_begin_session is
  'Begins a session with its first refresh token; null if the account no longer exists, or is blocked. '
  'An account keeps its 50 newest sessions';

create or replace function maas.maas_refresh_session(p_hash bytea, p_next bytea, p_days int, p_grace_s float8)
returns table (verdict text, session_id uuid, user_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  token maas.auth_refresh_tokens;
  session maas.auth_sessions;
  seen_at timestamptz := maas.maas_now();
begin
  select * into token from maas.auth_refresh_tokens t where t.hash = p_hash;
  select * into session from maas.auth_sessions s where s.id = token.session_id for update;
  if session.id is null or session.revoked_at is not null then
    return query select 'unknown', null::uuid, null::uuid;
    return;
  elsif session.expires_at <= seen_at then
    return query select 'expired', null::uuid, null::uuid;
    return;
  elsif token.generation = session.generation then
    session.generation := session.generation + 1;
    update maas.auth_sessions set generation = session.generation, rotated_at = seen_at,
      expires_at = seen_at + make_interval(days => p_days) where id = session.id;
  elsif token.generation < session.generation - 1
    or session.rotated_at <= seen_at - make_interval(secs => p_grace_s) then
    update maas.auth_sessions set revoked_at = seen_at where id = session.id;
    perform maas.maas_write_audit(
      'session_reuse', session.user_id, null, jsonb_build_object('session', session.id), 'sign-in');
    return query select 'reused', null::uuid, null::uuid;
    return;
  end if;
  insert into maas.auth_refresh_tokens (hash, session_id, user_id, generation, created_at)
  values (p_next, session.id, session.user_id, session.generation, seen_at);
  delete from maas.auth_refresh_tokens
  where session_id = session.id and created_at < seen_at - make_interval(days => p_days);
  return query select 'refreshed', session.id, session.user_id;
end
$$;
comment on function maas.maas_refresh_session is
  'Replaces a refresh token: refreshed, unknown, expired or reused. '
  'A token that was replaced less than p_grace_s ago gives a sibling, for two tabs that refresh at once; '
  'the later use of a replaced one, or of a sibling of one that was replaced, revokes the session';

create or replace function maas.maas_find_session(p_hash bytea)
returns table (session_id uuid, user_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.id, s.user_id from maas.auth_refresh_tokens t join maas.auth_sessions s on s.id = t.session_id
  where t.hash = p_hash and s.revoked_at is null and s.expires_at > maas.maas_now()
$$;
comment on function maas.maas_find_session is 'The open session of a refresh token, to sign out by it';

create or replace function maas.maas_end_sessions(p_user uuid, p_session uuid, p_scope text)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  ended int;
begin
  update maas.auth_sessions set revoked_at = maas.maas_now() where user_id = p_user and revoked_at is null
    and case p_scope when 'local' then id = p_session when 'others' then id <> p_session
      when 'global' then true else false end;
  get diagnostics ended = row_count;
  return ended;
end
$$;
comment on function maas.maas_end_sessions is
  'Signs out: local (this session), others or global; returns the number of sessions';

create or replace function maas.maas_change_account(p_user uuid, p_session uuid, p_hash text, p_name text)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.auth_users set password_hash = coalesce(p_hash, password_hash), name = coalesce(p_name, name),
    updated_at = maas.maas_now()
  where user_id = p_user;
  if p_hash is not null then
    perform maas.maas_end_sessions(p_user, p_session, 'others');
    perform maas.maas_disconnect_apps(p_user, 'user:' || p_user);
    update maas.auth_sessions set method = 'password' where id = p_session and user_id = p_user;
    delete from maas.auth_links where user_id = p_user;
    perform maas.maas_write_audit('password_change', p_user, null, '{}', 'user:' || p_user);
  end if;
end
$$;
comment on function maas.maas_change_account is
  'Sets the password or the name, or what is not null of both. '
  'A new password ends all other sessions and the links for a forgotten one, and disconnects all apps';

create or replace function maas.maas_create_link(p_user uuid, p_hash bytea, p_hours int, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.auth_links where user_id = p_user or expires_at < maas.maas_now();
  insert into maas.auth_links (hash, kind, user_id, expires_at)
  select p_hash, 'recovery', u.user_id, maas.maas_now() + make_interval(hours => p_hours) from maas.auth_users u
  where u.user_id = p_user;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('password_link', p_user, null, '{}', p_actor);
  return true;
end
$$;
comment on function maas.maas_create_link is
  'Stores a one-time link for a forgotten password, in place of an earlier one; false if there is no such account';

create or replace function maas.maas_use_link(p_hash bytea, p_refresh bytea, p_days int)
returns table (session_id uuid, user_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  owner uuid;
begin
  delete from maas.auth_links l where l.hash = p_hash and l.kind = 'recovery' and l.expires_at > maas.maas_now()
  returning l.user_id into owner;
  if owner is not null then
    return query select maas.maas_begin_session(owner, 'recovery', p_refresh, p_days), owner;
  end if;
end
$$;
comment on function maas.maas_use_link is
  'Begins a session with a one-time link, which is used up by that; '
  'no row for a link that is unknown, used or expired';
