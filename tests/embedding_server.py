"""An HTTP server that embeds: texts that share words are near each other, whatever language they are in."""

from __future__ import annotations

import json
import re
import threading
import zlib
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

DIMENSIONS = 64


def vector(text: str) -> list[float]:
    """Each word has a place of its own."""
    found = [0.001] * DIMENSIONS
    for word in re.findall(r"\w+", text.casefold()):
        found[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    return found


class EmbeddingServer:
    """Speaks OpenAI's protocol. `status` refuses all; `refused` is a word it will not take; `held`, cleared, waits.

    Of the two words `alike` the first means the second.
    """

    def __init__(self, server: HTTPServer) -> None:
        self.texts: list[str] = []
        self.batches: list[int] = []
        self.calls = 0
        self.status = 200
        self.refused = ""
        self.alike = ("", "")
        self.held = threading.Event()
        self.held.set()
        self.url = server.url_for("/v1")
        server.expect_request("/v1/embeddings").respond_with_handler(self._answer)

    def settings(self, model: str = "words") -> dict[str, str]:
        """Environment of a process that asks this server."""
        return {
            "MAAS_EMBEDDING_MODEL": f"openai:{model}",
            "OPENAI_BASE_URL": self.url,
            "OPENAI_API_KEY": "sk-test-key-1234567890",
            "MAAS_RETRY_DELAY": "0.01",
        }

    def _answer(self, request: Request) -> Response:
        body: dict[str, Any] = request.get_json()
        texts: list[str] = body["input"]
        self.calls += 1
        self.held.wait(30)
        status = 400 if self.refused and any(self.refused in text for text in texts) else self.status
        if status != 200:
            return Response(json.dumps({"error": {"message": "on purpose"}}), status, content_type="application/json")
        self.texts += texts
        self.batches.append(len(texts))
        data = [
            {"object": "embedding", "index": n, "embedding": vector(self._meaning(text))}
            for n, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": sum(map(len, texts)), "total_tokens": sum(map(len, texts))}
        reply = {"object": "list", "data": data, "model": body["model"], "usage": usage}
        return Response(json.dumps(reply), content_type="application/json")

    def _meaning(self, text: str) -> str:
        word, other = self.alike
        return text.casefold().replace(word, other) if word else text
