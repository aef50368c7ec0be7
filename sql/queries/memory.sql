-- Reads of memory; each is bound to a user.

-- name: turns  -- $1 user, $2 ids
select l.id, l.run_id, l.message_type, l.content, l.speaker, l.conversation, l.external_id, l.occurred_at, l.record_id,
  l.created_at, l.origins, s.tags, s.summary, maas.maas_period(maas.maas_day(l.occurred_at)) as period
from (select * from maas.raw_logs where id = any($2::uuid[]) offset 0) l
left join maas.lsm_storage s on s.id = l.record_id and s.user_id is not distinct from l.user_id
where l.user_id = $1;

-- name: recent_turns  -- $1 user, $2 messages before this seq, $3 how many; newest first
with hidden as materialized (
  select array(
    select id from maas.pipeline_runs where user_id = $1 and kind in ('ask', 'action', 'task') and seq >= $2
    union all
    select id from maas.pipeline_runs
    where queue_state = -2 and user_id = $1 and kind in ('ask', 'action', 'task')
    union all
    select id from maas.pipeline_runs
    where queue_state in (-4, -3) and user_id = $1 and kind in ('ask', 'action')
    union all
    select o from maas.pipeline_runs r cross join lateral maas.maas_dropped_runs(r.user_id, r.id) o
    where r.user_id = $1 and r.seq = $2 and r.replaces is not null) as runs
)
select l.id, l.run_id, false as is_folded, l.message_type, l.content, l.speaker, l.occurred_at, l.origins
from maas.raw_logs l
where l.user_id = $1 and l.is_remembered and l.run_id <> all ((select runs from hidden)::uuid[])
order by l.occurred_at desc, l.seq desc limit $3;

-- name: draft_inputs  -- $1 runs, $2 their users, $3 messages before these seqs, $4 how many of each; in order of time
-- Of each run the messages (kind turn) as by recent_turns, the user's notes, each with the message in which the user
-- asked for it, and the context that the client sent, what the request says of marks, whether a memory of the user is
-- corrected, whether facts of the user are known, and why the summary of the exchange before is missing (kind
-- archive), if it is.
with asked as materialized (
  select a.place::int as place, a.run_id, a.user_id, a.seq, a.turns, array(
      select id from maas.pipeline_runs where user_id = a.user_id and kind in ('ask', 'action', 'task') and seq >= a.seq
      union all
      select id from maas.pipeline_runs
      where queue_state = -2 and user_id = a.user_id and kind in ('ask', 'action', 'task')
      union all
      select id from maas.pipeline_runs
      where queue_state in (-4, -3) and user_id = a.user_id and kind in ('ask', 'action')
      union all
      select o from maas.pipeline_runs r cross join lateral maas.maas_dropped_runs(r.user_id, r.id) o
      where r.id = a.run_id and r.replaces is not null) as hidden
  from unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::int[]) with ordinality as a(run_id, user_id, seq, turns, place)
)
select a.place, 'turn' as kind, l.id, l.run_id, false as is_folded, l.message_type, l.content, l.speaker, l.occurred_at,
  l.seq, null::jsonb as client, l.origins
from asked a cross join lateral (
  select * from maas.raw_logs w where w.user_id = a.user_id and w.is_remembered and w.run_id <> all (a.hidden)
  order by w.occurred_at desc, w.seq desc limit a.turns) l
union all
select a.place, 'note', n.id, n.log_id, null, null, n.content, null, n.created_at,
  row_number() over (partition by a.place order by n.created_at, n.id), null, null
from asked a
cross join lateral (select f.user_id from maas.facts f where f.user_id = a.user_id and f.kind = 'note' limit 1) u
cross join lateral maas.maas_notes(u.user_id) n
union all
select a.place, 'client', r.id, null, null, null, null, null, null, null, r.client_context, null
from asked a cross join lateral (select id, client_context from maas.pipeline_runs p where p.id = a.run_id offset 0) r
where r.client_context is not null
union all
select a.place, 'marks', r.id, null, null, null, null, null, null, null, r.metadata->'marks', null
from asked a cross join lateral (select id, metadata from maas.pipeline_runs p where p.id = a.run_id offset 0) r
where r.metadata ? 'marks' and jsonb_typeof(r.metadata->'marks') = 'boolean'
union all
select a.place, 'corrected', null, null, null, null, null, null, null, null, null, null
from asked a where exists (select from maas.memory_corrections c where c.user_id = a.user_id)
union all
select a.place, 'facts', null, null, null, null, null, null, null, null, null, null
from asked a where exists (select from maas.facts f where f.user_id = a.user_id and f.kind <> 'note')
union all
select a.place, 'archive', r.id, null, null, null, r.state, null, null, null, null, null
from asked a cross join lateral (
  (select p.id,
     case p.archive_status when 'FAILED' then 'archive_failed' when 'SKIPPED' then 'archive_skipped'
       else 'archive_behind' end as state,
     p.archive_status
   from (
     select * from maas.pipeline_runs w where w.user_id = a.user_id and w.seq < a.seq order by w.seq desc limit 20) p
   where p.kind in ('ask', 'action') and p.is_remembered order by p.seq desc limit 1)
  union all
  (select p.id, 'archive_behind', p.archive_status
   from (
     select * from maas.pipeline_runs w where w.user_id = a.user_id and w.seq < a.seq order by w.seq desc limit 20) p
   where p.kind = 'archive' and p.queue_state < 2 limit 1)) r
where r.archive_status <> 'ARCHIVED'
order by occurred_at, seq;

-- name: records  -- $1 user, $2 ids of level 0, $3 how many of the newest beside what covers them now; newest first
with recursive covering as (
  select l.id as wanted, l.id, l.superseded_by, l.superseded_at from maas.lsm_storage l
  where l.user_id = $1 and l.id = any($2::uuid[])
  union all
  select c.wanted, l.id, l.superseded_by, l.superseded_at
  from covering c cross join lateral (  -- offset 0: one index probe per id, never a scan
    select p.id, p.superseded_by, p.superseded_at from maas.lsm_storage p
    where p.id = c.superseded_by and p.user_id = $1 offset 0) l
), found as materialized (
  select id, array_agg(wanted) as wanted from covering where superseded_at is null group by id
), newest as materialized (
  select id from maas.lsm_storage where user_id = $1 and not is_provisional and superseded_at is null
  order by time_bucket_end desc, created_at desc limit $3 + cardinality($2::uuid[])
)
select l.id, l.level, maas.maas_period(l.time_bucket_end, l.level) as period, l.time_bucket_start, l.time_bucket_end,
  l.tags, l.summary, l.raw_log_ids, l.occurred_at, l.created_at, coalesce(f.wanted, '{}') as wanted
from (select id from found union select id from newest) u
join maas.lsm_storage l on l.id = u.id and l.user_id = $1 and not l.is_provisional left join found f on f.id = l.id
order by l.time_bucket_end desc, l.created_at desc;

-- name: records_as_of  -- $1 user, $2 ids of level 0, $3 how many of the newest beside them, $4 known at,
-- whatever was merged since
with newest as materialized (
  select id from maas.lsm_storage
  where user_id = $1 and not is_provisional and level = 0 and (superseded_at is null or superseded_by is not null)
    and known_at <= $4 and time_bucket_end <= maas.maas_day($4)
  order by time_bucket_end desc, created_at desc limit $3 + cardinality($2::uuid[])
)
select id, level, maas.maas_period(time_bucket_end, level) as period, time_bucket_start, time_bucket_end, tags, summary,
  raw_log_ids, occurred_at, created_at, array[id] as wanted
from maas.lsm_storage
where user_id = $1 and id = any ($2::uuid[] || array(select id from newest)) and not is_provisional and level = 0
  and (superseded_at is null or superseded_by is not null) and known_at <= $4
order by time_bucket_end desc, created_at desc;

-- name: wordless_records  -- $1 user, $2 question, $3 known at or null, $4 from, $5 to, $6 tags, $7 how many;
-- best first
-- Of what retention has left: the records that no other is a part of, superseded or not. What they were merged into
-- says the same in fewer words. A term weighs more the fewer of the records that match hold it.
with question as materialized (
  select terms, maas.maas_terms(terms) as queries
  from (
    select array(
      select t.lexeme from unnest(maas.maas_lexemes($2)) t
      order by length(t.lexeme) desc, t.lexeme limit 16) as terms) t
), found as materialized (
  select l.id, l.occurred_at, maas.maas_term_mask(l.tsv, q.queries) as mask
  from question q join maas.lsm_storage l on l.tsv @@ maas.maas_any_term(q.terms)
  where l.user_id = $1 and l.words_gone and not l.is_provisional
    and (l.superseded_at is null or l.superseded_by is not null) and ($3::timestamptz is null or l.known_at <= $3)
    and ($4::timestamptz is null or l.occurred_at >= $4) and ($5::timestamptz is null or l.occurred_at < $5)
    and ($6::text[] is null or l.tags && $6)
    and not exists (
      select from (select * from maas.lsm_storage c where c.superseded_by = l.id offset 0) c
      where c.user_id = l.user_id and not c.is_provisional)
), weights as materialized (
  select array_agg(ln(1 + t.records::float8 / greatest(t.holding, 1)) order by t.bit) as terms from (
    select bit, (select count(*) from found) as records,
      (select count(*) from found where mask >> bit & 1 = 1) as holding
    from question q cross join generate_series(0, cardinality(q.terms) - 1) bit) t
), best as materialized (
  select f.id, f.occurred_at,
    maas.maas_mask_weight(f.mask, w.terms) / (select sum(one) from unnest(w.terms) one) as score
  from found f cross join weights w order by score desc, f.occurred_at desc limit $7
)
select l.id, l.level, maas.maas_period(l.time_bucket_end, l.level) as period, l.tags, l.summary, l.raw_log_ids,
  l.occurred_at, l.created_at, l.origins, b.score
from best b cross join lateral (select * from maas.lsm_storage p where p.id = b.id offset 0) l
where l.user_id = $1 order by b.score desc, l.occurred_at desc;

-- name: list_memories  -- $1 user, $2 before this occurred_at, $3 and id, $4 how many, $5 level,
-- or null for all valid summaries; the newest first, by when it was said: years that are imported come behind today
select id, level, maas.maas_period(time_bucket_end, level) as period, time_bucket_start, time_bucket_end, tags, summary,
  raw_log_ids, is_degraded, occurred_at, created_at, origins
from maas.lsm_storage where user_id = $1 and not is_provisional
  and case when $5::int is null then superseded_at is null
    else level = $5 and (superseded_at is null or superseded_by is not null) end
  and ($2::timestamptz is null or (occurred_at, id) < ($2, $3))
order by occurred_at desc, id desc limit $4;

-- name: memory_totals  -- $1 user: remembered messages, summaries in force, and when the first and the last were said
-- and saved
select l.messages, s.summaries, l.since, greatest(l.saved_at, s.saved_at) as last_saved_at
from (
  select count(*) as messages, min(occurred_at) as since, max(created_at) as saved_at
  from maas.raw_logs where user_id = $1 and is_remembered) l
cross join (
  select count(*) as summaries, max(created_at) as saved_at
  from maas.lsm_storage where user_id = $1 and not is_provisional and superseded_at is null) s;

-- name: memory_days  -- $1 user, $2 year: its days in MAAS_TIMEZONE with remembered messages, and how many each has
select maas.maas_day(occurred_at) as day, count(*) as messages from maas.raw_logs
where user_id = $1 and is_remembered
  and occurred_at >= (
    select make_timestamptz($2, 1, 1, 0, 0, 0, value) from maas.engine_settings where key = 'timezone')
  and occurred_at < (
    select make_timestamptz($2 + 1, 1, 1, 0, 0, 0, value) from maas.engine_settings where key = 'timezone')
group by day order by day;

-- name: memory  -- $1 id: a summary, a message or a fact
select 'summary' as kind, id, user_id, level, maas.maas_period(time_bucket_end, level) as period, tags,
  summary as memory, raw_log_ids, null::text as speaker, superseded_at, occurred_at, created_at, origins
from maas.lsm_storage where id = $1 and not is_provisional
union all
select 'turn', l.id, l.user_id, null, maas.maas_period(maas.maas_day(l.occurred_at)), coalesce(s.tags, '{}'), l.content,
  array[l.id], coalesce(l.speaker, maas.maas_role(l.message_type)), null, l.occurred_at, l.created_at, l.origins
from maas.raw_logs l left join maas.lsm_storage s on s.id = l.record_id and s.user_id is not distinct from l.user_id
where l.id = $1
union all
select 'fact', f.id, f.user_id, null, maas.maas_period(maas.maas_day(f.said_at)), '{}', f.statement, f.raw_log_ids,
  f.said_by, null, f.said_at, f.created_at, f.origins
from maas.facts f where f.id = $1;

-- name: corrections  -- $1 user, $2 ids of messages and summaries, $3 known at: of those that are corrected,
-- or are corrections
-- `corrected_by` and `corrects` are ids of memories. `valid_id` is the message that is to be read first: the newest
-- correction of the memory itself (`is_own`), else of a summary that covers it.
with recursive known as materialized (
  select * from maas.maas_corrections($1, $3)
), wanted as materialized (
  select w.id, k.memory_id as corrects, coalesce(k.root_id, w.id) as root_id, coalesce(k.place, 0) as place
  from (select distinct unnest($2::uuid[]) as id) w left join known k on k.id = w.id
), covering as (
  select w.id as wanted, l.record_id as id
  from wanted w cross join lateral (select * from maas.raw_logs g where g.id = w.id offset 0) l
  where l.user_id = $1 and l.record_id is not null
  union
  select c.wanted, l.superseded_by
  from covering c cross join lateral (select * from maas.lsm_storage s where s.id = c.id offset 0) l
  where l.user_id = $1 and l.superseded_by is not null
)
select w.id, w.corrects, b.id as corrected_by, v.valid_id, v.valid_from, b.id is not null as is_own
from wanted w left join lateral (
  select k.id, k.valid_id, k.valid_from from known k
  where k.root_id = w.root_id and k.place > w.place order by k.memory_id = w.id desc, k.place desc limit 1) b on true
left join lateral (
  select b.valid_id, b.valid_from where b.id is not null
  union all
  (select k.valid_id, k.valid_from from covering c join known k on k.root_id = c.id
   where b.id is null and c.wanted = w.id and k.valid_id <> w.id order by k.valid_from desc limit 1)) v on true
where w.corrects is not null or v.valid_id is not null;

-- name: corrections_under  -- $1 user, $2 summary, $3 known at:
-- the valid corrections of it and of what it was made of, newest first
select distinct k.valid_id, k.valid_from, k.root_id = s.id as is_own
from (select * from maas.lsm_storage where id = $2 offset 0) s cross join maas.maas_corrections($1, $3) k
where s.user_id = $1 and (k.root_id = s.id or k.root_id = any(s.raw_log_ids) or exists (
  select from (select * from maas.lsm_storage l where l.id = k.root_id offset 0) l
  where l.user_id = $1 and l.raw_log_ids <@ s.raw_log_ids))
order by valid_from desc limit 20;

-- name: correct  -- $1 user, $2 memory, $3 text
select run_id, log_id from maas.maas_correct($1, $2, $3);

-- name: sources  -- $1 user, $2 ids of raw logs
select id, run_id, message_type, content, speaker, conversation, external_id, occurred_at, created_at, origins
from maas.raw_logs where user_id = $1 and id = any($2::uuid[]) order by occurred_at, seq;

-- name: history  -- $1 user, $2 ids of raw logs: the logs, then the summaries made of them by level
with recursive words as materialized (
  select g.* from (select * from maas.raw_logs where id = any($2::uuid[]) offset 0) g where g.user_id = $1
), made as (
  select l.id, l.superseded_by from (select distinct record_id from words) w
  cross join lateral (select * from maas.lsm_storage p where p.id = w.record_id offset 0) l where l.user_id = $1
  union
  select l.id, l.superseded_by
  from made m cross join lateral (select * from maas.lsm_storage p where p.id = m.superseded_by offset 0) l
  where l.user_id = $1
)
select 'turn' as kind, id, -1 as level, content as memory, coalesce(speaker, maas.maas_role(message_type))
  as speaker, created_at, record_id as superseded_by, null::timestamptz as superseded_at, occurred_at
from words
union all
select 'summary', l.id, l.level, l.summary, null, l.created_at, l.superseded_by, l.superseded_at, l.occurred_at
from made m join maas.lsm_storage l on l.id = m.id
order by level, occurred_at, created_at;

-- name: exchange_of_run  -- $1 runs: of each its own logs, and those whose archiving failed before
with me as materialized (
  select a.place::int as place, r.id, r.user_id, r.queue_key, r.seq, r.replaces
  from unnest($1::uuid[]) with ordinality as a(id, place)
  -- offset 0: one index probe per run, never a scan
  cross join lateral (select * from maas.pipeline_runs p where p.id = a.id offset 0) r
)
select me.place, l.id, l.message_type, l.content, l.speaker, l.occurred_at, l.origins, me.replaces
from me cross join lateral (
  select * from maas.raw_logs w
  where w.run_id = me.id and w.user_id is not distinct from me.user_id and w.archived_at is null offset 0) l
union all
select me.place, l.id, l.message_type, l.content, l.speaker, l.occurred_at, l.origins, me.replaces
from me cross join lateral (
  select * from maas.raw_logs w
  where w.user_id = me.user_id and w.archive_owed and w.run_id <> me.id and w.archived_at is null offset 0) l
cross join lateral (select * from maas.pipeline_runs p where p.id = l.run_id offset 0) r
where r.user_id is not distinct from me.user_id and r.queue_key = me.queue_key and r.seq < me.seq
  and r.kind in ('ask', 'action', 'task')
order by occurred_at;

-- name: messages_before  -- $1 user, $2 messages of one conversation, $3 how many before the last of them; oldest first
-- Those that are archived: what waits behind an exchange was said before its answer. Words of tools and documents are
-- left out, since a summary that takes them up would not name them.
with exchange as materialized (
  select conversation, occurred_at, seq from maas.raw_logs where id = any($2::uuid[]) and user_id = $1
  order by occurred_at desc, seq desc limit 1
), near as materialized (
  select l.* from exchange e cross join lateral (
    select * from maas.raw_logs w
    where w.user_id = $1 and w.is_remembered and (w.occurred_at, w.seq) < (e.occurred_at, e.seq)
    order by w.occurred_at desc, w.seq desc limit 50) l
  where l.conversation = e.conversation and l.id <> all ($2::uuid[]) and l.archived_at is not null
    and not l.origins @? '$[*] ? (@.kind == "tool" || @.kind == "document")'
  order by l.occurred_at desc, l.seq desc limit $3
)
select message_type, content, speaker, occurred_at, origins from near order by occurred_at, seq;

-- name: imported_turns  -- $1 run of kind archive, $2 how many: the next that no summary covers
select id, message_type, content, speaker, conversation, occurred_at, origins
from maas.raw_logs
where run_id = $1 and user_id is not distinct from (select r.user_id from maas.pipeline_runs r where r.id = $1)
  and archived_at is null
order by turn_no limit $2;

-- name: import_turns  -- $1 user, $2 label, $3 messages, $4 source
select run_id, added, known from maas.maas_import($1, $2, $3::jsonb, $4);

-- name: import_portion  -- $1 user, $2 label, $3 messages as text, $4 source
select run_id, added, known from maas.maas_import($1, $2, $3::text::jsonb, $4);

-- name: import_progress  -- $1 runs of kind archive
select count(*) filter (where l.archived_at is not null) as recorded, count(*) as total
from maas.pipeline_runs r join maas.raw_logs l on l.run_id = r.id and l.user_id is not distinct from r.user_id
where r.id = any($1::uuid[]);

-- name: imported_conversations  -- $1 user, $2 $3 before this last_at and id, $4 how many: what files brought, by the
-- conversations of its source, the last said first
select c.conversation, c.id, c.since, c.last_at, c.messages, f.title, f.beginning
from (
  select g.* from (
    select l.conversation, md5(l.conversation)::uuid as id, min(l.occurred_at) as since, max(l.occurred_at) as last_at,
      count(*) as messages
    from maas.raw_logs l
    where l.user_id = $1 and l.external_id is not null and l.origins @> '[{"kind": "import"}]'
    group by l.conversation) g
  where $2::timestamptz is null or (g.last_at, g.id) < ($2, $3::uuid)
  order by g.last_at desc, g.id desc limit $4) c
cross join lateral (
  select l.metadata->>'title' as title, left(l.content, 200) as beginning
  from maas.raw_logs l
  where l.user_id = $1 and l.conversation = c.conversation and l.external_id is not null
    and l.origins @> '[{"kind": "import"}]'
  order by l.occurred_at, l.seq limit 1) f
order by c.last_at desc, c.id desc;

-- name: imported_messages  -- $1 user, $2 conversation of a source, $3 a message of it, or null for the end,
-- $4 how many before it, $5 how many after it, $6 whether it, too; oldest first
with place as materialized (
  select occurred_at, seq from maas.raw_logs where id = $3 and user_id = $1 and conversation = $2
  union all
  select 'infinity', 0 where $3::uuid is null
), there as not materialized (
  select * from maas.raw_logs
  where user_id = $1 and conversation = $2 and external_id is not null and origins @> '[{"kind": "import"}]'
)
select m.id, m.run_id, m.message_type, m.content, m.speaker, m.occurred_at, m.metadata->>'title' as title, m.is_earlier
from (
  (select t.*, true as is_earlier from there t
   where (t.occurred_at, t.seq) < ((select p.occurred_at from place p), (select p.seq from place p))
   order by t.occurred_at desc, t.seq desc limit $4)
  union all
  (select t.*, false from there t where $6 and t.id = $3)
  union all
  (select t.*, false from there t
   where (t.occurred_at, t.seq) > ((select p.occurred_at from place p), (select p.seq from place p))
   order by t.occurred_at, t.seq limit $5)) m
order by m.occurred_at, m.seq;
