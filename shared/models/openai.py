"""OpenAI's Chat Completions, and every server that speaks them."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import openai
from openai.types.chat import ChatCompletion

from shared.models.faults import failure, failure_of_status
from shared.models.types import Finish, ModelError, Reply, Request, ToolCall, Usage
from shared.text import clean

_REASONING = re.compile(r"^(?:.*/)?(?:gpt-[5-9]|o\d)")
_FINISH: dict[str, Finish] = {"content_filter": "filtered", "function_call": "tool_calls"}


class OpenAIModel:
    """One model behind the official SDK, whose own retries are off."""

    provider = "openai"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._who = f"openai:{name}"
        self._client = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0)

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        try:
            done = await self._client.chat.completions.create(
                model=self.name, messages=self._messages(request), timeout=timeout, **self._parameters(request)
            )
            return self._reply(done)
        except openai.APITimeoutError as error:
            raise failure("timeout", self._who, f"no answer within {timeout:.1f} s", retryable=True) from error
        except openai.APIStatusError as error:
            raise failure_of_status(error.status_code, self._who, _message(error), error.response.headers) from error
        except openai.APIConnectionError as error:
            cause = str(error.__cause__ or error)
            raise failure("unreachable", self._who, cause or "connection failed", retryable=True) from error
        except (openai.APIResponseValidationError, json.JSONDecodeError, AttributeError, TypeError) as error:
            raise failure("malformed", self._who, "the reply is not a chat completion") from error
        except openai.OpenAIError as error:
            raise failure("provider_error", self._who, str(error)) from error

    async def close(self) -> None:
        await self._client.close()

    def _messages(self, request: Request) -> Any:
        system = [{"role": "system", "content": request.system}] if request.system else []
        return [*system, *({"role": turn.role, "content": turn.text} for turn in request.messages)]

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

    def _reply(self, done: ChatCompletion) -> Reply:
        if not done.choices:
            raise self._malformed("there are no choices")
        choice = done.choices[0]
        message, usage = choice.message, done.usage
        finish = str(choice.finish_reason or "stop")
        cached = usage.prompt_tokens_details.cached_tokens if usage and usage.prompt_tokens_details else None
        return Reply(
            text=clean(message.content or message.refusal or ""),
            finish=_FINISH.get(finish) or ("filtered" if message.refusal else _known(finish)),
            calls=tuple(
                ToolCall(call.id, call.function.name, call.function.arguments)
                for call in message.tool_calls or ()
                if call.type == "function"
            ),
            usage=Usage(usage.prompt_tokens, usage.completion_tokens, cached or 0) if usage else Usage(),
            raw=message.model_dump(exclude_none=True),
        )

    def _malformed(self, cause: str) -> ModelError:
        return failure("malformed", self._who, cause)


def _known(finish: str) -> Finish:
    return finish if finish in get_args(Finish) else "stop"  # type: ignore[return-value]


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    return error.message
