"""`maas doctor --live`: a call of each model, what came of it, and what servers at home do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.embedding_server import EmbeddingServer
from tests.home_servers import Ollama
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


def test_each_model_is_asked(stack: Stack, models: ModelServer, server: HTTPServer) -> None:
    vectors = EmbeddingServer(server)
    settings = models.settings() | vectors.settings() | {"MAAS_ASSEMBLER_MODEL": "openai:analyzer"}
    assert doctor(stack, **settings)[0] == 0
    assert (models.calls, vectors.calls) == ({}, 0)
    status, page = doctor(stack, "--live", **settings)
    assert status == 0, page
    # A server at home is asked three times more, for its speed and its tool calls.
    assert (models.calls, vectors.calls) == ({"analyzer": 4, "responder": 4, "archivist": 4}, 1)
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
    assert f"tokens in, 7 out, ${row['micros'] / 1e6:.6f}" in page
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


def test_what_a_server_at_home_does(stack: Stack, server: HTTPServer) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    home = Ollama(server, "qwen3:4b", window=4096, stream=[{"content": "15 red"}, {"content": " books."}])
    home.tool_reply = {"role": "assistant", "content": None, "tool_calls": [call]}
    settings = {"MAAS_RESPONDER_MODEL": "ollama:qwen3:4b", "OLLAMA_HOST": home.url}
    status, page = doctor(stack, "--live", **settings, COLUMNS="200")
    page = " ".join(page.split())
    assert status == 0, page
    assert re.search(r"ok ollama:qwen3:4b \(FinalResponder\): .* reads \d+ tokens a second, writes \d+ tokens", page)
    assert "calls tools, context window 4,096 tokens" in page
    assert "note ollama:qwen3:4b: its context window leaves little room for memory: start Ollama with" in page
    assert "it has 4.0 billion parameters: set MAAS_MODEL_PROFILE=small" in page
    assert home.sent[1]["messages"][0] == home.sent[2]["messages"][0]
    home.tool_reply = {"role": "assistant", "content": '```json\n{"name": "clock", "arguments": {}}\n```'}
    assert "writes tool calls as text" in " ".join(doctor(stack, "--live", **settings)[1].split())
    home.has_tools = False
    assert "takes no tools" in doctor(stack, "--live", **settings)[1]


def test_what_a_profile_sets_is_shown(stack: Stack) -> None:
    settings = {"MAAS_MODEL": "ollama:qwen3:4b", "MAAS_MODEL_PROFILE": "auto", "MAAS_MAX_TOKENS": "300"}
    page = doctor(stack, **settings, COLUMNS="200")[1]
    lines = [line.split() for line in page.splitlines()]
    assert ["MAAS_ANALYZER_MODEL", "extractive:builtin", "profile", "small"] in lines
    assert ["MAAS_MAX_TOKENS", "300", "environment"] in lines
    assert "FinalResponder ollama:qwen3:4b, Archivist extractive:builtin" in " ".join(page.split())
    assert "profile small" in page


def test_what_a_server_at_home_lacks(stack: Stack, server: HTTPServer) -> None:
    home = Ollama(server, "qwen3:4b")
    status, page = doctor(stack, "--live", MAAS_RESPONDER_MODEL="ollama:qwen4", OLLAMA_HOST=home.url)
    assert status == 1
    assert re.search(r'answered 404: model "qwen4" not found, try pulling it first; ollama pull qwen4 \(\d+ ms\)', page)


def test_calls_that_fail_often_are_named(stack: Stack) -> None:
    """With the setting that would help; the ledger of the last day decides."""
    stack.rows(
        """with asked as (insert into pipeline_runs (user_id, user_query)
             select gen_random_uuid(), 'q' from generate_series(1, 5) returning id)
           insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, prompt_version,
             finish, attempts, error, tokens_in, tokens_out, ms)
           select a.id, 1, c.stage, 7, 1, 'openai', 'q', c.role, 1, c.finish, c.attempts, c.error, 0, 0, c.ms
           from asked a cross join (values
             ('analyzer', 'Analyzer', 'error', 1, 'timeout: openai:q gave no answer within 3.0 s', 3001),
             ('final_responder', 'Mentor', 'error', 4, 'timeout: openai:q gave no answer within 30.0 s', 127000),
             ('archivist', 'Archivist', 'error', 1, 'bad_request: openai:q answered 400: no', 20),
             ('assembler', 'Assembler', 'skipped', 0, 'timeout: openai:q has been paused', 0)
           ) as c (stage, role, finish, attempts, error, ms)"""
    )
    page = " ".join(maas(stack, "doctor", COLUMNS="400").stdout.split())
    assert "note model calls: " in page
    assert (
        "5 of 5 calls of the Analyzer with openai:q ended at 3 s: set MAAS_ANALYZER_TIMEOUT=15, or leave it to rules: "
        "MAAS_ANALYZER_MODEL=extractive:builtin" in page
    )
    assert "5 of 5 calls of the Mentor with openai:q ended at 30 s: set MAAS_RESPONDER_ATTEMPT_TIMEOUT=120" in page
    assert "5 of 5 calls of the Archivist with openai:q failed, the last because openai:q answered 400: no" in page
    assert "Assembler with" not in page
