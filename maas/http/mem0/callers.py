"""Whose memory a request of mem0's API means: users by name, memories by id."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.requests import Request

from maas import queries
from maas.http.authorize import note_user, principal_of, serves
from maas.http.mem0.schemas import Mem0Memory
from maas.http.request_input import to_storable_text
from maas.http.state import app_state
from maas.http.users import find_user_by_name, resolve_user
from maas.memory.client_memories import ENTITIES, ClientMemory, ClientMemoryText, read_client_memories
from maas.memory.filters import ANY
from maas.memory.summaries import read_memory
from shared.errors import MaasError
from shared.json import parse_json

MAX_FILTERS_CHARS = 2000
USER_REQUIRED = (
    "user_id: is required, any text of 1 to 200 characters, as a field or in filters: memory belongs to one user; or "
    "use a key that is bound to one user"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """A user and the name that responses show."""

    user_id: UUID
    name: str


async def find_owner(request: Request, name: str | None) -> Owner | None:
    """Return the user with this name, or the principal's own; None for a name that nobody has.

    Raises MaasError: `bad_parameter`, `user_required`, `bad_user`, and `not_found` for a user whom the principal does
    not serve.
    """
    _check_name(name)
    if name is None:
        return await _own(request)
    user_id = await find_user_by_name(request, name)
    if user_id is None and principal_of(request).user_id is not None:
        raise MaasError("not_found", f"there is no user {name[:80]!r}")
    return Owner(user_id, name) if user_id is not None else None


async def get_or_create_owner(request: Request, name: str | None) -> Owner:
    """Return the user as `find_owner`; an unknown name becomes a new user."""
    _check_name(name)
    if name is None:
        return await _own(request)
    return Owner(await resolve_user(request, name), name)


def agree_on_user(*names: str | None) -> str | None:
    """Return the user that a request names in one place or in several. Raises MaasError('bad_parameter')."""
    named = {name for name in names if name is not None}
    if len(named) > 1:
        raise MaasError("bad_parameter", "user_id: the field and the filters name different users")
    return next(iter(named), None)


def ids_of_filters(filters: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the ids in filters of ids alone. Raises MaasError('bad_parameter') for anything else in them."""
    ids = dict(filters or {})
    for name, value in ids.items():
        if name not in ("user_id", *ENTITIES) or not isinstance(value, str):
            known = ", ".join(("user_id", *ENTITIES))
            raise MaasError("bad_parameter", f"filters: can have {known} here, each a text; not {str(name)[:40]!r}")
    return ids


def to_filters(text: str) -> dict[str, str]:
    """Read filters in a query, of ids alone: JSON, or a dictionary as Python prints it, which the SDK sends.

    Raises ValueError, MaasError('bad_parameter').
    """
    if len(text) > MAX_FILTERS_CHARS:
        raise ValueError(f"must have at most {MAX_FILTERS_CHARS} characters")
    try:
        value = parse_json(text)
    except ValueError:
        try:
            value = ast.literal_eval(text)
        except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
            value = None
    if not isinstance(value, dict) or not value:
        raise ValueError("must be an object of ids, such as {'user_id': 'alice'}")
    return {name: to_storable_text(one) for name, one in ids_of_filters(value).items()}


async def read_own(request: Request, memory_id: UUID) -> tuple[Owner, ClientMemoryText]:
    """Return a memory, which may also be a fact, a summary or a message of the assistant, and its user.

    Raises MaasError('not_found'), also for a memory of a user whom the principal does not serve.
    """
    db = app_state(request).db
    row = await read_memory(db, memory_id)
    user_id = row["user_id"]
    if not await serves(request, user_id):
        raise MaasError("not_found", f"there is no memory {memory_id}")
    await note_user(request, user_id)
    found = await read_client_memories(db, user_id, [memory_id])
    said = ClientMemory(row["id"], row["occurred_at"], row["occurred_at"])
    known = found[0] if found else ClientMemoryText(said, row["memory"], memory_id, is_message=False)
    return Owner(user_id, await name_of(request, user_id)), known


async def read_own_messages(request: Request, ids: Sequence[UUID]) -> list[tuple[Owner, ClientMemoryText]]:
    """Return memories that are messages of a user. Raises MaasError: `not_found`; `conflict` for another kind."""
    own = [await read_own(request, memory_id) for memory_id in ids]
    if others := [known.memory.id for _, known in own if not known.is_message]:
        correct = "POST /v1/memories/{id}/correct or /v1/facts/{id}/correct corrects it"
        raise MaasError("conflict", f"memory {others[0]} is no message of the user; {correct}")
    return own


async def name_of(request: Request, user_id: UUID) -> str:
    """Return a name of the user that the principal may see, or the UUID of a user without one."""
    prefix = principal_of(request).prefix or ""
    rows = await app_state(request).db.rows(queries.user_names, user_id, prefix, 1, 0)
    return rows[0]["name"] if rows else str(user_id)


def to_memory(owner: Owner, known: ClientMemoryText, score: float | None = None) -> Mem0Memory:
    """Return the response for a memory."""
    memory = known.memory
    return Mem0Memory(
        id=memory.id,
        memory=known.text,
        user_id=owner.name,
        agent_id=memory.entities.get("agent_id"),
        app_id=memory.entities.get("app_id"),
        run_id=memory.entities.get("run_id"),
        metadata=dict(memory.metadata) if memory.metadata is not None else None,
        categories=list(memory.categories),
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        score=score,
    )


async def _own(request: Request) -> Owner:
    principal = principal_of(request)
    if principal.user_id is None and principal.default_user is None:
        raise MaasError("user_required", USER_REQUIRED)
    user_id = await resolve_user(request, None)
    return Owner(user_id, await name_of(request, user_id))


def _check_name(name: str | None) -> None:
    if name == ANY:
        raise MaasError("bad_parameter", "user_id: * would be all users; name one")
