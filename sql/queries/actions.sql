-- Calls that wait for a word of the user.

-- name: propose_action  -- $1 run, $2 call, $3 tool, $4 arguments, $5 effect, $6 version of the tool, $7 assistant
select maas_propose_action($1, $2, $3, $4::jsonb, $5, $6, $7);

-- name: conversation_mode
select mode from chat_conversations where id = $1;
