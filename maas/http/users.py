"""/v1/users: a user as a whole, to take along, bring back, or erase."""

from __future__ import annotations

from asyncio import Semaphore, timeout
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from tempfile import TemporaryFile
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from maas.http.access import caller
from maas.http.bodies import Imported, NewUser, Receipt, User
from maas.http.naming import find_named, named_user, nobody
from maas.http.parameters import read_id, read_parameter
from maas.http.reading import read_body, read_into
from maas.http.rooms import rooms
from maas.http.sending import send
from maas.memory.export import write_export
from maas.memory.forgetting import erase_user
from maas.memory.intake import import_file
from shared.errors import MaasError

IMPORT_BYTES = 64 * 1024 * 1024
WAIT_S = 5.0  # for a place, once the body is there
RETRY_AFTER_S = 5
CHUNK = 64 * 1024
NDJSON = "application/x-ndjson"
IMPORT_TYPES = (NDJSON, "application/ndjson", "application/jsonl", "application/json")


async def post_user(request: Request) -> Response:
    """The user of a name: a new one at first sight, the same for ever after."""
    name = (await read_body(request, NewUser)).external_id
    return send(User(user_id=await named_user(request, name), external_id=name))


async def get_user(request: Request) -> Response:
    """The user of a name, if there is one."""
    name: str | None = read_parameter(request, "external_id", str)
    if name is None:
        raise MaasError("bad_parameter", "external_id: is required")
    user_id = await find_named(request, name)
    if user_id is None:
        raise nobody(name)
    return send(User(user_id=user_id, external_id=name))


async def get_export(request: Request) -> Response:
    """Everything that is kept of a user, as lines of JSON that import accepts."""
    user_id = read_id(request, "user")
    with ExitStack() as stack:
        file = stack.enter_context(TemporaryFile())  # a slow client must not hold the database
        await write_export(rooms(request).db, user_id, file, caller(request).name)
        size = file.tell()
        file.seek(0)
        stack.pop_all()  # from here on it is closed by _send
    headers = {"content-length": str(size), "content-disposition": f'attachment; filename="maas-{user_id}.ndjson"'}
    return StreamingResponse(_send(file), media_type=NDJSON, headers=headers)


async def post_import(request: Request) -> Response:
    """Take in turns, a ChatGPT export or an export of ours: all of it or, with one clear error, nothing."""
    user_id = read_id(request, "user")
    parts, found = rooms(request), caller(request)
    is_operator = found.may("admin") and not found.is_bound
    async with _place(parts.receiving, 0):
        with TemporaryFile() as file:
            await read_into(request, file, IMPORT_BYTES, IMPORT_TYPES)
            async with _place(parts.importing, WAIT_S):
                done = await import_file(parts.db, user_id, file, "body", found.name, is_operator=is_operator)
    return send(
        Imported(added=done.added, known=done.known, records=done.records, others=done.others, run_ids=done.run_ids),
        202,
    )


async def delete_user(request: Request) -> Response:
    """Erase a user from every table, whatever is in flight."""
    user_id = read_id(request, "user")
    return send(Receipt(user_id=user_id, erased=await erase_user(rooms(request).db, user_id, caller(request).name)))


@asynccontextmanager
async def _place(places: Semaphore, wait_s: float) -> AsyncIterator[None]:
    """One of the places that there are for imports. Raises MaasError('busy') when none comes free in time."""
    try:
        async with timeout(wait_s):
            await places.acquire()
    except TimeoutError as error:
        raise MaasError(
            "busy", "this process takes in as many files as it may; send it again later", {"retry_after": RETRY_AFTER_S}
        ) from error
    try:
        yield
    finally:
        places.release()


async def _send(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
