-- name: ads_account  -- $1 user, $2 an id of a user account or an ad account, or act_...; null: the default. No row if it is not the user's
select u.id as user_account_id, u.name, a.id as ad_account_id, a.fb_id, a.name as ad_account_name, a.currency, a.timezone,
  c.base_url as crm_url, w.instance,
  exists (select from maas.maas_secret_times(array[$1::uuid]) s where s.name = 'facebook_' || substr(a.fb_id, 5)) as has_facebook_token,
  exists (select from maas.maas_secret_times(array[$1::uuid]) s where s.name = 'amocrm_' || replace(u.id::text, '-', '')) as has_crm_token,
  exists (select from maas.campaigns x where x.ad_account_id = a.id) as has_campaigns,
  exists (select from maas.directions x where x.ad_account_id = a.id) as has_directions,
  exists (select from maas.user_creatives x where x.user_account_id = u.id) as has_creatives,
  exists (select from maas.leads x where x.user_account_id = u.id) as has_leads,
  exists (select from maas.whatsapp_messages x where x.user_account_id = u.id) as has_messages
from maas.user_accounts u
  left join lateral (
    select * from maas.ad_accounts a where a.user_account_id = u.id and ($2::text is null or lower($2) in (u.id::text, a.id::text, a.fb_id))
    order by a.created_at, a.id limit 1) a on true
  left join maas.crm_integration c on c.user_account_id = u.id
  left join maas.whatsapp_integration w on w.user_account_id = u.id
where u.user_id = $1 and ($2 is null or u.id::text = lower($2) or a.id is not null)
order by u.is_default desc, u.created_at, u.id limit 1;
