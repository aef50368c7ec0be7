-- Audit, forgetting and restoring.

create table maas.audit (
  id bigint primary key generated always as identity,
  at timestamptz not null default now(),
  actor text not null,
  action varchar(20) not null,
  user_id uuid,
  subject uuid,
  details jsonb not null default '{}'
);
comment on table maas.audit is
  'Who did what to whose memory or to shared data: ids and counts, never a user''s text. Append-only';
comment on column maas.audit.actor is 'The caller: its name, cli, retention, or sql:LOGIN';
comment on column maas.audit.user_id is 'Whose memory it was; null for what concerns no single user';
comment on column maas.audit.subject is 'The memory or the run';
create index idx_audit_at on maas.audit (at);
create index idx_audit_prompts on maas.audit ((details->>'role_name'), (details->>'version'))
  where action = 'prompt_change';
create index idx_audit_user_id on maas.audit (user_id, at);

create table maas.forgotten_memories (
  user_id uuid not null,
  memory_id uuid not null,
  runs uuid[] not null,
  forgotten_at timestamptz not null default now(),
  primary key (user_id, memory_id)
);
comment on table maas.forgotten_memories is
  'Deleted memories, and the runs that used them but whose answers do not clearly repeat them';

create table maas.erasures (
  user_id uuid primary key,
  actor text not null,
  began_at timestamptz not null default clock_timestamp(),
  touched_at timestamptz not null default clock_timestamp(),
  deleted jsonb not null default '{}',
  place int not null default 1,
  is_clean boolean not null default true,
  late_calls int not null default 0
);
comment on table maas.erasures is
  'Users who are being erased; the row goes with the last of theirs. Orchestrators go on with what its caller left';
comment on column maas.erasures.deleted is 'The number of rows deleted so far, by table';
comment on column maas.erasures.place is
  'The table of maas_user_tables that the next call goes on with: some have no index of the user';
comment on column maas.erasures.is_clean is 'Whether the present pass over the tables has found nothing so far';
comment on column maas.erasures.late_calls is 'How many calls met runs that were inserted since the call before';

create table maas.restore_key (
  inner_pad bytea not null,
  outer_pad bytea not null
);
comment on table maas.restore_key is
  'The secret from which ids of imported rows are derived, as the two pads of HMAC-SHA-256; only the owner may read it';

create unique index idx_restore_key_one on maas.restore_key ((true));
do $$
declare
  secret bytea := sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));
  inner_pad bytea := decode(repeat('36', 64), 'hex');
  outer_pad bytea := decode(repeat('5c', 64), 'hex');
begin
  for i in 0..31 loop
    inner_pad := set_byte(inner_pad, i, get_byte(inner_pad, i) # get_byte(secret, i));
    outer_pad := set_byte(outer_pad, i, get_byte(outer_pad, i) # get_byte(secret, i));
  end loop;
  insert into maas.restore_key (inner_pad, outer_pad) values (inner_pad, outer_pad);
end $$;
