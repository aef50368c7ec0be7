-- The interview: its answers become the preferences of a user, and their position a part of the profile.

create or replace function maas.maas_lock_interviewed(p_run uuid) returns uuid language plpgsql as $$
declare
  interviewed uuid := (select r.user_id from maas.pipeline_runs r where r.id = p_run);
begin
  perform maas.maas_lock_memory(interviewed);  -- before the run, as an erasure does
  perform from maas.pipeline_runs r where r.id = p_run and r.owner is not null for key share of r;
  return case when found then interviewed end;
end
$$;
comment on function maas.maas_lock_interviewed is
  'The user of a run, whose memory and row it locks; null if nobody owns the run';

create or replace function maas.maas_keep_interview(p_run uuid, p_values jsonb) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  interviewed uuid := maas.maas_lock_interviewed(p_run);
  logs jsonb;
begin
  if interviewed is null then
    return false;
  end if;
  logs := (  -- the messages that gave the answers
    select jsonb_object_agg(v.key, jsonb_build_array(s.id)) from jsonb_each_text(p_values) v
    cross join lateral (
      select g.id from maas.pipeline_runs r join maas.tool_executions e on e.run_id = r.id
      join maas.raw_logs g on g.run_id = r.id and g.user_id = r.user_id and g.message_type = 'user_query'
      where r.user_id = interviewed and e.tool = 'conductInitialInterview' and btrim(e.arguments->>v.key) = v.value
        and g.is_remembered
      order by e.id desc limit 1) s);
  perform maas.maas_replace_preferences(interviewed, p_values, 'asked', coalesce(logs, '{}'));
  insert into maas.user_settings as p (user_id, interviewed_at) values (interviewed, now())
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
  interviewed uuid := maas.maas_lock_interviewed(p_run);
  known text;
begin
  if interviewed is null then
    return null;
  end if;
  known := (select p.value from maas.maas_profile(interviewed, 'profile') p where p.slot = 'position');
  if known is null and p_position is not null then
    perform maas.maas_add_profile(
      interviewed, 'profile', jsonb_build_object('position', p_position), 'asked', jsonb_build_object('position', (
        select coalesce(jsonb_agg(g.id), '[]') from maas.raw_logs g
        where g.run_id = p_run and g.user_id = interviewed and g.message_type = 'user_query' and g.is_remembered)));
  end if;
  return coalesce(known, p_position, '');
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
