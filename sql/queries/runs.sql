-- The client's side of pipeline_runs.

-- name: insert_runs
insert into pipeline_runs (id, user_id, user_query, assistant, conversation_id, metadata, source, caller, idempotency_key)
select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::jsonb[], $7::text[], $8::text[], $9::text[])
on conflict (caller, idempotency_key) where idempotency_key is not null do nothing
returning id;

-- name: run_of_key
select id, user_id, user_query, assistant, conversation_id, metadata from pipeline_runs where caller = $1 and idempotency_key = $2;

-- name: run
select id, seq, user_id, user_query, assistant, conversation_id, kind, source, metadata, status, archive_status, lane, try, attempt,
  deaths, analysis_result, sources, draft_context, final_context_payload, final_answer, error_code, error_message, degraded,
  cancel_requested_at, created_at, updated_at, claimed_at, analyzing_at, analyzed_at, assembling_at, ready_at, responding_at,
  completed_at, failed_at, archived_at
from pipeline_runs where id = $1;

-- name: run_state
select status, archive_status from pipeline_runs where id = $1;

-- name: list_runs  -- $1 user, $2 status, $3 $4 before this created_at and id, $5 how many; nulls mean any; newest first
select id, seq, user_id, kind, assistant, conversation_id, source, status, archive_status, left(user_query, 200) as query,
  error_code, error_message, created_at, completed_at
from pipeline_runs
where ($1::uuid is null or user_id = $1) and ($2::text is null or status = $2)
  and ($3::timestamptz is null or (created_at, id) < ($3, $4))
order by created_at desc, id desc limit $5;

-- name: cancel_run
select maas_cancel_run($1);

-- name: retry_run
select maas_retry_run($1);

-- name: run_history
select happened, at, details from v_run_history where run_id = $1 order by at;

-- name: run_calls
select try, stage, round, attempt, provider, model, role_name, prompt_version, reply, finish, attempts, tokens_in, tokens_out, ms,
  error, created_at
from llm_calls where run_id = $1 order by try, created_at, stage, round;

-- name: schema_is_there
select to_regclass('pipeline_runs') is not null and to_regproc('maas_import') is not null;

-- name: server_version
select current_setting('server_version') as version, current_setting('server_version_num')::int as number;

-- name: extensions
select extname from pg_extension where extname in ('vector', 'btree_gin', 'fuzzystrmatch', 'unaccent', 'pg_trgm') order by 1;
