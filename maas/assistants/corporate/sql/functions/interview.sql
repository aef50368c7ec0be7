-- The interview: its answers become the preferences of a user, and their position a part of the profile.

create or replace function maas.maas_keep_interview(p_run uuid, p_values jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  interviewed uuid;
begin
  select r.user_id into interviewed from maas.pipeline_runs r
  where r.id = p_run and r.owner is not null for key share of r;
  if not found then
    return false;
  end if;
  perform maas.maas_replace_preferences(interviewed, p_values);
  insert into maas.user_profiles as p (user_id, interviewed_at) values (interviewed, now())
  on conflict (user_id) do update set interviewed_at = coalesce(p.interviewed_at, now()), updated_at = now();
  return true;
end
$$;
comment on function maas.maas_keep_interview is
  'Makes the answers of an interview the preferences of the run''s user, who has passed it then; '
  'false if nobody owns the run';

create or replace function maas.maas_begin_interview(p_run uuid, p_position text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  interviewed uuid;
  known text;
begin
  select r.user_id into interviewed from maas.pipeline_runs r
  where r.id = p_run and r.owner is not null for key share of r;
  if not found then
    return null;
  end if;
  insert into maas.user_profiles as p (user_id, position) values (interviewed, p_position)
  on conflict (user_id) do update set position = coalesce(p.position, excluded.position), updated_at = now()
  returning p.position into known;
  return coalesce(known, '');
end
$$;
comment on function maas.maas_begin_interview is
  'Keeps the position of the run''s user unless the profile has one, and returns the one that holds, '
  'empty if there is none; null if nobody owns the run';

create or replace function maas.corporate_function_rights()
returns table (role_name text, functions text[]) language sql immutable as $$
  values ('maas_worker', array['maas_begin_interview', 'maas_keep_interview'])
$$;
comment on function maas.corporate_function_rights is 'Which role may execute the functions of the interview';
