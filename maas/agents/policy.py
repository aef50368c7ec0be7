"""The approval policy: whether a tool call runs at once, waits for its user's approval, or is refused."""

from __future__ import annotations

from typing import Literal, assert_never

Effect = Literal["read", "write", "dangerous"]
Mode = Literal["auto", "plan", "ask"]
Decision = Literal["run", "ask", "refuse"]


def decide(effect: Effect, mode: Mode, is_allowed: bool) -> Decision:
    """Decide on a call with this effect. A dangerous call needs approval in every mode."""
    if not is_allowed:
        return "refuse"
    if effect == "dangerous" or mode == "ask":
        return "ask"
    match mode:
        case "auto":
            return "run"
        case "plan":
            return "ask" if effect == "write" else "run"
        case _:
            assert_never(mode)
