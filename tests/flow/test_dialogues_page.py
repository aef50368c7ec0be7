"""docs/dialogues.md holds the transcripts of dialogues as they run now; `RECORD=1 pytest FILE` writes it anew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from shared.postgres import EmbeddedPostgres
from tests.assistants.stickers.test_dialogue import CONFIRM, FULL, PHOTO, Chat, update
from tests.contract.dialects import GEMINI, OPENAI, Dialect
from tests.contract.test_images import DRAWN
from tests.contract.test_images import GEMINI as BANANA
from tests.contract.test_images import OPENAI as DALL_E
from tests.databases import copy_of
from tests.fault.test_actions import ask, finish
from tests.fault.test_dialogues import settings
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.scripted import ScriptedModel, Step
from tests.stack import ROOT, Stack

WIPE, OTHER = ("wipe", '{"text": "one"}'), ("wipe", '{"text": "two"}')
CONFIRM_PENDING, REJECT_PENDING = ("confirm_pending", "{}"), ("reject_pending", "{}")
PAGE = ROOT / "docs" / "dialogues.md"
HEAD = """# Dialogues, as they run

Each transcript is recorded from a running system; a test runs the dialogues again and compares. Only the model's words
are scripted. `<-` is what the provider was asked: its path and the number of requests. `=` is the state of the session,
`!` a tool call or an event that followers get. Long numbers and ids are left out.

"""


class Recorder:
    """The lines of one dialogue."""

    def __init__(self, title: str) -> None:
        self.lines = [f"## {title}", "", "```"]

    def add(self, mark: str, text: object) -> None:
        words = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", str(text))
        self.lines += [f"{mark} {line}".rstrip() for line in words.splitlines()]

    def page(self) -> str:
        return "\n".join([*self.lines, "```", ""])


class StickerDialogue:
    """A dialogue with the sticker assistant, written down."""

    def __init__(self, chat: Chat, title: str) -> None:
        self.chat, self.recorder = chat, Recorder(title)

    def say(self, message: str, *steps: Step, photo: str | None = None, **fields: Any) -> dict[str, Any]:
        before = len(self.chat.model.paths)
        script: Any = [(text, list(calls)) for text, calls in steps]
        state = self.chat.send(photo, message, *script) if photo else self.chat.say(message, *script, **fields)
        self.recorder.add("user:", message + (" [photo]" if photo else ""))
        return self._note(state, before)

    def press(self, state: dict[str, Any], button: str) -> dict[str, Any]:
        before = len(self.chat.model.paths)
        self.recorder.add("user:", f"[presses {button}, twice]")
        return self._note(self.chat.press(state, button), before)

    def _note(self, state: dict[str, Any], before: int) -> dict[str, Any]:
        recorder, paths = self.recorder, self.chat.model.paths[before:]
        for path in dict.fromkeys(paths):
            recorder.add("<-", f"{path} x {paths.count(path)}")
        query = (
            "select tool_name, tool_calls from chat_messages where run_id = %s and role = 'tool' order by created_at"
        )
        for row in self.chat.stack.rows(query, state["request_id"]):
            recorder.add("!", f"{row['tool_name']} {json.dumps(row['tool_calls'][0]['arguments'], ensure_ascii=False)}")
        for event in self.chat.events(state):
            if event in ("request_photo", "buttons", "sticker"):
                recorder.add("!", f"event {event}")
        recorder.add("assistant:", state["final_answer"])
        if state["buttons"]:
            recorder.add("assistant:", " ".join(f"[{button['label']}]" for button in state["buttons"]))
        session = self.chat.session()
        values = ", ".join(f"{name} {value}" for name, value in session["slots"].items()) or "nothing collected"
        photo = ", a photo" if session["photo"] else ""
        confirmed = ", confirmed" if session["confirmed"] else ""
        recorder.add("=", f"{session['state']}: {values}{photo}{confirmed}, {self.chat.generations()} drawn")
        return state


@contextmanager
def sticker_chats(database: str, folder: Path, dialect: Dialect) -> Iterator[tuple[Stack, ScriptedModel]]:
    with HTTPServer(threaded=True) as server, Stack(database, folder) as stack:
        model = ScriptedModel(server, dialect)
        painter = BANANA if dialect is GEMINI else DALL_E
        model.paint(server, painter.photo_path, painter.body(DRAWN))
        image_model = painter.settings(server.url_for("").rstrip("/"))["image_model"]
        stack.start_server()
        stack.start_orchestrator(**model.settings(), MAAS_IMAGE_MODEL=image_model)
        yield stack, model


def sticker_dialogues(stack: Stack, model: ScriptedModel) -> Iterator[str]:
    """The ten scenarios but the last."""

    def begin(title: str) -> StickerDialogue:
        model.lines.clear()
        return StickerDialogue(Chat(stack, model, uuid4(), uuid4()), title)

    collected: Step = ("Есть.", [update(**FULL)])
    one = begin("Stickers 1: the start asks for a photo")
    one.say("/start", ("Здравствуйте! Для чего стикер? Пришлите фото.", [(PHOTO, "{}")]))
    yield one.recorder.page()
    two = begin("Stickers 2: a photo, then the question of the style")
    two.say("Привет", ("Пришлите фото.", [(PHOTO, "{}")]))
    two.say("вот", ("Отлично. Какой стиль?", []), photo="red")
    yield two.recorder.page()
    three = begin("Stickers 3: one value")
    three.say("аниме", ("Какая эмоция?", [update(style="anime")]))
    yield three.recorder.page()
    four = begin("Stickers 4: two values at once, the mirror and the button")
    four.say("аниме", ("Дальше?", [update(style="anime")]))
    four.say("весёлый, руки вверх", ("Понял.", [update(emotion="happy", pose="hands up")]))
    yield four.recorder.page()
    five = begin("Stickers 5: the button makes the sticker, once")
    offered = five.say("аниме, весёлый, руки вверх", collected, photo="red")
    five.press(offered, "assistant_confirm")
    yield five.recorder.page()
    six = begin("Stickers 6: a yes in words makes it, too; a second yes makes no second one")
    six.say("аниме, весёлый, руки вверх", collected, photo="red")
    six.say("да", ("Делаю.", [(CONFIRM, "{}")]))
    six.say("да, да", ("Он уже готов.", [(CONFIRM, "{}")]))
    yield six.recorder.page()
    seven = begin("Stickers 7: another style")
    seven.say("аниме, весёлый, руки вверх", collected)
    seven.say("измени стиль на 3D", ("Меняю.", [update(style="3D")]))
    yield seven.recorder.page()
    eight = begin("Stickers 8: another photo, chosen by button")
    eight.say("аниме, весёлый, руки вверх", collected, photo="red")
    offered = eight.say("другое", ("Какое взять?", []), photo="blue")
    eight.press(offered, "assistant_new_photo")
    yield eight.recorder.page()
    nine = begin("Stickers 9: who has made many")
    stack.rows("insert into app_users (user_id, total_generations) values (%s, 7)", nine.chat.user)
    nine.say("/start", ("Снова здравствуйте! Стиль, эмоция, поза и фото?", [(PHOTO, "{}")]))
    nine.say("аниме, весёлый, руки вверх", collected, photo="red")
    nine.say("да", ("", [(CONFIRM, "{}")]))
    yield nine.recorder.page()


def openai_dialogue(stack: Stack, model: ScriptedModel) -> str:
    ten = StickerDialogue(Chat(stack, model, uuid4(), uuid4()), "Stickers 10: the provider is OpenAI")
    ten.say("аниме, весёлый, руки вверх", ("Есть.", [update(**FULL)]), photo="red")
    ten.say("да", ("Делаю.", [(CONFIRM, "{}")]))
    return ten.recorder.page()


class ClerkDialogue:
    """A dialogue with an assistant that is a row and test tools alone, written down."""

    def __init__(self, stack: Stack, models: ModelServer, user: UUID, title: str) -> None:
        self.stack, self.models, self.user, self.recorder = stack, models, user, Recorder(title)
        self.conversation = uuid4()

    def say(self, message: str, words: str, *rounds: Sequence[tuple[str, str]]) -> None:
        """Say something that the model answers by these rounds of calls, then by `words`."""
        self.models.rounds["responder"] = [list(calls) for calls in rounds]
        self.models.replies["responder"] = words
        run = finish(self.stack, ask(self.stack, self.user, message, self.conversation))
        self.recorder.add("user:", message)
        self.note_calls(run["id"])
        self.recorder.add("assistant:", run["final_answer"])
        query = "select id, tool, status, action_run_id from v_actions where conversation_id = %s order by created_at"
        for action in self.stack.rows(query, self.conversation):
            if action["action_run_id"]:
                finish(self.stack, action["action_run_id"])
        for action in self.stack.rows(query, self.conversation):
            self.recorder.add("=", f"action {action['tool']}: {action['status']}")

    def note_calls(self, run_id: object) -> None:
        query = "select payload from run_events where run_id = %s and type = 'tool_result' order by n"
        for row in self.stack.rows(query, run_id):
            outcome = row["payload"].get("error_code") or "done"
            self.recorder.add("!", f"{row['payload']['tool']}: {outcome}")


def clerk_dialogues(stack: Stack, models: ModelServer, user: UUID) -> Iterator[str]:
    yes = ClerkDialogue(stack, models, user, "A clerk 1: a typed yes")
    yes.say("Сотри первую строку.", "Нужно ваше согласие.", [WIPE])
    yes.say("Да", "Стираю.", [CONFIRM_PENDING])
    yield yes.recorder.page()
    no = ClerkDialogue(stack, models, user, "A clerk 2: a typed no")
    no.say("Сотри первую строку.", "Нужно ваше согласие.", [WIPE])
    no.say("Нет, не надо.", "Хорошо, не стираю.", [REJECT_PENDING])
    yield no.recorder.page()
    two = ClerkDialogue(stack, models, user, "A clerk 3: two actions wait, so a yes decides nothing")
    two.say("Сотри обе строки.", "Нужно ваше согласие.", [WIPE, OTHER])
    two.say("да", "Какую из двух?", [CONFIRM_PENDING])
    yield two.recorder.page()
    liar = ClerkDialogue(stack, models, user, "A clerk 4: the model confirms what nobody agreed to")
    liar.say("Сотри первую строку.", "Нужно ваше согласие.", [WIPE])
    liar.say("А что в ней?", "Там заметка.", [CONFIRM_PENDING])
    yield liar.recorder.page()


def task_dialogue(stack: Stack, models: ModelServer, user: UUID) -> str:
    models.rounds.clear()
    models.replies["responder"] = "Обе строки записаны."
    steps = [
        {"title": "Первая строка", "tool": "write_line", "arguments": {"text": "one"}},
        {"title": "Вторая строка", "tool": "write_line", "arguments": {"text": "two"}, "depends_on": [1]},
        {"title": "Лишнее чтение", "tool": "read_nothing", "arguments": {}},
        {"title": "После лишнего", "tool": "write_line", "arguments": {"text": "x"}, "depends_on": [3]},
        {"title": "Вывод", "prompt": "Что записано?", "depends_on": [1, 2]},
    ]
    query = "select run_id from maas_insert_task(%s, 'Записать строки', %s, p_assistant => 'clerk')"
    (row,) = stack.rows(query, user, json.dumps(steps))
    run = finish(stack, row["run_id"])
    recorder = Recorder("A task with a step that fails")
    events = "select payload from run_events where run_id = %s and type = 'progress' order by n"
    for event in stack.rows(events, run["id"]):
        recorder.add("!", f"progress: step {event['payload']['step']} {event['payload']['status']}")
    recorder.add("report:", run["final_answer"])
    return recorder.page()


def test_the_page_shows_what_happens(postgres: EmbeddedPostgres, template: str, tmp_path: Path) -> None:
    pages: list[str] = []
    for name in ("gemini", "openai", "clerk"):
        (tmp_path / name).mkdir()
    with copy_of(template, postgres.dsn) as dsn, sticker_chats(dsn, tmp_path / "gemini", GEMINI) as (stack, model):
        pages += sticker_dialogues(stack, model)
    with copy_of(template, postgres.dsn) as dsn, sticker_chats(dsn, tmp_path / "openai", OPENAI) as (stack, model):
        pages.append(openai_dialogue(stack, model))
    with (
        copy_of(template, postgres.dsn) as dsn,
        HTTPServer(threaded=True) as server,
        Stack(dsn, tmp_path / "clerk") as stack,
    ):
        models = ModelServer(server)
        definition = json.dumps({"toolset": ["box", "shelf"]})
        stack.rows("insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)", definition)
        stack.start_orchestrator(**settings(stack, models))
        user = uuid4()
        pages += clerk_dialogues(stack, models, user)
        pages.append(task_dialogue(stack, models, user))
    page = HEAD + "\n".join(pages)
    if os.environ.get("RECORD"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()
