-- Directions: their rows, their ad sets, their stored figures and what became of their leads.

-- name: ads_directions  -- $1 user, $2 ad account, $3 an id of a direction or of its ad set, or a name; null: all.
-- Those with the id come first. With the ids of Facebook of their ad sets
select d.id, d.name, d.status, d.fb_adset_id, d.daily_budget_minor, d.target_cpl, d.target_qcpl, d.target_cpl_currency,
  d.key_stage_ids, array(select distinct fb_id from (
    select d.fb_adset_id as fb_id union all select s.fb_id from maas.adsets s where s.direction_id = d.id) x
    where fb_id is not null order by fb_id) as adset_fb_ids,
  coalesce($3::text in (d.id::text, d.fb_adset_id), false) as is_id
from maas.directions d
where d.user_id = $1 and d.ad_account_id = $2
  and ($3 is null or $3 in (d.id::text, d.fb_adset_id) or lower(btrim(d.name)) = lower(btrim($3)))
order by is_id desc, d.created_at, d.id;

-- name: ads_direction_figures  -- $1 user, $2 ad account, $3 $4 first and last day; nulls: no limit. As stored
select h.direction_id, sum(h.spend) as spend, sum(h.impressions)::bigint as impressions,
  sum(h.clicks)::bigint as clicks, sum(h.leads)::bigint as leads
from maas.directions d join maas.direction_metrics_daily h on h.direction_id = d.id
where d.user_id = $1 and d.ad_account_id = $2
  and h.day >= coalesce($3::date, '-infinity') and h.day <= coalesce($4::date, 'infinity')
group by h.direction_id;

-- name: ads_direction_days  -- $1 user, $2 direction, $3 $4 first and last day; nulls: no limit. As stored
select h.day, h.spend, h.impressions, h.clicks, h.leads
from maas.directions d join maas.direction_metrics_daily h on h.direction_id = d.id
where d.user_id = $1 and d.id = $2 and h.day >= coalesce($3::date, '-infinity')
  and h.day <= coalesce($4::date, 'infinity')
order by h.day;

-- name: ads_direction_results  -- $1 user, $2 user account, $3 $4 from and to; nulls: no limit.
-- A lead without direction has that of its creative
select coalesce(l.direction_id, c.direction_id) as direction_id, count(*) as leads,
  count(*) filter (where l.is_engaged) as engaged, count(*) filter (where l.is_qualified) as qualified,
  sum(l.revenue) as revenue
from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
  left join maas.user_creatives c on c.id = l.source_creative_id
where u.user_id = $1 and u.id = $2
  and l.created_at >= coalesce($3::timestamptz, '-infinity') and l.created_at < coalesce($4::timestamptz, 'infinity')
group by 1;

-- name: ads_direction_creatives  -- $1 user, $2 direction, $3 how many; `total` is the number of all
select c.id, c.title, c.media_type, c.status, count(*) over () as total
from maas.user_creatives c where c.user_id = $1 and c.direction_id = $2 order by c.created_at desc, c.id limit $3;

-- name: ads_set_direction_status  -- $1 user, $2 direction, $3 status
update maas.directions set status = $3 where user_id = $1 and id = $2;

-- name: ads_set_direction_target  -- $1 user, $2 direction, $3 target, $4 currency; the target of a qualified
-- lead stays if it is in this currency
update maas.directions set target_cpl = $3, target_cpl_currency = $4,
  target_qcpl = case when target_cpl_currency = $4 then target_qcpl end where user_id = $1 and id = $2;
