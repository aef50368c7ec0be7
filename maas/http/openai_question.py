"""A chat completion that is asked for, as a request to MaaS: its last user message, what comes along, whose it is."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from maas.http.access import caller
from maas.http.fields import Words
from maas.http.naming import named_user
from maas.http.openai_bodies import ChatMessage, ChatRequest
from maas.http.openai_context import ignored, read_context
from maas.http.parameters import read_key
from maas.http.reading import read_body
from maas.http.rooms import rooms
from maas.pipeline.attachments import keep_upload
from maas.pipeline.completions import SOURCE, find_assistants
from maas.pipeline.submissions import Submission
from shared.errors import MaasError, problems_of
from shared.text import JSON_LEVELS, is_storable

IMAGES = 10
_DATA = re.compile(r"data:image/[\w.+-]+(?:;[\w.+=-]+)*;base64,", re.ASCII)
_WORDS: TypeAdapter[str] = TypeAdapter(Words)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what of the request is not honoured. `is_retry`: the client's own, marked by its SDK."""

    body: ChatRequest
    submission: Submission
    ignored: tuple[str, ...]
    is_retry: bool


async def read_question(request: Request) -> Question:
    """The body and what is asked with it; the images that come along are stored.

    Raises MaasError: what `read_body`, `named_user` and `keep_upload` raise, `unsupported_parameter`,
    `unknown_assistant`, `query_too_long`.
    """
    body = await read_body(request, ChatRequest)
    _check_parameters(body)
    query, images = _last_words(body.messages)
    context = read_context(body.messages)
    conversation_id, is_remembered, metadata = _metadata(body.metadata)
    is_remembered = is_remembered and _switch(request.headers.get("x-maas-remember"), "X-MaaS-Remember")
    db, key = rooms(request).db, read_key(request)
    if not await find_assistants(db, body.model):
        raise MaasError("unknown_assistant", f"there is no model {body.model[:80]!r}; GET /v1/models lists them")
    user_id = await named_user(request, body.user or body.safety_identifier or _header(request))
    kept = [(await keep_upload(db, user_id, image))["id"] for image in images]
    submission = Submission(
        user_id=user_id, query=query, assistant=body.model, conversation_id=conversation_id, metadata=metadata,
        source=SOURCE, caller=caller(request).name, idempotency_key=key, attachment_ids=tuple(dict.fromkeys(kept)),
        context=context, is_remembered=is_remembered,
    )  # fmt: skip
    return Question(body, submission, ignored(body), _is_retry(request))


def _check_parameters(body: ChatRequest) -> None:
    """What is not done is said, unless it makes no difference to who reads the answer."""
    for name, field in ChatRequest.model_fields.items():
        allowed = field.json_schema_extra.get("enum") if isinstance(field.json_schema_extra, dict) else None
        if isinstance(allowed, list) and getattr(body, name) not in allowed:
            raise _unsupported(name, f"{name}: {field.description}; leave it out")


def _last_words(messages: list[ChatMessage]) -> tuple[str, list[bytes]]:
    """Text and images of the last message that is not the system's; it must be of the user."""
    said = [one for one in messages if one.role not in ("system", "developer")]
    if not said:
        raise _invalid("messages: there is no message of the user")
    if said[-1].role != "user":
        raise _invalid(f"messages: the last one must be the user's; it is of the role {said[-1].role}")
    content = said[-1].content
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    texts = [_text(part) for part in parts if part.get("type") == "text"]
    images = [_image(part) for part in parts if part.get("type") == "image_url"]
    if others := [part for part in parts if part.get("type") not in ("text", "image_url")]:
        kind = str(others[0].get("type"))[:40]
        raise _unsupported("messages", f"messages: parts of the type {kind!r} are not understood; send text, image_url")
    if len(images) > IMAGES:
        raise _invalid(f"messages: {len(images)} images come along; at most {IMAGES} may")
    try:
        return _WORDS.validate_python("\n".join(texts)), images
    except ValidationError as error:
        raise _invalid(f"messages: the user's last one: {problems_of(error)[0].words}") from error


def _text(part: dict[str, Any]) -> str:
    if not isinstance(text := part.get("text"), str):
        raise _invalid("messages: a part of the type text needs `text`, a string")
    return text


def _image(part: dict[str, Any]) -> bytes:
    """The bytes of a data: URL; nothing is fetched for a client from elsewhere."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str) or not (head := _DATA.match(url)):
        raise _invalid("messages: image_url: url must be a data: URL, data:image/png;base64,...; nothing is fetched")
    try:
        return b64decode(url[head.end() :], validate=True)
    except ValueError as error:
        raise _invalid(f"messages: image_url: is not base64: {error}") from error


def _metadata(metadata: dict[str, Any] | None) -> tuple[UUID | None, bool, dict[str, Any] | None]:
    """`conversation_id` and `remember` of the metadata, and what is left of it."""
    if not is_storable(metadata):
        raise _invalid(
            f"metadata: must not contain NUL, lone surrogates, infinite numbers or more than {JSON_LEVELS} levels",
            "metadata",
        )
    others = dict(metadata or {})
    text = others.pop("conversation_id", None)
    is_remembered = _switch(others.pop("remember", None), "metadata.remember")
    try:
        return (None if text is None else UUID(text)), is_remembered, others or None
    except (ValueError, AttributeError, TypeError) as error:
        raise _invalid("metadata.conversation_id: must be a UUID", "metadata.conversation_id") from error


def _switch(value: object, name: str) -> bool:
    """Whether `remember` is on, as it is where nothing is said."""
    if value not in (None, "on", "off"):
        raise _invalid(f"{name}: must be on or off", name)
    return value != "off"


def _is_retry(request: Request) -> bool:
    """Whether the client's SDK asks again by itself, and not with a key, which leads to the same run anyway."""
    count = request.headers.get("x-stainless-retry-count", "")
    return count.isascii() and count.isdigit() and count.strip("0") != "" and read_key(request) is None


def _header(request: Request) -> str | None:
    """X-MaaS-User; headers are bytes, and these are UTF-8."""
    text = request.headers.get("x-maas-user")
    if text is None:
        return None
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise MaasError("bad_user", "X-MaaS-User: must be UTF-8") from error


def _invalid(message: str, param: str = "messages") -> MaasError:
    return MaasError("bad_parameter", message, {"param": param})


def _unsupported(param: str, message: str) -> MaasError:
    return MaasError("unsupported_parameter", message, {"param": param})
