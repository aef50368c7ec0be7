-- Origins: the tools and documents that an answer was made from, and forgetting what came from one of them.
--
-- An origin is {kind, name, ...}: a tool with its domain (that of an MCP server is the server), a document with its id,
-- or an import. store_answer writes those of an answer (maas_answer_origins), summaries get those of their messages.

create or replace function maas.maas_merge_origins(p_origins jsonb[])
returns jsonb language sql immutable parallel safe as $$
  select coalesce(jsonb_agg(distinct o), '[]') from unnest(p_origins) one cross join lateral jsonb_array_elements(one) o
$$;
comment on function maas.maas_merge_origins is 'The origins of several messages or summaries, each once';

create or replace function maas.maas_repeats(p_given tsvector, p_terms text[], p_digits int default 1)
returns boolean language sql immutable parallel safe as $$
  select count(*) > 2 or bool_or(length(t) >= p_digits and t ~ '[0-9]')
  from (select unnest(tsvector_to_array(p_given)) intersect select unnest(p_terms)) shared(t)
$$;
comment on function maas.maas_repeats is
  'Whether of these terms of an answer a text holds three, or one of at least p_digits characters that has a digit';

create or replace function maas.maas_answer_origins(
  p_run uuid, p_user uuid, p_conversation uuid, p_sources jsonb, p_query text, p_answer text)
returns jsonb language sql stable as $$
  with own as materialized (  -- what the query says comes from nowhere else
    select array(select unnest(tsvector_to_array(maas.maas_lexemes(p_answer)))
      except select unnest(tsvector_to_array(maas.maas_lexemes(p_query)))) as terms
  ), calls as (
    select e.tool, e.documents from maas.tool_executions e where e.run_id = p_run and e.status <> 'started'
      -- what an assistant looks up before each answer is in few of its answers
      and (e.call_id not like 'context-%' and e.call_id not like 'opening-%'
        or maas.maas_repeats(maas.maas_lexemes(e.result::text), (select terms from own), 4))
    union all
    select o.key, null from maas.chat_conversations c cross join lateral jsonb_each(c.start_results) o
    where c.id = p_conversation and c.user_id = p_user
      and maas.maas_repeats(maas.maas_lexemes(o.value::text), (select terms from own), 4)
  ), named as (
    select (s->>'id')::uuid as id
    from jsonb_array_elements(case when jsonb_typeof(p_sources) = 'array' then p_sources else '[]' end) s
    where s ? 'origins' or s->>'kind' = 'summary'
  )
  select maas.maas_merge_origins(array(
    select jsonb_build_array(
      case when d.id is null then jsonb_strip_nulls(
        jsonb_build_object('kind', 'tool', 'name', c.tool, 'domain', t.domain))
      else jsonb_build_object('kind', 'document', 'name', coalesce(k.name, d.id::text), 'id', d.id) end)
    from calls c left join maas.tools t on t.name = c.tool
    left join lateral unnest(c.documents) d(id) on true
    left join maas.knowledge_documents k on k.id = d.id
    where c.documents is null or d.id is not null
    union all
    select jsonb_build_array(o) from named m cross join lateral (
      select l.tsv, l.origins from maas.raw_logs l where l.id = m.id and l.user_id = p_user and l.origins <> '[]'
      union all
      select r.tsv, r.origins from maas.lsm_storage r where r.id = m.id and r.user_id = p_user and r.origins <> '[]') g
    cross join lateral jsonb_array_elements(g.origins) o
    where o->>'kind' <> 'import' and maas.maas_repeats(g.tsv, (select terms from own))))
$$;
comment on function maas.maas_answer_origins is
  'What an answer was made from: the tools that its run called, documents in place of the tool that searched them, '
  'and those opening tools, context providers and origins of memories whose text it repeats';

create or replace function maas.maas_answers_from(p_user uuid, p_origin jsonb)
returns table (user_id uuid, id uuid, run_id uuid, created_at timestamptz, answer text) language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select g.user_id, g.id, g.run_id, g.created_at, left(g.content, 200) from maas.raw_logs g
  where g.origins <> '[]' and g.origins @> jsonb_build_array(p_origin) and (p_user is null or g.user_id = p_user)
  order by g.seq desc
$$;
comment on function maas.maas_answers_from is
  'Messages, newest first, that came from an origin such as {"kind": "tool", "domain": "weather"}; '
  'p_user null: of all users';

create or replace function maas.maas_memories_from(p_user uuid, p_origin jsonb)
returns table (user_id uuid, id uuid) language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select a.user_id, a.id from maas.maas_answers_from(p_user, p_origin) a
  union all  -- those whose messages retention has deleted; of others nothing is left once the messages are forgotten
  select l.user_id, l.id from maas.lsm_storage l
  where l.origins <> '[]' and l.origins @> jsonb_build_array(p_origin)
    and (p_user is null or l.user_id = p_user) and l.words_gone
$$;
comment on function maas.maas_memories_from is
  'What maas_forget must delete to forget all that came from an origin, each in a transaction of its own; '
  'p_user null: of all users';
