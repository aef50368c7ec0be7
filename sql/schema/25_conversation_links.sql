-- Links by which anybody may read a conversation.

create table maas.conversation_links (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  conversation_id uuid not null references maas.chat_conversations on delete cascade,
  hash bytea not null unique check (length(hash) = 32),
  has_evidence boolean not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);
comment on table maas.conversation_links is
  'Links by which anybody may read a conversation as it was when they were made; no role reads it';
comment on column maas.conversation_links.hash is 'SHA-256 of the token, which is stored nowhere';
comment on column maas.conversation_links.has_evidence is 'Whether it shows the memories that the answers cite, too';
create index idx_conversation_links_conversation on maas.conversation_links (conversation_id);
create index idx_conversation_links_user on maas.conversation_links (user_id, created_at);
