"""Text from outside as a terminal may show it: what would steer the terminal is written out."""

from __future__ import annotations

import re

# C0, DEL, C1, bidirectional controls, the two separators that some terminals take for line ends, lone surrogates.
_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff"
_IN_TEXT = re.compile(f"[{_STEERING}]")
_IN_LINE = re.compile(f"[\t\n{_STEERING}]")
_NAMES = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def visible(text: str) -> str:
    r"""Text of several lines: newlines and tabs stay, ESC shows as `\x1b`."""
    return _IN_TEXT.sub(_written, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    r"""Text of one line: a newline in it shows as `\n`."""
    return _IN_LINE.sub(_written, text)


def visible_json(text: str) -> str:
    """JSON that means the same."""
    return _IN_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _written(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _NAMES.get(match[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
