-- Sums of runs and model calls by day (sql/schema/29_daily_sums.sql).
--
-- A run is counted when it has been finished for ten minutes: maas_add_calls takes no call of a run that ended more
-- than five minutes ago, so a counted run does not change. maas_retry_run takes it out of the sums again.
--
-- Runs commit in another order than they are inserted in. A run whose transaction is older than ten minutes at the
-- insert is noted by log_queries. All others of before a time are visible when every transaction has ended that could
-- write ten minutes after that time: next_until and next_xid are noted in one call, and used by a later one.

create or replace function maas.maas_sums_of(p_runs uuid[], p_zone text)
returns table (subject text, day date, key text, user_id uuid, runs int, calls int, tokens_in bigint, tokens_out bigint,
  price bigint, unpriced int, us bigint)
language sql stable as $$
  with asked as materialized (
    select r.id, r.user_id, r.assistant, r.status, (r.created_at at time zone p_zone)::date as day,
      r.kind = 'ask' as is_question, case when r.kind = 'ask' and r.status = 'COMPLETED'
        then (extract(epoch from r.completed_at - r.created_at) * 1000000)::bigint end as us
    from maas.pipeline_runs r where r.id = any(p_runs)
  ), called as materialized (
    select a.id, a.user_id, a.assistant, a.day, c.stage, c.provider || ':' || c.model as model,
      (c.created_at at time zone p_zone)::date as called_on, c.finish <> 'skipped' as is_made,
      c.tokens_in::bigint as tokens_in, c.tokens_out::bigint as tokens_out, c.price
    from asked a join maas.llm_calls c on c.run_id = a.id
  )
  select 'all', a.day, '', null::uuid, count(*)::int, coalesce(sum(c.calls), 0)::int,
    coalesce(sum(c.tokens_in), 0)::bigint, coalesce(sum(c.tokens_out), 0)::bigint, coalesce(sum(c.price), 0)::bigint,
    coalesce(sum(c.unpriced), 0)::int, 0::bigint
  from asked a left join (
    select o.id, count(*) as calls, sum(o.tokens_in) as tokens_in, sum(o.tokens_out) as tokens_out,
      sum(o.price) as price, count(*) filter (where o.price is null) as unpriced
    from called o group by o.id) c using (id)
  group by a.day
  union all
  select 'status', a.day, a.status, null, count(*)::int, 0, 0, 0, 0, 0, 0
  from asked a where a.is_question group by a.day, a.status
  union all
  select 'ms', a.day, floor(100 * ln(greatest(a.us, 1)))::int::text, null, count(*)::int, 0, 0, 0, 0, 0,
    sum(a.us)::bigint
  from asked a where a.us is not null group by a.day, floor(100 * ln(greatest(a.us, 1)))
  union all
  select s.subject, c.day, s.key, s.user_id, count(distinct c.id)::int, count(*)::int, sum(c.tokens_in)::bigint,
    sum(c.tokens_out)::bigint, coalesce(sum(c.price), 0)::bigint, count(*) filter (where c.price is null)::int, 0
  from called c cross join lateral (values
    ('day', c.called_on::text, null::uuid), ('user', '', c.user_id), ('assistant', c.assistant, null),
    ('model', c.model, null), ('stage', c.stage, null)) s(subject, key, user_id)
  where c.is_made group by s.subject, c.day, s.key, s.user_id
$$;
comment on function maas.maas_sums_of is
  'What these runs add to the sums, from themselves; user_id: of the subject user';

create or replace function maas.maas_sums_between(p_from timestamptz, p_to timestamptz, p_subjects text[])
returns table (subject text, day date, key text, user_id uuid, runs int, calls int, tokens_in bigint, tokens_out bigint,
  price bigint, unpriced int, us bigint)
language sql stable as $$
  with counted as materialized (
    select s.counted_until, z.zone, d.first_day, d.end_day, d.first_day::timestamp at time zone z.zone as first_at,
      d.end_day::timestamp at time zone z.zone as end_at
    from maas.sums_state s
    cross join lateral (
      select coalesce(s.zone, (select value from maas.engine_settings where key = 'timezone')) as zone) z
    cross join lateral (  -- days of which all counted runs are asked for
      select (p_from at time zone z.zone)::date
          + (p_from > (p_from at time zone z.zone)::date::timestamp at time zone z.zone)::int as first_day,
        (p_to at time zone z.zone)::date
          + (p_to > greatest(s.counted_until, (p_to at time zone z.zone)::date::timestamp at time zone z.zone))::int
          as end_day) d
  ), others as materialized (
    select s.zone, array(
        select r.id from maas.pipeline_runs r
        where r.created_at >= greatest(p_from, s.counted_until) and r.created_at < p_to
          and not exists (select from maas.sum_exceptions e where e.run_id = r.id and e.is_counted)
        union
        select r.id from maas.sum_exceptions e join maas.pipeline_runs r on r.id = e.run_id
        where not e.is_counted and r.created_at >= p_from and r.created_at < p_to
        union  -- parts of days
        select r.id from maas.pipeline_runs r where r.created_at >= p_from and r.created_at < least(p_to, s.first_at)
        union
        select r.id from maas.pipeline_runs r
        where r.created_at >= greatest(p_from, s.end_at) and r.created_at < least(p_to, s.counted_until)
      ) as runs
    from counted s
  )
  select d.subject, d.day, d.key, null::uuid, d.runs, d.calls, d.tokens_in, d.tokens_out, d.price, d.unpriced, d.us
  from counted s join maas.daily_sums d on d.day >= s.first_day and d.day < s.end_day
  where d.subject = any(p_subjects)
  union all
  select 'user', d.day, '', d.user_id, d.runs, d.calls, d.tokens_in, d.tokens_out, d.price, d.unpriced, 0
  from counted s join maas.daily_user_sums d on d.day >= s.first_day and d.day < s.end_day
  where 'user' = any(p_subjects)
  union all
  select o.subject, o.day, o.key, o.user_id, o.runs, o.calls, o.tokens_in, o.tokens_out, o.price, o.unpriced, o.us
  from others s cross join lateral maas.maas_sums_of(s.runs, s.zone) o where o.subject = any(p_subjects)
$$;
comment on function maas.maas_sums_between is
  'Sums of all runs that were inserted from p_from and before p_to, by these subjects, to be added up: from the sums '
  'of days, and from the runs that are not among them. Of a part of a day, deleted runs are missing';

create or replace function maas.maas_lock_sums() returns maas.sums_state language plpgsql as $$
declare
  state maas.sums_state;
begin
  select * into state from maas.sums_state for update;
  if state.zone is null then
    update maas.sums_state set zone = (select value from maas.engine_settings where key = 'timezone')
    returning * into state;
  end if;
  return state;
end
$$;
comment on function maas.maas_lock_sums is
  'Lets nobody else change sums until the end of the transaction. Before runs are locked: the sums may wait for these';

create or replace function maas.maas_add_to_sums(p_runs uuid[], p_sign int) returns void language sql as $$
  with sums as materialized (
    select o.* from maas.sums_state s cross join lateral maas.maas_sums_of(p_runs, s.zone) o
  ), of_users as (
    insert into maas.daily_user_sums as d (day, user_id, runs, calls, tokens_in, tokens_out, price, unpriced)
    select o.day, o.user_id, p_sign * o.runs, p_sign * o.calls, p_sign * o.tokens_in, p_sign * o.tokens_out,
      p_sign * o.price, p_sign * o.unpriced
    from sums o where o.subject = 'user' order by o.day, o.user_id
    on conflict (day, user_id) do update set runs = d.runs + excluded.runs, calls = d.calls + excluded.calls,
      tokens_in = d.tokens_in + excluded.tokens_in, tokens_out = d.tokens_out + excluded.tokens_out,
      price = d.price + excluded.price, unpriced = d.unpriced + excluded.unpriced
  )
  insert into maas.daily_sums as d (
    subject, day, key, runs, calls, tokens_in, tokens_out, price, unpriced, us)
  select o.subject, o.day, o.key, p_sign * o.runs, p_sign * o.calls, p_sign * o.tokens_in, p_sign * o.tokens_out,
    p_sign * o.price, p_sign * o.unpriced, p_sign * o.us
  from sums o where o.subject <> 'user' order by o.subject, o.day, o.key
  on conflict (subject, day, key) do update set runs = d.runs + excluded.runs, calls = d.calls + excluded.calls,
    tokens_in = d.tokens_in + excluded.tokens_in, tokens_out = d.tokens_out + excluded.tokens_out,
    price = d.price + excluded.price, unpriced = d.unpriced + excluded.unpriced, us = d.us + excluded.us
$$;
comment on function maas.maas_add_to_sums is 'Adds runs to the sums, or with a p_sign of -1 takes them out';

create or replace function maas.maas_count_runs(p_runs uuid[], p_is_counted boolean default true) returns void
language plpgsql as $$
declare
  state maas.sums_state := maas.maas_lock_sums();
  changed uuid[] := array(
    select r.id from maas.pipeline_runs r left join maas.sum_exceptions e on e.run_id = r.id
    where r.id = any(p_runs) and coalesce(e.is_counted, r.created_at < state.counted_until) <> p_is_counted);
begin
  if changed = '{}' then
    return;
  end if;
  perform maas.maas_add_to_sums(changed, case when p_is_counted then 1 else -1 end);
  delete from maas.sum_exceptions e where e.run_id = any(changed);
  insert into maas.sum_exceptions (run_id, is_counted)
  select r.id, p_is_counted from maas.pipeline_runs r
  where r.id = any(changed) and (r.created_at < state.counted_until) <> p_is_counted;
end
$$;
comment on function maas.maas_count_runs is
  'Before runs are deleted: adds those to the sums that are not among them, so that their figures stay. p_is_counted '
  'false: takes them out, because they go on or leave this database';

create or replace function maas.maas_expect_sums(p_user uuid) returns void language plpgsql as $$
declare
  state maas.sums_state := maas.maas_lock_sums();
begin
  delete from maas.sum_exceptions e using maas.pipeline_runs r
  where r.user_id = p_user and e.run_id = r.id and r.created_at >= state.counted_until;
  insert into maas.sum_exceptions (run_id, is_counted)
  select r.id, false from maas.pipeline_runs r where r.user_id = p_user and r.created_at < state.counted_until
  on conflict (run_id) do update set is_counted = false;
end
$$;
comment on function maas.maas_expect_sums is
  'Notes that the runs of a user came from another database and are not counted';

create or replace function maas.keep_sums_of_erased() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into maas.daily_sums as d (subject, day, key, runs, calls, tokens_in, tokens_out, price, unpriced, us)
  select 'user', g.day, 'erased', sum(g.runs), sum(g.calls), sum(g.tokens_in), sum(g.tokens_out), sum(g.price),
    sum(g.unpriced), 0
  from deleted g where g.runs <> 0 group by g.day order by g.day
  on conflict (subject, day, key) do update set runs = d.runs + excluded.runs, calls = d.calls + excluded.calls,
    tokens_in = d.tokens_in + excluded.tokens_in, tokens_out = d.tokens_out + excluded.tokens_out,
    price = d.price + excluded.price, unpriced = d.unpriced + excluded.unpriced;
  return null;
end
$$;
comment on function maas.keep_sums_of_erased is
  'Keeps what an erased user had cost among the sums, without the user: what is spent stays spent';
create or replace trigger keep_sums_of_erased after delete on maas.daily_user_sums
  referencing old table as deleted for each statement execute function maas.keep_sums_of_erased();

-- In the background ---------------------------------------------------------------------------------------------------

create or replace function maas.maas_sum_runs(p_limit int default 5000, p_quiet interval default '10 minutes')
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  now_at timestamptz := clock_timestamp();
  state maas.sums_state;
  late uuid[];
  passed int := 0;
begin
  perform from maas.sums_state for update skip locked;
  if not found then
    return 0;  -- another process is at it, or runs are being deleted
  end if;
  state := maas.maas_lock_sums();
  if state.zone <> (select s.value from maas.engine_settings s where s.key = 'timezone') then
    return maas.maas_take_sums_back(p_limit);
  end if;
  late := array(
    select r.id from maas.sum_exceptions e join maas.pipeline_runs r on r.id = e.run_id
    where not e.is_counted and r.created_at < state.counted_until
      and r.queue_state = 2 and r.updated_at < now_at - p_quiet
    limit p_limit);
  if late <> '{}' then
    perform maas.maas_count_runs(late);
  end if;
  if pg_snapshot_xmin(pg_current_snapshot()) >= state.next_xid
    or pg_snapshot_xmax(pg_current_snapshot()) < state.next_xid  -- restored in a cluster with other numbers
  then
    passed := maas.maas_pass_runs(p_limit, now_at - p_quiet);
    update maas.sums_state s set next_until = now_at - p_quiet, next_xid = pg_snapshot_xmax(pg_current_snapshot())
    where s.counted_until >= s.next_until;
  end if;
  return cardinality(late) + passed;
end
$$;
comment on function maas.maas_sum_runs is
  'Adds the next runs to the sums, about p_limit of them, that ended at least p_quiet ago; returns how many it has '
  'dealt with, 0 if there is nothing to do: call it again';

create or replace function maas.maas_pass_runs(p_limit int, p_ended_before timestamptz) returns int
language plpgsql as $$
declare
  state maas.sums_state := maas.maas_lock_sums();
  until timestamptz;
  passed uuid[];
  done uuid[];
begin
  until := coalesce((
    select r.created_at from maas.pipeline_runs r
    where r.created_at >= state.counted_until and r.created_at < state.next_until
    order by r.created_at offset p_limit limit 1), state.next_until);
  if until = state.counted_until then  -- so many were inserted at one moment
    until := coalesce((
      select r.created_at from maas.pipeline_runs r
      where r.created_at > state.counted_until and r.created_at < state.next_until
      order by r.created_at limit 1), state.next_until);
  end if;
  passed := array(
    select r.id from maas.pipeline_runs r
    where r.created_at >= state.counted_until and r.created_at < until
      and not exists (select from maas.sum_exceptions e where e.run_id = r.id));
  done := array(
    select r.id from maas.pipeline_runs r
    where r.id = any(passed) and r.queue_state = 2 and r.updated_at < p_ended_before);
  delete from maas.sum_exceptions e using maas.pipeline_runs r
  where e.is_counted and r.id = e.run_id and r.created_at >= state.counted_until and r.created_at < until;
  insert into maas.sum_exceptions (run_id, is_counted)
  select p.id, false from (select unnest(passed) as id except select unnest(done)) p;
  perform maas.maas_add_to_sums(done, 1);
  update maas.sums_state set counted_until = until where counted_until < until;
  return cardinality(passed);
end
$$;
comment on function maas.maas_pass_runs is
  'Part of maas_sum_runs: moves counted_until over about p_limit runs. Those that have not ended become exceptions';

create or replace function maas.maas_take_sums_back(p_limit int) returns int language plpgsql as $$
declare
  state maas.sums_state := maas.maas_lock_sums();
  since timestamptz := (
    select min(n.created_at) from (
      select r.created_at from maas.pipeline_runs r where r.created_at < state.counted_until
      order by r.created_at desc limit p_limit) n);
  taken uuid[];
begin
  if since is null then
    update maas.sums_state set counted_until = '-infinity', next_until = '-infinity',
      zone = (select s.value from maas.engine_settings s where s.key = 'timezone');
    delete from maas.daily_sums d where d.runs = 0;
    delete from maas.daily_user_sums d where d.runs = 0;
    return 1;
  end if;
  taken := array(
    select r.id from maas.pipeline_runs r where r.created_at >= since and r.created_at < state.counted_until
      and not exists (select from maas.sum_exceptions e where e.run_id = r.id));
  perform maas.maas_add_to_sums(taken, -1);
  delete from maas.sum_exceptions e using maas.pipeline_runs r
  where r.id = e.run_id and not e.is_counted and r.created_at >= since and r.created_at < state.counted_until;
  update maas.sums_state set counted_until = since;
  return cardinality(taken) + 1;
end
$$;
comment on function maas.maas_take_sums_back is
  'Part of maas_sum_runs, where MAAS_TIMEZONE has changed: takes about p_limit runs out of the sums, the newest first; '
  'when none is left, days begin in the new zone. Sums of runs that are deleted keep their day';
