-- Recall. A term is a lexeme of the question; bit i of a mask says that a message holds term i. Every read is bound to a user.
-- Messages named by id are fetched by id alone (offset 0) and filtered by user afterwards: the planner, which does not know
-- how many messages a user has, would fetch all of them.

-- name: question_terms  -- $1 user, $2 question, $3 known at; df is null for terms not counted yet
-- `named` are the terms that are names of speakers in this memory
with asked as materialized (
  select t.lexeme from unnest(maas.maas_lexemes($2)) t order by length(t.lexeme) desc, t.lexeme limit 16
), memory as materialized (
  select c.user_id is not null as is_counted, coalesce(c.turns, s.turns, 0) as turns, coalesce(c.speakers, s.speakers) as speakers
  from (select) as one left join maas.counted_users c on c.user_id = $1 cross join lateral (
    select sum(l.turns)::int as turns, array_agg(l.speaker) as speakers
    from (select speaker, count(*) as turns from maas.raw_logs where user_id = $1 and is_remembered and known_at <= $3 and c.user_id is null group by speaker) l) s
)
select array_agg(a.lexeme order by length(a.lexeme) desc, a.lexeme) as terms,
  array_agg(d.turns order by length(a.lexeme) desc, a.lexeme) as df,
  (select turns from memory) as turns, (select is_counted from memory) as is_counted,
  array_agg(a.lexeme) filter (where a.lexeme = any(tsvector_to_array((
    select maas.maas_lexemes(array_to_string(speakers, ' ')) from memory)))) as named
from asked a left join maas.term_df d on d.user_id = $1 and d.term = a.lexeme;

-- name: rare_turns  -- of a large memory: the best of what holds a rare term, with its neighbours
-- $1 user, $2 terms, $3 messages before this seq, $4 known at, $5 from, $6 to, $7 tags, $8 the rare terms, $9 weight of each of $2,
-- $10 ids, $11 times that count in any case
with question as materialized (
  select maas.maas_any_term($8) as rare, maas.maas_terms($2) as terms, maas.maas_hidden_runs($1, $3) as hidden
), holding as materialized (
  select l.id, l.seq, l.conversation, l.occurred_at, maas.maas_term_mask(l.tsv, q.terms) as mask
  from question q cross join lateral (
    select * from maas.raw_logs r
    where r.user_id = $1 and r.is_remembered and r.tsv @@ q.rare and r.known_at <= $4 and r.run_id <> all (q.hidden)
      and ($5::timestamptz is null or r.occurred_at >= $5) and ($6::timestamptz is null or r.occurred_at < $6)
      and ($7::text[] is null or exists (select from maas.lsm_storage s where s.id = r.record_id and s.user_id is not distinct from $1 and s.tags && $7))
    limit 5000) l
), best as materialized (
  (select id, seq, conversation, occurred_at from holding order by maas.maas_mask_weight(mask, $9::float8[]) desc, occurred_at desc limit 100)
  union
  select id, seq, conversation, occurred_at from (select * from maas.raw_logs where id = any($10::uuid[]) offset 0) l where user_id = $1
  union
  (select id, seq, conversation, occurred_at from maas.raw_logs
   where user_id = $1 and is_remembered and occurred_at >= lower($11::tstzmultirange) and occurred_at < upper($11) and $11 @> occurred_at
   order by occurred_at desc, seq desc limit 50)
)
select b.id from best b
union
select n.id from best b cross join lateral (
  (select l.id, l.conversation from maas.raw_logs l where l.user_id = $1 and l.is_remembered and (l.occurred_at, l.seq) < (b.occurred_at, b.seq)
   order by l.occurred_at desc, l.seq desc limit 2)
  union all
  (select l.id, l.conversation from maas.raw_logs l where l.user_id = $1 and l.is_remembered and (l.occurred_at, l.seq) > (b.occurred_at, b.seq)
   order by l.occurred_at, l.seq limit 2)) n
where n.conversation = b.conversation;

-- name: rank_turns  -- $1 to $7 as above, $8 hints, $9 ids, $10 times that count in any case, $11 the messages to look at, null for
-- all; $12 all of them, not only those near a term; $13 terms (a mask) that alone are no reason to look at a message
with question as materialized (
  select maas.maas_any_term($2) as any_term, maas.maas_terms($2) as terms, maas.maas_any_term($8) as hints, maas.maas_hidden_runs($1, $3) as hidden
), holding as materialized (
  -- strip, offset 0: a long text is decompressed once, not per term
  select h.id, h.conversation, maas.maas_term_mask(h.lexemes, q.terms) as mask
  from question q cross join lateral (
    select id, conversation, strip(tsv) as lexemes from maas.raw_logs
    where user_id = $1 and is_remembered and tsv @@ q.any_term and $11::uuid[] is null
    union all
    select id, conversation, strip(tsv) from (select * from maas.raw_logs where id = any($11::uuid[]) offset 0) l
    where user_id = $1 and is_remembered and tsv @@ q.any_term offset 0) h
), known as (
  select l.id, l.seq, l.conversation, l.speaker, l.message_type, l.flags, l.occurred_at, l.record_id,
    coalesce(l.tsv @@ q.hints, false) as has_hint
  from question q cross join (
    select * from maas.raw_logs where user_id = $1 and $11::uuid[] is null
    union all
    select * from (select * from maas.raw_logs where id = any($11::uuid[]) offset 0) l where user_id = $1
  ) l
  where l.is_remembered and l.known_at <= $4 and l.run_id <> all (q.hidden)
    -- skip messages without a term in conversations without any
    and ($12 or cardinality($9::uuid[]) > 0 or $10::tstzmultirange is not null
      or l.conversation = any (array(select distinct conversation from holding where mask & ~$13::bigint <> 0)))
), turns as (
  -- a full join is hashed; a left join on a table without statistics is a nested loop
  select k.*, coalesce(h.mask, 0) as mask from known k full join holding h on h.id = k.id where coalesce(k.seq, 0) > 0
), placed as (
  select t.*, coalesce(lag(t.mask) over w, 0) as before, coalesce(lag(t.mask, 2) over w, 0) as before_that,
    coalesce(lead(t.mask) over w, 0) as after, lag(t.flags) over w as flags_before,
    count(*) over (partition by t.conversation) as length
  from turns t window w as (partition by t.conversation order by t.occurred_at, t.seq)
)
-- the columns are the fields of ranking.Candidate, in their order
select p.id, p.conversation, p.speaker,
  p.message_type = 'assistant_response' and (p.speaker is null or lower(p.speaker) in ('assistant', 'ai', 'bot')) as is_assistant,
  p.occurred_at, p.record_id, p.mask, p.before, p.before_that, p.after, case when $11::uuid[] is null then p.length else 1 end as length,
  coalesce(p.flags_before > 0, false) as answers, p.flags > 1 as is_question, p.has_hint,
  p.flags_before is null and $11::uuid[] is null as is_first,
  ($5::timestamptz is null or p.occurred_at >= $5) and ($6::timestamptz is null or p.occurred_at < $6)
    and ($7::text[] is null or exists (select from maas.lsm_storage s where s.id = p.record_id and s.user_id is not distinct from $1 and s.tags && $7)) as is_eligible
from placed p
where $12 or p.id = any($9::uuid[]) or $10::tstzmultirange @> p.occurred_at
  or p.mask | p.before | p.after <> 0 and (p.has_hint or (p.mask | p.before | p.after) & ~$13::bigint <> 0);

-- name: counted_lexemes  -- $1 user whose words are counted, $2 how they begin, $3 longest
select d.term, d.turns
from unnest($2::text[]) as beginning
join maas.term_df d on d.user_id = $1 and d.term >= beginning and d.term < beginning || chr(1114111)
where length(d.term) <= $3;

-- name: said_lexemes  -- $1 user; as text, which a caller parses in a third of the time that unnest takes
select tsv::text as lexemes from maas.raw_logs where user_id = $1 and is_remembered;

-- name: stems  -- $1 words: the lexeme of each, null for a stop word
select (tsvector_to_array(maas.maas_lexemes(w)))[1] as lexeme from unnest($1::text[]) with ordinality u(w, n) order by n;

-- name: count_terms  -- $1 user, $2 most messages that are read whole
select maas.maas_count_terms($1, $2);

-- name: users_to_count  -- $1 how long a transaction may last, $2 most messages that are read whole
select maas.maas_users_to_count($1, $2) as user_id;

-- name: terms_are_counted  -- $1 of what was written until then
update maas.engine_settings set value = $1::timestamptz::text where key = 'terms_counted_until';

-- name: clock
select now();
