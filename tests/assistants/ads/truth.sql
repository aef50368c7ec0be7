-- What is true of the invented agency, by hand, over its raw facts alone: who asked, by which ad, what that brought.
-- A person is a number here, so nothing rests on how a phone is written.

create schema agency;
create table agency.ads (
  id text, name text, adset text, campaign text, account text, creative text, title text, direction text,
  goal text);
create table agency.days (
  ad text, day date, spend numeric, impressions bigint, clicks bigint, forms int, conversations int,
  video_views bigint, p25 bigint, p50 bigint, p75 bigint, p95 bigint, late int,
  purchases bigint, whole_plays bigint);
create table agency.forms (id text, person int, ad text, created_at timestamptz);
create table agency.crm (
  id int, person int, created_at timestamptz, stage int, price numeric, utm text, is_late boolean, early_stage int);
create table agency.chats (jid text, person int, has_number boolean, ad text);
create table agency.messages (jid text, at timestamptz, is_incoming boolean);
create index on agency.crm (person);
create index on agency.forms (person);
create index on agency.messages (jid);

-- A day of an ad with all that it belongs to. Leads are forms and conversations alike.
create view agency.ad_days as
select a.account, a.campaign, a.adset, a.id as ad, a.creative, a.direction, d.day, d.spend, d.impressions, d.clicks,
  d.forms + d.conversations as leads, a.goal,
  case a.goal  -- what the ad set is for; how many people an ad reached is not among the figures of a day
    when 'LEAD_GENERATION' then d.forms + d.conversations when 'CONVERSATIONS' then d.forms + d.conversations
    when 'PURCHASE' then d.purchases when 'LINK_CLICKS' then d.clicks when 'THRUPLAY' then d.whole_plays
  end as reached, d.purchases, d.video_views, d.p25, d.p50, d.p75, d.p95
from agency.days d join agency.ads a on a.id = d.ad;

-- Who has no telephone in the CRM is nobody known from elsewhere. The CRM's first lead of somebody who filled in a form
-- is that form; what else is in the CRM stands for itself, and so does a form that nobody entered. Who tapped an ad,
-- wrote, is known by number and is neither, is a lead from the first message on.
create materialized view agency.asked as
with entered as (
  select c.*, f.id as form, f.ad as form_ad, f.created_at as form_at
  from agency.crm c left join agency.forms f
    on f.person = c.person and c.id = (select min(x.id) from agency.crm x where x.person = c.person)
)
select 'crm ' || id as lead, person, coalesce(form_at, created_at) as created_at, id as crm, form, form_ad,
  stage, early_stage, price, utm
from entered
union all
select 'form ' || id, person, created_at, null, id, ad, null, null, 0, null
from agency.forms f where not exists (select from agency.crm c where c.person = f.person)
union all
select 'chat ' || c.jid, c.person, (select min(m.at) from agency.messages m where m.jid = c.jid), null, null, null,
  null, null, 0, null
from agency.chats c
where c.ad is not null and c.has_number and not exists (select from agency.crm x where x.person = c.person)
  and not exists (select from agency.forms x where x.person = c.person)
with no data;

-- A dialogue belongs to the first lead of its person that came since a week before it began, else to the newest one.
create materialized view agency.dialogues as
select c.jid, c.ad, c.has_number, m.messages, m.answers, m.last_at, c.person, (
    select a.lead from agency.asked a where a.person = c.person and c.has_number
    order by a.created_at < m.first_at - interval '7 days',
      case when a.created_at >= m.first_at - interval '7 days' then a.created_at end, a.created_at desc
    limit 1) as lead
from agency.chats c cross join lateral (
  select count(*) filter (where is_incoming) as messages, count(*) filter (where not is_incoming) as answers,
    min(at) as first_at, max(at) as last_at
  from agency.messages m where m.jid = c.jid) m
with no data;

-- The ad of a lead: of its form, else of its dialogue, else the one with the id, or alone with the name, in UTM.
create materialized view agency.leads as
select l.lead, l.person, l.created_at, l.crm, l.stage, l.messages, l.messages >= 2 as is_engaged,
  coalesce(l.stage in (12, 13, 142) or l.early_stage in (12, 13, 142), false) as is_qualified,  -- also what was lost
  case when l.stage = 142 then l.price else 0 end as revenue, a.account, a.id as ad, a.creative, a.title, a.direction
from (
  select q.*, coalesce((select sum(d.messages) from agency.dialogues d where d.lead = q.lead), 0) as messages,
    coalesce(q.form_ad,
      (select min(d.ad) from agency.dialogues d where d.lead = q.lead and d.ad is not null),
      (select x.id from agency.ads x where x.id = q.utm),
      (select min(x.id) from agency.ads x where x.name = q.utm having count(*) = 1)) as source
  from agency.asked q) l
  left join agency.ads a on a.id = l.source
with no data;
