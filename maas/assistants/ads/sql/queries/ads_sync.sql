-- What a sync stores: days and leads and messages of the services, and how far each service was read.

-- name: ads_synced_to  -- $1 user, $2 ad account: the last day whose figures are complete
select synced_to from maas.ad_accounts where user_id = $1 and id = $2;

-- name: ads_set_synced_to  -- $1 user, $2 ad account, $3 the last day whose figures are complete, $4 the first day that
-- the sync reads, $5 whether it has read all: only then do older days join those that are stored
update maas.ad_accounts set synced_to = greatest(synced_to, $3),
  synced_from = case when synced_from is null or $5::boolean then least(synced_from, $4::date) else synced_from end
where user_id = $1 and id = $2;

-- name: ads_synced  -- $1 user, $2 ad account or user account, $3 ads, crm or whatsapp: it was read to the end
with of_ads as (update maas.ad_accounts set synced_at = maas.maas_now() where user_id = $1 and id = $2 and $3 = 'ads'),
  of_crm as (update maas.crm_integration set synced_at = maas.maas_now()
    where user_id = $1 and user_account_id = $2 and $3 = 'crm')
update maas.whatsapp_integration set synced_at = maas.maas_now()
where user_id = $1 and user_account_id = $2 and $3 = 'whatsapp';

-- name: ads_keep_token_end  -- $1 user, $2 ad account or user account, $3 when its token ends, or null
with of_ads as (
  update maas.ad_accounts set token_ends_at = $3 where user_id = $1 and id = $2 and token_ends_at is distinct from $3)
update maas.crm_integration set token_ends_at = $3
where user_id = $1 and user_account_id = $2 and token_ends_at is distinct from $3;

-- name: ads_sync_direction_days  -- $1 user, $2 ad account, $3 first day, $4 last day: the days of directions,
-- from those of their ad sets
insert into maas.direction_metrics_daily as h (user_id, direction_id, day, impressions, clicks, spend, leads)
select d.user_id, d.id, m.day, sum(m.impressions), sum(m.clicks), sum(m.spend), sum(m.leads)
from maas.directions d join maas.adsets s on s.direction_id = d.id
  join maas.adset_metrics_history m on m.adset_id = s.id
where d.user_id = $1 and d.ad_account_id = $2 and m.day between $3 and $4
group by d.user_id, d.id, m.day order by d.id, m.day
on conflict (direction_id, day) do update set impressions = excluded.impressions, clicks = excluded.clicks,
  spend = excluded.spend, leads = excluded.leads
where (h.impressions, h.clicks, h.spend, h.leads) is distinct from (
  excluded.impressions, excluded.clicks, excluded.spend, excluded.leads);

-- name: ads_keep_creative_days  -- $1 user, $2 ad account, $3 days of ads: fb_id, day, impressions, clicks, spend,
-- leads, purchases, video_views, p25, p50, p75, p95; all ads that show a creative
insert into maas.creative_metrics_history as h (
  user_id, creative_id, day, impressions, clicks, spend, leads, purchases, video_views, p25, p50, p75, p95)
select m.user_id, m.creative_id, r.day, sum(r.impressions), sum(r.clicks), sum(r.spend), sum(r.leads),
  sum(r.purchases), sum(r.video_views), sum(r.p25), sum(r.p50), sum(r.p75), sum(r.p95)
from jsonb_to_recordset($3::jsonb) as r(
  fb_id text, day date, impressions bigint, clicks bigint, spend numeric, leads int, purchases bigint,
    video_views bigint, p25 bigint, p50 bigint, p75 bigint, p95 bigint)
  join maas.campaigns c on c.user_id = $1 and c.ad_account_id = $2
  join maas.adsets s on s.campaign_id = c.id
  join maas.ads a on a.adset_id = s.id and a.fb_id = r.fb_id
  join maas.ad_creative_mapping m on m.ad_id = a.id
group by m.user_id, m.creative_id, r.day order by m.creative_id, r.day
on conflict (creative_id, day) do update set impressions = excluded.impressions, clicks = excluded.clicks,
  spend = excluded.spend, leads = excluded.leads, purchases = excluded.purchases,
  video_views = excluded.video_views, p25 = excluded.p25, p50 = excluded.p50, p75 = excluded.p75, p95 = excluded.p95
where (h.impressions, h.clicks, h.spend, h.leads, h.purchases, h.video_views, h.p25, h.p50, h.p75, h.p95)
  is distinct from (
  excluded.impressions, excluded.clicks, excluded.spend, excluded.leads, excluded.purchases, excluded.video_views,
  excluded.p25, excluded.p50, excluded.p75, excluded.p95);

-- name: ads_keep_crm_currency  -- $1 user, $2 user account, $3 currency
update maas.crm_integration set currency = $3
where user_id = $1 and user_account_id = $2 and currency is distinct from $3;

-- name: ads_crm_synced_to  -- $1 user, $2 user account: leads changed before are stored
select synced_to from maas.crm_integration where user_id = $1 and user_account_id = $2;

-- name: ads_link_leads  -- $1 user, $2 user account, $3 leads of the CRM: crm_lead_id, phone, other_phones;
-- the newest lead with one of these phones that is in no CRM yet is the same
update maas.leads l set crm_lead_id = found.crm_lead_id
from (
  select distinct on (id) id, crm_lead_id from (
    select distinct on (r.crm_lead_id) r.crm_lead_id, l.id
    from jsonb_to_recordset($3::jsonb) as r(crm_lead_id text, phone text, other_phones text[])
      cross join unnest(r.phone || coalesce(r.other_phones, '{}')) p(phone)
      join maas.leads l on l.user_id = $1 and l.user_account_id = $2 and l.crm_lead_id is null
        and l.phone_digits = maas.maas_phone_number(p.phone)
    where not exists (select from maas.leads k where k.user_account_id = $2 and k.crm_lead_id = r.crm_lead_id)
    order by r.crm_lead_id, l.created_at desc, l.id) newest
  order by id, crm_lead_id) found
where l.id = found.id;

-- name: ads_keep_leads  -- $1 user, $2 user account, $3 leads of the CRM: crm_lead_id, name, phone, other_phones,
-- pipeline_id, stage_id, revenue, created_at, utm_marks
-- A key stage counts if it is one of the lead's direction, of any direction while the lead has none.
insert into maas.leads as l (
  user_id, user_account_id, crm_lead_id, name, phone, more_numbers, pipeline_id, stage_id, revenue, is_qualified,
  utm_marks, reached_key_stage, created_at)
select distinct on (r.crm_lead_id) u.user_id, u.id, r.crm_lead_id, r.name, r.phone, array(
    select distinct maas.maas_phone_number(p.phone) from unnest(r.other_phones) p(phone)
    where maas.maas_phone_number(p.phone) is not null order by 1),
  r.pipeline_id, r.stage_id,
  r.revenue, coalesce(maas.maas_is_qualifying(u.user_id, u.id, r.pipeline_id, r.stage_id), false),
  coalesce(r.utm_marks, '{}'), exists (
    select from maas.directions d where d.user_account_id = u.id and r.stage_id = any(d.key_stage_ids)), r.created_at
from maas.user_accounts u
  cross join jsonb_to_recordset($3::jsonb) as r(crm_lead_id text, name text, phone text, other_phones text[],
    pipeline_id text, stage_id text, revenue numeric, created_at timestamptz, utm_marks text[])
where u.user_id = $1 and u.id = $2 order by r.crm_lead_id
on conflict (user_account_id, crm_lead_id) do update set name = coalesce(excluded.name, l.name),
  phone = coalesce(excluded.phone, l.phone), more_numbers = excluded.more_numbers,
  pipeline_id = excluded.pipeline_id, stage_id = excluded.stage_id,
  revenue = excluded.revenue, utm_marks = excluded.utm_marks, updated_at = now(),
  is_qualified = l.is_qualified or excluded.is_qualified,
  reached_key_stage = l.reached_key_stage or exists (
    select from maas.directions d
    where d.user_account_id = l.user_account_id and excluded.stage_id = any(d.key_stage_ids)
      and d.id = coalesce(
        l.direction_id, (select c.direction_id from maas.user_creatives c where c.id = l.source_creative_id), d.id))
where (l.name, l.phone, l.more_numbers, l.pipeline_id, l.stage_id, l.revenue, l.utm_marks) is distinct from (
    coalesce(excluded.name, l.name), coalesce(excluded.phone, l.phone), excluded.more_numbers, excluded.pipeline_id,
    excluded.stage_id, excluded.revenue, excluded.utm_marks)
  or excluded.is_qualified and not l.is_qualified;

-- name: ads_forget_crm_leads  -- $1 user, $2 user account, $3 ids of leads that the CRM has deleted; how many it had
select maas.maas_forget_crm_leads($1, $2, $3);

-- name: ads_forms_to_read  -- $1 user, $2 ad account, $3 since when at the earliest: ads that brought leads since
-- their forms were read, and since when to read, with a day for leads that Facebook shows late
select a.fb_id, o.since from (
    select id, greatest(forms_synced_to - interval '1 day', $3::timestamptz) as since
    from maas.ad_accounts where user_id = $1 and id = $2) o
  join maas.campaigns c on c.ad_account_id = o.id join maas.adsets s on s.campaign_id = c.id
  join maas.ads a on a.adset_id = s.id join maas.ad_creative_mapping m on m.ad_id = a.id
where exists (
  select from maas.creative_metrics_history h
  where h.creative_id = m.creative_id and h.leads > 0 and h.day >= o.since::date - 7)
order by a.fb_id;

-- name: ads_set_forms_synced_to  -- $1 user, $2 ad account, $3 leads by forms that came before are stored
update maas.ad_accounts set forms_synced_to = greatest(forms_synced_to, $3) where user_id = $1 and id = $2;

-- name: ads_link_form_leads  -- $1 user, $2 user account, $3 leads by forms: fb_id, phone, ad_fb_id, created_at;
-- a lead with this phone that came within a week of it, and by no form, is the same
update maas.leads l set fb_lead_id = found.fb_id, source_ad_fb_id = coalesce(l.source_ad_fb_id, found.ad_fb_id)
from (
  select distinct on (lead_id) lead_id, fb_id, ad_fb_id from (
    select distinct on (r.fb_id) r.fb_id, r.ad_fb_id, k.id as lead_id
    from jsonb_to_recordset($3::jsonb) as r(fb_id text, phone text, ad_fb_id text, created_at timestamptz)
      join maas.leads k on k.user_id = $1 and k.user_account_id = $2 and k.fb_lead_id is null
        and (k.phone_digits = maas.maas_phone_number(r.phone)
          or k.more_numbers @> array[maas.maas_phone_number(r.phone)] and k.more_numbers <> '{}')
        and k.created_at between r.created_at - interval '7 days' and r.created_at + interval '7 days'
    where not exists (select from maas.leads x where x.user_account_id = $2 and x.fb_lead_id = r.fb_id)
    order by r.fb_id, k.created_at, k.id) nearest
  order by lead_id, fb_id) found
where l.id = found.lead_id;

-- name: ads_keep_form_leads  -- $1 user, $2 user account, $3 leads by forms: fb_id, name, phone, ad_fb_id, created_at
insert into maas.leads (user_id, user_account_id, fb_lead_id, name, phone, source_ad_fb_id, created_at)
select distinct on (r.fb_id) u.user_id, u.id, r.fb_id, r.name, r.phone, r.ad_fb_id, r.created_at
from maas.user_accounts u cross join jsonb_to_recordset($3::jsonb) as r(
    fb_id text, name text, phone text, ad_fb_id text, created_at timestamptz)
where u.user_id = $1 and u.id = $2 order by r.fb_id
on conflict (user_account_id, fb_lead_id) do nothing;

-- name: ads_keep_chat_leads  -- $1 user, $2 user account: a lead for each person who wrote because of an ad and
-- is no lead yet; without a number it may be one of the CRM
insert into maas.leads (user_id, user_account_id, source_ad_fb_id, phone, name, created_at)
select distinct on (c.number) c.user_id, c.user_account_id, c.source_ad_fb_id, '+' || c.number, c.name, (
    select min(m.sent_at) from maas.whatsapp_messages m
    where m.user_account_id = c.user_account_id and m.chat_jid = c.jid)
from maas.whatsapp_chats c
where c.user_id = $1 and c.user_account_id = $2 and c.source_ad_fb_id is not null and c.lead_id is null
  and c.number is not null and c.last_message_at is not null
order by c.number, c.last_message_at, c.jid;

-- name: ads_find_sources  -- $1 user, $2 user account: the ads of leads, by their dialogues, else by UTM marks that
-- are ids of ads, else by marks that are the name of one ad
update maas.leads l set source_ad_fb_id = found.fb_id
from (
  select distinct on (o.lead_id) o.lead_id, o.fb_id from (
    select c.lead_id, c.source_ad_fb_id as fb_id, 1 as place from maas.whatsapp_chats c
    where c.user_account_id = $2 and c.lead_id is not null and c.source_ad_fb_id is not null
    union all
    select k.id, case when count(distinct a.fb_id) = 1 then min(a.fb_id) end,
      case when a.fb_id = m.mark then 2 else 3 end
    from maas.leads k cross join unnest(k.utm_marks) m(mark)
      join maas.ad_accounts x on x.user_account_id = $2
      join maas.campaigns p on p.ad_account_id = x.id
      join maas.adsets s on s.campaign_id = p.id
      join maas.ads a on a.adset_id = s.id and (a.fb_id = m.mark or lower(btrim(a.name)) = lower(btrim(m.mark)))
    where k.user_account_id = $2 and k.source_ad_fb_id is null and k.utm_marks <> '{}'
    group by k.id, a.fb_id = m.mark) o
  where o.fb_id is not null order by o.lead_id, o.place, o.fb_id) found
where l.user_id = $1 and l.id = found.lead_id and l.source_ad_fb_id is null;

-- name: ads_attribute_leads  -- $1 user, $2 user account: leads get the creative and the direction of their ads;
-- those that did
update maas.leads l set source_creative_id = coalesce(l.source_creative_id, m.creative_id),
  direction_id = coalesce(l.direction_id, s.direction_id)
from maas.ad_accounts x join maas.campaigns p on p.ad_account_id = x.id join maas.adsets s on s.campaign_id = p.id
  join maas.ads a on a.adset_id = s.id left join maas.ad_creative_mapping m on m.ad_id = a.id
where l.user_id = $1 and l.user_account_id = $2 and x.user_account_id = $2 and a.fb_id = l.source_ad_fb_id
  and (l.source_creative_id is null and m.creative_id is not null
    or l.direction_id is null and s.direction_id is not null)
returning l.id;

-- name: ads_set_crm_synced_to  -- $1 user, $2 user account, $3 the last change of the leads that were stored
update maas.crm_integration set synced_to = greatest(synced_to, $3) where user_id = $1 and user_account_id = $2;

-- name: ads_keep_whatsapp_state  -- $1 user, $2 user account, $3 state of the connection
update maas.whatsapp_integration set status = $3, checked_at = maas.maas_now()
where user_id = $1 and user_account_id = $2 and $3 in ('open', 'close', 'connecting');

-- name: ads_set_messages_from  -- $1 user, $2 user account, $3 since when a sync has read messages, $4 whether it has
-- read all dialogues: only then do older messages join those that are stored
update maas.whatsapp_integration set synced_from =
  case when synced_from is null or $4::boolean then least(synced_from, $3::timestamptz) else synced_from end
where user_id = $1 and user_account_id = $2;

-- name: ads_chats_synced_to  -- $1 user, $2 user account: the dialogues that were read, and their newest message
select jid, synced_to from maas.whatsapp_chats where user_id = $1 and user_account_id = $2 and synced_to is not null;

-- name: ads_keep_messages  -- $1 user, $2 user account, $3 jid, $4 messages: id, direction, text, sent_at
insert into maas.whatsapp_messages (user_id, user_account_id, id, chat_jid, direction, text, sent_at)
select distinct on (r.id) u.user_id, u.id, r.id, $3, r.direction, r.text, r.sent_at
from maas.user_accounts u
  cross join jsonb_to_recordset($4::jsonb) as r(id text, direction text, text text, sent_at timestamptz)
where u.user_id = $1 and u.id = $2 order by r.id
on conflict (user_account_id, id) do nothing;

-- name: ads_keep_chat  -- $1 user, $2 user account, $3 jid, $4 name, $5 phone number, $6 ad of Facebook; nulls: unknown
insert into maas.whatsapp_chats as c (user_id, user_account_id, jid, name, number, source_ad_fb_id)
select user_id, id, $3, $4, $5, $6 from maas.user_accounts where user_id = $1 and id = $2
on conflict (user_account_id, jid) do update set name = coalesce(excluded.name, c.name),
  number = coalesce(excluded.number, c.number), source_ad_fb_id = coalesce(c.source_ad_fb_id, excluded.source_ad_fb_id)
where (c.name, c.number, c.source_ad_fb_id) is distinct from (coalesce(excluded.name, c.name),
  coalesce(excluded.number, c.number), coalesce(c.source_ad_fb_id, excluded.source_ad_fb_id));

-- name: ads_chat_synced  -- $1 user, $2 user account, $3 jid, $4 its newest message that was read
update maas.whatsapp_chats set synced_to = greatest(synced_to, $4)
where user_id = $1 and user_account_id = $2 and jid = $3;
