-- Images, and dialogues that collect values.

create table maas.attachments (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  kind varchar(10) not null default 'upload' check (kind in ('upload', 'generated')),
  run_id uuid,
  media_type varchar(50) not null check (media_type in ('image/jpeg', 'image/png', 'image/webp')),
  width int not null check (width > 0),
  height int not null check (height > 0),
  content bytea not null check (octet_length(content) between 1 and 20971520),
  sha256 text not null generated always as (encode(sha256(content), 'hex')) stored,
  created_at timestamptz not null default clock_timestamp(),
  check ((kind = 'generated') = (run_id is not null))
);
alter table maas.attachments alter content set storage external;
comment on table maas.attachments is 'Images: uploaded by a user (metadata removed) or generated for one';
comment on column maas.attachments.run_id is 'The run that generated the image';
create unique index idx_attachments_content on maas.attachments (user_id, sha256, run_id) nulls not distinct;
create index idx_attachments_run_id on maas.attachments (run_id) where run_id is not null;

create table maas.assistant_sessions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  assistant varchar(50) not null,
  agent varchar(50),
  conversation_id uuid references maas.chat_conversations on delete cascade,
  state varchar(30) not null default 'assistant_chat' check (state in ('assistant_chat', 'assistant_wait_photo')),
  slots jsonb not null default '{}' check (jsonb_typeof(slots) = 'object'),
  confirmed boolean not null default false,
  photo uuid,
  offered_photo uuid,
  optional jsonb not null default '{}' check (jsonb_typeof(optional) = 'object'),
  current_step text,
  is_active boolean not null default true,
  run_id uuid,
  run_try int,
  before jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table maas.assistant_sessions is
  'The values that a dialogue has collected: one active session per user, assistant, agent and conversation';
comment on column maas.assistant_sessions.agent is 'The agent that collects them; null for the assistant itself';
comment on column maas.assistant_sessions.conversation_id is
  'Null for a session that goes on in every conversation of its user, and for one outside of conversations';
comment on column maas.assistant_sessions.optional is
  'How far the optional slots are: state (open, offered, asking, declined), offered_in (a conversation), '
  'skipped (names)';
comment on column maas.assistant_sessions.is_active is
  'False when another dialogue, or the same one begun anew, has taken its place';
comment on column maas.assistant_sessions.slots is 'The collected values by slot name';
comment on column maas.assistant_sessions.photo is 'The attachment in use';
comment on column maas.assistant_sessions.offered_photo is
  'A later attachment, until the user has chosen between the two';
comment on column maas.assistant_sessions.current_step is 'Unused; other programs know the column';
comment on column maas.assistant_sessions.before is 'The session as run_id found it in its try run_try';
create unique index idx_assistant_sessions_active
  on maas.assistant_sessions (user_id, assistant, agent, conversation_id) nulls not distinct where is_active;
create index idx_assistant_sessions_conversation on maas.assistant_sessions (conversation_id);
