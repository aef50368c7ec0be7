"""Model servers that run on this machine while MaaS uses none: `maas up` prints the line that would use one."""

from __future__ import annotations

import json
import shlex
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

from maas.settings import Settings
from maas.settings.models import ROLES
from maas.settings.profiles import BUILTIN_MODEL
from shared.errors import MaasError
from shared.local_servers import SERVERS, Kind, LocalServer, is_loopback

MAX_WAIT_S = 0.3
TIMEOUT_S = 0.25
MAX_REPLY_BYTES = 1024 * 1024
MAX_NAME_CHARS = 200
MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"
Json = Mapping[str, Any]


class ServerSearch:
    """Asks Ollama, LM Studio and llama-server side by side, on the loopback address only, in the background."""

    def __init__(self, settings: Settings) -> None:
        self._deadline = time.monotonic() + MAX_WAIT_S
        self._models: dict[Kind, str] = {}
        uses_no_model = {settings.models.role_model(role) for role in ROLES} == {BUILTIN_MODEL}
        self._threads = [
            Thread(target=self._ask, args=(SERVERS[kind], url), daemon=True)
            for kind, url in (_addresses(settings) if uses_no_model else ())
        ]
        for thread in self._threads:
            thread.start()

    def found(self) -> str | None:
        """Return the line that names a server and how to use its model; waits until 0.3 s after the beginning."""
        for thread in self._threads:
            thread.join(max(self._deadline - time.monotonic(), 0.0))
        kind = next((kind for kind in _PATHS if kind in self._models), None)
        if kind is None:
            return None
        name = self._models[kind]
        command = "make run" if MAKEFILE.is_file() else "maas up"
        return f"Found {SERVERS[kind].title} with {name}: MAAS_MODEL={shlex.quote(f'{kind}:{name}')} {command}"

    def _ask(self, server: LocalServer, url: str) -> None:
        path, names = _PATHS[server.kind]
        # Without a proxy: the address is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(url + path, timeout=TIMEOUT_S) as response:
                reply = json.loads(response.read(MAX_REPLY_BYTES))
            name = next((name for name in names(reply) if _is_shown(name)), None)
        except (urllib.error.URLError, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return
        if name is not None:
            self._models[server.kind] = name


def _addresses(settings: Settings) -> Iterator[tuple[Kind, str]]:
    for kind in _PATHS:
        server = SERVERS[kind]
        try:
            configured = settings.providers.server_url(kind)
        except MaasError:
            configured = server.url
        url = configured if is_loopback(configured) else server.url
        if not url.endswith(f":{settings.http.port}"):  # where MaaS listens itself
            yield kind, url


def _of_ollama(reply: Json) -> Iterator[str]:
    for one in reply["models"]:
        if "bert" not in str(one.get("details")) and "embed" not in one["name"]:
            yield one["name"]


def _of_lm_studio(reply: Json) -> Iterator[str]:
    models = [one for one in reply["data"] if one.get("type") in ("llm", "vlm")]
    for one in sorted(models, key=lambda one: one.get("state") != "loaded"):
        yield one["id"]


def _of_llama_server(reply: Json) -> Iterator[str]:
    for one in reply["data"]:
        if one.get("owned_by") == "llamacpp":  # other programs like this port, too
            yield one["id"]


def _is_shown(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME_CHARS and name.isprintable()


_PATHS: dict[Kind, tuple[str, Callable[[Json], Iterator[str]]]] = {
    "ollama": ("/api/tags", _of_ollama),
    "lmstudio": ("/api/v0/models", _of_lm_studio),
    "llama": ("/v1/models", _of_llama_server),
}
