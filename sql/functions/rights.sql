-- Roles and their rights. Nobody logs in as one of the six roles; operators grant them to logins.
--
--   authenticated   a user named by claims, as of Supabase: inserts and reads requests and memory of its own
--   anon            no claims: nothing
--   maas_app        another application: inserts and reads requests and memory of all users
--   maas_ops        operators: the views v_*, cancel and retry, prompts and prices
--   maas_server     server.py, and services of plugins
--   maas_worker     main.py
--
-- Everything in the schema maas is closed to everybody, then opened to the roles named here: tables have row security
-- and no other policies, functions are executed by these roles only. Server and orchestrator read tables; they change
-- them through functions that run as the owner. Those name every schema, so that no session's search path leads them
-- astray. The owner of the tables is bound by none of this.
--
-- maas_grant_rights does it all, and ends every migration. Call it again as the owner after creating missing roles.

create or replace function maas.maas_table_rights() returns table (role_name text, privileges text, relations text[])
language sql immutable as $$
  with lists(memory, shown, asked) as (values (
    array['raw_logs', 'lsm_storage', 'memory_corrections', 'memories', 'facts', 'chat_conversations', 'chat_messages',
      'attachments'],
    -- all of a request except what was sent to models
    'select (id, seq, user_id, user_query, assistant, conversation_id, kind, source, mode, metadata, attachment_ids, '
      'is_remembered, idempotency_key, priority, run_at, debounce, attributes, status, archive_status, sources, '
      'searched, final_answer, error_code, error_message, degraded, limited, memory, memory_reasons, agent, domain, '
      'cancel_requested_at, created_at, updated_at, claimed_at, analyzing_at, analyzed_at, assembling_at, ready_at, '
      'responding_at, completed_at, failed_at, archived_at)',
    'insert (id, user_id, user_query, assistant, conversation_id, mode, metadata, attachment_ids, is_remembered, '
      'idempotency_key, priority, run_at, debounce, attributes'))
  select r.* from lists cross join lateral (values
    ('authenticated', shown, array['pipeline_runs']), ('authenticated', asked || ')', array['pipeline_runs']),
    -- update and delete only so that a trigger can say what to do instead
    ('authenticated', 'select, insert, update, delete', array['run_requests']),
    ('authenticated', 'select', memory || array['webhook_endpoints', 'schedules', 'debounced_requests']),
    ('maas_app', shown, array['pipeline_runs']), ('maas_app', asked || ')', array['pipeline_runs']),
    ('maas_app', 'select, insert, update, delete', array['run_requests']),
    ('maas_app', 'select', memory || array['debounced_requests']),

    ('maas_ops', 'select', array[
      'v_actions', 'v_audit', 'v_cost_daily', 'v_cost_user', 'v_daily_metrics', 'v_embedding', 'v_engines', 'v_facts',
      'v_left_out_days', 'v_orchestrators', 'v_pauses', 'v_queue', 'v_rates', 'v_run_cost', 'v_run_history',
      'v_runs_current',
      'v_runs_stuck', 'v_sessions', 'v_stage_latency', 'v_stage_recent', 'v_user_memory', 'v_user_queue',
      'v_user_quotas', 'v_webhooks', 'schedules', 'engine_settings', 'model_limits', 'model_prices', 'system_prompts',
      'system_prompts_history']),
    ('maas_ops', 'update (prompt_template, is_active)', array['system_prompts']),
    ('maas_ops', 'insert, update, delete', array['model_prices']),

    ('maas_server', 'select', memory || array[
      'pipeline_runs', 'run_events', 'chat_pending_actions', 'llm_calls', 'tool_executions', 'task_steps',
      'debounced_requests', 'system_prompts', 'system_prompts_history', 'assistants', 'tools', 'engine_metrics',
      'engine_settings',
      'counted_users', 'term_df', 'embeddings', 'embedding_fills', 'user_identities', 'user_roles',
      'compactions', 'forgotten_memories', 'erasures', 'fact_decisions', 'fact_names',
      'api_keys', 'ai_conversations', 'audit', 'trial_sets', 'trial_set_runs', 'user_budgets', 'set_limits',
      'saved_filters', 'model_prices',
      'user_settings', 'user_profiles', 'user_preferences', 'knowledge_documents', 'knowledge_chunks',
      'knowledge_terms',
      'knowledge_embeddings', 'responses', 'webhook_endpoints', 'webhook_deliveries', 'schedules',
      'v_conversation_status', 'v_actions', 'v_cost_user', 'v_embedding', 'v_engines', 'v_keys',
      'v_orchestrators', 'v_pauses', 'v_queue', 'v_run_history', 'v_runs_stuck', 'v_sessions', 'v_webhooks',
      'schema_files', 'daily_sums', 'daily_user_sums', 'sum_exceptions', 'sums_state']),
    ('maas_server', asked || ', source, caller, client_context, replaces)', array['pipeline_runs']),
    ('maas_server', 'update (mode, title, is_pinned, is_archived)', array['chat_conversations']),
    ('maas_server', 'delete', array['attachments']),

    ('maas_worker', 'select', memory || array[
      'pipeline_runs', 'run_events', 'task_steps', 'llm_calls', 'token_usage', 'user_budgets', 'model_prices',
      'system_prompts', 'assistants', 'tools', 'engine_settings', 'pauses', 'model_limits', 'app_users', 'compactions',
      'fact_decisions', 'fact_names', 'user_settings', 'user_profiles', 'user_preferences', 'knowledge_documents',
      'knowledge_chunks', 'knowledge_terms', 'knowledge_embeddings', 'counted_users', 'term_df', 'embeddings',
      'embedding_fills',
      'webhook_endpoints', 'webhook_deliveries', 'schedules', 'v_actions', 'v_engines', 'schema_files']),
    ('maas_server', 'select', array['auth_sessions']),
    ('maas_server', 'select (user_id, email, name, created_at, updated_at, last_sign_in_at)', array['auth_users']),
    ('maas_worker', 'insert, update', array['assistants', 'tools']),
    ('maas_worker', 'update (value)', array['engine_settings']),
    ('maas_worker', 'update (swept_to, since)', array['embedding_fills'])
  ) r
$$;
comment on function maas.maas_table_rights is 'What each role may do with tables and views';

create or replace function maas.maas_all_table_rights()
returns table (role_name text, privileges text, relations text[]) language plpgsql as $$
declare
  rights text;
begin
  -- A plugin says in a function NAME_table_rights of its own what our programs may do with its tables.
  for rights in
    select p.proname from pg_proc p
    where p.pronamespace = 'maas'::regnamespace and p.pronargs = 0 and p.proname ~ '_table_rights$'
      and p.proname <> 'maas_all_table_rights'
  loop
    return query execute format('select * from maas.%I()', rights);
  end loop;
end $$;
comment on function maas.maas_all_table_rights is 'What each role may do with tables and views, those of plugins too';

create or replace function maas.maas_all_function_rights()
returns table (role_name text, functions text[]) language plpgsql as $$
declare
  rights text;
begin
  -- A plugin says in a function NAME_function_rights of its own which of our programs may execute its functions.
  for rights in
    select p.proname from pg_proc p
    where p.pronamespace = 'maas'::regnamespace and p.pronargs = 0 and p.proname ~ '_function_rights$'
      and p.proname <> 'maas_all_function_rights'
  loop
    return query execute format('select * from maas.%I()', rights);
  end loop;
end $$;
comment on function maas.maas_all_function_rights is 'Which role may execute which functions, those of plugins too';

create or replace function maas.maas_function_rights()
returns table (role_name text, functions text[]) language sql immutable as $$
  with lists(formats, search) as (values (
    array['maas_now', 'maas_day', 'maas_monday', 'maas_period', 'maas_format_call', 'maas_fingerprint_action',
      'maas_is_forgotten'],
    array['maas_lexemes', 'maas_long_lexemes', 'maas_terms', 'maas_any_term', 'maas_term_mask', 'maas_mask_weight',
      'maas_hidden_runs', 'maas_replaced_runs', 'maas_dropped_runs', 'maas_corrections', 'maas_role', 'maas_facts',
      'maas_find_facts', 'maas_profile', 'maas_notes', 'maas_question_vector']))
  select r.* from lists cross join lateral (values
    ('authenticated', array['maas_is_admin', 'maas_new_id', 'maas_session_user', 'maas_add_webhook',
      'maas_remove_webhook', 'maas_joined_run', 'maas_request_digest']),
    ('maas_app', array['maas_new_id', 'maas_session_user', 'maas_joined_run', 'maas_request_digest']),
    ('maas_ops', formats || array[
      'maas_cancel_run', 'maas_retry_run', 'maas_pause', 'maas_resume', 'maas_embedding_backlog', 'maas_load',
      'maas_set_secret', 'maas_delete_secret', 'maas_facts', 'maas_create_webhook', 'maas_change_webhook',
      'maas_rotate_webhook', 'maas_delete_webhook', 'maas_replay_webhook', 'maas_create_schedule',
      'maas_change_schedule', 'maas_delete_schedule']),

    ('maas_server', formats || search || array[
      'maas_new_id', 'maas_joined_run', 'maas_request_digest', 'maas_sums_of', 'maas_sums_between',
      'maas_search_terms', 'maas_index_text', 'maas_set_prompt', 'maas_insert_trial', 'maas_set_roles',
      'maas_set_profile', 'maas_set_timezone', 'maas_set_preferences', 'maas_add_document', 'maas_expect_documents',
      'maas_mark_document', 'maas_remove_document', 'maas_create_key', 'maas_create_own_key', 'maas_revoke_key',
      'maas_cancel_run', 'maas_keep_trial_set', 'maas_drop_trial_set', 'maas_set_budget',
      'maas_drop_budget', 'maas_set_limit', 'maas_drop_limit', 'maas_limit_ranges',
      'maas_save_filter', 'maas_drop_filter', 'maas_set_price', 'maas_drop_price',
      'maas_retry_run', 'maas_pause', 'maas_resume', 'maas_import',
      'maas_remember', 'maas_correct', 'maas_decide_fact', 'maas_correct_fact', 'maas_merge_fact_names', 'maas_erase',
      'maas_forget', 'maas_forget_conversation', 'maas_memories_from', 'maas_answers_from', 'maas_set_client_metadata',
      'maas_check_quotas', 'maas_derived_columns', 'maas_restore', 'maas_finish_restore', 'maas_write_audit',
      'maas_share_conversation', 'maas_list_links', 'maas_link_owner', 'maas_revoke_link', 'maas_open_link',
      'maas_create_conversation', 'maas_chat_conversation', 'maas_clear_conversation', 'maas_edit_action',
      'maas_decide_action', 'maas_press_button', 'maas_store_attachment', 'maas_resolve_user', 'maas_touch_key',
      'maas_embedding_backlog', 'maas_assistant_tools', 'maas_insert_call', 'maas_store_exchange',
      'maas_store_response', 'maas_delete_response', 'maas_create_webhook', 'maas_change_webhook',
      'maas_rotate_webhook', 'maas_delete_webhook', 'maas_replay_webhook', 'maas_set_push_notification',
      'maas_delete_push_notification', 'maas_create_schedule', 'maas_change_schedule', 'maas_delete_schedule',
      'maas_signing_key', 'maas_find_account', 'maas_password_hash', 'maas_sign_up', 'maas_offer_admin_code',
      'maas_invite',
      'maas_begin_session', 'maas_refresh_session', 'maas_find_session', 'maas_end_sessions', 'maas_change_account',
      'maas_create_link', 'maas_use_link', 'maas_register_client', 'maas_find_client', 'maas_connect_app',
      'maas_exchange_code', 'maas_renew_app', 'maas_app_of_token', 'maas_list_apps', 'maas_app_owner',
      'maas_disconnect_app', 'maas_revoke_app_token']),

    ('maas_worker', formats || search || array[
      'maas_register', 'maas_heartbeat', 'maas_unregister', 'maas_excuse', 'maas_step', 'maas_advance',
      'maas_reap', 'maas_archive_exchange', 'maas_pin_calls', 'maas_add_usage', 'maas_drop_replaced',
      'maas_add_events', 'maas_add_metrics',
      'maas_bucket', 'maas_due_until', 'maas_bucket_records', 'maas_compact', 'maas_count_terms', 'maas_users_to_count',
      'maas_price', 'maas_log_horizon', 'maas_lease_embeddings', 'maas_write_embeddings', 'maas_add_note',
      'maas_drop_note', 'maas_fold_conversation', 'maas_hash_arguments', 'maas_propose_action', 'maas_finish_edit',
      'maas_show_actions',
      'maas_expire_actions',
      'maas_undecided_actions', 'maas_decide_by_words', 'maas_open_action', 'maas_end_action', 'maas_count_call',
      'maas_failures_in_a_row', 'maas_begin_tool', 'maas_finish_tool', 'maas_record_read', 'maas_read_secrets',
      'maas_renew_secret',
      'maas_secret_times', 'maas_purge_expired', 'maas_resume_erasure', 'maas_open_session',
      'maas_open_pressed_session', 'maas_save_session', 'maas_store_drawing', 'maas_set_agent',
      'maas_active_agent', 'maas_keep_start', 'maas_write_audit', 'maas_insert_task', 'maas_next_step', 'maas_end_step',
      'maas_claim_embedding', 'maas_embed_chunks', 'maas_claim_deliveries', 'maas_finish_deliveries',
      'maas_purge_deliveries', 'maas_run_schedule', 'maas_take_call', 'maas_charge_tokens', 'maas_block_model',
      'maas_sum_runs'])
  ) r
$$;
comment on function maas.maas_function_rights is 'Which role may execute which functions';

-- The user of a session -----------------------------------------------------------------------------------------------

do $$
begin
  if to_regprocedure('auth.uid()') is null then
    create schema if not exists auth;
    create function auth.uid() returns uuid language plpgsql stable set search_path = '' as $uid$
    begin
      return coalesce(nullif(current_setting('request.jwt.claim.sub', true), ''),
        nullif(current_setting('request.jwt.claims', true), '')::jsonb->>'sub')::uuid;
    exception when others then
      return null;  -- unreadable claims name nobody, and no error quotes them
    end $uid$;
    comment on function auth.uid is 'The user that the claims of this session name, or null';
    revoke all on function auth.uid() from public;
  end if;
exception when insufficient_privilege then
  raise notice
    'the schema auth cannot be created here: '
    'authenticated sees nothing until auth.uid() exists and maas_grant_rights is called';
end $$;

create or replace function maas.maas_is_admin() returns boolean language plpgsql stable
security definer set search_path = pg_catalog, pg_temp as $$
begin
  return exists (select from maas.user_roles where user_id = auth.uid() and role = 'admin');
end $$;
comment on function maas.maas_is_admin is
  'Whether the user named by the session''s claims may see the requests of all users';

create or replace function maas.maas_session_user() returns uuid language plpgsql stable
security definer set search_path = pg_catalog, pg_temp as $$
begin
  return auth.uid();
exception when invalid_schema_name or undefined_function or insufficient_privilege then
  return null;  -- it could not be created here
end $$;
comment on function maas.maas_session_user is 'The user that the claims of this session name, or null';

-- Granting ------------------------------------------------------------------------------------------------------------

create or replace function maas.maas_make_roles() returns text[] language plpgsql as $$
declare
  role_name text;
  missing text[] := '{}';
begin
  foreach role_name in array array['anon', 'authenticated', 'maas_app', 'maas_ops', 'maas_server', 'maas_worker'] loop
    if to_regrole(role_name) is null then
      begin
        execute format('create role %I nologin', role_name);
      exception
        when duplicate_object or unique_violation then null;  -- roles belong to the cluster: another database was first
        when insufficient_privilege then
          missing := missing || role_name;
          raise notice 'the role % cannot be created here: have an administrator do it, then call maas_grant_rights()',
            role_name;
      end;
    end if;
  end loop;
  return missing;
end $$;
comment on function maas.maas_make_roles is
  'Creates the roles that are missing; returns those that the caller may not create';

create or replace function maas.maas_revoke_all() returns void language plpgsql as $$
declare
  everybody text := (select string_agg(format('%I', rolname), ', ') from pg_roles
    where rolname in ('anon', 'authenticated', 'maas_app', 'maas_ops', 'maas_server', 'maas_worker'));
  target regclass;
begin
  everybody := concat_ws(', ', 'public', everybody);
  for target in
    select oid from pg_class where relnamespace = 'maas'::regnamespace and relkind in ('r', 'p') and not relrowsecurity
  loop
    execute format('alter table %s enable row level security', target);
  end loop;
  execute format('revoke all on all tables in schema maas from %s', everybody);
  execute format('revoke all on all sequences in schema maas from %s', everybody);
  execute format('revoke all on all functions in schema maas from %s', everybody);
  grant usage on schema maas to public;
end $$;
comment on function maas.maas_revoke_all is
  'Enables row security on all tables of the schema and revokes every right on what is in it from everybody';

create or replace function maas.maas_ensure_policy(
  p_table regclass, p_policy text, p_command text, p_role text, p_rule text) returns void
language plpgsql as $$
declare
  rule text := format('for %s to %I %s', p_command, p_role, p_rule);
  present text;
begin
  -- A policy that has this rule is left alone: creating one locks the whole table for a moment.
  select coalesce(obj_description(oid, 'pg_policy'), '') into present
  from pg_policy where polrelid = p_table and polname = p_policy;
  if present is distinct from rule then
    if present is not null then
      execute format('drop policy %I on %s', p_policy, p_table);
    end if;
    execute format('create policy %I on %s %s', p_policy, p_table, rule);
    execute format('comment on policy %I on %s is %L', p_policy, p_table, rule);
  end if;
end $$;
comment on function maas.maas_ensure_policy is
  'Creates a policy unless it exists with this rule, which its comment holds';

create or replace function maas.maas_grant_rights()
returns text[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  missing text[] := maas.maas_make_roles();
  vector_schema text := (
    select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
  target record;
begin
  perform maas.maas_revoke_all();
  for target in
    select g.role_name, g.privileges, c.oid::regclass as relation, c.relkind = 'r' as is_table
    from maas.maas_all_table_rights() g cross join unnest(g.relations) n
    join pg_class c on c.relname = n and c.relnamespace = 'maas'::regnamespace where g.role_name <> all(missing)
  loop
    execute format('grant %s on %s to %I', target.privileges, target.relation, target.role_name);
    if target.is_table and target.role_name <> 'authenticated' then
      perform maas.maas_ensure_policy(
        target.relation, target.role_name, 'all', target.role_name, 'using (true) with check (true)');
    end if;
  end loop;
  for target in
    select v.role_name, p.oid::regprocedure as name from maas.maas_all_function_rights() v
    join pg_proc p on p.proname = any(v.functions) and p.pronamespace = 'maas'::regnamespace
    where v.role_name <> all(missing)
  loop
    execute format('grant execute on function %s to %I', target.name, target.role_name);
  end loop;
  if vector_schema is not null then  -- its operators are found by the search path alone
    execute format('alter function maas.maas_write_embeddings set search_path = pg_catalog, %I, pg_temp',
      vector_schema);
    execute format('alter function maas.maas_embed_chunks set search_path = pg_catalog, %I, pg_temp', vector_schema);
  end if;
  for target in
    select p.oid::regprocedure as name from pg_extension e join pg_depend d on d.refobjid = e.oid and d.deptype = 'e'
    join pg_proc p on d.classid = 'pg_proc'::regclass and p.oid = d.objid
    where e.extname = 'vector' and not has_function_privilege('public', p.oid, 'execute')
  loop
    -- created while later functions were closed by default
    execute format('grant execute on function %s to public', target.name);
  end loop;

  if 'authenticated' <> all(missing) and to_regprocedure('auth.uid()') is not null then
    if not has_function_privilege('authenticated', 'auth.uid()', 'execute') then  -- ours, not Supabase's
      grant usage on schema auth to authenticated;
      grant execute on function auth.uid() to authenticated;
    end if;
    perform maas.maas_ensure_policy('maas.pipeline_runs', 'Users see own runs', 'select', 'authenticated',
      'using (user_id = (select auth.uid()))');
    perform maas.maas_ensure_policy('maas.pipeline_runs', 'Users insert own runs', 'insert', 'authenticated',
      'with check (user_id = (select auth.uid()) and priority <= 0)');
    perform maas.maas_ensure_policy('maas.pipeline_runs', 'Admins see all', 'select', 'authenticated',
      'using ((select maas.maas_is_admin()))');
    perform maas.maas_ensure_policy(
      format('maas.%I', g.relation)::regclass, 'Users see own rows', 'select', 'authenticated',
      'using (user_id = (select auth.uid())'
      -- no others are shown
      || case g.relation when 'chat_messages' then ' and role in (''user'', ''assistant''))' else ')' end)
    from (
      select unnest(relations) as relation from maas.maas_table_rights()
      where role_name = 'authenticated' and privileges = 'select') g
    -- a view has the row security of its tables
    where exists (select from pg_class where oid = format('maas.%I', g.relation)::regclass and relkind = 'r');
  end if;
  return missing;
end $$;
comment on function maas.maas_grant_rights is
  'Revokes everything on the schema maas from everybody, then grants each role what it needs; '
  'returns the roles that do not exist yet';
