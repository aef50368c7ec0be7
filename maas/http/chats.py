"""What the chats of other protocols have in common: conversations by name, and the text and images of a message."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterable, Sequence
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import TypeAdapter, ValidationError

from maas.conversations.attachments import store_upload
from maas.http.schemas import QueryText
from maas.http.state import AppState
from shared.errors import MaasError, problems_of

MAX_MESSAGES = 1000  # of a dialogue that a client sends along
MAX_IMAGES = 10
_QUERY: TypeAdapter[str] = TypeAdapter(QueryText)


def conversation_named(user_id: UUID, name: str) -> UUID:
    """Return the conversation that a client's name means: its own UUID, else one made of the text and the user."""
    try:
        return UUID(name)
    except ValueError:
        return uuid5(NAMESPACE_URL, json.dumps(["maas", "ui", str(user_id), name]))


def key_of(protocol: str, names: Sequence[object]) -> str:
    """Return the idempotency key of a message, made of all that makes it another request."""
    return f"{protocol} {uuid5(NAMESPACE_URL, json.dumps(names))}"


def read_query(texts: Iterable[object]) -> str:
    """Return the question that the texts of a message are. Raises MaasError('bad_parameter')."""
    try:
        return _QUERY.validate_python("\n".join(text for text in texts if isinstance(text, str)))
    except ValidationError as error:
        raise bad_message(f"the last user message: {problems_of(error)[0].message}") from error


def decode_images(texts: Sequence[str]) -> list[bytes]:
    """Return the images of a message, sent in base64. Raises MaasError('bad_parameter')."""
    if len(texts) > MAX_IMAGES:
        raise bad_message(f"the last user message has {len(texts)} files; at most {MAX_IMAGES} are allowed")
    try:
        return [b64decode(text, validate=True) for text in texts]
    except ValueError as error:
        raise bad_message(f"a file is not base64: {error}") from error


async def store_images(state: AppState, user_id: UUID, images: Sequence[bytes]) -> tuple[UUID, ...]:
    """Store the images of a message and return their ids."""
    ids = []
    for image in images:
        async with state.shares.images.hold(user_id):
            ids.append((await store_upload(state.db, user_id, image))["id"])
    return tuple(dict.fromkeys(ids))


def bad_message(problem: str) -> MaasError:
    """The error for messages that hold no question."""
    return MaasError("bad_parameter", f"messages: {problem}")
