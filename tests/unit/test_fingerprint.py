"""One number for a request: the same for the same, another for any difference that reaches the model."""

from __future__ import annotations

from dataclasses import replace

from maas.builtin_model import BuiltinModel
from shared.models import Message, Request, ToolCall, ToolSpec
from shared.models.calls import fingerprint

CALL = ToolCall("1", "find", '{"word": "heron"}')
ASKED = Request("Analyzer", (Message("user", "Привет \ud800"),), json_schema={"type": "object"}, inputs={"a": 1})


def test_any_difference_counts() -> None:
    others = [
        replace(ASKED, system="x"),
        replace(ASKED, temperature=0.1),
        replace(ASKED, max_tokens=1),
        replace(ASKED, json_schema=None),
        replace(ASKED, tools=(ToolSpec("find", "Finds."),)),
        replace(ASKED, messages=(*ASKED.messages, Message("assistant", "", calls=(CALL,)))),
        replace(ASKED, messages=(*ASKED.messages, Message("assistant", "", calls=(CALL,)), CALL.result("none"))),
    ]
    assert len({fingerprint(BuiltinModel(), one) for one in (ASKED, *others)}) == 1 + len(others)


def test_neither_the_order_of_names_nor_inputs_count() -> None:
    """A reply that was stored as jsonb comes back with its names in another order."""
    said, stored = ({"provider": "p", "content": [1]}, {"content": [1], "provider": "p"})
    one, other = (
        replace(ASKED, inputs={}, messages=(Message("assistant", "", calls=(CALL,), raw=raw),))
        for raw in (said, stored)
    )
    assert fingerprint(BuiltinModel(), one) == fingerprint(BuiltinModel(), other)
    assert fingerprint(BuiltinModel(), ASKED) == fingerprint(BuiltinModel(), replace(ASKED, inputs={}))
