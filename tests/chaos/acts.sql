-- What operators and the clock do during a trial, and what became of it.

-- name: act_assistants
insert into assistants (name, role_name, definition)
values ('limited', 'Mentor', '{"model": "openai:limited"}'), ('resting', 'Mentor', '{}') on conflict do nothing;

-- name: act_schedule  -- its first times have passed
select maas_create_schedule($1, 'act: what is new?', '* * * * *', 'UTC', p_catch_up => 'all',
  p_next_at => date_trunc('minute', now()) - interval '2 minutes')
where not exists (select from schedules where user_id = $1);

-- name: act_ask  -- $1 id, $2 user, $3 assistant, $4 attributes
insert into pipeline_runs (id, user_id, user_query, assistant, attributes)
values ($1, $2, 'act: what did I say before?', $3, $4::text::jsonb) on conflict do nothing;

-- name: act_pause  -- since when it surely holds
select verdict, clock_timestamp() as at from maas_pause('assistant', 'resting', null, 'chaos');

-- name: act_resume
select verdict, clock_timestamp() as at from maas_resume('assistant', 'resting', 'chaos');

-- name: act_time
select clock_timestamp() as at;

-- name: act_unfinished  -- of a batch
select count(*) from pipeline_runs where attributes @> $1::text::jsonb and queue_state < 2;

-- name: act_left
select count(*) from pipeline_runs where queue_state < 2 and user_query like 'act: %';

-- name: act_end_schedules  -- how many still have a time that has passed
with ended as (
  update schedules set paused_at = clock_timestamp()
  where paused_at is null and next_at > clock_timestamp() returning id
)
select count(*) from schedules where paused_at is null and id not in (select id from ended);

-- name: acts
with names(n, name) as (values
  (1, 'acts that did not take place'),
  (2, 'times of a schedule without exactly one request'),
  (3, 'requests of a schedule for no time of it'),
  (4, 'runs begun while their assistant was paused'),
  (5, 'minutes with more calls of a model than its limit'),
  (6, 'acts'' runs that are not finished'),
  (7, 'runs that were cancelled and not tried again'),
  (8, 'runs with another number of tries than retries'),
  (9, 'acts'' runs with a wrong number of logs')
), acts as materialized (
  select r.* from pipeline_runs r where r.user_query like 'act: %'
), due as materialized (
  select s.id, t.at from schedules s cross join lateral generate_series(
    date_trunc('minute', s.created_at) - interval '2 minutes', s.paused_at, interval '1 minute') t(at)
), offences(name, item) as (
  select 'acts that did not take place', t.name from (values
    ('schedule', exists (select from acts where source = 'schedule')),
    ('pause', exists (select from chaos_pauses)),
    ('limit', exists (select from chaos_calls)),
    ('retry', exists (select from run_events e join acts r on r.id = e.run_id where e.type = 'retried'))
  ) t(name, is_there) where not t.is_there
  union all
  select 'times of a schedule without exactly one request', format('%s at %s: %s', d.id, d.at, count(r.id))
  from due d left join acts r on r.source = 'schedule' and r.attributes->>'schedule' = d.id::text and r.run_at = d.at
  group by d.id, d.at having count(r.id) <> 1
  union all
  select 'requests of a schedule for no time of it', r.id::text from acts r
  where r.source = 'schedule' and not exists (
    select from due d where d.id::text = r.attributes->>'schedule' and d.at = r.run_at)
  union all
  select 'runs begun while their assistant was paused', format('%s at %s', r.id, r.analyzing_at)
  from acts r join chaos_pauses p on r.analyzing_at > p.began_at and r.claimed_at between p.began_at and p.ended_at
    and (r.completed_at is null or r.claimed_at < r.completed_at)
  where r.assistant = 'resting'
  union all
  -- a tenth of a minute may be asked for at once, and a process that was stopped may make its calls late
  select 'minutes with more calls of a model than its limit', format('%s until %s', w.calls, w.at) from (
    select c.at, count(*) over (order by c.at range between interval '1 minute' preceding and current row) as calls
    from chaos_calls c) w
  where w.calls > 20 + 2 + 2
  union all
  select 'acts'' runs that are not finished', format('%s: %s, queue_state %s', r.id, r.status, r.queue_state)
  from acts r where r.queue_state <> 2
  union all
  select 'runs that were cancelled and not tried again', r.id::text from acts r where r.error_code = 'cancelled'
  union all
  select 'runs with another number of tries than retries', format('%s: %s', r.id, r.try) from acts r
  where r.try - 1 <> (select count(*) from run_events e where e.run_id = r.id and e.type = 'retried')
  union all
  select 'acts'' runs with a wrong number of logs', format('%s, %s: %s', r.id, r.status, count(g.id)) from acts r
  left join raw_logs g on g.run_id = r.id
  group by r.id, r.status
  having count(*) filter (where g.message_type = 'user_query') <> 1
    or count(*) filter (where g.message_type = 'assistant_response') <> (r.status = 'COMPLETED')::int
)
select n.name as "check", count(o.item)::int as found, 0 as expected,
  (array_agg(distinct o.item) filter (where o.item is not null))[1:5] as examples
from names n left join offences o on o.name = n.name group by n.n, n.name order by n.n;
