"""The newest exchanges of a conversation as messages of their own, before what the user says now."""

from __future__ import annotations

from maas import queries
from maas.engine.run import Run
from maas.engine.stages import Deps
from maas.memory.recent_messages import fair_share
from shared import tokens
from shared.models import Message
from shared.text import clean

MAX_HISTORY_TOKENS = 2000


async def earlier_messages(run: Run, deps: Deps, exchanges: int) -> tuple[Message, ...]:
    """At most `exchanges` whole exchanges before this run, the oldest first, cut evenly to MAX_HISTORY_TOKENS.

    What waits for its answer, or has none, is left out, so that the speakers take turns.
    """
    if not exchanges or run.conversation_id is None:
        return ()
    rows = await deps.db.rows(queries.recent_messages, run.user_id, run.seq, run.conversation_id, 2 * exchanges)
    found: dict[object, dict[str, str]] = {}
    for row in reversed([row for row in rows if row["run_id"] is not None]):  # others are imported
        found.setdefault(row["run_id"], {})[row["message_type"]] = clean(row["content"]).strip()
    texts = [(one.get("user_query"), one.get("assistant_response")) for one in found.values()]
    said = [text for asked, answer in texts if asked and answer for text in (asked, answer)]
    room = tokens.within(MAX_HISTORY_TOKENS, deps.models["FinalResponder"].provider)
    share = fair_share([tokens.count(text) for text in said], room)
    return tuple(
        Message("assistant" if number % 2 else "user", tokens.fit(text, share)) for number, text in enumerate(said)
    )
