-- For operators, and for what syncs.

create view maas.v_ads_connections as
select one.*, u.name as account from (
  select 'Facebook' as service, user_id, user_account_id, id as ad_account_id, fb_id as named, synced_at,
    'facebook_' || substr(fb_id, 5) as secret, token_ends_at
  from maas.ad_accounts
  union all
  select 'amoCRM', user_id, user_account_id, null, user_account_id::text, synced_at,
    'amocrm_' || replace(user_account_id::text, '-', ''), token_ends_at
  from maas.crm_integration
  union all
  select 'WhatsApp', user_id, user_account_id, null, user_account_id::text, synced_at, null, null
  from maas.whatsapp_integration) one
join maas.user_accounts u on u.id = one.user_account_id;
comment on view maas.v_ads_connections is
  'What businesses are connected to: by which id (named), with which secret of the user, when that ends, and when '
  'it was last read';
