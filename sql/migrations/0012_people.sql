-- A user as a whole: forgetting, erasing, moving house, and who did it.
--
-- A word that must go is deleted, not marked: rows and all that derives its text from them. What holds a run's row
-- cannot be in the middle of writing for it, so both functions that delete hold the runs first; whoever writes for a run
-- later (model calls, events, records) selects the run's row in the same statement and finds none.

create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action varchar(20) not null,
  user_id uuid not null,
  subject uuid,
  details jsonb not null default '{}'
);
comment on table audit is 'Who erased, forgot, exported or imported whose memory, and when; ids and counts, never a word of a user';
comment on column audit.actor is 'http, cli, or sql: and the role';
comment on column audit.subject is 'The memory that was forgotten';
create index idx_audit_user_id on audit (user_id, at);

create function maas_note(p_action text, p_user uuid, p_subject uuid, p_details jsonb, p_actor text) returns void language sql as $$
  insert into audit (actor, action, user_id, subject, details)
  values (coalesce(p_actor, 'sql:' || session_user), p_action, p_user, p_subject, p_details)
$$;

-- Late writers --------------------------------------------------------------------------------------------------------

create or replace function maas_add_event(p_run uuid, p_type text, p_payload jsonb) returns void language sql as $$
  insert into run_events (run_id, n, type, payload)
  select r.id, (select coalesce(max(e.n), 0) + 1 from run_events e where e.run_id = p_run), p_type, p_payload
  from pipeline_runs r where r.id = p_run for key share of r
$$;
comment on function maas_add_event is 'Notes what happened to a run; nothing when it was erased';

create or replace function maas_add_calls(p_calls jsonb) returns void language sql as $$
  insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, prompt_version,
    reply, finish, attempts, tokens_in, tokens_out, ms, error)
  select c.run_id, r.try, c.stage, c.round, r.attempt, c.provider, c.model, c.role_name, c.prompt_version,
    c.reply, c.finish, c.attempts, c.tokens_in, c.tokens_out, c.ms, c.error
  from jsonb_to_recordset(p_calls) as c(run_id uuid, attempt int, stage text, round int, provider text, model text,
    role_name text, prompt_version int, reply text, finish text, attempts int, tokens_in int, tokens_out int, ms real, error text)
  join pipeline_runs r on r.id = c.run_id and r.attempt = c.attempt
  for key share of r  -- a run that is being erased is waited for here, and not found; its foreign key would refuse the batch
  on conflict (run_id, try, stage, round) do update set attempt = excluded.attempt, reply = excluded.reply,
    finish = excluded.finish, attempts = llm_calls.attempts + excluded.attempts, ms = excluded.ms, error = excluded.error
$$;

create function maas_hold_runs(p_user uuid, p_runs uuid[] default null) returns void language plpgsql as $$
begin
  loop
    begin
      perform maas_lock_engine();
      if p_runs is null then
        perform from pipeline_runs where user_id = p_user for update nowait;
      else
        perform from pipeline_runs where id = any(p_runs) for update nowait;
      end if;
      return;
    exception when lock_not_available then
      perform pg_sleep(0.005);  -- all or none: maas_advance holds several runs, too, in an order of its own
    end;
  end loop;
end $$;
comment on function maas_hold_runs is 'Takes the engine lock and locks these runs, or all of a user; deadlocks with nobody';

-- Erasing -------------------------------------------------------------------------------------------------------------

create function maas_user_tables() returns table (name regclass, condition text) language sql stable as $$
  select t.name, t.condition from (
    select c.conrelid::regclass, format('%I in (select id from pipeline_runs where user_id = $1)', a.attname), 1
    from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attnum = c.conkey[1]
    where c.contype = 'f' and c.confrelid = 'pipeline_runs'::regclass
    union all
    select k.oid::regclass, 'user_id = $1', case k.oid when 'pipeline_runs'::regclass then 2 else 3 end
    from pg_class k join pg_attribute a on a.attrelid = k.oid and a.attname = 'user_id' and not a.attisdropped
    where k.relnamespace = (select relnamespace from pg_class where oid = 'pipeline_runs'::regclass)
      and k.relkind in ('r', 'p') and not k.relispartition and k.oid <> 'audit'::regclass
  ) t(name, condition, place) order by t.place, t.name::text
$$;
comment on function maas_user_tables is 'Every table that knows users or runs of users, from the catalogue, and which of its rows are those of user $1';

create function maas_erase(p_user uuid, p_actor text default null) returns jsonb language plpgsql as $$
declare
  receipt jsonb := '{}';
  freed uuid[];      -- keys that lose their head; others wait behind it where all users share one
  gone bigint;
  gone_now bigint;
  target record;
begin
  perform maas_hold_runs(p_user);
  perform maas_lock_memory(p_user);
  freed := array(select distinct lane_key from pipeline_runs where user_id = p_user and lane in (0, 1));
  for pass in 1..101 loop
    if pass > 100 then
      raise serialization_failure using message = 'requests of this user keep coming in', hint = 'stop them, then erase again';
    end if;
    gone_now := 0;
    for target in select t.name, t.condition from maas_user_tables() t loop
      execute format('delete from %s where %s', target.name, target.condition) using p_user;
      get diagnostics gone = row_count;
      gone_now := gone_now + gone;
      receipt := jsonb_set(receipt, array[target.name::text], to_jsonb(gone + coalesce((receipt->>target.name::text)::bigint, 0)));
    end loop;
    exit when gone_now = 0;  -- again for what was written by a transaction that a delete had to wait for
  end loop;
  update pipeline_runs r set lane = 0, updated_at = clock_timestamp()
  from unnest(freed) f(lane_key) cross join lateral (
    select w.id from pipeline_runs w where w.lane_key = f.lane_key and w.lane = -1 order by w.seq limit 1) w
  where r.id = w.id;
  if found then
    perform pg_notify('pipeline_bell', '');
  end if;
  perform maas_note('erase', p_user, null, receipt, p_actor);
  return receipt;
end $$;
comment on function maas_erase is 'Removes a user from every table, whatever is in flight; a receipt of rows per table. Who comes back is new';

-- Forgetting ----------------------------------------------------------------------------------------------------------

create function maas_words_of(p_id uuid, p_user uuid default null) returns table (user_id uuid, logs uuid[]) language sql stable as $$
  select l.user_id, l.raw_log_ids from lsm_storage l
  where l.id = p_id and not l.is_provisional and (p_user is null or l.user_id = p_user)
  union all
  select g.user_id, array[g.id] from raw_logs g where g.id = p_id and (p_user is null or g.user_id = p_user)
$$;
comment on function maas_words_of is 'Whose memory this is and the raw logs under it, of a record or a turn';

create function maas_forget(p_id uuid, p_user uuid default null, p_actor text default null) returns jsonb language plpgsql as $$
declare
  words record;
  gone uuid[];
  reopened int;
  forgotten int;
  counts jsonb;
begin
  select * into words from maas_words_of(p_id, p_user);
  if found then
    perform maas_hold_runs(words.user_id, array(select distinct run_id from raw_logs where id = any(words.logs)));
    select * into words from maas_words_of(p_id, p_user);  -- while this waited they may have gone, or grown
  end if;
  if not found then
    return jsonb_build_object('verdict', 'not_found');
  end if;
  if exists (
    select from raw_logs g join pipeline_runs r on r.user_id = g.user_id and r.lane < 2
      and (r.id = g.run_id or (g.archive_owed and r.lane = 1))
    where g.id = any(words.logs) and g.archived_at is null) then
    return jsonb_build_object('verdict', 'in_use');  -- an Archivist may be reading them: its record would bring them back
  end if;
  perform maas_lock_memory(words.user_id);
  gone := array(select id from lsm_storage l where l.user_id = words.user_id and (l.id = p_id or l.raw_log_ids && words.logs));
  reopened := (select count(*) from lsm_storage l where l.superseded_by = any(gone) and l.id <> all(gone));
  perform maas_dissolve_parents(gone);
  delete from lsm_storage l where l.id = any(gone);
  update term_df d set turns = d.turns - t.turns
  from (select u.lexeme, count(*) as turns from raw_logs g cross join unnest(g.tsv) u where g.id = any(words.logs) group by u.lexeme) t
  where d.user_id = words.user_id and d.term = t.lexeme;
  delete from term_df d where d.user_id = words.user_id and d.turns < 1;
  update raw_logs g set record_id = null where g.user_id = words.user_id and g.record_id = any(gone) and g.id <> all(words.logs);
  delete from raw_logs g where g.user_id = words.user_id and g.id = any(words.logs);
  get diagnostics forgotten = row_count;
  counts := jsonb_build_object('logs', forgotten, 'records', cardinality(gone), 'reopened', reopened);
  perform maas_note('forget', words.user_id, p_id, counts, p_actor);
  return counts || jsonb_build_object('verdict', 'forgotten');
end $$;
comment on function maas_forget is 'forgotten, not_found or in_use: deletes a record or a turn, its words, and every record made of them';

-- Words from elsewhere ------------------------------------------------------------------------------------------------

create function maas_dialogue(p_conversation text, p_at timestamptz, p_external_id text) returns text language sql stable as $$
  select coalesce(p_conversation, to_char(p_at at time zone 'UTC', 'YYYY-MM-DD'),
    case when p_external_id is null then to_char(now() at time zone 'UTC', 'YYYY-MM-DD') else 'undated' end)
$$;
comment on function maas_dialogue is 'Where an imported turn stands: the same tomorrow for one that can be repeated';

create or replace function maas_import(p_user uuid, p_label text, p_turns jsonb, p_source text default 'import')
returns table (run_id uuid, added int, known int) language plpgsql as $$
#variable_conflict use_column
begin
  run_id := gen_random_uuid();
  with turns as (
    select t.*, row_number() over () as n from jsonb_to_recordset(p_turns) as t(
      role text, content text, at timestamptz, speaker text, conversation text, external_id text)
  ), added_logs as (
    insert into raw_logs (user_id, run_id, turn_no, message_type, content, speaker, conversation, external_id, metadata, occurred_at, known_at)
    select p_user, run_id, t.n, case t.role when 'assistant' then 'assistant_response' else 'user_query' end, t.content, t.speaker,
      maas_dialogue(t.conversation, t.at, t.external_id), t.external_id,
      jsonb_build_object('request_id', run_id, 'timestamp', coalesce(t.at, now()), 'source', p_source),
      coalesce(t.at, now()), coalesce(t.at, now())
    from turns t order by t.n
    on conflict (user_id, conversation, external_id) where external_id is not null do nothing
    returning 1
  )
  select count(*) into added from added_logs;
  known := jsonb_array_length(p_turns) - added;
  if added = 0 then
    run_id := null;
  else
    insert into pipeline_runs (id, user_id, user_query, kind, source) values (run_id, p_user, p_label, 'archive', p_source);
  end if;
  return next;
end $$;

create function maas_remember(p_user uuid, p_turns jsonb, p_source text default 'api')
returns table (run_id uuid, log_ids uuid[]) language plpgsql as $$
#variable_conflict use_column
declare
  new_run uuid;
begin
  select i.run_id into new_run from maas_import(p_user, format('%s turns to remember', jsonb_array_length(p_turns)), p_turns, p_source) i;
  select coalesce(new_run, (array_agg(g.run_id order by t.n))[1]), array_agg(g.id order by t.n) into run_id, log_ids
  from rows from (jsonb_to_recordset(p_turns) as (at timestamptz, conversation text, external_id text)) with ordinality
    as t(at, conversation, external_id, n)
  join lateral (
    select l.id, l.run_id from raw_logs l where l.run_id = new_run and l.turn_no = t.n
    union all
    select l.id, l.run_id from raw_logs l where l.user_id = p_user and l.external_id = t.external_id
      and l.conversation = maas_dialogue(t.conversation, t.at, t.external_id)
    limit 1) g on true;
  return next;
end $$;
comment on function maas_remember is 'Logs turns as maas_import does; the ids of all their logs, new or known, and the run that records them';

-- Moving house --------------------------------------------------------------------------------------------------------

create function maas_derived_columns(p_table regclass) returns text[] language sql stable as $$
  select array_agg(a.attname::text) from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and (a.attgenerated <> '' or a.attidentity <> '' or a.attname = 'user_id')
$$;
comment on function maas_derived_columns is 'Columns that an export leaves out: they are made anew';

create function maas_restore(p_table regclass, p_user uuid, p_rows jsonb) returns int language plpgsql as $$
declare
  columns text;
  added int;
  there int;
begin
  if p_table not in ('raw_logs'::regclass, 'lsm_storage'::regclass) then
    raise feature_not_supported using message = format('%s is not restored', p_table);
  end if;
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum) into columns from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and p_rows->0 ? a.attname::text
    and a.attname::text <> all(maas_derived_columns(p_table));
  execute format('insert into %1$s (user_id, %2$s) select $1, %2$s from jsonb_populate_recordset(null::%1$s, $2) on conflict do nothing',
    p_table, columns) using p_user, p_rows;
  get diagnostics added = row_count;
  execute format('select count(*) from %s t where t.user_id = $1 and t.id in (select (r->>''id'')::uuid from jsonb_array_elements($2) r)',
    p_table) into there using p_user, p_rows;
  if there < (select count(distinct r->>'id') from jsonb_array_elements(p_rows) r) then
    raise unique_violation using message = 'parts of it are there already, under other ids or of another user';
  end if;
  return added;
end $$;
comment on function maas_restore is 'Rows of an export that are not there yet, with their ids';

create function maas_settle_restore(p_user uuid, p_label text) returns uuid language plpgsql as $$
declare
  new_run uuid := gen_random_uuid();
begin
  if exists (select from lsm_storage l cross join unnest(l.raw_log_ids) u(id) where l.user_id = p_user
      and not exists (select from raw_logs g where g.id = u.id and g.user_id = p_user))
    or exists (select from raw_logs g where g.user_id = p_user and g.record_id is not null
      and not exists (select from lsm_storage l where l.id = g.record_id and l.user_id = p_user)) then
    raise foreign_key_violation using message = 'its records and its logs do not belong together';
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
comment on function maas_settle_restore is 'Refuses what does not belong together; the run that records words which no record covered when they were exported';
