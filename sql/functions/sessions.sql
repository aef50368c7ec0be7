-- Dialogues that collect values before they act, images, and buttons.
--
-- Replies of a model are pinned and replayed to a process that takes over a run, so that process must begin from the
-- same state: `before` keeps it for the run that used the session last.

create or replace function maas.maas_use_session(p_session uuid, p_run uuid)
returns jsonb language sql set search_path = pg_catalog, pg_temp as $$
  update maas.assistant_sessions s set run_id = r.id, run_try = r.try,
    before = case when (s.run_id, s.run_try) = (r.id, r.try) then s.before else jsonb_build_object(
      'id', s.id, 'agent', s.agent, 'state', s.state, 'slots', s.slots, 'confirmed', s.confirmed, 'photo', s.photo,
      'offered_photo', s.offered_photo, 'optional', s.optional, 'first_name', left(coalesce(r.metadata->>'first_name', (
        select split_part(p.value, ' ', 1) from maas.maas_profile(r.user_id, 'profile') p where p.slot = 'name')), 60),
      'generations', coalesce((select u.total_generations from maas.app_users u where u.user_id = s.user_id), 0)) end
  from maas.pipeline_runs r where r.id = p_run and s.id = p_session and s.user_id = r.user_id
  returning s.before
$$;
comment on function maas.maas_use_session is 'The session as this try of the run found it';

create or replace function maas.maas_open_session(
  p_run uuid, p_attempt int, p_agent text default null, p_scope text default 'conversation',
  p_is_opening boolean default false)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  run record;
  session uuid;
begin
  select r.user_id, r.assistant, case when p_scope <> 'user' then r.conversation_id end as conversation_id into run
  from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  update maas.assistant_sessions s set is_active = false, updated_at = now()
  where s.user_id = run.user_id and s.assistant = run.assistant and s.agent is not distinct from p_agent and s.is_active
    and s.run_id is distinct from p_run
    and case when s.conversation_id is not distinct from run.conversation_id then p_is_opening and p_scope <> 'user'
      else p_scope = 'latest' end;
  insert into maas.assistant_sessions (user_id, assistant, agent, conversation_id)
  values (run.user_id, run.assistant, p_agent, run.conversation_id)
  on conflict (user_id, assistant, agent, conversation_id) where is_active do nothing;
  select s.id into session from maas.assistant_sessions s
  where s.user_id = run.user_id and s.assistant = run.assistant and s.agent is not distinct from p_agent
    and s.conversation_id is not distinct from run.conversation_id and s.is_active;
  return maas.maas_use_session(session, p_run);
end
$$;
comment on function maas.maas_open_session is
  'The session of the run''s dialogue as this try of the run found it; null if the caller no longer owns the run. '
  'p_scope: conversation, a session in each; latest, one of a user, so another dialogue ends it; '
  'user, one that goes on in every conversation. p_is_opening: the message opens the dialogue anew, '
  'which ends its session, but not one of the scope user';

create or replace function maas.maas_open_pressed_session(p_run uuid, p_attempt int)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  run record;
  session uuid;
begin
  select r.user_id, r.assistant, r.conversation_id, o.agent, coalesce(o.completed_at, o.failed_at) as offered_at
  into run
  from maas.pipeline_runs r
  left join maas.pipeline_runs o on o.id = (r.metadata->>'run_id')::uuid and o.user_id = r.user_id
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  select s.id into session from maas.assistant_sessions s
  where s.user_id = run.user_id and s.assistant = run.assistant and s.agent is not distinct from run.agent
    and (s.conversation_id is not distinct from run.conversation_id or s.conversation_id is null)
    and s.is_active and s.created_at <= run.offered_at
  order by s.conversation_id nulls last limit 1;
  return coalesce(maas.maas_use_session(session, p_run), '{}');
end
$$;
comment on function maas.maas_open_pressed_session is
  'The session whose dialogue offered the pressed button, as maas_open_session gives it; '
  'an empty object if that is over. It begins none and ends none';

create or replace function maas.maas_save_session(p_run uuid, p_attempt int, p_session jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return false;
  end if;
  update maas.assistant_sessions set state = p_session->>'state', slots = p_session->'slots',
    confirmed = (p_session->>'confirmed')::boolean, photo = (p_session->>'photo')::uuid,
    offered_photo = (p_session->>'offered_photo')::uuid, optional = p_session->'optional', updated_at = now()
  where id = (p_session->>'id')::uuid and run_id = p_run;
  return found;
end
$$;
comment on function maas.maas_save_session is
  'Stores what a run has changed in its session; false if the caller no longer owns the run';

create or replace function maas.maas_store_attachment(
  p_user uuid, p_run uuid, p_media_type text, p_width int, p_height int, p_content bytea)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  stored_id uuid;
begin
  if p_run is not null then  -- waits for an erasure in progress
    perform from maas.pipeline_runs where id = p_run and user_id = p_user for key share;
    if not found then
      return null;
    end if;
  end if;
  insert into maas.attachments (user_id, kind, run_id, media_type, width, height, content)
  values (p_user, case when p_run is null then 'upload' else 'generated' end, p_run, p_media_type,
    p_width, p_height, p_content)
  -- changes nothing, but locks and returns the row
  on conflict (user_id, sha256, run_id) do update set kind = excluded.kind
  returning id into stored_id;
  return stored_id;
end
$$;
comment on function maas.maas_store_attachment is
  'Stores an upload, or an image that a run generated, unless it exists; returns its id, null if the run was erased';

create or replace function maas.maas_store_drawing(
  p_run uuid, p_media_type text, p_width int, p_height int, p_content bytea)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target_user uuid;
  drawing uuid;
begin
  select user_id into target_user from maas.pipeline_runs where id = p_run for no key update;
  select id into drawing from maas.attachments where run_id = p_run and user_id is not distinct from target_user;
  if target_user is null or drawing is not null then
    return drawing;
  end if;
  insert into maas.app_users (user_id, total_generations) values (target_user, 1)
  on conflict (user_id) do update set total_generations = app_users.total_generations + 1;
  return maas.maas_store_attachment(target_user, p_run, p_media_type, p_width, p_height, p_content);
end
$$;
comment on function maas.maas_store_drawing is
  'Stores and counts the one picture of a run, once; returns its id, null if the run was erased';

create or replace function maas.maas_press_button(
  p_run uuid, p_user uuid, p_button text, p_queue_limit int default null)
returns table (verdict text, run_id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  origin record;
  label text;  -- of the button
  key text := p_run || ' ' || p_button;
  button_run uuid;
begin
  select r.assistant, r.conversation_id, r.source, r.is_remembered into origin from maas.pipeline_runs r
  where r.id = p_run and r.user_id = p_user;
  if not found then
    return query select 'not_found', null::uuid;
    return;
  end if;
  select b->>'label' into label from maas.run_events e cross join lateral jsonb_array_elements(e.payload->'buttons') b
  where e.run_id = p_run and e.type = 'buttons' and b->>'id' = p_button order by e.n desc limit 1;
  if not found then
    return query select 'not_offered', null::uuid;
    return;
  end if;
  select r.id into button_run from maas.pipeline_runs r where r.caller = 'press' and r.idempotency_key = key;
  if not found and p_queue_limit <= (
    select count(*) from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', null::uuid;
    return;
  end if;
  if button_run is null then
    insert into maas.pipeline_runs (
      user_id, user_query, assistant, conversation_id, kind, source, metadata, caller, idempotency_key, is_remembered)
    values (p_user, label, origin.assistant, origin.conversation_id, 'action', origin.source,
      jsonb_build_object('button', p_button, 'run_id', p_run), 'press', key, origin.is_remembered)
    on conflict (caller, idempotency_key) where idempotency_key is not null do nothing returning id into button_run;
    if not found then  -- a concurrent press was first
      select r.id into button_run from maas.pipeline_runs r where r.caller = 'press' and r.idempotency_key = key;
    end if;
  end if;
  return query select 'pressed', button_run;
end
$$;
comment on function maas.maas_press_button is
  'Returns button_run and its run, which is the same for every press; '
  'not_offered, queue_full, or not_found (also for a run of another user)';

create or replace function maas.replace_old_state()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.state := 'assistant_chat';
  return new;
end
$$;
comment on function maas.replace_old_state is
  'Replaces wait_assistant_confirm, which older programs write, by assistant_chat';

create or replace trigger replace_old_state before insert or update of state on maas.assistant_sessions
  for each row when (new.state = 'wait_assistant_confirm') execute function maas.replace_old_state();
