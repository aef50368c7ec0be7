-- Accounts of people who sign in with email and password (MAAS_AUTH=local).
--
-- A session has one valid refresh token; each use replaces it and raises the generation. Tokens of earlier generations
-- stay until they would have expired, so that the reuse of a stolen one is noticed. Every secret is stored as a hash.

create table maas.auth_users (
  user_id uuid primary key default gen_random_uuid(),
  email text not null check (char_length(email) between 3 and 254),
  password_hash text not null check (char_length(password_hash) between 50 and 300),
  name text check (char_length(name) between 1 and 200),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  last_sign_in_at timestamptz
);
comment on table maas.auth_users is
  'Accounts. No role reads a password hash but by maas_find_account and maas_password_hash';
comment on column maas.auth_users.email is 'Normalised: lower case, NFKC';
comment on column maas.auth_users.password_hash is 'scrypt$N$r$p$salt$hash';
create unique index idx_auth_users_email on maas.auth_users (lower(email));

create table maas.auth_sessions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null references maas.auth_users on delete cascade,
  method varchar(10) not null check (method in ('password', 'recovery')),
  generation int not null default 0,
  rotated_at timestamptz not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
comment on table maas.auth_sessions is
  'Sessions of accounts: one per sign-in; the claim session_id of access tokens names it';
comment on column maas.auth_sessions.method is
  'recovery: begun by a one-time link; its password may be set without the present one';
comment on column maas.auth_sessions.generation is 'Generation of the refresh tokens that are valid';
comment on column maas.auth_sessions.rotated_at is 'When that generation began';
comment on column maas.auth_sessions.revoked_at is 'Signed out, or revoked because an old refresh token was used again';
create index idx_auth_sessions_user_id on maas.auth_sessions (user_id, created_at);
create index idx_auth_sessions_expires_at on maas.auth_sessions (expires_at);

create table maas.auth_refresh_tokens (
  hash bytea primary key check (length(hash) = 32),
  session_id uuid not null references maas.auth_sessions on delete cascade,
  user_id uuid not null,
  generation int not null,
  created_at timestamptz not null
);
comment on table maas.auth_refresh_tokens is 'SHA-256 of refresh tokens; no role reads it';
create index idx_auth_refresh_tokens_session_id on maas.auth_refresh_tokens (session_id, created_at);
create index idx_auth_refresh_tokens_user_id on maas.auth_refresh_tokens (user_id);

create table maas.auth_links (
  hash bytea primary key check (length(hash) = 32),
  kind varchar(10) not null check (kind in ('recovery', 'admin')),
  user_id uuid references maas.auth_users on delete cascade,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  check ((kind = 'recovery') = (user_id is not null))
);
comment on table maas.auth_links is
  'SHA-256 of one-time links for forgotten passwords, and of codes by which the first administrator signs up; '
  'no role reads it';
create index idx_auth_links_user_id on maas.auth_links (user_id) where user_id is not null;

create table maas.signing_key (
  secret bytea not null check (length(secret) = 32)
);
comment on table maas.signing_key is
  'The secret of access tokens where MAAS_JWT_SECRET is unset; servers read it by maas_signing_key';
create unique index idx_signing_key_one on maas.signing_key ((true));
insert into maas.signing_key (secret)
values (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
