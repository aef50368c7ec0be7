"""`maas ask` and `maas chat`: one question, or a conversation in the terminal with streamed answers."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args
from uuid import UUID

import typer

from maas import queries
from maas.cli.run_control import read_attributes
from maas.cli.run_printer import RunPrinter
from maas.conversations import Mode, change_conversation, clear_conversation, create_conversation, read_conversation
from maas.conversations.actions import Decision, decide_action, press_button
from maas.conversations.attachments import read_content, store_upload
from maas.engine.states import TERMINAL, Priority, PriorityWord, Status
from maas.runs.event_stream import Cursor, EventStream
from maas.runs.submit import Submission, Submitter, cancel_run, read_run
from maas.settings import Settings
from maas.terminal.invocation import DATE_FORMATS, LOCAL_USER, User, in_zone, read_uuid, with_database
from maas.terminal.output import note, write
from shared.db import Database
from shared.errors import MaasError
from shared.text import clean, is_blank, visible_json, visible_line

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

POLL_INTERVAL_S = 0.05
CHAT_HELP = """/mode auto|plan|ask   which tool calls need your approval: dangerous ones, all but reads, or all
/photo FILE           attach a photo to your next message
/1, /2 ...            press a button
/save ID FILE         save an image into a file
/clear                delete the messages of this conversation; memory is kept
/status               show this conversation
/quit                 or Ctrl-D: leave; Ctrl-C stops an answer"""


def ask(
    question: Annotated[str, typer.Argument(help="text of the question")],
    user: User = LOCAL_USER,
    assistant: Annotated[str, typer.Option(help="name of the assistant that answers")] = "mentor",
    wait: Annotated[float, typer.Option(help="seconds to wait for the answer")] = 180.0,
    priority: Annotated[str, typer.Option(help="high, normal or low: which users are answered first")] = "normal",
    at: Annotated[
        datetime | None,
        typer.Option(formats=DATE_FORMATS, help="do not start before this time, and do not wait for it"),
    ] = None,
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", metavar="NAME=VALUE", help="to filter runs by; may be repeated")
    ] = None,
) -> None:
    """Print the answer, and the id of the run to standard error; of a later run the id alone.

    Raises MaasError, 'timeout' after `wait` seconds.
    """
    user_id = read_uuid(user, "--user")
    if is_blank(question):
        raise MaasError("invalid_request", "the question is blank")
    if priority not in get_args(PriorityWord):
        raise MaasError("bad_parameter", f"--priority: one of {', '.join(get_args(PriorityWord))}, not {priority!r}")
    submission = Submission(
        user_id,
        clean(question),
        assistant,
        source="cli",
        priority=Priority.of(cast(PriorityWord, priority)),
        attributes=read_attributes(attribute),
    )
    if at is not None:

        async def schedule(db: Database, settings: Settings) -> UUID:
            return await Submitter(db).submit(replace(submission, run_at=in_zone(settings.engine.zone, at)))

        write(str(with_database(schedule, command="ask", user_id=user_id)))
        return
    run = with_database(lambda db, _: _answer(db, submission, wait), command="ask", user_id=user_id)
    if run["status"] != Status.COMPLETED:
        message = f"no answer: {run['error_message']}; see `maas trace {run['id']}`"
        raise MaasError(run["error_code"] or "failed", message)
    write(run["final_answer"])
    if run["limited"] == "budget":
        note("limited: the user's daily budget is spent, so rules answered")
    if run["memory"] != "ok":
        note(f"memory {run['memory']}: {', '.join(run['memory_reasons'])}")
    note(f"run {run['id']}")


async def _answer(db: Database, submission: Submission, wait: float) -> dict[str, Any]:
    """The finished run of a question."""
    if not await db.rows(queries.living_engines):
        raise MaasError("no_orchestrator", "no orchestrator is running; start one with `make run` in another terminal")
    run_id = await Submitter(db).submit(submission)
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline:
        run = await read_run(db, run_id)
        if Status(run["status"]) in TERMINAL:
            return run
        await asyncio.sleep(POLL_INTERVAL_S)
    raise MaasError("timeout", f"no answer within {wait:.0f} s; run {run_id} continues, see `maas trace {run_id}`")


def chat(
    user: User = LOCAL_USER,
    assistant: Annotated[str, typer.Option("--assistant", "-a", help="name of the assistant that answers")] = "mentor",
    conversation: Annotated[
        str | None, typer.Option("--conversation", "-c", help="id of a conversation to continue; a new one if unset")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="approval of tool calls: auto, plan or ask; the assistant's default if unset")
    ] = None,
) -> None:
    """Chat until /quit or the end of the input. Raises MaasError, as long as the conversation is not open."""
    user_id = read_uuid(user, "--user")
    conversation_id = read_uuid(conversation, "--conversation") if conversation else None
    chosen_mode = None if mode is None else read_mode(mode)

    async def talk(db: Database, _: object) -> None:
        if not await db.rows(queries.living_engines):
            raise MaasError("no_orchestrator", "no orchestrator is running; start one with `make run`")
        row = await _open_conversation(db, user_id, assistant, conversation_id, chosen_mode)
        note(f"{row['assistant']}, mode {row['mode']}, conversation {row['id']}; /help, /quit")
        await Chat(db, user_id, row["assistant"], row["id"]).talk(row["request_id"])

    with_database(talk, command="chat", user_id=user_id)


def read_mode(text: str) -> Mode:
    """Raises MaasError('bad_parameter')."""
    match text:
        case "auto" | "plan" | "ask":
            return text
        case _:
            raise MaasError("bad_parameter", f"mode: auto, plan or ask, not {text!r}")


class Chat:
    """One conversation of one user in this terminal."""

    def __init__(self, db: Database, user_id: UUID, assistant: str, conversation_id: UUID) -> None:
        self._db = db
        self._user_id = user_id
        self._assistant = assistant
        self._id = conversation_id
        self._stream = EventStream(db)
        self._submissions = Submitter(db)
        self._lines = LineReader()
        self._photos: list[UUID] = []
        self._buttons: tuple[UUID, list[dict[str, str]]] | None = None  # of the last run that was shown

    async def talk(self, greeting_run: UUID | None) -> None:
        """Read and answer lines until /quit or the end of the input; an error of one line is printed.

        `greeting_run` is the run in which the assistant speaks first.
        """
        if greeting_run is not None:
            await self._show_run(greeting_run)
        while (line := await self._lines.read("> ")) is not None and line.strip() != "/quit":
            try:
                await self._handle(clean(line).strip())
            except MaasError as error:
                note(f"maas: {error.message}")

    async def _handle(self, line: str) -> None:
        """Execute a command of the chat, or send the line to the assistant. Raises MaasError."""
        command, _, argument = line.partition(" ")
        match command:
            case "/help":
                write(CHAT_HELP)
            case "/mode":
                row = await change_conversation(self._db, self._id, read_mode(argument.strip()))
                write(f"mode {row['mode']}")
            case "/photo":
                self._photos.append((await store_upload(self._db, self._user_id, read_file(argument.strip())))["id"])
                write("the photo will be sent with your next message")
            case "/save":
                await self._save(*argument.strip().partition(" ")[::2])
            case "/clear":
                write(f"{await clear_conversation(self._db, self._id)} messages deleted")
            case "/status":
                write(describe_conversation(await read_conversation(self._db, self._id)))
            case _ if command[:1] == "/" and command[1:].isdecimal():
                await self._press(int(command[1:]))
            case _ if command.startswith("/"):
                raise MaasError("bad_parameter", f"there is no command {command}; /help lists all of them")
            case _ if not is_blank(line):
                await self._ask(line)

    async def _ask(self, text: str) -> None:
        photos, self._photos = tuple(self._photos), []
        submission = Submission(self._user_id, text, self._assistant, self._id, source="cli", attachment_ids=photos)
        await self._show_run(await self._submissions.submit(submission))

    async def _press(self, number: int) -> None:
        run_id, buttons = self._buttons or (self._id, [])
        if not 0 < number <= len(buttons):
            raise MaasError("bad_parameter", f"there is no button {number}")
        await self._show_run(await press_button(self._db, run_id, self._user_id, buttons[number - 1]["id"]))

    async def _save(self, attachment: str, path: str) -> None:
        row = await read_content(self._db, read_uuid(attachment, "/save"), self._user_id)
        try:
            Path(path).expanduser().write_bytes(row["content"])
        except OSError as error:
            raise MaasError("bad_file", f"/save: {error}") from error
        write(f"{len(row['content']):,} bytes, {row['media_type']}")

    async def _show_run(self, run_id: UUID) -> None:
        """Show a run to its end, ask for the approvals it needs, and show the runs of approved actions."""
        pending = [run_id]
        while pending:  # a run of an approved action may ask for further approvals
            current = pending.pop(0)
            printer = await self._follow(current)
            self._buttons = (current, printer.buttons)
            pending = [run for action in printer.approvals if (run := await self._decide(action))] + pending

    async def _decide(self, action: dict[str, Any]) -> UUID | None:
        """Ask the user about a tool call; the run that executes it, None if it is rejected or left pending."""
        write(describe_call(action))
        reply = await self._lines.read("approve? [y]es, [n]o, later: ")
        match (reply or "").strip().casefold()[:1]:
            case "y" | "д":
                decision: Decision = "approve"
            case "n" | "н":
                decision = "reject"
            case _:
                note(f"action {action['action_id']} stays pending until it expires")
                return None
        try:
            row = await decide_action(
                self._db, UUID(action["action_id"]), self._user_id, decision, "cli", fingerprint=action["fingerprint"]
            )
        except MaasError as error:
            note(f"maas: {error.message}")
            return None
        run_id: UUID | None = row["action_run_id"]
        return run_id

    async def _follow(self, run_id: UUID) -> RunPrinter:
        """Show a run to its end. Ctrl-C cancels it."""
        printer = RunPrinter()
        task = asyncio.create_task(self._print_events(run_id, printer))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            with suppress(MaasError):  # the run has ended meanwhile
                await cancel_run(self._db, run_id, "cli")
            note("\nstopped")
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        return printer

    async def _print_events(self, run_id: UUID, printer: RunPrinter) -> None:
        cursor = Cursor()
        while True:
            page = await self._stream.read(run_id, cursor)
            if page is None:
                raise MaasError("erased", f"run {run_id} was erased")
            for event in page.events:
                printer.show(event)
            cursor = page.cursor
            if page.is_over:
                return
            if not page.has_more:
                await asyncio.sleep(POLL_INTERVAL_S)


async def _open_conversation(
    db: Database, user_id: UUID, assistant: str, conversation_id: UUID | None, mode: Mode | None
) -> dict[str, Any]:
    """A new or an existing conversation; `request_id` is the run in which the assistant speaks first, or None."""
    if conversation_id is None:
        return await create_conversation(db, user_id, assistant, mode)
    row = await read_conversation(db, conversation_id)
    if row["user_id"] != user_id:
        raise MaasError("not_found", f"there is no conversation {conversation_id}")
    row = row if mode is None else await change_conversation(db, conversation_id, mode)
    return {**row, "request_id": None}


def read_file(path: str) -> bytes:
    """Raises MaasError('bad_file')."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise MaasError("bad_file", f"/photo: {error}") from error


def describe_conversation(row: queries.ConversationRow) -> str:
    """A conversation in one line."""
    title = f"«{row['title']}», " if row["title"] else ""
    return visible_line(f"{title}{row['assistant']}, mode {row['mode']}, conversation {row['id']}")


def describe_call(action: dict[str, Any]) -> str:
    """The tool call of a pending action in one line; newlines in stored text cannot imitate our own output."""
    arguments = visible_json(json.dumps(action["arguments"], ensure_ascii=False))
    return f"{visible_line(action['reason'])}: {visible_line(action['tool'])} {arguments}"


class LineReader:
    """Reads lines from standard input, on a terminal with a prompt, editing and history."""

    def __init__(self) -> None:
        self._prompt = _open_prompt()

    async def read(self, prompt: str) -> str | None:
        """The next line; None at the end of the input. The prompt is shown on a terminal only."""
        if self._prompt is None:
            return (await asyncio.to_thread(sys.stdin.readline)) or None
        try:
            return await self._prompt.prompt_async(prompt)
        except EOFError:
            return None


def _open_prompt() -> PromptSession[str] | None:
    if not sys.stdin.isatty():
        return None
    from prompt_toolkit import PromptSession  # slow to load

    return PromptSession()
