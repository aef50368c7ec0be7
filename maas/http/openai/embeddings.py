"""/v1/embeddings: vectors by the embedder of this server, or by a pass-through model."""

from __future__ import annotations

import base64
from array import array
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints
from starlette.requests import Request
from starlette.responses import Response

from maas.http.openai import LenientSchema
from maas.http.openai.caller import bad_parameter, read_caller, resolve_caller
from maas.http.openai.passthrough import find_model, relay
from maas.http.openai.request import ignored_header, unknown_model
from maas.http.request_input import read_json, validate
from maas.http.schemas import Schema, json_response
from maas.http.state import app_state
from maas.passthrough.apis import EMBEDDINGS
from shared.errors import MaasError
from shared.models import ModelError

MAX_TEXTS = 256
TIMEOUT_S = 60.0
OWN_NAME = "maas"
Text = Annotated[str, StringConstraints(min_length=1)]


class EmbeddingRequest(LenientSchema):
    """A request for vectors. Tokens instead of texts, and other dimensions, are taken by pass-through models only."""

    model: str = Field(description="`maas` or the name of the embedding model of this server, or of a provider's.")
    input: Text | Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)] = Field(
        description="A text, or a list of at most 256."
    )
    encoding_format: Literal["float", "base64"] | None = None
    input_type: Literal["query", "document"] | None = Field(
        None, description="What the texts are; a document unless said."
    )
    dimensions: int | None = Field(None, description="Must be the number of dimensions that the model has.")
    user: str | None = None


class Embedding(Schema):
    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str = Field(description="Numbers, or 32-bit floats in base64.")


class EmbeddingUsage(Schema):
    prompt_tokens: int
    total_tokens: int


class EmbeddingList(Schema):
    object: Literal["list"] = "list"
    model: str
    data: list[Embedding]
    usage: EmbeddingUsage


async def post_embeddings(request: Request) -> Response:
    """Return the vectors of texts."""
    value = await read_json(request)
    state = app_state(request)
    embedder = state.query_embedder
    named = value.get("model") if isinstance(value, dict) else None
    is_own = named == OWN_NAME or (embedder is not None and named == embedder.model)
    if not is_own and isinstance(value, dict) and (model := find_model(request, value)) is not None:
        return await relay(request, model, value, EMBEDDINGS)
    body = validate(EmbeddingRequest, value)
    assert isinstance(value, dict)
    user_id = await resolve_caller(request, read_caller(request, value))
    if not is_own:
        raise await unknown_model(request, body.model)
    if embedder is None:
        raise MaasError("conflict", "this server has no embedding model: set MAAS_EMBEDDING_MODEL")
    texts = [body.input] if isinstance(body.input, str) else body.input
    async with state.shares.embeddings.hold(user_id):
        try:
            vectors, used = await embedder.embed(texts, _purpose(body), TIMEOUT_S)
        except ModelError as error:
            raise MaasError("busy", f"the embedding model did not answer: {error.code}; ask again later") from error
    if body.dimensions not in (None, len(vectors[0])):
        raise bad_parameter(f"dimensions: {embedder.model} has {len(vectors[0])}", "dimensions")
    is_base64 = body.encoding_format == "base64"
    data = [Embedding(index=n, embedding=_encode(one, is_base64)) for n, one in enumerate(vectors)]
    usage = EmbeddingUsage(prompt_tokens=used, total_tokens=used)
    response = json_response(EmbeddingList(model=embedder.model, data=data, usage=usage))
    response.headers.update(ignored_header(sorted(body.model_extra or {})))
    return response


def _purpose(body: EmbeddingRequest) -> Any:
    return "question" if body.input_type == "query" else "document"


def _encode(vector: Any, is_base64: bool) -> list[float] | str:
    return base64.b64encode(array("f", vector).tobytes()).decode() if is_base64 else list(map(float, vector))
