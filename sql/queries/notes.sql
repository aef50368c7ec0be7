-- Notes that a user asked to keep.

-- name: notes  -- $1 user; oldest first, each with the message in which the user asked for it
select id, content, log_id from maas.maas_notes($1);

-- name: add_note  -- $1 run, $2 text
select maas.maas_add_note($1, $2);

-- name: drop_note  -- $1 run, $2 text
select maas.maas_drop_note($1, $2);
