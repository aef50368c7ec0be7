-- Conversations, their messages and rolling summary, the agents that speak in them, and notes.

create or replace function maas.maas_default_mode(p_assistant text) returns text language sql stable as $$
  select coalesce((
    select a.definition->>'default_mode' from maas.assistants a
    where a.name = p_assistant and a.definition->>'default_mode' in ('auto', 'plan', 'ask')), 'auto')
$$;
comment on function maas.maas_default_mode is 'The mode in which a new conversation with this assistant begins';

create or replace function maas.maas_title(p_text text) returns text language sql immutable as $$
  select nullif(left(btrim(regexp_replace(left(p_text, 1000), '\s+', ' ', 'g')), 80), '') where p_text !~ '^\s*/\w'
$$;
comment on function maas.maas_title is
  'The title of a conversation after its first message; null for a command or a blank beginning';

create or replace function maas.maas_create_conversation(p_user uuid, p_assistant text, p_mode text default null,
  p_queue_limit int default null, p_remembered boolean default true)
returns table (verdict text, id uuid, run_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  opening text;
begin
  select a.definition->>'opening' into opening from maas.assistants a where a.name = p_assistant and a.is_active;
  if not found then
    return query select 'unknown_assistant', null::uuid, null::uuid;
    return;
  end if;
  if opening is not null and p_queue_limit <= (
    select count(*) from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', null::uuid, null::uuid;
    return;
  end if;
  verdict := 'created';
  insert into maas.chat_conversations as c (user_id, assistant, mode, is_remembered)
  values (p_user, p_assistant, coalesce(p_mode, maas.maas_default_mode(p_assistant)), p_remembered)
  returning c.id into id;
  if opening is not null then
    insert into maas.pipeline_runs as r (user_id, user_query, assistant, conversation_id)
    values (p_user, opening, p_assistant, id)
    returning r.id into run_id;
  end if;
  return next;
end
$$;
comment on function maas.maas_create_conversation is
  'Returns created, unknown_assistant or queue_full; run_id is the opening request where the assistant speaks first';

create or replace function maas.maas_chat_conversation(
  p_chat text, p_user uuid, p_assistant text, p_ad_account text default null)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  known uuid;
begin
  select c.id into known from maas.chat_conversations c
  where c.telegram_chat_id = p_chat and c.assistant = p_assistant and c.is_open and c.user_id = p_user
    and (p_ad_account is null or c.ad_account_id = p_ad_account);
  if found or not exists (select from maas.assistants a where a.name = p_assistant and a.is_active) then
    return known;
  end if;
  -- The chat belonged to another user before.
  update maas.chat_conversations set is_open = false
  where telegram_chat_id = p_chat and assistant = p_assistant and is_open and user_id <> p_user;
  insert into maas.chat_conversations as c (user_id, assistant, source, telegram_chat_id, ad_account_id, mode)
  values (p_user, p_assistant, 'telegram', p_chat, p_ad_account, maas.maas_default_mode(p_assistant))
  on conflict (telegram_chat_id, assistant) where telegram_chat_id is not null and is_open
    do update set ad_account_id = coalesce(excluded.ad_account_id, c.ad_account_id) where c.user_id = p_user
  returning c.id into known;
  return known;
end
$$;
comment on function maas.maas_chat_conversation is
  'The open conversation of a chat with an assistant, the same for concurrent callers; '
  'opens one if there is none, and gives it the account. Null: no active assistant';

create or replace function maas.maas_clear_conversation(p_id uuid)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  cleared bigint;
begin
  update maas.chat_conversations set rolling_summary = '', start_results = null where id = p_id;
  if not found then
    return null;
  end if;
  with gone as (delete from maas.chat_messages where conversation_id = p_id returning role)
  select count(*) into cleared from gone where role in ('user', 'assistant');
  return cleared;
end
$$;
comment on function maas.maas_clear_conversation is
  'Deletes the messages and the summary of a conversation; '
  'returns how many users and assistants wrote, null if there is no such conversation. raw_logs is kept';

create or replace function maas.maas_text_tail(p_text text, p_chars int) returns text language sql immutable as $$
  select case when char_length(p_text) <= p_chars then p_text
    else '…' || regexp_replace(right(p_text, p_chars - 1), '^\S*', '') end
$$;
comment on function maas.maas_text_tail is 'At most p_chars characters from the end, beginning at a word';

create or replace function maas.maas_fold_conversation(p_id uuid, p_keep int, p_cut uuid[] default '{}')
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target_user uuid;
  folded uuid[];   -- runs that have no message among the last p_keep, and those shown truncated
  summaries text;
begin
  -- Do not wait for a client that holds the conversation: the next exchange folds what is left.
  select user_id into target_user from maas.chat_conversations where id = p_id for no key update skip locked;
  if not found then
    return false;
  end if;
  folded := array(
    select m.run_id from (
      select c.run_id, r.queue_state, row_number() over (order by r.seq desc, c.created_at desc) as place
      from maas.chat_messages c
      join maas.pipeline_runs r on r.id = c.run_id and r.user_id is not distinct from target_user and r.queue_state > 0
      where c.conversation_id = p_id and c.user_id is not distinct from target_user and c.role in ('user', 'assistant')
        and not c.is_folded) m
    group by m.run_id, m.queue_state
    -- while in_flight its summary is not written yet
    having m.queue_state = 2 and (min(m.place) > p_keep or m.run_id = any(p_cut)));
  select string_agg(l.summary, ' ' order by l.occurred_at, l.created_at) into summaries
  from maas.lsm_storage l where l.user_id is not distinct from target_user
    and l.id in (
      select g.record_id from maas.raw_logs g
      where g.run_id = any(folded) and g.user_id is not distinct from target_user);
  update maas.chat_messages set is_folded = true where conversation_id = p_id and run_id = any(folded);
  update maas.chat_conversations
  set rolling_summary = maas.maas_text_tail(concat_ws(' ', nullif(rolling_summary, ''), summaries), 2000)
  where id = p_id and summaries is not null;
  return found;
end
$$;
comment on function maas.maas_fold_conversation is
  'Adds to the rolling summary the summaries of exchanges before the last p_keep messages, '
  'and of the runs p_cut whose messages a draft shows truncated, each once; returns whether there were any';

create or replace function maas.maas_keep_start(p_run uuid, p_attempt int, p_results jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return false;
  end if;
  update maas.chat_conversations c set start_results = p_results from maas.pipeline_runs r
  where r.id = p_run and c.id = r.conversation_id and c.user_id = r.user_id and c.start_results is null;
  return true;
end
$$;
comment on function maas.maas_keep_start is
  'Stores what the opening tools gave to a run for its conversation, unless that is stored; '
  'false if the caller no longer owns the run';

create or replace function maas.maas_active_agent(p_conversation uuid) returns text language sql stable as $$
  select coalesce(
    (select m.agent from maas.chat_messages m
     where m.conversation_id = c.id and m.user_id is not distinct from c.user_id and m.role = 'assistant'
       and m.agent is not null
     order by m.created_at desc, m.id desc limit 1), c.last_agent)
  from maas.chat_conversations c where c.id = p_conversation
$$;
comment on function maas.maas_active_agent is 'The agent that gave the last answer of a conversation; null if none has';

create or replace function maas.maas_add_tool_messages(p_owner int, p_ids uuid[], p_attempts int[], p_messages jsonb)
returns void language sql as $$
  -- The rows of the runs are locked, so that whoever takes one over finds these messages or writes its own.
  insert into maas.chat_messages (
    conversation_id, user_id, run_id, role, content, agent, tool_calls, tool_call_id, tool_name, tool_result,
    tokens_used, created_at)
  select r.conversation_id, r.user_id, r.id, 'tool', m.content, m.agent, m.tool_calls, m.tool_call_id, m.tool_name,
    m.tool_result, m.tokens_used, clock_timestamp() + m.place * interval '1 microsecond'
  from rows from (
    jsonb_to_recordset(p_messages) as (
      run_id uuid, content text, agent text, tool_calls jsonb, tool_call_id text,
      tool_name text, tool_result jsonb, tokens_used int)) with ordinality
    as m(run_id, content, agent, tool_calls, tool_call_id, tool_name, tool_result, tokens_used, place)
  join unnest(p_ids, p_attempts) as t(id, attempt) on t.id = m.run_id
  join lateral (
    select r.id, r.user_id, r.conversation_id from maas.pipeline_runs r
    where r.id = t.id and r.owner = p_owner and r.attempt = t.attempt and r.status = 'RESPONDING'
    for no key update of r) r on true
  where exists (select from maas.chat_conversations c where c.id = r.conversation_id and c.user_id = r.user_id)
$$;
comment on function maas.maas_add_tool_messages is
  'Adds tool calls and their results to the messages of conversations, '
  'before the answers that the caller stores in the same transaction';

create or replace function maas.maas_set_agent(p_run uuid, p_attempt int, p_agent text, p_domain text)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.pipeline_runs set agent = p_agent, domain = p_domain
  where id = p_run and attempt = p_attempt and owner is not null;
  return found;
end
$$;
comment on function maas.maas_set_agent is 'Stores which agent answers; false if the caller no longer owns the run';

create or replace function maas.fill_attachment_ids()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.attachment_ids := case new.role
    when 'user' then coalesce((
      select r.attachment_ids from maas.pipeline_runs r
      where r.id = new.run_id and r.user_id is not distinct from new.user_id), '{}')
    else array(
      select a.id from maas.attachments a where a.run_id = new.run_id and a.user_id is not distinct from new.user_id
      order by a.created_at, a.id)
  end;
  return new;
end
$$;
comment on function maas.fill_attachment_ids is
  'Copies to a message the ids of the images that came with its query or were generated for its answer';

create or replace trigger fill_attachment_ids before insert on maas.chat_messages
  for each row when (new.run_id is not null and new.attachment_ids = '{}' and new.role in ('user', 'assistant'))
  execute function maas.fill_attachment_ids();

create or replace function maas.delete_copies()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_swept boolean := current_setting('maas.retention', true) = 'on';
  -- conversations whose rolling summary may contain deleted text: it is made again from the remaining summaries
  outdated uuid[];
begin
  delete from maas.facts n using gone g
  where not coalesce(is_swept, false) and n.run_id = g.run_id and n.user_id = g.user_id
    and g.message_type = 'user_query';
  with dropped as (
    delete from maas.chat_messages m using gone g
    where m.run_id = g.run_id and m.user_id is not distinct from g.user_id
      and m.role in (case g.message_type when 'user_query' then 'user' else 'assistant' end, 'tool')
    returning m.conversation_id, m.user_id, m.is_folded
  )
  select array_agg(distinct c.id) into outdated
  from dropped d join maas.chat_conversations c on c.id = d.conversation_id and c.user_id = d.user_id where d.is_folded;
  if outdated is not null and not coalesce(is_swept, false) then
    update maas.chat_conversations set rolling_summary = '' where id = any(outdated);
    update maas.chat_messages set is_folded = false where conversation_id = any(outdated) and is_folded;
  end if;
  return null;
end
$$;
comment on function maas.delete_copies is 'Deletes the messages and notes that hold the text of deleted logs';

create or replace trigger delete_copies after delete on maas.raw_logs
  referencing old table as gone for each statement execute function maas.delete_copies();
