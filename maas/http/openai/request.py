"""A chat completion request as a submission: its last user message is the query, the rest is context."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request

from maas.conversations.attachments import store_upload
from maas.http.authorize import check_body, principal_of
from maas.http.openai import ChatMessage, ChatRequest
from maas.http.openai.caller import bad_parameter, read_caller, resolve_caller, unsupported_parameter
from maas.http.openai.output import WantedOutput, is_demanded, read_output
from maas.http.request_input import read_idempotency_key
from maas.http.schemas import QueryText
from maas.http.state import app_state
from maas.runs.client_context import ClientContext, ClientMessage, Role
from maas.runs.submit import OPENAI_SOURCE, Submission, list_assistants, list_inactive_assistants
from shared.errors import MaasError, problems_of
from shared.text import clean, is_blank

MAX_IMAGES = 10
MAX_SYSTEM_BYTES = 65_536
MAX_EARLIER_CHARS = 32_768
MAX_EARLIER_MESSAGES = 200
MAX_IGNORED_NAMES = 100
MAX_IGNORED_NAMES_IN_HEADER = 40
MAX_NAME_CHARS = 64
_DATA_URL = re.compile(r"data:image/[\w.+-]+(?:;[\w.+=-]+)*;base64,", re.ASCII)
_QUERY: TypeAdapter[str] = TypeAdapter(QueryText)
_SYSTEM_ROLES = ("system", "developer")
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
IGNORE_HEADER = "X-MaaS-Ignore"
IGNORABLE = ("tools", "images")
_TOOL_FIELDS = ("tools", "functions")
_IGNORED_MESSAGE_FIELDS = ("tool_calls", "function_call", "refusal", "audio")


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A validated request: `ignored` names the parameters without effect, `is_retry` marks a retry by OpenAI's SDK.

    `output` is what the answer is to be.
    """

    body: ChatRequest
    submission: Submission
    output: WantedOutput
    ignored: tuple[str, ...]
    is_retry: bool


async def read_completion_request(request: Request, value: object) -> CompletionRequest:
    """Validate a body and store the images that it contains.

    Raises MaasError: what `check_body`, `read_caller`, `resolve_user` and `store_upload` raise,
    `unsupported_parameter`, `unknown_assistant`, `query_too_long`.
    """
    body = await check_body(request, ChatRequest, value)
    unused = _read_unused(request)
    _check_parameters(body, unused)
    output = read_output(body)
    query, images = _read_query(body.messages)
    context, dropped = read_context(body.messages)
    caller = read_caller(request, value if isinstance(value, Mapping) else {})
    db, key = app_state(request).db, read_idempotency_key(request)
    assistant = (await list_assistants(db, body.model)).get(body.model)
    if assistant is None:
        raise await unknown_model(request, body.model)
    ignored = (*ignored_parameters(body, dropped), *output.ignored)
    if images and not assistant.takes_photos:
        if "images" not in unused:
            raise unsupported_parameter(
                f"messages: {body.model} takes no images; leave them out, {_or_ignore('images')}", "messages"
            )
        ignored, images = (*ignored, f"images ({len(images)})"), []
    user_id = await resolve_caller(request, caller)
    attachment_ids = []
    for image in images:
        async with app_state(request).shares.images.hold(user_id):
            attachment_ids.append((await store_upload(db, user_id, image))["id"])
    submission = Submission(
        user_id=user_id,
        query=query,
        assistant=body.model,
        conversation_id=caller.conversation_id(user_id),
        metadata=caller.metadata,
        source=OPENAI_SOURCE,
        caller=principal_of(request).name,
        idempotency_key=key,
        attachment_ids=tuple(dict.fromkeys(attachment_ids)),
        context=replace(context, output=output.stored),
        is_remembered=caller.is_remembered,
    )
    return CompletionRequest(body, submission, output, ignored, _is_retry(request))


async def unknown_model(request: Request, name: str) -> MaasError:
    """The error for a model that is no active assistant, with the reason if it could not be configured."""
    state = app_state(request)
    reason = (await list_inactive_assistants(state.db)).get(name)
    hint = state.passthrough.hint(name)
    message = f"GET /v1/models lists them{hint}" if reason is None else f"the assistant is not active: {reason}"
    return MaasError("unknown_assistant", f"there is no model {name[:80]!r}; {message}")


def _read_unused(request: Request) -> frozenset[str]:
    """Return what the client agrees to have ignored, by the header X-MaaS-Ignore."""
    named = frozenset(filter(None, (one.strip() for one in request.headers.get(IGNORE_HEADER, "").split(","))))
    if others := named - set(IGNORABLE):
        message = f"{IGNORE_HEADER}: {sorted(others)[0][:40]!r} cannot be named; there are: {', '.join(IGNORABLE)}"
        raise bad_parameter(message, IGNORE_HEADER)
    return named


def _or_ignore(name: str) -> str:
    return f"or send the header {IGNORE_HEADER}: {name}"


def _check_parameters(body: ChatRequest, unused: Collection[str]) -> None:
    """Refuse parameters whose value would change the answer if MaaS honoured it."""
    demanded = {*_TOOL_FIELDS, "tool_choice", "function_call"} if is_demanded(body) else set[str]()
    for name, field in ChatRequest.model_fields.items():
        if name in demanded:
            continue
        allowed = field.json_schema_extra.get("enum") if isinstance(field.json_schema_extra, dict) else None
        if isinstance(allowed, list) and getattr(body, name) not in allowed:
            if name not in _TOOL_FIELDS:
                raise unsupported_parameter(f"{name}: {field.description}; leave it out", name)
            if "tools" not in unused:
                raise unsupported_parameter(f"{name}: {field.description}; leave it out, {_or_ignore('tools')}", name)


def _read_query(messages: list[ChatMessage]) -> tuple[str, list[bytes]]:
    """Return text and images of the last message that is not a system message; its role must be user."""
    dialogue = _without_system(messages)
    if not dialogue:
        raise bad_parameter("messages: there is no user message")
    if dialogue[-1].role != "user":
        raise bad_parameter(f"messages: the last one must have the role user, not {dialogue[-1].role}")
    parts = _parts(dialogue[-1])
    texts = [_read_text(part) for part in parts if part.get("type") == "text"]
    images = [_read_image(part) for part in parts if part.get("type") == "image_url"]
    if others := [part for part in parts if part.get("type") not in ("text", "image_url")]:
        kind = str(others[0].get("type"))[:40]
        raise unsupported_parameter(
            f"messages: parts of the type {kind!r} are not supported; send text, image_url", "messages"
        )
    if len(images) > MAX_IMAGES:
        raise bad_parameter(f"messages: the last one has {len(images)} images; at most {MAX_IMAGES} are allowed")
    try:
        return _QUERY.validate_python("\n".join(texts)), images
    except ValidationError as error:
        raise bad_parameter(f"messages: the last user message: {problems_of(error)[0].message}") from error


def _read_text(part: dict[str, Any]) -> str:
    if not isinstance(text := part.get("text"), str):
        raise bad_parameter("messages: a part of the type text needs `text`, a string")
    return text


def _read_image(part: dict[str, Any]) -> bytes:
    """Return the bytes of a data: URL; other URLs are refused, because the server fetches nothing for a client."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else None
    if not isinstance(url, str) or not (prefix := _DATA_URL.match(url)):
        raise bad_parameter(
            "messages: image_url: url must be a data: URL, data:image/png;base64,...; nothing is fetched"
        )
    try:
        return b64decode(url[prefix.end() :], validate=True)
    except ValueError as error:
        raise bad_parameter(f"messages: image_url: is not base64: {error}") from error


def _is_retry(request: Request) -> bool:
    """Whether the SDK repeats its request without an idempotency key, which would lead to the same run anyway."""
    count = request.headers.get("x-stainless-retry-count", "")
    return count.isascii() and count.isdigit() and count.strip("0") != "" and read_idempotency_key(request) is None


def read_context(messages: Sequence[ChatMessage]) -> tuple[ClientContext, int]:
    """Return the system messages and the newest of the earlier messages, and how many characters are left out.

    Raises MaasError('query_too_long') when the system messages exceed MAX_SYSTEM_BYTES.
    """
    system = "\n\n".join(text for one in messages if one.role in _SYSTEM_ROLES and not is_blank(text := _text(one)))
    if len(system.encode()) > MAX_SYSTEM_BYTES:
        raise MaasError(
            "query_too_long", f"messages: system messages exceed {MAX_SYSTEM_BYTES // 1024} KiB; shorten them"
        )
    earlier: list[ClientMessage] = []
    chars_left, dropped = MAX_EARLIER_CHARS, 0
    for message in _without_system(messages)[:-1][::-1]:
        text = _text(message)
        if is_blank(text):
            continue
        if chars_left <= 0 or len(earlier) == MAX_EARLIER_MESSAGES:
            dropped += len(text)
            continue
        earlier.append(ClientMessage(_ROLES[message.role], text[:chars_left]))
        dropped += max(len(text) - chars_left, 0)
        chars_left -= len(text)
    return ClientContext(system, tuple(reversed(earlier))), dropped


def ignored_parameters(body: ChatRequest, dropped: int = 0) -> tuple[str, ...]:
    """Return the names of parameters and message fields that have no effect, each once.

    `dropped` characters of earlier messages are left out: they stand first, with their number.
    """
    tools = () if is_demanded(body) else _TOOL_FIELDS
    given = {name: getattr(body, name) for name in tools} | (body.model_extra or {})
    unknown = [name for name, value in given.items() if value not in (None, [], {}) and name != "maas"]
    names = dict.fromkeys(clean(name)[:MAX_NAME_CHARS] for name in (*unknown, *_ignored_in_messages(body.messages)))
    cut = [f"messages[].content ({dropped} characters)"] if dropped else []
    return (*cut, *names)[:MAX_IGNORED_NAMES]


def ignored_header(names: Sequence[str]) -> dict[str, str]:
    """Return the header X-MaaS-Ignored, if there are names; other characters than ASCII are percent-encoded."""
    shown = names[:MAX_IGNORED_NAMES_IN_HEADER]
    return {"X-MaaS-Ignored": ", ".join(quote(name, safe="[].-_ ()") for name in shown)} if names else {}


def _ignored_in_messages(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """Yield the fields beside the text of each message, and the parts of all messages but the last that are no text."""
    last = _without_system(messages)[-1]
    for message in messages:
        yield from (f"messages[].{name}" for name in _IGNORED_MESSAGE_FIELDS if (message.model_extra or {}).get(name))
        if message is not last and isinstance(message.content, list):
            kinds = (str(part.get("type")) for part in message.content)
            yield from (f"messages[].{kind}" for kind in kinds if kind != "text")


def _without_system(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    return [message for message in messages if message.role not in _SYSTEM_ROLES]


def _parts(message: ChatMessage) -> list[dict[str, Any]]:
    content = message.content
    return content if isinstance(content, list) else [{"type": "text", "text": content or ""}]


def _text(message: ChatMessage) -> str:
    texts = [part.get("text") for part in _parts(message) if part.get("type") == "text"]
    return clean("\n".join(text for text in texts if isinstance(text, str)))
