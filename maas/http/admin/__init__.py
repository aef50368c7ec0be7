"""/v1/admin: what administrators of all users see and change; reads of other people's data are written to the audit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from pydantic import Field
from starlette.requests import Request

from maas import queries
from maas.http.auth import Principal
from maas.http.authorize import principal_of
from maas.http.state import app_state
from shared.db import Database
from shared.errors import MaasError

USER_NAME = Field(None, description="A name or an email of the user; null where none is known.")


def admin_of(request: Request) -> Principal:
    """Return the principal of a request of the scope admin. Raises MaasError('forbidden') for one that is bound."""
    principal = principal_of(request)
    if principal.is_bound:
        raise MaasError("forbidden", "only administrators of all users may do this; your key is bound to some users")
    return principal


async def read_names(db: Database, user_ids: Iterable[UUID | None]) -> dict[UUID | None, str]:
    """Return what one calls each of these users, without those whose name is not known."""
    rows = await db.rows(queries.names_of_users, list({one for one in user_ids if one is not None}))
    return {row["user_id"]: row["name"] for row in rows if row["name"] is not None}


async def note_read(request: Request, action: str, user_id: UUID | None, **details: Any) -> None:
    """Write to the audit, once a minute, that the administrator reads data of this user, or of all users."""
    await app_state(request).access_audit.note(admin_of(request), action, user_id, **details)
