-- Dialogues that collect values.

-- name: open_session  -- $1 run, $2 attempt
select maas_open_session($1, $2);

-- name: keep_session  -- $1 run, $2 attempt, $3 session
select maas_keep_session($1, $2, $3::jsonb);
