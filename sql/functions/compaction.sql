-- Compaction: summaries of a bucket become one summary of the next level.
--
-- Children are superseded, never edited. Deleting a summary deletes its parents, too (maas_dissolve_parents); what else
-- these covered is open again and due.

create or replace function maas.maas_bucket_records(p_user uuid, p_level int, p_day date)
returns setof maas.lsm_storage language sql stable as $$
  select * from maas.lsm_storage
  where user_id = p_user and not is_provisional and superseded_at is null and level in (p_level - 1, p_level)
    and time_bucket_end >= lower(maas.maas_bucket(p_level, p_day))
    and time_bucket_end < upper(maas.maas_bucket(p_level, p_day))
$$;
comment on function maas.maas_bucket_records is
  'The open summaries that a summary of this level is made of, including a former summary of the same bucket';

create or replace function maas.maas_compact(p_user uuid, p_level int, p_day date, p_children uuid[], p_summary text,
  p_is_degraded boolean, p_cost jsonb)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off as $$
declare
  parent uuid := maas.maas_new_id();
  group_now uuid[];
  logs uuid[];
begin
  perform maas.maas_lock_memory(p_user);
  perform from maas.lsm_storage where id = any(p_children) and user_id = p_user order by id for update;
  select array_agg(id order by id) into group_now from maas.maas_bucket_records(p_user, p_level, p_day)
  having bool_or(level < p_level);
  if group_now is distinct from array(select distinct id from unnest(p_children) id order by id) then
    return null;
  end if;

  -- Ids of messages that retention has deleted stay: maas_forget finds the children of a parent by them.
  select array_agg(u.id order by g.occurred_at nulls first, g.seq, u.id) into logs
  from (select distinct unnest(c.raw_log_ids) as id from maas.lsm_storage c where c.id = any(p_children)) u
  left join lateral (
    select r.occurred_at, r.seq from maas.raw_logs r
    where r.id = u.id and r.user_id is not distinct from p_user offset 0) g on true;
  insert into maas.lsm_storage (
    id, user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids, is_degraded,
    occurred_at, known_at, words_gone, origins)
  select parent, p_user, p_level, min(c.time_bucket_start), max(c.time_bucket_end), array(
      select tag from maas.lsm_storage t, unnest(t.tags) tag where t.id = any(p_children) group by tag
      -- tags that fit any exchange come last
      order by tag in ('Discussion', 'Unanswered'), count(*) desc, max(t.occurred_at) desc, tag limit 12),
    p_summary, coalesce(logs, '{}'), p_is_degraded, max(c.occurred_at), max(c.known_at), bool_or(c.words_gone),
    maas.maas_merge_origins(array_agg(c.origins))
  from maas.lsm_storage c where c.id = any(p_children);
  update maas.lsm_storage set superseded_by = parent, superseded_at = now() where id = any(p_children);
  insert into maas.compactions (
    record_id, user_id, level, children, provider, model, prompt_version, calls, tokens_in,
    tokens_out, ms, days, left_out)
  select parent, p_user, p_level, cardinality(p_children), c.provider, c.model, c.prompt_version, coalesce(c.calls, 0),
    coalesce(c.tokens_in, 0), coalesce(c.tokens_out, 0), coalesce(c.ms, 0), coalesce(c.days, 0),
    coalesce(c.left_out, '{}')
  from jsonb_to_record(p_cost) as c(
    provider text, model text, prompt_version int, calls int, tokens_in int, tokens_out int, ms real,
    days int, left_out date[]);
  return parent;
end
$$;
comment on function maas.maas_compact is
  'Writes the summary of a bucket and supersedes its children; null if the children have changed: read them again';

create or replace function maas.maas_dissolve_parents(p_records uuid[]) returns int language plpgsql
  set enable_seqscan = off as $$
declare
  target_user uuid;
  parents uuid[];
  reopened uuid[];
  removed int := 0;
begin
  for target_user in select distinct user_id from maas.lsm_storage where id = any(p_records) order by 1 loop
    perform maas.maas_lock_memory(target_user);
    with recursive above as (
      select superseded_by as id from maas.lsm_storage
      where id = any(p_records) and user_id = target_user and superseded_by is not null
      union
      select l.superseded_by from above a join maas.lsm_storage l on l.id = a.id and l.user_id = target_user
      where l.superseded_by is not null
    )
    select array_agg(l.id) into parents from above a join maas.lsm_storage l on l.id = a.id and l.user_id = target_user;
    while parents is not null loop
      with u as (
        update maas.lsm_storage set superseded_by = null,
          superseded_at = case when id = any(p_records) then superseded_at end
        where superseded_by = any(parents) and id <> all(parents) and user_id = target_user returning id
      )
      select array_agg(u.id) into reopened from u;
      delete from maas.lsm_storage where id = any(parents) and user_id = target_user;
      removed := removed + cardinality(parents);
      -- Two summaries of one bucket were merged only in a parent that is deleted now: they are deleted, too.
      select array_agg(l.id) into parents from maas.lsm_storage l
      where l.id = any(reopened) and l.user_id = target_user and l.level > 0 and exists (
        select from maas.maas_bucket_records(target_user, l.level, l.time_bucket_end) o
        where o.level = l.level and o.id <> l.id);
    end loop;
  end loop;
  return removed;
end
$$;
comment on function maas.maas_dissolve_parents is
  'Deletes all parents of these summaries, which become void; their other children are open and due again. '
  'Returns the number deleted';
