-- What the emulator asks of the database of MaaS, and how it lets days pass.

-- name: run
select r.status, r.final_answer, r.error_code, r.error_message, r.degraded, coalesce(r.sources, '[]') as sources,
  coalesce(r.final_context_payload, '') as payload, r.queue_state = 2 as is_ended, r.archive_status,
  extract(epoch from r.completed_at - r.created_at)::float8 as seconds,
  (select coalesce(sum(c.tokens_in), 0)::int from maas.llm_calls c where c.run_id = r.id) as tokens_in,
  (select coalesce(sum(c.tokens_out), 0)::int from maas.llm_calls c where c.run_id = r.id) as tokens_out
from maas.pipeline_runs r where r.id = %(run)s;

-- name: unfinished
select count(*) as runs from maas.pipeline_runs where user_id = %(user)s and queue_state < 2;

-- name: logs_of_run
select id from maas.raw_logs where run_id = %(run)s and user_id = %(user)s;

-- name: records_of_logs
select id from maas.lsm_storage where user_id = %(user)s and raw_log_ids && %(logs)s::uuid[];

-- name: calls
select e.tool, e.arguments, e.status from maas.tool_executions e join maas.pipeline_runs r on r.id = e.run_id
where r.user_id = %(user)s and r.created_at >= %(since)s order by e.id;

-- name: pending
select id, tool_name as tool, tool_args as arguments,
  maas.maas_fingerprint_action(tool_name, tool_version, args_hash) as fingerprint
from maas.chat_pending_actions where user_id = %(user)s and status = 'pending' order by created_at desc, place;

-- name: decide
select verdict, run_id
from maas.maas_decide_action(%(action)s, %(user)s, %(decision)s, 'emulator', p_fingerprint => %(fingerprint)s);

-- name: forget_import_time
update maas.raw_logs set created_at = occurred_at, known_at = least(known_at, occurred_at)
where user_id = %(user)s and occurred_at < created_at;

-- name: purge
select maas.maas_purge_expired(%(days)s) as counts;

-- name: expired
select exists (
  select from maas.maas_expired_logs(now() - make_interval(days => %(days)s)) g where g.user_id = %(user)s) as is_left;

-- name: age_logs
update maas.raw_logs set occurred_at = occurred_at - %(past)s, known_at = known_at - %(past)s,
  created_at = created_at - %(past)s, archived_at = archived_at - %(past)s
where user_id = %(user)s;

-- name: age_summaries
update maas.lsm_storage set time_bucket_start = time_bucket_start - %(days)s,
  time_bucket_end = time_bucket_end - %(days)s, occurred_at = occurred_at - %(past)s, known_at = known_at - %(past)s,
  created_at = created_at - %(past)s, superseded_at = superseded_at - %(past)s
where user_id = %(user)s;

-- name: age_runs
update maas.pipeline_runs set created_at = created_at - %(past)s, claimed_at = claimed_at - %(past)s,
  analyzing_at = analyzing_at - %(past)s, analyzed_at = analyzed_at - %(past)s,
  assembling_at = assembling_at - %(past)s, ready_at = ready_at - %(past)s, responding_at = responding_at - %(past)s,
  completed_at = completed_at - %(past)s, failed_at = failed_at - %(past)s, archived_at = archived_at - %(past)s
where user_id = %(user)s;

-- name: age_conversations
update maas.chat_conversations set created_at = created_at - %(past)s where user_id = %(user)s;

-- name: age_messages
update maas.chat_messages set created_at = created_at - %(past)s where user_id = %(user)s;

-- name: age_facts
update maas.facts set said_at = said_at - %(past)s, known_at = known_at - %(past)s, created_at = created_at - %(past)s
where user_id = %(user)s;

-- name: age_actions
update maas.chat_pending_actions set created_at = created_at - %(past)s, expires_at = expires_at - %(past)s,
  decided_at = decided_at - %(past)s
where user_id = %(user)s;

-- name: add_prompt
insert into maas.system_prompts (role_name, prompt_template) values (%(role)s, %(prompt)s)
on conflict (role_name) do update set prompt_template = excluded.prompt_template;

-- name: add_assistant
insert into maas.assistants (name, role_name, definition) values (%(name)s, %(role)s, %(definition)s)
on conflict (name) do update set definition = excluded.definition, is_active = true;
