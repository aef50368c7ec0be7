"""Tool calls that a model writes as its text: the whole reply is JSON of a call, alone, fenced or between tags.

A reply that says anything else beside the JSON holds no call, so a document that is quoted in an answer cannot call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from shared.json import json_decoder
from shared.models import ToolCall
from shared.models.calls import StreamListener

MAX_HELD_CHARS = 16_000
_FENCE = "```"
_FENCE_NAMES = ("json", "tool_call", "tool_calls", "tool_code", "xml")
_FENCED = re.compile(rf"```(?:{'|'.join(_FENCE_NAMES)})?[ \t]*\n((?:(?!```).)*)```", re.DOTALL)
_TAGS = ("tool_call", "function_call", "tools")
_TAGGED = re.compile(rf"<({'|'.join(_TAGS)})>((?:(?!</?(?:{'|'.join(_TAGS)})>).)*)(?:</\1>|\Z)\s*", re.DOTALL)
_MARKS = ("[TOOL_CALLS]", "<|python_tag|>")
_OPENINGS = (*(f"<{tag}>" for tag in _TAGS), *_MARKS, _FENCE)
_NAMES, _ARGUMENTS = ("name", "tool_name", "tool", "function"), ("arguments", "parameters", "args")
_WRAPPERS = ("tool_calls", "tool_call", "function", "function_call")
_KEYS = frozenset((*_NAMES, *_ARGUMENTS, *_WRAPPERS, "type", "id"))
_FIRST_KEY = re.compile(r'[\[{\s]*"([^"]*)("?)')


def read_text_calls(text: str) -> tuple[ToolCall, ...]:
    """Return the calls, without ids, that `text` consists of; none where it says anything else."""
    body = text.strip()
    if fenced := _FENCED.fullmatch(body):
        body = fenced[1].strip()
    parts = [match[2] for match in _TAGGED.finditer(body)] if _TAGGED.match(body) else []
    if parts and _TAGGED.sub("", body).strip():
        return ()
    calls: list[ToolCall] = []
    for part in parts or [body]:
        mark = next((mark for mark in _MARKS if part.startswith(mark)), "")
        try:
            calls += _calls(_decode(part.removeprefix(mark).strip()))
        except (ValueError, RecursionError):
            return ()
    return tuple(calls)


def _decode(text: str) -> Any:
    """Return the value of a JSON text, also of one whose braces are doubled, as in the chat template of Qwen2.5."""
    texts = [text]
    if text.startswith("{{"):
        texts = [text[1:-1], text.replace("{{", "{").replace("}}", "}")]
    error = ValueError("no JSON")
    for one in texts:
        try:
            return json_decoder(raw_breaks=True).decode(one)
        except ValueError as cause:
            error = cause
    raise error


def _calls(value: Any) -> Iterator[ToolCall]:
    """Yield the calls in a JSON value. Raises ValueError where it is anything else."""
    if isinstance(value, list) and value:
        for one in value:
            yield from _calls(one)
        return
    if not isinstance(value, dict) or not value or not value.keys() <= _KEYS:
        raise ValueError("no call")
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    given = [value[key] for key in _ARGUMENTS if key in value]
    if name is None:
        inner = [value[key] for key in _WRAPPERS if isinstance(value.get(key), dict | list)]
        if len(inner) != 1:
            raise ValueError("no call")
        yield from _calls(inner[0])
    elif len(given) == 1 and isinstance(given[0], dict | str | None):
        arguments = given[0] or {}
        yield ToolCall("", name, arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False))
    else:
        raise ValueError("no call")


def may_become_call(text: str) -> bool:
    """Whether a text that is still arriving may turn out to consist of calls."""
    begun = text.lstrip()
    if len(begun) > MAX_HELD_CHARS:
        return False
    if begun.startswith(_FENCE):
        return _may_be_fenced(begun)
    if any(opening.startswith(begun) or begun.startswith(opening) for opening in _OPENINGS):
        return True
    return begun[0] in "[{" and _may_be_json(begun)


def _may_be_fenced(text: str) -> bool:
    name, newline, body = text.removeprefix(_FENCE).partition("\n")
    if not newline:
        return any(known.startswith(name.strip()) for known in _FENCE_NAMES)
    inside, fence, after = body.partition(_FENCE)
    if name.strip() not in ("", *_FENCE_NAMES) or (fence and after.strip()):
        return False
    begun = inside.strip().rstrip("`").strip()  # of a closing fence that is still arriving
    return not begun or begun[0] == "<" or (begun[0] in "[{" and _may_be_json(begun))


def _may_be_json(text: str) -> bool:
    first = _FIRST_KEY.match(text)
    if first is None:
        return not text.strip("[{ \t\r\n")
    key, is_whole = first[1], first[2]
    if not (key in _KEYS if is_whole else any(known.startswith(key) for known in _KEYS)):
        return False
    try:
        _, end = json_decoder(raw_breaks=True).raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return not text[end:].strip()


class HeldListener:
    """Passes text on to a listener once it cannot become a call any more; `release` passes on what was held."""

    def __init__(self, listener: StreamListener) -> None:
        self._listener = listener
        self._held: str | None = ""

    def begin(self) -> None:
        """Begin a new answer: drop what is held."""
        self._held = ""
        self._listener.begin()

    def text(self, delta: str) -> None:
        """Pass text on, or hold it while it may still become a call."""
        if self._held is None:
            self._listener.text(delta)
            return
        self._held += delta
        if not may_become_call(self._held):
            self.release()

    def release(self) -> None:
        """Pass on what was held: the reply is an answer."""
        held, self._held = self._held, None
        if held:
            self._listener.text(held)
