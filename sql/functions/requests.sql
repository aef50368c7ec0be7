-- The triggers of the view run_requests, by which applications ask.
--
-- They run as whoever inserts: rights on columns, row security and the limits of a user are those of pipeline_runs, and
-- nothing here reaches beyond them.

create or replace function maas.insert_request() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  request maas.run_requests;
  named text := new.user_name;  -- in RETURNING, new is the row of the table from Postgres 18 on
  written text[];
  joined record;  -- the run that answers it together with others
begin
  if num_nonnulls(new.status, new.final_answer, new.error_code, new.error_message, new.archive_status, new.memory,
    new.created_at, new.completed_at) > 0 then
    written := array_remove(array[
      case when new.status is not null then 'status' end,
      case when new.final_answer is not null then 'final_answer' end,
      case when new.error_code is not null then 'error_code' end,
      case when new.error_message is not null then 'error_message' end,
      case when new.archive_status is not null then 'archive_status' end,
      case when new.memory is not null then 'memory' end, case when new.created_at is not null then 'created_at' end,
      case when new.completed_at is not null then 'completed_at' end], null);
    raise generated_always using
      message = format('%s: MaaS writes this, an insert must leave it out', array_to_string(written, ', ')),
      table = 'run_requests', column = written[1];
  end if;

  if named is not null then
    if new.user_id is not null then
      raise check_violation using message = 'user_name: set it or user_id, not both',
        table = 'run_requests', column = 'user_name';
    elsif not has_function_privilege('maas.maas_user_id(text)', 'execute') then
      raise insufficient_privilege using message = 'user_name: this login may not name users',
        hint = 'set user_id, or have the owner of MaaS grant execute on function maas.maas_user_id(text) to the login',
        table = 'run_requests', column = 'user_name';
    end if;
    new.user_id := maas.maas_user_id(named);
  elsif new.user_id is null then
    new.user_id := maas.maas_session_user();
    if new.user_id is null then
      raise not_null_violation using message = 'user_id: set it; no claims of this session name a user',
        table = 'run_requests', column = 'user_id';
    end if;
  end if;

  -- An ORM writes null into JSON in two ways.
  if not exists (select from maas.maas_joined_run(new.id, 'sql:' || new.user_id, new.idempotency_key)) then
    insert into maas.pipeline_runs as r (
      id, user_id, user_query, assistant, conversation_id, mode, is_remembered, metadata, idempotency_key, priority,
      run_at, debounce, attributes)
    values (new.id, new.user_id, new.user_query, new.assistant, new.conversation_id, new.mode, new.is_remembered,
      nullif(new.metadata, 'null'), new.idempotency_key, new.priority, new.run_at, new.debounce,
      nullif(new.attributes, 'null'))
    on conflict do nothing
    returning r.id, r.user_id, named, r.user_query, r.assistant, r.conversation_id, r.mode, r.is_remembered,
      r.metadata, r.idempotency_key, r.priority, r.run_at, r.debounce, r.attributes, r.status, r.final_answer,
      r.error_code, r.error_message, r.archive_status, r.memory,
      r.created_at, r.completed_at
    into request;
    if found and new.debounce is null then
      return request;
    end if;
  end if;

  select * into joined from maas.maas_joined_run(
    coalesce(request.id, new.id), 'sql:' || new.user_id, new.idempotency_key);
  if found then
    if joined.digest <> maas.maas_request_digest(new.user_query, coalesce(new.assistant, 'mentor'),
      new.conversation_id, nullif(new.metadata, 'null'), '{}', new.mode, null, coalesce(new.priority, 0),
      nullif(new.attributes, 'null')) then
      raise unique_violation using table = 'run_requests',
        message = 'id or idempotency_key: is that of another request; take a new one';
    end if;
    select q.* into request from maas.run_requests q where q.id = joined.run_id;
    request.user_name := named;
    return request;
  end if;

  -- It was sent before: the same gives the row that is there, anything else is refused.
  select q.* into request from maas.run_requests q join maas.pipeline_runs r using (id)
  where id = new.id
    or r.user_id = new.user_id and r.source = 'sql' and r.idempotency_key = new.idempotency_key
  order by id is distinct from new.id limit 1;
  if (request.user_id, request.user_query, request.assistant, request.conversation_id, request.mode, request.metadata,
      request.idempotency_key, request.priority, request.run_at, request.attributes,
      request.is_remembered and new.is_remembered is false)
    is distinct from (new.user_id, new.user_query, coalesce(new.assistant, 'mentor'), new.conversation_id, new.mode,
      nullif(new.metadata, 'null'), new.idempotency_key, coalesce(new.priority, 0), new.run_at,
      nullif(new.attributes, 'null'), false) then
    raise unique_violation using
      message = format('%s: is that of another request; take a new one',
        case when new.idempotency_key is null or request.id = new.id then 'id' else 'idempotency_key' end),
      table = 'run_requests';
  end if;
  request.user_name := named;
  return request;
end
$$;
comment on function maas.insert_request is
  'Inserts a request into pipeline_runs, of user_id, of user_name, or of the user of the session; null means the '
  'default, and what is repeated with its id or its idempotency key is one request';

create or replace function maas.refuse_request_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise insufficient_privilege using
    message = case tg_op
      when 'UPDATE' then 'run_requests: a request cannot be changed'
      else 'run_requests: a request cannot be deleted' end,
    hint = case tg_op
      when 'UPDATE' then 'to stop it: select maas.maas_cancel_run(id), as an operator; then insert another'
      else 'to delete what was remembered: select maas.maas_forget(id of the memory), or all of a user: '
        'select maas.maas_erase(user_id), as the owner' end,
    table = 'run_requests';
end
$$;
comment on function maas.refuse_request_change is 'Refuses UPDATE and DELETE of run_requests, and says what to call';
