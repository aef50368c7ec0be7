-- What administrators change over HTTP: prompts and roles. The server has no right to write the tables. Triggers write
-- the audit and the versions; the setting maas.actor tells them who acts.

create or replace function maas.maas_set_prompt(
  p_role text, p_text text, p_is_active boolean, p_version int, p_actor text)
returns table (verdict text, version int, actor text, changed_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  prompt record;
begin
  select * into prompt from maas.system_prompts where role_name = p_role for update;
  if not found then
    return query select 'not_found', null::int, null::text, null::timestamptz;
    return;
  elsif prompt.version <> p_version then
    return query select 'conflict', prompt.version, (
        select a.actor from maas.audit a
        where a.action = 'prompt_change' and a.details->>'role_name' = p_role
          and a.details->>'version' = prompt.version::text
        order by a.id desc limit 1), prompt.updated_at;
    return;
  end if;
  perform set_config('maas.actor', coalesce(p_actor, ''), true);
  update maas.system_prompts set prompt_template = p_text, is_active = p_is_active
  where role_name = p_role and (prompt_template, is_active) is distinct from (p_text, p_is_active);
  perform set_config('maas.actor', '', true);
  return query select 'saved', s.version, p_actor, s.updated_at from maas.system_prompts s where s.role_name = p_role;
end
$$;
comment on function maas.maas_set_prompt is
  'Replaces a prompt that was edited from p_version. verdict: saved, not_found, '
  'or conflict with the version that was saved meanwhile, and who saved it';

create or replace function maas.maas_insert_trial(p_run uuid, p_role text, p_text text, p_actor text,
  p_stage text default 'final_responder', p_model text default null)
returns table (verdict text, id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  origin record;
  trial uuid;
begin
  select r.user_id, r.user_query, r.assistant, r.source, r.kind, r.analysis_result, r.draft_context,
    r.final_context_payload, a.role_name, case p_stage
      when 'analyzer' then r.queue_state = 2 and not maas.maas_is_forgotten(r.user_query)
        and not coalesce(r.analysis_result ? 'answer', false)
      when 'assembler' then r.draft_context is not null and r.queue_state = 2
      when 'final_responder' then r.final_context_payload is not null end as is_recorded
  into origin from maas.pipeline_runs r left join maas.assistants a on a.name = r.assistant and a.is_active
  where r.id = p_run;
  if not found then
    return query select 'not_found', null::uuid;
    return;
  elsif origin.kind <> 'ask' or origin.is_recorded is not true or origin.role_name is null then
    return query select 'not_replayable', null::uuid;
    return;
  elsif regexp_replace(p_role, '\.en$', '') not in ('FinalResponder', origin.role_name) then
    return query select 'other_role', null::uuid;
    return;
  end if;
  insert into maas.pipeline_runs as r (user_id, user_query, assistant, kind, source, metadata, caller, is_remembered,
    status, analysis_result, draft_context, final_context_payload)
  values (origin.user_id, origin.user_query, origin.assistant, 'trial', origin.source,
    jsonb_build_object('trial', jsonb_strip_nulls(jsonb_build_object(
      'run_id', p_run, 'role', p_role, 'text', p_text, 'stage', p_stage, 'model', p_model))),
    coalesce(p_actor, ''), false,
    case p_stage when 'analyzer' then 'NEW' when 'assembler' then 'ASSEMBLING' else 'READY' end,
    case when p_stage <> 'analyzer' then origin.analysis_result end,
    case when p_stage <> 'analyzer' then origin.draft_context end,
    case when p_stage = 'final_responder' then origin.final_context_payload end)
  returning r.id into trial;
  perform maas.maas_write_audit('prompt_try', origin.user_id, p_run, jsonb_strip_nulls(jsonb_build_object(
    'role_name', p_role, 'trial', trial, 'stage', p_stage, 'model', p_model)), p_actor);
  return query select 'inserted', trial;
end
$$;
comment on function maas.maas_insert_trial is
  'Inserts a run of kind trial, which answers p_run again from a stage on: analyzer, assembler or final_responder, '
  'with what is recorded before it; p_model has the role of that stage, and p_text is its prompt. '
  'verdict: inserted, not_found, not_replayable (it is not a question, or what comes before the stage is not there), '
  'other_role (the stage does not use that prompt)';

create or replace function maas.maas_set_price(p_provider text, p_model text, p_input float8, p_cached float8,
  p_output float8, p_image float8, p_actor text default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('maas.actor', coalesce(p_actor, ''), true);
  insert into maas.model_prices as m (provider, model, input, cached, output, image)
  values (p_provider, p_model, p_input, p_cached, p_output, p_image)
  on conflict (provider, model) do update set input = excluded.input, cached = excluded.cached,
    output = excluded.output, image = excluded.image, updated_at = maas.maas_now();
  perform set_config('maas.actor', '', true);
end
$$;
comment on function maas.maas_set_price is
  'Sets the price of the models that p_model names, which is a pattern for LIKE; calls that are written keep theirs';

create or replace function maas.maas_drop_price(p_provider text, p_model text, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  is_gone boolean;
begin
  perform set_config('maas.actor', coalesce(p_actor, ''), true);
  delete from maas.model_prices m where m.provider = p_provider and m.model = p_model;
  is_gone := found;
  perform set_config('maas.actor', '', true);
  return is_gone;
end
$$;
comment on function maas.maas_drop_price is 'Deletes a price; false if there is none';

create or replace function maas.maas_save_filter(p_owner text, p_list text, p_name text, p_query text)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if 50 <= (
    select count(*) from maas.saved_filters f where f.owner = p_owner and f.list = p_list and f.name <> p_name)
  then
    return false;
  end if;
  insert into maas.saved_filters as f (owner, list, name, query) values (p_owner, p_list, p_name, p_query)
  on conflict (owner, list, name) do update set query = excluded.query, updated_at = clock_timestamp();
  return true;
end
$$;
comment on function maas.maas_save_filter is
  'Keeps the filters of a list under a name, instead of what was kept under it; false: p_owner has 50 of this list';

create or replace function maas.maas_drop_filter(p_owner text, p_list text, p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.saved_filters f where f.owner = p_owner and f.list = p_list and f.name = p_name;
  return found;
end
$$;
comment on function maas.maas_drop_filter is 'Deletes filters that p_owner has kept; false if there are none';

create or replace function maas.maas_keep_trial_set(p_name text, p_runs uuid[], p_actor text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  found_runs int;
begin
  select count(*) into found_runs from maas.pipeline_runs r
  where r.id = any(p_runs) and r.kind = 'ask' and r.final_context_payload is not null;
  if cardinality(p_runs) not between 1 and 20 or found_runs <> cardinality(p_runs) then
    return 'not_replayable';
  elsif not exists (select from maas.trial_sets t where t.name = p_name)
    and 100 <= (select count(*) from maas.trial_sets)
  then
    return 'too_many';
  end if;
  insert into maas.trial_sets as t (name, actor) values (p_name, coalesce(p_actor, 'sql:' || session_user))
  on conflict (name) do update set actor = excluded.actor, updated_at = clock_timestamp();
  delete from maas.trial_set_runs s where s.set_name = p_name;
  insert into maas.trial_set_runs (set_name, run_id, place)
  select p_name, u.id, u.place from unnest(p_runs) with ordinality u(id, place);
  perform maas.maas_write_audit(
    'trial_set_keep', null, null, jsonb_build_object('name', p_name, 'runs', cardinality(p_runs)), p_actor);
  return 'kept';
end
$$;
comment on function maas.maas_keep_trial_set is
  'Writes a set of 1 to 20 recorded requests, instead of one with this name: kept, not_replayable (one is no question '
  'that was answered, or is named twice), too_many (there are 100 sets)';

create or replace function maas.maas_drop_trial_set(p_name text, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from maas.trial_sets t where t.name = p_name;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('trial_set_drop', null, null, jsonb_build_object('name', p_name), p_actor);
  return true;
end
$$;
comment on function maas.maas_drop_trial_set is 'Deletes a set, not its requests; false if there is none';

create or replace function maas.maas_set_roles(p_user uuid, p_is_admin boolean, p_is_blocked boolean, p_actor text)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('maas.actor', coalesce(p_actor, ''), true);
  insert into maas.user_roles (user_id, role)
  select p_user, r.role from (values ('admin', p_is_admin), ('blocked', p_is_blocked)) r(role, is_set) where r.is_set
  on conflict do nothing;
  delete from maas.user_roles l using (values ('admin', p_is_admin), ('blocked', p_is_blocked)) r(role, is_set)
  where l.user_id = p_user and l.role = r.role and not r.is_set;
  perform set_config('maas.actor', '', true);
  if p_is_blocked then
    perform maas.maas_end_sessions(p_user, null, 'global');
    perform maas.maas_disconnect_apps(p_user, p_actor);
  end if;
end
$$;
comment on function maas.maas_set_roles is
  'Makes a user an administrator of all users, or one no longer; blocks a user, which ends their sessions '
  'and disconnects their apps, or ends the block. Null leaves a role as it is';
