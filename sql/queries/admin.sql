-- What administrators see of all users.

-- name: admin_metrics  -- $1 from, $2 to: a row for each day of MAAS_TIMEZONE with runs,
-- and one without a day for the whole time
-- Tokens and micro-dollars are those of all runs that were created on the day; the other figures are those of
-- questions. The times of a bucket, which is one hundredth wide, count as their mean.
with sums as materialized (
  select subject, day, key, sum(runs) as runs, sum(tokens_in + tokens_out) as tokens, sum(price) as price, sum(us) as us
  from maas.maas_sums_between($1, $2, '{all,status,ms}')
  group by grouping sets ((subject, day, key), (subject, key)) having sum(runs) > 0
), placed as (
  select day, us / runs / 1000 as ms, sum(runs) over (partition by day order by key::int) as upto,
    0.95 * (sum(runs) over (partition by day) - 1) as place
  from sums where subject = 'ms'
), times as (
  select day, min(ms) filter (where upto > floor(place)) as low, min(ms) filter (where upto > ceil(place)) as high,
    min(place) - floor(min(place)) as share
  from placed group by day
)
select a.day, coalesce(s.requests, 0)::bigint as requests, coalesce(s.completed, 0)::bigint as completed,
  coalesce(s.failed, 0)::bigint as failed, s.average_ms, (t.low + t.share * (t.high - t.low))::float8 as p95_ms,
  coalesce(a.tokens, 0)::bigint as tokens, coalesce(a.price, 0)::bigint as price
from (
  select day, tokens, price from sums where subject = 'all'
  union all
  select null, null, null where not exists (select from sums)) a
left join (
  select day, sum(runs) filter (where subject = 'status') as requests,
    sum(runs) filter (where subject = 'status' and key = 'COMPLETED') as completed,
    sum(runs) filter (where subject = 'status' and key = 'FAILED') as failed,
    (sum(us) filter (where subject = 'ms') / sum(runs) filter (where subject = 'ms') / 1000)::float8 as average_ms
  from sums group by day) s on s.day is not distinct from a.day
left join times t on t.day is not distinct from a.day
order by a.day nulls last;

-- name: admin_queue
select inbox, waiting, runnable, deferred, in_flight, paused, scheduled from maas.v_queue;

-- name: list_queued_runs  -- $1 to $10 as list_runs, $11 error code, $12 attributes, $13 where in the queue they are,
-- by the names of v_queue, $14 text: every word of it, or its beginning, is in the query; trials are listed, too.
-- To be planned for its values, as list_runs: each state has its index
select r.id, r.seq, r.user_id, r.kind, r.assistant, r.conversation_id, r.source, r.status, r.archive_status,
  left(r.user_query, 200) as query, left(r.final_answer, 300) as answer, r.error_code, r.error_message, r.limited,
  r.memory, r.created_at, r.completed_at, r.priority, r.run_at, r.attributes, r.replaces
from maas.pipeline_runs r
where r.queue_state = case $13::text when 'scheduled' then -4 when 'paused' then -3 when 'inbox' then -2
    when 'waiting' then -1 when 'runnable' then 0 when 'deferred' then 0 when 'in_flight' then 1 end
  and ($13 <> 'runnable' or r.not_before is null) and ($13 <> 'deferred' or r.not_before is not null)
  and ($1::uuid is null or r.user_id = $1) and ($2::text is null or r.status = $2)
  and ($6::text is null or r.kind = $6) and ($7::uuid is null or r.conversation_id = $7)
  and ($8::text is null or r.assistant = $8)
  and ($9::timestamptz is null or r.created_at >= $9) and ($10::timestamptz is null or r.created_at < $10)
  and ($11::text is null or r.error_code = $11) and ($12::jsonb is null or r.attributes @> $12)
  and ($14::text is null or not exists (
    select from unnest(maas.maas_search_terms($14)) t(term) where not exists (
      select from maas.raw_logs l where l.run_id = r.id and l.user_id = r.user_id and l.tsv @@ t.term)))
  and ($3::timestamptz is null or (r.created_at, r.id) < ($3, $4))
order by r.created_at desc, r.id desc limit $5;

-- name: admin_engines
select host || ':' || pid as name, heartbeat_at, in_flight, concurrency, stages, is_alive from maas.v_orchestrators
order by owner;

-- name: admin_stuck  -- $1 how many
select id as request_id, user_id, status, why, now() - in_status_for as since from maas.v_runs_stuck
order by in_status_for desc, id limit $1;

-- name: admin_embedding
select model, waiting from maas.v_embedding;

-- name: admin_memories  -- $1 user, $2 tag, $3 level, $4 $5 before this created_at and id, $6 how many;
-- nulls mean any; newest first; to be planned for its values, as list_runs
select id, user_id, level, maas.maas_period(time_bucket_end, level) as period, tags, summary as memory,
  cardinality(raw_log_ids) as messages, created_at, superseded_by
from maas.lsm_storage
where not is_provisional and ($1::uuid is null or user_id = $1) and ($2::text is null or tags @> array[$2::text])
  and ($3::int is null or level = $3) and ($4::timestamptz is null or (created_at, id) < ($4, $5::uuid))
order by created_at desc, id desc limit $6;

-- name: admin_actions  -- $1 user, or null for all, $2 $3 before this created_at and id, $4 how many: what waits for a
-- decision, newest first. Those that wait are few beside all: an index has them alone
select id, user_id, conversation_id, run_id, assistant, tool_name as tool,
  nullif(wording->'title', '""') as title, effect, created_at, expires_at
from maas.chat_pending_actions
where status = 'pending' and expires_at > maas.maas_now() and ($1::uuid is null or user_id = $1)
  and ($2::timestamptz is null or (created_at, id) < ($2, $3::uuid))
order by created_at desc, id desc limit $4;

-- name: admin_prompts
select p.role_name as role, p.version, p.is_active, p.updated_at, char_length(p.prompt_template) as characters, (
    select a.actor from maas.audit a
    where a.action = 'prompt_change' and a.details->>'role_name' = p.role_name
      and a.details->>'version' = p.version::text
    order by a.id desc limit 1) as changed_by
from maas.system_prompts p order by p.role_name;

-- name: admin_prompt  -- $1 role
select role_name as role, version, prompt_template as text, is_active, updated_at from maas.system_prompts
where role_name = $1;

-- name: admin_prompt_history  -- $1 role, $2 how many; newest first, the present version included
select v.version, v.text, v.is_active, v.valid_from, (
    select a.actor from maas.audit a
    where a.action = 'prompt_change' and a.details->>'role_name' = $1 and a.details->>'version' = v.version::text
    order by a.id desc limit 1) as changed_by
from (
  select version, prompt_template as text, is_active, updated_at as valid_from from maas.system_prompts
  where role_name = $1
  union all
  select version, prompt_template, is_active, valid_from from maas.system_prompts_history where role_name = $1) v
order by v.version desc limit $2;

-- name: set_prompt  -- $1 role, $2 text, $3 is_active, $4 the version that it was edited from, $5 actor
select verdict, version, actor, changed_at from maas.maas_set_prompt($1, $2, $3, $4, $5);

-- name: insert_trial  -- $1 run, $2 role, $3 text, $4 actor, $5 stage, $6 model
select verdict, id from maas.maas_insert_trial($1, $2, $3, $4, $5, $6);

-- name: trial_input  -- $1 run of kind trial: what is on trial, and the run that it answers again unless it was erased
select r.metadata->'trial'->>'role' as role, r.metadata->'trial'->>'text' as text,
  r.metadata->'trial'->>'stage' as stage, r.metadata->'trial'->>'model' as model,
  o.id as run_id, o.seq, o.created_at as asked_at, coalesce(o.analyzing_at, o.created_at) as began_at
from maas.pipeline_runs r
join maas.pipeline_runs o on o.id = (r.metadata->'trial'->>'run_id')::uuid and o.user_id = r.user_id
where r.id = $1 and r.kind = 'trial';

-- name: user_ids  -- $1 part of a name in any case, or of a chat's number, or null, $2 after this user, $3 how many
-- By id. Users are found by steps in the index of runs, so that the number of runs does not matter.
with recursive askers as (
  (select user_id from maas.pipeline_runs where $1::text is null and user_id > $2 order by user_id limit 1)
  union all
  select (select r.user_id from maas.pipeline_runs r where r.user_id > a.user_id order by r.user_id limit 1)
  from askers a where a.user_id is not null
), users as (
  (select distinct i.user_id from maas.user_identities i
   where i.user_id > $2 and ($1::text is null or strpos(lower(i.external_id), lower($1)) > 0)
   order by 1 limit $3)
  union
  (select a.user_id from maas.auth_users a where a.user_id > $2
     and ($1::text is null or strpos(lower(concat_ws(' ', a.email, a.name)), lower($1)) > 0) order by 1 limit $3)
  union
  (select distinct c.user_id from maas.chat_conversations c
   where $1::text is not null and c.telegram_chat_id is not null and c.is_open and strpos(c.telegram_chat_id, $1) > 0
     and c.user_id > $2 order by 1 limit $3)
  union
  (select l.user_id from maas.user_roles l where $1::text is null and l.user_id > $2 order by 1 limit $3)
  union
  (select a.user_id from (select user_id from askers limit $3) a where a.user_id is not null)
)
select user_id from users order by user_id limit $3;

-- name: ranked_user_ids  -- $1 part of a name in any case, or of a chat's number, or null, $2 last_run, spend or
-- errors, $3 $4 below this rank and user, or nulls, $5 how many; the highest rank first, and in each row what all these
-- users have in sum
with recursive askers as (
  (select user_id from maas.pipeline_runs where $1::text is null order by user_id limit 1)
  union all
  select (select r.user_id from maas.pipeline_runs r where r.user_id > a.user_id order by r.user_id limit 1)
  from askers a where a.user_id is not null
), users as (
  select a.user_id from askers a where a.user_id is not null
  union
  select i.user_id from maas.user_identities i
  where $1::text is null or strpos(lower(i.external_id), lower($1)) > 0
  union
  select a.user_id from maas.auth_users a
  where $1::text is null or strpos(lower(concat_ws(' ', a.email, a.name)), lower($1)) > 0
  union
  select c.user_id from maas.chat_conversations c
  where $1::text is not null and c.telegram_chat_id is not null and c.is_open and strpos(c.telegram_chat_id, $1) > 0
  union
  select l.user_id from maas.user_roles l where $1::text is null
), spent as (
  select c.user_id, c.price::bigint as price from maas.v_cost_user c
), failed as (
  select r.user_id, count(*) as errors from maas.pipeline_runs r where r.failed_at is not null group by r.user_id
), ranked as materialized (
  select u.user_id, coalesce(s.price, 0) as price, coalesce(f.errors, 0) as errors, coalesce(
    case $2::text when 'spend' then s.price when 'errors' then f.errors else (
      select (extract(epoch from r.created_at) * 1000000)::bigint from maas.pipeline_runs r
      where r.user_id = u.user_id order by r.seq desc limit 1) end, 0)::bigint as rank
  from users u left join spent s using (user_id) left join failed f using (user_id)
)
select p.user_id, p.rank, t.users, t.price, t.errors
from (
  select k.user_id, k.rank from ranked k where $3::bigint is null or (k.rank, k.user_id) < ($3, $4::uuid)
  order by k.rank desc, k.user_id desc limit $5) p
cross join (
  select count(*) as users, sum(k.price)::bigint as price, sum(k.errors)::bigint as errors from ranked k) t
order by p.rank desc, p.user_id desc;

-- name: admin_users  -- $1 users: in this order
select p.user_id, array(
    select i.external_id from maas.user_identities i where i.user_id = p.user_id
    order by i.created_at, i.external_id limit 10) as names,
  exists (select from maas.user_roles l where l.user_id = p.user_id and l.role = 'admin') as is_admin,
  exists (select from maas.user_roles l where l.user_id = p.user_id and l.role = 'blocked') as is_blocked,
  (select count(*) from maas.pipeline_runs r where r.user_id = p.user_id) as runs,
  (select count(*) from maas.pipeline_runs r where r.user_id = p.user_id and r.failed_at is not null) as errors,
  coalesce((select c.price from maas.v_cost_user c where c.user_id = p.user_id), 0)::bigint as price,
  (select r.created_at from maas.pipeline_runs r where r.user_id = p.user_id
   order by r.seq desc limit 1) as last_run_at,
  least((select min(i.created_at) from maas.user_identities i where i.user_id = p.user_id),
    (select r.created_at from maas.pipeline_runs r where r.user_id = p.user_id order by r.seq limit 1),
    a.created_at) as created_at,
  a.email, coalesce(a.name, u.name) as name
from unnest($1::uuid[]) with ordinality p(user_id, n) left join maas.auth_users a on a.user_id = p.user_id
left join maas.user_profiles u on u.user_id = p.user_id
order by p.n;

-- name: names_of_users  -- $1 users: what one calls each, null where no name is known
select u.user_id, coalesce(a.name, a.email, p.name, (
    select i.external_id from maas.user_identities i where i.user_id = u.user_id
    order by i.created_at, i.external_id limit 1)) as name
from unnest($1::uuid[]) u(user_id) left join maas.auth_users a on a.user_id = u.user_id
left join maas.user_profiles p on p.user_id = u.user_id;

-- name: admin_spending  -- $1 from, $2 to, $3 day, user, assistant, model or stage, $4 how many: what calls of that
-- time cost by it, the dearest first, days in their order; in each row what all cost
with sums as (
  select key, user_id, sum(calls)::bigint as calls, sum(runs)::bigint as runs, sum(tokens_in)::bigint as tokens_in,
    sum(tokens_out)::bigint as tokens_out, sum(price)::bigint as price, sum(unpriced)::bigint as unpriced
  from maas.maas_sums_between($1, $2, array[$3::text]) group by key, user_id having sum(runs) > 0
)
select coalesce(user_id::text, key) as key, calls, runs, tokens_in, tokens_out, price, unpriced,
  sum(price) over ()::bigint as total, count(*) over () as keys
from sums
order by case when $3::text = 'day' then key end desc, price desc, tokens_in + tokens_out desc, key, user_id limit $4;

-- name: admin_assistants
select name, coalesce(definition->>'title', initcap(replace(name, '_', ' '))) as title, role_name as role, plugin,
  is_active, inactive_reason, updated_at
from maas.assistants order by is_active desc, name;

-- name: set_roles  -- $1 user, $2 is_admin, $3 is_blocked, $4 actor; null leaves a role as it is
select maas.maas_set_roles($1, $2, $3, $4);

-- name: user_sessions  -- $1 user: the open sessions of the account, the newest first
select id, method, created_at, rotated_at as refreshed_at, expires_at from maas.auth_sessions
where user_id = $1 and revoked_at is null and expires_at > maas.maas_now() order by created_at desc, id;

-- name: admin_audit  -- $1 user, $2 action, $3 before this id, $4 how many; nulls mean any; newest first
select id, at, actor, action, user_id, subject, details from maas.audit
where ($1::uuid is null or user_id = $1) and ($2::text is null or action = $2) and ($3::bigint is null or id < $3)
order by id desc limit $4;

-- name: saved_filters  -- $1 owner
select list, name, query from maas.saved_filters where owner = $1 order by list, name;

-- name: save_filter  -- $1 owner, $2 list, $3 name, $4 query
select maas.maas_save_filter($1, $2, $3, $4);

-- name: drop_filter  -- $1 owner, $2 list, $3 name
select maas.maas_drop_filter($1, $2, $3);
