-- Origins: the tools and documents that an answer was made from, and forgetting what came from one of them.
--
-- An origin is {kind, name, ...}: a tool with its domain (that of an MCP server is the server), a document with its id, or an import.
-- store_answer writes those of an answer (maas_answer_origins), summaries get those of their messages.

create or replace function maas.maas_merge_origins(p_origins jsonb[]) returns jsonb language sql immutable parallel safe as $$
  select coalesce(jsonb_agg(distinct o), '[]') from unnest(p_origins) one cross join lateral jsonb_array_elements(one) o
$$;
comment on function maas.maas_merge_origins is 'The origins of several messages or summaries, each once';

create or replace function maas.maas_repeated_origins(p_user uuid, p_sources jsonb, p_query text, p_answer text)
returns setof jsonb language sql stable as $$
  with given as materialized (
    select (s->>'id')::uuid as id, s->'origins' as origins
    from jsonb_array_elements(case when jsonb_typeof(p_sources) = 'array' then p_sources else '[]' end) s where s ? 'origins'
  ), own as materialized (  -- what the query says does not come from memory
    select array(select unnest(tsvector_to_array(maas.maas_lexemes(p_answer))) except select unnest(tsvector_to_array(maas.maas_lexemes(p_query)))) as terms
    from given limit 1
  ), texts as (
    select g.origins, array(select unnest(tsvector_to_array(t.tsv)) intersect select unnest(o.terms)) as shared
    from given g cross join own o cross join lateral (
      select l.tsv from maas.raw_logs l where l.id = g.id and l.user_id = p_user
      union all
      select r.tsv from maas.lsm_storage r where r.id = g.id and r.user_id = p_user) t
  )
  select t.origins from texts t where cardinality(t.shared) > 2 or exists (select from unnest(t.shared) w where w ~ '[0-9]')
$$;
comment on function maas.maas_repeated_origins is
  'The origins of those memories given to a run that its answer repeats: by a number, or by three words that its query does not hold';

create or replace function maas.maas_answer_origins(p_run uuid, p_user uuid, p_conversation uuid, p_sources jsonb, p_query text, p_answer text)
returns jsonb language sql stable as $$
  select maas.maas_merge_origins(array(
    select jsonb_build_array(case when d.id is null then jsonb_strip_nulls(jsonb_build_object('kind', 'tool', 'name', e.tool, 'domain', t.domain))
      else jsonb_build_object('kind', 'document', 'name', coalesce(k.name, d.id::text), 'id', d.id) end)
    from (select tool, documents from maas.tool_executions where run_id = p_run and status <> 'started'
      union all
      select jsonb_object_keys(c.start_results), null from maas.chat_conversations c where c.id = p_conversation and c.user_id = p_user) e
    left join maas.tools t on t.name = e.tool
    left join lateral unnest(e.documents) d(id) on true
    left join maas.knowledge_documents k on k.id = d.id
    where e.documents is null or d.id is not null
    union all
    select maas.maas_repeated_origins(p_user, p_sources, p_query, p_answer)))
$$;
comment on function maas.maas_answer_origins is
  'What an answer was made from: the tools that its run called and those that opened its conversation, documents in place of the tool that searched them, and the origins of memories that it repeats';

create or replace function maas.maas_answers_from(p_user uuid, p_origin jsonb)
returns table (user_id uuid, id uuid, run_id uuid, created_at timestamptz, answer text) language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select g.user_id, g.id, g.run_id, g.created_at, left(g.content, 200) from maas.raw_logs g
  where g.origins <> '[]' and g.origins @> jsonb_build_array(p_origin) and (p_user is null or g.user_id = p_user)
  order by g.seq desc
$$;
comment on function maas.maas_answers_from is
  'Messages, newest first, that came from an origin such as {"kind": "tool", "domain": "weather"}; p_user null: of all users';

create or replace function maas.maas_forget_origin(p_user uuid, p_origin jsonb, p_actor text default null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  target record;
  one jsonb;
  answers int := 0;
  logs int := 0;
  records int := 0;
  in_use int := 0;
begin
  for target in
    select a.user_id, a.id from maas.maas_answers_from(p_user, p_origin) a
    union all  -- those whose messages retention has deleted; of others nothing is left by then
    select l.user_id, l.id from maas.lsm_storage l
    where l.origins <> '[]' and l.origins @> jsonb_build_array(p_origin) and (p_user is null or l.user_id = p_user) and l.words_gone
  loop
    one := maas.maas_forget(target.id, target.user_id, p_actor, false);
    if one->>'verdict' = 'forgotten' then
      answers := answers + 1;
      logs := logs + (one->>'logs')::int;
      records := records + (one->>'records')::int;
    elsif one->>'verdict' = 'in_use' then
      in_use := in_use + 1;
    end if;
  end loop;
  return jsonb_build_object('answers', answers, 'logs', logs, 'records', records, 'in_use', in_use);
end
$$;
comment on function maas.maas_forget_origin is
  'Forgets, as maas_forget, everything that came from an origin; p_user null: of all users. in_use counts what is being archived: call it again';
