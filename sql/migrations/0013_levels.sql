-- Levels: what has grown old is merged. A record of level 0 is an exchange; level 1 a day, once it is three days old;
-- level 2 a week, once all of it is two weeks old; level 3 a month of weeks, once all of it is two months old. A record
-- belongs to the bucket in which its time ends; a week to the month of its Thursday, as ISO has it.
--
--   due groups        `maas_due_until` bounds a scan of idx_lsm_due: nothing due costs three probes.
--   maas_group        the open records of one bucket: those of the level below, and the parent that is already there.
--                     What comes late (an import of old talk) makes a group of them again: all go into a new parent.
--   maas_compact      copies, then supersedes, in one transaction, if the group is still what its summary was made of.
--   maas_dissolve_parents   takes records out of their parents, when what they record is retried or deleted.
--
-- Children stay, superseded, and lead to the parent; raw_logs.record_id names the level-0 record for ever. Whoever moves
-- records of a user between levels takes `maas_lock_memory` first; the engine does not, it only adds to level 0.

comment on table lsm_storage is 'Records about raw_logs, log-structured: level 0 an exchange, 1 a day, 2 a week, 3 a month; superseded, never edited';
comment on column lsm_storage.superseded_by is 'The record of a higher level that took it up; null with superseded_at set: it is void';

create index idx_lsm_due on lsm_storage (level, time_bucket_end, user_id) where superseded_at is null and not is_provisional;
create index idx_lsm_children on lsm_storage (superseded_by) where superseded_by is not null;

create table compactions (
  record_id uuid primary key,
  user_id uuid not null,
  level smallint not null,
  children int not null,
  provider varchar(50),
  model text,
  prompt_version int,
  calls int not null default 0,
  tokens_in int not null default 0,
  tokens_out int not null default 0,
  ms real not null default 0,
  created_at timestamptz not null default now()
);
comment on table compactions is 'What each merged record cost; no model is asked where there is one child';
comment on column compactions.calls is 'Requests that went out, repeats included';
create index idx_compactions_user_id on compactions (user_id);
create index idx_compactions_created_at on compactions using brin (created_at);

create function maas_lock_memory(p_user uuid) returns void language sql as $$
  select pg_advisory_xact_lock(4714, hashtext(p_user::text))
$$;

-- Buckets -------------------------------------------------------------------------------------------------------------

create function maas_monday(p_day date) returns date language sql immutable as $$
  select date_trunc('week', p_day::timestamp)::date
$$;
comment on function maas_monday is 'The Monday of a day''s week';

create function maas_bucket(p_level int, p_day date) returns daterange language sql immutable as $$
  select case p_level
    when 1 then daterange(p_day, p_day + 1)
    when 2 then daterange(maas_monday(p_day), maas_monday(p_day) + 7)
    else daterange(maas_monday(m.first + 3), maas_monday((m.first + interval '1 month')::date + 3))
  end
  from (select date_trunc('month', (maas_monday(p_day) + 3)::timestamp)::date as first) m
$$;
comment on function maas_bucket is 'The days that share a record of this level (1 to 3) with a day';

create function maas_due_until(p_level int, p_today date) returns date language sql immutable as $$
  select lower(maas_bucket(p_level, p_today - (array[2, 13, 59])[p_level])) - 1
$$;
comment on function maas_due_until is 'The last day of the newest bucket that is to be a record of this level: 3, 14 or 60 days old';

create function maas_period(p_day date, p_level int) returns text language sql immutable as $$
  select case when p_level < 3 then maas_period(p_day) else to_char(maas_monday(p_day) + 3, 'YYYY"-Month-"MM') end
$$;
comment on function maas_period(date, int) is 'The label of a record that ends on a day: 2025-Week-47, 2025-Month-11 for level 3';

create function maas_group(p_user uuid, p_level int, p_day date) returns setof lsm_storage language sql stable as $$
  select * from lsm_storage
  where user_id = p_user and not is_provisional and superseded_at is null and level in (p_level - 1, p_level)
    and time_bucket_end >= lower(maas_bucket(p_level, p_day)) and time_bucket_end < upper(maas_bucket(p_level, p_day))
$$;
comment on function maas_group is 'The open records that one of this level is made of, a former one of the same bucket among them';

-- Up and down ---------------------------------------------------------------------------------------------------------

create function maas_compact(p_user uuid, p_level int, p_day date, p_children uuid[], p_summary text, p_is_degraded boolean,
  p_cost jsonb) returns uuid language plpgsql
as $$
declare
  parent uuid := gen_random_uuid();
  group_now uuid[];
  logs uuid[];
begin
  perform maas_lock_memory(p_user);
  perform from lsm_storage where id = any(p_children) order by id for update;
  select array_agg(id order by id) into group_now from maas_group(p_user, p_level, p_day)
  having bool_or(level < p_level);
  if group_now is distinct from array(select distinct id from unnest(p_children) id order by id) then
    return null;
  end if;

  select array_agg(g.id order by g.occurred_at, g.seq) into logs from raw_logs g
  where g.id = any(array(select unnest(c.raw_log_ids) from lsm_storage c where c.id = any(p_children)));
  insert into lsm_storage (id, user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids, is_degraded,
    occurred_at, known_at)
  select parent, p_user, p_level, min(c.time_bucket_start), max(c.time_bucket_end), array(
      select tag from lsm_storage t, unnest(t.tags) tag where t.id = any(p_children) group by tag
      -- what fits every talk says the least
      order by tag in ('Discussion', 'Unanswered'), count(*) desc, max(t.occurred_at) desc, tag limit 12),
    p_summary, coalesce(logs, '{}'), p_is_degraded, max(c.occurred_at), max(c.known_at)
  from lsm_storage c where c.id = any(p_children);
  update lsm_storage set superseded_by = parent, superseded_at = now() where id = any(p_children);
  insert into compactions (record_id, user_id, level, children, provider, model, prompt_version, calls, tokens_in, tokens_out, ms)
  select parent, p_user, p_level, cardinality(p_children), c.provider, c.model, c.prompt_version, coalesce(c.calls, 0),
    coalesce(c.tokens_in, 0), coalesce(c.tokens_out, 0), coalesce(c.ms, 0)
  from jsonb_to_record(p_cost) as c(provider text, model text, prompt_version int, calls int, tokens_in int, tokens_out int, ms real);
  return parent;
end $$;
comment on function maas_compact is 'The new record of a bucket; null when the group is no longer these children: read it again';
-- Its plans may be made while the tables are empty, and must hold when they are not.
alter function maas_compact set enable_seqscan = off;

create function maas_dissolve_parents(p_records uuid[]) returns int language plpgsql as $$
declare
  parents uuid[];
  reopened uuid[];
  removed int := 0;
begin
  perform maas_lock_memory(u.user_id) from (
    select distinct user_id from lsm_storage where id = any(p_records) order by 1) u;
  with recursive above as (
    select superseded_by as id from lsm_storage where id = any(p_records) and superseded_by is not null
    union
    select l.superseded_by from above a join lsm_storage l on l.id = a.id where l.superseded_by is not null
  )
  select array_agg(id) into parents from above;
  while parents is not null loop
    with u as (
      update lsm_storage set superseded_by = null, superseded_at = case when id = any(p_records) then superseded_at end
      where superseded_by = any(parents) and id <> all(parents) returning id
    )
    select array_agg(u.id) into reopened from u;
    delete from lsm_storage where id = any(parents);
    removed := removed + cardinality(parents);
    -- Two of one bucket, of which one came late, met only in what is gone now: they go, too.
    select array_agg(l.id) into parents from lsm_storage l
    where l.id = any(reopened) and l.level > 0 and exists (
      select from maas_group(l.user_id, l.level, l.time_bucket_end) o where o.level = l.level and o.id <> l.id);
  end loop;
  return removed;
end $$;
comment on function maas_dissolve_parents is 'Removes all parents of these records, which are void then; their siblings are open again and due. How many were removed';
alter function maas_dissolve_parents set enable_seqscan = off;

create or replace function maas_retry_run(p_id uuid) returns text language plpgsql as $$
declare
  old_error jsonb;
begin
  -- An archive that failed is tried again by itself: the answer stands, an import goes on with what no record covers.
  update pipeline_runs set lane = -2, seq = nextval('run_seq'), losses = 0, deaths = 0, archive_status = 'PENDING'
  where id = p_id and status = 'COMPLETED' and archive_status = 'FAILED' and lane = 2;
  if found then
    perform maas_add_event(p_id, 'archive_retried', '{}');
    perform pg_notify('pipeline_bell', '');
    return 'archiving';
  end if;
  select jsonb_build_object('try', try, 'error_code', error_code, 'error_message', error_message) into old_error
  from pipeline_runs where id = p_id and status = 'FAILED' and lane = 2 for update;
  if not found then
    return case when exists (select from pipeline_runs where id = p_id) then 'not_failed' else 'not_found' end;
  end if;
  perform maas_add_event(p_id, 'retried', old_error);
  -- The record of the failed try may have gone into that of its day since; its words will stand in a new one.
  perform maas_dissolve_parents(array(
    select l.id from raw_logs g join lsm_storage l on l.id = g.record_id where g.run_id = p_id and l.run_id = p_id));
  update raw_logs set archived_at = null, archived_run_id = null, record_id = null
  where run_id = p_id and exists (select from pipeline_runs where id = p_id and kind = 'ask');
  update lsm_storage set superseded_at = now() where run_id = p_id and superseded_at is null;
  update pipeline_runs set status = 'NEW', lane = -2, try = try + 1, seq = nextval('run_seq'), losses = 0, deaths = 0,
    archive_status = 'PENDING', cancel_requested_at = null, error_code = null, error_message = null, degraded = '{}',
    analysis_result = null, sources = null, draft_context = null, final_context_payload = null,
    claimed_at = null, analyzing_at = null, analyzed_at = null, assembling_at = null, ready_at = null, responding_at = null,
    completed_at = null, failed_at = null, archived_at = null
  where id = p_id;
  perform pg_notify('pipeline_bell', '');
  return 'retrying';
end $$;

create or replace view v_user_memory as
select l.user_id, l.id, l.level, maas_period(l.time_bucket_end, l.level) as period, l.time_bucket_start, l.time_bucket_end, l.tags, l.summary,
  cardinality(l.raw_log_ids) as logs, l.raw_log_ids, l.is_degraded, l.occurred_at, l.created_at
from lsm_storage l where not l.is_provisional and l.superseded_at is null;
