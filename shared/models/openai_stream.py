"""A reply of the OpenAI API that is received in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import ChoiceDelta, ChoiceDeltaToolCall

from shared.models import CallIds, Piece, ToolCall, Usage, arguments_or_empty
from shared.text import clean


class PartialReply:
    """The message of a stream received so far, in the form of a whole one."""

    def __init__(self, call_ids: CallIds) -> None:
        self.message: dict[str, Any] = {"role": "assistant"}
        self.finish: str | None = None
        self.usage = Usage()
        self._with_id = call_ids
        self._calls: list[dict[str, Any]] = []
        self._indexes: list[int | None] = []
        self._yielded = 0

    def take(self, chunk: ChatCompletionChunk) -> Iterator[Piece]:
        """Add a chunk; yield the pieces that it completes."""
        if chunk.usage:
            self.usage = usage_of(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            self.finish = choice.finish_reason or self.finish
            if choice.delta:
                yield from self._text(choice.delta)
                for call in choice.delta.tool_calls or ():
                    yield from self._call(call)
            if self.finish:
                yield from self._complete_calls()

    def _complete_calls(self, *, only_whole: bool = False) -> Iterator[ToolCall]:
        """Yield the calls that were not yielded yet; `only_whole`: up to the first that may still grow."""
        for body in self._calls[self._yielded :]:
            call = ToolCall(body["id"], body["function"]["name"], body["function"]["arguments"])
            if only_whole and not arguments_or_empty(call):
                return
            self._yielded += 1
            yield self._with_id(call)

    def _text(self, delta: ChoiceDelta) -> Iterator[str]:
        texts = {"content": text_of(delta.content), "refusal": delta.refusal or ""}
        for key, more in {**(delta.model_extra or {}), **texts}.items():
            if more and isinstance(more, str | list):
                self.message[key] = self.message[key] + more if key in self.message else more
        if shown := clean(texts["content"] or texts["refusal"]):
            yield shown

    def _call(self, delta: ChoiceDeltaToolCall) -> Iterator[ToolCall]:
        function = delta.function
        name, arguments = (function.name or "", text_of(function.arguments)) if function else ("", "")
        call = self._last_call(delta.index)
        # Some servers send no index, or always 0: another id, or a name after arguments, begins a new call.
        if call is None or (
            delta.id != call["id"] if delta.id and call["id"] else name and call["function"]["arguments"]
        ):
            yield from self._complete_calls(only_whole=True)
            call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            self._calls.append(call)
            self._indexes.append(delta.index)
            self.message["tool_calls"] = self._calls
        call |= {**(delta.model_extra or {}), "id": delta.id or call["id"]}
        call["function"]["name"] = call["function"]["name"] or name
        call["function"]["arguments"] += arguments

    def _last_call(self, index: int | None) -> dict[str, Any] | None:
        """Return the last call with this index."""
        indexed = zip(self._calls[::-1], self._indexes[::-1], strict=True)
        return next((call for call, its_index in indexed if its_index == index), None)


def text_of(value: Any) -> str:
    """Return text where a server may also send null, content parts, or arguments as an object."""
    if isinstance(value, list):
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def usage_of(counts: CompletionUsage | None) -> Usage:
    """Return the tokens of a reply, none where the server counts none."""
    if counts is None:
        return Usage()
    details = counts.prompt_tokens_details
    # Compatible servers send null where the SDK promises a number.
    return Usage(
        counts.prompt_tokens or 0, counts.completion_tokens or 0, (details.cached_tokens if details else 0) or 0
    )
