-- The ad account as Facebook has it: what tools read there is kept, so that ids are known and reports can join it.

-- name: ads_now  -- the clock that periods are counted from
select maas.maas_now();

-- name: ads_keep_campaigns  -- $1 user, $2 ad account, $3 campaigns: fb_id, name, objective, status, daily_budget_minor
insert into maas.campaigns as c (user_id, ad_account_id, fb_id, name, objective, status, daily_budget_minor)
select distinct on (r.fb_id) a.user_id, a.id, r.fb_id, r.name, r.objective, r.status, r.daily_budget_minor
from maas.ad_accounts a
  cross join jsonb_to_recordset($3::jsonb) as r(
    fb_id text, name text, objective text, status text, daily_budget_minor bigint)
where a.user_id = $1 and a.id = $2
on conflict (ad_account_id, fb_id) do update set name = excluded.name, objective = excluded.objective,
  status = excluded.status, daily_budget_minor = excluded.daily_budget_minor, updated_at = now()
where (c.name, c.objective, c.status, c.daily_budget_minor)
  is distinct from (excluded.name, excluded.objective, excluded.status, excluded.daily_budget_minor);

-- name: ads_keep_adsets  -- $1 user, $2 ad account, $3 ad sets: fb_id, campaign_fb_id, name, status,
-- daily_budget_minor; their campaigns are known. A direction has the budget of its ad set
with of_directions as (
  update maas.directions d set daily_budget_minor = r.daily_budget_minor
  from jsonb_to_recordset($3::jsonb) as r(fb_id text, daily_budget_minor bigint)
  where d.user_id = $1 and d.ad_account_id = $2 and d.fb_adset_id = r.fb_id
    and d.daily_budget_minor is distinct from r.daily_budget_minor)
insert into maas.adsets as s (user_id, campaign_id, direction_id, fb_id, name, status, daily_budget_minor)
select distinct on (c.id, r.fb_id) c.user_id, c.id,
  (select d.id from maas.directions d where d.ad_account_id = $2 and d.user_id = $1 and d.fb_adset_id = r.fb_id
   order by d.created_at, d.id limit 1),
  r.fb_id, r.name, r.status, r.daily_budget_minor
from jsonb_to_recordset($3::jsonb) as r(
  fb_id text, campaign_fb_id text, name text, status text, daily_budget_minor bigint)
  join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2 and c.fb_id = r.campaign_fb_id
on conflict (campaign_id, fb_id) do update set name = excluded.name, status = excluded.status,
  daily_budget_minor = excluded.daily_budget_minor,
  direction_id = coalesce(s.direction_id, excluded.direction_id), updated_at = now()
where (s.name, s.status, s.daily_budget_minor, s.direction_id)
  is distinct from (
    excluded.name, excluded.status, excluded.daily_budget_minor, coalesce(s.direction_id, excluded.direction_id));

-- name: ads_keep_ads  -- $1 user, $2 ad account, $3 ads: fb_id, adset_fb_id, name, status; their ad sets are known
insert into maas.ads as a (user_id, adset_id, fb_id, name, status)
select distinct on (s.id, r.fb_id) s.user_id, s.id, r.fb_id, r.name, r.status
from jsonb_to_recordset($3::jsonb) as r(fb_id text, adset_fb_id text, name text, status text)
  join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2
  join maas.adsets s on s.campaign_id = c.id and s.fb_id = r.adset_fb_id
on conflict (adset_id, fb_id) do update set name = excluded.name, status = excluded.status, updated_at = now()
where (a.name, a.status) is distinct from (excluded.name, excluded.status);

-- name: ads_mark_deleted_campaigns  -- $1 user, $2 ad account, $3 ids of Facebook of all that it lists
update maas.campaigns set status = 'DELETED', updated_at = now()
where user_id = $1 and ad_account_id = $2 and status <> 'DELETED' and fb_id <> all($3::text[]);

-- name: ads_mark_deleted_adsets  -- $1 user, $2 ad account, $3 ids of Facebook of all that it lists
update maas.adsets s set status = 'DELETED', updated_at = now() from maas.campaigns c
where c.id = s.campaign_id and c.user_id = $1 and c.ad_account_id = $2 and s.status <> 'DELETED'
  and s.fb_id <> all($3::text[]);

-- name: ads_mark_deleted_ads  -- $1 user, $2 ad account, $3 ids of Facebook of all that it lists
update maas.ads a set status = 'DELETED', updated_at = now()
from maas.adsets s join maas.campaigns c on c.id = s.campaign_id
where s.id = a.adset_id and c.user_id = $1 and c.ad_account_id = $2 and a.status <> 'DELETED'
  and a.fb_id <> all($3::text[]);

-- name: ads_unknown  -- $1 user, $2 ad account, $3 campaigns, adsets or ads, $4 ids of Facebook: those not kept yet
select w.fb_id from unnest($4::text[]) w(fb_id)
where not exists (
  select from maas.campaigns c
    left join maas.adsets s on s.campaign_id = c.id and $3::text <> 'campaigns'
    left join maas.ads a on a.adset_id = s.id and $3::text = 'ads'
  where c.user_id = $1 and c.ad_account_id = $2
    and w.fb_id = case $3::text when 'campaigns' then c.fb_id when 'adsets' then s.fb_id else a.fb_id end)
order by w.fb_id;

-- name: ads_keep_creatives  -- $1 user, $2 ad account, $3 ads: name, creative_fb_id, creative_name, video_fb_id;
-- those that are not known yet
insert into maas.user_creatives (
  user_id, user_account_id, ad_account_id, title, media_type, fb_creative_id, fb_video_id)
select distinct on (r.creative_fb_id) x.user_id, x.user_account_id, x.id,
  left(coalesce(r.creative_name, nullif(r.name, ''), r.creative_fb_id), 300),
  case when r.video_fb_id is null then 'image' else 'video' end, r.creative_fb_id, r.video_fb_id
from maas.ad_accounts x
  cross join jsonb_to_recordset($3::jsonb) as r(
    name text, creative_fb_id text, creative_name text, video_fb_id text)
where x.user_id = $1 and x.id = $2
order by r.creative_fb_id, r.name
on conflict (ad_account_id, fb_creative_id) do nothing;

-- name: ads_keep_shown  -- $1 user, $2 ad account, $3 ads: fb_id, creative_fb_id;
-- which of our creatives each known ad shows
insert into maas.ad_creative_mapping as m (user_id, ad_id, creative_id, direction_id)
select distinct on (a.id) a.user_id, a.id, u.id, coalesce(s.direction_id, u.direction_id)
from jsonb_to_recordset($3::jsonb) as r(fb_id text, creative_fb_id text)
  join maas.user_creatives u on u.user_id = $1 and u.ad_account_id = $2 and u.fb_creative_id = r.creative_fb_id
  join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2
  join maas.adsets s on s.campaign_id = c.id
  join maas.ads a on a.adset_id = s.id and a.fb_id = r.fb_id
order by a.id, u.created_at, u.id
on conflict (ad_id) do update set creative_id = excluded.creative_id where m.creative_id <> excluded.creative_id;

-- name: ads_keep_adset_days  -- $1 user, $2 ad account, $3 days of known ad sets: fb_id, day, impressions, clicks,
-- spend, leads
insert into maas.adset_metrics_history as h (user_id, adset_id, day, impressions, clicks, spend, leads)
select distinct on (s.id, r.day) s.user_id, s.id, r.day, r.impressions, r.clicks, r.spend, r.leads
from jsonb_to_recordset($3::jsonb) as r(
  fb_id text, day date, impressions bigint, clicks bigint, spend numeric, leads int)
  join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2
  join maas.adsets s on s.campaign_id = c.id and s.fb_id = r.fb_id
on conflict (adset_id, day) do update set impressions = excluded.impressions, clicks = excluded.clicks,
  spend = excluded.spend, leads = excluded.leads
where (h.impressions, h.clicks, h.spend, h.leads) is distinct from (
  excluded.impressions, excluded.clicks, excluded.spend, excluded.leads);

-- name: ads_keep_direction_days  -- $1 user, $2 direction, $3 days: day, impressions, clicks, spend, leads
insert into maas.direction_metrics_daily as h (user_id, direction_id, day, impressions, clicks, spend, leads)
select distinct on (r.day) d.user_id, d.id, r.day, r.impressions, r.clicks, r.spend, r.leads
from maas.directions d
  cross join jsonb_to_recordset($3::jsonb) as r(day date, impressions bigint, clicks bigint, spend numeric, leads int)
where d.user_id = $1 and d.id = $2
on conflict (direction_id, day) do update set impressions = excluded.impressions, clicks = excluded.clicks,
  spend = excluded.spend, leads = excluded.leads
where (h.impressions, h.clicks, h.spend, h.leads) is distinct from (
  excluded.impressions, excluded.clicks, excluded.spend, excluded.leads);

-- name: ads_campaign  -- $1 user, $2 ad account, $3 an id of ours or of Facebook, or a name; the one with the id first
select id, fb_id, name, status, objective, daily_budget_minor, $3::text in (fb_id, id::text) as is_id
from maas.campaigns
where user_id = $1 and ad_account_id = $2
  and ($3 in (fb_id, id::text) or lower(btrim(name)) = lower(btrim($3)))
order by is_id desc, status, id limit 6;

-- name: ads_adset  -- $1 user, $2 ad account, $3 an id of ours or of Facebook, or a name; the one with the id first
select s.id, s.fb_id, s.name, s.status, s.daily_budget_minor, c.fb_id as campaign_fb_id, c.name as campaign,
  c.status as campaign_status, c.daily_budget_minor as campaign_budget_minor, $3::text in (s.fb_id, s.id::text) as is_id
from maas.campaigns c join maas.adsets s on s.campaign_id = c.id
where c.user_id = $1 and c.ad_account_id = $2
  and ($3 in (s.fb_id, s.id::text) or lower(btrim(s.name)) = lower(btrim($3)))
order by is_id desc, s.status, s.id limit 6;

-- name: ads_set_status  -- $1 user, $2 ad account, $3 the id of Facebook of a campaign or an ad set, $4 status
with changed as (
  update maas.campaigns set status = $4, updated_at = now()
  where user_id = $1 and ad_account_id = $2 and fb_id = $3 and status <> $4)
update maas.adsets s set status = $4, updated_at = now() from maas.campaigns c
where c.id = s.campaign_id and c.user_id = $1 and c.ad_account_id = $2 and s.fb_id = $3 and s.status <> $4;

-- name: ads_set_adset_budget  -- $1 user, $2 ad account, $3 the id of Facebook, $4 budget in minor units
with of_direction as (
  update maas.directions set daily_budget_minor = $4
  where user_id = $1 and ad_account_id = $2 and fb_adset_id = $3)
update maas.adsets s set daily_budget_minor = $4, updated_at = now() from maas.campaigns c
where c.id = s.campaign_id and c.user_id = $1 and c.ad_account_id = $2 and s.fb_id = $3;

-- name: ads_adset_targets  -- $1 user, $2 ad account: the targets of the directions that ad sets belong to
select distinct on (s.fb_id) s.fb_id, d.name as direction, d.target_cpl, d.target_cpl_currency
from maas.directions d join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2
  join maas.adsets s on s.campaign_id = c.id and (s.direction_id = d.id or s.fb_id = d.fb_adset_id)
where d.user_id = $1 and d.ad_account_id = $2 and d.target_cpl is not null
order by s.fb_id, (s.direction_id = d.id) desc nulls last, d.created_at;

-- name: ads_creatives_of  -- $1 user, $2 ad account, $3 ids of Facebook of ads: the creatives that they show, and
-- their ad sets
select distinct on (a.fb_id) a.fb_id, m.creative_id, s.fb_id as adset_fb_id
from maas.campaigns c join maas.adsets s on s.campaign_id = c.id join maas.ads a on a.adset_id = s.id
  join maas.ad_creative_mapping m on m.ad_id = a.id
where c.user_id = $1 and c.ad_account_id = $2 and a.fb_id = any($3::text[])
order by a.fb_id, m.creative_id;
