-- Push notifications of A2A: endpoints of one task each. What they get is the task as it is when that is sent.

create or replace function maas.maas_set_push_notification(
  p_user uuid, p_task uuid, p_name text, p_url text, p_headers jsonb, p_actor text default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  endpoint uuid := gen_random_uuid();
begin
  -- what ends while this goes on is seen here, or sees the endpoint
  perform maas.maas_lock_runs(p_user, array(
    select r.id from maas.pipeline_runs r
    where r.user_id = p_user and r.queue_state < 2 and r.kind in ('ask', 'action')));
  delete from maas.webhook_endpoints e where e.user_id = p_user and e.task_id = p_task and e.name = p_name;
  if 10 <= (select count(*) from maas.webhook_endpoints e where e.user_id = p_user and e.task_id = p_task) then
    raise exception using errcode = 'MQ001', message = 'a task has at most 10 push notifications: delete some first',
      detail = jsonb_build_object('name', 'push_notifications', 'quota', 10, 'used', 11)::text;
  end if;
  insert into maas.webhook_endpoints (id, user_id, task_id, name, url, events)
  select endpoint, p_user, r.id, p_name, p_url, '{a2a.task}' from maas.pipeline_runs r
  where r.id = p_task and r.user_id = p_user;
  if not found then
    return;
  end if;
  insert into maas.webhook_secrets (endpoint_id, user_id, headers) values (endpoint, p_user, p_headers);
  insert into maas.webhook_deliveries (endpoint_id, user_id, key, type, data)
  values (endpoint, p_user, p_task, 'a2a.task', jsonb_build_object('task_id', p_task));
  perform maas.maas_write_audit('webhook', p_user, endpoint, jsonb_build_object('change', 'created'), p_actor);
end
$$;
comment on function maas.maas_set_push_notification is
  'Tells an address of each change of a task of A2A, and of its present state at once; a name replaces what has it. '
  'p_headers go with it. Raises MQ001';

create or replace function maas.maas_delete_push_notification(
  p_user uuid, p_task uuid, p_name text, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  endpoint uuid;
begin
  delete from maas.webhook_endpoints e where e.user_id = p_user and e.task_id = p_task and e.name = p_name
  returning e.id into endpoint;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('webhook', p_user, endpoint, jsonb_build_object('change', 'deleted'), p_actor);
  return true;
end
$$;
comment on function maas.maas_delete_push_notification is 'Tells an address no more of a task; false: there is none';

create or replace function maas.maas_emit_agent_task(p_run uuid) returns void language sql as $$
  insert into maas.webhook_deliveries (endpoint_id, user_id, key, type, data)
  select e.id, e.user_id, e.task_id, 'a2a.task', jsonb_build_object('task_id', e.task_id)
  from maas.pipeline_runs r join maas.webhook_endpoints e
    on e.user_id = r.user_id and e.task_id = coalesce((r.metadata->'a2a'->>'task')::uuid, r.id)
  where r.source = 'a2a' and r.kind = 'ask' and e.disabled_at is null and r.id = coalesce(
    (select a.run_id from maas.chat_pending_actions a where a.action_run_id = p_run), p_run)
$$;
comment on function maas.maas_emit_agent_task is
  'Records for the push notifications of A2A that the task of a run has changed, if it is of one';

create or replace function maas.tell_decision() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from maas.webhook_endpoints e where e.user_id = new.user_id and e.task_id is not null) then
    perform maas.maas_emit_agent_task(new.run_id);
  end if;
  return null;
end
$$;
comment on function maas.tell_decision is 'Records that a call waits no more for the user';
create or replace trigger tell_decision after update of status on maas.chat_pending_actions
  for each row when (old.status = 'pending' and new.status <> 'pending') execute function maas.tell_decision();
