-- Pauses: what operators stop for a while without losing anything.
--
-- Runs of a paused assistant, API key or user leave the queue (queue_state -3), so that others of the same user go on.
-- They come back in their order, before what was sent later, when nothing pauses them any more. What is in flight is
-- finished. A paused model is not called: fallbacks and rules do its work, and answers wait as for one that is away.

create or replace function maas.maas_is_paused(p_user uuid, p_caller text, p_kind text, p_assistant text, p_status text)
returns boolean language sql stable as $$
  select p_status <> 'COMPLETED' and exists (
    select from maas.pauses p
    where p.subject = 'user' and p.name = p_user::text
      or p.subject = 'key' and 'key:' || p.name = p_caller
      or p.subject = 'assistant' and p.name = p_assistant and p_kind in ('ask', 'action', 'task'))
$$;
comment on function maas.maas_is_paused is
  'Whether a run with these columns waits for the end of a pause; what is answered is archived all the same';

create or replace function maas.maas_pause(
  p_subject text, p_name text, p_reason text default null, p_actor text default null)
returns table (verdict text, runs int)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  freed uuid[];
  held int;
begin
  if p_subject = 'user' then
    p_name := p_name::uuid::text;
  elsif p_subject = 'assistant' and not exists (select from maas.assistants a where a.name = p_name)
    or p_subject = 'key' and not exists (select from maas.api_keys k where k.id = p_name)
  then
    return query select 'not_found', 0;
    return;
  end if;
  perform maas.maas_lock_engine();
  insert into maas.pauses as p (subject, name, reason, actor)
  values (p_subject, p_name, p_reason, coalesce(p_actor, 'sql:' || session_user))
  on conflict (subject, name) do update set reason = excluded.reason;
  with affected as materialized (
    select r.id, r.queue_key, r.queue_state
    from (
      select * from maas.pipeline_runs where queue_state = -1
      union all
      select * from maas.pipeline_runs where queue_state = 0) r
    where p_subject <> 'model' and maas.maas_is_paused(r.user_id, r.caller, r.kind, r.assistant, r.status)
  ), moved as (
    update maas.pipeline_runs r set queue_state = -3, not_before = null, answer_by = null,
      updated_at = clock_timestamp()
    from affected a where r.id = a.id
  )
  select coalesce(array_agg(a.queue_key) filter (where a.queue_state = 0), '{}'), count(*)
  into freed, held from affected a;
  perform maas.maas_promote(freed);
  perform maas.maas_write_audit('pause', case p_subject when 'user' then p_name::uuid end, null,
    jsonb_build_object('subject', p_subject, 'name', p_name), p_actor);
  return query select 'paused', held;
end
$$;
comment on function maas.maas_pause is
  'Pauses an assistant, a key, a model or a user. verdict: paused, with the number of runs that left the queue for it, '
  'or not_found. Raises invalid_text_representation for a user that is no UUID, check_violation for another subject';

create or replace function maas.maas_resume(p_subject text, p_name text, p_actor text default null)
returns table (verdict text, runs int)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  back int;
begin
  if p_subject = 'user' then
    p_name := p_name::uuid::text;
  end if;
  perform maas.maas_lock_engine();
  delete from maas.pauses p where p.subject = p_subject and p.name = p_name;
  if not found then
    return query select 'not_found', 0;
    return;
  end if;
  -- They were sent before all that the inbox still holds, and are taken in before it.
  update maas.pipeline_runs r set queue_state = -2, seq = f.turn - 4611686018427387904, updated_at = clock_timestamp()
  from (
    select s.id, nextval('maas.run_seq') as turn
    from (
      select h.id from maas.pipeline_runs h
      where h.queue_state = -3 and not maas.maas_is_paused(h.user_id, h.caller, h.kind, h.assistant, h.status)
      order by h.seq) s) f
  where r.id = f.id;
  get diagnostics back = row_count;
  perform pg_notify('pipeline_wakeup', '');
  perform maas.maas_write_audit('resume', case p_subject when 'user' then p_name::uuid end, null,
    jsonb_build_object('subject', p_subject, 'name', p_name), p_actor);
  return query select 'resumed', back;
end
$$;
comment on function maas.maas_resume is
  'Ends a pause. verdict: resumed, with the number of runs that are back in the queue, or not_found';

-- A paused model is known to the orchestrators with the version of the assistants, which they see at every stage.
create or replace trigger count_assistants_version after insert or delete on maas.pauses
  for each statement execute function maas.count_assistants_version();
