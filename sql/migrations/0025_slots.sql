-- Dialogues that collect values before they act.
--
--   maas_open_session    a run begins: the session it works on, as it was before this try of the run
--   maas_keep_session    what a call of the run has changed
--   maas_keep_drawing    what was confirmed is made: one picture of a run, counted once, whatever dies
--   maas_press_button    a button that a run offered: a run of kind `action`, one however often it is pressed
--
-- A model's replies are pinned and given again to whoever takes a run over, so that owner has to begin from the very same
-- state: `before` keeps it for the run that worked on the session last.

create table assistant_sessions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  assistant varchar(50) not null,
  conversation_id uuid references chat_conversations on delete cascade,
  state varchar(30) not null default 'assistant_chat' check (state in ('assistant_chat', 'assistant_wait_photo')),
  slots jsonb not null default '{}' check (jsonb_typeof(slots) = 'object'),
  style text generated always as (slots->>'style') stored,
  emotion text generated always as (slots->>'emotion') stored,
  pose text generated always as (slots->>'pose') stored,
  confirmed boolean not null default false,
  photo uuid,
  offered_photo uuid,
  current_step text,
  is_active boolean not null default true,
  run_id uuid,
  run_try int,
  before jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table assistant_sessions is 'What a dialogue has collected: one active session a conversation, or a user and assistant without one';
comment on column assistant_sessions.slots is 'The values by the names of the definition''s slots; style, emotion and pose only show what stands here';
comment on column assistant_sessions.photo is 'The attachment that is worked on';
comment on column assistant_sessions.offered_photo is 'A later attachment, until the user has chosen between the two';
comment on column assistant_sessions.current_step is 'Of older programs; nothing uses it';
comment on column assistant_sessions.before is 'The session as run_id found it in its try run_try';
create unique index idx_assistant_sessions_active on assistant_sessions (user_id, assistant, conversation_id)
  nulls not distinct where is_active;
create index idx_assistant_sessions_conversation on assistant_sessions (conversation_id);

create function turn_old_state() returns trigger language plpgsql as $$
begin
  new.state := 'assistant_chat';
  return new;
end $$;
comment on function turn_old_state is 'wait_assistant_confirm was a state of its own once: who writes it means assistant_chat';
create trigger turn_old_state before insert or update of state on assistant_sessions for each row
  when (new.state = 'wait_assistant_confirm') execute function turn_old_state();

alter table app_users add total_generations int not null default 0 check (total_generations >= 0);
comment on column app_users.total_generations is 'How many pictures were made for the user';

create function maas_open_session(p_run uuid, p_attempt int) returns jsonb language plpgsql as $$
declare
  run record;
  began jsonb;
begin
  select r.user_id, r.assistant, r.conversation_id, r.try, left(r.metadata->>'first_name', 60) as first_name into run from pipeline_runs r
  where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  insert into assistant_sessions (user_id, assistant, conversation_id)
  values (run.user_id, run.assistant, run.conversation_id)
  on conflict (user_id, assistant, conversation_id) where is_active do nothing;
  update assistant_sessions s set run_id = p_run, run_try = run.try,
    before = case when (s.run_id, s.run_try) = (p_run, run.try) then s.before else jsonb_build_object(
      'id', s.id, 'state', s.state, 'slots', s.slots, 'confirmed', s.confirmed, 'photo', s.photo, 'offered_photo', s.offered_photo,
      'first_name', run.first_name, 'generations', coalesce((select u.total_generations from app_users u where u.user_id = s.user_id), 0)) end
  where s.user_id = run.user_id and s.assistant = run.assistant and s.conversation_id is not distinct from run.conversation_id
    and s.is_active
  returning s.before into began;
  return began;
end $$;
comment on function maas_open_session is 'The session of the run''s dialogue as this try of the run found it; null when the run is not the caller''s any more';

create function maas_keep_session(p_run uuid, p_attempt int, p_session jsonb) returns boolean language plpgsql as $$
begin
  perform from pipeline_runs r where r.id = p_run and r.attempt = p_attempt and r.owner is not null for key share of r;
  if not found then
    return false;
  end if;
  update assistant_sessions set state = p_session->>'state', slots = p_session->'slots', confirmed = (p_session->>'confirmed')::boolean,
    photo = (p_session->>'photo')::uuid, offered_photo = (p_session->>'offered_photo')::uuid, updated_at = now()
  where id = (p_session->>'id')::uuid and run_id = p_run;
  return found;
end $$;
comment on function maas_keep_session is 'Stores what a run has made of its session; false when the run is not the caller''s any more';

create function maas_keep_drawing(p_run uuid, p_media_type text, p_width int, p_height int, p_content bytea) returns uuid
language plpgsql as $$
declare
  whose uuid;
  drawn uuid;
begin
  select user_id into whose from pipeline_runs where id = p_run for no key update;
  select id into drawn from attachments where run_id = p_run;
  if whose is null or drawn is not null then
    return drawn;
  end if;
  insert into app_users (user_id, total_generations) values (whose, 1)
  on conflict (user_id) do update set total_generations = app_users.total_generations + 1;
  return maas_keep_attachment(whose, p_run, p_media_type, p_width, p_height, p_content);
end $$;
comment on function maas_keep_drawing is 'The one picture that a run made, stored and counted or there already; null when the run was erased';

create function maas_press_button(p_run uuid, p_user uuid, p_button text, p_queue_limit int default null)
returns table (verdict text, run_id uuid) language plpgsql as $$
#variable_conflict use_column
declare
  asked record;
  offered text;  -- what the button is called
  key text := p_run || ' ' || p_button;
  pressed uuid;
begin
  select r.assistant, r.conversation_id, r.source into asked from pipeline_runs r where r.id = p_run and r.user_id = p_user;
  if not found then
    return query select 'not_found', null::uuid;
    return;
  end if;
  select b->>'label' into offered from run_events e cross join lateral jsonb_array_elements(e.payload->'buttons') b
  where e.run_id = p_run and e.type = 'buttons' and b->>'id' = p_button order by e.n desc limit 1;
  if not found then
    return query select 'not_offered', null::uuid;
    return;
  end if;
  select r.id into pressed from pipeline_runs r where r.caller = 'press' and r.idempotency_key = key;
  if not found and p_queue_limit <= (
    select count(*) from pipeline_runs r where r.user_id = p_user and r.lane < 2 and r.kind in ('ask', 'action')) then
    return query select 'queue_full', null::uuid;
    return;
  end if;
  if pressed is null then
    insert into pipeline_runs (user_id, user_query, assistant, conversation_id, kind, source, metadata, caller, idempotency_key)
    values (p_user, offered, asked.assistant, asked.conversation_id, 'action', asked.source,
      jsonb_build_object('button', p_button, 'run_id', p_run), 'press', key)
    on conflict (caller, idempotency_key) where idempotency_key is not null do nothing returning id into pressed;
    if not found then  -- somebody pressed at the same moment
      select r.id into pressed from pipeline_runs r where r.caller = 'press' and r.idempotency_key = key;
    end if;
  end if;
  return query select 'pressed', pressed;
end $$;
comment on function maas_press_button is 'pressed and the run that does it, the same for every press; not_offered, queue_full, or not_found (also for another user''s run)';
