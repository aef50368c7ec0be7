"""/mem0/v1/batch: many memories updated or deleted by one request of mem0's SDKs."""

from __future__ import annotations

from collections import defaultdict
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from maas.http.mem0.callers import Owner, read_own, read_own_messages
from maas.http.mem0.memories import check_update, forget, respond
from maas.http.mem0.schemas import Mem0BatchDelete, Mem0BatchUpdate, Mem0Done
from maas.http.request_input import read_json, validate
from maas.http.state import app_state
from maas.memory.client_memories import update_client_memory


async def put_mem0_batch(request: Request) -> Response:
    """Update many memories for mem0's SDKs; if one of them is unknown, none is changed."""
    body = validate(Mem0BatchUpdate, await read_json(request))
    for item in body.memories:
        check_update(item)
    own = await read_own_messages(request, [item.memory_id for item in body.memories])
    for item, (owner, known) in zip(body.memories, own, strict=True):
        await update_client_memory(app_state(request).db, owner.user_id, known, item.text, item.metadata)
    ignored = [name for item in body.memories for name in item.ignored()]
    return respond(Mem0Done(message=f"Successfully updated {len(own)} memories"), body.ignored(ignored))


async def delete_mem0_batch(request: Request) -> Response:
    """Delete many memories for mem0's SDKs; if one of them is unknown, none is deleted."""
    body = validate(Mem0BatchDelete, await read_json(request))
    own = [await read_own(request, item.memory_id) for item in body.memories]
    ids_of: dict[Owner, list[UUID]] = defaultdict(list)
    for owner, known in own:
        ids_of[owner].append(known.memory.id)
    for owner, ids in ids_of.items():
        await forget(request, owner, ids)
    return respond(Mem0Done(message=f"Successfully deleted {len(own)} memories"), body.ignored())
