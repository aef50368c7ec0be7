-- Conversations and their messages.

-- name: create_conversation  -- $1 user, $2 assistant, $3 mode or null, $4 queue limit or null, $5 is_remembered
select verdict, id, run_id from maas.maas_create_conversation($1, $2, $3, $4, $5);

-- name: conversation
select id, user_id, assistant, title, source, mode, rolling_summary, last_agent, last_domain, is_processing,
  is_pinned, is_archived, is_remembered, created_at
from maas.ai_conversations where id = $1;

-- name: list_conversations  -- $1 user, $2 $3 before this updated_at and id, $4 how many; newest activity first,
-- behind those that are pinned
-- $5 null or a text: every word of it, or its beginning, is in the title or in a message that the conversation shows
-- $6 whether those that are archived, or the others
with asked as materialized (
  select t.n, t.term from unnest(maas.maas_search_terms($5)) with ordinality t(term, n)
), found as materialized (
  select m.conversation_id, array_agg(distinct a.n) as terms
  from asked a join maas.raw_logs l on l.user_id = $1 and l.tsv @@ a.term
  join maas.chat_messages m on m.run_id = l.run_id and m.user_id = l.user_id
  group by m.conversation_id
)
select c.id, c.user_id, c.assistant, c.title, c.source, c.mode, c.is_processing, c.is_pinned, c.is_archived,
  c.is_remembered, c.created_at, p.updated_at
from (
  select n.id, n.is_pinned, n.updated_at
  from (
    select o.id, o.is_pinned, greatest(o.created_at, (
      select m.created_at from maas.chat_messages m where m.conversation_id = o.id
      order by m.created_at desc, m.id desc limit 1)) as updated_at
    from maas.chat_conversations o left join found f on f.conversation_id = o.id
    where o.user_id = $1 and o.is_archived = $6 and ($5::text is null or exists (select from asked) and not exists (
      select from asked a
      where not a.n = any(coalesce(f.terms, '{}')) and not maas.maas_index_text(coalesce(o.title, '')) @@ a.term))) n
  where $2::timestamptz is null or (n.is_pinned, n.updated_at, n.id) < (
    exists (select from maas.chat_conversations l where l.id = $3 and l.user_id = $1 and l.is_pinned), $2, $3::uuid)
  order by n.is_pinned desc, n.updated_at desc, n.id desc limit $4) p
join maas.ai_conversations c on c.id = p.id
order by p.is_pinned desc, p.updated_at desc, p.id desc;

-- name: assistants_to_choose  -- $1 source of requests
select name, coalesce(definition->>'title', initcap(replace(name, '_', ' '))) as title,
  definition->>'description' as description, definition->>'voice' as voice
from maas.assistants
where is_active and (coalesce(definition->'channels', '[]') in ('[]', 'null') or definition->'channels' ? $1)
order by name;

-- name: chat_conversation  -- $1 chat, $2 user, $3 assistant, $4 ad account or null
select maas.maas_chat_conversation($1, $2, $3, $4);

-- name: chat_status  -- $1 chat, $2 user, $3 assistant
select id, mode, is_processing, message_count, last_agent, last_domain
from maas.v_conversation_status where telegram_chat_id = $1 and user_id = $2 and assistant = $3 and is_open;

-- name: change_conversation  -- $1 id, $2 mode, $3 title, $4 is_pinned, $5 is_archived: null keeps the value
update maas.chat_conversations set mode = coalesce($2::text, mode), title = coalesce($3::text, title),
  is_pinned = coalesce($4::boolean, is_pinned), is_archived = coalesce($5::boolean, is_archived)
where id = $1 returning id;

-- name: dialogue  -- $1 run: the language that its client states, else that of the user's profile;
-- the last messages of the user in its conversation, newest first
select coalesce(r.metadata->>'language_code', (
    select p.language from maas.user_settings p where p.user_id = r.user_id)) as language_code, array(
  select left(m.content, 200) from maas.chat_messages m
  where m.conversation_id = r.conversation_id and m.user_id = r.user_id and m.role = 'user'
    and m.run_id is distinct from r.id
  order by m.created_at desc, m.id desc limit 10) as said
from maas.pipeline_runs r where r.id = $1;

-- name: start_results  -- $1 run: those of its conversation; null before its first run
select c.start_results from maas.pipeline_runs r
join maas.chat_conversations c on c.id = r.conversation_id and c.user_id = r.user_id
where r.id = $1;

-- name: keep_start  -- $1 run, $2 attempt, $3 results by tool
select maas.maas_keep_start($1, $2, $3::jsonb);

-- name: forget_conversation  -- $1 id, $2 who asks for it, $3 whether also answers that may repeat it
select maas.maas_forget_conversation($1, $2, $3);

-- name: clear_conversation
select maas.maas_clear_conversation($1);

-- name: fold_conversation  -- $1 id, $2 how many messages a draft shows, $3 the runs whose messages it shows truncated
select maas.maas_fold_conversation($1, $2, $3::uuid[]);

-- name: conversation_summary  -- $1 id, $2 user, $3 seq of the run that is answered; and the actions of the last day
-- that were not executed. No summary, where it may hold what leaves with a question that the run asks again
select case when not exists (
    select from maas.pipeline_runs r cross join lateral maas.maas_dropped_runs(r.user_id, r.id) o
    join maas.chat_messages m on m.run_id = o and m.conversation_id = $1 and m.is_folded
    where r.user_id = $2 and r.seq = $3 and r.replaces is not null) then rolling_summary end as rolling_summary, (
    select string_agg(maas.maas_format_call(a.tool, a.arguments) || ': ' || a.status, '; ' order by a.created_at, a.id)
    from (
      select v.id, v.tool, v.arguments, v.status, v.created_at from maas.v_actions v
      where v.conversation_id = $1 and v.user_id = $2 and v.created_at > maas.maas_now() - interval '1 day'
        and v.status in ('pending', 'rejected', 'expired') and v.decided_by is distinct from 'replaced'
      order by v.created_at desc, v.id desc limit 5) a) as actions
from maas.chat_conversations where id = $1 and user_id = $2;

-- name: message_place  -- $1 conversation, $2 a message, or the run that wrote it: then its first one, $3 roles
select created_at, id from maas.chat_messages
where conversation_id = $1 and (id = $2 or run_id = $2) and role = any($3::text[])
order by created_at, id limit 1;

-- name: list_messages  -- $1 conversation, $2 created_at and $3 id of a place, or nulls for the end,
-- $4 how many before it, $5 roles,
-- $6 how many after it, $7 whether the message at it, too; newest first
select id, run_id, role, content, actions, agent, tool_calls, tool_call_id, tool_name, tool_result, tokens_used,
  created_at, array(select a.id from unnest(m.attachment_ids) with ordinality n(id, place)
    join maas.attachments a on a.id = n.id and a.user_id = m.user_id order by n.place) as attachment_ids,
  case role when 'user' then (
    select p.id from maas.chat_pending_actions p where p.action_run_id = m.run_id and p.user_id = m.user_id
  ) end as action_id
from (
  (select * from maas.chat_messages
    where conversation_id = $1 and role = any($5::text[]) and ($2::timestamptz is null or (created_at, id) < ($2, $3))
    order by created_at desc, id desc limit $4)
  union all
  (select * from maas.chat_messages where $7 and conversation_id = $1 and id = $3)
  union all
  (select * from maas.chat_messages
   where conversation_id = $1 and role = any($5::text[]) and (created_at, id) > ($2, $3)
    order by created_at, id limit $6)) m
order by created_at desc, id desc;

-- name: recent_messages  -- $1 user, $2 messages before this seq, $3 conversation, $4 how many; newest first
-- The newest messages by time, ordered by seq: a query may be answered long after it was sent.
with hidden as materialized (
  select array(
    select id from maas.pipeline_runs where user_id = $1 and kind in ('ask', 'action', 'task') and seq >= $2
    union all
    select id from maas.pipeline_runs
    where queue_state = -2 and user_id = $1 and kind in ('ask', 'action', 'task')
    union all
    select id from maas.pipeline_runs
    where queue_state in (-4, -3) and user_id = $1 and kind in ('ask', 'action')
    union all
    select o from maas.pipeline_runs r cross join lateral maas.maas_dropped_runs(r.user_id, r.id) o
    where r.user_id = $1 and r.seq = $2 and r.replaces is not null) as runs
), newest as materialized (
  select m.run_id, m.role, m.content, m.is_folded, m.created_at from maas.chat_messages m
  where m.conversation_id = $3 and m.user_id = $1 and m.role in ('user', 'assistant')
    and m.run_id <> all ((select runs from hidden)::uuid[])
    and (not exists (select from maas.raw_logs g where g.user_id = $1 and g.run_id = m.run_id and not g.is_remembered)
      -- what is temporary is shown in its own conversation, and nowhere else
      or exists (select from maas.chat_conversations c where c.id = $3 and c.user_id = $1 and not c.is_remembered))
  order by m.created_at desc, m.id desc limit 4 * $4
)
select l.id, n.run_id, n.is_folded,
  case n.role when 'user' then 'user_query' else 'assistant_response' end as message_type, n.content, l.speaker,
  coalesce(l.occurred_at, n.created_at) as occurred_at, l.origins
-- imported messages have no runs
from newest n left join lateral (
  select seq from maas.pipeline_runs where id = n.run_id and user_id is not distinct from $1 offset 0) r on true
left join lateral (
  select id, speaker, occurred_at, origins from maas.raw_logs
  where run_id = n.run_id and user_id is not distinct from $1 and turn_no = 0
    and message_type = case n.role when 'user' then 'user_query' else 'assistant_response' end offset 0) l on true
order by r.seq desc nulls last, n.created_at desc limit $4;
