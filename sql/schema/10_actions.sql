-- Pending actions: tool calls that wait for the user.

create table maas.chat_pending_actions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  run_id uuid not null,
  conversation_id uuid references maas.chat_conversations on delete cascade,
  call_id text not null,
  tool_name text not null,
  tool_version text not null default '',
  tool_args jsonb not null default '{}',
  args_hash text not null,
  effect varchar(10) not null check (effect in ('read', 'write', 'dangerous')),
  assistant varchar(50),
  agent text,
  status varchar(10) not null default 'pending'
    check (status in ('pending', 'approved', 'rejected', 'expired', 'executing', 'done', 'failed', 'in_doubt')),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default (now() + '00:30:00'),
  decided_by text,
  decided_at timestamptz,
  decided_in uuid,
  decided_words text,
  result jsonb,
  place int not null default 1,
  asked_hash text not null,
  action_run_id uuid,
  account_id text,
  proposed_in uuid,
  shown_in uuid,
  shown_fingerprint text,
  shown_place smallint,
  wording jsonb not null default '{}',
  check (expires_at > created_at),
  constraint tool_args_exceed_100_levels
    check (not tool_args @? 'strict $.**{100} ? (@.type() == "object" || @.type() == "array")')
);
comment on table maas.chat_pending_actions is
  'Tool calls that wait for the user: pending -> approved, rejected or expired; '
  'approved -> executing -> done, failed or in_doubt';
comment on column maas.chat_pending_actions.run_id is 'The run that proposed it';
comment on column maas.chat_pending_actions.assistant is 'The assistant of that run';
comment on column maas.chat_pending_actions.agent is 'The agent that made the call, else the domain of the tool';
comment on column maas.chat_pending_actions.decided_by is
  'Who decided: a caller''s name, words: a yes or no that the user typed, or replaced: its question was asked again';
comment on column maas.chat_pending_actions.decided_in is 'The run whose message decided it';
comment on column maas.chat_pending_actions.decided_words is 'That message';
comment on column maas.chat_pending_actions.args_hash is 'SHA-256 of tool_args: exactly what was approved is executed';
comment on column maas.chat_pending_actions.place is
  'Position of the call in its run, from 1: the actions of a run form a plan';
comment on column maas.chat_pending_actions.asked_hash is
  'SHA-256 of the arguments as proposed, whatever they were edited to since';
comment on column maas.chat_pending_actions.action_run_id is
  'The run of kind action that executes it and reports the result';
comment on column maas.chat_pending_actions.account_id is
  'The account that the call was proposed for: metadata.account of the run, '
  'else ad_account_id of its conversation at that moment';
comment on column maas.chat_pending_actions.proposed_in is
  'The run that proposed it last: the same call proposed again stays one action';
comment on column maas.chat_pending_actions.shown_in is 'The run whose answer showed it last, by code';
comment on column maas.chat_pending_actions.shown_place is 'Its number in the list that this answer showed, from 1';
comment on column maas.chat_pending_actions.shown_fingerprint is
  'Its fingerprint as that answer showed it: a typed yes or no decides nothing else';
comment on column maas.chat_pending_actions.wording is
  'How it is described to people: {title, reason, object, changes, verbs, objects}; '
  'an edit takes object and changes away';
create unique index idx_chat_pending_actions_action_run_id on maas.chat_pending_actions (action_run_id)
  where action_run_id is not null;
create unique index idx_chat_pending_actions_call on maas.chat_pending_actions (run_id, call_id, asked_hash);
create index idx_chat_pending_actions_conversation on maas.chat_pending_actions (conversation_id);
create index idx_chat_pending_actions_pending on maas.chat_pending_actions (expires_at) where status = 'pending';
create index idx_chat_pending_actions_user_id on maas.chat_pending_actions (user_id, created_at);
