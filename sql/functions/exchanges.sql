-- Exchanges with models that clients call by their own names: answered outside the queue, remembered through it.

create or replace function maas.maas_store_exchange(p_user uuid, p_exchange jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  e record;
  replaced uuid;
  is_finished boolean;  -- whether no Archivist will read the earlier exchange
begin
  select * into e from jsonb_to_record(p_exchange) as x(
    id uuid, kind text, query text, answer text, caller text, key text, conversation_id uuid,
    metadata jsonb, is_remembered boolean, payload text, sources jsonb, reasons text[], began timestamptz, code text,
    message text, calls jsonb, replace_within float8);
  if exists (select from maas.pipeline_runs r where r.id = e.id) then
    return 'stored';  -- the reply to the first attempt was lost
  end if;
  if e.key is not null then
    perform maas.maas_lock('exchanges', p_user::text);  -- the same question may have been asked several times at once
    update maas.pipeline_runs r set idempotency_key = null
    where r.caller = e.caller and r.idempotency_key = e.key and r.user_id = p_user
    returning case when r.created_at > now() - make_interval(secs => e.replace_within) then r.id end, r.queue_state = 2
    into replaced, is_finished;
  end if;
  perform set_config('maas.passthrough', 'on', true);  -- models are no assistants
  insert into maas.pipeline_runs (
    id, user_id, user_query, assistant, kind, source, caller, idempotency_key, conversation_id, metadata, is_remembered)
  values (
    e.id, p_user, e.query, 'passthrough', e.kind, 'openai', e.caller, e.key, e.conversation_id, e.metadata,
    e.is_remembered);
  perform set_config('maas.maintenance', 'on', true);  -- it passes no stage before the Archivist
  update maas.pipeline_runs r set
    status = case when e.code is null then 'COMPLETED' else 'FAILED' end,
    queue_state = case when e.kind = 'ask' then r.queue_state else 2 end,
    archive_status = case when e.kind = 'ask' then r.archive_status else 'SKIPPED' end,
    final_context_payload = e.payload, final_answer = e.answer, sources = e.sources,
    memory_reasons = coalesce(e.reasons, '{}'), error_code = e.code, error_message = e.message, replaces = replaced,
    analyzing_at = e.began, responding_at = e.began,
    completed_at = case when e.code is null then clock_timestamp() end,
    failed_at = case when e.code is not null then clock_timestamp() end
  where r.id = e.id;
  perform set_config('maas.maintenance', '', true);
  perform set_config('maas.passthrough', '', true);
  perform maas.maas_add_calls(e.calls);
  if is_finished and replaced is not null then
    perform maas.maas_drop_replaced(e.id);  -- else the Archivist does, when the run that is replaced is finished
  end if;
  return case when replaced is null then 'stored' else 'replaced' end;
end
$$;
comment on function maas.maas_store_exchange is
  'Stores a call of a pass-through model with its outcome. Kind ask: a question that was answered, for the Archivist; '
  'call: one that ended in tool calls or failed, kept for its cost alone. An exchange of this key that is younger than '
  'replace_within seconds was answered again, and leaves memory. Returns stored or replaced';

create or replace function maas.maas_replaced_runs(p_user uuid, p_run uuid) returns setof uuid language sql stable as $$
  with recursive earlier as (
    select o.id, o.replaces, 1 as place from maas.pipeline_runs r
    join maas.pipeline_runs o on o.id = r.replaces and o.user_id = p_user where r.id = p_run and r.user_id = p_user
    union all
    select o.id, o.replaces, e.place + 1 from earlier e
    join maas.pipeline_runs o on o.id = e.replaces and o.user_id = p_user where e.place < 1000
  )
  select id from earlier order by place desc
$$;
comment on function maas.maas_replaced_runs is
  'The runs whose question this run answers again, oldest first: the one that it replaces, the one that this had '
  'replaced, and so on, also those that failed';

create or replace function maas.maas_dropped_runs(p_user uuid, p_run uuid) returns setof uuid language sql stable as $$
  with replaced as materialized (
    select id from maas.maas_replaced_runs(p_user, p_run) o(id)
  )
  select id from replaced
  union
  select l.id from maas.pipeline_runs r
  cross join lateral (select min(o.seq) as seq from maas.pipeline_runs o where o.id in (select id from replaced)) first
  join maas.pipeline_runs l on l.user_id = p_user and l.seq > first.seq and l.seq < r.seq
    and l.conversation_id = r.conversation_id and l.kind = 'ask'
  where r.id = p_run and r.user_id = p_user and r.source <> 'openai'
$$;
comment on function maas.maas_dropped_runs is
  'The runs that leave a conversation with the question that this run answers again: its versions before, and the '
  'questions that followed them. Clients of OpenAI''s protocol resend a dialogue: of theirs only the versions';

create or replace function maas.maas_drop_replaced(p_run uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target_user uuid;
  logs uuid[];
begin
  select r.user_id, array_agg(g.id) into target_user, logs
  from maas.pipeline_runs r
  cross join lateral maas.maas_dropped_runs(r.user_id, r.id) o
  join maas.raw_logs g on g.run_id = o and g.user_id = r.user_id
  where r.id = p_run group by r.user_id;
  if logs is not null then
    perform maas.maas_lock_memory(target_user);
    perform maas.maas_delete_logs(target_user, null, logs);
  end if;
end
$$;
comment on function maas.maas_drop_replaced is
  'Deletes from memory the exchanges of the runs that leave with what this one has answered again; they must be '
  'finished';
