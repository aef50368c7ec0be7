"""OpenAI's Chat Completions API, and every compatible server."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
import openai
from openai.types.chat import ChatCompletion

from shared.bounded_http import (
    MAX_IMAGE_REPLY_BYTES,
    MAX_STREAM_BYTES,
    MAX_TEXT_REPLY_BYTES,
    MAX_VECTORS_BYTES,
    bounded,
)
from shared.models import (
    ALIVE,
    NO_ARGUMENTS,
    CallIds,
    Embeddings,
    Finish,
    Image,
    Message,
    Piece,
    Purpose,
    Reply,
    Request,
    ToolCall,
    Usage,
    embeddings,
    finish_reason,
    group_messages,
    read_arguments,
    schema_instruction,
)
from shared.models.context_window import read_refusal
from shared.models.openai_stream import PartialReply, text_of, usage_of
from shared.models.options import is_own_server
from shared.models.retry import ProviderErrors, retry_after
from shared.models.schemas import accepted_name, without_patterns
from shared.text import clean

_REASONING = re.compile(r"^(?:.*/)?(?:gpt-[5-9]|o\d)")
_REFUSED_BY_REASONING = frozenset({"max_tokens", "temperature"})
# Parameters that a server may refuse with 400 or 422, and how its error names them: they are left out from then on.
_REFUSALS = {
    "max_tokens": re.compile("max_completion_tokens"),
    "temperature": re.compile(r"\A(?>.*?temperature).*(?:support|deprecated|default)", re.IGNORECASE | re.DOTALL),
    "stream_options": re.compile("stream.?options|include_usage", re.IGNORECASE),
    "strict": re.compile("strict|additionalProperties|'required' is required", re.IGNORECASE),
    "json_schema": re.compile("response.?format|json.?schema|guided|structured|grammar", re.IGNORECASE),
    "json_object": re.compile("response.?format|json.?object", re.IGNORECASE),
    "reasoning_effort": re.compile("reasoning|think", re.IGNORECASE),
    "extra_body": re.compile("chat.?template|extra|unrecognized|unknown|unexpected", re.IGNORECASE),
}
_MODERATION_CODES = frozenset({"moderation_blocked", "content_policy_violation"})
_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
}


class _OpenAI:
    """One model of any kind, through the official SDK with its own retries switched off."""

    provider = "openai"
    max_reply_bytes = MAX_TEXT_REPLY_BYTES

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._errors = ProviderErrors(f"openai:{name}", api_key)
        http = openai.DefaultAsyncHttpxClient(event_hooks=bounded(self.max_reply_bytes, MAX_STREAM_BYTES))
        self._client = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0, http_client=http)

    async def close(self) -> None:
        await self._client.close()


class OpenAIModel(_OpenAI):
    """One chat model."""

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url)
        self._refused = set(_REFUSED_BY_REASONING) if _REASONING.match(name) else set()
        self._schema = without_patterns if is_own_server(self.provider, base_url) else dict[str, Any]

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _model_errors(self._errors, timeout, "a chat completion"):
            response: ChatCompletion = await self._send(request, timeout, {})
            usage = usage_of(response.usage)
            if not response.choices:
                return Reply("", "malformed", usage=usage)
            choice = response.choices[0]
            message = choice.message.to_dict(exclude_none=True, warnings=False)
            return self._reply(request, message, choice.finish_reason, usage)

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Yield the answer in pieces; `timeout` is the longest silence, in seconds. Raises ModelError."""
        options = {"stream": True, "stream_options": {"include_usage": True}}
        with _model_errors(self._errors, timeout, "a stream of a chat completion"):
            async with await self._send(request, timeout, options) as chunks:
                partial = PartialReply(CallIds(request.messages))
                async for chunk in chunks:
                    yield ALIVE
                    for piece in partial.take(chunk):
                        yield piece
            if partial.finish is None:
                raise self._errors.cut()
            yield self._reply(request, partial.message, partial.finish, partial.usage)

    async def _send(self, request: Request, timeout: float, options: Mapping[str, Any]) -> Any:
        while True:
            parameters = self._parameters(request) | {k: v for k, v in options.items() if k not in self._refused}
            try:
                return await self._client.chat.completions.create(model=self.name, timeout=timeout, **parameters)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                cause = f"{error.message} {error.body}"
                if read_refusal(cause) or not self._leave_out(parameters, cause):
                    raise

    def _leave_out(self, parameters: Mapping[str, Any], cause: str) -> bool:
        """Leave out the parameter that the server refused from now on; return False if the cause names none."""
        form = parameters.get("response_format", {})
        used = {*parameters, form.get("type"), *form.get("json_schema", ())}
        for what, refusal in _REFUSALS.items():
            if what in used and refusal.search(cause):
                self._refused.add(what)
                return True
        return False

    def _parameters(self, request: Request) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in self._refused else "max_tokens"
        parameters: dict[str, Any] = {limit: request.max_tokens}
        if "temperature" not in self._refused:
            parameters["temperature"] = request.temperature
        if request.tools:
            parameters |= {"tools": self._tools(request), "tool_choice": request.tool_choice}
        system = request.system
        if request.json_schema is not None:
            if "json_schema" not in self._refused:
                schema: dict[str, Any] = {"name": request.role, "schema": self._schema(request.json_schema)}
                if request.is_strict and "strict" not in self._refused:
                    schema["strict"] = True
                parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
            else:
                system = f"{system}\n\n{schema_instruction(request.json_schema)}".strip()
                if "json_object" not in self._refused:
                    parameters["response_format"] = {"type": "json_object"}
        return parameters | {"messages": self._messages(request, system)}

    def _tools(self, request: Request) -> list[dict[str, Any]]:
        return [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": self._schema(tool.parameters) or NO_ARGUMENTS,
                },
            }
            for tool in request.tools
        ]

    def _messages(self, request: Request, system: str) -> list[dict[str, Any]]:
        messages = [{"role": "system", "content": clean(system)}] if system else []
        for group in group_messages(request.messages, self.provider):
            for message in group:
                match message.role:
                    case "user":
                        messages.append({"role": "user", "content": clean(message.text)})
                    case "tool":
                        result = {"role": "tool", "tool_call_id": message.call_id, "content": clean(message.text)}
                        messages.append(result)
                    case "assistant":
                        messages.append(self._assistant(message))
        return messages

    def _assistant(self, message: Message) -> dict[str, Any]:
        # Fields beyond the protocol (reasoning_content) are sent back only to the model that sent them.
        own = message.raw["message"] if message.raw.get("model") == self.name else {}
        content = None if own.get("refusal") else clean(message.text) or (None if message.calls else "")
        body = {**own, "role": "assistant", "content": content}
        if message.calls:
            own_calls = [call for call in own.get("tool_calls") or () if call.get("function")]
            body["tool_calls"] = [
                old | {"id": call.id, "type": "function", "function": _function(call)}
                for old, call in zip(own_calls or [{}] * len(message.calls), message.calls, strict=True)
            ]
        return body

    def _reply(self, request: Request, message: Mapping[str, Any], finish: str | None, usage: Usage) -> Reply:
        with_id = CallIds(request.messages)
        calls = tuple(
            with_id(
                ToolCall(call.get("id") or "", call["function"]["name"], text_of(call["function"].get("arguments")))
            )
            for call in message.get("tool_calls") or ()
            if call.get("function")
        )
        refusal = message.get("refusal")
        text = clean(text_of(message.get("content")) or refusal or "")
        reported = "filtered" if refusal else _FINISH.get(str(finish), "stop")
        raw = {"provider": self.provider, "model": self.name, "message": dict(message)}
        return Reply(text, finish_reason(reported, text, calls), calls, usage, raw)


class OpenAIEmbedder(_OpenAI):
    """One embedding model; `dimensions` requests shorter vectors and is part of the name."""

    batch = 64
    max_questions = 64
    max_reply_bytes = MAX_VECTORS_BYTES

    def __init__(self, name: str, dimensions: int | None, *, api_key: str, base_url: str | None = None) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url)
        self.name = f"{name}@{dimensions}" if dimensions else name
        self._model = name
        self._dimensions = dimensions or openai.omit

    async def open(self) -> None:
        """A provider is called when there is a text."""

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed once, within `timeout` seconds. Raises ModelError."""
        with _model_errors(self._errors, timeout, "a list of embeddings"):
            response = await self._client.embeddings.create(
                model=self._model, input=[clean(text) for text in texts], dimensions=self._dimensions, timeout=timeout
            )
            vectors = sorted(response.data, key=lambda one: one.index)
            tokens = (response.usage.prompt_tokens or 0) if response.usage else 0
            return embeddings([one.embedding for one in vectors], len(texts), tokens)


class OpenAIImageModel(_OpenAI):
    """One image model: it generates an image, or edits a photo if there is one."""

    max_reply_bytes = MAX_IMAGE_REPLY_BYTES

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Generate an image once, within `timeout` seconds. Raises ModelError."""
        with _model_errors(self._errors, timeout, "a picture"):
            parameters: dict[str, Any] = {"model": self.name, "prompt": clean(prompt), "timeout": timeout}
            try:
                if photo is None:
                    response: Any = await self._client.images.generate(**parameters)
                else:
                    file = (f"photo.{photo.media_type.partition('/')[2]}", photo.data, photo.media_type)
                    response = await self._client.images.edit(image=file, **parameters)
            except openai.BadRequestError as error:
                if error.code in _MODERATION_CODES:
                    raise self._errors.failure("filtered", _message(error)) from error
                raise
            data = base64.b64decode(response.data[0].b64_json, validate=True)
            return Image(data, f"image/{response.output_format or 'png'}")


@contextmanager
def _model_errors(errors: ProviderErrors, timeout: float, expected: str) -> Iterator[None]:
    """Raise the errors of the SDK as ModelErrors."""
    try:
        with errors.within_limits():
            yield
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise errors.timeout(timeout) from error
    except openai.APIStatusError as error:
        wait_s = retry_after(error.response.headers)
        failure = errors.of_status(error.status_code, _message(error), wait_s, body=error.body)
        failure.retryable = failure.retryable and error.code != "insufficient_quota"
        raise failure from error
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        raise errors.unreachable(str(error.__cause__ or ""), error) from error
    except (openai.APIResponseValidationError, ValueError, AttributeError, TypeError, LookupError) as error:
        # The SDK does not validate what it parsed: the reply may be any JSON, or none.
        raise errors.failure("malformed", f"the reply is not {expected}") from error
    except openai.APIError as error:
        # An error within a stream: some servers set a status as its code.
        status = int(error.code) if error.code and str(error.code).isdigit() else 500
        raise errors.of_status(status, error.message, body=error.body) from error
    except openai.OpenAIError as error:
        raise errors.failure("provider_error", str(error)) from error


def _function(call: ToolCall) -> dict[str, str]:
    return {"name": accepted_name(call.name), "arguments": _json(call)}


def _json(call: ToolCall) -> str:
    # A call that is no JSON would make each later request of the dialogue fail.
    try:
        read_arguments(call.arguments)
    except ValueError:
        return "{}"
    return call.arguments.strip() or "{}"


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])
    return body if isinstance(body, str) and body else error.message  # LM Studio sends a text
