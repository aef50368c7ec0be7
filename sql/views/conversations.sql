-- Conversations and actions under the names that other programs use.

create view maas.v_actions as
select a.id, a.user_id, a.conversation_id, a.run_id, a.place, a.call_id, a.tool_name as tool, a.tool_version,
  a.tool_args as arguments, a.effect, a.assistant, a.agent, case
    when a.status = 'pending' and a.expires_at <= maas.maas_now() then 'expired'
    when a.status in ('approved', 'executing') and exists (
      select from maas.pipeline_runs r where r.id = a.action_run_id and r.status = 'FAILED')
      then case a.status when 'approved' then 'failed' else 'in_doubt' end
    else a.status end as status,
  a.created_at, a.expires_at, a.decided_by, a.decided_at, a.action_run_id, a.result, a.account_id,
  maas.maas_fingerprint_action(a.tool_name, a.tool_version, a.args_hash) as fingerprint, a.wording, a.shown_in,
  (select t.parameters from maas.tools t where t.name = a.tool_name and t.version = a.tool_version) as parameters,
  (select t.argument_names from maas.tools t where t.name = a.tool_name and t.version = a.tool_version)
    as argument_names
from maas.chat_pending_actions a;
comment on view maas.v_actions is
  'Actions with their status as of now: undecided in time means expired; failed or in_doubt if their run failed. '
  'parameters and argument_names are of the tool, null if it has changed since';

create view maas.ai_conversations as
select c.*, exists (
    select from maas.pipeline_runs r where r.user_id = c.user_id and r.queue_state < 2 and r.kind in ('ask', 'action')
      and r.conversation_id = c.id and r.status not in ('COMPLETED', 'FAILED'))
  or exists (select from maas.v_actions a where a.conversation_id = c.id and a.status = 'executing') as is_processing
from maas.chat_conversations c;
comment on view maas.ai_conversations is 'Conversations, and whether an answer or an action of each is in progress';

create view maas.v_conversation_status as
select c.id, c.user_id, c.assistant, c.telegram_chat_id, c.is_open, c.mode, c.is_processing,
  (select count(*) from maas.chat_messages m
   where m.conversation_id = c.id and m.role in ('user', 'assistant'))::int as message_count,
  c.last_agent, c.last_domain
from maas.ai_conversations c;
comment on view maas.v_conversation_status is
  'Conversations for people: mode, whether an answer is in progress, number of messages, who answered last';

create view maas.ai_messages as
select id, conversation_id, user_id, run_id, role, content, actions as actions_json, agent, tokens_used, created_at
from maas.chat_messages;
comment on view maas.ai_messages is 'chat_messages under the names that other programs use';

create view maas.v_sessions as
select s.id, s.user_id, s.assistant, s.agent, s.conversation_id, s.is_active,
  case when s.confirmed then 'complete' when s.state = 'assistant_wait_photo' then 'waits for a photo'
    else coalesce(nullif(s.optional->>'state', 'open'), 'collecting') end as state,
  array(select jsonb_object_keys(s.slots) order by 1) as collected, s.created_at, s.updated_at
from maas.assistant_sessions s;
comment on view maas.v_sessions is
  'Dialogues that collect values: which are active, how far each is, and the names of what it has collected; '
  'the values are their users'' own';
