"""Documents of Hindsight, as its document transfer exports them: what was retained; and the facts made from it.

The form is that of TransferDocument and TransferManifest in vectorize-io/hindsight,
`hindsight-api-slim/hindsight_api/engine/transfer/schema.py` and `export.py` at da9a588c; what was retained with a
document, of `_build_retain_params` in `engine/retain/orchestrator.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maas.memory.transfer.sources.parts import Draft, LeftOut, Part

NAME = "Hindsight"
MAX_TEXT_CHARS = 250_000  # of one message; a longer document comes in its chunks
DERIVED = {
    "observation_count": "observations that were derived",
    "mental_model_count": "mental models that were derived",
    "knowledge_page_count": "knowledge pages",
    "directive_count": "directives",
    "webhook_count": "webhooks",
}


def matches(item: Mapping[str, Any]) -> bool:
    """Whether it is a document, or the manifest of an archive."""
    is_document = "id" in item and ("original_text" in item or {"chunks", "facts"} <= item.keys())
    return is_document or {"schema_version", "source_bank_id"} <= item.keys()


def read(item: Mapping[str, Any]) -> Iterator[Part]:
    """Yield the text of a document, else its chunks; its facts only where no words were kept."""
    if "source_bank_id" in item:
        yield from (LeftOut(what, item[name]) for name, what in DERIVED.items() if item.get(name))
        return
    document = item["id"]
    at = (item.get("retain_params") or {}).get("event_date") or item.get("created_at")  # said, else retained
    facts = item.get("facts") or []
    text = item.get("original_text")
    chunks = sorted(item.get("chunks") or [], key=lambda one: one["chunk_index"])
    if text and (len(text) <= MAX_TEXT_CHARS or not chunks):
        yield Draft("user", text, document, at, document)
    elif chunks:
        for one in chunks:
            yield Draft("user", one["chunk_text"], f"{document} {one['chunk_index']}", at, document)
    else:
        for number, fact in enumerate(facts):
            role = "assistant" if fact["fact_type"] == "experience" else "user"
            when = fact.get("mentioned_at") or fact.get("occurred_start") or fact.get("event_date") or at
            yield Draft(role, fact["text"], f"{document} fact {number}", when, document)
        return
    if facts:
        yield LeftOut("facts that were derived", len(facts))
