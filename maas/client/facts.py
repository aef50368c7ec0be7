"""Operations on facts: what is known of a user, and what a person decides about it."""

from __future__ import annotations

from typing import Literal

from maas.client.calls import ApiCall, Operation
from maas.client.operations import PAGE_SIZE, Time, parse_id, to_iso
from maas.client.results import Fact, NotFound
from maas.client.users import UserId, Users, required_user

Verdict = Literal["wrong", "ended", "unused", "pinned", "free"]


def facts(
    users: Users,
    *,
    user_id: UserId,
    state: str | None = None,
    about: str | None = None,
    as_of: Time | None = None,
    limit: int = 100,
) -> Operation[list[Fact]]:
    """What is known of a user, newest first, at most `limit`: what is true or uncertain, or in the `state`, or `all`.

    `about` is a name, `user` for the user; `as_of` asks for what was known at that time. None for an unknown user.
    """
    user = yield from users.find(required_user(user_id))
    rows: list[Fact] = []
    cursor: dict[str, str] | None = {}
    wanted = {"state": state, "about": about, "as_of": to_iso(as_of)}
    params = {name: value for name, value in wanted.items() if value is not None}
    while user is not None and cursor is not None and len(rows) < limit:
        page_params = params | {"limit": min(limit - len(rows), PAGE_SIZE), **cursor}
        page = (yield ApiCall(method="GET", path=f"/v1/users/{user}/facts", params=page_params)).json
        rows += page["results"]
        cursor = {"before": page["next"]} if page["next"] else None
    return rows


def decide_fact(users: Users, fact_id: UserId, verdict: Verdict, *, user_id: UserId) -> Operation[None]:
    """Say that a fact is wrong, has ended, is unused or pinned, or none of these (free). Raises NotFound."""
    body = {"user_id": str((yield from _known(users, user_id, fact_id))), "verdict": verdict}
    yield ApiCall(method="POST", path=f"/v1/facts/{parse_id(fact_id)}/decide", body=body)


def correct_fact(users: Users, fact_id: UserId, fact: str, *, user_id: UserId) -> Operation[str]:
    """Say what is right instead of a fact; the id of the new fact. Raises NotFound."""
    body = {"user_id": str((yield from _known(users, user_id, fact_id))), "fact": fact}
    return str((yield ApiCall(method="POST", path=f"/v1/facts/{parse_id(fact_id)}/correct", body=body)).json["id"])


def merge_names(users: Users, name: str, same_as: str, *, user_id: UserId) -> Operation[int]:
    """Say that two names are one person or thing; how many facts are about `name`."""
    user = yield from users.get_or_create(required_user(user_id))
    body = {"name": name, "same_as": same_as}
    return int((yield ApiCall(method="POST", path=f"/v1/users/{user}/facts/names", body=body)).json["facts"])


def _known(users: Users, user_id: UserId, fact_id: UserId) -> Operation[UserId]:
    user = yield from users.find(required_user(user_id))
    if user is None:
        raise NotFound("not_found", f"there is no fact {fact_id}")
    return user
