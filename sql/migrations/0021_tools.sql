-- Tools as HTTP sees them, and what their calls did.
--
--   start of an orchestrator   writes `tools`, and the definitions of built-in assistants into `assistants`
--   maas_count_call            before a call: how many this claim has made; null stops who lost the run
--   maas_begin_tool            before a write: run it, take what it gave before, or say that nobody knows
--   maas_finish_tool           after a write: what it gave
--   maas_note_read             after a read: reads are made again after a crash, so each is a row of its own
--
-- A write stands here as `started` before it is done. Who finds that row in a later claim cannot know whether it took
-- effect: it becomes `in_doubt`, the model is told so, and it is not done again unless the tool is idempotent.

create table tools (
  name varchar(64) primary key,
  domain text not null,
  description text not null,
  parameters jsonb not null,
  effect varchar(10) not null check (effect in ('read', 'write', 'dangerous')),
  version text not null,
  is_idempotent boolean not null,
  updated_at timestamptz not null default now()
);
comment on table tools is 'The tools that orchestrators have at hand; written by them at start';
comment on column tools.version is 'Changes with name, schema or effect';

create table tool_counts (
  run_id uuid not null references pipeline_runs on delete cascade,
  attempt int not null,
  calls int not null,
  primary key (run_id, attempt)
);
comment on table tool_counts is 'Tool calls of each claim of a run; a later claim goes through the same rounds, so it counts anew';

create table tool_executions (
  id bigint generated always as identity primary key,
  run_id uuid not null references pipeline_runs on delete cascade,
  try int not null,
  attempt int not null,
  call_id text not null,
  tool varchar(64) not null,
  args_hash text not null,
  effect varchar(10) not null check (effect in ('read', 'write', 'dangerous')),
  status varchar(10) not null check (status in ('started', 'done', 'failed', 'in_doubt')),
  result jsonb,
  ms real,
  created_at timestamptz not null default clock_timestamp()
);
comment on table tool_executions is 'What tools did for a run: started -> done, failed or in_doubt';
comment on column tool_executions.attempt is 'The claim of the run that made it';
comment on column tool_executions.args_hash is 'sha256 of the tool''s version and its arguments';
comment on column tool_executions.result is 'What a write gave, for whoever asks for the same again';
create unique index idx_tool_executions_write on tool_executions (run_id, tool, args_hash) where effect <> 'read';
create index idx_tool_executions_run_id on tool_executions (run_id, id);

create function maas_count_call(p_run uuid, p_attempt int) returns int language sql as $$
  insert into tool_counts as c (run_id, attempt, calls)
  select r.id, r.attempt, 1 from pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r
  on conflict (run_id, attempt) do update set calls = c.calls + 1
  returning calls
$$;
comment on function maas_count_call is 'Which call of this claim it is, from 1; null when the run is not the caller''s any more';

create function maas_begin_tool(p_run uuid, p_attempt int, p_call text, p_tool text, p_hash text, p_effect text, p_is_idempotent boolean)
returns table (verdict text, result jsonb) language plpgsql as $$
#variable_conflict use_column
declare
  run record;
  done record;
begin
  select r.try into run from pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return query select 'lost', null::jsonb;
    return;
  end if;
  insert into tool_executions (run_id, try, attempt, call_id, tool, args_hash, effect, status)
  values (p_run, run.try, p_attempt, p_call, p_tool, p_hash, p_effect, 'started')
  on conflict (run_id, tool, args_hash) where effect <> 'read' do nothing;
  if found then
    return query select 'run', null::jsonb;
    return;
  end if;
  select e.id, e.status, e.attempt, e.result into done from tool_executions e
  where e.run_id = p_run and e.tool = p_tool and e.args_hash = p_hash and e.effect <> 'read' for update;
  if done.status = 'done' or done.result is not null and done.attempt < p_attempt then
    return query select 'kept', done.result;
  elsif done.status = 'failed' or p_is_idempotent then
    update tool_executions set status = 'started', attempt = p_attempt, try = run.try, call_id = p_call, result = null, ms = null
    where id = done.id;
    return query select 'run', null::jsonb;
  else
    update tool_executions set status = 'in_doubt' where id = done.id;
    return query select 'in_doubt', null::jsonb;
  end if;
end $$;
comment on function maas_begin_tool is 'run; kept with what it gave before; in_doubt: it may have taken effect, do not repeat it; lost: the run is not the caller''s';

create function maas_finish_tool(p_run uuid, p_attempt int, p_tool text, p_hash text, p_status text, p_result jsonb, p_ms real)
returns boolean language plpgsql as $$
begin
  if p_status not in ('done', 'failed', 'in_doubt') or p_status is null then
    raise invalid_parameter_value using message = format('status: done, failed or in_doubt, not %s', coalesce(p_status, 'null'));
  end if;
  update tool_executions set status = p_status, result = p_result, ms = p_ms
  where run_id = p_run and attempt = p_attempt and tool = p_tool and args_hash = p_hash and effect <> 'read' and status = 'started';
  return found;
end $$;
comment on function maas_finish_tool is 'started -> done, failed or in_doubt; false when a later claim has it, or has doubted it';

create function maas_note_read(p_run uuid, p_attempt int, p_call text, p_tool text, p_hash text, p_status text, p_ms real)
returns boolean language plpgsql as $$
begin
  insert into tool_executions (run_id, try, attempt, call_id, tool, args_hash, effect, status, ms)
  select r.id, r.try, r.attempt, p_call, p_tool, p_hash, 'read', p_status, p_ms from pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  return found;
end $$;
comment on function maas_note_read is 'Notes a read that was made; false when the run is not the caller''s any more';
