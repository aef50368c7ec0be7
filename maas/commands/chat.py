"""`maas chat`: a dialogue in the terminal; answers are shown while they are said."""

from __future__ import annotations

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from maas.commands.output import note, say
from maas.commands.screen import Screen
from maas.commands.session import LOCAL_USER, User, read_uuid, with_database
from maas.commands.terminal import Terminal
from maas.pipeline.actions import Decision, decide_action
from maas.pipeline.attachments import keep_upload, read_content
from maas.pipeline.buttons import press_button
from maas.pipeline.conversations import (
    Mode,
    change_conversation,
    clear_conversation,
    create_conversation,
    read_conversation,
)
from maas.pipeline.following import Following, Place
from maas.pipeline.submissions import Submission, Submissions, cancel_run
from shared.db import Database
from shared.errors import MaasError
from shared.text import clean, is_blank
from shared.visible import visible_json, visible_line

LOOK = 0.05
HELP = """/mode auto|plan|ask   what needs your word: dangerous calls, all that changes something, everything
/photo FILE           send a photo with your next line
/1, /2 ...            press a button
/save ID FILE         keep a picture
/clear                forget what was said here; what is remembered stays
/status               this conversation
/quit                 or Ctrl-D; Ctrl-C stops an answer"""


def chat(
    user: User = LOCAL_USER,
    assistant: Annotated[str, typer.Option("--assistant", "-a", help="who answers")] = "mentor",
    conversation: Annotated[str | None, typer.Option("--conversation", "-c", help="go on with this one")] = None,
    mode: Annotated[str | None, typer.Option(help="auto, plan or ask; the assistant's own unless given")] = None,
) -> None:
    """Talk with an assistant; /help lists what else can be typed."""
    user_id = read_uuid(user, "--user")
    given = read_uuid(conversation, "--conversation") if conversation else None
    chosen = None if mode is None else read_mode(mode)

    async def talk(db: Database, _: object) -> None:
        if not await db.rows("living_engines"):
            raise MaasError("no_orchestrator", "no orchestrator is running; start one with `make run`")
        row = await _open(db, user_id, assistant, given, chosen)
        note(f"{row['assistant']}, mode {row['mode']}, conversation {row['id']}; /help, /quit")
        await Chat(db, user_id, row["assistant"], row["id"]).talk(row["request_id"])

    with_database(talk)


def read_mode(text: str) -> Mode:
    """Raises MaasError('bad_parameter')."""
    match text:
        case "auto" | "plan" | "ask":
            return text
        case _:
            raise MaasError("bad_parameter", f"mode: auto, plan or ask, not {text!r}")


class Chat:
    """One conversation of one user at this terminal."""

    def __init__(self, db: Database, user_id: UUID, assistant: str, conversation_id: UUID) -> None:
        self._db = db
        self._user_id = user_id
        self._assistant = assistant
        self._id = conversation_id
        self._following = Following(db)
        self._submissions = Submissions(db)
        self._terminal = Terminal()
        self._photos: list[UUID] = []
        self._offer: tuple[UUID, list[dict[str, str]]] | None = None

    async def talk(self, opening: UUID | None) -> None:
        """Until the end of the input or /quit; `opening` is a run in which the assistant speaks first.

        What goes wrong with one line does not end it.
        """
        if opening is not None:
            await self._hear(opening)
        while (line := await self._terminal.ask("> ")) is not None and line.strip() != "/quit":
            try:
                await self._take(clean(line).strip())
            except MaasError as error:
                note(f"maas: {error.message}")

    async def _take(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        match word:
            case "/help":
                say(HELP)
            case "/mode":
                row = await change_conversation(self._db, self._id, read_mode(rest.strip()), None)
                say(f"mode {row['mode']}")
            case "/photo":
                self._photos.append((await keep_upload(self._db, self._user_id, read_file(rest.strip())))["id"])
                say("the photo goes with your next line")
            case "/save":
                await self._save(*rest.strip().partition(" ")[::2])
            case "/clear":
                say(f"{await clear_conversation(self._db, self._id)} messages removed")
            case "/status":
                say(describe(await read_conversation(self._db, self._id)))
            case _ if word[:1] == "/" and word[1:].isdecimal():
                await self._press(int(word[1:]))
            case _ if word.startswith("/"):
                raise MaasError("bad_parameter", f"there is no {word}; /help lists what there is")
            case _ if not is_blank(line):
                await self._ask(line)

    async def _ask(self, text: str) -> None:
        photos, self._photos = tuple(self._photos), []
        submission = Submission(
            self._user_id, text, self._assistant, self._id, source="cli", attachment_ids=photos
        )  # fmt: skip
        await self._hear(await self._submissions.submit(submission))

    async def _press(self, place: int) -> None:
        run_id, buttons = self._offer or (self._id, [])
        if not 0 < place <= len(buttons):
            raise MaasError("bad_parameter", f"there is no button {place}")
        await self._hear(await press_button(self._db, run_id, self._user_id, buttons[place - 1]["id"]))

    async def _save(self, attachment: str, path: str) -> None:
        row = await read_content(self._db, read_uuid(attachment, "/save"), self._user_id)
        try:
            Path(path).expanduser().write_bytes(row["content"])
        except OSError as error:
            raise MaasError("bad_file", f"/save: {error}") from error
        say(f"{len(row['content']):,} bytes, {row['media_type']}")

    async def _hear(self, run_id: UUID) -> None:
        runs = [run_id]
        while runs:  # each action that is approved is a run, and may ask for more
            current = runs.pop(0)
            screen = await self._follow(current)
            self._offer = (current, screen.buttons)
            runs = [one for asked in screen.asked if (one := await self._decide(asked))] + runs

    async def _decide(self, asked: dict[str, Any]) -> UUID | None:
        """Ask for a word about a call; the run that executes it, None when it is rejected or left for later."""
        say(describe_call(asked))
        word = await self._terminal.ask("approve? [y]es, [n]o, later: ")
        match (word or "").strip().casefold()[:1]:
            case "y" | "д":
                decision: Decision = "approve"
            case "n" | "н":
                decision = "reject"
            case _:
                note(f"action {asked['action_id']} waits; it expires after a while")
                return None
        try:
            action = await decide_action(self._db, UUID(asked["action_id"]), self._user_id, decision, "cli")
        except MaasError as error:
            note(f"maas: {error.message}")
            return None
        run_id: UUID | None = action["action_run_id"]
        return run_id

    async def _follow(self, run_id: UUID) -> Screen:
        """Show a run to its end. Ctrl-C stops it."""
        screen = Screen()
        task = asyncio.create_task(self._show(run_id, screen))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            with suppress(MaasError):  # it has ended by itself
                await cancel_run(self._db, run_id, "cli")
            note("\nstopped")
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        return screen

    async def _show(self, run_id: UUID, screen: Screen) -> None:
        place = Place()
        while True:
            glance = await self._following.look(run_id, place)
            if glance is None:
                raise MaasError("erased", f"run {run_id} was erased")
            for event in glance.events:
                screen.show(event)
            place = glance.place
            if glance.is_over:
                return
            if not glance.has_more:
                await asyncio.sleep(LOOK)


async def _open(
    db: Database, user_id: UUID, assistant: str, conversation_id: UUID | None, mode: Mode | None
) -> dict[str, Any]:
    if conversation_id is None:
        return await create_conversation(db, user_id, assistant, mode)
    row = await read_conversation(db, conversation_id)
    if row["user_id"] != user_id:
        raise MaasError("not_found", f"there is no conversation {conversation_id}")
    row = row if mode is None else await change_conversation(db, conversation_id, mode, None)
    return row | {"request_id": None}


def read_file(path: str) -> bytes:
    """Raises MaasError('bad_file')."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise MaasError("bad_file", f"/photo: {error}") from error


def describe(row: dict[str, Any]) -> str:
    """A conversation in one line."""
    title = f"«{row['title']}», " if row["title"] else ""
    return visible_line(f"{title}{row['assistant']}, mode {row['mode']}, conversation {row['id']}")


def describe_call(asked: dict[str, Any]) -> str:
    """What is asked for, in one line: nothing in it can look like a line of ours."""
    arguments = visible_json(json.dumps(asked["arguments"], ensure_ascii=False))
    return f"{visible_line(asked['reason'])}: {visible_line(asked['tool'])} {arguments}"
