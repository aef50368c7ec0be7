-- Keys of programs that call over HTTP.
--
-- A key is `maas_<id>_<secret>`: the id finds the row, the secret is 256 random bits of which the row holds the SHA-256 alone.
-- maas_create_key stores it, maas_revoke_key ends it, maas_touch_key notes that it was used. A key that is bound to a user
-- goes when that user is erased.

create table api_keys (
  id varchar(12) primary key check (id ~ '^[0-9a-f]{12}$'),
  name text not null check (length(name) between 1 and 100),
  secret_hash bytea not null check (length(secret_hash) = 32),
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['ask', 'read', 'metrics', 'admin']),
  user_id uuid,
  prefix text check (length(prefix) between 1 and 200),
  per_minute int check (per_minute > 0),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  check (user_id is null or prefix is null)
);
comment on table api_keys is 'Who may call over HTTP; written by `maas keys`';
comment on column api_keys.user_id is 'The one user whom this key is there for';
comment on column api_keys.prefix is 'It is there for users who have a name that begins so';
comment on column api_keys.per_minute is 'Requests a minute that one server process lets through';
comment on column api_keys.last_used_at is 'Up to a minute late';
create index idx_api_keys_user_id on api_keys (user_id) where user_id is not null;

alter table audit alter column user_id drop not null;
comment on column audit.user_id is 'Whose memory; null for what concerns no single user';

create function maas_create_key(p_id text, p_name text, p_hash bytea, p_scopes text[], p_user uuid, p_prefix text,
  p_per_minute int, p_days int, p_actor text default null) returns void language plpgsql as $$
begin
  insert into api_keys (id, name, secret_hash, scopes, user_id, prefix, per_minute, expires_at)
  values (p_id, p_name, p_hash, p_scopes, p_user, p_prefix, p_per_minute, maas_now() + make_interval(days => p_days));
  perform maas_note('key_create', p_user, null, jsonb_strip_nulls(jsonb_build_object(
    'key', p_id, 'name', p_name, 'scopes', p_scopes, 'prefix', p_prefix, 'per_minute', p_per_minute, 'days', p_days)), p_actor);
end $$;

create function maas_revoke_key(p_id text, p_actor text default null) returns text language plpgsql as $$
declare
  revoked record;
begin
  update api_keys set revoked_at = maas_now() where id = p_id and revoked_at is null returning user_id, name into revoked;
  if not found then
    return case when exists (select from api_keys where id = p_id) then 'revoked_before' else 'not_found' end;
  end if;
  perform maas_note('key_revoke', revoked.user_id, null, jsonb_build_object('key', p_id, 'name', revoked.name), p_actor);
  return 'revoked';
end $$;
comment on function maas_revoke_key is 'revoked, revoked_before or not_found; servers hear of it within a second';

create function maas_touch_key(p_id text) returns void language sql as $$
  update api_keys set last_used_at = maas_now()
  where id = p_id and (last_used_at is null or last_used_at < maas_now() - interval '1 minute')
$$;

create view v_keys with (security_invoker = true) as
select id, name, scopes, user_id, prefix, per_minute, created_at, expires_at, last_used_at,
  case when revoked_at is not null then 'revoked' when expires_at <= maas_now() then 'expired' else 'active' end as state
from api_keys;
comment on view v_keys is 'Keys without their hashes, and whether each is active, expired or revoked';
