"""The corporate assistant: how a dialogue begins, the interview, mail and calendar, in whole processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from maas.prompting.now import now_line
from tests.assistants.corporate.colleague import ANSWERS, Colleague, colleague
from tests.polling import poll

OPENING = ["getCurrentUserInfo", "checkInterviewStatus"]
LETTER = {"to": "ivan@example.com", "subject": "Смета", "text": "Смета будет завтра."}


@pytest.fixture(scope="module")
def office(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Colleague]:
    with colleague(fresh_database, tmp_path_factory.mktemp("office")) as one:
        one.start()
        yield one


@pytest.fixture
def person(office: Colleague) -> Colleague:
    """Another employee."""
    office.user, office.conversation = uuid4(), uuid4()
    office.models.requests.clear()
    (office.stack.folder / "mail").unlink(missing_ok=True)
    return office


def answer(**values: str) -> list[tuple[str, dict[str, Any]]]:
    return [("conductInitialInterview", values)]


def test_a_new_user_is_interviewed(person: Colleague) -> None:
    """Code asks who it is and whether they are known, in this order and once; the interview begins by a route."""
    person.introduce()
    run = person.say("Привет", interview=["Здравствуйте, Мария!"])
    assert run["final_answer"] == "Здравствуйте, Мария!" and run["agent"] == "interview"
    assert person.tools(run) == [*OPENING, "getWorkingContext"] and not person.said_to("router")
    assert not person.events(run, "tool_start")
    system = person.system("interview")
    assert '"name":"Мария"' in system.replace(": ", ":") and "За какие задачи вы отвечаете" in system
    again = person.say("Да, слушаю", interview=["Итак?"])
    assert not set(OPENING) & set(person.tools(again)) and str(person.user) in person.system("interview")


def test_the_router_knows_which_day_tomorrow_is(person: Colleague) -> None:
    """In the zone of the employee's profile, at the end of the system text."""
    person.pass_interview()
    person.stack.rows("select maas_set_timezone(%s, 'Asia/Vladivostok')", person.user)
    run = person.say("Какие у меня встречи завтра?", router=["Посмотрел: встреч нет."])
    line = now_line(run["created_at"], ZoneInfo("Asia/Vladivostok"), "ru")
    assert person.system("router").splitlines()[-1] == line and "завтра = " in line


def test_a_known_user_is_greeted(person: Colleague) -> None:
    person.pass_interview()
    run = person.say("Привет", router=["Здравствуйте, Мария! Чем помочь?"])
    assert run["agent"] == "router" and person.tools(run) == [*OPENING, "getWorkingContext"]
    assert "с 9 до 11" in person.system("router")
    offered = {one["function"]["name"] for one in person.said_to("router")[-1]["tools"]}
    assert offered == {
        "read_latest_email",
        "get_calendar_events",
        "send_email",
        "create_calendar_event",
        *OPENING,
        "delegateToPlanningAgent",
        "delegateToComplexTaskAgent",
        "transfer_to_knowledge",
        "transfer_to_interview",
    }


def test_an_interview_is_taken_and_kept(person: Colleague) -> None:
    """Four questions, the offer of three more, a no; then the router holds the dialogue, and the next one begins."""
    run = person.say("Привет", interview=[[("startInitialInterview", {"position": "закупки"})], "Расскажите о работе."])
    for slot, value in ANSWERS.items():
        assert person.holder() == "interview"
        run = person.say(value, interview=[answer(**{slot: value})])
    assert run["final_answer"] == "Задать ещё 3 необязательных вопроса?"
    run = person.say("Нет", interview=["Спасибо, всё запомнил."])
    assert run["final_answer"] == "Спасибо, всё запомнил." and person.holder() == "router"
    starts = [one["payload"]["tool"] for one in person.events(run, "tool_start")]
    assert starts == ["completeInitialInterview", "transfer_to_router"]
    kept = person.stack.rows("select slot, value from user_preferences where user_id = %s", person.user)
    assert {row["slot"]: row["value"] for row in kept} == ANSWERS
    query = """select f.origin, g.content from facts f join raw_logs g on g.id = any(f.raw_log_ids)
               where f.user_id = %s and f.attribute like 'working:%%'"""
    said = [("asked", answer) for answer in ANSWERS.values()]
    assert sorted((row["origin"], row["content"]) for row in person.stack.rows(query, person.user)) == sorted(said)
    person.conversation = uuid4()
    run = person.say("Привет", router=["Здравствуйте!"])
    assert run["agent"] == "router" and "с 9 до 11" in person.system("router")
    (profile,) = person.stack.rows("select position from user_profiles where user_id = %s", person.user)
    assert profile["position"] == "закупки"


def test_optional_questions_are_asked_and_answers_changed_later(person: Colleague) -> None:
    person.say("Привет", interview=[answer(**ANSWERS)])
    person.say("Да", interview=["Как вы строите работу?"])
    more = {"working_style": "по плану", "career_goals": "руководить отделом"}
    person.say("По плану", interview=[answer(working_style="по плану")])
    person.say("Руководить отделом", interview=[answer(career_goals="руководить отделом")])
    person.say("Не скажу", interview=[[("optional_questions", {"decision": "skip_one"})]])
    query = "select jsonb_object_agg(slot, value) as kept from user_preferences where user_id = %s"
    assert person.stack.rows(query, person.user)[0]["kept"] == ANSWERS | more
    person.say(
        "Теперь я работаю иначе", router=[[("transfer_to_interview", {})]], interview=[answer(focus_time="ночью")]
    )
    assert person.stack.rows(query, person.user)[0]["kept"] == ANSWERS | more | {"focus_time": "ночью"}
    assert person.holder() == "router"


def test_who_else_a_model_names_is_refused(person: Colleague) -> None:
    other = str(uuid4())
    run = person.say("Привет", interview=[[("startInitialInterview", {"userId": other, "position": "директор"})]])
    (result,) = [one["payload"] for one in person.events(run, "tool_result")]
    assert result["error_code"] == "failed"
    assert not person.stack.rows("select from user_profiles where user_id = %s", other)
    run = person.say("Ещё", interview=[[("startInitialInterview", {"userId": str(person.user)})]])
    assert person.events(run, "tool_result")[0]["payload"]["success"]


def test_mail_is_read_at_once_and_sent_after_a_yes(person: Colleague) -> None:
    person.pass_interview()
    person.connect()
    run = person.say("Что пришло?", router=[[("read_latest_email", {})], "Анна просит смету."])
    assert run["final_answer"] == "Анна просит смету." and len(person.mail("read_latest_email")) == 1
    for message in ("Отправь письмо", "ivan@example.com", "Смета"):
        person.say(message, router=["Что ещё указать?"])
    person.say("Смета будет завтра.", router=[[("send_email", LETTER)], "Письмо готово, отправляю?"])
    assert person.pending() and not person.mail("send_email")
    person.say("Да", router=[[("confirm_pending", {})], "Отправляю."])
    query = "select status from v_actions where user_id = %s and status = 'done'"
    assert person.wait_rows(query, person.user)
    assert [one[2] for one in person.mail("send_email")] == [LETTER]


def test_a_no_sends_nothing_and_two_are_not_decided_by_one_yes(person: Colleague) -> None:
    person.pass_interview()
    person.connect()
    person.say("Отправь письмо", router=[[("send_email", LETTER)], "Отправляю?"])
    person.say("Нет", router=[[("reject_pending", {})], "Не отправляю."])
    event = {"title": "Встреча", "at": "2026-11-25 15:00"}
    person.say("Письмо и встречу", router=[[("send_email", LETTER), ("create_calendar_event", event)], "Подтвердите."])
    person.say("Да", router=[[("confirm_pending", {})], "Уточните, что именно: письмо или встречу?"])
    assert len(person.pending()) == 2 and not person.mail("send_email") + person.mail("create_calendar_event")
    system = person.system("router")
    assert "send_email" in system and "create_calendar_event" in system and "decides nothing" in system


def test_a_user_without_access_reaches_no_mailbox(person: Colleague) -> None:
    person.pass_interview()
    run = person.say("Что пришло?", router=[[("read_latest_email", {})], "Почта не подключена."])
    assert person.events(run, "tool_result")[0]["payload"]["error_code"] == "failed" and not person.mail()
    assert "no access for this user" in person.system("router")
    owners = set()
    for _ in range(2):
        person.user, person.conversation = uuid4(), uuid4()
        person.pass_interview()
        person.connect()
        person.say("Что пришло?", router=[[("read_latest_email", {})], "Письмо."])
        owners |= {one[0] for one in person.mail()}
    assert len(owners) == 2


def test_failures_in_a_row_are_counted(person: Colleague) -> None:
    person.pass_interview()
    person.connect()
    (person.stack.folder / "fail-get_calendar_events").write_text("3")
    days = [[("get_calendar_events", {"day": f"2026-11-2{number}"})] for number in (1, 2, 3, 4)]
    person.say("Что завтра?", router=[*days, "Готово."])
    results = [json.loads(one["content"]) for one in person.said_to("router")[-1]["messages"] if one["role"] == "tool"]
    assert [one.get("failures_in_a_row") for one in results] == [None, 2, 3, None] and results[3]["success"]


def test_a_lost_letter_is_reported_and_never_sent_again(person: Colleague) -> None:
    person.pass_interview()
    person.connect()
    (person.stack.folder / "hang-send_email").touch()
    person.say("Отправь письмо", router=[[("send_email", LETTER)], "Отправляю?"])
    (action,) = person.pending()
    person.stack.rows("select * from maas_decide_action(%s, %s, 'approve', 'sql')", action["id"], person.user)
    try:
        poll(lambda: person.mail("send_email"), what="the email is sent")
        person.kill()
    finally:
        (person.stack.folder / "hang-send_email").unlink()
    person.start()
    query = "select status from v_actions where id = %s and status = 'in_doubt'"
    assert person.wait_rows(query, action["id"]) and len(person.mail("send_email")) == 1


def test_an_answer_in_another_language_is_said_again(person: Colleague) -> None:
    person.pass_interview()
    english = "You have two meetings tomorrow, the first one at ten."
    run = person.say("What is on tomorrow?", router=[english])
    assert run["degraded"] == ["language"] and run["final_answer"] == english
    assert "Скажи то же самое по-русски" in str(person.said_to("router")[-1]["messages"][-1])


def test_an_interrupted_interview_goes_on_after_a_kill(person: Colleague) -> None:
    person.introduce()
    person.say("Привет", interview=[answer(competencies="тендеры")])
    person.say("Коротко", interview=[answer(communication_style="коротко")])
    person.kill()
    person.start()
    person.conversation = uuid4()
    run = person.say("Я вернулась", interview=["Продолжим: когда вам удобны встречи?"])
    assert run["agent"] == "interview"
    assert "Ask next: В какое время вам удобны встречи" in person.system("interview")


def test_the_legacy_form_is_one_voice_and_is_counted(person: Colleague) -> None:
    """The switch needs a restart of orchestrators only; the way back, too."""
    person.kill()
    person.start(MAAS_CORPORATE_VARIANT="legacy")
    person.pass_interview()
    run = person.say("Привет", legacy=["Здравствуйте! Чем помочь?"])
    assert run["final_answer"] == "Здравствуйте! Чем помочь?" and run["agent"] is None
    assert "lightrag_query" in {one["function"]["name"] for one in person.said_to("legacy")[-1]["tools"]}
    query = """select from engine_metrics where name = 'variant_answers' and labels->>'variant' = %s
      and labels->>'outcome' = 'answered' and events >= 1"""
    assert person.wait_rows(query, "legacy")
    long = person.say("Расскажи подробно", legacy=["слово " * 41])
    assert len(long["final_answer"].split()) == 41
    lengths = """select from engine_metrics where name = 'answers' and labels = %s::jsonb and events >= 1"""
    for length in ("within", "over"):
        assert person.wait_rows(lengths, json.dumps({"assistant": "corporate", "length": length}))
    person.kill()
    person.start()
    assert person.say("Ещё раз привет", router=["Слушаю вас."])["agent"] == "router"
    assert person.wait_rows(query, "main")
