"""An example of each request body, for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from maas.http.route import Route

EXAMPLE_USER = "5f0c2c1e-8f2f-4f0e-9d6a-2f6a3f1f7a10"
REQUEST_EXAMPLES: dict[str, dict[str, Any]] = {
    "NewRun": {
        "user_id": EXAMPLE_USER,
        "query": "My sister Alma moved to Lisbon in May.",
        "metadata": {"channel": "web"},
    },
    "NewPause": {"subject": "model", "name": "openai:gpt-4o", "reason": "the provider loses requests"},
    "PauseEnd": {"subject": "model", "name": "openai:gpt-4o"},
    "CancelSelection": {"assistant": "mentor", "attributes": {"batch": 7}, "expected": 120},
    "RetrySelection": {"error_code": "timeout", "from": "2026-11-26T00:00:00Z"},
    "NewConversation": {"user_id": EXAMPLE_USER, "assistant": "mentor", "mode": "ask"},
    "ConversationChange": {"title": "Alma in Lisbon"},
    "NewLink": {"days": 7},
    "NewClient": {"client_name": "Editor", "redirect_uris": ["http://127.0.0.1/callback"]},
    "TokenForm": {
        "grant_type": "refresh_token",
        "client_id": "maasci_q7Zk2m0Hn3yXc9VbT1sR4w",
        "refresh_token": "maasrt_q7Zk2m0Hn3yXc9VbT1sR4wq7Zk2m0Hn3yXc9VbT1sR",
    },
    "RevocationForm": {
        "token": "maasrt_q7Zk2m0Hn3yXc9VbT1sR4wq7Zk2m0Hn3yXc9VbT1sR",
        "client_id": "maasci_q7Zk2m0Hn3yXc9VbT1sR4w",
    },
    "AppRequest": {
        "client_id": "maasci_q7Zk2m0Hn3yXc9VbT1sR4w",
        "response_type": "code",
        "redirect_uri": "http://127.0.0.1:4711/callback",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "S256",
        "scope": "read ask",
    },
    "SharedToken": {"token": "q7Zk2m0Hn3yXc9VbT1sR4w"},
    "ActionDecision": {"user_id": EXAMPLE_USER},
    "ActionDecisions": {
        "user_id": EXAMPLE_USER,
        "decision": "approve",
        "actions": [{"id": "9d1e6a2b-5c3f-4a7d-8b0e-1f2a3b4c5d6e", "fingerprint": "0123456789abcdef0123456789abcdef"}],
    },
    "ActionEdit": {"user_id": EXAMPLE_USER, "arguments": {"to": "alma@example.org"}},
    "ButtonPress": {"user_id": EXAMPLE_USER, "button": "confirm"},
    "SearchQuery": {
        "user_id": EXAMPLE_USER,
        "query": "Where does Alma live?",
        "limit": 5,
        "from": "2025-01-01T00:00:00Z",
    },
    "ContextQuery": {"user_id": EXAMPLE_USER, "query": "Where does Alma live?", "max_tokens": 500},
    "ChatRequest": {
        "model": "mentor",
        "user": "alma@example.org",
        "messages": [{"role": "user", "content": "Who am I?"}],
    },
    "MessageRequest": {
        "model": "anthropic:claude-sonnet-5",
        "max_tokens": 1000,
        "user": "alma@example.org",
        "messages": [{"role": "user", "content": "Who am I?"}],
    },
    "NewProfile": {"name": "Alma", "position": "Marketing", "department": "Sales", "language": "en"},
    "NewPreferences": {"preferences": {"focus_time": "from nine to eleven"}},
    "PromptChange": {"text": "You answer in one sentence.", "is_active": True, "version": 3},
    "PromptTrial": {"run_id": EXAMPLE_USER, "text": "You answer in one sentence."},
    "NewPrice": {"provider": "openai", "model": "gpt-5", "input": 1.25, "cached": 0.125, "output": 10},
    "PricedModel": {"provider": "openai", "model": "gpt-5"},
    "NewFilter": {"query": "status=FAILED&error=timeout"},
    "NewBudget": {"daily_tokens": 500000, "daily_dollars": 2.5},
    "TrialSetRuns": {"run_ids": [EXAMPLE_USER]},
    "RoleChange": {"is_admin": True},
    "NewApiKey": {"name": "web shop", "scopes": ["ask", "read"], "prefix": "shop:", "per_minute": 600},
    "NewOwnKey": {"name": "my notes", "scopes": ["ask", "read"], "days": 90},
    "NewWebhook": {"user_id": EXAMPLE_USER, "url": "https://example.com/maas", "events": ["run.completed"]},
    "NewSharedWebhook": {"url": "https://example.com/maas", "texts": True},
    "WebhookChange": {"enabled": True},
    "SecretRotation": {"hours": 24},
    "DeliveryReplay": {"delivery_id": EXAMPLE_USER},
    "ScheduleRequest": {
        "user_id": EXAMPLE_USER,
        "query": "What is on my list for today?",
        "cron": "30 8 * * 1-5",
        "timezone": "Europe/Lisbon",
    },
    "RunReplay": {"stage": "final_responder", "model": "openai:gpt-4o"},
    "ScheduleUpdate": {"paused": True},
    "NewToolCall": {
        "user_id": EXAMPLE_USER,
        "assistant": "mentor",
        "tool": "getLeads",
        "arguments": {"period": "last_7d"},
    },
    "SignUp": {"email": "alma@example.org", "password": "the cello of Lisbon", "data": {"name": "Alma"}},
    "TokenRequest": {"email": "alma@example.org", "password": "the cello of Lisbon"},
    "Verification": {"type": "recovery", "token_hash": "8c6QmJ0e1qg2Jb0vZ3xWkS5f"},
    "UserChange": {"data": {"name": "Alma"}},
    "UIChat": {
        "id": "tea",
        "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "I like tea."}]}],
        "trigger": "submit-message",
        "user": "ann@example.org",
    },
    "AgentInput": {
        "threadId": "tea",
        "runId": "run-1",
        "messages": [{"id": "m1", "role": "user", "content": "I like tea."}],
        "user": "ann@example.org",
    },
    "RpcRequest": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "I like tea."}]}},
    },
    "NewCorrection": {"user_id": EXAMPLE_USER, "memory": "I play the viola, not the cello."},
    "FactDecision": {"user_id": EXAMPLE_USER, "verdict": "pinned"},
    "FactCorrection": {"user_id": EXAMPLE_USER, "fact": "I live in Bergen."},
    "NameMerge": {"name": "sister", "same_as": "Anna"},
    "NewTextDocument": {
        "user_id": EXAMPLE_USER,
        "name": "handbook.md",
        "text": "# Keys\n\nThe keys are kept at the reception.",
    },
    "Mem0Add": {
        "messages": [{"role": "user", "content": "I play the cello."}],
        "user_id": "alma@example.org",
        "metadata": {"topic": "music"},
    },
    "Mem0Search": {
        "query": "What does Alma play?",
        "filters": {"AND": [{"user_id": "alma@example.org"}, {"metadata": {"topic": "music"}}]},
        "top_k": 5,
    },
    "Mem0List": {"filters": {"user_id": "alma@example.org"}},
    "Mem0Update": {"text": "I play the viola.", "metadata": {"topic": "music"}},
    "NewMemories": {"user_id": EXAMPLE_USER, "memory": "I play the cello.", "external_id": "diary-17"},
}


def request_examples(routes: Iterable[Route]) -> dict[str, dict[str, Any]]:
    """The example of each request body, by the name of its schema."""
    own = {route.body.__name__: route.example for route in routes if route.body is not None and route.example}
    return REQUEST_EXAMPLES | own
