-- Advertising: accounts, campaigns, creatives, leads and dialogues of a user's business.
--
-- What belongs to an account refers to it by (id, user_id), so no row can name the account of another user. Money is in
-- the currency of the ad account, but revenue in that of the CRM; budgets are in minor units, as the Marketing API has
-- them; a day is a day of the account's time zone. Tokens are not here but in user_secrets: facebook_NUMBER of the ad
-- account, amocrm_ID of the user account without hyphens.

create table maas.user_accounts (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  is_default boolean not null default false,
  created_at timestamptz not null default now(),
  unique (id, user_id)
);
comment on table maas.user_accounts is
  'A business of a user: what its ad accounts, its CRM and its messenger have in common';
comment on column maas.user_accounts.is_default is 'The account of requests that name none';
create unique index idx_user_accounts_default on maas.user_accounts (user_id) where is_default;

create table maas.ad_accounts (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  user_account_id uuid not null,
  fb_id text not null check (fb_id ~ '^act_[0-9]{1,20}$'),
  name text not null check (length(name) between 1 and 200),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  timezone text not null,
  can_run_ads boolean,
  status text,
  status_checked_at timestamptz,
  synced_from date,
  synced_to date,
  forms_synced_to timestamptz,
  synced_at timestamptz,
  token_ends_at timestamptz,
  rate numeric check (rate > 0),
  rate_of text check (rate_of ~ '^[A-Z]{3}$'),
  rate_currency text check (rate_currency ~ '^[A-Z]{3}$'),
  rated_on date,
  created_at timestamptz not null default now(),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade,
  unique (user_id, fb_id),
  unique (id, user_account_id, user_id),
  unique (id, user_id),
  check (num_nulls(rate, rate_of, rate_currency, rated_on) in (0, 4))
);
comment on table maas.ad_accounts is
  'An ad account of Facebook. Its access token is the secret facebook_NUMBER of the user';
comment on column maas.ad_accounts.timezone is 'The IANA name of the zone that its days are in';
comment on column maas.ad_accounts.can_run_ads is 'Whether Facebook let it run ads at status_checked_at';
comment on column maas.ad_accounts.rate is
  'What one unit of rate_of, the currency of the CRM, was in rate_currency on the day rated_on';
comment on column maas.ad_accounts.token_ends_at is 'When its token ends; null: never, or Facebook does not tell';
comment on column maas.ad_accounts.synced_at is 'When a sync last read Facebook to the end';
comment on column maas.ad_accounts.synced_from is
  'The first day whose figures are stored; null: no sync has read any';
comment on column maas.ad_accounts.synced_to is 'The last day whose figures are complete';
comment on column maas.ad_accounts.forms_synced_to is 'Leads by its forms that came before are in the table leads';
create index idx_ad_accounts_user_account on maas.ad_accounts (user_account_id);

create table maas.campaigns (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  ad_account_id uuid not null,
  fb_id text not null,
  name text not null,
  objective text,
  status text not null,
  daily_budget_minor bigint check (daily_budget_minor > 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (ad_account_id, user_id) references maas.ad_accounts (id, user_id) on delete cascade,
  unique (ad_account_id, fb_id),
  unique (id, user_id)
);
comment on table maas.campaigns is 'Campaigns as they were last read from Facebook';
comment on column maas.campaigns.daily_budget_minor is 'Null if the budget is set by ad sets';

create table maas.directions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  user_account_id uuid not null,
  ad_account_id uuid not null,
  name text not null check (length(name) between 1 and 200),
  status text not null default 'ACTIVE' check (status in ('ACTIVE', 'PAUSED')),
  fb_adset_id text,
  daily_budget_minor bigint check (daily_budget_minor > 0),
  target_cpl numeric check (target_cpl > 0),
  target_qcpl numeric check (target_qcpl > 0),
  target_cpl_currency text check (target_cpl_currency ~ '^[A-Z]{3}$'),
  key_stage_ids text[] not null default '{}',
  created_at timestamptz not null default now(),
  foreign key (ad_account_id, user_account_id, user_id)
    references maas.ad_accounts (id, user_account_id, user_id) on delete cascade,
  unique (id, user_id),
  check ((coalesce(target_cpl, target_qcpl) is null) = (target_cpl_currency is null))
);
comment on table maas.directions is
  'A line of business that is advertised: budget, target and the ad set of Facebook that runs it';
comment on column maas.directions.target_cpl is 'What a lead may cost at most, in target_cpl_currency';
comment on column maas.directions.target_qcpl is
  'What a lead that is qualified by deeds may cost at most, in target_cpl_currency';
comment on column maas.directions.key_stage_ids is 'Stages of the CRM that make a lead a qualified one';
create index idx_directions_account on maas.directions (ad_account_id);

create table maas.adsets (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  campaign_id uuid not null,
  direction_id uuid,
  fb_id text not null,
  name text not null,
  status text not null,
  daily_budget_minor bigint check (daily_budget_minor > 0),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (campaign_id, user_id) references maas.campaigns (id, user_id) on delete cascade,
  foreign key (direction_id, user_id) references maas.directions (id, user_id) on delete set null (direction_id),
  unique (campaign_id, fb_id),
  unique (id, user_id)
);
comment on table maas.adsets is 'Ad sets as they were last read from Facebook';
create index idx_adsets_direction on maas.adsets (direction_id);

create table maas.ads (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  adset_id uuid not null,
  fb_id text not null,
  name text not null,
  status text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (adset_id, user_id) references maas.adsets (id, user_id) on delete cascade,
  unique (adset_id, fb_id),
  unique (id, user_id)
);
comment on table maas.ads is 'Ads as they were last read from Facebook';

create table maas.user_creatives (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  user_account_id uuid not null,
  ad_account_id uuid not null,
  direction_id uuid,
  title text not null check (length(title) between 1 and 300),
  media_type text not null check (media_type in ('video', 'image', 'carousel')),
  fb_video_id text,
  fb_creative_id text,
  transcript text,
  transcript_language text,
  status text not null default 'ready' check (status in ('draft', 'ready', 'paused', 'archived')),
  created_at timestamptz not null default now(),
  foreign key (ad_account_id, user_account_id, user_id)
    references maas.ad_accounts (id, user_account_id, user_id) on delete cascade,
  foreign key (direction_id, user_id) references maas.directions (id, user_id) on delete set null (direction_id),
  unique (id, user_id)
);
comment on table maas.user_creatives is 'Videos and images that ads show';
comment on column maas.user_creatives.fb_creative_id is
  'The creative of the Marketing API that an ad can be made of; null: not uploaded yet';
comment on column maas.user_creatives.transcript is 'What is said in a video';
create unique index idx_user_creatives_account on maas.user_creatives (ad_account_id, fb_creative_id);
create index idx_user_creatives_direction on maas.user_creatives (direction_id);

create table maas.creative_analysis (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  creative_id uuid not null,
  score int not null check (score between 0 and 100),
  verdict text not null,
  recommendations jsonb not null default '[]' check (jsonb_typeof(recommendations) = 'array'),
  model text not null,
  analyzed_at timestamptz not null default now(),
  foreign key (creative_id, user_id) references maas.user_creatives (id, user_id) on delete cascade
);
comment on table maas.creative_analysis is 'What a model thought of a creative; the newest row counts';
create index idx_creative_analysis on maas.creative_analysis (creative_id, analyzed_at desc);

create table maas.creative_scores (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  creative_id uuid not null,
  risk_score int not null check (risk_score between 0 and 100),
  factors jsonb not null default '{}' check (jsonb_typeof(factors) = 'object'),
  scored_at timestamptz not null default now(),
  foreign key (creative_id, user_id) references maas.user_creatives (id, user_id) on delete cascade
);
comment on table maas.creative_scores is
  'The risk, by an outside scoring agent, that the cost per lead grows; the newest row counts';
create index idx_creative_scores on maas.creative_scores (creative_id, scored_at desc);

create table maas.creative_tests (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  creative_id uuid not null,
  direction_id uuid,
  fb_adset_id text,
  fb_ad_id text,
  status text not null default 'running' check (status in ('running', 'stopped', 'finished', 'failed')),
  budget_usd numeric default 20 check (budget_usd > 0),
  budget_minor bigint check (budget_minor > 0),
  started_at timestamptz not null default now(),
  stopped_at timestamptz,
  result jsonb,
  foreign key (creative_id, user_id) references maas.user_creatives (id, user_id) on delete cascade,
  foreign key (direction_id, user_id) references maas.directions (id, user_id) on delete set null (direction_id),
  check ((status = 'running') = (stopped_at is null))
);
comment on table maas.creative_tests is 'Tests of creatives with a small budget, each in an ad set of its own';
comment on column maas.creative_tests.budget_usd is
  'Null where the ad account has another currency; no rate is assumed';
comment on column maas.creative_tests.budget_minor is
  'The daily budget of its ad set, in minor units of the account''s currency';
create unique index idx_creative_tests_running on maas.creative_tests (creative_id) where status = 'running';
create index idx_creative_tests_creative on maas.creative_tests (creative_id, started_at desc);
create index idx_creative_tests_direction on maas.creative_tests (direction_id);

create table maas.creative_metrics_history (
  user_id uuid not null,
  creative_id uuid not null,
  day date not null,
  impressions bigint not null default 0 check (impressions >= 0),
  clicks bigint not null default 0 check (clicks >= 0),
  spend numeric not null default 0,
  leads int not null default 0 check (leads >= 0),
  purchases bigint not null default 0 check (purchases >= 0),
  video_views bigint not null default 0 check (video_views >= 0),
  p25 bigint not null default 0 check (p25 >= 0),
  p50 bigint not null default 0 check (p50 >= 0),
  p75 bigint not null default 0 check (p75 >= 0),
  p95 bigint not null default 0 check (p95 >= 0),
  primary key (creative_id, day),
  foreign key (creative_id, user_id) references maas.user_creatives (id, user_id) on delete cascade
);
comment on table maas.creative_metrics_history is 'Figures of a creative by day, over all ads that show it';
comment on column maas.creative_metrics_history.leads is 'Leads that Facebook counts';
comment on column maas.creative_metrics_history.purchases is
  'Purchases on a site or in an app that Facebook counts; sales of the CRM are those of leads';
comment on column maas.creative_metrics_history.p25 is 'Views that reached a quarter of the video; p50, p75, p95 alike';

create table maas.ad_creative_mapping (
  user_id uuid not null,
  ad_id uuid not null primary key,
  creative_id uuid not null,
  direction_id uuid,
  foreign key (ad_id, user_id) references maas.ads (id, user_id) on delete cascade,
  foreign key (creative_id, user_id) references maas.user_creatives (id, user_id) on delete cascade,
  foreign key (direction_id, user_id) references maas.directions (id, user_id) on delete set null (direction_id)
);
comment on table maas.ad_creative_mapping is 'Which creative an ad shows, and for which direction';
create index idx_ad_creative_mapping_creative on maas.ad_creative_mapping (creative_id);
create index idx_ad_creative_mapping_direction on maas.ad_creative_mapping (direction_id);

create table maas.direction_metrics_daily (
  user_id uuid not null,
  direction_id uuid not null,
  day date not null,
  impressions bigint not null default 0 check (impressions >= 0),
  clicks bigint not null default 0 check (clicks >= 0),
  spend numeric not null default 0,
  leads int not null default 0 check (leads >= 0),
  primary key (direction_id, day),
  foreign key (direction_id, user_id) references maas.directions (id, user_id) on delete cascade
);
comment on table maas.direction_metrics_daily is 'Figures of a direction by day';

create table maas.adset_metrics_history (
  user_id uuid not null,
  adset_id uuid not null,
  day date not null,
  impressions bigint not null default 0 check (impressions >= 0),
  clicks bigint not null default 0 check (clicks >= 0),
  spend numeric not null default 0,
  leads int not null default 0 check (leads >= 0),
  primary key (adset_id, day),
  foreign key (adset_id, user_id) references maas.adsets (id, user_id) on delete cascade
);
comment on table maas.adset_metrics_history is 'Figures of an ad set by day';

create table maas.crm_integration (
  user_account_id uuid primary key,
  user_id uuid not null,
  base_url text not null check (base_url ~ '^https?://'),
  currency text check (currency ~ '^[A-Z]{3}$'),
  synced_to timestamptz,
  synced_at timestamptz,
  token_ends_at timestamptz,
  created_at timestamptz not null default now(),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade
);
comment on table maas.crm_integration is
  'The amoCRM of an account. Its token is the secret amocrm_ID of the user, with the account''s id without hyphens';
comment on column maas.crm_integration.currency is 'What the prices of leads are in; null: not read yet';
comment on column maas.crm_integration.token_ends_at is 'When its token ends; null: it does not say';
comment on column maas.crm_integration.synced_at is 'When a sync last read the CRM to the end';
comment on column maas.crm_integration.synced_to is 'Leads changed before are in the table leads';

create table maas.crm_stages (
  user_id uuid not null,
  user_account_id uuid not null,
  pipeline_id text not null,
  stage_id text not null,
  pipeline_name text not null,
  name text not null,
  place int not null,
  is_qualifying boolean not null default false,
  primary key (user_account_id, pipeline_id, stage_id),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade
);
comment on table maas.crm_stages is 'The stages of the sales funnel, as they were last read from the CRM';
comment on column maas.crm_stages.place is 'The order of the stages in their pipeline';
comment on column maas.crm_stages.is_qualifying is
  'A lead in this stage, or in a later one of the pipeline that is not the lost one, is qualified';

create function maas.maas_phone_number(p_text text) returns text language sql immutable as $$
  -- WhatsApp knows numbers with the code of their country. In Russia and Kazakhstan people write 8 for it, or nothing.
  select case when btrim(p_text) like '+%' then d
    when d ~ '^8\d{10}$' then '7' || substr(d, 2) when d ~ '^[79]\d{9}$' then '7' || d
    when d like '00%' then substr(d, 3) else d end
  from (select nullif(regexp_replace(p_text, '[^0-9]', '', 'g'), '')) t(d)
$$;
comment on function maas.maas_phone_number is
  'The digits of a phone number with the code of its country, however it is written; null: it has none';

create table maas.leads (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  user_account_id uuid not null,
  source_creative_id uuid,
  direction_id uuid,
  source_ad_fb_id text,
  utm_marks text[] not null default '{}',
  fb_lead_id text,
  crm_lead_id text,
  phone text,
  phone_digits text generated always as (maas.maas_phone_number(phone)) stored,
  more_numbers text[] not null default '{}',
  name text,
  pipeline_id text,
  stage_id text,
  reached_key_stage boolean not null default false,
  is_qualified boolean not null default false,
  chat_analysis_json jsonb,
  revenue numeric not null default 0 check (revenue >= 0),
  messages_in int not null default 0 check (messages_in >= 0),
  last_message_at timestamptz,
  is_engaged boolean not null generated always as (reached_key_stage or messages_in >= 2 or coalesce(
    case when jsonb_typeof(chat_analysis_json -> 'messages_in') = 'number'
      then (chat_analysis_json ->> 'messages_in')::numeric >= 2 end, false)) stored,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade,
  foreign key (source_creative_id, user_id) references maas.user_creatives (id, user_id)
    on delete set null (source_creative_id),
  foreign key (direction_id, user_id) references maas.directions (id, user_id) on delete set null (direction_id),
  unique (id, user_id)
);
comment on table maas.leads is
  'People who asked about an offer: from which creative they came, how far they got, what they paid';
comment on column maas.leads.source_ad_fb_id is
  'The ad of Facebook that brought the lead, as a form, the CRM''s UTM marks or a dialogue say; its id there';
comment on column maas.leads.utm_marks is
  'Values of the UTM marks that the CRM has: ids or names of ads, if the address in the ads has such marks';
comment on column maas.leads.more_numbers is
  'Digits of the other phone numbers that the CRM has of its contacts, as in phone_digits';
comment on column maas.leads.chat_analysis_json is
  'What an analysis of the dialogue said: {"messages_in", "temperature", "summary"} and more';
comment on column maas.leads.is_qualified is 'The CRM calls the lead qualified';
comment on column maas.leads.reached_key_stage is 'The lead was in a key stage of its direction at least once';
comment on column maas.leads.messages_in is 'Messages that the lead wrote in its dialogues; kept by triggers';
comment on column maas.leads.is_engaged is
  'Qualified by deeds: two or more messages of the lead, stored or counted by an analysis, or a key stage';
comment on column maas.leads.revenue is
  'In the currency of crm_integration, in that of the ad account where there is none';
create unique index idx_leads_fb on maas.leads (user_account_id, fb_lead_id);
create unique index idx_leads_crm on maas.leads (user_account_id, crm_lead_id);
create index idx_leads_period on maas.leads (user_account_id, created_at)
  include (is_qualified, is_engaged, revenue, source_creative_id, direction_id, stage_id);
create index idx_leads_creative on maas.leads (source_creative_id, created_at);
create index idx_leads_direction on maas.leads (direction_id);
create index idx_leads_phone on maas.leads (user_account_id, phone_digits, created_at);
create index idx_leads_more_numbers on maas.leads using gin (more_numbers) where more_numbers <> '{}';

create table maas.whatsapp_integration (
  user_account_id uuid primary key,
  user_id uuid not null,
  instance text not null check (instance ~ '^[A-Za-z0-9_-]{1,100}$'),
  status text not null default 'open' check (status in ('open', 'close', 'connecting')),
  checked_at timestamptz,
  synced_from timestamptz,
  synced_at timestamptz,
  created_at timestamptz not null default now(),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade
);
comment on table maas.whatsapp_integration is
  'The instance of the Evolution API that writes for an account; without a row WhatsApp is not connected';
comment on column maas.whatsapp_integration.synced_from is
  'Messages since then are stored; null: no sync has read any';
comment on column maas.whatsapp_integration.synced_at is 'When a sync last read the dialogues to the end';

create table maas.whatsapp_chats (
  id uuid not null unique default gen_random_uuid(),
  user_id uuid not null,
  user_account_id uuid not null,
  jid text not null,
  name text,
  number text,
  source_ad_fb_id text,
  lead_id uuid,
  messages_in int not null default 0,
  messages_out int not null default 0,
  last_message_at timestamptz,
  synced_to timestamptz,
  primary key (user_account_id, jid),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade,
  foreign key (lead_id, user_id) references maas.leads (id, user_id) on delete set null (lead_id)
);
comment on table maas.whatsapp_chats is 'Dialogues of WhatsApp; triggers of whatsapp_messages and leads keep them';
comment on column maas.whatsapp_chats.id is 'What models know a dialogue by, because the jid holds a phone number';
comment on column maas.whatsapp_chats.lead_id is
  'The lead that the messages name, else, with its phone number, the first lead since a week before it, or the newest';
comment on column maas.whatsapp_chats.number is
  'The phone number, which a jid of the kind lid does not hold; null: unknown';
comment on column maas.whatsapp_chats.source_ad_fb_id is
  'The first ad of Facebook that the person tapped to write, by its id there';
comment on column maas.whatsapp_chats.synced_to is 'The newest message that was read from the Evolution API';
create index idx_whatsapp_chats_recent on maas.whatsapp_chats (user_account_id, last_message_at desc);
create index idx_whatsapp_chats_number on maas.whatsapp_chats (user_account_id, number);
create index idx_whatsapp_chats_lead on maas.whatsapp_chats (lead_id);

create table maas.whatsapp_messages (
  user_id uuid not null,
  user_account_id uuid not null,
  id text not null,
  chat_jid text not null,
  lead_id uuid,
  direction text not null check (direction in ('in', 'out')),
  text text not null,
  sent_at timestamptz not null,
  primary key (user_account_id, id),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade,
  foreign key (lead_id, user_id) references maas.leads (id, user_id) on delete set null (lead_id)
);
comment on table maas.whatsapp_messages is 'Messages of WhatsApp; they do not depend on whatsapp_integration';
comment on column maas.whatsapp_messages.lead_id is
  'Only if whoever loaded the message knew it; whatsapp_chats has the lead of the dialogue';
create index idx_whatsapp_messages_chat on maas.whatsapp_messages (user_account_id, chat_jid, sent_at)
  include (direction);
create index idx_whatsapp_messages_lead on maas.whatsapp_messages (lead_id) where lead_id is not null;

create table maas.dialog_summaries (
  user_id uuid not null,
  user_account_id uuid not null,
  chat_jid text not null,
  summary text not null,
  temperature text check (temperature in ('hot', 'warm', 'cold')),
  messages_up_to timestamptz,
  updated_at timestamptz not null default now(),
  tsv tsvector not null generated always as (maas.maas_lexemes(summary)) stored,
  primary key (user_account_id, chat_jid),
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade
);
comment on table maas.dialog_summaries is 'What an analysis said of a dialogue, for search';
create index idx_dialog_summaries_tsv on maas.dialog_summaries using gin (tsv);

create table maas.whatsapp_sends (
  user_id uuid not null,
  run_id uuid not null references maas.pipeline_runs on delete cascade,
  number text not null,
  state text not null default 'sending' check (state in ('sending', 'sent', 'failed')),
  message_id text,
  problem text,
  at timestamptz not null default clock_timestamp(),
  primary key (run_id, number)
);
comment on table maas.whatsapp_sends is
  'The recipients of a mass mailing: a row is written before its message is sent, so no recipient gets it twice';
comment on column maas.whatsapp_sends.number is 'The digits of a phone number, or the jid of a chat that tells none';
comment on column maas.whatsapp_sends.state is
  'sending: begun, and nobody knows whether it arrived unless it becomes sent or failed';

create table maas.ads_syncs (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  service text not null check (service in ('Facebook', 'amoCRM', 'WhatsApp')),
  ad_account_id uuid,
  user_account_id uuid,
  interval_min int check (interval_min between 0 and 10080),
  begun_at timestamptz,
  failures int not null default 0 check (failures >= 0),
  error text check (length(error) <= 1000),
  is_wanted boolean not null default false,
  progress jsonb not null default '{}' check (jsonb_typeof(progress) = 'object'),
  owner uuid,
  lease_until timestamptz,
  foreign key (ad_account_id, user_id) references maas.ad_accounts (id, user_id) on delete cascade,
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade,
  unique nulls not distinct (service, ad_account_id, user_account_id),
  check (num_nonnulls(ad_account_id, user_account_id) = 1 and (service = 'Facebook') = (ad_account_id is not null)),
  check ((owner is null) = (lease_until is null))
);
comment on table maas.ads_syncs is
  'The syncs of connections: of an ad account of Facebook, or of the amoCRM or the WhatsApp of a business';
comment on column maas.ads_syncs.interval_min is 'Minutes between two syncs; 0: never, null: MAAS_ADS_SYNC_INTERVAL';
comment on column maas.ads_syncs.begun_at is 'When the last sync began; the next one is due an interval later';
comment on column maas.ads_syncs.failures is 'Syncs since the last one that read all, the one in progress included';
comment on column maas.ads_syncs.error is 'Why the last sync did not read all, in words; null: it did';
comment on column maas.ads_syncs.is_wanted is 'Somebody has asked for a sync now, whatever the interval says';
comment on column maas.ads_syncs.progress is 'How many rows of each kind the sync that began last has read so far';
comment on column maas.ads_syncs.owner is
  'Drawn anew by each claim; null: nobody syncs. Of one user one connection is synced at a time';
comment on column maas.ads_syncs.lease_until is 'When the claim ends unless it is renewed';
create unique index idx_ads_syncs_user on maas.ads_syncs (user_id) where owner is not null;
create index idx_ads_syncs_begun on maas.ads_syncs (user_id, begun_at);
create index idx_ads_syncs_ad_account on maas.ads_syncs (ad_account_id);
create index idx_ads_syncs_user_account on maas.ads_syncs (user_account_id);

create table maas.user_specs (
  user_id uuid not null,
  key text not null check (key ~ '^[A-Za-z_][A-Za-z0-9_.-]{0,49}$'),
  value text not null check (length(value) between 1 and 2000),
  updated_at timestamptz not null default now(),
  primary key (user_id, key)
);
comment on table maas.user_specs is 'Preferences of a user that assistants keep to, such as the currency of reports';

create table maas.brain_actions (
  id uuid primary key default gen_random_uuid(),
  user_id uuid not null,
  user_account_id uuid not null,
  at timestamptz not null,
  action text not null,
  entity text,
  reason text,
  foreign key (user_account_id, user_id) references maas.user_accounts (id, user_id) on delete cascade
);
comment on table maas.brain_actions is 'What an outside autopilot did with the ads; assistants only read it';
create index idx_brain_actions_recent on maas.brain_actions (user_account_id, at desc);

insert into maas.loadable_tables (name, columns) values
  ('user_accounts', '{id,name,is_default}'),
  ('ad_accounts', '{id,user_account_id,fb_id,name,currency,timezone}'),
  ('campaigns', '{id,ad_account_id,fb_id,name,objective,status,daily_budget_minor}'),
  ('directions',
    '{id,user_account_id,ad_account_id,name,status,fb_adset_id,daily_budget_minor,target_cpl,target_qcpl,'
    'target_cpl_currency,key_stage_ids,created_at}'),
  ('adsets', '{id,campaign_id,direction_id,fb_id,name,status,daily_budget_minor}'),
  ('ads', '{id,adset_id,fb_id,name,status}'),
  ('user_creatives',
    '{id,user_account_id,ad_account_id,direction_id,title,media_type,fb_video_id,fb_creative_id,transcript,'
    'transcript_language,status,created_at}'),
  ('creative_analysis', '{id,creative_id,score,verdict,recommendations,model,analyzed_at}'),
  ('creative_scores', '{id,creative_id,risk_score,factors,scored_at}'),
  ('creative_tests',
    '{id,creative_id,direction_id,fb_adset_id,fb_ad_id,status,budget_usd,started_at,stopped_at,result}'),
  ('creative_metrics_history',
    '{creative_id,day,impressions,clicks,spend,leads,purchases,video_views,p25,p50,p75,p95}'),
  ('ad_creative_mapping', '{ad_id,creative_id,direction_id}'),
  ('direction_metrics_daily', '{direction_id,day,impressions,clicks,spend,leads}'),
  ('adset_metrics_history', '{adset_id,day,impressions,clicks,spend,leads}'),
  ('crm_stages', '{user_account_id,pipeline_id,stage_id,pipeline_name,name,place}'),
  ('leads',
    '{id,user_account_id,source_creative_id,direction_id,source_ad_fb_id,fb_lead_id,crm_lead_id,phone,name,'
    'pipeline_id,stage_id,'
    'reached_key_stage,is_qualified,chat_analysis_json,revenue,created_at}'),
  ('whatsapp_integration', '{user_account_id,instance,status}'),
  ('whatsapp_messages', '{user_account_id,id,chat_jid,lead_id,direction,text,sent_at}'),
  ('dialog_summaries', '{user_account_id,chat_jid,summary,temperature,messages_up_to,updated_at}'),
  ('user_specs', '{key,value}'),
  ('brain_actions', '{id,user_account_id,at,action,entity,reason}');
