-- Quotas: what is kept of one user at most. Whatever would exceed one is refused with SQLSTATE MQ001, in the
-- transaction that adds it.
--
-- Usage is counted where something is added, from an index of the user and no further than the quota. Memory is the
-- exception: its bytes are added up, which takes long for a large one, so an addition is followed by that with a
-- probability that grows with its size, on average once per MiB. An import is always followed by it.

create or replace function maas.maas_limit_ranges()
returns table (name text, minimum bigint, maximum bigint) language sql immutable as $$
  values ('user_queue_limit', 1, 100000), ('user_conversations', 1, 10000000), ('user_documents', 1, 1000000),
    ('user_document_bytes', 1, 1000000000000000), ('user_images', 1, 1000000),
    ('user_image_bytes', 1, 1000000000000000), ('user_webhooks', 0, 1000), ('user_webhook_events', 1, 1000000),
    ('user_schedules', 0, 1000), ('user_memory_bytes', 1, 1000000000000000), ('user_rate', 0, 1000000000),
    ('sign_in_rate', 1, 1000000000), ('sign_in_address_rate', 1, 1000000000)
$$;
comment on function maas.maas_limit_ranges is
  'The quotas and rates that operators may set while everything runs, and within which bounds';

create or replace function maas.maas_set_limit(p_name text, p_value bigint, p_actor text default null)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  bounds record;
  earlier bigint;
begin
  select r.minimum, r.maximum into bounds from maas.maas_limit_ranges() r where r.name = p_name;
  if not found then
    raise invalid_parameter_value using message = format('%s is no limit; there are %s', coalesce(p_name, 'null'), (
      select string_agg(r.name, ', ' order by r.name) from maas.maas_limit_ranges() r));
  elsif p_value is null or p_value not between bounds.minimum and bounds.maximum then
    raise invalid_parameter_value using
      message = format('%s must be between %s and %s; nothing was changed', p_name, bounds.minimum, bounds.maximum);
  end if;
  earlier := (select s.value from maas.set_limits s where s.name = p_name for update);
  insert into maas.set_limits as s (name, value, actor)
  values (p_name, p_value, coalesce(p_actor, 'sql:' || session_user))
  on conflict (name) do update set value = excluded.value, actor = excluded.actor, updated_at = clock_timestamp();
  perform maas.maas_write_audit('limit_set', null, null,
    jsonb_build_object('name', p_name, 'value', p_value, 'before', earlier), p_actor);
end
$$;
comment on function maas.maas_set_limit is
  'Sets a quota or a rate of one user instead of the setting; raises invalid_parameter_value where it is no limit or '
  'out of its bounds';

create or replace function maas.maas_drop_limit(p_name text, p_actor text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  earlier bigint;
begin
  delete from maas.set_limits s where s.name = p_name returning s.value into earlier;
  if not found then
    return false;
  end if;
  perform maas.maas_write_audit(
    'limit_drop', null, null, jsonb_build_object('name', p_name, 'before', earlier), p_actor);
  return true;
end
$$;
comment on function maas.maas_drop_limit is
  'Ends a limit that was set: the settings apply again; false if there is none';

create or replace function maas.maas_limit(p_name text) returns bigint
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(
    (select s.value from maas.set_limits s where s.name = p_name),
    (select e.value::bigint from maas.engine_settings e where e.key = p_name))
$$;
comment on function maas.maas_limit is 'A quota as it is in force: as operators have set it, else as the settings say';

create or replace function maas.maas_memory_bytes(p_user uuid) returns bigint language sql stable as $$
  select coalesce((
    select sum(octet_length(g.content) + coalesce(pg_column_size(g.metadata), 0)) from maas.raw_logs g
    where g.user_id = p_user), 0)
    + coalesce((
      select sum(octet_length(m.content) + coalesce(pg_column_size(m.tool_result), 0)) from maas.chat_messages m
      where m.user_id = p_user), 0)
    + coalesce((
      select sum(octet_length(l.summary)) from maas.lsm_storage l where l.user_id = p_user and not l.is_provisional), 0)
    + coalesce((select sum(octet_length(f.statement)) from maas.facts f where f.user_id = p_user), 0)
$$;
comment on function maas.maas_memory_bytes is 'The bytes of text that memory and conversations of a user hold';

create or replace function maas.maas_check_quotas(p_user uuid, p_names text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  quota_name text;
  quota bigint;
  used bigint;
begin
  foreach quota_name in array p_names loop
    quota := maas.maas_limit(quota_name);
    used := case quota_name
      when 'user_conversations' then (
        select count(*) from (select from maas.chat_conversations c where c.user_id = p_user limit quota + 1) c)
      when 'user_documents' then (
        select count(*) from (select from maas.knowledge_documents d where d.user_id = p_user limit quota + 1) d)
      when 'user_document_bytes' then (select sum(d.bytes) from maas.knowledge_documents d where d.user_id = p_user)
      when 'user_images' then (
        select count(*) from (select from maas.attachments a where a.user_id = p_user limit quota + 1) a)
      when 'user_image_bytes' then (
        select sum(octet_length(a.content)) from maas.attachments a where a.user_id = p_user)
      when 'user_memory_bytes' then maas.maas_memory_bytes(p_user)
      when 'user_webhooks' then (
        select count(*) from (
          select from maas.webhook_endpoints e where e.user_id = p_user and e.task_id is null limit quota + 1) e)
      when 'user_schedules' then (
        select count(*) from (select from maas.schedules s where s.user_id = p_user limit quota + 1) s)
    end;
    if used > quota then
      raise exception using errcode = 'MQ001',
        message = format('with this the user would have more than %s %s; ', quota, case quota_name
          when 'user_conversations' then 'conversations: continue an existing one'
          when 'user_webhooks' then 'webhooks: delete some first'
          when 'user_schedules' then 'schedules: delete some first'
          when 'user_documents' then 'documents: remove some first'
          when 'user_document_bytes' then 'bytes of documents: remove some first'
          when 'user_images' then 'images: delete some first'
          when 'user_image_bytes' then 'bytes of images: delete some first'
          else 'bytes of memory: forget some first' end)
          || case when exists (select from maas.set_limits s where s.name = quota_name)
            then format('an operator can raise the limit %s that was set', quota_name)
            else format('an operator can raise MAAS_%s', upper(quota_name)) end,
        detail = jsonb_build_object('name', quota_name, 'quota', quota, 'used', used)::text;
    end if;
  end loop;
end
$$;
comment on function maas.maas_check_quotas is
  'Raises MQ001 if the user has more than one of these quotas allows; '
  'its detail is {name, quota, used}, used with what is refused';

create or replace function maas.maas_check_memory(p_user uuid, p_bytes bigint) returns void language plpgsql as $$
begin
  if p_bytes > random() * 1048576 then
    perform maas.maas_check_quotas(p_user, '{user_memory_bytes}');
  end if;
end
$$;
comment on function maas.maas_check_memory is
  'Checks the quota of memory after p_bytes were added to it: the more probably the more there are, '
  'and always for a MiB';

create or replace function maas.limit_kept() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_check_quotas(u.user_id, tg_argv) from (select distinct user_id from inserted) u;
  return null;
end
$$;
comment on function maas.limit_kept is
  'Refuses rows beyond the quotas of a user that its arguments name, whoever adds them';
create or replace trigger limit_kept after insert on maas.chat_conversations
  referencing new table as inserted for each statement execute function maas.limit_kept('user_conversations');
create or replace trigger limit_kept after insert on maas.attachments
  referencing new table as inserted for each statement
  execute function maas.limit_kept('user_images', 'user_image_bytes');

create or replace function maas.limit_queue() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  most bigint := maas.maas_limit('user_queue_limit');
  full_user uuid;
begin
  select u.user_id into full_user from (select distinct user_id from inserted) u
  where (select count(*) from (
      select from maas.pipeline_runs r
      where r.user_id = u.user_id and r.queue_state < 2 and r.kind in ('ask', 'action') limit most + 1) r) > most
  limit 1;
  if found then
    raise exception using errcode = 'MQ002',
      message = format('with these the user %s would have more than %s unfinished requests', full_user, most),
      hint = 'insert fewer, or wait until some are finished (MAAS_USER_QUEUE_LIMIT)', table = 'pipeline_runs';
  end if;
  return null;
end
$$;
comment on function maas.limit_queue is
  'Refuses requests of a user named by claims who has too many unfinished ones. '
  'Applications are trusted, and the server counts before it inserts';
-- Nobody else pays for it: the condition is looked at once a statement.
create or replace trigger limit_queue after insert on maas.pipeline_runs
  referencing new table as inserted for each statement
  when (pg_has_role(current_user, to_regrole('authenticated'), 'usage')
    and coalesce(not pg_has_role(current_user, to_regrole('maas_app'), 'usage'), true))
  execute function maas.limit_queue();
