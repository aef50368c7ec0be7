-- GIN (user_id, tsv) needs btree_gin. Without the extension search reads a user's rows by idx_raw_logs_user_id: the same
-- result, slower for users with many thousands of turns.
do $$
begin
  create extension if not exists btree_gin;
exception when insufficient_privilege or undefined_file or feature_not_supported then
  raise notice 'btree_gin cannot be installed here: search works without it, slower for large users';
end $$;
do $$
begin
  if exists (select from pg_extension where extname = 'btree_gin') then
    create index idx_raw_logs_search on raw_logs using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
    create index idx_lsm_search on lsm_storage using gin (user_id, tsv) with (gin_pending_list_limit = 1024) where not is_provisional;
  end if;
end $$;
