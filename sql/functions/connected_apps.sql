-- Apps that people have connected. Callers hash codes and tokens (SHA-256); no function is given one.

create or replace function maas.maas_register_client(p_id text, p_name text, p_redirect_uris text[], p_most int)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.app_clients where id in (
    select id from maas.app_clients where not is_used and created_at < maas.maas_now() - interval '1 day'
    order by created_at limit 100 for update skip locked);
  -- those of today make room only if their people have had the time to say yes
  if (select count(*) from maas.app_clients where not is_used) >= p_most then
    delete from maas.app_clients where id = (
      select id from maas.app_clients where not is_used and created_at < maas.maas_now() - interval '10 minutes'
      order by created_at limit 1 for update skip locked);
    if not found then
      return false;
    end if;
  end if;
  insert into maas.app_clients (id, name, redirect_uris, created_at)
  values (p_id, p_name, p_redirect_uris, maas.maas_now());
  return true;
end
$$;
comment on function maas.maas_register_client is
  'Stores a client that registers by itself; false while p_most others wait for somebody to connect them';

create or replace function maas.maas_find_client(p_id text)
returns table (name text, redirect_uris text[])
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select c.name, c.redirect_uris from maas.app_clients c where c.id = p_id
$$;
comment on function maas.maas_find_client is 'What a registered client says of itself';

create or replace function maas.maas_connect_app(p_user uuid, p_client text, p_name text, p_redirect_uri text,
  p_scopes text[], p_resource text, p_code bytea, p_challenge text, p_seconds float8, p_actor text default null)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
  until timestamptz := maas.maas_now() + make_interval(secs => p_seconds);
begin
  delete from maas.connected_apps where id in (
    select id from maas.connected_apps where expires_at < maas.maas_now()
    order by expires_at limit 100 for update skip locked);
  perform from maas.auth_users u where u.user_id = p_user
    and not exists (select from maas.user_roles r where r.user_id = p_user and r.role = 'blocked') for update;
  if not found then
    return null;
  end if;
  delete from maas.connected_apps where id in (
    select id from maas.connected_apps where user_id = p_user order by created_at desc, id offset 49);
  update maas.app_clients set is_used = true where id = p_client and not is_used;
  insert into maas.connected_apps (user_id, client_id, name, redirect_uri, scopes, resource, created_at, expires_at)
  values (p_user, p_client, p_name, p_redirect_uri, p_scopes, p_resource, maas.maas_now(), until) returning id into app;
  insert into maas.app_tokens (hash, app_id, user_id, kind, challenge, generation, expires_at)
  values (p_code, app, p_user, 'code', p_challenge, 0, until);
  perform maas.maas_write_audit('app_connect', p_user, null,
    jsonb_build_object('app_id', app, 'name', p_name, 'scopes', p_scopes), p_actor);
  return app;
end
$$;
comment on function maas.maas_connect_app is
  'Connects an app: its code is valid once, for p_seconds; null if the account no longer exists, or is blocked. '
  'A user keeps the 50 newest connections';

create or replace function maas.maas_give_app_tokens(p_app uuid, p_access bytea, p_refresh bytea, p_seconds float8,
  p_days int)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app maas.connected_apps;
  until timestamptz := maas.maas_now() + make_interval(days => p_days);
begin
  update maas.connected_apps set generation = generation + 1, renewed_at = maas.maas_now(), expires_at = until
  where id = p_app returning * into app;
  delete from maas.app_tokens where app_id = p_app and kind = 'access' and expires_at < maas.maas_now();
  -- reuse of a token that was replaced so long ago is refused like an unknown one
  delete from maas.app_tokens where app_id = p_app and kind in ('access', 'refresh')
    and generation < app.generation - 1000;
  insert into maas.app_tokens (hash, app_id, user_id, kind, generation, expires_at) values
    (p_access, p_app, app.user_id, 'access', app.generation, maas.maas_now() + make_interval(secs => p_seconds)),
    (p_refresh, p_app, app.user_id, 'refresh', app.generation, until);
end
$$;
comment on function maas.maas_give_app_tokens is
  'Gives an app the next pair of tokens; the refresh token before is replaced';

create or replace function maas.maas_lock_app(p_hash bytea, p_kind text, p_client text)
returns maas.connected_apps language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app maas.connected_apps;
begin
  select a.* into app from maas.app_tokens t join maas.connected_apps a on a.id = t.app_id
  where t.hash = p_hash and t.kind = p_kind and a.client_id = p_client
    and not exists (select from maas.user_roles r where r.user_id = a.user_id and r.role = 'blocked') for update of a;
  return app;
end
$$;
comment on function maas.maas_lock_app is
  'The app of a code or refresh token of this client, which nobody else exchanges meanwhile; '
  'null fields if there is none, or its user is blocked';

create or replace function maas.maas_end_reused_app(p_app uuid, p_user uuid, p_kind text)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.connected_apps where id = p_app;
  perform maas.maas_write_audit('app_reuse', p_user, null,
    jsonb_build_object('app_id', p_app, 'kind', p_kind), 'app:' || p_app);
end
$$;
comment on function maas.maas_end_reused_app is
  'Disconnects an app whose code or refresh token was used again: somebody else may have it';

create or replace function maas.maas_exchange_code(p_code bytea, p_client text, p_redirect_uri text, p_challenge text,
  p_resource text, p_access bytea, p_refresh bytea, p_seconds float8, p_days int)
returns table (verdict text, scopes text[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  app maas.connected_apps := maas.maas_lock_app(p_code, 'code', p_client);
  code maas.app_tokens;
begin
  select * into code from maas.app_tokens t where t.hash = p_code and t.app_id = app.id;
  if code.hash is null then
    return query select 'unknown', null::text[];
  elsif app.generation > 0 then
    perform maas.maas_end_reused_app(app.id, app.user_id, 'code');
    return query select 'reused', null::text[];
  elsif code.expires_at <= maas.maas_now() or app.redirect_uri <> coalesce(p_redirect_uri, app.redirect_uri)
    or code.challenge <> p_challenge then
    return query select 'unknown', null::text[];
  elsif app.resource <> coalesce(p_resource, app.resource) then
    return query select 'other_resource', null::text[];
  else
    perform maas.maas_give_app_tokens(app.id, p_access, p_refresh, p_seconds, p_days);
    return query select 'given', app.scopes;
  end if;
end
$$;
comment on function maas.maas_exchange_code is
  'Exchanges a code for the first tokens: given, unknown (also where the client, the redirect or the verifier is not '
  'that of the code), other_resource, or reused, which disconnects the app';

create or replace function maas.maas_renew_app(p_token bytea, p_client text, p_resource text, p_access bytea,
  p_refresh bytea, p_seconds float8, p_days int)
returns table (verdict text, scopes text[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  app maas.connected_apps := maas.maas_lock_app(p_token, 'refresh', p_client);
  token maas.app_tokens;
begin
  -- read once the app is locked, which may have been disconnected while this waited
  select * into token from maas.app_tokens t where t.hash = p_token and t.app_id = app.id;
  if token.hash is null or token.expires_at <= maas.maas_now() then
    return query select 'unknown', null::text[];
  elsif token.generation < app.generation then
    perform maas.maas_end_reused_app(app.id, app.user_id, 'refresh');
    return query select 'reused', null::text[];
  elsif app.resource <> coalesce(p_resource, app.resource) then
    return query select 'other_resource', null::text[];
  else
    perform maas.maas_give_app_tokens(app.id, p_access, p_refresh, p_seconds, p_days);
    return query select 'given', app.scopes;
  end if;
end
$$;
comment on function maas.maas_renew_app is
  'Replaces a refresh token: given, unknown, other_resource, or reused, which disconnects the app';

create or replace function maas.maas_app_of_token(p_hash bytea)
returns table (app_id uuid, user_id uuid, scopes text[], resource text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.id, a.user_id, a.scopes, a.resource
  from maas.app_tokens t join maas.connected_apps a on a.id = t.app_id and a.user_id = t.user_id
  where t.hash = p_hash and t.kind = 'access' and t.expires_at > maas.maas_now()
$$;
comment on function maas.maas_app_of_token is 'The app that an access token is of, its user and what it may do';

create or replace function maas.maas_list_apps(p_user uuid)
returns table (id uuid, name text, redirect_uri text, scopes text[], created_at timestamptz, renewed_at timestamptz,
  expires_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.id, a.name, a.redirect_uri, a.scopes, a.created_at, a.renewed_at, a.expires_at from maas.connected_apps a
  where a.user_id = p_user and a.generation > 0 and a.expires_at > maas.maas_now()
  order by a.created_at desc, a.id
$$;
comment on function maas.maas_list_apps is 'The apps that a user has connected, newest first';

create or replace function maas.maas_app_owner(p_id uuid) returns uuid
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select a.user_id from maas.connected_apps a where a.id = p_id
$$;
comment on function maas.maas_app_owner is 'Whose a connected app is; null if there is none';

create or replace function maas.maas_disconnect_app(p_id uuid, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  gone maas.connected_apps;
begin
  delete from maas.connected_apps where id = p_id returning * into gone;
  if gone.id is null then
    return false;
  end if;
  perform maas.maas_write_audit('app_disconnect', gone.user_id, null,
    jsonb_build_object('app_id', p_id, 'name', gone.name), p_actor);
  return true;
end
$$;
comment on function maas.maas_disconnect_app is 'Deletes a connected app with its tokens; false if there is none';

create or replace function maas.maas_disconnect_apps(p_user uuid, p_actor text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select maas.maas_disconnect_app(a.id, p_actor) from maas.connected_apps a where a.user_id = p_user
$$;
comment on function maas.maas_disconnect_apps is 'Disconnects all apps of a user';

create or replace function maas.maas_revoke_app_token(p_hash bytea, p_client text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  app uuid;
begin
  select a.id into app from maas.app_tokens t join maas.connected_apps a on a.id = t.app_id
  where t.hash = p_hash and t.kind <> 'code' and a.client_id = p_client;
  return app is not null and maas.maas_disconnect_app(app, 'app:' || app);
end
$$;
comment on function maas.maas_revoke_app_token is
  'Disconnects the app of a token, at its own wish; false for a token that is unknown or of another client';
