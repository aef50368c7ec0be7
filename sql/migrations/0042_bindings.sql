-- Rows that name each other belong to one user. Every statement that follows an id from one table into another says so
-- itself: an id that came from outside (an import, a client that names its rows) leads to no row of somebody else, and
-- keeps none from being written.
--
-- `is not distinct from` says it where rows are found by an id: it is no way to rows. By `=` the planner, who does not
-- know how much a user has, could fetch all that the user has.

-- Unique among the rows of a user ---------------------------------------------------------------------------------------

-- The user stands there as bytes: no plan, made while a table was small, may take these for a way to all rows of a user.
create unique index idx_raw_logs_run on raw_logs (run_id, message_type, turn_no, uuid_send(user_id));
drop index idx_raw_logs_message_type;
alter index idx_raw_logs_run rename to idx_raw_logs_message_type;

create unique index idx_lsm_run_user on lsm_storage (run_id, uuid_send(user_id)) where superseded_at is null;
drop index idx_lsm_run;
alter index idx_lsm_run_user rename to idx_lsm_run;

-- Places in long functions ----------------------------------------------------------------------------------------------

-- A trace, which is provisional, is never superseded: said so, it is found by its run, and not by reading the whole table.

do $$
declare
  place record;
  text_then text;
  text_now text;
begin
  for place in select * from (values
    ('maas_write_records', 'l.run_id = i.run_id and l.superseded_at is null', 'l.run_id = i.run_id and l.user_id is not distinct from i.user_id and l.superseded_at is null'),
    ('maas_write_records', 'where o.run_id = i.run_id', 'where o.run_id = i.run_id and o.user_id is not distinct from i.user_id'),
    ('maas_write_records', 'on conflict (run_id) where', 'on conflict (run_id, uuid_send(user_id)) where'),
    ('maas_write_records', 'l.run_id = i.run_id and l.is_provisional', 'l.run_id = i.run_id and l.superseded_at is null and l.user_id is not distinct from i.user_id and l.is_provisional'),

    ('maas_step', 'on conflict (run_id) where', 'on conflict (run_id, uuid_send(user_id)) where'),
    ('maas_step', 'd.id = any(ended) and g.run_id = d.id', 'd.id = any(ended) and g.run_id = d.id
        and g.user_id is not distinct from (select r.user_id from pipeline_runs r where r.id = d.id)'),
    ('maas_step', 'd.id = any(ended) and l.run_id = d.id', 'd.id = any(ended) and l.run_id = d.id and l.superseded_at is null
        and l.user_id is not distinct from (select r.user_id from pipeline_runs r where r.id = d.id)'),

    ('maas_reap', 'l.run_id = r.id and l.is_provisional', 'l.run_id = r.id and l.superseded_at is null and l.user_id is not distinct from r.user_id and l.is_provisional'),
    ('maas_reap', 'g.run_id = r.id and g.archived_at', 'g.run_id = r.id and g.user_id is not distinct from r.user_id and g.archived_at'),

    ('maas_begin_again', 'from raw_logs g join lsm_storage l on l.id = g.record_id where g.run_id = p_id and l.run_id = p_id',
      'from pipeline_runs r join raw_logs g on g.run_id = r.id and g.user_id is not distinct from r.user_id
    join lsm_storage l on l.id = g.record_id and l.run_id = r.id and l.user_id = r.user_id where r.id = p_id'),
    ('maas_begin_again', 'exists (select from pipeline_runs where id = p_id and kind in',
      'exists (select from pipeline_runs r where r.id = p_id and r.user_id = raw_logs.user_id and r.kind in'),
    ('maas_begin_again', 'where run_id = p_id and superseded_at is null',
      'where run_id = p_id and user_id is not distinct from (select r.user_id from pipeline_runs r where r.id = p_id) and superseded_at is null'),

    ('maas_forget', 'select * into words from maas_words_of(p_id, p_user);  -- while', 'select * into words from maas_words_of(p_id, words.user_id);  -- while'),
    ('maas_forget', 'l.superseded_by = any(gone) and', 'l.superseded_by = any(gone) and l.user_id = words.user_id and'),
    ('maas_forget', 'delete from lsm_storage l where l.id = any(gone)', 'delete from lsm_storage l where l.user_id = words.user_id and l.id = any(gone)'),

    ('maas_compact', 'where id = any(p_children) order by id', 'where id = any(p_children) and user_id = p_user order by id'),
    ('maas_compact', 'where r.id = u.id offset 0', 'where r.id = u.id and r.user_id is not distinct from p_user offset 0'),

    ('maas_remember', 'where l.run_id = new_run and', 'where l.run_id = new_run and l.user_id is not distinct from p_user and'),
    ('maas_propose_action', 'on c.id = r.conversation_id where', 'on c.id = r.conversation_id and c.user_id = r.user_id where'),
    ('maas_decide_action', 'from pipeline_runs r where r.id = action.run_id', 'from pipeline_runs r where r.id = action.run_id and r.user_id = p_user')
  ) as p(function, before, after) loop
    text_then := pg_get_functiondef(place.function::regproc);
    text_now := replace(text_then, place.before, place.after);
    if text_now = text_then then
      raise exception '% does not say: %', place.function, place.before;
    end if;
    execute text_now;
  end loop;
end $$;

-- Forgetting ------------------------------------------------------------------------------------------------------------

create or replace function maas_hold_runs(p_user uuid, p_runs uuid[] default null) returns void language plpgsql as $$
begin
  loop
    begin
      perform maas_lock_engine();
      if p_runs is null then
        perform from pipeline_runs where user_id = p_user for update nowait;
      else
        perform from pipeline_runs where id = any(p_runs) and user_id = p_user for update nowait;
      end if;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.005);  -- all or none: maas_advance holds several runs, too, in an order of its own
    end;
  end loop;
end $$;
comment on function maas_hold_runs is 'Takes the engine lock and locks these runs of a user, or all; deadlocks with nobody';

create or replace function maas_dissolve_parents(p_records uuid[]) returns int language plpgsql as $$
declare
  whose uuid;
  parents uuid[];
  reopened uuid[];
  removed int := 0;
begin
  for whose in select distinct user_id from lsm_storage where id = any(p_records) order by 1 loop
    perform maas_lock_memory(whose);
    with recursive above as (
      select superseded_by as id from lsm_storage where id = any(p_records) and user_id = whose and superseded_by is not null
      union
      select l.superseded_by from above a join lsm_storage l on l.id = a.id and l.user_id = whose where l.superseded_by is not null
    )
    select array_agg(l.id) into parents from above a join lsm_storage l on l.id = a.id and l.user_id = whose;
    while parents is not null loop
      with u as (
        update lsm_storage set superseded_by = null, superseded_at = case when id = any(p_records) then superseded_at end
        where superseded_by = any(parents) and id <> all(parents) and user_id = whose returning id
      )
      select array_agg(u.id) into reopened from u;
      delete from lsm_storage where id = any(parents) and user_id = whose;
      removed := removed + cardinality(parents);
      -- Two of one bucket, of which one came late, met only in what is gone now: they go, too.
      select array_agg(l.id) into parents from lsm_storage l
      where l.id = any(reopened) and l.user_id = whose and l.level > 0 and exists (
        select from maas_group(whose, l.level, l.time_bucket_end) o where o.level = l.level and o.id <> l.id);
    end loop;
  end loop;
  return removed;
end $$;
alter function maas_dissolve_parents set enable_seqscan = off;

create or replace function maas_words_of(p_id uuid, p_user uuid default null) returns table (user_id uuid, logs uuid[]) language sql stable as $$
  select l.user_id, array(
    select u.id from unnest(l.raw_log_ids) u(id)
    where not exists (select from raw_logs g where g.id = u.id and g.user_id is distinct from l.user_id))
  from lsm_storage l
  where l.id = p_id and not l.is_provisional and (p_user is null or l.user_id = p_user)
  union all
  select g.user_id, array[g.id] from raw_logs g where g.id = p_id and (p_user is null or g.user_id = p_user)
$$;
comment on function maas_words_of is 'Whose memory this is and the raw logs under it, of a record or a turn; no words of others';

create or replace function forget_copies() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  is_swept boolean := current_setting('maas.retention', true) = 'on';
  retold uuid[];  -- conversations whose summary may speak of what is gone: it is made anew from the records that stay
begin
  delete from user_notes n using gone g
  where not coalesce(is_swept, false) and n.run_id = g.run_id and n.user_id is not distinct from g.user_id and g.message_type = 'user_query';
  with dropped as (
    delete from chat_messages m using gone g
    where m.run_id = g.run_id and m.user_id is not distinct from g.user_id
      and m.role = case g.message_type when 'user_query' then 'user' else 'assistant' end
    returning m.conversation_id, m.user_id, m.is_folded
  )
  select array_agg(distinct c.id) into retold
  from dropped d join chat_conversations c on c.id = d.conversation_id and c.user_id = d.user_id where d.is_folded;
  if retold is not null and not coalesce(is_swept, false) then
    update chat_conversations set rolling_summary = '' where id = any(retold);
    update chat_messages set is_folded = false where conversation_id = any(retold) and is_folded;
  end if;
  return null;
end $$;

create or replace function maas_old_logs(p_before timestamptz) returns setof raw_logs language sql stable as $$
  select g.* from raw_logs g
  where g.created_at < p_before and g.archived_at is not null and not g.archive_owed
    and not exists (select from pipeline_runs r where r.id = g.run_id and r.user_id is not distinct from g.user_id and r.lane < 2)
$$;

create or replace function maas_old_runs(p_before timestamptz) returns setof pipeline_runs language sql stable as $$
  select r.* from pipeline_runs r
  where r.created_at < p_before and r.lane = 2 and coalesce(r.completed_at, r.failed_at) < p_before
    and not exists (select from raw_logs g where g.run_id = r.id and g.user_id is not distinct from r.user_id)
    and not exists (
      select from chat_pending_actions a where (a.run_id = r.id or a.action_run_id = r.id)
      and (a.status in ('approved', 'executing') or (a.status = 'pending' and a.expires_at > maas_now())))
$$;

-- Dialogues -------------------------------------------------------------------------------------------------------------

create or replace function maas_fold_conversation(p_id uuid, p_keep int) returns boolean language plpgsql as $$
declare
  whose uuid;
  gone uuid[];   -- runs all of whose messages are older than the last p_keep
  told text;
begin
  -- Whoever holds the conversation is not waited for: what is left is folded with the next exchange.
  select user_id into whose from chat_conversations where id = p_id for no key update skip locked;
  if not found then
    return false;
  end if;
  gone := array(
    select m.run_id from (
      select c.run_id, r.lane, row_number() over (order by r.seq desc, c.created_at desc) as place
      from chat_messages c join pipeline_runs r on r.id = c.run_id and r.user_id is not distinct from whose and r.lane > 0
      where c.conversation_id = p_id and c.user_id is not distinct from whose and c.role in ('user', 'assistant') and not c.is_folded) m
    group by m.run_id, m.lane having min(m.place) > p_keep and m.lane = 2);  -- in lane 1 its record is not written yet
  select string_agg(l.summary, ' ' order by l.occurred_at, l.created_at) into told
  from lsm_storage l where l.user_id is not distinct from whose
    and l.id in (select g.record_id from raw_logs g where g.run_id = any(gone) and g.user_id is not distinct from whose);
  update chat_messages set is_folded = true where conversation_id = p_id and run_id = any(gone);
  update chat_conversations set rolling_summary = maas_last_words(concat_ws(' ', nullif(rolling_summary, ''), told), 2000)
  where id = p_id and told is not null;
  return found;
end $$;

create or replace function name_agent() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  update chat_messages set agent = new.agent
  where run_id = new.id and user_id is not distinct from new.user_id and role = 'assistant' and new.agent is not null;
  perform from chat_conversations where id = new.conversation_id and user_id = new.user_id for no key update skip locked;
  if found then
    update chat_conversations set last_agent = coalesce(new.agent, last_agent), last_domain = coalesce(new.domain, last_domain)
    where id = new.conversation_id;
  end if;
  return null;
end $$;

create or replace function maas_active_agent(p_conversation uuid) returns text language sql stable as $$
  select coalesce(
    (select m.agent from chat_messages m
     where m.conversation_id = c.id and m.user_id is not distinct from c.user_id and m.role = 'assistant' and m.agent is not null
     order by m.created_at desc, m.id desc limit 1), c.last_agent)
  from chat_conversations c where c.id = p_conversation
$$;

-- Images ----------------------------------------------------------------------------------------------------------------

create or replace function show_attachments() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  new.attachment_ids := case new.role
    when 'user' then coalesce((select r.attachment_ids from pipeline_runs r where r.id = new.run_id and r.user_id is not distinct from new.user_id), '{}')
    else array(select a.id from attachments a where a.run_id = new.run_id and a.user_id is not distinct from new.user_id order by a.created_at, a.id)
  end;
  return new;
end $$;

create or replace function maas_keep_drawing(p_run uuid, p_media_type text, p_width int, p_height int, p_content bytea)
returns uuid language plpgsql as $$
declare
  whose uuid;
  drawn uuid;
begin
  select user_id into whose from pipeline_runs where id = p_run for no key update;
  select id into drawn from attachments where run_id = p_run and user_id is not distinct from whose;
  if whose is null or drawn is not null then
    return drawn;
  end if;
  insert into app_users (user_id, total_generations) values (whose, 1)
  on conflict (user_id) do update set total_generations = app_users.total_generations + 1;
  return maas_keep_attachment(whose, p_run, p_media_type, p_width, p_height, p_content);
end $$;

-- Moving house ----------------------------------------------------------------------------------------------------------

create or replace function maas_settle_restore(p_user uuid, p_label text) returns uuid language plpgsql as $$
declare
  new_run uuid := gen_random_uuid();
begin
  if exists (select from lsm_storage l cross join unnest(l.raw_log_ids) u(id) where l.user_id = p_user and not l.words_gone
      and not exists (select from raw_logs g where g.id = u.id and g.user_id = p_user))
    or exists (select from raw_logs g where g.user_id = p_user and g.record_id is not null
      and not exists (select from lsm_storage l where l.id = g.record_id and l.user_id = p_user)) then
    raise foreign_key_violation using message = 'its records and its logs do not belong together';
  end if;
  if exists (select from chat_messages m join chat_conversations c on c.id = m.conversation_id
      where m.user_id = p_user and c.user_id <> p_user) then
    raise foreign_key_violation using message = 'its messages and its conversations do not belong together';
  end if;
  if (select count(*) from user_notes where user_id = p_user) > 200 then
    raise check_violation using message = 'with its notes the user would have more than 200';
  end if;
  update raw_logs g set run_id = new_run, turn_no = o.n from (
    select w.id, row_number() over (order by w.occurred_at, w.seq) as n from raw_logs w
    where w.user_id = p_user and w.archived_at is null
      and not exists (select from pipeline_runs r where r.id = w.run_id and r.user_id is not distinct from p_user)) o
  where g.id = o.id;
  if not found then
    return null;
  end if;
  insert into pipeline_runs (id, user_id, user_query, kind, source) values (new_run, p_user, p_label, 'archive', 'import');
  return new_run;
end $$;

do $$ begin perform maas_grant_rights(); end $$;
