"""The routes of the advertising assistants: /api/brain and the preferences of users."""

from __future__ import annotations

from maas.assistants.ads.routes import brain, connecting, specs, telegram_chats
from maas.http import actions
from maas.http.conversations import ClearResult
from maas.http.openapi import IDEMPOTENCY_KEY
from maas.http.parameters import OWNER
from maas.http.route import Route
from maas.http.server_sent_events import EVENT_STREAM

BRAIN_EVENT = {
    "description": "One event. A comment is sent after 15 s of silence.",
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "type": "string",
            "description": "JSON with a `type`: text, tool_start, tool_result, approval_required, layer; the last is "
            "`done`, with all members of BrainAnswer, or `error`.",
        }
    },
}

ROUTES = (
    Route("GET", "/v1/users/{id}/specs", specs.get_specs, "read", response=specs.Specs, errors=(404,)),
    Route("PUT", "/v1/users/{id}/specs", specs.put_specs, "ask", specs.NewSpecs, specs.Specs,
          errors=(400, 404, 413, 415, 422), example={"specs": {"report_currency": "KZT"}}),
    Route("GET", "/v1/users/{id}/ads", connecting.get_ads, "read", response=connecting.AdsState, errors=(404,)),
    Route("POST", "/v1/users/{id}/ads/check", connecting.post_ads_check, "ask", connecting.ConnectionCheck,
          connecting.CheckResult, errors=(400, 404, 413, 415, 422), example={"facebook": {"token": "EAAB0123456789"}}),
    Route("POST", "/v1/users/{id}/ads/connections", connecting.post_ads_connections, "ask",
          connecting.NewConnections, connecting.AdsState, 201, errors=(400, 403, 404, 413, 415, 422),
          example={"business": "Kitchens", "whatsapp": {"instance": "main"}}),
    Route("POST", "/v1/users/{id}/ads/sync", connecting.post_ads_sync, "ask", connecting.SyncRequest,
          connecting.AdsState, 202, errors=(404, 413, 415, 422), example={"business_id": None}),
    Route("POST", "/api/brain/chat", brain.post_brain_chat, "ask", brain.BrainMessage, brain.BrainAnswer,
          errors=(400, 404, 409, 413, 415, 422, 429, 500, 504), headers=(IDEMPOTENCY_KEY,), example={
              "user": "alma@example.org", "message": "What did we spend today?", "assistant": "mentor",
          }),
    Route("POST", "/api/brain/chat/stream", brain.post_brain_stream, "ask", brain.BrainMessage,
          errors=(400, 404, 409, 413, 415, 422, 429), response_types=(EVENT_STREAM,), headers=(IDEMPOTENCY_KEY,),
          event=BRAIN_EVENT),
    Route("GET", "/api/brain/actions/{id}", brain.get_brain_action, "read", response=actions.Action,
          errors=(400, 404), query=OWNER),
    Route("POST", "/api/brain/actions/{id}/approve", brain.approve_brain_action, "ask", actions.ActionDecision,
          actions.Action, errors=(400, 404, 409, 413, 415, 422, 429)),
    Route("POST", "/api/brain/actions/{id}/reject", brain.reject_brain_action, "ask", actions.ActionDecision,
          actions.Action, errors=(400, 404, 409, 413, 415, 422)),
    Route("POST", "/api/brain/telegram/chat", telegram_chats.post_telegram_chat, "ask", telegram_chats.TelegramMessage,
          brain.BrainAnswer, errors=(400, 404, 409, 413, 415, 422, 429, 500, 504), headers=(IDEMPOTENCY_KEY,),
          example={"telegramChatId": 123456789, "message": "What did we spend today?", "assistant": "mentor"}),
    Route("POST", "/api/brain/telegram/clear", telegram_chats.post_telegram_clear, "ask", telegram_chats.TelegramChat,
          ClearResult, errors=(400, 404, 413, 415, 422)),
    Route("POST", "/api/brain/telegram/mode", telegram_chats.post_telegram_mode, "ask",
          telegram_chats.TelegramModeChange, telegram_chats.TelegramStatus, errors=(400, 404, 413, 415, 422),
          example={"telegramChatId": 123456789, "mode": "plan", "assistant": "mentor"}),
    Route("GET", "/api/brain/telegram/status", telegram_chats.get_telegram_status, "read",
          response=telegram_chats.TelegramStatus, errors=(400, 404), required=("telegramChatId",), query={
              "telegramChatId": (telegram_chats.CHAT_SCHEMA, "The id of a private chat."),
              "assistant": ({"type": "string", "format": "assistant"}, f"By default {brain.ASSISTANT}."),
          }),
)  # fmt: skip
