"""Google's Gemini, through the official SDK."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types

from shared.models.faults import Faults, retry_after
from shared.models.types import Embeddings, Finish, Purpose, Reply, Request, ToolCall, Usage, embeddings
from shared.text import clean

_FINISH: dict[str, Finish] = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "OTHER": "error",
}
_ROLES = {"user": "user", "assistant": "model"}
_TASKS: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "question": "RETRIEVAL_QUERY"}
_TASKED = re.compile(r"text-embedding-0|gemini-embedding-0")  # later ones take no task


class GeminiModel:
    """One model; the SDK's own retries and its automatic function calling are off."""

    provider = "gemini"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._faults = Faults(f"gemini:{name}", api_key)
        self._http, self._client = _open(api_key, base_url)

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _named(self._faults, timeout, "generated content"):
            done = await self._client.aio.models.generate_content(
                model=self.name, contents=_contents(request), config=_config(request, timeout)
            )
        return _reply(done)

    async def close(self) -> None:
        await self._http.aclose()
        self._client.close()


class GeminiEmbedder:
    """One embedding model; `dimensions` asks for shorter vectors and is part of the name."""

    provider = "gemini"
    batch = 64

    def __init__(self, name: str, dimensions: int | None, *, api_key: str, base_url: str | None = None) -> None:
        self.name = f"{name}@{dimensions}" if dimensions else name
        self._model = name
        self._dimensions = dimensions
        self._faults = Faults(f"gemini:{name}", api_key)
        self._http, self._client = _open(api_key, base_url)

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed once, within `timeout` seconds. Raises ModelError."""
        config = types.EmbedContentConfig(
            task_type=_TASKS[purpose] if _TASKED.search(self._model) else None,
            output_dimensionality=self._dimensions,
            http_options=_timed(timeout),
        )
        # As contents, not as strings: newer models make one vector of a list of strings.
        contents: Any = [types.Content(role="user", parts=[types.Part(text=clean(text))]) for text in texts]
        with _named(self._faults, timeout, "a list of embeddings"):
            done = await self._client.aio.models.embed_content(model=self._model, contents=contents, config=config)
            tokens = (done.usage_metadata.prompt_token_count or 0) if done.usage_metadata else 0
            return embeddings([one.values or () for one in done.embeddings or ()], len(texts), tokens)

    async def close(self) -> None:
        await self._http.aclose()
        self._client.close()


def _open(api_key: str, base_url: str | None) -> tuple[httpx2.AsyncClient, genai.Client]:
    # The SDK lets transport errors through and may use another HTTP client when it finds one: give it ours.
    http = httpx2.AsyncClient(follow_redirects=True)
    options = types.HttpOptions(
        base_url=base_url,
        api_version="v1beta",  # v1, the SDK's default, knows no alias such as gemini-flash-latest
        retry_options=types.HttpRetryOptions(attempts=1),
        httpx_async_client=http,
    )
    return http, genai.Client(api_key=api_key, vertexai=False, http_options=options)


def _timed(timeout: float) -> types.HttpOptions:
    return types.HttpOptions(timeout=max(int(timeout * 1000), 1))


@contextmanager
def _named(faults: Faults, timeout: float, expected: str) -> Iterator[None]:
    """Failures of the SDK under our own names."""
    try:
        yield
    except errors.APIError as error:
        cause = str(error.message or error.status or "")
        raise faults.of_status(error.code or 500, cause, _pause(error)) from error
    except httpx2.TimeoutException as error:
        raise faults.timeout(timeout) from error
    except (httpx2.TransportError, OSError) as error:
        raise faults.failure("unreachable", str(error) or "connection failed", retryable=True) from error
    except (errors.UnknownApiResponseError, ValueError, AttributeError, TypeError) as error:
        raise faults.failure("malformed", f"the reply is not {expected}") from error


def _contents(request: Request) -> Any:
    return [
        types.Content(role=_ROLES[turn.role], parts=[types.Part(text=clean(turn.text))]) for turn in request.messages
    ]


def _config(request: Request, timeout: float) -> types.GenerateContentConfig:
    json_mode: dict[str, Any] = {}
    if request.json_schema is not None:
        json_mode = {"response_mime_type": "application/json", "response_json_schema": dict(request.json_schema)}
    return types.GenerateContentConfig(
        system_instruction=clean(request.system) or None,
        temperature=request.temperature,
        max_output_tokens=request.max_tokens,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        http_options=_timed(timeout),
        **json_mode,
    )


def _reply(done: types.GenerateContentResponse) -> Reply:
    usage = _usage(done.usage_metadata)
    if not done.candidates:
        blocked = done.prompt_feedback is not None and done.prompt_feedback.block_reason is not None
        return Reply("", "filtered" if blocked else "malformed", usage=usage)
    candidate = done.candidates[0]
    parts = (candidate.content.parts if candidate.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = tuple(
        ToolCall(call.id or f"call-{number}", call.name or "", json.dumps(call.args or {}, ensure_ascii=False))
        for number, part in enumerate(parts)
        if (call := part.function_call) is not None
    )
    reason = candidate.finish_reason.name if candidate.finish_reason else "STOP"
    finish: Finish = "tool_calls" if calls else _FINISH.get(reason, "filtered")
    if finish == "stop" and not parts:
        finish = "malformed"
    raw = candidate.content.model_dump(mode="json", exclude_none=True) if candidate.content else {}
    return Reply(clean(text), finish, calls, usage, raw)


def _usage(counts: types.GenerateContentResponseUsageMetadata | None) -> Usage:
    if counts is None:
        return Usage()
    written = (counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0)
    return Usage(counts.prompt_token_count or 0, written, counts.cached_content_token_count or 0)


def _pause(error: errors.APIError) -> float | None:
    """The wait that the server asks for: a header, or a RetryInfo among the details of the error (`"37s"`)."""
    if (asked := retry_after(getattr(error.response, "headers", None) or {})) is not None:
        return asked
    body = error.details.get("error") if isinstance(error.details, dict) else None
    for detail in (body.get("details") if isinstance(body, dict) else None) or ():
        if isinstance(detail, dict) and isinstance(delay := detail.get("retryDelay"), str):
            return retry_after({"retry-after": delay.removesuffix("s")})
    return None
