-- Tasks: long work in steps.
--
--   maas_insert_task   checks the steps and inserts the run with them, all or nothing
--   maas_next_step     the run's owner begins the next step, or is given the step that a crash interrupted
--   maas_end_step      done, failed, in_doubt or skipped; waiting, while its calls wait for their user
--   maas_settle_step   waiting -> done, failed, in_doubt or skipped, once all its calls are decided and over
--   maas_continue_task once nothing of a completed task waits, a task of its own does what is left
--   settle_steps       (run_triggers.sql) when a task is cancelled or its process died too often
--
-- A step that calls a tool is a line of the tool ledger (tools.sql) under its own call id, so a write is executed
-- once or is in doubt; one whose arguments a model works out may be several. A task is a run with a key of its own: its
-- user's next request does not wait for it, and it waits for none.

create or replace function maas.maas_refuse_step(p_number int, p_problem text) returns void language plpgsql as $$
begin
  raise invalid_parameter_value using message = format('steps: step %s: %s', p_number, p_problem);
end
$$;
comment on function maas.maas_refuse_step is 'Raises invalid_parameter_value for a step that cannot be';

create or replace function maas.maas_check_step(p_number int, p_step jsonb, p_steps int)
returns void language plpgsql stable as $$
declare
  field text;
  needed jsonb;
begin
  if jsonb_typeof(p_step) <> 'object' then
    perform maas.maas_refuse_step(p_number, 'must be an object');
  end if;
  select k into field from jsonb_object_keys(p_step) k
  where k not in ('title', 'tool', 'arguments', 'prompt', 'depends_on') limit 1;
  if found then
    perform maas.maas_refuse_step(
      p_number, format('%s is unknown: a step has title, tool and arguments or prompt, depends_on', left(field, 50)));
  end if;
  if jsonb_typeof(p_step->'title') is distinct from 'string' or (p_step->>'title') !~ '\S'
    or char_length(p_step->>'title') > 200 then
    perform maas.maas_refuse_step(p_number, 'title: must be a text of 1 to 200 characters');
  end if;
  if not p_step ?| '{tool,prompt}' then
    perform maas.maas_refuse_step(p_number, 'must have a tool, a prompt or both');
  end if;
  if p_step ?& '{tool,prompt}' and coalesce(p_step->'depends_on', '[]') = '[]' then
    perform maas.maas_refuse_step(
      p_number, 'a prompt beside a tool is for arguments from the results of other steps: depends_on must name them');
  end if;
  if p_step ? 'tool' and not exists (
    select from maas.tools t where jsonb_typeof(p_step->'tool') = 'string' and t.name = p_step->>'tool') then
    perform maas.maas_refuse_step(p_number, format('there is no tool %s', left(p_step->>'tool', 64)));
  end if;
  if p_step ? 'arguments' and (p_step ? 'prompt' or jsonb_typeof(p_step->'arguments') <> 'object'
    or octet_length((p_step->'arguments')::text) > 65536) then
    perform maas.maas_refuse_step(p_number, 'arguments: must be an object of at most 64 KiB, of a step with a tool');
  end if;
  if p_step ? 'prompt'
    and (jsonb_typeof(p_step->'prompt') <> 'string' or (p_step->>'prompt') !~ '\S'
      or char_length(p_step->>'prompt') > 8000) then
    perform maas.maas_refuse_step(p_number, 'prompt: must be a text of 1 to 8000 characters');
  end if;
  if p_step ? 'depends_on' then
    if jsonb_typeof(p_step->'depends_on') <> 'array' then
      perform maas.maas_refuse_step(p_number, 'depends_on: must be an array of numbers of steps');
    end if;
    for needed in select * from jsonb_array_elements(p_step->'depends_on') loop
      if needed::text !~ '^[0-9]{1,3}$' or needed::text::int not between 1 and p_steps then
        perform maas.maas_refuse_step(p_number, format('depends_on: there is no step %s', left(needed::text, 50)));
      elsif needed::text::int = p_number then
        perform maas.maas_refuse_step(p_number, 'depends_on: it cannot depend on itself');
      end if;
    end loop;
  end if;
end
$$;
comment on function maas.maas_check_step is
  'Raises invalid_parameter_value if this is not a step of a task of p_steps steps';

create or replace function maas.maas_check_steps(p_steps jsonb) returns void language plpgsql stable as $$
declare
  steps int := case jsonb_typeof(p_steps) when 'array' then jsonb_array_length(p_steps) else 0 end;
  waiting int[];
  ready int[];
begin
  if steps not between 1 and 100 then
    raise invalid_parameter_value using message = 'steps: must be an array of 1 to 100 steps';
  end if;
  perform maas.maas_check_step(s.number::int, s.step, steps)
  from jsonb_array_elements(p_steps) with ordinality s(step, number);
  waiting := array(select generate_series(1, steps));
  loop
    ready := array(
      select w from unnest(waiting) w
      where not exists (
        select from jsonb_array_elements(p_steps->(w - 1)->'depends_on') d where d::text::int = any(waiting)));
    exit when cardinality(ready) = 0;
    waiting := array(select w from unnest(waiting) w where w <> all(ready));
  end loop;
  if cardinality(waiting) > 0 then
    raise invalid_parameter_value using
      message = format('steps: %s can never begin, because they depend on each other', array_to_string(waiting, ', '));
  end if;
end
$$;
comment on function maas.maas_check_steps is
  'Raises invalid_parameter_value if these are no steps of a task: '
  'too many, unknown fields, tools or dependencies, a cycle';

create or replace function maas.maas_task_limit(p_limits jsonb, p_name text, p_default bigint, p_most bigint)
returns bigint language plpgsql immutable as $$
begin
  if coalesce(p_limits->p_name, 'null') = 'null' then
    return p_default;
  end if;
  if (p_limits->p_name)::text !~ '^[0-9]{1,12}$' or (p_limits->p_name)::text::bigint not between 1 and p_most then
    raise invalid_parameter_value
      using message = format('limits: %s: must be a whole number from 1 to %s', p_name, p_most);
  end if;
  return (p_limits->p_name)::text::bigint;
end
$$;
comment on function maas.maas_task_limit is
  'One of the limits that a task is inserted with; raises invalid_parameter_value';

create or replace function maas.maas_insert_task(p_user uuid, p_title text, p_steps jsonb, p_parent uuid default null,
  p_assistant text default null, p_conversation uuid default null, p_is_approved boolean default false,
  p_limits jsonb default '{}', p_queue_limit int default 20)
returns table (verdict text, run_id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  origin record;
  new_run uuid;
  key text := p_parent || ' ' || encode(sha256(convert_to(p_title || p_steps::text, 'UTF8')), 'hex');
begin
  if p_title is null or p_title !~ '\S' or char_length(p_title) > 2000 then
    raise invalid_parameter_value using message = 'title: must be a text of 1 to 2000 characters';
  end if;
  if jsonb_typeof(p_limits) is distinct from 'object' or p_limits - '{calls,price,seconds}'::text[] <> '{}' then
    raise invalid_parameter_value
      using message = 'limits: must be an object with calls, price (micro-dollars) or seconds';
  end if;
  perform maas.maas_check_steps(p_steps);
  select r.assistant, r.conversation_id, r.source, r.mode, r.is_remembered into origin
  from maas.pipeline_runs r where r.id = p_parent and r.user_id = p_user for key share of r;
  if not found and p_parent is not null then
    return query select 'not_found', null::uuid;
    return;
  end if;
  select r.id into new_run from maas.pipeline_runs r where r.caller = 'task' and r.idempotency_key = key;
  if found then
    return query select 'inserted', new_run;
    return;
  end if;
  if p_queue_limit <= (
    select count(*) from maas.pipeline_runs r where r.user_id = p_user and r.queue_state < 2 and r.kind = 'task') then
    return query select 'queue_full', null::uuid;
    return;
  end if;
  insert into maas.pipeline_runs as r (
    user_id, user_query, assistant, conversation_id, kind, source, mode, caller, idempotency_key, is_remembered)
  values (p_user, p_title, coalesce(p_assistant, origin.assistant, 'mentor'),
    coalesce(p_conversation, origin.conversation_id), 'task', coalesce(origin.source, 'sql'), origin.mode,
    case when key is null then '' else 'task' end, key, coalesce(origin.is_remembered, true))
  on conflict (caller, idempotency_key) where idempotency_key is not null do nothing
  returning r.id into new_run;
  if new_run is null then  -- a concurrent insert was first
    return query select 'inserted', r.id from maas.pipeline_runs r where r.caller = 'task' and r.idempotency_key = key;
    return;
  end if;
  insert into maas.tasks (run_id, parent_run_id, is_approved, max_calls, max_price, max_seconds)
  values (new_run, p_parent, p_is_approved, maas.maas_task_limit(p_limits, 'calls', 100, 1000),
    maas.maas_task_limit(p_limits, 'price', null, 1000000000000),
    maas.maas_task_limit(p_limits, 'seconds', 3600, 86400));
  insert into maas.task_steps (run_id, number, title, tool, arguments, prompt, depends_on)
  select new_run, s.number, s.step->>'title', s.step->>'tool',
    case when not s.step ? 'prompt' then coalesce(s.step->'arguments', '{}') end, s.step->>'prompt',
      array(select distinct d::text::int from jsonb_array_elements(s.step->'depends_on') d order by 1)
  from jsonb_array_elements(p_steps) with ordinality s(step, number);
  return query select 'inserted', new_run;
end
$$;
comment on function maas.maas_insert_task is
  'Inserts a run of kind task with its steps [{title, tool, arguments, prompt, depends_on}] and returns it: '
  'the same one if p_parent inserts the same steps again. '
  'not_found: p_parent is not a run of this user; queue_full: p_queue_limit of the user''s tasks are unfinished. '
  'Raises invalid_parameter_value';

create or replace function maas.maas_skip_steps(p_run uuid, p_reason text) returns void language plpgsql as $$
begin
  loop
    update maas.task_steps s set status = 'skipped', ended_at = clock_timestamp(),
      result = jsonb_build_object('success', false,
        'error_code', case when p_reason is null then 'skipped' else 'over_budget' end,
        'message', coalesce(p_reason, 'a step that it depends on is not done'))
    where s.run_id = p_run and s.status = 'pending' and (p_reason is not null or exists (
      select from maas.task_steps d
      where d.run_id = p_run and d.number = any(s.depends_on) and d.status in ('failed', 'in_doubt', 'skipped')));
    exit when not found;
  end loop;
end
$$;
comment on function maas.maas_skip_steps is
  'Skips what depends on steps that are not done; with p_reason, a limit that is reached, all that has not begun';

create or replace function maas.maas_next_step(p_run uuid, p_attempt int, p_may_yield boolean default false)
returns table (
  verdict text, number int, call_id text, title text, tool text, arguments jsonb, prompt text, results jsonb,
  is_approved boolean, max_calls int, ended int, total int)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  run record;
  task record;
  reason text;
  upcoming int;
begin
  select r.responding_at, r.assistant into run from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return query select 'lost', null::int, null, null, null, null::jsonb, null, null::jsonb, null::boolean,
      null::int, null::int, null::int;
    return;
  end if;
  select * into task from maas.tasks t where t.run_id = p_run;
  if not found then
    return query select 'missing', null::int, null, null, null, null::jsonb, null, null::jsonb, null::boolean,
      null::int, null::int, null::int;
    return;
  end if;
  -- A step that an earlier process began goes first: the ledger knows what became of its call.
  select min(s.number) into upcoming from maas.task_steps s where s.run_id = p_run and s.status = 'running';
  if upcoming is null and p_may_yield and (
    -- what can be claimed and is not: every orchestrator is busy, or busy with this assistant
    exists (
      select from maas.pipeline_runs r
      where r.queue_state = 0 and r.not_before is null and r.assistant = run.assistant
        and r.kind <> 'task' and r.updated_at < clock_timestamp() - interval '0.2 s')
    or exists (
      select from maas.pipeline_runs r
      where r.queue_state = -2 and r.kind <> 'task' and r.updated_at < clock_timestamp() - interval '0.2 s')
    or exists (
      select from maas.pipeline_runs r
      where r.queue_state = 0 and r.not_before is null and r.kind <> 'task'
        and r.updated_at < clock_timestamp() - interval '0.2 s')
    and not exists (
      select from maas.engines e
      where e.lease_until > maas.maas_now() and e.concurrency > (
        select count(*) from maas.pipeline_runs r where r.queue_state = 1 and r.owner = e.owner)))
    and exists (select from maas.task_steps s where s.run_id = p_run and s.status = 'pending') then
    return query select 'yield', null::int, null, null, null, null::jsonb, null, null::jsonb, null::boolean,
      null::int, null::int, null::int;
    return;
  end if;
  if upcoming is null then
    reason := case
      when maas.maas_now() > run.responding_at + make_interval(secs => task.max_seconds)
        then format('the task has used its %s seconds', task.max_seconds)
      when task.max_calls <= (select coalesce(sum(c.calls), 0) from maas.tool_counts c where c.run_id = p_run)
          + (select count(*) from maas.llm_calls c where c.run_id = p_run and c.stage = 'final_responder')
        then format('the task has used its %s calls', task.max_calls)
      when task.max_price <= (
        select coalesce(sum(c.price), 0) from maas.llm_calls c where c.run_id = p_run and c.stage = 'final_responder')
        then format('the task has used its %s micro-dollars', task.max_price)
    end;
    perform maas.maas_skip_steps(p_run, reason);
    select min(s.number) into upcoming from maas.task_steps s
    where s.run_id = p_run and s.status = 'pending' and not exists (
      select from maas.task_steps d where d.run_id = p_run and d.number = any(s.depends_on) and d.status <> 'done');
    update maas.task_steps s set status = 'running', started_at = clock_timestamp(), ended_at = null, result = null
    where s.run_id = p_run and s.number = upcoming;
  end if;
  return query select case when upcoming is null then 'over' else 'step' end, s.number, 'step-' || s.number, s.title,
    s.tool::text, s.arguments, s.prompt,
    (select jsonb_object_agg(d.number || '. ' || d.title, d.result) from maas.task_steps d
     where d.run_id = p_run and d.number = any(s.depends_on)),
    task.is_approved, task.max_calls, c.ended, c.total
  from (
    select count(*) filter (where a.status not in ('pending', 'running', 'waiting'))::int as ended,
      count(*)::int as total
    from maas.task_steps a where a.run_id = p_run) c
  left join maas.task_steps s on s.run_id = p_run and s.number = upcoming;
end
$$;
comment on function maas.maas_next_step is
  'Begins the next step of a task that can begin, or returns the one that an earlier owner of the run began. '
  'Skips what depends on steps that are not done, and everything once a limit is reached. '
  'verdict: step, over (nothing is left), yield (other runs wait for a free orchestrator; only with p_may_yield), '
  'missing (the run has no steps) or lost (the caller no longer owns the run)';

create or replace function maas.maas_end_step(p_run uuid, p_attempt int, p_number int, p_status text, p_result jsonb,
  p_waits_for uuid[] default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_status not in ('done', 'failed', 'in_doubt', 'skipped', 'waiting') or p_status is null then
    raise invalid_parameter_value
      using message = format('status: done, failed, in_doubt, skipped or waiting, not %s', coalesce(p_status, 'null'));
  end if;
  -- The run advances: processes that were lost before no longer count against it.
  update maas.pipeline_runs set losses = 0, deaths = 0, updated_at = clock_timestamp()
  where id = p_run and attempt = p_attempt and owner is not null;
  if not found then
    return false;
  end if;
  perform from maas.tasks where run_id = p_run for update;  -- a decision of this moment waits, or is seen below
  update maas.task_steps set status = p_status, result = p_result, waits_for = p_waits_for,
    ended_at = case when p_status <> 'waiting' then clock_timestamp() end
  where run_id = p_run and number = p_number and status = 'running';
  if not found then
    return false;
  end if;
  if p_status = 'waiting' then
    perform maas.maas_settle_step(p_run, p_number);
  end if;
  if exists (select from maas.webhook_endpoints) then
    perform maas.maas_emit('task.progress', r.user_id, p_run, jsonb_build_object(
      'run_id', p_run, 'step', p_number, 'status', p_status, 'ended', c.ended, 'total', c.total))
    from maas.pipeline_runs r cross join (
      select count(*) filter (where s.status not in ('pending', 'running', 'waiting')) as ended, count(*) as total
      from maas.task_steps s where s.run_id = p_run) c
    where r.id = p_run;
  end if;
  return true;
end
$$;
comment on function maas.maas_end_step is
  'running -> done, failed, in_doubt, skipped, or waiting for the actions p_waits_for; '
  'false if the caller no longer owns the run';

create or replace function maas.maas_settle_step(p_run uuid, p_number int) returns void language plpgsql as $$
declare
  calls record;
  outcome text;
begin
  select count(*) filter (where a.status in ('pending', 'approved', 'executing')) as open,
    array_agg(a.status) as states,
    jsonb_agg(jsonb_build_object('arguments', a.arguments, 'state', a.status, 'result', a.result->'data')
      order by array_position(s.waits_for, a.id)) as data
  into calls from maas.task_steps s join maas.pipeline_runs r on r.id = s.run_id
  join maas.v_actions a on a.id = any(s.waits_for) and a.user_id = r.user_id
  where s.run_id = p_run and s.number = p_number and s.status = 'waiting';
  if calls.states is null or calls.open > 0 then
    return;
  end if;
  outcome := case
    when 'in_doubt' = any(calls.states) then 'in_doubt'
    when 'failed' = any(calls.states) then 'failed'
    when 'done' = any(calls.states) then 'done'
    else 'skipped' end;
  update maas.task_steps set status = outcome, ended_at = clock_timestamp(),
    result = jsonb_build_object('success', outcome = 'done', 'data', calls.data, 'calls', (
      select jsonb_object_agg(c.state, c.number)
      from (select state, count(*) as number from unnest(calls.states) state group by state) c))
      || case outcome when 'done' then '{}'
        when 'skipped' then '{"error_code": "rejected", "message": "the user approved none of its calls"}'
        else jsonb_build_object('error_code', outcome, 'message', 'not all of its calls succeeded') end
  where run_id = p_run and number = p_number;
end
$$;
comment on function maas.maas_settle_step is
  'waiting -> done, where at least one of its calls was approved and all approved ones succeeded; '
  'else in_doubt, failed or skipped. Nothing while one is not decided or not over';

create or replace function maas.maas_continue_task(p_run uuid) returns void language plpgsql as $$
declare
  task record;
  upcoming uuid := maas.maas_new_id();
begin
  select t.is_approved, t.max_calls, t.max_price, t.max_seconds into task
  from maas.tasks t where t.run_id = p_run for update;
  if not exists (select from maas.pipeline_runs r where r.id = p_run and r.status = 'COMPLETED')
    or exists (select from maas.task_steps s where s.run_id = p_run and s.status = 'waiting') then
    return;
  end if;
  perform maas.maas_skip_steps(p_run, null);
  if not exists (select from maas.task_steps s where s.run_id = p_run and s.status = 'pending') then
    return;
  end if;
  begin
    insert into maas.pipeline_runs (
      id, user_id, user_query, assistant, conversation_id, kind, source, mode, caller, idempotency_key, is_remembered)
    select upcoming, r.user_id, r.user_query, r.assistant, r.conversation_id, 'task', r.source, r.mode, 'task',
      p_run || ' continued', r.is_remembered
    from maas.pipeline_runs r where r.id = p_run;
  exception when foreign_key_violation or check_violation then  -- its assistant is gone, for one
    update maas.task_steps set status = 'skipped', ended_at = clock_timestamp(),
      result = jsonb_build_object('success', false, 'error_code', 'skipped', 'message', sqlerrm)
    where run_id = p_run and status = 'pending';
    return;
  end;
  insert into maas.tasks (run_id, parent_run_id, is_approved, max_calls, max_price, max_seconds)
  values (upcoming, p_run, task.is_approved, task.max_calls, task.max_price, task.max_seconds);
  insert into maas.task_steps (
    run_id, number, title, tool, arguments, prompt, depends_on, status, result, started_at, ended_at)
  select upcoming, s.number, s.title, s.tool, s.arguments, s.prompt, s.depends_on, s.status, s.result, s.started_at,
    s.ended_at
  from maas.task_steps s
  where s.run_id = p_run and (s.status = 'pending' or exists (
    select from maas.task_steps d where d.run_id = p_run and d.status = 'pending' and s.number = any(d.depends_on)));
  update maas.task_steps set status = 'skipped', ended_at = clock_timestamp(), result = jsonb_build_object(
    'success', false, 'error_code', 'continued', 'message', format('run %s goes on with it', upcoming))
  where run_id = p_run and status = 'pending';
end
$$;
comment on function maas.maas_continue_task is
  'Inserts a task for the steps of a completed task that its waiting steps held up, with the results that they need; '
  'nothing while one waits';

create or replace function maas.settle_waiting_steps()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  step record;
begin
  perform from maas.tasks t where t.run_id in (new.run_id, new.proposed_in) order by t.run_id for update;
  for step in select s.run_id, s.number from maas.task_steps s
    where s.status = 'waiting' and s.waits_for @> array[new.id] order by s.run_id, s.number
  loop
    perform maas.maas_settle_step(step.run_id, step.number);
    perform maas.maas_continue_task(step.run_id);
  end loop;
  return null;
end
$$;
comment on function maas.settle_waiting_steps is 'The end of an action may be what a step of a task waits for';
create or replace trigger settle_waiting_steps after update of status on maas.chat_pending_actions
  for each row when (
    old.status <> new.status and new.status in ('rejected', 'expired', 'done', 'failed', 'in_doubt'))
  execute function maas.settle_waiting_steps();
