-- Pending actions: tool calls that wait for the user.

-- name: propose_action  -- $1 run, $2 call, $3 tool, $4 arguments, $5 effect, $6 version of the tool, $7 agent,
-- $8 place in its run, $9 wording
select p.id, maas.maas_fingerprint_action($3, $6, maas.maas_hash_arguments($4::jsonb)) as fingerprint
from maas.maas_propose_action($1, $2, $3, $4::jsonb, $5, $6, $7, p_place => $8, p_wording => $9::jsonb) p(id);

-- name: run_mode  -- $1 run: its own, or that of its conversation; null if neither is set
select coalesce(r.mode, c.mode) from maas.pipeline_runs r
left join maas.chat_conversations c on c.id = r.conversation_id and c.user_id = r.user_id
where r.id = $1;

-- name: action  -- $1 id, $2 its user, or null for any
select id, user_id, conversation_id, run_id, place, tool, tool_version, arguments, effect, assistant, agent, status,
  created_at, expires_at, decided_by, decided_at, action_run_id, result, fingerprint, wording,
  parameters, argument_names
from maas.v_actions where id = $1 and ($2::uuid is null or user_id = $2);

-- name: list_actions  -- $1 user, $2 status, $3 conversation, $4 $5 before this created_at and id, $6 how many;
-- nulls mean any; newest first
select id, user_id, conversation_id, run_id, place, tool, tool_version, arguments, effect, assistant, agent, status,
  created_at, expires_at, decided_by, decided_at, action_run_id, result, fingerprint, wording,
  parameters, argument_names
from maas.v_actions
where user_id = $1 and ($2::text is null or status = $2) and ($3::uuid is null or conversation_id = $3)
  and ($4::timestamptz is null or (created_at, id) < ($4, $5))
order by created_at desc, id desc limit $6;

-- name: plan  -- $1 user, $2 run, $3 status, $4 conversation; nulls mean any; in the order of the calls
select id, user_id, conversation_id, run_id, place, tool, tool_version, arguments, effect, assistant, agent, status,
  created_at, expires_at, decided_by, decided_at, action_run_id, result, fingerprint, wording,
  parameters, argument_names
from maas.v_actions
where user_id = $1 and run_id = $2 and ($3::text is null or status = $3) and ($4::uuid is null or conversation_id = $4)
order by place, created_at, id;

-- name: executed_actions  -- $1 runs: the approved actions that they execute
select r.id as run_id, a.id, a.tool_name as tool, a.wording->'title' as title
from maas.pipeline_runs r join maas.chat_pending_actions a on a.action_run_id = r.id and a.user_id = r.user_id
where r.id = any($1::uuid[]);

-- name: tool_parameters  -- $1 tool
select parameters, version from maas.tools where name = $1;

-- name: edit_action  -- $1 id, $2 user, $3 arguments, $4 how many unfinished requests the user may have, or null
select verdict, status, run_id from maas.maas_edit_action($1, $2, $3::jsonb, $4);

-- name: finish_edit  -- $1 run that looked them up, $2 attempt, $3 arguments, $4 wording
select maas.maas_finish_edit($1, $2, $3::jsonb, $4::jsonb);

-- name: decide_action  -- $1 id, $2 user, $3 approve or reject, $4 who decides,
-- $5 how many unfinished requests the user may have, or null, $6 fingerprint of what was shown, or null
select verdict, status, run_id from maas.maas_decide_action($1, $2, $3, $4, null, $5, $6);

-- name: undecided_actions  -- $1 run, $2 how many: what earlier runs of its conversation proposed and what waits,
-- or was decided in this run
select call, wording, arguments, is_shown, shown_place
from maas.maas_undecided_actions($1) with ordinality u(id, call, wording, arguments, is_shown, shown_place, n)
order by is_shown desc, n limit $2;

-- name: show_actions  -- $1 run, $2 attempt, $3 also what others proposed in its conversation, $4 how many
select id, tool, arguments, effect, wording, number from maas.maas_show_actions($1, $2, $3, $4);

-- name: decide_by_words  -- $1 run, $2 attempt, $3 approve or reject, $4 numbers in the list that was shown
select verdict, calls from maas.maas_decide_by_words($1, $2, $3, $4);

-- name: open_action  -- $1 run of kind action, $2 attempt
select verdict, call_id, tool, version, arguments, is_intact, status, result, asked, agent, wording, exists (
    select from maas.v_actions a join maas.task_steps s on s.run_id = a.run_id where a.action_run_id = $1) as is_of_task
from maas.maas_open_action($1, $2);

-- name: expire_actions
select maas.maas_expire_actions();

-- name: end_action  -- $1 run of kind action, $2 attempt, $3 status, $4 result
select maas.maas_end_action($1, $2, $3, $4::jsonb);
