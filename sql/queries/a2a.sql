-- Tasks of A2A: a question that came by this protocol, the messages that go on with it, and its approved actions.

-- name: a2a_tasks  -- $1 user, $2 assistant, $3 task, $4 conversation, $5 state, $6 changed after; nulls mean any;
-- $7 $8 before this changed_at and id, $9 how many, $10 among how many of the newest runs of the user; newest first
with recent as (
  (select r.id from maas.pipeline_runs r where r.user_id = $1 and r.seq > 0 order by r.seq desc limit $10)
  union
  (select r.id from maas.pipeline_runs r
   where r.user_id = $1 and r.queue_state < 2 and r.kind in ('ask', 'action') limit $10)
  union
  select $3
), parts as materialized (
  select r.id, r.created_at, coalesce(r.metadata->'a2a'->>'task', r.id::text) as task, r.conversation_id, r.status,
    r.limited, r.error_code, greatest(r.created_at, r.analyzing_at, r.completed_at, r.failed_at) as changed_at
  from maas.pipeline_runs r join recent on recent.id = r.id
  where r.user_id = $1 and ($2::text is null or r.assistant = $2) and r.source = 'a2a' and r.kind = 'ask'
    and r.conversation_id is not null
    and ($3::uuid is null or $3::text in (r.id::text, r.metadata->'a2a'->>'task'))
), proposed as materialized (
  select p.task, v.* from parts p join maas.v_actions v on v.run_id = p.id and v.user_id = $1
), executing as materialized (
  select p.task, e.id, e.status, greatest(e.created_at, e.completed_at, e.failed_at) as changed_at
  from proposed p join maas.pipeline_runs e on e.id = p.action_run_id
), judged as (
  select t.id, t.conversation_id, case
      when last.status = 'NEW' and last.id = t.id then 'SUBMITTED'
      when last.status not in ('COMPLETED', 'FAILED') or e.is_open then 'WORKING'
      when last.error_code = 'cancelled' or last.limited = 'stopped' then 'CANCELED'
      when last.status = 'FAILED' then 'FAILED'
      when p.is_pending then 'INPUT_REQUIRED'
      when last.id = t.id and not p.is_approved then 'CANCELED'
      else 'COMPLETED' end as state,
    greatest(last.changed_at, p.changed_at, e.changed_at) as changed_at
  from parts t
  cross join lateral (
    select l.* from parts l where l.task = t.task order by l.created_at desc, l.id desc limit 1) last
  cross join lateral (
    select bool_or(a.status = 'pending') as is_pending, bool_or(a.status not in ('pending', 'rejected', 'expired'))
      as is_approved, max(a.decided_at) as changed_at
    from proposed a where a.task = t.task) p
  cross join lateral (
    select bool_or(x.status not in ('COMPLETED', 'FAILED')) as is_open, max(x.changed_at) as changed_at
    from executing x where x.task = t.task) e
  where t.task = t.id::text
), found as materialized (
  select * from judged t
  where ($3::uuid is null or t.id = $3) and ($4::uuid is null or t.conversation_id = $4)
    and ($5::text is null or t.state = $5) and ($6::timestamptz is null or t.changed_at > $6)
), page as (
  select * from found f where $7::timestamptz is null or (f.changed_at, f.id) < ($7, $8::uuid)
  order by f.changed_at desc, f.id desc limit $9
)
select p.id, p.conversation_id, p.state, p.changed_at, (select count(*) from found)::int as total, (
    select jsonb_agg(
      jsonb_build_object(
        'id', r.id, 'kind', r.kind, 'status', r.status, 'query', r.user_query, 'answer', r.final_answer,
        'error_code', r.error_code, 'error_message', r.error_message, 'message_id', r.metadata->'a2a'->>'message')
      order by r.created_at, r.id)
    from maas.pipeline_runs r
    where r.id in (
      select s.id from parts s where s.task = p.id::text
      union all select x.id from executing x where x.task = p.id::text)) as runs, (
    select jsonb_agg(
      jsonb_build_object(
        'id', a.id, 'tool', a.tool, 'arguments', a.arguments, 'fingerprint', a.fingerprint, 'expires_at', a.expires_at,
        'title', a.wording->'title', 'reason', a.wording->'reason', 'object', a.wording->'object',
        'changes', a.wording->'changes')
      order by a.created_at, a.place, a.id)
    from proposed a where a.task = p.id::text and a.status = 'pending') as waiting
from page p
order by p.changed_at desc, p.id desc;

-- name: set_push_notification  -- $1 user, $2 task, $3 name, $4 url, $5 headers, $6 actor
select maas.maas_set_push_notification($1, $2, $3, $4, $5, $6);

-- name: delete_push_notification  -- $1 user, $2 task, $3 name, $4 actor; whether there was one
select maas.maas_delete_push_notification($1, $2, $3, $4);

-- name: push_notifications  -- $1 user, $2 task
select name, url from maas.webhook_endpoints where user_id = $1 and task_id = $2 order by name;
