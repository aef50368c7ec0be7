-- What model calls cost.

-- name: price  -- $1 provider, $2 model, $3 tokens in, $4 of these cached, $5 out: micro-dollars, null when unknown
select maas_price($1, $2, $3, $4, $5);

-- name: spent  -- $1 run, $2 its user: tokens of this try, and of the user today
select
  (select coalesce(sum(c.tokens_in + c.tokens_out), 0)::bigint from llm_calls c join pipeline_runs r on r.id = c.run_id and r.try = c.try
   where c.run_id = $1) as run,
  coalesce((select tokens from token_usage where user_id = $2 and day = maas_day(now())), 0) as today;

-- name: pin_calls  -- $1 run, $2 attempt, $3 calls
select maas_pin_calls($1, $2, $3::jsonb);

-- name: pinned_calls  -- $1 run, $2 stage: replies of this try
select c.round, c.request_hash, c.reply, c.calls, c.parts, c.finish
from llm_calls c join pipeline_runs r on r.id = c.run_id and r.try = c.try
where c.run_id = $1 and c.stage = $2 and c.error is null and c.finish <> 'skipped' order by c.round;
