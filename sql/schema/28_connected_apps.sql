-- Apps that people have connected: clients of MCP that sign in by OAuth (MAAS_AUTH=local).
--
-- A client registers by itself, without an account; a person who says yes connects it. A connection has one code, then
-- one valid refresh token at a time, as a session has; reuse of either deletes it with all its tokens. Every secret is
-- stored as a hash.

create table maas.app_clients (
  id text primary key check (char_length(id) between 1 and 100),
  name text check (char_length(name) between 1 and 100),
  redirect_uris text[] not null check (cardinality(redirect_uris) between 1 and 10),
  created_at timestamptz not null,
  is_used boolean not null default false
);
comment on table maas.app_clients is
  'Clients that have registered by themselves. Nothing of what they say of themselves is verified';
comment on column maas.app_clients.redirect_uris is 'Where a person may be sent back to, compared exactly';
comment on column maas.app_clients.is_used is 'Somebody has connected it; others are deleted after a day';
create index idx_app_clients_unused on maas.app_clients (created_at) where not is_used;

create table maas.connected_apps (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references maas.auth_users on delete cascade,
  client_id text not null,
  name text not null check (char_length(name) between 1 and 300),
  redirect_uri text not null,
  scopes text[] not null,
  resource text not null,
  generation int not null default 0,
  created_at timestamptz not null,
  renewed_at timestamptz,
  expires_at timestamptz not null
);
comment on table maas.connected_apps is 'Apps that a person has allowed to act as this user';
comment on column maas.connected_apps.resource is 'The address that its tokens are for (RFC 8707)';
comment on column maas.connected_apps.generation is
  'Generation of the refresh token that is valid; 0 while the code was not exchanged';
comment on column maas.connected_apps.renewed_at is 'When it has last got a token';
create index idx_connected_apps_user_id on maas.connected_apps (user_id, created_at);
create index idx_connected_apps_expires_at on maas.connected_apps (expires_at);

create table maas.app_tokens (
  hash bytea primary key check (length(hash) = 32),
  app_id uuid not null references maas.connected_apps on delete cascade,
  user_id uuid not null,
  kind varchar(10) not null check (kind in ('code', 'access', 'refresh')),
  challenge text,
  generation int not null,
  expires_at timestamptz not null,
  check ((kind = 'code') = (challenge is not null))
);
comment on table maas.app_tokens is 'SHA-256 of the codes and tokens of connected apps; no role reads it';
comment on column maas.app_tokens.challenge is
  'SHA-256 of the verifier that a code is exchanged with (PKCE), in base64url';
comment on column maas.app_tokens.generation is 'Of the connection when the token was given; 0 for a code';
create index idx_app_tokens_app_id on maas.app_tokens (app_id, kind, generation);
create index idx_app_tokens_user_id on maas.app_tokens (user_id);
