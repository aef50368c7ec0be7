-- Syncs of connections: claims, and how they ended.

-- name: ads_claim_sync  -- $1 minutes between syncs, 0: never, $2 lease, $3 a sync that is wanted now, or null: what is
-- due; the claim, and which connection it is. No row: there is none, or its user has one in progress
select s.id, s.owner, s.user_id, s.service, c.named, c.account, c.user_account_id
from maas.maas_claim_ads_sync($1, $2, $3) s join maas.v_ads_connections c
  on c.service = s.service and (c.ad_account_id = s.ad_account_id or c.user_account_id = s.user_account_id);

-- name: ads_renew_sync  -- $1 sync, $2 owner, $3 lease: it holds for so long again; no row if it is somebody else's
update maas.ads_syncs set lease_until = maas.maas_now() + $3::interval where id = $1 and owner = $2 returning id;

-- name: ads_note_progress  -- $1 sync, $2 owner, $3 rows by kind
update maas.ads_syncs set progress = $3::jsonb where id = $1 and owner = $2;

-- name: ads_end_sync  -- $1 sync, $2 owner, $3 why not everything was read, or null
update maas.ads_syncs set owner = null, lease_until = null, error = left($3, 1000),
  failures = case when $3::text is null then 0 else failures end
where id = $1 and owner = $2;

-- name: ads_release_sync  -- $1 sync, $2 owner: its process ends; another one may go on at once
update maas.ads_syncs set owner = null, lease_until = null, begun_at = null, failures = greatest(failures - 1, 0)
where id = $1 and owner = $2;

-- name: ads_syncs  -- $1 user or null, $2 account, by its id or that of an ad account, or null, $3 minutes between
-- syncs: the connections with their syncs, by user and business
select c.user_id, c.account, c.service, c.named, s.id, c.synced_at, coalesce(s.interval_min, $3) as interval_min,
  s.failures, s.error, s.lease_until > maas.maas_now() as is_claimed, s.begun_at,
  maas.maas_ads_sync_due(s, $3) as due_at, maas.maas_now() as read_at
from maas.v_ads_connections c join maas.ads_syncs s
  on s.service = c.service and (s.ad_account_id = c.ad_account_id or s.user_account_id = c.user_account_id)
where ($1::uuid is null or c.user_id = $1)
  and ($2::text is null or lower($2) in (c.named, c.user_account_id::text, c.ad_account_id::text))
order by c.user_id, c.account, c.user_account_id,
  array_position(array['Facebook', 'amoCRM', 'WhatsApp'], c.service), c.named;

-- name: ads_connection_states  -- $1 user, $2 minutes between syncs
select * from maas.maas_ads_connections($1, $2);

-- name: ads_want_syncs  -- $1 user, $2 user account or null: all; how many connections are to be synced
select maas.maas_want_ads_syncs($1, $2);

-- name: ads_set_sync_interval  -- $1 user, $2 sync, $3 minutes between syncs, 0: never
update maas.ads_syncs set interval_min = $3 where user_id = $1 and id = $2;
