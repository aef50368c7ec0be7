-- Leads: what the CRM tools and the report on return read. Nothing here depends on a connection.

-- name: ads_creatives  -- $1 user, $2 ad account: creatives with the targets of their directions
select c.id, c.title, c.status, d.name as direction, d.target_cpl, d.target_qcpl, d.target_cpl_currency
from maas.user_creatives c left join maas.directions d on d.id = c.direction_id
where c.user_id = $1 and c.ad_account_id = $2 order by c.created_at, c.id;

-- name: ads_creative_figures  -- $1 user, $2 ad account, $3 $4 first and last day; nulls: no limit. As stored
select h.creative_id, sum(h.spend) as spend, sum(h.impressions)::bigint as impressions, sum(h.clicks)::bigint as clicks,
  sum(h.leads)::bigint as leads
from maas.user_creatives c join maas.creative_metrics_history h on h.creative_id = c.id
where c.user_id = $1 and c.ad_account_id = $2
  and h.day >= coalesce($3::date, '-infinity') and h.day <= coalesce($4::date, 'infinity')
group by h.creative_id;

-- name: ads_creative_results  -- $1 user, $2 user account, $3 $4 from and to; nulls: no limit. $5 ad account.
-- By creative, also of leads without one; not of leads that another ad account brought
select l.source_creative_id as creative_id, count(*) as leads, count(*) filter (where l.is_engaged) as engaged,
  count(*) filter (where l.is_qualified) as qualified,
  count(*) filter (where l.stage_id = '142' or l.revenue > 0) as sales, sum(l.revenue) as revenue
from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
  left join maas.user_creatives c on c.id = l.source_creative_id
  left join maas.directions d on d.id = l.direction_id
where u.user_id = $1 and u.id = $2
  and l.created_at >= coalesce($3::timestamptz, '-infinity') and l.created_at < coalesce($4::timestamptz, 'infinity')
  and coalesce(c.ad_account_id, d.ad_account_id, $5::uuid) = $5
group by 1;

-- name: ads_has_revenue  -- $1 user, $2 user account: whether any lead has paid, ever
select coalesce(max(l.revenue) > 0, false) from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
where u.user_id = $1 and u.id = $2;

-- name: ads_has_unread_leads  -- $1 user, $2 user account, $3 $4 from and to; nulls: no limit. Whether a lead came
-- before the first message that is stored
select exists (
  select from maas.whatsapp_integration w join maas.leads l on l.user_account_id = w.user_account_id
  where w.user_id = $1 and w.user_account_id = $2 and l.created_at < w.synced_from
    and l.created_at >= coalesce($3::timestamptz, '-infinity')
    and l.created_at < coalesce($4::timestamptz, 'infinity'));

-- name: ads_sales_quality  -- $1 user, $2 user account, $3 $4 from and to; nulls: no limit
select count(*) filter (where x.is_in) as leads, count(*) as leads_all_time,
  count(*) filter (where x.is_in and x.is_qualified) as qualified_crm,
  count(*) filter (where x.is_qualified) as qualified_crm_all_time,
  count(*) filter (where x.is_in and x.is_engaged) as engaged, count(*) filter (where x.is_engaged) as engaged_all_time,
  count(*) filter (where x.is_in and x.has_messages) as with_messages,
  count(*) filter (where x.has_messages) as with_messages_all_time,
  count(*) filter (where x.is_in and x.reached_key_stage) as key_stage,
  count(*) filter (where x.is_in and (x.is_engaged or x.is_qualified or x.revenue > 0)) as engaged_or_further,
  count(*) filter (where x.is_in and (x.is_qualified or x.revenue > 0)) as qualified_or_further,
  count(*) filter (where x.is_in and x.revenue > 0) as paid,
  coalesce(sum(x.revenue) filter (where x.is_in), 0) as revenue
from (
  select l.is_qualified, l.is_engaged, l.reached_key_stage, l.revenue,
    l.is_engaged and (l.messages_in >= 2 or case when jsonb_typeof(l.chat_analysis_json -> 'messages_in') = 'number'
      then (l.chat_analysis_json ->> 'messages_in')::numeric >= 2 else false end) as has_messages,
    l.created_at >= coalesce($3::timestamptz, '-infinity')
    and l.created_at < coalesce($4::timestamptz, 'infinity') as is_in
  from maas.user_accounts u join maas.leads l on l.user_account_id = u.id where u.user_id = $1 and u.id = $2) x;

-- name: ads_stage_counts  -- $1 user, $2 user account, $3 $4 from and to; nulls: no limit.
-- Leads by the stage that they are in
select x.pipeline_id, x.stage_id, s.pipeline_name, s.name, x.leads, x.engaged, x.qualified, x.revenue
from (
  select l.pipeline_id, l.stage_id, count(*) as leads, count(*) filter (where l.is_engaged) as engaged,
    count(*) filter (where l.is_qualified) as qualified, sum(l.revenue) as revenue
  from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
  where u.user_id = $1 and u.id = $2
    and l.created_at >= coalesce($3::timestamptz, '-infinity') and l.created_at < coalesce($4::timestamptz, 'infinity')
  group by 1, 2) x
  left join maas.crm_stages s on s.user_account_id = $2 and s.pipeline_id = x.pipeline_id and s.stage_id = x.stage_id
order by s.pipeline_name nulls last, s.place nulls last, x.pipeline_id, x.stage_id;

-- name: ads_count_leads  -- $1 user, $2 user account, $3 $4 from and to, $5 qualified by the CRM, $6 by deeds,
-- $7 stages, $8 creative, $9 temperature; nulls: any
with said as (  -- what analyses of dialogues said; read only if it is needed
  select distinct on (w.lead_id) w.lead_id, s.temperature
  from maas.dialog_summaries s
    join maas.whatsapp_chats w on w.user_account_id = s.user_account_id and w.jid = s.chat_jid
  where s.user_account_id = $2 and s.temperature is not null and w.lead_id is not null
  order by w.lead_id, s.updated_at desc)
select count(*) filter (where l.created_at >= coalesce($3::timestamptz, '-infinity')
    and l.created_at < coalesce($4::timestamptz, 'infinity')) as count,
  count(*) as count_all_time
from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
where u.user_id = $1 and u.id = $2
  and ($5::boolean is null or l.is_qualified = $5) and ($6::boolean is null or l.is_engaged = $6)
  and ($7::text[] is null or l.stage_id = any($7)) and ($8::uuid is null or l.source_creative_id = $8)
  and ($9::text is null or l.id in (select lead_id from said where temperature = $9)
    or l.id not in (select lead_id from said)
    and maas.maas_temperature(l.chat_analysis_json ->> 'temperature', l.messages_in, l.last_message_at) = $9);

-- name: ads_leads  -- as ads_count_leads, $10 how many, at most 100; the newest first
with said as (  -- what analyses of dialogues said; read only if it is needed
  select distinct on (w.lead_id) w.lead_id, s.temperature
  from maas.dialog_summaries s
    join maas.whatsapp_chats w on w.user_account_id = s.user_account_id and w.jid = s.chat_jid
  where s.user_account_id = $2 and s.temperature is not null and w.lead_id is not null
  order by w.lead_id, s.updated_at desc)
select l.id, l.name, l.phone, l.stage_id, s.name as stage, s.pipeline_name as pipeline, l.is_qualified, l.is_engaged,
  l.messages_in, l.last_message_at, l.revenue, l.created_at, c.title as creative, l.source_creative_id as creative_id,
  maas.maas_temperature(
    coalesce(t.temperature, l.chat_analysis_json ->> 'temperature'), l.messages_in, l.last_message_at) as temperature
from (
  select l.* from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
  where u.user_id = $1 and u.id = $2
    and l.created_at >= coalesce($3::timestamptz, '-infinity') and l.created_at < coalesce($4::timestamptz, 'infinity')
    and ($5::boolean is null or l.is_qualified = $5) and ($6::boolean is null or l.is_engaged = $6)
    and ($7::text[] is null or l.stage_id = any($7)) and ($8::uuid is null or l.source_creative_id = $8)
    and ($9::text is null or l.id in (select lead_id from said where temperature = $9)
      or l.id not in (select lead_id from said)
      and maas.maas_temperature(l.chat_analysis_json ->> 'temperature', l.messages_in, l.last_message_at) = $9)
  order by l.created_at desc, l.id limit 100) l  -- a constant: the planner sees that it is few
  left join said t on t.lead_id = l.id
  left join maas.crm_stages s on s.user_account_id = l.user_account_id and s.pipeline_id = l.pipeline_id
    and s.stage_id = l.stage_id
  left join maas.user_creatives c on c.id = l.source_creative_id
order by l.created_at desc, l.id limit $10;

-- name: ads_lead  -- $1 user, $2 user account, $3 an id of the CRM or of Facebook, $4 one of ours, or null
select l.id, l.name, l.phone, l.crm_lead_id, l.fb_lead_id, l.pipeline_id, l.stage_id, s.name as stage,
  s.pipeline_name as pipeline, l.is_qualified, l.is_engaged, l.reached_key_stage, l.messages_in, l.last_message_at,
  l.revenue, l.created_at, l.updated_at, c.title as creative, l.source_creative_id as creative_id, d.name as direction,
  d.id as direction_id, d.key_stage_ids, coalesce(w.summary, l.chat_analysis_json ->> 'summary') as summary,
  w.messages_out, maas.maas_temperature(
    coalesce(w.temperature, l.chat_analysis_json ->> 'temperature'), l.messages_in, l.last_message_at) as temperature
from maas.user_accounts u join maas.leads l on l.user_account_id = u.id
  left join maas.crm_stages s on s.user_account_id = u.id and s.pipeline_id = l.pipeline_id and s.stage_id = l.stage_id
  left join maas.user_creatives c on c.id = l.source_creative_id
  left join maas.directions d on d.id = coalesce(l.direction_id, c.direction_id)
  left join lateral (
    select sum(w.messages_out) over () as messages_out, s.summary, s.temperature
    from maas.whatsapp_chats w
      left join maas.dialog_summaries s on s.user_account_id = w.user_account_id and s.chat_jid = w.jid
    where w.user_account_id = u.id and w.lead_id = l.id order by s.updated_at desc nulls last limit 1) w on true
where u.user_id = $1 and u.id = $2 and (l.id = $4::uuid or l.crm_lead_id = $3 or l.fb_lead_id = $3)
order by l.id = $4::uuid desc nulls last, l.crm_lead_id = $3 desc nulls last limit 1;

-- name: ads_stages  -- $1 user, $2 user account: the stages of the CRM
select pipeline_id, stage_id, pipeline_name, name, is_qualifying from maas.crm_stages
where user_id = $1 and user_account_id = $2
order by pipeline_name, pipeline_id, place, stage_id;

-- name: ads_keep_stages  -- $1 user, $2 user account, $3 stages: pipeline_id, stage_id, pipeline_name, name, place
insert into maas.crm_stages as s (user_id, user_account_id, pipeline_id, stage_id, pipeline_name, name, place)
select distinct on (r.pipeline_id, r.stage_id) u.user_id, u.id, r.pipeline_id, r.stage_id,
  r.pipeline_name, r.name, r.place
from maas.user_accounts u
  cross join jsonb_to_recordset($3::jsonb) as r(
    pipeline_id text, stage_id text, pipeline_name text, name text, place int)
where u.user_id = $1 and u.id = $2
on conflict (user_account_id, pipeline_id, stage_id) do update set pipeline_name = excluded.pipeline_name,
  name = excluded.name, place = excluded.place
where (s.pipeline_name, s.name, s.place) is distinct from (excluded.pipeline_name, excluded.name, excluded.place);

-- name: ads_set_lead_stage  -- $1 user, $2 lead, $3 pipeline, $4 stage; a key stage of its direction is remembered
update maas.leads l set pipeline_id = $3, stage_id = $4, updated_at = now(),
  is_qualified = l.is_qualified or coalesce(maas.maas_is_qualifying(l.user_id, l.user_account_id, $3, $4), false),
  reached_key_stage = l.reached_key_stage or exists (
    select from maas.directions d left join maas.user_creatives c on c.id = l.source_creative_id
    where d.id = coalesce(l.direction_id, c.direction_id) and $4 = any(d.key_stage_ids))
where l.user_id = $1 and l.id = $2;
