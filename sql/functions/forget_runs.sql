-- Forgetting what runs keep of a memory.
--
-- A run stays with its times, costs and statuses. Its words go when its question or answer is forgotten, and so does
-- what later runs recorded on their way to an answer: drafts, payloads, replies of models and results of tools quote
-- memory, whether or not it is among their sources.

create or replace function maas.maas_is_forgotten(p_query text) returns boolean language sql immutable as $$
  select p_query = '[forgotten]'
$$;
comment on function maas.maas_is_forgotten is
  'Whether this is what stands for a forgotten question: there is nothing to ask again';

create or replace function maas.maas_recorded_in(p_user uuid, p_logs uuid[]) returns jsonb language sql stable as $$
  select jsonb_build_object(
    'asked', coalesce(jsonb_agg(distinct g.run_id) filter (where g.message_type = 'user_query'), '[]'),
    'answered', coalesce(jsonb_agg(distinct g.run_id) filter (where g.message_type = 'assistant_response'), '[]'))
  from unnest(p_logs) w(id) join maas.raw_logs g using (id) where g.user_id = p_user
$$;
comment on function maas.maas_recorded_in is
  'Before messages of a user are deleted: the runs that asked them, and those that answered with them';

create or replace function maas.maas_blank_runs(p_user uuid, p_runs jsonb, p_since timestamptz) returns void
language plpgsql as $$
declare
  forgotten constant text := '[forgotten]';
  asked uuid[] := array(
    select r.id from jsonb_array_elements_text(p_runs->'asked') a(id) join maas.pipeline_runs r on r.id = a.id::uuid
    where r.user_id = p_user and r.kind <> 'archive');
  answered uuid[] := array(
    select r.id from jsonb_array_elements_text(p_runs->'answered') a(id) join maas.pipeline_runs r on r.id = a.id::uuid
    where r.user_id = p_user);
  own uuid[] := asked || answered;
  later uuid[] := array(
    select r.id from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state = 2 and (r.created_at >= p_since or r.id = any(own)));
begin
  update maas.chat_conversations c set title = null
  from maas.pipeline_runs r
  where r.id = any(asked) and c.id = r.conversation_id and c.user_id = p_user
    and c.title = maas.maas_title(r.user_query);
  update maas.chat_conversations c set start_results = null
  where c.user_id = p_user and c.start_results is not null;  -- opening tools are called again
  update maas.assistant_sessions s set before = null, slots = (
    select coalesce(jsonb_object_agg(v.key, v.value), '{}') from jsonb_each(s.slots) v
    where not exists (
      select from maas.tool_executions e
      where e.run_id = any(asked) and btrim(e.arguments->>v.key) = btrim(v.value #>> '{}')))
  where s.user_id = p_user and not exists (
    select from maas.pipeline_runs r where r.id = s.run_id and r.queue_state < 2);

  update maas.pipeline_runs r set user_query = forgotten, client_context = null, attributes = null,
    error_message = null,
    metadata = case when r.metadata ? 'a2a' then jsonb_build_object('a2a', r.metadata->'a2a') end
  where r.id = any(asked);
  update maas.debounced_requests d set digest = '' where d.run_id = any(asked) and d.digest <> '';
  update maas.pipeline_runs r set final_answer = forgotten where r.id = any(answered) and r.final_answer is not null;
  update maas.pipeline_runs r set analysis_result = null, draft_context = null, final_context_payload = null
  where r.id = any(later) and not (
    r.analysis_result is null and r.draft_context is null and r.final_context_payload is null);
  update maas.llm_calls c set reply = null, calls = null, parts = null
  where c.run_id = any(later) and not (c.reply is null and c.calls is null and c.parts is null);
  update maas.tool_executions e set arguments = null, result = null,
    body = case when r.status = 'FAILED' then e.body end  -- a new try must not act twice
  from maas.pipeline_runs r
  where e.run_id = any(later) and r.id = e.run_id and not (e.arguments is null and e.result is null);
  delete from maas.run_events e
  where e.run_id = any(own) or e.run_id = any(later) and e.type in ('tool_start', 'tool_result', 'layer');
  delete from maas.task_steps t where t.run_id = any(own);
  delete from maas.responses o where o.run_id = any(own) and o.user_id = p_user;
  delete from maas.chat_pending_actions a
  where a.user_id = p_user and a.run_id = any(own) and a.status not in ('approved', 'executing');
end
$$;
comment on function maas.maas_blank_runs is
  'Deletes the words of the runs whose questions or answers were forgotten (maas_recorded_in), and what finished runs '
  'since p_since recorded before they answered; null: they have been before';
