-- Costs of model calls; prices in micro-dollars.

create view maas.v_run_cost as
select c.run_id, r.user_id, r.assistant, r.created_at, count(*) as calls,
  count(*) filter (where c.finish = 'skipped') as skipped, sum(c.attempts) as requests, sum(c.tokens_in) as tokens_in,
  sum(c.tokens_cached) as tokens_cached, sum(c.tokens_out) as tokens_out, sum(c.images) as images,
  sum(c.price) as price, count(*) filter (where c.price is null) as unpriced, round(sum(c.ms)::numeric, 1) as ms
from maas.llm_calls c join maas.pipeline_runs r on r.id = c.run_id
group by c.run_id, r.user_id, r.assistant, r.created_at;
comment on view maas.v_run_cost is
  'Model calls of each run over all tries; price in micro-dollars, without calls that have no price';

create view maas.v_cost_daily as
select maas.maas_day(created_at) as day, provider, model, role_name as role, count(*) as calls,
  sum(attempts) as requests, sum(tokens_in) as tokens_in, sum(tokens_cached) as tokens_cached,
  sum(tokens_out) as tokens_out, sum(images) as images, sum(price) as price,
  count(*) filter (where price is null) as unpriced, round(avg(ms)::numeric, 1) as ms
from maas.llm_calls group by 1, 2, 3, 4;
comment on view maas.v_cost_daily is 'Calls, tokens and micro-dollars per day, model and role';

create view maas.v_cost_user as
select user_id, sum(tokens) filter (where day = maas.maas_day(now())) as tokens_today,
  sum(price) filter (where day = maas.maas_day(now())) as price_today, sum(tokens) as tokens,
  sum(price) as price, max(day) as last_day
from maas.token_usage group by user_id;
comment on view maas.v_cost_user is 'Tokens and micro-dollars of each user, today and in total';
