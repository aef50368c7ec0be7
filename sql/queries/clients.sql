-- The Python client's calls by SQL: what any application may do under a role of its own.

-- name: client_insert  -- $1 id, $2 user, $3 query, $4 assistant, $5 conversation, $6 mode, $7 metadata as text,
-- $8 ids of attachments as text, $9 priority as a number, $10 time as text, $11 attributes as text, $12 seconds
insert into maas.pipeline_runs (id, user_id, user_query, assistant, conversation_id, mode, metadata, attachment_ids,
  priority, run_at, attributes, debounce)
values ($1::uuid, $2::uuid, $3::text, $4::text, $5::uuid, $6::text, $7::text::jsonb, $8::text[]::uuid[],
  $9::int, $10::text::timestamptz, $11::text::jsonb, $12::float8)
on conflict do nothing;  -- the id is the client's own: a row that has it is the same request, sent again

-- name: client_joined  -- $1 id: of the run that answers a request which waited for others
select run_id from maas.maas_joined_run($1::uuid);

-- name: client_look  -- $1 id
select id as request_id, status, archive_status, final_answer, error_code, error_message, degraded, limited, assistant,
  conversation_id, memory, memory_reasons, coalesce(sources, '[]') as sources, '[]'::jsonb as buttons,
  '[]'::jsonb as attachments
from maas.pipeline_runs where id = $1::text::uuid;

-- name: client_listen
listen pipeline_events;

-- name: client_unlisten
unlisten pipeline_events;
