-- Notes: what a user asked to keep, word for word.
--
-- A note is a fact of the kind note, on a line of its own: so a person decides about it as about every fact. It is
-- written before the message in which the user asks for it, so it names the run of that message instead.

create or replace function maas.maas_notes(p_user uuid)
returns table (id uuid, content text, created_at timestamptz, log_id uuid)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select f.id, f.statement, f.said_at, coalesce(f.raw_log_ids[1], (
    select l.id from maas.facts n join maas.raw_logs l on l.run_id = n.run_id
    where n.id = f.id and l.user_id = p_user and l.message_type = 'user_query' and l.turn_no = 0))
  from maas.maas_facts(p_user, 'infinity', array(
    select distinct n.attribute from maas.facts n where n.user_id = p_user and n.kind = 'note')) f
  where f.kind = 'note' and f.state = 'true' order by f.said_at, f.id
$$;
comment on function maas.maas_notes is
  'The notes of a user, oldest first, each with the message in which the user asked for it';

create or replace function maas.maas_add_note(p_run uuid, p_words text)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted text := maas.maas_note_key(p_words);
  target_user uuid;
  former uuid;
  added uuid;
begin
  select r.user_id into target_user from maas.pipeline_runs r where r.id = p_run for key share;
  select n.id into former from maas.maas_notes(target_user) n where maas.maas_note_key(n.content) = wanted;
  if found then
    return case when exists (select from maas.facts f where f.id = former and f.run_id = p_run)
      then 'noted' else 'known' end;
  end if;
  if exists (select from maas.pipeline_runs r where r.id = p_run and not r.is_remembered) then
    return 'off';
  end if;
  if (select count(*) from maas.maas_notes(target_user)) >= 200 then
    return 'full';
  end if;
  -- What was corrected, or called wrong, counts again when the user asks for it again.
  delete from maas.facts f where f.user_id = target_user and f.kind = 'note' and f.key = wanted;
  insert into maas.fact_decisions (user_id, key, verdict)
  select target_user, wanted, 'free' where 'free' <> (
    select d.verdict from maas.fact_decisions d
    where d.user_id = target_user and d.key = wanted order by d.created_at desc, d.id limit 1);
  insert into maas.facts (
    user_id, statement, subject, attribute, kind, said_by, said_at, known_at, raw_log_ids, run_id, origin)
  select target_user, p_words, 'user', 'note:' || p_run, 'note', 'user', c.now, c.now, '{}', p_run, 'person'
  from (select clock_timestamp() as now) c where target_user is not null
  on conflict do nothing returning id into added;
  if added is not null and exists (select from maas.webhook_endpoints) then
    perform maas.maas_emit_facts(array[added], 'added');
  end if;
  return 'noted';
end
$$;
comment on function maas.maas_add_note is
  'Returns noted, known, full (a user has at most 200 notes) or off (the run is not to be remembered). '
  'Repeatable within a run';

create or replace function maas.maas_drop_note(p_run uuid, p_words text)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  with dropped as (  -- with what it was before a correction
    select r.user_id, f.attribute
    from maas.pipeline_runs r cross join lateral maas.maas_notes(r.user_id) n join maas.facts f on f.id = n.id
    where r.id = p_run and f.key = maas.maas_note_key(p_words)
  )
  delete from maas.facts f using dropped d
  where f.user_id = d.user_id and f.attribute = d.attribute and f.kind = 'note';
  if found then
    perform maas.maas_add_event(p_run, 'note_dropped', '{}');
  end if;
  return case when exists (select from maas.run_events where run_id = p_run and type = 'note_dropped')
    then 'forgotten' else 'unknown' end;
end
$$;
comment on function maas.maas_drop_note is
  'Returns forgotten or unknown: deletes exactly this note of the user. Repeatable within a run';
