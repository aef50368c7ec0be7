-- Facts of a user.

-- name: list_facts  -- $1 user, $2 known at, $3 states or null, $4 a name of the subject or null,
-- $5 before this time and $6 this id, or null, $7 how many; newest first
select f.id, f.statement, f.subject, f.attribute, f.kind, f.said_by, f.said_at, f.last_said_at, f.true_from,
  f.true_until, f.raw_log_ids, f.origin, f.origins, f.created_at, f.state, f.since, f.replaced_by, f.replaces,
  f.is_pinned
from maas.maas_facts($1, coalesce($2, 'infinity'::timestamptz)) f
where ($3::text[] is null or f.state = any($3)) and ($4::text is null or exists (
    select from (select lower(f.subject) as subject, lower(btrim($4)) as wanted) l
    left join maas.fact_names a on a.user_id = $1 and a.name = l.subject
    left join maas.fact_names b on b.user_id = $1 and b.name = l.wanted
    where coalesce(a.same_as, l.subject) = coalesce(b.same_as, l.wanted)))
  and ($5::timestamptz is null or (f.created_at, f.id) < ($5, $6::uuid))
order by f.created_at desc, f.id desc limit $7;

-- name: find_facts  -- $1 user, $2 question, $3 known at or null, $4 how many of the newest beside those that match,
-- $5 attributes that the question asks for
select f.id, f.statement, f.subject, f.attribute, f.kind, f.said_by, f.said_at, f.last_said_at, f.true_from,
  f.true_until, f.raw_log_ids, f.origin, f.origins, f.created_at, f.state, f.since, f.replaced_by, f.replaces,
  f.is_pinned, f.place, f.matches
from maas.maas_find_facts($1, $2, coalesce($3, 'infinity'::timestamptz), $4, $5) f;

-- name: search_facts  -- $1 user, $2 question, $3 known at or null, $4 said since or null, $5 said before or null,
-- $6 how many; those that hold and have half of the words of the question, most of them first
select f.id, f.statement, f.subject, f.attribute, f.kind, f.said_by, f.said_at, f.last_said_at, f.true_from,
  f.true_until, f.raw_log_ids, f.origin, f.origins, f.created_at, f.state, f.since, f.replaced_by, f.replaces,
  f.is_pinned, f.matches, maas.maas_period(maas.maas_day(f.last_said_at)) as period
from maas.maas_find_facts($1, $2, coalesce($3, 'infinity'::timestamptz)) f
where f.state in ('true', 'uncertain') and f.matches > 0
  and f.matches * 2 >= cardinality(tsvector_to_array(maas.maas_lexemes($2)))
  and ($4::timestamptz is null or f.last_said_at >= $4) and ($5::timestamptz is null or f.last_said_at < $5)
order by f.matches desc, f.last_said_at desc, f.id limit $6;

-- name: decide_fact  -- $1 user, $2 fact, $3 verdict, $4 actor
select maas.maas_decide_fact($1, $2, $3, $4);

-- name: correct_fact  -- $1 user, $2 fact, $3 statement, $4 source, $5 actor
select run_id, log_id, fact_id from maas.maas_correct_fact($1, $2, $3, $4, $5);

-- name: merge_fact_names  -- $1 user, $2 name, $3 the name that it is the same as
select maas.maas_merge_fact_names($1, $2, $3);

-- name: archived_messages  -- $1 user; one conversation after another
select id, message_type, content, speaker, conversation, occurred_at, origins
from maas.raw_logs where user_id = $1 and is_remembered and archived_at is not null
order by conversation, occurred_at, seq;

-- name: found_facts  -- $1 user; those of rules and models
select id, statement, subject, attribute, kind, change, depends_on, raw_log_ids, origin
from maas.facts where user_id = $1 and origin in ('rule', 'model') order by said_at, seq;

-- name: rebuild_facts  -- $1 user, $2 facts that go, $3 facts that come, $4 actor
select maas.maas_rebuild_facts($1, $2, $3, $4);
