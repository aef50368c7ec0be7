"""What `maas top` shows of the bots."""

from __future__ import annotations

from rich.console import RenderableType

from maas.channels.telegram import queries
from maas.terminal.output import figures_table, readable_duration, styled
from shared.db import Database


async def read_overview(db: Database) -> list[RenderableType]:
    """A table of the bots; `lost` are messages that may stand empty in a chat, or images that may not have arrived."""
    rows = await db.rows(queries.telegram_bots)
    table = figures_table("telegram bot", "last answer", "updates wait", "replies open", "dropped", "lost")
    for row in rows:
        answer = "never" if row["silent_s"] is None else f"{readable_duration(max(0.0, row['silent_s']))} ago"
        table.add_row(
            f"{row['username']} ({row['assistant']})",
            styled(answer, "red" if row["error"] else ""),
            str(row["waiting"]),
            str(row["open"]),
            str(row["dropped"]),
            str(row["orphaned"] + row["in_doubt"]),
        )
    return [table] if rows else []
