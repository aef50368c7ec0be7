-- name: prompts  -- $1 names of rows: `Mentor` holds the Russian text, `Mentor.en` the English one
select role_name, prompt_template, version, is_active from maas.system_prompts where role_name = any($1::text[]);

-- name: seed_prompt
insert into maas.system_prompts (role_name, prompt_template) values ($1, $2) on conflict (role_name) do nothing;

-- name: assistant_role
select role_name, definition->'variants' as variants from maas.assistants where name = $1 and is_active;

-- name: assistant_profile
select coalesce(definition->>'memory', 'full') as memory from maas.assistants where name = $1;

-- name: assistant_prompt_language  -- $1 name; null for the language of the settings
select definition->>'prompt_language' as language from maas.assistants where name = $1;

-- name: assistant_models  -- $1 name; its own model, null for the configured one, and those that its agents name
select (definition->>'model') || array(
  select a->>'model'
  from jsonb_array_elements(
    case jsonb_typeof(definition->'agents') when 'array' then definition->'agents' else '[]' end) a
  where a->>'model' is not null) as models
from maas.assistants where name = $1;

-- name: trial_sets
select t.name, t.actor as changed_by, t.updated_at,
  (select count(*) from maas.trial_set_runs s where s.set_name = t.name) as runs
from maas.trial_sets t order by t.name;

-- name: trial_set_runs  -- $1 set: its requests in their order, what each answered and what that answer cost
select r.id as request_id, r.user_id, left(r.user_query, 200) as query, r.assistant, r.final_answer as answer,
  r.created_at, c.price, coalesce(c.tokens, 0) as tokens
from maas.trial_set_runs s join maas.pipeline_runs r on r.id = s.run_id
left join lateral (
  select sum(l.price)::bigint as price, sum(l.tokens_in + l.tokens_out)::bigint as tokens
  from maas.llm_calls l where l.run_id = r.id and l.try = r.try and l.stage = 'final_responder') c on true
where s.set_name = $1 order by s.place;

-- name: keep_trial_set  -- $1 name, $2 requests, $3 actor
select maas.maas_keep_trial_set($1, $2, $3);

-- name: drop_trial_set  -- $1 name, $2 actor
select maas.maas_drop_trial_set($1, $2);
