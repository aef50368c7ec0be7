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

create or replace function maas.maas_insert_trial(p_run uuid, p_role text, p_text text, p_actor text)
returns table (verdict text, id uuid) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  origin record;
  trial uuid;
begin
  select r.user_id, r.user_query, r.assistant, r.source, r.kind,
    r.final_context_payload is not null as has_payload, a.role_name
  into origin from maas.pipeline_runs r left join maas.assistants a on a.name = r.assistant and a.is_active
  where r.id = p_run;
  if not found then
    return query select 'not_found', null::uuid;
    return;
  elsif origin.kind <> 'ask' or not origin.has_payload or origin.role_name is null then
    return query select 'not_replayable', null::uuid;
    return;
  elsif regexp_replace(p_role, '\.en$', '') not in ('FinalResponder', origin.role_name) then
    return query select 'other_role', null::uuid;
    return;
  end if;
  insert into maas.pipeline_runs as r (user_id, user_query, assistant, kind, source, metadata, caller, is_remembered)
  values (origin.user_id, origin.user_query, origin.assistant, 'trial', origin.source,
    jsonb_build_object('trial', jsonb_build_object('run_id', p_run, 'role', p_role, 'text', p_text)),
    coalesce(p_actor, ''), false)
  returning r.id into trial;
  perform maas.maas_write_audit(
    'prompt_try', origin.user_id, p_run, jsonb_build_object('role_name', p_role, 'trial', trial), p_actor);
  return query select 'inserted', trial;
end
$$;
comment on function maas.maas_insert_trial is
  'Inserts a run of kind trial, which answers p_run again with another prompt text. '
  'verdict: inserted, not_found, not_replayable (it is not a question, or its final context is not there), '
  'other_role (its answer does not use that prompt)';

create or replace function maas.maas_set_admin(p_user uuid, p_is_admin boolean, p_actor text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform set_config('maas.actor', coalesce(p_actor, ''), true);
  if p_is_admin then
    insert into maas.user_roles (user_id, role) values (p_user, 'admin') on conflict do nothing;
  else
    delete from maas.user_roles where user_id = p_user and role = 'admin';
  end if;
  perform set_config('maas.actor', '', true);
end
$$;
comment on function maas.maas_set_admin is 'Makes a user an administrator of all users, or one no longer';
