-- Answers and assistants as clients of OpenAI's protocol see them.

-- name: completion  -- $1 run; tokens of all calls of the current try, without those of the Archivist
select r.status, r.assistant, r.conversation_id, r.created_at, r.user_query, r.final_context_payload, r.final_answer,
  r.error_code, r.error_message, r.sources, r.degraded, r.limited, r.memory, r.memory_reasons, c.tokens_in,
  c.tokens_out, c.tokens_cached, c.finish, (
    select jsonb_agg(
      jsonb_build_object('id', a.id, 'tool', a.tool, 'arguments', a.arguments, 'expires_at', a.expires_at,
          'fingerprint', a.fingerprint)
      order by a.created_at, a.id)
    from maas.v_actions a where a.run_id = r.id and a.user_id = r.user_id and a.status = 'pending') as actions
from maas.pipeline_runs r cross join lateral (
  select coalesce(sum(l.tokens_in), 0) as tokens_in, coalesce(sum(l.tokens_out), 0) as tokens_out,
    coalesce(sum(l.tokens_cached), 0) as tokens_cached,
    (array_agg(l.finish order by l.round desc) filter (
      where l.stage = 'final_responder' and l.role_name not in ('Tool', 'Image')))[1] as finish
  from maas.llm_calls l where l.run_id = r.id and l.try = r.try and l.stage <> 'archivist') c
where r.id = $1;

-- name: answering_assistants  -- $1 source of requests, $2 name or null: all
select name, updated_at, jsonb_path_exists(definition, '$.**.photo ? (@ == true)') as takes_photos from maas.assistants
where is_active and ($2::text is null or name = $2)
  and (coalesce(definition->'channels', '[]') in ('[]', 'null') or definition->'channels' ? $1)
order by name;
