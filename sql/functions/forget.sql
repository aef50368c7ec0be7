-- Forgetting a memory.
--
-- Deleting a summary, a message or a fact deletes its messages, and every summary and fact made of them. An answer that
-- used it may repeat it: the runs that used it are known from their sources or their query. Answers that repeat it
-- (maas_repeating_answers) are deleted, too, and so are answers that used those and repeat it. The other runs are
-- doubtful: the result names them, and forgotten_memories keeps their ids, so that a second call with p_doubtful
-- deletes their answers.
--
-- All is one transaction: readers see a memory whole or not at all. What takes long needs no engine lock, because no
-- process works on archived messages. An Archivist may be reading messages that no summary covers; they are deleted
-- last, under the engine lock.

create or replace function maas.maas_memory_logs(p_id uuid, p_user uuid default null)
returns table (user_id uuid, logs uuid[]) language sql stable as $$
  select l.user_id, array(
    select u.id from unnest(l.raw_log_ids) u(id)
    where not exists (select from maas.raw_logs g where g.id = u.id and g.user_id is distinct from l.user_id))
  from maas.lsm_storage l
  where l.id = p_id and not l.is_provisional and (p_user is null or l.user_id = p_user)
  union all
  select g.user_id, array[g.id] from maas.raw_logs g where g.id = p_id and (p_user is null or g.user_id = p_user)
  union all
  select f.user_id, f.raw_log_ids || array(
    select g.id from maas.raw_logs g
    where g.run_id = f.run_id and g.user_id = f.user_id and g.message_type = 'user_query' and g.turn_no = 0)
  from maas.facts f where f.id = p_id and (p_user is null or f.user_id = p_user)
$$;
comment on function maas.maas_memory_logs is
  'The user of a summary, a message or a fact, and the logs under it; never logs of another user';

create or replace function maas.maas_runs_using(p_user uuid, p_ids uuid[]) returns setof uuid language sql stable as $$
  with ids as materialized (select distinct unnest(p_ids) as id)
  select r.id from maas.pipeline_runs r
  cross join jsonb_array_elements(case when jsonb_typeof(r.sources) = 'array' then r.sources else '[]' end) s
  join ids i on i.id::text = s->>'id'
  where r.user_id = p_user
  union
  select r.id from ids i join maas.raw_logs g on g.id = i.id and g.user_id = p_user and g.message_type = 'user_query'
  join maas.pipeline_runs r on r.id = g.run_id and r.user_id = p_user and r.kind in ('ask', 'action', 'task')
$$;
comment on function maas.maas_runs_using is
  'Runs of this user that were given one of these messages or summaries, as memory or as their query';

create or replace function maas.maas_records_covering(p_user uuid, p_logs uuid[])
returns setof uuid language sql stable as $$
  select distinct l.id from maas.lsm_storage l cross join unnest(l.raw_log_ids) u(log)
  join (select distinct unnest(p_logs) as log) w using (log)
  where l.user_id = p_user
$$;
comment on function maas.maas_records_covering is
  'Summaries of this user, of every level, that cover one of these messages';

create or replace function maas.maas_is_in_use(p_user uuid, p_logs uuid[]) returns boolean language sql stable as $$
  select exists (
    select from maas.raw_logs g
    where g.user_id = p_user and g.id = any(p_logs) and g.archived_at is null and (
      exists (select from maas.pipeline_runs r where r.id = g.run_id and r.user_id = g.user_id and r.queue_state < 2)
      or g.archive_owed and exists (
        select from maas.pipeline_runs r where r.user_id = g.user_id and r.queue_state = 1)))
$$;
comment on function maas.maas_is_in_use is
  'Whether an Archivist may be reading one of these messages: its summary would bring the text back';

create or replace function maas.maas_distinctive_lexemes(p_user uuid, p_words uuid[], p_answers uuid[])
returns text[] language sql stable as $$
  with words as materialized (
    select g.id, g.tsv, g.is_remembered from (select distinct unnest(p_words) as id) w join maas.raw_logs g using (id)
    where g.user_id = p_user
  ), answers as materialized (
    select g.tsv from (select unnest(p_answers) as id except select id from words) a join maas.raw_logs g using (id)
    where g.user_id = p_user and g.is_remembered
  ), counted as (
    select d.term as lexeme, d.turns::bigint as turns from maas.term_df d where d.user_id = p_user
    union all
    select u.lexeme, 1 from maas.raw_logs g cross join unnest(g.tsv) u
    where g.user_id = p_user and g.is_remembered and not exists (
      select from maas.counted_users c where c.user_id = p_user)
  ), changes as (  -- summed instead of joined: the planner underestimates the joins
    select lexeme, turns, false as is_target from counted
    union all
    select u.lexeme, - w.is_remembered::int, true from words w cross join unnest(w.tsv) u
    union all
    select u.lexeme, -1, false from answers a cross join unnest(a.tsv) u
  )
  select coalesce(array_agg(t.lexeme), '{}') from (
    select lexeme from changes where length(lexeme) > 2 and lexeme not like '#%' group by lexeme
    having bool_or(is_target) and sum(turns) <= greatest(
      2, (select u.turns / 1000 from maas.counted_users u where u.user_id = p_user))) t
$$;
comment on function maas.maas_distinctive_lexemes is
  'Lexemes of these messages that at most two other messages contain (one in a thousand of a large memory), '
  'the answers aside';

create or replace function maas.maas_proper_nouns(p_text text) returns text[] language sql immutable as $$
  select tsvector_to_array(maas.maas_lexemes(coalesce(string_agg(m[1], ' '), '')))
  from regexp_matches(left(p_text, 20000), '[^[:space:].!?…:][[:space:]]["«„“(]?([[:upper:]][[:alpha:]]+)', 'g') m
$$;
comment on function maas.maas_proper_nouns is 'Lexemes of the words that begin with a capital letter inside a sentence';

create or replace function maas.maas_repeating_answers(p_user uuid, p_words uuid[], p_answers uuid[])
returns uuid[] language sql stable as $$
  with memory_turns as materialized (
    select g.*, bool_or(g.message_type = 'user_query') over () as has_query
    from (select distinct unnest(p_words) as id) w join maas.raw_logs g using (id) where g.user_id = p_user
  ), words as materialized (
    -- Messages of the user; an assistant's own phrases recur in answers that repeat nothing.
    select id, run_id, content, tsv, count(*) over () > 500 as is_large
    from memory_turns where message_type = 'user_query' or not has_query
  ), distinctive as materialized (
    select t.lexeme from unnest(maas.maas_distinctive_lexemes(p_user, p_words, p_answers)) t(lexeme)
    join (select distinct u.lexeme from words w cross join unnest(w.tsv) u) s using (lexeme)
  ), answers as materialized (
    -- Terms of the query do not come from memory, unless the query itself is deleted.
    select g.id, g.tsv, coalesce(q.tsv, '') as query_terms
    from (select distinct unnest(p_answers) as id) a join maas.raw_logs g using (id) left join lateral (
      select q.id, q.tsv from maas.raw_logs q
      where q.run_id = g.run_id and q.message_type = 'user_query' and q.turn_no = 0
        and q.user_id is not distinct from p_user offset 0) q on q.id not in (select w.id from words w)
    where g.user_id = p_user
  ), answer_terms as materialized (
    select a.id, u.lexeme from answers a cross join unnest(ts_delete(a.tsv, tsvector_to_array(a.query_terms))) u
    join distinctive using (lexeme)
  ), turns as materialized (
    select w.id as log, u.lexeme, u.positions[1] as place, count(*) over (partition by w.id) as words
    from words w cross join unnest(w.tsv) u join distinctive using (lexeme) where not w.is_large
  ), query_terms as (
    select a.id, t.log, count(*) as words
    from answers a cross join unnest(a.query_terms) u join turns t using (lexeme) group by a.id, t.log
  ), shared as materialized (
    select s.id, t.log, t.lexeme, t.words, t.place,
      lead(t.place, 2) over (partition by s.id, t.log order by t.place) as third
    from answer_terms s join turns t using (lexeme)
  ), names as (
    select w.id as log, n.lexeme from words w cross join unnest(maas.maas_proper_nouns(w.content)) n(lexeme)
    where w.id in (select log from shared)
  ), matches as (
    select s.id, count(*) as words, max(s.words) - coalesce(max(a.words), 0) as of_words
    from shared s left join query_terms a using (id, log) group by s.id, s.log
  )
  select coalesce(array_agg(distinct r.id), '{}') from (
    select id from answer_terms where lexeme ~ '[0-9]'
    union all
    select id from shared join names using (log, lexeme)
    union all
    select id from shared where third - place <= 10
    union all
    select id from matches where of_words <= 2 or (words >= 2 and 3 * words >= of_words)
    union all
    select id from answer_terms where (select bool_or(is_large) from words) group by id having count(*) > 2) r
$$;
comment on function maas.maas_repeating_answers is
  'Which of these answers repeat the given messages of the user (of the assistant, if there are none): by a number, '
  'a name, three words within ten, or a third of a message''s distinctive words and at least two '
  '(one if it has no more than two); any three if there are more than 500 messages';

create or replace function maas.maas_delete_logs(p_user uuid, p_id uuid, p_logs uuid[])
returns jsonb language plpgsql as $$
declare
  gone uuid[];
  rest uuid[];
  written uuid[];
  reopened int;
  deleted_facts int;
  forgotten int;
  forgotten_late int := 0;
begin
  gone := array(
    select l.id from maas.lsm_storage l where l.user_id = p_user and l.id = p_id
    union
    select o from maas.maas_records_covering(p_user, p_logs) o);
  reopened := (
    select count(*) from maas.lsm_storage l where l.user_id = p_user and l.superseded_by = any(gone)
    and not exists (select from unnest(gone) o(id) where o.id = l.id));
  perform maas.maas_dissolve_parents(gone);
  perform maas.maas_relink_corrections(p_user, gone || p_logs);
  deleted_facts := maas.maas_delete_facts(p_user, p_logs) + maas.maas_delete_entered_fact(p_user, p_id);
  delete from maas.lsm_storage l using unnest(gone) o(id) where l.id = o.id and l.user_id = p_user;
  update maas.term_df d set turns = d.turns - t.turns
  from (
    select u.lexeme, count(*) as turns from unnest(p_logs) w(id) join maas.raw_logs g using (id)
    cross join unnest(g.tsv) u
    where g.user_id = p_user and g.is_remembered group by u.lexeme) t
  where d.user_id = p_user and d.term = t.lexeme;
  delete from maas.term_df d where d.user_id = p_user and d.turns < 1;
  update maas.raw_logs g set record_id = null from unnest(gone) o(id)
  where g.user_id = p_user and g.record_id = o.id and not exists (select from unnest(p_logs) w(id) where w.id = g.id);
  delete from maas.raw_logs g using unnest(p_logs) w(id)
  where g.id = w.id and g.user_id = p_user and g.archived_at is not null and not g.archive_owed;
  get diagnostics forgotten = row_count;

  rest := array(select g.id from unnest(p_logs) w(id) join maas.raw_logs g using (id) where g.user_id = p_user);
  if rest <> '{}' then
    perform maas.maas_lock_runs(
      p_user, array(select distinct g.run_id from maas.raw_logs g where g.user_id = p_user and g.id = any(rest)));
    if maas.maas_is_in_use(p_user, rest) then
      raise object_in_use;
    end if;
    written := array(  -- while this waited
      select distinct g.record_id from maas.raw_logs g
      where g.user_id = p_user and g.id = any(rest) and g.record_id is not null);
    with dissolved as (
      delete from maas.lsm_storage l where l.user_id = p_user and l.id = any(written) returning l.id, l.raw_log_ids)
    update maas.raw_logs g set record_id = null from dissolved d cross join unnest(d.raw_log_ids) u(id)
    where g.id = u.id and g.user_id = p_user and g.record_id = d.id;
    delete from maas.raw_logs g where g.user_id = p_user and g.id = any(rest);
    get diagnostics forgotten_late = row_count;
  end if;
  return jsonb_build_object('logs', forgotten + forgotten_late, 'records', cardinality(gone), 'reopened', reopened,
    'facts', deleted_facts);
end
$$;
comment on function maas.maas_delete_logs is
  'Deletes messages and every summary made of them, and the summary p_id; returns counts. Raises object_in_use';

create or replace function maas.maas_forget_words(p_user uuid, p_id uuid, p_words uuid[], p_runs uuid[],
  p_doubtful boolean)
returns jsonb language plpgsql as $$
declare
  logs uuid[] := coalesce(p_words, '{}');  -- and the answers that are deleted with them
  using_runs uuid[] := '{}';  -- runs that used any of these
  new_runs uuid[] := p_runs;
  answers uuid[];
  new_logs uuid[];
  doubtful uuid[];
  repeating jsonb;       -- the answers among logs, as a person reads them
  counts jsonb;
  recorded jsonb;        -- the runs of these messages
  since timestamptz;
begin
  for pass in 1..20 loop
    answers := array(  -- except messages that no summary covers yet: an Archivist may be reading them
      select g.id from unnest(new_runs) f(run_id) join maas.raw_logs g using (run_id)
      where g.user_id = p_user and g.message_type = 'assistant_response' and g.turn_no = 0
        and g.archived_at is not null and not g.archive_owed
        and not exists (select from unnest(logs) w(id) where w.id = g.id));
    using_runs := array(select unnest(using_runs) union select unnest(new_runs));
    new_logs := case when answers = '{}' or p_doubtful and pass = 1 then answers
      else maas.maas_repeating_answers(p_user, p_words, answers) end;
    logs := logs || new_logs;
    exit when new_logs = '{}' or p_words is null;
    new_runs := array(
      select r from maas.maas_runs_using(
        p_user, new_logs || array(select o from maas.maas_records_covering(p_user, new_logs) o)) r
      where not exists (select from unnest(using_runs) v(id) where v.id = r));
  end loop;
  doubtful := array(
    select r.id from (
      select unnest(using_runs) as id except select g.run_id from unnest(logs) w(id) join maas.raw_logs g using (id)
      where g.user_id = p_user and g.message_type = 'assistant_response') v
    join maas.pipeline_runs r using (id)
    where r.user_id = p_user and (r.status not in ('COMPLETED', 'FAILED') or exists (
      select from maas.raw_logs g where g.run_id = r.id and g.user_id is not distinct from p_user
      and g.message_type = 'assistant_response' and g.turn_no = 0)));

  repeating := (
    select coalesce(jsonb_agg(jsonb_build_object('request_id', d.run_id, 'id', d.id, 'created_at', d.created_at,
      'answer', left(d.content, 200)) order by d.seq desc), '[]')
    from (
      select g.* from (select unnest(logs) as id except select unnest(p_words)) a join maas.raw_logs g using (id)
      where g.user_id = p_user order by g.seq desc limit 100) d);

  recorded := maas.maas_recorded_in(p_user, logs);
  since := least((select min(g.created_at) from unnest(p_words) w(id) join maas.raw_logs g using (id)),
    (select f.created_at from maas.facts f where f.id = p_id and f.user_id = p_user));
  begin  -- what takes long comes first: the engine lock may be held from here on
    -- they may hold it, and nobody misses them
    perform maas.maas_count_runs(array(
      select r.id from maas.pipeline_runs r where r.user_id = p_user and r.kind = 'trial'));
    delete from maas.pipeline_runs r where r.user_id = p_user and r.kind = 'trial';
    counts := maas.maas_delete_logs(p_user, p_id, logs);
  exception when object_in_use then
    return jsonb_build_object('verdict', 'in_use');
  end;
  perform maas.maas_blank_runs(p_user, recorded, since);
  counts := counts || jsonb_build_object('answers', cardinality(logs) - coalesce(cardinality(p_words), 0));
  delete from maas.forgotten_memories f where f.user_id = p_user and f.memory_id = p_id;
  if doubtful <> '{}' then
    insert into maas.forgotten_memories (user_id, memory_id, runs) values (p_user, p_id, doubtful);
  end if;
  return jsonb_build_object('verdict', 'forgotten', 'counts', counts, 'repeating', repeating,
    'doubtful_runs', cardinality(doubtful), 'doubtful', (
    select coalesce(jsonb_agg(to_jsonb(d) order by d.seq desc) , '[]') from (
      select r.id as request_id, g.id, r.status, r.created_at, left(r.final_answer, 200) as answer, r.seq
      from maas.pipeline_runs r left join maas.raw_logs g
        on g.run_id = r.id and g.user_id = r.user_id and g.message_type = 'assistant_response' and g.turn_no = 0
      where r.user_id = p_user and r.id = any(doubtful) order by r.seq desc limit 100) d));
end
$$;
comment on function maas.maas_forget_words is
  'Deletes messages p_words (null: deleted before), every summary made of them and the summary p_id, and those answers '
  'of p_runs, which used them, that repeat them; verdict: forgotten or in_use. Names the other answers, '
  'which p_doubtful deletes, too';

create or replace function maas.maas_forget(p_id uuid, p_user uuid default null, p_actor text default null,
  p_doubtful boolean default false)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target_user uuid;
  words uuid[];  -- messages of the memory itself
  using_runs uuid[];
  origin uuid;   -- the run that the memory was made from
  result jsonb;
begin
  select w.user_id, w.logs into target_user, words from maas.maas_memory_logs(p_id, p_user) w;
  if not found then
    select f.user_id, f.runs into target_user, using_runs from maas.forgotten_memories f
    where p_doubtful and f.memory_id = p_id and (p_user is null or f.user_id = p_user);
  end if;
  if target_user is null then
    return jsonb_build_object('verdict', 'not_found');
  end if;
  perform maas.maas_lock_memory(target_user);
  if words is not null then
    -- they may have changed while this waited
    select w.logs into words from maas.maas_memory_logs(p_id, target_user) w;
    if not found then
      return jsonb_build_object('verdict', 'not_found');
    end if;
    if maas.maas_is_in_use(target_user, words) then
      return jsonb_build_object('verdict', 'in_use');
    end if;
    using_runs := array(
      select r from maas.maas_runs_using(
        target_user, words || p_id || array(select o from maas.maas_records_covering(target_user, words) o)) r);
  end if;
  origin := coalesce((select l.run_id from maas.lsm_storage l where l.id = p_id),
    (select g.run_id from maas.raw_logs g where g.id = p_id), p_id);
  result := maas.maas_forget_words(target_user, p_id, words, using_runs, p_doubtful);
  if result->>'verdict' = 'forgotten' then
    perform maas.maas_write_audit('forget', target_user, p_id,
      result->'counts' || jsonb_build_object('doubtful', result->'doubtful_runs'), p_actor);
    perform maas.maas_emit('memory.forgotten', target_user, origin,
      jsonb_build_object('memory_id', p_id) || (result->'counts'));
  end if;
  return result - 'counts' || coalesce(result->'counts', '{}');
end
$$;
comment on function maas.maas_forget is
  'Returns forgotten, not_found or in_use: deletes a summary or a message, its logs, every summary made of them, '
  'and answers that repeat them; names the runs whose answers may repeat them. '
  'p_doubtful: deletes those answers, too, now or in a later call';
