-- Traces of runs for debugging, and the input of replays.

-- name: run_trace  -- $1 run: each column is a JSON array or object
with me as materialized (
  select id, user_id, queue_key, seq, created_at, sources, coalesce(archived_at, failed_at, now()) as ended_at
  from maas.pipeline_runs where id = $1
), given as materialized (
  select g.id, g.kind from me cross join lateral jsonb_to_recordset(me.sources) as g(id uuid, kind text)
), records as materialized (  -- offset 0: by id alone, whatever else is known of the rows
  select l.id, l.level, maas.maas_period(l.time_bucket_end, l.level) as period, l.tags, l.summary, l.raw_log_ids
  from (select * from maas.lsm_storage where id = any(array(select id from given where kind = 'summary')) offset 0) l
  join me on me.user_id = l.user_id
), words as materialized (
  select l.id, l.run_id, l.message_type, l.content, l.speaker, l.conversation, l.external_id,
    l.occurred_at, l.created_at
  from (select * from maas.raw_logs where id = any(array(
    select id from given where kind <> 'summary' union select unnest(raw_log_ids) from records)) offset 0) l
  join me on me.user_id = l.user_id
), calls as materialized (
  select try, stage, round, attempt, provider, model, role_name, prompt_version, reply, finish, attempts, tokens_in,
    tokens_out, tokens_cached, images, ms, first_ms, price, error, request_hash, calls, created_at
  from maas.llm_calls where run_id = $1
)
select
  (select coalesce(jsonb_agg(jsonb_build_object('happened', happened, 'at', at, 'details', details) order by at), '[]')
   from maas.v_run_history where run_id = $1) as history,
  (select coalesce(jsonb_agg(to_jsonb(c) order by c.try, c.created_at, c.stage, c.round), '[]') from calls c) as calls,
  (select coalesce(jsonb_agg(
     jsonb_build_object('role', c.role_name, 'version', c.prompt_version,
       'current_version', case when p.is_active then p.version end,
       'text', case when p.version = c.prompt_version then p.prompt_template else h.prompt_template end)
     order by c.role_name, c.prompt_version), '[]')
   from (select distinct role_name, prompt_version from calls) c
   left join maas.system_prompts p on p.role_name = c.role_name
   left join maas.system_prompts_history h on h.role_name = c.role_name and h.version = c.prompt_version) as prompts,
  (select coalesce(jsonb_agg(
     jsonb_build_object('try', t.try, 'attempt', t.attempt, 'call_id', t.call_id, 'tool', t.tool, 'effect', t.effect,
       'status', t.status, 'arguments', t.arguments, 'result', t.result, 'ms', t.ms, 'created_at', t.created_at)
     order by t.id), '[]')
   from maas.tool_executions t where t.run_id = $1) as tools,
  (select coalesce(jsonb_agg(to_jsonb(s) - 'run_id' order by s.number), '[]') from maas.task_steps s
   where s.run_id = $1) as steps,
  (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from records r) as records,
  (select coalesce(jsonb_agg(to_jsonb(w) order by w.occurred_at, w.id), '[]') from words w) as words,
  (select jsonb_build_object('id', b.id, 'seq', b.seq, 'ended_at', b.ended_at)
   from me cross join lateral (
     select r.id, r.seq,
       case r.queue_state when 2 then coalesce(r.archived_at, r.failed_at, r.updated_at) end as ended_at
     from maas.pipeline_runs r where r.user_id = me.user_id and r.queue_key = me.queue_key and r.seq < me.seq
     order by r.seq desc limit 1) b) as before,
  (select coalesce(jsonb_agg(
     jsonb_build_object('id', a.id, 'seq', a.seq, 'created_at', a.created_at) order by a.seq), '[]')
   from me cross join lateral (
     select r.id, r.seq, r.created_at
     from maas.pipeline_runs r where r.user_id = me.user_id and r.queue_key = me.queue_key and r.seq > me.seq
     order by r.seq limit 10) a
   where a.created_at < me.ended_at) as waiting;

-- name: stage_calls  -- $1 run, $2 stage: its model calls in the last try, with what was sent as a hash
select provider, model, prompt_version, finish, attempts, tokens_in, tokens_out, ms, price, error, request_hash
from maas.llm_calls where run_id = $1 and stage = $2 and try = (select try from maas.pipeline_runs where id = $1)
order by round;

-- name: recorded_exchange  -- $1 run: its own logs, and logs of other runs that its summary covers, as before archiving
select l.id, l.message_type, l.content, l.speaker, l.occurred_at, l.origins
from maas.pipeline_runs r join maas.raw_logs l on l.run_id = r.id and l.user_id is not distinct from r.user_id
where r.id = $1 and l.is_remembered
union all
select l.id, l.message_type, l.content, l.speaker, l.occurred_at, l.origins
from maas.pipeline_runs r join maas.raw_logs l on l.user_id = r.user_id and l.archived_run_id = r.id
where r.id = $1 and l.run_id <> $1
order by occurred_at;

-- name: recorded_record  -- $1 run: the summary that it made, merged since or not;
-- nulls for small talk, no row for nothing
select s.tags, s.summary
from maas.pipeline_runs r
join maas.raw_logs l on l.run_id = r.id and l.archived_run_id = r.id and l.user_id is not distinct from r.user_id
left join maas.lsm_storage s on s.id = l.record_id and s.user_id is not distinct from r.user_id
where r.id = $1 order by l.record_id nulls last limit 1;
