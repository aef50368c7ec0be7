-- Messages from elsewhere: logged at once, summarised by one run of kind archive.

create or replace function maas.maas_import(p_user uuid, p_label text, p_turns jsonb, p_source text default 'import')
returns table (run_id uuid, added int, known int)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  run_id := maas.maas_new_id();
  with turns as (
    select t.*, row_number() over () as n from jsonb_to_recordset(p_turns) as t(
      role text, content text, at timestamptz, speaker text, conversation text, external_id text, client jsonb,
      title text)
  ), added_logs as (
    insert into maas.raw_logs (user_id, run_id, turn_no, message_type, content, speaker, conversation, external_id,
      metadata, occurred_at, known_at, origins)
    select p_user, run_id, t.n, case t.role when 'assistant' then 'assistant_response' else 'user_query' end, t.content,
      t.speaker, maas.maas_import_conversation(t.conversation, t.at, t.external_id), t.external_id,
      jsonb_build_object('request_id', run_id, 'timestamp', coalesce(t.at, now()), 'source', p_source)
        || case when t.client is null then '{}' else jsonb_build_object('client', t.client) end
        || case when t.title is null then '{}' else jsonb_build_object('title', t.title) end,
      coalesce(t.at, now()), coalesce(t.at, now()),
      case when p_source = 'import' then '[{"kind": "import", "name": "messages"}]' else '[]' end::jsonb
    from turns t order by t.n
    on conflict (user_id, conversation, external_id) where external_id is not null do nothing
    returning 1
  )
  select count(*) into added from added_logs;
  perform maas.maas_check_memory(p_user, pg_column_size(p_turns));
  known := jsonb_array_length(p_turns) - added;
  if added = 0 then
    run_id := null;
  else
    insert into maas.pipeline_runs (id, user_id, user_query, kind, source)
    values (run_id, p_user, p_label, 'archive', p_source);
  end if;
  return next;
end
$$;
comment on function maas.maas_import is
  'Logs messages {role, content, at, speaker, conversation, external_id, client, title} once, client and the title '
  'of the conversation in metadata, and inserts one run that summarises them';

create or replace function maas.maas_remember(p_user uuid, p_turns jsonb, p_source text default 'api')
returns table (run_id uuid, log_ids uuid[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  new_run uuid;
begin
  select i.run_id into new_run
  from maas.maas_import(p_user, format('%s turns to remember', jsonb_array_length(p_turns)), p_turns, p_source) i;
  select coalesce(new_run, (array_agg(g.run_id order by t.n))[1]), array_agg(g.id order by t.n) into run_id, log_ids
  from rows from (jsonb_to_recordset(p_turns) as (at timestamptz, conversation text, external_id text)) with ordinality
    as t(at, conversation, external_id, n)
  join lateral (
    select l.id, l.run_id from maas.raw_logs l
    where l.run_id = new_run and l.user_id is not distinct from p_user and l.turn_no = t.n
    union all
    select l.id, l.run_id from maas.raw_logs l where l.user_id = p_user and l.external_id = t.external_id
      and l.conversation = maas.maas_import_conversation(t.conversation, t.at, t.external_id)
    limit 1) g on true;
  return next;
end
$$;
comment on function maas.maas_remember is
  'Logs messages as maas_import does; returns the ids of all their logs, new or known, '
  'and the run that summarises them';

create or replace function maas.maas_import_conversation(p_conversation text, p_at timestamptz, p_external_id text)
returns text language sql stable as $$
  select coalesce(p_conversation, to_char(p_at at time zone 'UTC', 'YYYY-MM-DD'),
    case when p_external_id is null then to_char(now() at time zone 'UTC', 'YYYY-MM-DD') else 'undated' end)
$$;
comment on function maas.maas_import_conversation is
  'The conversation of an imported message; stable across repetitions for a message with an external id';

create or replace function maas.maas_set_client_metadata(p_user uuid, p_log uuid, p_metadata jsonb)
returns boolean language sql security definer set search_path = pg_catalog, pg_temp as $$
  with changed as (
    update maas.raw_logs l
    -- an import may bring any JSON
    set metadata = case jsonb_typeof(l.metadata) when 'object' then l.metadata else '{}' end
      || jsonb_build_object('client',
        case jsonb_typeof(l.metadata->'client') when 'object' then l.metadata->'client' else '{}' end
        || jsonb_build_object('metadata', p_metadata))
    where l.id = p_log and l.user_id = p_user returning 1)
  select exists (select from changed)
$$;
comment on function maas.maas_set_client_metadata is
  'Replaces the metadata that a client gave a message; false: this user has no such message';
