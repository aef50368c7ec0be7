-- Secrets of users. No error of these functions quotes a value, and no audit row holds one.

create or replace function maas.maas_set_secret(p_user uuid, p_name text, p_value text, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_new boolean;
begin
  if p_user is null then
    raise invalid_parameter_value using message = 'user: must be a UUID';
  elsif p_name is null or p_name !~ '^[A-Za-z_][A-Za-z0-9_]{0,49}$' then
    raise invalid_parameter_value using message = 'name: 1 to 50 Latin letters, digits and _, no digit first';
  elsif p_value is null or length(p_value) not between 8 and 8000 or p_value !~ '^[!-~]([ -~]*[!-~])?$' then
    raise invalid_parameter_value
      using message = 'value: 8 to 8000 printable ASCII characters without leading or trailing blanks';
  end if;
  insert into maas.user_secrets (user_id, name, value) values (p_user, p_name, p_value)
  on conflict (user_id, name) do update set value = excluded.value, changed_at = clock_timestamp()
  returning xmax = 0 into is_new;
  perform maas.maas_write_audit('secret_set', p_user, null, jsonb_build_object('name', p_name), p_actor);
  return is_new;
end
$$;
comment on function maas.maas_set_secret is
  'Stores or replaces a secret of a user and writes the audit, without the value; returns whether it is new. '
  'Open connections with the old one are closed within seconds';

create or replace function maas.maas_renew_secret(p_user uuid, p_name text, p_old text, p_value text, p_actor text)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_value is null or length(p_value) not between 8 and 8000 or p_value !~ '^[!-~]([ -~]*[!-~])?$' then
    raise invalid_parameter_value
      using message = 'value: 8 to 8000 printable ASCII characters without leading or trailing blanks';
  end if;
  update maas.user_secrets set value = p_value, changed_at = clock_timestamp()
  where user_id = p_user and name = p_name and value = p_old;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('secret_set', p_user, null, jsonb_build_object('name', p_name), p_actor);
  return true;
end
$$;
comment on function maas.maas_renew_secret is
  'Replaces a secret of a user by the one that its service gave for it; false if it is no longer p_old';

create or replace function maas.maas_delete_secret(p_user uuid, p_name text, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.user_secrets where user_id = p_user and name = p_name;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('secret_delete', p_user, null, jsonb_build_object('name', p_name), p_actor);
  return true;
end
$$;
comment on function maas.maas_delete_secret is
  'Deletes a secret of a user; false if there is none. Open connections with it are closed within seconds';

create or replace function maas.maas_read_secrets(p_user uuid, p_names text[])
returns table (name text, value text, changed_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.name, s.value, s.changed_at from maas.user_secrets s where s.user_id = p_user and s.name = any(p_names)
$$;
comment on function maas.maas_read_secrets is
  'The values of these secrets of a user, for connections to MCP servers; only orchestrators may call it';

create or replace function maas.maas_secret_times(p_users uuid[])
returns table (user_id uuid, name text, changed_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.user_id, s.name, s.changed_at from maas.user_secrets s where s.user_id = any(p_users)
$$;
comment on function maas.maas_secret_times is
  'When the secrets of these users were last set: connections that were opened with others are closed';
