-- What comes after a word of the user about a pending action.
--
--   maas_edit_action    other arguments, while it waits
--   maas_decide_action  the word; to approve inserts a run of kind `action` in the same transaction: no run, no approval
--   maas_open_action    its run claims it: approved -> executing; after a crash it finds it executing, or settled
--   maas_begin_tool, maas_finish_tool    do it once, as every write; `follow_execution` takes the action along in the
--                       same statement, so that the two never disagree
--   maas_end_action     what was never begun, and reads: executing -> done, failed or in_doubt
--   v_actions           where each stands now, expired ones and those whose run failed included
--
-- To decide locks the action and inserts; it takes no lock on a run that is there, and the engine takes none on an action.

alter table chat_pending_actions add place int not null default 1, add asked_hash text, add action_run_id uuid;
update chat_pending_actions set asked_hash = args_hash;
alter table chat_pending_actions alter asked_hash set not null;
comment on column chat_pending_actions.place is 'Which call of its run it is, from 1: the actions of a run are a plan';
comment on column chat_pending_actions.asked_hash is 'sha256 of the arguments that the run asked for, whatever they were edited to since';
comment on column chat_pending_actions.action_run_id is 'The run of kind action that executes it and tells the user what came of it';
drop index idx_chat_pending_actions_call;
create unique index idx_chat_pending_actions_call on chat_pending_actions (run_id, call_id, asked_hash);
create unique index idx_chat_pending_actions_action_run_id on chat_pending_actions (action_run_id) where action_run_id is not null;

alter table pipeline_runs add mode varchar(10) check (mode in ('auto', 'plan', 'ask'));
comment on column pipeline_runs.mode is 'The mode of this request; null: that of its conversation, or the assistant''s own';

-- An approved action is a request, too --------------------------------------------------------------------------------

do $$
declare
  place regproc;
  text_then text;
  text_now text;
begin
  foreach place in array array['log_queries', 'maas_record_failures', 'maas_step', 'maas_retry_run', 'maas_hidden_runs']::regproc[] loop
    text_then := pg_get_functiondef(place);
    text_now := replace(text_then, 'kind = ''ask''', 'kind in (''ask'', ''action'')');
    if text_now = text_then then
      raise exception '% does not speak of requests', place;
    end if;
    execute text_now;
  end loop;
end $$;

drop trigger log_answer on pipeline_runs;
create trigger log_answer after update of final_answer on pipeline_runs for each row
  when (old.final_answer is null and new.final_answer is not null and new.kind in ('ask', 'action')) execute function log_answer();

create or replace function join_conversation() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into chat_conversations (id, user_id, assistant, source, mode)
  values (new.conversation_id, new.user_id, new.assistant,
    case new.source when 'telegram' then 'telegram' else 'web' end, maas_default_mode(new.assistant))
  on conflict (id) do nothing;
  if not exists (
    select from chat_conversations where id = new.conversation_id and user_id = new.user_id and assistant = new.assistant) then
    raise foreign_key_violation using
      message = format('conversation_id: %s is no conversation of this user with the assistant "%s"', new.conversation_id, new.assistant),
      hint = 'take a new id, or leave it out', table = 'pipeline_runs', column = 'conversation_id';
  end if;
  if new.kind in ('ask', 'action') then
    insert into chat_messages (conversation_id, user_id, run_id, role, content)
    values (new.conversation_id, new.user_id, new.id, 'user', new.user_query);
  end if;
  if new.kind = 'ask' then
    update chat_conversations set title = maas_title(new.user_query)
    where id = new.conversation_id and title is null;
  end if;
  return null;
end $$;

drop index idx_pipeline_runs_unfinished;
create index idx_pipeline_runs_unfinished on pipeline_runs (user_id) where lane < 2 and kind in ('ask', 'action');

-- Where they stand ----------------------------------------------------------------------------------------------------

create function maas_call_words(p_tool text, p_args jsonb) returns text language sql immutable as $$
  select p_tool || ' ' || left(p_args::text, 2000) || case when char_length(p_args::text) > 2000 then '…' else '' end
$$;
comment on function maas_call_words is 'A call as people read it: its tool and the first 2000 characters of its arguments';

create view v_actions as
select a.id, a.user_id, a.conversation_id, a.run_id, a.place, a.call_id, a.tool_name as tool, a.tool_version, a.tool_args as arguments,
  a.effect, a.agent, case
    when a.status = 'pending' and a.expires_at <= maas_now() then 'expired'
    when a.status in ('approved', 'executing') and exists (
      select from pipeline_runs r where r.id = a.action_run_id and r.status = 'FAILED')
      then case a.status when 'approved' then 'failed' else 'in_doubt' end
    else a.status end as status,
  a.created_at, a.expires_at, a.decided_by, a.decided_at, a.action_run_id, a.result
from chat_pending_actions a;
comment on view v_actions is 'Actions as they stand now: one that nobody decided in time is expired, one whose run failed is failed or in_doubt';

create or replace view ai_conversations as
select c.*, exists (
    select from pipeline_runs r where r.user_id = c.user_id and r.lane < 2 and r.kind in ('ask', 'action')
      and r.conversation_id = c.id and r.status not in ('COMPLETED', 'FAILED'))
  or exists (select from v_actions a where a.conversation_id = c.id and a.status = 'executing') as is_processing
from chat_conversations c;

-- Asked for, edited, decided ------------------------------------------------------------------------------------------

drop function maas_propose_action;
create function maas_propose_action(p_run uuid, p_call text, p_tool text, p_args jsonb, p_effect text, p_tool_version text default '',
  p_agent text default null, p_lives interval default '30 minutes', p_place int default 1) returns uuid language sql as $$
  insert into chat_pending_actions (user_id, run_id, conversation_id, call_id, tool_name, tool_version, tool_args, args_hash, asked_hash,
    effect, agent, place, created_at, expires_at)
  select r.user_id, r.id, c.id, p_call, p_tool, p_tool_version, p_args, maas_hash_arguments(p_args), maas_hash_arguments(p_args),
    p_effect, p_agent, p_place, maas_now(), maas_now() + p_lives
  from pipeline_runs r left join chat_conversations c on c.id = r.conversation_id where r.id = p_run for key share of r
  on conflict (run_id, call_id, asked_hash) do update set call_id = excluded.call_id
  returning id
$$;
comment on function maas_propose_action is 'A call that waits for the user; the same call of the same run again is the same action, null when the run was erased';

create function maas_edit_action(p_id uuid, p_user uuid, p_args jsonb) returns table (verdict text, status text) language plpgsql as $$
#variable_conflict use_column
begin
  update chat_pending_actions a set tool_args = p_args, args_hash = maas_hash_arguments(p_args)
  where a.id = p_id and a.user_id = p_user and a.status = 'pending' and a.expires_at > maas_now();
  if found then
    return query select 'edited', 'pending';
    return;
  end if;
  return query select case v.status when 'expired' then 'expired' else 'already_decided' end, v.status::text
  from v_actions v where v.id = p_id and v.user_id = p_user;
  if not found then
    return query select 'not_found', null;
  end if;
end $$;
comment on function maas_edit_action is 'edited, already_decided, expired or not_found (also for another user''s), and where the action is now';

drop function maas_decide_action;
create function maas_decide_action(p_id uuid, p_user uuid, p_decision text, p_by text, p_args jsonb default null,
  p_queue_limit int default null) returns table (verdict text, status text, run_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  action record;
  args jsonb;
begin
  if p_decision not in ('approve', 'reject') or p_decision is null then
    raise invalid_parameter_value using message = format('decision: approve or reject, not %s', coalesce(p_decision, 'null'));
  end if;
  select a.status, a.expires_at, a.run_id, a.conversation_id, a.tool_name, a.tool_args, a.action_run_id into action
  from chat_pending_actions a where a.id = p_id and a.user_id = p_user for update;
  if not found then
    return query select 'not_found', null, null::uuid;
  elsif action.status <> 'pending' then
    return query select case v.status when 'expired' then 'expired' else 'already_decided' end, v.status::text, v.action_run_id
    from v_actions v where v.id = p_id;
  elsif action.expires_at <= maas_now() then
    update chat_pending_actions a set status = 'expired' where a.id = p_id;
    return query select 'expired', 'expired', null::uuid;
  elsif p_decision = 'reject' then
    update chat_pending_actions a set decided_by = p_by, decided_at = maas_now(), status = 'rejected' where a.id = p_id;
    return query select 'decided', 'rejected', null::uuid;
  elsif p_queue_limit <= (
    select count(*) from pipeline_runs r where r.user_id = p_user and r.lane < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', action.status::text, null::uuid;
  else
    args := coalesce(p_args, action.tool_args);
    action.action_run_id := gen_random_uuid();
    insert into pipeline_runs (id, user_id, user_query, assistant, conversation_id, kind, source, metadata)
    select action.action_run_id, r.user_id, maas_call_words(action.tool_name, args), r.assistant, action.conversation_id, 'action',
      r.source, jsonb_build_object('action_id', p_id)
    from pipeline_runs r where r.id = action.run_id;
    if not found then  -- erased while this waited
      return query select 'not_found', null, null::uuid;
      return;
    end if;
    return query update chat_pending_actions a set decided_by = p_by, decided_at = maas_now(), status = 'approved',
      tool_args = args, args_hash = maas_hash_arguments(args), action_run_id = action.action_run_id
    where a.id = p_id returning 'decided', a.status::text, a.action_run_id;
  end if;
end $$;
comment on function maas_decide_action is 'decided, already_decided, expired, queue_full or not_found (also for another user''s), where the action is now, and the run that executes it; p_args replaces what was asked for, p_queue_limit is how many unfinished requests the user may have';

-- Executed ------------------------------------------------------------------------------------------------------------

create function maas_open_action(p_run uuid, p_attempt int)
returns table (verdict text, call_id text, tool text, version text, arguments jsonb, is_intact boolean, status text, result jsonb, asked text)
language plpgsql as $$
#variable_conflict use_column
begin
  perform from pipeline_runs r where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return query select 'lost', null, null, null, null::jsonb, null::boolean, null, null::jsonb, null;
    return;
  end if;
  perform maas_claim_action(a.id) from chat_pending_actions a where a.action_run_id = p_run;
  return query select case a.status when 'executing' then 'open' else 'settled' end, a.call_id, a.tool_name::text, a.tool_version,
    a.tool_args, a.args_hash = maas_hash_arguments(a.tool_args), a.status::text, a.result, q.user_query
  from chat_pending_actions a join pipeline_runs q on q.id = a.run_id where a.action_run_id = p_run;
  if not found then
    return query select 'missing', null, null, null, null::jsonb, null::boolean, null, null::jsonb, null;
  end if;
end $$;
comment on function maas_open_action is 'The action of a run of this kind: open (it is executing now), settled before, missing; lost: the run is not the caller''s';

create function follow_execution() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update chat_pending_actions set status = new.status, result = new.result
  where action_run_id = new.run_id and status = 'executing';
  return null;
end $$;
comment on function follow_execution is 'A write that was approved is settled together with its line in the ledger';
create trigger follow_execution after update of status on tool_executions for each row
  when (new.effect <> 'read' and new.status <> 'started' and old.status <> new.status) execute function follow_execution();

create function maas_end_action(p_run uuid, p_attempt int, p_status text, p_result jsonb) returns text language plpgsql as $$
declare
  action uuid;
begin
  perform from pipeline_runs r where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  -- Begun in an earlier claim, by a tool that is no more: whether it took effect, nobody can say.
  update tool_executions set status = 'in_doubt' where run_id = p_run and effect <> 'read' and status = 'started';
  select id into action from chat_pending_actions where action_run_id = p_run;
  perform maas_finish_action(action, p_status, p_result);
  update chat_pending_actions set result = p_result where id = action and result is null;
  return (select status from chat_pending_actions where id = action);
end $$;
comment on function maas_end_action is 'Settles what no line of the ledger has settled; where the action stands then, null when the run is not the caller''s';
