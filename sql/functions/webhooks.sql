-- Webhooks: endpoints, and the events that are recorded for them.
--
-- maas_emit records an event in the transaction that makes it true. Where there is no endpoint, that is one look at an
-- empty table. What sends them is in webhook_deliveries.sql.

create or replace function maas.maas_webhook_events() returns text[] language sql immutable as $$
  select array['run.completed', 'run.failed', 'run.approval_required', 'memory.added', 'memory.forgotten',
    'fact.changed', 'task.progress', 'user.erased']
$$;
comment on function maas.maas_webhook_events is 'The types of all events';

create or replace function maas.maas_webhooks_of(p_user uuid) returns setof maas.webhook_endpoints
language sql stable as $$
  -- an index scan each: what calls this may have bitmaps turned off
  select e.* from maas.webhook_endpoints e where e.user_id = p_user and e.task_id is null and e.disabled_at is null
  union all
  select e.* from maas.webhook_endpoints e where e.user_id is null and e.task_id is null and e.disabled_at is null
$$;
comment on function maas.maas_webhooks_of is
  'The enabled endpoints for events of a user: those of the user and of operators';

create or replace function maas.maas_emit(p_type text, p_user uuid, p_key uuid, p_data jsonb)
returns void language plpgsql as $$
begin
  insert into maas.webhook_deliveries (endpoint_id, user_id, key, type, data)
  select e.id, case when p_type <> 'user.erased' then p_user end, p_key, p_type, p_data
  from maas.maas_webhooks_of(p_user) e where p_type = any(e.events);
  if found and random() < 0.02 then  -- counting takes long, so an endpoint may exceed its limit a little
    update maas.webhook_endpoints w set disabled_at = clock_timestamp(), disabled_because = 'queue_full'
    where w.id in (
      select l.id from maas.webhook_endpoints l
      where l.id = any(array(
        select e.id from maas.maas_webhooks_of(p_user) e where maas.maas_waits_too_much(e.id, e.user_id)))
      for no key update skip locked);
  end if;
end
$$;
comment on function maas.maas_emit is
  'Records an event for the endpoints that asked for it; those of one key arrive in order. Disables an endpoint for '
  'which too many wait';

create or replace function maas.maas_waits_too_much(p_endpoint uuid, p_user uuid) returns boolean
language plpgsql stable as $$
declare
  most int := case when p_user is null then 1000000
    else maas.maas_limit('user_webhook_events') end;
begin
  return most < (select count(*) from (
    select from maas.webhook_deliveries d where d.endpoint_id = p_endpoint and d.state = 'waiting' limit most + 1) d);
end
$$;
comment on function maas.maas_waits_too_much is
  'Whether more events wait for an endpoint than may: MAAS_USER_WEBHOOK_EVENTS, a million for an operator''s';

create or replace function maas.maas_emit_memories(p_records uuid[]) returns void language sql as $$
  select maas.maas_emit('memory.added', l.user_id, coalesce(l.run_id, l.id),
    jsonb_build_object('memory_id', l.id, 'run_id', l.run_id))
  from unnest(p_records) u(id) join maas.lsm_storage l using (id)
$$;
comment on function maas.maas_emit_memories is 'Records that these summaries were added';

create or replace function maas.maas_emit_facts(p_facts uuid[], p_change text) returns void language sql as $$
  select maas.maas_emit('fact.changed', f.user_id, f.id, jsonb_build_object('fact_id', f.id, 'change', p_change))
  from unnest(p_facts) u(id) join maas.facts f using (id)
$$;
comment on function maas.maas_emit_facts is
  'Records what became of facts: added, corrected, or the verdict of a person';

create or replace function maas.tell_approval() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from maas.webhook_endpoints) then
    perform maas.maas_emit('run.approval_required', new.user_id, new.run_id, jsonb_build_object(
      'run_id', new.run_id, 'action_id', new.id, 'tool', new.tool_name, 'effect', new.effect,
      'expires_at', new.expires_at));
  end if;
  return null;
end
$$;
comment on function maas.tell_approval is 'Records that a call waits for the user';
create or replace trigger tell_approval after insert on maas.chat_pending_actions
  for each row when (new.status = 'pending') execute function maas.tell_approval();

-- Endpoints -----------------------------------------------------------------------------------------------------------

create or replace function maas.maas_check_webhook(p_user uuid, p_url text, p_events text[]) returns void
language plpgsql as $$
declare
  unknown text := (select min(e) from unnest(p_events) e where e <> all(maas.maas_webhook_events()));
begin
  if p_url is null or p_url !~ '^https?://[^\s/?#@\\]+([/?][^\s#]*)?$' or octet_length(p_url) > 2000 then
    raise invalid_parameter_value using message =
      'url: must be an address like https://example.com/hook, without name, password and fragment, at most 2000 bytes';
  elsif p_events = '{}' or array_position(p_events, null) is not null or unknown is not null then
    raise invalid_parameter_value using
      message = 'events: must be some of ' || array_to_string(maas.maas_webhook_events(), ', ');
  elsif p_user is not null and 'user.erased' = any(p_events) then
    raise invalid_parameter_value using
      message = 'events: user.erased is for endpoints of operators: those of a user are erased with the user';
  end if;
end
$$;
comment on function maas.maas_check_webhook is 'Raises invalid_parameter_value for an address or events that cannot be';

create or replace function maas.maas_create_webhook(p_user uuid, p_url text, p_events text[] default null,
  p_has_texts boolean default false, p_actor text default null)
returns table (id uuid, secret text) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  wanted text[] := array(
    select distinct e from unnest(coalesce(p_events, case when p_user is null then maas.maas_webhook_events()
      else array_remove(maas.maas_webhook_events(), 'user.erased') end)) e order by e);
begin
  perform maas.maas_check_webhook(p_user, p_url, wanted);
  insert into maas.webhook_endpoints as e (user_id, url, events, has_texts) values (p_user, p_url, wanted, p_has_texts)
  returning e.id into id;
  if p_user is not null then
    perform maas.maas_check_quotas(p_user, '{user_webhooks}');
  elsif (select count(*) from maas.webhook_endpoints e where e.user_id is null) > 100 then
    raise exception using errcode = 'MQ001', message = 'operators have at most 100 webhooks: delete some first',
      detail = jsonb_build_object('name', 'webhooks', 'quota', 100, 'used', 101)::text;
  end if;
  secret := maas.maas_add_webhook_secret(id, p_user);
  perform maas.maas_write_audit('webhook', p_user, id, jsonb_build_object('change', 'created'), p_actor);
  return next;
end
$$;
comment on function maas.maas_create_webhook is
  'Adds an endpoint for events of a user, or with null of all users; null events: all of them. Returns its secret, '
  'which is shown this once. Raises invalid_parameter_value, MQ001';

create or replace function maas.maas_add_webhook_secret(p_endpoint uuid, p_user uuid) returns text language sql as $$
  insert into maas.webhook_secrets (endpoint_id, user_id, value)
  select p_endpoint, p_user, 'whsec_' || encode(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), 'base64')
  returning value
$$;
comment on function maas.maas_add_webhook_secret is 'Makes a secret of 32 bytes, 244 bits of them random';

create or replace function maas.maas_rotate_webhook(p_id uuid, p_hours int default 24, p_actor text default null)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owner uuid;
begin
  select e.user_id into owner from maas.webhook_endpoints e where e.id = p_id for no key update;
  if not found then
    return null;
  elsif p_hours is null or p_hours not between 0 and 168 then
    raise invalid_parameter_value using message = 'hours: must be a whole number from 0 to 168';
  end if;
  delete from maas.webhook_secrets s where s.endpoint_id = p_id and s.expires_at is not null;
  update maas.webhook_secrets s set expires_at = maas.maas_now() + make_interval(hours => p_hours)
  where s.endpoint_id = p_id;
  perform maas.maas_write_audit('webhook', owner, p_id, jsonb_build_object('change', 'rotated'), p_actor);
  return maas.maas_add_webhook_secret(p_id, owner);
end
$$;
comment on function maas.maas_rotate_webhook is
  'Gives an endpoint a new secret and returns it; deliveries are signed with the former one, too, for p_hours. '
  'null: there is no such endpoint';

create or replace function maas.maas_change_webhook(p_id uuid, p_url text default null, p_events text[] default null,
  p_has_texts boolean default null, p_is_enabled boolean default null, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  former maas.webhook_endpoints;
begin
  select e.* into former from maas.webhook_endpoints e where e.id = p_id for no key update;
  if not found then
    return false;
  end if;
  perform maas.maas_check_webhook(former.user_id, coalesce(p_url, former.url), coalesce(p_events, former.events));
  update maas.webhook_endpoints e set url = coalesce(p_url, e.url),
    events = case when p_events is null then e.events
      else array(select distinct u from unnest(p_events) u order by u) end,
    has_texts = coalesce(p_has_texts, e.has_texts),
    disabled_at = case p_is_enabled when false then coalesce(e.disabled_at, clock_timestamp())
      when true then null else e.disabled_at end,
    disabled_because = case p_is_enabled when false then coalesce(e.disabled_because, 'asked')
      when true then null else e.disabled_because end,
    is_slow = p_url is not null or e.is_slow, failures = 0, failing_since = null, paused_until = null
  where e.id = p_id;
  perform maas.maas_write_audit('webhook', former.user_id, p_id, jsonb_build_object('change', 'changed'), p_actor);
  return true;
end
$$;
comment on function maas.maas_change_webhook is
  'Changes what is not null of an endpoint; false: there is none. What waits is sent when it is enabled again. '
  'Raises invalid_parameter_value';

create or replace function maas.maas_delete_webhook(p_id uuid, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owner uuid;
begin
  delete from maas.webhook_endpoints e where e.id = p_id returning e.user_id into owner;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('webhook', owner, p_id, jsonb_build_object('change', 'deleted'), p_actor);
  return true;
end
$$;
comment on function maas.maas_delete_webhook is
  'Deletes an endpoint and its secrets; its deliveries are shown no more and purged. false: there is none';

create or replace function maas.maas_add_webhook(
  p_url text, p_events text[] default null, p_has_texts boolean default false)
returns table (id uuid, secret text) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if maas.maas_session_user() is null then
    raise insufficient_privilege using message = 'no claims of this session name a user',
      hint = 'operators call maas_create_webhook';
  end if;
  return query select c.* from maas.maas_create_webhook(
    maas.maas_session_user(), p_url, p_events, p_has_texts, 'sql:' || maas.maas_session_user()) c;
end
$$;
comment on function maas.maas_add_webhook is
  'Adds an endpoint for events of the user that the claims of the session name; null events: all of them. Returns its '
  'secret, which is shown this once. Raises invalid_parameter_value, insufficient_privilege, MQ001';

create or replace function maas.maas_remove_webhook(p_id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from maas.webhook_endpoints e
  where e.id = p_id and e.user_id = maas.maas_session_user() and e.task_id is null;
  return found and maas.maas_delete_webhook(p_id, 'sql:' || maas.maas_session_user());
end
$$;
comment on function maas.maas_remove_webhook is
  'Deletes an endpoint of the user that the claims of the session name, its secrets, and what waits for it; '
  'false: there is none';

create or replace function maas.maas_replay_webhook(p_id uuid, p_delivery uuid default null, p_actor text default null)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owner uuid;
  replayed int;
begin
  select e.user_id into owner from maas.webhook_endpoints e where e.id = p_id;
  if not found then
    return null;
  end if;
  update maas.webhook_deliveries d set state = 'waiting', attempts = 0, next_at = clock_timestamp(),
    changed_at = clock_timestamp()
  where d.id in (
    select w.id from maas.webhook_deliveries w
    where w.endpoint_id = p_id and w.state <> 'waiting'
      and (w.id = p_delivery or p_delivery is null and w.state = 'failed')
    order by w.seq limit 1000 for update skip locked);
  get diagnostics replayed = row_count;
  perform maas.maas_write_audit('webhook', owner, p_id,
    jsonb_build_object('change', 'replayed', 'deliveries', replayed), p_actor);
  return replayed;
end
$$;
comment on function maas.maas_replay_webhook is
  'Sends a delivery again that has arrived or failed, or all that failed, at most 1000 in a call, in their order and '
  'with their ids; returns how many. null: there is no such endpoint';
