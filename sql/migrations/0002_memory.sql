-- What is remembered. raw_logs: every word, as it was said. lsm_storage: records about them, in levels.

create function maas_lexemes(p_text text) returns tsvector language sql immutable parallel safe as $$
  select to_tsvector('russian', translate(left(p_text, 200000), 'ёЁ’', 'еЕ'''))
$$;
comment on function maas_lexemes is 'Cyrillic words by the Russian stemmer, Latin ones by the English; the first 200,000 characters';

create function maas_term_mask(p_text tsvector, p_terms tsquery[]) returns bigint language sql immutable parallel safe as $$
  select coalesce((p_text @@ p_terms[1])::int::bigint, 0) | coalesce((p_text @@ p_terms[2])::int::bigint << 1, 0)
    | coalesce((p_text @@ p_terms[3])::int::bigint << 2, 0) | coalesce((p_text @@ p_terms[4])::int::bigint << 3, 0)
    | coalesce((p_text @@ p_terms[5])::int::bigint << 4, 0) | coalesce((p_text @@ p_terms[6])::int::bigint << 5, 0)
    | coalesce((p_text @@ p_terms[7])::int::bigint << 6, 0) | coalesce((p_text @@ p_terms[8])::int::bigint << 7, 0)
    | coalesce((p_text @@ p_terms[9])::int::bigint << 8, 0) | coalesce((p_text @@ p_terms[10])::int::bigint << 9, 0)
    | coalesce((p_text @@ p_terms[11])::int::bigint << 10, 0) | coalesce((p_text @@ p_terms[12])::int::bigint << 11, 0)
    | coalesce((p_text @@ p_terms[13])::int::bigint << 12, 0) | coalesce((p_text @@ p_terms[14])::int::bigint << 13, 0)
    | coalesce((p_text @@ p_terms[15])::int::bigint << 14, 0) | coalesce((p_text @@ p_terms[16])::int::bigint << 15, 0)
$$;
comment on function maas_term_mask is 'Bit i is set where the text holds term i; at most 16 terms. Written out so that it is inlined';

create table raw_logs (
  id uuid primary key default gen_random_uuid(),
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
  tsv tsvector generated always as (maas_lexemes(content)) stored
) with (fillfactor = 85);
comment on table raw_logs is 'Every word of users and assistants; content is never rewritten';
comment on column raw_logs.run_id is 'The run that said it, or the run of kind archive that imported it';
comment on column raw_logs.turn_no is '0 for what a run said; the place in the batch for imported turns';
comment on column raw_logs.conversation is 'The dialogue that the turn stands in; a calendar day where none is given';
comment on column raw_logs.external_id is 'The id that an imported turn had at its source; makes an import repeatable';
comment on column raw_logs.occurred_at is 'When it was said; for a query that had to wait, when its turn began';
comment on column raw_logs.known_at is 'Since when MaaS could have known it';
comment on column raw_logs.record_id is 'The level-0 record that covers it; null for small talk';
comment on column raw_logs.archive_owed is 'Its archiving failed; the next one of the same lane key takes it along';

create index idx_raw_logs_user_id on raw_logs (user_id, occurred_at, seq);
create index idx_raw_logs_created_at on raw_logs using brin (created_at);
create unique index idx_raw_logs_message_type on raw_logs (run_id, message_type, turn_no);
create unique index idx_raw_logs_external_id on raw_logs (user_id, conversation, external_id) where external_id is not null;
create index idx_raw_logs_owed on raw_logs (user_id, seq) where archive_owed;

create table lsm_storage (
  id uuid primary key default gen_random_uuid(),
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
  tsv tsvector generated always as (maas_lexemes(summary)) stored,
  check (time_bucket_start <= time_bucket_end)
) with (fillfactor = 85);
comment on table lsm_storage is 'Records about raw_logs, log-structured: level 0 an exchange; superseded, never edited';
comment on column lsm_storage.run_id is 'The run that it records; null for imported exchanges and merged records';
comment on column lsm_storage.is_provisional is 'The trace of a query that is still being answered; no search sees it';
comment on column lsm_storage.is_degraded is 'Written by rule, because the Archivist''s model did not answer';

create unique index idx_lsm_run on lsm_storage (run_id) where superseded_at is null;
create index idx_lsm_user on lsm_storage (user_id, time_bucket_end desc) where not is_provisional;
create index idx_lsm_time_bucket on lsm_storage (time_bucket_start, time_bucket_end) where not is_provisional;
create index idx_lsm_tags on lsm_storage using gin (tags) where not is_provisional;
create index idx_lsm_created_at on lsm_storage (created_at) where not is_provisional;

create function log_queries() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into raw_logs (user_id, run_id, message_type, content, conversation, metadata)
  select user_id, id, 'user_query', user_query,
    coalesce(conversation_id::text, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')),
    jsonb_build_object('request_id', id, 'timestamp', created_at)
  from inserted where kind = 'ask' order by seq;
  return null;
end $$;
create trigger log_queries after insert on pipeline_runs referencing new table as inserted
  for each statement execute function log_queries();

create function log_answer() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into raw_logs (user_id, run_id, message_type, content, conversation, metadata)
  values (new.user_id, new.id, 'assistant_response', new.final_answer,
    coalesce(new.conversation_id::text, to_char(new.created_at at time zone 'UTC', 'YYYY-MM-DD')),
    jsonb_build_object('request_id', new.id, 'timestamp', now()))
  on conflict do nothing;
  return null;
end $$;
create trigger log_answer after update of final_answer on pipeline_runs for each row
  when (old.final_answer is null and new.final_answer is not null and new.kind = 'ask') execute function log_answer();

create function maas_period(p_day date) returns text language sql immutable as $$
  select to_char(p_day, 'IYYY"-Week-"IW')
$$;
comment on function maas_period is 'The label of a day''s week: 2025-11-20 is in 2025-Week-47';
