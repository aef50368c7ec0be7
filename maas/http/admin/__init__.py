"""/v1/admin: what administrators of all users see and change; reads of other people's data are written to the audit."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from starlette.requests import Request

from maas.http.auth import Principal
from maas.http.auth.authorize import principal_of
from maas.http.state import app_state
from shared.errors import MaasError


def admin_of(request: Request) -> Principal:
    """Return the principal of a request of the scope admin. Raises MaasError('forbidden') for one that is bound."""
    principal = principal_of(request)
    if principal.is_bound:
        raise MaasError("forbidden", "only administrators of all users may do this; your key is bound to some users")
    return principal


async def note_read(request: Request, action: str, user_id: UUID | None, **details: Any) -> None:
    """Write to the audit, once a minute, that the administrator reads data of this user, or of all users."""
    await app_state(request).access_audit.note(admin_of(request), action, user_id, **details)
