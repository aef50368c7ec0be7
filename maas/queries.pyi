"""The queries of sql/queries: their rows and arguments. Written by tests/sql/test_query_types.py with RECORD=1."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, Never, TypedDict
from uuid import UUID

from shared import query as pg
from shared.query import Query, Value

# a2a.sql

class A2aTasksRow(TypedDict):
    id: UUID
    conversation_id: UUID | None
    state: str | Any
    changed_at: datetime | Any
    total: int | Any
    runs: Any
    waiting: Any

a2a_tasks: Query[
    A2aTasksRow, pg.uuid, pg.text, pg.uuid, pg.uuid, pg.text, pg.timestamptz, pg.timestamptz, pg.uuid, pg.int8, pg.int8
]

set_push_notification: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text, pg.jsonb, pg.text]

delete_push_notification: Value[bool, Never, pg.uuid, pg.uuid, pg.text, pg.text]

class PushNotificationsRow(TypedDict):
    name: str | None
    url: str

push_notifications: Query[PushNotificationsRow, pg.uuid, pg.uuid]

# accounts.sql

signing_key: Value[str, Never]

class FindAccountRow(TypedDict):
    user_id: UUID | Any
    password_hash: str | Any

find_account: Query[FindAccountRow, pg.text]

password_hash: Value[str, Never, pg.uuid]

class AccountRow(TypedDict):
    user_id: UUID
    email: str
    name: str | None
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None
    is_admin: bool | Any

account: Query[AccountRow, pg.uuid]

class IsBlockedRow(TypedDict):
    exists: bool | Any

is_blocked: Value[bool, IsBlockedRow, pg.uuid]

class ListAccountsRow(TypedDict):
    user_id: UUID
    email: str
    name: str | None
    created_at: datetime
    updated_at: datetime
    last_sign_in_at: datetime | None
    is_admin: bool | Any

list_accounts: Query[ListAccountsRow]

class BlockedUsersRow(TypedDict):
    user_id: UUID | Any
    granted_at: datetime | Any
    email: str | Any

blocked_users: Query[BlockedUsersRow]

class CountAccountsRow(TypedDict):
    count: int | Any

count_accounts: Value[int, CountAccountsRow]

class SignUpRow(TypedDict):
    verdict: str | Any
    user_id: UUID | Any

sign_up: Query[SignUpRow, pg.text, pg.text, pg.text, pg.bytea, pg.bool_]

class CreateAccountRow(TypedDict):
    verdict: str | Any
    user_id: UUID | Any

create_account: Query[CreateAccountRow, pg.text, pg.text, pg.text, pg.uuid, pg.bool_, pg.text]

class InviteRow(TypedDict):
    verdict: str | Any
    user_id: UUID | Any

invite: Query[InviteRow, pg.text, pg.text, pg.text, pg.text]

offer_admin_code: Value[bool, Never, pg.bytea, pg.int4]

begin_session: Value[UUID, Never, pg.uuid, pg.text, pg.bytea, pg.int4]

class RefreshSessionRow(TypedDict):
    verdict: str | Any
    session_id: UUID | Any
    user_id: UUID | Any

refresh_session: Query[RefreshSessionRow, pg.bytea, pg.bytea, pg.int4, pg.float8]

class FindSessionRow(TypedDict):
    session_id: UUID | Any
    user_id: UUID | Any

find_session: Query[FindSessionRow, pg.bytea]

class AuthSessionRow(TypedDict):
    method: Literal["password", "recovery"]
    age_s: float | Any

auth_session: Query[AuthSessionRow, pg.uuid, pg.uuid]

end_sessions: Value[int, Never, pg.uuid, pg.uuid, pg.text]

change_account: Value[None, Never, pg.uuid, pg.uuid, pg.text, pg.text]

create_link: Value[bool, Never, pg.uuid, pg.bytea, pg.int4, pg.text]

class UseLinkRow(TypedDict):
    session_id: UUID | Any
    user_id: UUID | Any

use_link: Query[UseLinkRow, pg.bytea, pg.bytea, pg.int4]

# actions.sql

class ProposeActionRow(TypedDict):
    id: UUID | Any
    fingerprint: str | Any

propose_action: Query[
    ProposeActionRow, pg.uuid, pg.text, pg.text, pg.jsonb, pg.text, pg.text, pg.text, pg.int4, pg.jsonb
]

class RunModeRow(TypedDict):
    coalesce: str | Any

run_mode: Value[str, RunModeRow, pg.uuid]

class ActionRow(TypedDict):
    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID
    place: int
    tool: str
    tool_version: str
    arguments: Any
    effect: Literal["read", "write", "dangerous"]
    assistant: str | None
    agent: str | None
    status: str | Any
    created_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    action_run_id: UUID | None
    result: Any
    fingerprint: str | Any
    wording: Any
    parameters: Any
    argument_names: list[str] | Any

action: Query[ActionRow, pg.uuid, pg.uuid]

class ListActionsRow(TypedDict):
    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID
    place: int
    tool: str
    tool_version: str
    arguments: Any
    effect: Literal["read", "write", "dangerous"]
    assistant: str | None
    agent: str | None
    status: str | Any
    created_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    action_run_id: UUID | None
    result: Any
    fingerprint: str | Any
    wording: Any
    parameters: Any
    argument_names: list[str] | Any

list_actions: Query[ListActionsRow, pg.uuid, pg.text, pg.uuid, pg.timestamptz, pg.uuid, pg.int8]

class PlanRow(TypedDict):
    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID
    place: int
    tool: str
    tool_version: str
    arguments: Any
    effect: Literal["read", "write", "dangerous"]
    assistant: str | None
    agent: str | None
    status: str | Any
    created_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    action_run_id: UUID | None
    result: Any
    fingerprint: str | Any
    wording: Any
    parameters: Any
    argument_names: list[str] | Any

plan: Query[PlanRow, pg.uuid, pg.uuid, pg.text, pg.uuid]

class ExecutedActionsRow(TypedDict):
    run_id: UUID
    id: UUID
    tool: str
    title: Any

executed_actions: Query[ExecutedActionsRow, pg.array[pg.uuid]]

class ToolParametersRow(TypedDict):
    parameters: Any
    version: str

tool_parameters: Query[ToolParametersRow, pg.text]

class EditActionRow(TypedDict):
    verdict: str | Any
    status: str | Any
    run_id: UUID | Any

edit_action: Query[EditActionRow, pg.uuid, pg.uuid, pg.jsonb, pg.int4]

finish_edit: Value[str, Never, pg.uuid, pg.int4, pg.jsonb, pg.jsonb]

class DecideActionRow(TypedDict):
    verdict: str | Any
    status: str | Any
    run_id: UUID | Any

decide_action: Query[DecideActionRow, pg.uuid, pg.uuid, pg.text, pg.text, pg.int4, pg.text]

class UndecidedActionsRow(TypedDict):
    call: str | Any
    wording: Any
    arguments: Any
    is_shown: bool | Any
    shown_place: int | Any

undecided_actions: Query[UndecidedActionsRow, pg.uuid, pg.int8]

class ShowActionsRow(TypedDict):
    id: UUID | Any
    tool: str | Any
    arguments: Any
    effect: str | Any
    wording: Any
    number: int | Any

show_actions: Query[ShowActionsRow, pg.uuid, pg.int4, pg.bool_, pg.int4]

class DecideByWordsRow(TypedDict):
    verdict: str | Any
    calls: list[str] | Any

decide_by_words: Query[DecideByWordsRow, pg.uuid, pg.int4, pg.text, pg.array[pg.int4]]

class OpenActionRow(TypedDict):
    verdict: str | Any
    call_id: str | Any
    tool: str | Any
    version: str | Any
    arguments: Any
    is_intact: bool | Any
    status: str | Any
    result: Any
    asked: str | Any
    agent: str | Any
    wording: Any
    is_of_task: bool | Any

open_action: Query[OpenActionRow, pg.uuid, pg.int4]

expire_actions: Value[int, Never]

end_action: Value[str, Never, pg.uuid, pg.int4, pg.text, pg.jsonb]

# admin.sql

class AdminMetricsRow(TypedDict):
    day: date | Any
    requests: int | Any
    completed: int | Any
    failed: int | Any
    average_ms: float | Any
    p95_ms: float | Any
    tokens: int | Any
    price: int | Any

admin_metrics: Query[AdminMetricsRow, pg.timestamptz, pg.timestamptz]

class AdminQueueRow(TypedDict):
    inbox: int | Any
    waiting: int | Any
    runnable: int | Any
    deferred: int | Any
    in_flight: int | Any
    paused: int | Any
    scheduled: int | Any

admin_queue: Query[AdminQueueRow]

class ListQueuedRunsRow(TypedDict):
    id: UUID
    seq: int
    user_id: UUID
    kind: Literal["ask", "archive", "action", "task", "trial", "call"]
    assistant: str
    conversation_id: UUID | None
    source: str
    status: Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"]
    archive_status: Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"]
    query: str | Any
    answer: str | Any
    error_code: str | None
    error_message: str | None
    limited: Literal["budget", "stopped"] | None
    memory: str
    created_at: datetime
    completed_at: datetime | None
    priority: int
    run_at: datetime | None
    attributes: Any
    replaces: UUID | None

list_queued_runs: Query[
    ListQueuedRunsRow,
    pg.uuid,
    pg.text,
    pg.timestamptz,
    pg.uuid,
    pg.int8,
    pg.text,
    pg.uuid,
    pg.text,
    pg.timestamptz,
    pg.timestamptz,
    pg.text,
    pg.jsonb,
    pg.text,
    pg.text,
]

class AdminEnginesRow(TypedDict):
    name: str | Any
    heartbeat_at: datetime | Any
    in_flight: int | Any
    concurrency: int | Any
    stages: list[str] | Any
    is_alive: bool | Any

admin_engines: Query[AdminEnginesRow]

class AdminStuckRow(TypedDict):
    request_id: UUID | Any
    user_id: UUID | Any
    status: str | Any
    why: str | Any
    since: datetime | Any

admin_stuck: Query[AdminStuckRow, pg.int8]

class AdminEmbeddingRow(TypedDict):
    model: str | Any
    waiting: int | Any

admin_embedding: Query[AdminEmbeddingRow]

class AdminMemoriesRow(TypedDict):
    id: UUID
    user_id: UUID
    level: int
    period: str | Any
    tags: list[str]
    memory: str
    messages: int | Any
    created_at: datetime
    superseded_by: UUID | None

admin_memories: Query[AdminMemoriesRow, pg.uuid, pg.text, pg.int4, pg.timestamptz, pg.uuid, pg.int8]

class AdminActionsRow(TypedDict):
    id: UUID
    user_id: UUID
    conversation_id: UUID | None
    run_id: UUID
    assistant: str | None
    tool: str
    title: Any
    effect: Literal["read", "write", "dangerous"]
    created_at: datetime
    expires_at: datetime

admin_actions: Query[AdminActionsRow, pg.uuid, pg.timestamptz, pg.uuid, pg.int8]

class AdminPromptsRow(TypedDict):
    role: str
    version: int
    is_active: bool
    updated_at: datetime
    characters: int | Any
    changed_by: str | Any

admin_prompts: Query[AdminPromptsRow]

class AdminPromptRow(TypedDict):
    role: str
    version: int
    text: str
    is_active: bool
    updated_at: datetime

admin_prompt: Query[AdminPromptRow, pg.text]

class AdminPromptHistoryRow(TypedDict):
    version: int | Any
    text: str | Any
    is_active: bool | Any
    valid_from: datetime | Any
    changed_by: str | Any

admin_prompt_history: Query[AdminPromptHistoryRow, pg.text, pg.int8]

class SetPromptRow(TypedDict):
    verdict: str | Any
    version: int | Any
    actor: str | Any
    changed_at: datetime | Any

set_prompt: Query[SetPromptRow, pg.text, pg.text, pg.bool_, pg.int4, pg.text]

class InsertTrialRow(TypedDict):
    verdict: str | Any
    id: UUID | Any

insert_trial: Query[InsertTrialRow, pg.uuid, pg.text, pg.text, pg.text, pg.text, pg.text]

class TrialInputRow(TypedDict):
    role: str | Any
    text: str | Any
    stage: str | Any
    model: str | Any
    run_id: UUID
    seq: int
    asked_at: datetime
    began_at: datetime | Any

trial_input: Query[TrialInputRow, pg.uuid]

class UserIdsRow(TypedDict):
    user_id: UUID | Any

user_ids: Value[UUID, UserIdsRow, pg.text, pg.uuid, pg.int8]

class RankedUserIdsRow(TypedDict):
    user_id: UUID | Any
    rank: int | Any
    users: int | Any
    price: int | Any
    errors: int | Any

ranked_user_ids: Query[RankedUserIdsRow, pg.text, pg.text, pg.int8, pg.uuid, pg.int8]

class AdminUsersRow(TypedDict):
    user_id: UUID | Any
    names: list[str] | Any
    is_admin: bool | Any
    is_blocked: bool | Any
    runs: int | Any
    errors: int | Any
    price: int | Any
    last_run_at: datetime | Any
    created_at: datetime | Any
    email: str | Any
    name: str | Any

admin_users: Query[AdminUsersRow, pg.array[pg.uuid]]

class NamesOfUsersRow(TypedDict):
    user_id: UUID | Any
    name: str | Any

names_of_users: Query[NamesOfUsersRow, pg.array[pg.uuid]]

class AdminSpendingRow(TypedDict):
    key: str | Any
    calls: int | Any
    runs: int | Any
    tokens_in: int | Any
    tokens_out: int | Any
    price: int | Any
    unpriced: int | Any
    total: int | Any
    keys: int | Any

admin_spending: Query[AdminSpendingRow, pg.timestamptz, pg.timestamptz, pg.text, pg.int8]

class AdminAssistantsRow(TypedDict):
    name: str
    title: str | Any
    role: str
    plugin: str | None
    is_active: bool
    inactive_reason: str | None
    updated_at: datetime

admin_assistants: Query[AdminAssistantsRow]

set_roles: Value[None, Never, pg.uuid, pg.bool_, pg.bool_, pg.text]

class UserSessionsRow(TypedDict):
    id: UUID
    method: Literal["password", "recovery"]
    created_at: datetime
    refreshed_at: datetime
    expires_at: datetime

user_sessions: Query[UserSessionsRow, pg.uuid]

class AdminAuditRow(TypedDict):
    id: int
    at: datetime
    actor: str
    action: str
    user_id: UUID | None
    subject: UUID | None
    details: Any

admin_audit: Query[AdminAuditRow, pg.uuid, pg.text, pg.int8, pg.int8]

class SavedFiltersRow(TypedDict):
    list: Literal["runs", "users"]
    name: str
    query: str

saved_filters: Query[SavedFiltersRow, pg.text]

save_filter: Value[bool, Never, pg.text, pg.text, pg.text, pg.text]

drop_filter: Value[bool, Never, pg.text, pg.text, pg.text]

# attachments.sql

keep_attachment: Value[UUID, Never, pg.uuid, pg.uuid, pg.text, pg.int4, pg.int4, pg.bytea]

class AttachmentRow(TypedDict):
    id: UUID
    kind: Literal["upload", "generated"]
    media_type: Literal["image/jpeg", "image/png", "image/webp"]
    bytes: int | Any
    width: int
    height: int
    sha256: str
    created_at: datetime

attachment: Query[AttachmentRow, pg.uuid, pg.uuid]

class AttachmentContentRow(TypedDict):
    media_type: Literal["image/jpeg", "image/png", "image/webp"]
    sha256: str
    content: bytes

attachment_content: Query[AttachmentContentRow, pg.uuid, pg.uuid]

class DropAttachmentRow(TypedDict):
    id: UUID

drop_attachment: Value[UUID, DropAttachmentRow, pg.uuid, pg.uuid]

class PhotoOfRunRow(TypedDict):
    id: UUID

photo_of_run: Value[UUID, PhotoOfRunRow, pg.uuid]

class DrawingOfRunRow(TypedDict):
    id: UUID

drawing_of_run: Value[UUID, DrawingOfRunRow, pg.uuid]

keep_drawing: Value[UUID, Never, pg.uuid, pg.text, pg.int4, pg.int4, pg.bytea]

# client_memories.sql

class ClientMemoriesRow(TypedDict):
    id: UUID | Any
    client: Any
    created_at: datetime | Any
    updated_at: datetime | Any
    memory: str | Any
    tags: list[str] | Any

client_memories: Query[ClientMemoriesRow, pg.uuid, pg.int8, pg.bool_]

class ClientMemoryTextsRow(TypedDict):
    asked: UUID | Any
    id: UUID | Any
    memory: str | Any
    client: Any
    created_at: datetime | Any
    updated_at: datetime | Any
    tags: list[str] | Any

client_memory_texts: Query[ClientMemoryTextsRow, pg.uuid, pg.array[pg.uuid]]

class ClientMemoryVersionsRow(TypedDict):
    id: UUID | Any
    memory: str | Any
    created_at: datetime | Any
    place: int | Any

client_memory_versions: Query[ClientMemoryVersionsRow, pg.uuid, pg.uuid]

set_client_metadata: Value[bool, Never, pg.uuid, pg.uuid, pg.jsonb]

class UserNamesRow(TypedDict):
    name: str
    user_id: UUID
    created_at: datetime
    total: int | Any

user_names: Query[UserNamesRow, pg.uuid, pg.text, pg.int8, pg.int8]

# clients.sql

client_insert: Value[
    None,
    Never,
    pg.uuid,
    pg.uuid,
    pg.text,
    pg.text,
    pg.uuid,
    pg.text,
    pg.text,
    pg.array[pg.text],
    pg.int4,
    pg.text,
    pg.text,
    pg.float8,
]

class ClientJoinedRow(TypedDict):
    run_id: UUID | Any

client_joined: Value[UUID, ClientJoinedRow, pg.uuid]

class ClientLookRow(TypedDict):
    request_id: UUID
    status: Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"]
    archive_status: Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"]
    final_answer: str | None
    error_code: str | None
    error_message: str | None
    degraded: list[str]
    limited: Literal["budget", "stopped"] | None
    assistant: str
    conversation_id: UUID | None
    memory: str
    memory_reasons: list[str]
    sources: Any
    buttons: Any
    attachments: Any

client_look: Query[ClientLookRow, pg.text]

client_listen: Value[None, Never]

client_unlisten: Value[None, Never]

# completions.sql

class CompletionRow(TypedDict):
    status: Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"]
    assistant: str
    conversation_id: UUID | None
    created_at: datetime
    user_query: str
    final_context_payload: str | None
    final_answer: str | None
    error_code: str | None
    error_message: str | None
    sources: Any
    degraded: list[str]
    limited: Literal["budget", "stopped"] | None
    memory: str
    memory_reasons: list[str]
    tokens_in: int | Any
    tokens_out: int | Any
    tokens_cached: int | Any
    finish: str | Any
    actions: Any

completion: Query[CompletionRow, pg.uuid]

class AnsweringAssistantsRow(TypedDict):
    name: str
    updated_at: datetime
    takes_photos: bool | Any

answering_assistants: Query[AnsweringAssistantsRow, pg.text, pg.text]

# connected_apps.sql

register_client: Value[bool, Never, pg.text, pg.text, pg.array[pg.text], pg.int4]

class FindClientRow(TypedDict):
    name: str | Any
    redirect_uris: list[str] | Any

find_client: Query[FindClientRow, pg.text]

connect_app: Value[
    UUID, Never, pg.uuid, pg.text, pg.text, pg.text, pg.array[pg.text], pg.text, pg.bytea, pg.text, pg.float8, pg.text
]

class ExchangeCodeRow(TypedDict):
    verdict: str | Any
    scopes: list[str] | Any

exchange_code: Query[
    ExchangeCodeRow, pg.bytea, pg.text, pg.text, pg.text, pg.text, pg.bytea, pg.bytea, pg.float8, pg.int4
]

class RenewAppRow(TypedDict):
    verdict: str | Any
    scopes: list[str] | Any

renew_app: Query[RenewAppRow, pg.bytea, pg.text, pg.text, pg.bytea, pg.bytea, pg.float8, pg.int4]

class AppOfTokenRow(TypedDict):
    app_id: UUID | Any
    user_id: UUID | Any
    scopes: list[str] | Any
    resource: str | Any

app_of_token: Query[AppOfTokenRow, pg.bytea]

class ListAppsRow(TypedDict):
    id: UUID | Any
    name: str | Any
    redirect_uri: str | Any
    scopes: list[str] | Any
    created_at: datetime | Any
    renewed_at: datetime | Any
    expires_at: datetime | Any

list_apps: Query[ListAppsRow, pg.uuid]

owner_of_app: Value[UUID, Never, pg.uuid]

disconnect_app: Value[bool, Never, pg.uuid, pg.text]

revoke_app_token: Value[bool, Never, pg.bytea, pg.text]

# conversation_links.sql

class ShareConversationRow(TypedDict):
    verdict: str | Any
    id: UUID | Any

share_conversation: Query[ShareConversationRow, pg.uuid, pg.bytea, pg.int4, pg.bool_, pg.text]

class ListLinksRow(TypedDict):
    id: UUID | Any
    conversation_id: UUID | Any
    title: str | Any
    has_evidence: bool | Any
    created_at: datetime | Any
    expires_at: datetime | Any

list_links: Query[ListLinksRow, pg.uuid, pg.uuid]

owner_of_link: Value[UUID, Never, pg.uuid]

revoke_link: Value[bool, Never, pg.uuid, pg.text]

class OpenLinkRow(TypedDict):
    user_id: UUID | Any
    conversation_id: UUID | Any
    assistant: str | Any
    title: str | Any
    has_evidence: bool | Any
    created_at: datetime | Any
    expires_at: datetime | Any
    assistant_title: str | Any

open_link: Query[OpenLinkRow, pg.bytea, pg.int4]

class SharedMessagesRow(TypedDict):
    role: Literal["user", "assistant", "system", "tool"] | Any
    content: str | Any
    agent: str | None
    attachment_ids: list[UUID] | Any
    created_at: datetime | Any
    evidence: Any

shared_messages: Query[SharedMessagesRow, pg.uuid, pg.uuid, pg.timestamptz, pg.int8, pg.int8, pg.bool_]

# conversations.sql

class CreateConversationRow(TypedDict):
    verdict: str | Any
    id: UUID | Any
    run_id: UUID | Any

create_conversation: Query[CreateConversationRow, pg.uuid, pg.text, pg.text, pg.int4, pg.bool_]

class ConversationRow(TypedDict):
    id: UUID
    user_id: UUID
    assistant: str
    title: str | None
    source: Literal["telegram", "web"]
    mode: Literal["auto", "plan", "ask"]
    rolling_summary: str
    last_agent: str | None
    last_domain: str | None
    is_processing: bool | Any
    is_pinned: bool
    is_archived: bool
    is_remembered: bool
    created_at: datetime

conversation: Query[ConversationRow, pg.uuid]

class ListConversationsRow(TypedDict):
    id: UUID | Any
    user_id: UUID | Any
    assistant: str | Any
    title: str | None
    source: Literal["telegram", "web"] | Any
    mode: Literal["auto", "plan", "ask"] | Any
    is_processing: bool | Any
    is_pinned: bool | Any
    is_archived: bool | Any
    is_remembered: bool | Any
    created_at: datetime | Any
    updated_at: datetime | Any

list_conversations: Query[ListConversationsRow, pg.uuid, pg.timestamptz, pg.uuid, pg.int8, pg.text, pg.bool_]

class AssistantsToChooseRow(TypedDict):
    name: str
    title: str | Any
    description: str | Any
    voice: str | Any

assistants_to_choose: Query[AssistantsToChooseRow, pg.text]

chat_conversation: Value[UUID, Never, pg.text, pg.uuid, pg.text, pg.text]

class ChatStatusRow(TypedDict):
    id: UUID
    mode: Literal["auto", "plan", "ask"]
    is_processing: bool | Any
    message_count: int | Any
    last_agent: str | None
    last_domain: str | None

chat_status: Query[ChatStatusRow, pg.text, pg.uuid, pg.text]

class ChangeConversationRow(TypedDict):
    id: UUID

change_conversation: Value[UUID, ChangeConversationRow, pg.uuid, pg.text, pg.text, pg.bool_, pg.bool_]

class DialogueRow(TypedDict):
    language_code: str | Any
    said: list[str] | Any

dialogue: Query[DialogueRow, pg.uuid]

class StartResultsRow(TypedDict):
    start_results: Any

start_results: Value[Any, StartResultsRow, pg.uuid]

keep_start: Value[bool, Never, pg.uuid, pg.int4, pg.jsonb]

forget_conversation: Value[Any, Never, pg.uuid, pg.text, pg.bool_]

clear_conversation: Value[int, Never, pg.uuid]

fold_conversation: Value[bool, Never, pg.uuid, pg.int4, pg.array[pg.uuid]]

class ConversationSummaryRow(TypedDict):
    rolling_summary: str | Any
    actions: str | Any

conversation_summary: Query[ConversationSummaryRow, pg.uuid, pg.uuid, pg.int8]

class MessagePlaceRow(TypedDict):
    created_at: datetime
    id: UUID

message_place: Query[MessagePlaceRow, pg.uuid, pg.uuid, pg.array[pg.text]]

class ListMessagesRow(TypedDict):
    id: UUID | Any
    run_id: UUID | Any
    role: str | Any
    content: str | Any
    actions: Any
    agent: str | Any
    tool_calls: Any
    tool_call_id: str | Any
    tool_name: str | Any
    tool_result: Any
    tokens_used: int | Any
    created_at: datetime | Any
    attachment_ids: list[UUID] | Any
    action_id: UUID | Any

list_messages: Query[ListMessagesRow, pg.uuid, pg.timestamptz, pg.uuid, pg.int8, pg.array[pg.text], pg.int8, pg.bool_]

class RecentMessagesRow(TypedDict):
    id: UUID | Any
    run_id: UUID | None
    is_folded: bool | Any
    message_type: str | Any
    content: str | Any
    speaker: str | None
    occurred_at: datetime | Any
    origins: Any

recent_messages: Query[RecentMessagesRow, pg.uuid, pg.int8, pg.uuid, pg.int4]

# costs.sql

price: Value[int, Never, pg.text, pg.text, pg.int4, pg.int4, pg.int4]

class SpendingRow(TypedDict):
    tokens_today: int | Any
    price_today: int | Any
    tokens: int | Any
    price: int | Any

spending: Query[SpendingRow, pg.uuid]

class BudgetRow(TypedDict):
    user_id: UUID
    daily_tokens: int | None
    daily_dollars: float | None
    changed_by: str
    updated_at: datetime

budget: Query[BudgetRow, pg.uuid]

set_budget: Value[None, Never, pg.uuid, pg.int8, pg.float8, pg.text]

drop_budget: Value[bool, Never, pg.uuid, pg.text]

class SetLimitsRow(TypedDict):
    name: str
    value: int

set_limits: Query[SetLimitsRow]

class LimitsRow(TypedDict):
    name: str | Any
    minimum: int | Any
    maximum: int | Any
    configured: int | Any
    value: int | Any
    changed_by: str | Any
    updated_at: datetime | Any

limits: Query[LimitsRow]

set_limit: Value[None, Never, pg.text, pg.int8, pg.text]

drop_limit: Value[bool, Never, pg.text, pg.text]

add_usage: Value[None, Never, pg.uuid, pg.text, pg.text, pg.int4, pg.int4]

class SpentRow(TypedDict):
    run_tokens: int | Any
    tokens_today: int | Any
    price_today: int | Any

spent: Query[SpentRow, pg.uuid, pg.uuid, pg.jsonb]

pin_calls: Value[bool, Never, pg.uuid, pg.int4, pg.jsonb]

class KeptCallsRow(TypedDict):
    round: int
    request_hash: str | None
    reply: str | None
    calls: Any
    parts: Any
    finish: str
    attempts: int
    error: str | None
    tokens_in: int
    tokens_out: int
    tokens_cached: int

kept_calls: Query[KeptCallsRow, pg.uuid, pg.text]

class AnswerSpeedsRow(TypedDict):
    provider: str
    model: str
    speed: float | Any

answer_speeds: Query[AnswerSpeedsRow]

class CallFailuresRow(TypedDict):
    stage: str
    role_name: str
    provider: str
    model: str
    calls: int | Any
    failures: int | Any
    timeouts: int | Any
    seconds: float | Any
    last_error: str | Any

call_failures: Query[CallFailuresRow]

sum_runs: Value[int, Never]

class PricesRow(TypedDict):
    provider: str
    model: str
    input: float | Any
    cached: float | Any
    output: float | Any
    image: float | Any
    updated_at: datetime

prices: Query[PricesRow]

set_price: Value[None, Never, pg.text, pg.text, pg.float8, pg.float8, pg.float8, pg.float8, pg.text]

drop_price: Value[bool, Never, pg.text, pg.text, pg.text]

# engine.sql

class StepRow(TypedDict):
    verdict: str | Any
    id: UUID | Any
    error_code: str | Any
    error_message: str | Any
    attempt: int | Any
    seq: int | Any
    kind: str | Any
    status: str | Any
    user_id: UUID | Any
    user_query: str | Any
    assistant: str | Any
    conversation_id: UUID | Any
    created_at: datetime | Any
    waited: float | Any
    analysis_result: Any
    draft_context: str | Any
    final_context_payload: str | Any
    time_left: float | Any
    assistants_version: str | Any
    wants_layers: bool | Any

step: Query[
    StepRow,
    pg.int4,
    pg.array[pg.text],
    pg.int4,
    pg.jsonb,
    pg.bool_,
    pg.array[pg.text],
    pg.array[pg.uuid],
    pg.int4,
    pg.int4,
]

class AdvanceRow(TypedDict):
    id: UUID | Any
    is_cancelled: bool | Any
    assistants_version: str | Any

advance: Query[
    AdvanceRow,
    pg.int4,
    pg.array[pg.uuid],
    pg.array[pg.int4],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.jsonb,
    pg.jsonb,
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.text],
]

archive_exchange: Value[bool, Never, pg.int4, pg.uuid, pg.int4, pg.jsonb, pg.jsonb]

register_engine: Value[int, Never, pg.text, pg.int4, pg.array[pg.text], pg.int4, pg.interval]

heartbeat: Value[bool, Never, pg.int4, pg.interval]

class ReapRow(TypedDict):
    reclaimed: int | Any
    failed: int | Any
    recovered: int | Any
    quarantined: int | Any
    moved: Any

reap: Query[ReapRow, pg.int4, pg.array[pg.text], pg.bool_]

configure_engine: Value[None, Never, pg.jsonb]

class RingRow(TypedDict):
    pg_notify: None

ring: Value[None, RingRow, pg.text, pg.text]

ping: Value[int, Never]

class SessionRow(TypedDict):
    pg_backend_pid: int | Any

session: Value[int, SessionRow]

set_up_session: Query[Never]

class LimitStatementsRow(TypedDict):
    set_config: str | Any

limit_statements: Value[str, LimitStatementsRow, pg.text]

class PlanForValuesRow(TypedDict):
    set_config: str | Any

plan_for_values: Value[str, PlanForValuesRow]

class LiftLimitOfStatementsRow(TypedDict):
    set_config: str | Any

lift_limit_of_statements: Value[str, LiftLimitOfStatementsRow]

trace_parent: Value[str, Never, pg.uuid]

class LivingEnginesRow(TypedDict):
    owner: int
    host: str
    pid: int
    stages: list[str]
    concurrency: int
    started_at: datetime

living_engines: Query[LivingEnginesRow]

unregister_engine: Value[int, Never, pg.int4]

excuse_engine: Value[int, Never, pg.int4, pg.array[pg.uuid]]

add_metrics: Value[None, Never, pg.jsonb]

class StockRow(TypedDict):
    bytes: int | Any
    turns: int | Any
    records: int | Any
    actions: int | Any

stock: Query[StockRow]

class FillsRow(TypedDict):
    model: str
    turns: int
    refused: int
    tokens: int

fills: Query[FillsRow]

class MetricsRow(TypedDict):
    name: str
    labels: Any
    le: float
    events: int | Any
    seconds: float | Any

metrics: Query[MetricsRow]

class QueueRow(TypedDict):
    inbox: int | Any
    waiting: int | Any
    runnable: int | Any
    deferred: int | Any
    in_flight: int | Any
    paused: int | Any
    scheduled: int | Any
    oldest_seconds: float | Any
    oldest_user: UUID | Any
    orchestrators: int | Any
    notify_queue_usage: float | Any

queue: Query[QueueRow]

# events.sql

class AddEventsRow(TypedDict):
    place: int | Any

add_events: Value[int, AddEventsRow, pg.jsonb]

class RingFollowersRow(TypedDict):
    pg_notify: None

ring_followers: Value[None, RingFollowersRow, pg.array[pg.uuid]]

class UsersOfRunsRow(TypedDict):
    id: UUID
    user_id: UUID

users_of_runs: Query[UsersOfRunsRow, pg.array[pg.uuid]]

FollowRunsRow = TypedDict(
    "FollowRunsRow",
    {
        "place": int | Any,
        "status": Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"],
        "try": int,
        "times": list[datetime] | Any,
        "final_answer": str | Any,
        "error_code": str | None,
        "error_message": str | None,
        "limited": Literal["budget", "stopped"] | None,
        "memory": str,
        "memory_reasons": list[str],
        "numbers": list[int] | Any,
        "types": list[str] | Any,
        "payloads": list[str] | Any,
        "moments": list[datetime] | Any,
    },
)
follow_runs: Query[FollowRunsRow, pg.array[pg.uuid], pg.array[pg.int4], pg.array[pg.int4], pg.array[pg.text], pg.int8]

class FollowUsersRow(TypedDict):
    place: int | Any
    next_xid: int | Any
    in_flight: list[int] | Any
    id: UUID | Any
    conversation_id: UUID | Any
    kind: str | Any
    status: str | Any
    archive_status: str | Any
    updated_at: datetime | Any
    xid: int | Any

follow_users: Query[
    FollowUsersRow,
    pg.array[pg.uuid],
    pg.array[pg.int8],
    pg.array[pg.text],
    pg.array[pg.int8],
    pg.array[pg.uuid],
    pg.array[pg.text],
    pg.array[pg.int4],
]

class LayersWantedRow(TypedDict):
    is_tech_admin: bool | Any
    source: str
    created_at: datetime
    analyzing_at: datetime | None
    ready_at: datetime | None
    memories: int | Any

layers_wanted: Query[LayersWantedRow, pg.uuid]

# exchanges.sql

store_exchange: Value[str, Never, pg.uuid, pg.jsonb]

class LogsOfExchangeRow(TypedDict):
    id: UUID

logs_of_exchange: Value[UUID, LogsOfExchangeRow, pg.uuid, pg.text, pg.text]

class ConversationPartyRow(TypedDict):
    user_id: UUID
    assistant: str

conversation_party: Query[ConversationPartyRow, pg.uuid]

drop_replaced: Value[None, Never, pg.uuid]

# facts.sql

class ListFactsRow(TypedDict):
    id: UUID | Any
    statement: str | Any
    subject: str | Any
    attribute: str | Any
    kind: str | Any
    said_by: str | Any
    said_at: datetime | Any
    last_said_at: datetime | Any
    true_from: date | Any
    true_until: date | Any
    raw_log_ids: list[UUID] | Any
    origin: str | Any
    origins: Any
    created_at: datetime | Any
    state: str | Any
    since: date | Any
    replaced_by: UUID | Any
    replaces: UUID | Any
    is_pinned: bool | Any

list_facts: Query[ListFactsRow, pg.uuid, pg.timestamptz, pg.array[pg.text], pg.text, pg.timestamptz, pg.uuid, pg.int8]

class FindFactsRow(TypedDict):
    id: UUID | Any
    statement: str | Any
    subject: str | Any
    attribute: str | Any
    kind: str | Any
    said_by: str | Any
    said_at: datetime | Any
    last_said_at: datetime | Any
    true_from: date | Any
    true_until: date | Any
    raw_log_ids: list[UUID] | Any
    origin: str | Any
    origins: Any
    created_at: datetime | Any
    state: str | Any
    since: date | Any
    replaced_by: UUID | Any
    replaces: UUID | Any
    is_pinned: bool | Any
    place: int | Any
    matches: int | Any

find_facts: Query[FindFactsRow, pg.uuid, pg.text, pg.timestamptz, pg.int4, pg.array[pg.text]]

class SearchFactsRow(TypedDict):
    id: UUID | Any
    statement: str | Any
    subject: str | Any
    attribute: str | Any
    kind: str | Any
    said_by: str | Any
    said_at: datetime | Any
    last_said_at: datetime | Any
    true_from: date | Any
    true_until: date | Any
    raw_log_ids: list[UUID] | Any
    origin: str | Any
    origins: Any
    created_at: datetime | Any
    state: str | Any
    since: date | Any
    replaced_by: UUID | Any
    replaces: UUID | Any
    is_pinned: bool | Any
    matches: int | Any
    period: str | Any

search_facts: Query[SearchFactsRow, pg.uuid, pg.text, pg.timestamptz, pg.timestamptz, pg.timestamptz, pg.int8]

decide_fact: Value[bool, Never, pg.uuid, pg.uuid, pg.text, pg.text]

class CorrectFactRow(TypedDict):
    run_id: UUID | Any
    log_id: UUID | Any
    fact_id: UUID | Any

correct_fact: Query[CorrectFactRow, pg.uuid, pg.uuid, pg.text, pg.text, pg.text]

merge_fact_names: Value[int, Never, pg.uuid, pg.text, pg.text]

class ArchivedMessagesRow(TypedDict):
    id: UUID
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    conversation: str
    occurred_at: datetime
    origins: Any

archived_messages: Query[ArchivedMessagesRow, pg.uuid]

class FoundFactsRow(TypedDict):
    id: UUID
    statement: str
    subject: str
    attribute: str
    kind: Literal[
        "identity", "relation", "preference", "plan", "event", "state", "possession", "question", "profile", "note"
    ]
    change: Literal["states", "begins", "ends", "corrects"]
    depends_on: list[str]
    raw_log_ids: list[UUID]
    origin: Literal["rule", "model", "person", "asked"]

found_facts: Query[FoundFactsRow, pg.uuid]

rebuild_facts: Value[None, Never, pg.uuid, pg.array[pg.uuid], pg.jsonb, pg.text]

# identities.sql

class FindUserRow(TypedDict):
    user_id: UUID

find_user: Value[UUID, FindUserRow, pg.text, pg.text]

name_user: Value[UUID, Never, pg.text, pg.text]

class HasNameRow(TypedDict):
    exists: bool | Any

has_name: Value[bool, HasNameRow, pg.uuid, pg.text, pg.text]

class OwnerOfRunRow(TypedDict):
    user_id: UUID

owner_of_run: Value[UUID, OwnerOfRunRow, pg.uuid]

class OwnerOfConversationRow(TypedDict):
    user_id: UUID

owner_of_conversation: Value[UUID, OwnerOfConversationRow, pg.uuid]

class OwnerOfActionRow(TypedDict):
    user_id: UUID

owner_of_action: Value[UUID, OwnerOfActionRow, pg.uuid]

class OwnerOfAttachmentRow(TypedDict):
    user_id: UUID

owner_of_attachment: Value[UUID, OwnerOfAttachmentRow, pg.uuid]

class OwnerOfFactRow(TypedDict):
    user_id: UUID

owner_of_fact: Value[UUID, OwnerOfFactRow, pg.uuid]

class OwnerOfMemoryRow(TypedDict):
    user_id: UUID | Any

owner_of_memory: Value[UUID, OwnerOfMemoryRow, pg.uuid]

# keys.sql

create_key: Value[
    None, Never, pg.text, pg.text, pg.bytea, pg.array[pg.text], pg.uuid, pg.text, pg.int4, pg.int4, pg.text
]

revoke_key: Value[str, Never, pg.text, pg.text]

create_own_key: Value[str, Never, pg.uuid, pg.text, pg.text, pg.bytea, pg.array[pg.text], pg.int4, pg.text]

class ListOwnKeysRow(TypedDict):
    id: str
    name: str
    scopes: list[str]
    state: str | Any
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None

list_own_keys: Query[ListOwnKeysRow, pg.uuid]

class RevokeOwnKeyRow(TypedDict):
    case: str | Any

revoke_own_key: Value[str, RevokeOwnKeyRow, pg.uuid, pg.text, pg.text]

touch_key: Value[None, Never, pg.text]

class FindKeyRow(TypedDict):
    id: str
    name: str
    scopes: list[str]
    user_id: UUID | None
    prefix: str | None
    per_minute: int | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    state: str | Any
    secret_hash: bytes

find_key: Query[FindKeyRow, pg.text]

class ListKeysRow(TypedDict):
    id: str
    name: str
    scopes: list[str]
    user_id: UUID | None
    prefix: str | None
    per_minute: int | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    state: str | Any

list_keys: Query[ListKeysRow]

class AdminKeysRow(TypedDict):
    id: str
    name: str
    scopes: list[str]
    user_id: UUID | None
    prefix: str | None
    per_minute: int | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    state: str | Any

admin_keys: Query[AdminKeysRow, pg.timestamptz, pg.text, pg.int8]

class RolesRow(TypedDict):
    user_id: UUID
    role: Literal["admin", "blocked"]

roles: Query[RolesRow]

# knowledge.sql

add_document: Value[UUID, Never, pg.uuid, pg.jsonb, pg.jsonb]

remove_document: Value[bool, Never, pg.uuid, pg.uuid]

expect_documents: Value[int, Never, pg.uuid, pg.jsonb]

mark_document: Value[UUID, Never, pg.uuid, pg.text, pg.text, pg.text]

class DocumentRow(TypedDict):
    id: UUID
    is_everybodys: bool | Any
    name: str
    media_type: str
    bytes: int
    pages: int | None
    chunks: int
    summary: str
    status: Literal["pending", "processing", "processed", "failed"]
    error: str | None
    track_id: str
    created_at: datetime
    updated_at: datetime

document: Query[DocumentRow, pg.uuid, pg.uuid]

class DocumentChunksRow(TypedDict):
    number: int
    heading: str
    page: int | None
    position: int
    text: str

document_chunks: Query[DocumentChunksRow, pg.uuid, pg.uuid, pg.int4, pg.int8]

class OwnerOfDocumentRow(TypedDict):
    coalesce: UUID | Any

owner_of_document: Value[UUID, OwnerOfDocumentRow, pg.uuid]

class KnownDocumentRow(TypedDict):
    id: UUID
    sha256: str
    status: Literal["pending", "processing", "processed", "failed"]

known_document: Query[KnownDocumentRow, pg.uuid, pg.text]

class ListDocumentsRow(TypedDict):
    id: UUID
    is_everybodys: bool | Any
    name: str
    media_type: str
    bytes: int
    pages: int | None
    chunks: int
    summary: str
    status: Literal["pending", "processing", "processed", "failed"]
    error: str | None
    track_id: str
    created_at: datetime
    updated_at: datetime

list_documents: Query[ListDocumentsRow, pg.uuid, pg.timestamptz, pg.uuid, pg.int8]

class TrackedDocumentsRow(TypedDict):
    name: str
    status: Literal["pending", "processing", "processed", "failed"]
    error: str | None
    chunks: int
    created_at: datetime
    updated_at: datetime

tracked_documents: Query[TrackedDocumentsRow, pg.uuid, pg.text]

class KnowledgeStateRow(TypedDict):
    documents: int | Any
    chunks: int | Any
    pending: int | Any
    processing: int | Any
    processed: int | Any
    failed: int | Any
    busy: bool | Any

knowledge_state: Query[KnowledgeStateRow, pg.uuid, pg.interval]

class KnowledgeTermsRow(TypedDict):
    term: str | Any
    chunks: int | Any
    total: int | Any

knowledge_terms: Query[KnowledgeTermsRow, pg.uuid, pg.text]

class KnowledgeCandidatesRow(TypedDict):
    document_id: UUID | Any
    number: int | Any
    mask: int | Any
    tsv_length: int | Any
    heading_mask: int | Any
    document_mask: int | Any
    total: int | Any

knowledge_candidates: Query[
    KnowledgeCandidatesRow, pg.uuid, pg.array[pg.text], pg.array[pg.float8], pg.array[pg.text], pg.bool_, pg.int8
]

class KnowledgeChunksRow(TypedDict):
    document_id: UUID
    number: int
    mask: int | Any
    tsv_length: int | Any
    heading_mask: int | Any
    document_mask: int | Any
    total: int | Any

knowledge_chunks: Query[KnowledgeChunksRow, pg.uuid, pg.array[pg.text], pg.array[pg.uuid], pg.array[pg.int4]]

class PassagesRow(TypedDict):
    document_id: UUID
    number: int
    name: str
    heading: str
    page: int | None
    position: int
    text: str

passages: Query[PassagesRow, pg.uuid, pg.array[pg.uuid], pg.array[pg.int4]]

class ClaimEmbeddingRow(TypedDict):
    document_id: UUID | Any
    version: datetime | Any
    number: int | Any
    heading: str | Any
    text: str | Any

claim_embedding: Query[ClaimEmbeddingRow, pg.text, pg.interval, pg.int4]

embed_chunks: Value[int, Never, pg.text, pg.uuid, pg.timestamptz, pg.array[pg.int4], pg.array[pg.float4]]

class NearestChunksRow(TypedDict):
    document_id: UUID | Any
    number: int | Any
    nearness: float | Any

nearest_chunks: Query[
    NearestChunksRow, pg.uuid, pg.text, pg.array[pg.float4], pg.array[pg.uuid], pg.array[pg.int4], pg.int8
]

# levels.sql

class DueGroupsRow(TypedDict):
    user_id: UUID
    level: int | Any
    day: date | Any

due_groups: Query[DueGroupsRow, pg.timestamptz, pg.uuid, pg.int4]

class CountDueRow(TypedDict):
    count: int | Any

count_due: Value[int, CountDueRow, pg.timestamptz, pg.uuid]

class GroupChildrenRow(TypedDict):
    id: UUID | Any
    level: int | Any
    time_bucket_start: date | Any
    time_bucket_end: date | Any
    summary: str | Any
    is_degraded: bool | Any
    origins: Any
    messages: int | Any

group_children: Query[GroupChildrenRow, pg.uuid, pg.int4, pg.date]

compact: Value[UUID, Never, pg.uuid, pg.int4, pg.date, pg.array[pg.uuid], pg.text, pg.bool_, pg.jsonb]

class LeftOutDaysRow(TypedDict):
    model: str | Any
    days: int | Any
    left_out: int | Any

left_out_days: Query[LeftOutDaysRow, pg.int4]

# loading.sql

class LoadRowsRow(TypedDict):
    added: int | Any
    changed: int | Any
    unchanged: int | Any

load_rows: Query[LoadRowsRow, pg.text, pg.text, pg.uuid]

# memory.sql

class TurnsRow(TypedDict):
    id: UUID | Any
    run_id: UUID | Any
    message_type: Literal["user_query", "assistant_response"] | Any
    content: str | Any
    speaker: str | None
    conversation: str | Any
    external_id: str | None
    occurred_at: datetime | Any
    record_id: UUID | None
    created_at: datetime | Any
    origins: Any
    tags: list[str] | Any
    summary: str | Any
    period: str | Any

turns: Query[TurnsRow, pg.uuid, pg.array[pg.uuid]]

class RecentTurnsRow(TypedDict):
    id: UUID
    run_id: UUID
    is_folded: bool | Any
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    occurred_at: datetime
    origins: Any

recent_turns: Query[RecentTurnsRow, pg.uuid, pg.int8, pg.int8]

class DraftInputsRow(TypedDict):
    place: int | Any
    kind: str | Any
    id: UUID | Any
    run_id: UUID | Any
    is_folded: bool | Any
    message_type: str | Any
    content: str | Any
    speaker: str | Any
    occurred_at: datetime | Any
    seq: int | Any
    client: Any
    origins: Any

draft_inputs: Query[DraftInputsRow, pg.array[pg.uuid], pg.array[pg.uuid], pg.array[pg.int8], pg.array[pg.int4]]

class RecordsRow(TypedDict):
    id: UUID | Any
    level: int | Any
    period: str | Any
    time_bucket_start: date | Any
    time_bucket_end: date | Any
    tags: list[str] | Any
    summary: str | Any
    raw_log_ids: list[UUID] | Any
    occurred_at: datetime | Any
    created_at: datetime | Any
    wanted: list[UUID] | Any

records: Query[RecordsRow, pg.uuid, pg.array[pg.uuid], pg.int4]

class RecordsAsOfRow(TypedDict):
    id: UUID
    level: int
    period: str | Any
    time_bucket_start: date
    time_bucket_end: date
    tags: list[str]
    summary: str
    raw_log_ids: list[UUID]
    occurred_at: datetime
    created_at: datetime
    wanted: list[UUID] | Any

records_as_of: Query[RecordsAsOfRow, pg.uuid, pg.array[pg.uuid], pg.int4, pg.timestamptz]

class WordlessRecordsRow(TypedDict):
    id: UUID
    level: int
    period: str | Any
    tags: list[str]
    summary: str
    raw_log_ids: list[UUID]
    occurred_at: datetime
    created_at: datetime
    origins: Any
    score: float | Any

wordless_records: Query[
    WordlessRecordsRow, pg.uuid, pg.text, pg.timestamptz, pg.timestamptz, pg.timestamptz, pg.array[pg.text], pg.int8
]

class ListMemoriesRow(TypedDict):
    id: UUID
    level: int
    period: str | Any
    time_bucket_start: date
    time_bucket_end: date
    tags: list[str]
    summary: str
    raw_log_ids: list[UUID]
    is_degraded: bool
    occurred_at: datetime
    created_at: datetime
    origins: Any

list_memories: Query[ListMemoriesRow, pg.uuid, pg.timestamptz, pg.uuid, pg.int8, pg.int4]

class MemoryTotalsRow(TypedDict):
    messages: int | Any
    summaries: int | Any
    since: datetime | Any
    last_saved_at: datetime | Any

memory_totals: Query[MemoryTotalsRow, pg.uuid]

class MemoryDaysRow(TypedDict):
    day: date | Any
    messages: int | Any

memory_days: Query[MemoryDaysRow, pg.uuid, pg.int4]

class MemoryRow(TypedDict):
    kind: str | Any
    id: UUID | Any
    user_id: UUID | Any
    level: int | Any
    period: str | Any
    tags: list[str] | Any
    memory: str | Any
    raw_log_ids: list[UUID] | Any
    speaker: str | Any
    superseded_at: datetime | Any
    occurred_at: datetime | Any
    created_at: datetime | Any
    origins: Any

memory: Query[MemoryRow, pg.uuid]

class CorrectionsRow(TypedDict):
    id: UUID | Any
    corrects: UUID | Any
    corrected_by: UUID | Any
    valid_id: UUID | Any
    valid_from: datetime | Any
    is_own: bool | Any

corrections: Query[CorrectionsRow, pg.uuid, pg.array[pg.uuid], pg.timestamptz]

class CorrectionsUnderRow(TypedDict):
    valid_id: UUID | Any
    valid_from: datetime | Any
    is_own: bool | Any

corrections_under: Query[CorrectionsUnderRow, pg.uuid, pg.uuid, pg.timestamptz]

class CorrectRow(TypedDict):
    run_id: UUID | Any
    log_id: UUID | Any

correct: Query[CorrectRow, pg.uuid, pg.uuid, pg.text]

class SourcesRow(TypedDict):
    id: UUID
    run_id: UUID
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    conversation: str
    external_id: str | None
    occurred_at: datetime
    created_at: datetime
    origins: Any

sources: Query[SourcesRow, pg.uuid, pg.array[pg.uuid]]

class HistoryRow(TypedDict):
    kind: str | Any
    id: UUID | Any
    level: int | Any
    memory: str | Any
    speaker: str | Any
    created_at: datetime | Any
    superseded_by: UUID | Any
    superseded_at: datetime | Any
    occurred_at: datetime | Any

history: Query[HistoryRow, pg.uuid, pg.array[pg.uuid]]

class ExchangeOfRunRow(TypedDict):
    place: int | Any
    id: UUID | Any
    message_type: str | Any
    content: str | Any
    speaker: str | Any
    occurred_at: datetime | Any
    origins: Any
    replaces: UUID | Any

exchange_of_run: Query[ExchangeOfRunRow, pg.array[pg.uuid]]

class MessagesBeforeRow(TypedDict):
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    occurred_at: datetime
    origins: Any

messages_before: Query[MessagesBeforeRow, pg.uuid, pg.array[pg.uuid], pg.int8]

class ImportedTurnsRow(TypedDict):
    id: UUID
    message_type: Literal["user_query", "assistant_response"]
    content: str
    speaker: str | None
    conversation: str
    occurred_at: datetime
    origins: Any

imported_turns: Query[ImportedTurnsRow, pg.uuid, pg.int8]

class ImportTurnsRow(TypedDict):
    run_id: UUID | Any
    added: int | Any
    known: int | Any

import_turns: Query[ImportTurnsRow, pg.uuid, pg.text, pg.jsonb, pg.text]

class ImportPortionRow(TypedDict):
    run_id: UUID | Any
    added: int | Any
    known: int | Any

import_portion: Query[ImportPortionRow, pg.uuid, pg.text, pg.text, pg.text]

class ImportProgressRow(TypedDict):
    recorded: int | Any
    total: int | Any

import_progress: Query[ImportProgressRow, pg.array[pg.uuid]]

class ImportedConversationsRow(TypedDict):
    conversation: str
    id: UUID | Any
    since: datetime | Any
    last_at: datetime | Any
    messages: int | Any
    title: str | Any
    beginning: str | Any

imported_conversations: Query[ImportedConversationsRow, pg.uuid, pg.timestamptz, pg.uuid, pg.int8]

class ImportedMessagesRow(TypedDict):
    id: UUID | Any
    run_id: UUID | Any
    message_type: str | Any
    content: str | Any
    speaker: str | Any
    occurred_at: datetime | Any
    title: str | Any
    is_earlier: bool | Any

imported_messages: Query[ImportedMessagesRow, pg.uuid, pg.text, pg.uuid, pg.int8, pg.int8, pg.bool_]

# notes.sql

class NotesRow(TypedDict):
    id: UUID | Any
    content: str | Any
    log_id: UUID | Any

notes: Query[NotesRow, pg.uuid]

add_note: Value[str, Never, pg.uuid, pg.text]

drop_note: Value[str, Never, pg.uuid, pg.text]

# people.sql

note_audit: Value[None, Never, pg.text, pg.uuid, pg.uuid, pg.jsonb, pg.text]

sweep: Value[Any, Never, pg.int4]

class AnsweringRow(TypedDict):
    id: UUID

answering: Value[UUID, AnsweringRow, pg.uuid]

erase_user: Value[Any, Never, pg.uuid, pg.text]

class ErasureRow(TypedDict):
    late_calls: int
    deleted: int | Any

erasure: Query[ErasureRow, pg.uuid]

class ResumeErasureRow(TypedDict):
    user_id: UUID | Any
    receipt: Any

resume_erasure: Query[ResumeErasureRow, pg.float8, pg.uuid]

forget: Value[Any, Never, pg.uuid, pg.uuid, pg.text, pg.bool_]

class MemoriesFromRow(TypedDict):
    user_id: UUID | Any
    id: UUID | Any

memories_from: Query[MemoriesFromRow, pg.uuid, pg.jsonb]

class AnswersFromRow(TypedDict):
    id: UUID | Any
    request_id: UUID | Any
    created_at: datetime | Any
    answer: str | Any
    total: int | Any

answers_from: Query[AnswersFromRow, pg.uuid, pg.jsonb, pg.int8]

class RememberRow(TypedDict):
    run_id: UUID | Any
    log_ids: list[UUID] | Any

remember: Query[RememberRow, pg.uuid, pg.jsonb]

check_memory: Value[None, Never, pg.uuid]

restore_rows: Value[int, Never, pg.text, pg.uuid, pg.text, pg.bool_, pg.bytea]

settle_restore: Value[UUID, Never, pg.uuid, pg.text]

class UseUtcRow(TypedDict):
    set_config: str | Any

use_utc: Value[str, UseUtcRow]

class ExportHeaderRow(TypedDict):
    line: str | Any

export_header: Value[str, ExportHeaderRow, pg.uuid]

class ExportLogsRow(TypedDict):
    line: str | Any

export_logs: Value[str, ExportLogsRow, pg.uuid]

class ExportRecordsRow(TypedDict):
    line: str | Any

export_records: Value[str, ExportRecordsRow, pg.uuid]

class ExportCorrectionsRow(TypedDict):
    line: str | Any

export_corrections: Value[str, ExportCorrectionsRow, pg.uuid]

class ExportFactsRow(TypedDict):
    line: str | Any

export_facts: Value[str, ExportFactsRow, pg.uuid]

class ExportFactDecisionsRow(TypedDict):
    line: str | Any

export_fact_decisions: Value[str, ExportFactDecisionsRow, pg.uuid]

class ExportFactNamesRow(TypedDict):
    line: str | Any

export_fact_names: Value[str, ExportFactNamesRow, pg.uuid]

class ExportConversationsRow(TypedDict):
    line: str | Any

export_conversations: Value[str, ExportConversationsRow, pg.uuid]

class ExportMessagesRow(TypedDict):
    line: str | Any

export_messages: Value[str, ExportMessagesRow, pg.uuid]

class ExportToolMessagesRow(TypedDict):
    line: str | Any

export_tool_messages: Value[str, ExportToolMessagesRow, pg.uuid]

class ExportDocumentsRow(TypedDict):
    line: str | Any

export_documents: Value[str, ExportDocumentsRow, pg.uuid]

class ExportPassagesRow(TypedDict):
    line: str | Any

export_passages: Value[str, ExportPassagesRow, pg.uuid]

class ExportAttachmentsRow(TypedDict):
    line: str | Any

export_attachments: Value[str, ExportAttachmentsRow, pg.uuid]

class ExportActionsRow(TypedDict):
    line: str | Any

export_actions: Value[str, ExportActionsRow, pg.uuid]

class ExportRunsRow(TypedDict):
    line: str | Any

export_runs: Value[str, ExportRunsRow, pg.uuid]

# profiles.sql

class UserProfileRow(TypedDict):
    name: str | Any
    position: str | Any
    department: str | Any
    language: Literal["ru", "en"] | None
    timezone: str | None

user_profile: Query[UserProfileRow, pg.uuid]

set_profile: Value[None, Never, pg.uuid, pg.text, pg.text, pg.text, pg.text]

set_timezone: Value[None, Never, pg.uuid, pg.text]

class UserTimezonesRow(TypedDict):
    place: int | Any
    timezone: str | None

user_timezones: Query[UserTimezonesRow, pg.array[pg.uuid]]

class UserPreferencesRow(TypedDict):
    slot: str | Any
    value: str | Any
    answered_at: datetime | Any

user_preferences: Query[UserPreferencesRow, pg.uuid]

set_preferences: Value[None, Never, pg.uuid, pg.jsonb]

# prompts.sql

class PromptsRow(TypedDict):
    role_name: str
    prompt_template: str
    version: int
    is_active: bool

prompts: Query[PromptsRow, pg.array[pg.text]]

seed_prompt: Value[None, Never, pg.varchar, pg.text]

class AssistantRoleRow(TypedDict):
    role_name: str
    variants: Any

assistant_role: Query[AssistantRoleRow, pg.text]

class AssistantProfileRow(TypedDict):
    memory: str | Any

assistant_profile: Value[str, AssistantProfileRow, pg.text]

class AssistantPromptLanguageRow(TypedDict):
    language: str | Any

assistant_prompt_language: Value[str, AssistantPromptLanguageRow, pg.text]

class AssistantModelsRow(TypedDict):
    models: list[str] | Any

assistant_models: Value[list[str], AssistantModelsRow, pg.text]

class TrialSetsRow(TypedDict):
    name: str
    changed_by: str
    updated_at: datetime
    runs: int | Any

trial_sets: Query[TrialSetsRow]

class TrialSetRunsRow(TypedDict):
    request_id: UUID | Any
    user_id: UUID | Any
    query: str | Any
    assistant: str | Any
    answer: str | None
    created_at: datetime | Any
    price: int | Any
    tokens: int | Any

trial_set_runs: Query[TrialSetRunsRow, pg.text]

keep_trial_set: Value[str, Never, pg.text, pg.array[pg.uuid], pg.text]

drop_trial_set: Value[bool, Never, pg.text, pg.text]

# responses.sql

store_response: Value[bool, Never, pg.uuid, pg.uuid, pg.uuid, pg.jsonb, pg.jsonb, pg.jsonb]

delete_response: Value[bool, Never, pg.uuid, pg.uuid]

class ResponseRow(TypedDict):
    run_id: UUID
    user_id: UUID
    request: Any
    input: Any
    response: Any

response: Query[ResponseRow, pg.uuid]

class IsKeptForOthersRow(TypedDict):
    coalesce: bool | Any

is_kept_for_others: Value[bool, IsKeptForOthersRow, pg.uuid, pg.text]

class OwnerOfResponseRow(TypedDict):
    user_id: UUID

owner_of_response: Value[UUID, OwnerOfResponseRow, pg.uuid]

class ResponsesBeforeRow(TypedDict):
    input: Any
    output: Any

responses_before: Query[ResponsesBeforeRow, pg.uuid, pg.uuid, pg.int4]

class OutputsOfResponsesRow(TypedDict):
    output: Any

outputs_of_responses: Value[Any, OutputsOfResponsesRow, pg.uuid, pg.array[pg.uuid]]

# runs.sql

class InsertRunsRow(TypedDict):
    id: UUID | Any
    unfinished: int | Any
    retry_after: int | Any

insert_runs: Query[
    InsertRunsRow,
    pg.array[pg.uuid],
    pg.array[pg.uuid],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.uuid],
    pg.array[pg.jsonb],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.int4,
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.jsonb],
    pg.array[pg.bool_],
    pg.array[pg.uuid],
    pg.array[pg.int4],
    pg.array[pg.timestamptz],
    pg.array[pg.jsonb],
    pg.array[pg.float8],
]

class RunOfKeyRow(TypedDict):
    id: UUID
    user_id: UUID
    user_query: str
    assistant: str
    conversation_id: UUID | None
    metadata: Any
    attachment_ids: list[UUID]
    mode: Literal["auto", "plan", "ask"] | None
    client_context: Any
    is_remembered: bool
    priority: int
    run_at: datetime | None
    attributes: Any

run_of_key: Query[RunOfKeyRow, pg.text, pg.text, pg.uuid]

class JoinedRunRow(TypedDict):
    run_id: UUID | Any
    is_same: bool | Any

joined_run: Query[
    JoinedRunRow,
    pg.uuid,
    pg.text,
    pg.text,
    pg.text,
    pg.text,
    pg.uuid,
    pg.jsonb,
    pg.array[pg.uuid],
    pg.text,
    pg.jsonb,
    pg.int4,
    pg.jsonb,
]

class RepeatedRunRow(TypedDict):
    id: UUID
    is_answered: bool | Any
    seconds_ago: float | Any

repeated_run: Query[
    RepeatedRunRow,
    pg.uuid,
    pg.text,
    pg.text,
    pg.text,
    pg.text,
    pg.uuid,
    pg.jsonb,
    pg.array[pg.uuid],
    pg.jsonb,
    pg.bool_,
    pg.float8,
]

class AnsweredRunRow(TypedDict):
    id: UUID

answered_run: Value[UUID, AnsweredRunRow, pg.uuid, pg.uuid, pg.text]

class QuestionToReplaceRow(TypedDict):
    all_over: bool | Any
    acted_since: bool | Any
    is_left: bool | Any

question_to_replace: Query[QuestionToReplaceRow, pg.uuid, pg.uuid, pg.uuid, pg.text, pg.text]

class ClientContextRow(TypedDict):
    client_context: Any

client_context: Value[Any, ClientContextRow, pg.uuid]

class TurnsOfWordsRow(TypedDict):
    words: str | Any

turns_of_words: Value[str, TurnsOfWordsRow, pg.uuid, pg.uuid, pg.array[pg.text], pg.int8]

RunRow = TypedDict(
    "RunRow",
    {
        "id": UUID,
        "seq": int,
        "user_id": UUID,
        "user_query": str,
        "assistant": str,
        "conversation_id": UUID | None,
        "kind": Literal["ask", "archive", "action", "task", "trial", "call"],
        "source": str,
        "metadata": Any,
        "attachment_ids": list[UUID],
        "status": Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"],
        "archive_status": Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"],
        "lane": int,
        "try": int,
        "attempt": int,
        "deaths": int,
        "analysis_result": Any,
        "sources": Any,
        "searched": Any,
        "draft_context": str | None,
        "final_context_payload": str | None,
        "final_answer": str | None,
        "error_code": str | None,
        "error_message": str | None,
        "degraded": list[str],
        "limited": Literal["budget", "stopped"] | None,
        "memory": str,
        "memory_reasons": list[str],
        "cancel_requested_at": datetime | None,
        "created_at": datetime,
        "updated_at": datetime,
        "claimed_at": datetime | None,
        "analyzing_at": datetime | None,
        "analyzed_at": datetime | None,
        "assembling_at": datetime | None,
        "ready_at": datetime | None,
        "responding_at": datetime | None,
        "completed_at": datetime | None,
        "failed_at": datetime | None,
        "archived_at": datetime | None,
        "priority": int,
        "run_at": datetime | None,
        "attributes": Any,
    },
)
run: Query[RunRow, pg.uuid]

class RequestOfRunRow(TypedDict):
    user_id: UUID
    user_query: str
    assistant: str
    conversation_id: UUID | None
    metadata: Any
    attachment_ids: list[UUID]
    mode: Literal["auto", "plan", "ask"] | None
    client_context: Any
    is_remembered: bool
    attributes: Any
    is_finished: bool | Any

request_of_run: Query[RequestOfRunRow, pg.uuid]

RunStatesRow = TypedDict(
    "RunStatesRow",
    {
        "id": UUID,
        "user_id": UUID,
        "user_query": str,
        "assistant": str,
        "conversation_id": UUID | None,
        "kind": Literal["ask", "archive", "action", "task", "trial", "call"],
        "attachment_ids": list[UUID],
        "status": Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"],
        "archive_status": Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"],
        "try": int,
        "attempt": int,
        "sources": Any,
        "searched": Any,
        "final_answer": str | None,
        "error_code": str | None,
        "error_message": str | None,
        "degraded": list[str],
        "limited": Literal["budget", "stopped"] | None,
        "memory": str,
        "memory_reasons": list[str],
        "created_at": datetime,
        "claimed_at": datetime | None,
        "analyzing_at": datetime | None,
        "analyzed_at": datetime | None,
        "assembling_at": datetime | None,
        "ready_at": datetime | None,
        "responding_at": datetime | None,
        "completed_at": datetime | None,
        "failed_at": datetime | None,
        "archived_at": datetime | None,
        "priority": int,
        "run_at": datetime | None,
        "attributes": Any,
        "is_paused": bool | Any,
        "replaced": list[UUID] | Any,
        "buttons": Any,
        "drawn": list[UUID] | Any,
        "steps": Any,
    },
)
run_states: Query[RunStatesRow, pg.array[pg.uuid]]

class RunStateRow(TypedDict):
    status: Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"]
    archive_status: Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"]

run_state: Query[RunStateRow, pg.uuid]

class RunSourcesRow(TypedDict):
    sources: Any

run_sources: Value[Any, RunSourcesRow, pg.uuid]

class OpenRunOfConversationRow(TypedDict):
    id: UUID

open_run_of_conversation: Value[UUID, OpenRunOfConversationRow, pg.uuid, pg.uuid]

class ListRunsRow(TypedDict):
    id: UUID
    seq: int
    user_id: UUID
    kind: Literal["ask", "archive", "action", "task", "trial", "call"]
    assistant: str
    conversation_id: UUID | None
    source: str
    status: Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"]
    archive_status: Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"]
    query: str | Any
    answer: str | Any
    error_code: str | None
    error_message: str | None
    limited: Literal["budget", "stopped"] | None
    memory: str
    created_at: datetime
    completed_at: datetime | None
    priority: int
    run_at: datetime | None
    attributes: Any
    replaces: UUID | None

list_runs: Query[
    ListRunsRow,
    pg.uuid,
    pg.text,
    pg.timestamptz,
    pg.uuid,
    pg.int8,
    pg.text,
    pg.uuid,
    pg.text,
    pg.timestamptz,
    pg.timestamptz,
    pg.text,
    pg.jsonb,
]

class RunCostsRow(TypedDict):
    id: UUID | Any
    ms: float | Any
    tokens: int | Any
    price: int | Any
    models: list[str] | Any

run_costs: Query[RunCostsRow, pg.array[pg.uuid]]

class SearchRunsRow(TypedDict):
    id: UUID
    seq: int
    user_id: UUID
    kind: Literal["ask", "archive", "action", "task", "trial", "call"]
    assistant: str
    conversation_id: UUID | None
    source: str
    status: Literal["NEW", "ANALYZING", "ANALYZED", "ASSEMBLING", "READY", "RESPONDING", "COMPLETED", "FAILED"]
    archive_status: Literal["PENDING", "ARCHIVING", "ARCHIVED", "SKIPPED", "FAILED"]
    query: str | Any
    answer: str | Any
    error_code: str | None
    error_message: str | None
    limited: Literal["budget", "stopped"] | None
    memory: str
    created_at: datetime
    completed_at: datetime | None
    priority: int
    run_at: datetime | None
    attributes: Any
    replaces: UUID | None

search_runs: Query[
    SearchRunsRow,
    pg.uuid,
    pg.text,
    pg.timestamptz,
    pg.uuid,
    pg.int8,
    pg.text,
    pg.uuid,
    pg.text,
    pg.timestamptz,
    pg.timestamptz,
    pg.text,
    pg.int4,
    pg.text,
    pg.jsonb,
]

class RunsToCancelRow(TypedDict):
    id: UUID | Any

runs_to_cancel: Value[
    UUID, RunsToCancelRow, pg.uuid, pg.text, pg.text, pg.text, pg.timestamptz, pg.timestamptz, pg.jsonb
]

class RunsToRetryRow(TypedDict):
    id: UUID

runs_to_retry: Value[UUID, RunsToRetryRow, pg.uuid, pg.text, pg.text, pg.text, pg.timestamptz, pg.timestamptz, pg.jsonb]

class CancelRunsRow(TypedDict):
    count: int | Any

cancel_runs: Value[int, CancelRunsRow, pg.array[pg.uuid], pg.text]

class RetryRunsRow(TypedDict):
    count: int | Any

retry_runs: Value[int, RetryRunsRow, pg.array[pg.uuid], pg.text]

class PausesRow(TypedDict):
    subject: Literal["assistant", "key", "model", "user"]
    name: str
    reason: str | None
    actor: str
    since: datetime

pauses: Query[PausesRow]

class PauseRow(TypedDict):
    verdict: str | Any
    runs: int | Any

pause: Query[PauseRow, pg.text, pg.text, pg.text, pg.text]

class ResumeRow(TypedDict):
    verdict: str | Any
    runs: int | Any

resume: Query[ResumeRow, pg.text, pg.text, pg.text]

class PausedModelsRow(TypedDict):
    name: str | Any
    until: datetime | Any

paused_models: Query[PausedModelsRow]

take_call: Value[float, Never, pg.text, pg.float8, pg.float8, pg.int4, pg.float8]

charge_tokens: Value[None, Never, pg.text, pg.float8, pg.int4]

block_model: Value[None, Never, pg.text, pg.float8]

cancel_run: Value[str, Never, pg.uuid, pg.text]

retry_run: Value[str, Never, pg.uuid, pg.text]

schema_is_there: Value[bool, Never]

class TryCommitRow(TypedDict):
    case: bool | Any

try_commit: Value[bool, TryCommitRow]

class LogPositionRow(TypedDict):
    is_standby: bool | Any
    position: int | Any

log_position: Query[LogPositionRow]

class IsMigratedToRow(TypedDict):
    coalesce: bool | Any

is_migrated_to: Value[bool, IsMigratedToRow, pg.text, pg.array[pg.text]]

class ServerVersionRow(TypedDict):
    version: str | Any
    number: int | Any

server_version: Query[ServerVersionRow]

class ExtensionsRow(TypedDict):
    extname: str | Any

extensions: Value[str, ExtensionsRow]

# schedules.sql

create_schedule: Value[
    UUID, Never, pg.uuid, pg.text, pg.text, pg.text, pg.text, pg.uuid, pg.text, pg.timestamptz, pg.text
]

change_schedule: Value[bool, Never, pg.uuid, pg.text, pg.text, pg.text, pg.text, pg.bool_, pg.timestamptz, pg.text]

delete_schedule: Value[bool, Never, pg.uuid, pg.text]

class ScheduleRow(TypedDict):
    id: UUID
    user_id: UUID
    user_query: str
    assistant: str
    conversation_id: UUID | None
    cron: str
    timezone: str
    catch_up: Literal["none", "last", "all"]
    next_at: datetime | None
    paused_at: datetime | None
    last_at: datetime | None
    error: str | None
    created_at: datetime

schedule: Query[ScheduleRow, pg.uuid]

class ListSchedulesRow(TypedDict):
    id: UUID
    user_id: UUID
    user_query: str
    assistant: str
    conversation_id: UUID | None
    cron: str
    timezone: str
    catch_up: Literal["none", "last", "all"]
    next_at: datetime | None
    paused_at: datetime | None
    last_at: datetime | None
    error: str | None
    created_at: datetime

list_schedules: Query[ListSchedulesRow, pg.uuid]

class OwnerOfScheduleRow(TypedDict):
    user_id: UUID

owner_of_schedule: Value[UUID, OwnerOfScheduleRow, pg.uuid]

class DueSchedulesRow(TypedDict):
    id: UUID
    cron: str
    timezone: str
    catch_up: Literal["none", "last", "all"]
    next_at: datetime | None
    now: datetime | Any

due_schedules: Query[DueSchedulesRow, pg.int8]

run_schedule: Value[int, Never, pg.uuid, pg.timestamptz, pg.array[pg.timestamptz], pg.timestamptz, pg.text]

# schema.sql

class SchemaExistsRow(TypedDict):
    exists: bool | Any

schema_exists: Value[bool, SchemaExistsRow]

class SchemaFilesExistRow(TypedDict):
    exists: bool | Any

schema_files_exist: Value[bool, SchemaFilesExistRow]

former_layout_exists: Value[bool, Never]

class LockSchemaRow(TypedDict):
    pg_advisory_xact_lock: None

lock_schema: Value[None, LockSchemaRow, pg.int8]

begin_migration: Query[Never]

class LimitLockWaitRow(TypedDict):
    set_config: str | Any

limit_lock_wait: Value[str, LimitLockWaitRow, pg.text]

create_schema: Value[None, Never]

create_schema_files: Value[None, Never]

comment_schema_files: Value[None, Never]

class ViewDropsRow(TypedDict):
    format: str | Any

view_drops: Value[str, ViewDropsRow]

class SchemaFilesRow(TypedDict):
    name: str
    hash: str

schema_files: Query[SchemaFilesRow]

record_schema_file: Value[None, Never, pg.text, pg.text]

forget_schema_files: Value[None, Never, pg.array[pg.text], pg.array[pg.text]]

forget_views: Value[None, Never]

finds_maas: Value[bool, Never]

class SearchPathRow(TypedDict):
    is_owned: bool | Any
    path: str | Any
    is_alone: bool | Any
    statement: str | Any

search_path: Query[SearchPathRow, pg.text]

hide_new_functions: Value[None, Never]

class StrangersRow(TypedDict):
    login: str | Any
    database: str | Any

strangers: Query[StrangersRow]

make_roles: Value[list[str], Never]

class ContentsRow(TypedDict):
    users: int | Any
    runs: int | Any
    messages: int | Any

contents: Query[ContentsRow]

class LimitStatementRow(TypedDict):
    set_config: str | Any

limit_statement: Value[str, LimitStatementRow, pg.text]

class StoredRelationsRow(TypedDict):
    id: int | Any
    name: str | Any
    file: int | Any

stored_relations: Query[StoredRelationsRow]

class HeldLocksRow(TypedDict):
    id: int | Any
    mode: str | Any

held_locks: Query[HeldLocksRow]

hide_schema: Value[None, Never]

class LookIntoRow(TypedDict):
    set_config: str | Any

look_into: Value[str, LookIntoRow, pg.text]

class SchemaObjectsRow(TypedDict):
    kind: str | Any
    of: str | Any
    name: str | Any
    definition: str | Any

schema_objects: Query[SchemaObjectsRow, pg.text]

# search.sql

class CandidatesRow(TypedDict):
    terms: list[str] | Any
    large_turns: int | Any
    df: list[int] | Any
    words_gone: bool | Any
    has_corrections: bool | Any
    large_speakers: list[str] | Any
    speakers: list[str] | Any
    ids: bytes | Any
    seqs: bytes | Any
    times: bytes | Any
    bits: bytes | Any
    conversations: bytes | Any
    record_ids: bytes | Any

candidates: Query[
    CandidatesRow,
    pg.uuid,
    pg.text,
    pg.int8,
    pg.timestamptz,
    pg.timestamptz,
    pg.timestamptz,
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.text],
    pg.int4,
    pg.array[pg.uuid],
    pg.bool_,
]

class RareTurnsRow(TypedDict):
    id: UUID | Any

rare_turns: Value[
    UUID,
    RareTurnsRow,
    pg.uuid,
    pg.array[pg.text],
    pg.int8,
    pg.timestamptz,
    pg.timestamptz,
    pg.timestamptz,
    pg.array[pg.text],
    pg.array[pg.text],
    pg.array[pg.float8],
    pg.array[pg.uuid],
    pg.tstzmultirange,
]

class CountedLexemesRow(TypedDict):
    term: str
    turns: int

counted_lexemes: Query[CountedLexemesRow, pg.uuid, pg.array[pg.text], pg.int4]

class SaidLexemesRow(TypedDict):
    lexemes: str | Any

said_lexemes: Value[str, SaidLexemesRow, pg.uuid]

class LexemesRow(TypedDict):
    lexemes: list[str] | Any

lexemes: Value[list[str], LexemesRow, pg.array[pg.text]]

count_terms: Value[int, Never, pg.uuid, pg.int4]

class UsersToCountRow(TypedDict):
    user_id: UUID | Any

users_to_count: Value[UUID, UsersToCountRow, pg.interval, pg.int4]

terms_are_counted: Value[None, Never, pg.timestamptz]

class ClockRow(TypedDict):
    now: datetime | Any

clock: Value[datetime, ClockRow]

# secrets.sql

set_secret: Value[bool, Never, pg.uuid, pg.text, pg.text, pg.text]

renew_secret: Value[bool, Never, pg.uuid, pg.text, pg.text, pg.text, pg.text]

delete_secret: Value[bool, Never, pg.uuid, pg.text, pg.text]

class ReadSecretsRow(TypedDict):
    name: str | Any
    value: str | Any
    changed_at: datetime | Any

read_secrets: Query[ReadSecretsRow, pg.uuid, pg.array[pg.text]]

class SecretTimesRow(TypedDict):
    user_id: UUID | Any
    name: str | Any
    changed_at: datetime | Any

secret_times: Query[SecretTimesRow, pg.array[pg.uuid]]

class ListSecretsRow(TypedDict):
    name: str | Any
    changed_at: datetime | Any

list_secrets: Query[ListSecretsRow, pg.uuid]

# slots.sql

open_session: Value[Any, Never, pg.uuid, pg.int4, pg.text, pg.text, pg.bool_]

open_pressed_session: Value[Any, Never, pg.uuid, pg.int4]

keep_session: Value[bool, Never, pg.uuid, pg.int4, pg.jsonb]

class PressButtonRow(TypedDict):
    verdict: str | Any
    run_id: UUID | Any

press_button: Query[PressButtonRow, pg.uuid, pg.uuid, pg.text, pg.int4]

pressed_button: Value[str, Never, pg.uuid]

# tasks.sql

class InsertTaskRow(TypedDict):
    verdict: str | Any
    run_id: UUID | Any

insert_task: Query[InsertTaskRow, pg.uuid, pg.text, pg.jsonb, pg.uuid, pg.text, pg.uuid, pg.bool_, pg.jsonb]

class NextStepRow(TypedDict):
    verdict: str | Any
    number: int | Any
    call_id: str | Any
    title: str | Any
    tool: str | Any
    arguments: Any
    prompt: str | Any
    results: Any
    is_approved: bool | Any
    max_calls: int | Any
    ended: int | Any
    total: int | Any

next_step: Query[NextStepRow, pg.uuid, pg.int4, pg.bool_]

end_step: Value[bool, Never, pg.uuid, pg.int4, pg.int4, pg.text, pg.jsonb, pg.array[pg.uuid]]

class TaskStepsRow(TypedDict):
    number: int
    title: str
    tool: str | None
    status: Literal["pending", "running", "waiting", "done", "failed", "in_doubt", "skipped"]
    result: Any

task_steps: Query[TaskStepsRow, pg.uuid]

# tools.sql

keep_assistant: Value[None, Never, pg.varchar, pg.varchar, pg.jsonb, pg.text, pg.varchar]

switch_off_assistant: Value[None, Never, pg.text, pg.text]

class AssistantsWithoutPluginRow(TypedDict):
    name: str
    plugin: str | None

assistants_without_plugin: Query[AssistantsWithoutPluginRow, pg.array[pg.text]]

class InactiveAssistantsRow(TypedDict):
    name: str
    inactive_reason: str | None

inactive_assistants: Query[InactiveAssistantsRow, pg.text]

class AssistantDefinitionsRow(TypedDict):
    name: str
    role_name: str
    definition: Any

assistant_definitions: Query[AssistantDefinitionsRow]

class AssistantDefinitionRow(TypedDict):
    name: str
    role_name: str
    definition: Any

assistant_definition: Query[AssistantDefinitionRow, pg.text]

class RunSourceRow(TypedDict):
    source: str

run_source: Value[str, RunSourceRow, pg.uuid]

keep_tools: Value[None, Never, pg.jsonb]

class ListToolsRow(TypedDict):
    name: str
    domain: str
    effect: Literal["read", "write", "dangerous"]
    description: str
    parameters: Any
    version: str
    is_idempotent: bool

list_tools: Query[ListToolsRow, pg.text]

class AssistantToolsRow(TypedDict):
    name: str | Any
    domain: str | Any
    effect: str | Any
    description: str | Any
    parameters: Any
    is_idempotent: bool | Any

assistant_tools: Query[AssistantToolsRow, pg.text]

class InsertCallRow(TypedDict):
    verdict: str | Any
    run_id: UUID | Any

insert_call: Query[
    InsertCallRow, pg.uuid, pg.text, pg.text, pg.jsonb, pg.text, pg.text, pg.text, pg.text, pg.text, pg.int4
]

class OwnCallRow(TypedDict):
    call: Any

own_call: Value[Any, OwnCallRow, pg.uuid]

class EditedCallRow(TypedDict):
    edit: Any

edited_call: Value[Any, EditedCallRow, pg.uuid]

count_tool_call: Value[int, Never, pg.uuid, pg.int4]

class BeginToolRow(TypedDict):
    verdict: str | Any
    result: Any

begin_tool: Query[BeginToolRow, pg.uuid, pg.int4, pg.text, pg.text, pg.text, pg.text, pg.bool_, pg.jsonb]

finish_tool: Value[bool, Never, pg.uuid, pg.int4, pg.text, pg.text, pg.text, pg.jsonb, pg.float4, pg.jsonb]

note_read: Value[
    bool, Never, pg.uuid, pg.int4, pg.text, pg.text, pg.text, pg.text, pg.float4, pg.jsonb, pg.jsonb, pg.array[pg.uuid]
]

failures_in_a_row: Value[int, Never, pg.uuid, pg.text]

class OpenDomainsRow(TypedDict):
    case: list[str] | Any

open_domains: Value[list[str], OpenDomainsRow, pg.uuid]

class RunAccountRow(TypedDict):
    coalesce: str | Any

run_account: Value[str, RunAccountRow, pg.uuid]

active_agent: Value[str, Never, pg.uuid]

name_agent: Value[bool, Never, pg.uuid, pg.int4, pg.text, pg.text]

# top.sql

class StatusesNowRow(TypedDict):
    status: str | Any
    runs: int | Any

statuses_now: Query[StatusesNowRow]

class RatesRow(TypedDict):
    seconds: int | Any
    accepted: Decimal | Any
    completed: Decimal | Any
    failed: Decimal | Any

rates: Query[RatesRow]

class StagesRecentRow(TypedDict):
    stage: str | Any
    runs: int | Any
    p50_ms: Decimal | Any
    p95_ms: Decimal | Any

stages_recent: Query[StagesRecentRow]

class OrchestratorsRow(TypedDict):
    owner: int | Any
    host: str | Any
    pid: int | Any
    stages: list[str] | Any
    is_alive: bool | Any
    in_flight: int | Any
    concurrency: int | Any
    lease_seconds: float | Any
    up_seconds: float | Any

orchestrators: Query[OrchestratorsRow]

class LongestQueuesRow(TypedDict):
    user_id: UUID | Any
    unfinished: int | Any
    oldest_seconds: float | Any

longest_queues: Query[LongestQueuesRow, pg.int8]

class StuckByReasonRow(TypedDict):
    why: str | Any
    runs: int | Any
    oldest_seconds: float | Any
    oldest_run: UUID | Any

stuck_by_reason: Query[StuckByReasonRow]

class LimitsReachedRow(TypedDict):
    name: str
    seconds: float | Any
    cause: str | Any

limits_reached: Query[LimitsReachedRow]

class SchedulesNowRow(TypedDict):
    active: int | Any
    paused: int | Any
    overdue: int | Any
    failing: int | Any
    error: str | Any

schedules_now: Query[SchedulesNowRow]

class LoginRow(TypedDict):
    quote_ident: str | Any

login: Value[str, LoginRow]

# traces.sql

class RunTraceRow(TypedDict):
    history: Any
    calls: Any
    prompts: Any
    tools: Any
    steps: Any
    records: Any
    words: Any
    before: Any
    waiting: Any

run_trace: Query[RunTraceRow, pg.uuid]

class StageCallsRow(TypedDict):
    provider: str
    model: str
    prompt_version: int | None
    finish: str
    attempts: int
    tokens_in: int
    tokens_out: int
    ms: float
    price: int | None
    error: str | None
    request_hash: str | None

stage_calls: Query[StageCallsRow, pg.uuid, pg.text]

class RecordedExchangeRow(TypedDict):
    id: UUID | Any
    message_type: str | Any
    content: str | Any
    speaker: str | Any
    occurred_at: datetime | Any
    origins: Any

recorded_exchange: Query[RecordedExchangeRow, pg.uuid]

class RecordedRecordRow(TypedDict):
    tags: list[str] | Any
    summary: str | Any

recorded_record: Query[RecordedRecordRow, pg.uuid]

# vectors.sql

vectors_are_there: Value[bool, Never]

prepare_embeddings: Value[bool, Never]

class CosinesRow(TypedDict):
    ids: bytes | Any
    cosines: bytes | Any

cosines: Query[CosinesRow, pg.uuid, pg.text, pg.array[pg.float4], pg.array[pg.uuid]]

class NearestRow(TypedDict):
    ids: list[UUID] | Any
    mean: float | Any
    deviation: float | Any
    vectors: int | Any

nearest: Query[NearestRow, pg.uuid, pg.text, pg.array[pg.float4], pg.timestamptz, pg.int8]

class LeaseEmbeddingsRow(TypedDict):
    swept_to: UUID | Any
    since: datetime | Any

lease_embeddings: Query[LeaseEmbeddingsRow, pg.text, pg.uuid, pg.interval, pg.bool_]

write_embeddings: Value[int, Never, pg.text, pg.array[pg.uuid], pg.array[pg.float4], pg.int4]

class SweepTurnsRow(TypedDict):
    last: UUID | Any
    looked_at: int | Any
    missing: list[UUID] | Any

sweep_turns: Query[SweepTurnsRow, pg.text, pg.uuid, pg.int8]

class NewTurnsRow(TypedDict):
    id: UUID
    created_at: datetime

new_turns: Query[NewTurnsRow, pg.text, pg.timestamptz, pg.int8]

class FreshTurnsRow(TypedDict):
    id: UUID

fresh_turns: Value[UUID, FreshTurnsRow, pg.text, pg.interval, pg.int8]

log_horizon: Value[datetime, Never]

save_fill: Value[None, Never, pg.text, pg.uuid, pg.uuid, pg.timestamptz]

restart_sweep: Value[None, Never, pg.text]

class TextsRow(TypedDict):
    id: UUID
    speaker: str | None
    content: str | Any

texts: Query[TextsRow, pg.array[pg.uuid], pg.int4]

class CountTurnsRow(TypedDict):
    count: int | Any

count_turns: Value[int, CountTurnsRow]

class PruneEmbeddingsRow(TypedDict):
    count: int | Any

prune_embeddings: Value[int, PruneEmbeddingsRow, pg.text, pg.int8]

class PruneChunkEmbeddingsRow(TypedDict):
    count: int | Any

prune_chunk_embeddings: Value[int, PruneChunkEmbeddingsRow, pg.text, pg.int8]

forget_fills: Value[None, Never, pg.text]

class FillRow(TypedDict):
    turns: int
    refused: int
    tokens: int

fill: Query[FillRow, pg.text]

class EmbeddingBacklogRow(TypedDict):
    model: str | Any
    waiting: int | Any
    is_estimate: bool | Any

embedding_backlog: Query[EmbeddingBacklogRow]

# webhooks.sql

class CreateWebhookRow(TypedDict):
    id: UUID | Any
    secret: str | Any

create_webhook: Query[CreateWebhookRow, pg.uuid, pg.text, pg.array[pg.text], pg.bool_, pg.text]

change_webhook: Value[bool, Never, pg.uuid, pg.text, pg.array[pg.text], pg.bool_, pg.bool_, pg.text]

rotate_webhook: Value[str, Never, pg.uuid, pg.int4, pg.text]

delete_webhook: Value[bool, Never, pg.uuid, pg.text]

replay_webhook: Value[int, Never, pg.uuid, pg.uuid, pg.text]

class WebhookRow(TypedDict):
    id: UUID
    user_id: UUID | None
    url: str
    events: list[str]
    has_texts: bool
    created_at: datetime
    state: str | Any
    disabled_at: datetime | None
    failing_since: datetime | None
    paused_until: datetime | None
    waiting: int | Any

webhook: Query[WebhookRow, pg.uuid]

class ListWebhooksRow(TypedDict):
    id: UUID
    user_id: UUID | None
    url: str
    events: list[str]
    has_texts: bool
    created_at: datetime
    state: str | Any
    disabled_at: datetime | None
    failing_since: datetime | None
    paused_until: datetime | None
    waiting: int | Any

list_webhooks: Query[ListWebhooksRow, pg.uuid]

class OwnerOfWebhookRow(TypedDict):
    user_id: UUID | None

owner_of_webhook: Value[UUID, OwnerOfWebhookRow, pg.uuid]

class WebhookDeliveriesRow(TypedDict):
    id: UUID
    type: str
    data: Any
    state: Literal["waiting", "delivered", "failed"]
    attempts: int
    status: int | None
    error: str | None
    created_at: datetime
    changed_at: datetime
    next_at: datetime | Any

webhook_deliveries: Query[WebhookDeliveriesRow, pg.uuid, pg.text, pg.timestamptz, pg.uuid, pg.int8]

has_webhooks: Value[bool, Never]

class ClaimDeliveriesRow(TypedDict):
    id: UUID | Any
    user_id: UUID | Any
    task_id: UUID | Any
    attempt: int | Any
    is_slow: bool | Any
    url: str | Any
    secrets: list[str] | Any
    headers: Any
    body: Any

claim_deliveries: Query[ClaimDeliveriesRow, pg.text, pg.int4, pg.int4, pg.int4, pg.interval]

finish_deliveries: Value[int, Never, pg.jsonb]

purge_deliveries: Value[int, Never, pg.int4]

class WebhookBacklogRow(TypedDict):
    waiting: int | Any
    oldest_seconds: float | Any

webhook_backlog: Query[WebhookBacklogRow, pg.int8]

class WebhookStatesRow(TypedDict):
    state: str | Any
    webhooks: int | Any

webhook_states: Query[WebhookStatesRow]
