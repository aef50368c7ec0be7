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
