-- Facts: writing them with the summary of their exchange, and reading what is true.

create or replace function maas.maas_write_facts(p_items jsonb) returns void language plpgsql as $$
declare
  added uuid[];
begin
  -- p_items as for maas_write_records; each fact {statement, subject, attribute, kind, change, depends_on, said_by,
  -- true_from, true_until, log_ids, origin, model}. Messages that are gone, and those of others, carry no fact.
  with new as (
    insert into maas.facts (user_id, statement, subject, attribute, kind, change, depends_on, said_by, said_at,
      known_at, true_from, true_until, raw_log_ids, origin, model, origins)
    select i.user_id, f.statement, f.subject, f.attribute, f.kind, coalesce(f.change, 'states'),
      coalesce(f.depends_on, '{}'), f.said_by, g.said_at, g.known_at, f.true_from, f.true_until, g.logs, f.origin,
      f.model, g.origins
    from jsonb_to_recordset(p_items) as i(user_id uuid, facts jsonb)
    cross join lateral jsonb_to_recordset(coalesce(i.facts, '[]')) as f(
      statement text, subject text, attribute text, kind text, change text, depends_on text[], said_by text,
      true_from date, true_until date, log_ids uuid[], origin text, model text)
    cross join lateral (
      select min(l.occurred_at) as said_at, max(l.known_at) as known_at,
        array_agg(l.id order by l.occurred_at, l.seq) as logs, maas.maas_merge_origins(array_agg(l.origins)) as origins
      from unnest(f.log_ids) u(id)
      cross join lateral (select * from maas.raw_logs r where r.id = u.id offset 0) l
      where l.user_id = i.user_id and l.is_remembered) g
    where g.logs is not null
      and not exists (  -- an exchange that is archived again says nothing new, nor does the message of a correction
        select from maas.facts e
        where e.user_id = i.user_id and e.key = maas.maas_note_key(f.statement) and e.raw_log_ids && g.logs
          and (e.attribute = f.attribute or e.origin = 'person'))
    returning id
  )
  select array_agg(n.id) into added from new n;
  if added is not null and exists (select from maas.webhook_endpoints) then
    perform maas.maas_emit_facts(added, 'added');
  end if;
end
$$;
comment on function maas.maas_write_facts is 'Writes the facts of exchanges whose summaries are written';

create or replace function maas.maas_rebuild_facts(
  p_user uuid, p_gone uuid[], p_facts jsonb, p_actor text default null)
returns void language plpgsql as $$
begin
  perform maas.maas_lock_memory(p_user);
  delete from maas.facts f where f.user_id = p_user and f.id = any(p_gone) and f.origin in ('rule', 'model');
  perform maas.maas_write_facts(jsonb_build_array(jsonb_build_object('user_id', p_user, 'facts', p_facts)));
  perform maas.maas_write_audit('fact', p_user, null, jsonb_build_object(
    'verdict', 'rebuilt', 'gone', cardinality(p_gone), 'new', jsonb_array_length(p_facts)), p_actor);
end
$$;
comment on function maas.maas_rebuild_facts is
  'Puts facts that were found again in the place of others that nobody entered; p_facts as for maas_write_facts';

create or replace function maas.maas_facts(
  p_user uuid, p_known timestamptz default 'infinity', p_attributes text[] default null)
returns table (id uuid, statement text, subject text, attribute text, kind text, said_by text, said_at timestamptz,
  last_said_at timestamptz, true_from date, true_until date, raw_log_ids uuid[], origin text, origins jsonb,
  created_at timestamptz, state text, since date, replaced_by uuid, replaces uuid, is_pinned boolean, place int,
  words tsvector)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  with clock as materialized (
    select s.value as zone, (least(p_known, maas.maas_now()) at time zone s.value)::date as today
    from maas.engine_settings s where s.key = 'timezone'
  ), decided as materialized (
    select distinct on (d.key) d.key, d.verdict, d.created_at as decided_at from maas.fact_decisions d
    where d.user_id = p_user and d.created_at <= p_known order by d.key, d.created_at desc, d.id
  ), corrected as materialized (  -- messages
    select c.root_id as id, min((c.created_at at time zone k.zone)::date) as corrected_on
    from clock k cross join maas.memory_corrections c where c.user_id = p_user and c.created_at <= p_known
    group by c.root_id
  ), known as materialized (
    select f as fact, f.key, f.change, f.said_at, f.seq, f.attribute, coalesce(n.same_as, lower(f.subject)) as whose,
      coalesce(f.true_from, (f.said_at at time zone c.zone)::date) as from_day, d.verdict, d.decided_at,
      (d.decided_at at time zone c.zone)::date as decided_on, c.today
    from clock c cross join maas.facts f
    left join maas.fact_names n on n.user_id = f.user_id and n.name = lower(f.subject)
    left join decided d on d.key = f.key
    where f.user_id = p_user and f.known_at <= p_known and (p_attributes is null or f.attribute = any(p_attributes))
  ), ordered as (  -- what a person called wrong replaces nothing
    select k.*, k.key is distinct from lag(k.key) over line or k.change = 'corrects' as is_new
    from known k where k.verdict is distinct from 'wrong'
    window line as (partition by k.whose, k.attribute order by k.from_day, k.said_at, k.seq)
  ), numbered as (
    select o.*, (count(*) filter (where o.is_new) over (
      partition by o.whose, o.attribute order by o.from_day, o.said_at, o.seq))::int as place
    from ordered o
  ), stated as (  -- the same again is one fact
    select n.whose, n.attribute, n.place, (array_agg(n.fact order by n.from_day, n.said_at, n.seq))[1] as fact,
      min(n.from_day) as from_day, max(n.said_at) as last_said_at, max((n.fact).true_until) as last_day,
      coalesce(array_agg(distinct u.id) filter (where u.id is not null), '{}') as logs,
      max(n.verdict) as verdict, max(n.decided_at) as decided_at,
      max(n.decided_on) as decided_on, max(n.today) as today
    from numbered n left join lateral unnest((n.fact).raw_log_ids) u(id) on true group by n.whose, n.attribute, n.place
  ), lines as materialized (
    select t.*, case when exists (select from corrected) then (
        select min(c.corrected_on) from corrected c where c.id = any(t.logs)
        having count(*) = cardinality(t.logs)) end as corrected_on,
      lead((t.fact).change) over line as next_change, lead(t.from_day) over line as next_day,
      lead((t.fact).id) over line as next_id, lag((t.fact).id) over line as former_id
    from stated t window line as (partition by t.whose, t.attribute order by t.place)
  )
  select (l.fact).id, (l.fact).statement, (l.fact).subject, l.attribute, (l.fact).kind, (l.fact).said_by,
    (l.fact).said_at, l.last_said_at, (l.fact).true_from, l.last_day, l.logs, (l.fact).origin, (l.fact).origins,
    (l.fact).created_at, s.state,
    case s.state when 'ended' then coalesce(l.next_day, l.decided_on, l.last_day)
      when 'corrected' then coalesce(l.next_day, l.corrected_on) when 'uncertain' then c.changed_on
      when 'replaced' then l.next_day end,
    l.next_id, l.former_id, coalesce(l.verdict = 'pinned', false), l.place, (l.fact).tsv
  from lines l
  left join lateral (  -- what it rests on has another value since
    select min(o.from_day) as changed_on from lines o
    where (l.fact).depends_on <> '{}' and o.whose = l.whose and o.attribute = any((l.fact).depends_on)
      and (o.fact).said_at > l.last_said_at and (o.place > 1 or (o.fact).change in ('begins', 'ends'))) c on true
  cross join lateral (select case
    when l.verdict = 'unused' then 'unused'
    when l.next_change = 'corrects' or l.corrected_on is not null then 'corrected'
    when l.next_change = 'ends' then 'ended'
    when l.next_change is not null then 'replaced'
    when l.verdict = 'ended' and l.last_said_at <= l.decided_at then 'ended'
    when l.last_day < l.today then 'ended'
    when c.changed_on is not null then 'uncertain'
    else 'true' end as state) s
  union all
  select (k.fact).id, (k.fact).statement, (k.fact).subject, k.attribute, (k.fact).kind, (k.fact).said_by, k.said_at,
    k.said_at, (k.fact).true_from, (k.fact).true_until, (k.fact).raw_log_ids, (k.fact).origin, (k.fact).origins,
    (k.fact).created_at, 'wrong', k.decided_on, null, null, false, 0, (k.fact).tsv
  from known k where k.verdict = 'wrong'
$$;
comment on function maas.maas_facts is
  'The facts of a user as known at a moment, what is said again once: '
  'true, uncertain (what it rests on has changed), replaced, ended, corrected, wrong or unused, and since when';

create or replace function maas.maas_find_facts(
  p_user uuid, p_question text, p_known timestamptz default 'infinity', p_limit int default 40,
  p_attributes text[] default '{}')
returns table (id uuid, statement text, subject text, attribute text, kind text, said_by text, said_at timestamptz,
  last_said_at timestamptz, true_from date, true_until date, raw_log_ids uuid[], origin text, origins jsonb,
  created_at timestamptz, state text, since date, replaced_by uuid, replaces uuid, is_pinned boolean, place int,
  words tsvector, matches int)
language sql stable as $$
  with question as materialized (
    select terms, maas.maas_any_term(terms) as query from (
      select array(
        select t.lexeme from unnest(maas.maas_lexemes(p_question)) t order by length(t.lexeme) desc, t.lexeme limit 32
      ) as terms) t
  ), pinned as materialized (
    select key from (
      select distinct on (d.key) d.key, d.verdict from maas.fact_decisions d
      where d.user_id = p_user and d.created_at <= p_known order by d.key, d.created_at desc, d.id) d
    where verdict = 'pinned'
  ), wanted as materialized (
    (select f.attribute from maas.facts f join pinned p on p.key = f.key
     where f.user_id = p_user and f.kind <> 'note' limit 200)
    union
    (select f.attribute from maas.facts f cross join question q
     where f.user_id = p_user and f.kind <> 'note' and q.terms <> '{}' and f.tsv @@ q.query
     order by f.said_at desc limit 2 * p_limit)
    union
    (select f.attribute from maas.facts f where f.user_id = p_user and f.kind <> 'note'
     order by f.said_at desc limit p_limit)
    union
    (select a.name from unnest(p_attributes) a(name))
  ), related as materialized (
    select attribute from wanted
    union
    select unnest(f.depends_on) from wanted w join maas.facts f on f.user_id = p_user and f.attribute = w.attribute
  )
  select f.*, (
    select count(*)::int from unnest(tsvector_to_array(f.words)) t(lexeme) where t.lexeme = any(q.terms))
  from maas.maas_facts(p_user, p_known, array(select attribute from related)) f cross join question q
$$;
comment on function maas.maas_find_facts is
  'The facts that a prompt may show for a question: pinned ones, those that share words with it, those of the '
  'attributes that it asks for, and the newest, but no notes, which every prompt shows; '
  'matches: how many words of the question it has';

create or replace function maas.maas_decide_fact(p_user uuid, p_fact uuid, p_verdict text, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target text;
begin
  perform maas.maas_lock_memory(p_user);
  select f.key into target from maas.facts f where f.id = p_fact and f.user_id = p_user;
  if not found then
    return false;
  end if;
  insert into maas.fact_decisions (user_id, key, verdict)
  select p_user, target, p_verdict
  where p_verdict is distinct from (
    select d.verdict from maas.fact_decisions d
    where d.user_id = p_user and d.key = target order by d.created_at desc, d.id limit 1);
  if found then
    perform maas.maas_write_audit('fact', p_user, p_fact, jsonb_build_object('verdict', p_verdict), p_actor);
    perform maas.maas_emit_facts(array[p_fact], p_verdict);
  end if;
  return true;
end
$$;
comment on function maas.maas_decide_fact is
  'Notes what a person decided about a statement: wrong, ended, unused, pinned or free; false: there is no such fact';

create or replace function maas.maas_correct_fact(
  p_user uuid, p_fact uuid, p_statement text, p_source text default 'api', p_actor text default null)
returns table (run_id uuid, log_id uuid, fact_id uuid)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  old maas.facts;
begin
  perform maas.maas_lock_memory(p_user);
  select f.* into old from maas.facts f where f.id = p_fact and f.user_id = p_user;
  if not found then
    return;
  end if;
  select n.raw_log_ids[1], n.id into log_id, fact_id from (
    select f.* from maas.facts f
    where f.user_id = p_user and f.origin = 'person' and f.subject = old.subject and f.attribute = old.attribute
    order by f.said_at desc, f.seq desc limit 1) n
  where n.key = maas.maas_note_key(p_statement) and n.raw_log_ids <> '{}';
  if found then
    select g.run_id into run_id from maas.raw_logs g where g.id = log_id and g.user_id = p_user;
    return next;
    return;
  end if;
  select i.run_id into run_id from maas.maas_import(p_user, 'a correction to remember', jsonb_build_array(
    jsonb_build_object('role', 'user', 'content', p_statement, 'at', clock_timestamp())), p_source) i;
  select g.id into log_id from maas.raw_logs g where g.run_id = maas_correct_fact.run_id and g.user_id = p_user;
  insert into maas.facts (user_id, statement, subject, attribute, kind, change, said_by, said_at, known_at, raw_log_ids,
    origin)
  select p_user, p_statement, old.subject, old.attribute, old.kind, 'corrects', 'user', g.occurred_at, g.known_at,
    array[g.id], 'person' from maas.raw_logs g where g.id = log_id
  returning id into fact_id;
  perform maas.maas_write_audit('fact', p_user, p_fact, jsonb_build_object('verdict', 'corrected'), p_actor);
  perform maas.maas_emit_facts(array[p_fact], 'corrected');
  perform maas.maas_emit_facts(array[fact_id], 'added');
  return next;
end
$$;
comment on function maas.maas_correct_fact is
  'Logs a message of the user that says what is right instead of a fact, a fact of its own; '
  'the text of the newest correction again is that correction. No row: there is no such fact';

create or replace function maas.maas_merge_fact_names(p_user uuid, p_name text, p_same_as text)
returns int language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  one text := lower(btrim(p_name));
  other text := lower(btrim(p_same_as));
begin
  perform maas.maas_lock_memory(p_user);
  other := coalesce((select n.same_as from maas.fact_names n where n.user_id = p_user and n.name = other), other);
  if one <> other then
    update maas.fact_names n set same_as = other where n.user_id = p_user and n.same_as = one;
    insert into maas.fact_names (user_id, name, same_as) values (p_user, one, other)
    on conflict (user_id, name) do update set same_as = excluded.same_as;
    if (select count(*) from maas.fact_names n where n.user_id = p_user) > 500 then
      raise exception using errcode = 'MQ001', message = 'a user has at most 500 names that are the same as others',
        detail = jsonb_build_object('name', 'user_fact_names', 'quota', 500, 'used', 501)::text;
    end if;
  end if;
  return (select count(*) from maas.facts f where f.user_id = p_user and lower(f.subject) = one);
end
$$;
comment on function maas.maas_merge_fact_names is
  'Says that two names are one subject; returns how many facts the first name has';

create or replace function maas.maas_delete_entered_fact(p_user uuid, p_id uuid) returns int language sql as $$
  with gone as (
    delete from maas.facts f using maas.facts t
    where t.id = p_id and t.user_id = p_user and t.raw_log_ids = '{}' and f.user_id = t.user_id and f.key = t.key
      and f.attribute = t.attribute and f.raw_log_ids = '{}'
    returning 1)
  select count(*)::int from gone
$$;
comment on function maas.maas_delete_entered_fact is
  'Deletes a fact that rests on no message, whenever it was entered; returns how many rows it was';

create or replace function maas.maas_delete_facts(p_user uuid, p_logs uuid[]) returns int language plpgsql as $$
declare
  deleted int;
begin
  -- First what rests on these messages alone, then what depends on a value that nothing else states.
  with gone_facts as (
    delete from maas.facts f where f.user_id = p_user and f.raw_log_ids && p_logs
      and not exists (select from unnest(f.raw_log_ids) u(id) where u.id <> all(p_logs))
    returning f.subject, f.attribute, f.key, f.said_at
  ), lost as (
    select g.subject, g.attribute, g.said_at from gone_facts g
    where not exists (
      select from maas.facts o where o.user_id = p_user and o.subject = g.subject and o.attribute = g.attribute
        and o.key = g.key and not o.raw_log_ids <@ p_logs)
  ), dependent as (
    delete from maas.facts f using lost l
    where f.user_id = p_user and f.subject = l.subject and l.attribute = any(f.depends_on) and f.said_at >= l.said_at
      and not f.raw_log_ids <@ p_logs
      and not exists (  -- a later value is what it rests on
        select from maas.facts o where o.user_id = p_user and o.subject = l.subject and o.attribute = l.attribute
          and o.said_at > l.said_at and o.said_at <= f.said_at and not o.raw_log_ids <@ p_logs)
    returning 1
  )
  select (select count(*) from gone_facts) + (select count(*) from dependent) into deleted;
  update maas.facts f set raw_log_ids = array(select u.id from unnest(f.raw_log_ids) u(id) where u.id <> all(p_logs))
  where f.user_id = p_user and f.raw_log_ids && p_logs;
  return deleted;
end
$$;
comment on function maas.maas_delete_facts is
  'Before messages of a user are deleted: deletes the facts that rest on them alone, and those that depend on these';
