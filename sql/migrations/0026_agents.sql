-- Agents: which of an assistant's voices holds a dialogue.
--
--   maas_name_agent     before an answer is stored: who gives it. Nobody else sees it yet; a later claim names anew
--   name_agent          with the answer, in its transaction: its message and its conversation go by that name
--   maas_active_agent   who gave the last answer of a conversation
--
-- The engine waits for no client: where somebody holds the conversation's row, its column is left as it is until the
-- next answer. So the message is what counts; the column speaks where messages were cleared.

alter table pipeline_runs add agent text, add domain text;
comment on column pipeline_runs.agent is 'Which agent of the assistant answers; null where it has none';
comment on column pipeline_runs.domain is 'Whose tools or words the answer is made of; mixed: of several';

create function maas_name_agent(p_run uuid, p_attempt int, p_agent text, p_domain text) returns boolean language plpgsql as $$
begin
  update pipeline_runs set agent = p_agent, domain = p_domain where id = p_run and attempt = p_attempt and owner is not null;
  return found;
end $$;
comment on function maas_name_agent is 'Who answers; false when the run is not the caller''s any more';

create function name_agent() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update chat_messages set agent = new.agent where run_id = new.id and role = 'assistant' and new.agent is not null;
  perform from chat_conversations where id = new.conversation_id for no key update skip locked;
  if found then
    update chat_conversations set last_agent = coalesce(new.agent, last_agent), last_domain = coalesce(new.domain, last_domain)
    where id = new.conversation_id;
  end if;
  return null;
end $$;
-- Triggers go by their names: `keep_answer` has stored the message.
create trigger name_agent after update of final_answer on pipeline_runs for each row
  when (new.conversation_id is not null and old.final_answer is null and new.final_answer is not null
    and (new.agent is not null or new.domain is not null)) execute function name_agent();

create function maas_active_agent(p_conversation uuid) returns text language sql stable as $$
  select coalesce(
    (select m.agent from chat_messages m where m.conversation_id = p_conversation and m.role = 'assistant' and m.agent is not null
     order by m.created_at desc, m.id desc limit 1),
    (select last_agent from chat_conversations where id = p_conversation))
$$;
comment on function maas_active_agent is 'Who gave the last answer; null where no agent has spoken';
