-- Filters of lists that operators keep by name.

create table maas.saved_filters (
  owner text not null,
  list varchar(10) not null check (list in ('runs', 'users')),
  name varchar(100) not null check (name ~ '[^ ]'),
  query varchar(2000) not null,
  updated_at timestamptz not null default clock_timestamp(),
  user_id uuid generated always as (
    case when owner ~ '^jwt:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then substr(owner, 5)::uuid end) stored,
  primary key (owner, list, name)
);
comment on table maas.saved_filters is
  'Filters of the lists of runs and of users that operators keep by name; maas_save_filter writes them';
comment on column maas.saved_filters.owner is 'Who keeps it, as in the audit: jwt:USER, key:ID or http';
comment on column maas.saved_filters.query is 'The part of the address of the page behind the question mark';
create index idx_saved_filters_user_id on maas.saved_filters (user_id) where user_id is not null;
