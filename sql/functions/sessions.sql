-- Dialogues that collect values before they act, images, and buttons.
--
-- Replies of a model are pinned and replayed to a process that takes over a run, so that process must begin from the same
-- state: `before` keeps it for the run that used the session last.

create or replace function maas.maas_open_session(p_run uuid, p_attempt int, p_is_of_user boolean default false, p_is_opening boolean default false)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  run record;
  session jsonb;
begin
  select r.user_id, r.assistant, r.conversation_id, r.try, left(r.metadata->>'first_name', 60) as first_name into run from maas.pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  update maas.assistant_sessions s set is_active = false, updated_at = now()
  where s.user_id = run.user_id and s.assistant = run.assistant and s.is_active and s.run_id is distinct from p_run
    and case when s.conversation_id is not distinct from run.conversation_id then p_is_opening else p_is_of_user end;
  insert into maas.assistant_sessions (user_id, assistant, conversation_id)
  values (run.user_id, run.assistant, run.conversation_id)
  on conflict (user_id, assistant, conversation_id) where is_active do nothing;
  update maas.assistant_sessions s set run_id = p_run, run_try = run.try,
    before = case when (s.run_id, s.run_try) = (p_run, run.try) then s.before else jsonb_build_object(
      'id', s.id, 'state', s.state, 'slots', s.slots, 'confirmed', s.confirmed, 'photo', s.photo, 'offered_photo', s.offered_photo,
      'first_name', run.first_name, 'generations', coalesce((select u.total_generations from maas.app_users u where u.user_id = s.user_id), 0)) end
  where s.user_id = run.user_id and s.assistant = run.assistant and s.conversation_id is not distinct from run.conversation_id
    and s.is_active
  returning s.before into session;
  return session;
end
$$;
comment on function maas.maas_open_session is
  'The session of the run''s dialogue as this try of the run found it; null if the caller no longer owns the run. p_is_opening: the message opens the dialogue anew, which ends its session; p_is_of_user: a user has one session, so another dialogue ends it';

create or replace function maas.maas_save_session(p_run uuid, p_attempt int, p_session jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from maas.pipeline_runs r where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return false;
  end if;
  update maas.assistant_sessions set state = p_session->>'state', slots = p_session->'slots', confirmed = (p_session->>'confirmed')::boolean,
    photo = (p_session->>'photo')::uuid, offered_photo = (p_session->>'offered_photo')::uuid, updated_at = now()
  where id = (p_session->>'id')::uuid and run_id = p_run;
  return found;
end
$$;
comment on function maas.maas_save_session is
  'Stores what a run has changed in its session; false if the caller no longer owns the run';

create or replace function maas.maas_store_attachment(p_user uuid, p_run uuid, p_media_type text, p_width int, p_height int,
  p_content bytea)
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
  values (p_user, case when p_run is null then 'upload' else 'generated' end, p_run, p_media_type, p_width, p_height, p_content)
  on conflict (user_id, sha256, run_id) do update set kind = excluded.kind  -- changes nothing, but locks and returns the row
  returning id into stored_id;
  return stored_id;
end
$$;
comment on function maas.maas_store_attachment is
  'Stores an upload, or an image that a run generated, unless it exists; returns its id, null if the run was erased';

create or replace function maas.maas_store_drawing(p_run uuid, p_media_type text, p_width int, p_height int, p_content bytea)
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

create or replace function maas.maas_press_button(p_run uuid, p_user uuid, p_button text, p_queue_limit int default null)
returns table (verdict text, run_id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  origin record;
  label text;  -- of the button
  key text := p_run || ' ' || p_button;
  button_run uuid;
begin
  select r.assistant, r.conversation_id, r.source, r.is_remembered into origin from maas.pipeline_runs r where r.id = p_run and r.user_id = p_user;
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
    select count(*) from maas.pipeline_runs r where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', null::uuid;
    return;
  end if;
  if button_run is null then
    insert into maas.pipeline_runs (user_id, user_query, assistant, conversation_id, kind, source, metadata, caller, idempotency_key, is_remembered)
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
  'Returns button_run and its run, which is the same for every press; not_offered, queue_full, or not_found (also for a run of another user)';

create or replace function maas.replace_old_state()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.state := 'assistant_chat';
  return new;
end
$$;
comment on function maas.replace_old_state is 'Replaces wait_assistant_confirm, which older programs write, by assistant_chat';

create or replace trigger replace_old_state before insert or update of state on maas.assistant_sessions
  for each row when (new.state = 'wait_assistant_confirm') execute function maas.replace_old_state();
