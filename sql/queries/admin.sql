-- What administrators see of all users.

-- name: admin_metrics  -- $1 from, $2 to: a row for each day of MAAS_TIMEZONE with runs,
-- and one without a day for the whole time
-- Tokens and micro-dollars are those of all runs that were created on the day; the other figures are those of
-- questions.
with runs as materialized (
  select r.id, r.kind, r.status, (r.created_at at time zone z.zone)::date as day,
    case when r.status = 'COMPLETED' then extract(epoch from r.completed_at - r.created_at)::float8 * 1000 end as ms
  from maas.pipeline_runs r
  cross join (select value as zone from maas.engine_settings where key = 'timezone') z
  where r.created_at >= $1 and r.created_at < $2
), costs as (
  select r.day, sum(c.tokens_in::bigint + c.tokens_out)::bigint as tokens, coalesce(sum(c.price), 0)::bigint as price
  from runs r join maas.llm_calls c on c.run_id = r.id group by grouping sets ((r.day), ())
)
select m.day, m.requests, m.completed, m.failed, m.average_ms, m.p95_ms, coalesce(c.tokens, 0) as tokens,
  coalesce(c.price, 0) as price
from (
  select day, count(*) filter (where kind = 'ask') as requests,
    count(*) filter (where kind = 'ask' and status = 'COMPLETED') as completed,
    count(*) filter (where kind = 'ask' and status = 'FAILED') as failed,
    avg(ms) filter (where kind = 'ask') as average_ms,
    percentile_cont(0.95) within group (order by ms) filter (where kind = 'ask') as p95_ms
  from runs group by grouping sets ((day), ())) m
left join costs c on c.day is not distinct from m.day
order by m.day nulls last;

-- name: admin_queue
select inbox, waiting, runnable, deferred, in_flight from maas.v_queue;

-- name: admin_engines
select host || ':' || pid as name, heartbeat_at, in_flight, concurrency, stages, is_alive from maas.v_orchestrators
order by owner;

-- name: admin_stuck  -- $1 how many
select id as request_id, user_id, status, why, now() - in_status_for as since from maas.v_runs_stuck
order by in_status_for desc, id limit $1;

-- name: admin_embedding
select model, waiting from maas.v_embedding;

-- name: admin_memories  -- $1 user, $2 tag, $3 level, $4 $5 before this created_at and id, $6 how many;
-- nulls mean any; newest first
-- one branch for a user and one for all: each has its index, and one plan serves both
select id, user_id, level, maas.maas_period(time_bucket_end, level) as period, tags, summary as memory,
  cardinality(raw_log_ids) as messages, created_at, superseded_by
from (
  (select * from maas.lsm_storage
   where user_id = $1 and not is_provisional and ($2::text is null or tags @> array[$2::text])
    and ($3::int is null or level = $3) and ($4::timestamptz is null or (created_at, id) < ($4, $5::uuid))
   order by created_at desc, id desc limit $6)
  union all
  (select * from maas.lsm_storage
   where $1::uuid is null and not is_provisional and ($2::text is null or tags @> array[$2::text])
    and ($3::int is null or level = $3) and ($4::timestamptz is null or (created_at, id) < ($4, $5::uuid))
   order by created_at desc, id desc limit $6)) l
order by created_at desc, id desc limit $6;

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

-- name: insert_trial  -- $1 run, $2 role, $3 text, $4 actor
select verdict, id from maas.maas_insert_trial($1, $2, $3, $4);

-- name: trial_input  -- $1 run of kind trial: its prompt, and the context of the run that it answers again;
-- none if that was erased
select r.metadata->'trial'->>'role' as role, r.metadata->'trial'->>'text' as text, o.draft_context,
  o.final_context_payload, o.created_at as asked_at
from maas.pipeline_runs r
join maas.pipeline_runs o on o.id = (r.metadata->'trial'->>'run_id')::uuid and o.user_id = r.user_id
where r.id = $1 and r.kind = 'trial' and o.final_context_payload is not null;

-- name: admin_users  -- $1 part of a name in any case, or null, $2 a user, or null: the only one, $3 after this user,
-- $4 how many
-- By id. Users are found by steps in the index of runs, so that the number of runs does not matter.
with recursive askers as (
  (select user_id from maas.pipeline_runs where $1::text is null and $2::uuid is null and user_id > $3
   order by user_id limit 1)
  union all
  select (select r.user_id from maas.pipeline_runs r where r.user_id > a.user_id order by r.user_id limit 1)
  from askers a where a.user_id is not null
), users as (
  select $2::uuid as user_id where $2::uuid is not null
  union
  (select distinct i.user_id from maas.user_identities i
   where $2::uuid is null and i.user_id > $3 and ($1::text is null or strpos(lower(i.external_id), lower($1)) > 0)
   order by 1 limit $4)
  union
  (select a.user_id from maas.auth_users a where $2::uuid is null and a.user_id > $3
     and ($1::text is null or strpos(lower(concat_ws(' ', a.email, a.name)), lower($1)) > 0) order by 1 limit $4)
  union
  (select l.user_id from maas.user_roles l where $1::text is null and $2::uuid is null and l.user_id > $3
   order by 1 limit $4)
  union
  (select a.user_id from (select user_id from askers limit $4) a where a.user_id is not null)
), page as (
  select user_id from users order by user_id limit $4
)
select p.user_id, array(
    select i.external_id from maas.user_identities i where i.user_id = p.user_id
    order by i.created_at, i.external_id limit 10) as names,
  exists (select from maas.user_roles l where l.user_id = p.user_id and l.role = 'admin') as is_admin,
  (select count(*) from maas.pipeline_runs r where r.user_id = p.user_id) as runs,
  (select r.created_at from maas.pipeline_runs r where r.user_id = p.user_id
   order by r.seq desc limit 1) as last_run_at,
  least((select min(i.created_at) from maas.user_identities i where i.user_id = p.user_id),
    (select r.created_at from maas.pipeline_runs r where r.user_id = p.user_id order by r.seq limit 1),
    a.created_at) as created_at,
  a.email, a.name
from page p left join maas.auth_users a on a.user_id = p.user_id order by p.user_id;

-- name: set_admin  -- $1 user, $2 is_admin, $3 actor
select maas.maas_set_admin($1, $2, $3);

-- name: admin_audit  -- $1 user, $2 action, $3 before this id, $4 how many; nulls mean any; newest first
select id, at, actor, action, user_id, subject, details from maas.audit
where ($1::uuid is null or user_id = $1) and ($2::text is null or action = $2) and ($3::bigint is null or id < $3)
order by id desc limit $4;
