"""Model servers that `maas up` finds on this machine: one line, at once, and never somebody else's server."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from threading import Event
from typing import Any

import pytest
from werkzeug import Request, Response

from maas.cli.found_servers import MAX_WAIT_S, ServerSearch
from maas.settings import Settings, load_settings
from tests.home_servers import Llama, LMStudio, Ollama
from tests.http_server import HTTPServer
from tests.stack import free_port


@pytest.fixture
def http() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


def at(**urls: str) -> Settings:
    """Settings in which all other servers are away."""
    nobody = f"http://127.0.0.1:{free_port()}"
    return load_settings(**{"ollama_base_url": nobody, "lmstudio_base_url": nobody, "llama_base_url": nobody} | urls)


def test_ollama_is_found_with_a_model_that_chats(http: HTTPServer) -> None:
    server = Ollama(http, "qwen3:4b")
    assert ServerSearch(at(ollama_base_url=server.url)).found() == (
        "Found Ollama with qwen3:4b: MAAS_MODEL=ollama:qwen3:4b make run"
    )


def test_the_loaded_model_of_lm_studio(http: HTTPServer) -> None:
    server = LMStudio(http, "qwen/qwen3-4b")
    assert ServerSearch(at(lmstudio_base_url=server.url)).found() == (
        "Found LM Studio with qwen/qwen3-4b: MAAS_MODEL=lmstudio:qwen/qwen3-4b make run"
    )


def test_a_name_that_a_shell_would_cut(http: HTTPServer) -> None:
    server = Llama(http, "/my models/qwen.gguf")
    assert ServerSearch(at(llama_base_url=server.url)).found() == (
        "Found llama-server with /my models/qwen.gguf: MAAS_MODEL='llama:/my models/qwen.gguf' make run"
    )


def test_the_first_of_several(http: HTTPServer) -> None:
    Llama(http, "q")
    studio = LMStudio(http, "qwen3-4b")
    line = ServerSearch(at(lmstudio_base_url=studio.url, llama_base_url=studio.url)).found()
    assert line is not None and line.startswith("Found LM Studio")


@pytest.mark.parametrize(
    "reply", [{}, [], {"data": [{"id": "gpt", "owned_by": "us"}]}, {"data": [{"id": "a\nb", "owned_by": "llamacpp"}]}]
)
def test_another_program_on_the_port(http: HTTPServer, reply: Any) -> None:
    http.expect_request("/v1/models").respond_with_json(reply)
    assert ServerSearch(at(llama_base_url=http.url_for("").rstrip("/"))).found() is None


def test_nobody_is_asked_where_a_model_is_configured_or_the_server_is_elsewhere(http: HTTPServer) -> None:
    server = Ollama(http, "qwen3:4b")
    configured = at(ollama_base_url=server.url).replace(responder_model="openai:gpt-4o")
    assert ServerSearch(configured).found() is None
    ours = at(ollama_base_url=server.url).replace(port=http.port)
    assert ServerSearch(ours).found() is None
    assert http.log == []


def test_a_server_that_does_not_answer_delays_nothing(http: HTTPServer) -> None:
    is_over = Event()

    def hang(request: Request) -> Response:
        is_over.wait(20)
        return Response("{}")

    http.expect_request("/api/tags").respond_with_handler(hang)
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        began = time.monotonic()
        url = http.url_for("").rstrip("/")
        search = ServerSearch(at(ollama_base_url=url, llama_base_url=f"http://127.0.0.1:{silent.getsockname()[1]}"))
        assert search.found() is None
        assert time.monotonic() - began < MAX_WAIT_S + 1  # the machine may be busy
    is_over.set()
