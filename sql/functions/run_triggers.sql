-- All triggers of pipeline_runs, in the order in which they fire.
--
-- Postgres fires triggers of one kind by name. No two of one kind depend on each other here: what must happen in an
-- order is one function. A bare run pays for prepare_run, the insert notifications and one notification per change of
-- status. The setting maas.notify of a session, role or database leaves notifications out: `wakeups` those of rows,
-- `off` all of a statement that inserts; then only polls find what has changed.

-- Before insert -------------------------------------------------------------------------------------------------------

create or replace function maas.prepare_run()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_global boolean;  -- one query reads all that it depends on: every request pays for it
begin
  -- An ORM writes null into every column that it was not given.
  new.id := coalesce(new.id, maas.maas_new_id());
  new.assistant := coalesce(new.assistant, 'mentor');
  new.attachment_ids := coalesce(new.attachment_ids, '{}');
  if new.idempotency_key is not null and new.caller = '' and new.source = 'sql' and new.kind = 'ask' then
    if octet_length(new.idempotency_key) not between 1 and 255 then
      raise check_violation using message = 'idempotency_key: must have 1 to 255 bytes',
        table = 'pipeline_runs', column = 'idempotency_key';
    end if;
    new.caller := 'sql:' || new.user_id;  -- nobody can take the keys of another user, or of the server
  end if;
  if new.kind <> 'trial' then  -- which begins at a stage, with what was recorded before it
    if new.status in ('ANALYZING', 'ANALYZED', 'ASSEMBLING', 'READY', 'RESPONDING', 'COMPLETED', 'FAILED') then
      new.status := 'NEW';  -- a client cannot skip a stage; an unknown status is left to the CHECK
    end if;
    new.analysis_result := null; new.draft_context := null; new.final_context_payload := null;
  end if;
  select case
      when new.assistant = 'passthrough' and current_setting('maas.passthrough', true) = 'on'
        then coalesce(new.is_remembered, true)  -- maas_store_exchange
      when a.name is not null then coalesce(new.is_remembered, true)
        and (new.kind = 'archive' or a.definition->>'memory' is distinct from 'off')
        and (new.kind <> 'ask' or btrim(new.user_query) is distinct from a.definition->>'opening')  -- says nothing
      end,
    s.value = 'global'
  into new.is_remembered, is_global
  from maas.engine_settings s left join maas.assistants a on a.name = new.assistant and a.is_active
  where s.key = 'blocking_scope';
  if new.is_remembered is null then
    raise foreign_key_violation using
      message = format('assistant: there is no active assistant "%s"', new.assistant) || coalesce((
        select ': ' || a.inactive_reason from maas.assistants a where a.name = new.assistant and not a.is_active), ''),
      hint = 'select name from assistants where is_active', table = 'pipeline_runs', column = 'assistant';
  end if;
  if new.is_remembered and new.conversation_id is not null then
    new.is_remembered := not exists (
      select from maas.chat_conversations c
      where c.id = new.conversation_id and c.user_id = new.user_id and not c.is_remembered);
  end if;
  new.queue_key := case
    when new.kind = 'archive' then md5('archive:' || new.user_id)::uuid
    when new.kind in ('task', 'trial') then new.id
    when is_global then '00000000-0000-0000-0000-000000000000'
    else new.user_id
  end;
  if new.kind <> 'ask' then
    new.debounce := null;
  elsif new.debounce is not null then
    if (new.debounce > 0 and new.debounce <= 60) is not true then
      raise check_violation using message = 'debounce: must be more than 0 and at most 60 seconds',
        table = 'pipeline_runs', column = 'debounce';
    elsif new.run_at is not null or new.replaces is not null then
      raise check_violation using message = 'debounce: set it, or run_at or replaces, not both',
        table = 'pipeline_runs', column = 'debounce';
    end if;
    new.run_at := clock_timestamp() + make_interval(secs => new.debounce);
  end if;
  new.seq := nextval('maas.run_seq');
  new.priority := coalesce(new.priority, 0);
  new.queue_state := case when new.run_at > now() then -4 else -2 end;
  new.owner := null; new.attempt := 0; new.losses := 0; new.deaths := 0; new.try := 1;
  new.cancel_requested_at := null; new.archive_status := 'PENDING'; new.degraded := '{}';
  new.limited := null; new.memory_reasons := '{}';
  new.sources := null; new.searched := null; new.final_answer := null;
  new.error_code := null; new.error_message := null;
  new.created_at := now(); new.updated_at := now();
  new.claimed_at := null; new.analyzing_at := null; new.analyzed_at := null; new.assembling_at := null;
  new.ready_at := null; new.responding_at := null; new.completed_at := null; new.failed_at := null;
  new.archived_at := null; new.not_before := null; new.answer_by := null;
  return new;
end
$$;
comment on function maas.prepare_run is
  'Gives every new run a clean start, whatever the client sets: status NEW, inbox, its queue_key; '
  'nothing in a temporary conversation is remembered; '
  'null means the default; refuses unknown assistants';

create or replace trigger prepare_run before insert on maas.pipeline_runs
  for each row execute function maas.prepare_run();

create or replace function maas.check_attachments()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  stranger record;
begin
  if cardinality(new.attachment_ids) > 10 then
    raise check_violation using
      message = format(
        'attachment_ids: %s are too many, a request takes at most 10', cardinality(new.attachment_ids)),
      hint = 'send several requests', table = 'pipeline_runs', column = 'attachment_ids';
  end if;
  select n.id into stranger from unnest(new.attachment_ids) n(id)
  where not exists (select from maas.attachments a where a.id = n.id and a.user_id = new.user_id) limit 1;
  if found then
    raise foreign_key_violation using
      message = format('attachment_ids: %s is not an attachment of this user', coalesce(stranger.id::text, 'null')),
      hint = 'upload it first: POST /v1/attachments', table = 'pipeline_runs', column = 'attachment_ids';
  end if;
  return new;
end
$$;
comment on function maas.check_attachments is 'Refuses more than 10 attachments, and attachments of another user';

create or replace trigger check_attachments before insert or update of attachment_ids on maas.pipeline_runs
  for each row when (new.attachment_ids <> '{}') execute function maas.check_attachments();

create or replace function maas.check_attributes()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if jsonb_typeof(new.attributes) = 'object' and (
    select count(*) <= 16 and coalesce(bool_and(
      char_length(e.key) between 1 and 64 and jsonb_typeof(e.value) in ('string', 'number', 'boolean')
      and char_length(e.value #>> '{}') <= 512), true)
    from jsonb_each(case jsonb_typeof(new.attributes) when 'object' then new.attributes else '{}' end) e)
  then
    return new;
  end if;
  raise check_violation using
    message = 'attributes: must be an object of at most 16 names of 1 to 64 characters, each with a text of at most '
      '512 characters, a number or a boolean',
    hint = 'metadata takes any JSON', table = 'pipeline_runs', column = 'attributes';
end
$$;
comment on function maas.check_attributes is 'Refuses attributes that are not few and plain';

create or replace trigger check_attributes before insert or update of attributes on maas.pipeline_runs
  for each row when (new.attributes is not null) execute function maas.check_attributes();

-- After insert: each row ----------------------------------------------------------------------------------------------

create or replace function maas.join_conversation()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.chat_conversations (id, user_id, assistant, source, mode, is_remembered)
  values (new.conversation_id, new.user_id, new.assistant,
    case new.source when 'telegram' then 'telegram' else 'web' end, maas.maas_default_mode(new.assistant),
    -- only where the request says so: not for what clients ask for themselves, nor by its assistant
    new.is_remembered or new.source not in ('http', 'sql') or exists (
      select from maas.assistants a where a.name = new.assistant
        and (a.definition->>'memory' = 'off' or btrim(new.user_query) = a.definition->>'opening')))
  on conflict (id) do nothing;
  if not exists (
    select from maas.chat_conversations
    where id = new.conversation_id and user_id = new.user_id and assistant = new.assistant) then
    raise foreign_key_violation using
      message = format(
        'conversation_id: %s is not a conversation of this user with the assistant "%s"',
        new.conversation_id, new.assistant),
      hint = 'take a new id, or leave it out', table = 'pipeline_runs', column = 'conversation_id';
  end if;
  if new.kind in ('ask', 'action') then
    insert into maas.chat_messages (conversation_id, user_id, run_id, role, content)
    values (new.conversation_id, new.user_id, new.id, 'user', new.user_query);
  end if;
  if new.kind = 'ask' then
    update maas.chat_conversations set title = maas.maas_title(new.user_query)
    where id = new.conversation_id and title is null;
  end if;
  return null;
end
$$;
comment on function maas.join_conversation is
  'Creates the conversation of a run unless it exists, a temporary one for a run that is not to be remembered; '
  'refuses one of another user or assistant, and adds the query to its messages';

create or replace trigger join_conversation after insert on maas.pipeline_runs
  for each row when (new.conversation_id is not null) execute function maas.join_conversation();

create or replace function maas.withdraw_actions()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.chat_pending_actions a set status = 'rejected', decided_by = 'replaced', decided_at = maas.maas_now()
  where a.id in (
    with recursive begun as (  -- by the runs that leave the conversation: tasks, and what goes on with those
      select o as id from maas.maas_dropped_runs(new.user_id, new.id) o
      union
      select t.run_id from begun b join maas.tasks t on t.parent_run_id = b.id
    )
    select w.id from begun b join maas.chat_pending_actions w on w.run_id = b.id
    where w.user_id = new.user_id and w.status = 'pending' order by w.id for update of w);
  return null;
end
$$;
comment on function maas.withdraw_actions is
  'Rejects what waits for a decision of runs that leave a conversation because a question is asked again, and of the '
  'tasks that they began: it is never executed';

create or replace trigger withdraw_actions after insert on maas.pipeline_runs
  for each row when (new.replaces is not null) execute function maas.withdraw_actions();

create or replace function maas.notify_pipeline_change()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('pipeline_events', json_build_object(
    'id', new.id, 'status', new.status, 'operation', tg_op, 'archive_status', new.archive_status)::text);
  return null;
end
$$;
comment on function maas.notify_pipeline_change is
  'Sends {id, status, operation, archive_status} to the channel pipeline_events, which any login can hear. '
  'A hint; the table is the truth';

create or replace trigger on_pipeline_change after insert on maas.pipeline_runs
  for each row when (coalesce(current_setting('maas.notify', true), '') not in ('wakeups', 'off'))
  execute function maas.notify_pipeline_change();

-- After insert: each statement ----------------------------------------------------------------------------------------

create or replace function maas.log_queries()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  waiting record;
begin
  insert into maas.raw_logs (user_id, run_id, message_type, content, conversation, metadata, is_remembered, archived_at)
  select user_id, id, 'user_query', user_query,
    coalesce(conversation_id::text, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')),
    jsonb_build_object('request_id', id, 'timestamp', created_at), is_remembered,
    case when not is_remembered then created_at end
  from inserted where kind in ('ask', 'action') order by seq;
  if now() < clock_timestamp() - interval '10 minutes' then  -- the sums of days may have passed that time
    insert into maas.sum_exceptions (run_id, is_counted) select id, false from inserted;
  end if;
  -- As maas_check_memory, which would be called for every run. Not before row security has let the row pass: the error
  -- says how much memory the user has.
  perform maas.maas_check_quotas(user_id, '{user_memory_bytes}') from inserted
  where octet_length(user_query) > random() * 1048576;
  if exists (select from inserted where debounce is not null) then
    perform maas.maas_lock('debounce', u.user_id::text) from (
      select distinct user_id, hashtext(user_id::text) & 255 as place from inserted where debounce is not null
      order by place) u;
    for waiting in select id from inserted where debounce is not null order by seq loop
      perform maas.maas_join_request(waiting.id);
    end loop;
  end if;
  return null;
end
$$;
comment on function maas.log_queries is
  'Writes queries to raw_logs in the transaction that inserts the runs, checks the quota of memory, joins requests '
  'that wait for others to those before them, and notes runs of a long transaction for the sums of days';

create or replace trigger log_queries after insert on maas.pipeline_runs
  referencing new table as inserted for each statement execute function maas.log_queries();

create or replace function maas.notify_engines()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('pipeline_wakeup', '');
  return null;
end
$$;
comment on function maas.notify_engines is
  'Wakes all orchestrators. Without payload, so that many notifications in a transaction are sent as one';

create or replace trigger notify_engines after insert on maas.pipeline_runs
  for each statement when (current_setting('maas.notify', true) is distinct from 'off')
  execute function maas.notify_engines();

-- Before update -------------------------------------------------------------------------------------------------------

create or replace function maas.maas_is_legal(p_from text, p_to text) returns boolean language plpgsql immutable as $$
begin  -- not in SQL: every update of a status would parse it again
  return (p_from, p_to) in (
    ('NEW', 'ANALYZING'), ('ANALYZING', 'ANALYZED'), ('ANALYZED', 'ASSEMBLING'), ('ASSEMBLING', 'READY'),
    ('READY', 'RESPONDING'), ('RESPONDING', 'COMPLETED'), ('FAILED', 'NEW'))
    or (p_to = 'FAILED' and p_from not in ('COMPLETED', 'FAILED'));
end
$$;
comment on function maas.maas_is_legal is 'The state machine of statuses; FAILED -> NEW only as a new try';

create or replace function maas.refuse_transition()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('maas.maintenance', true) = 'on' then
    return new;
  end if;
  raise check_violation using message = format('status: illegal transition %s -> %s', old.status, new.status),
    hint = case when old.status = 'FAILED'
      then 'select maas_retry_run(id)' else 'set maas.maintenance = on, if you must' end,
    table = 'pipeline_runs', column = 'status';
end
$$;
comment on function maas.refuse_transition is 'Raises check_violation for a status that may not follow';

create or replace trigger refuse_transition before update of status on maas.pipeline_runs
  for each row when (old.status <> new.status and not (
    maas.maas_is_legal(old.status, new.status) and (new.status <> 'NEW' or new.try = old.try + 1)))
  execute function maas.refuse_transition();

create or replace function maas.skip_archive()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.archive_status := 'SKIPPED';
  new.archived_at := null;
  return new;
end
$$;
comment on function maas.skip_archive is
  'Leaves a trial, and a note command, which was answered without a draft, without a summary';

create or replace trigger skip_archive before update of archive_status on maas.pipeline_runs
  for each row when (new.archive_status = 'ARCHIVED' and old.archive_status = 'ARCHIVING' and (
    new.kind = 'trial'
    or new.kind = 'ask' and new.draft_context is null and new.analysis_result->>'fast_path' = 'memory_command'))
  execute function maas.skip_archive();

create or replace function maas.touch_updated_at()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.updated_at := now();
  return new;
end
$$;
comment on function maas.touch_updated_at is 'Sets updated_at unless the statement does';

create or replace trigger touch_updated_at before update on maas.pipeline_runs
  for each row when (new.updated_at = old.updated_at and old.updated_at <> now())
  execute function maas.touch_updated_at();

create or replace function maas.end_failed_run()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.cancel_requested_at := coalesce(new.cancel_requested_at, now());
  new.failed_at := coalesce(new.failed_at, now());
  perform pg_notify('pipeline_wakeup', '');
  return new;
end
$$;
comment on function maas.end_failed_run is
  'A run that an UPDATE of others sets to FAILED leaves the queue by the next maas_step, as one that is cancelled, '
  'and is logged there';

create or replace trigger end_failed_run before update of status on maas.pipeline_runs
  for each row when (new.status = 'FAILED' and old.status <> 'FAILED' and new.queue_state < 2)
  execute function maas.end_failed_run();

-- After update --------------------------------------------------------------------------------------------------------

create or replace function maas.count_failure()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if old.status <> 'FAILED' and new.status = 'FAILED' then
    perform maas.maas_add_metrics(jsonb_build_array(jsonb_build_object('name', 'runs_finished', 'events', 1,
      'labels', jsonb_build_object('kind', new.kind, 'status', new.status, 'code', coalesce(new.error_code, '')))));
    if new.kind in ('ask', 'action', 'task') and exists (select from maas.webhook_endpoints) then
      perform maas.maas_emit('run.failed', new.user_id, new.id, jsonb_build_object(
        'run_id', new.id, 'kind', new.kind, 'assistant', new.assistant, 'conversation_id', new.conversation_id,
        'error_code', new.error_code));
      perform maas.maas_emit_agent_task(new.id);
    end if;
  end if;
  if old.archive_status <> 'FAILED' and new.archive_status = 'FAILED' then
    perform maas.maas_add_metrics(jsonb_build_array(jsonb_build_object(
      'name', 'archives_failed', 'events', 1, 'labels', jsonb_build_object('kind', new.kind))));
  end if;
  return null;
end $$;
comment on function maas.count_failure is
  'Counts failures where they are written, whoever writes them, and tells webhooks; they are rare';
create or replace trigger count_failure after update of status, archive_status on maas.pipeline_runs
  for each row when (old.status <> 'FAILED' and new.status = 'FAILED'
    or old.archive_status <> 'FAILED' and new.archive_status = 'FAILED')
  execute function maas.count_failure();

create or replace function maas.settle_steps()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.tool_executions set status = 'in_doubt' where run_id = new.id and effect <> 'read' and status = 'started';
  update maas.task_steps s set status = 'in_doubt', ended_at = clock_timestamp(), result = jsonb_build_object(
    'success', false, 'error_code', 'in_doubt',
    'message', 'it was begun and nobody knows whether it took effect')
  where s.run_id = new.id and s.status = 'running' and exists (
    select from maas.tool_executions e left join maas.tools t on t.name = e.tool
    where e.run_id = new.id and (e.call_id = 'step-' || s.number or starts_with(e.call_id, 'step-' || s.number || '-'))
      and e.effect <> 'read' and e.status = 'in_doubt'
      and t.is_idempotent is not true);
  -- nothing came of it: a retry begins it anew
  update maas.task_steps set status = 'pending' where run_id = new.id and status = 'running';
  return null;
end $$;
comment on function maas.settle_steps is
  'The step that was running when its task was ended: in_doubt if it was a write, else pending';
create or replace trigger settle_steps after update of status on maas.pipeline_runs
  for each row when (new.kind = 'task' and old.status <> 'FAILED' and new.status = 'FAILED')
  execute function maas.settle_steps();

create or replace function maas.continue_task()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_continue_task(new.id);
  return null;
end $$;
comment on function maas.continue_task is 'What its waiting steps held up may have been decided while the task went on';
create or replace trigger continue_task after update of status on maas.pipeline_runs
  for each row when (new.kind = 'task' and old.status <> 'COMPLETED' and new.status = 'COMPLETED')
  execute function maas.continue_task();

-- One notification for an update that changes both columns; UPDATE OF alone would fire for unchanged values, too.
create or replace trigger on_pipeline_status_change after update of status, archive_status on maas.pipeline_runs
  for each row when (
    (old.status is distinct from new.status or old.archive_status is distinct from new.archive_status)
    and coalesce(current_setting('maas.notify', true), '') not in ('wakeups', 'off'))
  execute function maas.notify_pipeline_change();

create or replace function maas.maas_actions_of(p_run uuid) returns jsonb language sql stable as $$
  select jsonb_agg(x.action order by x.place, x.at, x.id) from (
    select jsonb_build_object('id', a.id, 'tool', a.tool_name, 'arguments', a.tool_args,
      'fingerprint', maas.maas_fingerprint_action(a.tool_name, a.tool_version, a.args_hash)) as action,
      1 as place, a.created_at as at, a.id::text as id
    from maas.chat_pending_actions a where a.run_id = p_run
    union all
    select jsonb_build_object('tool', e.tool, 'arguments', e.arguments, 'status', e.status,
      'verification', case jsonb_typeof(e.result) when 'object' then e.result->'verification' end),
      2, e.created_at, e.id::text
    from maas.tool_executions e where e.run_id = p_run and e.effect <> 'read' and e.status <> 'started') x
$$;
comment on function maas.maas_actions_of is
  'What a run proposed: {id, tool, arguments, fingerprint}, then the writes that it made: '
  '{tool, arguments, status, verification}; null if there are none';

create or replace function maas.maas_tokens_of(p_run uuid, p_try int) returns int language sql stable as $$
  select least(sum(c.tokens_in::bigint + c.tokens_out), 2147483647)::int
  from maas.llm_calls c where c.run_id = p_run and c.try = p_try
$$;
comment on function maas.maas_tokens_of is
  'Tokens, in and out, of all model calls of a try so far; null if it made none';

create or replace function maas.store_answer()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if new.kind in ('ask', 'action', 'task') then
    -- A task was shown to nobody before its report: title and report are logged together, as an exchange of their own.
    insert into maas.raw_logs (
      user_id, run_id, message_type, content, conversation, metadata, is_remembered, archived_at, origins)
    select new.user_id, new.id, m.message_type, m.content,
      coalesce(new.conversation_id::text, to_char(new.created_at at time zone 'UTC', 'YYYY-MM-DD')),
      jsonb_build_object('request_id', new.id, 'timestamp', now()), new.is_remembered,
      case when not new.is_remembered then now() end,
      case m.place when 1 then '[]' else maas.maas_answer_origins(
        new.id, new.user_id, new.conversation_id, new.sources, new.user_query, new.final_answer) end
    from (values
      (1, 'user_query', new.user_query), (2, 'assistant_response', new.final_answer)) m(place, message_type, content)
    where m.place = 2 or new.kind = 'task' order by m.place
    on conflict do nothing;
    if exists (select from maas.webhook_endpoints) then
      perform maas.maas_emit('run.completed', new.user_id, new.id, jsonb_build_object(
        'run_id', new.id, 'kind', new.kind, 'assistant', new.assistant, 'conversation_id', new.conversation_id,
        'memory', new.memory));
      perform maas.maas_emit_agent_task(new.id);
    end if;
  end if;
  if new.conversation_id is not null then
    insert into maas.chat_messages (conversation_id, user_id, run_id, role, content, agent, actions, tokens_used)
    select c.id, new.user_id, new.id, 'assistant', new.final_answer, new.agent,
      maas.maas_actions_of(new.id), maas.maas_tokens_of(new.id, new.try)
    from maas.chat_conversations c where c.id = new.conversation_id and c.user_id = new.user_id;
    if new.agent is not null or new.domain is not null then
      -- Do not wait for a client that holds the row: the columns keep their value until the next answer.
      perform from maas.chat_conversations
      where id = new.conversation_id and user_id = new.user_id for no key update skip locked;
      if found then
        update maas.chat_conversations
        set last_agent = coalesce(new.agent, last_agent), last_domain = coalesce(new.domain, last_domain)
        where id = new.conversation_id;
      end if;
    end if;
  end if;
  -- Debug information was asked for and allowed if there are events of it.
  if new.metadata->'debugLayers' = 'true'
    and exists (select from maas.run_events e where e.run_id = new.id and e.type = 'layer') then
    perform maas.maas_add_event(new.id, 'layer', jsonb_build_object(
      'type', 'layer', 'layer', 11, 'name', 'stored', 'status', 'info',
      'timestamp', (1000 * extract(epoch from clock_timestamp()))::bigint, 'data', jsonb_build_object(
        'messages', (select count(*) from maas.chat_messages m where m.run_id = new.id),
        'model_calls', (select count(*) from maas.llm_calls c where c.run_id = new.id and c.try = new.try),
        'tool_calls', (select count(*) from maas.tool_executions e where e.run_id = new.id and e.try = new.try),
        'tokens', maas.maas_tokens_of(new.id, new.try))));
  end if;
  return null;
end $$;
comment on function maas.store_answer is
  'Writes an answer to raw_logs and to the messages of its conversation, notes there which agent gave it, '
  'and tells webhooks and the last debug layer';
create or replace trigger store_answer after update of final_answer on maas.pipeline_runs
  for each row when (old.final_answer is null and new.final_answer is not null
    and (new.kind in ('ask', 'action', 'task') or new.conversation_id is not null))
  execute function maas.store_answer();
