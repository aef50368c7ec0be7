"""Models of servers at home: OpenAI's protocol, and what these servers do differently."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any

from shared.bounded_http import open_bounded
from shared.local_servers import Kind
from shared.models import ModelError, Piece, Reply, Request, Usage, finish_reason
from shared.models.context_window import ServerWindow
from shared.models.openai import OpenAIEmbedder, OpenAIModel
from shared.models.remedies import cause_of, remedy_of
from shared.models.retry import ProviderErrors
from shared.models.server_window import MAX_REPLY_BYTES, WindowReader
from shared.models.thinking import ThoughtFilter, without_thoughts

NO_KEY = "none"


class LocalModel(OpenAIModel):
    """One chat model of a server at home; `kind` is None for a server whose URL does not tell it.

    It knows its context window, its thoughts are no part of its replies, and its errors say what to do.
    """

    def __init__(self, name: str, *, provider: str, base_url: str, kind: Kind | None, api_key: str = NO_KEY) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url)
        self.provider = provider
        self.kind = kind
        self._errors = ProviderErrors(f"{provider}:{name}", api_key)
        headers = {} if api_key == NO_KEY else {"authorization": f"Bearer {api_key}"}
        self._http = open_bounded(MAX_REPLY_BYTES, headers=headers)
        self._window = WindowReader(self._http, base_url, name, kind)

    async def window(self) -> ServerWindow | None:
        """Return the context window; None where the server does not say it."""
        window = await self._window.read()
        self.kind = self.kind or (window.kind if window else None)
        return window

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with self._with_remedy():
            return await super().complete(request, timeout)

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Yield the answer in pieces; `timeout` is the longest silence, in seconds. Raises ModelError."""
        thoughts = ThoughtFilter()
        with self._with_remedy():
            async with aclosing(super().stream(request, timeout)) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Reply) and (rest := thoughts.rest()):
                        yield rest
                    yield thoughts.take(piece) if isinstance(piece, str) else piece

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        await super().close()

    def _parameters(self, request: Request) -> dict[str, Any]:
        parameters = super()._parameters(request)
        if not request.needs_thoughts:
            # Ollama and newer llama-servers read the first, vLLM and older llama-servers the second.
            without = {"reasoning_effort": "none", "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}}
            parameters |= {name: value for name, value in without.items() if name not in self._refused}
        return parameters

    def _reply(self, request: Request, message: Mapping[str, Any], finish: str | None, usage: Usage) -> Reply:
        reply = super()._reply(request, message, finish, usage)
        answer = without_thoughts(reply.text)
        return replace(reply, text=answer, finish=finish_reason(reply.finish, answer, reply.calls))

    @contextmanager
    def _with_remedy(self) -> Iterator[None]:
        try:
            yield
        except ModelError as error:
            if (cause := cause_of(error.code, error.message)) is not None:
                error.message = f"{error.message}; {remedy_of(cause, self.kind, self.name)}"
            raise


class LocalEmbedder(OpenAIEmbedder):
    """One embedding model of a server at home."""

    def __init__(self, name: str, dimensions: int | None, *, provider: str, base_url: str) -> None:
        super().__init__(name, dimensions, api_key=NO_KEY, base_url=base_url)
        self.provider = provider
        self._errors = ProviderErrors(f"{provider}:{name}", NO_KEY)
