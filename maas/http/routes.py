"""The table of all routes; the ASGI routes and the OpenAPI document are both generated from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, get_args

from maas.conversations import MessageRole
from maas.conversations.actions import ActionStatus
from maas.engine.states import RunKind, Status
from maas.http import (
    anthropic,
    attachments,
    conversations,
    corrections,
    facts,
    knowledge,
    memories,
    memory_schemas,
    openai,
    operations,
    profiles,
    protected_resource,
    run_schemas,
    runs,
    schemas,
    sign_in,
    tool_calls,
    trace,
    user_events,
    users,
    webhooks,
)
from maas.http.admin import inventory, overview, people, prompts, run_control, spending
from maas.http.ai_sdk import chat as ai_sdk
from maas.http.anthropic import messages
from maas.http.mem0.routes import MEM0_ROUTES
from maas.http.openai import completions, embeddings, responses
from maas.http.openai.responses import handlers
from maas.http.request_input import CURSOR_PATTERN, DEFAULT_PAGE_SIZE, MAX_LEVEL, MAX_PAGE_SIZE, MAX_SEARCH_CHARS
from maas.http.route import Parameters, Route
from maas.http.server_sent_events import EVENT_ID_PATTERN, EVENT_STREAM
from maas.http.sign_in import sessions
from maas.memory.facts import State
from maas.plugins import load_parts
from maas.runs.user_events import USER_CURSOR_PATTERN

# Part of the path before `{id}` -> the kind of resource whose owner is checked.


def _one_of(values: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [str(value) for value in values]}


_UUID = {"type": "string", "format": "uuid"}
_EVENT_ID = {"type": "string", "format": "event-id", "pattern": EVENT_ID_PATTERN}
_USER_EVENT_ID = {"type": "string", "format": "user-event-id", "pattern": USER_CURSOR_PATTERN}
_LEVEL = {"type": "integer", "minimum": 0, "maximum": MAX_LEVEL}
_TIME = {"type": "string", "format": "date-time"}
_STATES = {"type": "string", "enum": ["all", *get_args(State)]}
_USER: Parameters = {"user_id": (_UUID, "The user whose resources are listed.")}
OWNER: Parameters = {"user_id": (_UUID, "The user that must own the resource.")}
_ANSWERS: Parameters = {
    "answers": ({"type": "boolean", "default": False}, "Also forget the answers that were made from it."),
}
_PAGE: Parameters = {
    "before": ({"type": "string", "pattern": CURSOR_PATTERN}, "`next` of the previous page."),
    "limit": (
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": DEFAULT_PAGE_SIZE},
        "The page size.",
    ),
}

_TIME = {"type": "string", "format": "date-time"}
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_SEARCH_CHARS, "pattern": schemas.STORABLE_PATTERN}
_SEARCH = {"type": "string", "minLength": 1, "maxLength": MAX_SEARCH_CHARS, "pattern": schemas.VISIBLE_PATTERN}
_ATTRIBUTES = {"type": "string", "format": "attributes", "maxLength": runs.MAX_ATTRIBUTES_CHARS}
_AUDIT_PAGE: Parameters = {
    **_PAGE,
    "before": ({"type": "string", "pattern": overview.AUDIT_CURSOR_PATTERN}, "`next` of the previous page."),
}
_FILTERS: Parameters = {
    "status": (_one_of(Status), "Only runs with this status."),
    "kind": (_one_of(RunKind), "Only runs of this kind."),
    "conversation_id": (_UUID, "Only runs of this conversation."),
    "q": (_SEARCH, "Only runs whose query or answer has every word of this, or words that begin with it."),
    "from": (_TIME, "Only runs of this time or later; without an offset, in MAAS_TIMEZONE."),
    "to": (_TIME, "Only runs before this time."),
    "attributes": (_ATTRIBUTES, "Only runs that have all of these, as a JSON object."),
}


ROUTES = (
    Route("POST", "/v1/runs", runs.post_run, "ask", run_schemas.NewRun, schemas.RunAccepted, 202,
          errors=(400, 404, 409, 413, 415, 422, 429)),
    Route("GET", "/v1/runs", runs.get_runs, "read", response=run_schemas.RunPage, errors=(400,),
          query={**_USER, **_FILTERS, **_PAGE}),
    Route("GET", "/v1/runs/{id}", runs.get_run, "read", response=run_schemas.RunState, errors=(400, 404),
          query={"wait": ({"type": "number", "minimum": 0, "maximum": 60}, "Seconds to wait for the answer.")}),
    Route("GET", "/v1/runs/{id}/trace", trace.get_trace, "admin", response=trace.Trace, errors=(404,)),
    Route("GET", "/v1/runs/{id}/events", runs.get_events, "read", errors=(400, 404), response_types=(EVENT_STREAM,),
          query={"last_event_id": (_EVENT_ID, "Like the header Last-Event-ID, which takes precedence.")}),
    Route("POST", "/v1/runs/{id}/cancel", runs.post_cancel, "ask", response=run_schemas.CancelAccepted, status=202,
          errors=(404, 409)),
    Route("POST", "/v1/runs/{id}/retry", runs.post_retry, "ask", response=schemas.RunAccepted, status=202,
          errors=(404, 409)),
    Route("POST", "/v1/runs/{id}/press", runs.post_press, "ask", run_schemas.ButtonPress, schemas.RunAccepted, 202,
          errors=(400, 404, 409, 413, 415, 422, 429)),
    Route("POST", "/v1/conversations", conversations.post_conversation, "ask", conversations.NewConversation,
          conversations.OpenedConversation, 201, errors=(400, 413, 415, 422, 429)),
    Route("GET", "/v1/conversations", conversations.get_conversations, "read", response=conversations.ConversationPage,
          errors=(400,), required=("user_id",), query={
              **_USER, "q": (_SEARCH, "Only those whose title and messages have every word of this, or its beginning."),
              **_PAGE}),
    Route("GET", "/v1/conversations/{id}", conversations.get_conversation, "read", response=conversations.Conversation,
          errors=(404,)),
    Route("PATCH", "/v1/conversations/{id}", conversations.patch_conversation, "ask", conversations.ConversationChange,
          conversations.Conversation, errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/conversations/{id}/clear", conversations.post_clear, "ask", response=conversations.ClearResult,
          errors=(404,)),
    Route("GET", "/v1/conversations/{id}/messages", conversations.get_messages, "read",
          response=conversations.MessagePage, errors=(400, 404), query={
              "role": (_one_of(MessageRole), "Only messages of this role; all but those of tools if unset."),
              "runs": ({"type": "boolean", "default": False}, "With the runs that the messages are of."),
              "around": (_UUID, "A message or its run, which the page has in its middle; takes precedence."),
              "after": (_PAGE["before"][0], "`previous` of another page; takes precedence over `before`."), **_PAGE}),
    Route("POST", "/v1/attachments", attachments.post_attachment, "ask", attachments.NewAttachment,
          attachments.Attachment, 201, request_types=(attachments.FORM_TYPE,), errors=(413, 415, 422)),
    Route("GET", "/v1/attachments/{id}", attachments.get_attachment, "read", response=attachments.Attachment,
          errors=(400, 404), query=OWNER, required=("user_id",)),
    Route("GET", "/v1/attachments/{id}/content", attachments.get_content, "read", errors=(400, 404),
          response_types=attachments.IMAGE_TYPES, query=OWNER, required=("user_id",)),
    Route("DELETE", "/v1/attachments/{id}", attachments.delete_attachment, "ask", status=204, errors=(400, 404),
          query=OWNER, required=("user_id",)),
    Route("GET", "/v1/actions", conversations.get_actions, "read", response=conversations.ActionPage, errors=(400,),
          query={
              **_USER, "status": (_one_of(ActionStatus), "Only actions with this status."),
              "conversation_id": (_UUID, "Only actions of this conversation."),
              "run_id": (_UUID, "All actions of this run, without pagination."), **_PAGE,
          },
          required=("user_id",)),
    Route("GET", "/v1/actions/{id}", conversations.get_action, "read", response=conversations.Action, errors=(400, 404),
          query=OWNER),
    Route("PATCH", "/v1/actions/{id}", conversations.patch_action, "ask", conversations.ActionEdit,
          conversations.Action, errors=(400, 404, 409, 413, 415, 422)),
    Route("POST", "/v1/actions/{id}/approve", conversations.post_approve, "ask", conversations.ActionDecision,
          conversations.Action, errors=(400, 404, 409, 413, 415, 422, 429)),
    Route("POST", "/v1/actions/{id}/reject", conversations.post_reject, "ask", conversations.ActionDecision,
          conversations.Action, errors=(400, 404, 409, 413, 415, 422)),
    Route("POST", "/v1/memories/search", memories.post_search, "read", memory_schemas.SearchQuery,
          memory_schemas.MemoryPage, errors=(400, 413, 415, 422)),
    Route("GET", "/v1/memories", memories.get_memories, "read", response=memory_schemas.MemoryPage, errors=(400,),
          query={**_USER, "level": (_LEVEL, "Only summaries of it, also those that later ones include."), **_PAGE},
          required=("user_id",)),
    Route("POST", "/v1/memories", memories.post_memories, "ask", memory_schemas.NewMemories,
          memory_schemas.MemoriesAccepted, 202, errors=(400, 413, 415, 422)),
    Route("GET", "/v1/memories/{id}", memories.get_memory, "read", response=memory_schemas.Memory, errors=(400, 404),
          query=OWNER),
    Route("DELETE", "/v1/memories/{id}", memories.delete_memory, "ask", response=memory_schemas.ForgetResult,
          errors=(400, 404, 409),
          query={
              **OWNER,
              "doubtful": (
                  {"type": "boolean", "default": False},
                  "Also delete the answers that are listed as doubtful; this works after the memory was deleted, too.",
              ),
              "preview": ({"type": "boolean", "default": False}, "Delete nothing; return what would be deleted."),
          }),
    Route("POST", "/v1/memories/{id}/correct", corrections.post_correct, "ask", corrections.NewCorrection,
          corrections.CorrectionAccepted, 202, errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/memories/{id}/sources", memories.get_sources, "read", response=memory_schemas.MemorySources,
          errors=(400, 404), query=OWNER),
    Route("GET", "/v1/memories/{id}/history", memories.get_history, "read", response=memory_schemas.MemoryHistory,
          errors=(404,)),
    Route("GET", "/v1/users/{id}/memory", memories.get_totals, "read", response=memory_schemas.MemoryTotals,
          errors=(404,)),
    Route("GET", "/v1/users/{id}/facts", facts.get_facts, "read", response=facts.FactPage, errors=(400, 404), query={
        "state": (_STATES, "Only facts in this state, or all; by default those that are true or uncertain."),
        "about": (_SEARCH, "Only facts about this name; user: the user."),
        "as_of": (_TIME, "What was known at this time; without an offset, in MAAS_TIMEZONE."), **_PAGE}),
    Route("POST", "/v1/users/{id}/facts/names", facts.post_merge_names, "ask", facts.NameMerge, facts.NameMerged,
          errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/facts/{id}/decide", facts.post_decide, "ask", facts.FactDecision, facts.FactDecision,
          errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/facts/{id}/correct", facts.post_correct_fact, "ask", facts.FactCorrection, facts.FactCorrected,
          202, errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/context", memories.post_context, "read", memory_schemas.ContextQuery,
          memory_schemas.ContextResult, errors=(400, 413, 415, 422)),
    Route("POST", "/v1/knowledge", knowledge.post_document, "ask", knowledge.NewDocument, knowledge.AddedDocument, 201,
          errors=(400, 404, 413, 415, 422, 429), request_types=(attachments.FORM_TYPE,)),
    Route("POST", "/v1/knowledge/texts", knowledge.post_text, "ask", knowledge.NewTextDocument, knowledge.AddedDocument,
          201, errors=(400, 404, 413, 415, 422, 429)),
    Route("GET", "/v1/knowledge", knowledge.get_documents, "read", response=knowledge.DocumentPage, errors=(400,),
          query={**_USER, **_PAGE}, required=("user_id",)),
    Route("GET", "/v1/knowledge/search", knowledge.get_passages, "read", response=knowledge.PassageList,
          errors=(400,), query={
              **_USER, "q": (_SEARCH | {"minLength": 3}, "What to search for, in words of the documents."),
              "mode": ({"type": "string", "enum": list(knowledge.MODES), "default": "mix"}, "How passages are ranked."),
              "limit": ({"type": "integer", "minimum": 1, "maximum": 100, "default": 10}, "Most passages to return."),
          },
          required=("user_id", "q")),
    Route("GET", "/v1/knowledge/{id}", knowledge.get_document, "read", response=knowledge.DocumentState,
          errors=(400, 404), query=OWNER, required=("user_id",)),
    Route("DELETE", "/v1/knowledge/{id}", knowledge.delete_document, "ask", response=knowledge.DocumentRemoved,
          errors=(400, 404), query={**OWNER, **_ANSWERS}, required=("user_id",)),
    Route("POST", "/v1/users", users.post_user, "ask", users.NewUser, users.User, errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/users", users.get_user, "read", response=users.User, errors=(400, 404, 422),
          query={"external_id": ({"type": "string", "minLength": 1, "maxLength": 200}, "The user's external id.")},
          required=("external_id",)),
    Route("GET", "/v1/users/{id}/events", user_events.get_user_events, "read", errors=(400, 404),
          response_types=(EVENT_STREAM,), query={
              "wait": ({"type": "number", "minimum": 0, "maximum": 60}, "Seconds after which the stream ends."),
              "last_event_id": (_USER_EVENT_ID, "Like the header Last-Event-ID, which takes precedence.")}),
    Route("GET", "/v1/users/{id}/spending", users.get_spending, "read", response=users.UserSpending, errors=(404,)),
    Route("GET", "/v1/users/{id}/profile", profiles.get_profile, "read", response=profiles.Profile, errors=(404,)),
    Route("PUT", "/v1/users/{id}/profile", profiles.put_profile, "ask", profiles.NewProfile, profiles.Profile,
          errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/users/{id}/preferences", profiles.get_preferences, "read", response=profiles.Preferences,
          errors=(404,)),
    Route("PUT", "/v1/users/{id}/preferences", profiles.put_preferences, "ask", profiles.NewPreferences,
          profiles.Preferences, errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/users/{id}/export", users.get_export, "read", errors=(404,), response_types=(users.NDJSON,)),
    Route("POST", "/v1/users/{id}/import", users.post_import, "ask", response=users.ImportAccepted, status=202,
          errors=(404, 413, 415, 422), request_types=users.IMPORT_TYPES),
    Route("DELETE", "/v1/users/{id}", users.delete_user, "erase", response=users.EraseResult, errors=(404, 409)),
    Route("POST", "/v1/webhooks", webhooks.post_webhook, "ask", webhooks.NewWebhook, webhooks.CreatedWebhook, 201,
          errors=(400, 403, 404, 413, 415, 422)),
    Route("GET", "/v1/webhooks", webhooks.get_webhooks, "read", response=webhooks.WebhookList, errors=(400,),
          query=_USER),
    Route("GET", "/v1/webhooks/{id}", webhooks.get_webhook, "read", response=webhooks.Webhook, errors=(404,)),
    Route("PATCH", "/v1/webhooks/{id}", webhooks.patch_webhook, "ask", webhooks.WebhookChange, webhooks.Webhook,
          errors=(400, 403, 404, 409, 413, 415, 422)),
    Route("DELETE", "/v1/webhooks/{id}", webhooks.delete_webhook, "ask", status=204, errors=(404,)),
    Route("POST", "/v1/webhooks/{id}/rotate", webhooks.post_rotate, "ask", webhooks.SecretRotation, webhooks.NewSecret,
          errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/webhooks/{id}/deliveries", webhooks.get_deliveries, "read",
          response=webhooks.WebhookDeliveryPage, errors=(400, 404), query={
              "state": ({"type": "string", "enum": [*get_args(webhooks.DeliveryState)]}, "Only deliveries in it."),
              **_PAGE}),
    Route("POST", "/v1/webhooks/{id}/replay", webhooks.post_replay, "ask", webhooks.DeliveryReplay, webhooks.Replayed,
          errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/assistants", conversations.get_assistants, "read", response=conversations.AssistantList),
    Route("GET", "/v1/tools", tool_calls.get_tools, "read", response=tool_calls.ToolList, errors=(400, 422),
          query={"assistant": ({"type": "string", "format": "assistant"}, "The assistant.")}, required=("assistant",)),
    Route("POST", "/v1/tool_calls", tool_calls.post_tool_call, "ask", tool_calls.NewToolCall, schemas.RunAccepted, 202,
          errors=(400, 409, 413, 415, 422, 429)),
    Route("GET", "/v1/caller", operations.get_caller, "read", response=operations.CallerRights),
    Route("POST", "/v1/chat/completions", completions.post_chat_completion, "ask", openai.ChatRequest,
          openai.ChatCompletion, errors=(400, 404, 409, 413, 415, 429, 500, 503, 504),
          response_types=(EVENT_STREAM,), error_schema=openai.OpenAIError),
    Route("POST", "/v1/responses", handlers.post_response, "ask", responses.ResponseRequest, responses.ResponseObject,
          errors=(400, 404, 409, 413, 415, 429, 500, 503, 504), response_types=(EVENT_STREAM,),
          error_schema=openai.OpenAIError),
    Route("GET", "/v1/responses/{id}", handlers.get_response, "read", response=responses.ResponseObject,
          errors=(404,), error_schema=openai.OpenAIError),
    Route("DELETE", "/v1/responses/{id}", handlers.delete_response, "ask", response=responses.DeletedResponse,
          errors=(404,), error_schema=openai.OpenAIError),
    Route("POST", "/v1/responses/{id}/cancel", handlers.cancel_response, "ask", response=responses.ResponseObject,
          errors=(400, 404), error_schema=openai.OpenAIError),
    Route("GET", "/v1/responses/{id}/input_items", handlers.get_input_items, "read",
          response=responses.InputItems, errors=(400, 404), error_schema=openai.OpenAIError,
          query={"limit": _PAGE["limit"], "after": ({"type": "string"}, "The id of the item before the first one."),
                 "order": ({"enum": ["asc", "desc"], "default": "desc"}, "Newest first, or oldest first.")}),
    Route("POST", "/v1/embeddings", embeddings.post_embeddings, "ask", embeddings.EmbeddingRequest,
          embeddings.EmbeddingList, errors=(400, 404, 409, 413, 415, 429, 503), error_schema=openai.OpenAIError),
    Route("POST", anthropic.PATH, messages.post_message, "ask", anthropic.MessageRequest, anthropic.AnthropicMessage,
          errors=(400, 404, 409, 413, 415, 429, 500, 503, 504), response_types=(EVENT_STREAM,),
          error_schema=anthropic.AnthropicError,
          query={"beta": ({"type": "boolean"}, "What Anthropic's SDKs send; it changes nothing.")}),
    Route("GET", "/v1/models", completions.get_models, "read", response=openai.ModelList,
          error_schema=openai.OpenAIError),
    Route("GET", "/v1/models/{model}", completions.get_model, "read", response=openai.ModelInfo, errors=(404,),
          error_schema=openai.OpenAIError),
    Route("POST", "/v1/ui/chat", ai_sdk.post_ui_chat, "ask", ai_sdk.UIChat, errors=(400, 404, 409, 413, 415, 422, 429),
          response_types=(EVENT_STREAM,)),
    Route("GET", "/v1/ui/chat/{chat}/stream", ai_sdk.get_ui_stream, "read", errors=(400, 404, 422),
          response_types=(EVENT_STREAM,), query={
              "user": ({"type": "string", "minLength": 1, "maxLength": 200}, "The user by name; else X-MaaS-User."),
          }),
    *MEM0_ROUTES,
    Route("POST", "/auth/v1/signup", sessions.post_sign_up, "open", sign_in.SignUp, sign_in.AuthSession,
          errors=(400, 403, 404, 413, 415, 422, 429, 503), error_schema=sign_in.AuthError),
    Route("POST", "/auth/v1/token", sessions.post_token, "open", sign_in.TokenRequest, sign_in.AuthSession,
          errors=(400, 403, 404, 413, 415, 429, 503), error_schema=sign_in.AuthError, required=("grant_type",),
          query={"grant_type": ({"type": "string", "enum": [*sessions.GRANT_TYPES]}, "What the body holds.")}),
    Route("POST", "/auth/v1/verify", sessions.post_verify, "open", sign_in.Verification, sign_in.AuthSession,
          errors=(400, 403, 404, 413, 415, 429, 503), error_schema=sign_in.AuthError),
    Route("GET", "/auth/v1/user", sessions.get_account, "open", response=sign_in.AccountUser,
          errors=(401, 403, 404, 429, 503), error_schema=sign_in.AuthError),
    Route("PUT", "/auth/v1/user", sessions.put_account, "open", sign_in.UserChange, sign_in.AccountUser,
          errors=(400, 401, 403, 404, 413, 415, 422, 429, 503), error_schema=sign_in.AuthError),
    Route("POST", "/auth/v1/logout", sessions.post_logout, "open", status=204, errors=(400, 401, 403, 404, 429, 503),
          error_schema=sign_in.AuthError, query={
              "scope": ({"type": "string", "enum": [*sessions.SIGN_OUT_SCOPES], "default": "global"},
                        "Which sessions end."),
          }),
    Route("GET", "/auth/v1/settings", sessions.get_auth_settings, "open", response=sign_in.AuthSettings,
          errors=(404, 429), error_schema=sign_in.AuthError),
    Route("GET", "/auth/v1/health", sessions.get_auth_health, "open", response=sign_in.AuthHealth, errors=(404, 429),
          error_schema=sign_in.AuthError),
    Route("GET", "/v1/admin/metrics", overview.get_admin_metrics, "admin", response=overview.AdminMetrics,
          errors=(400,), query={
              "from": (_TIME, "By default 30 days, today included."),
              "to": (_TIME, "By default now; at most 400 days before it are shown.")}),
    Route("GET", "/v1/admin/spending", spending.get_admin_spending, "admin", response=spending.SpendingList,
          errors=(400,), query={
              "by": ({"type": "string", "enum": [*get_args(spending.SpendingKey)], "default": "day"}, "What it is by."),
              "from": (_TIME, "By default 30 days, today included."),
              "to": (_TIME, "By default now; at most 400 days before it are counted."), "limit": _PAGE["limit"]}),
    Route("GET", "/v1/admin/inventory", inventory.get_inventory, "admin", response=inventory.Inventory),
    Route("GET", "/v1/admin/runs", overview.get_admin_runs, "admin", response=overview.AdminRunPage, errors=(400,),
          query={
              **_USER, **_FILTERS, "assistant": (_TEXT, "Only runs of this assistant."),
              "error_code": (_TEXT, "Only runs that failed with this code."), **_PAGE}),
    Route("POST", "/v1/admin/runs/cancel", run_control.post_cancel_runs, "admin", run_control.CancelSelection,
          run_control.ChangedRuns, errors=(400, 404, 409, 413, 415, 422)),
    Route("POST", "/v1/admin/runs/retry", run_control.post_retry_runs, "admin", run_control.RetrySelection,
          run_control.ChangedRuns, errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/pauses", run_control.get_pauses, "admin", response=run_control.PauseList),
    Route("POST", "/v1/admin/pauses", run_control.post_pause, "admin", run_control.NewPause, run_control.Paused,
          errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/admin/pauses/end", run_control.post_resume, "admin", run_control.PauseEnd, run_control.Paused,
          errors=(400, 404, 413, 415, 422)),
    Route("GET", "/v1/admin/memories", overview.get_admin_memories, "admin", response=overview.AdminMemoryPage,
          errors=(400,), query={
              **_USER, "tag": (_TEXT, "Only summaries with this tag."),
              "level": (_LEVEL, "Only summaries of it."),
              **_PAGE}),
    Route("GET", "/v1/admin/prompts", prompts.get_prompts, "admin", response=prompts.PromptList),
    Route("GET", "/v1/admin/prompts/{role}", prompts.get_prompt, "admin", response=prompts.PromptState,
          errors=(404,)),
    Route("PUT", "/v1/admin/prompts/{role}", prompts.put_prompt, "admin", prompts.PromptChange, prompts.PromptState,
          errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/prompts/{role}/history", prompts.get_prompt_history, "admin",
          response=prompts.PromptHistory, errors=(404,)),
    Route("POST", "/v1/admin/prompts/{role}/try", prompts.post_trial, "admin", prompts.PromptTrial,
          schemas.RunAccepted, 202, errors=(400, 404, 409, 413, 415, 422)),
    Route("GET", "/v1/admin/users", people.get_users, "admin", response=people.AdminUserPage, errors=(400,),
          query={
              "q": (_SEARCH, "A part of a name, or a user id."),
              "sort": ({"type": "string", "enum": [*get_args(people.UserOrder)], "default": "id"},
                       "What the list is in the order of; but for id the highest first."),
              **_PAGE}),
    Route("PUT", "/v1/admin/users/{id}/roles", people.put_roles, "admin", people.RoleChange, people.AdminUser,
          errors=(400, 404, 413, 415, 422)),
    Route("POST", "/v1/admin/users/{id}/reset", people.post_reset, "admin", response=people.ResetLink, errors=(404,)),
    Route("GET", "/v1/admin/keys", people.get_keys, "admin", response=people.ApiKeyList),
    Route("POST", "/v1/admin/keys", people.post_key, "admin", people.NewApiKey, people.CreatedKey, 201,
          errors=(400, 404, 413, 415, 422)),
    Route("DELETE", "/v1/admin/keys/{key}", people.delete_key, "admin", status=204, errors=(404,)),
    Route("POST", "/v1/admin/knowledge", knowledge.post_shared_document, "admin", knowledge.NewSharedDocument,
          knowledge.AddedDocument, 201, errors=(400, 413, 415, 422), request_types=(attachments.FORM_TYPE,)),
    Route("GET", "/v1/admin/knowledge", knowledge.get_shared_documents, "admin", response=knowledge.DocumentPage,
          errors=(400,), query=_PAGE),
    Route("DELETE", "/v1/admin/knowledge/{document}", knowledge.delete_shared_document, "admin",
          response=knowledge.DocumentRemoved, errors=(400, 404), query=_ANSWERS),
    Route("POST", "/v1/admin/webhooks", webhooks.post_shared_webhook, "admin", webhooks.NewSharedWebhook,
          webhooks.CreatedWebhook, 201, errors=(400, 403, 413, 415, 422)),
    Route("GET", "/v1/admin/webhooks", webhooks.get_shared_webhooks, "admin", response=webhooks.WebhookList),
    Route("GET", "/v1/admin/audit", overview.get_admin_audit, "admin", response=overview.AuditPage, errors=(400,),
          query={**_USER, "action": (_TEXT, "Only rows of this action."), **_AUDIT_PAGE}),
    Route("GET", "/healthz", operations.healthz, "open", response=operations.Health),
    Route("GET", "/readyz", operations.readyz, "open", response=operations.Readiness, errors=(503,)),
    Route("GET", protected_resource.PATH, protected_resource.get_protected_resource, "open",
          response=protected_resource.ProtectedResource, errors=(404,)),
    Route("GET", "/metrics", operations.metrics, "metrics", response_types=("text/plain",)),
    Route("GET", "/openapi.json", operations.openapi, "open", response_types=("application/json",)),
    Route("GET", "/docs", operations.docs, "open", response_types=("text/html",)),
)  # fmt: skip
METHODS = sorted({route.method for route in ROUTES})


def all_routes() -> tuple[Route, ...]:
    """Our routes, then those of the plugins that are on. Raises MaasError."""
    return (*ROUTES, *(route for routes in load_parts("routes") for route in routes))
