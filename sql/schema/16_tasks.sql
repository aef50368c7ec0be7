-- Tasks: long work of an assistant in steps.

create table maas.tasks (
  run_id uuid primary key references maas.pipeline_runs on delete cascade,
  parent_run_id uuid,
  is_approved boolean not null,
  max_calls int not null check (max_calls between 1 and 1000),
  max_price bigint check (max_price >= 0),
  max_seconds int not null check (max_seconds between 1 and 86400)
);
comment on table maas.tasks is
  'What belongs to a run of kind task in addition to its steps: where it comes from, and its own limits';
comment on column maas.tasks.parent_run_id is 'The run that started it; null if another program did';
comment on column maas.tasks.is_approved is
  'Whether the user has approved exactly these steps: then none of them waits for approval';
comment on column maas.tasks.max_calls is
  'Tool and model calls, those that a crash repeats included; the steps beyond are skipped';
comment on column maas.tasks.max_price is
  'Micro-dollars that its model calls may cost; null: no limit. A call without a known price counts as nothing';
comment on column maas.tasks.max_seconds is 'Seconds after which no further step begins';
create index idx_tasks_parent_run_id on maas.tasks (parent_run_id) where parent_run_id is not null;

create table maas.task_steps (
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  number int not null,
  title text not null,
  tool varchar(64),
  arguments jsonb,
  prompt text,
  depends_on int[] not null default '{}',
  status varchar(10) not null default 'pending'
    check (status in ('pending', 'running', 'waiting', 'done', 'failed', 'in_doubt', 'skipped')),
  result jsonb,
  waits_for uuid[],
  started_at timestamptz,
  ended_at timestamptz,
  primary key (run_id, number),
  constraint step_has_a_tool_or_a_prompt
    check ((tool is not null or prompt is not null) and (arguments is null) = (prompt is not null)),
  constraint arguments_exceed_100_levels
    check (not arguments @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")')
);
comment on table maas.task_steps is
  'The steps of a task: pending -> running -> done, failed, in_doubt, skipped or waiting (until all is decided). '
  'Numbered from 1; a step begins when all that it depends on are done';
comment on column maas.task_steps.tool is 'The tool to call; null where a model is asked for a text';
comment on column maas.task_steps.prompt is
  'What the assistant''s model is asked; it gets the results of the steps that this one depends on. '
  'Beside a tool: what its calls are for, whose arguments the model works out from these results';
comment on column maas.task_steps.status is
  'waiting: its calls wait for their user; skipped: never begun; '
  'in_doubt: a write was begun and nobody knows whether it took effect, so it is not repeated';
comment on column maas.task_steps.result is 'What the call gave, as its model would read it; {"text"} of a model';
comment on column maas.task_steps.waits_for is 'The actions whose decisions and outcomes a waiting step waits for';
create index idx_task_steps_waiting on maas.task_steps using gin (waits_for) where status = 'waiting';
