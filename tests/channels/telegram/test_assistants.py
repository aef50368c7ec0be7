"""Assistants in Telegram: the sticker dialogue with photos and buttons, approvals, and who may do what."""

from __future__ import annotations

import base64
import io
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from PIL import Image

from tests.assistants.ads.marketer import FACEBOOK, Marketer, execute, marketer
from tests.assistants.stickers.test_dialogue import CONFIRM, FULL, PHOTO, update
from tests.channels.telegram.chats import BOT, TOKEN, Messenger, messenger
from tests.contract.dialects import GEMINI
from tests.contract.test_images import DRAWN
from tests.contract.test_images import GEMINI as BANANA
from tests.http_server import HTTPServer
from tests.model_server import ModelServer
from tests.pictures import picture
from tests.polling import poll
from tests.scripted import ScriptedModel
from tests.stack import Stack, free_port, maas

RED, BLUE = (
    {"path": f"photos/{colour}.png", "content": base64.b64encode(picture(colour=colour)).decode()}
    for colour in ("red", "blue")
)
FILES = {"files": {"red": RED, "blue": BLUE}}
GREETING = ("Здравствуйте! Пришлите фото.", [(PHOTO, "{}")])


class Stickers(Messenger):
    """A person who wants a sticker, in chat 7."""

    model: ScriptedModel

    def say(self, text: str, *steps: Any) -> None:
        """Write something that the model answers by `steps`; return when it is shown."""
        self.model.lines[text] = list(steps)
        self.write(text)
        self.wait_done()

    def send_photo(self, file: str, *steps: Any, **more: Any) -> None:
        sizes = [{"file_id": "small", "width": 9, "height": 9}, {"file_id": file, "width": 90, "height": 90}]
        self.model.lines[more.get("caption", "/photo")] = list(steps)
        self.push(self.message(None, photo=sizes, **more))
        self.wait_done()

    def with_buttons(self) -> dict[str, Any]:
        """The last message that has buttons."""
        return [one for one in self.messages() if one.get("keyboard")][-1]

    def session(self) -> dict[str, Any]:
        query = "select state, slots, confirmed, photo from assistant_sessions order by updated_at desc limit 1"
        return dict(self.stack.rows(query)[0])

    def stickers(self) -> list[bytes]:
        return [base64.b64decode(one["sticker"]["content"]) for one in self.messages() if "sticker" in one]


@pytest.fixture
def person(database: str, tmp_path: Path) -> Iterator[Stickers]:
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack, messenger(stack, FILES) as one:
        model = ScriptedModel(server, GEMINI)
        model.paint(server, BANANA.photo_path, BANANA.body(DRAWN))
        settings = BANANA.settings(server.url_for("").rstrip("/"))
        stack.start_orchestrator(**model.settings(), MAAS_IMAGE_MODEL=settings["image_model"])
        someone = Stickers(stack, one.telegram)
        someone.model = model
        someone.serve(MAAS_TELEGRAM_ASSISTANT="stickers")
        yield someone


def test_a_sticker_from_the_first_word_to_the_image(person: Stickers) -> None:
    """Start, photo, values, button: the sticker comes once, as a WebP of 512 pixels."""
    person.say("/start", GREETING)
    assert person.texts() == ["Здравствуйте! Пришлите фото."]
    assert person.session()["state"] == "assistant_wait_photo"
    person.send_photo("red", ("Отлично. Какой стиль?", []))
    assert person.session()["photo"] is not None and person.session()["state"] == "assistant_chat"
    person.say("аниме, весёлый, руки вверх", ("Есть.", [update(**FULL)]))
    asked = person.with_buttons()
    assert "Style: anime" in asked["text"] and asked["keyboard"][0][0]["text"] == "Подтвердить"
    assert any(one["type"] == "bold" for one in asked["entities"])
    query = person.press(asked)
    person.press(asked)  # a double click
    poll(person.stickers, what="the sticker is sent")
    person.wait_done()
    (sticker,) = person.stickers()
    image = Image.open(io.BytesIO(sticker))
    assert image.format == "WEBP" and max(image.size) == 512 and len(sticker) <= 512 * 1024
    assert "Ваш стикер готов" in person.texts()[-1] and len(person.model.painted) == 1
    assert not [one for one in person.messages() if one.get("keyboard")]
    assert person.telegram.state()["answers"][query] == "…"
    person.press(asked)  # a late click
    person.wait_done()
    assert len(person.stickers()) == 1 and len(person.model.painted) == 1
    (named,) = person.stack.rows("select title from chat_conversations where telegram_chat_id = '7' and is_open")
    assert named["title"] == "аниме, весёлый, руки вверх"


def test_words_confirm_and_values_change(person: Stickers) -> None:
    person.send_photo("red", ("Есть.", [update(**FULL)]), caption="аниме, весёлый, руки вверх")
    person.say("измени стиль на 3D", ("Меняю.", [update(style="3D")]))
    assert "Style: 3D" in person.with_buttons()["text"]
    person.say("ну, погнали", ("Делаю.", [(CONFIRM, "{}")]))
    assert len(person.stickers()) == 1 and b"Style: 3D" in person.model.painted[0]


def test_without_a_photo_it_asks_for_one(person: Stickers) -> None:
    person.say("аниме, весёлый, руки вверх", ("Есть.", [update(**FULL)]))
    person.press(person.with_buttons())
    person.wait("Пришлите фото, по которому сделать стикер.")
    person.wait_done()
    assert person.session()["state"] == "assistant_wait_photo"


def test_a_second_photo_is_chosen_by_buttons(person: Stickers) -> None:
    person.send_photo("red", ("Есть.", [update(style="anime", emotion="happy")]), caption="аниме, весёлый")
    first = person.session()["photo"]
    for file, button, changes in (("blue", 1, False), ("blue", 0, True)):
        person.send_photo(file, ("Какое фото взять?", []))
        person.press(person.with_buttons(), row=button)
        poll(lambda: not [one for one in person.messages() if one.get("keyboard")], what="the buttons are gone")
        person.wait_done()
        assert (person.session()["photo"] != first) == changes
        assert person.session()["slots"] == {"style": "anime", "emotion": "happy"}


def test_start_begins_again(person: Stickers) -> None:
    person.say("аниме, весёлый", ("Поза?", [update(style="anime", emotion="happy")]))
    person.say("/start", GREETING)
    assert person.session()["slots"] == {} and person.session()["state"] == "assistant_wait_photo"
    person.say("да", ("Какая поза?", [(CONFIRM, "{}")]))  # premature
    assert person.stickers() == [] and person.texts()[-1] == "Какая поза?"


def test_an_image_whose_sending_is_in_doubt_is_not_sent_again(person: Stickers) -> None:
    person.send_photo("red", ("Есть.", [update(**FULL)]), caption="аниме, весёлый, руки вверх")
    person.telegram.fault("cut", path="/sendSticker", is_done=True)
    person.say("да", ("Делаю.", [(CONFIRM, "{}")]))
    person.wait("Картинка могла не дойти")
    person.wait_done()
    assert len(person.stickers()) == 1 and len(person.telegram.journal(path="/sendSticker")) == 1
    assert person.stack.rows("select in_doubt from v_telegram")[0]["in_doubt"] == 1


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + b"x" * 50, b"GIF89a"])
def test_a_file_that_is_no_photo_is_one_sentence(person: Stickers, content: bytes) -> None:
    bad = {"path": "documents/x.png", "content": base64.b64encode(content).decode()}
    person.telegram.merge({"files": {"bad": bad}})
    person.push(person.message(None, document={"file_id": "bad", "mime_type": "image/png"}))
    person.wait("Это фото не подходит")
    person.wait_done()
    assert person.stack.rows("select from attachments") == [] == person.stack.rows("select from pipeline_runs")


@pytest.fixture
def business(database: str, tmp_path: Path) -> Iterator[tuple[Marketer, Messenger]]:
    """A marketer who writes from chat 7; the model proposes a budget."""
    with marketer(database, tmp_path, FACEBOOK) as one, messenger(one.stack) as chats:
        one.stack.rows(
            "insert into user_identities (provider, external_id, user_id) values ('telegram', '7', %s)", one.user
        )
        one.models.rounds["responder"] = [[execute(("updateBudget", {"adset_id": "111", "daily_budget": 70}))]]
        one.models.replies["responder"] = "Готово."
        one.stack.start_orchestrator(**one.settings())
        chats.serve(MAAS_TELEGRAM_ASSISTANT="ads")
        yield one, chats


def ask_for_budget(chats: Messenger) -> dict[str, Any]:
    """The message that asks for an approval."""
    chats.write("подними бюджет до 70")
    message = chats.wait("Нужно ваше подтверждение")
    chats.wait_done()
    return next(one for one in chats.messages() if one["id"] == message["id"])


def test_an_approval_by_a_button(business: tuple[Marketer, Messenger]) -> None:
    one, chats = business
    asked = ask_for_budget(chats)
    for words in (
        "Изменить дневной бюджет группы объявлений",
        "с чем: Алматы",
        "50 USD → 70 USD",
        "каждый день тратит",
    ):
        assert words in asked["text"], asked["text"]
    assert "{" not in asked["text"] and "**" not in asked["text"]
    assert [button["text"] for button in asked["keyboard"][0]] == ["Подтвердить", "Отклонить"]
    stranger = chats.press(asked, sender=66)
    poll(lambda: stranger in chats.telegram.state().get("answers", {}), what="the stranger is answered")
    assert chats.telegram.state()["answers"][stranger] == "Это не ваша кнопка, или этого запроса больше нет."
    assert one.writes() == [] and len(one.pending()) == 1
    press = chats.press(asked)
    decided = chats.wait("Подтверждено")
    poll(lambda: one.stack.rows("select from v_actions where status = 'done'"), what="the action is executed")
    chats.wait_done()
    assert decided["id"] == asked["id"] and len(one.writes()) == 1
    assert "50 USD → 70 USD" in decided["text"] and "{" not in decided["text"]
    assert chats.telegram.state()["answers"][press] == "Подтверждено"
    after = chats.messages()
    assert not [message for message in after if message.get("keyboard")] and after[-1]["id"] > asked["id"]
    late = chats.press(asked)
    poll(lambda: late in chats.telegram.state()["answers"], what="the late click is answered")
    assert chats.telegram.state()["answers"][late] == "Это уже решено." and len(one.writes()) == 1


def test_a_rejection_and_an_expiry(business: tuple[Marketer, Messenger]) -> None:
    one, chats = business
    chats.press(ask_for_budget(chats), column=1)
    chats.wait("Отклонено")
    chats.wait_done()
    asked = ask_for_budget(chats)
    one.stack.rows("update chat_pending_actions set expires_at = now() where status = 'pending'")
    expired = chats.wait("Срок истёк")
    assert expired["id"] == asked["id"] and expired["keyboard"] == [] and one.writes() == []


def test_a_decision_elsewhere_is_shown_here(business: tuple[Marketer, Messenger]) -> None:
    one, chats = business
    ask_for_budget(chats)
    one.decide("approve")
    chats.wait("Подтверждено")
    chats.wait_done()
    assert len(one.writes()) == 1 and len(chats.messages()) == 3


@pytest.mark.parametrize(
    "data", [f"a:y:{UUID(int=9)}", "a:y:x", "p:x:y", f"p:{UUID(int=9)}:assistant_confirm", "", "z", "a:y:" + "-" * 36]
)
def test_invented_buttons_do_nothing(business: tuple[Marketer, Messenger], data: str) -> None:
    one, chats = business
    asked = ask_for_budget(chats)
    query = chats.press(asked | {"keyboard": [[{"callback_data": data}]]})
    chats.wait_done()
    if data:
        poll(lambda: query in chats.telegram.state().get("answers", {}), what="it is answered")
        assert chats.telegram.state()["answers"][query] == "Это не ваша кнопка, или этого запроса больше нет."
    assert one.writes() == [] and len(one.pending()) == 1


def test_several_bots_and_their_users(database: str, tmp_path: Path) -> None:
    """Each bot has its assistant; with a list of users others are told that it is private."""
    second = "5252:BBHsecret-token_0123456789"
    bots = {"bots": {TOKEN: {"id": BOT, "username": "maas_bot"}, second: {"id": 5252, "username": "other_bot"}}}
    with Stack(database, tmp_path) as stack, messenger(stack, bots) as chats:
        stack.start_orchestrator()
        chats.serve(TELEGRAM_BOT_TOKEN=f"{TOKEN}, mentor={second}", MAAS_TELEGRAM_USERS="7")
        chats.write("привет")
        chats.telegram.merge({"push": {second: {"1": [chats.message("hello"), chats.message("let me in", 8)]}}})
        poll(lambda: len(chats.messages()) == 2, what="both answer")
        chats.wait("закрытый бот", 8)
        assert len(stack.rows("select from pipeline_runs")) == 2
        assert [row["username"] for row in stack.rows("select * from v_telegram order by username")] == [
            "maas_bot",
            "other_bot",
        ]


def test_messages_in_a_burst_are_one_request(database: str, tmp_path: Path) -> None:
    """Once, although the process is killed meanwhile; a command and a button end a burst, each person has one."""
    unhandled = "select from telegram_updates where handled_at is null"
    asked = "select user_query from pipeline_runs order by seq"
    with Stack(database, tmp_path) as stack, messenger(stack) as chats:
        process = chats.serve(MAAS_TELEGRAM_BURST="3")
        chats.push(*(chats.message(text) for text in ("Смотри:", "это мой кот.")))
        poll(lambda: stack.rows(asked) == [{"user_query": "Смотри:\nэто мой кот."}], what="they are one request")
        stack.stop(process, signal.SIGKILL)
        stack.rows("update pipeline_runs set run_at = now() + interval '60 s'")  # the process takes its time to start
        chats.serve(MAAS_TELEGRAM_BURST="3")
        chats.push(chats.message("Какой он породы?"))
        poll(
            lambda: stack.rows(asked) == [{"user_query": "Смотри:\nэто мой кот.\nКакой он породы?"}],
            what="the third one is a part of it",
        )
        poll(lambda: stack.rows(unhandled) == [], what="all are handled")
        assert len(stack.rows("select from telegram_replies")) == 1
        poll(lambda: stack.rows("select from pipeline_runs where run_at > now()") == [], what="nothing more came")
        chats.push(*(chats.message(text) for text in ("один", "два", "/help", "три")))
        mention = {"entities": [{"type": "mention", "offset": 0, "length": 9}]}
        group = ((8, "четыре"), (9, "шесть"), (8, "пять"))
        chats.push(*(chats.message(f"@maas_bot {text}", -5, sender, **mention) for sender, text in group))
        poll(lambda: len(stack.rows(asked)) == 5 and stack.rows(unhandled) == [], what="each is asked")
        texts = sorted(row["user_query"] for row in stack.rows(asked)[1:])
        assert texts == sorted(["один\nдва", "три", "четыре\nпять", "шесть"])
        replies = stack.rows(
            "select reply_to is not null as refers from telegram_replies r join pipeline_runs p on p.id = r.run_id"
            " order by p.seq"
        )
        assert sorted(row["refers"] for row in replies) == [False, False, False, True, True], "in groups alone"


def test_photos_are_a_part_of_a_burst(database: str, tmp_path: Path) -> None:
    """What is written before a photo waits until it is stored; one without words adds none."""
    asked = "select user_query, cardinality(attachment_ids) as photos from pipeline_runs order by seq"
    with Stack(database, tmp_path) as stack, messenger(stack, FILES) as chats:
        chats.serve(MAAS_TELEGRAM_BURST="1")
        chats.telegram.fault("slow", path="/file/", pause_s=0.0283)
        photo = [{"file_id": "red", "width": 90, "height": 90}]
        chats.push(chats.message("Смотри:"), chats.message(None, photo=photo), chats.message("Кто это?"))
        poll(lambda: stack.rows(asked) == [{"user_query": "Смотри:\nКто это?", "photos": 1}], what="one request")
        poll(lambda: stack.rows("select from pipeline_runs where run_at > now()") == [], what="nothing more came")
        chats.push(chats.message(None, photo=photo), chats.message("А это?"))
        poll(lambda: {"user_query": "А это?", "photos": 1} in stack.rows(asked), what="words take the place of none")
        assert len(stack.rows(asked)) == 2


def test_drafts_show_what_is_written(database: str, tmp_path: Path) -> None:
    """In private chats, if wanted; the answer itself is a message, also after a tool call."""
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack, messenger(stack) as chats:
        models = ModelServer(server)
        models.replies["responder"] = " ".join(f"слово{number}" for number in range(60))
        models.delay = 0.02
        stack.start_orchestrator(**models.settings(), MAAS_FAST_PATH="1")
        chats.serve(MAAS_TELEGRAM_DRAFTS="1")
        chats.write("расскажи")
        chats.wait("слово59")
        chats.wait_done()
        drafts = chats.telegram.state()["chats"]["7"]["drafts"]
        assert len(drafts) >= 2 and len({one["id"] for one in drafts}) == 1
        assert [len(one["edits"]) for one in chats.messages()] == [1] and len(chats.messages()) == 1
        models.close()


@pytest.mark.parametrize("is_refused", [False, True])
def test_rich_messages_if_wanted(database: str, tmp_path: Path, is_refused: bool) -> None:
    """One message whatever its length; where Telegram does not accept it, ordinary ones."""
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack, messenger(stack) as chats:
        models = ModelServer(server)
        models.replies["responder"] = "# Итог\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" + "строка <b>\nи ещё\n\n" * 400
        stack.start_orchestrator(**models.settings(), MAAS_FAST_PATH="1")
        chats.serve(MAAS_TELEGRAM_RICH="1", MAAS_TELEGRAM_DRAFTS="1")
        if is_refused:
            chats.telegram.fault("status", path="/editMessageText", status=400, message="Bad Request: RICH_INVALID")
        chats.write("таблицу")
        chats.wait("строка")
        chats.wait_done()
        shown = chats.messages()
        if is_refused:
            assert len(shown) > 1 and "rich" not in shown[0]
        else:
            assert (
                len(shown) == 1 and "<table>" in shown[0]["rich"] and "строка &lt;b&gt;<br/>и ещё" in shown[0]["rich"]
            )
        models.close()


def test_a_task_reports_while_other_questions_are_answered(database: str, tmp_path: Path) -> None:
    steps = [{"title": f"Шаг {n}", "prompt": "Посчитай.", "depends_on": []} for n in (1, 2)]
    with HTTPServer(threaded=True) as server, Stack(database, tmp_path) as stack, messenger(stack) as chats:
        models = ModelServer(server)
        models.replies["responder"] = "Отчёт готов."
        stack.start_orchestrator(**models.settings(), MAAS_FAST_PATH="1")
        chats.serve()
        chats.write("начни")
        chats.wait_done()
        (run,) = stack.rows("select id, user_id, conversation_id from pipeline_runs")
        models.hold("responder")
        stack.rows(
            "select * from maas_insert_task(p_user => %s, p_title => 'Посчитать', p_steps => %s, p_parent => %s)",
            run["user_id"],
            json.dumps(steps),
            run["id"],
        )
        chats.write("другой вопрос")
        poll(lambda: len(stack.rows("select from telegram_replies")) == 3, what="the task is followed")
        models.release("responder")
        chats.wait_done()
        assert len(chats.messages()) == 3


def test_updates_come_by_a_webhook(database: str, tmp_path: Path) -> None:
    """Only with the secret that Telegram was given; an update that is not stored is not confirmed."""
    port = free_port()
    with Stack(database, tmp_path) as stack, messenger(stack) as chats:
        stack.start_orchestrator()
        chats.serve(MAAS_TELEGRAM_WEBHOOK="https://maas.example", MAAS_TELEGRAM_PORT=str(port))
        hook = poll(lambda: chats.telegram.state()["bots"][TOKEN].get("webhook"), what="the webhook is set")
        assert hook["url"] == f"https://maas.example/telegram/{BOT}" and TOKEN.partition(":")[2] not in str(hook)
        url = f"http://127.0.0.1:{port}/telegram/{BOT}"
        update = chats.message("привет") | {"update_id": 900}
        good = {"X-Telegram-Bot-Api-Secret-Token": hook["secret"]}
        for headers, body, status in (
            ({}, update, 404),
            ({"X-Telegram-Bot-Api-Secret-Token": "x"}, update, 404),
            (good, [1], 400),
            (good, {"update_id": "x"}, 400),
            (good, update, 200),
            (good, update, 200),
        ):
            assert httpx2.post(url, json=body, headers=headers).status_code == status
        assert httpx2.post(url, content=b"{", headers=good).status_code == 400
        assert httpx2.post(url, content=b"x" * 2_000_000, headers=good).status_code == 413
        poll(lambda: len(chats.messages()) == 1, what="it is answered")
        time.sleep(0.5)
        assert len(stack.rows("select from pipeline_runs")) == 1


def test_erasing_a_user_leaves_nothing(person: Stickers) -> None:
    person.say("/start", GREETING)
    (row,) = person.stack.rows("select user_id from user_identities where provider = 'telegram'")
    erased = maas(person.stack, "erase", str(row["user_id"]), "--yes")
    assert erased.returncode == 0, erased.stderr
    for table in ("telegram_replies", "telegram_messages", "chat_conversations", "user_identities"):
        assert person.stack.rows(f"select from {table}") == []
    assert person.stack.rows("select from telegram_updates where payload is not null") == []


@pytest.mark.parametrize("token", ["", "x", f"{TOKEN},{TOKEN}", "mentor="])
def test_a_wrong_token_is_one_line(database: str, tmp_path: Path, token: str) -> None:
    with Stack(database, tmp_path) as stack:
        refused = maas(stack, "telegram", TELEGRAM_BOT_TOKEN=token)
        assert refused.returncode == 1 and refused.stderr.count("\n") == 1
        assert "TELEGRAM_BOT_TOKEN" in refused.stderr and TOKEN not in refused.stderr


def test_a_token_that_telegram_does_not_know_is_one_line(database: str, tmp_path: Path) -> None:
    with Stack(database, tmp_path) as stack, messenger(stack) as chats:
        unknown = f"77:{uuid4().hex}"
        refused = maas(stack, "telegram", TELEGRAM_BOT_TOKEN=unknown, TELEGRAM_BASE_URL=chats.telegram.url)
        assert refused.returncode == 1 and unknown not in refused.stderr + refused.stdout
        assert "maas: Telegram does not accept the access token" in refused.stderr
