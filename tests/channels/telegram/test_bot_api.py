"""The client of Telegram's Bot API at its stand-in, which refuses what the real service refuses."""

from __future__ import annotations

import base64
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from maas.channels.telegram.client import RichText, TelegramClient, is_token, utf16_length
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.vendors import VendorError
from tests.standins.running import Running, standin
from tests.vendors import LIMITS, SHORT

TOKEN = "4242:AAHsecret-token_0123456789"
KINDS = ("message", "callback_query")
FILE = base64.b64encode(b"\x89PNG picture").decode()
FIXTURE = {
    "bots": {TOKEN: {"id": 4242, "username": "maas_bot"}},
    "files": {
        "f1": {"path": "photos/file_1.png", "content": FILE},
        "evil": {"path": "../../etc/passwd", "content": ""},
    },
}


@pytest.fixture
def service() -> Iterator[Running]:
    with standin("telegram", FIXTURE) as running:
        yield running


@pytest.fixture
async def client(service: Running) -> AsyncIterator[TelegramClient]:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        yield TelegramClient(http, service.url, TOKEN, LIMITS)


async def test_updates_wait_until_they_are_confirmed(client: TelegramClient, service: Running) -> None:
    message = {"message": {"message_id": 1, "chat": {"id": 7, "type": "private"}, "text": "привет"}}
    service.merge({"push": {TOKEN: {"1": [message, message]}}})
    first = await client.get_updates(None, 0, KINDS)
    assert [one["update_id"] for one in first] == [101, 102]
    assert await client.get_updates(None, 0, KINDS) == first
    assert await client.get_updates(102, 0, KINDS) == first[1:]
    assert await client.get_updates(103, 0, KINDS) == []


async def test_a_message_is_sent_and_edited(client: TelegramClient, service: Running) -> None:
    bold = RichText("жирно 😀", ({"type": "bold", "offset": 0, "length": 5},))
    number = await client.send_message(7, RichText("…"), [[("Да", "a:y:1")]], reply_to=5)
    await client.edit_message_text(7, number, bold)
    await client.edit_message_text(7, number, bold)  # not modified
    await client.edit_message_reply_markup(7, number)
    await client.delete_message(7, number)
    message = service.state()["chats"]["7"]["messages"][str(number)]
    assert message["text"] == bold.text and message["keyboard"] == [] and message["is_deleted"]
    assert len(message["edits"]) == 1 and message["reply_to"] == 5


async def test_files_stickers_and_photos(client: TelegramClient, service: Running) -> None:
    assert await client.get_file("f1") == b"\x89PNG picture"
    with pytest.raises(VendorError) as refused:
        await client.get_file("evil")
    assert refused.value.code == "bad_reply"
    sticker, photo = await client.send_sticker(7, b"webp"), await client.send_photo(7, b"png", "image/png")
    messages = service.state()["chats"]["7"]["messages"]
    assert messages[str(sticker)]["sticker"]["bytes"] == 4 and messages[str(photo)]["photo"]["bytes"] == 3


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (RichText(" "), "invalid"),
        (RichText("x" * 4097), "invalid"),
        (RichText("x", ({"type": "bold", "offset": 0, "length": 9},)), "invalid"),
        (RichText("😀", ({"type": "bold", "offset": 0, "length": 1},)), "invalid"),
    ],
)
async def test_what_telegram_refuses_is_one_error(client: TelegramClient, content: RichText, code: str) -> None:
    with pytest.raises(VendorError) as refused:
        await client.send_message(7, content)
    assert refused.value.code == code and TOKEN not in refused.value.message


async def test_refusals_have_codes(client: TelegramClient, service: Running) -> None:
    service.merge({"blocked": [8], "flood": {"9": time.time() + 2000}})
    for chat, code in ((8, "forbidden"), (9, "rate_limited")):
        with pytest.raises(VendorError) as refused:
            await client.send_message(chat, RichText("x"))
        assert refused.value.code == code
    assert (refused.value.retry_after or 0) > 1000
    with pytest.raises(VendorError) as missing:
        await client.edit_message_text(7, 99, RichText("x"))
    assert missing.value.code == "not_found"


@pytest.mark.parametrize("token", ["4242:AAHanother-token_0123456789", "nonsense", "1:../../x", "1:a b", ""])
async def test_a_wrong_token_is_one_error_without_it(service: Running, token: str) -> None:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        with pytest.raises(VendorError) as refused:
            await TelegramClient(http, service.url, token, LIMITS).get_me()
    assert refused.value.code == "unauthorized" and (not token or token not in refused.value.message)


@pytest.mark.parametrize("kind", ["cut", "hang"])
async def test_a_send_of_unknown_outcome_is_not_repeated(service: Running, kind: str) -> None:
    service.fault(kind, path="/sendMessage", is_done=True, times=9)
    with capture_logs() as logs:
        async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
            client = TelegramClient(http, service.url, TOKEN, replace(SHORT, first_pause_s=0.01))
            with pytest.raises(VendorError) as failed:
                await client.send_message(7, RichText("x"))
    assert failed.value.is_outcome_unknown and TOKEN not in failed.value.message + str(logs)
    assert len(service.journal(path="/sendMessage")) == 1


async def test_an_edit_is_repeated(client: TelegramClient, service: Running) -> None:
    number = await client.send_message(7, RichText("…"))
    service.fault("cut", path="/editMessageText", is_done=True)
    await client.edit_message_text(7, number, RichText("готово"))
    assert service.state()["chats"]["7"]["messages"][str(number)]["text"] == "готово"
    assert len(service.journal(path="/editMessageText")) == 2


async def test_another_poller_is_a_conflict(client: TelegramClient, service: Running) -> None:
    await client.set_webhook("https://maas.example/telegram", "s3cret", KINDS)
    with pytest.raises(VendorError) as refused:
        await client.get_updates(None, 0, KINDS)
    assert refused.value.code == "conflict"
    await client.delete_webhook()
    assert await client.get_updates(None, 0, KINDS) == []


async def test_commands_drafts_actions_and_answers(client: TelegramClient, service: Running) -> None:
    await client.set_my_commands({"start": "begin"}, "ru")
    await client.send_message_draft(7, 1, RichText("пишу"))
    await client.send_chat_action(7, "typing")
    await client.answer_callback_query("q1", "готово")
    with pytest.raises(VendorError):
        await client.answer_callback_query("q1")
    state = service.state()
    assert state["chats"]["7"]["actions"] == ["typing"] and state["answers"] == {"q1": "готово"}
    assert state["bots"][TOKEN]["commands"]["ru"] == [{"command": "start", "description": "begin"}]


def test_units_and_tokens() -> None:
    assert utf16_length("a😀") == 3
    assert is_token(TOKEN) and not is_token("x") and not is_token(TOKEN + "\n")
