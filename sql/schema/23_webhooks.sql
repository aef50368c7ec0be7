-- Webhooks: endpoints of other programs, and the events that are sent to them.

create table maas.webhook_endpoints (
  id uuid primary key default gen_random_uuid(),
  user_id uuid,
  url text not null check (url ~ '^https?://[^\s/?#@\\]+([/?][^\s#]*)?$' and octet_length(url) <= 2000),
  events text[] not null check (events <> '{}'),
  has_texts boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  disabled_at timestamptz,
  disabled_because varchar(10) check (disabled_because in ('asked', 'gone', 'failing', 'queue_full')),
  is_slow boolean not null default true,
  failures int not null default 0,
  failing_since timestamptz,
  paused_until timestamptz,
  task_id uuid references maas.pipeline_runs on delete cascade,
  name varchar(200),
  check ((task_id is null) = (name is null)),
  check ((disabled_at is null) = (disabled_because is null))
);
comment on table maas.webhook_endpoints is 'Addresses to which events are sent; maas_create_webhook adds them';
comment on column maas.webhook_endpoints.user_id is
  'Whose events it gets, and who may see it; null: an operator''s, of all users';
comment on column maas.webhook_endpoints.has_texts is 'Whether events hold what was said, beside ids';
comment on column maas.webhook_endpoints.disabled_because is
  'asked: by its owner; gone: it answered 410; failing: for three days nothing arrived; queue_full: too much waited';
comment on column maas.webhook_endpoints.is_slow is
  'Until it has answered within 3 s: slow endpoints get one delivery at a time, and half of the places at most';
comment on column maas.webhook_endpoints.failures is 'How often in a row nothing answered, or that it is overloaded';
comment on column maas.webhook_endpoints.failing_since is 'The first failure since the last delivery that arrived';
comment on column maas.webhook_endpoints.paused_until is 'Nothing is sent before: it did not answer, or asked for it';
comment on column maas.webhook_endpoints.task_id is
  'Of a push notification of A2A: the task, named by its first run, whose changes alone it gets';
comment on column maas.webhook_endpoints.name is 'What the client of A2A calls it, one of its task';
create index idx_webhook_endpoints_user on maas.webhook_endpoints (user_id, task_id);
create unique index idx_webhook_endpoints_task on maas.webhook_endpoints (task_id, name) where task_id is not null;

create table maas.webhook_secrets (
  id uuid primary key default gen_random_uuid(),
  user_id uuid,
  endpoint_id uuid not null references maas.webhook_endpoints on delete cascade,
  value text check (value ~ '^whsec_[A-Za-z0-9+/]{43}=$'),
  headers jsonb,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  check ((value is null) <> (headers is null))
);
comment on table maas.webhook_secrets is
  'What deliveries are signed with, at most two of an endpoint, or what they carry instead. No role reads the '
  'table: orchestrators get values with what is to be sent';
comment on column maas.webhook_secrets.headers is
  'Of a push notification of A2A: the headers by which its receiver knows the sender';
comment on column maas.webhook_secrets.expires_at is 'Of the one before a rotation';
create index idx_webhook_secrets_endpoint on maas.webhook_secrets (endpoint_id);
create index idx_webhook_secrets_user on maas.webhook_secrets (user_id) where user_id is not null;

create table maas.webhook_deliveries (
  id uuid primary key default maas.maas_new_id(),
  seq bigint not null generated always as identity,
  endpoint_id uuid not null,
  user_id uuid,
  key uuid not null,
  type varchar(30) not null,
  data jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  state varchar(10) not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
  attempts int not null default 0,
  next_at timestamptz not null default clock_timestamp(),
  claimed_until timestamptz,
  claimed_by text,
  changed_at timestamptz not null default clock_timestamp(),
  status smallint,
  error varchar(20)
);
comment on table maas.webhook_deliveries is
  'One event for one endpoint, written in the transaction that makes it true; ids alone, texts are read when it is '
  'sent. No foreign key: a run must not wait for an endpoint that is being deleted';
comment on column maas.webhook_deliveries.id is 'The webhook-id, the same in all attempts';
comment on column maas.webhook_deliveries.user_id is 'The user of the event; null for user.erased';
comment on column maas.webhook_deliveries.key is
  'Deliveries of one key, such as a run, arrive at an endpoint one after another, by seq';
comment on column maas.webhook_deliveries.claimed_until is
  'A process is sending it; after this time it has died or hangs';
comment on column maas.webhook_deliveries.claimed_by is
  'Host and pid of that process: what it was sending is due at once when engines has it no more';
comment on column maas.webhook_deliveries.status is 'What the endpoint answered last; null: nothing';
comment on column maas.webhook_deliveries.error is 'Why there was no answer, as a code';
create index idx_webhook_deliveries_waiting on maas.webhook_deliveries (endpoint_id, next_at, seq)
  where state = 'waiting';
create index idx_webhook_deliveries_key on maas.webhook_deliveries (endpoint_id, key, seq) where state = 'waiting';
create index idx_webhook_deliveries_claimed on maas.webhook_deliveries (endpoint_id) where claimed_until is not null;
create index idx_webhook_deliveries_endpoint on maas.webhook_deliveries (endpoint_id, created_at desc, id desc);
create index idx_webhook_deliveries_user on maas.webhook_deliveries (user_id) where user_id is not null;
create index idx_webhook_deliveries_changed on maas.webhook_deliveries (changed_at);
