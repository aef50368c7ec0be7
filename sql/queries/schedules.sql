-- Schedules: requests that are sent by the clock.

-- name: create_schedule  -- $1 user, $2 query, $3 cron, $4 zone, $5 assistant, $6 conversation, $7 to $9
select maas.maas_create_schedule($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: change_schedule  -- $1 id, $2 query, $3 cron, $4 zone, $5 catch up, $6 is paused, $7 next time, $8 actor
select maas.maas_change_schedule($1, $2, $3, $4, $5, $6, $7, $8);

-- name: delete_schedule  -- $1 id, $2 actor
select maas.maas_delete_schedule($1, $2);

-- name: schedule
select * from maas.schedules where id = $1;

-- name: list_schedules  -- $1 user
select * from maas.schedules where user_id = $1 order by created_at, id;

-- name: owner_of_schedule
select user_id from maas.schedules where id = $1;

-- name: due_schedules  -- $1 limit
select id, cron, timezone, catch_up, next_at, maas.maas_now() as now from maas.schedules
where paused_at is null and coalesce(next_at, '-infinity'::timestamptz) <= maas.maas_now()
order by coalesce(next_at, '-infinity'::timestamptz) limit $1;

-- name: run_schedule  -- $1 id, $2 next time that was read, $3 times, $4 next time, $5 error
select maas.maas_run_schedule($1, $2, $3, $4, $5);
