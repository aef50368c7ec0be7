-- Vectors of turns, where there is pgvector 0.7 or newer. Without it search is by words, as it is without a model.
-- A vector is made of one turn's own words, so it goes with them: nothing of a deleted turn lives on in a neighbour's.

create table embedding_fills (
  model text primary key,
  owner uuid not null,
  leased_until timestamptz not null default '-infinity',
  swept_to uuid default '00000000-0000-0000-0000-000000000000',
  since timestamptz not null,
  turns bigint not null default 0,
  refused bigint not null default 0,
  tokens bigint not null default 0
);
comment on table embedding_fills is 'How far the turns have vectors of a model, who fills them in, and what it has cost';
comment on column embedding_fills.swept_to is 'All turns up to this id have been looked at; null when all that were there have been';
comment on column embedding_fills.since is 'Turns that were logged later are still to be looked at';
comment on column embedding_fills.refused is 'Turns that the provider will not take; they have a row without a vector';
comment on column embedding_fills.tokens is 'As the provider counted them, questions not included';

-- New turns are found by this index; ranges that it does not sum up are read whole.
alter index idx_raw_logs_created_at set (autosummarize = on);

create function maas_log_horizon() returns timestamptz language sql as $$
  select greatest(now() - interval '10 minutes', least(now(), (
    select min(xact_start) from pg_stat_activity where datname = current_database()))) - interval '1 minute'
$$;
comment on function maas_log_horizon is 'No turn is committed any more that was logged before this, but by a transaction of ten minutes';

create function maas_prepare_embeddings() returns boolean language plpgsql as $$
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
  return true;
end $$;
comment on function maas_prepare_embeddings is 'Makes the table of vectors where pgvector can be had; is it there?';

create function maas_lease_embeddings(p_model text, p_owner uuid, p_for interval, p_force boolean default false)
returns table (swept_to uuid, since timestamptz) language sql as $$
  insert into embedding_fills as f (model, owner, leased_until, since)
  values (p_model, p_owner, clock_timestamp() + p_for, maas_log_horizon())
  on conflict (model) do update set owner = p_owner, leased_until = clock_timestamp() + p_for
  where p_force or f.owner = p_owner or f.leased_until < clock_timestamp()
  returning f.swept_to, f.since
$$;
comment on function maas_lease_embeddings is 'One process fills in the vectors of a model; no row when it is another one';

create function maas_write_embeddings(p_model text, p_ids uuid[], p_vectors real[], p_tokens int default 0)
returns int language plpgsql as $$
declare
  dimensions constant int := case when cardinality(p_ids) > 0 then cardinality(p_vectors) / cardinality(p_ids) end;
  written int;
begin
  -- The lock waits for an erasure that is under way, and then finds the turn gone.
  with live as (
    select l.id, l.user_id, u.n from unnest(p_ids) with ordinality u(id, n) join raw_logs l on l.id = u.id for key share of l
  ), added as (
    insert into embeddings (log_id, user_id, model, embedding)
    select l.id, l.user_id, p_model,
      case when dimensions > 0 then l2_normalize(p_vectors[(l.n - 1) * dimensions + 1 : l.n * dimensions]::vector)::halfvec end
    from live l on conflict do nothing returning 1
  )
  select count(*) into written from added;
  update embedding_fills set tokens = tokens + p_tokens, turns = turns + case when dimensions > 0 then written else 0 end,
    refused = refused + case when dimensions > 0 then 0 else written end
  where model = p_model;
  return written;
end $$;
comment on function maas_write_embeddings is 'Vectors, end to end, of turns that still live; none at all says that the turns were refused';

do $$
begin
  if not maas_prepare_embeddings() then
    raise notice 'pgvector 0.7 cannot be installed here: search is by words alone';
  end if;
end $$;
