-- Imports of our own exports.
--
-- Ids of a file are mapped to ids of the user who imports it, by HMAC-SHA-256 with a secret of this database: nobody
-- can know or choose them, and the same id of a file leads to the same id again. maas_restore alone reads the secret.

create or replace function maas.maas_derived_columns(p_table regclass) returns text[] language sql stable as $$
  select array_agg(a.attname::text) from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and (a.attgenerated <> '' or a.attidentity <> '' or a.attname = 'user_id')
$$;
comment on function maas.maas_derived_columns is
  'Columns that an export leaves out because they are derived again on import';

create or replace function maas.maas_restored_id(p_user uuid, p_id uuid) returns uuid language sql stable as $$
  select overlay(
    overlay(left(encode(sha256(k.outer_pad || sha256(k.inner_pad || uuid_send(p_user) || uuid_send(p_id))), 'hex'), 32)
      placing '8' from 13) placing '8' from 17)::uuid  -- version 8 and the variant of RFC 9562
  from maas.restore_key k
$$;
comment on function maas.maas_restored_id is
  'The id under which a user gets the row that a file calls p_id; unpredictable without the secret';

create or replace function maas.maas_id_owners(p_ids uuid[])
returns table (id uuid, user_id uuid) language sql stable as $$
  select t.id, t.user_id from maas.pipeline_runs t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.raw_logs t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.lsm_storage t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.facts t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.fact_decisions t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.fact_names t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.chat_conversations t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.chat_messages t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.chat_pending_actions t where t.id = any(p_ids)
  union all select t.id, t.user_id from maas.attachments t where t.id = any(p_ids)
  union all select t.id, coalesce(t.user_id, '00000000-0000-0000-0000-000000000000') from maas.knowledge_documents t
    where t.id = any(p_ids)
$$;
comment on function maas.maas_id_owners is
  'The users whose rows have these ids; the zero uuid for documents of everybody';

create or replace function maas.maas_classify_ids(p_user uuid, p_ids uuid[])
returns table (id uuid, is_own boolean, is_foreign boolean) language sql stable as $$
  select i.id, coalesce(h.is_own, false) and not h.is_foreign or not coalesce(h.is_foreign, false) and r.is_own,
    coalesce(h.is_foreign, false) or not coalesce(h.is_own, false) and not r.is_own and r.is_named
  from unnest(p_ids) i(id)
  left join (
    select h.id, bool_or(h.user_id = p_user) as is_own, bool_or(h.user_id <> p_user) as is_foreign
    from maas.maas_id_owners(p_ids) h group by h.id
  ) h on h.id = i.id
  cross join lateral (  -- restored messages refer to runs that do not exist
    select exists (select from maas.raw_logs g where g.run_id = i.id)
        or exists (select from maas.chat_messages m where m.run_id = i.id)
        or exists (select from maas.facts n where n.run_id = i.id)
        or exists (select from maas.attachments a where a.run_id = i.id) as is_named,
      exists (select from maas.raw_logs g where g.run_id = i.id and g.user_id is not distinct from p_user)
        or exists (select from maas.chat_messages m where m.run_id = i.id and m.user_id is not distinct from p_user)
        or exists (select from maas.facts n where n.run_id = i.id and n.user_id is not distinct from p_user)
        or exists (
          select from maas.attachments a where a.run_id = i.id and a.user_id is not distinct from p_user) as is_own) r
$$;
comment on function maas.maas_classify_ids is
  'Which ids belong to rows or runs of this user, and which to another user; all others are free';

create or replace function maas.maas_map_ids(p_user uuid, p_ids uuid[], p_keep boolean)
returns jsonb language sql stable as $$
  with made as materialized (
    select i.id, maas.maas_restored_id(p_user, i.id) as made_id from unnest(p_ids) i(id)
  ), there as materialized (  -- imported by the user before: it keeps that id
    select id from maas.maas_classify_ids(p_user, case when p_keep then array(select made_id from made) else '{}' end)
    where is_own
  )
  select coalesce(jsonb_object_agg(c.id,
    case when c.is_own or p_keep and not c.is_foreign and t.id is null then c.id else m.made_id end), '{}')
  from maas.maas_classify_ids(p_user, p_ids) c join made m on m.id = c.id left join there t on t.id = m.made_id
$$;
comment on function maas.maas_map_ids is
  'Maps the ids of a file to the ids under which they are stored; p_keep: an operator restores, so free ids are kept';

create or replace function maas.maas_restore(p_table regclass, p_user uuid, p_rows jsonb, p_keep boolean default false)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  columns text;
  single text[];  -- columns that hold an id
  lists text[];   -- columns that hold several ids
  ids uuid[];
  names jsonb;
  added int;
  there int;
begin
  if not exists (select from pg_class where oid = p_table and relnamespace = 'maas'::regnamespace and relname in (
      'raw_logs', 'lsm_storage', 'memory_corrections', 'facts', 'fact_decisions', 'fact_names',
      'chat_conversations', 'chat_messages', 'attachments', 'knowledge_documents', 'knowledge_chunks')) then
    raise feature_not_supported using message = format('%s is not restored', p_table);
  end if;
  if p_table = 'maas.knowledge_chunks'::regclass then
    return maas.maas_restore_passages(p_user, p_rows, p_keep);
  end if;
  if p_table = 'maas.knowledge_documents'::regclass then
    perform maas.maas_lock('documents', p_user::text);
    p_rows := (  -- by its time a document is known as one of this import
      select jsonb_agg(r.line || jsonb_build_object('updated_at', now()) order by r.place)
      from jsonb_array_elements(p_rows) with ordinality r(line, place));
  end if;
  if p_table in ('maas.raw_logs'::regclass, 'maas.lsm_storage'::regclass, 'maas.facts'::regclass) and not p_keep then
    p_rows := (  -- a file that a user sends says what it likes of who said it
      select jsonb_agg(r.line || jsonb_build_object('origins',
        maas.maas_merge_origins(array[r.line->'origins', '[{"kind": "import", "name": "export"}]'])) order by r.place)
      from jsonb_array_elements(p_rows) with ordinality r(line, place));
  end if;
  select string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    coalesce(array_agg(a.attname::text) filter (where a.atttypid = 'uuid'::regtype), '{}'),
    coalesce(array_agg(a.attname::text) filter (where a.atttypid = 'uuid[]'::regtype), '{}')
  into columns, single, lists from pg_attribute a
  where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and p_rows->0 ? a.attname::text
    and a.attname::text <> all(maas.maas_derived_columns(p_table));

  ids := array(
    select distinct v.id::uuid from jsonb_array_elements(p_rows) r(line) cross join lateral (
      select r.line->>c from unnest(single) c
      union all
      select u.id from unnest(lists) c cross join lateral jsonb_array_elements_text(r.line->c) u(id)) v(id)
    where v.id is not null);
  names := maas.maas_map_ids(p_user, ids, p_keep);
  p_rows := (
    select jsonb_agg(r.line || one.named || several.named order by r.place)
    from jsonb_array_elements(p_rows) with ordinality r(line, place)
    cross join lateral (
      select coalesce(jsonb_object_agg(c, names->(r.line->>c)), '{}') as named from unnest(single) c) one
    cross join lateral (
      select coalesce(jsonb_object_agg(c, (
        select coalesce(jsonb_agg(names->u.id order by u.place), '[]')
        from jsonb_array_elements_text(r.line->c) with ordinality u(id, place))), '{}') as named
      from unnest(lists) c) several);
  if exists (
    select from maas.maas_id_owners(array(select value::uuid from jsonb_each_text(names))) h
    where h.user_id <> p_user) then
    raise foreign_key_violation using message = 'it names rows of another user';
  end if;
  if p_table = 'maas.chat_messages'::regclass and exists (
    select from jsonb_array_elements(p_rows) r(line)
    where not exists (
      select from maas.chat_conversations c where c.id = (r.line->>'conversation_id')::uuid and c.user_id = p_user))
    then
    raise foreign_key_violation using message = 'its messages and its conversations do not belong together';
  end if;

  execute format(
    'insert into %1$s (user_id, %2$s) select $1, %2$s from jsonb_populate_recordset(null::%1$s, $2) '
    'on conflict do nothing',
    p_table, columns) using p_user, p_rows;
  get diagnostics added = row_count;
  execute format(
    'select count(*) from %s t where t.user_id = $1 and '
    't.id in (select (r->>''id'')::uuid from jsonb_array_elements($2) r)',
    p_table) into there using p_user, p_rows;
  -- A note that the user made again has the same content under another id, a name that was merged again or a document
  -- that was read again the same name.
  if there < (select count(distinct r->>'id') from jsonb_array_elements(p_rows) r)
    and p_table not in (
      'maas.facts'::regclass, 'maas.fact_names'::regclass, 'maas.knowledge_documents'::regclass) then
    raise unique_violation using message = 'parts of it exist already, under other ids';
  end if;
  return added;
end
$$;
comment on function maas.maas_restore is
  'Inserts the rows of an export that do not exist yet, under ids of their user; p_keep: free ids are kept';

create or replace function maas.maas_restore_passages(p_user uuid, p_rows jsonb, p_keep boolean)
returns int language plpgsql as $$
declare
  names jsonb := maas.maas_map_ids(
    p_user, array(select distinct (r->>'document_id')::uuid from jsonb_array_elements(p_rows) r), p_keep);
  added int;
begin
  insert into maas.knowledge_chunks (document_id, number, user_id, heading, page, position, text)
  select d.id, c.number, p_user, c.heading, c.page, c.position, c.text
  from jsonb_to_recordset(p_rows) c(document_id text, number int, heading text, page int, position int, text text)
  join maas.knowledge_documents d on d.id = (names->>c.document_id)::uuid and d.user_id = p_user
    and d.updated_at = now()
  on conflict do nothing;
  get diagnostics added = row_count;
  return added;
end
$$;
comment on function maas.maas_restore_passages is
  'Inserts passages of the documents that this import has added; of a document that was there before none';

create or replace function maas.maas_settle_documents(p_user uuid) returns void language plpgsql as $$
begin
  update maas.knowledge_documents d
  -- No file that is read packs its text tighter than 1 to 200, so the quota need not believe the line.
  set chunks = c.chunks, bytes = greatest(d.bytes, c.bytes / 200)
  from (
    select k.document_id, count(*)::int as chunks, sum(octet_length(k.text)) as bytes
    from maas.knowledge_chunks k where k.user_id = p_user group by k.document_id) c
  where c.document_id = d.id and d.user_id = p_user and d.updated_at = now();
  perform maas.maas_count_knowledge(d.id, 1)
  from maas.knowledge_documents d where d.user_id = p_user and d.updated_at = now();
  perform maas.maas_check_quotas(p_user, '{user_documents, user_document_bytes}');
end
$$;
comment on function maas.maas_settle_documents is
  'Counts the passages and terms of the documents that this import has added, and checks the quotas';

create or replace function maas.maas_finish_restore(p_user uuid, p_label text)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  new_run uuid := maas.maas_new_id();
begin
  if exists (
    select from maas.lsm_storage l cross join unnest(l.raw_log_ids) u(id) where l.user_id = p_user and not l.words_gone
      and not exists (select from maas.raw_logs g where g.id = u.id and g.user_id = p_user))
    or exists (select from maas.raw_logs g where g.user_id = p_user and g.record_id is not null
      and not exists (select from maas.lsm_storage l where l.id = g.record_id and l.user_id = p_user and l.level = 0))
    or exists (
      select from maas.lsm_storage c
      join maas.lsm_storage l on l.id = c.superseded_by and l.user_id = p_user and l.level = 0
      where c.user_id = p_user) then
    raise foreign_key_violation using message = 'its records and its logs do not belong together';
  end if;
  if exists (select from maas.memory_corrections c where c.user_id = p_user
      and not exists (select from maas.raw_logs g where g.id = c.id and g.user_id = p_user)) then
    raise foreign_key_violation using message = 'its corrections and its logs do not belong together';
  end if;
  if exists (select from maas.chat_messages m join maas.chat_conversations c on c.id = m.conversation_id
      where m.user_id = p_user and c.user_id <> p_user) then
    raise foreign_key_violation using message = 'its messages and its conversations do not belong together';
  end if;
  if (select count(*) from maas.maas_notes(p_user)) > 200 then
    raise check_violation using message = 'with its notes the user would have more than 200';
  end if;
  perform maas.maas_settle_documents(p_user);
  update maas.raw_logs g set run_id = new_run, turn_no = o.n from (
    select w.id, row_number() over (order by w.occurred_at, w.seq) as n from maas.raw_logs w
    where w.user_id = p_user and w.archived_at is null
      and not exists (
        select from maas.pipeline_runs r where r.id = w.run_id and r.user_id is not distinct from p_user)) o
  where g.id = o.id;
  if not found then
    return null;
  end if;
  insert into maas.pipeline_runs (id, user_id, user_query, kind, source)
  values (new_run, p_user, p_label, 'archive', 'import');
  return new_run;
end
$$;
comment on function maas.maas_finish_restore is
  'Refuses rows that do not belong together; '
  'returns a run that summarises the messages that no summary covered when they were exported';
