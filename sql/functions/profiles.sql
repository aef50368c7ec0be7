-- Profiles and preferences of users: who somebody is and how they want to work.

create or replace function maas.maas_set_profile(
  p_user uuid, p_name text, p_position text, p_department text, p_language text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.user_profiles (user_id, name, position, department, language)
  values (p_user, p_name, p_position, p_department, p_language)
  on conflict (user_id) do update set name = excluded.name, position = excluded.position,
    department = excluded.department, language = excluded.language, updated_at = now()
$$;
comment on function maas.maas_set_profile is 'Replaces what the profile of a user says about them';

create or replace function maas.maas_set_timezone(p_user uuid, p_timezone text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_timezone is not null and not exists (select from pg_timezone_names z where z.name = p_timezone) then
    raise exception 'unknown time zone %; use a name like Europe/Moscow', left(quote_literal(p_timezone), 80)
      using errcode = '22023';
  end if;
  insert into maas.user_profiles as p (user_id, timezone) values (p_user, p_timezone)
  on conflict (user_id) do update set timezone = excluded.timezone, updated_at = now();
end
$$;
comment on function maas.maas_set_timezone is 'Sets the time zone of a user, an IANA name; null for MAAS_TIMEZONE';

create or replace function maas.maas_replace_preferences(p_user uuid, p_values jsonb) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  delete from maas.user_preferences where user_id = p_user and not p_values ? slot;
  insert into maas.user_preferences as p (user_id, slot, value)
  select p_user, v.key, v.value from jsonb_each_text(p_values) v
  on conflict (user_id, slot) do update set value = excluded.value, answered_at = now() where p.value <> excluded.value;
$$;
comment on function maas.maas_replace_preferences is
  'Makes p_values, {slot: text}, all preferences of a user; what is the same keeps its time';

create or replace function maas.maas_set_preferences(p_user uuid, p_values jsonb) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select maas.maas_replace_preferences(p_user, p_values);
  -- An interview that goes on, or is taken up again, must not bring back what the user has changed.
  update maas.assistant_sessions set slots = p_values, updated_at = now()
  where user_id = p_user and agent = 'interview' and conversation_id is null and is_active;
$$;
comment on function maas.maas_set_preferences is
  'Replaces the preferences of a user as the user wants them, in the interview, too';
