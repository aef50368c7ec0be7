-- Compaction: the summaries to be merged, and into which bucket.

-- name: due_groups  -- $1 as of or null, $2 user or null, $3 how many a level; lower levels first, older buckets first
with importing as materialized (
  -- skip users with an import in progress: their days would be merged repeatedly
  select array(select user_id from maas.pipeline_runs where queue_state in (0, 1) and kind = 'archive') as users
)
select g.user_id, l.level, g.day
from generate_series(1, 3) as l(level) cross join lateral (
  select distinct d.user_id, lower(maas.maas_bucket(l.level, d.time_bucket_end)) as day
  from (
    select user_id, time_bucket_end from maas.lsm_storage
    where superseded_at is null and not is_provisional and level = l.level - 1
      and time_bucket_end <= maas.maas_due_until(l.level, maas.maas_day(coalesce($1::timestamptz, maas.maas_now())))
      and ($2::uuid is null or user_id = $2) and user_id <> all ((select users from importing)::uuid[])
    order by time_bucket_end limit 20 * $3) d
  order by 2, 1 limit $3
) g
where not exists (  -- the buckets of the lower level come first
  select from maas.lsm_storage y
  where y.user_id = g.user_id and not y.is_provisional and y.superseded_at is null and y.level < l.level - 1
    and y.time_bucket_end >= g.day and y.time_bucket_end < upper(maas.maas_bucket(l.level, g.day)))
order by l.level, g.day;

-- name: count_due  -- $1 as of or null, $2 user or null: buckets, of all levels together
with importing as materialized (
  select array(select user_id from maas.pipeline_runs where queue_state in (0, 1) and kind = 'archive') as users
)
select count(*) from (
  select distinct l.level, d.user_id, lower(maas.maas_bucket(l.level, d.time_bucket_end))
  from generate_series(1, 3) as l(level) join maas.lsm_storage d
    on d.superseded_at is null and not d.is_provisional and d.level = l.level - 1
    and d.time_bucket_end <= maas.maas_due_until(l.level, maas.maas_day(coalesce($1::timestamptz, maas.maas_now())))
  where ($2::uuid is null or d.user_id = $2) and d.user_id <> all ((select users from importing)::uuid[])) g;

-- name: group_children  -- $1 user, $2 level, $3 a day of the bucket; oldest first
select id, level, time_bucket_start, time_bucket_end, summary, is_degraded, origins,
  greatest(cardinality(raw_log_ids), 1) as messages
from maas.maas_bucket_records($1, $2, $3) order by time_bucket_end, occurred_at, id;

-- name: compact
select maas.maas_compact($1, $2, $3, $4::uuid[], $5, $6, $7::jsonb);

-- name: left_out_days  -- $1 within so many days: of each model the days that it merged,
-- and of how many it wrote nothing usable
select provider || ':' || model as model, sum(days)::int as days, sum(cardinality(left_out))::int as left_out
from maas.compactions
where created_at > maas.maas_now() - make_interval(days => $1) and days > 0 and provider <> 'extractive'
group by 1 order by 3 desc, 1;
