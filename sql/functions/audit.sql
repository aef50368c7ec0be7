-- The audit, and the triggers that number and audit changes of prompts, prices, assistants and roles.

create or replace function maas.maas_write_audit(
  p_action text, p_user uuid, p_subject uuid, p_details jsonb, p_actor text)
returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.audit (actor, action, user_id, subject, details)
  select case when p_actor is not null and exists (  -- any other login could name somebody else as the actor
      select from pg_roles r where pg_has_role(session_user, r.oid, 'member') and (
        r.rolname in ('maas_server', 'maas_worker') or r.oid = (
          select relowner from pg_class where oid = 'maas.audit'::regclass)))
    then p_actor else 'sql:' || session_user end, p_action, p_user, p_subject, p_details
$$;
comment on function maas.maas_write_audit is
  'Adds a row to the audit. The server, the orchestrator and the owner name the actor; '
  'for all others the login is written';

create or replace function maas.refuse_audit_change()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  raise insufficient_privilege using message = 'audit: rows can only be added', table = tg_table_name;
end
$$;
comment on function maas.refuse_audit_change is 'Makes audit append-only';

create or replace trigger refuse_audit_change before update or delete on maas.audit
  for each row execute function maas.refuse_audit_change();
create or replace trigger refuse_audit_truncate before truncate on maas.audit
  for each statement execute function maas.refuse_audit_change();

create or replace function maas.audit_change()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) else '{}' end;
  after jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) else '{}' end;
  one jsonb := case when tg_op = 'DELETE' then before else after end;
  changed text[] := array(
    select k from jsonb_object_keys(after || before) k
    where before->k is distinct from after->k and k not in ('updated_at', 'version') order by k);
begin
  if tg_op = 'UPDATE' and changed = '{}' then
    return null;
  end if;
  perform maas.maas_write_audit(
    tg_argv[0], case when one ? 'user_id' then (one->>'user_id')::uuid end, null,
    jsonb_build_object('how', lower(tg_op))
    || case when tg_op = 'UPDATE' then jsonb_build_object('changed', changed) else '{}' end
    || (select jsonb_object_agg(k, one->k) from unnest(tg_argv[1:]) k),
    nullif(current_setting('maas.actor', true), ''));
  return null;
end
$$;
comment on function maas.audit_change is
  'Writes to audit that a row was added, changed or removed: the columns that identify it, and which ones changed. '
  'The setting maas.actor names the actor, to those who may name one';

create or replace trigger audit_change after insert or update or delete on maas.system_prompts
  for each row execute function maas.audit_change('prompt_change', 'role_name', 'version');
create or replace trigger audit_change after insert or update or delete on maas.model_prices
  for each row execute function maas.audit_change('price_change', 'provider', 'model');
create or replace trigger audit_change after insert or update or delete on maas.assistants
  for each row execute function maas.audit_change('assistant_change', 'name');
create or replace trigger audit_change after insert or update or delete on maas.user_roles
  for each row execute function maas.audit_change('role_change', 'role');

create or replace function maas.number_prompt_version()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.version := greatest(new.version, coalesce(
    (select max(h.version) + 1 from maas.system_prompts_history h where h.role_name = new.role_name), 1));
  return new;
end
$$;
comment on function maas.number_prompt_version is
  'Continues the version numbers of a role that was deleted and is inserted again';

create or replace trigger number_prompt_version before insert on maas.system_prompts
  for each row execute function maas.number_prompt_version();

create or replace function maas.keep_prompt_version()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.system_prompts_history (role_name, version, prompt_template, is_active, valid_from)
  values (old.role_name, old.version, old.prompt_template, old.is_active, old.updated_at);
  if tg_op = 'DELETE' then
    return old;
  end if;
  new.version := old.version + 1;
  new.updated_at := clock_timestamp();
  return new;
end
$$;
comment on function maas.keep_prompt_version is 'Keeps the former version of a prompt in system_prompts_history';

create or replace trigger keep_prompt_version before update or delete on maas.system_prompts
  for each row execute function maas.keep_prompt_version();

create or replace function maas.count_assistants_version()
returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update maas.engine_settings set value = value::bigint + 1 where key = 'assistants_version';
  return null;
end
$$;
comment on function maas.count_assistants_version is
  'Counts changes of assistants and prompts: '
  'an orchestrator reads them again when a run has another number as its next stage begins';

create or replace trigger count_assistants_version after insert or update or delete or truncate on maas.system_prompts
  for each statement execute function maas.count_assistants_version();
create or replace trigger count_assistants_version after insert or update or delete or truncate on maas.assistants
  for each statement execute function maas.count_assistants_version();
