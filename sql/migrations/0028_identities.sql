-- Users under other names, and who may see more than their own.
--
-- Here a user is a UUID. Doors that know users by other names (an e-mail address, an account, any text) look them up in
-- `user_identities`; who is not there yet gets a UUID at the first request that keeps something. Erasing a user takes
-- their names along: who comes back under one is new.

create table user_identities (
  provider varchar(20) not null,
  external_id text not null check (length(external_id) between 1 and 200),
  user_id uuid not null,
  created_at timestamptz not null default now(),
  primary key (provider, external_id)
);
comment on table user_identities is 'Which user a name of another system stands for; a user may have many names';
comment on column user_identities.provider is 'Whose names these are: api for those that clients send, or a channel';
create index idx_user_identities_user_id on user_identities (user_id);

create function maas_name_user(p_provider text, p_external text) returns uuid language plpgsql as $$
declare
  found uuid;
begin
  select user_id into found from user_identities where provider = p_provider and external_id = p_external;
  if found is null then
    insert into user_identities (provider, external_id, user_id) values (p_provider, p_external, gen_random_uuid())
    on conflict (provider, external_id) do update set external_id = excluded.external_id  -- another was first: theirs
    returning user_id into found;
  end if;
  return found;
end $$;
comment on function maas_name_user is 'The user of this name; a new one at first sight, the same for all who ask at one moment';

create table user_roles (
  user_id uuid not null,
  role varchar(20) not null check (role in ('admin')),
  granted_at timestamptz not null default now(),
  primary key (user_id, role)
);
comment on table user_roles is 'Users who may see what is not theirs; written by operators';

-- Keys of repeated requests are unique per caller, and who calls has a name now.
update pipeline_runs set caller = 'http' where caller = '' and idempotency_key is not null and source = 'http';
