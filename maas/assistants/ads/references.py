"""What a person calls an object, and which one is meant: an id of ours or of a vendor, or a name that only one has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from maas.tools.calls import ToolFailure
from shared.text import one_line, shorten

DELETED = "DELETED"
PAST = ("ARCHIVED", DELETED)
MAX_NAMED = 5
MAX_NAME_CHARS = 60
Row = TypeVar("Row", bound=Mapping[str, Any])


class Refusal(NamedTuple):
    """Why something cannot be done: for a model, and as a sentence in Russian for people, as assistants here speak."""

    message: str
    say: str


def the_one(rows: Sequence[Row], missing: Refusal, id_column: str = "id") -> Row:
    """The row with the id that was asked for, which `is_id` marks and which comes first, else the only one by name,
    or the only one of them that is not deleted, or neither archived nor deleted.

    Raises ToolFailure: with `missing` where there is none, and with their ids where several have the name.
    """
    if not rows:
        raise ToolFailure(*missing)
    if rows[0]["is_id"] or len(rows) == 1:
        return rows[0]
    for past in ((DELETED,), PAST):
        if len(current := [row for row in rows if row["status"].upper() not in past]) == 1:
            return current[0]
    named = ", ".join(f"{row[id_column] or row['id']} ({row['status']})" for row in rows[:MAX_NAMED])
    label = shorten(one_line(str(rows[0]["name"])), MAX_NAME_CHARS)
    raise ToolFailure(
        f"several are named {label!r}; ask the user which one, and take its id: {named}",
        f"С названием «{label}» их несколько: назовите нужное по id.",
    )
