-- Summaries of raw_logs, and what merging them cost.

create table maas.lsm_storage (
  id uuid primary key default maas.maas_new_id(),
  user_id uuid not null,
  run_id uuid,
  level smallint not null default 0,
  time_bucket_start date not null,
  time_bucket_end date not null,
  tags text[] not null,
  summary text not null,
  raw_log_ids uuid[] not null default '{}',
  is_provisional boolean not null default false,
  is_degraded boolean not null default false,
  occurred_at timestamptz not null default now(),
  known_at timestamptz not null default now(),
  superseded_by uuid,
  superseded_at timestamptz,
  created_at timestamptz not null default now(),
  words_gone boolean not null default false,
  origins jsonb not null default '[]' check (jsonb_typeof(origins) = 'array'),
  tsv tsvector generated always as (
    case when words_gone or origins <> '[]' then maas.maas_lexemes(summary) end) stored,
  check (time_bucket_start <= time_bucket_end)
) with (fillfactor = 85);
comment on table maas.lsm_storage is
  'Summaries of raw_logs, log-structured: level 0 covers an exchange, 1 a day, 2 a week, 3 a month. '
  'Superseded, never edited';
comment on column maas.lsm_storage.run_id is
  'The run that it summarises; null for imported exchanges and merged summaries';
comment on column maas.lsm_storage.is_provisional is
  'Marks the trace of a query that is being answered; no search reads it';
comment on column maas.lsm_storage.is_degraded is 'Written by rules, because the Archivist''s model did not answer';
comment on column maas.lsm_storage.superseded_by is
  'The summary of a higher level that includes it; null with superseded_at set: void';
comment on column maas.lsm_storage.tsv is
  'The words of a summary that stands in for messages that no longer exist, or has origins; '
  'others are found by their messages';
comment on column maas.lsm_storage.words_gone is 'Retention has removed some of its logs';
comment on column maas.lsm_storage.origins is 'Those of its messages, each once; they outlive the messages';
create index idx_lsm_children on maas.lsm_storage (superseded_by) where superseded_by is not null;
create index idx_lsm_created_at on maas.lsm_storage (created_at) where not is_provisional;
create index idx_lsm_due on maas.lsm_storage (level, time_bucket_end, user_id)
  where superseded_at is null and not is_provisional;
create unique index idx_lsm_run on maas.lsm_storage (run_id, uuid_send(user_id)) where superseded_at is null;
create index idx_lsm_tags on maas.lsm_storage using gin (tags) where not is_provisional;
create index idx_lsm_time_bucket on maas.lsm_storage (time_bucket_start, time_bucket_end) where not is_provisional;
create index idx_lsm_user on maas.lsm_storage (user_id, time_bucket_end desc) where not is_provisional;
create index idx_lsm_words_gone on maas.lsm_storage (user_id) where words_gone;

create table maas.compactions (
  record_id uuid primary key,
  user_id uuid not null,
  level smallint not null,
  children int not null,
  provider varchar(50),
  model text,
  prompt_version int,
  calls int not null default 0,
  tokens_in int not null default 0,
  tokens_out int not null default 0,
  ms real not null default 0,
  days int not null default 0,
  left_out date[] not null default '{}',
  created_at timestamptz not null default now()
);
comment on table maas.compactions is 'The cost of each merged summary; a summary of one child needs no model call';
comment on column maas.compactions.calls is 'Requests sent, retries included';
comment on column maas.compactions.days is 'Days that the summary covers; 0 without a model call';
comment on column maas.compactions.left_out is
  'Days of which the model wrote nothing usable: the summary has the text that rules made of them';
create index idx_compactions_created_at on maas.compactions using brin (created_at);
create index idx_compactions_user_id on maas.compactions (user_id);

create table maas.memory_corrections (
  id uuid primary key references maas.raw_logs on delete cascade,
  user_id uuid not null,
  memory_id uuid not null,
  root_id uuid not null,
  created_at timestamptz not null default clock_timestamp()
);
comment on table maas.memory_corrections is
  'Messages that correct a memory of their user. Of all corrections of one root the newest is valid; '
  'what it corrects stays readable';
comment on column maas.memory_corrections.id is 'The message that is the correction';
comment on column maas.memory_corrections.memory_id is 'The message or summary that it was sent for';
comment on column maas.memory_corrections.root_id is
  'The memory at the beginning: memory_id, or where that is a correction, the root of that';
create index idx_memory_corrections_root on maas.memory_corrections (user_id, root_id);
