"""/mem0/v1/ping and /mem0/v1/entities: what mem0's SDKs call first, and the users that they list and delete."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from maas import queries
from maas.http.admin import note_read
from maas.http.authorize import principal_of
from maas.http.mem0.callers import find_owner, name_of
from maas.http.mem0.memories import page_links, page_of
from maas.http.mem0.schemas import Mem0Done, Mem0Entities, Mem0Entity, Mem0Ping
from maas.http.schemas import json_response
from maas.http.state import app_state
from maas.memory.erase import erase_user
from shared.errors import MaasError

NOT_FOR_ALL = "the list of all users requires the scope admin; use a key of one user or of a prefix, or name the user"


async def get_mem0_ping(request: Request) -> Response:
    """Tell mem0's SDKs that the key is valid; the organization and the project are names without a use."""
    return json_response(Mem0Ping())


async def get_mem0_entities(request: Request) -> Response:
    """List users by name for mem0's SDKs: those whom the key serves.

    A key that is bound to nobody needs the scope admin. Agents, applications and sessions are not listed.
    """
    page, size = page_of(request)
    principal = principal_of(request)
    if principal.is_administrator and not principal.is_bound:
        await note_read(request, "users_list", None)
    elif not principal.is_bound and not principal.is_anybody:
        raise MaasError("forbidden", NOT_FOR_ALL)
    args = (principal.user_id, principal.prefix or "", size, (page - 1) * size)
    rows = await app_state(request).reads.rows(queries.user_names, *args)
    results = [Mem0Entity(id=row["user_id"], name=row["name"], created_at=row["created_at"]) for row in rows]
    count = rows[0]["total"] if rows else (page - 1) * size
    if principal.user_id is not None and not count:
        own = await name_of(request, principal.user_id)
        results, count = [Mem0Entity(id=principal.user_id, name=own, created_at=None)], 1
    return json_response(Mem0Entities(results=results, count=count, **page_links(request, page, size, count)))


async def delete_mem0_entity(request: Request) -> Response:
    """Erase a user from every table for mem0's SDKs, unfinished runs included."""
    kind, name = request.path_params["entity_type"], request.path_params["entity"]
    if kind != "user":
        message = (
            f"only users can be deleted, not {kind[:40]!r}: delete_all(user_id=..., agent_id=...) deletes memories"
        )
        raise MaasError("not_found", message)
    owner = await find_owner(request, name)
    if owner is None:
        raise MaasError("not_found", f"there is no user {name[:80]!r}")
    state = app_state(request)
    async with state.shares.deletions.hold(owner.user_id):
        await erase_user(state.long_db, owner.user_id, principal_of(request).name)
    return json_response(Mem0Done(message="Entity deleted successfully!"))


async def delete_mem0_entity_v1(request: Request) -> Response:
    """Erase a user by the older path of mem0's SDKs."""
    return await delete_mem0_entity(request)
