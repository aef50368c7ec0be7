-- Runs and their events.
--
-- Updates find space in their page and touch no index: 96 % of those that move a status are HOT. Texts of 3-12 kB leave
-- the row compressed when they are written, and no later update writes them again.
--
-- The indexes of the queue hold unfinished runs only, so history costs nothing. idx_pipeline_runs_key_lock is the
-- per-key lock: at most one run of a key is runnable or in flight. idx_pipeline_runs_status finds work, of each
-- assistant in order; it is keyed on queue_state, because an index on status would turn every status update into an
-- index update.

create table maas.pipeline_runs (
  -- the request
  id uuid primary key default maas.maas_new_id(),
  user_id uuid not null,
  user_query text not null,
  assistant varchar(50) not null default 'mentor',
  conversation_id uuid,
  kind varchar(10) not null default 'ask' check (kind in ('ask', 'archive', 'action', 'task', 'trial', 'call')),
  mode varchar(10) check (mode in ('auto', 'plan', 'ask')),
  attachment_ids uuid[] not null default '{}',
  client_context jsonb,
  is_remembered boolean not null default true,
  replaces uuid,
  run_at timestamptz,
  debounce float8,
  attributes jsonb,
  source varchar(20) not null default 'sql',
  metadata jsonb,
  caller text not null default '',
  idempotency_key text,
  -- how it went
  memory_reasons text[] not null default '{}',
  memory varchar(12) not null generated always as (
    case
      when 'search_failed' = any(memory_reasons) then 'unavailable'
      when memory_reasons = '{}' then 'ok'
      else 'degraded' end) stored,
  agent text,
  domain text,
  limited varchar(10) check (limited in ('budget', 'stopped')),
  degraded text[] not null default '{}',
  error_code varchar(50),
  error_message text,
  -- the queue
  priority smallint not null default 0 check (priority between -1 and 1),
  queue_key uuid not null,
  try int not null default 1,
  losses smallint not null default 0,
  deaths int not null default 0,
  not_before timestamptz,
  answer_by timestamptz,
  cancel_requested_at timestamptz,
  created_at timestamptz not null default now(),
  -- what the stages wrote, one after another
  analysis_result jsonb,
  sources jsonb,
  searched jsonb,
  draft_context text,
  final_context_payload text,
  final_answer text,
  -- where it is. Every update changes these, and writes all from its first changed column on to the log: they are last
  seq bigint not null default 0,
  owner int,
  attempt int not null default 0,
  queue_state smallint not null default -2 check (queue_state between -4 and 2),
  status varchar(50) not null default 'NEW' check (status in (
    'NEW', 'ANALYZING', 'ANALYZED', 'ASSEMBLING', 'READY', 'RESPONDING', 'COMPLETED', 'FAILED')),
  archive_status varchar(10) not null default 'PENDING' check (archive_status in (
    'PENDING', 'ARCHIVING', 'ARCHIVED', 'SKIPPED', 'FAILED')),
  updated_at timestamptz not null default now(),
  claimed_at timestamptz,
  analyzing_at timestamptz,
  analyzed_at timestamptz,
  assembling_at timestamptz,
  ready_at timestamptz,
  responding_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  archived_at timestamptz,
  -- limits; JSON from clients may have 100 levels, because some parsers fail beyond
  constraint client_context_exceeds_512_kib check (octet_length(client_context::text) <= 524288),
  constraint metadata_exceeds_100_levels
    check (not metadata @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")'),
  constraint user_query_exceeds_64_kib check (octet_length(user_query) <= 65536),
  constraint user_query_is_blank
    check (kind <> 'ask' or user_query ~ '[^\s\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]')
) with (autovacuum_vacuum_scale_factor = 0.05, toast_tuple_target = 512, fillfactor = 60);
do $$
begin
  alter table maas.pipeline_runs alter user_query set compression lz4, alter client_context set compression lz4,
    alter analysis_result set compression lz4, alter sources set compression lz4,
    alter draft_context set compression lz4, alter final_context_payload set compression lz4,
    alter final_answer set compression lz4;
exception when feature_not_supported then
  raise notice 'this server was built without lz4: texts of runs take more of its CPU';
end $$;
comment on table maas.pipeline_runs is 'One row per request: where it is, what each stage wrote, the answer';
comment on column maas.pipeline_runs.seq is
  'Order in which runs leave the inbox, drawn again under the engine lock: "earlier" means a lower seq everywhere';
comment on column maas.pipeline_runs.queue_key is
  'Runs of one key are executed one after another: the user, a constant for all users, or a background key';
comment on column maas.pipeline_runs.caller is 'Who sent the idempotency key; keys are unique per caller';
comment on column maas.pipeline_runs.sources is
  'The messages and summaries that the draft contains: [{id, kind, score}]';
comment on column maas.pipeline_runs.degraded is
  'Stages that finished by rules because their model did not answer; '
  'language: the answer is in another one than its assistant''s';
comment on column maas.pipeline_runs.queue_state is
  '-4 scheduled, -3 paused, -2 inbox, -1 waiting, 0 runnable, 1 in_flight, 2 finished; '
  'only maas_step, maas_reap and functions that hold the engine lock change it';
comment on column maas.pipeline_runs.priority is
  '1 high, 0 normal, -1 low: which users are answered first where there is more to do than places. Runs of one user '
  'stay in the order in which they were inserted';
comment on column maas.pipeline_runs.run_at is
  'It does not start before this time, and lets later runs of its user go first until then; null: at once';
comment on column maas.pipeline_runs.debounce is
  'Seconds that it waits for another request of its conversation, which is joined to it, before it starts; null: none';
comment on column maas.pipeline_runs.attributes is
  'What lists of runs can be filtered by: at most 16 names with texts, numbers or booleans';
comment on column maas.pipeline_runs.owner is
  'The orchestrator connection that works on it; owner and attempt fence every write';
comment on column maas.pipeline_runs.attempt is 'Number of claims; a writer with a lower number has lost the run';
comment on column maas.pipeline_runs.deaths is
  'Those of losses in which it was the only run in flight; maas_reap fails the run when there are too many';
comment on column maas.pipeline_runs.try is 'Only maas_retry_run increments it';
comment on column maas.pipeline_runs.losses is
  'Consecutive processes lost while it was in flight, since it last advanced; from 2 on it is quarantined: run alone';
comment on column maas.pipeline_runs.mode is
  'The mode of this request; null: the mode of its conversation or of the assistant';
comment on column maas.pipeline_runs.attachment_ids is 'Images that came with the query, at most 10';
comment on column maas.pipeline_runs.agent is
  'The agent of the assistant that answers; null where the assistant has none';
comment on column maas.pipeline_runs.domain is 'The domain whose tools or text the answer uses; mixed: several';
comment on column maas.pipeline_runs.not_before is
  'Runnable runs only: claimed no earlier than this, because their model is unavailable, '
  'or a task lets other runs go first; null for all others';
comment on column maas.pipeline_runs.answer_by is
  'Set when it first had to wait for its model: it waits no longer than this';
comment on column maas.pipeline_runs.client_context is
  'What the client sent along: {system, messages: [{role, content}]}, read by the Draft Builder. '
  'It is not the user''s text';
comment on column maas.pipeline_runs.is_remembered is
  'False: the text is logged, but never recalled or summarised; decided at insert';
comment on column maas.pipeline_runs.replaces is
  'The earlier run of the same user whose question this one answers again; its exchange leaves memory';
comment on column maas.pipeline_runs.limited is
  'budget: the user''s daily budget was spent, so stages worked by rule from there on; '
  'stopped: the run was cancelled while its answer was being written, and the answer is what there was';
comment on column maas.pipeline_runs.memory_reasons is
  'Why memory was incomplete for this answer, as codes; empty: it was complete';
comment on column maas.pipeline_runs.memory is
  'Whether the memory behind the answer was complete: ok, degraded or unavailable';
comment on column maas.pipeline_runs.searched is
  'What the search of memory came to: {messages: how many were looked through, confidence: how likely one of them or '
  'a fact answers the question, 0 to 1, found: yes, perhaps or no}, the latter two null where nothing was asked of '
  'memory. Null: there was no search, or it failed';
create unique index idx_pipeline_runs_key_lock on maas.pipeline_runs (queue_key) where queue_state in (0, 1);
create index idx_pipeline_runs_attributes on maas.pipeline_runs using gin (attributes jsonb_path_ops)
  where attributes is not null;
create index idx_pipeline_runs_cancel on maas.pipeline_runs (id)
  where cancel_requested_at is not null and queue_state < 2;
create index idx_pipeline_runs_created_at on maas.pipeline_runs (created_at);
create index idx_pipeline_runs_error_code on maas.pipeline_runs (error_code, created_at) where error_code is not null;
create index idx_pipeline_runs_failed on maas.pipeline_runs (user_id, created_at, id) where failed_at is not null;
create index idx_pipeline_runs_debounced on maas.pipeline_runs (user_id, seq)
  where queue_state = -4 and debounce is not null;
create index idx_pipeline_runs_deferred on maas.pipeline_runs (not_before)
  where queue_state = 0 and not_before is not null;
create unique index idx_pipeline_runs_idempotency on maas.pipeline_runs (caller, idempotency_key)
  where idempotency_key is not null;
create index idx_pipeline_runs_inbox on maas.pipeline_runs (priority desc, seq) where queue_state = -2;
create index idx_pipeline_runs_paused on maas.pipeline_runs (seq) where queue_state = -3;
create index idx_pipeline_runs_scheduled on maas.pipeline_runs (run_at) where queue_state = -4;
create index idx_pipeline_runs_status on maas.pipeline_runs (assistant, priority desc, seq)
  where queue_state = 0 and not_before is null;
create index idx_pipeline_runs_unfinished on maas.pipeline_runs (user_id)
  where queue_state < 2 and (kind in ('ask', 'action'));
create index idx_pipeline_runs_user_id on maas.pipeline_runs (user_id, seq);
create index idx_pipeline_runs_waiting on maas.pipeline_runs (queue_key, seq) where queue_state = -1;

create table maas.debounced_requests (
  id uuid primary key,
  user_id uuid not null,
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  caller text not null,
  idempotency_key text,
  digest bytea not null
);
comment on table maas.debounced_requests is
  'Requests that waited for the next one of their conversation, and the run that answers them together';
comment on column maas.debounced_requests.digest is
  'Of what was sent (maas_request_digest), to know it again; empty once it is forgotten';
create unique index idx_debounced_requests_key on maas.debounced_requests (caller, idempotency_key)
  where idempotency_key is not null;
create index idx_debounced_requests_run_id on maas.debounced_requests (run_id);

create type maas.claimed_run as (
  attempt int,
  seq bigint,
  kind varchar,
  status varchar,
  user_id uuid,
  user_query text,
  assistant varchar,
  conversation_id uuid,
  created_at timestamptz,
  waited float8,
  analysis_result jsonb,
  draft_context text,
  final_context_payload text,
  time_left float8,
  assistants_version text,
  wants_layers boolean
);
comment on type maas.claimed_run is
  'What an orchestrator learns of a run that it has claimed. waited: seconds since the insert, null after the first '
  'attempt; time_left: seconds for the answer, null unless it was deferred; wants_layers: debug information was asked '
  'for';
create type maas.cancelled_run as (id uuid, queue_key uuid, error_code varchar, error_message text);
comment on type maas.cancelled_run is 'A run that was cancelled before it was claimed, and why';

create table maas.run_events (
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  n int not null,
  type varchar(50) not null,
  payload jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (run_id, n)
);
comment on table maas.run_events is
  'Events of a run other than its statuses: text, tools, reclaims. n counts from 1 without gaps';
