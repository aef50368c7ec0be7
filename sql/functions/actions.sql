-- Tool calls that wait for the user.
--
--   maas_propose_action   a run proposes a call
--   maas_show_actions     the answer of a run shows what waits: a typed yes or no is bound to exactly that
--   maas_edit_action      other arguments, while it is pending: at once, or by a run that looks them up
--   maas_finish_edit      that run stores them as its tool has completed them, with what they would change
--   maas_decide_by_words  a typed yes or no decides the only one that the last answer showed
--   maas_decide_action    approving inserts a run of kind action in the same transaction: no run, no approval
--   maas_expire_actions   those that nobody decided in time
--   withdraw_actions      (run_triggers.sql) those of a run whose question is asked again: rejected, by `replaced`
--   maas_open_action      that run claims it: approved -> executing
--   maas_begin_tool, maas_finish_tool    execute it once, like every write; the trigger settle_action follows
--   maas_insert_call      a client calls a tool itself: a run of kind action without a proposal
--   maas_end_action       sets the final status of a call that was never started, or that only reads
--
-- Deciding locks the action and inserts a run. It locks no existing run, and the engine locks no action.

create or replace function maas.maas_hash_arguments(p_args jsonb) returns text language sql immutable as $$
  select encode(sha256(convert_to(p_args::text, 'UTF8')), 'hex')
$$;
comment on function maas.maas_hash_arguments is 'SHA-256 of a JSON value, independent of its formatting';

create or replace function maas.maas_fingerprint_action(p_tool text, p_version text, p_args_hash text)
returns text language sql immutable as $$
  select left(encode(sha256(convert_to(concat_ws(e'\n', p_tool, p_version, p_args_hash), 'UTF8')), 'hex'), 32)
$$;
comment on function maas.maas_fingerprint_action is
  'What a person decides on, as 32 hexadecimal digits: the tool, its version and the arguments; an edit changes it';

create or replace function maas.maas_format_call(p_tool text, p_args jsonb) returns text language sql immutable as $$
  select p_tool || ' ' || left(p_args::text, 2000) || case when char_length(p_args::text) > 2000 then '…' else '' end
$$;
comment on function maas.maas_format_call is
  'A call as text for people: its tool and the first 2000 characters of its arguments';

create or replace function maas.maas_propose_action(p_run uuid, p_call text, p_tool text, p_args jsonb, p_effect text,
  p_tool_version text default '', p_agent text default null, p_lives interval default '00:30:00', p_place int default 1,
  p_wording jsonb default '{}')
returns uuid language sql security definer set search_path = pg_catalog, pg_temp as $$
  with waiting as (  -- the same call proposed again waits once, and anew; one of the same run is known by its call
    update maas.chat_pending_actions w set expires_at = maas.maas_now() + p_lives,
      proposed_in = p_run, wording = p_wording
    where w.status = 'pending' and w.id = (
      select a.id from maas.chat_pending_actions a join maas.pipeline_runs r on r.id = p_run
        and r.user_id = a.user_id and r.conversation_id = a.conversation_id and r.id <> a.run_id
      join maas.chat_conversations c on c.id = r.conversation_id
      where a.account_id is not distinct from coalesce(left(r.metadata->>'account', 200), c.ad_account_id)
        and a.status = 'pending'
        and a.expires_at > maas.maas_now() and a.tool_name = p_tool and a.tool_version = p_tool_version
        and a.args_hash = maas.maas_hash_arguments(p_args)
      order by a.created_at limit 1)
    returning w.id
  ), proposed as (
  insert into maas.chat_pending_actions (
    user_id, run_id, conversation_id, call_id, tool_name, tool_version, tool_args, args_hash, asked_hash,
    effect, assistant, agent, place, created_at, expires_at, account_id, proposed_in, wording)
  select r.user_id, r.id, c.id, p_call, p_tool, p_tool_version, p_args, maas.maas_hash_arguments(p_args),
    maas.maas_hash_arguments(p_args), p_effect, r.assistant, p_agent, p_place, maas.maas_now(),
    maas.maas_now() + p_lives, coalesce(left(r.metadata->>'account', 200), c.ad_account_id), r.id, p_wording
  from maas.pipeline_runs r left join maas.chat_conversations c on c.id = r.conversation_id and c.user_id = r.user_id
  where r.id = p_run and not exists (select from waiting) for key share of r
  on conflict (run_id, call_id, asked_hash) do update set call_id = excluded.call_id
  returning id
  )
  select id from waiting union all select id from proposed
$$;
comment on function maas.maas_propose_action is
  'Stores a call that waits for the user; repeating it in its run, or in its conversation while it waits, '
  'returns the same action, null if the run was erased';

create or replace function maas.maas_name_decision(p_status text, p_by text) returns text
language sql immutable as $$
  select case when p_status = 'expired' then 'expired' when p_by = 'replaced' then 'withdrawn'
    else 'already_decided' end
$$;
comment on function maas.maas_name_decision is
  'Why an action can no longer be decided: expired, withdrawn (its question was asked again) or already_decided';

create or replace function maas.maas_is_looked_up(p_tool text, p_version text) returns boolean language sql stable as $$
  select exists (select from maas.tools t where t.name = p_tool and t.version = p_version and t.is_looked_up)
$$;
comment on function maas.maas_is_looked_up is
  'Whether this version of a tool looks up the arguments of a call before its user decides on it';

create or replace function maas.maas_edit_action(p_id uuid, p_user uuid, p_args jsonb, p_queue_limit int default null)
returns table (verdict text, status text, run_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  action record;
begin
  select a.run_id, a.tool_name, a.tool_version, a.account_id into action from maas.chat_pending_actions a
  where a.id = p_id and a.user_id = p_user and a.status = 'pending' and a.expires_at > maas.maas_now() for update;
  if not found then
    return query select maas.maas_name_decision(v.status, v.decided_by), v.status::text, null::uuid
    from maas.v_actions v where v.id = p_id and v.user_id = p_user;
    if not found then
      return query select 'not_found', null, null::uuid;
    end if;
  elsif not maas.maas_is_looked_up(action.tool_name, action.tool_version) then
    update maas.chat_pending_actions a set tool_args = p_args, args_hash = maas.maas_hash_arguments(p_args),
      wording = a.wording - 'object' - 'changes'
    where a.id = p_id;
    return query select 'edited', 'pending', null::uuid;
  elsif p_queue_limit <= (
    select count(*) from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', 'pending', null::uuid;
  else
    return query insert into maas.pipeline_runs as i (
      user_id, user_query, assistant, kind, source, metadata, is_remembered)
    select r.user_id, maas.maas_format_call(action.tool_name, p_args), r.assistant, 'action', r.source,
      jsonb_strip_nulls(jsonb_build_object('account', action.account_id))
        || jsonb_build_object('edit', jsonb_build_object('action', p_id, 'arguments', p_args)), false
    from maas.pipeline_runs r where r.id = action.run_id and r.user_id = p_user
    returning 'looking', 'pending', i.id;
    if not found then  -- the user was erased while this waited
      return query select 'not_found', null, null::uuid;
    end if;
  end if;
end
$$;
comment on function maas.maas_edit_action is
  'Returns edited, looking (the tool looks the arguments up: run_id stores them, its answer says what came of it), '
  'already_decided, withdrawn, expired, queue_full or not_found (also for an action of another user), and the '
  'action''s status';

create or replace function maas.maas_finish_edit(p_run uuid, p_attempt int, p_args jsonb, p_wording jsonb)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  asked record;
begin
  select r.user_id, (r.metadata->'edit'->>'action')::uuid as action into asked from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return 'lost';
  end if;
  update maas.chat_pending_actions a set tool_args = p_args, args_hash = maas.maas_hash_arguments(p_args),
    wording = p_wording
  where a.id = asked.action and a.user_id = asked.user_id and a.status = 'pending' and a.expires_at > maas.maas_now();
  if found then
    return 'edited';
  end if;
  return coalesce((select maas.maas_name_decision(v.status, v.decided_by) from maas.v_actions v
    where v.id = asked.action and v.user_id = asked.user_id), 'not_found');
end
$$;
comment on function maas.maas_finish_edit is
  'Stores the arguments that a run has looked up in the action that they were edited for; returns edited, '
  'already_decided, withdrawn, expired, not_found, or lost: the caller no longer owns the run';

create or replace function maas.maas_decide_action(
  p_id uuid, p_user uuid, p_decision text, p_by text, p_args jsonb default null,
  p_queue_limit int default null, p_fingerprint text default null)
returns table (verdict text, status text, run_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  action record;
  args jsonb;
begin
  if p_decision not in ('approve', 'reject') or p_decision is null then
    raise invalid_parameter_value
      using message = format('decision: approve or reject, not %s', coalesce(p_decision, 'null'));
  end if;
  select a.status, a.expires_at, a.run_id, a.conversation_id, a.tool_name, a.tool_version, a.tool_args, a.action_run_id,
    maas.maas_fingerprint_action(a.tool_name, a.tool_version, a.args_hash) as fingerprint into action
  from maas.chat_pending_actions a where a.id = p_id and a.user_id = p_user for update;
  if not found then
    return query select 'not_found', null, null::uuid;
  elsif action.status <> 'pending' then
    return query select maas.maas_name_decision(v.status, v.decided_by), v.status::text, v.action_run_id
    from maas.v_actions v where v.id = p_id;
  elsif action.expires_at <= maas.maas_now() then
    update maas.chat_pending_actions a set status = 'expired' where a.id = p_id;
    return query select 'expired', 'expired', null::uuid;
  elsif p_fingerprint <> action.fingerprint then
    return query select 'changed', action.status::text, null::uuid;
  elsif p_decision = 'approve' and p_args <> action.tool_args
    and maas.maas_is_looked_up(action.tool_name, action.tool_version) then
    raise invalid_parameter_value
      using message = format('p_args: %s looks them up first: call maas_edit_action, then decide', action.tool_name);
  elsif p_decision = 'reject' then
    update maas.chat_pending_actions a set decided_by = p_by, decided_at = maas.maas_now(), status = 'rejected'
    where a.id = p_id;
    return query select 'decided', 'rejected', null::uuid;
  elsif p_queue_limit <= (
    select count(*) from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', action.status::text, null::uuid;
  else
    args := coalesce(p_args, action.tool_args);
    action.action_run_id := maas.maas_new_id();
    insert into maas.pipeline_runs (
      id, user_id, user_query, assistant, conversation_id, kind, source, metadata, is_remembered)
    select action.action_run_id, r.user_id, maas.maas_format_call(action.tool_name, args), r.assistant,
      action.conversation_id, 'action', r.source, jsonb_build_object('action_id', p_id), r.is_remembered
    from maas.pipeline_runs r where r.id = action.run_id and r.user_id = p_user;
    if not found then  -- the user was erased while this waited
      return query select 'not_found', null, null::uuid;
      return;
    end if;
    return query update maas.chat_pending_actions a set decided_by = p_by, decided_at = maas.maas_now(),
      status = 'approved', tool_args = args, args_hash = maas.maas_hash_arguments(args),
      action_run_id = action.action_run_id
    where a.id = p_id returning 'decided', a.status::text, a.action_run_id;
  end if;
end
$$;
comment on function maas.maas_decide_action is
  'Returns decided, already_decided, withdrawn, expired, changed (it is not what p_fingerprint names), '
  'queue_full or not_found (also for an action of another user), the action''s status, and the run that executes it. '
  'p_args replaces the proposed arguments, unless their tool looks them up (maas_edit_action), p_queue_limit bounds '
  'the user''s unfinished requests';

create or replace function maas.maas_expire_actions(p_limit int default 500)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  expired int;
begin
  update maas.chat_pending_actions set status = 'expired' where id in (
    select id from maas.chat_pending_actions where status = 'pending' and expires_at <= maas.maas_now()
    order by expires_at limit p_limit for update skip locked);
  get diagnostics expired = row_count;
  return expired;
end
$$;
comment on function maas.maas_expire_actions is
  'Ends actions that nobody decided in time, so that what waits for them goes on; returns their number';

create or replace function maas.maas_show_actions(p_run uuid, p_attempt int, p_again boolean, p_limit int)
returns table (id uuid, tool text, arguments jsonb, effect text, wording jsonb, number bigint) language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  asked record;
begin
  select r.user_id, r.conversation_id into asked from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return query select null::uuid, null, null::jsonb, null, null::jsonb, -1::bigint;
    return;
  end if;
  return query with waiting as (
    select a.id, count(*) over () as number, row_number() over (order by a.created_at, a.place, a.id) as shown_place
    from maas.chat_pending_actions a
    where a.user_id = asked.user_id and a.status = 'pending' and a.expires_at > maas.maas_now()
      and (a.proposed_in = p_run or p_again and a.conversation_id = asked.conversation_id)
    order by a.created_at, a.place, a.id limit p_limit
  ), shown as (
    update maas.chat_pending_actions a
    set shown_in = p_run, shown_place = w.shown_place,
      shown_fingerprint = maas.maas_fingerprint_action(a.tool_name, a.tool_version, a.args_hash)
    from waiting w where a.id = w.id and a.status = 'pending'
    returning a.id, a.tool_name, a.tool_args, a.effect, a.wording, w.number, a.created_at, a.place
  )
  select s.id, s.tool_name::text, s.tool_args, s.effect::text, s.wording, s.number from shown s
  order by s.created_at, s.place, s.id;
end
$$;
comment on function maas.maas_show_actions is
  'Notes that the answer of a run shows the actions which it proposed and which wait, '
  'with p_again all that wait in its conversation; returns the first p_limit of them and the number of all, '
  'or number -1: the caller no longer owns the run';

create or replace function maas.maas_is_shown(p_run uuid, p_action uuid) returns boolean language sql stable as $$
  select exists (
    select from maas.pipeline_runs r
    join maas.chat_messages s on s.run_id = r.id and s.conversation_id = r.conversation_id and s.role = 'user'
    join maas.chat_pending_actions a on a.id = p_action and a.conversation_id = r.conversation_id
      and a.user_id = r.user_id
    join maas.chat_messages m on m.run_id = a.shown_in and m.conversation_id = r.conversation_id
      and m.role = 'assistant'
    where r.id = p_run and a.shown_fingerprint = maas.maas_fingerprint_action(a.tool_name, a.tool_version, a.args_hash)
      and m.created_at < s.created_at and not exists (  -- nothing was said between
        select from maas.chat_messages n where n.conversation_id = r.conversation_id and n.role in ('user', 'assistant')
          and n.run_id is distinct from m.run_id and n.created_at > m.created_at and n.created_at < s.created_at))
$$;
comment on function maas.maas_is_shown is
  'Whether the last answer of the conversation before a run showed this action as it is now, and the run came after it';

create or replace function maas.maas_undecided_actions(p_run uuid)
returns table (id uuid, call text, wording jsonb, arguments jsonb, is_shown boolean, shown_place int)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with candidates as (
    select a.id, a.created_at, a.place, a.decided_in, a.wording, a.tool_args, a.shown_in, a.shown_place,
      maas.maas_format_call(a.tool_name, a.tool_args) as call
    from maas.pipeline_runs r
    join maas.chat_pending_actions a on a.conversation_id = r.conversation_id and a.user_id = r.user_id
    where r.id = p_run and a.run_id <> r.id
      and (a.decided_in = r.id or (a.status = 'pending' and a.expires_at > maas.maas_now()))
  )
  select c.id, c.call, c.wording, c.tool_args, c.decided_in is not null or maas.maas_is_shown(p_run, c.id),
    c.shown_place::int
  from candidates c
  where c.decided_in is not null or not exists (select from candidates d where d.decided_in is not null)
    or exists (select from candidates d where d.decided_in is not null and d.shown_in = c.shown_in)
  order by c.created_at, c.place, c.id
$$;
comment on function maas.maas_undecided_actions is
  'The actions of the conversation of a run that wait and that earlier runs proposed, or the list of which it has '
  'decided some; what the message says may mean those that is_shown, by their shown_place';

create or replace function maas.maas_decide_by_words(p_run uuid, p_attempt int, p_decision text, p_places int[])
returns table (verdict text, calls text[]) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  said record;
  meant record;
  action record;
begin
  select r.user_id, r.user_query into said from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null and r.kind = 'ask' for key share of r;
  if not found then
    return query select 'lost', null::text[];
    return;
  end if;
  perform from maas.chat_pending_actions a
  where a.id in (select u.id from maas.maas_undecided_actions(p_run) u where u.is_shown) order by a.id for update;
  select array_agg(u.id order by u.shown_place) as ids, array_agg(u.call order by u.shown_place) as calls into meant
  from maas.maas_undecided_actions(p_run) u
  where u.is_shown and u.shown_place = any(p_places);
  if coalesce(cardinality(meant.ids), 0) = 0 or cardinality(meant.ids) <> cardinality(p_places) then
    return query select 'none', null::text[];
    return;
  end if;
  for action in
    select a.id, a.shown_fingerprint from maas.chat_pending_actions a
    where a.id = any(meant.ids) and a.decided_in is distinct from p_run order by array_position(meant.ids, a.id)
  loop
    perform from maas.maas_decide_action(
      action.id, said.user_id, p_decision, 'words', p_fingerprint => action.shown_fingerprint) d
    where d.verdict = 'decided';
    if not found then
      raise exception 'action % cannot be decided although it is locked', action.id;
    end if;
    update maas.chat_pending_actions a set decided_in = p_run, decided_words = said.user_query where a.id = action.id;
  end loop;
  return query select 'decided', meant.calls;
end
$$;
comment on function maas.maas_decide_by_words is
  'Decides the actions with these places in the list that the last answer of the conversation of a run showed, whose '
  'message said so: all of them or none; returns decided (also when repeated), none: they do not wait as they were '
  'shown, or lost: the caller no longer owns the run';

create or replace function maas.maas_open_action(p_run uuid, p_attempt int)
returns table (verdict text, call_id text, tool text, version text, arguments jsonb, is_intact boolean, status text,
  result jsonb, asked text, agent text, wording jsonb)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return query select 'lost', null, null, null, null::jsonb, null::boolean, null, null::jsonb,
      null, null, null::jsonb;
    return;
  end if;
  perform maas.maas_claim_action(a.id) from maas.chat_pending_actions a where a.action_run_id = p_run;
  return query select case a.status when 'executing' then 'open' else 'ended' end, a.call_id, a.tool_name::text,
    a.tool_version, a.tool_args, a.args_hash = maas.maas_hash_arguments(a.tool_args), a.status::text, a.result,
    q.user_query, a.agent, a.wording
  from maas.chat_pending_actions a join maas.pipeline_runs q on q.id = a.run_id where a.action_run_id = p_run;
  if not found then
    return query select 'missing', null, null, null, null::jsonb, null::boolean, null, null::jsonb,
      null, null, null::jsonb;
  end if;
end
$$;
comment on function maas.maas_open_action is
  'Returns the action of a run of kind action: open (it is executing now), ended before, missing, '
  'or lost: the caller no longer owns the run';

create or replace function maas.maas_claim_action(p_id uuid) returns setof maas.chat_pending_actions language sql as $$
  update maas.chat_pending_actions set status = 'executing' where id = p_id and status = 'approved' returning *
$$;
comment on function maas.maas_claim_action is
  'approved -> executing: returns the action to one caller only, no row to any other';

create or replace function maas.maas_finish_action(p_id uuid, p_status text, p_result jsonb default null)
returns boolean language plpgsql as $$
begin
  if p_status not in ('done', 'failed', 'in_doubt') or p_status is null then
    raise invalid_parameter_value
      using message = format('status: done, failed or in_doubt, not %s', coalesce(p_status, 'null'));
  end if;
  update maas.chat_pending_actions set status = p_status, result = p_result where id = p_id and status = 'executing';
  return found;
end
$$;
comment on function maas.maas_finish_action is 'executing -> done, failed or in_doubt; false if it was not executing';

create or replace function maas.maas_end_action(p_run uuid, p_attempt int, p_status text, p_result jsonb)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  action uuid;
begin
  perform from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  -- Started in an earlier claim by a tool that no longer exists: whether it took effect is unknown.
  update maas.tool_executions set status = 'in_doubt' where run_id = p_run and effect <> 'read' and status = 'started';
  select id into action from maas.chat_pending_actions where action_run_id = p_run;
  perform maas.maas_finish_action(action, p_status, p_result);
  update maas.chat_pending_actions set result = p_result where id = action and result is null;
  return (select status from maas.chat_pending_actions where id = action);
end
$$;
comment on function maas.maas_end_action is
  'Ends an action that has no line in the tool ledger; returns its status, null if the caller no longer owns the run';

-- A call that a client makes itself, over MCP for example: a run of kind action whose metadata hold it.

create or replace function maas.maas_assistant_tools(p_assistant text) returns setof maas.tools language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  with collectors as (
    select a.definition as part from maas.assistants a where a.name = p_assistant and a.is_active
    union all
    select g.part from maas.assistants a, jsonb_array_elements(
      case jsonb_typeof(a.definition->'agents') when 'array' then a.definition->'agents' else '[]' end) g(part)
    where a.name = p_assistant and a.is_active
  ), named as (
    select jsonb_array_elements_text(c.part->'toolset') as name from collectors c
    where jsonb_typeof(c.part->'toolset') = 'array'
  )
  select t.* from maas.tools t
  where exists (select from named n where n.name in (t.name, t.domain))
    and not exists (select from collectors c where c.part->>'completion' = t.name)
  order by t.domain, t.name
$$;
comment on function maas.maas_assistant_tools is
  'The tools of an active assistant and its agents; without those that need values which a dialogue collects';

create or replace function maas.maas_insert_call(
  p_user uuid, p_assistant text, p_tool text, p_args jsonb, p_mode text default null,
  p_account text default null, p_source text default 'sql', p_caller text default '', p_key text default null,
  p_queue_limit int default null)
returns table (verdict text, run_id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted jsonb := jsonb_build_object('call', jsonb_build_object('tool', p_tool, 'arguments', p_args))
    || case when p_account is null then '{}' else jsonb_build_object('account', p_account) end;
begin
  if jsonb_typeof(p_args) is distinct from 'object' or octet_length(p_args::text) > 65536 then
    raise invalid_parameter_value using message = 'arguments: must be an object of at most 64 KiB';
  elsif not exists (select from maas.assistants a where a.name = p_assistant and a.is_active) then
    return query select 'unknown_assistant', null::uuid;
  elsif p_queue_limit <= (
    select count(*) from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', null::uuid;
  else
    return query insert into maas.pipeline_runs as r (
      user_id, user_query, assistant, kind, source, mode, caller, idempotency_key, metadata, is_remembered)
    values (p_user, maas.maas_format_call(p_tool, p_args), p_assistant, 'action', p_source, p_mode,
      p_caller, p_key, wanted, false)
    on conflict (caller, idempotency_key) where idempotency_key is not null do nothing
    returning 'inserted', r.id;
    if not found then
      return query select case when r.user_id = p_user and r.assistant = p_assistant
        and (r.metadata->'call', r.metadata->'account', r.mode) is not distinct from (
          wanted->'call', wanted->'account', p_mode)
        then 'inserted' else 'idempotency_conflict' end, r.id
      from maas.pipeline_runs r where r.caller = p_caller and r.idempotency_key = p_key;
    end if;
  end if;
end
$$;
comment on function maas.maas_insert_call is
  'Inserts a run that calls one tool of an assistant under its approvals, once for each key of a caller; '
  'returns inserted, unknown_assistant, queue_full or idempotency_conflict, and the run. '
  'Its answer is the result as JSON, also for a tool that the assistant has not; it is in no memory';
