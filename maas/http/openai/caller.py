"""Who asks through OpenAI's API, in which conversation, and whether it is to be remembered.

Names come from the body, from our own headers, or from those that front ends send along. A key that is bound to one
user serves no other, whatever a header says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID, uuid5

import structlog
from starlette.requests import Request

from maas.http.authorize import principal_of
from maas.http.users import read_user_header, resolve_user
from shared.errors import MaasError
from shared.json import MAX_JSON_DEPTH, is_storable
from shared.text import is_blank

MAX_CONVERSATION_CHARS = 200
MAX_METADATA_BYTES = 65_536
CONVERSATION_HEADERS = ("x-maas-conversation", "x-openwebui-chat-id")
USER_HEADERS = ("x-openwebui-user-id", "x-litellm-end-user-id")  # after X-MaaS-User
log = structlog.get_logger()
TASK_HEADERS = ("x-maas-task", "x-openwebui-task")  # titles, tags and the like: answered, never remembered


@dataclass(frozen=True, slots=True)
class Caller:
    """`user`: the name of the user, None where none is given. `conversation`: any text, or None.

    `metadata` are those of the body without what is ours.
    """

    user: str | None
    conversation: str | None
    is_remembered: bool
    metadata: dict[str, Any] | None

    def conversation_id(self, user_id: UUID) -> UUID | None:
        """The id of the conversation: the text itself if it is a UUID, else one that belongs to this user's text."""
        if self.conversation is None:
            return None
        try:
            return UUID(self.conversation)
        except ValueError:
            return uuid5(user_id, self.conversation)


def read_caller(request: Request, body: Mapping[str, Any]) -> Caller:
    """Read who asks from the headers and from `user`, `safety_identifier`, `metadata` and `maas` of the body.

    Raises MaasError: `bad_parameter`, `bad_user`.
    """
    others = _read_object(body, "metadata")
    ours = _read_object(body, "maas")
    named = {name: others.pop(name, None) for name in ("conversation_id", "remember")}
    conversation = ours.get("conversation_id") or named["conversation_id"] or _header(request, CONVERSATION_HEADERS)
    is_remembered = all(
        _is_on(value, name)
        for name, value in (
            ("maas.remember", ours.get("remember")),
            ("metadata.remember", named["remember"]),
            ("X-MaaS-Remember", request.headers.get("x-maas-remember")),
        )
    )
    user = next((body[name] for name in ("user", "safety_identifier") if body.get(name) is not None), None)
    if user is not None and not isinstance(user, str):
        raise bad_parameter("user: must be text", "user")
    return Caller(
        user or read_user_header(request) or _header(request, USER_HEADERS),
        _read_conversation(conversation),
        is_remembered and _header(request, TASK_HEADERS) is None,
        others or None,
    )


async def resolve_caller(request: Request, caller: Caller) -> UUID:
    """The user who asks, as `resolve_user`; without access control one warning says that nobody was named."""
    principal = principal_of(request)
    if caller.user is None and principal.user_id is None and principal.default_user is not None:
        _warn_of_unnamed_users()
    return await resolve_user(request, caller.user)


@cache
def _warn_of_unnamed_users() -> None:
    log.warning("user_not_named", hint="requests without `user` or X-MaaS-User share the memory of this machine's user")


def bad_parameter(message: str, param: str = "messages") -> MaasError:
    """The error for a value of the request that cannot be used."""
    return MaasError("bad_parameter", message, {"param": param})


def unsupported_parameter(message: str, param: str) -> MaasError:
    """The error for a value of OpenAI's API that this server does not support."""
    return MaasError("unsupported_parameter", message, {"param": param})


def _read_object(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise bad_parameter(f"{name}: must be an object", name)
    if not is_storable(value):
        raise bad_parameter(
            f"{name}: must not contain NUL, lone surrogates, infinite numbers or more than {MAX_JSON_DEPTH} levels",
            name,
        )
    if len(json.dumps(value)) > MAX_METADATA_BYTES:
        raise bad_parameter(f"{name}: exceeds {MAX_METADATA_BYTES // 1024} KiB", name)
    return dict(value)


def _read_conversation(text: object) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str) or is_blank(text) or len(text) > MAX_CONVERSATION_CHARS or not is_storable(text):
        message = f"must be text of 1 to {MAX_CONVERSATION_CHARS} characters that is not blank"
        raise bad_parameter(f"metadata.conversation_id: {message}", "metadata.conversation_id")
    return text


def _header(request: Request, names: tuple[str, ...]) -> str | None:
    """The first of these headers that is not blank."""
    texts = (request.headers.get(name, "") for name in names)
    return next((text for text in texts if not is_blank(text)), None)


def _is_on(value: object, name: str) -> bool:
    """Whether a switch is on, which is the default."""
    if value not in (None, "on", "off"):
        raise bad_parameter(f"{name}: must be on or off", name)
    return value != "off"
