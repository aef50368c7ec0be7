-- Assistants, tools and the ledger of tool calls.

-- name: keep_assistant  -- $1 name, $2 role, $3 definition, $4 why it cannot be used, or null, $5 its plugin, or null
-- One that an operator has switched off stays off, without a reason of ours.
insert into maas.assistants (name, role_name, definition, is_active, inactive_reason, plugin)
values ($1, $2, $3::jsonb, $4::text is null, $4, $5)
on conflict (name) do update set definition = excluded.definition, plugin = excluded.plugin, updated_at = now(),
  is_active = excluded.is_active and (assistants.is_active or assistants.inactive_reason is not null),
  inactive_reason = case when assistants.is_active or assistants.inactive_reason is not null
    then excluded.inactive_reason end
where assistants.definition <> excluded.definition or assistants.plugin is distinct from excluded.plugin
  or (assistants.is_active or assistants.inactive_reason is not null)
    and (assistants.is_active, assistants.inactive_reason) is distinct from (
      excluded.is_active, excluded.inactive_reason);

-- name: switch_off_assistant  -- $1 name, $2 reason
update maas.assistants set is_active = false, inactive_reason = $2, updated_at = now()
where name = $1 and (is_active or inactive_reason <> $2);

-- name: assistants_without_plugin  -- $1 the plugins that are installed
select name, plugin from maas.assistants where is_active and plugin <> all($1) order by name;

-- name: inactive_assistants  -- $1 name or null: those that cannot be used, and why
select name, inactive_reason from maas.assistants
where not is_active and inactive_reason is not null and ($1::text is null or name = $1) order by name;

-- name: assistant_definitions
select name, role_name, definition from maas.assistants where is_active order by name;

-- name: assistant_definition
select name, role_name, definition from maas.assistants where name = $1 and is_active;

-- name: run_source
select source from maas.pipeline_runs where id = $1;

-- name: keep_tools  -- $1 tools
insert into maas.tools (name, domain, description, parameters, argument_names, effect, version, is_idempotent,
  is_looked_up)
select t.name, t.domain, t.description, t.parameters, t.argument_names, t.effect, t.version, t.is_idempotent,
  t.is_looked_up
from jsonb_to_recordset($1::jsonb) as t(
  name text, domain text, description text, parameters jsonb, argument_names text[], effect text, version text,
  is_idempotent boolean, is_looked_up boolean)
order by t.name
on conflict (name) do update set domain = excluded.domain, description = excluded.description,
  parameters = excluded.parameters, argument_names = excluded.argument_names, effect = excluded.effect,
  version = excluded.version, is_idempotent = excluded.is_idempotent,
  is_looked_up = excluded.is_looked_up, updated_at = now()
where (tools.domain, tools.description, tools.version, tools.is_idempotent, tools.argument_names, tools.is_looked_up)
  is distinct from (excluded.domain, excluded.description, excluded.version, excluded.is_idempotent,
    excluded.argument_names, excluded.is_looked_up);

-- name: list_tools  -- $1 domain or null
select name, domain, effect, description, parameters, version, is_idempotent from maas.tools
where $1::text is null or domain = $1 order by domain, name;

-- name: assistant_tools  -- $1 assistant
select name, domain, effect, description, parameters, is_idempotent from maas.maas_assistant_tools($1);

-- name: insert_call  -- $1 user, $2 assistant, $3 tool, $4 arguments, $5 mode, $6 account, $7 source, $8 caller,
-- $9 idempotency key or null, $10 queue limit
select verdict, run_id from maas.maas_insert_call($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9, $10);

-- name: own_call  -- $1 run: the call that its client makes itself, or null
select metadata->'call' as call from maas.pipeline_runs where id = $1 and kind = 'action';

-- name: edited_call  -- $1 run: the action whose edited arguments it looks up, and these, or null
select metadata->'edit' as edit from maas.pipeline_runs where id = $1 and kind = 'action';

-- name: count_tool_call  -- $1 run, $2 attempt
select maas.maas_count_call($1, $2);

-- name: begin_tool  -- $1 run, $2 attempt, $3 call, $4 tool, $5 hash, $6 effect, $7 whether it is idempotent,
-- $8 arguments
select verdict, result from maas.maas_begin_tool($1, $2, $3, $4, $5, $6, $7, $8::jsonb);

-- name: finish_tool  -- $1 run, $2 attempt, $3 tool, $4 hash, $5 status, $6 result, $7 milliseconds,
-- $8 result for people
select maas.maas_finish_tool($1, $2, $3, $4, $5, $6::jsonb, $7, $8::jsonb);

-- name: note_read  -- $1 run, $2 attempt, $3 call, $4 tool, $5 hash, $6 status, $7 milliseconds, $8 arguments,
-- $9 result, $10 documents or null
select maas.maas_record_read($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9::jsonb, $10::uuid[]);

-- name: failures_in_a_row  -- $1 run, $2 tool
select maas.maas_failures_in_a_row($1, $2);

-- name: open_domains  -- named by the metadata of a run; null: all
select case when jsonb_typeof(metadata->'domains') = 'array' then array(
  select jsonb_array_elements_text(metadata->'domains')) end
from maas.pipeline_runs where id = $1;

-- name: run_account  -- $1 run: the account that its action was proposed for, that its metadata name,
-- or that of its conversation
select case when a.id is not null then a.account_id
  else coalesce(left(r.metadata->>'account', 200), c.ad_account_id) end
from maas.pipeline_runs r
  left join maas.v_actions a on r.kind = 'action' and a.action_run_id = r.id
  left join maas.chat_conversations c on c.id = r.conversation_id and c.user_id = r.user_id
where r.id = $1;

-- name: active_agent  -- the agent that gave the last answer of a conversation
select maas.maas_active_agent($1);

-- name: name_agent  -- $1 run, $2 attempt, $3 agent, $4 domain
select maas.maas_set_agent($1, $2, $3, $4);
