-- What became of the runs. A check finds offences, and there may be none; `item` names the run or what else offends.

-- name: checks
with names(n, name) as (values
  (1, 'requests that were never accepted'),
  (2, 'accepted requests without a row'),
  (3, 'rows that nobody was promised'),
  (4, 'requests with two rows or two ids'),
  (5, 'runs that are not finished'),
  (6, 'runs FAILED for another reason than the model'),
  (7, 'runs FAILED without a fault of their model'),
  (8, 'runs COMPLETED and not ARCHIVED'),
  (9, 'runs with a wrong number of logs'),
  (10, 'answers to another request'),
  (11, 'runs without exactly one record'),
  (12, 'records of other words than the run''s'),
  (13, 'runs begun before their user''s last one ended'),
  (14, 'runs that overtook an earlier request of their user'),
  (15, 'stages out of order'),
  (16, 'drafts without the exchange before'),
  (17, 'drafts with a later or another user''s exchange'),
  (18, 'logs that are not archived'),
  (19, 'provisional records'),
  (20, 'runs in queue states -2 to 1'),
  (21, 'keys with two rows'),
  (22, 'HTTP replies other than 202 and 503'),
  (23, 'processes that hung or ended by themselves'),
  (24, 'errors that a process did not foresee'),
  (25, 'runs FAILED by their model beyond 4 %'),
  (26, 'messages that no search or summary leads to')
), runs as materialized (
  select r.*, substring(r.user_query from '^run \d{6} of user \d{4}') as mark,
    lag(r.id) over w as before_id, lag(r.user_query) over w as before_query,
    lag(r.final_answer) over w as before_answer, lag(coalesce(r.archived_at, r.failed_at)) over w as before_ended_at
  from pipeline_runs r where r.user_query not like 'act: %'  -- tests/chaos/acts.sql
  window w as (partition by r.user_id order by r.seq)
), logs as materialized (
  select g.run_id, count(*) filter (where g.message_type = 'user_query') as queries,
    count(*) filter (where g.message_type = 'assistant_response') as answers, array_agg(g.id order by g.id) as ids,
    max(g.content) filter (where g.message_type = 'assistant_response') as answer
  from raw_logs g group by g.run_id
), records as materialized (
  select l.run_id, count(distinct l.id) as number, min(l.summary) as summary, bool_or(l.is_degraded) as is_degraded,
    array_agg(u.id order by u.id) as log_ids
  from lsm_storage l left join lateral unnest(l.raw_log_ids) as u(id) on true group by l.run_id
), promised as materialized (
  select distinct on (number) number, mark, id, sent_at, accepted_at from chaos_accepted order by number, accepted_at
), blames(fault, code) as (values
  ('reset', 'unreachable'), ('cut', 'unreachable'), ('hang', 'timeout'), ('half', 'malformed'), ('half', 'unreachable'),
  ('429', 'rate_limited'),
  ('500', 'provider_error')
), recalled as materialized (
  select r.id, m.mark[1] as mark
  from runs r cross join lateral regexp_matches(
    split_part(r.draft_context, '<history>', 2), 'run \d{6} of user \d{4}', 'g') as m(mark)
), offences(name, item) as (
  select 'requests that were never accepted', q.mark from chaos_requests q
  where not exists (select from chaos_accepted p where p.number = q.number)
  union all
  select 'accepted requests without a row', p.mark from chaos_accepted p
  where not exists (select from runs r where r.id = p.id and r.mark = p.mark)
  union all
  select 'rows that nobody was promised', r.id::text from runs r
  where not exists (select from chaos_accepted p where p.id = r.id)
  union all
  select 'requests with two rows or two ids', r.mark from runs r group by r.mark having count(*) > 1
  union all
  select 'requests with two rows or two ids', p.mark from chaos_accepted p group by p.mark
  having count(distinct p.id) > 1
  union all
  select 'runs that are not finished', format('%s: %s', r.mark, r.status) from runs r
  where r.status not in ('COMPLETED', 'FAILED')
  union all
  select 'runs FAILED for another reason than the model', format('%s: %s, %s', r.mark, r.error_code, r.error_message)
  from runs r where r.status = 'FAILED' and r.error_code not in (select b.code from blames b)
  union all
  -- a model that failed another run is paused for a minute at most
  select 'runs FAILED without a fault of their model', format('%s: %s, %s', r.mark, r.error_code, r.error_message)
  from runs r where r.status = 'FAILED' and r.error_code in (select b.code from blames b) and not exists (
    select from chaos_model_faults f join blames b on b.fault = f.kind
    where f.model = 'responder' and b.code = r.error_code and f.at <= r.failed_at and (f.mark = r.mark
      or exists (
        select from llm_calls c
        where c.run_id = r.id and strpos(c.error, 'openai:responder has been paused since ') > 0)
      and f.at > r.failed_at - interval '2 minutes'))
  union all
  select 'runs COMPLETED and not ARCHIVED', format('%s: %s', r.mark, r.archive_status)
  from runs r where r.status = 'COMPLETED' and (r.archive_status <> 'ARCHIVED' or r.archived_at is null)
  union all
  select 'runs with a wrong number of logs',
    format('%s: %s, %s queries, %s answers', r.mark, r.status, g.queries, g.answers)
  from runs r left join logs g on g.run_id = r.id
  where (g.queries, g.answers) is distinct from (1::bigint, case r.status when 'COMPLETED' then 1::bigint else 0 end)
  union all
  select 'answers to another request', format('%s: %s', r.mark, r.final_answer) from runs r
  left join logs g on g.run_id = r.id
  where r.status = 'COMPLETED' and (
    r.final_answer is distinct from format('The answer to %s.', r.mark) or g.answer is distinct from r.final_answer)
  union all
  select 'runs without exactly one record', format('%s: %s', r.mark, coalesce(l.number, 0))
  from runs r left join records l on l.run_id = r.id where l.number is distinct from 1
  union all
  select 'records of other words than the run''s', format('%s: %s', r.mark, l.summary)
  from runs r join records l on l.run_id = r.id left join logs g on g.run_id = r.id
  where l.log_ids is distinct from g.ids or not l.is_degraded and l.summary <> format('The user sent %s.', r.mark)
  union all
  select 'runs begun before their user''s last one ended',
    format('%s: %s before', r.mark, r.before_ended_at - r.analyzing_at)
  from runs r where r.analyzing_at < r.before_ended_at
  union all
  select 'runs that overtook an earlier request of their user', format('%s overtook %s', b.mark, a.mark)
  from promised pa join runs a on a.id = pa.id join runs b on b.user_id = a.user_id and b.seq < a.seq
  join promised pb on pb.id = b.id
  where pa.accepted_at < pb.sent_at
  union all
  select 'stages out of order', format('%s: %s %s early', r.mark, t.stage, t.before - t.at)
  from runs r cross join lateral (values
    ('ANALYZING', r.created_at, r.analyzing_at), ('ANALYZED', r.analyzing_at, r.analyzed_at),
    ('ASSEMBLING', r.analyzed_at, r.assembling_at),
    ('READY', r.assembling_at, r.ready_at), ('RESPONDING', r.ready_at, r.responding_at),
    ('COMPLETED', r.responding_at, r.completed_at),
    ('ARCHIVED', r.completed_at, r.archived_at)) as t(stage, before, at)
  where t.at < t.before or r.status = 'COMPLETED' and t.at is null
  union all
  select 'drafts without the exchange before', r.mark from runs r
  where r.before_id is not null and r.draft_context is not null and (
    strpos(r.draft_context, r.before_query) = 0 or strpos(r.draft_context, coalesce(r.before_answer, '')) = 0)
  union all
  select 'drafts with a later or another user''s exchange', format('%s holds %s', r.mark, m.mark)
  from recalled m join runs r on r.id = m.id left join runs o on o.mark = m.mark
  where o.id is null or o.user_id <> r.user_id or o.seq >= r.seq
  union all
  select 'logs that are not archived', g.id::text from raw_logs g where g.archived_at is null
  union all
  select 'provisional records', l.id::text from lsm_storage l where l.is_provisional
  union all
  select 'runs in queue states -2 to 1', format('%s: %s, queue_state %s', r.mark, r.status, r.queue_state) from runs r
  where r.queue_state <> 2
  union all
  select 'keys with two rows', r.idempotency_key from runs r where r.idempotency_key is not null
  group by r.caller, r.idempotency_key having count(*) > 1
  union all
  select 'HTTP replies other than 202 and 503', format('%s, %s times', c.outcome, c.times)
  from chaos_replies c where c.way = 'http' and c.outcome ~ '^\d' and c.outcome not in ('202', '503')
  union all
  select 'processes that hung or ended by themselves', format('%s: %s', c.process, c.problem) from chaos_problems c
  union all
  select 'errors that a process did not foresee', format('%s at stage %s: %s', c.event, c.stage, c.cause)
  from chaos_errors c
  union all
  select 'runs FAILED by their model beyond 4 %', f.item from (
    select format('%s: %s, %s', r.mark, r.error_code, r.error_message) as item,
      row_number() over (order by r.failed_at) as n
    from runs r where r.status = 'FAILED' and r.error_code in (select b.code from blames b)) f
  where f.n > 3 + 0.04 * (select count(*) from runs)  -- a trial of 80 is too short for a rate alone
  union all
  -- whatever models said: search reads each message by its terms, and its record leads to one that is valid
  select 'messages that no search or summary leads to', g.id::text from raw_logs g
  where g.is_remembered and g.archived_at is not null and (g.tsv = '' or not exists (
    with recursive covering as (
      select l.id, l.superseded_by, l.superseded_at, l.raw_log_ids from lsm_storage l
      where l.id = g.record_id and l.user_id = g.user_id
      union all
      select p.id, p.superseded_by, p.superseded_at, p.raw_log_ids from covering c
      join lsm_storage p on p.id = c.superseded_by and p.user_id = g.user_id)
    select from covering c where c.superseded_at is null and g.id = any(c.raw_log_ids)))
)
select n.name as "check", count(o.item)::int as found, 0 as expected,
  (array_agg(distinct o.item) filter (where o.item is not null))[1:5] as examples
from names n left join offences o on o.name = n.name group by n.n, n.name order by n.n;

-- name: happened  -- that there was any chaos: each figure and the least that it must be
select w.name, w.found::int, w.least from (values
  (1, 'processes killed', (select count(*) from chaos_faults where kind = 'kill'), 1),
  (2, 'processes stopped for 5 s', (select count(*) from chaos_faults where kind = 'stop'), 1),
  (3, 'connections of a process terminated', (select count(*) from chaos_faults where kind = 'terminate'), 1),
  (4, 'single connections terminated', (select count(*) from chaos_faults where kind = 'sever'), 1),
  (5, 'restarts of Postgres', (select count(*) from chaos_faults where kind like 'restart%'), 1),
  (6, 'runs that waited for their model', (select count(distinct run_id) from run_events where type = 'deferred'), 0),
  (7, 'model calls reset', (select count(*) from chaos_model_faults where kind = 'reset'), 1),
  (8, 'model calls hung', (select count(*) from chaos_model_faults where kind = 'hang'), 1),
  (9, 'replies cut', (select count(*) from chaos_model_faults where kind = 'cut'), 1),
  (10, 'replies halved', (select count(*) from chaos_model_faults where kind = 'half'), 1),
  (11, 'model calls answered 429', (select count(*) from chaos_model_faults where kind = '429'), 1),
  (12, 'model calls answered 500', (select count(*) from chaos_model_faults where kind = '500'), 1),
  (13, 'reclaims', (select count(*) from run_events where type = 'reclaimed'), 1),
  (14, 'runs reclaimed', (select count(distinct run_id) from run_events where type = 'reclaimed'), 1),
  (15, 'runs with a stage done by rule', (select count(*) from pipeline_runs where cardinality(degraded) > 0), 0),
  (16, 'runs FAILED by their model',
    (select count(*) from pipeline_runs where status = 'FAILED' and error_code <> 'engine_died'), 0),
  (17, 'runs COMPLETED', (select count(*) from pipeline_runs where status = 'COMPLETED'), 1),
  (18, 'requests accepted twice under one key', (select count(*) - count(distinct number) from chaos_accepted), 1)
) as w(n, name, found, least) order by w.n;

-- name: recovery  -- seconds from what ended an owner until its runs were reclaimed, and until they moved on
with reclaims as (
  -- what cost an owner its runs: the last fault of its process, or of Postgres, before they were reclaimed
  select e.owner, f.kind, f.at, v.created_at as reclaimed_at, (
    select min(t.at)
    from unnest(
      array[r.analyzed_at, r.assembling_at, r.ready_at, r.responding_at, r.completed_at, r.archived_at, r.failed_at])
      as t(at) where t.at > v.created_at) as moved_at
  from run_events v join pipeline_runs r on r.id = v.run_id join chaos_engines e on e.owner = (v.payload->>'owner')::int
  cross join lateral (
    select f.kind, f.at from chaos_faults f
    where f.at <= v.created_at and (f.pid = e.pid or f.kind like 'restart%') order by f.at desc limit 1) f
  where v.type = 'reclaimed'
), firsts as (
  select owner, kind, min(reclaimed_at - at) as took from reclaims group by owner, kind
), reclaimed as (
  select kind, count(*) as owners,
    percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from took)) as s
  from firsts group by kind
), moved as (
  select kind, count(*) as runs,
    percentile_cont(array[0.5, 0.99]) within group (order by extract(epoch from moved_at - at)) as s
  from reclaims where moved_at is not null group by kind
)
select kind, owners::int, runs::int, reclaimed.s[1] as reclaimed_p50, reclaimed.s[2] as reclaimed_p99,
  moved.s[1] as moved_p50, moved.s[2] as moved_p99
from reclaimed left join moved using (kind) order by kind;

-- name: replies
select way, outcome, times from chaos_replies order by way, times desc;
