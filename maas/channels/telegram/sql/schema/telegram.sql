-- Telegram: bots, what came in, what goes out.
--
-- An update is stored before it is confirmed, and handled in one transaction with the run that it starts. A reply shows
-- a run, or a notice without one, in messages that are sent once and edited from then on. One process serves a bot: it
-- holds an advisory lock on the hash of the bot.

create table maas.telegram_bots (
  bot_id bigint primary key,
  username text not null,
  assistant varchar(50) not null,
  next_update_id bigint,
  polled_at timestamptz,
  error text
);
comment on table maas.telegram_bots is 'Bots whose updates are taken in';
comment on column maas.telegram_bots.next_update_id is 'Updates before this one are stored; null before the first';
comment on column maas.telegram_bots.polled_at is 'When Telegram last answered';
comment on column maas.telegram_bots.error is 'Why no updates come in; null while they do';

create table maas.telegram_updates (
  bot_id bigint not null references maas.telegram_bots on delete cascade,
  update_id bigint not null,
  payload jsonb,
  failures int not null default 0,
  received_at timestamptz not null default clock_timestamp(),
  handled_at timestamptz,
  error text,
  primary key (bot_id, update_id)
);
comment on table maas.telegram_updates is 'Updates of the last days, so that none is handled twice';
comment on column maas.telegram_updates.payload is 'The update as it came; deleted once it is handled';
comment on column maas.telegram_updates.error is 'Why it could not be handled';
create index idx_telegram_updates_open on maas.telegram_updates (bot_id, update_id) where handled_at is null;

create table maas.telegram_replies (
  id bigint generated always as identity primary key,
  bot_id bigint not null references maas.telegram_bots on delete cascade,
  chat_id bigint not null,
  user_id uuid not null,
  run_id uuid,
  notice text check (char_length(notice) <= 4096),
  reply_to bigint,
  language varchar(2) not null default 'en',
  state varchar(10) not null default 'open' check (state in ('open', 'shown', 'dropped')),
  not_before timestamptz,
  error text,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  constraint reply_shows_a_run_or_a_notice check (state <> 'open' or (run_id is null) <> (notice is null))
);
comment on table maas.telegram_replies is
  'What goes out to a chat: the answer of a run, or a notice; in the order of ids';
comment on column maas.telegram_replies.notice is 'A text that no run wrote; deleted once it is shown';
comment on column maas.telegram_replies.reply_to is 'The message that is answered; of groups only';
comment on column maas.telegram_replies.not_before is 'Telegram accepts nothing for this chat before';
comment on column maas.telegram_replies.error is 'Why it was dropped, or what the last attempt met';
create unique index idx_telegram_replies_run_id on maas.telegram_replies (run_id) where run_id is not null;
create index idx_telegram_replies_open on maas.telegram_replies (bot_id, id) where state = 'open';
create index idx_telegram_replies_created_at on maas.telegram_replies (created_at);
create index idx_telegram_replies_user_id on maas.telegram_replies (user_id);

create table maas.telegram_messages (
  id bigint generated always as identity primary key,
  reply_id bigint not null references maas.telegram_replies on delete cascade,
  user_id uuid not null,
  part int not null,
  kind varchar(10) not null check (kind in ('text', 'image', 'action')),
  action_id uuid,
  message_id bigint,
  shown text,
  state varchar(10) not null default 'sending'
    check (state in ('sending', 'sent', 'closed', 'orphaned', 'in_doubt', 'deleted')),
  created_at timestamptz not null default clock_timestamp()
);
comment on table maas.telegram_messages is
  'Messages of replies. Each is sent empty and filled by edits, so no text is ever sent twice';
comment on column maas.telegram_messages.part is 'Parts of the text from 0; images from 1000, actions from 2000';
comment on column maas.telegram_messages.message_id is 'Its id in the chat; null until Telegram has confirmed it';
comment on column maas.telegram_messages.shown is 'Hash of the content and the buttons that it shows';
comment on column maas.telegram_messages.state is
  'orphaned: an empty message may stand in the chat; in_doubt: an image may, and is not sent again; '
  'closed: the action was decided';
create unique index idx_telegram_messages_part on maas.telegram_messages (reply_id, part)
  where state in ('sending', 'sent', 'closed', 'in_doubt');
create index idx_telegram_messages_user_id on maas.telegram_messages (user_id);
create index idx_telegram_messages_undecided on maas.telegram_messages (action_id)
  where kind = 'action' and state = 'sent';
