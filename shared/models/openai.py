"""OpenAI's Chat Completions, and every server that speaks them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2
import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

from shared.models.dialogue import Names, in_words, read_arguments, sendable, settle, turns
from shared.models.faults import Faults, retry_after
from shared.models.images import Image
from shared.models.types import (
    ALIVE,
    Embeddings,
    Finish,
    Message,
    Piece,
    Purpose,
    Reply,
    Request,
    ToolCall,
    Usage,
    embeddings,
)
from shared.text import clean

_REASONING = re.compile(r"^(?:.*/)?(?:gpt-[5-9]|o\d)")
_REFUSED_BY_REASONING = frozenset({"max_tokens", "temperature"})
# What a server may refuse with 400 or 422, and how it says so: it is asked once more without, and never again with it.
_CONCESSIONS = {
    "max_tokens": re.compile("max_completion_tokens"),
    "temperature": re.compile(r"\A(?>.*?temperature).*(?:support|deprecated|default)", re.IGNORECASE | re.DOTALL),
    "stream_options": re.compile("stream.?options|include_usage", re.IGNORECASE),
    "json_schema": re.compile("response.?format|json.?schema|guided|structured", re.IGNORECASE),
    "json_object": re.compile("response.?format|json.?object", re.IGNORECASE),
}
_MODERATED = frozenset({"moderation_blocked", "content_policy_violation"})
_NO_ARGUMENTS = {"type": "object", "properties": {}}
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
        self._refused = set(_REFUSED_BY_REASONING) if _REASONING.match(name) else set()

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _named(self._faults, timeout, "a chat completion"):
            done: ChatCompletion = await self._ask(request, timeout, {})
            usage = _usage(done.usage)
            if not done.choices:
                return Reply("", "malformed", usage=usage)
            choice = done.choices[0]
            made = choice.message.to_dict(exclude_none=True, warnings=False)
            return self._reply(request, made, choice.finish_reason, usage)

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Answer piece by piece, `timeout` being the longest silence. Raises ModelError."""
        options = {"stream": True, "stream_options": {"include_usage": True}}
        with _named(self._faults, timeout, "a stream of a chat completion"):
            async with await self._ask(request, timeout, options) as chunks:
                draft = _Draft(Names(request.messages))
                async for chunk in chunks:
                    yield ALIVE
                    for piece in draft.take(chunk):
                        yield piece
            if draft.finish is None:
                raise self._faults.cut()
            yield self._reply(request, draft.message, draft.finish, draft.usage)

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, request: Request, timeout: float, options: Mapping[str, Any]) -> Any:
        while True:
            asked = self._parameters(request) | {k: v for k, v in options.items() if k not in self._refused}
            try:
                return await self._client.chat.completions.create(model=self.name, timeout=timeout, **asked)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if not self._concede(asked, f"{error.message} {error.body}"):
                    raise

    def _concede(self, asked: Mapping[str, Any], cause: str) -> bool:
        used = {*asked, asked.get("response_format", {}).get("type")}
        for what, refusal in _CONCESSIONS.items():
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
            parameters |= {"tools": _tools(request), "tool_choice": request.tool_choice}
        system = request.system
        if request.json_schema is not None:
            if "json_schema" not in self._refused:
                schema = {"name": request.role, "schema": dict(request.json_schema)}
                parameters["response_format"] = {"type": "json_schema", "json_schema": schema}
            else:
                system = f"{system}\n\n{in_words(request.json_schema)}".strip()
                if "json_object" not in self._refused:
                    parameters["response_format"] = {"type": "json_object"}
        return parameters | {"messages": self._messages(request, system)}

    def _messages(self, request: Request, system: str) -> list[dict[str, Any]]:
        sent = [{"role": "system", "content": clean(system)}] if system else []
        for group in turns(request.messages, self.provider):
            for turn in group:
                match turn.role:
                    case "user":
                        sent.append({"role": "user", "content": clean(turn.text)})
                    case "tool":
                        sent.append({"role": "tool", "tool_call_id": turn.call_id, "content": clean(turn.text)})
                    case "assistant":
                        sent.append(self._assistant(turn))
        return sent

    def _assistant(self, turn: Message) -> dict[str, Any]:
        # Fields beyond the protocol (reasoning_content) mean something only to the model that sent them.
        own = turn.raw["message"] if turn.raw.get("model") == self.name else {}
        said = None if own.get("refusal") else clean(turn.text) or (None if turn.calls else "")
        sent = {**own, "role": "assistant", "content": said}
        if turn.calls:
            before = [call for call in own.get("tool_calls") or () if call.get("function")] or [{}] * len(turn.calls)
            sent["tool_calls"] = [
                old | {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _json(call)}}
                for old, call in zip(before, turn.calls, strict=True)
            ]
        return sent

    def _reply(self, request: Request, made: Mapping[str, Any], finish: str | None, usage: Usage) -> Reply:
        name = Names(request.messages)
        calls = tuple(
            name(ToolCall(call.get("id") or "", call["function"]["name"], _text(call["function"].get("arguments"))))
            for call in made.get("tool_calls") or ()
            if call.get("function")
        )
        refusal = made.get("refusal")
        text = clean(_text(made.get("content")) or refusal or "")
        said = "filtered" if refusal else _FINISH.get(str(finish), "stop")
        raw = {"provider": self.provider, "model": self.name, "message": dict(made)}
        return Reply(text, settle(said, text, calls), calls, usage, raw)


class _Draft:
    """The message of a stream as far as it has come, in the form of a whole one."""

    def __init__(self, name: Names) -> None:
        self.message: dict[str, Any] = {"role": "assistant"}
        self.finish: str | None = None
        self.usage = Usage()
        self._name = name
        self._calls: list[dict[str, Any]] = []
        self._places: list[int | None] = []
        self._given = 0

    def take(self, chunk: ChatCompletionChunk) -> Iterator[Piece]:
        """What became whole with this chunk."""
        if chunk.usage:
            self.usage = _usage(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            self.finish = choice.finish_reason or self.finish
            if choice.delta:
                yield from self._text(choice.delta)
                for call in choice.delta.tool_calls or ():
                    yield from self._call(call)
            if self.finish:
                yield from self._give()

    def _give(self, *, only_whole: bool = False) -> Iterator[ToolCall]:
        """The calls that were not given out yet; `only_whole`: up to the first that may still grow."""
        for made in self._calls[self._given :]:
            call = ToolCall(made["id"], made["function"]["name"], made["function"]["arguments"])
            if only_whole and not sendable(call):
                return
            self._given += 1
            yield self._name(call)

    def _text(self, delta: ChoiceDelta) -> Iterator[str]:
        said = {"content": _text(delta.content), "refusal": delta.refusal or ""}
        for key, more in {**(delta.model_extra or {}), **said}.items():
            if more and isinstance(more, str | list):
                self.message[key] = self.message[key] + more if key in self.message else more
        if shown := clean(said["content"] or said["refusal"]):
            yield shown

    def _call(self, delta: ChoiceDeltaToolCall) -> Iterator[ToolCall]:
        function = delta.function
        name, arguments = (function.name or "", _text(function.arguments)) if function else ("", "")
        made = self._at(delta.index)
        # Some servers number no call, or each with 0: another id, or a name after arguments, begins a new one.
        if made is None or (
            delta.id != made["id"] if delta.id and made["id"] else name and made["function"]["arguments"]
        ):
            yield from self._give(only_whole=True)
            made = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            self._calls.append(made)
            self._places.append(delta.index)
            self.message["tool_calls"] = self._calls
        made |= {**(delta.model_extra or {}), "id": delta.id or made["id"]}
        made["function"]["name"] = made["function"]["name"] or name
        made["function"]["arguments"] += arguments

    def _at(self, index: int | None) -> dict[str, Any] | None:
        """The last call in this place."""
        found = (made for made, place in zip(self._calls[::-1], self._places[::-1], strict=True) if place == index)
        return next(found, None)


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


class OpenAIPainter:
    """One image model: without a photo it generates, with one it edits that."""

    provider = "openai"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._faults = Faults(f"openai:{name}", api_key)
        self._client = openai.AsyncOpenAI(api_key=api_key, base_url=base_url, max_retries=0)

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Draw once, within `timeout` seconds. Raises ModelError."""
        with _named(self._faults, timeout, "a picture"):
            asked: dict[str, Any] = {"model": self.name, "prompt": clean(prompt), "timeout": timeout}
            try:
                if photo is None:
                    done: Any = await self._client.images.generate(**asked)
                else:
                    file = (f"photo.{photo.media_type.partition('/')[2]}", photo.data, photo.media_type)
                    done = await self._client.images.edit(image=file, **asked)
            except openai.BadRequestError as error:
                if error.code in _MODERATED:
                    raise self._faults.failure("filtered", _message(error)) from error
                raise
            drawn = base64.b64decode(done.data[0].b64_json, validate=True)
            return Image(drawn, f"image/{done.output_format or 'png'}")

    async def close(self) -> None:
        await self._client.close()


@contextmanager
def _named(faults: Faults, timeout: float, expected: str) -> Iterator[None]:
    """Failures of the SDK under our own names."""
    try:
        yield
    except (openai.APITimeoutError, httpx2.TimeoutException) as error:
        raise faults.timeout(timeout) from error
    except openai.APIStatusError as error:
        pause = retry_after(error.response.headers)
        failure = faults.of_status(error.status_code, _message(error), pause)
        failure.retryable = failure.retryable and error.code != "insufficient_quota"
        raise failure from error
    except (openai.APIConnectionError, httpx2.TransportError) as error:
        cause = str(error.__cause__ or "") or "connection failed"
        raise faults.failure("unreachable", cause, retryable=True) from error
    except (openai.APIResponseValidationError, ValueError, AttributeError, TypeError, LookupError) as error:
        # The SDK does not check what it parsed: any JSON, or none, may stand where the reply should.
        raise faults.failure("malformed", f"the reply is not {expected}") from error
    except openai.APIError as error:
        # An error amid a stream: some servers number it as they would a status.
        status = int(error.code) if error.code and str(error.code).isdigit() else 500
        raise faults.of_status(status, error.message) from error
    except openai.OpenAIError as error:
        raise faults.failure("provider_error", str(error)) from error


def _tools(request: Request) -> list[dict[str, Any]]:
    return [
        {"type": "function", "function": {"name": tool.name, "description": tool.description,
                                          "parameters": dict(tool.parameters) or _NO_ARGUMENTS}}
        for tool in request.tools
    ]  # fmt: skip


def _json(call: ToolCall) -> str:
    # Servers read what they are sent back: a call that is not JSON would make each later request fail.
    try:
        read_arguments(call.arguments)
    except ValueError:
        return "{}"
    return call.arguments.strip() or "{}"


def _text(given: Any) -> str:
    """Text where a server may send null, parts of a content, or arguments as an object."""
    if isinstance(given, list):
        return "".join(str(part.get("text") or "") for part in given if isinstance(part, dict))
    return given if isinstance(given, str) else "" if given is None else json.dumps(given, ensure_ascii=False)


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
