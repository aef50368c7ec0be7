-- Stored responses.

-- name: store_response
select maas.maas_store_response($1::uuid, $2::uuid, $3::uuid, $4::jsonb, $5::jsonb, $6::jsonb);

-- name: delete_response
select maas.maas_delete_response($1::uuid, $2::uuid);

-- name: response
select run_id, user_id, request, input, response from maas.responses where run_id = $1 and not request ? 'kept_by';

-- name: is_kept_for_others  -- $1 user, $2 the id that a provider gave a response which it keeps
select coalesce(bool_and(user_id <> $1), false) from maas.responses
where response->>'id' = $2::text and request ? 'kept_by';

-- name: owner_of_response
select user_id from maas.responses where run_id = $1;

-- name: responses_before  -- $1 user, $2 run of a response, $3 how many at most: it and what it continues, oldest first
with recursive chain as (
  select r.run_id, r.previous_run_id, r.input, r.response, 1 as depth
  from maas.responses r where r.run_id = $2 and r.user_id = $1 and not r.request ? 'kept_by'
  union all
  select r.run_id, r.previous_run_id, r.input, r.response, c.depth + 1
  from chain c join maas.responses r on r.run_id = c.previous_run_id and r.user_id = $1 where c.depth < $3)
select input, response->'output' as output from chain order by depth desc;

-- name: outputs_of_responses  -- $1 user, $2 runs
select response->'output' as output from maas.responses where user_id = $1 and run_id = any($2);
