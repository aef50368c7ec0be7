-- Links by which anybody may read a conversation.

-- name: share_conversation  -- $1 conversation, $2 hash of the token, $3 days, $4 whether with evidence, $5 who does it
select verdict, id from maas.maas_share_conversation($1, $2, $3, $4, $5);

-- name: list_links  -- $1 user, $2 conversation or null for all
select id, conversation_id, title, has_evidence, created_at, expires_at from maas.maas_list_links($1, $2);

-- name: owner_of_link
select maas.maas_link_owner($1);

-- name: revoke_link  -- $1 link, $2 who does it
select maas.maas_revoke_link($1, $2);

-- name: open_link  -- $1 hash of the token, $2 the days that links last
select l.user_id, l.conversation_id, l.assistant, l.title, l.has_evidence, l.created_at, l.expires_at,
  coalesce(a.definition->>'title', initcap(replace(l.assistant, '_', ' '))) as assistant_title
from maas.maas_open_link($1, $2) l left join maas.assistants a on a.name = l.assistant;

-- name: shared_messages  -- $1 conversation, $2 its user, $3 messages until then, $4 after so many, $5 how many,
-- $6 whether with the memories that the answers cite. What stands for the execution of an action was written by nobody
select m.role, m.content, m.agent, m.attachment_ids, m.created_at, case when $6 and m.role = 'assistant' then (
    select jsonb_agg(jsonb_build_object('number', e.number, 'speaker', e.speaker, 'said_at', e.said_at, 'text', e.text)
      order by e.number, e.said_at)
    from (
      select (s->>'number')::int as number, coalesce(g.speaker, maas.maas_role(g.message_type)) as speaker,
        coalesce(g.occurred_at, l.occurred_at) as said_at, left(coalesce(g.content, l.summary), 2000) as text
      from maas.pipeline_runs r
      cross join jsonb_array_elements(case jsonb_typeof(r.sources) when 'array' then r.sources else '[]' end) s
      left join maas.raw_logs g on g.id = (s->>'id')::uuid and g.user_id = r.user_id
      left join maas.lsm_storage l on l.id = (s->>'id')::uuid and l.user_id = r.user_id and not l.is_provisional
      where r.id = m.run_id and r.user_id = m.user_id and s->>'used' = 'true' and num_nonnulls(g.id, l.id) > 0
      limit 100) e
  ) end as evidence
from maas.chat_messages m
where m.conversation_id = $1 and m.user_id = $2 and m.role in ('user', 'assistant') and m.created_at <= $3
  and not (m.role = 'user' and exists (
    select from maas.chat_pending_actions p where p.action_run_id = m.run_id and p.user_id = m.user_id))
order by m.created_at, m.id offset $4 limit $5;
