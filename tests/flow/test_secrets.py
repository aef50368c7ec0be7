"""Keys and passwords stand in no row, log, reply and report, whatever a provider's errors repeat."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from werkzeug import Request, Response

from tests.http_server import HTTPServer
from tests.model_server import REPLIES, ROLES
from tests.sql.traces import tables_with
from tests.stack import Stack, maas

OPENAI_KEY = "Zq/planted+openai.key=0=x7"
GEMINI_KEY = "Zq-planted~gemini_key.0-x8"
PASSWORD = "Zq!planted*database$word_x9"
GATEWAY = "Zq.planted-gateway-word-x10"
QUERY = "Zq.planted-query-word-x11"
SECRETS = (OPENAI_KEY, GEMINI_KEY, PASSWORD, GATEWAY, QUERY)


def forms(secret: str) -> set[str]:
    """How a secret may look: as it is, in a URL, in JSON, in base64 behind other words."""
    words = ("", "gate:", "Bearer ")
    encoded = {base64.b64encode(f"{word}{secret}".encode()).decode()[len(word) * 4 // 3 + 1 :][:16] for word in words}
    return {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], *encoded}


LAST = ("archivist", "analyzer", "responder")  # one that is silent is left alone for a while
FORMS = set().union(*map(forms, SECRETS))


class Echo:
    """Refuses with `statuses[model]`, and its body repeats all that it was sent; answers other models."""

    def __init__(self, server: HTTPServer) -> None:
        self.statuses: dict[str, int] = {}
        self.authorizations: set[str] = set()
        self.host = f"{server.host}:{server.port}"
        server.expect_request(re.compile(".*")).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        headers = dict(request.headers)
        sent = headers.get("Authorization") or headers.get("X-Goog-Api-Key") or ""
        self.authorizations.add(sent)
        model = (request.get_json() or {}).get("model") or request.path.rpartition("/")[2].partition(":")[0]
        if status := self.statuses.get(model):
            words = f"{sent} is wrong, {base64.b64encode(sent.encode()).decode()} too; {request.url} {headers}"
            if status == 502:
                return Response(f"<html>{words}</html>", status, content_type="text/html")
            return Response(json.dumps({"error": {"message": words, "code": status}}), status)
        text = REPLIES.get(model, "It was answered.")
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message, "delta": message}
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "candidates": [candidate],
        }
        if (request.get_json() or {}).get("stream"):
            return Response(f"data: {json.dumps(body)}\n\ndata: [DONE]\n\n", content_type="text/event-stream")
        return Response(json.dumps(body), content_type="application/json")


@pytest.fixture
def echo() -> Iterator[Echo]:
    with HTTPServer(threaded=True) as server:
        yield Echo(server)


@pytest.fixture
def locked(database: str) -> Iterator[str]:
    """DSN of the test's database under a user with a password of its own."""
    role = f"planted_{uuid4().hex[:12]}"
    with psycopg.connect(database, autocommit=True) as admin:
        admin.execute(
            sql.SQL("create role {} superuser login password {}").format(sql.Identifier(role), sql.Literal(PASSWORD))
        )
        yield re.sub(r"//[^@]*@", f"//{role}:{quote(PASSWORD, safe='')}@", database)
        admin.execute(sql.SQL("drop role {}").format(sql.Identifier(role)))


@pytest.fixture
def stack(locked: str, tmp_path: Path) -> Iterator[Stack]:
    with Stack(locked, tmp_path) as stack:
        yield stack


Bases = Callable[[str], str]
BASES: dict[str, Bases] = {
    "keys": lambda host: f"http://{host}/v1",
    "userinfo": lambda host: f"http://gate:{GATEWAY}@{host}/v1",
    "query": lambda host: f"http://{host}/v1?code={QUERY}",
}


def environment(base: str) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": OPENAI_KEY,
        "OPENAI_BASE_URL": base,
        "GEMINI_API_KEY": GEMINI_KEY,
        "GEMINI_BASE_URL": base.replace("/v1", ""),
        "MAAS_RETRY_DELAY": "0.01",
        "MAAS_LOG_LEVEL": "debug",
        "MAAS_ANALYZER_MODEL": "openai:analyzer",
        "MAAS_ASSEMBLER_MODEL": "gemini:assembler",
        "MAAS_RESPONDER_MODEL": "openai:responder",
        "MAAS_ARCHIVIST_MODEL": "gemini:archivist",
        "MAAS_EMBEDDING_MODEL": "openai:embedder",
    }


def leaks(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


def settle(stack: Stack, echo: Echo, statuses: dict[str, int]) -> UUID:
    echo.statuses = {"embedder": 401} | statuses
    run_id = stack.ask(uuid4(), "Is my secret safe?")
    stack.wait_archived(run_id)
    return run_id


def outputs(stack: Stack, runs: list[UUID], settings: dict[str, str]) -> Iterator[tuple[str, str]]:
    """All that anybody can read without being root, by name."""
    yield "logs", stack.log()
    of_runs = [f"/v1/runs/{run}{what}" for run in runs for what in ("?wait=1", "/trace")]
    for path in ("/v1/runs", "/metrics", "/healthz", "/readyz", *of_runs):
        reply = stack.client.get(path)
        yield path, f"{reply.text} {reply.headers}"
    commands = [["doctor"], ["top", "--once"], ["runs"], ["embed"]]
    commands += [["trace", str(run)] for run in runs[::4]]  # as a page, which the endpoint returns for every run
    for command in commands:
        done: subprocess.CompletedProcess[str] = maas(stack, *command, **settings)
        yield " ".join(command), done.stdout + done.stderr


@pytest.mark.parametrize("base", BASES)
def test_secrets_stay_secret(stack: Stack, echo: Echo, base: str) -> None:
    """FAILED and COMPLETED, by every kind of refusal of every role."""
    settings = environment(BASES[base](echo.host))
    stack.start_server(**settings)
    stack.start_orchestrator(**settings)
    refusals: list[dict[str, int]] = [{role: status} for status in (400, 401) for role in ROLES]
    runs = [settle(stack, echo, one) for one in (*refusals, {"assembler": 502}, *({role: 500} for role in LAST))]
    ends = stack.rows("select status, count(*) as runs from pipeline_runs group by 1 order by 1")
    assert [end["status"] for end in ends] == ["COMPLETED", "FAILED"]
    assert any(
        GATEWAY in base64.b64decode(sent.removeprefix("Basic ") + "==").decode("latin-1")
        if base == "userinfo"
        else sent == f"Bearer {OPENAI_KEY}"
        for sent in echo.authorizations
    )
    repeated = stack.rows("select from llm_calls where error like '%is wrong, %'")
    assert len(repeated) >= 5, "what the provider says does stand in the ledger"
    found = {name: leaks(text) for name, text in outputs(stack, runs, settings)}
    assert {name: what for name, what in found.items() if what} == {}
    with psycopg.connect(stack.dsn, autocommit=True, row_factory=psycopg.rows.dict_row) as connection:
        assert {form: where for form in FORMS if (where := tables_with(connection, form))} == {}


def test_a_refused_password_is_not_shown(stack: Stack) -> None:
    """Processes and commands that cannot begin say why, and not with what."""
    wrong = re.sub(r"//[^@]*@", f"//nobody:{quote(PASSWORD, safe='')}@", stack.dsn)
    for dsn in (wrong, wrong.replace("postgresql:", "mysql:"), wrong + "?sslmode=nonsense"):
        for command in ("doctor", "runs", "migrate", "orchestrator"):
            done = maas(stack, command, DATABASE_URL=dsn)
            assert done.returncode != 0
            assert leaks(done.stdout + done.stderr) == [], done.stderr
            assert "Traceback" not in done.stderr, done.stderr
