"""What requests look like: shown in the documentation, and sent by the tests."""

from __future__ import annotations

from typing import Any

USER = "5f0c2c1e-8f2f-4f0e-9d6a-2f6a3f1f7a10"
BODIES: dict[str, dict[str, Any]] = {
    "NewRun": {"user_id": USER, "query": "My sister Alma moved to Lisbon in May.", "metadata": {"channel": "web"}},
    "NewConversation": {"user_id": USER, "assistant": "mentor", "mode": "ask"},
    "ConversationChange": {"title": "Alma in Lisbon"},
    "ActionDecision": {"user_id": USER},
    "ActionEdit": {"user_id": USER, "arguments": {"to": "alma@example.org"}},
    "Press": {"user_id": USER, "button": "confirm"},
    "SearchQuery": {"user_id": USER, "query": "Where does Alma live?", "limit": 5, "from": "2025-01-01T00:00:00Z"},
    "ContextQuery": {"user_id": USER, "query": "Where does Alma live?", "max_tokens": 500},
    "ChatRequest": {
        "model": "mentor",
        "user": "alma@example.org",
        "messages": [{"role": "user", "content": "Who am I?"}],
    },
    "NewMemories": {"user_id": USER, "memory": "I play the cello.", "external_id": "diary-17"},
}
TURN = {"role": "user", "content": "I play the cello.", "at": "2025-11-20T18:30:00Z", "conversation": "diary"}
