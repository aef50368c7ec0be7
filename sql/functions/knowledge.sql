-- Knowledge: a document is replaced as a whole, and the counts of its terms with it.

create or replace function maas.maas_count_knowledge(p_document uuid, p_sign int) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.knowledge_terms as k (user_id, term, chunks)
  select c.user_id, t.lexeme, p_sign * count(*) from maas.knowledge_chunks c cross join lateral unnest(c.tsv) t
  where c.document_id = p_document group by c.user_id, t.lexeme order by t.lexeme
  on conflict (user_id, term) do update set chunks = k.chunks + excluded.chunks;
$$;
comment on function maas.maas_count_knowledge is
  'Adds the terms of a document to the counts, or takes them off (p_sign -1)';

create or replace function maas.maas_add_document(p_user uuid, p_document jsonb, p_chunks jsonb)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  stored uuid;
begin
  -- the counts of one owner are changed by one at a time
  perform maas.maas_lock('documents', coalesce(p_user::text, ''));
  select d.id into stored from maas.knowledge_documents d
  where d.user_id is not distinct from p_user and d.name = p_document->>'name';
  if found then
    perform maas.maas_count_knowledge(stored, -1);
    delete from maas.knowledge_chunks where document_id = stored;
  end if;
  insert into maas.knowledge_documents as d (
    user_id, name, media_type, sha256, bytes, pages, chunks, summary, track_id, status, error)
  values (p_user, p_document->>'name', p_document->>'media_type', p_document->>'sha256', (p_document->>'bytes')::bigint,
    (p_document->>'pages')::int, jsonb_array_length(p_chunks), coalesce(p_document->>'summary', ''),
    p_document->>'track_id', p_document->>'status', p_document->>'error')
  on conflict (user_id, name) do update set media_type = excluded.media_type, sha256 = excluded.sha256,
    bytes = excluded.bytes, pages = excluded.pages, chunks = excluded.chunks, summary = excluded.summary,
    track_id = excluded.track_id, status = excluded.status, error = excluded.error, embedded_by = null,
    embedding_until = null, updated_at = clock_timestamp()
  returning d.id into stored;
  insert into maas.knowledge_chunks (document_id, number, user_id, heading, page, position, text)
  select stored, c.number::int, p_user, c.chunk->>'heading', (c.chunk->>'page')::int,
    (c.chunk->>'position')::int, c.chunk->>'text'
  from jsonb_array_elements(p_chunks) with ordinality c(chunk, number);
  perform maas.maas_count_knowledge(stored, 1);
  perform maas.maas_check_quotas(p_user, '{user_documents, user_document_bytes}');
  return stored;
end
$$;
comment on function maas.maas_add_document is
  'Stores a document with its chunks [{heading, page, position, text}] in place of the earlier one with this name; '
  'p_user null: for everybody';

create or replace function maas.maas_expect_documents(p_user uuid, p_documents jsonb)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  waiting int;
begin
  perform maas.maas_lock('documents', coalesce(p_user::text, ''));
  insert into maas.knowledge_documents as d (user_id, name, media_type, sha256, bytes, track_id, status)
  select p_user, e.name, e.media_type, '', e.bytes, e.track_id, 'pending'
  from jsonb_to_recordset(p_documents) e(name text, media_type text, bytes bigint, track_id text)
  on conflict (user_id, name) do update set track_id = excluded.track_id, error = null, updated_at = case
      when d.status = 'processed' then d.updated_at else clock_timestamp() end,
    status = case when d.status = 'processed' then d.status else 'pending' end;
  get diagnostics waiting = row_count;
  perform maas.maas_check_quotas(p_user, '{user_documents, user_document_bytes}');
  return waiting;
end
$$;
comment on function maas.maas_expect_documents is
  'Documents [{name, media_type, bytes, track_id}] that an ingestion is about to read; '
  'one that was read before stays processed';

create or replace function maas.maas_mark_document(p_user uuid, p_name text, p_status text, p_error text)
returns uuid language sql security definer set search_path = pg_catalog, pg_temp as $$
  update maas.knowledge_documents set status = p_status, error = left(p_error, 1000), updated_at = clock_timestamp()
  where user_id is not distinct from p_user and name = p_name returning id
$$;
comment on function maas.maas_mark_document is
  'Says how the reading of a document goes. The chunks that it has stay, '
  'so a file that can no longer be read is still found as it was';

create or replace function maas.maas_remove_document(p_user uuid, p_document uuid)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform maas.maas_lock('documents', coalesce(p_user::text, ''));
  perform from maas.knowledge_documents d where d.id = p_document and d.user_id is not distinct from p_user for update;
  if not found then
    return false;
  end if;
  perform maas.maas_count_knowledge(p_document, -1);
  delete from maas.knowledge_documents where id = p_document;
  return true;
end
$$;
comment on function maas.maas_remove_document is
  'Removes a document of p_user, or of everybody where that is null; false if there is none';

create or replace function maas.maas_claim_embedding(p_model text, p_for interval, p_limit int)
returns table (document_id uuid, version timestamptz, number int, heading text, text text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  claimed maas.knowledge_documents;
begin
  update maas.knowledge_documents d set embedding_until = clock_timestamp() + p_for
  where d.id = (
    select o.id from maas.knowledge_documents o
    where o.chunks > 0 and o.embedded_by is distinct from p_model
      and coalesce(o.embedding_until, '-infinity') < clock_timestamp()
    order by o.updated_at limit 1 for update skip locked)
  returning d.* into claimed;
  return query select c.document_id, claimed.updated_at, c.number, c.heading, c.text from maas.knowledge_chunks c
    where c.document_id = claimed.id and not exists (
      select from maas.knowledge_embeddings e
      where e.document_id = c.document_id and e.number = c.number and e.model = p_model)
    order by c.number limit p_limit;
end
$$;
comment on function maas.maas_claim_embedding is
  'The next chunks without a vector of this model, all of one document, '
  'which no other process gets until p_for is over';

create or replace function maas.maas_embed_chunks(
  p_model text, p_document uuid, p_version timestamptz, p_numbers int[], p_vectors real[])
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  dimensions constant int := case when cardinality(p_numbers) > 0
    then cardinality(p_vectors) / cardinality(p_numbers) end;
  written int;
begin
  -- The lock waits for a replacement in progress, after which the chunks have other texts.
  perform from maas.knowledge_documents d where d.id = p_document and d.updated_at = p_version for update;
  if not found then
    return 0;
  end if;
  insert into maas.knowledge_embeddings (document_id, number, user_id, model, embedding)
  select c.document_id, c.number, c.user_id, p_model,
    l2_normalize(p_vectors[(u.n - 1) * dimensions + 1 : u.n * dimensions]::vector)::halfvec
  from unnest(p_numbers) with ordinality u(number, n)
  join maas.knowledge_chunks c on c.document_id = p_document and c.number = u.number
  on conflict do nothing;
  get diagnostics written = row_count;
  update maas.knowledge_documents d set embedding_until = null, embedded_by = case when not exists (
      select from maas.knowledge_chunks c where c.document_id = p_document and not exists (
        select from maas.knowledge_embeddings e
        where e.document_id = c.document_id and e.number = c.number and e.model = p_model)) then p_model end
  where d.id = p_document;
  return written;
end
$$;
comment on function maas.maas_embed_chunks is
  'Stores vectors, concatenated, of chunks that maas_claim_embedding gave; '
  'none where the document was replaced meanwhile';
