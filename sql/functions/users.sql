-- Users under names of other systems, and API keys.
--
-- A key is `maas_<id>_<secret>`: the id finds the row, the secret is 256 random bits of which the row holds the SHA-256
-- only.

create or replace function maas.maas_resolve_user(p_provider text, p_external text)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  known_user uuid;
begin
  select user_id into known_user from maas.user_identities where provider = p_provider and external_id = p_external;
  if known_user is null then
    insert into maas.user_identities (provider, external_id, user_id) values (p_provider, p_external, gen_random_uuid())
    -- a concurrent caller was first: return its user
    on conflict (provider, external_id) do update set external_id = excluded.external_id
    returning user_id into known_user;
  end if;
  return known_user;
end
$$;
comment on function maas.maas_resolve_user is
  'The user of this name; creates one at first use, the same for concurrent callers';

create or replace function maas.maas_user_id(p_name text)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return p_name::uuid;
  end if;
  if length(p_name) > 200
    or p_name !~ '[^\s\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]' then
    raise check_violation using
      message = 'user_name: must be text of 1 to 200 characters that is not blank', column = 'user_name';
  end if;
  return maas.maas_resolve_user('api', p_name);
end
$$;
comment on function maas.maas_user_id is
  'The user of this name as HTTP clients give it, or of this UUID; an unknown name becomes a new user. '
  'No role may call it: grant it to the logins of applications that name users';

create or replace function maas.maas_create_key(
  p_id text, p_name text, p_hash bytea, p_scopes text[], p_user uuid, p_prefix text,
  p_per_minute int, p_days int, p_actor text default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.api_keys (id, name, secret_hash, scopes, user_id, prefix, per_minute, expires_at)
  values (
    p_id, p_name, p_hash, p_scopes, p_user, p_prefix, p_per_minute, maas.maas_now() + make_interval(days => p_days));
  perform maas.maas_write_audit('key_create', p_user, null, jsonb_strip_nulls(jsonb_build_object(
    'key', p_id, 'name', p_name, 'scopes', p_scopes, 'prefix', p_prefix, 'per_minute', p_per_minute, 'days', p_days)),
    p_actor);
end
$$;
comment on function maas.maas_create_key is 'Stores a key of which only the hash is known, and writes the audit';

create or replace function maas.maas_revoke_key(p_id text, p_actor text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  revoked record;
begin
  update maas.api_keys set revoked_at = maas.maas_now() where id = p_id and revoked_at is null
  returning user_id, name into revoked;
  if not found then
    return case when exists (select from maas.api_keys where id = p_id) then 'revoked_before' else 'not_found' end;
  end if;
  perform maas.maas_write_audit(
    'key_revoke', revoked.user_id, null, jsonb_build_object('key', p_id, 'name', revoked.name), p_actor);
  return 'revoked';
end
$$;
comment on function maas.maas_revoke_key is
  'Returns revoked, revoked_before or not_found; servers notice within a second';

create or replace function maas.maas_create_own_key(
  p_user uuid, p_id text, p_name text, p_hash bytea, p_scopes text[], p_days int, p_actor text default null)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_lock_memory(p_user);  -- two at once would both be the last
  if 20 <= (select count(*) from maas.v_keys k where k.user_id = p_user and k.state = 'active') then
    return 'too_many';
  end if;
  -- The audit keeps what became of those that have ended; the table would grow with each that a person makes and ends.
  delete from maas.api_keys a where a.id in (
    select k.id from maas.v_keys k where k.user_id = p_user and k.state <> 'active'
    order by k.created_at desc, k.id offset 20);
  perform maas.maas_create_key(p_id, p_name, p_hash, p_scopes, p_user, null, null, p_days, p_actor);
  return 'created';
end
$$;
comment on function maas.maas_create_own_key is
  'Stores a key that acts for p_user only: created, or too_many (20 active keys a user, those of operators included)';

create or replace function maas.maas_touch_key(p_id text)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.api_keys set last_used_at = maas.maas_now()
  where id = p_id and (last_used_at is null or last_used_at < maas.maas_now() - interval '1 minute')
$$;
comment on function maas.maas_touch_key is 'Notes that a key was used, at most once a minute';
