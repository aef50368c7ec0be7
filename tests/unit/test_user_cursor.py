"""Cursors of a user's events: whatever commits when, from any event on every later change is sent, and no earlier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.runs.user_events import UserCursor, to_page

AT = datetime(2026, 11, 23, tzinfo=UTC)
xids = st.integers(1, 40)
cursors = st.builds(
    UserCursor,
    st.integers(0, 10**18 - 1),
    st.frozensets(st.integers(0, 10**18 - 1), max_size=5),
    st.none() | st.tuples(st.integers(0, 10**18 - 1), st.uuids()),
)


@given(cursors)
def test_the_id_of_an_event_is_its_cursor(cursor: UserCursor) -> None:
    assert UserCursor.parse(str(cursor)) == cursor


@pytest.mark.parametrize("text", ["", "1.", "a", "1_2", "1" * 19, "1.1_1_" + "F" * 32, "1\n", "٣"])
def test_other_texts_are_no_cursor(text: str) -> None:
    with pytest.raises(ValueError, match="must be the id of an event"):
        UserCursor.parse(text)


def row(run: int, xid: int) -> dict[str, Any]:
    return {
        "id": UUID(int=run),
        "xid": xid,
        "conversation_id": None,
        "kind": "ask",
        "status": "NEW",
        "archive_status": "PENDING",
        "updated_at": AT,
    }


def is_unseen(cursor: UserCursor, one: Mapping[str, Any]) -> bool:
    """The condition in `follow_users`."""
    if cursor.last is not None and one["xid"] == cursor.last[0] and one["id"] <= cursor.last[1]:
        return False
    return bool(one["xid"] >= cursor.next_xid or one["xid"] in cursor.in_flight)


def read(cursor: UserCursor | None, table: Sequence[dict[str, Any]], present: UserCursor) -> Any:
    """What a read at the snapshot `present` gives."""
    visible = [one for one in table if one["xid"] < present.next_xid and one["xid"] not in present.in_flight]
    rows = [one for one in visible if cursor is None or is_unseen(cursor, one)]
    shared = {"next_xid": present.next_xid, "in_flight": sorted(present.in_flight)}
    read: list[Any] = [one | shared for one in rows] or [shared | {"id": None}]
    return to_page(cursor, read)


@given(st.lists(st.tuples(st.integers(1, 8), xids), max_size=30), st.frozensets(xids), st.frozensets(xids), st.data())
def test_every_change_is_sent_once_from_any_event_on(
    written: list[tuple[int, int]], first: frozenset[int], second: frozenset[int], data: st.DataObject
) -> None:
    """Two pages at two snapshots; `first` and `second` are the transactions that are in flight then."""
    end = data.draw(st.integers(1, 20))
    before = UserCursor(end, frozenset(xid for xid in first if xid < end))
    after = UserCursor(41, frozenset(xid for xid in second if xid >= end or xid in before.in_flight))
    table = [row(number, xid) for number, (_, xid) in enumerate(written, 1)]
    page = read(UserCursor(0), table, before)
    following = read(page.cursor, table, after)
    sent = [event.run_id for event in (*page.events, *following.events)]
    assert len(sent) == len(set(sent))
    assert set(sent) == {one["id"] for one in table if one["xid"] not in after.in_flight}
    for events, rest, snapshot in ((page.events, (), before), (following.events, page.events, after)):
        for number, event in enumerate(events, 1):
            again = [one.run_id for one in read(UserCursor.parse(str(event.cursor)), table, snapshot).events]
            assert again == [one.run_id for one in events[number:]]
            final = read(event.cursor, table, UserCursor(41))
            known = {one.run_id for one in (*rest, *events[:number])}
            assert {one.run_id for one in final.events} == {one["id"] for one in table} - known
