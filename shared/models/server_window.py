"""Context windows of models at home, as their servers report them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from shared.bounded_http import MIB
from shared.local_servers import Kind

OLLAMA_DEFAULT_TOKENS = 4096  # of a model that is not loaded yet and names no num_ctx of its own
LM_STUDIO_DEFAULT_TOKENS = 4096
MAX_REPLY_BYTES = 4 * MIB
TIMEOUT_S = 2.0
KNOWN_TTL_S, UNKNOWN_TTL_S = 60.0, 15.0
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,9})\s*$", re.MULTILINE)
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServerWindow:
    """How many tokens a model reads and writes at most, question and answer together.

    `kind` of its server, where that was recognised. `is_assumed`: the model is not loaded, so the usual number counts.
    `parameters` is the size of the model, None where the server does not say it.
    """

    tokens: int
    kind: Kind | None
    is_assumed: bool = False
    parameters: float | None = None


class WindowReader:
    """Asks a server for the window of one model; an answer counts for a minute, and longer while none comes."""

    def __init__(
        self, http: httpx2.AsyncClient, base_url: str, name: str, kind: Kind | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._http = http
        self._root = base_url.rstrip("/").removesuffix("/v1").rstrip("/")
        self._name = name
        self._kind = kind
        self._clock = clock
        self._window: ServerWindow | None = None
        self._expires_at = 0.0

    async def read(self) -> ServerWindow | None:
        """Return the window; None where the server does not say it. Never raises."""
        if self._clock() < self._expires_at:
            return self._window
        window = await self._ask()
        is_known = window is not None and not window.is_assumed
        self._window = window or self._window
        self._expires_at = self._clock() + (KNOWN_TTL_S if is_known else UNKNOWN_TTL_S)
        return self._window

    async def _ask(self) -> ServerWindow | None:
        match self._kind:
            case "ollama":
                return await self._ask_ollama()
            case "lmstudio":
                return await self._ask_lm_studio()
            case "llama" | "vllm":
                return await self._ask_models()
        return await self._ask_models() or await self._ask_ollama() or await self._ask_lm_studio()

    async def _ask_models(self) -> ServerWindow | None:
        """The list of models of llama-server, vLLM and SGLang holds the window; older llama-servers have `/props`."""
        listed = _entries(await self._get("/v1/models"), "data")
        entry = next((one for one in listed if one.get("id") == self._name), listed[0] if len(listed) == 1 else {})
        if tokens := _count(entry.get("max_model_len")):
            return ServerWindow(tokens, "vllm")
        if entry.get("owned_by") != "llamacpp":
            return None
        meta = _object(entry, "meta")
        props = await self._get("/props")  # its window is that of one slot
        tokens = _count(_object(props, "default_generation_settings").get("n_ctx")) or _count(meta.get("n_ctx"))
        return ServerWindow(tokens, "llama", parameters=_count(meta.get("n_params"))) if tokens else None

    async def _ask_ollama(self) -> ServerWindow | None:
        """A loaded model has the window of `/api/ps`; another one gets its own num_ctx, or the default."""
        shown = await self._get("/api/show", {"model": self._name})
        info = _object(shown, "model_info")
        if not info:
            return None
        parameters = _count(info.get("general.parameter_count"))
        own_names = (self._name, f"{self._name}:latest")
        for one in _entries(await self._get("/api/ps"), "models"):
            if one.get("name") in own_names and (tokens := _count(one.get("context_length"))):
                return ServerWindow(tokens, "ollama", parameters=parameters)
        written = _NUM_CTX.search(str(shown.get("parameters") or ""))
        largest = next((_count(value) for key, value in info.items() if key.endswith(".context_length")), None)
        tokens = min(int(written[1]) if written else OLLAMA_DEFAULT_TOKENS, largest or OLLAMA_DEFAULT_TOKENS)
        return ServerWindow(tokens, "ollama", is_assumed=not written, parameters=parameters)

    async def _ask_lm_studio(self) -> ServerWindow | None:
        for one in _entries(await self._get("/api/v0/models"), "data"):
            if one.get("id") == self._name and (largest := _count(one.get("max_context_length"))):
                if loaded := _count(one.get("loaded_context_length")):
                    return ServerWindow(loaded, "lmstudio")
                return ServerWindow(min(LM_STUDIO_DEFAULT_TOKENS, largest), "lmstudio", is_assumed=True)
        return None

    async def _get(self, path: str, body: Json | None = None) -> Json:
        try:
            method = "GET" if body is None else "POST"
            response = await self._http.request(method, self._root + path, json=body, timeout=TIMEOUT_S)
            value = response.json() if response.status_code == httpx2.codes.OK else {}
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def _entries(value: Json, name: str) -> list[dict[str, Any]]:
    listed = value.get(name)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _object(value: Json, name: str) -> Json:
    inner = value.get(name)
    return inner if isinstance(inner, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
