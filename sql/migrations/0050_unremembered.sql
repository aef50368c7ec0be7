-- Words that are logged and not remembered: those said to an assistant with `memory: off`, and those of a run that was inserted
-- with `is_remembered` false.
--
-- `run_intake` decides at the insert, the logs of a run get what was decided. Nothing recalls such a log: search, context, drafts,
-- term statistics and vectors ask for `is_remembered`, and no Archivist sees it, because it counts as archived from the start. All
-- else is as ever: the dialogue shows it, an export has it, forgetting, erasing and retention take it along.

alter table pipeline_runs add is_remembered boolean not null default true;
comment on column pipeline_runs.is_remembered is 'False: its words are logged and never recalled or recorded; decided at the insert';
alter table raw_logs add is_remembered boolean not null default true;
comment on column raw_logs.is_remembered is 'False: logged only; no search, draft, record or vector has it, and archived_at is set from the start';

create or replace function log_queries() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into raw_logs (user_id, run_id, message_type, content, conversation, metadata, is_remembered, archived_at)
  select user_id, id, 'user_query', user_query,
    coalesce(conversation_id::text, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD')),
    jsonb_build_object('request_id', id, 'timestamp', created_at), is_remembered, case when not is_remembered then created_at end
  from inserted where kind in ('ask', 'action') order by seq;
  return null;
end $$;

create or replace function log_answer() returns trigger language plpgsql security definer set search_path = public, pg_temp as $$
begin
  insert into raw_logs (user_id, run_id, message_type, content, conversation, metadata, is_remembered, archived_at)
  values (new.user_id, new.id, 'assistant_response', new.final_answer,
    coalesce(new.conversation_id::text, to_char(new.created_at at time zone 'UTC', 'YYYY-MM-DD')),
    jsonb_build_object('request_id', new.id, 'timestamp', now()), new.is_remembered, case when not new.is_remembered then now() end)
  on conflict do nothing;
  return null;
end $$;

-- What else is to know it, each by its own words: the rest of these functions stays as it is.
do $$
declare
  change record;
  text_then text;
  text_now text;
begin
  for change in select * from (values
    -- one look at the assistant, as before
    ('run_intake', 'if not exists (select from assistants a where a.name = new.assistant and a.is_active) then',
      'new.is_remembered := (
    select coalesce(new.is_remembered, true) and (new.kind = ''archive'' or a.definition->>''memory'' is distinct from ''off'')
    from assistants a where a.name = new.assistant and a.is_active);
  if new.is_remembered is null then'),
    ('maas_decide_action', 'kind, source, metadata)', 'kind, source, metadata, is_remembered)'),
    ('maas_decide_action', 'jsonb_build_object(''action_id'', p_id)', 'jsonb_build_object(''action_id'', p_id), r.is_remembered'),
    ('maas_press_button', 'select r.assistant, r.conversation_id, r.source into', 'select r.assistant, r.conversation_id, r.source, r.is_remembered into'),
    ('maas_press_button', 'metadata, caller, idempotency_key)', 'metadata, caller, idempotency_key, is_remembered)'),
    ('maas_press_button', '''press'', key)', '''press'', key, asked.is_remembered)'),
    ('maas_add_note', 'if (select count(*) from user_notes',
      'if exists (select from pipeline_runs where id = p_run and not is_remembered) then
    return ''off'';
  end if;
  if (select count(*) from user_notes'),
    ('maas_begin_again', 'where run_id = p_id and exists', 'where run_id = p_id and is_remembered and exists'),
    ('maas_count_terms', 'from raw_logs where user_id = p_user', 'from raw_logs where user_id = p_user and is_remembered'),
    ('maas_count_terms', 'where l.user_id = p_user', 'where l.user_id = p_user and l.is_remembered'),
    ('maas_speakers', 'where user_id = p_user', 'where user_id = p_user and is_remembered'),
    ('maas_users_to_count', 'where user_id = u.user_id', 'where user_id = u.user_id and is_remembered'),
    ('maas_forget', 'where g.id = any(words.logs) group by', 'where g.id = any(words.logs) and g.is_remembered group by'),
    ('maas_sweep', 'where g.id = any(words) group by', 'where g.id = any(words) and g.is_remembered group by'),
    ('maas_sweep', 'turns - cardinality(words)', 'turns - (select count(*) from raw_logs g where g.id = any(words) and g.is_remembered)'),
    ('maas_rights', 'attachment_ids, status,', 'attachment_ids, is_remembered, status,'),
    ('maas_rights', 'mode, metadata, attachment_ids''', 'mode, metadata, attachment_ids, is_remembered''')
  ) c(name, old, new) loop
    text_then := pg_get_functiondef(change.name::regproc);
    text_now := replace(text_then, change.old, change.new);
    if text_now = text_then then
      raise exception '% does not say: %', change.name, change.old;
    end if;
    execute text_now;
  end loop;
end $$;
do $$ begin perform maas_grant_rights(); end $$;

-- What was said before to assistants without memory. A run of theirs that failed has left a record.
do $$
declare
  runs uuid[] := array(select r.id from pipeline_runs r join assistants a on a.name = r.assistant
    where a.definition->>'memory' = 'off' and r.kind in ('ask', 'action'));
  records uuid[] := array(select id from lsm_storage where run_id = any(runs) and not is_provisional);
begin
  update pipeline_runs set is_remembered = false where id = any(runs);
  perform maas_dissolve_parents(records);
  delete from lsm_storage where id = any(records);
  update raw_logs set is_remembered = false, archived_at = coalesce(archived_at, created_at), record_id = null, archive_owed = false
  where run_id = any(runs);
  if to_regclass('embeddings') is not null then
    delete from embeddings e using raw_logs g where g.id = e.log_id and not g.is_remembered;
  end if;
end $$;

comment on function maas_add_note is 'noted, known or full: a user has at most 200; off: the run is not to be remembered; the same run again gets the same word';

create index idx_raw_logs_unremembered on raw_logs (user_id, run_id) where not is_remembered;
analyze raw_logs (is_remembered);  -- without statistics a boolean halves each estimate
