"""Buttons that a run offered: a press is a run of its own, once however often one presses."""

from __future__ import annotations

from uuid import UUID

from shared.db import Database
from shared.errors import MaasError


async def press_button(
    db: Database, run_id: UUID, user_id: UUID, button: str, queue_limit: int | None = None
) -> UUID:  # fmt: skip
    """The run that does what the button stands for; the same one for a second press.

    Raises MaasError: `not_found`, `not_offered`, `queue_full`.
    """
    row = await db.row("press_button", run_id, user_id, button, queue_limit)
    assert row is not None
    match row["verdict"]:
        case "not_found":
            raise MaasError("not_found", f"there is no run {run_id} of this user")
        case "not_offered":
            raise MaasError("not_offered", f"run {run_id} offers no button {button!r}: press one of its `buttons`")
        case "queue_full":
            message = f"{queue_limit} requests of this user are not finished yet: wait for one and press again"
            raise MaasError("queue_full", message, {"limit": queue_limit, "retry_after": 5})
    pressed: UUID = row["run_id"]
    return pressed


async def pressed_button(db: Database, run_id: UUID) -> str | None:
    """Which button a run of kind `action` was made by; None for an approved action."""
    button: str | None = await db.value("pressed_button", run_id)
    return button
