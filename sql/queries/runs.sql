-- Requests: insert, read, cancel, retry; and the version of the schema.

-- name: insert_runs  -- $10 how many unfinished runs a user may have, or null; more are refused; $11 arrays as text
with sent as materialized (
  select s.*,
    row_number() over (
      partition by s.caller, s.idempotency_key, case when s.idempotency_key is null then s.id end order by s.n) > 1
      or s.idempotency_key is not null and exists (
        select from maas.pipeline_runs r
        where r.caller = s.caller and r.idempotency_key = s.idempotency_key)
      or s.idempotency_key is not null and exists (
        select from maas.debounced_requests d
        where d.caller = s.caller and d.idempotency_key = s.idempotency_key) as is_repeat
  from unnest(
    $1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::jsonb[], $7::text[], $8::text[], $9::text[],
    $11::text[], $12::text[], $13::jsonb[], $14::boolean[], $15::uuid[], $16::int[], $17::timestamptz[],
    $18::jsonb[], $19::float8[]) with ordinality
    as s(id, user_id, user_query, assistant, conversation_id, metadata, source, caller, idempotency_key, attachment_ids,
      mode, client_context, is_remembered, replaces, priority, run_at, attributes, debounce, n)
), queues as materialized (
  select u.user_id, q.unfinished
  from (select distinct user_id from sent where $10::int is not null) u cross join lateral (
    -- SQL clients may have inserted any number; counting to ten times the limit is enough
    select count(*) as unfinished from (
      select from maas.pipeline_runs r
      where r.user_id = u.user_id and r.queue_state < 2 and r.kind in ('ask', 'action') limit 10 * $10) r) q
), placed as materialized (
  select s.*, q.unfinished, coalesce(
    not s.is_repeat and q.unfinished
      + count(*) filter (where not s.is_repeat) over (partition by s.user_id order by s.n) > $10, false) as is_refused
  from sent s left join queues q using (user_id)
), added as (
  insert into maas.pipeline_runs (
    id, user_id, user_query, assistant, conversation_id, metadata, source, caller, idempotency_key,
    attachment_ids, mode, client_context, is_remembered, replaces, priority, run_at, attributes, debounce)
  select id, user_id, user_query, assistant, conversation_id, metadata, source, caller, idempotency_key,
    attachment_ids::uuid[], mode, client_context, is_remembered, replaces, priority, run_at,
    attributes, debounce
  from placed where not is_repeat and not is_refused order by n
  on conflict (caller, idempotency_key) where idempotency_key is not null do nothing
  returning id
), paces as materialized (
  -- seconds that the last ten finished runs of the user took, among the newest
  select u.user_id, (
    select avg(extract(epoch from f.archived_at - f.analyzing_at)) from (
      select r.archived_at, r.analyzing_at from (
        select archived_at, analyzing_at from maas.pipeline_runs where user_id = u.user_id
        order by seq desc limit 10 * $10 + 10) r
      where r.archived_at is not null limit 10) f) as seconds
  from (select distinct user_id from placed where is_refused) u
)
select id, null::bigint as unfinished, null::int as retry_after from added
union all
select p.id, p.unfinished, greatest(1, least(60, ceil(coalesce(c.seconds, 5) * (p.unfinished + 1 - $10))))::int
from placed p join paces c using (user_id)
where p.is_refused or exists (
  select from placed f where f.is_refused and f.caller = p.caller and f.idempotency_key = p.idempotency_key);

-- name: run_of_key  -- $1 caller, $2 key, $3 id of a run that this caller may have sent without a key
select id, user_id, user_query, assistant, conversation_id, metadata, attachment_ids, mode,
  client_context, is_remembered, priority, run_at, attributes
from maas.pipeline_runs where caller = $1 and (idempotency_key = $2 or id = $3);

-- name: joined_run  -- $1 id, $2 caller and $3 key of a request that may have waited for others, what is sent
select j.run_id, j.digest = maas.maas_request_digest($4, $5, $6, $7, $8, $9, $10, $11, $12) as is_same
from maas.maas_joined_run($1, $2, $3) j;

-- name: repeated_run  -- $1 user, $2 caller, $3 source, $4 to $10 what is asked, $11 seconds since it began
select id, completed_at is not null as is_answered, extract(epoch from now() - completed_at)::float8 as seconds_ago
from (
  select * from maas.pipeline_runs where user_id = $1 and seq > 0 order by seq desc limit 200) r
where created_at > now() - make_interval(secs => $11) and caller = $2 and source = $3 and kind = 'ask'
  and idempotency_key is null and user_query = $4 and assistant = $5 and conversation_id is not distinct from $6
  and coalesce(metadata, '{}') - 'traceparent' = coalesce($7::jsonb, '{}') and attachment_ids = $8::uuid[]
  and client_context is not distinct from $9::jsonb and ($10 or not is_remembered)
  and status <> 'FAILED' and cancel_requested_at is null
order by seq desc limit 1;

-- name: answered_run  -- $1 user, $2 conversation, $3 query: the newest of these runs that is answered
select id from (
  select * from maas.pipeline_runs where user_id = $1 and seq > 0 order by seq desc limit 200) r
where conversation_id = $2 and user_query = $3 and kind = 'ask' and status = 'COMPLETED'
order by seq desc limit 1;

-- name: question_to_replace  -- $1 user, $2 run, $3 conversation, $4 caller and $5 key of the request that replaces it
-- all_over: it and those after it; acted_since: an action was executed after it; is_left: a later question took its
-- place, or that of one before it
select r.status in ('COMPLETED', 'FAILED')
    and coalesce(bool_and(l.status in ('COMPLETED', 'FAILED')), true) as all_over,
  coalesce(bool_or(l.kind = 'action'), false) as acted_since,
  coalesce(bool_or(l.replaces is not null and l.status <> 'FAILED'
    and exists (select from maas.maas_dropped_runs($1, l.id) o where o = r.id)), false) as is_left
from maas.pipeline_runs r
left join maas.pipeline_runs l on l.user_id = $1 and l.seq > r.seq and l.conversation_id = $3
  and l.kind in ('ask', 'action') and (l.caller = $4 and l.idempotency_key = $5) is not true
where r.id = $2 and r.user_id = $1 and r.conversation_id = $3 and r.kind = 'ask'
group by r.id;

-- name: client_context  -- $1 run
select client_context from maas.pipeline_runs where id = $1;

-- name: turns_of_words  -- $1 user, $2 a run, $3 texts without blanks around,
-- $4 number of the latest messages to search
select distinct btrim(l.content, E' \t\n\r') as words
from (
  select content from maas.raw_logs where user_id = $1 and run_id <> $2 and is_remembered
  order by occurred_at desc, seq desc limit $4) l
where btrim(l.content, E' \t\n\r') = any($3::text[]);

-- name: run
select id, seq, user_id, user_query, assistant, conversation_id, kind, source, metadata, attachment_ids, status,
  archive_status, queue_state as lane, try, attempt, deaths, analysis_result, sources, searched, draft_context,
  final_context_payload, final_answer, error_code, error_message, degraded, limited, memory, memory_reasons,
  cancel_requested_at, created_at, updated_at, claimed_at, analyzing_at, analyzed_at, assembling_at, ready_at,
  responding_at, completed_at, failed_at, archived_at, priority, run_at, attributes
from maas.pipeline_runs where id = $1;

-- name: request_of_run
select user_id, user_query, assistant, conversation_id, metadata, attachment_ids, mode, client_context, is_remembered,
  attributes, kind = 'ask' and queue_state = 2 and not maas.maas_is_forgotten(user_query) as is_finished
from maas.pipeline_runs where id = $1;

-- name: run_states  -- $1 ids; what a client sees of runs
select id, user_id, user_query, assistant, conversation_id, kind, attachment_ids, status, archive_status, try, attempt,
  sources, searched, final_answer, error_code, error_message, degraded, limited, memory, memory_reasons,
  created_at, claimed_at, analyzing_at, analyzed_at, assembling_at, ready_at, responding_at, completed_at, failed_at,
  archived_at, priority, run_at, attributes, queue_state = -3 as is_paused,
  case when r.replaces is not null then array(select maas.maas_replaced_runs(r.user_id, r.id)) end as replaced,
  (select e.payload->'buttons' from maas.run_events e where e.run_id = r.id and e.type = 'buttons'
   order by e.n desc limit 1) as buttons,
  (select array_agg(a.id) from maas.attachments a
   where a.run_id = r.id and a.user_id is not distinct from r.user_id) as drawn,
  case r.kind when 'task' then (
    select jsonb_agg(
      jsonb_build_object(
        'number', s.number, 'title', s.title, 'tool', s.tool, 'depends_on', s.depends_on, 'status', s.status,
        'error_code', s.result->>'error_code', 'started_at', s.started_at, 'ended_at', s.ended_at) order by s.number)
    from maas.task_steps s where s.run_id = r.id) end as steps
from maas.pipeline_runs r where id = any($1);

-- name: run_state
select status, archive_status from maas.pipeline_runs where id = $1;

-- name: run_sources  -- $1 run
select sources from maas.pipeline_runs where id = $1;

-- name: open_run_of_conversation  -- $1 user, $2 conversation: the newest run without an answer
select id from maas.pipeline_runs
where user_id = $1 and queue_state < 2 and kind in ('ask', 'action') and conversation_id = $2
  and status not in ('COMPLETED', 'FAILED')
order by seq desc limit 1;

-- name: list_runs  -- $1 user, $2 status, $3 $4 before this created_at and id, $5 how many, $6 kind, $7 conversation,
-- $8 assistant, $9 from, $10 to, $11 error code, $12 attributes
-- nulls mean any, but trials are listed only as such; newest first. To be planned for its values: those that are null
-- leave no condition, and each of the others may have an index
select id, seq, user_id, kind, assistant, conversation_id, source, status, archive_status,
  left(user_query, 200) as query, left(final_answer, 300) as answer, error_code, error_message, limited, memory,
  created_at, completed_at, priority, run_at, attributes, replaces
from maas.pipeline_runs
where ($1::uuid is null or user_id = $1) and ($2::text is null or status = $2)
  and ($1::uuid is null or $2::text is distinct from 'FAILED' or failed_at is not null)
  and ($6::text is null and kind <> 'trial' or kind = $6) and ($7::uuid is null or conversation_id = $7)
  and ($8::text is null or assistant = $8)
  and ($9::timestamptz is null or created_at >= $9) and ($10::timestamptz is null or created_at < $10)
  and ($11::text is null or error_code = $11) and ($12::jsonb is null or attributes @> $12)
  and ($3::timestamptz is null or (created_at, id) < ($3, $4))
order by created_at desc, id desc limit $5;

-- name: run_costs  -- $1 runs: milliseconds until they ended, and what their model calls cost, over all tries
select r.id, (extract(epoch from coalesce(r.completed_at, r.failed_at) - r.created_at) * 1000)::float8 as ms,
  coalesce(c.tokens, 0)::bigint as tokens, c.price::bigint as price, c.models
from maas.pipeline_runs r left join lateral (
  select sum(l.tokens_in + l.tokens_out) as tokens, sum(l.price) as price,
    array_agg(distinct l.provider || ':' || l.model) filter (where l.finish <> 'skipped') as models
  from maas.llm_calls l where l.run_id = r.id) c on true
where r.id = any($1::uuid[]);

-- name: search_runs  -- $1 to $10 as list_runs, $13 error code, $14 attributes, $11 text: every word of it, or its
-- beginning, is in the query or in the answer of a run
-- $12 how many messages with a word are collected by the index of the words. A word that is in more of them is looked
-- for in the runs that have the other words, or where all are so common, in the newest runs until the page is full: no
-- plan reads all messages.
with asked as materialized (
  select t.n, t.term from unnest(maas.maas_search_terms($11)) with ordinality t(term, n)
), collected as materialized (
  select a.n, a.term, array(
    (select l.run_id from maas.raw_logs l where l.user_id = $1 and l.tsv @@ a.term limit $12::int + 1)
    union all
    (select l.run_id from maas.raw_logs l where $1::uuid is null and l.tsv @@ a.term limit $12::int + 1)) as runs
  from asked a
), found as materialized (
  select n, term, runs, cardinality(runs) > $12::int as is_common from collected
), chosen as materialized (
  select u.run_id
  from (select distinct f.n, x.run_id from found f cross join lateral unnest(f.runs) x(run_id) where not f.is_common) u
  group by u.run_id having count(*) = (select count(*) from found where not is_common)
), listed as not materialized (
  select id, user_id, created_at from maas.pipeline_runs
  where ($1::uuid is null or user_id = $1) and kind <> 'archive' and ($2::text is null or status = $2)
    and ($6::text is null and kind <> 'trial' or kind = $6) and ($7::uuid is null or conversation_id = $7)
    and ($8::text is null or assistant = $8)
    and ($9::timestamptz is null or created_at >= $9) and ($10::timestamptz is null or created_at < $10)
    and ($13::text is null or error_code = $13) and ($14::jsonb is null or attributes @> $14)
    and ($3::timestamptz is null or (created_at, id) < ($3, $4))
)
select r.id, r.seq, r.user_id, r.kind, r.assistant, r.conversation_id, r.source, r.status, r.archive_status,
  left(r.user_query, 200) as query, left(r.final_answer, 300) as answer, r.error_code, r.error_message, r.limited,
  r.memory, r.created_at, r.completed_at, r.priority, r.run_at, r.attributes, r.replaces
from (
  (select n.id from chosen c join listed n on n.id = c.run_id
   where not exists (
     select from found f where f.is_common and not exists (
       select from maas.raw_logs l where l.run_id = n.id and l.user_id = n.user_id and l.tsv @@ f.term))
   order by n.created_at desc, n.id desc limit $5)
  union all
  (select n.id from listed n
   where exists (select from asked) and not exists (select from found where not is_common)
     and not exists (
       select from found f where f.is_common and not exists (
         select from maas.raw_logs l where l.run_id = n.id and l.user_id = n.user_id and l.tsv @@ f.term))
   order by n.created_at desc, n.id desc limit $5)) m
join maas.pipeline_runs r on r.id = m.id
order by r.created_at desc, r.id desc limit $5;

-- name: runs_to_cancel  -- $1 user, $2 status, $3 kind, $4 assistant, $5 from, $6 to, $7 attributes: those that match;
-- nulls mean any
select r.id from (
  select * from maas.pipeline_runs where queue_state = -4 union all
  select * from maas.pipeline_runs where queue_state = -3 union all
  select * from maas.pipeline_runs where queue_state = -2 union all
  select * from maas.pipeline_runs where queue_state = -1 union all
  select * from maas.pipeline_runs where queue_state in (0, 1)) r
where r.status <> 'COMPLETED' and r.cancel_requested_at is null
  and ($1::uuid is null or r.user_id = $1) and ($2::text is null or r.status = $2) and ($3::text is null or r.kind = $3)
  and ($4::text is null or r.assistant = $4) and ($5::timestamptz is null or r.created_at >= $5)
  and ($6::timestamptz is null or r.created_at < $6) and ($7::jsonb is null or r.attributes @> $7)
order by r.seq desc;

-- name: runs_to_retry  -- $1 user, $2 error code, $3 kind, $4 assistant, $5 from, $6 to, $7 attributes: those that
-- match and failed; nulls mean any
select r.id from maas.pipeline_runs r
where r.failed_at is not null and r.status = 'FAILED' and r.queue_state = 2 and r.kind <> 'call'
  and ($1::uuid is null or r.user_id = $1) and ($2::text is null or r.error_code = $2)
  and ($3::text is null or r.kind = $3) and ($4::text is null or r.assistant = $4)
  and ($5::timestamptz is null or r.created_at >= $5) and ($6::timestamptz is null or r.created_at < $6)
  and ($7::jsonb is null or r.attributes @> $7)
order by r.seq;

-- name: cancel_runs  -- $1 runs, $2 actor: how many are cancelled by it
select count(*) from (select maas.maas_cancel_run(i.id, $2) as verdict from unnest($1::uuid[]) i(id) offset 0) c
where c.verdict = 'cancelling';

-- name: retry_runs  -- $1 runs, $2 actor: how many are tried again by it
select count(*) from (select maas.maas_retry_run(i.id, $2) as verdict from unnest($1::uuid[]) i(id) offset 0) c
where c.verdict = 'retrying';

-- name: pauses
select subject, name, reason, actor, since from maas.v_pauses order by since, subject, name;

-- name: pause  -- $1 subject, $2 name, $3 reason, $4 actor
select verdict, runs from maas.maas_pause($1, $2, $3, $4);

-- name: resume  -- $1 subject, $2 name, $3 actor
select verdict, runs from maas.maas_resume($1, $2, $3);

-- name: paused_models  -- with those whose provider wants no call before a time
select name, null::timestamptz as until from maas.pauses where subject = 'model'
union all
select name, blocked_until from maas.model_limits where blocked_until > now();

-- name: take_call  -- $1 name, $2 requests and $3 tokens a minute, $4 tokens of this one, $5 seconds that it may wait
select maas.maas_take_call($1, $2, $3, $4, $5);

-- name: charge_tokens  -- $1 name, $2 tokens a minute, $3 how many more
select maas.maas_charge_tokens($1, $2, $3);

-- name: block_model  -- $1 name, $2 seconds
select maas.maas_block_model($1, $2);

-- name: cancel_run
select maas.maas_cancel_run($1, $2);

-- name: retry_run
select maas.maas_retry_run($1, $2);

-- name: schema_is_there
select to_regclass('maas.pipeline_runs') is not null and to_regproc('maas.maas_import') is not null;

-- name: try_commit  -- false where nothing can be written; else it commits a message of the log that nobody reads
select case when not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off'
  then pg_logical_emit_message(true, 'maas', 'ready') is not null else false end;

-- name: log_position  -- the end of a primary's log that no crash takes back, or of what a standby has replayed
select pg_is_in_recovery() as is_standby, pg_wal_lsn_diff(
  case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end, '0/0'
)::bigint as position;

-- name: is_migrated_to  -- $1 the fingerprint of sql/ and of the plugins that are on, $2
select coalesce(md5(string_agg(name || ' ' || hash || e'\n', '' order by name collate "C")) = $1, false)
from maas.schema_files
where position(':' in name) = 0 or split_part(name, ':', 1) = any($2);

-- name: server_version
select current_setting('server_version') as version, current_setting('server_version_num')::int as number;

-- name: extensions
select extname from pg_extension
where extname in ('vector', 'btree_gin', 'fuzzystrmatch', 'unaccent', 'pg_trgm') order by 1;
