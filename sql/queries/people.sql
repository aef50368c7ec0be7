-- Users: audit, retention, erasing, forgetting, export and restore.

-- name: note_audit  -- $1 action, $2 user, $3 subject, $4 details, $5 actor
select maas.maas_write_audit($1, $2, $3, $4::jsonb, $5);

-- name: sweep  -- $1 days
select maas.maas_purge_expired($1);

-- name: answering  -- $1 user
select id from maas.pipeline_runs where user_id = $1 and queue_state = 1 and status <> 'COMPLETED';

-- name: erase_user  -- $1 user, $2 actor; null while rows are left
select maas.maas_erase($1, $2);

-- name: erasure  -- $1 user
select late_calls, (select sum(rows::bigint) from jsonb_each_text(deleted) d(name, rows))::bigint as deleted
from maas.erasures where user_id = $1;

-- name: resume_erasure  -- $1 seconds without progress, $2 user or null
select user_id, receipt from maas.maas_resume_erasure(make_interval(secs => $1), $2);

-- name: forget  -- $1 id, $2 user or null, $3 actor, $4 whether to delete doubtful answers, too
select maas.maas_forget($1, $2, $3, $4);

-- name: memories_from  -- $1 user, null for all, $2 what an origin holds
select user_id, id from maas.maas_memories_from($1, $2::jsonb);

-- name: answers_from  -- $1 user, null for all, $2 what an origin holds, $3 how many; newest first, `total` counts all
select id, run_id as request_id, created_at, answer, count(*) over () as total
from maas.maas_answers_from($1, $2::jsonb) limit $3;

-- name: remember  -- $1 user, $2 messages
select run_id, log_ids from maas.maas_remember($1, $2::jsonb);

-- name: check_memory  -- $1 user
select maas.maas_check_quotas($1, '{user_memory_bytes}');

-- name: restore_rows  -- $1 table, $2 user, $3 rows as text, $4 whether to keep free ids,
-- $5 the image of the only row, or null
select maas.maas_restore(('maas.' || $1::text)::regclass, $2, case when $5::bytea is null then $3::text::jsonb
  else jsonb_set($3::text::jsonb, '{0,content}', to_jsonb('\x' || encode($5::bytea, 'hex'))) end, $4);

-- name: settle_restore  -- $1 user, $2 label
select maas.maas_finish_restore($1, $2);

-- name: use_utc
select set_config('timezone', 'UTC', true);

-- name: export_header  -- $1 user
select json_build_object('maas', 'export', 'version', 1, 'user_id', $1::uuid, 'exported_at', now())::text as line;

-- name: export_logs  -- $1 user
select (jsonb_build_object('type', 'log', 'at', l.occurred_at,
    'role', maas.maas_role(l.message_type))
  || (to_jsonb(l) - '{message_type,occurred_at}'::text[] - d.names))::text as line
from maas.raw_logs l cross join (select maas.maas_derived_columns('maas.raw_logs') as names) d
where l.user_id = $1 order by l.occurred_at, l.seq;

-- name: export_records  -- $1 user
select (jsonb_build_object('type', 'record') || (to_jsonb(l) - d.names))::text as line
from maas.lsm_storage l cross join (select maas.maas_derived_columns('maas.lsm_storage') as names) d
where l.user_id = $1 and not l.is_provisional order by l.created_at, l.id;

-- name: export_corrections  -- $1 user
select (jsonb_build_object('type', 'correction') || (to_jsonb(c) - 'user_id'))::text as line
from maas.memory_corrections c where c.user_id = $1 order by c.created_at, c.id;

-- name: export_facts  -- $1 user
select (jsonb_build_object('type', 'fact') || (to_jsonb(f) - d.names))::text as line
from maas.facts f cross join (select maas.maas_derived_columns('maas.facts') as names) d
where f.user_id = $1 order by f.seq;

-- name: export_fact_decisions  -- $1 user
select (jsonb_build_object('type', 'fact_decision') || (to_jsonb(f) - 'user_id'))::text as line
from maas.fact_decisions f where f.user_id = $1 order by f.created_at, f.id;

-- name: export_fact_names  -- $1 user
select (jsonb_build_object('type', 'fact_name') || (to_jsonb(f) - 'user_id'))::text as line
from maas.fact_names f where f.user_id = $1 order by f.created_at, f.id;

-- name: export_conversations  -- $1 user; what opening tools gave is left out: they are called again
select (jsonb_build_object('type', 'conversation') || (to_jsonb(c) - array['user_id', 'start_results']))::text as line
from maas.chat_conversations c where c.user_id = $1 order by c.created_at, c.id;

-- name: export_messages  -- $1 user; tool calls are left out: people read the answers, and an import needs no others
select (jsonb_build_object('type', 'message') || (to_jsonb(m) - 'user_id'))::text as line
from maas.chat_messages m where m.user_id = $1 and m.role <> 'tool' order by m.created_at, m.id;

-- name: export_tool_messages  -- $1 user
select (jsonb_build_object('type', 'message') || (to_jsonb(m) - 'user_id'))::text as line
from maas.chat_messages m where m.user_id = $1 and m.role = 'tool' order by m.created_at, m.id;

-- name: export_documents  -- $1 user; those that could be read
select (jsonb_build_object('type', 'document')
  || (to_jsonb(d) - n.names - '{chunks,status,error,embedded_by,embedding_until,updated_at}'::text[]))::text as line
from maas.knowledge_documents d cross join (select maas.maas_derived_columns('maas.knowledge_documents') as names) n
where d.user_id = $1 and d.chunks > 0 order by d.created_at, d.id;

-- name: export_passages  -- $1 user
select (jsonb_build_object('type', 'passage') || (to_jsonb(c) - n.names))::text as line
from maas.knowledge_documents d join maas.knowledge_chunks c on c.document_id = d.id and c.user_id = d.user_id
cross join (select maas.maas_derived_columns('maas.knowledge_chunks') as names) n
where d.user_id = $1 order by d.created_at, d.id, c.number;

-- name: export_attachments  -- $1 user; content in base64, without the line breaks of Postgres
select json_build_object(
  'type', 'attachment', 'id', id, 'kind', kind, 'run_id', run_id, 'media_type', media_type, 'width', width,
  'height', height, 'sha256', sha256, 'created_at', created_at,
  'content', translate(encode(content, 'base64'), e'\n', ''))::text as line
from maas.attachments where user_id = $1 order by created_at, id;

-- name: export_actions  -- $1 user
select (jsonb_build_object('type', 'action') || (to_jsonb(a) - 'user_id'))::text as line
from maas.chat_pending_actions a where a.user_id = $1 order by a.created_at, a.id;

-- name: export_runs  -- $1 user
select json_build_object('type', 'run', 'id', id, 'kind', kind, 'steps', (
    select json_agg(to_jsonb(s) - 'run_id' order by s.number) from maas.task_steps s where s.run_id = pipeline_runs.id),
   'source', source, 'assistant', assistant,
  'conversation_id', conversation_id, 'metadata', metadata, 'attachment_ids', attachment_ids, 'query', user_query,
  'answer', final_answer, 'status', status, 'archive_status', archive_status, 'error_code', error_code, 'error_message',
  error_message, 'degraded', degraded, 'limited', limited, 'memory', memory, 'memory_reasons', memory_reasons,
  'sources', sources, 'is_remembered', is_remembered, 'try', try, 'created_at', created_at, 'analyzing_at',
  analyzing_at, 'completed_at', completed_at, 'failed_at', failed_at, 'archived_at', archived_at)::text as line
from maas.pipeline_runs where user_id = $1 and kind <> 'trial' order by seq;
