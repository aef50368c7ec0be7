"""docs/corporate_dialogues.md holds dialogues as they run now; `RECORD=1 pytest FILE` writes it anew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from shared.postgres import EmbeddedPostgres
from tests.assistants.corporate.colleague import ANSWERS, Calls, Colleague, colleague
from tests.databases import copy_of
from tests.polling import poll
from tests.stack import ROOT, maas

PAGE = ROOT / "docs" / "corporate_dialogues.md"
HEAD = """# Dialogues with the corporate assistant, as they run

Each transcript is recorded from a running system: real processes, Postgres, an MCP server made with the official SDK.
A test runs the dialogues again and compares. Only the words and calls of the model are scripted. `.` is a call that
code made, `!` one that the model made, with its error if it has one; `=` is who holds the dialogue then and what waits
for the user, or how many emails and events the mail server has got.

"""
LETTER = {"to": "ivan@example.com", "subject": "Смета", "text": "Смета будет завтра."}
EVENT = {"title": "Обзор", "at": "2026-11-25 15:00"}


class Dialogue:
    """One dialogue of a new employee, written down."""

    def __init__(self, office: Colleague, title: str, *, is_known: bool = True, has_mail: bool = True) -> None:
        self.office = office
        office.user, office.conversation = uuid4(), uuid4()
        (office.stack.folder / "mail").unlink(missing_ok=True)
        self.lines = [f"## {title}", "", "```"]
        if is_known:
            office.pass_interview()
        else:
            office.introduce()
        if has_mail:
            office.connect()

    def say(self, message: str, **agents: list[Calls | str]) -> dict[str, Any]:
        """Say a message in the conversation, and write down what came of it."""
        return self._note(message, self.office.say(message, **agents))

    def add(self, mark: str, text: str) -> None:
        words = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", text)
        self.lines += [f"{mark} {line}".rstrip() for line in words.splitlines()]

    def _note(self, message: str, run: dict[str, Any]) -> dict[str, Any]:
        office = self.office
        self.add("user:", message)
        started = {one["payload"]["call_id"] for one in office.events(run, "tool_start")}
        for one in office.stack.rows(
            "select call_id, tool from tool_executions where run_id = %s order by id", run["id"]
        ):
            if one["call_id"] not in started:
                self.add(".", one["tool"])
        results = {one["payload"]["call_id"]: one["payload"]["error_code"] for one in office.events(run, "tool_result")}
        for event in office.events(run, "tool_start"):
            call, tool = event["payload"]["call_id"], event["payload"]["tool"]
            self.add("!", tool + (f": {results[call]}" if results.get(call) else ""))
        self.add("assistant:", run["final_answer"] or f"({run['error_code']})")
        waiting = ", ".join(f"{one['tool']} waits" for one in office.pending())
        self.add("=", ", ".join(part for part in (office.holder() or "one voice", waiting) if part))
        return run

    def outcome(self, kind: str = "action", *, is_counting: bool = True, number: int = 1) -> None:
        """Wait for the messages of so many actions or of a task, and write them down."""
        query = (
            "select final_answer from (select *, count(*) over () as number from pipeline_runs "
            "where user_id = %s and kind = %s and queue_state = 2) r where number = %s order by seq"
        )
        for row in self.office.wait_rows(query, self.office.user, kind, number):
            self.add("assistant:", row["final_answer"])
        if is_counting:
            self.sent()

    def sent(self) -> None:
        """Write down how many emails and events the mail server has got."""
        writes = [one[1] for one in self.office.mail() if one[1] in ("send_email", "create_calendar_event")]
        self.add("=", f"the mail server has got {len(writes)}")

    def note(self, text: str) -> None:
        self.add("#", text)

    def page(self) -> str:
        return "\n".join([*self.lines, "```", ""])


def answer(**values: str) -> Calls:
    return [("conductInitialInterview", values)]


def beginnings(office: Colleague) -> Iterator[str]:
    one = Dialogue(office, "1. Code asks who the user is, once; a new one is interviewed", is_known=False)
    one.say("Привет!", interview=["Здравствуйте, Мария! За какие задачи вы отвечаете?"])
    one.say("Минуту", interview=["Жду."])
    yield one.page()
    known = Dialogue(office, "1. Somebody who is known is greeted")
    known.say("Привет!", router=["Здравствуйте, Мария! Чем помочь?"])
    known.say("Что пришло последним?", router=[[("read_latest_email", {})], "Анна просит смету до четверга."])
    yield known.page()


def interview(office: Colleague) -> Iterator[str]:
    two = Dialogue(office, "2. The interview goes on after a crash, and ends with the router", is_known=False)
    two.say("Привет!", interview=[[("startInitialInterview", {})], "Расскажите о работе."])
    slots = list(ANSWERS.items())
    for slot, value in slots[:2]:
        two.say(
            value,
            interview=[
                answer(**{slot: value}),
            ],
        )
    office.kill()
    office.start()
    office.conversation = uuid4()
    two.note("kill -9; another conversation on the next day")
    two.say("Я вернулась", interview=["Продолжим: когда вам удобны встречи?"])
    for slot, value in slots[2:]:
        two.say(value, interview=[answer(**{slot: value})])
    two.say("Нет", interview=["Спасибо, Мария, всё запомнил. Чем помочь?"])
    office.conversation = uuid4()
    two.note("the next conversation")
    two.say("Привет!", router=["Здравствуйте! Чем помочь?"])
    assert ANSWERS["focus_time"] in office.system("router")
    yield two.page()


def letters(office: Colleague) -> Iterator[str]:
    three = Dialogue(office, "3. An email: one question at a time, sent after a yes")
    three.say("Отправь письмо", router=["Кому отправить?"])
    three.say("ivan@example.com", router=["Какая тема?"])
    three.say("Смета", router=["Что написать?"])
    three.say("Смета будет завтра.", router=[[("send_email", LETTER)], "Письмо Ивану готово. Отправляю?"])
    three.say("Да", router=[[("confirm_pending", {})], "Отправляю."])
    three.outcome()
    yield three.page()
    no = Dialogue(office, "3. A no sends nothing; one yes does not decide two, a yes to both does")
    no.say("Напиши Ивану о смете", router=[[("send_email", LETTER)], "Отправляю?"])
    no.say("Нет", router=[[("reject_pending", {})], "Хорошо, не отправляю."])
    both: Calls = [("send_email", LETTER), ("create_calendar_event", EVENT)]
    no.say("Тогда письмо и обзор в календарь", router=[both, "Подтвердите письмо и событие."])
    no.say("Да", router=["Что подтвердить: письмо Ивану или обзор завтра?"])
    no.sent()
    no.say("Да, оба", router=[[("confirm_pending", {})], "Отправляю и ставлю."])
    no.outcome(number=2)
    yield no.page()


def knowledge(office: Colleague) -> Iterator[str]:
    four = Dialogue(office, "4. What is written, with its source; back to the router for an action")
    paper = office.stack.folder / "vacation.md"
    paper.write_text("# Отпуск\n\nВ первый год положено 28 дней отпуска. Заявление подают за две недели.\n")
    assert maas(office.stack, "knowledge", "add", str(paper), "--user", str(office.user)).returncode == 0
    question = "сколько дней отпуска положено в первый год"
    four.say(
        "Сколько дней отпуска в первый год?",
        router=[[("transfer_to_knowledge", {})]],
        knowledge=[
            [("lightrag_query", {"query": question})],
            "В первый год 28 дней: vacation.md, раздел «Отпуск». Рассказать подробнее?",
        ],
    )
    assert "положено 28 дней отпуска" in str(office.said_to("knowledge")[-1]["messages"])
    naive: Calls = [("lightrag_query", {"query": question, "mode": "naive"})]
    nothing: Calls = [("lightrag_query", {"query": "зебра в зоопарке"})]
    four.say("Поищи ещё про зебру", knowledge=[naive, nothing, "В документах этого нет. Поискать «зоопарк»?"])
    assert '"found":0' in str(office.said_to("knowledge")[-1]["messages"]).replace(" ", "")
    four.say("Теперь отправь это Ивану", knowledge=[[("transfer_to_router", {})]], router=["На какой адрес отправить?"])
    yield four.page()


def plans(office: Colleague) -> Iterator[str]:
    five = Dialogue(office, "5. Two steps that belong together; the planner's words are the answer")
    office.plan = [
        {"title": "Последнее письмо", "tool": "read_latest_email", "arguments": "{}"},
        {"title": "Завтрашние встречи", "tool": "get_calendar_events", "arguments": '{"day": "2026-11-25"}'},
    ]
    office.plan_words = "  Анна просит смету до четверга; завтра вы свободны с 11 до 15.\n"
    delegated = {
        "conversationContext": "Мария спрашивает о письме и о завтрашнем дне.",
        "complexity": "low",
        "proposedPlan": "Прочитать письмо, посмотреть календарь.",
        "userIntent": "Найти время для сметы.",
    }
    run = five.say("Когда завтра заняться тем, о чём письмо?", router=[[("delegateToPlanningAgent", delegated)]])
    assert run["final_answer"] == office.plan_words.strip()
    shown = office.events(run, "text", "tool_start")
    assert shown[0]["payload"]["delta"] in ("Одну минуту, продумаю порядок.", "Минуту, составлю план.")
    last = shown[-1]["payload"]["attempt"]
    said = "".join(one["payload"]["delta"] for one in shown if one["payload"].get("attempt") == last)
    assert said == run["final_answer"]
    yield five.page()
    six = Dialogue(office, "6. Nine events: shown first, begun once after a yes, a question meanwhile, a report")
    meetings = [(f"Встреча {number}", f"2026-11-26 {9 + number}:00") for number in range(1, 10)]
    office.plan = [
        {
            "title": title,
            "tool": "create_calendar_event",
            "arguments": json.dumps({"title": title, "at": at}, ensure_ascii=False),
        }
        for title, at in meetings
    ]
    (office.stack.folder / "fail-create_calendar_event").write_text("1")
    task = {"taskDescription": "Поставить девять встреч на четверг.", "conversationContext": "Мария планирует неделю."}
    asks = "Девять событий, это займёт несколько минут. Начинать?"
    six.say("Поставь девять встреч на четверг", router=[[("delegateToComplexTaskAgent", task)], asks])
    assert not office.stack.rows("select from pipeline_runs where kind = 'task' and user_id = %s", office.user)
    six.say("Да", router=[[("confirm_pending", {})], "Передаю в работу."])
    six.outcome(is_counting=False)
    six.say("Что пришло последним?", router=[[("read_latest_email", {})], "Анна просит смету."])
    six.outcome("task")
    yield six.page()


def failures(office: Colleague) -> Iterator[str]:
    seven = Dialogue(office, "7. Three failures in a row")
    (office.stack.folder / "fail-get_calendar_events").write_text("3")
    days: list[Calls | str] = [[("get_calendar_events", {"day": f"2026-11-2{day}"})] for day in (5, 6, 7)]
    seven.say("Что у меня на неделе?", router=[*days, "Простите, календарь не отвечает. Посмотреть письма?"])
    assert '"failures_in_a_row":3' in str(office.said_to("router")[-1]["messages"]).replace(" ", "")
    yield seven.page()
    lost = Dialogue(office, "7. An email whose outcome nobody knows is reported, and not sent again")
    lost.say("Напиши Ивану о смете", router=[[("send_email", LETTER)], "Отправляю?"])
    (office.stack.folder / "hang-send_email").touch()
    lost.say("Да", router=[[("confirm_pending", {})], "Отправляю."])
    poll(lambda: office.mail("send_email"), what="the email is sent")
    office.kill()
    (office.stack.folder / "hang-send_email").unlink()
    office.start()
    lost.note("kill -9 while the email is sent")
    lost.outcome()
    yield lost.page()
    other = Dialogue(office, "7. Without access of their own nobody reaches a mailbox", has_mail=False)
    other.say("Что пришло?", router=[[("read_latest_email", {})], "К вашей почте у меня нет доступа."])
    yield other.page()


def languages(office: Colleague) -> Iterator[str]:
    eight = Dialogue(office, "8. A question in English; an answer in English is marked")
    eight.say("What is on tomorrow?", router=["Завтра две встречи: в 10:00 и в 15:00."])
    run = eight.say("And on Friday?", router=["There is nothing in your calendar on Friday."])
    eight.note(f"degraded: {json.dumps(run['degraded'])}")
    yield eight.page()


PARTS: tuple[Callable[[Colleague], Iterator[str]], ...] = (
    beginnings,
    interview,
    letters,
    knowledge,
    plans,
    failures,
    languages,
)


def test_the_page_is_what_runs(template: str, postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    with copy_of(template, postgres.dsn) as dsn, colleague(dsn, tmp_path) as office:
        office.start()
        pages = [page for part in PARTS for page in part(office)]
    text = HEAD + "\n".join(pages)
    if os.environ.get("RECORD"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text
