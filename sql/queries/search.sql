-- Recall. A term is a lexeme of the question; bit i of a mask says that a message holds term i. Every read is bound to
-- a user. Messages named by id are fetched by id alone (offset 0) and filtered by user afterwards: the planner, which
-- does not know how many messages a user has, would fetch all of them.

-- name: candidates  -- the terms of a question, and one row of columns: the messages of a memory that is read whole,
-- or those of $11
-- $1 user, $2 question, $3 messages before this seq, $4 known at, $5 from, $6 to, $7 tags, $8 hints, $9 terms, null for
-- those of $2, $10 most messages that are read whole, $11 ids, $12 to be read even if there is no term `large_turns`:
-- the messages of a memory that is not read whole; `large_speakers` its speakers, `df` the counts of the terms in it.
-- `words_gone`: retention has removed messages of some summaries. `has_corrections`: some memory of the user is
-- corrected. Of each message: id, seq, time, record (zeros: none), speaker (null: none has a name), a hash of the
-- conversation; bits: 0 to 31 the terms, 32 and 33 whether it asks, 34 is a response, 35 holds a hint, 36 is within $5
-- to $7, 37 to 40 how many lexemes it has, at most 15, 41 is made from a tool's or a document's text, 42 says I or my.
-- In binary, which is read without a loop
with asked as materialized (
  select array_agg(t.lexeme order by t.n) as terms, array_agg(t.quoted::tsquery order by t.n) as queries,
    string_agg(t.quoted, ' | ')::tsquery as any_term
  from (
    select u.lexeme, u.n, '''' || replace(replace(u.lexeme, '\', '\\'), '''', '''''') || '''' as quoted
    from unnest(coalesce($9::text[], array(
      select w.lexeme from unnest(maas.maas_lexemes($2)) w order by length(w.lexeme) desc, w.lexeme limit 32)))
      with ordinality u(lexeme, n)) t
), large as materialized (
  select turns, speakers from maas.counted_users where user_id = $1 and turns > $10
), found as (
  select l.id, l.seq, l.conversation, l.speaker, l.occurred_at, l.record_id,
    case when l.lexemes @@ a.any_term then maas.maas_term_mask(l.lexemes, a.queries) else 0 end
    | ((l.flags & 3)::bigint << 32) | ((l.flags >> 2)::bigint << 42)
    | ((l.message_type = 'assistant_response')::int::bigint << 34)
    | (coalesce(l.lexemes @@ h.hints, false)::int::bigint << 35)
    | ((($5::timestamptz is null or l.occurred_at >= $5) and ($6::timestamptz is null or l.occurred_at < $6)
      and ($7::text[] is null or exists (
        select from maas.lsm_storage s
        where s.id = l.record_id and s.user_id is not distinct from $1 and s.tags && $7)))::int::bigint << 36)
    | (least(length(l.lexemes), 15)::bigint << 37)
    | ((l.origins <> '[]'
      and l.origins @? '$[*] ? (@.kind == "tool" || @.kind == "document")')::int::bigint << 41) as bits
  from asked a cross join (
    select string_agg('''' || hint || '''', ' | ')::tsquery as hints from unnest($8::text[]) hint) h
  cross join lateral (
      -- array, offset 0: a long text is decompressed once, not per term
      select id, seq, conversation, speaker, occurred_at, record_id, flags, message_type, origins,
        (array[tsv])[1] as lexemes
      from maas.raw_logs
      where user_id = $1 and is_remembered and known_at <= $4
        and run_id <> all ((select maas.maas_hidden_runs($1, $3))::uuid[])
        and $11::uuid[] is null and not exists (select from large)
        and ($12 or exists (select from asked where terms is not null))
      union all
      select id, seq, conversation, speaker, occurred_at, record_id, flags, message_type, origins, (array[tsv])[1]
      from (select * from maas.raw_logs where id = any($11::uuid[]) offset 0) r
      where user_id = $1 and is_remembered and known_at <= $4
        and run_id <> all ((select maas.maas_hidden_runs($1, $3))::uuid[])
      offset 0) l
)
select (select terms from asked) as terms, (select turns from large) as large_turns,
  case when exists (select from large) then (
    select array_agg(d.turns order by u.n) from unnest((select terms from asked)) with ordinality u(term, n)
    left join maas.term_df d on d.user_id = $1 and d.term = u.term) end as df,
  exists (select from maas.lsm_storage where user_id = $1 and words_gone) as words_gone,
  exists (select from maas.memory_corrections where user_id = $1) as has_corrections,
  (select speakers from large) as large_speakers,
  case when count(f.speaker) > 0 then array_agg(f.speaker) end as speakers,
  string_agg(uuid_send(f.id), '') as ids, string_agg(int8send(f.seq), '') as seqs,
  string_agg(timestamptz_send(f.occurred_at), '') as times, string_agg(int8send(f.bits), '') as bits,
  string_agg(int8send(hashtextextended(f.conversation, 0)), '') as conversations,
  string_agg(uuid_send(coalesce(f.record_id, '00000000-0000-0000-0000-000000000000')), '') as record_ids
from found f;

-- name: rare_turns  -- of a large memory: the best of what holds a rare term, with its neighbours
-- $1 user, $2 terms, $3 messages before this seq, $4 known at, $5 from, $6 to, $7 tags, $8 the rare terms, $9 weight of
-- each of $2, $10 ids, $11 times that count in any case
with question as materialized (
  select maas.maas_any_term($8) as rare, maas.maas_terms($2) as terms, maas.maas_hidden_runs($1, $3) as hidden
), holding as materialized (
  select l.id, l.seq, l.conversation, l.occurred_at, maas.maas_term_mask(l.tsv, q.terms) as mask
  from question q cross join lateral (
    select * from maas.raw_logs r
    where r.user_id = $1 and r.is_remembered and r.tsv @@ q.rare and r.known_at <= $4 and r.run_id <> all (q.hidden)
      and ($5::timestamptz is null or r.occurred_at >= $5) and ($6::timestamptz is null or r.occurred_at < $6)
      and ($7::text[] is null or exists (
        select from maas.lsm_storage s where s.id = r.record_id and s.user_id is not distinct from $1 and s.tags && $7))
    limit 5000) l
), best as materialized (
  (select id, seq, conversation, occurred_at from holding
   order by maas.maas_mask_weight(mask, $9::float8[]) desc, occurred_at desc limit 100)
  union
  select id, seq, conversation, occurred_at from (select * from maas.raw_logs where id = any($10::uuid[]) offset 0) l
  where user_id = $1
  union
  (select id, seq, conversation, occurred_at from maas.raw_logs
   where user_id = $1 and is_remembered and occurred_at >= lower($11::tstzmultirange) and occurred_at < upper($11)
     and $11 @> occurred_at
   order by occurred_at desc, seq desc limit 50)
)
select b.id from best b
union
select n.id from best b cross join lateral (
  (select l.id, l.conversation from maas.raw_logs l
   where l.user_id = $1 and l.is_remembered and (l.occurred_at, l.seq) < (b.occurred_at, b.seq)
   order by l.occurred_at desc, l.seq desc limit 2)
  union all
  (select l.id, l.conversation from maas.raw_logs l
   where l.user_id = $1 and l.is_remembered and (l.occurred_at, l.seq) > (b.occurred_at, b.seq)
   order by l.occurred_at, l.seq limit 2)) n
where n.conversation = b.conversation;

-- name: counted_lexemes  -- $1 user whose words are counted, $2 how they begin, $3 longest
select d.term, d.turns
from unnest($2::text[]) as beginning
join maas.term_df d on d.user_id = $1 and d.term >= beginning and d.term < beginning || chr(1114111)
where length(d.term) <= $3;

-- name: said_lexemes  -- $1 user; as text, which a caller parses in a third of the time that unnest takes
select tsv::text as lexemes from maas.raw_logs where user_id = $1 and is_remembered;

-- name: lexemes  -- $1 texts: the lexemes of each
select tsvector_to_array(maas.maas_lexemes(t)) as lexemes from unnest($1::text[]) with ordinality u(t, n) order by n;

-- name: count_terms  -- $1 user, $2 most messages that are read whole
select maas.maas_count_terms($1, $2);

-- name: users_to_count  -- $1 how long a transaction may last, $2 most messages that are read whole
select maas.maas_users_to_count($1, $2) as user_id;

-- name: terms_are_counted  -- $1 of what was written until then
update maas.engine_settings set value = $1::timestamptz::text where key = 'terms_counted_until';

-- name: clock
select now();
