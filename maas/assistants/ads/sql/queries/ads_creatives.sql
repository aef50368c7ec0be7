-- Creatives: their figures, analyses, scores, tests and the ads that show them.

-- name: creatives  -- $1 user, $2 ad account, $3 $4 first and last day, $5 $6 from and to; nulls: no limit.
-- $7 ids, $8 status, $9 direction; nulls: any
select c.id, c.title, c.media_type, c.status, c.fb_creative_id, c.created_at, d.id as direction_id, d.name as direction,
  d.target_cpl, d.target_qcpl, d.target_cpl_currency, coalesce(h.spend, 0) as spend,
  coalesce(h.impressions, 0) as impressions,
  coalesce(h.clicks, 0) as clicks, coalesce(h.leads, 0) as leads, coalesce(h.purchases, 0) as purchases,
  coalesce(h.video_views, 0) as video_views,
  coalesce(h.p25, 0) as p25, coalesce(h.p50, 0) as p50, coalesce(h.p75, 0) as p75, coalesce(h.p95, 0) as p95,
  coalesce(l.leads, 0) as local_leads, coalesce(l.engaged, 0) as engaged, coalesce(l.qualified, 0) as qualified,
  coalesce(l.sales, 0) as sales, l.revenue, a.score, s.risk_score
from maas.user_creatives c
  left join maas.directions d on d.id = c.direction_id
  left join (
    select m.creative_id, sum(m.spend) as spend, sum(m.impressions)::bigint as impressions,
      sum(m.clicks)::bigint as clicks, sum(m.leads)::bigint as leads,
      sum(m.purchases)::bigint as purchases, sum(m.video_views)::bigint as video_views,
      sum(m.p25)::bigint as p25, sum(m.p50)::bigint as p50, sum(m.p75)::bigint as p75, sum(m.p95)::bigint as p95
    from maas.user_creatives o join maas.creative_metrics_history m on m.creative_id = o.id
    where o.user_id = $1 and o.ad_account_id = $2 and ($7::uuid[] is null or o.id = any($7))
      and m.day >= coalesce($3::date, '-infinity') and m.day <= coalesce($4::date, 'infinity')
    group by m.creative_id) h on h.creative_id = c.id
  left join (
    select e.source_creative_id, count(*) as leads, count(*) filter (where e.is_engaged) as engaged,
      count(*) filter (where e.is_qualified) as qualified,
      count(*) filter (where e.stage_id = '142' or e.revenue > 0) as sales, sum(e.revenue) as revenue
    from maas.user_creatives o join maas.leads e on e.source_creative_id = o.id
    where o.user_id = $1 and o.ad_account_id = $2 and ($7::uuid[] is null or o.id = any($7))
      and e.created_at >= coalesce($5::timestamptz, '-infinity')
      and e.created_at < coalesce($6::timestamptz, 'infinity')
    group by e.source_creative_id) l on l.source_creative_id = c.id
  left join lateral (
    select x.score from maas.creative_analysis x where x.creative_id = c.id
    order by x.analyzed_at desc, x.id limit 1) a on true
  left join lateral (
    select x.risk_score from maas.creative_scores x where x.creative_id = c.id
    order by x.scored_at desc, x.id limit 1) s on true
where c.user_id = $1 and c.ad_account_id = $2 and ($7::uuid[] is null or c.id = any($7))
  and ($8::text is null or c.status = $8) and ($9::uuid is null or c.direction_id = $9)
order by c.created_at desc, c.id;

-- name: find_creatives  -- $1 user, $2 ad account, $3 references: ids of ours or of Facebook, or titles.
-- Of each, those with the id come first
select r.reference, c.id, c.title, c.title as name, c.media_type, c.status, c.direction_id, c.fb_creative_id,
  c.fb_video_id, c.transcript, c.transcript_language, c.created_at,
  coalesce(lower(r.reference) in (c.id::text, c.fb_creative_id, c.fb_video_id), false) as is_id
from unnest($3::text[]) r(reference)
  join maas.user_creatives c on c.user_id = $1 and c.ad_account_id = $2
    and (lower(r.reference) in (c.id::text, c.fb_creative_id, c.fb_video_id)
      or lower(btrim(c.title)) = lower(btrim(r.reference)))
order by r.reference, is_id desc, c.created_at, c.id;

-- name: creative_days  -- $1 user, $2 creative, $3 $4 first and last day; nulls: no limit. As stored
select h.day, h.spend, h.impressions, h.clicks, h.leads, h.purchases, h.video_views, h.p25, h.p50, h.p75, h.p95
from maas.creative_metrics_history h
where h.user_id = $1 and h.creative_id = $2 and h.day >= coalesce($3::date, '-infinity')
  and h.day <= coalesce($4::date, 'infinity')
order by h.day;

-- name: creative_ads  -- $1 user, $2 ad account, $3 creative: the ads that show it
select a.id, a.fb_id, a.name, a.status, s.id as adset_id, s.fb_id as adset_fb_id, s.name as adset,
  s.status as adset_status, c.name as campaign, d.id as direction_id, d.name as direction
from maas.ad_creative_mapping m
  join maas.ads a on a.id = m.ad_id
  join maas.adsets s on s.id = a.adset_id
  join maas.campaigns c on c.id = s.campaign_id
  left join maas.directions d on d.id = m.direction_id
where m.user_id = $1 and c.ad_account_id = $2 and m.creative_id = $3
order by a.created_at, a.id;

-- name: creative_analyses  -- $1 user, $2 creative, $3 how many; the newest first
select score, verdict, recommendations, model, analyzed_at, count(*) over () as total
from maas.creative_analysis where user_id = $1 and creative_id = $2 order by analyzed_at desc, id limit $3;

-- name: creative_risks  -- $1 user, $2 ad account, $3 creative or null, $4 how many:
-- the newest score of each creative, the riskiest first
select * from (
  select distinct on (c.id) c.id, c.title, s.risk_score, s.factors, s.scored_at, count(*) over () as scores
  from maas.user_creatives c join maas.creative_scores s on s.creative_id = c.id
  where c.user_id = $1 and c.ad_account_id = $2 and ($3::uuid is null or c.id = $3)
  order by c.id, s.scored_at desc, s.id) n
order by risk_score desc, title, id limit $4;

-- name: creative_tests  -- $1 user, $2 ad account, $3 creative, $4 test, $5 status; nulls: any.
-- $6 how many, the newest first
select t.id, c.id as creative_id, c.title, t.status, t.budget_usd, t.budget_minor, t.started_at, t.stopped_at, t.result,
  t.fb_adset_id, t.fb_ad_id, d.name as direction, count(*) over () as total
from maas.user_creatives c join maas.creative_tests t on t.creative_id = c.id
  left join maas.directions d on d.id = t.direction_id
where c.user_id = $1 and c.ad_account_id = $2 and ($3::uuid is null or c.id = $3) and ($4::uuid is null or t.id = $4)
  and ($5::text is null or t.status = $5)
order by t.started_at desc, t.id limit $6;

-- name: keep_creative_analysis  -- $1 user, $2 creative, $3 score, $4 verdict, $5 recommendations, $6 model
insert into maas.creative_analysis (user_id, creative_id, score, verdict, recommendations, model)
select user_id, id, $3, $4, $5::jsonb, $6 from maas.user_creatives where user_id = $1 and id = $2
returning id, score, verdict, analyzed_at;

-- name: keep_launched_ad  -- $1 user, $2 ad account, $3 id of Facebook of the ad set, $4 that of the ad, $5 name,
-- $6 status, $7 creative, $8 direction
with added as (
  insert into maas.ads (user_id, adset_id, fb_id, name, status)
  select s.user_id, s.id, $4, $5, $6 from maas.campaigns c join maas.adsets s on s.campaign_id = c.id
  where c.user_id = $1 and c.ad_account_id = $2 and s.fb_id = $3
  on conflict (adset_id, fb_id) do update set status = excluded.status, updated_at = now() returning id, user_id)
insert into maas.ad_creative_mapping (user_id, ad_id, creative_id, direction_id) select user_id, id, $7, $8 from added
on conflict (ad_id) do update set creative_id = excluded.creative_id, direction_id = excluded.direction_id
returning ad_id;

-- name: set_ad_status  -- $1 user, $2 ad, $3 status
update maas.ads set status = $3, updated_at = now() where user_id = $1 and id = $2;

-- name: set_creative_status  -- $1 user, $2 creative, $3 status
update maas.user_creatives set status = $3 where user_id = $1 and id = $2;

-- name: begin_creative_test  -- $1 user, $2 creative, $3 direction, $4 dollars or null, $5 budget in minor units;
-- no row while another test runs
insert into maas.creative_tests (user_id, creative_id, direction_id, budget_usd, budget_minor)
select user_id, id, $3, $4, $5 from maas.user_creatives where user_id = $1 and id = $2
on conflict (creative_id) where status = 'running' do nothing
returning id, started_at;

-- name: keep_creative_test  -- $1 user, $2 test, $3 ad set and $4 ad of Facebook; null: as it is
update maas.creative_tests set fb_adset_id = coalesce($3, fb_adset_id), fb_ad_id = coalesce($4, fb_ad_id)
where user_id = $1 and id = $2;

-- name: fail_creative_test  -- $1 user, $2 test, that was surely not begun
update maas.creative_tests set status = 'failed', stopped_at = maas.maas_now()
where user_id = $1 and id = $2 and status = 'running';

-- name: end_creative_test  -- $1 user, $2 test, $3 result
update maas.creative_tests set status = 'stopped', stopped_at = maas.maas_now(), result = $3::jsonb
where user_id = $1 and id = $2 and status = 'running' returning id;
