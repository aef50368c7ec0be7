-- Notes that a user asked to keep.

-- name: notes  -- $1 user; oldest first, each with the message in which the user asked for it
select n.id, n.content, l.id as log_id
from maas.user_notes n left join lateral (
  select id from maas.raw_logs
  where run_id = n.run_id and user_id is not distinct from $1 and message_type = 'user_query'
    and turn_no = 0 offset 0) l on true
where n.user_id = $1 order by n.created_at, n.id;

-- name: add_note  -- $1 run, $2 text
select maas.maas_add_note($1, $2);

-- name: drop_note  -- $1 run, $2 text
select maas.maas_drop_note($1, $2);
