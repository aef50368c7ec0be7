-- Summaries of exchanges (level 0), and the runs that an answer may not use.

create or replace function maas.maas_role(p_message_type text) returns text language sql immutable parallel safe as $$
  select case p_message_type when 'user_query' then 'user' else 'assistant' end
$$;
comment on function maas.maas_role is 'The role of a message_type: user or assistant';

create or replace function maas.maas_write_records(p_items jsonb) returns void language plpgsql
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off
  set jit = off set plan_cache_mode = force_generic_plan set random_page_cost = 0 set cpu_operator_cost = 0
  set cpu_index_tuple_cost = 0 set cpu_tuple_cost = 1 as $$
declare
  zone text := (select value from maas.engine_settings where key = 'timezone');
  added uuid[];
begin
  -- p_items: {run_id, archiver, user_id, log_ids, tags, summary, degraded, began, facts}. run_id is null for imported
  -- exchanges. log_ids null means all messages of the run. A blank summary means small talk: no row. Archived messages
  -- are skipped.
  with items as materialized (
    select i.*, s.*, coalesce((
      select l.id from maas.lsm_storage l
      where l.run_id = i.run_id and l.user_id is not distinct from i.user_id and l.superseded_at is null),
      maas.maas_new_id()) as record_id
    from jsonb_to_recordset(p_items) as i(
      run_id uuid, archiver uuid, user_id uuid, log_ids uuid[], tags text[], summary text, degraded boolean,
      began timestamptz)
    cross join lateral (
      select min(g.occurred_at) as first_at, max(g.occurred_at) as last_at, max(g.known_at) as known_at,
        array_agg(g.id order by g.occurred_at, g.seq) as logs, maas.maas_merge_origins(array_agg(g.origins)) as origins
      from unnest(coalesce(i.log_ids, array(
        select o.id from maas.raw_logs o
        where o.run_id = i.run_id and o.user_id is not distinct from i.user_id))) as u(id)
      -- one index probe per id, never a scan
      cross join lateral (select * from maas.raw_logs r where r.id = u.id offset 0) g
      where g.user_id = i.user_id and g.archived_at is null
    ) s
  ), written as (
    insert into maas.lsm_storage as l (
      id, user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids,
      is_degraded, occurred_at, known_at, origins)
    select i.record_id, i.user_id, i.run_id,
      (i.first_at at time zone z.own)::date, (i.last_at at time zone z.own)::date,
      i.tags, i.summary, i.logs, coalesce(i.degraded, false), i.last_at, i.known_at, i.origins
    from items i
    cross join lateral (
      select coalesce((select p.timezone from maas.user_settings p where p.user_id = i.user_id), zone) as own) z
    where i.summary <> '' and i.logs is not null
    on conflict (run_id, uuid_send(user_id)) where superseded_at is null do update set
      time_bucket_start = excluded.time_bucket_start, time_bucket_end = excluded.time_bucket_end, tags = excluded.tags,
      summary = excluded.summary, raw_log_ids = excluded.raw_log_ids, is_provisional = false,
      is_degraded = excluded.is_degraded, occurred_at = excluded.occurred_at, known_at = excluded.known_at,
      origins = excluded.origins
      where l.is_provisional
    returning l.id
  ), forgotten as (
    delete from maas.lsm_storage l using items i
    where l.run_id = i.run_id and l.superseded_at is null and l.user_id is not distinct from i.user_id
      and l.is_provisional and (i.summary = '' or i.logs is null)
  ), archived as (
    update maas.raw_logs g set archived_at = now(), archived_run_id = i.archiver, archive_owed = false,
      record_id = case when i.summary <> '' then i.record_id end,
      -- In the dialogue, a query that waited while others were answered was said when it was claimed.
      occurred_at = case when g.message_type = 'user_query' and g.run_id = i.run_id and exists (
          select from maas.raw_logs p
          where p.user_id = g.user_id and p.occurred_at > g.occurred_at and p.occurred_at < i.began)
        then i.began else g.occurred_at end
    from items i cross join lateral unnest(i.logs) as u(id)
    where g.id = u.id
  )
  select array_agg(w.id) into added from written w;
  if added is not null and exists (select from maas.webhook_endpoints) then
    perform maas.maas_emit_memories(added);
  end if;
  if p_items @? '$[*].facts[0]' then
    perform maas.maas_write_facts(p_items);
  end if;
end
$$;
comment on function maas.maas_write_records is
  'Writes final summaries and facts, marks their logs archived, removes provisional summaries, all or nothing';

create or replace function maas.maas_record_failures(p_runs uuid[]) returns void language plpgsql as $$
begin
  perform maas.maas_write_records(coalesce(jsonb_agg(jsonb_build_object(
    'run_id', r.id, 'archiver', r.id, 'user_id', r.user_id, 'began', r.analyzing_at, 'tags', array['Unanswered'],
    'summary', left(r.user_query, 300), 'degraded', true)), '[]'))
  from maas.pipeline_runs r where r.id = any(p_runs) and r.kind in ('ask', 'action') and r.source <> 'openai';
  perform maas.maas_hide_question(r.id) from maas.pipeline_runs r
  where r.id = any(p_runs) and r.kind = 'ask' and r.source = 'openai';
end
$$;
comment on function maas.maas_record_failures is
  'Writes summaries of what the user said in failed runs; the question of a client of OpenAI''s API, which learns that '
  'its request failed, leaves memory';

create or replace function maas.maas_hide_question(p_run uuid) returns void language plpgsql as $$
begin
  with hidden as (
    update maas.raw_logs g set is_remembered = false, archived_at = now() from maas.pipeline_runs r
    where r.id = p_run and g.run_id = r.id and g.user_id = r.user_id and g.is_remembered and g.archived_at is null
    returning g.user_id, g.tsv)
  update maas.term_df d set turns = d.turns - 1 from hidden h cross join unnest(h.tsv) u
  where d.user_id = h.user_id and d.term = u.lexeme;
  delete from maas.lsm_storage l using maas.pipeline_runs r
  where r.id = p_run and l.run_id = r.id and l.user_id = r.user_id and l.superseded_at is null and l.is_provisional;
end
$$;
comment on function maas.maas_hide_question is
  'Takes the question of a failed run out of memory, until it is tried again';

create or replace function maas.maas_show_question(p_run uuid) returns void language plpgsql as $$
begin
  with shown as (
    update maas.raw_logs g set is_remembered = true from maas.pipeline_runs r
    where r.id = p_run and r.is_remembered and r.kind = 'ask' and r.source = 'openai'
      and g.run_id = r.id and g.user_id = r.user_id and not g.is_remembered
    returning g.user_id, g.tsv)
  update maas.term_df d set turns = d.turns + 1 from shown s cross join unnest(s.tsv) u
  where d.user_id = s.user_id and d.term = u.lexeme;
end
$$;
comment on function maas.maas_show_question is 'Takes the question of a failed run into memory again, for another try';

create or replace function maas.maas_archive_exchange(
  p_owner int, p_run uuid, p_attempt int, p_item jsonb, p_calls jsonb)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target_user uuid;
begin
  select r.user_id into target_user from maas.pipeline_runs r
  where r.id = p_run and r.owner = p_owner and r.attempt = p_attempt for no key update;
  if not found then
    return false;
  end if;
  perform maas.maas_add_calls(p_calls);
  update maas.pipeline_runs set losses = 0, deaths = 0 where id = p_run and losses > 0;
  perform maas.maas_write_records(jsonb_build_array(
    p_item || jsonb_build_object('run_id', null, 'archiver', p_run, 'user_id', target_user)));
  return true;
end
$$;
comment on function maas.maas_archive_exchange is
  'Writes the summary of one imported exchange; false if the caller no longer owns the run';

create or replace function maas.maas_hidden_runs(p_user uuid, p_seq bigint) returns uuid[] language sql stable as $$
  select array(
    select o from maas.pipeline_runs r cross join lateral maas.maas_dropped_runs(r.user_id, r.id) o
    where r.user_id = p_user and r.seq = p_seq and r.replaces is not null
    union all
    select id from maas.pipeline_runs where user_id = p_user and kind in ('ask', 'action', 'task') and seq >= p_seq
    union all
    select id from maas.pipeline_runs where queue_state = -2 and user_id = p_user and kind in ('ask', 'action', 'task')
    union all
    select id from maas.pipeline_runs where queue_state in (-4, -3) and user_id = p_user and kind in ('ask', 'action'))
$$;
comment on function maas.maas_hidden_runs is
  'Requests with this seq or a higher one, those that are not taken in yet, and those that are answered again: no '
  'answer may use them';
