"""/mem0/v3/memories and /mem0/v1/memories: what mem0's SDKs add, search, list, read, update and delete."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from pydantic import RootModel, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from maas.http.authorize import principal_of, user_of
from maas.http.mem0.callers import (
    Owner,
    agree_on_user,
    find_owner,
    get_or_create_owner,
    ids_of_filters,
    read_own,
    read_own_messages,
    to_filters,
    to_memory,
)
from maas.http.mem0.schemas import (
    MAX_PAGE_SIZE,
    Mem0Add,
    Mem0Added,
    Mem0AddResult,
    Mem0Done,
    Mem0List,
    Mem0Memory,
    Mem0Message,
    Mem0Page,
    Mem0Results,
    Mem0Search,
    Mem0Update,
    Mem0Version,
)
from maas.http.openai.request import ignored_header
from maas.http.request_input import read_id, read_json, read_parameter, to_storable_text, validate
from maas.http.schemas import MessageText, Schema, json_response
from maas.http.state import AppState, app_state
from maas.memory.client_memories import (
    ENTITIES,
    MAX_FORGOTTEN,
    ClientMemory,
    ClientMemoryText,
    forget_client_memories,
    list_client_memories,
    read_client_memories,
    read_versions,
    update_client_memory,
)
from maas.memory.dates import time_reader
from maas.memory.facts import search_facts
from maas.memory.filters import MAX_HITS, Filters, parse_filters
from maas.memory.query import SearchFilter
from maas.memory.search import gather_evidence, search
from maas.memory.transfer.import_ import remember
from shared.errors import MaasError, problems_of

DEFAULT_TOP_K = 10
DEFAULT_PAGE_SIZE = 100
MAX_PAGE = 1_000_000
_ROLES = ("user", "assistant")
_TEXT: TypeAdapter[str] = TypeAdapter(MessageText)


class Mem0History(RootModel[list[Mem0Version]]):
    """What a memory said, the oldest version first."""


async def post_mem0_memories(request: Request) -> Response:
    """Remember messages for mem0's SDKs; they can be searched at once.

    Nothing is paraphrased: each message of the user is a memory, word for word.
    """
    body = await _read_add(request)
    ignored = [*(["infer"] if body.infer else []), *_ignored_in_messages(body.messages)]
    said_at = datetime.fromtimestamp(body.timestamp, UTC) if body.timestamp is not None else None
    client: dict[str, Any] = {name: value for name in ENTITIES if (value := getattr(body, name)) is not None}
    client |= {"metadata": body.metadata} if body.metadata is not None else {}
    rows = [
        {
            "role": message.role,
            "content": _read_text(message, number),
            "speaker": message.name,
            "at": said_at,
            "conversation": body.run_id,
            "client": client or None,
        }
        for number, message in enumerate(body.messages)
        if message.role in _ROLES
    ]
    if not rows:
        raise MaasError("bad_parameter", "messages: none is of the user or of the assistant")
    owner = await get_or_create_owner(request, body.user_id)
    run_id, ids = await remember(app_state(request).db, owner.user_id, rows)
    added = [
        Mem0Added(id=log_id, memory=str(row["content"]))
        for log_id, row in zip(ids, rows, strict=True)
        if row["role"] == "user"
    ]
    return respond(Mem0AddResult(results=added, event_id=run_id), body.ignored(ignored))


async def post_mem0_search(request: Request) -> Response:
    """Search for mem0's SDKs, best match first, among the 200 best hits those that fit the filters."""
    body = validate(Mem0Search, await read_json(request))
    state = app_state(request)
    filters = parse_filters(_chosen(body), time_reader(state.settings.engine.zone))
    owner = await find_owner(request, agree_on_user(body.user_id, filters.user))
    results: list[Mem0Memory] = []
    if owner is not None:
        async with state.shares.reads.hold(owner.user_id):
            results = await _find(state, owner, body, filters)
    least, limit = body.threshold, body.top_k or DEFAULT_TOP_K
    results = [one for one in results if least is None or (one.score or 0.0) >= least][:limit]
    return respond(Mem0Results(results=results), body.ignored(_not_latest(body)))


def _chosen(body: Mem0Search | Mem0List) -> dict[str, Any] | None:
    """Return the filters of a request, with its categories as one of them."""
    if not body.categories:
        return body.filters
    return {"AND": [body.filters or {}, {"categories": {"in": body.categories}}]}


async def _find(state: AppState, owner: Owner, body: Mem0Search, filters: Filters) -> list[Mem0Memory]:
    within = SearchFilter(zone=state.settings.engine.zone)
    evidence = await gather_evidence(state.reads, owner.user_id, body.query, within, state.query_embedder)
    hits = await search(state.reads, owner.user_id, body.query, limit=MAX_HITS, filters=within, evidence=evidence)
    found: dict[UUID, Mem0Memory] = {}
    if body.facts:
        for fact in await search_facts(state.reads, owner.user_id, body.query, within):
            said = ClientMemory(fact.id, fact.last_said_at, fact.last_said_at, text=fact.statement)
            if filters.fits(said):
                found[fact.id] = to_memory(owner, ClientMemoryText(said, fact.statement, fact.id), 1.0)
    scores = {hit.id: hit.score for hit in hits}
    known = await read_client_memories(state.reads, owner.user_id, list(scores))
    for one in known:
        if filters.fits(one.memory):
            found.setdefault(one.memory.id, to_memory(owner, one, scores[one.asked]))
    return list(found.values())


async def post_mem0_list(request: Request) -> Response:
    """List the memories of a user for mem0's SDKs, newest first, among the 5,000 newest those that fit the filters."""
    page, size = page_of(request)
    body = validate(Mem0List, await read_json(request))
    state = app_state(request)
    read_time = time_reader(state.settings.engine.zone)
    filters = parse_filters(_chosen(body), read_time)
    span = {name: at for name, at in (("gte", body.start_date), ("lte", body.end_date)) if at is not None}
    within = parse_filters({"created_at": span} if span else None, read_time)
    owner = await find_owner(request, agree_on_user(body.user_id, filters.user))
    fitting: list[ClientMemory] = []
    results: list[Mem0Memory] = []
    if owner is not None:
        async with state.shares.reads.hold(owner.user_id):
            listed = await list_client_memories(state.reads, owner.user_id, with_words=filters.reads_words)
            fitting = [one for one in listed if filters.fits(one) and within.fits(one)]
            shown = [one.id for one in fitting[(page - 1) * size : page * size]]
            known = await read_client_memories(state.reads, owner.user_id, shown)
            results = [to_memory(owner, one) for one in known]
    links = page_links(request, page, size, len(fitting))
    return respond(Mem0Page(results=results, count=len(fitting), **links), body.ignored(_not_latest(body)))


async def get_mem0_memory(request: Request) -> Response:
    """Return one memory for mem0's SDKs."""
    owner, known = await read_own(request, read_id(request, "memory"))
    return json_response(to_memory(owner, known))


async def put_mem0_memory(request: Request) -> Response:
    """Update a memory for mem0's SDKs: a new text corrects it, new metadata replaces what was there.

    The memory keeps its id, and its history has what it said before.
    """
    memory_id = read_id(request, "memory")
    body = validate(Mem0Update, await read_json(request))
    check_update(body)
    ((owner, known),) = await read_own_messages(request, [memory_id])
    db = app_state(request).db
    await update_client_memory(db, owner.user_id, known, body.text, body.metadata)
    (changed,) = await read_client_memories(db, owner.user_id, [known.memory.id]) or (known,)
    return respond(to_memory(owner, changed), body.ignored())


async def delete_mem0_memory(request: Request) -> Response:
    """Delete a memory for mem0's SDKs, with all its versions, its summaries, and the answers that repeat it."""
    owner, known = await read_own(request, read_id(request, "memory"))
    await forget(request, owner, [known.memory.id])
    return json_response(Mem0Done(message="Memory deleted successfully!"))


async def delete_mem0_memories(request: Request) -> Response:
    """Delete the memories of a user for mem0's SDKs, all or those of an agent, an application or a session."""
    allowed = ("user_id", *ENTITIES)
    if unknown := sorted(set(request.query_params) - {*allowed, "filters"}):
        message = f"{unknown[0][:40]}: is no parameter here; there are {', '.join(allowed)}, and nothing was deleted"
        raise MaasError("bad_parameter", message)
    named = {name: text for name in allowed if (text := read_parameter(request, name, to_storable_text)) is not None}
    # No schema has words for what Python prints, so the API's description leaves this parameter out.
    filters_of_query: dict[str, str] = read_parameter(request, "filters", to_filters, {})
    if any(named.setdefault(name, text) != text for name, text in filters_of_query.items()):
        raise MaasError("bad_parameter", "filters: name another id than a parameter; nothing was deleted")
    if not named:
        raise MaasError("bad_parameter", "user_id: is required; nothing was deleted")
    owner = await find_owner(request, named.pop("user_id", None))
    filters = parse_filters(named, time_reader(app_state(request).settings.engine.zone))
    ids: list[UUID] = []
    if owner is not None:
        ids = [one.id for one in await list_client_memories(app_state(request).db, owner.user_id) if filters.fits(one)]
        if len(ids) > MAX_FORGOTTEN:
            message = f"more than {MAX_FORGOTTEN} memories fit, and nothing was deleted; delete the user instead"
            raise MaasError("bad_parameter", f"{message}: delete_users(user_id=...)")
        await forget(request, owner, ids)
    return json_response(Mem0Done(message=f"{len(ids)} memories deleted successfully!"))


async def get_mem0_history(request: Request) -> Response:
    """List what a memory said for mem0's SDKs, the oldest version first."""
    owner, known = await read_own(request, read_id(request, "memory"))
    memory_id = known.memory.id
    versions = await read_versions(app_state(request).reads, owner.user_id, memory_id)
    texts = [None, *(one.text for one in versions)]
    history = [
        Mem0Version(
            id=one.id,
            memory_id=memory_id,
            event="ADD" if before is None else "UPDATE",
            old_memory=before,
            new_memory=one.text,
            user_id=owner.name,
            created_at=versions[0].created_at,
            updated_at=one.created_at,
        )
        for before, one in zip(texts, versions, strict=False)
    ]
    return Response(Mem0History(history).model_dump_json(), media_type="application/json")


async def forget(request: Request, owner: Owner, ids: list[UUID]) -> None:
    """Forget memories of one user. Raises MaasError: `in_use`, `share_used`, `busy`."""
    state, actor = app_state(request), principal_of(request).name
    async with state.shares.deletions.hold(user_of(request)):
        await forget_client_memories(state.db, state.long_db, owner.user_id, ids, actor)


def respond(schema: Schema, ignored: tuple[str, ...]) -> Response:
    """Return a response that names the fields without effect in X-MaaS-Ignored, as those of OpenAI's API do."""
    response = json_response(schema)
    response.headers.update(ignored_header(ignored))
    return response


def check_update(body: Mem0Update) -> None:
    """Raise MaasError('bad_parameter') for an update that changes nothing."""
    if body.text is None and body.metadata is None:
        message = "text, metadata: send one of them; nothing else of a memory can be changed, and nothing expires"
        raise MaasError("bad_parameter", message)


def page_of(request: Request) -> tuple[int, int]:
    """Return the number of the page and its size. Raises MaasError('bad_parameter')."""
    page: int = read_parameter(request, "page", _to_number(MAX_PAGE), 1)
    size: int = read_parameter(request, "page_size", _to_number(MAX_PAGE_SIZE), DEFAULT_PAGE_SIZE)
    return page, size


def page_links(request: Request, page: int, size: int, count: int) -> dict[str, str | None]:
    """Return the paths of the pages before and after this one."""

    def link(number: int) -> str:
        return f"{request.url.path}?{urlencode({'page': number, 'page_size': size})}"

    return {
        "next": link(page + 1) if page * size < count else None,
        "previous": link(page - 1) if page > 1 else None,
    }


def _to_number(most: int) -> Any:
    def convert(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= most):
            raise ValueError(f"must be a whole number from 1 to {most}")
        return int(text)

    return convert


async def _read_add(request: Request) -> Mem0Add:
    value = await read_json(request)
    body = validate(Mem0Add, value)
    ids = ids_of_filters(body.filters)
    user = agree_on_user(body.user_id, ids.get("user_id"))
    given = {name: one for name in ENTITIES if (one := getattr(body, name)) is not None}
    return validate(Mem0Add, {**body.model_dump(), **ids, **given, "user_id": user})


def _read_text(message: Mem0Message, number: int) -> str:
    content = message.content
    texts = [content or ""] if not isinstance(content, list) else [one.get("text") for one in content if _is_text(one)]
    try:
        return _TEXT.validate_python("\n".join(text for text in texts if isinstance(text, str)))
    except ValidationError as error:
        raise MaasError(
            "bad_parameter", f"messages.{number}.content: {problems_of(error)[0].message}; nothing was added"
        ) from error


def _ignored_in_messages(messages: list[Mem0Message]) -> list[str]:
    roles = [f"messages ({one.role})" for one in messages if one.role not in _ROLES]
    parts = [
        f"messages[].{part.get('type')}"
        for one in messages
        if isinstance(one.content, list)
        for part in one.content
        if not _is_text(part)
    ]
    return roles + parts + [f"messages[].{name}" for one in messages for name in one.ignored()]


def _is_text(part: dict[str, Any]) -> bool:
    return part.get("type") == "text"


def _not_latest(body: Mem0Search | Mem0List) -> list[str]:
    return ["latest_only"] if body.latest_only is False else []
