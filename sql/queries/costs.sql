-- Costs of model calls.

-- name: price  -- $1 provider, $2 model, $3 tokens in, $4 of these cached, $5 out: micro-dollars, null when unknown
select maas.maas_price($1, $2, $3, $4, $5);

-- name: spending  -- $1 user: tokens and micro-dollars, today and in total
select coalesce(tokens_today, 0)::bigint as tokens_today, coalesce(price_today, 0)::bigint as price_today,
  tokens::bigint as tokens, price::bigint as price
from maas.v_cost_user where user_id = $1;

-- name: budget  -- $1 user: what operators have set for the user, else for all; no row: nothing
select user_id, daily_tokens, daily_dollars, actor as changed_by, updated_at from maas.user_budgets
where user_id = $1 or user_id = '00000000-0000-0000-0000-000000000000' order by user_id desc limit 1;

-- name: set_budget  -- $1 user, $2 tokens, $3 dollars, $4 actor
select maas.maas_set_budget($1, $2, $3, $4);

-- name: drop_budget  -- $1 user, $2 actor
select maas.maas_drop_budget($1, $2);

-- name: set_limits  -- the quotas and rates that operators have set
select name, value from maas.set_limits;

-- name: limits  -- each with its bounds, what the settings of orchestrators say, and what operators have set
select r.name, r.minimum, r.maximum, e.value::bigint as configured, s.value, s.actor as changed_by, s.updated_at
from maas.maas_limit_ranges() r left join maas.engine_settings e on e.key = r.name
left join maas.set_limits s on s.name = r.name;

-- name: set_limit  -- $1 name, $2 value, $3 actor
select maas.maas_set_limit($1, $2, $3);

-- name: drop_limit  -- $1 name, $2 actor
select maas.maas_drop_limit($1, $2);

-- name: add_usage  -- $1 user, $2 provider, $3 model, $4 tokens in, $5 out
select maas.maas_add_usage($1, $2, $3, $4, $5);

-- name: spent  -- $1 run, $2 its user, $3 calls that are not stored yet: tokens of this try;
-- tokens and micro-dollars of the user today
with unsaved as materialized (
  select coalesce(sum(c.tokens_in + c.tokens_out), 0)::bigint as tokens,
    coalesce(sum(maas.maas_price(
      c.provider, c.model, c.tokens_in, coalesce(c.cached, 0), c.tokens_out, coalesce(c.images, 0)
    )), 0)::bigint as price
  from jsonb_to_recordset($3::jsonb) as c(
    provider text, model text, tokens_in int, tokens_out int, cached int, images int)
)
select
  n.tokens + (select coalesce(sum(c.tokens_in + c.tokens_out), 0)::bigint
    from maas.llm_calls c join maas.pipeline_runs r on r.id = c.run_id and r.try = c.try
    where c.run_id = $1) as run_tokens,
  n.tokens + coalesce(u.tokens, 0) as tokens_today, n.price + coalesce(u.price, 0) as price_today
from unsaved n left join maas.token_usage u on u.user_id = $2 and u.day = maas.maas_day(now());

-- name: pin_calls  -- $1 run, $2 attempt, $3 calls
select maas.maas_pin_calls($1, $2, $3::jsonb);

-- name: kept_calls  -- $1 run, $2 stage: replies that an earlier claim of this try stored, and its failed attempts
select c.round, c.request_hash, c.reply, c.calls, c.parts, c.finish, c.attempts, c.error, c.tokens_in,
  c.tokens_out, c.tokens_cached
from maas.llm_calls c join maas.pipeline_runs r on r.id = c.run_id and r.try = c.try
where c.run_id = $1 and c.stage = $2 and c.finish <> 'skipped' order by c.round;

-- name: answer_speeds  -- recent tokens per second of each answering model, including the time to the first token
select c.provider, c.model, percentile_cont(0.5) within group (order by c.tokens_out * 1000 / c.ms)::float8 as speed
from (select id from maas.pipeline_runs order by created_at desc limit 500) r
join maas.llm_calls c on c.run_id = r.id and c.stage = 'final_responder' and c.error is null and c.attempts = 1
where c.tokens_out >= 50 and c.ms > 0 group by c.provider, c.model having count(*) >= 5 order by speed;

-- name: call_failures  -- calls of the last day, at most of 500 runs, by stage, role and model: how many,
-- how many of them failed, how many for want of time and after how many seconds, and the last error
select c.stage, c.role_name, c.provider, c.model, count(*)::int as calls, count(c.error)::int as failures,
  count(*) filter (where c.error like 'timeout: %')::int as timeouts,
  (percentile_cont(0.5) within group (order by c.ms)
    filter (where c.error like 'timeout: %') / 1000)::float8 as seconds,
  (array_agg(c.error order by c.created_at desc) filter (where c.error is not null))[1] as last_error
from (
  select id from maas.pipeline_runs where created_at > now() - interval '1 day' order by created_at desc limit 500) r
join maas.llm_calls c on c.run_id = r.id and c.attempts > 0 and c.provider <> 'extractive' and c.finish <> 'stopped'
group by c.stage, c.role_name, c.provider, c.model order by count(c.error) desc, c.role_name, c.model;

-- name: sum_runs
select maas.maas_sum_runs();

-- name: prices
select provider, model, input::float8 as input, cached::float8 as cached, output::float8 as output,
  image::float8 as image, updated_at
from maas.model_prices order by provider, model;

-- name: set_price  -- $1 provider, $2 model, $3 input, $4 cached, $5 output, $6 image, $7 actor
select maas.maas_set_price($1, $2, $3, $4, $5, $6, $7);

-- name: drop_price  -- $1 provider, $2 model, $3 actor
select maas.maas_drop_price($1, $2, $3);
