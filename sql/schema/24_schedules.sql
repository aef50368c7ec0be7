-- Schedules: requests that are sent by the clock.

create table maas.schedules (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  user_query text not null,
  assistant varchar(50) not null default 'mentor',
  conversation_id uuid,
  cron varchar(100) not null check (cron ~ '^[0-9A-Za-z*,/#-]+( [0-9A-Za-z*,/#-]+){4}$'),
  timezone text not null,
  catch_up varchar(4) not null default 'last' check (catch_up in ('none', 'last', 'all')),
  next_at timestamptz,
  paused_at timestamptz,
  last_at timestamptz,
  error varchar(500),
  created_at timestamptz not null default clock_timestamp(),
  constraint user_query_exceeds_64_kib check (octet_length(user_query) <= 65536),
  constraint user_query_is_blank
    check (user_query ~ '[^\s\u0085\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]')
);
comment on table maas.schedules is 'Requests of users that are sent by the clock; maas_create_schedule adds them';
comment on column maas.schedules.cron is 'Minute, hour, day of the month, month, day of the week';
comment on column maas.schedules.timezone is 'The IANA name of the zone in which cron is read';
comment on column maas.schedules.catch_up is
  'What is sent for times that passed while no orchestrator ran: nothing, the last one, or all, at most 100';
comment on column maas.schedules.next_at is
  'When the next request is due; null: an orchestrator has still to compute it, or there is none';
comment on column maas.schedules.paused_at is 'Nothing is sent since; times that pass meanwhile are not caught up';
comment on column maas.schedules.last_at is 'The latest time for which a request was sent';
comment on column maas.schedules.error is 'Why nothing could be sent for the latest time';
-- null first: what has no time yet is due
create index idx_schedules_due on maas.schedules (coalesce(next_at, '-infinity'::timestamptz)) where paused_at is null;
create index idx_schedules_user on maas.schedules (user_id, created_at);
