"""The queries of sql/queries: their rows and arguments. Written by tests/sql/test_query_types.py with RECORD=1."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Never, TypedDict
from uuid import UUID

from shared import query as pg
from shared.query import Query, Value

# ads.sql

class AdsAccountRow(TypedDict):
    user_account_id: UUID | Any
    name: str | Any
    ad_account_id: UUID | Any
    fb_id: str | Any
    ad_account_name: str | Any
    currency: str | Any
    timezone: str | Any
    synced_from: date | None
    crm_url: str | Any
    crm_currency: str | None
    rate: Decimal | None
    rate_of: str | None
    rate_currency: str | None
    rated_on: date | None
    instance: str | Any
    ads_token_ends_at: datetime | None
    crm_token_ends_at: datetime | None
    ads_synced_at: datetime | None
    crm_synced_at: datetime | None
    whatsapp_synced_at: datetime | None
    read_at: datetime | Any
    sync_errors: Any
    other_ad_accounts: list[str] | Any
    has_facebook_token: bool | Any
    has_crm_token: bool | Any
    has_campaigns: bool | Any
    has_directions: bool | Any
    has_creatives: bool | Any
    has_leads: bool | Any
    has_messages: bool | Any

ads_account: Query[AdsAccountRow, pg.uuid, pg.text]

class UserSpecsRow(TypedDict):
    key: str
    value: str
    updated_at: datetime

user_specs: Query[UserSpecsRow, pg.uuid, pg.int8]

set_specs: Value[None, Never, pg.uuid, pg.jsonb, pg.text]

class RecentBrainActionsRow(TypedDict):
    at: datetime
    action: str | Any
    entity: str | Any
    reason: str | Any

recent_brain_actions: Query[RecentBrainActionsRow, pg.uuid, pg.uuid, pg.int8]

class AdAccountStatusRow(TypedDict):
    can_run_ads: bool | None
    status: str | None
    checked_at: datetime | None
    is_fresh: bool | Any

ad_account_status: Query[AdAccountStatusRow, pg.uuid, pg.uuid, pg.interval]

class KeepAdAccountStatusRow(TypedDict):
    can_run_ads: bool | None
    status: str | None
    checked_at: datetime | None

keep_ad_account_status: Query[KeepAdAccountStatusRow, pg.uuid, pg.uuid, pg.bool_, pg.text]

class DirectionsInShortRow(TypedDict):
    id: UUID
    name: str
    status: Literal["ACTIVE", "PAUSED"]
    daily_budget_minor: int | None
    target_cpl: Decimal | None
    target_cpl_currency: str | None

directions_in_short: Query[DirectionsInShortRow, pg.uuid, pg.uuid, pg.int8]

class OwnAccountRow(TypedDict):
    id: str | Any

own_account: Value[str, OwnAccountRow, pg.uuid, pg.text, pg.text]

connect_ads: Value[UUID, Never, pg.uuid, pg.text, pg.text, pg.text, pg.text, pg.text, pg.text, pg.text, pg.text]

set_ads_token: Value[bool, Never, pg.uuid, pg.text, pg.text, pg.text]

class ListAdsAccountsRow(TypedDict):
    id: UUID | Any
    name: str | Any
    is_default: bool | Any
    ad_accounts: list[str] | Any
    crm: str | Any
    whatsapp: str | Any

list_ads_accounts: Query[ListAdsAccountsRow, pg.uuid]

class RemoveAdsAccountRow(TypedDict):
    ad_accounts: list[str] | Any

remove_ads_account: Value[list[str], RemoveAdsAccountRow, pg.uuid, pg.uuid]

class AdsConnectionsRow(TypedDict):
    service: str | Any
    connections: int | Any
    without_token: int | Any
    ending: int | Any
    ends_at: datetime | Any
    stale: int | Any
    failing: int | Any
    error: str | Any
    users: list[UUID] | Any

ads_connections: Query[AdsConnectionsRow, pg.bool_, pg.interval, pg.interval]

# ads_creatives.sql

class CreativesRow(TypedDict):
    id: UUID | Any
    title: str | Any
    media_type: Literal["video", "image", "carousel"] | Any
    status: Literal["draft", "ready", "paused", "archived"] | Any
    fb_creative_id: str | None
    created_at: datetime | Any
    direction_id: UUID | Any
    direction: str | Any
    target_cpl: Decimal | None
    target_qcpl: Decimal | None
    target_cpl_currency: str | None
    spend: Decimal | Any
    impressions: int | Any
    clicks: int | Any
    leads: int | Any
    purchases: int | Any
    video_views: int | Any
    p25: int | Any
    p50: int | Any
    p75: int | Any
    p95: int | Any
    local_leads: int | Any
    engaged: int | Any
    qualified: int | Any
    sales: int | Any
    revenue: Decimal | Any
    score: int | Any
    risk_score: int | Any

creatives: Query[
    CreativesRow,
    pg.uuid,
    pg.uuid,
    pg.date,
    pg.date,
    pg.timestamptz,
    pg.timestamptz,
    pg.array[pg.uuid],
    pg.text,
    pg.uuid,
]

class FindCreativesRow(TypedDict):
    reference: str | Any
    id: UUID
    title: str
    name: str
    media_type: Literal["video", "image", "carousel"]
    status: Literal["draft", "ready", "paused", "archived"]
    direction_id: UUID | None
    fb_creative_id: str | None
    fb_video_id: str | None
    transcript: str | None
    transcript_language: str | None
    created_at: datetime
    is_id: bool | Any

find_creatives: Query[FindCreativesRow, pg.uuid, pg.uuid, pg.array[pg.text]]

class CreativeDaysRow(TypedDict):
    day: date
    spend: Decimal
    impressions: int
    clicks: int
    leads: int
    purchases: int
    video_views: int
    p25: int
    p50: int
    p75: int
    p95: int

creative_days: Query[CreativeDaysRow, pg.uuid, pg.uuid, pg.date, pg.date]

class CreativeAdsRow(TypedDict):
    id: UUID | Any
    fb_id: str | Any
    name: str | Any
    status: str | Any
    adset_id: UUID | Any
    adset_fb_id: str | Any
    adset: str | Any
    adset_status: str | Any
    campaign: str | Any
    direction_id: UUID | Any
    direction: str | Any

creative_ads: Query[CreativeAdsRow, pg.uuid, pg.uuid, pg.uuid]

class CreativeAnalysesRow(TypedDict):
    score: int
    verdict: str
    recommendations: Any
    model: str
    analyzed_at: datetime
    total: int | Any

creative_analyses: Query[CreativeAnalysesRow, pg.uuid, pg.uuid, pg.int8]

class CreativeRisksRow(TypedDict):
    id: UUID
    title: str
    risk_score: int
    factors: Any
    scored_at: datetime
    scores: int | Any

creative_risks: Query[CreativeRisksRow, pg.uuid, pg.uuid, pg.uuid, pg.int8]

class CreativeTestsRow(TypedDict):
    id: UUID | Any
    creative_id: UUID | Any
    title: str | Any
    status: Literal["running", "stopped", "finished", "failed"] | Any
    budget_usd: Decimal | None
    budget_minor: int | None
    started_at: datetime | Any
    stopped_at: datetime | None
    result: Any
    fb_adset_id: str | None
    fb_ad_id: str | None
    direction: str | Any
    total: int | Any

creative_tests: Query[CreativeTestsRow, pg.uuid, pg.uuid, pg.uuid, pg.uuid, pg.text, pg.int8]

class KeepCreativeAnalysisRow(TypedDict):
    id: UUID
    score: int
    verdict: str
    analyzed_at: datetime

keep_creative_analysis: Query[KeepCreativeAnalysisRow, pg.uuid, pg.uuid, pg.int4, pg.text, pg.jsonb, pg.text]

class KeepLaunchedAdRow(TypedDict):
    ad_id: UUID

keep_launched_ad: Value[UUID, KeepLaunchedAdRow, pg.uuid, pg.uuid, pg.text, pg.text, pg.text, pg.text, pg.uuid, pg.uuid]

set_ad_status: Value[None, Never, pg.uuid, pg.uuid, pg.text]

set_creative_status: Value[None, Never, pg.uuid, pg.uuid, pg.text]

class BeginCreativeTestRow(TypedDict):
    id: UUID
    started_at: datetime

begin_creative_test: Query[BeginCreativeTestRow, pg.uuid, pg.uuid, pg.uuid, pg.numeric, pg.int8]

keep_creative_test: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text]

fail_creative_test: Value[None, Never, pg.uuid, pg.uuid]

class EndCreativeTestRow(TypedDict):
    id: UUID

end_creative_test: Value[UUID, EndCreativeTestRow, pg.uuid, pg.uuid, pg.jsonb]

# ads_dialogs.sql

class AdsCountDialogsRow(TypedDict):
    count: int | Any
    count_all_time: int | Any

ads_count_dialogs: Query[AdsCountDialogsRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz, pg.text]

class AdsDialogsRow(TypedDict):
    id: UUID | Any
    jid: str | Any
    name: str | Any
    phone: str | Any
    lead_id: UUID | None
    messages_in: int | Any
    messages_out: int | Any
    last_message_at: datetime | None
    is_summary_current: bool | Any
    temperature: str | Any

ads_dialogs: Query[AdsDialogsRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz, pg.text, pg.int8]

class AdsDialogRow(TypedDict):
    id: UUID | Any
    jid: str | Any
    name: str | Any
    phone: str | Any
    lead_id: UUID | None
    messages_in: int | Any
    messages_out: int | Any
    last_message_at: datetime | None
    is_summary_current: bool | Any
    temperature: str | Any

ads_dialog: Query[AdsDialogRow, pg.uuid, pg.uuid, pg.uuid, pg.text]

class AdsDialogMessagesRow(TypedDict):
    direction: Literal["in", "out"]
    text: str | Any
    sent_at: datetime

ads_dialog_messages: Query[AdsDialogMessagesRow, pg.uuid, pg.uuid, pg.text, pg.int8, pg.int8, pg.int4]

class AdsSearchSummariesRow(TypedDict):
    id: UUID | Any
    summary: str | Any
    updated_at: datetime | Any
    name: str | Any
    phone: str | Any
    lead_id: UUID | None
    last_message_at: datetime | None
    words: int | Any
    found: int | Any
    temperature: str | Any

ads_search_summaries: Query[AdsSearchSummariesRow, pg.uuid, pg.uuid, pg.text, pg.text, pg.int8]

ads_keep_summary: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text, pg.text, pg.timestamptz]

class AdsRecipientsRow(TypedDict):
    chat_id: UUID | Any
    jid: str | Any
    number: str | None
    lead_id: UUID | Any
    phone_digits: str | None
    name: str | Any

ads_recipients: Query[AdsRecipientsRow, pg.uuid, pg.uuid, pg.array[pg.uuid], pg.array[pg.text]]

ads_begin_send: Value[bool, Never, pg.uuid, pg.uuid, pg.text]

ads_end_send: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text, pg.text, pg.text]

class AdsSendsRow(TypedDict):
    number: str
    state: Literal["sending", "sent", "failed"]
    problem: str | None

ads_sends: Query[AdsSendsRow, pg.uuid, pg.uuid]

# ads_directions.sql

class AdsDirectionsRow(TypedDict):
    id: UUID
    name: str
    status: Literal["ACTIVE", "PAUSED"]
    fb_adset_id: str | None
    daily_budget_minor: int | None
    target_cpl: Decimal | None
    target_qcpl: Decimal | None
    target_cpl_currency: str | None
    key_stage_ids: list[str]
    adset_fb_ids: list[str] | Any
    is_id: bool | Any

ads_directions: Query[AdsDirectionsRow, pg.uuid, pg.uuid, pg.text]

class AdsDirectionFiguresRow(TypedDict):
    direction_id: UUID
    spend: Decimal | Any
    impressions: int | Any
    clicks: int | Any
    leads: int | Any

ads_direction_figures: Query[AdsDirectionFiguresRow, pg.uuid, pg.uuid, pg.date, pg.date]

class AdsDirectionDaysRow(TypedDict):
    day: date
    spend: Decimal
    impressions: int
    clicks: int
    leads: int

ads_direction_days: Query[AdsDirectionDaysRow, pg.uuid, pg.uuid, pg.date, pg.date]

class AdsDirectionResultsRow(TypedDict):
    direction_id: UUID | Any
    leads: int | Any
    engaged: int | Any
    qualified: int | Any
    revenue: Decimal | Any

ads_direction_results: Query[AdsDirectionResultsRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz]

class AdsDirectionCreativesRow(TypedDict):
    id: UUID
    title: str
    media_type: Literal["video", "image", "carousel"]
    status: Literal["draft", "ready", "paused", "archived"]
    total: int | Any

ads_direction_creatives: Query[AdsDirectionCreativesRow, pg.uuid, pg.uuid, pg.int8]

ads_set_direction_status: Value[None, Never, pg.uuid, pg.uuid, pg.text]

ads_set_direction_target: Value[None, Never, pg.uuid, pg.uuid, pg.numeric, pg.text]

# ads_facebook.sql

ads_now: Value[datetime, Never]

ads_keep_campaigns: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_adsets: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_ads: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_mark_deleted_campaigns: Value[None, Never, pg.uuid, pg.uuid, pg.array[pg.text]]

ads_mark_deleted_adsets: Value[None, Never, pg.uuid, pg.uuid, pg.array[pg.text]]

ads_mark_deleted_ads: Value[None, Never, pg.uuid, pg.uuid, pg.array[pg.text]]

class AdsUnknownRow(TypedDict):
    fb_id: str | Any

ads_unknown: Value[str, AdsUnknownRow, pg.uuid, pg.uuid, pg.text, pg.array[pg.text]]

ads_keep_creatives: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_shown: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_adset_days: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_direction_days: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

class AdsCampaignRow(TypedDict):
    id: UUID
    fb_id: str
    name: str
    status: str
    objective: str | None
    daily_budget_minor: int | None
    is_id: bool | Any

ads_campaign: Query[AdsCampaignRow, pg.uuid, pg.uuid, pg.text]

class AdsAdsetRow(TypedDict):
    id: UUID
    fb_id: str
    name: str
    status: str
    daily_budget_minor: int | None
    campaign_fb_id: str
    campaign: str
    campaign_status: str
    campaign_budget_minor: int | None
    is_id: bool | Any

ads_adset: Query[AdsAdsetRow, pg.uuid, pg.uuid, pg.text]

ads_set_status: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text]

ads_set_adset_budget: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.int8]

class AdsAdsetTargetsRow(TypedDict):
    fb_id: str
    direction: str
    target_cpl: Decimal | None
    target_cpl_currency: str | None

ads_adset_targets: Query[AdsAdsetTargetsRow, pg.uuid, pg.uuid]

class AdsCreativesOfRow(TypedDict):
    fb_id: str
    creative_id: UUID
    adset_fb_id: str

ads_creatives_of: Query[AdsCreativesOfRow, pg.uuid, pg.uuid, pg.array[pg.text]]

# ads_leads.sql

class AdsCreativesRow(TypedDict):
    id: UUID | Any
    title: str | Any
    status: Literal["draft", "ready", "paused", "archived"] | Any
    direction: str | Any
    target_cpl: Decimal | None
    target_qcpl: Decimal | None
    target_cpl_currency: str | None

ads_creatives: Query[AdsCreativesRow, pg.uuid, pg.uuid]

class AdsCreativeFiguresRow(TypedDict):
    creative_id: UUID
    spend: Decimal | Any
    impressions: int | Any
    clicks: int | Any
    leads: int | Any

ads_creative_figures: Query[AdsCreativeFiguresRow, pg.uuid, pg.uuid, pg.date, pg.date]

class AdsCreativeResultsRow(TypedDict):
    creative_id: UUID | None
    leads: int | Any
    engaged: int | Any
    qualified: int | Any
    sales: int | Any
    revenue: Decimal | Any

ads_creative_results: Query[AdsCreativeResultsRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz, pg.uuid]

class AdsHasRevenueRow(TypedDict):
    coalesce: bool | Any

ads_has_revenue: Value[bool, AdsHasRevenueRow, pg.uuid, pg.uuid]

class AdsHasUnreadLeadsRow(TypedDict):
    exists: bool | Any

ads_has_unread_leads: Value[bool, AdsHasUnreadLeadsRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz]

class AdsSalesQualityRow(TypedDict):
    leads: int | Any
    leads_all_time: int | Any
    qualified_crm: int | Any
    qualified_crm_all_time: int | Any
    engaged: int | Any
    engaged_all_time: int | Any
    with_messages: int | Any
    with_messages_all_time: int | Any
    key_stage: int | Any
    engaged_or_further: int | Any
    qualified_or_further: int | Any
    paid: int | Any
    revenue: Decimal | Any

ads_sales_quality: Query[AdsSalesQualityRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz]

class AdsStageCountsRow(TypedDict):
    pipeline_id: str | None
    stage_id: str | None
    pipeline_name: str | Any
    name: str | Any
    leads: int | Any
    engaged: int | Any
    qualified: int | Any
    revenue: Decimal | Any

ads_stage_counts: Query[AdsStageCountsRow, pg.uuid, pg.uuid, pg.timestamptz, pg.timestamptz]

class AdsCountLeadsRow(TypedDict):
    count: int | Any
    count_all_time: int | Any

ads_count_leads: Query[
    AdsCountLeadsRow,
    pg.uuid,
    pg.uuid,
    pg.timestamptz,
    pg.timestamptz,
    pg.bool_,
    pg.bool_,
    pg.array[pg.text],
    pg.uuid,
    pg.text,
]

class AdsLeadsRow(TypedDict):
    id: UUID | Any
    name: str | None
    phone: str | None
    stage_id: str | None
    stage: str | Any
    pipeline: str | Any
    is_qualified: bool | Any
    is_engaged: bool | Any
    messages_in: int | Any
    last_message_at: datetime | None
    revenue: Decimal | Any
    created_at: datetime | Any
    creative: str | Any
    creative_id: UUID | None
    temperature: str | Any

ads_leads: Query[
    AdsLeadsRow,
    pg.uuid,
    pg.uuid,
    pg.timestamptz,
    pg.timestamptz,
    pg.bool_,
    pg.bool_,
    pg.array[pg.text],
    pg.uuid,
    pg.text,
    pg.int8,
]

class AdsLeadRow(TypedDict):
    id: UUID | Any
    name: str | None
    phone: str | None
    crm_lead_id: str | None
    fb_lead_id: str | None
    pipeline_id: str | None
    stage_id: str | None
    stage: str | Any
    pipeline: str | Any
    is_qualified: bool | Any
    is_engaged: bool | Any
    reached_key_stage: bool | Any
    messages_in: int | Any
    last_message_at: datetime | None
    revenue: Decimal | Any
    created_at: datetime | Any
    updated_at: datetime | Any
    creative: str | Any
    creative_id: UUID | None
    direction: str | Any
    direction_id: UUID | Any
    key_stage_ids: list[str] | Any
    summary: str | Any
    messages_out: int | Any
    temperature: str | Any

ads_lead: Query[AdsLeadRow, pg.uuid, pg.uuid, pg.text, pg.uuid]

class AdsStagesRow(TypedDict):
    pipeline_id: str
    stage_id: str
    pipeline_name: str
    name: str
    is_qualifying: bool

ads_stages: Query[AdsStagesRow, pg.uuid, pg.uuid]

ads_keep_stages: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_set_lead_stage: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text]

# ads_set_up.sql

class AdsSetQualifyingRow(TypedDict):
    stage_id: str
    is_qualifying: bool

ads_set_qualifying: Query[AdsSetQualifyingRow, pg.uuid, pg.uuid, pg.array[pg.text]]

class AdsQualifyLeadsRow(TypedDict):
    leads: int | Any

ads_qualify_leads: Value[int, AdsQualifyLeadsRow, pg.uuid, pg.uuid]

class AdsSetRateRow(TypedDict):
    rate_of: str | None
    rated_on: date | None

ads_set_rate: Query[AdsSetRateRow, pg.uuid, pg.uuid, pg.numeric, pg.text, pg.date]

class AdsDirectionsAndProposalsRow(TypedDict):
    fb_id: str | Any
    name: str | Any
    status: str | Any
    campaign: str | Any
    daily_budget_minor: int | None
    direction: str | Any
    target_cpl: Decimal | None
    target_qcpl: Decimal | None
    target_cpl_currency: str | None
    spend: Decimal | Any

ads_directions_and_proposals: Query[AdsDirectionsAndProposalsRow, pg.uuid, pg.uuid]

class AdsAddDirectionRow(TypedDict):
    id: UUID
    name: str

ads_add_direction: Query[AdsAddDirectionRow, pg.uuid, pg.uuid, pg.array[pg.text], pg.text, pg.numeric, pg.numeric]

class AdsSetTargetsRow(TypedDict):
    id: UUID

ads_set_targets: Value[UUID, AdsSetTargetsRow, pg.uuid, pg.uuid, pg.text, pg.numeric, pg.numeric]

ads_direct_ads: Value[None, Never, pg.uuid, pg.uuid]

class AdsSetUpRow(TypedDict):
    has_adsets: bool | Any
    has_directions: bool | Any
    has_stages: bool | Any
    has_qualifying: bool | Any

ads_set_up: Query[AdsSetUpRow, pg.uuid, pg.uuid, pg.uuid]

# ads_sync.sql

class AdsSyncedToRow(TypedDict):
    synced_to: date | None

ads_synced_to: Value[date, AdsSyncedToRow, pg.uuid, pg.uuid]

ads_set_synced_to: Value[None, Never, pg.uuid, pg.uuid, pg.date, pg.date, pg.bool_]

ads_synced: Value[None, Never, pg.uuid, pg.uuid, pg.text]

ads_keep_token_end: Value[None, Never, pg.uuid, pg.uuid, pg.timestamptz]

ads_sync_direction_days: Value[None, Never, pg.uuid, pg.uuid, pg.date, pg.date]

ads_keep_creative_days: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_crm_currency: Value[None, Never, pg.uuid, pg.uuid, pg.text]

class AdsCrmSyncedToRow(TypedDict):
    synced_to: datetime | None

ads_crm_synced_to: Value[datetime, AdsCrmSyncedToRow, pg.uuid, pg.uuid]

ads_link_leads: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_leads: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_forget_crm_leads: Value[int, Never, pg.uuid, pg.uuid, pg.array[pg.text]]

class AdsFormsToReadRow(TypedDict):
    fb_id: str
    since: datetime | Any

ads_forms_to_read: Query[AdsFormsToReadRow, pg.uuid, pg.uuid, pg.timestamptz]

ads_set_forms_synced_to: Value[None, Never, pg.uuid, pg.uuid, pg.timestamptz]

ads_link_form_leads: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_form_leads: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_keep_chat_leads: Value[None, Never, pg.uuid, pg.uuid]

ads_find_sources: Value[None, Never, pg.uuid, pg.uuid]

class AdsAttributeLeadsRow(TypedDict):
    id: UUID | Any

ads_attribute_leads: Value[UUID, AdsAttributeLeadsRow, pg.uuid, pg.uuid]

ads_set_crm_synced_to: Value[None, Never, pg.uuid, pg.uuid, pg.timestamptz]

ads_keep_whatsapp_state: Value[None, Never, pg.uuid, pg.uuid, pg.text]

ads_set_messages_from: Value[None, Never, pg.uuid, pg.uuid, pg.timestamptz, pg.bool_]

class AdsChatsSyncedToRow(TypedDict):
    jid: str
    synced_to: datetime | None

ads_chats_synced_to: Query[AdsChatsSyncedToRow, pg.uuid, pg.uuid]

ads_keep_messages: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.jsonb]

ads_keep_chat: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text, pg.text, pg.text]

ads_chat_synced: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.timestamptz]

# ads_syncs.sql

class AdsClaimSyncRow(TypedDict):
    id: UUID | Any
    owner: UUID | Any
    user_id: UUID | Any
    service: str | Any
    named: str | Any
    account: str
    user_account_id: UUID | Any

ads_claim_sync: Query[AdsClaimSyncRow, pg.int4, pg.interval, pg.uuid]

class AdsRenewSyncRow(TypedDict):
    id: UUID

ads_renew_sync: Value[UUID, AdsRenewSyncRow, pg.uuid, pg.uuid, pg.interval]

ads_note_progress: Value[None, Never, pg.uuid, pg.uuid, pg.jsonb]

ads_end_sync: Value[None, Never, pg.uuid, pg.uuid, pg.text]

ads_release_sync: Value[None, Never, pg.uuid, pg.uuid]

class AdsSyncsRow(TypedDict):
    user_id: UUID | Any
    account: str
    service: str | Any
    named: str | Any
    id: UUID
    synced_at: datetime | Any
    interval_min: int | Any
    failures: int
    error: str | None
    is_claimed: bool | Any
    begun_at: datetime | None
    due_at: datetime | Any
    read_at: datetime | Any

ads_syncs: Query[AdsSyncsRow, pg.uuid, pg.text, pg.int4]

class AdsConnectionStatesRow(TypedDict):
    business_id: UUID | Any
    business: str | Any
    service: str | Any
    named: str | Any
    title: str | Any
    currency: str | Any
    timezone: str | Any
    has_token: bool | Any
    token_ends_at: datetime | Any
    synced_at: datetime | Any
    begun_at: datetime | Any
    is_syncing: bool | Any
    is_wanted: bool | Any
    is_by_itself: bool | Any
    due_at: datetime | Any
    error: str | Any
    progress: Any
    has_adsets: bool | Any
    has_directions: bool | Any
    has_stages: bool | Any
    has_qualifying: bool | Any
    read_at: datetime | Any

ads_connection_states: Query[AdsConnectionStatesRow, pg.uuid, pg.int4]

ads_want_syncs: Value[int, Never, pg.uuid, pg.uuid]

ads_set_sync_interval: Value[None, Never, pg.uuid, pg.uuid, pg.int4]

# brain.sql

class BrainAnswerRow(TypedDict):
    mode: str | Any
    agent: str | Any
    routing: str | Any
    actions: Any
    iterations: int | Any
    tokens: int | Any

brain_answer: Query[BrainAnswerRow, pg.uuid]
