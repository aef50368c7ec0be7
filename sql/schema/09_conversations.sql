-- Conversations and their messages.

create table maas.chat_conversations (
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
  start_results jsonb,
  created_at timestamptz not null default now(),
  is_open boolean not null default true,
  is_pinned boolean not null default false,
  is_archived boolean not null default false,
  is_remembered boolean not null default true
);
comment on table maas.chat_conversations is 'A dialogue of one user with one assistant';
comment on column maas.chat_conversations.title is 'The beginning of the first message, unless somebody set another';
comment on column maas.chat_conversations.rolling_summary is
  'What was said before the last messages that a draft shows, and in those that it shows truncated';
comment on column maas.chat_conversations.start_results is
  'What the opening tools of the assistant gave in its first run, by name';
comment on column maas.chat_conversations.telegram_chat_id is
  'The private chat that it is held in; without one, it has no such chat';
comment on column maas.chat_conversations.is_open is
  'Whether messages of its chat belong to it; a chat has one open conversation with each assistant';
comment on column maas.chat_conversations.is_pinned is 'It stands before the others in lists';
comment on column maas.chat_conversations.is_archived is
  'Put away: lists show it only where they are asked to. Its words are remembered as before';
comment on column maas.chat_conversations.is_remembered is
  'False: a temporary conversation, of whose requests none is remembered; decided when it is opened';
create unique index idx_chat_conversations_chat on maas.chat_conversations (telegram_chat_id, assistant)
  where telegram_chat_id is not null and is_open;
create index idx_chat_conversations_user_id on maas.chat_conversations (user_id, created_at);

create table maas.chat_messages (
  id uuid primary key default maas.maas_new_id(),
  conversation_id uuid not null references maas.chat_conversations on delete cascade,
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
  created_at timestamptz not null default clock_timestamp(),
  attachment_ids uuid[] not null default '{}'
);
comment on table maas.chat_messages is
  'The messages that a dialogue shows; raw_logs keeps the text when the dialogue is cleared';
comment on column maas.chat_messages.run_id is 'The run that wrote the message';
comment on column maas.chat_messages.actions is
  'What the run of this answer proposed: {id, tool, arguments}, and the writes that it made: '
  '{tool, arguments, status, verification}';
comment on column maas.chat_messages.tool_calls is
  'Of a message with the role tool: its call, [{id, name, arguments}], without secrets and phone numbers';
comment on column maas.chat_messages.tool_result is
  'What that call gave, without secrets and phone numbers, at most 8 kB';
comment on column maas.chat_messages.tokens_used is
  'Tokens, in and out: of an answer those of all model calls of its run; '
  'of a tool call those of the model call that made it, on the first of several';
comment on column maas.chat_messages.is_folded is 'The exchange is part of the conversation''s rolling summary';
comment on column maas.chat_messages.attachment_ids is 'Images that came with a query, or were generated for an answer';
create index idx_chat_messages_conversation on maas.chat_messages (conversation_id, created_at, id);
create index idx_chat_messages_run_id on maas.chat_messages (run_id);
create index idx_chat_messages_unfolded on maas.chat_messages (conversation_id, created_at) where not is_folded;
create index idx_chat_messages_user_id on maas.chat_messages (user_id);
