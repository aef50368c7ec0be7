"""OpenAI's Chat Completions, and every server that speaks them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion

from shared.models.faults import Faults, retry_after
from shared.models.types import Embeddings, Finish, Purpose, Reply, Request, ToolCall, Usage, embeddings
from shared.text import clean

_REASONING = re.compile(r"^(?:.*/)?(?:gpt-[5-9]|o\d)")
_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
}


class OpenAIModel:
    """One model behind the official SDK, whose own retries are off."""

    provider = "openai"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._faults = Faults(f"openai:{name}", api_key)
        self._client = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0)

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _named(self._faults, timeout, "a chat completion"):
            done = await self._client.chat.completions.create(
                model=self.name, messages=_messages(request), timeout=timeout, **self._parameters(request)
            )
            return _reply(done)

    async def close(self) -> None:
        await self._client.close()

    def _parameters(self, request: Request) -> dict[str, Any]:
        # Reasoning families refuse max_tokens and any temperature of their own.
        if _REASONING.match(self.name):
            parameters: dict[str, Any] = {"max_completion_tokens": request.max_tokens}
        else:
            parameters = {"max_tokens": request.max_tokens, "temperature": request.temperature}
        if request.json_schema is not None:
            schema = {"name": request.role, "schema": dict(request.json_schema)}
            parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
        return parameters


class OpenAIEmbedder:
    """One embedding model; `dimensions` asks for shorter vectors and is part of the name."""

    provider = "openai"
    batch = 64

    def __init__(self, name: str, dimensions: int | None, *, api_key: str, base_url: str | None = None) -> None:
        self.name = f"{name}@{dimensions}" if dimensions else name
        self._model = name
        self._dimensions = dimensions or openai.omit
        self._faults = Faults(f"openai:{name}", api_key)
        self._client = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0)

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed once, within `timeout` seconds. Raises ModelError."""
        with _named(self._faults, timeout, "a list of embeddings"):
            done = await self._client.embeddings.create(
                model=self._model, input=[clean(text) for text in texts], dimensions=self._dimensions, timeout=timeout
            )
            found = sorted(done.data, key=lambda one: one.index)
            tokens = (done.usage.prompt_tokens or 0) if done.usage else 0
            return embeddings([one.embedding for one in found], len(texts), tokens)

    async def close(self) -> None:
        await self._client.close()


@contextmanager
def _named(faults: Faults, timeout: float, expected: str) -> Iterator[None]:
    """Failures of the SDK under our own names."""
    try:
        yield
    except openai.APITimeoutError as error:
        raise faults.timeout(timeout) from error
    except openai.APIStatusError as error:
        pause = retry_after(error.response.headers)
        raise faults.of_status(error.status_code, _message(error), pause) from error
    except openai.APIConnectionError as error:
        cause = str(error.__cause__ or "") or "connection failed"
        raise faults.failure("unreachable", cause, retryable=True) from error
    except (openai.APIResponseValidationError, ValueError, AttributeError, TypeError) as error:
        # The SDK does not check what it parsed: any JSON, or none, may stand where the reply should.
        raise faults.failure("malformed", f"the reply is not {expected}") from error
    except openai.OpenAIError as error:
        raise faults.failure("provider_error", str(error)) from error


def _messages(request: Request) -> Any:
    system = [{"role": "system", "content": clean(request.system)}] if request.system else []
    return [*system, *({"role": turn.role, "content": clean(turn.text)} for turn in request.messages)]


def _reply(done: ChatCompletion) -> Reply:
    usage = _usage(done.usage)
    if not done.choices:
        return Reply("", "malformed", usage=usage)
    choice = done.choices[0]
    message = choice.message
    calls = tuple(
        ToolCall(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
        if call.type == "function"
    )
    finish = _FINISH.get(str(choice.finish_reason), "stop")
    return Reply(
        text=clean(message.content or message.refusal or ""),
        finish="tool_calls" if calls else "filtered" if message.refusal else finish,
        calls=calls,
        usage=usage,
        raw=message.model_dump(exclude_none=True),
    )


def _usage(counts: CompletionUsage | None) -> Usage:
    if counts is None:
        return Usage()
    details = counts.prompt_tokens_details
    # Compatible servers send null where the SDK promises a number.
    return Usage(
        counts.prompt_tokens or 0, counts.completion_tokens or 0, (details.cached_tokens if details else 0) or 0
    )


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    return error.message
