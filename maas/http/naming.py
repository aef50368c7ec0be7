"""Who is meant by a name that a client knows a user by: somebody whom the caller is there for."""

from __future__ import annotations

from uuid import UUID

from starlette.requests import Request

from maas.http.access import caller, check_user, count_user
from maas.http.rooms import rooms
from maas.pipeline.identities import as_id, find_user, name_user
from shared.errors import MaasError


async def named_user(request: Request, name: str | None) -> UUID:
    """The user of this name, who may be new; without a name the one that the caller is bound to.

    Raises MaasError: `user_required`, `bad_user`, and `not_found` for a user that the caller is not there for.
    """
    found, db = caller(request), rooms(request).db
    if name is None:
        if found.user_id is None:
            raise MaasError("user_required", _WHO)
        return found.user_id
    if found.user_id is not None:
        if await find_user(db, name) != found.user_id:
            raise _nobody(name)
        return found.user_id
    if (user_id := as_id(name)) is not None:
        await check_user(request, user_id)
        return user_id
    if not name.startswith(found.prefix or ""):
        raise _nobody(name)
    user_id = await name_user(db, name)
    count_user(request, user_id)
    return user_id


_WHO = (
    "whose memory is it? Name the user: `user` in the body, or the header X-MaaS-User, any text of 1 to 200 "
    "characters; or use a key that is bound to one user"
)


def _nobody(name: str) -> MaasError:
    return MaasError("not_found", f"there is no user {name[:80]!r}")
