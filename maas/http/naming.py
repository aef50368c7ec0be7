"""Who is meant by a name that a client knows a user by: somebody whom the caller is there for."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import Request

from maas.http.access import caller, check_user, count_user
from maas.http.rooms import rooms
from maas.pipeline.identities import as_id, find_user, name_user
from shared.errors import MaasError


async def named_user(request: Request, name: str | None) -> UUID:
    """The user of this name, who may be new; without a name the one that the caller is bound to, or stands for.

    Raises MaasError: `user_required`, `bad_user`, and `not_found` for a user that the caller is not there for.
    """
    bound_to = caller(request).user_id
    if name is None:
        user_id = bound_to or caller(request).default_user
        if user_id is None:
            raise MaasError("user_required", _WHO)
        return user_id
    user_id = await find_named(request, name)
    if user_id is None:
        if bound_to is not None:
            raise nobody(name)
        user_id = await name_user(rooms(request).db, name)
    count_user(request, user_id)
    return user_id


async def find_named(request: Request, name: str) -> UUID | None:
    """The same, but None for a name that nobody has yet and the caller may give. Raises MaasError as that does."""
    found = caller(request)
    if as_id(name) is None and not name.startswith(found.prefix or ""):
        raise nobody(name)
    user_id = await find_user(rooms(request).db, name)
    if user_id is not None and found.is_bound:
        try:
            await check_user(request, user_id)
        except MaasError as error:
            raise (nobody(name) if error.code == "not_found" else error) from error  # its own message tells the UUID
    return user_id


def nobody(name: str) -> MaasError:
    return MaasError("not_found", f"there is no user {name[:80]!r}")


_WHO = (
    "whose memory is it? Name the user: `user` in the body, or the header X-MaaS-User, any text of 1 to 200 "
    "characters; or use a key that is bound to one user"
)
