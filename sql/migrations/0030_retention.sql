-- Who did what, and how long words are kept.
--
--   audit           a row for every act on other people's memory or on what all share. Nobody changes or removes one.
--   note_change     notes changes of prompts, prices, assistants and roles, whoever makes them.
--   maas_sweep      removes words and finished runs that are older than so many days, of one user a call.
--
-- What retention removes are words: raw_logs, the messages of dialogues, images, and runs with all that hangs on them. What
-- was made of the words stays: records, their merged parents, rolling summaries, notes. A record keeps the ids of its logs,
-- so that forgetting still finds all that was made of a word; words_gone says why some of them lead nowhere.

-- Audit ---------------------------------------------------------------------------------------------------------------

alter table audit alter column user_id drop not null;
comment on table audit is 'Who did what to whose memory, and to what all share; ids and counts, never a word of a user. Rows are only added';
comment on column audit.user_id is 'Whose memory it was; null where it was nobody''s alone';
comment on column audit.actor is 'The name of who called, cli, retention, or sql: and the role';
comment on column audit.subject is 'The memory or the run';
create index idx_audit_at on audit (at);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise insufficient_privilege using message = 'audit: rows are only added', table = tg_table_name;
end $$;
create trigger refuse_change before update or delete on audit for each row execute function refuse_change();
create trigger refuse_truncate before truncate on audit for each statement execute function refuse_change();

create view v_audit as
select at, actor, action, user_id, subject, details from audit order by id desc;
comment on view v_audit is 'Who did what, the newest first';

create function note_change() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  before jsonb := case when tg_op <> 'INSERT' then to_jsonb(old) else '{}' end;
  after jsonb := case when tg_op <> 'DELETE' then to_jsonb(new) else '{}' end;
  one jsonb := case when tg_op = 'DELETE' then before else after end;
  changed text[] := array(
    select k from jsonb_object_keys(after || before) k where before->k is distinct from after->k and k not in ('updated_at', 'version') order by k);
begin
  if tg_op = 'UPDATE' and changed = '{}' then
    return null;
  end if;
  perform maas_note(tg_argv[0], case when one ? 'user_id' then (one->>'user_id')::uuid end, null, jsonb_build_object('how', lower(tg_op))
    || case when tg_op = 'UPDATE' then jsonb_build_object('changed', changed) else '{}' end
    || (select jsonb_object_agg(k, one->k) from unnest(tg_argv[1:]) k), null);
  return null;
end $$;
comment on function note_change is 'Notes in audit that a row came, changed or went: the columns that name it, and which ones changed';
create trigger note_change after insert or update or delete on system_prompts
  for each row execute function note_change('prompt_change', 'role_name', 'version');
create trigger note_change after insert or update or delete on model_prices
  for each row execute function note_change('price_change', 'provider', 'model');
create trigger note_change after insert or update or delete on assistants
  for each row execute function note_change('assistant_change', 'name');
create trigger note_change after insert or update or delete on user_roles
  for each row execute function note_change('role_change', 'role');

alter function maas_cancel_run(uuid) rename to maas_ask_for_end;
create function maas_cancel_run(p_id uuid, p_actor text default null) returns text language plpgsql as $$
declare
  verdict text := maas_ask_for_end(p_id);
begin
  if verdict = 'cancelling' then
    perform maas_note('cancel', (select user_id from pipeline_runs where id = p_id), p_id, '{}', p_actor);
  end if;
  return verdict;
end $$;
comment on function maas_cancel_run is 'cancelling, finished or not_found: marks a run; the next step makes it FAILED';

alter function maas_retry_run(uuid) rename to maas_begin_again;
create function maas_retry_run(p_id uuid, p_actor text default null) returns text language plpgsql as $$
declare
  verdict text := maas_begin_again(p_id);
begin
  if verdict in ('retrying', 'archiving') then
    perform maas_note('retry', (select user_id from pipeline_runs where id = p_id), p_id, '{}', p_actor);
  end if;
  return verdict;
end $$;
comment on function maas_retry_run is 'retrying, archiving, not_failed or not_found: FAILED -> NEW as a new try, or a failed archive once more';

-- Retention -----------------------------------------------------------------------------------------------------------

alter table lsm_storage add words_gone boolean not null default false;
comment on column lsm_storage.words_gone is 'Words that it was made of were removed by retention';
create index idx_lsm_words_gone on lsm_storage (user_id) where words_gone;  -- a search reads these by themselves

create function maas_old_logs(p_before timestamptz) returns setof raw_logs language sql stable as $$
  select g.* from raw_logs g
  where g.created_at < p_before and g.archived_at is not null and not g.archive_owed
    and not exists (select from pipeline_runs r where r.id = g.run_id and r.lane < 2)
$$;
comment on function maas_old_logs is 'Words from before then that nobody works on and that are in a record, or are small talk';

create function maas_old_runs(p_before timestamptz) returns setof pipeline_runs language sql stable as $$
  select r.* from pipeline_runs r
  where r.created_at < p_before and r.lane = 2 and coalesce(r.completed_at, r.failed_at) < p_before
    and not exists (select from raw_logs g where g.run_id = r.id)
    and not exists (
      select from chat_pending_actions a where (a.run_id = r.id or a.action_run_id = r.id)
      and (a.status in ('approved', 'executing') or (a.status = 'pending' and a.expires_at > maas_now())))
$$;
comment on function maas_old_runs is 'Runs that ended before then, whose words are gone and which no action waits for';

create function maas_sweep(p_days int, p_limit int default 500) returns jsonb language plpgsql as $$
declare
  before timestamptz := maas_now() - make_interval(days => p_days);
  whose uuid;
  words uuid[];
  runs uuid[];
  counts jsonb;
  logs int;
  gone int;
  images int;
  talks int;
begin
  if not pg_try_advisory_xact_lock(4716, 1) then
    return null;  -- somebody else is at it
  end if;
  select user_id into whose from maas_old_logs(before) limit 1;
  if not found then
    select user_id into whose from maas_old_runs(before) limit 1;
  end if;
  if whose is null or not pg_try_advisory_xact_lock(4714, hashtext(whose::text)) then
    return null;  -- who moves records of this user has it; nobody is waited for, and nobody waits long
  end if;
  perform set_config('maas.retention', 'on', true);

  words := array(select id from raw_logs where id in (
      select id from maas_old_logs(before) where user_id = whose limit p_limit) for update skip locked);
  update lsm_storage set words_gone = true where user_id = whose and not words_gone and raw_log_ids && words;
  update term_df d set turns = d.turns - t.turns
  from (select u.lexeme, count(*) as turns from raw_logs g cross join unnest(g.tsv) u where g.id = any(words) group by u.lexeme) t
  where d.user_id = whose and d.term = t.lexeme;
  delete from term_df where user_id = whose and turns < 1;
  update counted_users set turns = turns - cardinality(words) where user_id = whose;
  delete from raw_logs where id = any(words);
  get diagnostics logs = row_count;

  runs := array(select id from pipeline_runs where id in (
      select id from maas_old_runs(before) where user_id = whose limit p_limit) for update skip locked);
  delete from chat_messages where user_id = whose and run_id = any(runs);
  delete from chat_pending_actions where user_id = whose and run_id = any(runs);
  delete from attachments a where a.user_id = whose and a.created_at < before and (a.run_id is null or a.run_id = any(runs))
    and not exists (select from pipeline_runs r where r.user_id = whose and r.id <> all(runs) and a.id = any(r.attachment_ids))
    and not exists (select from assistant_sessions s where s.user_id = whose and s.is_active and a.id in (s.photo, s.offered_photo));
  get diagnostics images = row_count;
  delete from pipeline_runs where id = any(runs);
  get diagnostics gone = row_count;
  delete from chat_conversations c where c.user_id = whose and c.created_at < before
    and not exists (select from chat_messages m where m.conversation_id = c.id)
    and not exists (select from pipeline_runs r where r.user_id = whose and r.conversation_id = c.id);
  get diagnostics talks = row_count;

  counts := jsonb_build_object('logs', logs, 'runs', gone, 'images', images, 'conversations', talks);
  if logs + gone + images + talks > 0 then
    perform maas_note('retention', whose, null, counts || jsonb_build_object('days', p_days), 'retention');
  end if;
  return counts;
end $$;
comment on function maas_sweep is 'Removes words and finished runs older than so many days, some of one user; what went, or null when there is nothing to do';

create or replace function forget_copies() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
declare
  is_swept boolean := current_setting('maas.retention', true) = 'on';
  retold uuid[];  -- conversations whose summary may speak of what is gone: it is made anew from the records that stay
begin
  delete from user_notes n using gone g where not coalesce(is_swept, false) and n.run_id = g.run_id and g.message_type = 'user_query';
  with dropped as (
    delete from chat_messages m using gone g
    where m.run_id = g.run_id and m.role = case g.message_type when 'user_query' then 'user' else 'assistant' end
    returning m.conversation_id, m.is_folded
  )
  select array_agg(distinct conversation_id) into retold from dropped where is_folded;
  if retold is not null and not coalesce(is_swept, false) then
    update chat_conversations set rolling_summary = '' where id = any(retold);
    update chat_messages set is_folded = false where conversation_id = any(retold) and is_folded;
  end if;
  return null;
end $$;

create or replace function maas_compact(p_user uuid, p_level int, p_day date, p_children uuid[], p_summary text, p_is_degraded boolean,
  p_cost jsonb) returns uuid language plpgsql
as $$
declare
  parent uuid := gen_random_uuid();
  group_now uuid[];
  logs uuid[];
begin
  perform maas_lock_memory(p_user);
  perform from lsm_storage where id = any(p_children) order by id for update;
  select array_agg(id order by id) into group_now from maas_group(p_user, p_level, p_day)
  having bool_or(level < p_level);
  if group_now is distinct from array(select distinct id from unnest(p_children) id order by id) then
    return null;
  end if;

  -- Ids whose words are gone stay: who forgets the parent finds its children by them.
  select array_agg(u.id order by g.occurred_at nulls first, g.seq, u.id) into logs
  from (select distinct unnest(c.raw_log_ids) as id from lsm_storage c where c.id = any(p_children)) u
  left join lateral (select r.occurred_at, r.seq from raw_logs r where r.id = u.id offset 0) g on true;
  insert into lsm_storage (id, user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids, is_degraded,
    occurred_at, known_at, words_gone)
  select parent, p_user, p_level, min(c.time_bucket_start), max(c.time_bucket_end), array(
      select tag from lsm_storage t, unnest(t.tags) tag where t.id = any(p_children) group by tag
      -- what fits every talk says the least
      order by tag in ('Discussion', 'Unanswered'), count(*) desc, max(t.occurred_at) desc, tag limit 12),
    p_summary, coalesce(logs, '{}'), p_is_degraded, max(c.occurred_at), max(c.known_at), bool_or(c.words_gone)
  from lsm_storage c where c.id = any(p_children);
  update lsm_storage set superseded_by = parent, superseded_at = now() where id = any(p_children);
  insert into compactions (record_id, user_id, level, children, provider, model, prompt_version, calls, tokens_in, tokens_out, ms)
  select parent, p_user, p_level, cardinality(p_children), c.provider, c.model, c.prompt_version, coalesce(c.calls, 0),
    coalesce(c.tokens_in, 0), coalesce(c.tokens_out, 0), coalesce(c.ms, 0)
  from jsonb_to_record(p_cost) as c(provider text, model text, prompt_version int, calls int, tokens_in int, tokens_out int, ms real);
  return parent;
end $$;
alter function maas_compact set enable_seqscan = off;

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
    where w.user_id = p_user and w.archived_at is null and not exists (select from pipeline_runs r where r.id = w.run_id)) o
  where g.id = o.id;
  if not found then
    return null;
  end if;
  insert into pipeline_runs (id, user_id, user_query, kind, source) values (new_run, p_user, p_label, 'archive', 'import');
  return new_run;
end $$;

-- What an alert looks at is there before it happens for the first time.
insert into engine_metrics (slot, name, labels, events) values ('-infinity', 'words_swept', '{}', 0), ('-infinity', 'runs_swept', '{}', 0);
