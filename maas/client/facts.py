"""Operations on facts: what is true of a user, and what a person decides about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from .calls import PAGE_SIZE, ApiCall, Operation, read_pages
from .messages import Time, isoformat
from .operations import parse_id
from .results import CorrectedFact, Fact, FactState, Verdict
from .users import UserId, Users, owner_of, required_user


def facts(
    users: Users,
    *,
    user_id: UserId,
    state: FactState | Literal["all"] | None = None,
    about: str | None = None,
    as_of: Time | None = None,
    limit: int = 100,
) -> Operation[list[Fact]]:
    """What is known of a user, newest first, at most `limit`; nothing for an unknown user.

    Without `state`: what is true or uncertain. `about` is `user` or a name; `as_of` shows what was known at that time.
    """
    user = yield from users.find(required_user(user_id))
    if user is None:
        return []
    filters = _sent({"state": state, "about": about, "as_of": isoformat(as_of)})
    rows: list[Fact] = yield from read_pages(f"/v1/users/{user}/facts", filters, limit)
    return rows


def read_facts(user: UUID, limit: int, params: Mapping[str, str | None]) -> Operation[dict[str, Any]]:
    """A page of facts; parameters that are None are not sent."""
    sent = {"limit": min(limit, PAGE_SIZE)} | _sent(params)
    return dict((yield ApiCall(method="GET", path=f"/v1/users/{user}/facts", params=sent)).json)


def decide_fact(users: Users, fact_id: UserId, verdict: Verdict, *, user_id: UserId) -> Operation[None]:
    """Say that a fact is wrong, has ended, is unused (no model may see it), pinned (every model sees it), or free.

    It counts for the statement, whoever says it again. Raises NotFound, also if the fact is not of `user_id`.
    """
    path = f"/v1/facts/{parse_id(fact_id)}/decide"
    user = yield from owner_of(users, user_id, f"fact {fact_id}")
    yield ApiCall(method="POST", path=path, body={"user_id": str(user), "verdict": verdict})


def correct_fact(users: Users, fact_id: UserId, text: str, *, user_id: UserId) -> Operation[CorrectedFact]:
    """Say what is right instead of a fact, as a statement of the user; the same text again is the same correction.

    Raises NotFound, also if the fact is not of `user_id`.
    """
    path = f"/v1/facts/{parse_id(fact_id)}/correct"
    user = yield from owner_of(users, user_id, f"fact {fact_id}")
    reply = (yield ApiCall(method="POST", path=path, body={"user_id": str(user), "fact": text})).json
    return CorrectedFact(id=reply["id"], request_id=reply["request_id"])


def merge_names(users: Users, name: str, same_as: str, *, user_id: UserId) -> Operation[int]:
    """Say that two names, such as sister and Anna, are one person or thing; returns how many facts `name` has."""
    user = yield from users.get_or_create(required_user(user_id))
    body = {"name": name, "same_as": same_as}
    return int((yield ApiCall(method="POST", path=f"/v1/users/{user}/facts/names", body=body)).json["facts"])


def _sent(params: Mapping[str, str | None]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}
