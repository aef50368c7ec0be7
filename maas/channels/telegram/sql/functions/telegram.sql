-- Telegram: an update is handled in the transaction of what it causes, so a crash leaves it unhandled or done, nothing
-- between.

create or replace function maas.maas_telegram_open(p_bot bigint, p_username text, p_assistant text)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  next_id bigint;
begin
  insert into maas.telegram_bots as b (bot_id, username, assistant) values (p_bot, p_username, p_assistant)
  on conflict (bot_id) do update set username = excluded.username, assistant = excluded.assistant
  -- After a week without updates Telegram begins with any number.
  returning case when b.polled_at > clock_timestamp() - interval '6 days' then b.next_update_id end into next_id;
  update maas.telegram_messages m set state = case m.kind when 'image' then 'in_doubt' else 'orphaned' end
  from maas.telegram_replies r where r.id = m.reply_id and r.bot_id = p_bot and m.state = 'sending';
  return next_id;
end
$$;
comment on function maas.maas_telegram_open is
  'Prepares a bot whose lock the caller holds: returns the update to begin with, or null for the oldest; '
  'messages whose sending was interrupted are given up';

create or replace function maas.maas_telegram_take(p_bot bigint, p_updates jsonb)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  next_id bigint;
begin
  insert into maas.telegram_updates (bot_id, update_id, payload)
  select p_bot, (u->>'update_id')::bigint, u from jsonb_array_elements(p_updates) u order by 2
  on conflict (bot_id, update_id) do nothing;
  update maas.telegram_bots b set polled_at = clock_timestamp(), error = null,
    next_update_id = coalesce((
      select max((u->>'update_id')::bigint) + 1 from jsonb_array_elements(p_updates) u), b.next_update_id)
  where b.bot_id = p_bot returning b.next_update_id into next_id;
  return next_id;
end
$$;
comment on function maas.maas_telegram_take is 'Stores updates, each once; returns the first one that is not stored';

create or replace function maas.maas_telegram_claim(p_bot bigint, p_update bigint) returns boolean language sql as $$
  select exists (
    select from maas.telegram_updates where bot_id = p_bot and update_id = p_update and handled_at is null for update)
$$;
comment on function maas.maas_telegram_claim is
  'Locks an update until the end of the transaction; false if it is handled';

create or replace function maas.maas_telegram_handled(p_bot bigint, p_update bigint, p_error text default null)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.telegram_updates set handled_at = clock_timestamp(), payload = null, error = p_error
  where bot_id = p_bot and update_id = p_update and handled_at is null
$$;
comment on function maas.maas_telegram_handled is 'Marks an update as handled and deletes what it said';

create or replace function maas.maas_telegram_fail(p_bot bigint, p_update bigint, p_error text)
returns int language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.telegram_updates set failures = failures + 1, error = p_error
  where bot_id = p_bot and update_id = p_update and handled_at is null returning failures
$$;
comment on function maas.maas_telegram_fail is
  'Counts a failed attempt to handle an update; returns how many there were';

create or replace function maas.maas_telegram_ask(
  p_bot bigint, p_update bigint, p_chat bigint, p_reply_to bigint, p_dialogue text,
  p_name text, p_assistant text, p_query text, p_language text, p_metadata jsonb,
  p_attachments uuid[], p_queue_limit int, p_debounce float8 default null)
returns table (verdict text, run_id uuid, reply_id bigint, user_id uuid) language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  target_user uuid;
  conversation uuid;
  inserted uuid;
begin
  if not maas.maas_telegram_claim(p_bot, p_update) then
    verdict := 'handled';
    return next;
    return;
  end if;
  target_user := maas.maas_resolve_user('telegram', p_name);
  conversation := maas.maas_chat_conversation(p_dialogue, target_user, p_assistant);
  if conversation is null then
    verdict := 'unknown_assistant';
    return next;
    return;
  end if;
  if p_queue_limit <= (
    select count(*) from maas.pipeline_runs r
    where r.user_id = target_user and r.queue_state < 2 and r.kind in ('ask', 'action')
      -- not the one that takes it in
      and (p_debounce is null or r.queue_state <> -4 or r.debounce is null or r.conversation_id <> conversation)) then
    verdict := 'queue_full';
    return next;
    return;
  end if;
  insert into maas.pipeline_runs as r (
    user_id, user_query, assistant, conversation_id, metadata, source, caller, attachment_ids, debounce)
  values (target_user, p_query, p_assistant, conversation, p_metadata, 'telegram', 'telegram', p_attachments,
    p_debounce)
  returning r.id into inserted;
  select coalesce((select j.run_id from maas.maas_joined_run(inserted) j), inserted) into run_id;
  user_id := target_user;
  if run_id = inserted then
    verdict := 'asked';
    insert into maas.telegram_replies (bot_id, chat_id, user_id, run_id, reply_to, language)
    values (p_bot, p_chat, target_user, inserted, p_reply_to, p_language) returning telegram_replies.id into reply_id;
  else
    verdict := 'joined';
  end if;
  perform maas.maas_telegram_handled(p_bot, p_update);
  return next;
end
$$;
comment on function maas.maas_telegram_ask is
  'Inserts the request of an update, and the reply that shows its answer; with p_debounce it waits that many seconds '
  'for the next one of its chat. Returns asked; joined, if one of the chat that waits takes it in; or handled, '
  'unknown_assistant or queue_full, which change nothing';

create or replace function maas.maas_telegram_hold(
  p_dialogue text, p_name text, p_assistant text, p_seconds float8) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.pipeline_runs r set run_at = clock_timestamp() + make_interval(secs => p_seconds)
  from maas.user_identities i join maas.chat_conversations c on c.user_id = i.user_id
  where i.provider = 'telegram' and i.external_id = p_name
    and c.telegram_chat_id = p_dialogue and c.assistant = p_assistant and c.is_open
    and r.user_id = c.user_id and r.conversation_id = c.id and r.queue_state = -4 and r.debounce is not null
    and r.run_at > clock_timestamp()
$$;
comment on function maas.maas_telegram_hold is
  'Has the request of a chat that waits for the next one begin in so many seconds; 0: at once, and it takes in no more';

create or replace function maas.maas_telegram_start(
  p_bot bigint, p_update bigint, p_chat bigint, p_dialogue text, p_name text, p_assistant text,
  p_language text, p_metadata jsonb)
returns table (verdict text, run_id uuid, reply_id bigint, user_id uuid) language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  target_user uuid;
  opening text;
  conversation uuid;
begin
  if not maas.maas_telegram_claim(p_bot, p_update) then
    verdict := 'handled';
    return next;
    return;
  end if;
  select a.definition->>'opening' into opening from maas.assistants a where a.name = p_assistant and a.is_active;
  if not found then
    verdict := 'unknown_assistant';
    return next;
    return;
  end if;
  target_user := maas.maas_resolve_user('telegram', p_name);
  update maas.chat_conversations set is_open = false
  where telegram_chat_id = p_dialogue and assistant = p_assistant and is_open;
  conversation := maas.maas_chat_conversation(p_dialogue, target_user, p_assistant);
  if opening is null then
    verdict := 'silent';
    return next;
    return;
  end if;
  verdict := 'asked';
  insert into maas.pipeline_runs as r (user_id, user_query, assistant, conversation_id, metadata, source, caller)
  values (target_user, opening, p_assistant, conversation, p_metadata, 'telegram', 'telegram')
  returning r.id into run_id;
  insert into maas.telegram_replies (bot_id, chat_id, user_id, run_id, language)
  values (p_bot, p_chat, target_user, run_id, p_language)
  returning telegram_replies.id into reply_id;
  user_id := target_user;
  perform maas.maas_telegram_handled(p_bot, p_update);
  return next;
end
$$;
comment on function maas.maas_telegram_start is
  'Begins a new conversation in a chat. Returns asked if the assistant speaks first; '
  'silent if it does not, then the update is still to be handled; handled or unknown_assistant';

create or replace function maas.maas_telegram_notice(
  p_bot bigint, p_update bigint, p_chat bigint, p_reply_to bigint, p_name text, p_language text, p_notice text)
returns table (reply_id bigint, user_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if not maas.maas_telegram_claim(p_bot, p_update) then
    return;
  end if;
  user_id := maas.maas_resolve_user('telegram', p_name);
  insert into maas.telegram_replies (bot_id, chat_id, user_id, notice, reply_to, language)
  values (p_bot, p_chat, user_id, p_notice, p_reply_to, p_language) returning telegram_replies.id into reply_id;
  perform maas.maas_telegram_handled(p_bot, p_update);
  return next;
end
$$;
comment on function maas.maas_telegram_notice is
  'Has a text shown in the chat of an update, which is handled then; nothing if it was before';

create or replace function maas.maas_telegram_follow(
  p_bot bigint, p_chat bigint, p_user uuid, p_run uuid, p_language text, p_reply_to bigint default null)
returns bigint language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.telegram_replies (bot_id, chat_id, user_id, run_id, reply_to, language)
  select p_bot, p_chat, r.user_id, r.id, p_reply_to, p_language from maas.pipeline_runs r
  where r.id = p_run and r.user_id = p_user
  on conflict (run_id) where run_id is not null do nothing
  returning id
$$;
comment on function maas.maas_telegram_follow is
  'Has a run of this user shown in a chat, once; null if it is shown already or is not of this user';

create or replace function maas.maas_telegram_tasks(p_bot bigint)
returns table (run_id uuid, chat_id bigint, user_id uuid, language text, reply_to bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select t.run_id, r.chat_id, r.user_id, r.language::text, r.reply_to
  from maas.telegram_replies r join maas.tasks t on t.parent_run_id = r.run_id
  join maas.pipeline_runs p on p.id = t.run_id and p.user_id = r.user_id
  where r.bot_id = p_bot and r.created_at > clock_timestamp() - interval '1 day'
    and not exists (select from maas.telegram_replies k where k.run_id = t.run_id)
  limit 100
$$;
comment on function maas.maas_telegram_tasks is
  'Tasks that runs in chats have begun in the last day and that no reply shows';

create or replace function maas.maas_telegram_place(p_reply bigint, p_part int, p_kind text, p_action uuid default null)
returns bigint language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.telegram_messages (reply_id, user_id, part, kind, action_id)
  select r.id, r.user_id, p_part, p_kind, p_action from maas.telegram_replies r
  where r.id = p_reply and r.state = 'open' for key share of r
  on conflict (reply_id, part) where state in ('sending', 'sent', 'closed', 'in_doubt') do nothing
  returning id
$$;
comment on function maas.maas_telegram_place is
  'Announces a message before it is sent; null if the reply has ended or was erased, '
  'or another process sends this part';

create or replace function maas.maas_telegram_set_message(
  p_id bigint, p_state text, p_message bigint default null, p_shown text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.telegram_messages set state = p_state, message_id = coalesce(p_message, message_id),
    shown = coalesce(p_shown, shown)
  where id = p_id;
  return found;
end
$$;
comment on function maas.maas_telegram_set_message is
  'Stores what became of a message; null keeps a value. False if it was erased';

create or replace function maas.maas_telegram_end(p_reply bigint, p_state text, p_error text default null)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.telegram_replies set state = p_state, error = p_error, notice = null, not_before = null,
    ended_at = clock_timestamp()
  where id = p_reply and state = 'open'
$$;
comment on function maas.maas_telegram_end is 'Ends a reply: shown or dropped';

create or replace function maas.maas_telegram_delay(p_bot bigint, p_chat bigint, p_seconds double precision)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.telegram_replies set not_before = clock_timestamp() + make_interval(secs => p_seconds)
  where bot_id = p_bot and chat_id = p_chat and state = 'open'
$$;
comment on function maas.maas_telegram_delay is 'Has all replies of a chat wait so many seconds';

create or replace function maas.maas_telegram_report(p_bot bigint, p_error text)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.telegram_bots set error = p_error where bot_id = p_bot
$$;
comment on function maas.maas_telegram_report is 'Stores why no updates come in';

create or replace function maas.maas_telegram_clean()
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from maas.telegram_updates where handled_at < clock_timestamp() - interval '2 days';
  delete from maas.telegram_replies where ended_at < clock_timestamp() - interval '30 days'
$$;
comment on function maas.maas_telegram_clean is
  'Deletes handled updates after two days, which is longer than Telegram repeats them, and ended replies after 30';
