"""/v1/users: users by the names that clients know them by, and the export, import and erasure of all their data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime
from tempfile import TemporaryFile
from typing import BinaryIO, Literal
from uuid import UUID

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas.engine.spending import read_spending
from maas.http.authorize import check_user, note_user, principal_of, read_body
from maas.http.request_input import read_id, read_parameter, read_to_file
from maas.http.route import Parameters
from maas.http.schemas import VISIBLE_CHARACTER_PATTERN, Name, RequestBody, Schema, json_response
from maas.http.state import app_state, until_sent
from maas.memory.erase import erase_user
from maas.memory.transfer.export import write_export
from maas.memory.transfer.import_ import import_file
from maas.memory.transfer.interchange import ExportFormat
from maas.users import find_user, get_or_create_user, parse_user_id
from shared.errors import MaasError

MAX_IMPORT_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
NDJSON = "application/x-ndjson"
AIMEM = "application/aimem-bundle+json"
IMPORT_TYPES = (NDJSON, "application/ndjson", "application/jsonl", "application/json")
USER_REQUIRED = (
    "the request names no user: send `user` in the body or the header X-MaaS-User, any text of 1 to 200 characters, "
    "or use a key that is bound to one user"
)

# JSON schemas of imports for OpenAPI.
_SECONDS_SINCE_1970 = {  # the years 2 to 9998
    "type": "number",
    "minimum": -62104060800,
    "exclusiveMaximum": 253370764800,
    "description": "Since 1970.",
}
_IMPORT_EXAMPLE = {
    "role": "user",
    "content": "I play the cello.",
    "at": "2025-11-20T18:30:00Z",
    "conversation": "diary",
}
_IMPORTED_TURN = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {
        "role": {"enum": ["user", "human", "assistant", "ai"]},
        "content": {"type": "string", "pattern": VISIBLE_CHARACTER_PATTERN},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}, _SECONDS_SINCE_1970]},
        "speaker": {"type": ["string", "integer", "null"], "maxLength": 200},
        "conversation": {"type": ["string", "integer", "null"], "maxLength": 200},
        "external_id": {
            "type": ["string", "number", "null"],
            "description": "A message with the same id is stored once.",
        },
    },
    "examples": [_IMPORT_EXAMPLE],
}
_IMPORTED_CONVERSATION = {
    "description": "A conversation of a ChatGPT export: nodes by id, each with its `message` and its `parent`.",
    "type": "object",
    "required": ["mapping"],
    "properties": {"mapping": {"type": "object", "additionalProperties": {"type": "object"}}},
}
_IMPORT_AS_JSON = {
    "description": "Messages, or conversations and memories of an export of another product.",
    "anyOf": [
        {"$ref": "#/components/schemas/ImportedTurn"},
        {"type": "array", "items": {"$ref": "#/components/schemas/ImportedTurn"}},
        {"type": "array", "items": {"$ref": "#/components/schemas/ImportedConversation"}},
    ],
}
_IMPORT_AS_LINES = {"type": "string", "description": "Messages or a MaaS export, one JSON object a line."}
IMPORT_SCHEMAS = {
    media_type: _IMPORT_AS_JSON if media_type == "application/json" else _IMPORT_AS_LINES for media_type in IMPORT_TYPES
}
IMPORT_COMPONENTS = {"ImportedTurn": _IMPORTED_TURN, "ImportedConversation": _IMPORTED_CONVERSATION}

EXPORT_QUERY: Parameters = {
    "format": (
        {"type": "string", "enum": [str(one) for one in ExportFormat], "default": str(ExportFormat.MAAS)},
        "aimem, memorywire: what other products read, with the lines of maas beside it.",
    )
}


class NewUser(RequestBody):
    external_id: Name = Field(description="Any text that the client knows the user by; a UUID is its own user id.")


class User(Schema):
    user_id: UUID
    external_id: str


class UserSpending(Schema):
    user_id: UUID
    tokens_today: int
    dollars_today: float = Field(description="By the prices that are known; a model without a price counts as 0.")
    tokens: int
    dollars: float
    daily_tokens: int | None = Field(description="The daily budget in tokens; null: none.")
    daily_dollars: float | None = Field(description="The daily budget in dollars; null: none.")
    is_spent: bool = Field(description="Whether a budget is spent for today: models are not called until `renewed_at`.")
    renewed_at: datetime = Field(description="When the next day begins in MAAS_TIMEZONE.")


class ImportAccepted(Schema):
    status: Literal["processing"] = "processing"
    added: int = Field(description="Messages that were added.")
    known: int = Field(description="Messages that had been stored before.")
    records: int = Field(description="Summaries that were restored from an export.")
    others: int = Field(description="Facts and notes, conversations, their messages and images that were restored.")
    run_ids: list[UUID] = Field(description="Runs that summarize the messages; their progress: GET /v1/runs/{id}.")
    left_out: dict[str, int] = Field(description="What was not imported, such as images, and how many of each.")


class EraseResult(Schema):
    user_id: UUID
    erased: dict[str, int] = Field(description="Erased rows by table.")


def read_user_header(request: Request) -> str | None:
    """Return X-MaaS-User, which Starlette decodes as Latin-1, and clients send as UTF-8. Raises MaasError."""
    text = request.headers.get("x-maas-user")
    if text is None:
        return None
    try:
        return text.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise MaasError("bad_user", "X-MaaS-User: must be UTF-8") from error


async def resolve_user(request: Request, name: str | None) -> UUID:
    """Return the user with this name, creating one if needed; without a name the principal's own or default user.

    Raises MaasError: `user_required`, `bad_user`, and `not_found` for a user whom the principal does not serve.
    """
    principal = principal_of(request)
    if name is None:
        own_id = principal.user_id or principal.default_user
        if own_id is None:
            raise MaasError("user_required", USER_REQUIRED)
        await note_user(request, own_id)
        return own_id
    user_id = await find_user_by_name(request, name)
    if user_id is None:
        if principal.user_id is not None:
            raise _no_such_user(name)
        user_id = await get_or_create_user(app_state(request).db, name)
        await note_user(request, user_id)
    return user_id


async def find_user_by_name(request: Request, name: str) -> UUID | None:
    """Return the user with this name, or None when there is none and the principal may create one.

    Raises MaasError: `bad_user`, and `not_found` for a name that the principal may not use.
    """
    principal = principal_of(request)
    if parse_user_id(name) is None and not name.startswith(principal.prefix or ""):
        raise _no_such_user(name)
    user_id = await find_user(app_state(request).db, name)
    if user_id is not None:
        try:
            await check_user(request, user_id)
        except MaasError as error:  # its message would reveal the user id
            raise (_no_such_user(name) if error.code == "not_found" else error) from error
    return user_id


def _no_such_user(name: str) -> MaasError:
    return MaasError("not_found", f"there is no user {name[:80]!r}")


async def post_user(request: Request) -> Response:
    """Return the user with this external id, and create one when there is none."""
    name = (await read_body(request, NewUser)).external_id
    return json_response(User(user_id=await resolve_user(request, name), external_id=name))


async def get_user(request: Request) -> Response:
    """Return the user with this external id."""
    name: str | None = read_parameter(request, "external_id", str)
    if name is None:
        raise MaasError("bad_parameter", "external_id: is required")
    user_id = await find_user_by_name(request, name)
    if user_id is None:
        raise _no_such_user(name)
    return json_response(User(user_id=user_id, external_id=name))


async def get_spending(request: Request) -> Response:
    """Return the tokens and dollars that a user's model calls took, and the budgets of a day."""
    user_id = read_id(request, "user")
    state = app_state(request)
    spending = await read_spending(state.reads, state.settings, user_id)
    fields = {name: getattr(spending, name) for name in UserSpending.model_fields if name != "user_id"}
    return json_response(UserSpending(user_id=user_id, **fields))


async def get_export(request: Request) -> Response:
    """Export all data of a user, in a form that the import accepts: lines of JSON, or what other products read."""
    user_id = read_id(request, "user")
    form: ExportFormat = read_parameter(request, "format", ExportFormat, ExportFormat.MAAS)
    state, held = app_state(request), until_sent(request)
    await held.enter_async_context(state.shares.exports.hold(user_id))
    file = held.enter_context(TemporaryFile())  # noqa: SIM115  (a slow client must not hold a transaction open)
    await write_export(state.long_db, user_id, file, principal_of(request).name, reads=state.long_reads, form=form)
    size = file.tell()
    file.seek(0)
    suffix, media_type = ("json", AIMEM) if form is ExportFormat.AIMEM else ("ndjson", NDJSON)
    headers = {"content-length": str(size), "content-disposition": f'attachment; filename="maas-{user_id}.{suffix}"'}
    return StreamingResponse(_stream_file(file), media_type=media_type, headers=headers)


async def post_import(request: Request) -> Response:
    """Import messages, an export of another product or of MaaS, completely or not at all."""
    user_id = read_id(request, "user")
    state, principal = app_state(request), principal_of(request)
    is_operator = principal.may("admin") and not principal.is_bound
    async with state.shares.import_uploads.hold(user_id):
        with TemporaryFile() as file:
            await read_to_file(request, file, MAX_IMPORT_BYTES, (*IMPORT_TYPES, AIMEM))
            async with state.shares.imports.hold(user_id):
                result = await import_file(
                    state.long_db, user_id, file, "body", principal.name, is_operator=is_operator
                )
    accepted = ImportAccepted(
        added=result.added,
        known=result.known,
        records=result.records,
        others=result.others,
        run_ids=result.run_ids,
        left_out=dict(result.left_out),
    )
    return json_response(accepted, 202)


async def delete_user(request: Request) -> Response:
    """Erase a user from every table, unfinished runs included."""
    user_id = read_id(request, "user")
    state = app_state(request)
    async with state.shares.deletions.hold(user_id):
        erased = await erase_user(state.long_db, user_id, principal_of(request).name)
    return json_response(EraseResult(user_id=user_id, erased=erased))


async def _stream_file(file: BinaryIO) -> AsyncIterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
