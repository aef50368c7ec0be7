"""Plans about a user as a whole: erased, taken along, brought back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from maas.clients.calls import Call, Plan
from maas.clients.filters import Filters, flat
from maas.clients.results import Deleted
from maas.clients.users import UserId, Users, name_of


def delete_all(users: Users, *, user_id: UserId | None = None, filters: Filters | None = None) -> Plan[Deleted]:
    """Erase a user from every table, whatever is in flight, the name too. Needs the scope admin."""
    user = yield from users.find(name_of(user_id, flat(filters)))
    counts: dict[str, int] = {}
    if user is not None:
        reply = yield Call(method="DELETE", path=f"/v1/users/{user}", is_done_if_gone=True)
        counts = reply.json["erased"] if reply.content else {}
        users.forget(user)
    return Deleted(message="Memories deleted successfully!", deleted=counts, doubtful=[])


def export(users: Users, *, user_id: UserId) -> Plan[bytes]:
    """Everything that is kept of a user, as lines of JSON that `import_` accepts; empty for a new one."""
    user = yield from users.find(name_of(user_id))
    return b"" if user is None else (yield Call(method="GET", path=f"/v1/users/{user}/export")).content


def import_(users: Users, lines: bytes | str | Iterable[Mapping[str, Any]], *, user_id: UserId) -> Plan[dict[str, Any]]:
    """Take in an export, or turns {role, content, at?, ...}: all of it or, with one clear error, nothing.

    The same again adds nothing. Returns counts and the ids of the runs that make records of it.
    """
    user = yield from users.name(name_of(user_id))
    if isinstance(lines, str):
        lines = lines.encode()
    elif not isinstance(lines, bytes):
        lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines).encode()
    headers = {"content-type": "application/x-ndjson"}
    return dict((yield Call(method="POST", path=f"/v1/users/{user}/import", content=lines, headers=headers)).json)
