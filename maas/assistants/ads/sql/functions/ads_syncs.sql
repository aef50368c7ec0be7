-- Syncs of connections: when each is due, and who does it.
--
-- A claim is a lease that its process renews. At most one connection of a user is claimed, which a unique index says,
-- and the user whose last sync is the longest ago comes first: many accounts of one user do not delay those of others.

create or replace function maas.maas_ads_sync_due(p_sync maas.ads_syncs, p_interval_min int) returns timestamptz
language sql stable as $$
  select case
    when p_sync.is_wanted then '-infinity'
    when coalesce(p_sync.interval_min, p_interval_min) = 0 then null
    when p_sync.begun_at is null then '-infinity'
    else p_sync.begun_at + interval '1 minute' * case p_sync.failures when 0 then 1.0 else least(
        1.0, power(2.0, least(p_sync.failures, 20)) / coalesce(p_sync.interval_min, p_interval_min)) end
      * coalesce(p_sync.interval_min, p_interval_min)
  end
$$;
comment on function maas.maas_ads_sync_due is
  'When a connection is to be synced again: at once where somebody wants it, else an interval after the '
  'last sync began, or two, four, eight minutes after it where it failed; null: never. The '
  'interval is in minutes and holds where the connection has none of its own';

create or replace function maas.maas_claim_ads_sync(p_interval_min int, p_lease interval, p_id uuid default null)
returns setof maas.ads_syncs language plpgsql as $$
begin
  update maas.ads_syncs set owner = null, lease_until = null where lease_until < maas.maas_now();
  return query
  update maas.ads_syncs s set owner = gen_random_uuid(), lease_until = maas.maas_now() + p_lease,
    begun_at = maas.maas_now(), failures = s.failures + 1, is_wanted = false, progress = '{}'
  where s.id = (
    select w.id from maas.ads_syncs w
    where (w.id = p_id or p_id is null and maas.maas_ads_sync_due(w, p_interval_min) <= maas.maas_now())
      and not exists (select from maas.ads_syncs o where o.user_id = w.user_id and o.owner is not null)
    order by (select max(o.begun_at) from maas.ads_syncs o where o.user_id = w.user_id) nulls first,
      maas.maas_ads_sync_due(w, p_interval_min), w.id
    limit 1 for no key update skip locked)
  returning s.*;
exception when unique_violation then
  return;  -- another process has claimed a connection of this user at the same moment
end
$$;
comment on function maas.maas_claim_ads_sync is
  'Claims the connection whose sync is due, or the one with p_id, due or not; no row if there is none or one of its '
  'user is being synced';

create or replace function maas.maas_on_ads_connection() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  of_service text := case tg_table_name when 'ad_accounts' then 'Facebook' when 'crm_integration' then 'amoCRM'
    else 'WhatsApp' end;
begin
  if tg_op = 'DELETE' then
    delete from maas.ads_syncs where service = of_service and user_account_id = old.user_account_id;
  elsif of_service = 'Facebook' then
    insert into maas.ads_syncs (user_id, service, ad_account_id) values (new.user_id, of_service, new.id);
  else
    insert into maas.ads_syncs (user_id, service, user_account_id)
    values (new.user_id, of_service, new.user_account_id);
  end if;
  return null;
end
$$;
comment on function maas.maas_on_ads_connection is
  'Trigger: a new connection is to be synced from now on, a removed one no more; ad accounts take their rows along';

create or replace trigger ad_accounts_inserted after insert on maas.ad_accounts
  for each row execute function maas.maas_on_ads_connection();
create or replace trigger crm_integration_changed after insert or delete on maas.crm_integration
  for each row execute function maas.maas_on_ads_connection();
create or replace trigger whatsapp_integration_changed after insert or delete on maas.whatsapp_integration
  for each row execute function maas.maas_on_ads_connection();
