-- Assistants that speak first: who opens a conversation with one sends, in the same transaction, the words of its `opening`,
-- a request like any other that names the conversation. A word that begins with / is a command and no title.

create or replace function maas_title(p_text text) returns text language sql immutable as $$
  select nullif(left(btrim(regexp_replace(left(p_text, 1000), '\s+', ' ', 'g')), 80), '') where p_text !~ '^\s*/\w'
$$;
comment on function maas_title is 'What a conversation is called after a message; null for a command, and where that begins with a desert of blanks';

create function maas_create_conversation(p_user uuid, p_assistant text, p_mode text default null, p_queue_limit int default null)
returns table (verdict text, id uuid, run_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  opening text;
begin
  select a.definition->>'opening' into opening from assistants a where a.name = p_assistant and a.is_active;
  if not found then
    return query select 'unknown_assistant', null::uuid, null::uuid;
    return;
  end if;
  if opening is not null and p_queue_limit <= (
    select count(*) from pipeline_runs r where r.user_id = p_user and r.lane < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', null::uuid, null::uuid;
    return;
  end if;
  verdict := 'created';
  insert into chat_conversations as c (user_id, assistant, mode)
  values (p_user, p_assistant, coalesce(p_mode, maas_default_mode(p_assistant))) returning c.id into id;
  if opening is not null then
    insert into pipeline_runs as r (user_id, user_query, assistant, conversation_id) values (p_user, opening, p_assistant, id)
    returning r.id into run_id;
  end if;
  return next;
end $$;
comment on function maas_create_conversation is 'created, unknown_assistant or queue_full; run_id is the request that opens it, where the assistant speaks first';
