-- Images of users.

-- name: keep_attachment  -- $1 user, $2 run that generated it, or null, $3 media type, $4 width, $5 height, $6 content
select maas.maas_store_attachment($1, $2, $3, $4, $5, $6);

-- name: attachment  -- $1 id, $2 user
select id, kind, media_type, octet_length(content) as bytes, width, height, sha256, created_at
from maas.attachments where id = $1 and user_id = $2;

-- name: attachment_content  -- $1 id, $2 user
select media_type, sha256, content from maas.attachments where id = $1 and user_id = $2;

-- name: drop_attachment  -- $1 id, $2 user
delete from maas.attachments where id = $1 and user_id = $2 returning id;

-- name: photo_of_run  -- $1 run
select a.id from maas.pipeline_runs r cross join unnest(r.attachment_ids) with ordinality n(id, place)
join maas.attachments a on a.id = n.id and a.user_id = r.user_id
where r.id = $1 order by n.place limit 1;

-- name: drawing_of_run  -- $1 run
select a.id from maas.pipeline_runs r
join maas.attachments a on a.run_id = r.id and a.user_id is not distinct from r.user_id where r.id = $1;

-- name: keep_drawing  -- $1 run, $2 media type, $3 width, $4 height, $5 content
select maas.maas_store_drawing($1, $2, $3, $4, $5);
