"""A bot in Telegram: what people write is answered once, in order, in messages that are sent once and edited."""

from __future__ import annotations

import itertools
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.channels.telegram.chats import BOT, NAME, TOKEN, Messenger, messenger
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.polling import poll
from tests.stack import Stack

CHATS = itertools.count(1000)
CODE = "print('" + "x" * 40 + "')"
LONG = "\n\n".join(
    f"## Глава {number} 😀\n\n{'Слово **жирное** и `код` подряд. ' * 15}\n\n```python\n{CODE}\n```"
    for number in range(20)
)


@pytest.fixture(scope="module")
def served(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Messenger, ModelServer]]:
    """A bot whose answers are written by a model that says what it is told."""
    folder = tmp_path_factory.mktemp("stack")
    with HTTPServer(threaded=True) as server, Stack(fresh_database, folder) as stack, messenger(stack) as one:
        models = ModelServer(server)
        stack.start_orchestrator(**models.settings(), MAAS_FAST_PATH="1")
        one.serve(MAAS_USER_QUEUE_LIMIT="5")
        yield one, models
        models.close()


@pytest.fixture
def models(served: tuple[Messenger, ModelServer]) -> Iterator[ModelServer]:
    yield served[1]
    served[1].release("responder")
    served[1].delay = 0.0
    served[1].replies["responder"] = "A model answered."


@pytest.fixture
def chats(served: tuple[Messenger, ModelServer]) -> Messenger:
    return served[0]


@pytest.fixture
def chat() -> int:
    """A private chat of its own."""
    return next(CHATS)


def runs(chats: Messenger, chat: int) -> list[dict[str, Any]]:
    query = (
        "select r.* from pipeline_runs r join user_identities i on i.user_id = r.user_id "
        "where i.provider = 'telegram' and i.external_id = %s order by r.seq"
    )
    return chats.stack.rows(query, str(chat))


def test_a_message_is_answered_in_one_message(chats: Messenger, models: ModelServer, chat: int) -> None:
    models.replies["responder"] = "Да, **Бруно** 😀."
    chats.write("My cat is called Bruno.", chat)
    chats.wait("Бруно", chat)
    chats.wait_done()
    (message,) = chats.messages(chat)
    (run,) = runs(chats, chat)
    assert message["text"] == "Да, Бруно 😀." and message["entities"] == [{"type": "bold", "offset": 4, "length": 5}]
    assert (run["source"], run["final_answer"]) == ("telegram", "Да, **Бруно** 😀.")
    assert run["metadata"] == {"first_name": "Аня", "language_code": "ru"} and run["conversation_id"] is not None
    (shown,) = chats.stack.rows(
        "select m.message_id, m.state, m.shown from telegram_messages m join telegram_replies r on r.id = m.reply_id "
        "where r.chat_id = %s",
        chat,
    )
    assert shown["message_id"] == message["id"] and shown["state"] == "sent" and shown["shown"]


def test_a_stream_is_shown_by_few_edits(chats: Messenger, models: ModelServer, chat: int) -> None:
    """100 chunks in 2 seconds: at most 5 edits, each with more, the last with all."""
    models.replies["responder"] = " ".join(f"слово{number}" for number in range(100))
    models.delay = 0.02
    chats.write("расскажи", chat)
    chats.wait("слово99", chat)
    chats.wait_done()
    (message,) = chats.messages(chat)
    texts = [edit["text"] for edit in message["edits"]]
    times = [edit["at"] for edit in message["edits"]]
    assert 3 <= len(texts) <= 5 and texts[-1] == models.replies["responder"]
    assert all(after.startswith(before) and after != before for before, after in itertools.pairwise(texts))
    assert min(b - a for a, b in itertools.pairwise(times)) >= 0.45


def test_a_long_answer_comes_in_parts(chats: Messenger, models: ModelServer, chat: int) -> None:
    """More than 10,000 characters with code and emoji: nothing is cut, nothing is missing, the order is kept."""
    models.replies["responder"] = LONG
    chats.write("подробно", chat)
    chats.wait("Глава 19", chat)
    chats.wait_done()
    parts = chats.messages(chat)
    assert len(LONG) > 10_000 and len(parts) >= 3
    assert max(len(part["text"].encode("utf-16-le")) // 2 for part in parts) <= 4096
    whole = "\n".join(part["text"] for part in parts)
    assert [int(n) for n in re.findall(r"Глава (\d+) 😀", whole)] == list(range(20))
    assert whole.count(CODE) == 20
    codes = [one for part in parts for one in part["entities"] if one["type"] == "pre"]
    assert len(codes) == 20


def test_messages_of_a_chat_are_answered_in_order(chats: Messenger, chat: int) -> None:
    other = next(CHATS)
    updates = [chats.message(f"вопрос {number} из {one}", one) for number in range(4) for one in (chat, other)]
    chats.push(*updates)
    poll(lambda: len(runs(chats, chat)) == len(runs(chats, other)) == 4, what="all are asked")
    chats.wait_done()
    for one in (chat, other):
        assert [run["user_query"] for run in runs(chats, one)] == [f"вопрос {number} из {one}" for number in range(4)]
        assert len(chats.messages(one)) == 4


def test_an_update_that_comes_twice_is_handled_once(chats: Messenger, chat: int) -> None:
    chats.write("один раз", chat)
    poll(lambda: runs(chats, chat), what="it is asked")
    chats.wait_done()
    (update,) = chats.stack.rows("select update_id from telegram_updates order by update_id desc limit 1")
    again = chats.message("один раз", chat) | {"update_id": update["update_id"]}
    chats.push(again, chats.message("потом", chat))
    poll(lambda: [run["user_query"] for run in runs(chats, chat)] == ["один раз", "потом"], what="the second is asked")
    chats.wait_done()
    assert len(runs(chats, chat)) == 2
    kept = chats.stack.rows("select from telegram_updates where payload is not null")
    assert kept == []


def test_commands_call_no_model(chats: Messenger, models: ModelServer, chat: int) -> None:
    before = models.calls.total()
    chats.write("/status", chat)
    chats.wait("Разговора ещё нет", chat)
    for text, reply in (
        ("/start", "я помню, о чём мы говорим"),
        ("/help", "/mode: подтверждения"),
        ("/mode", "Сейчас: auto"),
        ("/mode plan", "Режим: plan"),
        ("/mode x", "Сейчас: plan"),
        ("/nonsense", "Такой команды нет"),
        (f"/status@{NAME}", "Режим: plan\nСообщений: 0"),
        ("/clear", "Удалено сообщений: 0"),
    ):
        chats.write(text, chat)
        chats.wait(reply, chat)
    assert models.calls.total() == before and runs(chats, chat) == []
    chats.write("привет", chat)
    poll(lambda: runs(chats, chat), what="it is asked")
    chats.wait_done()
    chats.stack.wait_archived(*[run["id"] for run in runs(chats, chat)])
    chats.write("/clear", chat)
    chats.wait("Удалено сообщений: 2", chat)
    chats.write("/status@another_bot", chat)
    chats.write("/start", chat)
    poll(lambda: sum(text.startswith("Здравствуйте") for text in chats.texts(chat)) == 2, what="it greets again")
    (old, new) = chats.stack.rows(
        "select is_open from chat_conversations where telegram_chat_id = %s order by created_at", str(chat)
    )[-2:]
    assert (old["is_open"], new["is_open"]) == (False, True)


def test_a_command_does_not_wait_for_an_answer(chats: Messenger, models: ModelServer, chat: int) -> None:
    models.hold("responder")
    chats.write("долгий вопрос", chat)
    poll(lambda: runs(chats, chat), what="it is asked")
    chats.write("/status", chat)
    chats.wait("Ответ пишется: да", chat)
    models.release("responder")
    chats.wait("A model answered.", chat)


def test_groups_are_answered_when_they_address_the_bot(chats: Messenger, models: ModelServer) -> None:
    group = -next(CHATS)
    mention = {"entities": [{"type": "mention", "offset": 0, "length": len(NAME) + 1}]}
    reply = {"reply_to_message": {"message_id": 5, "chat": {"id": group, "type": "supergroup"}, "from": {"id": BOT}}}
    chats.push(
        chats.message("просто разговор", group, 51),
        chats.message("@another_bot привет", group, 51, entities=[{"type": "mention", "offset": 0, "length": 12}]),
        chats.message(f"@{NAME} первый", group, 51, **mention),
        chats.message("второй", group, 52, **reply),
        chats.message("от канала", group, 53, sender_chat={"id": -5, "type": "channel"}, **reply),
        {"edited_message": chats.message("правка", group, 51)["message"]},
        {"channel_post": chats.message("пост", group, 51)["message"]},
    )
    poll(lambda: len(chats.messages(group)) == 2, what="two are answered")
    chats.wait_done()
    assert [run["user_query"] for run in runs(chats, 51) + runs(chats, 52)] == ["первый", "второй"]
    assert all(message["reply_to"] for message in chats.messages(group)) and runs(chats, 53) == []
    dialogues = chats.stack.rows(
        "select telegram_chat_id as id from chat_conversations where telegram_chat_id like %s", f"{group}:%"
    )
    assert sorted(row["id"] for row in dialogues) == [f"{group}:51", f"{group}:52"]


def test_a_flooded_chat_waits_and_delays_no_other(chats: Messenger, models: ModelServer, chat: int) -> None:
    other = next(CHATS)
    chats.telegram.merge({"flood": {str(chat): time.time() + 3}})
    started = time.time()
    chats.write("вопрос", chat)
    chats.write("вопрос", other)
    chats.wait("A model answered.", other, 3)
    assert chats.texts(chat) == []
    chats.wait("A model answered.", chat)
    assert time.time() - started >= 3 and len(chats.messages(chat)) == 1
    refused = [one for one in chats.telegram.journal() if one["status"] == 429]
    assert len(refused) <= 2


def test_who_blocked_the_bot_is_left_alone(chats: Messenger, chat: int) -> None:
    chats.telegram.merge({"blocked": [chat]})
    chats.write("вопрос", chat)
    poll(lambda: [run["status"] for run in runs(chats, chat)] == ["COMPLETED"], what="it is answered")
    chats.wait_done()
    (reply,) = chats.stack.rows("select state, error from telegram_replies where chat_id = %s", chat)
    assert reply["state"] == "dropped" and "blocked" in reply["error"]
    refused = [one for one in chats.telegram.journal(path="/sendMessage") if one["status"] == 403]
    assert len(refused) == 1


@pytest.mark.parametrize("kind", ["cut", "truncate"])
def test_a_send_of_unknown_outcome_doubles_no_text(chats: Messenger, chat: int, kind: str) -> None:
    chats.telegram.fault(kind, path="/sendMessage", is_done=True)
    chats.write("вопрос", chat)
    chats.wait("A model answered.", chat)
    chats.wait_done()
    assert chats.texts(chat) == ["…", "A model answered."]
    (row,) = chats.stack.rows(
        "select count(*) as n from telegram_messages m join telegram_replies r on r.id = m.reply_id "
        "where r.chat_id = %s and m.state = 'orphaned'",
        chat,
    )
    assert row["n"] == 1 and chats.stack.rows("select orphaned > 0 as it from v_telegram")[0]["it"]


def test_a_message_that_was_deleted_is_shown_anew(chats: Messenger, models: ModelServer, chat: int) -> None:
    models.replies["responder"] = "Раз два три."
    models.pause("responder")
    chats.write("вопрос", chat)
    first = chats.wait("Раз два", chat)
    chats.telegram.merge({"chats": {str(chat): {"messages": {str(first["id"]): {"is_deleted": True}}}}})
    models.release("responder")
    chats.wait("Раз два три.", chat)
    chats.wait_done()
    assert chats.texts(chat) == ["Раз два три."]


def test_texts_that_telegram_refuses_are_shown_plain(chats: Messenger, models: ModelServer, chat: int) -> None:
    models.replies["responder"] = "Это **жирно**."
    chats.telegram.fault("status", path="/editMessageText", status=400, message="Bad Request: can't parse entities")
    chats.write("вопрос", chat)
    message = chats.wait("Это жирно.", chat)
    chats.wait_done()
    assert message["entities"] == []


@pytest.mark.parametrize(
    "update",
    [
        {"message": {"message_id": 1}},
        {"message": "x"},
        {},
        {"callback_query": {"id": 5}},
        {"message": {"message_id": 1, "chat": {"id": 10**30, "type": "private"}, "text": "x"}},
    ],
    ids=range(5),
)
def test_damaged_updates_stop_nothing(chats: Messenger, chat: int, update: dict[str, Any]) -> None:
    chats.push(update)
    chats.write("дальше", chat)
    chats.wait("A model answered.", chat)


@pytest.mark.parametrize("text", ["x" * 4096, "\x00\x00привет", "😀" * 500, "<b>&amp;</b> *_[`~", "'; drop table x;--"])
def test_hostile_texts_are_answered(chats: Messenger, models: ModelServer, chat: int, text: str) -> None:
    models.replies["responder"] = text
    chats.write(text, chat)
    poll(lambda: runs(chats, chat), what="it is asked")
    chats.wait_done()
    assert [run["status"] for run in runs(chats, chat)] == ["COMPLETED"] and len(chats.messages(chat)) == 1


def test_what_exceeds_a_quota_is_refused_with_words(chats: Messenger, chat: int) -> None:
    """At once, and once: a repetition would not help."""
    quota = "update engine_settings set value = %s where key = 'user_conversations'"
    chats.stack.rows(quota, "0")
    try:
        chats.write("вопрос", chat)
        chats.wait("ваш предел исчерпан", chat)
    finally:
        chats.stack.rows(quota, "10000")
    assert runs(chats, chat) == [] and len(chats.messages(chat)) == 1


def test_too_many_questions_are_refused_with_words(chats: Messenger, models: ModelServer, chat: int) -> None:
    models.hold("responder")
    chats.push(*[chats.message(f"вопрос {number}", chat) for number in range(7)])
    chats.wait("ещё ждут ответа", chat)
    models.release("responder")
    chats.wait_done(40)
    assert len(runs(chats, chat)) == 5


def test_an_operator_lets_more_questions_wait_while_the_bot_runs(chats: Messenger, models: ModelServer) -> None:
    def accepted() -> int:
        chat = next(CHATS)
        models.hold("responder")
        chats.push(*[chats.message(f"вопрос {number}", chat) for number in range(8)])
        chats.wait("ещё ждут ответа", chat)
        models.release("responder")
        chats.wait_done(40)
        return len(runs(chats, chat))

    chats.stack.rows("select maas_set_limit('user_queue_limit', 7)")
    poll(lambda: accepted() == 7, 60, what="the bot takes in what it may")
    chats.stack.rows("select maas_drop_limit('user_queue_limit')")
    poll(lambda: accepted() == 5, 60, what="the settings are in force again")


def test_other_media_get_one_sentence(chats: Messenger, chat: int) -> None:
    chats.push(chats.message(None, chat, voice={"file_id": "v", "duration": 3}))
    chats.wait("только текст и фотографии", chat)
    chats.push(chats.message(None, chat, photo=[{"file_id": "gone", "width": 5, "height": 5}]))
    chats.wait("Это фото не подходит", chat)
    assert runs(chats, chat) == []


def test_a_restart_goes_on_in_the_same_message(chats: Messenger, models: ModelServer, chat: int) -> None:
    """Killed in the middle of an answer; another process stands by and takes over."""
    models.replies["responder"] = "Один два три."
    models.pause("responder")
    chats.write("вопрос", chat)
    first = chats.wait("Один два", chat)
    (pid,) = {
        row["pid"]
        for row in chats.stack.rows(
            "select a.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid where l.locktype = 'advisory' "
            "and a.application_name = 'maas telegram lock'"
        )
    }
    assert pid
    (process,) = [
        one
        for one in chats.stack._processes
        if "telegram_bot_started" in chats.stack.last_words(one)
        or "telegram_starting" in chats.stack._logs[one.pid].read_text()
    ]
    chats.stack.stop(process, signal.SIGKILL)
    chats.serve(MAAS_USER_QUEUE_LIMIT="5")
    standby = chats.serve(MAAS_USER_QUEUE_LIMIT="5")
    models.release("responder")
    message = chats.wait("Один два три.", chat)
    chats.wait_done()
    assert message["id"] == first["id"] and len(chats.messages(chat)) == 1 and len(runs(chats, chat)) == 1
    poll(lambda: "telegram_standby" in chats.stack.log(), what="the other one stands by")
    chats.stack.stop(standby)


def test_the_token_is_nowhere(chats: Messenger, chat: int) -> None:
    chats.telegram.fault("status", path="/editMessageText", status=500, message=f"bad {TOKEN}", times=9)
    chats.write("вопрос", chat)
    chats.wait("A model answered.", chat, 40)
    chats.telegram.clear_faults()
    secret = TOKEN.partition(":")[2]
    assert secret not in chats.stack.log()
    for table in ("telegram_bots", "telegram_updates", "telegram_replies", "telegram_messages"):
        assert chats.stack.rows(f"select t from {table} t where t::text like %s", f"%{secret}%") == []
