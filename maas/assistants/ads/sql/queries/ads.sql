-- name: ads_account  -- $1 user, $2 an id of a user account or an ad account, or act_...; null: the default.
-- No row if it is not the user's
select u.id as user_account_id, u.name, a.id as ad_account_id, a.fb_id, a.name as ad_account_name, a.currency,
  a.timezone, a.synced_from, c.base_url as crm_url, c.currency as crm_currency, a.rate, a.rate_of, a.rate_currency,
  a.rated_on, w.instance, a.token_ends_at as ads_token_ends_at, c.token_ends_at as crm_token_ends_at,
  a.synced_at as ads_synced_at, c.synced_at as crm_synced_at, w.synced_at as whatsapp_synced_at,
  maas.maas_now() as read_at, (
    select jsonb_object_agg(s.service, s.error) from maas.ads_syncs s
    where s.error is not null and (s.ad_account_id = a.id or s.user_account_id = u.id)) as sync_errors, array(
    select format('%s (%s)', o.name, o.currency) from maas.ad_accounts o
    where o.user_account_id = u.id and o.id <> a.id order by o.created_at, o.id) as other_ad_accounts,
  exists (
    select from maas.maas_secret_times(array[$1::uuid]) s
    where s.name = 'facebook_' || substr(a.fb_id, 5)) as has_facebook_token,
  exists (
    select from maas.maas_secret_times(array[$1::uuid]) s
    where s.name = 'amocrm_' || replace(u.id::text, '-', '')) as has_crm_token,
  exists (select from maas.campaigns x where x.ad_account_id = a.id) as has_campaigns,
  exists (select from maas.directions x where x.ad_account_id = a.id) as has_directions,
  exists (select from maas.user_creatives x where x.user_account_id = u.id) as has_creatives,
  exists (select from maas.leads x where x.user_account_id = u.id) as has_leads,
  exists (select from maas.whatsapp_messages x where x.user_account_id = u.id) as has_messages
from maas.user_accounts u
  left join lateral (
    select * from maas.ad_accounts a
    where a.user_account_id = u.id and ($2::text is null or lower($2) in (u.id::text, a.id::text, a.fb_id))
    order by a.created_at, a.id limit 1) a on true
  left join maas.crm_integration c on c.user_account_id = u.id
  left join maas.whatsapp_integration w on w.user_account_id = u.id
where u.user_id = $1 and ($2 is null or u.id::text = lower($2) or a.id is not null)
order by u.is_default desc, u.created_at, u.id limit 1;

-- name: user_specs  -- $1 user, $2 how many: preferences, by key
select key, value, updated_at from maas.user_specs where user_id = $1 order by key limit $2;

-- name: set_specs  -- $1 user, $2 all preferences by key, $3 actor
select maas.maas_set_specs($1, $2::jsonb, $3);

-- name: recent_brain_actions  -- $1 user, $2 user account, $3 how many; newest first
select at, left(action, 200) as action, left(entity, 200) as entity, left(reason, 300) as reason
from maas.brain_actions where user_id = $1 and user_account_id = $2 order by at desc, id limit $3;

-- name: ad_account_status  -- $1 user, $2 ad account, $3 how long a status is fresh
select can_run_ads, status, status_checked_at as checked_at,
  coalesce(status_checked_at > maas.maas_now() - $3::interval, false) as is_fresh
from maas.ad_accounts where user_id = $1 and id = $2;

-- name: keep_ad_account_status  -- $1 user, $2 ad account, $3 whether it can run ads, $4 status
update maas.ad_accounts set can_run_ads = $3, status = $4, status_checked_at = maas.maas_now()
where user_id = $1 and id = $2
returning can_run_ads, status, status_checked_at as checked_at;

-- name: directions_in_short  -- $1 user, $2 ad account, $3 how many
select id, name, status, daily_budget_minor, target_cpl, target_cpl_currency from maas.directions
where user_id = $1 and ad_account_id = $2 order by status, name, id limit $3;

-- name: own_account  -- $1 user, $2 user account, $3 ad account: our id or act_NUMBER, nulls mean any;
-- the id of the narrower one, no row unless both are the user's
select coalesce(a.id, u.id)::text as id
from maas.user_accounts u left join maas.ad_accounts a
  on a.user_account_id = u.id and a.user_id = u.user_id and (a.id::text = lower($3::text) or a.fb_id = $3)
where u.user_id = $1 and ($2::text is null or u.id::text = lower($2)) and ($3 is null) = (a.id is null)
limit 1;

-- name: connect_ads  -- $1 user, $2 name of the business, $3 ad account or null, $4 its name, $5 currency, $6 zone,
-- $7 address of the CRM or null, $8 instance of WhatsApp or null, $9 actor; the id of the business
select maas.maas_connect_ads($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: set_ads_token  -- $1 user, $2 name of the secret, $3 token, $4 actor
select maas.maas_set_ads_token($1, $2, $3, $4);

-- name: list_ads_accounts  -- $1 user
select u.id, u.name, u.is_default, array(
    select a.fb_id from maas.ad_accounts a where a.user_account_id = u.id order by a.fb_id) as ad_accounts,
  c.base_url as crm, w.instance as whatsapp
from maas.user_accounts u
  left join maas.crm_integration c on c.user_account_id = u.id
  left join maas.whatsapp_integration w on w.user_account_id = u.id
where u.user_id = $1 order by u.is_default desc, u.name, u.id;

-- name: remove_ads_account  -- $1 user, $2 account: it and all its rows are deleted; its ad accounts
with gone as (select fb_id from maas.ad_accounts where user_id = $1 and user_account_id = $2),
  deleted as (delete from maas.user_accounts where user_id = $1 and id = $2 returning id)
select array(select fb_id from gone) as ad_accounts from deleted;

-- name: ads_connections  -- $1 whether the server of WhatsApp is configured, $2 the age from which a sync is old,
-- $3 how long before its end a token is named: by service the connections of all users, those without a token, those
-- whose token ends and when the first of them does, those that are old, those whose last sync failed and why the first
-- of them did, and the users of all these
select service, count(*) as connections, count(*) filter (where not has_token) as without_token,
  count(*) filter (where has_token and is_ending) as ending, min(token_ends_at) filter (where has_token) as ends_at,
  count(*) filter (where has_token and is_old) as stale,
  count(*) filter (where has_token and error is not null) as failing,
  min(error) filter (where has_token) as error,
  coalesce(array_agg(distinct user_id)
    filter (where is_old or error is not null or not has_token or is_ending), '{}') as users
from (
  select c.service, c.user_id, coalesce(c.synced_at < maas.maas_now() - $2::interval, true) as is_old, s.error,
    c.token_ends_at, coalesce(c.token_ends_at < maas.maas_now() + $3::interval, false) as is_ending,
    case c.service when 'WhatsApp' then $1::boolean
      else exists (select from maas.maas_secret_times(array[c.user_id]) t where t.name = c.secret)
    end as has_token
  from maas.v_ads_connections c join maas.ads_syncs s
    on s.service = c.service and (s.ad_account_id = c.ad_account_id or s.user_account_id = c.user_account_id)
) connection
group by service order by service;
