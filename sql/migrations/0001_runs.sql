-- MaaS in Postgres: a tour
-- ========================
--
-- A client inserts one row into `pipeline_runs` (user_id, user_query). Everything else follows from that row.
--
--   insert            `run_intake` forces a clean start (status NEW, lane -2), `log_queries` writes the query to
--                     `raw_logs` in the same transaction, `notify_pipeline_change` tells `pipeline_events`,
--                     `ring_bell` wakes the orchestrators. An insert takes no lock and waits for nobody.
--   maas_step         the heart. One call, one commit, under the one lock that only engines take: finish what is done,
--                     take the inbox in order, promote the next run of every key that became free, claim.
--   maas_advance      one status further, many runs in one statement, fenced by owner and attempt.
--   maas_reap         runs of dead or silent orchestrators go back to lane 0; one that was lost twice in a row is run alone,
--                     one that kills its process fails; batons that were lost are found again.
--   maas_unregister   an orchestrator that leaves gives back what it had.
--   maas_cancel_run   marks a run; the next step makes it FAILED.
--   maas_retry_run    FAILED -> NEW: a new try in a new turn.
--   maas_import       turns that were said elsewhere, and one run of kind `archive` that records them.
--
-- Two columns say where a run is. `status` is the public state machine, eight words that never change:
--
--   NEW -> ANALYZING -> ANALYZED -> ASSEMBLING -> READY -> RESPONDING -> COMPLETED     any but COMPLETED -> FAILED
--
-- `lane` is the queue's own: -2 inbox, -1 waiting behind its key's head, 0 runnable, 1 in flight (archiving included),
-- 2 finished. At most one run of a `lane_key` is in lanes 0 and 1: a unique index says so. That index is the baton:
-- a user's next request starts only when the last exchange is in memory. `seq` is drawn at intake, under the lock: it is
-- the run's turn, and the only meaning of "earlier" anywhere.
--
-- What is remembered: `raw_logs` holds every word, never rewritten. `lsm_storage` holds records about them, each with
-- the ids of its logs; records are superseded, never edited. `lsm_storage.is_provisional` marks the trace of a query
-- that is still being answered.
--
-- `system_prompts` is read at every stage: an UPDATE there is a deployment. `llm_calls` has each model call.
-- `run_events` has what is rare: reclaims, retries, cancels. Views named v_* are for people; docs/sql.md shows them.

create sequence run_seq;
create sequence owner_seq as int cycle;

create table engine_settings (
  key text primary key,
  value text not null
);
comment on table engine_settings is 'What triggers and functions must know of the configuration; written by the orchestrator at start';
insert into engine_settings values ('blocking_scope', 'user'), ('timezone', 'UTC');

create table assistants (
  name varchar(50) primary key,
  role_name varchar(50) not null,
  definition jsonb not null default '{}',
  is_active boolean not null default true,
  updated_at timestamptz not null default now()
);
comment on table assistants is 'Who may be asked; role_name names the row of system_prompts with its role text';
insert into assistants (name, role_name) values ('mentor', 'Mentor');

create table engines (
  owner int primary key,
  host text not null,
  pid int not null,
  stages text[] not null,
  concurrency int not null,
  started_at timestamptz not null default now(),
  lease_until timestamptz not null
);
comment on table engines is 'One row an orchestrator connection; it is alive while advisory lock (4711, owner) is held and the lease runs';

create table pipeline_runs (
  id uuid primary key default gen_random_uuid(),
  seq bigint not null default 0,
  user_id uuid not null,
  user_query text not null,
  lane_key uuid not null,
  assistant varchar(50) not null default 'mentor',
  conversation_id uuid,
  kind varchar(10) not null default 'ask' check (kind in ('ask', 'archive', 'action', 'task')),
  source varchar(20) not null default 'sql',
  metadata jsonb,
  caller text not null default '',
  idempotency_key text,

  status varchar(50) not null default 'NEW' check (
    status in ('NEW', 'ANALYZING', 'ANALYZED', 'ASSEMBLING', 'READY', 'RESPONDING', 'COMPLETED', 'FAILED')),
  analysis_result jsonb,
  sources jsonb,
  draft_context text,
  final_context_payload text,
  final_answer text,
  error_code varchar(50),
  error_message text,
  degraded text[] not null default '{}',

  lane smallint not null default -2 check (lane between -2 and 2),
  owner int,
  attempt int not null default 0,
  deaths int not null default 0,
  try int not null default 1,
  cancel_requested_at timestamptz,
  archive_status varchar(10) not null default 'PENDING' check (
    archive_status in ('PENDING', 'ARCHIVING', 'ARCHIVED', 'SKIPPED', 'FAILED')),

  created_at timestamptz not null default now(),
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

  constraint user_query_is_blank check (
    kind <> 'ask' or user_query ~ '[^\s\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]'),
  constraint user_query_exceeds_64_kib check (octet_length(user_query) <= 65536)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, toast_tuple_target = 512);

-- Compressing 3-12 kB of text in every transition costs half of the CPU; the disk has room.
alter table pipeline_runs alter draft_context set storage external, alter final_context_payload set storage external;

comment on table pipeline_runs is 'One row a request: where it is, what each stage wrote, what came out';
comment on column pipeline_runs.seq is 'The turn: drawn anew at intake under the engine lock; "earlier" means a lower seq';
comment on column pipeline_runs.lane is '-2 inbox, -1 waiting, 0 runnable, 1 in flight, 2 finished; moved by maas_step and maas_reap alone';
comment on column pipeline_runs.lane_key is 'Whose runs go one after another: the user, everybody, or a background key';
comment on column pipeline_runs.owner is 'The orchestrator connection that works on it; with attempt it fences every write';
comment on column pipeline_runs.attempt is 'Claims so far; a writer with an older number lost the run';
comment on column pipeline_runs.deaths is 'Orchestrators that died or fell silent with this run in flight';
comment on column pipeline_runs.try is 'Grows by maas_retry_run only';
comment on column pipeline_runs.sources is 'Which remembered turns and records the draft holds: [{id, kind, score}]';
comment on column pipeline_runs.degraded is 'Stages that finished by rule because their model did not answer';
comment on column pipeline_runs.caller is 'Who sent the idempotency key; keys are unique per caller';

-- The queue's indexes hold unfinished runs only, so history costs nothing. `idx_pipeline_runs_status` is the index that
-- finds work; it is keyed on lane: an index on status would turn every status update into an index update.
create index idx_pipeline_runs_status on pipeline_runs (seq) where lane = 0;
create index idx_pipeline_runs_inbox on pipeline_runs (seq) where lane = -2;
create index idx_pipeline_runs_waiting on pipeline_runs (lane_key, seq) where lane = -1;
create unique index idx_pipeline_runs_baton on pipeline_runs (lane_key) where lane in (0, 1);
create index idx_pipeline_runs_cancel on pipeline_runs (id) where cancel_requested_at is not null and lane < 2;
create index idx_pipeline_runs_user_id on pipeline_runs (user_id, seq);
create index idx_pipeline_runs_created_at on pipeline_runs (created_at);
create unique index idx_pipeline_runs_idempotency on pipeline_runs (caller, idempotency_key) where idempotency_key is not null;

create table run_events (
  run_id uuid not null references pipeline_runs on delete cascade,
  n int not null,
  type varchar(50) not null,
  payload jsonb not null default '{}',
  created_at timestamptz not null default now(),
  primary key (run_id, n)
);
comment on table run_events is 'What happened to a run beside its way through the statuses';

create function maas_add_event(p_run uuid, p_type text, p_payload jsonb) returns void language sql as $$
  insert into run_events (run_id, n, type, payload)
  select p_run, coalesce(max(n), 0) + 1, p_type, p_payload from run_events where run_id = p_run
$$;

create function maas_now() returns timestamptz language sql stable as $$
  select coalesce(nullif(current_setting('maas.now', true), '')::timestamptz, now())
$$;
comment on function maas_now is 'The clock of leases and scopes; `set maas.now = ...` moves it for one session';

create function maas_day(p_at timestamptz) returns date language sql stable as $$
  select (p_at at time zone (select value from engine_settings where key = 'timezone'))::date
$$;
comment on function maas_day is 'The calendar day in MAAS_TIMEZONE';

create function maas_is_legal(p_from text, p_to text) returns boolean language sql immutable as $$
  select (p_from, p_to) in (
    ('NEW', 'ANALYZING'), ('ANALYZING', 'ANALYZED'), ('ANALYZED', 'ASSEMBLING'), ('ASSEMBLING', 'READY'),
    ('READY', 'RESPONDING'), ('RESPONDING', 'COMPLETED'), ('FAILED', 'NEW'))
    or (p_to = 'FAILED' and p_from not in ('COMPLETED', 'FAILED'))
$$;
comment on function maas_is_legal is 'The state machine; FAILED -> NEW only as a new try';

create function refuse_transition() returns trigger language plpgsql as $$
begin
  if current_setting('maas.maintenance', true) = 'on' then
    return new;
  end if;
  raise check_violation using message = format('status: illegal transition %s -> %s', old.status, new.status),
    hint = case when old.status = 'FAILED' then 'select maas_retry_run(id)' else 'set maas.maintenance = on, if you must' end,
    table = 'pipeline_runs', column = 'status';
end $$;
create trigger refuse_transition before update of status on pipeline_runs for each row
  when (old.status <> new.status and not (
    maas_is_legal(old.status, new.status) and (new.status <> 'NEW' or new.try = old.try + 1)))
  execute function refuse_transition();

create function touch_updated_at() returns trigger language plpgsql as $$
begin
  new.updated_at := now();
  return new;
end $$;
create trigger touch_updated_at before update on pipeline_runs for each row
  when (new.updated_at = old.updated_at and old.updated_at <> now()) execute function touch_updated_at();

create function notify_pipeline_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('pipeline_events', json_build_object(
    'id', new.id, 'status', new.status, 'operation', tg_op, 'archive_status', new.archive_status)::text);
  return null;
end $$;
comment on function notify_pipeline_change is 'Tells pipeline_events {id, status, operation, archive_status}; a hint, the table is the truth';
create trigger on_pipeline_change after insert on pipeline_runs for each row execute function notify_pipeline_change();
create trigger on_pipeline_status_change after update of status on pipeline_runs for each row
  when (old.status is distinct from new.status) execute function notify_pipeline_change();
create trigger on_pipeline_archive_change after update of archive_status on pipeline_runs for each row
  when (old.status is not distinct from new.status and old.archive_status is distinct from new.archive_status)
  execute function notify_pipeline_change();

create function ring_bell() returns trigger language plpgsql as $$
begin
  perform pg_notify('pipeline_bell', '');
  return null;
end $$;
comment on function ring_bell is 'Wakes every orchestrator; without payload, so that a thousand rings are one';
create trigger ring_bell after insert on pipeline_runs for each statement execute function ring_bell();
