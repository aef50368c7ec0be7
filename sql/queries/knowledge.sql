-- Knowledge: documents and their chunks. Whoever reads names a user, and gets the user's rows and everybody's.

-- name: add_document  -- $1 user, null for everybody, $2 document, $3 chunks
select maas.maas_add_document($1, $2, $3);

-- name: remove_document  -- $1 user, null for everybody, $2 document
select maas.maas_remove_document($1, $2);

-- name: expect_documents  -- $1 user, null for everybody, $2 documents
select maas.maas_expect_documents($1, $2);

-- name: mark_document  -- $1 user, null for everybody, $2 name, $3 status, $4 error
select maas.maas_mark_document($1, $2, $3, $4);

-- name: document  -- $1 user, null for everybody's alone, $2 document
select id, user_id is null as is_everybodys, name, media_type, bytes, pages, chunks, summary, status, error, track_id,
  created_at, updated_at
from maas.knowledge_documents where (user_id = $1 or user_id is null) and id = $2;

-- name: document_chunks  -- $1 user, $2 document, $3 after this number, $4 how many; in their order
select number, heading, page, position, text from maas.knowledge_chunks
where document_id = $2 and (user_id = $1 or user_id is null) and number > $3 order by number limit $4;

-- name: owner_of_document  -- $1 document; zeros: everybody's
select coalesce(user_id, '00000000-0000-0000-0000-000000000000') from maas.knowledge_documents where id = $1;

-- name: known_document  -- $1 user, null for everybody, $2 name: the hash of the file that was read
select id, sha256, status from maas.knowledge_documents where user_id is not distinct from $1 and name = $2;

-- name: list_documents  -- $1 user, null for everybody's alone, $2 before this time and $3 this id,
-- nulls for the first, $4 how many; everybody's, too
select id, user_id is null as is_everybodys, name, media_type, bytes, pages, chunks, summary, status, error, track_id,
  created_at, updated_at
from maas.knowledge_documents
where (user_id = $1 or user_id is null) and ($2::timestamptz is null or (created_at, id) < ($2, $3::uuid))
order by created_at desc, id desc limit $4;

-- name: tracked_documents  -- $1 user, $2 ingestion
select name, status, error, chunks, created_at, updated_at from maas.knowledge_documents
where (user_id = $1 or user_id is null) and track_id = $2 order by name limit 1000;

-- name: knowledge_state  -- $1 user, $2 how long a document may be in reading;
-- one that is longer was left by a process that ended
select count(*) as documents, coalesce(sum(chunks), 0) as chunks, count(*) filter (where status = 'pending') as pending,
  count(*) filter (where status = 'processing') as processing,
  count(*) filter (where status = 'processed') as processed, count(*) filter (where status = 'failed') as failed,
  coalesce(bool_or(status = 'processing' and updated_at > clock_timestamp() - $2::interval), false) as busy
from maas.knowledge_documents where user_id = $1 or user_id is null;

-- name: knowledge_terms  -- $1 user, $2 query: its lexemes, the longest first,
-- and in how many of the user's chunks each occurs
select w.lexeme as term, (
    select coalesce(sum(k.chunks), 0) from maas.knowledge_terms k
    where k.term = w.lexeme and (k.user_id = $1 or k.user_id is null)) as chunks,
  (select coalesce(sum(d.chunks), 0) from maas.knowledge_documents d where d.user_id = $1 or d.user_id is null) as total
from unnest(maas.maas_lexemes($2)) w order by length(w.lexeme) desc, w.lexeme limit 32;

-- name: knowledge_candidates  -- $1 user, $2 terms, $3 weight of each, $4 those that a candidate must have,
-- $5 all of them, or one, $6 how many
-- `total`: how many chunks hold at least seven tenths of what the best one holds. Bit i of a mask: term i is there.
with question as materialized (
  select case when $5 then (select string_agg(t::text, ' & ')::tsquery from unnest(maas.maas_terms($4)) t)
    else maas.maas_any_term($4) end as wanted, maas.maas_terms($2) as terms
), found as materialized (
  select f.document_id, f.number, f.tsv_length, f.mask, maas.maas_mask_weight(f.mask, $3) as weight
  from (
    select h.document_id, h.number, length(h.tsv) as tsv_length, maas.maas_term_mask(h.tsv, q.terms) as mask
    from question q cross join lateral (
      (select c.document_id, c.number, (array[c.tsv])[1] as tsv from maas.knowledge_chunks c
       where c.user_id = $1 and c.tsv @@ q.wanted limit 3000)
      union all
      (select c.document_id, c.number, (array[c.tsv])[1] from maas.knowledge_chunks c
       where c.user_id is null and c.tsv @@ q.wanted limit 3000)
    ) h offset 0) f
), best as materialized (
  select f.* from found f order by f.weight desc, f.tsv_length, f.document_id, f.number limit $6
), documents as materialized (
  select d.id, maas.maas_term_mask(d.tsv, q.terms) as mask from question q
  join maas.knowledge_documents d on d.id in (select document_id from best)
)
select b.document_id, b.number, b.mask, b.tsv_length, maas.maas_term_mask(c.heading_tsv, q.terms) as heading_mask,
  d.mask as document_mask,
  (select count(*) from found where weight >= 0.7 * (select max(weight) from found)) as total
from best b cross join question q join maas.knowledge_chunks c using (document_id, number)
join documents d on d.id = b.document_id;

-- name: knowledge_chunks  -- $1 user, $2 terms, $3 documents, $4 numbers: as by knowledge_candidates
select c.document_id, c.number, maas.maas_term_mask(c.tsv, q.terms) as mask, length(c.tsv) as tsv_length,
  maas.maas_term_mask(c.heading_tsv, q.terms) as heading_mask,
  maas.maas_term_mask(d.tsv, q.terms) as document_mask, 0 as total
from (select maas.maas_terms($2) as terms) q
cross join unnest($3::uuid[], $4::int[]) k(document_id, number)
join maas.knowledge_chunks c using (document_id, number) join maas.knowledge_documents d on d.id = c.document_id
where c.user_id = $1 or c.user_id is null;

-- name: passages  -- $1 user, $2 documents, $3 numbers
select c.document_id, c.number, d.name, c.heading, c.page, c.position, c.text
from unnest($2::uuid[], $3::int[]) k(document_id, number)
join maas.knowledge_chunks c using (document_id, number) join maas.knowledge_documents d on d.id = c.document_id
where c.user_id = $1 or c.user_id is null;

-- name: claim_embedding  -- $1 model, $2 for how long, $3 how many: chunks of one document without a vector
select document_id, version, number, heading, text from maas.maas_claim_embedding($1, $2, $3);

-- name: embed_chunks  -- $1 model, $2 document, $3 its version, $4 numbers, $5 their vectors, concatenated
select maas.maas_embed_chunks($1, $2, $3, $4, $5::real[]);

-- name: nearest_chunks  -- $1 user, $2 model, $3 vector of the query, $4 documents and $5 numbers of known candidates,
-- $6 how many more
-- The nearest chunks of the user and of everybody and the known ones: cosines in standard deviations above the mean of
-- all
with question as materialized (select l2_normalize($3::real[]::vector)::halfvec as vector), scored as materialized (
  select e.document_id, e.number, -(e.embedding <#> q.vector) as cosine from maas.knowledge_embeddings e
  cross join question q
  where (e.user_id = $1 or e.user_id is null) and e.model = $2 and vector_dims(e.embedding) = cardinality($3::real[])
), spread as (select avg(cosine) as mean, nullif(stddev_pop(cosine), 0) as deviation from scored)
select n.document_id, n.number, coalesce((n.cosine - s.mean) / s.deviation, 0)::float8 as nearness
from (
  (select * from scored order by cosine desc limit $6)
  union
  select c.* from scored c join unnest($4::uuid[], $5::int[]) k(document_id, number) using (document_id, number)
) n cross join spread s;
