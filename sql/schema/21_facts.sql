-- Facts: what is true of a person, each one statement with the messages that it rests on.
--
-- A row is never rewritten. What is true now is read from the rows (maas_facts): the rows of one subject and one
-- attribute are a line of time on which each statement replaces the one before.

create table maas.facts (
  id uuid primary key default maas.maas_new_id(),
  seq bigint generated always as identity,
  user_id uuid not null,
  statement text not null check (char_length(statement) between 1 and 1000),
  key text not null generated always as (maas.maas_note_key(statement)) stored,
  subject text not null check (char_length(subject) between 1 and 100),
  attribute text not null check (char_length(attribute) between 1 and 100),
  kind varchar(10) not null check (kind in (
    'identity', 'relation', 'preference', 'plan', 'event', 'state', 'possession', 'question', 'profile',
    'note')),
  change varchar(8) not null default 'states' check (change in ('states', 'begins', 'ends', 'corrects')),
  depends_on text[] not null default '{}',
  said_by text not null check (char_length(said_by) between 1 and 200),
  said_at timestamptz not null,
  known_at timestamptz not null,
  true_from date,
  true_until date,
  raw_log_ids uuid[] not null check (raw_log_ids <> '{}' or kind in ('profile', 'note')),
  run_id uuid check (run_id is null or kind = 'note'),
  origin varchar(6) not null check (origin in ('rule', 'model', 'person', 'asked')),
  model text,
  origins jsonb not null default '[]' check (jsonb_typeof(origins) = 'array'),
  created_at timestamptz not null default clock_timestamp(),
  tsv tsvector generated always as (maas.maas_lexemes(statement || ' ' || subject)) stored
);
comment on table maas.facts is 'What is true of a user and of what the user speaks of; rows are never rewritten';
comment on column maas.facts.key is 'Equal for statements that differ only in case and final punctuation';
comment on column maas.facts.subject is 'The person or thing that it is about: user, or a name';
comment on column maas.facts.attribute is
  'What has one value at a time, such as residence, or likes:jazz: a later statement replaces an earlier one';
comment on column maas.facts.kind is
  'profile: a value of its attribute that a person has set, such as profile:position or working:focus_time; '
  'note: what a user asked to keep, shown in every later draft';
comment on column maas.facts.change is
  'states: it holds; begins: it holds now, and something else did before; ends: what held before has ended; '
  'corrects: what was said before was never true';
comment on column maas.facts.depends_on is
  'Attributes of the same subject that it rests on: when one of them changes, it is uncertain';
comment on column maas.facts.said_by is 'user, assistant, or the name of a speaker';
comment on column maas.facts.said_at is 'When it was said';
comment on column maas.facts.known_at is 'The earliest time at which MaaS could have known it';
comment on column maas.facts.true_from is 'Since when it is true; null: since it was said';
comment on column maas.facts.true_until is 'Its last day; null: until something replaces it';
comment on column maas.facts.raw_log_ids is
  'The messages that say it; retention may have deleted their words. None: it was entered on a page';
comment on column maas.facts.run_id is 'The run in which a user asked for a note; its message comes later';
comment on column maas.facts.origin is
  'Who found it: a rule, a model, a person who entered it, or an assistant that asked for it (asked)';
comment on column maas.facts.origins is 'Those of its messages, if not what the user said';
create index idx_facts_attribute on maas.facts (user_id, attribute);
create index idx_facts_user on maas.facts (user_id, said_at desc);
create index idx_facts_run_id on maas.facts (run_id) where run_id is not null;
create index idx_facts_notes on maas.facts (user_id) where kind = 'note';
create unique index idx_facts_note_key on maas.facts (user_id, key) where kind = 'note' and change = 'states';

create table maas.fact_decisions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  key text not null,
  verdict varchar(8) not null check (verdict in ('wrong', 'ended', 'unused', 'pinned', 'free')),
  created_at timestamptz not null default clock_timestamp()
);
comment on table maas.fact_decisions is
  'What a person decided about a statement, whoever says it again; the newest decision counts';
comment on column maas.fact_decisions.key is 'That of the statement: a hash, which says no word of it';
comment on column maas.fact_decisions.verdict is
  'wrong: never true; ended: no longer true; unused: never to be shown to a model; '
  'pinned: always shown to it; free: none of these';
create index idx_fact_decisions_user on maas.fact_decisions (user_id, key, created_at desc);

create table maas.fact_names (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  name text not null check (char_length(name) between 1 and 100),
  same_as text not null check (char_length(same_as) between 1 and 100),
  created_at timestamptz not null default clock_timestamp(),
  unique (user_id, name)
);
comment on table maas.fact_names is 'Two names of one subject; both in lower case';

do $$
begin
  if exists (select from pg_extension where extname = 'btree_gin') then
    create index idx_facts_search on maas.facts using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
  end if;
end $$;
