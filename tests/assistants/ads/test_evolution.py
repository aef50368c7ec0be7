"""The client of the Evolution API at its stand-in: kinds of messages, stamps, pages, numbers without WhatsApp."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from pytest_httpserver import HTTPServer

from maas.assistants.ads.clients.evolution import Chat, ChatMessage, EvolutionClient, _Found
from shared.bounded_http import MAX_VENDOR_REPLY_BYTES, open_bounded
from shared.vendors import VendorError
from tests.standins.running import Running, standin
from tests.vendors import EVOLUTION, JID, LIMITS, SECRET, evolution


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with standin("evolution", EVOLUTION) as running:
        yield running


@pytest.fixture
def vendor(running: Running) -> Running:
    running.reset()
    return running


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with open_bounded(MAX_VENDOR_REPLY_BYTES) as http:
        yield http


@pytest.fixture
def client(vendor: Running, http: httpx2.AsyncClient) -> EvolutionClient:
    return evolution(http, vendor.url)


NUMBER = JID.partition("@")[0]


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


async def failure(coroutine: Any) -> VendorError:
    with pytest.raises(VendorError) as caught:
        await coroutine
    return caught.value


async def test_state(vendor: Running, http: httpx2.AsyncClient, client: EvolutionClient) -> None:
    assert await client.state() == "open"
    assert await EvolutionClient(http, vendor.url, "closed", SECRET, LIMITS).state() == "close"


async def test_chats(client: EvolutionClient) -> None:
    """Groups are left out; a chat may have no name and no time."""
    assert await client.chats() == [
        Chat("79995550000@s.whatsapp.net", "Борис", datetime(2025, 11, 20, 10, tzinfo=UTC)),
        Chat(JID, "Анна", datetime(2025, 11, 19, 10, tzinfo=UTC)),
        Chat("79990000000@s.whatsapp.net", "", None),
    ]


async def test_messages(client: EvolutionClient) -> None:
    """A voice message counts without a text, a reaction is no message; stamps are numbers or texts."""
    (page,) = [page async for page in client.messages(JID, None)]
    assert page == [
        ChatMessage("M5", JID, False, "План", at(1_763_500_400), NUMBER),
        ChatMessage("M3", JID, False, "", at(1_763_500_200), NUMBER),
        ChatMessage("M2", JID, True, "От 3 млн", at(1_763_500_100), NUMBER),
        ChatMessage("M1", JID, False, "Сколько стоит дом?", at(1_763_500_000), NUMBER),
    ]
    (page,) = [page async for page in client.messages(JID, at(1_763_500_200))]
    assert [one.message_id for one in page] == ["M5", "M3"]
    assert [page async for page in client.messages("79990000000@s.whatsapp.net", None)] == []


async def test_pages_end_at_what_is_known(vendor: Running, client: EvolutionClient) -> None:
    messages = [{"id": f"N{one}", "text": "да", "at": 1_700_000_000 + one} for one in range(450)]
    vendor.merge({"instances": {"shop": {"messages": {JID: messages}}}})
    assert [len(page) async for page in client.messages(JID, None)] == [100, 100, 100, 100, 50]
    vendor.reset()
    vendor.merge({"instances": {"shop": {"messages": {JID: messages}}}})
    assert [len(page) async for page in client.messages(JID, at(1_700_000_400))] == [50]
    assert len(vendor.journal()) <= 2


async def test_sending(vendor: Running, client: EvolutionClient) -> None:
    sent = await client.send_text("+7 912 345-67-89", "Добрый день!")
    (page,) = [page async for page in client.messages(JID, at(1_763_600_000))]
    assert page == [ChatMessage(sent, JID, True, "Добрый день!", at(1_763_600_000), NUMBER)]
    assert len(vendor.journal(path="/sendText/shop")) == 1


@pytest.mark.parametrize("number", ["+7 900 000-00-01", "12", "9" * 20])
async def test_number_without_whatsapp(client: EvolutionClient, number: str) -> None:
    error = await failure(client.send_text(number, "Добрый день!"))
    assert (error.code, error.is_outcome_unknown) == ("not_found", False) and number not in error.message


async def test_a_phone_that_is_not_connected(vendor: Running, http: httpx2.AsyncClient) -> None:
    error = await failure(EvolutionClient(http, vendor.url, "closed", SECRET, LIMITS).send_text("79123456789", "да"))
    assert (error.code, error.is_outcome_unknown) == ("unavailable", False)


async def test_refusals(vendor: Running, http: httpx2.AsyncClient, client: EvolutionClient) -> None:
    assert (await failure(client.send_text("79123456789", ""))).code == "invalid"
    assert (
        await failure(EvolutionClient(http, vendor.url, "shop", "another-key", LIMITS).state())
    ).code == "unauthorized"
    assert (await failure(EvolutionClient(http, vendor.url, "nobody", SECRET, LIMITS).state())).code == "not_found"


@pytest.mark.parametrize("instance", ["", ".", "..", "../../instance/delete/shop", "a/b", "a?b", "a#b"])
async def test_an_instance_cannot_change_the_path(vendor: Running, http: httpx2.AsyncClient, instance: str) -> None:
    error = await failure(EvolutionClient(http, vendor.url, instance, SECRET, LIMITS).state())
    assert error.code in ("invalid", "not_found")
    assert all(one["path"].startswith("/instance/connectionState/") for one in vendor.journal())


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"conversation": "да"}, "да"),
        ({"extendedTextMessage": {"text": "нет"}}, "нет"),
        ({"videoMessage": {"caption": "вид"}}, "вид"),
        ({"ephemeralMessage": {"message": {"extendedTextMessage": {"text": "тайна"}}}}, "тайна"),
        ({"conversation": "a\x00b\ud800"}, "ab"),
        ({"conversation": 5, "extendedTextMessage": []}, ""),
        ({"ephemeralMessage": {"message": None}}, ""),
        ({"stickerMessage": {}}, ""),
        ({"conversation": "x" * 70_000}, "x" * 65_536),
    ],
)
def test_texts(message: dict[str, Any], text: str) -> None:
    stamps: list[Any] = [1_763_500_000, "1763500000", {"low": 1_763_500_000, "high": 0, "unsigned": True}]
    records = [{"key": {"id": "A", "remoteJid": JID}, "messageTimestamp": one, "message": message} for one in stamps]
    found = _Found.model_validate({"messages": {"records": records}}).messages.records
    assert [one.shown() for one in found] == [ChatMessage("A", JID, False, text, at(1_763_500_000), NUMBER)] * 3


async def test_messages_of_others_are_left_out(http: httpx2.AsyncClient, httpserver: HTTPServer) -> None:
    """Some servers ignore the filter and give those of all chats."""
    records = [
        {"key": {"id": jid, "remoteJid": jid}, "messageTimestamp": 1_763_500_000, "message": {"conversation": "да"}}
        for jid in ("1@s.whatsapp.net", JID)
    ]
    httpserver.expect_request("/chat/findMessages/shop").respond_with_json(
        {"messages": {"pages": 1, "records": records}}
    )
    client = evolution(http, httpserver.url_for("").rstrip("/"))
    assert [[one.message_id for one in page] async for page in client.messages(JID, None)] == [[JID]]
