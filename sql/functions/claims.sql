-- How maas_step fills the free places of an orchestrator: maas_claim_runs.
--
-- Where there is more to do than places, the order is priority, then seq. That is an order among users: runs of one key
-- are taken, promoted and claimed in the order in which they were inserted.

create or replace function maas.maas_claim_runs(p_owner int, p_statuses text[], p_capacity int, p_is_alone boolean,
  p_assistants text[], p_users uuid[], p_assistant_share int, p_user_share int, p_freed uuid[], p_is_due boolean,
  p_has_more_cancelled boolean, p_now timestamptz)
returns table (verdict text, id uuid, claimed maas.claimed_run)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  takes_new boolean;  -- whether runs are taken from the inbox
  has_pauses boolean;
  full_users uuid[];  -- users who hold their share
  today date;
  most int;           -- limit of runs in flight in all orchestrators together
  version text;       -- of the assistants and prompts
begin
  select (p_now at time zone max(value) filter (where key = 'timezone'))::date,
    nullif(max(value) filter (where key = 'max_in_flight'), '')::int,
    max(value) filter (where key = 'assistants_version')
  into today, most, version from maas.engine_settings;
  if most is not null and p_capacity > 0 then
    p_capacity := least(
      p_capacity, most - (select count(*)::int from maas.pipeline_runs r where r.queue_state = 1));
  end if;
  has_pauses := exists (select from maas.pauses p where p.subject <> 'model');
  takes_new := p_capacity > 0 and 'NEW' = any(p_statuses) and not p_is_alone;
  full_users := array(select u.id from unnest(p_users) u(id) group by u.id having count(*) >= p_user_share);

  -- A share: no assistant and no user holds more places of the caller than that. p_assistants and p_users have an
  -- element for each run that it holds. The runnable runs of an assistant that has its share are not read, however
  -- many they are.
  return query with recursive held_assistants as materialized (
    select a.name, count(*)::int as held from unnest(p_assistants) a(name) group by a.name
  ), names(name) as (  -- one index probe per assistant that has runnable runs
    (select r.assistant from maas.pipeline_runs r
      where r.queue_state = 0 and r.not_before is null
      order by r.assistant limit 1)
    union all
    select (
      select r.assistant from maas.pipeline_runs r
      where r.queue_state = 0 and r.not_before is null and r.assistant > n.name
      order by r.assistant limit 1)
    from names n where n.name is not null
  ), ready as materialized (
    select r.* from names n left join held_assistants h on h.name = n.name cross join lateral (
      select r.id, r.seq as turn, r.priority, r.assistant, r.user_id from maas.pipeline_runs r
      where r.queue_state = 0 and r.not_before is null and r.assistant = n.name and r.status = any(p_statuses)
        and (r.losses > 1) = p_is_alone and r.user_id <> all(full_users)
        and (not has_pauses or not maas.maas_is_paused(r.user_id, r.caller, r.kind, r.assistant, r.status))
      order by r.priority desc, r.seq limit greatest(least(p_capacity, p_assistant_share - coalesce(h.held, 0)), 0)) r
    where n.name is not null
    order by r.priority desc, r.turn limit greatest(p_capacity, 0)
  ), due as materialized (
    select r.id, r.seq as turn, r.priority, r.assistant, r.user_id from maas.pipeline_runs r
    where p_is_due and r.queue_state = 0 and r.not_before <= p_now and r.status = any(p_statuses)
      and (r.losses > 1) = p_is_alone
      and (not has_pauses or not maas.maas_is_paused(r.user_id, r.caller, r.kind, r.assistant, r.status))
    order by r.not_before limit greatest(p_capacity, 16)
  ), portion as materialized (
    -- Bounded by free capacity: a flood is taken in portions.
    select case when takes_new then greatest(16, p_capacity - (select count(*)::int from ready)) else 0 end as taking
  ), taken as materialized (
    select r.id, r.seq, r.queue_key, r.priority, r.assistant, r.user_id, r.caller, r.kind, r.status
    from maas.pipeline_runs r
    where r.queue_state = -2
    order by r.priority desc, r.seq limit (select taking from portion)
  ), inbox as materialized (
    select i.id, i.queue_key, i.priority, i.assistant, i.user_id, nextval('maas.run_seq') as turn,
      has_pauses and maas.maas_is_paused(i.user_id, i.caller, i.kind, i.assistant, i.status) as is_paused
    from (
      select * from taken
      union all
      -- what a user inserted before a run is taken with it, however low its priority: the order of a user holds
      select e.* from (
        select t.queue_key, t.user_id, max(t.seq) as seq from taken t group by t.queue_key, t.user_id) t
      cross join lateral (
        select r.id, r.seq, r.queue_key, r.priority, r.assistant, r.user_id, r.caller, r.kind, r.status
        from maas.pipeline_runs r
        where r.user_id = t.user_id and r.queue_state = -2 and r.kind in ('ask', 'action')
          and r.queue_key = t.queue_key and r.seq < t.seq and r.id not in (select id from taken)) e
      where exists (
        select from maas.pipeline_runs l where l.queue_state = -2 and l.priority < (select max(priority) from taken))
      order by seq) i
  ), keys as materialized (
    -- every key that may get a new head: its longest waiting run, its new runs in order, and whether the key is free
    select k.ids, k.turns, k.priorities, k.assistants, k.users, w.id as waiting_id, w.seq as waiting_turn,
      w.priority as waiting_priority, w.assistant as waiting_assistant, w.user_id as waiting_user,
      h.is_taken is null as is_free
    from (
      select i.queue_key, array_agg(i.id order by i.turn) filter (where i.id is not null) as ids,
        array_agg(i.turn order by i.turn) filter (where i.id is not null) as turns,
        array_agg(i.priority order by i.turn) filter (where i.id is not null) as priorities,
        array_agg(i.assistant order by i.turn) filter (where i.id is not null) as assistants,
        array_agg(i.user_id order by i.turn) filter (where i.id is not null) as users
      from (
        select queue_key, id, turn, priority, assistant, user_id from inbox where not is_paused
        union all
        select f, null, null, null, null, null from unnest(p_freed) f) i
      group by i.queue_key
    ) k left join lateral (
      select w.id, w.seq, w.priority, w.assistant, w.user_id from maas.pipeline_runs w
      where w.queue_key = k.queue_key and w.queue_state = -1
      order by w.seq limit 1) w on true
    left join lateral (
      select true as is_taken from maas.pipeline_runs h
      where h.queue_key = k.queue_key and h.queue_state in (0, 1) limit 1) h on true
  ), candidates as (
    select coalesce(k.waiting_id, k.ids[1]) as id, coalesce(k.waiting_turn, k.turns[1]) as turn,
      coalesce(k.waiting_priority, k.priorities[1]) as priority,
      case when k.waiting_id is null then k.assistants[1] else k.waiting_assistant end as assistant,
      case when k.waiting_id is null then k.users[1] else k.waiting_user end as user_id,
      'NEW' = any(p_statuses) and not p_is_alone as is_for_me, true as moves
    from keys k where k.is_free and coalesce(k.waiting_id, k.ids[1]) is not null
    union all
    select r.id, r.turn, r.priority, r.assistant, r.user_id, true, false from ready r
    union all  -- what is due and finds no place becomes runnable
    select d.id, d.turn, d.priority, d.assistant, d.user_id, true, true from due d
  ), of_users as (
    -- the first of each user, then of each assistant, then of all, by priority and turn, behind those that the caller
    -- holds
    select c.*, c.is_held or c.is_for_me and (
      p_user_share is null
      or row_number() over (
        partition by c.user_id order by not c.is_for_me, c.priority desc, c.turn) <= p_user_share) as fits
    from (
      select c.*, false as is_held from candidates c
      union all
      select null, -1, 2, h.assistant, h.user_id, true, false, true
      from unnest(p_assistants, p_users) h(assistant, user_id)) c
  ), of_assistants as (
    select c.id, c.turn, c.priority, c.moves, c.is_for_me, c.is_held, c.fits and (
      p_assistant_share is null
      or row_number() over (
        partition by c.assistant order by not c.fits, c.priority desc, c.turn) <= p_assistant_share) as fits
    from of_users c
  ), ranked as materialized (
    select c.id, c.turn, c.moves, c.is_for_me,
      c.fits and row_number() over (order by not c.fits, c.priority desc, c.turn) <= p_capacity as is_mine
    from of_assistants c where not c.is_held
  ), plan as materialized (
    select r.id, case when r.is_mine then 1 else 0 end as queue_state, r.turn from ranked r where r.is_mine or r.moves
    union all
    select u.id, -1, u.turn
    from keys k cross join lateral unnest(k.ids, k.turns) with ordinality as u(id, turn, place)
    where not (k.is_free and k.waiting_id is null and u.place = 1)
    union all
    select i.id, -3, i.turn from inbox i where i.is_paused
  ), moved as (
    update maas.pipeline_runs r set
      queue_state = p.queue_state, seq = p.turn,
      status = case
        when p.queue_state < 1 then r.status
        when r.status = 'NEW' then 'ANALYZING'
        when r.status = 'READY' then 'RESPONDING'
        else r.status end,
      archive_status = case
        when p.queue_state = 1 and r.status = 'COMPLETED' then 'ARCHIVING'
        else r.archive_status end,
      owner = case when p.queue_state = 1 then p_owner end,
      attempt = r.attempt + (p.queue_state = 1)::int,
      -- Not p_now: rows inserted since are claimed, too.
      claimed_at = case when p.queue_state = 1 then clock_timestamp() else r.claimed_at end,
      analyzing_at = case when p.queue_state = 1 and r.status = 'NEW' then clock_timestamp() else r.analyzing_at end,
      responding_at = case
        when p.queue_state = 1 and r.status = 'READY' then clock_timestamp()
        else r.responding_at end,
      not_before = null,
      updated_at = p_now
    from plan p where r.id = p.id
    returning r.id, r.queue_state, r.attempt, r.seq, r.kind, r.status, r.user_id, r.user_query, r.assistant,
      r.conversation_id, r.created_at, r.try, r.analysis_result, r.draft_context, r.final_context_payload, r.answer_by,
      r.metadata, r.run_at
  ), traces as (
    -- A provisional summary of the query, without a model call; the Archivist's replaces it.
    insert into maas.lsm_storage (user_id, run_id, time_bucket_start, time_bucket_end, tags, summary, is_provisional)
    select m.user_id, m.id, today, today, '{}', left(m.user_query, 200), true
    from moved m where m.queue_state = 1 and m.status = 'ANALYZING' and m.kind in ('ask', 'action')
    on conflict (run_id, uuid_send(user_id)) where superseded_at is null do nothing
  )
  select 'claimed', m.id, row(
    m.attempt, m.seq, m.kind, m.status, m.user_id, m.user_query, m.assistant, m.conversation_id, m.created_at,
    case m.try when 1 then extract(epoch from p_now - greatest(m.created_at, m.run_at)) end::float8,
    m.analysis_result, m.draft_context, m.final_context_payload, extract(epoch from m.answer_by - p_now)::float8,
    version, coalesce(m.metadata->'debugLayers' = 'true', false))::maas.claimed_run
  from moved m where m.queue_state = 1
  union all
  -- The inbox holds more, more is due or was cancelled; or a share kept runs out of a place that others may still take.
  select 'more', null, null::maas.claimed_run
  from portion p where p.taking > 0 and p.taking = (select count(*) from taken)
    or (select count(*) from due) = greatest(p_capacity, 16)
    or p_has_more_cancelled
    or (
      select count(*) filter (where r.is_mine) between 1 and p_capacity - 1 and bool_or(r.is_for_me and not r.is_mine)
      from ranked r);
end
$$;
comment on function maas.maas_claim_runs is
  'Part of maas_step: take the inbox in order, promote the next run of every key of p_freed, claim. more: call again';
