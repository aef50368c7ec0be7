"""Assistants as data: a row answers, and one that is wrong is named at start."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest

from maas.assistants.corporate.mail import MAIL_TOOLS
from maas.assistants.registry import built_in
from maas.settings import load_settings
from tests.polling import poll
from tests.stack import Stack

TOOLS = {"MAAS_TOOLS": "tests.toolbox:TOOLS"}
SLOT = {"name": "size", "label": "Size", "question": {"ru": "Какой размер?", "en": "Which size?"}}
AGENT = {"name": "ads", "role_prompt": "Nobody", "about": "campaigns"}


def add(stack: Stack, name: str, definition: dict[str, object]) -> None:
    query = "insert into assistants (name, role_name, definition) values (%s, 'Mentor', %s)"
    stack.rows(query, name, json.dumps(definition))


def test_a_row_is_an_assistant(database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path) as stack:
        add(stack, "clerk", {"toolset": ["box"], "limits": {"rounds": 3}})
        stack.start_server()
        stack.start_orchestrator(**TOOLS)
        state = stack.answer(stack.ask(uuid4(), "Who are you?", assistant="clerk"))
        assert state["status"] == "COMPLETED" and state["final_answer"]
        rows = stack.rows(
            "select name, effect, parameters, argument_names from tools where domain = 'box' order by name"
        )
        assert [(row["name"], row["effect"]) for row in rows] == [
            ("read_slowly", "read"),
            ("wipe", "dangerous"),
            ("write_line", "write"),
            ("write_slowly", "write"),
        ]
        assert rows[2]["parameters"]["required"] == rows[2]["argument_names"] == ["text"]


def test_a_row_that_needs_an_absent_mcp_server_is_refused_alone(database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path) as stack:
        add(stack, "clerk", {"toolset": [MAIL_TOOLS[0]]})
        stack.start_server()
        stack.start_orchestrator()
        refused = stack.answer(stack.ask(uuid4(), "What is new?", assistant="clerk"))
        assert (refused["status"], refused["error_code"]) == ("FAILED", "bad_assistant")
        assert stack.answer(stack.ask(uuid4(), "Who are you?"))["status"] == "COMPLETED"
        assert stack.log().count('"event": "assistant_rejected"') == 1


def test_a_built_in_assistant_is_written_at_start(database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path) as stack:
        stack.rows("delete from assistants")
        stack.start_orchestrator()
        assert [row["name"] for row in stack.rows("select name from assistants")] == [
            one.name for one in built_in(load_settings())
        ]


@pytest.mark.parametrize(
    ("definition", "settings", "words"),
    [
        (
            {"toolset": ["fly"]},
            TOOLS,
            "clerk': there is no tool or domain 'fly'; domains, with those of MAAS_TOOLS: account, ads, box, ",
        ),
        ({"toolset": ["box"]}, {}, "'box'; domains, with those of MAAS_TOOLS: account, ads, "),
        ({"toolset": ["writeline"]}, TOOLS, "'writeline'; did you mean write_line? domains"),
        ({"default_mode": "wild"}, {}, "assistant 'clerk': default_mode: Input should be 'auto', 'plan' or 'ask'"),
        ({"slots": [SLOT]}, {}, "assistant 'clerk': slots and completion belong together: name both or neither"),
        ({"slots": [SLOT, SLOT], "completion": "wipe"}, {}, "assistant 'clerk': slots: two slots are named size"),
        (
            {"slots": [SLOT], "completion": "wipe", "toolset": ["write_line"]},
            TOOLS,
            "assistant 'clerk': completion: 'wipe' is not a tool of its toolset",
        ),
        ({"slots": [SLOT | {"question": "How?"}], "completion": "wipe"}, {}, "assistant 'clerk': slots.0.question: "),
        ({"memory": "some"}, {}, "assistant 'clerk': memory: Input should be 'full', 'light' or 'off'"),
        (
            {"context_providers": ["write_line"]},
            TOOLS,
            "context_providers: 'write_line' must be a tool that only reads",
        ),
        ({"context_providers": ["box"]}, TOOLS, "context_providers: 'box' must be a tool that only reads"),
        ({"context_providers": ["fly"]}, TOOLS, "context_providers: there is no tool or domain 'fly'"),
        ({"model": "openai"}, {}, "assistant 'clerk': model: "),
        ({"model": "openai:gpt-4o"}, {}, "assistant 'clerk': model: openai:gpt-4o needs"),
        ({"colour": "red"}, {}, "assistant 'clerk': colour: Extra inputs are not permitted"),
        (
            {"routing": "classifier", "agents": [AGENT]},
            {},
            "assistant 'clerk': agents: system_prompts has no active row 'Nobody'",
        ),
        ({"limits": {"rounds": 0}}, {}, "assistant 'clerk': limits.rounds: Input should be greater than"),
        (
            {},
            {"MAAS_TOOLS": "tests.nothing:TOOLS"},
            "MAAS_TOOLS: 'tests.nothing:TOOLS' is not module:attribute of tools",
        ),
        ({}, {"MAAS_TOOLS": "tests.stack:PRIVATE"}, "holds 'MAAS_', which is not a Tool"),
    ],
)
def test_a_wrong_definition_is_named_at_start(
    database: str, tmp_path: Path, definition: dict[str, object], settings: dict[str, str], words: str
) -> None:
    with Stack(database, tmp_path) as stack:
        add(stack, "clerk", definition)
        process = stack.launch("main.py", **settings)
        poll(lambda: process.poll() is not None, what="it ends")
        assert process.returncode == 1
        assert words in " ".join(stack.last_words(process).split()) and "Traceback" not in stack.last_words(process)
