"""A plugin of assistants that need this and that; PYTHONPATH=tests/plugins installs it."""

from __future__ import annotations

from maas.plugins import Plugin

PLUGIN = Plugin(
    name="dummies",
    package=__name__,
    assistants={
        "genius": "genius:ASSISTANT",
        "painter": "painter:ASSISTANT",
        "planner": "planner:define",
        "secretary": "secretary:ASSISTANT",
    },
)
