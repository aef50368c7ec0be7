-- Tools and the ledger of their calls.

create table maas.tools (
  name varchar(64) primary key,
  domain text not null,
  description text not null,
  parameters jsonb not null,
  effect varchar(10) not null check (effect in ('read', 'write', 'dangerous')),
  version text not null,
  is_idempotent boolean not null,
  updated_at timestamptz not null default now(),
  argument_names text[] not null default '{}',
  is_looked_up boolean not null default false,
  constraint parameters_exceed_100_levels
    check (not parameters @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")')
);
comment on table maas.tools is 'The tools that orchestrators offer; written by them at start';
comment on column maas.tools.version is 'Changes with name, schema or effect';
comment on column maas.tools.argument_names is
  'The names of its arguments in the order of its schema, which parameters does not keep';
comment on column maas.tools.is_looked_up is
  'Whether it looks up the arguments of a call before its user decides on it';

create table maas.tool_counts (
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  attempt int not null,
  calls int not null,
  primary key (run_id, attempt)
);
comment on table maas.tool_counts is
  'Number of tool calls per claim of a task or an action; the limit of a task counts all of its claims';

create table maas.tool_executions (
  id bigint primary key generated always as identity,
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  try int not null,
  attempt int not null,
  call_id text not null,
  tool varchar(64) not null,
  args_hash text not null,
  effect varchar(10) not null check (effect in ('read', 'write', 'dangerous')),
  status varchar(10) not null check (status in ('started', 'done', 'failed', 'in_doubt')),
  arguments jsonb,
  result jsonb,
  body jsonb,
  documents uuid[],
  ms real,
  created_at timestamptz not null default clock_timestamp()
);
comment on table maas.tool_executions is 'The ledger of tool calls of a run: started -> done, failed or in_doubt';
comment on column maas.tool_executions.attempt is 'The claim of the run that made the call';
comment on column maas.tool_executions.args_hash is 'SHA-256 of the tool''s version and its arguments';
comment on column maas.tool_executions.arguments is 'For people: without secrets and phone numbers, at most 8 kB';
comment on column maas.tool_executions.result is
  'For people: what the call gave, without secrets and phone numbers, at most 8 kB';
comment on column maas.tool_executions.body is 'The whole result of a write, for a caller that repeats the call';
comment on column maas.tool_executions.documents is
  'The documents whose text the result of a read holds; null for a tool that does not say';
create index idx_tool_executions_run_id on maas.tool_executions (run_id, id);
create unique index idx_tool_executions_write on maas.tool_executions (run_id, tool, args_hash) where effect <> 'read';
