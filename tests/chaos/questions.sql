-- What the run asks while it goes on.

-- name: backlog  -- of the load
select count(*) from pipeline_runs where queue_state < 2 and user_query not like 'act: %';

-- name: end_connections  -- of a role, at most so many
select count(pg_terminate_backend(pid))
from (select pid from pg_stat_activity where usename = $1 order by random() limit $2) a;

-- name: connections_left  -- of the processes, when all should have ended
select usename::text as role, application_name as application from pg_stat_activity
where usename like 'chaos\_%' and usename <> 'chaos_application';

-- name: living_pids
select pid from v_engines where is_alive;

-- name: unfinished  -- what a run that came to a standstill leaves behind
select id, queue_state, status, archive_status, owner, attempt, updated_at, left(user_query, 30) as query
from pipeline_runs where queue_state < 2 order by seq limit 10;

-- name: insert_run
insert into pipeline_runs (id, user_id, user_query) values ($1, $2, $3);

-- name: insert_runs
insert into pipeline_runs (id, user_id, user_query) select * from unnest($1::uuid[], $2::uuid[], $3::text[]);

-- name: are_there
select count(*) > 0 from pipeline_runs where id = any($1::uuid[]);

-- name: version
select current_setting('server_version');
