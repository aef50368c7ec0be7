"""/v1/embeddings: the embedder of the server, and those of providers that are passed through."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import openai
import pytest
from openai import OpenAI
from werkzeug import Request, Response

from tests.http_server import HTTPServer
from tests.provider import openai_client
from tests.stack import Stack

LOCAL = "local:e5-small"


class Vectors:
    """A provider of vectors that keeps what it is sent."""

    def __init__(self, http: HTTPServer) -> None:
        self.url = http.url_for("/v1")
        self.sent: list[dict[str, Any]] = []
        http.expect_request("/v1/embeddings", method="POST").respond_with_handler(self._embed)

    def _embed(self, request: Request) -> Response:
        self.sent.append(json.loads(request.get_data()))
        data = [{"object": "embedding", "index": 0, "embedding": [0.5, -0.5]}]
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        body = {"object": "list", "model": self.sent[-1]["model"], "data": data, "usage": usage}
        return Response(json.dumps(body), content_type="application/json")


@pytest.fixture(scope="module")
def provider() -> Iterator[Vectors]:
    with HTTPServer() as http:
        yield Vectors(http)


@pytest.fixture(scope="module")
def stack(fresh_database: str, provider: Vectors, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "sk-1234567890", "MAAS_EMBEDDING_MODEL": LOCAL}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        yield running


@pytest.fixture
def client(stack: Stack) -> Iterator[OpenAI]:
    with openai_client(stack) as client:
        yield client


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_the_embedder_of_the_server(client: OpenAI) -> None:
    texts = ["The cat sleeps on the sofa.", "A kitten naps on the couch.", "Interest rates rose again."]
    reply = client.embeddings.create(model="maas", input=texts)  # base64, which the SDK asks for by itself
    cat, kitten, rates = (one.embedding for one in reply.data)
    assert reply.model == LOCAL and len(cat) == 384
    assert cosine(cat, kitten) > cosine(cat, rates)
    plain = client.embeddings.create(model=LOCAL, input=texts[0], encoding_format="float")
    assert plain.data[0].embedding == pytest.approx(cat, abs=1e-5)
    assert LOCAL in [one.id for one in client.models.list()]


def test_a_model_of_a_provider(client: OpenAI, provider: Vectors, stack: Stack) -> None:
    user = str(uuid4())
    reply = client.embeddings.create(
        model="openai:text-embedding-3-small", input=[[1, 2, 3]], dimensions=2, encoding_format="float", user=user
    )
    assert reply.data[0].embedding == [0.5, -0.5]
    assert provider.sent[-1] == {
        "model": "text-embedding-3-small",
        "input": [[1, 2, 3]],
        "dimensions": 2,
        "encoding_format": "float",
        "user": user,
    }
    rows = stack.rows(
        "select c.model, c.tokens_in from llm_calls c join pipeline_runs r on r.id = c.run_id where r.user_id = %s",
        user,
    )
    assert [tuple(row.values()) for row in rows] == [("text-embedding-3-small", 3)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"input": ""}, "input"),
        ({"input": []}, "input"),
        ({"input": ["a"] * 257}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"dimensions": 7}, "dimensions"),
        ({"encoding_format": "hex"}, "encoding_format"),
    ],
)
def test_bad_input(stack: Stack, more: dict[str, Any], message: str) -> None:
    reply = stack.client.post("/v1/embeddings", json={"model": "maas", "input": "hello"} | more)
    assert reply.status_code == 400, reply.text
    assert message in reply.json()["error"]["message"]


def test_an_unknown_model(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="nothing", input="hello")
