"""The routes of protocols by which front ends and other agents talk to assistants: useChat, AG-UI, A2A."""

from __future__ import annotations

from maas.http.a2a import card, rpc
from maas.http.a2a import schemas as a2a
from maas.http.ag_ui import agent
from maas.http.ag_ui import schemas as ag_ui
from maas.http.ai_sdk import chat as ai_sdk
from maas.http.route import Route
from maas.http.server_sent_events import EVENT_STREAM

AGENT_ROUTES = (
    Route("POST", "/v1/ui/chat", ai_sdk.post_ui_chat, "ask", ai_sdk.UIChat, errors=(400, 404, 409, 413, 415, 422, 429),
          response_types=(EVENT_STREAM,)),
    Route("GET", "/v1/ui/chat/{chat}/stream", ai_sdk.get_ui_stream, "read", errors=(400, 404, 422),
          response_types=(EVENT_STREAM,), query={
              "user": ({"type": "string", "minLength": 1, "maxLength": 200}, "The user by name; else X-MaaS-User."),
          }),
    Route("POST", "/v1/ag-ui/{model}", agent.post_ag_ui, "ask", ag_ui.AgentInput,
          errors=(400, 404, 409, 413, 415, 422, 429), response_types=(EVENT_STREAM,)),
    Route("POST", "/v1/a2a/{model}", rpc.post_a2a, "ask", a2a.RpcRequest, a2a.RpcResponse,
          errors=(400, 403, 404, 413, 415, 429), response_types=(EVENT_STREAM,), error_schema=a2a.RpcError),
    Route("GET", "/v1/a2a/{model}" + card.PATH, card.get_agent_card_of, "open", response=card.AgentCard, errors=(404,)),
    Route("GET", card.PATH, card.get_agent_card, "open", response=card.AgentCard, errors=(404,)),
)  # fmt: skip
