-- What a run says while it is answered: text, tools, layers. Rows of `run_events`, numbered without a gap and committed in
-- the order of their numbers, so that who has read up to n misses nothing by going on after n. Statuses are no rows: they
-- stand in the run's own columns, and followers read both in one statement.

comment on table run_events is 'What a run said and what happened to it, beside its way through the statuses; n grows by one';

create or replace function maas_add_event(p_run uuid, p_type text, p_payload jsonb) returns void language plpgsql as $$
begin
  loop
    insert into run_events (run_id, n, type, payload)
    select r.id, (select coalesce(max(e.n), 0) + 1 from run_events e where e.run_id = p_run), p_type, p_payload
    from pipeline_runs r where r.id = p_run for key share of r
    on conflict (run_id, n) do nothing;  -- its owner wrote at the same moment: the next number, seen by a new statement
    exit when found or not exists (select from pipeline_runs where id = p_run);
  end loop;
end $$;

create function maas_add_events(p_events jsonb) returns setof int language plpgsql as $$
declare
  todo int[] := array(select generate_series(1, jsonb_array_length(p_events)));
  written int[];
  lost int[];
begin
  -- events: {run_id, attempt, type, payload}. One of each run at a time: two in one statement could swap their places.
  while cardinality(todo) > 0 loop
    with given as materialized (
      select distinct on (e.run_id) e.run_id, e.attempt, e.type, e.payload, e.place
      from rows from (jsonb_to_recordset(p_events) as (run_id uuid, attempt int, type text, payload jsonb)) with ordinality
        as e(run_id, attempt, type, payload, place)
      where e.place = any(todo) order by e.run_id, e.place
    ), mine as materialized (
      select g.* from given g cross join lateral (  -- one probe a run; one that is being erased is waited for, and not found
        select from pipeline_runs r where r.id = g.run_id and r.attempt = g.attempt and r.owner is not null for key share) r
    ), added as (
      insert into run_events (run_id, n, type, payload, created_at)
      select m.run_id, (select coalesce(max(e.n), 0) + 1 from run_events e where e.run_id = m.run_id), m.type, m.payload,
        clock_timestamp()
      from mine m on conflict (run_id, n) do nothing returning run_id
    )
    select coalesce(array_agg(g.place) filter (where a.run_id is not null), '{}'),
      coalesce(array_agg(g.place) filter (where m.run_id is null), '{}')
    into written, lost from given g left join mine m using (run_id) left join added a using (run_id);
    return query select unnest(written);
    todo := array(select t from unnest(todo) t where t <> all(written || lost) order by t);
  end loop;
end $$;
comment on function maas_add_events is 'Writes events of runs that are still the caller''s, in order; which ones these were, counted from 1';
alter function maas_add_events set enable_seqscan = off;  -- a plan is made once a session, often while the tables are small

create table app_users (
  user_id uuid primary key,
  is_tech_admin boolean not null default false
);
comment on table app_users is 'What is known of a user beside their memory; most have no row';
comment on column app_users.is_tech_admin is 'May see the debug layers of their own requests in production';
