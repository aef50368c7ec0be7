-- Dialogues that collect values.

-- name: open_session  -- $1 run, $2 attempt, $3 agent, $4 conversation, latest or user,
-- $5 whether the message opens a dialogue
select maas.maas_open_session($1, $2, $3, $4, $5);

-- name: open_pressed_session  -- $1 run, $2 attempt
select maas.maas_open_pressed_session($1, $2);

-- name: keep_session  -- $1 run, $2 attempt, $3 session
select maas.maas_save_session($1, $2, $3::jsonb);

-- name: press_button  -- $1 run, $2 user, $3 button, $4 how many unfinished requests the user may have, or null
select verdict, run_id from maas.maas_press_button($1, $2, $3, $4);

-- name: pressed_button  -- $1 run
select metadata->>'button' from maas.pipeline_runs where id = $1 and kind = 'action';
