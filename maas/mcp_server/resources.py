"""The resources: what is known of the user of the caller, each text under an address, as the tools return it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from maas.mcp_server.context import McpContext, protocol_errors
from maas.mcp_server.fact_tools import list_facts
from maas.mcp_server.schemas import GetMemorySourcesInput, GetRunInput, ListFactsInput
from maas.mcp_server.tools import get_memory_sources, get_run
from shared.text import one_line, shorten

TEXT = "text/plain"
FACTS, MEMORY = "maas://facts", "maas://memories/{id}"
PAGE_SIZE = 50
MAX_FACTS = 100
MAX_NAME_CHARS = 80
MAX_DOCUMENT_CHARS = 200_000
_URI = re.compile(r"maas://(memories|runs|documents)/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")

ReadOne = Callable[[McpContext, UUID, str], Awaitable[str]]


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """What is read by an id; `read` returns the text of one for the user who has it."""

    title: str
    description: str
    read: ReadOne


async def _read_memory(context: McpContext, memory_id: UUID, user: str) -> str:
    args = GetMemorySourcesInput(user_id=None, memory_id=memory_id)
    return (await get_memory_sources(context, args, user, None)).text()


async def _read_run(context: McpContext, run_id: UUID, user: str) -> str:
    args = GetRunInput(user_id=None, request_id=run_id, wait=0)
    return (await get_run(context, args, user, None)).text()


async def _read_document(context: McpContext, document_id: UUID, user: str) -> str:
    parts: list[str] = []
    heading, after = "", 0
    while True:
        page = await context.get_pieces(document_id, user, after)
        for piece in page["results"]:
            parts += [piece["heading"]] * (piece["heading"] != heading) + [piece["text"]]
            heading = piece["heading"]
        if page["next"] is None:
            return "\n\n".join(parts)
        after = page["next"]
        if sum(map(len, parts)) > MAX_DOCUMENT_CHARS:
            return "\n\n".join([*parts, "(The document goes on.)"])


KINDS = {
    "memories": ResourceKind(
        "A memory", "The messages that a memory or a fact was made from, with speaker and time", _read_memory
    ),
    "runs": ResourceKind("A request", "The answer to a request, or why there is none yet", _read_run),
    "documents": ResourceKind("A document", "What a document says, from its beginning", _read_document),
}


async def list_resources(context: McpContext, cursor: str | None) -> ListResourcesResult:
    """The facts as one text, the newest documents, then the summaries page by page; none without a known user."""
    rights = await context.rights()
    if rights.user is None or not rights.allow("read"):
        return ListResourcesResult(resources=[])
    with protocol_errors():
        return await read_list(context, await context.authorize("read", None), cursor)


async def read_list(context: McpContext, user: str, cursor: str | None) -> ListResourcesResult:
    """A page of the resources of a user. Raises ClientError."""
    page = await context.list_memories(user, PAGE_SIZE, cursor)
    summaries = [
        Resource(
            uri=f"maas://memories/{row['id']}",
            name=shorten(one_line(row["memory"]), MAX_NAME_CHARS),
            description=f"Summary of {row['occurred_at'][:10]}",
            mime_type=TEXT,
        )
        for row in page["results"]
    ]
    if cursor:
        return ListResourcesResult(resources=summaries, next_cursor=page["next"])
    facts = Resource(uri=FACTS, name="facts", title="Facts", description="What is true now", mime_type=TEXT)
    documents = [
        Resource(
            uri=f"maas://documents/{row['id']}",
            name=shorten(one_line(row["name"]), MAX_NAME_CHARS),
            description="Document of everybody" if row["is_everybodys"] else "Document",
            mime_type=TEXT,
        )
        for row in await context.list_documents(user, PAGE_SIZE)
        if row["status"] == "processed"
    ]
    return ListResourcesResult(resources=[facts, *documents, *summaries], next_cursor=page["next"])


def list_templates() -> ListResourceTemplatesResult:
    """The addresses of what has an id."""
    return ListResourceTemplatesResult(
        resource_templates=[
            ResourceTemplate(
                uri_template=f"maas://{name}/{{id}}",
                name=name,
                title=kind.title,
                description=kind.description,
                mime_type=TEXT,
            )
            for name, kind in KINDS.items()
        ]
    )


async def read_resource(context: McpContext, uri: str) -> ReadResourceResult:
    """The text of a resource. Raises MCPError, also for what belongs to another user."""
    with protocol_errors(uri):
        text = await read_text(context, uri, await context.authorize("read", None))
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=TEXT, text=text)])


async def read_text(context: McpContext, uri: str, user: str) -> str:
    """The text of a resource for a user. Raises ClientError, NotFound also for what belongs to another; MCPError."""
    if uri == FACTS:
        args = ListFactsInput.model_validate({"limit": MAX_FACTS})
        return (await list_facts(context, args, user, None)).text()
    kind, one = _parse(uri)
    return await kind.read(context, one, user)


def is_address(uri: str) -> bool:
    """Whether a resource may be there."""
    return uri == FACTS or _URI.fullmatch(uri) is not None


async def complete(context: McpContext, template: str, start: str) -> list[str]:
    """The ids of the newest memories that begin with `start`; requests are not listed."""
    if template != MEMORY:
        return []
    with protocol_errors():
        page = await context.list_memories(await context.authorize("read", None), PAGE_SIZE, None)
    return [row["id"] for row in page["results"] if row["id"].startswith(start.lower())]


def _parse(uri: str) -> tuple[ResourceKind, UUID]:
    found = _URI.fullmatch(uri)
    if found is None:
        addresses = ", ".join([FACTS, *(f"maas://{name}/ID" for name in KINDS)])
        shown = uri[:MAX_NAME_CHARS]
        raise MCPError(INVALID_PARAMS, f"there is no resource {shown!r}; there are {addresses}", {"uri": shown})
    return KINDS[found[1]], UUID(found[2])
