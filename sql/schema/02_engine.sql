-- The engine: ids, numbers, settings, orchestrators, metrics.
--
-- Metrics are counted in slots of five seconds for five minutes (v_rates, v_stage_recent); older slots are added to the
-- slot -infinity, so that sums never decrease.

create function maas.maas_new_id() returns uuid language sql volatile parallel safe as $$
  select encode(set_bit(set_bit(overlay(  -- version 4 becomes 7
    uuid_send(gen_random_uuid()) placing substring(
      int8send(floor(date_part('epoch', clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1),
    'hex')::uuid
$$;
comment on function maas.maas_new_id is
  'A UUID of version 7: milliseconds since 1970, then 74 bits drawn by chance. Rows that are written together are '
  'neighbours in an index by id, and a checkpoint is followed by images of few of its pages';

create sequence maas.run_seq;
create sequence maas.owner_seq as int cycle;

create table maas.engine_settings (
  key text primary key,
  value text not null
);
comment on table maas.engine_settings is
  'Settings that triggers and functions read; the orchestrator writes them at start';

insert into maas.engine_settings (key, value) values
  ('blocking_scope', 'user'), ('timezone', 'UTC'), ('max_in_flight', ''), ('terms_counted_until', '-infinity'),
  ('assistants_version', '0'), ('user_queue_limit', '100'), ('user_conversations', '10000'), ('user_documents', '2000'),
  ('user_document_bytes', '536870912'), ('user_images', '5000'), ('user_image_bytes', '2147483648'),
  ('user_memory_bytes', '268435456'), ('user_webhooks', '10'), ('user_webhook_events', '10000'),
  ('user_schedules', '20');

create table maas.engines (
  owner int primary key,
  host text not null,
  pid int not null,
  stages text[] not null,
  concurrency int not null,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null,
  heartbeat_at timestamptz not null default now(),
  lock_key int not null,
  session int not null,
  timeline text
);
comment on table maas.engines is
  'One row per orchestrator connection; '
  'it is alive while its session holds advisory lock (4711, lock_key) and the lease has not expired';
comment on column maas.engines.session is 'The pid of its Postgres session; who else holds the lock counts for nothing';
comment on column maas.engines.timeline is
  'The timeline of the write-ahead log when it registered; a standby that takes over begins a new one';

create table maas.pauses (
  subject varchar(10) not null check (subject in ('assistant', 'key', 'model', 'user')),
  name varchar(200) not null,
  reason text check (char_length(reason) <= 500),
  actor text not null,
  since timestamptz not null default now(),
  user_id uuid generated always as (case subject when 'user' then name::uuid end) stored,
  primary key (subject, name)
);
comment on table maas.pauses is
  'What operators have paused: runs of an assistant, of an API key and of a user wait, a model is not called';
comment on column maas.pauses.name is
  'The name of the assistant, the id of the key, the model as provider:name, the id of the user';

create table maas.engine_lock ();
comment on table maas.engine_lock is
  'Always empty: who locks it holds the engine lock. No role may, so functions of MaaS alone do';

create table maas.locks (
  subject text,
  place smallint,
  primary key (subject, place)
);
comment on table maas.locks is
  'Who locks a row of it holds one of the other locks; no role may, so functions of MaaS alone do';
insert into maas.locks (subject, place)
select subject, place
from unnest(array['memory', 'exchanges', 'terms', 'documents', 'metrics', 'retention', 'webhooks', 'debounce']) subject,
  generate_series(0, 255) place;

create table maas.engine_metrics (
  slot timestamptz not null,
  name text not null,
  labels jsonb not null default '{}',
  le float8 not null default 'Infinity'::float8,
  events bigint not null,
  seconds float8 not null default 0,
  primary key (slot, name, labels, le)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.5);
comment on table maas.engine_metrics is
  'Counters and histograms shown at /metrics: the value is the sum over all slots';
comment on column maas.engine_metrics.le is 'Upper bound of the histogram bucket in seconds; buckets do not overlap';
comment on column maas.engine_metrics.seconds is 'Sum of the durations of these events';

-- Series that alerts watch exist before their first event.
insert into maas.engine_metrics (slot, name, labels, events) values
  ('-infinity', 'runs_finished', '{"kind": "ask", "status": "COMPLETED", "code": ""}', 0),
  ('-infinity', 'runs_finished', '{"kind": "ask", "status": "FAILED", "code": "engine_died"}', 0),
  ('-infinity', 'archives_failed', '{"kind": "ask"}', 0),
  ('-infinity', 'runs_reclaimed', '{}', 0), ('-infinity', 'runs_adopted', '{}', 0),
  ('-infinity', 'words_swept', '{}', 0), ('-infinity', 'runs_swept', '{}', 0);
insert into maas.engine_metrics (slot, name, labels, events)
select '-infinity', 'background_failures', jsonb_build_object('task', task), 0
from unnest(array[
  'compactor', 'count_terms', 'embed', 'erase', 'keep_tools', 'metrics', 'retention', 'webhooks']) as task;
