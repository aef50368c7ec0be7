-- Retention: deletes text and finished runs that are older than a number of days.
--
-- It deletes raw_logs, chat_messages, images, and runs with all that refers to them. What was made of the text stays:
-- summaries, their parents, rolling summaries, notes. A summary keeps the ids of its messages, so that maas_forget
-- still finds what was made of them. The figures of runs stay in the sums of days.

create or replace function maas.maas_expired_logs(p_before timestamptz)
returns setof maas.raw_logs language sql stable as $$
  select g.* from maas.raw_logs g
  where g.created_at < p_before and g.archived_at is not null and not g.archive_owed
    and not exists (
      select from maas.pipeline_runs r
      where r.id = g.run_id and r.user_id is not distinct from g.user_id and r.queue_state < 2)
$$;
comment on function maas.maas_expired_logs is
  'Messages from before p_before that are archived and that no run works on';

create or replace function maas.maas_expired_runs(p_before timestamptz)
returns setof maas.pipeline_runs language sql stable as $$
  select r.* from maas.pipeline_runs r
  where r.created_at < p_before and r.queue_state = 2 and coalesce(r.completed_at, r.failed_at) < p_before
    and not exists (select from maas.raw_logs g where g.run_id = r.id and g.user_id is not distinct from r.user_id)
    and not exists (
      select from maas.chat_pending_actions a where (a.run_id = r.id or a.action_run_id = r.id)
      and (a.status in ('approved', 'executing') or (a.status = 'pending' and a.expires_at > maas.maas_now())))
$$;
comment on function maas.maas_expired_runs is
  'Runs that ended before p_before, have no logs left, and are needed by no action';

create or replace function maas.maas_purge_expired(p_days int, p_limit int default 500)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  before timestamptz := maas.maas_now() - make_interval(days => p_days);
  old_logs uuid[];
  old_runs uuid[] := '{}';
  targets uuid[];  -- the users of this batch whose summaries no other transaction changes
  of_logs uuid[];  -- whose each deleted row was
  of_runs uuid[];
  of_images uuid[];
  of_conversations uuid[];
begin
  if not maas.maas_try_lock('retention') then
    return null;  -- another process is purging
  end if;
  old_logs := array(select id from maas.maas_expired_logs(before) limit p_limit);
  if old_logs = '{}' then
    old_runs := array(select id from maas.maas_expired_runs(before) limit p_limit);
  end if;
  targets := array(
    select u.user_id from (
      select user_id from maas.raw_logs where id = any(old_logs)
      union select user_id from maas.pipeline_runs where id = any(old_runs)) u
    where maas.maas_try_lock('memory', u.user_id::text));
  if targets = '{}' then
    return null;  -- nothing is left, or its users are busy: try again later
  end if;
  perform set_config('maas.retention', 'on', true);

  old_logs := array(
    select id from maas.raw_logs where id in (
      select id from maas.maas_expired_logs(before) where id = any(old_logs) and user_id = any(targets))
    for update skip locked);
  old_runs := old_runs || array(select distinct run_id from maas.raw_logs where id = any(old_logs));
  update maas.lsm_storage set words_gone = true
  where user_id = any(targets) and not words_gone and raw_log_ids && old_logs;
  with lost as materialized (
    select g.user_id, l.lexeme, count(*) as turns from maas.raw_logs g cross join unnest(g.tsv) l
    where g.id = any(old_logs) and g.is_remembered group by g.user_id, l.lexeme
  ), gone as (
    delete from maas.term_df d using lost l
    where d.user_id = l.user_id and d.term = l.lexeme and d.turns <= l.turns
  )
  update maas.term_df d set turns = d.turns - l.turns from lost l
  where d.user_id = l.user_id and d.term = l.lexeme and d.turns > l.turns;
  update maas.counted_users c set turns = c.turns - l.turns
  from (
    select user_id, count(*) as turns from maas.raw_logs
    where id = any(old_logs) and is_remembered group by user_id) l
  where c.user_id = l.user_id;
  perform maas.maas_relink_corrections(c.user_id, old_logs)
  from (select distinct user_id from maas.memory_corrections where user_id = any(targets)) c;
  with gone as (delete from maas.raw_logs where id = any(old_logs) returning user_id)
  select coalesce(array_agg(user_id), '{}') into of_logs from gone;

  perform maas.maas_count_runs(old_runs);
  old_runs := array(
    select id from maas.pipeline_runs where id in (
      select id from maas.maas_expired_runs(before) where id = any(old_runs) and user_id = any(targets))
    for update skip locked);
  delete from maas.chat_messages where run_id = any(old_runs);
  delete from maas.chat_pending_actions where run_id = any(old_runs);
  with gone as (
    delete from maas.attachments a
    where a.user_id = any(targets) and a.created_at < before and (a.run_id is null or a.run_id = any(old_runs))
      and not exists (
        select from maas.pipeline_runs r
        where r.user_id = a.user_id and r.id <> all(old_runs) and a.id = any(r.attachment_ids))
      and not exists (
        select from maas.assistant_sessions s
        where s.user_id = a.user_id and s.is_active and a.id in (s.photo, s.offered_photo))
    returning a.user_id
  )
  select coalesce(array_agg(user_id), '{}') into of_images from gone;
  with gone as (delete from maas.pipeline_runs where id = any(old_runs) returning user_id)
  select coalesce(array_agg(user_id), '{}') into of_runs from gone;
  with gone as (
    delete from maas.chat_conversations c where c.user_id = any(targets) and c.created_at < before
      and not exists (select from maas.chat_messages m where m.conversation_id = c.id)
      and not exists (select from maas.pipeline_runs r where r.user_id = c.user_id and r.conversation_id = c.id)
    returning c.user_id
  )
  select coalesce(array_agg(user_id), '{}') into of_conversations from gone;

  perform maas.maas_write_audit('retention', d.user_id, null, jsonb_build_object('logs', d.logs, 'runs', d.runs,
    'images', d.images, 'conversations', d.conversations, 'days', p_days), 'retention')
  from (
    select g.user_id, count(*) filter (where g.kind = 'log') as logs, count(*) filter (where g.kind = 'run') as runs,
      count(*) filter (where g.kind = 'image') as images,
      count(*) filter (where g.kind = 'conversation') as conversations
    from (
      select 'log' as kind, unnest(of_logs) as user_id union all select 'run', unnest(of_runs)
      union all select 'image', unnest(of_images) union all select 'conversation', unnest(of_conversations)) g
    group by g.user_id) d;
  return jsonb_build_object('logs', cardinality(of_logs), 'runs', cardinality(of_runs),
    'images', cardinality(of_images), 'conversations', cardinality(of_conversations));
end
$$;
comment on function maas.maas_purge_expired is
  'Deletes logs and finished runs that are older than p_days, p_limit of all users per call; '
  'returns counts, null if there is nothing to do';
