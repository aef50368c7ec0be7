-- Connections of a business: how they are stored, what is known of each, and syncs that somebody wants now.

create or replace function maas.maas_connect_ads(
  p_user uuid, p_name text, p_ad_account text default null, p_ad_account_name text default null,
  p_currency text default null, p_zone text default null, p_crm text default null, p_whatsapp text default null,
  p_actor text default null)
returns uuid language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  business uuid;
begin
  if p_user is null then
    raise invalid_parameter_value using message = 'user: must be a UUID';
  end if;
  perform maas.maas_lock('ads_connections', p_user::text);
  select u.id into business from maas.user_accounts u
  where u.user_id = p_user and u.name = p_name order by u.created_at, u.id limit 1;
  if business is null then
    if (select count(*) from maas.user_accounts u where u.user_id = p_user) >= 50 then
      raise program_limit_exceeded using message = 'a user has at most 50 businesses';
    end if;
    insert into maas.user_accounts (user_id, name, is_default)
    select p_user, p_name, not exists (select from maas.user_accounts u where u.user_id = p_user and u.is_default)
    returning id into business;
  end if;
  if p_ad_account is not null then
    if (select count(*) from maas.ad_accounts a where a.user_id = p_user and a.fb_id <> p_ad_account) >= 200 then
      raise program_limit_exceeded using message = 'a user has at most 200 ad accounts';
    end if;
    insert into maas.ad_accounts (user_id, user_account_id, fb_id, name, currency, timezone)
    values (p_user, business, p_ad_account, p_ad_account_name, p_currency, p_zone)
    on conflict (user_id, fb_id) do update set user_account_id = excluded.user_account_id, name = excluded.name,
      currency = excluded.currency, timezone = excluded.timezone;
  end if;
  if p_crm is not null then
    insert into maas.crm_integration (user_id, user_account_id, base_url) values (p_user, business, p_crm)
    on conflict (user_account_id) do update set base_url = excluded.base_url;
  end if;
  if p_whatsapp is not null then
    insert into maas.whatsapp_integration (user_id, user_account_id, instance) values (p_user, business, p_whatsapp)
    on conflict (user_account_id) do update set instance = excluded.instance;
  end if;
  perform maas.maas_write_audit('ads_connect', p_user, null, jsonb_strip_nulls(jsonb_build_object(
    'business', business, 'ad_account', p_ad_account, 'crm', p_crm, 'whatsapp', p_whatsapp)), p_actor);
  return business;
end
$$;
comment on function maas.maas_connect_ads is
  'Makes or changes the business of this name, with the connections that are given, and writes the audit; the first '
  'business of a user becomes the default. Tokens are no part of it';

create or replace function maas.maas_set_ads_token(
  p_user uuid, p_name text, p_value text, p_actor text default null)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if p_name is null or p_name !~ '^(facebook_[0-9]{1,20}|amocrm_[0-9a-f]{32})$' then
    raise invalid_parameter_value using message = 'name: facebook_NUMBER or amocrm_ID';
  end if;
  return maas.maas_set_secret(p_user, p_name, p_value, p_actor);
end
$$;
comment on function maas.maas_set_ads_token is
  'As maas_set_secret, for tokens of ad accounts and CRMs: the HTTP server may set these and no others';

create or replace function maas.maas_ads_connections(p_user uuid, p_interval_min int)
returns table (
  business_id uuid, business text, service text, named text, title text, currency text, timezone text,
  has_token boolean, token_ends_at timestamptz, synced_at timestamptz, begun_at timestamptz, is_syncing boolean,
  is_wanted boolean, is_by_itself boolean, due_at timestamptz, error text, progress jsonb, has_adsets boolean,
  has_directions boolean, has_stages boolean,
  has_qualifying boolean, read_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select c.user_account_id, c.account, c.service, c.named, coalesce(a.name, crm.base_url, w.instance),
    coalesce(a.currency, crm.currency), a.timezone,
    c.secret is null or exists (
      select from maas.maas_secret_times(array[p_user]) t where t.name = c.secret),
    c.token_ends_at, c.synced_at, s.begun_at, coalesce(s.lease_until > maas.maas_now(), false),
    s.is_wanted, coalesce(s.interval_min, p_interval_min) <> 0,
    nullif(maas.maas_ads_sync_due(s, p_interval_min), '-infinity'), s.error, s.progress,
    exists (
      select from maas.adsets x join maas.campaigns y on y.id = x.campaign_id where y.ad_account_id = c.ad_account_id),
    exists (select from maas.directions d where d.ad_account_id = c.ad_account_id),
    exists (select from maas.crm_stages g where g.user_account_id = c.user_account_id),
    exists (select from maas.crm_stages g where g.user_account_id = c.user_account_id and g.is_qualifying),
    maas.maas_now()
  from maas.v_ads_connections c
    join maas.ads_syncs s
      on s.service = c.service and (s.ad_account_id = c.ad_account_id or s.user_account_id = c.user_account_id)
    left join maas.ad_accounts a on a.id = c.ad_account_id
    left join maas.crm_integration crm on c.service = 'amoCRM' and crm.user_account_id = c.user_account_id
    left join maas.whatsapp_integration w on c.service = 'WhatsApp' and w.user_account_id = c.user_account_id
  where c.user_id = p_user
  order by c.account, c.user_account_id, array_position(array['Facebook', 'amoCRM', 'WhatsApp'], c.service), c.named
$$;
comment on function maas.maas_ads_connections is
  'The connections of a user by business, with what is known of their tokens, of their syncs, and of what a person '
  'decides; no token. p_interval_min as in maas_ads_sync_due; due_at null: as soon as may be, or never';

create or replace function maas.maas_want_ads_syncs(p_user uuid, p_account uuid default null) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted int;
begin
  update maas.ads_syncs s set is_wanted = true
  where s.user_id = p_user and s.owner is null and (p_account is null or exists (
    select from maas.v_ads_connections c
    where c.user_account_id = p_account and c.service = s.service
      and (c.ad_account_id = s.ad_account_id or c.user_account_id = s.user_account_id)));
  get diagnostics wanted = row_count;
  return wanted;
end
$$;
comment on function maas.maas_want_ads_syncs is
  'Has the connections of a user, or of one business of theirs, synced as soon as an orchestrator is free; how many. '
  'One that is being synced goes on';
