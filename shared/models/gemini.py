"""Google's Gemini, through the official SDK."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx2
from google import genai
from google.genai import errors, types

from shared.models.dialogue import Names, sendable, settle, turns
from shared.models.faults import Faults, retry_after
from shared.models.images import Image
from shared.models.types import (
    ALIVE,
    Embeddings,
    Finish,
    Message,
    ModelError,
    Piece,
    Purpose,
    Reply,
    Request,
    ToolCall,
    Usage,
    embeddings,
)
from shared.text import clean

_FINISH: dict[str, Finish] = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "TOO_MANY_TOOL_CALLS": "malformed",
    "MISSING_THOUGHT_SIGNATURE": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    "OTHER": "error",
    "NO_IMAGE": "error",
    "IMAGE_OTHER": "error",
}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
# Later models refuse a call in the history without the signature of its thought; this word stands for a foreign one.
_UNSIGNED = re.compile(r"(?:models/)?(?:gemini-[12]|gemma|learnlm)")
_NO_SIGNATURE = b"skip_thought_signature_validator"
_LONGEST_STREAM = "600"  # seconds
_HELD: ContextVar[list[httpx2.Response] | None] = ContextVar("held", default=None)
Result = TypeVar("Result")
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
                model=self.name, contents=self._contents(request), config=_config(request, _timed(timeout))
            )
            draft = _Draft(Names(request.messages))
            for _ in draft.take(done):
                pass
            return draft.reply()

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Answer piece by piece, `timeout` being the longest silence. Raises ModelError."""
        options = _timed(timeout)
        options.headers = {"X-Server-Timeout": _LONGEST_STREAM}  # or the SDK has the whole end after `timeout`
        with _named(self._faults, timeout, "a stream of generated content"):
            held: list[httpx2.Response] = []
            draft = _Draft(Names(request.messages))
            has_begun = False
            try:
                asked = self._client.aio.models.generate_content_stream(
                    model=self.name, contents=self._contents(request), config=_config(request, options)
                )
                chunks = await _holding(held, asked)
                while (chunk := await _holding(held, anext(chunks, None))) is not None:
                    has_begun = True
                    yield ALIVE
                    for piece in draft.take(chunk):
                        yield piece
            except ValueError as error:
                if has_begun:  # half an event at the end of what was good so far
                    raise self._faults.cut() from error
                raise
            finally:
                for response in held:  # the SDK leaves a stream that nobody reads to the garbage collector
                    await response.aclose()
            if not draft.is_whole:
                raise self._faults.cut()
            yield draft.reply()

    async def close(self) -> None:
        await self._http.aclose()
        self._client.close()

    def _contents(self, request: Request) -> Any:
        contents = []
        nameless: set[str] = set()
        for group in turns(request.messages, self.provider):
            first = group[0]
            match first.role:
                case "user":
                    contents.append(types.Content(role="user", parts=[types.Part(text=clean(first.text))]))
                case "tool":
                    contents.append(types.Content(role="user", parts=[_result(turn, nameless) for turn in group]))
                case "assistant":
                    parts = _parts(first)
                    asked = [part for part in parts if part.function_call]
                    nameless |= {
                        call.id
                        for part, call in zip(asked, first.calls, strict=True)
                        if part.function_call and not part.function_call.id
                    }
                    if asked and not asked[0].thought_signature and not _UNSIGNED.match(self.name):
                        asked[0].thought_signature = _NO_SIGNATURE
                    if parts:
                        contents.append(types.Content(role="model", parts=parts))
        return contents


class _Draft:
    """A reply as far as it has come: in one piece or in chunks, the parts are the same."""

    def __init__(self, name: Names) -> None:
        self._name = name
        self._parts: list[types.Part] = []
        self._calls: list[ToolCall] = []
        self._finish: Finish | None = None
        self._usage = Usage()

    @property
    def is_whole(self) -> bool:
        return self._finish is not None

    def take(self, done: types.GenerateContentResponse) -> Iterator[Piece]:
        """What came with this chunk."""
        if done.usage_metadata:
            self._usage = _usage(done.usage_metadata)
        if done.prompt_feedback and done.prompt_feedback.block_reason:
            self._finish = "filtered"
        for candidate in (done.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._add(part)
            if candidate.finish_reason:
                self._finish = _FINISH.get(candidate.finish_reason.name, "filtered")

    def reply(self) -> Reply:
        text = clean("".join(part.text for part in self._parts if part.text and not part.thought))
        raw = {"provider": "gemini", "parts": [part.model_dump(mode="json", exclude_none=True) for part in self._parts]}
        return Reply(text, settle(self._finish or "stop", text, self._calls), tuple(self._calls), self._usage, raw)

    def _add(self, part: types.Part) -> Iterator[Piece]:
        last = self._parts[-1] if self._parts else None
        if last and _is_plain(last) and _is_plain(part) and bool(last.thought) == bool(part.thought):
            last.text = f"{last.text}{part.text}"
        else:
            self._parts.append(part)
        if part.text and not part.thought and (shown := clean(part.text)):
            yield shown
        if call := part.function_call:
            arguments = json.dumps(call.args or {}, ensure_ascii=False)
            self._calls.append(self._name(ToolCall(call.id or "", call.name or "", arguments)))
            yield self._calls[-1]


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


class GeminiPainter:
    """One model that answers with pictures."""

    provider = "gemini"

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._faults = Faults(f"gemini:{name}", api_key)
        self._http, self._client = _open(api_key, base_url)

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Draw once, within `timeout` seconds. Raises ModelError."""
        parts = [types.Part(text=clean(prompt))]
        if photo is not None:
            parts.append(types.Part(inline_data=types.Blob(data=photo.data, mime_type=photo.media_type)))
        config = types.GenerateContentConfig(response_modalities=["TEXT", "IMAGE"], http_options=_timed(timeout))
        with _named(self._faults, timeout, "generated content"):
            contents = types.Content(role="user", parts=parts)
            done = await self._client.aio.models.generate_content(model=self.name, contents=contents, config=config)
            for part in done.parts or ():
                drawn = part.inline_data
                if drawn and drawn.data and not part.thought and (drawn.mime_type or "").startswith("image/"):
                    return Image(drawn.data, drawn.mime_type or "")
            raise self._undrawn(done)

    async def close(self) -> None:
        await self._http.aclose()
        self._client.close()

    def _undrawn(self, done: types.GenerateContentResponse) -> ModelError:
        """Why there is no picture."""
        blocked = done.prompt_feedback.block_reason if done.prompt_feedback else None
        reason = done.candidates[0].finish_reason if done.candidates else None
        why = blocked or reason
        if why and (blocked or _FINISH.get(why.name, "filtered") == "filtered"):
            return self._faults.failure("filtered", f"it does not draw that: {why.name}")
        said = " ".join(part.text for part in done.parts or () if part.text)
        return self._faults.failure("malformed", f"the reply holds no picture: {said}")


def _open(api_key: str, base_url: str | None) -> tuple[httpx2.AsyncClient, genai.Client]:
    # The SDK lets transport errors through and may use another HTTP client when it finds one: give it ours.
    http = httpx2.AsyncClient(follow_redirects=True, event_hooks={"response": [_hold]})
    options = types.HttpOptions(
        base_url=base_url,
        api_version="v1beta",  # v1, the SDK's default, knows no alias such as gemini-flash-latest
        retry_options=types.HttpRetryOptions(attempts=1),
        httpx_async_client=http,
    )
    return http, genai.Client(api_key=api_key, vertexai=False, http_options=options)


async def _hold(response: httpx2.Response) -> None:
    if (held := _HELD.get()) is not None:
        held.append(response)


async def _holding(held: list[httpx2.Response], work: Awaitable[Result]) -> Result:
    """What `work` gives, while each HTTP response that it opens is put into `held`."""
    token = _HELD.set(held)
    try:
        return await work
    finally:
        _HELD.reset(token)


def _timed(timeout: float) -> types.HttpOptions:
    return types.HttpOptions(timeout=max(int(timeout * 1000), 1))


@contextmanager
def _named(faults: Faults, timeout: float, expected: str) -> Iterator[None]:
    """Failures of the SDK under our own names."""
    try:
        yield
    except errors.APIError as error:
        cause = str(error.message or error.status or "")
        status = 401 if "API_KEY_INVALID" in str(error.details) else error.code or 500
        raise faults.of_status(status, cause, _pause(error)) from error
    except httpx2.TimeoutException as error:
        raise faults.timeout(timeout) from error
    except (httpx2.TransportError, OSError) as error:
        raise faults.failure("unreachable", str(error) or "connection failed", retryable=True) from error
    except (errors.UnknownApiResponseError, ValueError, AttributeError, TypeError) as error:
        raise faults.failure("malformed", f"the reply is not {expected}") from error


def _is_plain(part: types.Part) -> bool:
    return part.text is not None and part.thought_signature is None


def _parts(turn: Message) -> list[types.Part]:
    if turn.raw:
        # As JSON, since the SDK takes text for bytes only there: signatures are bytes.
        made = [part for part in turn.raw["parts"] if part != {"text": ""}]
        return [types.Part.model_validate_json(json.dumps(part)) for part in made]
    said = [types.Part(text=clean(turn.text))] if turn.text else []
    called = (types.FunctionCall(id=call.id, name=call.name, args=sendable(call)) for call in turn.calls)
    return said + [types.Part(function_call=call) for call in called]


def _result(turn: Message, nameless: set[str]) -> types.Part:
    said = {"error" if turn.is_error else "output": clean(turn.text)}
    call_id = None if turn.call_id in nameless else turn.call_id
    return types.Part(function_response=types.FunctionResponse(id=call_id, name=turn.name, response=said))


def _config(request: Request, options: types.HttpOptions) -> types.GenerateContentConfig:
    json_mode: dict[str, Any] = {}
    if request.json_schema is not None:
        json_mode = {"response_mime_type": "application/json", "response_json_schema": dict(request.json_schema)}
    tools: dict[str, Any] = {}
    if request.tools:
        offered = [
            types.FunctionDeclaration(
                name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters) or None
            )
            for tool in request.tools
        ]
        mode = types.FunctionCallingConfigMode(_MODES[request.tool_choice])
        config = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode))
        tools = {"tools": [types.Tool(function_declarations=offered)], "tool_config": config}
    return types.GenerateContentConfig(
        system_instruction=clean(request.system) or None,
        temperature=request.temperature,
        max_output_tokens=request.max_tokens,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        http_options=options,
        **tools,
        **json_mode,
    )


def _usage(counts: types.GenerateContentResponseUsageMetadata) -> Usage:
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
