-- Users: facts, names, roles, API keys.

create table maas.app_users (
  user_id uuid primary key,
  is_tech_admin boolean not null default false,
  total_generations int not null default 0 check (total_generations >= 0)
);
comment on table maas.app_users is 'Facts about a user that are not memory; most users have no row';
comment on column maas.app_users.is_tech_admin is 'May see debug information of their own requests in production';
comment on column maas.app_users.total_generations is 'Number of pictures generated for the user';

create table maas.user_identities (
  provider varchar(20) not null,
  external_id text not null check (length(external_id) between 1 and 200),
  user_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (provider, external_id)
);
comment on table maas.user_identities is
  'Maps a user''s name in another system to a user id; a user may have many names';
comment on column maas.user_identities.provider is
  'The system of the name: api for names that clients send, or a channel';
create index idx_user_identities_user_id on maas.user_identities (user_id);

create table maas.user_roles (
  user_id uuid not null,
  role varchar(20) not null check (role in ('admin', 'blocked')),
  granted_at timestamptz not null default now(),
  primary key (user_id, role)
);
comment on table maas.user_roles is
  'Users who may see data of others (admin), and users who may do nothing (blocked); operators write it';

create table maas.api_keys (
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
comment on table maas.api_keys is 'Keys of programs that call over HTTP; `maas keys` writes them';
comment on column maas.api_keys.user_id is 'The key acts for this user only';
comment on column maas.api_keys.prefix is 'The key acts only for users with a name that begins with this prefix';
comment on column maas.api_keys.per_minute is 'Requests per minute that each server process allows';
comment on column maas.api_keys.last_used_at is 'Up to a minute late';
create index idx_api_keys_user_id on maas.api_keys (user_id) where user_id is not null;
create index idx_api_keys_created_at on maas.api_keys (created_at, id);

create table maas.user_settings (
  user_id uuid primary key,
  language varchar(2) check (language in ('ru', 'en')),
  timezone varchar(64),
  interviewed_at timestamptz,
  updated_at timestamptz not null default now()
);
comment on table maas.user_settings is
  'How MaaS speaks to a user; who the user is and how they want to work are facts (user_profiles, user_preferences)';
comment on column maas.user_settings.language is 'Of the interface; null: that of the browser';
comment on column maas.user_settings.timezone is
  'IANA name of the zone of this user''s days, in what models read and in records, written by maas_set_timezone; '
  'null: MAAS_TIMEZONE';
comment on column maas.user_settings.interviewed_at is
  'When the user had answered the questions of the interview that every one must answer; null before';

create table maas.user_secrets (
  user_id uuid not null,
  name varchar(50) not null,
  value text not null,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (user_id, name)
);
comment on table maas.user_secrets is
  'Tokens of users for MCP servers, `${user.NAME}` in their headers. '
  'No role reads the table and no export holds it: orchestrators read values by maas_read_secrets';
comment on column maas.user_secrets.changed_at is 'Connections that were opened with an earlier value are closed';
