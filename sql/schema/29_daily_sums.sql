-- Runs and their model calls summed up by day: figures of a million runs are read from some thousand rows.
--
-- Runs that were inserted before sums_state.counted_until are among the sums, and later ones are not; sum_exceptions
-- names those of which the opposite is true. Whatever is not among the sums is read from the runs themselves, in one
-- snapshot with the sums, so that each run counts once at any moment (maas_sums_between). Orchestrators move
-- counted_until on in the background (maas_sum_runs); no run waits for it.
--
-- The day of a sum is that of MAAS_TIMEZONE on which the runs were inserted. Sums stay when runs are deleted; those of
-- an erased user stay without the user.

create table maas.daily_sums (
  subject text not null check (subject in ('all', 'status', 'ms', 'day', 'user', 'assistant', 'model', 'stage')),
  day date not null,
  key text not null,
  runs int not null,
  calls int not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  price bigint not null,
  unpriced int not null,
  us bigint not null,
  primary key (subject, day, key)
) with (fillfactor = 80);
comment on table maas.daily_sums is
  'Runs of a day and their model calls by a subject; maas_sum_runs writes it, and maas_sums_between reads it';
comment on column maas.daily_sums.subject is
  'all: every run and every call. status, ms: questions by status, and answered ones by the time that they took. '
  'day, user, assistant, model, stage: calls that were made, by the day of the call, and so on';
comment on column maas.daily_sums.key is
  'What the sum is of: a status, an assistant, provider:model, ...; of ms: the hundredfold natural logarithm of '
  'microseconds, rounded down; of user: erased';
comment on column maas.daily_sums.price is 'Micro-dollars of the calls that have a price';
comment on column maas.daily_sums.unpriced is 'Calls without a price';
comment on column maas.daily_sums.us is 'Of ms: microseconds from the insert to the answer';

create table maas.daily_user_sums (
  day date not null,
  user_id uuid not null,
  runs int not null,
  calls int not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  price bigint not null,
  unpriced int not null,
  primary key (day, user_id)
) with (fillfactor = 80);
comment on table maas.daily_user_sums is 'What daily_sums has of the subject user, of each user';
create index idx_daily_user_sums_user_id on maas.daily_user_sums (user_id);

create table maas.sum_exceptions (
  run_id uuid primary key references maas.pipeline_runs on delete cascade,
  is_counted boolean not null
);
comment on table maas.sum_exceptions is
  'Runs of before counted_until that are not among the sums: unfinished, tried again, or committed late; and later '
  'ones that are, because they are being deleted';

create table maas.sums_state (
  counted_until timestamptz not null default '-infinity',
  zone text,
  next_until timestamptz not null default '-infinity',
  next_xid xid8 not null default '0'
);
comment on table maas.sums_state is 'One row: how far runs are summed up. Whoever changes sums locks it';
comment on column maas.sums_state.zone is
  'The zone of the days; the sums are made again where MAAS_TIMEZONE is another';
comment on column maas.sums_state.next_until is
  'Where counted_until goes next, as soon as all transactions before next_xid have ended';
create unique index idx_sums_state_one on maas.sums_state ((true));
insert into maas.sums_state default values;
