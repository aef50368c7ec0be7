-- Schedules: requests that are sent by the clock.
--
-- An orchestrator reads what is due, computes the times in Python and calls maas_run_schedule, one transaction that
-- inserts the requests and sets the next time. The row's lock and next_at let one orchestrator do it; a time has an
-- idempotency key of its own, so that it never becomes two requests.

create or replace function maas.maas_create_schedule(p_user uuid, p_query text, p_cron text,
  p_timezone text default null, p_assistant text default 'mentor', p_conversation uuid default null,
  p_catch_up text default 'last', p_next_at timestamptz default null, p_actor text default null)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  created uuid;
  zone text := coalesce(p_timezone,
    (select u.timezone from maas.user_settings u where u.user_id = p_user),
    (select s.value from maas.engine_settings s where s.key = 'timezone'));
begin
  perform maas.maas_check_timezone(zone);
  if not exists (select from maas.assistants a where a.name = p_assistant and a.is_active) then
    raise foreign_key_violation using message = format('assistant: there is no active assistant "%s"', p_assistant),
      table = 'schedules', column = 'assistant';
  elsif exists (
    select from maas.chat_conversations c
    where c.id = p_conversation and (c.user_id, c.assistant) is distinct from (p_user, p_assistant::varchar))
  then
    raise foreign_key_violation using message = format(
        'conversation_id: %s is not a conversation of this user with the assistant "%s"', p_conversation, p_assistant),
      table = 'schedules', column = 'conversation_id';
  end if;
  insert into maas.schedules (user_id, user_query, cron, timezone, assistant, conversation_id, catch_up, next_at)
  values (p_user, p_query, p_cron, zone, p_assistant, p_conversation, p_catch_up, p_next_at)
  returning id into created;
  perform maas.maas_check_quotas(p_user, '{user_schedules}');
  perform maas.maas_write_audit('schedule', p_user, created, jsonb_build_object('change', 'created'), p_actor);
  return created;
end
$$;
comment on function maas.maas_create_schedule is
  'Adds a schedule and returns its id; the time zone is that of the user unless one is named, and an orchestrator '
  'computes a next time that is null. Raises invalid_parameter_value, foreign_key_violation, check_violation, MQ001';

create or replace function maas.maas_change_schedule(p_id uuid, p_query text default null, p_cron text default null,
  p_timezone text default null, p_catch_up text default null, p_is_paused boolean default null,
  p_next_at timestamptz default null, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  former maas.schedules;
begin
  select * into former from maas.schedules s where s.id = p_id for no key update;
  if not found then
    return false;
  end if;
  perform maas.maas_check_timezone(coalesce(p_timezone, former.timezone));
  update maas.schedules s set user_query = coalesce(p_query, s.user_query), cron = coalesce(p_cron, s.cron),
    timezone = coalesce(p_timezone, s.timezone), catch_up = coalesce(p_catch_up, s.catch_up), error = null,
    paused_at = case p_is_paused when true then coalesce(s.paused_at, clock_timestamp())
      when false then null else s.paused_at end,
    -- what passed during a pause, or by a former expression, is not caught up
    next_at = case when num_nonnulls(p_cron, p_timezone) > 0 or p_is_paused is false and s.paused_at is not null
      then p_next_at else s.next_at end
  where s.id = p_id;
  perform maas.maas_write_audit(
    'schedule', former.user_id, p_id, jsonb_build_object('change', 'changed'), p_actor);
  return true;
end
$$;
comment on function maas.maas_change_schedule is
  'Changes what is not null of a schedule; false: there is none. p_next_at counts where the times change; null: an '
  'orchestrator computes it. Raises invalid_parameter_value, check_violation';

create or replace function maas.maas_delete_schedule(p_id uuid, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  owner uuid;
begin
  delete from maas.schedules s where s.id = p_id returning s.user_id into owner;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit('schedule', owner, p_id, jsonb_build_object('change', 'deleted'), p_actor);
  return true;
end
$$;
comment on function maas.maas_delete_schedule is
  'Deletes a schedule; requests that it has sent stay. false: there is none';

create or replace function maas.maas_run_schedule(
  p_id uuid, p_read_at timestamptz, p_times timestamptz[], p_next_at timestamptz, p_error text default null)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one maas.schedules;
  room int;
  sent int := 0;
begin
  select * into one from maas.schedules s where s.id = p_id for no key update;
  if not found or one.paused_at is not null or one.next_at is distinct from p_read_at then
    return 0;
  end if;
  one.error := p_error;
  if p_times <> '{}' then
    room := greatest(0, maas.maas_limit('user_queue_limit')::int - (
      select count(*)::int from maas.pipeline_runs r
      where r.user_id = one.user_id and r.queue_state < 2 and r.kind in ('ask', 'action')));
    if cardinality(p_times) > room then
      one.error := format('%s requests were left out: too many of the user are unfinished (MAAS_USER_QUEUE_LIMIT)',
        cardinality(p_times) - room);
    end if;
    begin
      insert into maas.pipeline_runs (user_id, user_query, assistant, conversation_id, source, caller,
        idempotency_key, run_at, attributes)
      select one.user_id, one.user_query, one.assistant, one.conversation_id, 'schedule', 'schedule',
        format('%s:%s', p_id, extract(epoch from t.at)::bigint), t.at, jsonb_build_object('schedule', p_id)
      from unnest(p_times) with ordinality t(at, n)
      where t.n > cardinality(p_times) - room order by t.at
      on conflict (caller, idempotency_key) where idempotency_key is not null do nothing;
      get diagnostics sent = row_count;
    exception when foreign_key_violation or check_violation or sqlstate 'MQ001' then
      one.error := sqlerrm;
    end;
  end if;
  update maas.schedules s set next_at = p_next_at, error = left(one.error, 500),
    last_at = case when sent > 0 then p_times[cardinality(p_times)] else s.last_at end,
    paused_at = case when p_next_at is null then clock_timestamp() end
  where s.id = p_id;
  return sent;
end
$$;
comment on function maas.maas_run_schedule is
  'Sends the requests of these times, in their order, and sets the next one; without one the schedule is paused. '
  'Returns how many were sent: none if the schedule has changed since p_read_at was read, or was another''s';
