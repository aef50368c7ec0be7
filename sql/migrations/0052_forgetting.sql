-- Forgetting, to the end and without holding anybody up.
--
-- An answer that was given a memory may repeat it. Which runs were given it stands in their `sources`, or it was what they were
-- asked. `maas_repeating_answers` says by their words which of these answers repeat it; they go with it, and so do answers that
-- were given those and repeat it. The other runs that were given it are doubtful: the reply names them, and `forgotten_memories`
-- keeps their ids, so that calling once more with p_doubtful forgets their answers, too.
--
-- It is one transaction, so that readers see all of a memory or nothing of it, and a crash leaves it as it was. What takes long
-- in it needs no lock of the engine: words that are recorded already are nobody's work. Only what no record covers yet could be
-- in an Archivist's hands; it goes last, under that lock, when all else is done. Who needs both takes maas_lock_memory first.

create table forgotten_memories (
  user_id uuid not null,
  memory_id uuid not null,
  runs uuid[] not null,
  forgotten_at timestamptz not null default now(),
  primary key (user_id, memory_id)
);
comment on table forgotten_memories is 'Memories that are gone, and the runs that were given them and whose answers do not clearly repeat them';

-- Ids come as arrays that may be long: they are joined, since a plan for parameters looks through an array once a row.

create function maas_runs_given(p_user uuid, p_ids uuid[]) returns setof uuid language sql stable as $$
  with ids as materialized (select distinct unnest(p_ids) as id)
  select r.id from pipeline_runs r
  cross join jsonb_array_elements(case when jsonb_typeof(r.sources) = 'array' then r.sources else '[]' end) s
  join ids i on i.id::text = s->>'id'
  where r.user_id = p_user
  union
  select r.id from ids i join raw_logs g on g.id = i.id and g.user_id = p_user and g.message_type = 'user_query'
  join pipeline_runs r on r.id = g.run_id and r.user_id = p_user and r.kind in ('ask', 'action')
$$;
comment on function maas_runs_given is 'Runs of this user that were given one of these turns or records, as memory or as their question';

create function maas_records_over(p_user uuid, p_logs uuid[]) returns setof uuid language sql stable as $$
  select distinct l.id from lsm_storage l cross join unnest(l.raw_log_ids) u(log) join (select distinct unnest(p_logs) as log) w using (log)
  where l.user_id = p_user
$$;
comment on function maas_records_over is 'Records of this user, of every level, that cover one of these turns';

create function maas_telling_lexemes(p_user uuid, p_words uuid[], p_answers uuid[]) returns text[] language sql stable as $$
  with words as materialized (
    select g.id, g.tsv, g.is_remembered from (select distinct unnest(p_words) as id) w join raw_logs g using (id) where g.user_id = p_user
  ), answers as materialized (
    select g.tsv from (select unnest(p_answers) as id except select id from words) a join raw_logs g using (id)
    where g.user_id = p_user and g.is_remembered
  ), counted as (
    select d.term as lexeme, d.turns::bigint as turns from term_df d where d.user_id = p_user
    union all
    select u.lexeme, 1 from raw_logs g cross join unnest(g.tsv) u
    where g.user_id = p_user and g.is_remembered and not exists (select from counted_users c where c.user_id = p_user)
  ), changes as (  -- added up, not joined: no plan takes them for few
    select lexeme, turns, false as is_told from counted
    union all
    select u.lexeme, - w.is_remembered::int, true from words w cross join unnest(w.tsv) u
    union all
    select u.lexeme, -1, false from answers a cross join unnest(a.tsv) u
  )
  select coalesce(array_agg(t.lexeme), '{}') from (
    select lexeme from changes where length(lexeme) > 2 and lexeme not like '#%' group by lexeme
    having bool_or(is_told) and sum(turns) <= greatest(2, (select u.turns / 1000 from counted_users u where u.user_id = p_user))) t
$$;
comment on function maas_telling_lexemes is 'Lexemes of these words that at most two turns beside them and the answers hold, of a large memory one in a thousand';

create function maas_names_in(p_text text) returns text[] language sql immutable as $$
  select tsvector_to_array(maas_lexemes(coalesce(string_agg(m[1], ' '), '')))
  from regexp_matches(left(p_text, 20000), '[^[:space:].!?…:][[:space:]]["«„“(]?([[:upper:]][[:alpha:]]+)', 'g') m
$$;
comment on function maas_names_in is 'Lexemes of words that begin with a capital amid a sentence';

create function maas_repeating_answers(p_user uuid, p_words uuid[], p_answers uuid[]) returns uuid[] language sql stable as $$
  with turns_of_memory as materialized (
    select g.*, bool_or(g.message_type = 'user_query') over () as has_query
    from (select distinct unnest(p_words) as id) w join raw_logs g using (id) where g.user_id = p_user
  ), words as materialized (
    -- What a user said; an assistant's own phrases come again in answers that repeat nothing.
    select id, run_id, content, tsv, count(*) over () > 500 as is_large
    from turns_of_memory where message_type = 'user_query' or not has_query
  ), telling as materialized (
    select t.lexeme from unnest(maas_telling_lexemes(p_user, p_words, p_answers)) t(lexeme)
    join (select distinct u.lexeme from words w cross join unnest(w.tsv) u) s using (lexeme)
  ), answers as materialized (
    -- What the question says was not taken from memory, unless the question is what is forgotten.
    select g.id, g.tsv, coalesce(q.tsv, '') as asked
    from (select distinct unnest(p_answers) as id) a join raw_logs g using (id) left join lateral (
      select q.id, q.tsv from raw_logs q where q.run_id = g.run_id and q.message_type = 'user_query' and q.turn_no = 0
      and q.user_id is not distinct from p_user offset 0) q on q.id not in (select w.id from words w)
    where g.user_id = p_user
  ), said as materialized (
    select a.id, u.lexeme from answers a cross join unnest(ts_delete(a.tsv, tsvector_to_array(a.asked))) u join telling using (lexeme)
  ), turns as materialized (
    select w.id as log, u.lexeme, u.positions[1] as place, count(*) over (partition by w.id) as words
    from words w cross join unnest(w.tsv) u join telling using (lexeme) where not w.is_large
  ), asked as (
    select a.id, t.log, count(*) as words
    from answers a cross join unnest(a.asked) u join turns t using (lexeme) group by a.id, t.log
  ), shared as materialized (
    select s.id, t.log, t.lexeme, t.words, t.place, lead(t.place, 2) over (partition by s.id, t.log order by t.place) as third
    from said s join turns t using (lexeme)
  ), names as (
    select w.id as log, n.lexeme from words w cross join unnest(maas_names_in(w.content)) n(lexeme)
    where w.id in (select log from shared)
  ), told as (
    select s.id, count(*) as words, max(s.words) - coalesce(max(a.words), 0) as of_words
    from shared s left join asked a using (id, log) group by s.id, s.log
  )
  select coalesce(array_agg(distinct r.id), '{}') from (
    select id from said where lexeme ~ '[0-9]'
    union all
    select id from shared join names using (log, lexeme)
    union all
    select id from shared where third - place <= 10
    union all
    select id from told where of_words <= 2 or (words >= 2 and 3 * words >= of_words)
    union all
    select id from said where (select bool_or(is_large) from words) group by id having count(*) > 2) r
$$;
comment on function maas_repeating_answers is 'Which of these answers repeat what the user said there (the assistant, where no user did) by what is telling in it: a number, a name, three words of a phrase of ten, or a third of a turn''s words and two at least, or one where it has no more than two; of more than 500 turns any three';

create function maas_is_in_use(p_user uuid, p_logs uuid[]) returns boolean language sql stable as $$
  select exists (
    select from raw_logs g join pipeline_runs r on r.user_id = g.user_id and r.lane < 2
      and (r.id = g.run_id or (g.archive_owed and r.lane = 1))
    where g.user_id = p_user and g.id = any(p_logs) and g.archived_at is null)
$$;
comment on function maas_is_in_use is 'Whether an Archivist may be reading one of these turns: its record would bring it back';

create function maas_remove_words(p_user uuid, p_id uuid, p_logs uuid[]) returns jsonb language plpgsql as $$
declare
  gone uuid[];
  rest uuid[];
  written uuid[];
  reopened int;
  forgotten int;
  forgotten_late int := 0;
begin
  gone := array(
    select l.id from lsm_storage l where l.user_id = p_user and l.id = p_id
    union
    select o from maas_records_over(p_user, p_logs) o);
  reopened := (
    select count(*) from lsm_storage l where l.user_id = p_user and l.superseded_by = any(gone)
    and not exists (select from unnest(gone) o(id) where o.id = l.id));
  perform maas_dissolve_parents(gone);
  delete from lsm_storage l using unnest(gone) o(id) where l.id = o.id and l.user_id = p_user;
  update term_df d set turns = d.turns - t.turns
  from (select u.lexeme, count(*) as turns from unnest(p_logs) w(id) join raw_logs g using (id) cross join unnest(g.tsv) u
    where g.user_id = p_user and g.is_remembered group by u.lexeme) t
  where d.user_id = p_user and d.term = t.lexeme;
  delete from term_df d where d.user_id = p_user and d.turns < 1;
  update raw_logs g set record_id = null from unnest(gone) o(id)
  where g.user_id = p_user and g.record_id = o.id and not exists (select from unnest(p_logs) w(id) where w.id = g.id);
  delete from raw_logs g using unnest(p_logs) w(id)
  where g.id = w.id and g.user_id = p_user and g.archived_at is not null and not g.archive_owed;
  get diagnostics forgotten = row_count;

  rest := array(select g.id from unnest(p_logs) w(id) join raw_logs g using (id) where g.user_id = p_user);
  if rest <> '{}' then
    perform maas_hold_runs(p_user, array(select distinct g.run_id from raw_logs g where g.user_id = p_user and g.id = any(rest)));
    if maas_is_in_use(p_user, rest) then
      raise object_in_use;
    end if;
    written := array(select o from maas_records_over(p_user, rest) o);  -- while this waited
    delete from lsm_storage l where l.user_id = p_user and l.id = any(written);
    update raw_logs g set record_id = null where g.user_id = p_user and g.record_id = any(written);
    delete from raw_logs g where g.user_id = p_user and g.id = any(rest);
    get diagnostics forgotten_late = row_count;
  end if;
  return jsonb_build_object('logs', forgotten + forgotten_late, 'records', cardinality(gone), 'reopened', reopened);
end $$;
comment on function maas_remove_words is 'Deletes turns and every record made of them, the record p_id too; how many. Raises object_in_use';

drop function maas_forget;
create function maas_forget(p_id uuid, p_user uuid default null, p_actor text default null, p_doubtful boolean default false)
returns jsonb language plpgsql as $$
declare
  whose uuid;
  words uuid[];          -- turns of the memory itself
  logs uuid[];           -- and the answers that go with them
  given uuid[] := '{}';  -- runs that were given any of these
  fresh uuid[];
  answers uuid[];
  news uuid[];
  doubtful uuid[];
  counts jsonb;
begin
  select w.user_id, w.logs into whose, words from maas_words_of(p_id, p_user) w;
  if not found then
    select f.user_id, f.runs into whose, given from forgotten_memories f
    where p_doubtful and f.memory_id = p_id and (p_user is null or f.user_id = p_user);
  end if;
  if whose is null then
    return jsonb_build_object('verdict', 'not_found');
  end if;
  perform maas_lock_memory(whose);
  if words is not null then
    select w.logs into words from maas_words_of(p_id, whose) w;  -- while this waited they may have gone, or grown
    if not found then
      return jsonb_build_object('verdict', 'not_found');
    end if;
    if maas_is_in_use(whose, words) then
      return jsonb_build_object('verdict', 'in_use');
    end if;
  end if;

  logs := coalesce(words, '{}');
  fresh := given;
  if words is not null then
    fresh := array(select r from maas_runs_given(whose, words || p_id || array(select o from maas_records_over(whose, words) o)) r);
  end if;
  for pass in 1..20 loop
    answers := array(  -- what no record covers yet is in an Archivist's hands
      select g.id from unnest(fresh) f(run_id) join raw_logs g using (run_id)
      where g.user_id = whose and g.message_type = 'assistant_response' and g.turn_no = 0 and g.archived_at is not null
      and not g.archive_owed and not exists (select from unnest(logs) w(id) where w.id = g.id));
    given := array(select unnest(given) union select unnest(fresh));
    news := case when answers = '{}' or p_doubtful and pass = 1 then answers else maas_repeating_answers(whose, words, answers) end;
    logs := logs || news;
    exit when news = '{}' or words is null;
    fresh := array(
      select r from maas_runs_given(whose, news || array(select o from maas_records_over(whose, news) o)) r
      where not exists (select from unnest(given) v(id) where v.id = r));
  end loop;
  doubtful := array(
    select r.id from (
      select unnest(given) as id except select g.run_id from unnest(logs) w(id) join raw_logs g using (id)
      where g.user_id = whose and g.message_type = 'assistant_response') v
    join pipeline_runs r using (id)
    where r.user_id = whose and (r.status not in ('COMPLETED', 'FAILED') or exists (
      select from raw_logs g where g.run_id = r.id and g.user_id is not distinct from whose
      and g.message_type = 'assistant_response' and g.turn_no = 0)));

  begin
    counts := maas_remove_words(whose, p_id, logs);
  exception when object_in_use then
    return jsonb_build_object('verdict', 'in_use');
  end;
  counts := counts || jsonb_build_object('answers', cardinality(logs) - coalesce(cardinality(words), 0));
  delete from forgotten_memories f where f.user_id = whose and f.memory_id = p_id;
  if doubtful <> '{}' then
    insert into forgotten_memories (user_id, memory_id, runs) values (whose, p_id, doubtful);
  end if;
  perform maas_note('forget', whose, p_id, counts || jsonb_build_object('doubtful', cardinality(doubtful)), p_actor);
  return counts || jsonb_build_object('verdict', 'forgotten', 'doubtful_runs', cardinality(doubtful), 'doubtful', (
    select coalesce(jsonb_agg(to_jsonb(d) order by d.seq desc) , '[]') from (
      select r.id as request_id, g.id, r.status, r.created_at, left(r.final_answer, 200) as answer, r.seq
      from pipeline_runs r left join raw_logs g
        on g.run_id = r.id and g.user_id = r.user_id and g.message_type = 'assistant_response' and g.turn_no = 0
      where r.user_id = whose and r.id = any(doubtful) order by r.seq desc limit 100) d));
end $$;
comment on function maas_forget is 'forgotten, not_found or in_use: deletes a record or a turn, its words, every record made of them, and answers that repeat them; the runs whose answers may repeat them are named. p_doubtful: their answers, too, now or later';

-- Who takes both locks takes that of the memory first.
do $$
declare
  change record;
  text_then text;
  text_now text;
begin
  for change in select * from (values
    ('maas_erase', 'perform maas_hold_runs(p_user);
  perform maas_lock_memory(p_user);', 'perform maas_lock_memory(p_user);
  perform maas_hold_runs(p_user);'),
    ('maas_begin_again', '
begin
', '
begin
  perform maas_lock_memory((select user_id from pipeline_runs where id = p_id));
'),
    ('maas_relations', '''user_roles'', ''ai_conversations''', '''user_roles'', ''forgotten_memories'', ''ai_conversations'''),
    ('maas_rights', '''user_identities'', ''user_roles'', ''api_keys''', '''user_identities'', ''user_roles'', ''forgotten_memories'', ''api_keys''')
  ) c(name, old, new) loop
    text_then := pg_get_functiondef(change.name::regproc);
    text_now := replace(text_then, change.old, change.new);
    if text_now = text_then then
      raise exception '% does not say: %', change.name, change.old;
    end if;
    execute text_now;
  end loop;
end $$;
do $$ begin perform maas_grant_rights(); end $$;
