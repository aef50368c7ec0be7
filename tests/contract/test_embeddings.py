"""Vectors from each provider through its real SDK."""

from __future__ import annotations

import base64
import json
import struct
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from werkzeug import Request as HttpRequest
from werkzeug import Response

from maas.model_registry import open_embedder
from maas.settings import load_settings
from shared.models import Embedder, ModelError, Purpose
from tests.aimock import Aimock
from tests.contract.dialects import KEY
from tests.http_server import HTTPServer

Vectors = list[list[float]]


@dataclass(frozen=True)
class Tongue:
    """How a provider is asked for vectors; aimock has no such route of Gemini's."""

    provider: str
    model: str
    base: str
    path: str

    def open(self, url: str, model: str | None = None) -> Embedder:
        access = {f"{self.provider}_api_key": KEY, f"{self.provider}_base_url": url + self.base}
        embedder = open_embedder(load_settings(embedding_model=f"{self.provider}:{model or self.model}", **access))
        assert embedder is not None
        return embedder

    def body(self, vectors: Vectors) -> dict[str, Any]:
        if self.provider == "gemini":
            return {"embeddings": [{"values": vector} for vector in vectors]}
        data = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return {"object": "list", "data": data[::-1], "model": "m", "usage": {"prompt_tokens": 7, "total_tokens": 7}}


OPENAI = Tongue("openai", "text-embedding-3-small", "/v1", "/v1/embeddings")
GEMINI = Tongue("gemini", "gemini-embedding-001", "", "/v1beta/models/gemini-embedding-001:batchEmbedContents")


@pytest.fixture(params=(OPENAI, GEMINI), ids=lambda tongue: tongue.provider)
def tongue(request: pytest.FixtureRequest) -> Tongue:
    found: Tongue = request.param
    return found


async def ask(embedder: Embedder, *texts: str, purpose: Purpose = "document", timeout: float = 10) -> Vectors:
    try:
        return [list(vector) for vector in (await embedder.embed(texts, purpose, timeout)).vectors]
    finally:
        await embedder.close()


def local(httpserver: HTTPServer) -> str:
    return httpserver.url_for("").rstrip("/")


async def test_openai_speaks_as_aimock_does(aimock: Aimock) -> None:
    aimock.fixtures({"match": {"inputText": "кошка"}, "response": {"embedding": [0.5, -0.25, 0.125]}})
    assert await ask(OPENAI.open(aimock.url), "кошка", "собака") == [[0.5, -0.25, 0.125]] * 2
    (entry,) = aimock.journal()
    assert (entry["path"], entry["body"]["embeddingInput"]) == ("/v1/embeddings", "кошка собака")


async def test_vectors_stand_in_the_order_of_the_texts(tongue: Tongue, httpserver: HTTPServer) -> None:
    httpserver.expect_request(tongue.path).respond_with_json(tongue.body([[1, 0], [0, 1], [1, 1]]))
    assert await ask(tongue.open(local(httpserver)), "a", "b\x00", "в") == [[1, 0], [0, 1], [1, 1]]
    sent = json.dumps(httpserver.log[0][0].get_json(), ensure_ascii=False)
    assert sent.index('"a"') < sent.index('"b"') < sent.index('"в"')


async def test_shorter_vectors_have_a_name_of_their_own(tongue: Tongue, httpserver: HTTPServer) -> None:
    httpserver.expect_request(tongue.path).respond_with_json(tongue.body([[1, 0]]))
    embedder = tongue.open(local(httpserver), f"{tongue.model}@512")
    assert (embedder.provider, embedder.name) == (tongue.provider, f"{tongue.model}@512")
    await ask(embedder, "a")
    sent = httpserver.log[0][0].get_json()
    asked = sent["dimensions"] if tongue is OPENAI else sent["requests"][0]["outputDimensionality"]
    assert asked == 512
    assert "@512" not in json.dumps(sent)


async def test_without_a_length_none_is_asked_for(tongue: Tongue, httpserver: HTTPServer) -> None:
    httpserver.expect_request(tongue.path).respond_with_json(tongue.body([[1, 0]]))
    await ask(tongue.open(local(httpserver)), "a")
    assert "imension" not in json.dumps(httpserver.log[0][0].get_json())


@pytest.mark.parametrize(("purpose", "task"), [("document", "RETRIEVAL_DOCUMENT"), ("question", "RETRIEVAL_QUERY")])
async def test_gemini_is_sent_the_purpose(httpserver: HTTPServer, purpose: Purpose, task: str) -> None:
    httpserver.expect_request(GEMINI.path).respond_with_json(GEMINI.body([[1, 0]]))
    await ask(GEMINI.open(local(httpserver)), "a", purpose=purpose)
    assert httpserver.log[0][0].get_json()["requests"][0]["taskType"] == task


async def test_a_gemini_that_knows_no_task_gets_one_vector_a_text(httpserver: HTTPServer) -> None:
    path = "/v1beta/models/gemini-embedding-2:batchEmbedContents"
    httpserver.expect_request(path).respond_with_json(GEMINI.body([[1, 0], [0, 1]]))
    assert await ask(GEMINI.open(local(httpserver), "gemini-embedding-2"), "a", "b") == [[1, 0], [0, 1]]
    requests = httpserver.log[0][0].get_json()["requests"]
    assert len(requests) == 2
    assert "taskType" not in requests[0]


async def test_packed_vectors_are_unpacked(httpserver: HTTPServer) -> None:
    body = OPENAI.body([[0, 0]])
    body["data"][0]["embedding"] = base64.b64encode(struct.pack("<2f", 0.5, -2)).decode()
    httpserver.expect_request(OPENAI.path).respond_with_json(body)
    assert await ask(OPENAI.open(local(httpserver)), "a") == [[0.5, -2]]


async def failure(embedder: Embedder, timeout: float = 10) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await ask(embedder, "a", "b", timeout=timeout)
    return caught.value


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (400, "bad_request", False),
        (401, "unauthorized", False),
        (404, "unknown_model", False),
        (429, "rate_limited", True),
        (500, "provider_error", True),
        (503, "provider_error", True),
    ],
)
async def test_status(tongue: Tongue, httpserver: HTTPServer, status: int, code: str, retryable: bool) -> None:
    body = {"error": {"message": f"no luck with {KEY}"}}
    httpserver.expect_request(tongue.path).respond_with_json(body, status, {"Retry-After": "7"})
    error = await failure(tongue.open(local(httpserver)))
    assert (error.code, error.retryable, error.retry_after) == (code, retryable, 7)
    assert KEY not in error.message
    assert len(httpserver.log) == 1


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[1, 0]],
        [[1, 0]] * 3,
        [[1, 0], [1]],
        [[], []],
        [[1, "x"], [0, 1]],
        [[1, None], [0, 1]],
        [[1, 1e999], [0, 1]],
    ],
    ids=["none", "too few", "too many", "lengths", "empty", "words", "null", "infinite"],
)
async def test_malformed(tongue: Tongue, httpserver: HTTPServer, vectors: Any) -> None:
    httpserver.expect_request(tongue.path).respond_with_json(tongue.body(vectors))
    assert (await failure(tongue.open(local(httpserver)))).code == "malformed"


@pytest.mark.parametrize("body", ["null", "[]", '{"data": [', "<html>Welcome</html>"])
async def test_no_reply_at_all(tongue: Tongue, httpserver: HTTPServer, body: str) -> None:
    httpserver.expect_request(tongue.path).respond_with_data(body, content_type="application/json")
    assert (await failure(tongue.open(local(httpserver)))).code == "malformed"


async def test_hang(tongue: Tongue) -> None:
    over = threading.Event()

    def wait(_: HttpRequest) -> Response:
        over.wait(30)
        return Response("late")

    with HTTPServer(threaded=True) as server:
        server.expect_request(tongue.path).respond_with_handler(wait)
        error = await failure(tongue.open(local(server)), timeout=0.2)
        over.set()
    assert (error.code, error.retryable) == ("timeout", True)


async def test_connection_refused(tongue: Tongue, httpserver: HTTPServer) -> None:
    url = local(httpserver)
    httpserver.stop()
    error = await failure(tongue.open(url))
    httpserver.start()
    assert (error.code, error.retryable) == ("unreachable", True)
