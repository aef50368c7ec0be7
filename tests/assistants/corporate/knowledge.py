"""What the stand-in for LightRAG holds in tests."""

from __future__ import annotations

from typing import Any

LIGHTRAG_KEY = "lightrag-key-0123456789"
TRACK = "insert_20261124_004254_bf976543"
LIGHTRAG: dict[str, Any] = {
    "api_key": LIGHTRAG_KEY,
    "documents": {
        "vacation.md": {"text": "The Vacation lasts 28 days. Ivanov signs it.", "track_id": TRACK},
        "trips.md": {"text": "Командировки оплачивает Бухгалтерия.", "track_id": "insert_1"},
        "broken.pdf": {"status": "failed", "error": "no text", "track_id": TRACK},
    },
}
