"""Ollama, LM Studio and llama-server: names without a key, windows, thoughts, and errors that say what to do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from maas.model_registry import check_access, open_embedder, open_model
from maas.prompting.memory_room import fit_request
from maas.settings import load_settings
from shared.bounded_http import open_bounded
from shared.errors import MaasError
from shared.models import ALIVE, Message, ModelError, Reply, ToolCall
from shared.models.context_window import ServerWindow, count_request, reported_window
from shared.models.local_model import LocalModel
from shared.models.server_window import KNOWN_TTL_S, MAX_REPLY_BYTES, WindowReader
from tests.contract.dialects import WEATHER, ask
from tests.home_servers import HomeServer, Llama, LMStudio, Ollama
from tests.http_server import HTTPServer
from tests.stack import free_port

VARIABLES = {
    "ollama": "ollama_base_url",
    "lmstudio": "lmstudio_base_url",
    "llama": "llama_base_url",
    "vllm": "vllm_base_url",
}
LONG = "word " * 40_000


@pytest.fixture
def http() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as server:
        yield server


def opened(kind: str, server: HomeServer, name: str | None = None) -> LocalModel:
    model = open_model(f"{kind}:{name or server.model}", load_settings(**{VARIABLES[kind]: server.url}))
    assert isinstance(model, LocalModel)
    return model


def unnamed(server: HomeServer) -> LocalModel:
    """The same server, named by OPENAI_BASE_URL alone."""
    model = open_model(f"openai:{server.model}", load_settings(openai_base_url=f"{server.url}/v1"))
    assert isinstance(model, LocalModel)
    return model


async def failure(model: LocalModel, **changes: Any) -> ModelError:
    try:
        with pytest.raises(ModelError) as caught:
            await model.complete(ask(**changes), 10)
        with pytest.raises(ModelError) as streamed:
            async for _ in model.stream(ask(**changes), 10):
                pass
        assert streamed.value.message == caught.value.message
        return caught.value
    finally:
        await model.close()


async def test_a_model_of_ollama_needs_no_key(http: HTTPServer) -> None:
    server = Ollama(http, "qwen3:4b")
    check_access("ollama:qwen3:4b", load_settings())
    model = opened("ollama", server)
    assert (model.provider, model.name) == ("ollama", "qwen3:4b")
    reply = await model.complete(ask(), 10)
    assert (reply.text, reply.finish, reply.usage.tokens_in) == ("Yes.", "stop", 12)
    assert server.sent[0]["model"] == "qwen3:4b"
    await model.close()


@pytest.mark.parametrize(
    ("written", "url"),
    [
        (None, "http://127.0.0.1:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        (":11500", "http://127.0.0.1:11500"),
        ("gpu.lan", "http://gpu.lan:11434"),
        ("gpu.lan:9", "http://gpu.lan:9"),
        ("[::1]", "http://[::1]:11434"),
        ("https://ollama.example/", "https://ollama.example"),
        ("http://gpu.lan:8/v1", "http://gpu.lan:8"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("[::]:11434", "http://127.0.0.1:11434"),
    ],
)
def test_addresses_as_ollama_reads_them(monkeypatch: pytest.MonkeyPatch, written: str | None, url: str) -> None:
    if written is not None:
        monkeypatch.setenv("OLLAMA_HOST", written)
    assert load_settings().providers.server_url("ollama") == url


def test_an_address_that_is_none_matters_only_where_it_is_used() -> None:
    settings = load_settings(ollama_base_url="ftp://gpu.lan")
    with pytest.raises(MaasError, match=r"OLLAMA_HOST: 'ftp://gpu\.lan' is not an address"):
        open_model("ollama:qwen3", settings)
    with pytest.raises(MaasError, match="where MaaS listens itself; set MAAS_VLLM_URL or MAAS_PORT"):
        open_model("vllm:qwen3", load_settings())


async def test_vectors_of_ollama() -> None:
    embedder = open_embedder(load_settings(embedding_model="ollama:nomic-embed-text"))
    assert embedder is not None
    assert (embedder.provider, embedder.name) == ("ollama", "nomic-embed-text")
    await embedder.close()


@pytest.mark.parametrize(
    ("state", "window"),
    [
        ({"loaded": True, "window": 16384}, ServerWindow(16384, "ollama", parameters=4_022_468_096)),
        ({"loaded": False, "num_ctx": 8192}, ServerWindow(8192, "ollama", parameters=4_022_468_096)),
        ({"loaded": False}, ServerWindow(4096, "ollama", is_assumed=True, parameters=4_022_468_096)),
        ({"loaded": False, "largest": 2048}, ServerWindow(2048, "ollama", is_assumed=True, parameters=4_022_468_096)),
    ],
)
async def test_the_window_of_ollama_is_what_it_has_loaded(
    http: HTTPServer, state: dict[str, Any], window: ServerWindow
) -> None:
    """Not what the model could read: Ollama cuts off what is longer, and says nothing."""
    server = Ollama(http, "qwen3:4b", **state)
    for model in (opened("ollama", server), unnamed(server)):
        assert await model.window() == window
        await model.close()


async def test_the_windows_of_others(http: HTTPServer) -> None:
    server = LMStudio(http, "qwen3-4b")
    for loaded, window in (
        (True, ServerWindow(8192, "lmstudio")),
        (False, ServerWindow(4096, "lmstudio", is_assumed=True)),
    ):
        server.loaded = loaded
        for model in (opened("lmstudio", server), unnamed(server)):
            assert await model.window() == window
            await model.close()


async def test_the_window_of_one_slot_of_llama_server(http: HTTPServer) -> None:
    server = Llama(http, "/models/qwen.gguf", window=16384)
    for model in (opened("llama", server, "q"), unnamed(server)):
        assert await model.window() == ServerWindow(16384, "llama", parameters=1_777_088_000)
        asked = len(server.asked)
        assert (await model.window(), len(server.asked)) == (await model.window(), asked)
        assert model.kind == "llama"
        await model.close()


async def test_no_window_where_nobody_answers() -> None:
    model = open_model("llama:q", load_settings(llama_base_url=f"http://127.0.0.1:{free_port()}"))
    assert isinstance(model, LocalModel)
    assert await model.window() is None
    await model.close()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": "<think>\nThe user asks.\n</think>\n\nYes."}, "Yes."),
        ({"content": "Yes.", "reasoning_content": "The user asks."}, "Yes."),
        ({"content": "Yes.", "reasoning": "The user asks."}, "Yes."),
        ({"content": "The template began it.\n</think>\n\nYes."}, "Yes."),
        ({"content": "[THINK]Hm.[/THINK]Yes."}, "Yes."),
        ({"content": "Write <think> and </think> around it."}, "Write <think> and </think> around it."),
    ],
)
async def test_thoughts_are_no_part_of_an_answer(http: HTTPServer, message: dict[str, str], text: str) -> None:
    server = Ollama(http, "qwen3:4b", reply={"role": "assistant", **message})
    model = opened("ollama", server)
    reply = await model.complete(ask(), 10)
    assert (reply.text, reply.finish) == (text, "stop")
    await model.complete(replace(ask(), messages=(*ask().messages, reply.message(), Message("user", "And?"))), 10)
    assert server.sent[-1]["messages"][1]["content"] == text
    await model.close()


async def test_a_reply_of_thoughts_alone_is_none(http: HTTPServer) -> None:
    server = Ollama(http, "qwen3:4b", reply={"role": "assistant", "content": "<think>I do not know when to"})
    model = opened("ollama", server)
    reply = await model.complete(ask(), 10)
    assert (reply.text, reply.finish) == ("", "malformed")
    await model.close()


async def test_streamed_thoughts_are_signs_of_life(http: HTTPServer) -> None:
    texts = ["<th", "ink>Let me ", "think.</thi", "nk>\n", "\nYes", ", <b>."]
    server = Ollama(http, "qwen3:4b", stream=[{"role": "assistant"}, *({"content": text} for text in texts)])
    model = opened("ollama", server)
    *pieces, reply = [piece async for piece in model.stream(ask(), 10)]
    assert [piece for piece in pieces if piece != ALIVE] == ["Yes", ", <b>."]
    assert pieces.count(ALIVE) >= len(texts)
    assert isinstance(reply, Reply) and reply.text == "Yes, <b>."
    server.stream = [{"content": "<"}, {"content": "3"}]
    assert "".join([piece async for piece in model.stream(ask(), 10) if isinstance(piece, str)]) == "<3"
    server.stream = [{"content": "  <"}]
    assert "".join([piece async for piece in model.stream(ask(), 10) if isinstance(piece, str)]) == "  <"
    await model.close()


@pytest.mark.parametrize("refused", ["", "reasoning_effort", "chat_template_kwargs"])
async def test_stages_are_answered_without_thoughts(http: HTTPServer, refused: str) -> None:
    server = Llama(http, "q", refused=refused)
    model = opened("llama", server)
    for role in ("Analyzer", "Analyzer", "FinalResponder"):
        await model.complete(replace(ask(), role=role, needs_thoughts=role != "Analyzer"), 10)
    brief, answer = server.sent[-2:]
    asked = {"reasoning_effort": "none", "chat_template_kwargs": {"enable_thinking": False}}
    assert {name: brief.get(name) for name in asked if name != refused} == {
        name: value for name, value in asked.items() if name != refused
    }
    assert not (asked.keys() | {refused}) & answer.keys() and refused not in brief
    assert len(server.sent) == (4 if refused else 3)
    await model.close()


async def test_a_grammar_that_cannot_be_made_of_a_schema(http: HTTPServer) -> None:
    server = Llama(http, "q", refused="response_format")
    model = opened("llama", server)
    await model.complete(ask(json_schema={"type": "object"}), 10)
    assert "JSON schema" in server.sent[-1]["messages"][0]["content"]
    await model.close()


async def test_a_call_after_thoughts(http: HTTPServer) -> None:
    call = {"id": "c", "index": 0, "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    server = Ollama(http, "qwen3:4b", stream=[{"content": "<think>Rain?</think>"}, {"tool_calls": [call]}])
    model = opened("ollama", server)
    pieces = [piece async for piece in model.stream(ask(tools=(WEATHER,)), 10) if piece != ALIVE]
    assert isinstance(pieces[0], ToolCall) and isinstance(pieces[1], Reply)
    assert (pieces[1].text, pieces[1].finish) == ("", "tool_calls")
    await model.close()


async def test_a_model_that_is_not_there(http: HTTPServer) -> None:
    error = await failure(opened("ollama", Ollama(http, "qwen3:4b"), "qwen4"))
    assert error.code == "unknown_model"
    assert error.message == (
        'ollama:qwen4 answered 404: model "qwen4" not found, try pulling it first; ollama pull qwen4'
    )
    http.clear()
    error = await failure(opened("lmstudio", LMStudio(http, "qwen3-4b", loaded=False)))
    assert error.code == "unknown_model" and "; lms load qwen3-4b (lms ls lists" in error.message


async def test_a_model_that_is_loading_may_answer_later(http: HTTPServer) -> None:
    error = await failure(opened("llama", Llama(http, "q", loaded=False)))
    assert error.retryable and error.message == "llama:q answered 503: Loading model; wait until it is loaded"


async def test_a_model_without_tools(http: HTTPServer) -> None:
    error = await failure(opened("ollama", Ollama(http, "gemma3:4b", has_tools=False)), tools=(WEATHER,))
    assert error.message.endswith(
        "gemma3:4b does not support tools; use a model whose capabilities list tools (ollama show gemma3:4b), "
        "or an assistant without tools"
    )
    http.clear()
    error = await failure(opened("llama", Llama(http, "q", has_tools=False)), tools=(WEATHER,))
    assert "--jinja flag; start llama-server with --jinja, or an assistant without tools" in error.message


@pytest.mark.parametrize(
    ("kind", "stand_in", "remedy"),
    [
        ("llama", Llama, "; start llama-server with -c 16384"),
        ("lmstudio", LMStudio, "lms load qwen3-4b --context-length 16384"),
    ],
)
async def test_a_request_that_is_too_long(http: HTTPServer, kind: str, stand_in: type[HomeServer], remedy: str) -> None:
    error = await failure(opened(kind, stand_in(http, "qwen3-4b")), text=LONG)
    assert remedy in error.message
    assert error.message.endswith(", or lower MAAS_PAYLOAD_TOKENS and MAAS_MAX_TOKENS")


async def test_a_reported_window_bounds_what_is_sent(http: HTTPServer) -> None:
    """Ollama would cut off the beginning and say nothing; a reply has a quarter of the window."""
    model = opened("ollama", Ollama(http, "qwen3:4b", window=4096))
    window = await reported_window(model)
    brief = await fit_request(model, ask(max_tokens=2000), window)
    assert (window, brief.max_tokens) == (4096, 1024)
    with pytest.raises(ModelError) as caught:
        await fit_request(model, replace(ask(LONG), role="Analyzer"), window)
    assert caught.value.code == "context_exceeded"
    memory = "\n".join(f"- [2026-01-01] I like number {number}." for number in range(2000))
    cut = await fit_request(model, ask(system=f"Be brief.\n\n<memory>\n{memory}\n</memory>"), window)
    assert 1000 < count_request(cut) <= 4096 - 1024 and cut.system.startswith("Be brief.")
    await model.close()


async def test_a_server_of_an_unknown_kind_is_not_asked_for_its_window(http: HTTPServer) -> None:
    model = unnamed(Llama(http, "q"))
    assert (await reported_window(model), http.log) == (None, [])
    await model.close()


async def test_a_window_is_asked_for_again(http: HTTPServer) -> None:
    """A model may be loaded with another one; the last answer counts while the server is away."""
    server = Llama(http, "q", window=4096)
    now = [0.0]
    async with open_bounded(MAX_REPLY_BYTES) as client:
        reader = WindowReader(client, f"{server.url}/v1", "q", "llama", lambda: now[0])
        assert list(await asyncio.gather(reader.read(), reader.read())) == [await reader.read()] * 2
        server.window = 8192
        for seconds, tokens in ((KNOWN_TTL_S - 1, 4096), (KNOWN_TTL_S + 1, 8192)):
            now[0] = seconds
            window = await reader.read()
            assert window is not None and window.tokens == tokens
        http.clear()
        now[0] *= 3
        assert await reader.read() == window


async def test_a_server_that_is_off() -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    for kind, start in (("ollama", "ollama serve"), ("lmstudio", "lms server start"), ("llama", "llama-server -m")):
        model = open_model(f"{kind}:m", load_settings(**{VARIABLES[kind]: nobody}))
        assert isinstance(model, LocalModel)
        error = await failure(model)
        assert error.code == "unreachable" and error.retryable and start in error.message
