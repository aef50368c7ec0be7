-- Messages: everything that users and assistants said, word for word.

create table maas.raw_logs (
  id uuid primary key default maas.maas_new_id(),
  seq bigint generated always as identity,
  user_id uuid not null,
  run_id uuid not null,
  turn_no int not null default 0,
  message_type varchar(50) not null check (message_type in ('user_query', 'assistant_response')),
  content text not null,
  speaker text,
  conversation text not null,
  external_id text,
  metadata jsonb,
  occurred_at timestamptz not null default now(),
  known_at timestamptz not null default now(),
  archived_at timestamptz,
  archived_run_id uuid,
  record_id uuid,
  archive_owed boolean not null default false,
  created_at timestamptz not null default now(),
  flags smallint generated always as (maas.maas_text_flags(content)) stored,
  tsv tsvector generated always as (maas.maas_index_text(content)) stored,
  is_remembered boolean not null default true,
  origins jsonb not null default '[]' check (jsonb_typeof(origins) = 'array'),
  constraint metadata_exceeds_100_levels
    check (not metadata @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")')
) with (fillfactor = 50);
comment on table maas.raw_logs is 'The full text of users and assistants; content is never rewritten';
comment on column maas.raw_logs.run_id is 'The run that wrote it, or the run of kind archive that imported it';
comment on column maas.raw_logs.turn_no is '0 for text of a run; the position in the batch for imported messages';
comment on column maas.raw_logs.conversation is
  'The dialogue that the message belongs to; a calendar day where none is given';
comment on column maas.raw_logs.external_id is
  'The id of an imported message at its source; makes an import repeatable';
comment on column maas.raw_logs.occurred_at is 'When it was said; for a query that had to wait, when it was claimed';
comment on column maas.raw_logs.known_at is 'The earliest time at which MaaS could have known it';
comment on column maas.raw_logs.record_id is 'The level 0 summary that covers it; null for small talk';
comment on column maas.raw_logs.archive_owed is 'Archiving failed; the next run of the same key archives it too';
comment on column maas.raw_logs.flags is 
  '2: ends with a question mark; 1: contains one; 0: contains none. Plus 4: its beginning says I or my';
comment on column maas.raw_logs.is_remembered is
  'False: logged only; no search, draft, summary or vector uses it, and archived_at is set from the start';
comment on column maas.raw_logs.origins is
  'What it was made from, if not from what the user said: '
  '[{kind: tool, name, domain} or {kind: document, name, id} or {kind: import, name}]';
create index idx_raw_logs_created_at on maas.raw_logs using brin (created_at) with (autosummarize = on);
create unique index idx_raw_logs_external_id on maas.raw_logs (user_id, conversation, external_id)
  where external_id is not null;
create unique index idx_raw_logs_message_type on maas.raw_logs (run_id, message_type, turn_no, uuid_send(user_id));
create index idx_raw_logs_origins on maas.raw_logs using gin (origins jsonb_path_ops) where origins <> '[]';
create index idx_raw_logs_owed on maas.raw_logs (user_id, seq) where archive_owed;
create index idx_raw_logs_unremembered on maas.raw_logs (user_id, run_id) where not is_remembered;
create index idx_raw_logs_user_id on maas.raw_logs (user_id, occurred_at, seq);
