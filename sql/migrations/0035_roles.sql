-- Who may do what. Six roles that nobody logs in as; operators grant them to logins of theirs.
--
--   authenticated   a user who comes with claims, as Supabase's do: inserts and sees requests and memory of its own
--   anon            who comes without: nothing
--   maas_app        another application: inserts and sees requests and memory of all users
--   maas_ops        operators: the views v_*, cancel and retry, prompts and prices
--   maas_server     what server.py does
--   maas_worker     what main.py does
--
-- Nothing of ours is open to everybody: tables have row security and no policy but for those named here, functions are
-- executed by those named here. Server and orchestrator read tables; what they change they change by functions, which run
-- as the owner and find our tables whatever a session calls its own. Of a request a client sets what it asks and nothing
-- else; triggers, which run as the owner, too, do the rest. The owner of the tables is bound by none of this.
--
-- maas_grant_rights does it all and may be called again by the owner: when roles that were missing have been created,
-- after a restore, and at the end of each migration that makes or replaces a table, a view or a function.

-- What is ours --------------------------------------------------------------------------------------------------------

create function maas_relations() returns setof regclass language sql stable as $$
  with named as (
    select to_regclass('public.' || n) as relation from unnest(array[
      '_yoyo_log', '_yoyo_migration', '_yoyo_version', 'yoyo_lock', 'run_seq', 'owner_seq', 'api_keys', 'app_users',
      'assistant_sessions', 'assistants', 'attachments', 'audit', 'chat_conversations', 'chat_messages', 'chat_pending_actions',
      'compactions', 'counted_users', 'embedding_fills', 'embeddings', 'engine_metrics', 'engine_settings', 'engines', 'llm_calls',
      'lsm_storage', 'model_prices', 'pipeline_runs', 'raw_logs', 'run_events', 'system_prompts', 'system_prompts_history', 'term_df',
      'token_usage', 'tool_counts', 'tool_executions', 'tools', 'user_identities', 'user_notes', 'user_roles', 'ai_conversations',
      'ai_messages', 'v_actions', 'v_audit', 'v_cost_daily', 'v_cost_user', 'v_daily_metrics', 'v_engines', 'v_keys', 'v_orchestrators', 'v_queue',
      'v_rates', 'v_run_cost', 'v_run_history', 'v_runs_current', 'v_runs_stuck', 'v_stage_latency', 'v_stage_recent',
      'v_user_memory', 'v_user_queue']) n
  )
  select relation from named where relation is not null
  union all
  select d.objid from named join pg_depend d on d.classid = 'pg_class'::regclass and d.refobjid = named.relation and d.deptype = 'i'
  join pg_class s on s.oid = d.objid and s.relkind = 'S'
$$;
comment on function maas_relations is 'Tables, views and sequences of MaaS that are there; others may live beside them';

create function maas_functions() returns setof regprocedure language sql stable as $$
  select oid from pg_proc where pronamespace = 'public'::regnamespace and (proname like 'maas\_%' or proname in (
    'check_attachments', 'count_failure', 'follow_execution', 'forget_copies', 'join_conversation', 'keep_answer',
    'keep_prompt_version', 'log_answer', 'log_queries', 'name_agent', 'note_change', 'notify_pipeline_change', 'number_prompt_version',
    'refuse_change', 'refuse_transition', 'ring_bell', 'run_intake', 'show_attachments', 'skip_archive', 'touch_updated_at', 'turn_old_state'))
$$;
comment on function maas_functions is 'Functions of MaaS, those of triggers included';

-- Who may do what with it ---------------------------------------------------------------------------------------------

create function maas_rights() returns table (who text, privileges text, relations text[]) language sql immutable as $$
  with words(memory, shown, asked) as (values (
    array['raw_logs', 'lsm_storage', 'chat_conversations', 'chat_messages', 'attachments', 'user_notes'],
    -- all of a request but what models were told
    'select (id, seq, user_id, user_query, assistant, conversation_id, kind, source, mode, metadata, attachment_ids, status,
      archive_status, sources, final_answer, error_code, error_message, degraded, agent, domain, cancel_requested_at, created_at,
      updated_at, claimed_at, analyzing_at, analyzed_at, assembling_at, ready_at, responding_at, completed_at, failed_at, archived_at)',
    'insert (id, user_id, user_query, assistant, conversation_id, mode, metadata, attachment_ids'))
  select r.* from words cross join lateral (values
    ('authenticated', shown, array['pipeline_runs']), ('authenticated', asked || ')', array['pipeline_runs']),
    ('authenticated', 'select', memory),
    ('maas_app', shown, array['pipeline_runs']), ('maas_app', asked || ')', array['pipeline_runs']), ('maas_app', 'select', memory),

    ('maas_ops', 'select', array['v_actions', 'v_audit', 'v_cost_daily', 'v_cost_user', 'v_daily_metrics', 'v_engines', 'v_orchestrators', 'v_queue',
      'v_rates', 'v_run_cost', 'v_run_history', 'v_runs_current', 'v_runs_stuck', 'v_stage_latency', 'v_stage_recent', 'v_user_memory',
      'v_user_queue', 'engine_settings', 'model_prices', 'system_prompts', 'system_prompts_history']),
    ('maas_ops', 'update (prompt_template, is_active)', array['system_prompts']),
    ('maas_ops', 'insert, update, delete', array['model_prices']),

    ('maas_server', 'select', memory || array['pipeline_runs', 'run_events', 'chat_pending_actions', 'llm_calls', 'tool_executions',
      'system_prompts', 'system_prompts_history', 'assistants', 'tools', 'engine_metrics', 'engine_settings', 'counted_users', 'term_df',
      'embeddings', 'embedding_fills', 'user_identities', 'user_roles', 'api_keys', 'ai_conversations', 'v_actions', 'v_engines', 'v_keys',
      'v_orchestrators', 'v_queue', 'v_run_history', '_yoyo_migration']),
    ('maas_server', asked || ', source, caller, idempotency_key)', array['pipeline_runs']),
    ('maas_server', 'update (mode, title)', array['chat_conversations']), ('maas_server', 'delete', array['attachments']),

    ('maas_worker', 'select', memory || array['pipeline_runs', 'run_events', 'llm_calls', 'token_usage', 'model_prices', 'system_prompts',
      'assistants', 'tools', 'engine_settings', 'app_users', 'counted_users', 'term_df', 'embeddings', 'embedding_fills', 'v_actions',
      'v_engines', '_yoyo_migration']),
    ('maas_worker', 'insert, update', array['assistants', 'tools']), ('maas_worker', 'update (value)', array['engine_settings']),
    ('maas_worker', 'update (swept_to, since)', array['embedding_fills'])
  ) r
$$;
comment on function maas_rights is 'What each role may do with tables and views';

create function maas_verbs() returns table (who text, is_owners boolean, names text[]) language sql immutable as $$
  with words(reading) as (values (array['maas_now', 'maas_day', 'maas_monday', 'maas_period', 'maas_call_words']))
  select v.* from words cross join lateral (values
    ('authenticated', true, array['maas_is_admin']),
    ('maas_ops', false, reading), ('maas_ops', true, array['maas_cancel_run', 'maas_retry_run']),

    ('maas_server', true, array['maas_cancel_run', 'maas_retry_run', 'maas_import', 'maas_remember', 'maas_erase', 'maas_forget',
      'maas_restore', 'maas_settle_restore', 'maas_note', 'maas_create_conversation', 'maas_clear_conversation', 'maas_edit_action',
      'maas_decide_action', 'maas_press_button', 'maas_keep_attachment', 'maas_name_user', 'maas_touch_key']),
    ('maas_server', false, reading || array['maas_lexemes', 'maas_terms', 'maas_any_term', 'maas_term_mask', 'maas_mask_weight',
      'maas_hidden_runs', 'maas_derived_columns']),

    ('maas_worker', true, array['maas_register', 'maas_heartbeat', 'maas_unregister', 'maas_step', 'maas_advance', 'maas_reap',
      'maas_archive_exchange', 'maas_pin_calls', 'maas_add_events', 'maas_add_metrics', 'maas_compact', 'maas_count_terms',
      'maas_log_horizon', 'maas_lease_embeddings', 'maas_write_embeddings', 'maas_add_note', 'maas_drop_note', 'maas_fold_conversation',
      'maas_propose_action', 'maas_open_action', 'maas_end_action', 'maas_count_call', 'maas_begin_tool', 'maas_finish_tool',
      'maas_note_read', 'maas_sweep', 'maas_open_session', 'maas_keep_session', 'maas_keep_drawing', 'maas_name_agent']),
    ('maas_worker', false, reading || array['maas_lexemes', 'maas_terms', 'maas_any_term', 'maas_term_mask', 'maas_mask_weight',
      'maas_hidden_runs', 'maas_bucket', 'maas_due_until', 'maas_group', 'maas_price', 'maas_active_agent', 'maas_users_to_count'])
  ) v
$$;
comment on function maas_verbs is 'Which functions each role may execute, and whether they run as the owner: those that change what their caller may not touch';

-- Who asks ------------------------------------------------------------------------------------------------------------

do $$
begin
  if to_regprocedure('auth.uid()') is null then
    create schema if not exists auth;
    create function auth.uid() returns uuid language plpgsql stable set search_path = '' as $uid$
    begin
      return coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb->>'sub')::uuid;
    exception when others then
      return null;  -- what cannot be read names nobody, and no error quotes it
    end $uid$;
    comment on function auth.uid is 'The user that the claims of this session name, or null';
    revoke all on function auth.uid() from public;
  end if;
exception when insufficient_privilege then
  raise notice 'the schema auth cannot be made here: authenticated sees nothing until there is auth.uid() and maas_grant_rights is called';
end $$;

create function maas_is_admin() returns boolean language plpgsql stable as $$
begin
  return exists (select from user_roles where user_id = auth.uid() and role = 'admin');
end $$;
comment on function maas_is_admin is 'Whether the user that the claims name may see the requests of all';

-- Done ----------------------------------------------------------------------------------------------------------------

create function maas_make_roles() returns text[] language plpgsql as $$
declare
  who text;
  missing text[] := '{}';
begin
  foreach who in array array['anon', 'authenticated', 'maas_app', 'maas_ops', 'maas_server', 'maas_worker'] loop
    if to_regrole(who) is null then
      begin
        execute format('create role %I nologin', who);
      exception
        when duplicate_object or unique_violation then null;  -- roles are the cluster's: another database was first
        when insufficient_privilege then
          missing := missing || who;
          raise notice 'the role % cannot be created here: have an administrator do it, then call maas_grant_rights()', who;
      end;
    end if;
  end loop;
  return missing;
end $$;
comment on function maas_make_roles is 'Creates the roles that are not there; those that the caller may not create';

create function maas_close() returns void language plpgsql as $$
declare
  everybody text := (select string_agg(format('%I', rolname), ', ') from pg_roles
    where rolname in ('anon', 'authenticated', 'maas_app', 'maas_ops', 'maas_server', 'maas_worker'));
  one record;
begin
  everybody := concat_ws(', ', 'public', everybody);
  for one in select r as name, c.relkind, c.relrowsecurity from maas_relations() r join pg_class c on c.oid = r loop
    if one.relkind = 'r' and not one.relrowsecurity then
      execute format('alter table %s enable row level security', one.name);
    end if;
    execute format('revoke all on %s %s from %s', case one.relkind when 'S' then 'sequence' else 'table' end, one.name, everybody);
  end loop;
  for one in select f as name, p.prorettype = 'trigger'::regtype as is_trigger from maas_functions() f join pg_proc p on p.oid = f loop
    execute format('revoke all on function %s from %s', one.name, everybody);
    if one.is_trigger then
      execute format('alter function %s security definer set search_path = public, pg_temp', one.name);
    end if;
  end loop;
end $$;

create function maas_let_in(p_table regclass, p_policy text, p_for text, p_role text, p_rule text) returns void language plpgsql as $$
begin
  -- A policy that stands is left alone: to make it takes the whole table for a moment.
  if not exists (select from pg_policy where polrelid = p_table and polname = p_policy) then
    execute format('create policy %I on %s for %s to %I %s', p_policy, p_table, p_for, p_role, p_rule);
  end if;
end $$;

create function maas_grant_rights() returns text[] language plpgsql set search_path = public, pg_temp as $$
declare
  missing text[] := maas_make_roles();
  vectors text := (select format('%I, ', n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
    where e.extname = 'vector' and n.nspname <> 'public');
  one record;
begin
  perform maas_close();
  for one in
    select g.who, g.privileges, c.oid::regclass as relation, c.relkind = 'r' as is_table
    from maas_rights() g cross join unnest(g.relations) n join pg_class c on c.oid = to_regclass('public.' || n) where g.who <> all(missing)
  loop
    execute format('grant %s on %s to %I', one.privileges, one.relation, one.who);
    if one.is_table and one.who <> 'authenticated' then
      perform maas_let_in(one.relation, one.who, 'all', one.who, 'using (true) with check (true)');
    end if;
  end loop;
  for one in
    select v.who, v.is_owners, p.oid::regprocedure as name, v.who = any(missing) as is_missing
    from maas_verbs() v join pg_proc p on p.proname = any(v.names) and p.pronamespace = 'public'::regnamespace
  loop
    if one.is_owners then
      execute format('alter function %s security definer set search_path = public, %spg_temp', one.name, coalesce(vectors, ''));
    end if;
    if not one.is_missing then
      execute format('grant execute on function %s to %I', one.name, one.who);
    end if;
  end loop;
  for one in
    select p.oid::regprocedure as name from pg_extension e join pg_depend d on d.refobjid = e.oid and d.deptype = 'e'
    join pg_proc p on d.classid = 'pg_proc'::regclass and p.oid = d.objid
    where e.extname = 'vector' and not has_function_privilege('public', p.oid, 'execute')
  loop
    execute format('grant execute on function %s to public', one.name);  -- they came after later functions had been closed
  end loop;

  if 'authenticated' <> all(missing) and to_regprocedure('auth.uid()') is not null then
    if not has_function_privilege('authenticated', 'auth.uid()', 'execute') then  -- ours, not Supabase's
      grant usage on schema auth to authenticated;
      grant execute on function auth.uid() to authenticated;
    end if;
    perform maas_let_in('pipeline_runs', 'Users see own runs', 'select', 'authenticated', 'using (user_id = (select auth.uid()))');
    perform maas_let_in('pipeline_runs', 'Users insert own runs', 'insert', 'authenticated', 'with check (user_id = (select auth.uid()))');
    perform maas_let_in('pipeline_runs', 'Admins see all', 'select', 'authenticated', 'using ((select maas_is_admin()))');
    perform maas_let_in(g.relation::regclass, 'Users see own rows', 'select', 'authenticated', 'using (user_id = (select auth.uid())'
      || case g.relation when 'chat_messages' then ' and role in (''user'', ''assistant''))' else ')' end)  -- the others are not shown
    from (select unnest(relations) as relation from maas_rights() where who = 'authenticated' and privileges = 'select') g;
  end if;
  return missing;
end $$;
comment on function maas_grant_rights is 'Closes what is ours to everybody and opens to each role what it needs; the roles that are missing still';

create or replace function maas_note(p_action text, p_user uuid, p_subject uuid, p_details jsonb, p_actor text) returns void language sql as $$
  insert into audit (actor, action, user_id, subject, details)
  select case when p_actor is not null and exists (  -- whoever else names an actor would write somebody else's name
      select from pg_roles r where pg_has_role(session_user, r.oid, 'member') and (
        r.rolname in ('maas_server', 'maas_worker') or r.oid = (select relowner from pg_class where oid = 'public.audit'::regclass)))
    then p_actor else 'sql:' || session_user end, p_action, p_user, p_subject, p_details
$$;
comment on function maas_note is 'Adds to the audit; server, orchestrator and owner say who acts, all others are noted by the name of their login';

create or replace function maas_user_tables() returns table (name regclass, condition text) language sql stable as $$
  with ours as (select r as oid from maas_relations() r join pg_class k on k.oid = r and k.relkind in ('r', 'p') where r <> 'audit'::regclass)
  select t.name, t.condition from (
    select c.conrelid::regclass, format('%I in (select id from pipeline_runs where user_id = $1)', a.attname), 1
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.confrelid = 'pipeline_runs'::regclass and c.conrelid in (select oid from ours)
    union all
    select k.oid::regclass, 'user_id = $1', case when k.oid = 'pipeline_runs'::regclass then 2
      -- Copies before the logs, and what refers to others before those: else they would go uncounted, with a trigger or a cascade.
      when k.oid = 'raw_logs'::regclass then 5
      when exists (select from pg_constraint c where c.contype = 'f' and c.conrelid = k.oid) then 3 else 4 end
    from ours k join pg_attribute a on a.attrelid = k.oid and a.attname = 'user_id' and not a.attisdropped
  ) t(name, condition, place) order by t.place, t.name::text
$$;
comment on function maas_user_tables is 'Every table of MaaS that knows users or runs of users, and which of its rows are those of user $1; others'' tables are theirs';

-- Others' sessions hide when their transaction began from who is not allowed to know; one that has written counts as a long one.
create or replace function maas_log_horizon() returns timestamptz language sql as $$
  select greatest(now() - interval '10 minutes', least(now(), (
    select min(case when xact_start is null and backend_xid is not null then '-infinity' else xact_start end)
    from pg_stat_activity where datname = current_database()))) - interval '1 minute'
$$;

create or replace function maas_prepare_embeddings() returns boolean language plpgsql as $$
begin
  if to_regclass('embeddings') is not null then
    return true;
  end if;
  begin
    create extension if not exists vector;
  exception when insufficient_privilege or undefined_file or feature_not_supported then
    return false;
  end;
  if to_regtype('halfvec') is null then
    return false;
  end if;
  -- Inline up to a page: to fetch each vector from TOAST would more than double the time of a scan.
  create table embeddings (
    log_id uuid not null references raw_logs (id) on delete cascade,
    user_id uuid not null,
    model text not null,
    embedding halfvec,
    primary key (log_id, model)
  ) with (toast_tuple_target = 8160);
  create index idx_embeddings_user on embeddings (user_id, model);
  comment on table embeddings is 'Vectors of raw_logs, of length 1, a model beside another; can be made again at any time';
  comment on column embeddings.embedding is 'Null where the provider refused the text';
  perform maas_grant_rights();
  return true;
end $$;

do $$
begin
  revoke create on schema public from public;
exception when insufficient_privilege then
  raise notice 'the schema public is not this owner''s: see to it that nobody but owners may create in it';
end $$;
alter default privileges revoke execute on functions from public;
do $$ begin perform maas_grant_rights(); end $$;
