"""Talking in the terminal, over a pipe and at a pseudo-terminal as a person would; tools listed and called by hand."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.contract.dialects import OPENAI
from tests.contract.test_images import DRAWN
from tests.contract.test_images import OPENAI as BRUSH
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.pictures import picture
from tests.polling import poll
from tests.programs import MAAS
from tests.scripted import ScriptedModel
from tests.stack import ROOT, Stack, maas

PROMPT = b"\x1b[?2004h"  # pasting is switched on when a line is asked for
WRITE = ("write_line", '{"text": "one"}')


@pytest.fixture
def models() -> Iterator[ModelServer]:
    with HTTPServer(threaded=True) as server:
        models = ModelServer(server)
        yield models
        models.close()


@pytest.fixture
def office(database: str, tmp_path: Path, models: ModelServer) -> Iterator[Stack]:
    """An orchestrator with tools and a model, and an assistant that may use them."""
    with Stack(database, tmp_path) as stack:
        definition = json.dumps({"toolset": ["box"]})
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
        stack.start_orchestrator(**models.settings(), MAAS_TOOLS="tests.toolbox:TOOLS", TOOLBOX=str(tmp_path))
        yield stack


class Terminal:
    """A `maas chat` whose input is a pipe; what it says goes into a file."""

    def __init__(self, stack: Stack, *words: str) -> None:
        self._said = stack.folder / f"said-{uuid4()}"
        with self._said.open("wb") as output:
            self.process = subprocess.Popen(
                [MAAS, "chat", *words],
                env=os.environ | {"DATABASE_URL": stack.dsn},
                cwd=stack.folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
            )

    def type(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self.process.stdin.flush()

    def waits_for(self, words: str) -> None:
        poll(lambda: words in self.said, what=f"{words!r} is said, not {self.said!r}")

    def end(self) -> str:
        """All that it said."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(20) == 0, self.said
        return self.said

    @property
    def said(self) -> str:
        return self._said.read_text(errors="replace")


def test_a_dialogue(stack: Stack, user: UUID) -> None:
    """What was said is answered, remembered in its conversation, and gone on with later."""
    terminal = Terminal(stack, "--user", str(user))
    terminal.type("My parrot is called Kiki.", "", "What is my parrot called?", "/status", "/quit")
    said = terminal.end()
    assert "Kiki" in said.split("mentor, mode auto", 1)[1]
    (row,) = stack.rows("select id, title from chat_conversations where user_id = %s", user)
    assert f"«My parrot is called Kiki.», mentor, mode auto, conversation {row['id']}" in said
    assert len(stack.rows("select from chat_messages where conversation_id = %s", row["id"])) == 4
    again = Terminal(stack, "--user", str(user), "--conversation", str(row["id"]), "--mode", "ask")
    again.type("/clear", "/mode plan", "/mode wild", "/fly", "/help")
    said = again.end()
    for words in (
        "mode ask",
        "4 messages deleted",
        "mode plan",
        "auto, plan or ask, not 'wild'",
        "there is no command /fly",
        "/quit",
    ):
        assert words in said


def test_words_are_shown_while_they_are_said(office: Stack, models: ModelServer) -> None:
    models.replies["responder"] = "one two three"
    models.pause("responder")
    terminal = Terminal(office, "-a", "clerk")
    terminal.type("Count.")
    terminal.waits_for("one two")
    assert "three" not in terminal.said
    models.release("responder")
    assert terminal.end().count("one two three") == 1


def test_tools_are_lines(office: Stack, models: ModelServer) -> None:
    models.rounds["responder"] = [[WRITE, ("fly", "{}")]]
    terminal = Terminal(office, "--assistant", "clerk")
    terminal.type("Write it down.")
    said = terminal.end()
    assert "· write_line …" in said and "· fly: unknown tool" in said
    assert said.index("· fly: unknown tool") < said.index("A model answered.")


def test_a_dangerous_call_waits_for_a_word(office: Stack, models: ModelServer) -> None:
    """Yes does it and tells what came of it, no does not, anything else leaves it waiting."""
    models.rounds["responder"] = [[("wipe", '{"text": "one"}')]]
    terminal = Terminal(office, "-a", "clerk")
    terminal.type("Wipe it.", "yes", "Wipe it.", "no", "Wipe it.", "")
    said = terminal.end()
    assert said.count('A line is gone for good: wipe {"text": "one"}') == 3
    assert said.count("A model answered.") == 3 and said.count("Done, as you approved") == 1
    assert (office.folder / "lines").read_text().splitlines() == ["wiped one"]
    rows = office.rows("select status from chat_pending_actions order by created_at")
    assert [row["status"] for row in rows] == ["done", "rejected", "pending"]


def test_a_sticker_from_the_terminal(database: str, tmp_path: Path) -> None:
    """It speaks first, takes a photo by its path, offers a button, and keeps the picture."""
    (tmp_path / "me.png").write_bytes(picture())
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack:
        model = ScriptedModel(server, OPENAI)
        model.paint(server, BRUSH.photo_path, BRUSH.body(DRAWN))
        model.lines = {
            "/start": [("Hello! Send a photo.", [("request_photo", "{}")])],
            "Here.": [("Which style?", [])],
            "Anime, happy, hands up.": [
                (
                    "All noted.",
                    [("update_sticker_params", '{"style": "anime", "emotion": "happy", "pose": "hands up"}')],
                )
            ],
        }
        image_model = BRUSH.settings(server.url_for("").rstrip("/"))["image_model"]
        stack.start_orchestrator(**model.settings(), MAAS_IMAGE_MODEL=image_model)
        terminal = Terminal(stack, "-a", "stickers")
        terminal.type("/photo none.png", "/photo me.png", "Here.", "/1", "Anime, happy, hands up.", "/1")
        terminal.waits_for("FILE saves the image")
        drawn = terminal.said.rpartition("/save ")[2].split()[0]
        terminal.type(f"/save {drawn} sticker.png")
        said = terminal.end()
    for words in (
        "Hello! Send a photo.",
        "· /photo FILE",
        "No such file",
        "the photo will be sent with your next message",
        "Which style?",
        "there is no button 1",
        "- **Pose:** hands up",
        "· /1 Confirm",
        f"Your sticker is ready: {drawn}",
    ):
        assert said.count(words) == 1, (words, said)
    assert (tmp_path / "sticker.png").read_bytes() == DRAWN


def test_an_answer_is_stopped(office: Stack, models: ModelServer) -> None:
    """Ctrl-C ends the answer, not the dialogue."""
    models.hold("responder")
    terminal = Terminal(office, "-a", "clerk")
    terminal.type("Wait.")
    poll(lambda: models.calls["responder"] == 1)
    terminal.process.send_signal(signal.SIGINT)
    terminal.waits_for("stopped")
    poll(lambda: office.rows("select from pipeline_runs where error_code = 'cancelled'"))
    models.release("responder")
    terminal.type("Go on.")
    assert "A model answered." in terminal.end()
    rows = office.rows("select status, error_code from pipeline_runs order by seq")
    assert [(row["status"], row["error_code"]) for row in rows] == [("FAILED", "cancelled"), ("COMPLETED", None)]


def test_at_a_terminal(stack: Stack, user: UUID) -> None:
    """The prompt asks, and Ctrl-D leaves."""
    leader, follower = pty.openpty()
    environment = {"DATABASE_URL": stack.dsn, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"}
    process = subprocess.Popen(
        [MAAS, "chat", "--user", str(user)],
        env=os.environ | environment,
        cwd=stack.folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    screen = b""

    def hear(words: bytes) -> None:
        nonlocal screen
        while words not in screen:
            screen += os.read(leader, 4096)

    hear(PROMPT)
    os.write(leader, b"I have two cats.\r")
    hear(b"does not reason")  # of the built-in model's answer
    screen = screen.partition(b"does not reason")[2]
    hear(PROMPT)
    os.write(leader, b"\x04")
    assert process.wait(20) == 0
    os.close(leader)
    assert len(stack.rows("select from pipeline_runs where user_id = %s and status = 'COMPLETED'", user)) == 1


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--assistant", "nobody"), "no active assistant 'nobody'"),
        (("--mode", "wild"), "mode: auto, plan or ask, not 'wild'"),
        (("--conversation", "7"), "--conversation: '7' is not a UUID"),
    ],
)
def test_bad_words_get_one_line(stack: Stack, words: tuple[str, ...], part: str) -> None:
    done = maas(stack, "chat", *words)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert part in done.stderr


def test_the_conversation_of_somebody_else(stack: Stack, user: UUID) -> None:
    terminal = Terminal(stack, "--user", str(user))
    terminal.end()
    (row,) = stack.rows("select id from chat_conversations where user_id = %s", user)
    done = maas(stack, "chat", "--conversation", str(row["id"]))
    assert (done.returncode, done.stderr) == (1, f"maas: there is no conversation {row['id']}\n")


def test_tools_are_listed(office: Stack) -> None:
    page = maas(office, "tools").stdout
    lines = {line.split()[1]: line.split() for line in page.splitlines()[1:] if line[:1].strip()}
    assert lines["wipe"][2:4] == ["dangerous", "text"] and lines["read_slowly"][2] == "read"
    found = json.loads(maas(office, "tools", "--domain", "box", "--json").stdout)
    assert [one["name"] for one in found] == sorted(name for name, line in lines.items() if line[0] == "box")
    assert "no tools" in maas(office, "tools", "--domain", "none").stderr


def test_a_tool_is_called_by_hand(stack: Stack) -> None:
    """Through the guard: arguments are checked, and what changes something needs a word."""
    settings = {"MAAS_TOOLS": "tests.toolbox:TOOLS", "TOOLBOX": str(stack.folder), "PYTHONPATH": str(ROOT)}

    def call(*words: str) -> tuple[int, str, str]:
        done = maas(stack, "tool", *words, **settings)
        return done.returncode, done.stdout, done.stderr

    code, _, printed = call("wipe", "--args", '{"text": "one"}')
    assert (code, printed) == (1, "maas: wipe is dangerous: A line is gone for good; add --yes to call it\n")
    code, printed, _ = call("wipe", "--args", '{"text": "one"}', "--yes")
    assert code == 0 and json.loads(printed)["data"] == {"written": "wiped one"}
    code, printed, _ = call("write_line", "--args", '{"text": ', "--yes")
    assert code == 1 and json.loads(printed)["error_code"] == "validation_error"
    assert call("fly")[2] == "maas: there is no tool 'fly'; `maas tools` lists all tools\n"
    assert (stack.folder / "lines").read_text() == "wiped one\n"
