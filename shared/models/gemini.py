"""Google's Gemini, through the official SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types
from pydantic import ValidationError

from shared.models.faults import failure, failure_of_status
from shared.models.types import Finish, Reply, Request, ToolCall, Usage
from shared.text import clean

_FINISH: dict[str, Finish] = {"STOP": "stop", "MAX_TOKENS": "length", "MALFORMED_FUNCTION_CALL": "malformed"}


class GeminiModel:
    """One model; the SDK's own retries and its automatic function calling are off."""

    provider = "gemini"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._who = f"gemini:{name}"
        options = types.HttpOptions(base_url=base_url, retry_options=types.HttpRetryOptions(attempts=1))
        self._client = genai.Client(api_key=api_key, vertexai=False, http_options=options)

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        try:
            done = await self._client.aio.models.generate_content(
                model=self.name, contents=self._contents(request), config=self._config(request, timeout)
            )
        except errors.APIError as error:
            headers = getattr(error.response, "headers", None) or {}
            raise failure_of_status(
                error.code or 500, self._who, str(error.message or error.status), headers
            ) from error
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise failure("timeout", self._who, f"no answer within {timeout:.1f} s", retryable=True) from error
        except (httpx2.TransportError, OSError) as error:
            raise failure("unreachable", self._who, str(error) or "connection failed", retryable=True) from error
        except (errors.UnknownApiResponseError, ValidationError, ValueError, TypeError, AttributeError) as error:
            raise failure("malformed", self._who, "the reply is no generated content") from error
        return self._reply(done)

    async def close(self) -> None:
        await self._client.aio.aclose()
        await asyncio.to_thread(self._client.close)

    def _contents(self, request: Request) -> Any:
        roles = {"user": "user", "assistant": "model"}
        return [types.Content(role=roles[turn.role], parts=[types.Part(text=turn.text)]) for turn in request.messages]

    def _config(self, request: Request, timeout: float) -> types.GenerateContentConfig:
        json_mode: dict[str, Any] = {}
        if request.json_schema is not None:
            json_mode = {"response_mime_type": "application/json", "response_json_schema": dict(request.json_schema)}
        return types.GenerateContentConfig(
            system_instruction=request.system or None,
            temperature=request.temperature,
            max_output_tokens=request.max_tokens,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            http_options=types.HttpOptions(timeout=max(int(timeout * 1000), 1)),
            **json_mode,
        )

    def _reply(self, done: types.GenerateContentResponse) -> Reply:
        counts = done.usage_metadata
        usage = Usage()
        if counts is not None:
            written = (counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0)
            usage = Usage(counts.prompt_token_count or 0, written, counts.cached_content_token_count or 0)
        if not done.candidates:
            blocked = done.prompt_feedback is not None and done.prompt_feedback.block_reason is not None
            return Reply("", "filtered" if blocked else "malformed", usage=usage)
        candidate = done.candidates[0]
        parts = (candidate.content.parts if candidate.content else None) or []
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = tuple(
            ToolCall(
                call.id or f"call-{number}", call.name or "", types.FunctionCall.model_dump_json(call, include={"args"})
            )
            for number, part in enumerate(parts)
            if (call := part.function_call) is not None
        )
        finish: Finish = "tool_calls" if calls else _FINISH.get(_name(candidate.finish_reason), "filtered")
        raw = candidate.content.model_dump(mode="json", exclude_none=True) if candidate.content else {}
        return Reply(clean(text), finish, calls, usage, raw)


def _name(reason: types.FinishReason | None) -> str:
    return reason.name if reason is not None else "STOP"
