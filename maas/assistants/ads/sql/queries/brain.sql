-- Answers in the shape of /api/brain.

-- name: brain_answer  -- $1 run: what its answer did. Iterations are rounds of the tool loop,
-- not what domain agents or tools ask
select coalesce(r.mode, c.mode, 'auto') as mode, coalesce(m.agent, r.agent) as agent,
  a.definition->>'routing' as routing, coalesce(m.actions, '[]') as actions, l.iterations, l.tokens
from maas.pipeline_runs r
  left join maas.assistants a on a.name = r.assistant
  left join maas.chat_conversations c on c.id = r.conversation_id and c.user_id = r.user_id
  left join maas.chat_messages m on m.run_id = r.id and m.user_id = r.user_id and m.role = 'assistant'
  cross join lateral (
    select coalesce(sum(l.tokens_in::bigint + l.tokens_out), 0)::bigint as tokens,
      count(*) filter (where l.stage = 'final_responder' and case
        when a.definition->>'routing' in ('classifier', 'handoff')
          then regexp_replace(l.role_name, '\.en$', '') in (
            select one.value->>'role_prompt' from jsonb_array_elements(a.definition->'agents') one)
        else l.role_name in ('FinalResponder', 'FinalResponder.en') end) as iterations
    from maas.llm_calls l where l.run_id = r.id and l.try = r.try and l.stage <> 'archivist') l
where r.id = $1;
