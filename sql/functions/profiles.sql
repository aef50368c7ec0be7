-- Profiles and preferences of users: who somebody is and how they want to work.
--
-- Both are facts of the kind profile, one attribute a slot: profile:position, working:focus_time. So what was said of
-- them before stays known, and a person decides about them as about every fact.

create or replace function maas.maas_slot_label(p_slot text) returns text language sql immutable as $$
  select upper(left(p_slot, 1)) || replace(substr(p_slot, 2), '_', ' ') || ': '
$$;
comment on function maas.maas_slot_label is 'How the statement about a slot begins: `Focus time: `';

create or replace function maas.maas_profile(p_user uuid, p_topic text)
returns table (slot text, value text, said_at timestamptz, is_used boolean, fact_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select s.slot, case when starts_with(f.statement, s.label) then substr(f.statement, char_length(s.label) + 1)
      else f.statement end, f.said_at, f.state = 'true', f.id
  from maas.maas_facts(p_user, 'infinity', array(
    select distinct k.attribute from maas.facts k
    where k.user_id = p_user and k.kind = 'profile' and starts_with(k.attribute, p_topic || ':'))) f
  cross join lateral (select substr(f.attribute, char_length(p_topic) + 2) as slot) n
  cross join lateral (select n.slot, maas.maas_slot_label(n.slot) as label) s
  where f.state in ('true', 'unused') and f.replaced_by is null and f.subject = 'user'
$$;
comment on function maas.maas_profile is
  'What holds of a user by slot; p_topic: profile or working. is_used: false if it is to be shown to no model';

create or replace function maas.maas_add_profile(p_user uuid, p_topic text, p_values jsonb, p_origin text,
  p_logs jsonb default '{}') returns void language plpgsql as $$
declare
  added uuid[];
begin
  perform maas.maas_lock_memory(p_user);
  -- What a person has called wrong counts again when it is set again.
  insert into maas.fact_decisions (user_id, key, verdict)
  select p_user, n.key, 'free'
  from jsonb_each_text(p_values) v
  cross join lateral (select maas.maas_note_key(maas.maas_slot_label(v.key) || v.value) as key) n
  where 'wrong' = (
    select d.verdict from maas.fact_decisions d
    where d.user_id = p_user and d.key = n.key order by d.created_at desc, d.id limit 1);
  with new as (
    insert into maas.facts (
      user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, origin)
    select p_user, maas.maas_slot_label(v.key) || v.value, 'user', p_topic || ':' || v.key, 'profile', 'user', c.now,
      c.now, coalesce((select array_agg(l.id::uuid) from jsonb_array_elements_text(p_logs->v.key) l(id)), '{}'),
      p_origin
    from jsonb_each_text(p_values) v cross join (select clock_timestamp() as now) c
    where not exists (
      select from maas.maas_profile(p_user, p_topic) o where o.slot = v.key and o.value = v.value)
    returning id
  )
  select array_agg(n.id) into added from new n;
  if added is not null and exists (select from maas.webhook_endpoints) then
    perform maas.maas_emit_facts(added, 'added');
  end if;
end
$$;
comment on function maas.maas_add_profile is
  'Sets slots of a user to p_values, {slot: text}, whose messages are p_logs, {slot: [id]}; what is the same keeps its '
  'time, what was before is replaced';

create or replace function maas.maas_drop_profile(p_user uuid, p_topic text, p_kept jsonb) returns void
language sql as $$
  select maas.maas_lock_memory(p_user);
  delete from maas.facts f
  where f.user_id = p_user and f.kind = 'profile' and starts_with(f.attribute, p_topic || ':')
    and not p_kept ? substr(f.attribute, char_length(p_topic) + 2)
$$;
comment on function maas.maas_drop_profile is
  'Deletes the slots of a user that p_kept does not have, and what they were';

create or replace function maas.maas_set_profile(
  p_user uuid, p_name text, p_position text, p_department text, p_language text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted jsonb := jsonb_strip_nulls(jsonb_build_object(
    'name', p_name, 'position', p_position, 'department', p_department));
begin
  insert into maas.user_settings (user_id, language) values (p_user, p_language)
  on conflict (user_id) do update set language = excluded.language, updated_at = now();
  perform maas.maas_drop_profile(p_user, 'profile', wanted);
  perform maas.maas_add_profile(p_user, 'profile', wanted, 'person');
end
$$;
comment on function maas.maas_set_profile is
  'Replaces what the profile of a user says about them; what is null is deleted, with what it was before';

create or replace function maas.maas_check_timezone(p_timezone text) returns void language plpgsql as $$
begin
  if not exists (select from pg_timezone_names z where z.name = p_timezone) then
    raise exception 'unknown time zone %; use a name like Europe/Moscow', left(quote_literal(p_timezone), 80)
      using errcode = '22023';
  end if;
end
$$;
comment on function maas.maas_check_timezone is 'Raises invalid_parameter_value for what is no time zone';

create or replace function maas.maas_set_timezone(p_user uuid, p_timezone text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_timezone is not null then
    perform maas.maas_check_timezone(p_timezone);
  end if;
  insert into maas.user_settings (user_id, timezone) values (p_user, p_timezone)
  on conflict (user_id) do update set timezone = excluded.timezone, updated_at = now();
end
$$;
comment on function maas.maas_set_timezone is 'Sets the time zone of a user, an IANA name; null for MAAS_TIMEZONE';

create or replace function maas.maas_replace_preferences(
  p_user uuid, p_values jsonb, p_origin text default 'person', p_logs jsonb default '{}') returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  select maas.maas_drop_profile(p_user, 'working', p_values);
  select maas.maas_add_profile(p_user, 'working', p_values, p_origin, p_logs);
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
