-- What operators need: backups that can be restored, and counts that stay cheap.

-- pg_restore fills the tables with an empty search_path: what a generated column calls must name its schema.
do $$
begin
  execute replace(pg_get_functiondef('maas_index(text)'::regprocedure), ':= maas_lexemes(', ':= public.maas_lexemes(');
end $$;

create index idx_chat_pending_actions_pending on chat_pending_actions (expires_at) where status = 'pending';
