-- The ledger of tool calls.
--
--   maas_count_call    before a call: its number within the claim
--   maas_begin_tool    before a write: run it, reuse its former result, or report that its effect is unknown
--   maas_finish_tool   after a write: its result
--   maas_record_read   after a read: a crash repeats reads, so each is a row of its own
--
-- A write has a row `started` before it is executed. If a later claim finds that row, nobody knows whether it took
-- effect: it becomes in_doubt and is not repeated unless the tool is idempotent.

create or replace function maas.maas_count_call(p_run uuid, p_attempt int)
returns int language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.tool_counts as c (run_id, attempt, calls)
  select r.id, r.attempt, 1 from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r
  on conflict (run_id, attempt) do update set calls = c.calls + 1
  returning calls
$$;
comment on function maas.maas_count_call is
  'The number of this tool call within the claim, from 1; null if the caller no longer owns the run';

create or replace function maas.maas_begin_tool(
  p_run uuid, p_attempt int, p_call text, p_tool text, p_hash text, p_effect text,
  p_is_idempotent boolean, p_arguments jsonb default null)
returns table (verdict text, result jsonb) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  run record;
  done record;
begin
  select r.try into run from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return query select 'lost', null::jsonb;
    return;
  end if;
  insert into maas.tool_executions (run_id, try, attempt, call_id, tool, args_hash, effect, status, arguments)
  values (p_run, run.try, p_attempt, p_call, p_tool, p_hash, p_effect, 'started', p_arguments)
  on conflict (run_id, tool, args_hash) where effect <> 'read' do nothing;
  if found then
    return query select 'run', null::jsonb;
    return;
  end if;
  select e.id, e.status, e.attempt, e.body into done from maas.tool_executions e
  where e.run_id = p_run and e.tool = p_tool and e.args_hash = p_hash and e.effect <> 'read' for update;
  if done.status = 'done' or done.body is not null and done.attempt < p_attempt then
    return query select 'kept', done.body;
  elsif done.status = 'failed' or p_is_idempotent then
    update maas.tool_executions set status = 'started', attempt = p_attempt, try = run.try, call_id = p_call,
      result = null, body = null, ms = null
    where id = done.id;
    return query select 'run', null::jsonb;
  else
    update maas.tool_executions set status = 'in_doubt' where id = done.id;
    return query select 'in_doubt', null::jsonb;
  end if;
end
$$;
comment on function maas.maas_begin_tool is
  'Returns run; kept and the former result; in_doubt: it may have taken effect, do not repeat it; '
  'lost: the caller no longer owns the run';

create or replace function maas.maas_finish_tool(p_run uuid, p_attempt int, p_tool text, p_hash text, p_status text,
  p_body jsonb, p_ms real, p_result jsonb default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_status not in ('done', 'failed', 'in_doubt') or p_status is null then
    raise invalid_parameter_value
      using message = format('status: done, failed or in_doubt, not %s', coalesce(p_status, 'null'));
  end if;
  update maas.tool_executions set status = p_status, body = p_body, result = p_result, ms = p_ms
  where run_id = p_run and attempt = p_attempt and tool = p_tool and args_hash = p_hash and effect <> 'read'
    and status = 'started';
  return found;
end
$$;
comment on function maas.maas_finish_tool is
  'started -> done, failed or in_doubt; p_body is the whole result, p_result what people are shown of it; '
  'false if a later claim has taken it over or marked it in_doubt';

create or replace function maas.maas_record_read(
  p_run uuid, p_attempt int, p_call text, p_tool text, p_hash text, p_status text,
  p_ms real, p_arguments jsonb default null, p_result jsonb default null, p_documents uuid[] default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.tool_executions (
    run_id, try, attempt, call_id, tool, args_hash, effect, status, ms, arguments, result, documents)
  select r.id, r.try, r.attempt, p_call, p_tool, p_hash, 'read', p_status, p_ms, p_arguments, p_result, p_documents
  from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  return found;
end
$$;
comment on function maas.maas_record_read is
  'Writes a read tool call to the ledger, with the documents whose text it gave; '
  'false if the caller no longer owns the run';

create or replace function maas.settle_action()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.chat_pending_actions set status = new.status, result = new.body
  where action_run_id = new.run_id and status = 'executing';
  return null;
end
$$;
comment on function maas.settle_action is
  'Ends an approved action in the statement that ends its line in the tool ledger';

create or replace trigger settle_action after update of status on maas.tool_executions
  for each row when (new.effect <> 'read' and new.status <> 'started' and old.status <> new.status)
  execute function maas.settle_action();

create or replace function maas.maas_failures_in_a_row(p_run uuid, p_tool text)
returns int language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with earlier as (
    select n.id from maas.pipeline_runs r cross join lateral (
      select o.id, o.conversation_id from maas.pipeline_runs o where o.user_id = r.user_id and o.seq < r.seq
      order by o.seq desc limit 100) n
    where r.id = p_run and n.conversation_id = r.conversation_id
  ), calls as (
    select e.id, e.status from maas.tool_executions e join earlier on earlier.id = e.run_id
    where e.tool = p_tool and e.status in ('done', 'failed') order by e.id desc limit 10
  )
  select count(*)::int from calls where id > coalesce((select max(id) from calls where status = 'done'), 0)
$$;
comment on function maas.maas_failures_in_a_row is
  'How often the tool failed without a success since, in the last runs of this conversation before this one; '
  'ten at most. What is in doubt does not count';
