"""Stand-ins for model servers at home: what Ollama, LM Studio and llama-server answer, right and wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from werkzeug import Request, Response

from tests.http_server import HTTPServer

Json = dict[str, Any]
USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


@dataclass
class HomeServer:
    """A server with one model; `loaded` says whether the model is in memory, `window` how much it reads then.

    `tool_reply` is the reply where tools are offered, `refused` a parameter that it does not take.
    """

    http: HTTPServer
    model: str
    window: int = 8192
    largest: int = 32768
    loaded: bool = True
    reply: Json = field(default_factory=lambda: {"role": "assistant", "content": "Yes."})
    tool_reply: Json | None = None
    stream: list[Json] = field(default_factory=list)
    has_tools: bool = True
    refused: str = ""
    sent: list[Json] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.http.expect_request("/v1/chat/completions", method="POST").respond_with_handler(self._complete)
        self.http.expect_request("/v1/models").respond_with_handler(lambda request: self._tell(request, self.models()))

    @property
    def url(self) -> str:
        return self.http.url_for("").rstrip("/")

    def models(self) -> Json:
        """The list in OpenAI's form."""
        return {"object": "list", "data": [{"id": self.model, "object": "model", "created": 1, "owned_by": "library"}]}

    def refusal(self, body: Json) -> tuple[int, Json] | None:
        """The status and body of an error; None to answer."""
        raise NotImplementedError

    def _tell(self, request: Request, value: Json, status: int = 200) -> Response:
        self.asked.append(request.path)
        return Response(json.dumps(value), status, content_type="application/json")

    def _complete(self, request: Request) -> Response:
        body: Json = request.get_json()
        self.sent.append(body)
        if self.refused in body:
            error = {"error": {"message": f"Unrecognized request argument supplied: {self.refused}"}}
            return Response(json.dumps(error), 400, content_type="application/json")
        if (refusal := self.refusal(body)) is not None:
            return Response(json.dumps(refusal[1]), refusal[0], content_type="application/json")
        if body.get("stream"):
            return Response(self._events(), content_type="text/event-stream")
        message = self.tool_reply if body.get("tools") and self.tool_reply else self.reply
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        whole = {"id": "1", "object": "chat.completion", "created": 1, "model": self.model, "choices": [choice]}
        return Response(json.dumps(whole | {"usage": USAGE}), content_type="application/json")

    def _events(self) -> Iterator[str]:
        frame = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": self.model}
        for delta in self.stream:
            choice = {"index": 0, "delta": delta, "finish_reason": None}
            yield f"data: {json.dumps(frame | {'choices': [choice]})}\n\n"
        ending = {"index": 0, "delta": {}, "finish_reason": "stop"}
        yield f"data: {json.dumps(frame | {'choices': [ending], 'usage': USAGE})}\n\ndata: [DONE]\n\n"


@dataclass
class Ollama(HomeServer):
    """`num_ctx` is what the model's own file says."""

    num_ctx: int | None = None
    parameters: int = 4_022_468_096

    def __post_init__(self) -> None:
        HomeServer.__post_init__(self)
        self.http.expect_request("/api/show", method="POST").respond_with_handler(self._show)
        self.http.expect_request("/api/ps").respond_with_handler(self._running)
        self.http.expect_request("/api/tags").respond_with_handler(self._tags)

    def refusal(self, body: Json) -> tuple[int, Json] | None:
        message = ""
        if body["model"] != self.model:
            message, status = f'model "{body["model"]}" not found, try pulling it first', 404
        elif body.get("tools") and not self.has_tools:
            message, status = f"registry.ollama.ai/library/{self.model} does not support tools", 400
        error = {"message": message, "type": "api_error", "param": None, "code": None}
        return (status, {"error": error}) if message else None

    def _show(self, request: Request) -> Response:
        if request.get_json()["model"] != self.model:
            return self._tell(request, {"error": f"model '{request.get_json()['model']}' not found"}, 404)
        own = (
            f'num_ctx                        {self.num_ctx}\nstop "<|im_end|>"' if self.num_ctx else 'stop "<|im_end|>"'
        )
        info = {
            "general.architecture": "qwen3",
            "general.parameter_count": self.parameters,
            "qwen3.context_length": self.largest,
            "qwen3.embedding_length": 2560,
        }
        details = {"family": "qwen3", "parameter_size": "4.0B", "quantization_level": "Q4_K_M"}
        shown = {"parameters": own, "details": details, "model_info": info, "capabilities": ["completion", "thinking"]}
        return self._tell(request, shown)

    def _running(self, request: Request) -> Response:
        entry = {"name": self.model, "model": self.model, "size_vram": 0, "context_length": self.window}
        return self._tell(request, {"models": [entry] if self.loaded else []})

    def _tags(self, request: Request) -> Response:
        models = [
            {"name": "nomic-embed-text:latest", "details": {"family": "nomic-bert", "families": ["nomic-bert"]}},
            {"name": self.model, "details": {"family": "qwen3", "families": ["qwen3"], "parameter_size": "4.0B"}},
        ]
        return self._tell(request, {"models": models})


@dataclass
class LMStudio(HomeServer):
    """It answers 200 with an error to paths that it does not know."""

    def __post_init__(self) -> None:
        HomeServer.__post_init__(self)
        self.http.expect_request("/api/v0/models").respond_with_handler(self._list)
        for path in ("/props", "/api/show", "/api/ps", "/api/tags"):
            error = {"error": f"Unexpected endpoint or method. (GET {path}). Returning 200 anyway"}
            self.http.expect_request(path).respond_with_json(error)

    def refusal(self, body: Json) -> tuple[int, Json] | None:
        if not self.loaded:
            message = "No models loaded. Please load a model in the developer page or use the 'lms load' command."
            return 404, {"error": {"message": message, "type": "invalid_request_error", "code": "model_not_found"}}
        if len(str(body["messages"])) > 4 * self.window:
            message = (
                "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with "
            )
            return 400, {"error": f"{message}context length of only {self.window} tokens, which is not enough."}
        return None

    def _list(self, request: Request) -> Response:
        entry: Json = {
            "id": self.model,
            "object": "model",
            "type": "llm",
            "publisher": "qwen",
            "arch": "qwen3",
            "compatibility_type": "gguf",
            "quantization": "Q4_K_M",
            "max_context_length": self.largest,
            "state": "loaded" if self.loaded else "not-loaded",
        }
        if self.loaded:
            entry["loaded_context_length"] = self.window
        vectors = {"id": "text-embedding-nomic", "type": "embeddings", "state": "loaded", "max_context_length": 2048}
        return self._tell(request, {"object": "list", "data": [vectors, entry]})


@dataclass
class Llama(HomeServer):
    """llama-server has one model, whatever a request names."""

    parameters: int = 1_777_088_000

    def __post_init__(self) -> None:
        HomeServer.__post_init__(self)
        self.http.expect_request("/props").respond_with_handler(self._props)

    def models(self) -> Json:
        meta = {"n_ctx": self.window, "n_ctx_train": self.largest, "n_params": self.parameters, "size": 1_111_370_240}
        entry = {"id": self.model, "object": "model", "created": 1, "owned_by": "llamacpp", "meta": meta}
        return {"object": "list", "data": [entry], "models": [{"name": self.model}]}

    def refusal(self, body: Json) -> tuple[int, Json] | None:
        if not self.loaded:
            return 503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
        if body.get("tools") and not self.has_tools:
            message = "tools param requires --jinja flag"
            return 500, {"error": {"message": message, "type": "server_error", "code": 500}}
        if (tokens := len(str(body["messages"]).split())) > self.window:
            message = f"request ({tokens} tokens) exceeds the available context size ({self.window} tokens), "
            error = {"code": 400, "message": f"{message}try increasing it", "type": "exceed_context_size_error"}
            return 400, {"error": error | {"n_prompt_tokens": tokens, "n_ctx": self.window}}
        return None

    def _props(self, request: Request) -> Response:
        if not self.loaded:
            return self._tell(request, {"error": {"message": "Loading model", "code": 503}}, 503)
        settings = {"n_ctx": self.window, "params": {}}
        return self._tell(request, {"default_generation_settings": settings, "total_slots": 1})
