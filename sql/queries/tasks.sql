-- Tasks and their steps.

-- name: insert_task  -- $1 user, $2 title, $3 steps, $4 parent run, $5 assistant, $6 conversation,
-- $7 whether the user approved it, $8 limits
select verdict, run_id from maas.maas_insert_task($1, $2, $3::jsonb, $4, $5, $6, $7, $8::jsonb);

-- name: next_step  -- $1 run, $2 attempt, $3 whether it may let other runs go first
select verdict, number, call_id, title, tool, arguments, prompt, results, is_approved, max_calls, ended, total
from maas.maas_next_step($1, $2, $3);

-- name: end_step  -- $1 run, $2 attempt, $3 number, $4 status, $5 result, $6 the actions that it waits for
select maas.maas_end_step($1, $2, $3, $4, $5::jsonb, $6);

-- name: task_steps  -- $1 run
select number, title, tool, status, result from maas.task_steps where run_id = $1 order by number;
