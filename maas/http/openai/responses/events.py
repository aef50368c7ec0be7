"""The events of a streamed response, made of the chunks of a chat completion."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from maas.http.openai.responses.resource import (
    call_item,
    failed,
    finished,
    item_id,
    message_item,
    new_resource,
    reasoning_item,
    text_part,
)


@dataclass(slots=True)
class _Item:
    """An item that is being written: its kind, and the text or the arguments so far."""

    index: int
    kind: str
    id: str
    text: str = ""
    call_id: str | None = None
    name: str | None = None

    def done(self) -> dict[str, Any]:
        if self.kind == "message":
            return message_item(self.id, self.text)
        if self.kind == "reasoning":
            return reasoning_item(self.id, self.text)
        return call_item(self.id, self.call_id, self.name, self.text)


@dataclass(slots=True)
class ResponseEvents:
    """Turns chunks into events, each a text for the wire; `body` is the request.

    `resource` is the response as far as it is known, None before the first chunk.
    """

    body: Mapping[str, Any]
    is_stored: bool
    resource: dict[str, Any] | None = None
    is_ended: bool = False
    _number: int = 0
    _open: _Item | None = None
    _output: list[dict[str, Any]] = field(default_factory=list)
    _call_index: object = None
    _finish: str | None = None
    _usage: Mapping[str, Any] | None = None

    def feed(self, chunk: Mapping[str, Any], run_id: str | None) -> Iterator[str]:
        """Yield the events of one chunk. The first chunk needs `run_id`, the run that answers."""
        if isinstance(error := chunk.get("error"), Mapping):
            yield from self.fail(str(error.get("code") or "server_error"), str(error.get("message")))
            return
        if self.resource is None:
            assert run_id is not None
            created_at = chunk.get("created")
            created_at = created_at if isinstance(created_at, int) and created_at > 1 else int(time.time())
            self.resource = new_resource(run_id, created_at, self.body, self.is_stored)
            yield self._event("response.created", response=self.resource)
            yield self._event("response.in_progress", response=self.resource)
        if isinstance(notes := chunk.get("maas"), Mapping):
            self.resource["maas"] = {**self.resource.get("maas", {}), **notes}
        if isinstance(usage := chunk.get("usage"), Mapping):
            self._usage = usage
        for choice in chunk.get("choices") or []:
            if choice.get("index") in (0, None):
                yield from self._delta(choice.get("delta") or {})
                self._finish = choice.get("finish_reason") or self._finish

    def end(self) -> Iterator[str]:
        """Yield the last events."""
        if self.is_ended or self.resource is None:
            return
        yield from self._close()
        self.resource = finished(self.resource, self._output, self._finish, self._usage, int(time.time()))
        self.is_ended = True
        yield self._event(f"response.{self.resource['status']}", response=self.resource)

    def fail(self, code: str, message: str) -> Iterator[str]:
        """Yield the events of a failure."""
        self.is_ended = True
        if self.resource is None:
            yield self._event("error", code=code, message=message, param=None)
            return
        self.resource = failed(self.resource, code, message)
        yield self._event("response.failed", response=self.resource)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[str]:
        if isinstance(thoughts := delta.get("reasoning_content"), str) and thoughts:
            yield from self._text("reasoning", "rs", "response.reasoning_text", thoughts)
        if isinstance(text := delta.get("content"), str) and text:
            yield from self._text("message", "msg", "response.output_text", text)
        for call in delta.get("tool_calls") or []:
            yield from self._call(call)

    def _text(self, kind: str, prefix: str, event: str, text: str) -> Iterator[str]:
        if self._open is None or self._open.kind != kind:
            yield from self._start(kind, prefix)
        item = self._open
        assert item is not None
        item.text += text
        more: dict[str, Any] = {"logprobs": []} if kind == "message" else {}
        yield self._event(f"{event}.delta", **_place(item), content_index=0, delta=text, **more)

    def _call(self, call: Mapping[str, Any]) -> Iterator[str]:
        function = call.get("function") or {}
        index = call.get("index", 0)
        if self._open is None or self._open.kind != "function_call" or index != self._call_index:
            self._call_index = index
            yield from self._start("function_call", "fc", call.get("id"), function.get("name"))
        item = self._open
        assert item is not None
        if isinstance(piece := function.get("arguments"), str) and piece:
            item.text += piece
            yield self._event("response.function_call_arguments.delta", **_place(item), delta=piece)

    def _start(self, kind: str, prefix: str, call_id: str | None = None, name: str | None = None) -> Iterator[str]:
        yield from self._close()
        assert self.resource is not None
        index = len(self._output)
        name_of_item = item_id(prefix, self.resource["id"], index)
        item = self._open = _Item(index, kind, name_of_item, call_id=call_id, name=name)
        if kind == "message":
            shown = message_item(item.id, "", "in_progress")
        elif kind == "reasoning":
            shown = {"id": item.id, "type": "reasoning", "summary": [], "content": [], "status": "in_progress"}
        else:
            shown = call_item(item.id, call_id, name, "", "in_progress")
        yield self._event("response.output_item.added", output_index=item.index, item=shown)
        if kind != "function_call":
            part = text_part("") if kind == "message" else {"type": "reasoning_text", "text": ""}
            yield self._event("response.content_part.added", **_place(item), content_index=0, part=part)

    def _close(self) -> Iterator[str]:
        """End the item that is being written."""
        item, self._open = self._open, None
        if item is None:
            return
        done = item.done()
        if item.kind == "function_call":
            more: dict[str, Any] = {"name": item.name or "", "arguments": item.text}
            yield self._event("response.function_call_arguments.done", **_place(item), **more)
        else:
            is_message = item.kind == "message"
            event = "response.output_text.done" if is_message else "response.reasoning_text.done"
            more = {"logprobs": []} if is_message else {}
            yield self._event(event, **_place(item), content_index=0, text=item.text, **more)
            part = done["content"][0]
            yield self._event("response.content_part.done", **_place(item), content_index=0, part=part)
        yield self._event("response.output_item.done", output_index=item.index, item=done)
        self._output.append(done)

    def _event(self, kind: str, **fields: Any) -> str:
        data = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def _place(item: _Item) -> dict[str, Any]:
    return {"item_id": item.id, "output_index": item.index}
