-- Retention: deletes text and finished runs that are older than a number of days.
--
-- It deletes raw_logs, chat_messages, images, and runs with all that refers to them. What was made of the text stays:
-- summaries, their parents, rolling summaries, notes. A summary keeps the ids of its messages, so that maas_forget
-- still finds what was made of them.

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
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  before timestamptz := maas.maas_now() - make_interval(days => p_days);
  target_user uuid;
  old_logs uuid[];
  runs uuid[];
  counts jsonb;
  logs int;
  gone int;
  images int;
  conversations int;
begin
  if not maas.maas_try_lock('retention') then
    return null;  -- another process is purging
  end if;
  select user_id into target_user from maas.maas_expired_logs(before) limit 1;
  if not found then
    select user_id into target_user from maas.maas_expired_runs(before) limit 1;
  end if;
  if target_user is null or not maas.maas_try_lock('memory', target_user::text) then
    return null;  -- another transaction changes summaries of this user: try again later
  end if;
  perform set_config('maas.retention', 'on', true);

  old_logs := array(select id from maas.raw_logs where id in (
      select id from maas.maas_expired_logs(before) where user_id = target_user limit p_limit) for update skip locked);
  update maas.lsm_storage set words_gone = true
  where user_id = target_user and not words_gone and raw_log_ids && old_logs;
  update maas.term_df d set turns = d.turns - t.turns
  from (select u.lexeme, count(*) as turns from maas.raw_logs g cross join unnest(g.tsv) u
    where g.id = any(old_logs) and g.is_remembered group by u.lexeme) t
  where d.user_id = target_user and d.term = t.lexeme;
  delete from maas.term_df where user_id = target_user and turns < 1;
  update maas.counted_users set turns = turns - (
    select count(*) from maas.raw_logs g where g.id = any(old_logs) and g.is_remembered) where user_id = target_user;
  perform maas.maas_relink_corrections(target_user, old_logs);
  delete from maas.raw_logs where id = any(old_logs);
  get diagnostics logs = row_count;

  runs := array(select id from maas.pipeline_runs where id in (
      select id from maas.maas_expired_runs(before) where user_id = target_user limit p_limit) for update skip locked);
  delete from maas.chat_messages where user_id = target_user and run_id = any(runs);
  delete from maas.chat_pending_actions where user_id = target_user and run_id = any(runs);
  delete from maas.attachments a
  where a.user_id = target_user and a.created_at < before and (a.run_id is null or a.run_id = any(runs))
    and not exists (
      select from maas.pipeline_runs r
      where r.user_id = target_user and r.id <> all(runs) and a.id = any(r.attachment_ids))
    and not exists (
      select from maas.assistant_sessions s
      where s.user_id = target_user and s.is_active and a.id in (s.photo, s.offered_photo));
  get diagnostics images = row_count;
  delete from maas.pipeline_runs where id = any(runs);
  get diagnostics gone = row_count;
  delete from maas.chat_conversations c where c.user_id = target_user and c.created_at < before
    and not exists (select from maas.chat_messages m where m.conversation_id = c.id)
    and not exists (select from maas.pipeline_runs r where r.user_id = target_user and r.conversation_id = c.id);
  get diagnostics conversations = row_count;

  counts := jsonb_build_object('logs', logs, 'runs', gone, 'images', images, 'conversations', conversations);
  if logs + gone + images + conversations > 0 then
    perform maas.maas_write_audit(
      'retention', target_user, null, counts || jsonb_build_object('days', p_days), 'retention');
  end if;
  return counts;
end
$$;
comment on function maas.maas_purge_expired is
  'Deletes logs and finished runs that are older than p_days, a batch of one user per call; '
  'returns counts, null if there is nothing to do';
