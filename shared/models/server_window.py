"""What servers at home report of the context windows of their models."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

from shared.bounded_http import MIB
from shared.local_servers import Kind
from shared.models.context_window import ServerWindow

OLLAMA_DEFAULT_TOKENS = 4096  # of a model that is not loaded yet and names no num_ctx of its own
LM_STUDIO_DEFAULT_TOKENS = 4096
MAX_REPLY_BYTES = 4 * MIB
TIMEOUT_S = 1.0
KNOWN_TTL_S, UNCERTAIN_TTL_S, UNSAID_TTL_S = 60.0, 15.0, 600.0
_NUM_CTX = re.compile(r"^[ \t]*num_ctx[ \t]+(\d{1,9})[ \t\r]*$", re.MULTILINE)
Json = Mapping[str, Any]


class WindowReader:
    """Asks a server for the window of one model, within a second; an answer counts for a minute.

    The last answer stays valid while no other one comes. A server that does not say its window is asked seldom.
    """

    def __init__(
        self,
        http: httpx2.AsyncClient,
        base_url: str,
        name: str,
        kind: Kind | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = http
        self._root = base_url.rstrip("/").removesuffix("/v1").rstrip("/")
        self._name = name
        self._kind = kind
        self._clock = clock
        self._window: ServerWindow | None = None
        self._expires_at = -math.inf
        self._lock = asyncio.Lock()
        self._has_failed = False

    async def read(self) -> ServerWindow | None:
        """Return the window; None where the server does not say it in time. Never raises."""
        async with self._lock:
            if self._clock() < self._expires_at:
                return self._window
            self._has_failed = False
            window = None
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    window = await self._ask()
            except TimeoutError:
                self._has_failed = True
            is_certain = window is not None and not window.is_assumed
            ttl_s = KNOWN_TTL_S if is_certain else UNCERTAIN_TTL_S if window or self._has_failed else UNSAID_TTL_S
            self._window = window or self._window
            self._expires_at = self._clock() + ttl_s
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
        if longest := _count(entry.get("max_model_len")):
            return ServerWindow(longest, "vllm")
        if entry.get("owned_by") != "llamacpp":
            return None
        meta = _object(entry, "meta")
        props = await self._get("/props")  # its window is that of one slot
        size = _count(_object(props, "default_generation_settings").get("n_ctx")) or _count(meta.get("n_ctx"))
        return ServerWindow(size, "llama", parameters=_count(meta.get("n_params"))) if size else None

    async def _ask_ollama(self) -> ServerWindow | None:
        """A loaded model has the window of `/api/ps`; another one gets its own num_ctx, or the default."""
        shown = await self._get("/api/show", {"model": self._name})
        info = _object(shown, "model_info")
        if not info:
            return None
        parameters = _count(info.get("general.parameter_count"))
        own_names = (self._name, f"{self._name}:latest")
        for one in _entries(await self._get("/api/ps"), "models"):
            if one.get("name") in own_names and (size := _count(one.get("context_length"))):
                return ServerWindow(size, "ollama", parameters=parameters)
        written = _NUM_CTX.search(str(shown.get("parameters") or ""))
        largest = next((_count(value) for key, value in info.items() if key.endswith(".context_length")), None)
        size = min(int(written[1]) if written else OLLAMA_DEFAULT_TOKENS, largest or OLLAMA_DEFAULT_TOKENS)
        return ServerWindow(size, "ollama", is_assumed=not written, parameters=parameters)

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
            response = await self._http.request(method, self._root + path, json=body)
            value = response.json() if response.status_code == httpx2.codes.OK else {}
        except (httpx2.HTTPError, httpx2.InvalidURL):
            self._has_failed = True
            return {}
        except (ValueError, RecursionError):
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
