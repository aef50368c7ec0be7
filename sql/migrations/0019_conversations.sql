-- Dialogues: conversations and their messages, notes of the user, actions that wait for a word of the user.
--
--   insert of a run     `join_conversation` finds or opens the conversation that the run names and stores the message,
--                       in the transaction of the insert: it is there whatever becomes of the run
--   answer of a run     `keep_answer` stores the assistant's message in the transaction that completes the run
--   maas_clear_conversation   its messages go
--   maas_fold_conversation    what the records say of exchanges older than its last messages becomes one summary
--   maas_add_note, maas_drop_note   what the user asks to be remembered, or forgotten, in so many words
--   maas_propose_action -> maas_decide_action -> maas_claim_action -> maas_finish_action     once each, whoever races
--
-- raw_logs stays the source of memory; chat_messages is what a dialogue shows, and may be cleared. The engine never waits
-- for a client here: all that it takes of a conversation is the key share of a foreign key. A run without a conversation
-- fires nothing. Nothing here has a foreign key to pipeline_runs: each update of a run would pay for it.

create table chat_conversations (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  assistant varchar(50) not null default 'mentor',
  title text check (char_length(title) between 1 and 200),
  source varchar(20) not null default 'web' check (source in ('telegram', 'web')),
  telegram_chat_id text,
  user_account_id text,
  ad_account_id text,
  mode varchar(10) not null default 'auto' check (mode in ('auto', 'plan', 'ask')),
  rolling_summary text not null default '' check (char_length(rolling_summary) <= 2000),
  last_agent text,
  last_domain text,
  created_at timestamptz not null default now()
);
comment on table chat_conversations is 'A dialogue of one user with one assistant';
comment on column chat_conversations.title is 'The beginning of the first message, unless somebody gave another';
comment on column chat_conversations.rolling_summary is 'What was said before the last ten messages';
create index idx_chat_conversations_user_id on chat_conversations (user_id, created_at);

create table chat_messages (
  id uuid primary key default gen_random_uuid(),
  conversation_id uuid not null references chat_conversations on delete cascade,
  user_id uuid not null,
  run_id uuid,
  role varchar(10) not null check (role in ('user', 'assistant', 'system', 'tool')),
  content text not null,
  actions jsonb,
  tool_calls jsonb,
  tool_call_id text,
  tool_name text,
  tool_result jsonb,
  agent text,
  tokens_used int,
  is_folded boolean not null default false,
  created_at timestamptz not null default clock_timestamp()
);
comment on table chat_messages is 'What a dialogue shows; raw_logs keeps the words when it is cleared';
comment on column chat_messages.run_id is 'The run that said it';
comment on column chat_messages.actions is 'The actions that the run of this answer proposed: [{id, tool, arguments}]';
comment on column chat_messages.is_folded is 'Its exchange is in the rolling summary of the conversation';
create index idx_chat_messages_conversation on chat_messages (conversation_id, created_at, id);
create index idx_chat_messages_unfolded on chat_messages (conversation_id, created_at) where not is_folded;
create index idx_chat_messages_run_id on chat_messages (run_id);
create index idx_chat_messages_user_id on chat_messages (user_id);

create table chat_pending_actions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  run_id uuid not null,
  conversation_id uuid references chat_conversations on delete cascade,
  call_id text not null,
  tool_name text not null,
  tool_version text not null default '',
  tool_args jsonb not null default '{}',
  args_hash text not null,
  effect varchar(10) not null check (effect in ('read', 'write', 'dangerous')),
  agent text,
  status varchar(10) not null default 'pending' check (
    status in ('pending', 'approved', 'rejected', 'expired', 'executing', 'done', 'failed', 'in_doubt')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '30 minutes',
  decided_by text,
  decided_at timestamptz,
  result jsonb,
  check (expires_at > created_at)
);
comment on table chat_pending_actions is 'Tool calls that wait for the user: pending -> approved, rejected or expired; approved -> executing -> done, failed or in_doubt';
comment on column chat_pending_actions.run_id is 'The run that asks for it';
comment on column chat_pending_actions.args_hash is 'sha256 of tool_args: what was approved is what is executed';
create unique index idx_chat_pending_actions_call on chat_pending_actions (run_id, call_id, args_hash);
create index idx_chat_pending_actions_user_id on chat_pending_actions (user_id, created_at);
create index idx_chat_pending_actions_conversation on chat_pending_actions (conversation_id);

-- Conversations -------------------------------------------------------------------------------------------------------

create function maas_default_mode(p_assistant text) returns text language sql stable as $$
  select case when a.definition->>'default_mode' in ('auto', 'plan', 'ask') then a.definition->>'default_mode' else 'auto' end
  from assistants a where a.name = p_assistant
$$;
comment on function maas_default_mode is 'The mode that a new conversation with this assistant begins in';

create function maas_title(p_text text) returns text language sql immutable as $$
  select nullif(left(btrim(regexp_replace(left(p_text, 1000), '\s+', ' ', 'g')), 80), '')
$$;
comment on function maas_title is 'What a conversation is called after its first message; null where that begins with a desert of blanks';

create function join_conversation() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into chat_conversations (id, user_id, assistant, source, mode)
  values (new.conversation_id, new.user_id, new.assistant,
    case new.source when 'telegram' then 'telegram' else 'web' end, maas_default_mode(new.assistant))
  on conflict (id) do nothing;
  if not exists (
    select from chat_conversations where id = new.conversation_id and user_id = new.user_id and assistant = new.assistant) then
    raise foreign_key_violation using
      message = format('conversation_id: %s is no conversation of this user with the assistant "%s"', new.conversation_id, new.assistant),
      hint = 'take a new id, or leave it out', table = 'pipeline_runs', column = 'conversation_id';
  end if;
  if new.kind = 'ask' then
    insert into chat_messages (conversation_id, user_id, run_id, role, content)
    values (new.conversation_id, new.user_id, new.id, 'user', new.user_query);
    update chat_conversations set title = maas_title(new.user_query)
    where id = new.conversation_id and title is null;
  end if;
  return null;
end $$;
create trigger join_conversation after insert on pipeline_runs for each row
  when (new.conversation_id is not null) execute function join_conversation();

create function keep_answer() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into chat_messages (conversation_id, user_id, run_id, role, content, actions)
  select c.id, new.user_id, new.id, 'assistant', new.final_answer, (
    select jsonb_agg(jsonb_build_object('id', a.id, 'tool', a.tool_name, 'arguments', a.tool_args) order by a.created_at, a.id)
    from chat_pending_actions a where a.run_id = new.id)
  from chat_conversations c where c.id = new.conversation_id and c.user_id = new.user_id;
  return null;
end $$;
create trigger keep_answer after update of final_answer on pipeline_runs for each row
  when (new.conversation_id is not null and old.final_answer is null and new.final_answer is not null) execute function keep_answer();

create function forget_copies() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  retold uuid[];  -- conversations whose summary may speak of what is gone: it is made anew from the records that stay
begin
  delete from user_notes n using gone g where n.run_id = g.run_id and g.message_type = 'user_query';
  with dropped as (
    delete from chat_messages m using gone g
    where m.run_id = g.run_id and m.role = case g.message_type when 'user_query' then 'user' else 'assistant' end
    returning m.conversation_id, m.is_folded
  )
  select array_agg(distinct conversation_id) into retold from dropped where is_folded;
  if retold is not null then
    update chat_conversations set rolling_summary = '' where id = any(retold);
    update chat_messages set is_folded = false where conversation_id = any(retold) and is_folded;
  end if;
  return null;
end $$;
create trigger forget_copies after delete on raw_logs referencing old table as gone
  for each statement execute function forget_copies();

create function maas_last_words(p_text text, p_chars int) returns text language sql immutable as $$
  select case when char_length(p_text) <= p_chars then p_text else '…' || regexp_replace(right(p_text, p_chars - 1), '^\S*', '') end
$$;
comment on function maas_last_words is 'At most so many characters from the end, from a word on';

create function maas_clear_conversation(p_id uuid) returns int language plpgsql as $$
declare
  cleared int;
begin
  update chat_conversations set rolling_summary = '' where id = p_id;
  if not found then
    return null;
  end if;
  delete from chat_messages where conversation_id = p_id;
  get diagnostics cleared = row_count;
  return cleared;
end $$;
comment on function maas_clear_conversation is 'Its messages and their summary are gone, how many; null when there is no such conversation. raw_logs stays';

create function maas_fold_conversation(p_id uuid, p_keep int) returns boolean language plpgsql as $$
declare
  gone uuid[];   -- runs all of whose messages are older than the last p_keep
  told text;
begin
  -- Whoever holds the conversation is not waited for: what is left is folded with the next exchange.
  perform from chat_conversations where id = p_id for no key update skip locked;
  if not found then
    return false;
  end if;
  gone := array(
    select m.run_id from (
      select c.run_id, r.lane, row_number() over (order by r.seq desc, c.created_at desc) as place
      from chat_messages c join pipeline_runs r on r.id = c.run_id and r.lane > 0
      where c.conversation_id = p_id and c.role in ('user', 'assistant') and not c.is_folded) m
    group by m.run_id, m.lane having min(m.place) > p_keep and m.lane = 2);  -- in lane 1 its record is not written yet
  select string_agg(l.summary, ' ' order by l.occurred_at, l.created_at) into told
  from lsm_storage l where l.id in (select record_id from raw_logs where run_id = any(gone));
  update chat_messages set is_folded = true where conversation_id = p_id and run_id = any(gone);
  update chat_conversations set rolling_summary = maas_last_words(concat_ws(' ', nullif(rolling_summary, ''), told), 2000)
  where id = p_id and told is not null;
  return found;
end $$;
comment on function maas_fold_conversation is 'Adds what the records say of exchanges before the last p_keep messages to the rolling summary, each once; whether there was any';

create view ai_conversations as
select c.*, exists (
    select from pipeline_runs r where r.user_id = c.user_id and r.lane < 2 and r.kind = 'ask' and r.conversation_id = c.id
      and r.status not in ('COMPLETED', 'FAILED'))
  or exists (select from chat_pending_actions a where a.conversation_id = c.id and a.status = 'executing') as is_processing
from chat_conversations c;
comment on view ai_conversations is 'Conversations, and whether an answer or an action of each is on its way';

create view ai_messages as
select id, conversation_id, user_id, run_id, role, content, actions as actions_json, agent, tokens_used, created_at from chat_messages;
comment on view ai_messages is 'Messages under the names that older programs use';

-- What stood in runs before there was a table for it; an id that several used belongs to the first of them.
insert into chat_conversations (id, user_id, assistant, title, created_at)
select distinct on (conversation_id) conversation_id, user_id, assistant, maas_title(user_query), created_at
from pipeline_runs where conversation_id is not null order by conversation_id, seq;
insert into chat_messages (conversation_id, user_id, run_id, role, content, created_at)
select c.id, r.user_id, r.id, case g.message_type when 'user_query' then 'user' else 'assistant' end, g.content, g.created_at
from pipeline_runs r join chat_conversations c on c.id = r.conversation_id and c.user_id = r.user_id and c.assistant = r.assistant
join raw_logs g on g.run_id = r.id where r.kind = 'ask' order by g.created_at, g.seq;

-- Notes ---------------------------------------------------------------------------------------------------------------

create function maas_note_key(p_words text) returns text language sql immutable as $$
  select md5(lower(rtrim(p_words, ' .!?…')))
$$;
comment on function maas_note_key is 'The same for notes that differ in case and in the sign at their end only';

create table user_notes (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  run_id uuid not null,
  content text not null check (char_length(content) between 1 and 1000),
  created_at timestamptz not null default clock_timestamp()
);
comment on table user_notes is 'What a user asked to be remembered in so many words; shown in every later draft';
comment on column user_notes.run_id is 'The run that told it';
create unique index idx_user_notes_key on user_notes (user_id, maas_note_key(content));
create index idx_user_notes_run_id on user_notes (run_id);

create function maas_add_note(p_run uuid, p_words text) returns text language plpgsql as $$
declare
  whose uuid;
  teller uuid;  -- the run that told it before
begin
  select user_id into whose from pipeline_runs where id = p_run for key share;
  select run_id into teller from user_notes where user_id = whose and maas_note_key(content) = maas_note_key(p_words);
  if found then
    return case when teller = p_run then 'noted' else 'known' end;
  end if;
  if (select count(*) from user_notes where user_id = whose) >= 200 then
    return 'full';
  end if;
  insert into user_notes (user_id, run_id, content) select whose, p_run, p_words where whose is not null on conflict do nothing;
  return 'noted';
end $$;
comment on function maas_add_note is 'noted, known or full: a user has at most 200; the same run again gets the same word';

create function maas_drop_note(p_run uuid, p_words text) returns text language plpgsql as $$
begin
  delete from user_notes n using pipeline_runs r
  where r.id = p_run and n.user_id = r.user_id and maas_note_key(n.content) = maas_note_key(p_words);
  if found then
    perform maas_add_event(p_run, 'note_dropped', '{}');
  end if;
  return case when exists (select from run_events where run_id = p_run and type = 'note_dropped') then 'forgotten' else 'unknown' end;
end $$;
comment on function maas_drop_note is 'forgotten or unknown: deletes this very note of the user and nothing else; the same run again gets the same word';

create function skip_archive() returns trigger language plpgsql as $$
begin
  new.archive_status := 'SKIPPED';
  new.archived_at := null;
  return new;
end $$;
comment on function skip_archive is 'A command about notes was answered without a draft and leaves no record';
create trigger skip_archive before update of archive_status on pipeline_runs for each row
  when (new.archive_status = 'ARCHIVED' and old.archive_status = 'ARCHIVING' and new.kind = 'ask' and new.draft_context is null
    and new.analysis_result->>'fast_path' = 'memory_command') execute function skip_archive();

-- Erasing -------------------------------------------------------------------------------------------------------------

create or replace function maas_user_tables() returns table (name regclass, condition text) language sql stable as $$
  select t.name, t.condition from (
    select c.conrelid::regclass, format('%I in (select id from pipeline_runs where user_id = $1)', a.attname), 1
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.confrelid = 'pipeline_runs'::regclass
    union all
    select k.oid::regclass, 'user_id = $1', case when k.oid = 'pipeline_runs'::regclass then 2
      -- Copies before the logs, and what refers to others before those: else they would go uncounted, with a trigger or a cascade.
      when k.oid = 'raw_logs'::regclass then 5
      when exists (select from pg_constraint c where c.contype = 'f' and c.conrelid = k.oid) then 3 else 4 end
    from pg_class k join pg_attribute a on a.attrelid = k.oid and a.attname = 'user_id' and not a.attisdropped
    where k.relnamespace = (select relnamespace from pg_class where oid = 'pipeline_runs'::regclass)
      and k.relkind in ('r', 'p') and not k.relispartition and k.oid <> 'audit'::regclass
  ) t(name, condition, place) order by t.place, t.name::text
$$;

-- Pending actions -----------------------------------------------------------------------------------------------------

create function maas_hash_arguments(p_args jsonb) returns text language sql immutable as $$
  select encode(sha256(convert_to(p_args::text, 'UTF8')), 'hex')
$$;
comment on function maas_hash_arguments is 'The same for the same JSON, however it was written';

create function maas_propose_action(p_run uuid, p_call text, p_tool text, p_args jsonb, p_effect text, p_tool_version text default '',
  p_agent text default null, p_lives interval default '30 minutes') returns uuid language sql as $$
  insert into chat_pending_actions (user_id, run_id, conversation_id, call_id, tool_name, tool_version, tool_args, args_hash, effect,
    agent, created_at, expires_at)
  select r.user_id, r.id, c.id, p_call, p_tool, p_tool_version, p_args, maas_hash_arguments(p_args), p_effect,
    p_agent, maas_now(), maas_now() + p_lives
  from pipeline_runs r left join chat_conversations c on c.id = r.conversation_id where r.id = p_run for key share of r
  on conflict (run_id, call_id, args_hash) do update set call_id = excluded.call_id
  returning id
$$;
comment on function maas_propose_action is 'A call that waits for the user; the same call of the same run again is the same action, null when the run was erased';

create function maas_decide_action(p_id uuid, p_user uuid, p_decision text, p_by text, p_args jsonb default null)
returns table (verdict text, status text) language plpgsql as $$
#variable_conflict use_column
declare
  action record;
begin
  if p_decision not in ('approve', 'reject') or p_decision is null then
    raise invalid_parameter_value using message = format('decision: approve or reject, not %s', coalesce(p_decision, 'null'));
  end if;
  select a.status, a.expires_at into action from chat_pending_actions a where a.id = p_id and a.user_id = p_user for update;
  if not found then
    return query select 'not_found', null;
  elsif action.status <> 'pending' then
    return query select case action.status when 'expired' then 'expired' else 'already_decided' end, action.status::text;
  elsif action.expires_at <= maas_now() then
    update chat_pending_actions a set status = 'expired' where a.id = p_id;
    return query select 'expired', 'expired';
  else
    return query update chat_pending_actions a set decided_by = p_by, decided_at = maas_now(),
      status = case p_decision when 'approve' then 'approved' else 'rejected' end,
      tool_args = case p_decision when 'approve' then coalesce(p_args, a.tool_args) else a.tool_args end,
      args_hash = case when p_decision = 'approve' and p_args is not null then maas_hash_arguments(p_args) else a.args_hash end
    where a.id = p_id returning 'decided', a.status::text;
  end if;
end $$;
comment on function maas_decide_action is 'decided, already_decided, expired or not_found (also for another user''s), and where the action is now; p_args replaces what was asked for';

create function maas_claim_action(p_id uuid) returns setof chat_pending_actions language sql as $$
  update chat_pending_actions set status = 'executing' where id = p_id and status = 'approved' returning *
$$;
comment on function maas_claim_action is 'approved -> executing: the action, for one caller only; no row for everybody else';

create function maas_finish_action(p_id uuid, p_status text, p_result jsonb default null) returns boolean language plpgsql as $$
begin
  if p_status not in ('done', 'failed', 'in_doubt') or p_status is null then
    raise invalid_parameter_value using message = format('status: done, failed or in_doubt, not %s', coalesce(p_status, 'null'));
  end if;
  update chat_pending_actions set status = p_status, result = p_result where id = p_id and status = 'executing';
  return found;
end $$;
comment on function maas_finish_action is 'executing -> done, failed or in_doubt; false when it was not executing';
