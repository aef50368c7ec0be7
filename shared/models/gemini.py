"""Google's Gemini API, through the official SDK."""

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

from shared.bounded_http import (
    MAX_IMAGE_REPLY_BYTES,
    MAX_STREAM_BYTES,
    MAX_TEXT_REPLY_BYTES,
    MAX_VECTORS_BYTES,
    bounded,
)
from shared.models import (
    ALIVE,
    CallIds,
    Embeddings,
    Finish,
    Image,
    ModelError,
    Piece,
    Purpose,
    Reply,
    Request,
    ToolCall,
    Usage,
    embeddings,
    finish_reason,
    group_messages,
)
from shared.models.gemini_messages import config_of, is_plain, parts_of, result_of, usage_of
from shared.models.retry import ProviderErrors, retry_after
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
# Later models refuse a call in the history without a thought signature; this value is accepted for foreign calls.
_UNSIGNED = re.compile(r"(?:models/)?(?:gemini-[12]|gemma|learnlm)")
_NO_SIGNATURE = b"skip_thought_signature_validator"
MAX_STREAM_S = 600
_RESPONSES: ContextVar[list[httpx2.Response] | None] = ContextVar("responses", default=None)
Result = TypeVar("Result")
_TASKS: dict[Purpose, str] = {"document": "RETRIEVAL_DOCUMENT", "question": "RETRIEVAL_QUERY"}
_TAKES_TASK = re.compile(r"text-embedding-0|gemini-embedding-0")  # later models take no task type


class _Gemini:
    """One model of any kind, through the SDK with its retries switched off."""

    provider = "gemini"
    max_reply_bytes = MAX_TEXT_REPLY_BYTES

    def __init__(self, name: str, *, api_key: str, base_url: str | None = None) -> None:
        self.name = name
        self._errors = ProviderErrors(f"gemini:{name}", api_key)
        self._http, self._client = _open(api_key, base_url, self.max_reply_bytes)

    async def close(self) -> None:
        await self._http.aclose()
        self._client.close()


class GeminiModel(_Gemini):
    """One chat model, with the SDK's automatic function calling switched off."""

    async def complete(self, request: Request, timeout: float) -> Reply:
        """Answer once, within `timeout` seconds. Raises ModelError."""
        with _model_errors(self._errors, timeout, "generated content"):
            response = await self._client.aio.models.generate_content(
                model=self.name, contents=self._contents(request), config=config_of(request, _timed(timeout))
            )
            partial = _PartialReply(CallIds(request.messages))
            for _ in partial.take(response):
                pass
            return partial.reply()

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        """Yield the answer in pieces; `timeout` is the longest silence, in seconds. Raises ModelError."""
        options = _timed(timeout)
        options.headers = {"X-Server-Timeout": str(MAX_STREAM_S)}  # else the SDK ends the whole stream after `timeout`
        with _model_errors(self._errors, timeout, "a stream of generated content"):
            responses: list[httpx2.Response] = []
            partial = _PartialReply(CallIds(request.messages))
            has_begun = False
            try:
                opening = self._client.aio.models.generate_content_stream(
                    model=self.name, contents=self._contents(request), config=config_of(request, options)
                )
                chunks = await _collecting(responses, opening)
                while (chunk := await _collecting(responses, anext(chunks, None))) is not None:
                    has_begun = True
                    yield ALIVE
                    for piece in partial.take(chunk):
                        yield piece
            except ValueError as error:
                if has_begun:  # an incomplete event after valid ones
                    raise self._errors.cut() from error
                raise
            finally:
                for response in responses:  # the SDK leaves an unread stream to the garbage collector
                    await response.aclose()
            if not partial.is_whole:
                raise self._errors.cut()
            yield partial.reply()

    def _contents(self, request: Request) -> Any:
        contents = []
        without_id: set[str] = set()
        for group in group_messages(request.messages, self.provider):
            first = group[0]
            match first.role:
                case "user":
                    contents.append(types.Content(role="user", parts=[types.Part(text=clean(first.text))]))
                case "tool":
                    contents.append(
                        types.Content(role="user", parts=[result_of(message, without_id) for message in group])
                    )
                case "assistant":
                    parts = parts_of(first)
                    calling = [part for part in parts if part.function_call]
                    without_id |= {
                        call.id
                        for part, call in zip(calling, first.calls, strict=True)
                        if part.function_call and not part.function_call.id
                    }
                    if calling and not calling[0].thought_signature and not _UNSIGNED.match(self.name):
                        calling[0].thought_signature = _NO_SIGNATURE
                    if parts:
                        contents.append(types.Content(role="model", parts=parts))
        return contents


class _PartialReply:
    """A reply received so far, whole or in chunks."""

    def __init__(self, call_ids: CallIds) -> None:
        self._with_id = call_ids
        self._parts: list[types.Part] = []
        self._calls: list[ToolCall] = []
        self._finish: Finish | None = None
        self._usage = Usage()

    @property
    def is_whole(self) -> bool:
        return self._finish is not None

    def take(self, chunk: types.GenerateContentResponse) -> Iterator[Piece]:
        """Add a chunk; yield the pieces in it."""
        if chunk.usage_metadata:
            self._usage = usage_of(chunk.usage_metadata)
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            self._finish = "filtered"
        for candidate in (chunk.candidates or ())[:1]:
            for part in (candidate.content.parts if candidate.content else None) or ():
                yield from self._add(part)
            if candidate.finish_reason:
                self._finish = _FINISH.get(candidate.finish_reason.name, "filtered")

    def reply(self) -> Reply:
        text = clean("".join(part.text for part in self._parts if part.text and not part.thought))
        raw = {"provider": "gemini", "parts": [part.model_dump(mode="json", exclude_none=True) for part in self._parts]}
        return Reply(
            text, finish_reason(self._finish or "stop", text, self._calls), tuple(self._calls), self._usage, raw
        )

    def _add(self, part: types.Part) -> Iterator[Piece]:
        last = self._parts[-1] if self._parts else None
        if last and is_plain(last) and is_plain(part) and bool(last.thought) == bool(part.thought):
            last.text = f"{last.text}{part.text}"
        else:
            self._parts.append(part)
        if part.text and not part.thought and (shown := clean(part.text)):
            yield shown
        if call := part.function_call:
            arguments = json.dumps(call.args or {}, ensure_ascii=False)
            self._calls.append(self._with_id(ToolCall(call.id or "", call.name or "", arguments)))
            yield self._calls[-1]


class GeminiEmbedder(_Gemini):
    """One embedding model; `dimensions` requests shorter vectors and is part of the name."""

    batch = 64
    max_questions = 64
    max_reply_bytes = MAX_VECTORS_BYTES

    def __init__(self, name: str, dimensions: int | None, *, api_key: str, base_url: str | None = None) -> None:
        super().__init__(name, api_key=api_key, base_url=base_url)
        self.name = f"{name}@{dimensions}" if dimensions else name
        self._model = name
        self._dimensions = dimensions

    async def open(self) -> None:
        """A provider is called when there is a text."""

    async def embed(self, texts: Sequence[str], purpose: Purpose, timeout: float) -> Embeddings:
        """Embed once, within `timeout` seconds. Raises ModelError."""
        config = types.EmbedContentConfig(
            task_type=_TASKS[purpose] if _TAKES_TASK.search(self._model) else None,
            output_dimensionality=self._dimensions,
            http_options=_timed(timeout),
        )
        # As contents: newer models make one vector of a list of strings.
        contents: Any = [types.Content(role="user", parts=[types.Part(text=clean(text))]) for text in texts]
        with _model_errors(self._errors, timeout, "a list of embeddings"):
            response = await self._client.aio.models.embed_content(model=self._model, contents=contents, config=config)
            tokens = (response.usage_metadata.prompt_token_count or 0) if response.usage_metadata else 0
            return embeddings([one.values or () for one in response.embeddings or ()], len(texts), tokens)


class GeminiImageModel(_Gemini):
    """One model that answers with images."""

    max_reply_bytes = MAX_IMAGE_REPLY_BYTES

    async def draw(self, prompt: str, photo: Image | None, timeout: float) -> Image:
        """Generate an image once, within `timeout` seconds. Raises ModelError."""
        parts = [types.Part(text=clean(prompt))]
        if photo is not None:
            parts.append(types.Part(inline_data=types.Blob(data=photo.data, mime_type=photo.media_type)))
        config = types.GenerateContentConfig(response_modalities=["TEXT", "IMAGE"], http_options=_timed(timeout))
        with _model_errors(self._errors, timeout, "generated content"):
            contents = types.Content(role="user", parts=parts)
            response = await self._client.aio.models.generate_content(model=self.name, contents=contents, config=config)
            for part in response.parts or ():
                image = part.inline_data
                if image and image.data and not part.thought and (image.mime_type or "").startswith("image/"):
                    return Image(image.data, image.mime_type or "")
            raise self._no_image(response)

    def _no_image(self, response: types.GenerateContentResponse) -> ModelError:
        """Return the error of a reply without an image."""
        blocked = response.prompt_feedback.block_reason if response.prompt_feedback else None
        reason = blocked or (response.candidates[0].finish_reason if response.candidates else None)
        if reason and (blocked or _FINISH.get(reason.name, "filtered") == "filtered"):
            return self._errors.failure("filtered", f"it refused to draw this: {reason.name}")
        text = " ".join(part.text for part in response.parts or () if part.text)
        return self._errors.failure("malformed", f"the reply contains no image: {text}")


def _open(api_key: str, base_url: str | None, max_reply_bytes: int) -> tuple[httpx2.AsyncClient, genai.Client]:
    # The SDK may use another HTTP client if one is installed, with other transport errors: give it ours.
    hooks = bounded(max_reply_bytes, MAX_STREAM_BYTES)
    hooks["response"].append(_collect)
    http = httpx2.AsyncClient(follow_redirects=True, event_hooks=hooks)
    options = types.HttpOptions(
        base_url=base_url,
        api_version="v1beta",  # v1, the SDK's default, has no aliases such as gemini-flash-latest
        retry_options=types.HttpRetryOptions(attempts=1),
        httpx_async_client=http,
    )
    return http, genai.Client(api_key=api_key, vertexai=False, http_options=options)


async def _collect(response: httpx2.Response) -> None:
    if (responses := _RESPONSES.get()) is not None:
        responses.append(response)


async def _collecting(responses: list[httpx2.Response], work: Awaitable[Result]) -> Result:
    """Return the result of `work`, and append each HTTP response that it opens to `responses`."""
    token = _RESPONSES.set(responses)
    try:
        return await work
    finally:
        _RESPONSES.reset(token)


def _timed(timeout: float) -> types.HttpOptions:
    return types.HttpOptions(timeout=max(int(timeout * 1000), 1))


@contextmanager
def _model_errors(model_errors: ProviderErrors, timeout: float, expected: str) -> Iterator[None]:
    """Raise the errors of the SDK as ModelErrors."""
    try:
        with model_errors.within_limits():
            yield
    except errors.APIError as error:
        cause = str(error.message or error.status or "")
        status = 401 if "API_KEY_INVALID" in str(error.details) else error.code or 500
        raise model_errors.of_status(status, cause, _wait_s(error)) from error
    except httpx2.TimeoutException as error:
        raise model_errors.timeout(timeout) from error
    except (httpx2.TransportError, OSError) as error:
        raise model_errors.unreachable(str(error), error) from error
    except (errors.UnknownApiResponseError, ValueError, AttributeError, TypeError) as error:
        raise model_errors.failure("malformed", f"the reply is not {expected}") from error


def _wait_s(error: errors.APIError) -> float | None:
    """Return the wait that the server demands: a header, or RetryInfo in the details of the error (`"37s"`)."""
    if (wait_s := retry_after(getattr(error.response, "headers", None) or {})) is not None:
        return wait_s
    body = error.details.get("error") if isinstance(error.details, dict) else None
    for detail in (body.get("details") if isinstance(body, dict) else None) or ():
        if isinstance(detail, dict) and isinstance(delay := detail.get("retryDelay"), str):
            return retry_after({"retry-after": delay.removesuffix("s")})
    return None
