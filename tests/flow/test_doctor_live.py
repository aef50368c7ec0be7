"""`maas doctor --live`: one call of each model, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.embedding_server import EmbeddingServer
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.stack import Stack, free_port, maas


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


@pytest.fixture
def models(server: HTTPServer) -> Iterator[ModelServer]:
    models = ModelServer(server)
    models.replies["assembler"] = "yes"  # nothing at all would be no answer
    yield models
    models.close()


def doctor(stack: Stack, *options: str, **settings: str) -> tuple[int, str]:
    done = maas(stack, "doctor", *options, **settings)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_each_model_is_asked_once(stack: Stack, models: ModelServer, server: HTTPServer) -> None:
    vectors = EmbeddingServer(server)
    settings = models.settings() | vectors.settings() | {"MAAS_ASSEMBLER_MODEL": "openai:analyzer"}
    assert doctor(stack, **settings)[0] == 0
    assert (models.calls, vectors.calls) == ({}, 0)
    status, page = doctor(stack, "--live", **settings)
    assert status == 0, page
    assert (models.calls, vectors.calls) == ({"analyzer": 1, "responder": 1, "archivist": 1}, 1)
    for name in (
        "openai:analyzer (Analyzer, Assembler)",
        "openai:responder (FinalResponder)",
        "openai:archivist (Archivist, Compactor)",
    ):
        assert re.search(rf"ok    {re.escape(name)}: \d+ ms, 11 tokens in, 7 out, price unknown", page), page
    assert re.search(r"ok    openai:words \(vectors\): \d+ ms, \d\d tokens in, 0 out, price unknown", page), page
    assert "all checks passed" in page


def test_what_a_call_cost(stack: Stack, models: ModelServer) -> None:
    """As the database reckons it; a model without a price costs an unknown sum, not nothing."""
    models.replies["gpt-4o"] = "yes"
    (row,) = stack.rows("select maas_price('openai', 'gpt-4o', 11, 0, 7) as micros")
    assert row["micros"] > 0
    status, page = doctor(stack, "--live", **(models.settings() | {"MAAS_RESPONDER_MODEL": "openai:gpt-4o"}))
    assert status == 0
    assert f"tokens in, 7 out, ${row['micros'] / 1e6:.6f}\n" in page
    assert page.count("price unknown") == 3


def test_the_built_in_model_is_asked_too(stack: Stack) -> None:
    status, page = doctor(stack, "--live")
    assert status == 0
    everybody = "Analyzer, Assembler, FinalResponder, Archivist, Compactor"
    assert re.search(rf"ok    extractive:builtin \({everybody}\): \d+ ms, \d+ tokens in, \d+ out, \$0\.000000", page), (
        page
    )


def test_what_is_wrong_is_said_and_not_repeated(stack: Stack, models: ModelServer, server: HTTPServer) -> None:
    vectors = EmbeddingServer(server)
    vectors.status = 503
    models.statuses |= {"analyzer": 401, "assembler": 404, "responder": 500}
    models.replies["archivist"] = "yes"
    status, page = doctor(stack, "--live", **(models.settings() | vectors.settings()))
    assert status == 1
    assert (models.calls["responder"], vectors.calls) == (1, 1)
    for line in (
        r"wrong openai:analyzer \(Analyzer\): openai:analyzer answered 401: on purpose; correct its key \(\d+ ms\)",
        r"wrong openai:assembler \(Assembler\): openai:assembler answered 404: on purpose; correct its name",
        r"wrong openai:responder \(FinalResponder\): openai:responder answered 500: on purpose \(\d+ ms\)",
        r"ok    openai:archivist",
        r"wrong openai:words \(vectors\): openai:words answered 503: on purpose",
        r"checks failed: 4",
    ):
        assert re.search(line, page), page


def test_a_model_that_hangs_or_is_not_there(stack: Stack, models: ModelServer) -> None:
    models.hold("responder")
    nobody = f"http://127.0.0.1:{free_port()}"
    gemini = {"MAAS_ANALYZER_MODEL": "gemini:none", "GEMINI_API_KEY": "AIza-not-a-key", "GEMINI_BASE_URL": nobody}
    settings = models.settings() | {"MAAS_ATTEMPT_TIMEOUT": "0.5"} | gemini
    status, page = doctor(stack, "--live", **settings)
    assert status == 1
    assert re.search(r"wrong openai:responder .*no answer within 0.5 s; check its base URL", page), page
    assert re.search(r"wrong gemini:none \(Analyzer\): gemini:none: .*; check its base URL", page), page
    assert "checks failed: 2" in page


def test_a_key_that_is_missing(stack: Stack) -> None:
    status, page = doctor(stack, "--live", MAAS_RESPONDER_MODEL="openai:gpt-4o")
    assert status == 1
    assert "wrong openai:gpt-4o (FinalResponder): openai:gpt-4o needs OPENAI_API_KEY" in page
