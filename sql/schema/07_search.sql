-- Indexes and counts of search. GIN (user_id, tsv) needs btree_gin; without it search reads a user's rows by
-- idx_raw_logs_user_id: the same result, slower for users with many thousands of messages.

do $$
begin
  create extension if not exists btree_gin;
exception when insufficient_privilege or undefined_file or feature_not_supported or invalid_schema_name then
  raise notice 'btree_gin cannot be installed here: search works without it, slower for large users';
end $$;
do $$
begin
  if exists (select from pg_extension where extname = 'btree_gin') then
    create index idx_raw_logs_search on maas.raw_logs using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
    create index idx_lsm_search on maas.lsm_storage using gin (user_id, tsv) with (gin_pending_list_limit = 1024)
      where words_gone;
  end if;
end $$;

create table maas.counted_users (
  user_id uuid primary key,
  turns int not null,
  speakers text[]
);
comment on table maas.counted_users is
  'Users with too many messages for a search to read all of them, '
  'and their number of messages when term_df was last counted';
comment on column maas.counted_users.speakers is 'The most frequent speakers when the terms were counted';

create table maas.term_df (
  user_id uuid not null references maas.counted_users on delete cascade,
  term text collate "C" not null,
  turns int not null,
  primary key (user_id, term)
);
comment on table maas.term_df is
  'In how many messages of a counted user a lexeme occurs. '
  'It orders and weighs terms only; a lexeme that is missing counts as rare';

create table maas.embedding_fills (
  model text primary key,
  owner uuid not null,
  leased_until timestamptz not null default '-infinity',
  swept_to uuid default '00000000-0000-0000-0000-000000000000',
  since timestamptz not null,
  turns bigint not null default 0,
  refused bigint not null default 0,
  tokens bigint not null default 0
);
comment on table maas.embedding_fills is
  'Progress of embedding all messages with a model: the process that works on it, how far it is, what it has cost';
comment on column maas.embedding_fills.swept_to is
  'All messages up to this id have been checked; null when the pass is complete';
comment on column maas.embedding_fills.since is 'Messages logged since then are still to be checked';
comment on column maas.embedding_fills.refused is
  'Messages that the provider rejected; they have a row without a vector';
comment on column maas.embedding_fills.tokens is 'As counted by the provider, without queries';
