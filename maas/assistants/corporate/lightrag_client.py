"""The API of a LightRAG server: questions to its documents, and how far it is with reading them.

Shapes are those of version 1.5.7. Two replies of status 200 mean that nothing was answered: the fixed text that no
context was found, with `llm_generated` false, and the placeholder for a model of the server that failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, BeforeValidator, Field

from shared.log import hide
from shared.text import clean
from shared.vendors import Vendor
from shared.vendors.service import DEFAULT_LIMITS, Count, Limits, Name, Refusal, Service, refusal_of_status

Mode = Literal["mix", "local", "global", "hybrid"]
VENDOR = Vendor("lightrag", "LightRAG")
LIGHTRAG_LIMITS = Limits(read_s=45.0, total_s=50.0, max_bytes=2 * 1024 * 1024)
STATE_LIMITS = replace(DEFAULT_LIMITS, connect_s=2.0, read_s=4.0, total_s=5.0, max_bytes=2 * 1024 * 1024)
MAX_TEXT_CHARS = 40_000  # of one text of a reply
NO_ANSWER = "No relevant context found for the query."  # of the server, in place of the text of a model that gave none
NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class LightragReference:
    """A source: its number in the answer, and the file as the server names it."""

    reference_id: str
    file_path: str


@dataclass(frozen=True, slots=True)
class LightragAnswer:
    """`is_generated` is false for the fixed text that no context was found. `references` is None if not asked for."""

    response: str
    references: tuple[LightragReference, ...] | None
    is_generated: bool


@dataclass(frozen=True, slots=True)
class LightragEntity:
    name: str
    kind: str
    description: str
    file_path: str


@dataclass(frozen=True, slots=True)
class LightragRelation:
    """What connects two entities."""

    source: str
    target: str
    keywords: str
    description: str
    file_path: str


@dataclass(frozen=True, slots=True)
class LightragChunk:
    """A passage of a document, word for word."""

    reference_id: str
    file_path: str
    content: str


@dataclass(frozen=True, slots=True)
class LightragData:
    """What a question finds, before a model answers it; all empty if nothing is found."""

    entities: tuple[LightragEntity, ...] = ()
    relations: tuple[LightragRelation, ...] = ()
    chunks: tuple[LightragChunk, ...] = ()
    references: tuple[LightragReference, ...] = ()


@dataclass(frozen=True, slots=True)
class LightragDocument:
    """A document that is or was read. `status`: pending, parsing, analyzing, processing, processed or failed."""

    file_path: str
    status: str
    error: str | None
    chunks: int | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class PipelineState:
    """What reads documents: whether it works, at which job, and how many of its documents and steps are done."""

    is_busy: bool
    job: str
    documents: int
    step: int
    steps: int
    message: str


class LightragClient:
    """One server, whose documents are the same for all who ask. All methods raise VendorError.

    `unauthorized`: the key is wrong; `rate_limited`: the server is busy, 429 and 503; `unavailable`: it has failed.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        base_url: str,
        api_key: str | None,
        limits: Limits = LIGHTRAG_LIMITS,
        state_limits: Limits = STATE_LIMITS,
    ) -> None:
        if api_key is not None:
            hide(api_key)
        header = ("X-API-Key", "")
        self._service = Service(http, VENDOR, base_url, header, api_key, _read_refusal, limits)
        self._state = Service(http, VENDOR, base_url, header, api_key, _read_refusal, state_limits)

    async def query(
        self, query: str, mode: Mode = "mix", top_k: int = 10, include_references: bool = True
    ) -> LightragAnswer:
        """Let the server's model answer from what it finds."""
        body = _question(query, mode, top_k, include_references)
        found = await self._service.read("/query", _Answer.model_validate, method="POST", json=body)
        if not found.llm_generated and found.response == NO_ANSWER:
            raise self._service.error("unavailable", "its model gave no answer")
        references = None if found.references is None else tuple(one.shown() for one in found.references)
        return LightragAnswer(found.response, references, found.llm_generated)

    async def query_data(
        self, query: str, mode: Mode = "mix", top_k: int = 10, include_references: bool = True
    ) -> LightragData:
        """Return what a question finds, without an answer."""
        body = _question(query, mode, top_k, include_references)
        found = await self._service.read("/query/data", _Data.model_validate, method="POST", json=body)
        if found.status != "success":
            if found.metadata.failure_reason == NO_RESULTS:
                return LightragData()
            raise self._service.error("unavailable", found.message)
        return found.data.shown()

    async def track_status(self, track_id: str) -> list[LightragDocument]:
        """Return the documents of one upload; none if the server does not know it."""
        if track_id in ("", ".", ".."):
            raise self._service.error("invalid", "this is not the id of an upload")
        path = f"/documents/track_status/{quote(track_id, safe='')}"
        found = await self._state.read(path, _Track.model_validate)
        return [one.shown() for one in found.documents]

    async def pipeline_status(self) -> PipelineState:
        """Return what the server is reading now."""
        found = await self._state.read("/documents/pipeline_status", _Pipeline.model_validate)
        return PipelineState(
            found.busy, found.job_name, found.docs, found.cur_batch, found.batchs, found.latest_message
        )


def _question(query: str, mode: Mode, top_k: int, include_references: bool) -> dict[str, Any]:
    return {"query": query, "mode": mode, "include_references": include_references, "top_k": top_k}


def _read_refusal(status: int, headers: Mapping[str, str], body: Any) -> Refusal:
    """Errors are {detail: a text, or a list of {msg}}; those of /query/data are {status, message}.

    A wrong key is 403. A server that has too much to do, or waits for its operator, is 503.
    """
    refusal = refusal_of_status(status, headers, _cause(body))
    if status == 403:
        return refusal._replace(code="unauthorized")
    return refusal._replace(code="rate_limited") if status == 503 else refusal


def _cause(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    detail = body.get("detail", body.get("message"))
    if isinstance(detail, list) and detail and isinstance(detail[0], dict):
        detail = detail[0].get("msg")
    return detail if isinstance(detail, str) else ""


def _or_empty(value: object) -> object:
    return "" if value is None else value


Text = Annotated[str, BeforeValidator(lambda value: clean(value)[:MAX_TEXT_CHARS] if isinstance(value, str) else value)]
OptionalText = Annotated[Text, BeforeValidator(_or_empty)]
OptionalName = Annotated[Name, BeforeValidator(_or_empty)]
OptionalCount = Annotated[Count, BeforeValidator(lambda value: 0 if value is None else value)]
OptionalList = BeforeValidator(lambda value: [] if value is None else value)
MAX_ITEMS = Field(max_length=10_000)


class _Reference(BaseModel):
    reference_id: Name
    file_path: OptionalName = ""

    def shown(self) -> LightragReference:
        return LightragReference(self.reference_id, self.file_path)


class _Answer(BaseModel):
    response: Text
    references: Annotated[list[_Reference], MAX_ITEMS] | None = None
    llm_generated: bool = True  # servers before it existed say nothing


class _Entity(BaseModel):
    entity_name: Name
    entity_type: OptionalName = ""
    description: OptionalText = ""
    file_path: OptionalName = ""

    def shown(self) -> LightragEntity:
        return LightragEntity(self.entity_name, self.entity_type, self.description, self.file_path)


class _Relation(BaseModel):
    src_id: Name
    tgt_id: Name
    keywords: OptionalName = ""
    description: OptionalText = ""
    file_path: OptionalName = ""

    def shown(self) -> LightragRelation:
        return LightragRelation(self.src_id, self.tgt_id, self.keywords, self.description, self.file_path)


class _Chunk(BaseModel):
    reference_id: OptionalName = ""
    file_path: OptionalName = ""
    content: Text

    def shown(self) -> LightragChunk:
        return LightragChunk(self.reference_id, self.file_path, self.content)


class _Found(BaseModel):
    entities: Annotated[list[_Entity], OptionalList, MAX_ITEMS] = []
    relationships: Annotated[list[_Relation], OptionalList, MAX_ITEMS] = []
    chunks: Annotated[list[_Chunk], OptionalList, MAX_ITEMS] = []
    references: Annotated[list[_Reference], OptionalList, MAX_ITEMS] = []

    def shown(self) -> LightragData:
        return LightragData(
            tuple(one.shown() for one in self.entities),
            tuple(one.shown() for one in self.relationships),
            tuple(one.shown() for one in self.chunks),
            tuple(one.shown() for one in self.references),
        )


class _Metadata(BaseModel):
    failure_reason: OptionalName = ""


class _Data(BaseModel):
    status: Name
    message: OptionalText = ""
    data: _Found = _Found()
    metadata: _Metadata = _Metadata()


class _Document(BaseModel):
    file_path: OptionalName = ""
    status: Name
    error_msg: OptionalName = ""
    chunks_count: Count | None = None
    created_at: OptionalName = ""
    updated_at: OptionalName = ""

    def shown(self) -> LightragDocument:
        return LightragDocument(
            self.file_path,
            self.status.lower(),
            self.error_msg or None,
            self.chunks_count,
            self.created_at,
            self.updated_at,
        )


class _Track(BaseModel):
    documents: Annotated[list[_Document], MAX_ITEMS]


class _Pipeline(BaseModel):
    busy: bool
    job_name: OptionalName = ""
    docs: OptionalCount = 0
    batchs: OptionalCount = 0
    cur_batch: OptionalCount = 0
    latest_message: OptionalName = ""
