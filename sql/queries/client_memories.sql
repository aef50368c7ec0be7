-- Messages as clients of mem0 see them: each message of the user is a memory, whose text is that of its newest
-- correction, under the id of the message itself.

-- name: client_memories  -- $1 user, $2 how many, $3 whether with their texts and tags; newest first
with corrections as materialized (
  select distinct k.root_id, k.valid_id, k.valid_from from maas.maas_corrections($1, 'infinity') k
), latest as materialized (
  select l.id, l.metadata->'client' as client, l.occurred_at, l.seq, l.record_id
  from maas.raw_logs l
  where l.user_id = $1 and l.message_type = 'user_query' and l.is_remembered and not exists (
    select from maas.memory_corrections c join maas.raw_logs r on r.id = c.root_id and r.user_id = $1
    where c.id = l.id and c.user_id = $1)
  order by l.occurred_at desc, l.seq desc limit $2
)
select l.id, l.client, l.occurred_at as created_at, coalesce(k.valid_from, l.occurred_at) as updated_at,
  case when $3 then (
    select v.content from maas.raw_logs v where v.id = coalesce(k.valid_id, l.id) and v.user_id = $1) end as memory,
  case when $3 then (
    select s.tags from maas.lsm_storage s where s.id = l.record_id and s.user_id = $1) end as tags
from latest l left join corrections k on k.root_id = l.id
order by l.occurred_at desc, l.seq desc;

-- name: client_memory_texts  -- $1 user, $2 ids of messages: those of the user, each as the memory that it belongs to
with known as materialized (
  select * from maas.maas_corrections($1, 'infinity')
), asked as materialized (
  select a.id as asked, coalesce(r.id, a.id) as id
  from unnest($2::uuid[]) a(id) left join known k on k.id = a.id
  left join maas.raw_logs r on r.id = k.root_id and r.user_id = $1
), valid as materialized (
  select distinct root_id, valid_id, valid_from from known
)
select a.asked, g.id, coalesce(v.content, g.content) as memory, g.metadata->'client' as client,
  g.occurred_at as created_at, coalesce(k.valid_from, g.occurred_at) as updated_at,
  (select s.tags from maas.lsm_storage s where s.id = g.record_id and s.user_id = $1) as tags
from asked a
-- offset 0: one index probe per message, never a scan
cross join lateral (select * from maas.raw_logs l where l.id = a.id offset 0) g
left join valid k on k.root_id = a.id
left join lateral (select * from maas.raw_logs l where l.id = k.valid_id and l.user_id = $1 offset 0) v on true
where g.user_id = $1 and g.message_type = 'user_query' and g.is_remembered;

-- name: client_memory_versions  -- $1 user, $2 message: it and its corrections, the oldest first
select l.id, l.content as memory, l.occurred_at as created_at, 0::bigint as place
from maas.raw_logs l where l.id = $2 and l.user_id = $1
union all
select l.id, l.content, l.occurred_at, k.place
from maas.maas_corrections($1, 'infinity') k
cross join lateral (select * from maas.raw_logs g where g.id = k.id offset 0) l
where k.root_id = $2 and l.user_id = $1
order by place;

-- name: set_client_metadata  -- $1 user, $2 message, $3 metadata
select maas.maas_set_client_metadata($1, $2, $3);

-- name: user_names  -- $1 user or null, $2 how the name begins, $3 how many, $4 after so many; `total` counts all
select i.external_id as name, i.user_id, i.created_at, count(*) over () as total
from maas.user_identities i
where i.provider = 'api' and ($1::uuid is null or i.user_id = $1) and starts_with(i.external_id, $2)
order by i.external_id collate "C" limit $3 offset $4;
