-- What a person decides once of an account: the stages that make a lead qualified, and the directions.

-- name: ads_set_qualifying  -- $1 user, $2 user account, $3 ids of stages: these and no others; those that there are
update maas.crm_stages set is_qualifying = stage_id = any($3::text[])
where user_id = $1 and user_account_id = $2 returning stage_id, is_qualifying;

-- name: ads_qualify_leads  -- $1 user, $2 user account: the leads of the CRM by the stages that they are in; how many
-- changed. A lost lead stays what it was, and so does one in a stage that is unknown
with changed as (
  update maas.leads l set is_qualified = not l.is_qualified, updated_at = now() from maas.crm_stages s
  where l.user_id = $1 and l.user_account_id = $2 and l.crm_lead_id is not null and s.user_account_id = $2
    and s.pipeline_id = l.pipeline_id and s.stage_id = l.stage_id and l.stage_id <> '143'
    and l.is_qualified <> maas.maas_is_qualifying($1, $2, l.pipeline_id, l.stage_id)
  returning 1)
select count(*)::int as leads from changed;

-- name: ads_set_rate  -- $1 user, $2 ad account, $3 what a unit of the CRM's currency is in that of the account,
-- $4 the currency of the CRM, $5 day
update maas.ad_accounts set rate = $3, rate_of = $4, rate_currency = currency,
  rated_on = coalesce($5, maas.maas_now()::date)
where user_id = $1 and id = $2 returning rate_of, rated_on;

-- name: ads_directions_and_proposals  -- $1 user, $2 ad account: ad sets with their directions; those without one
-- come first, the most expensive of the last 30 days of them first
select s.fb_id, s.name, s.status, c.name as campaign, s.daily_budget_minor, d.name as direction, d.target_cpl,
  d.target_qcpl, d.target_cpl_currency, coalesce((
    select sum(h.spend) from maas.adset_metrics_history h
    where h.adset_id = s.id and h.day > maas.maas_now()::date - 30), 0) as spend
from maas.campaigns c join maas.adsets s on s.campaign_id = c.id left join maas.directions d on d.id = s.direction_id
where c.user_id = $1 and c.ad_account_id = $2
order by d.name nulls first, spend desc, s.name, s.fb_id;

-- name: ads_add_direction  -- $1 user, $2 ad account, $3 ids of Facebook of ad sets without a direction, the first one
-- is its own, $4 name or null: that of the ad set, $5 $6 targets of CPL and QCPL or null; no row if an ad set
-- is unknown or taken
with wanted as (
  select s.id, s.fb_id, s.name, s.daily_budget_minor, w.n
  from unnest($3::text[]) with ordinality w(fb_id, n)
    join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2
    join maas.adsets s on s.campaign_id = c.id and s.fb_id = w.fb_id and s.direction_id is null
), added as (
  insert into maas.directions (user_id, user_account_id, ad_account_id, name, fb_adset_id, daily_budget_minor,
    target_cpl, target_qcpl, target_cpl_currency)
  select x.user_id, x.user_account_id, x.id, left(coalesce($4, w.name), 200), w.fb_id, w.daily_budget_minor, $5,
    $6, case when coalesce($5::numeric, $6::numeric) is not null then x.currency end
  from maas.ad_accounts x join wanted w on w.n = 1
  where x.user_id = $1 and x.id = $2 and (select count(*) from wanted) = cardinality($3::text[])
  returning id, name
), linked as (
  update maas.adsets s set direction_id = added.id from added, wanted w where s.id = w.id returning s.id)
select a.id, a.name from added a;

-- name: ads_set_targets  -- $1 user, $2 ad account, $3 id or name of a direction, $4 $5 targets of CPL and QCPL, null:
-- as it is, but none in another currency; the directions that have them now
update maas.directions d set target_cpl_currency = x.currency,
  target_cpl = coalesce($4, case when d.target_cpl_currency = x.currency then d.target_cpl end),
  target_qcpl = coalesce($5, case when d.target_cpl_currency = x.currency then d.target_qcpl end)
from maas.ad_accounts x
where d.user_id = $1 and d.ad_account_id = $2 and x.id = d.ad_account_id
  and (d.id::text = lower($3::text) or lower(btrim(d.name)) = lower(btrim($3)))
returning d.id;

-- name: ads_direct_ads  -- $1 user, $2 ad account: ads get the direction of their ad sets, and creatives the one that
-- all their ads have
with of_ads as (
  select m.ad_id, m.creative_id, coalesce(m.direction_id, s.direction_id) as direction_id
  from maas.campaigns c join maas.adsets s on s.campaign_id = c.id join maas.ads a on a.adset_id = s.id
    join maas.ad_creative_mapping m on m.ad_id = a.id
  where c.user_id = $1 and c.ad_account_id = $2
), directed as (
  update maas.ad_creative_mapping m set direction_id = o.direction_id from of_ads o
  where m.ad_id = o.ad_id and m.direction_id is null and o.direction_id is not null
)
update maas.user_creatives u set direction_id = o.direction_id from (
  select creative_id, (array_agg(direction_id))[1] as direction_id from of_ads
  group by creative_id having count(distinct direction_id) = 1 and count(direction_id) = count(*)) o
where u.id = o.creative_id and u.direction_id is null;

-- name: ads_set_up  -- $1 user, $2 user account, $3 ad account or null: whether there is what a person decides on, and
-- whether that is decided
select
  exists (
    select from maas.adsets s join maas.campaigns c on c.id = s.campaign_id
    where c.user_id = $1 and c.ad_account_id = $3) as has_adsets,
  exists (select from maas.directions where user_id = $1 and ad_account_id = $3) as has_directions,
  exists (select from maas.crm_stages where user_id = $1 and user_account_id = $2) as has_stages,
  exists (select from maas.crm_stages where user_id = $1 and user_account_id = $2 and is_qualifying) as has_qualifying;
