-- Vectors of messages: the missing ones, and how near they are to a question.

-- name: vectors_are_there
select to_regclass('maas.embeddings') is not null;

-- name: prepare_embeddings
select maas.maas_prepare_embeddings();

-- name: cosines  -- $1 user, $2 model, $3 vector of the question, $4 ids, null for all messages of the user; in binary
with question as materialized (
  select maas.maas_question_vector($1, $2, $3::real[])::vector::halfvec as vector
)
select string_agg(uuid_send(e.log_id), '') as ids,
  string_agg(float4send((-(e.embedding <#> q.vector))::real), '') as cosines
from maas.embeddings e cross join question q
where e.user_id = $1 and e.model = $2 and vector_dims(e.embedding) = cardinality($3::real[])
  and ($4::uuid[] is null or e.log_id = any($4));

-- name: nearest  -- $1 to $3 as above, $4 known at or null, $5 how many;
-- nearest first, and what cosines are like among all
with question as materialized (
  select maas.maas_question_vector($1, $2, $3::real[])::vector::halfvec as vector
), scored as materialized (
  select e.log_id, -(e.embedding <#> q.vector) as cosine
  from maas.embeddings e cross join question q
  where e.user_id = $1 and e.model = $2 and vector_dims(e.embedding) = cardinality($3::real[])
    and ($4::timestamptz is null or exists (select from maas.raw_logs l where l.id = e.log_id and l.known_at <= $4))
)
select array(select log_id from scored order by cosine desc limit $5) as ids,
  (select avg(cosine) from scored) as mean, (select stddev_pop(cosine) from scored) as deviation,
  (select count(*) from scored) as vectors;

-- name: lease_embeddings  -- $1 model, $2 owner, $3 for how long, $4 whether to take it from another process
select swept_to, since from maas.maas_lease_embeddings($1, $2, $3, $4);

-- name: write_embeddings  -- $1 model, $2 ids, $3 their vectors, concatenated, $4 tokens
select maas.maas_write_embeddings($1, $2::uuid[], $3::real[], $4);

-- name: sweep_turns  -- $1 model, $2 after this id, $3 page size;
-- returns the last id, the number checked, those without a vector
with page as materialized (select id, is_remembered from maas.raw_logs where id > $2 order by id limit $3)
select (select id from page order by id desc limit 1) as last, (select count(*) from page) as looked_at,
  array(select p.id from page p where p.is_remembered and not exists (
    select from maas.embeddings e where e.log_id = p.id and e.model = $1) order by p.id) as missing;

-- name: new_turns  -- $1 model, $2 logged since, $3 how many: those without a vector, oldest first; offset 0 keeps the
-- vectors of all from being read for a join
select l.id, l.created_at from maas.raw_logs l
where l.created_at >= $2 and l.is_remembered and not exists (
  select from maas.embeddings e where e.log_id = l.id and e.model = $1 offset 0)
order by l.created_at limit $3;

-- name: fresh_turns  -- $1 model, $2 logged within this time, $3 how many: those without a vector, newest first
select l.id from maas.raw_logs l
where l.created_at > now() - $2::interval and l.is_remembered
  and not exists (select from maas.embeddings e where e.log_id = l.id and e.model = $1 offset 0)
order by l.created_at desc limit $3;

-- name: log_horizon
select maas.maas_log_horizon();

-- name: save_fill  -- $1 model, $2 owner, $3 checked up to this id, null when complete,
-- $4 checked what was logged before
update maas.embedding_fills set swept_to = $3, since = $4 where model = $1 and owner = $2;

-- name: restart_sweep  -- $1 model
update maas.embedding_fills set swept_to = '00000000-0000-0000-0000-000000000000', since = maas.maas_log_horizon()
where model = $1;

-- name: texts  -- $1 ids, $2 how many characters of each
select id, speaker, left(content, $2) as content from maas.raw_logs where id = any($1::uuid[]);

-- name: count_turns
select count(*) from maas.raw_logs where is_remembered;

-- name: prune_embeddings  -- $1 the model that stays, $2 how many at most
with gone as (
  delete from maas.embeddings
  where ctid = any (array(select ctid from maas.embeddings where model <> $1 limit $2)) returning 1
)
select count(*) from gone;

-- name: prune_chunk_embeddings  -- $1 the model that stays, $2 how many at most
with gone as (
  delete from maas.knowledge_embeddings
  where ctid = any (array(select ctid from maas.knowledge_embeddings where model <> $1 limit $2)) returning 1
)
select count(*) from gone;

-- name: forget_fills  -- $1 the model that stays
delete from maas.embedding_fills where model <> $1;

-- name: fill  -- $1 model
select turns, refused, tokens from maas.embedding_fills where model = $1;

-- name: embedding_backlog  -- of the model in use; waiting is null without pgvector
select model, waiting, is_estimate from maas.v_embedding;
