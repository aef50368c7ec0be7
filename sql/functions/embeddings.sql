-- Vectors of messages, where pgvector 0.7 or later is available. Search works without them.
--
-- A vector is made of the text of one message, or of one chunk of a document, and is deleted with it.

create or replace function maas.maas_prepare_embeddings() returns boolean language plpgsql as $$
declare
  vector_schema text := coalesce((
    select name from unnest(current_schemas(false)) name where name <> 'maas' limit 1), 'public');
begin
  if to_regclass('maas.embeddings') is not null and to_regclass('maas.knowledge_embeddings') is not null then
    return true;
  end if;
  begin
    execute format('create extension if not exists vector schema %I', vector_schema);
  exception when insufficient_privilege or undefined_file or feature_not_supported or invalid_schema_name then
    return false;
  end;
  select n.nspname into vector_schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'vector';
  if to_regtype(format('%I.halfvec', vector_schema)) is null then
    return false;
  end if;
  -- Vectors are stored inline up to a page: fetching each one from TOAST would more than double the time of a scan.
  execute format('create table if not exists maas.embeddings (
    log_id uuid not null references maas.raw_logs (id) on delete cascade,
    user_id uuid not null,
    model text not null,
    embedding %I.halfvec,
    primary key (log_id, model)
  ) with (toast_tuple_target = 8160)', vector_schema);
  create index if not exists idx_embeddings_user on maas.embeddings (user_id, model);
  comment on table maas.embeddings is 'Vectors of raw_logs with length 1, per model; can be computed again at any time';
  comment on column maas.embeddings.embedding is 'Null where the provider rejected the text';
  execute format('create table if not exists maas.knowledge_embeddings (
    document_id uuid not null,
    number int not null,
    user_id uuid,
    model text not null,
    embedding %I.halfvec not null,
    primary key (document_id, number, model),
    foreign key (document_id, number) references maas.knowledge_chunks on delete cascade
  ) with (toast_tuple_target = 8160)', vector_schema);
  create index if not exists idx_knowledge_embeddings_user on maas.knowledge_embeddings (user_id, model);
  comment on table maas.knowledge_embeddings is
    'Vectors of knowledge_chunks with length 1, per model; can be computed again at any time';
  comment on column maas.knowledge_embeddings.user_id is 'That of the document';
  perform maas.maas_grant_rights();
  return true;
end $$;
comment on function maas.maas_prepare_embeddings is
  'Creates the tables embeddings and knowledge_embeddings if pgvector 0.7 or later is available; '
  'returns whether they exist';

create or replace function maas.maas_log_horizon()
returns timestamptz language sql security definer set search_path = pg_catalog, pg_temp as $$
  select greatest(now() - interval '10 minutes', least(now(), (
    select min(case when xact_start is null and backend_xid is not null then '-infinity' else xact_start end)
    from pg_stat_activity where datname = current_database()))) - interval '1 minute'
$$;
comment on function maas.maas_log_horizon is
  'Every message logged before this time is committed, unless its transaction runs for more than ten minutes';

create or replace function maas.maas_lease_embeddings(
  p_model text, p_owner uuid, p_for interval, p_force boolean default false)
returns table (swept_to uuid, since timestamptz)
language sql security definer set search_path = pg_catalog, pg_temp as $$
  insert into maas.embedding_fills as f (model, owner, leased_until, since)
  values (p_model, p_owner, clock_timestamp() + p_for, maas.maas_log_horizon())
  on conflict (model) do update set owner = p_owner, leased_until = clock_timestamp() + p_for
  where p_force or f.owner = p_owner or f.leased_until < clock_timestamp()
  returning f.swept_to, f.since
$$;
comment on function maas.maas_lease_embeddings is
  'Makes one process the one that embeds messages with a model; no row if another process holds the lease';

create or replace function maas.maas_write_embeddings(
  p_model text, p_ids uuid[], p_vectors real[], p_tokens int default 0)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  dimensions constant int := case when cardinality(p_ids) > 0 then cardinality(p_vectors) / cardinality(p_ids) end;
  written int;
begin
  -- The lock waits for an erasure in progress, which then leaves no row to lock.
  with live as (
    select l.id, l.user_id, u.n from unnest(p_ids) with ordinality u(id, n)
    join maas.raw_logs l on l.id = u.id for key share of l
  ), added as (
    insert into maas.embeddings (log_id, user_id, model, embedding)
    select l.id, l.user_id, p_model,
      case when dimensions > 0 then l2_normalize(
        p_vectors[(l.n - 1) * dimensions + 1 : l.n * dimensions]::vector)::halfvec end
    from live l on conflict do nothing returning 1
  )
  select count(*) into written from added;
  update maas.embedding_fills set tokens = tokens + p_tokens,
    turns = turns + case when dimensions > 0 then written else 0 end,
    refused = refused + case when dimensions > 0 then 0 else written end
  where model = p_model;
  return written;
end
$$;
comment on function maas.maas_write_embeddings is
  'Stores vectors, concatenated, of messages that still exist; no vectors at all: the provider rejected the messages';

create or replace function maas.maas_question_vector(p_user uuid, p_model text, p_vector real[])
returns real[] language plpgsql stable as $$
begin
  -- A thousand messages tell the mean of more. Only the direction of the result matters.
  return (
    with asked as materialized (select l2_normalize(p_vector::vector) as vector), common as materialized (
      select avg(s.embedding)::vector as vector from (select e.embedding from maas.embeddings e
        where e.user_id = p_user and e.model = p_model and vector_dims(e.embedding) = cardinality(p_vector)
        limit 1000) s
    )
    select l2_normalize(coalesce(a.vector + a.vector + a.vector - c.vector - c.vector, a.vector))
    from asked a, common c);
end
$$;
comment on function maas.maas_question_vector is
  'The vector of a question, of length 1, without two thirds of the mean of the user''s vectors: what all messages '
  'have in common distinguishes none of them';

create or replace function maas.maas_embedding_backlog(p_model text)
returns table (waiting bigint, is_estimate boolean) language plpgsql stable security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
  max_checked constant int := 10000;
  fill maas.embedding_fills;
  checked bigint;
begin
  select * into fill from maas.embedding_fills f where f.model = p_model;
  if not found or to_regclass('maas.embeddings') is null then
    return;
  end if;
  with page as materialized (
    (select l.id, l.is_remembered from maas.raw_logs l where l.id > fill.swept_to order by l.id limit max_checked)
    union all
    (select l.id, l.is_remembered from maas.raw_logs l
     where fill.swept_to is null and l.created_at >= fill.since limit max_checked)
  )
  select count(*), count(*) filter (where p.is_remembered and not exists (
    select from maas.embeddings e where e.log_id = p.id and e.model = p_model))
  into checked, waiting from page p;
  is_estimate := checked = max_checked;
  if is_estimate then
    waiting := greatest(waiting,
      (select reltuples::bigint from pg_class where oid = 'maas.raw_logs'::regclass) - fill.turns - fill.refused);
  end if;
  return next;
end
$$;
comment on function maas.maas_embedding_backlog is
  'How many messages wait for their vector: counted among the next 10,000 to be checked, '
  'estimated where there are more';
