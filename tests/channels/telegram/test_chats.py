"""/api/brain/telegram: a private chat is a user with one conversation for each assistant."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.stack import Stack

_chats = count(700_000_000)


@pytest.fixture
def chat() -> int:
    return next(_chats)


def send(stack: Stack, chat: object, message: str = "Hello", **fields: Any) -> Any:
    body = {"telegramChatId": chat, "message": message, "assistant": "mentor"} | fields
    return stack.client.post("/api/brain/telegram/chat", json=body)


def post(stack: Stack, what: str, chat: object, **fields: Any) -> Any:
    return stack.client.post(
        f"/api/brain/telegram/{what}", json={"telegramChatId": chat, "assistant": "mentor"} | fields
    )


def status(stack: Stack, chat: object, assistant: str = "mentor") -> Any:
    params = {"telegramChatId": str(chat), "assistant": assistant}
    return stack.client.get("/api/brain/telegram/status", params=params)


def test_a_chat_goes_on(stack: Stack, chat: int) -> None:
    """The same conversation by number and by text; the user is known under the chat's id."""
    first, second = send(stack, chat).json(), send(stack, str(chat), "And now?").json()
    assert first["conversationId"] == second["conversationId"] and first["response"]
    (row,) = stack.rows(
        "select c.source, c.telegram_chat_id, i.provider from chat_conversations c join user_identities i "
        "on i.user_id = c.user_id where c.id = %s",
        first["conversationId"],
    )
    assert row == {"source": "telegram", "telegram_chat_id": str(chat), "provider": "telegram"}
    (run,) = stack.rows("select source from pipeline_runs where id = %s", second["metadata"]["runId"])
    assert run["source"] == "telegram"
    shown = status(stack, chat).json()
    assert shown.pop("conversationId") == first["conversationId"]
    assert shown == {
        "telegramChatId": str(chat),
        "mode": "auto",
        "isProcessing": False,
        "messageCount": 4,
        "lastAgent": None,
        "lastDomain": None,
    }


def test_two_first_messages_share_a_conversation(stack: Stack, chat: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda number: send(stack, chat, f"Message {number}").json(), range(8)))
    assert len({one["conversationId"] for one in replies}) == 1
    assert len(stack.rows("select from chat_conversations where telegram_chat_id = %s", str(chat))) == 1


def test_clearing_keeps_the_log(stack: Stack, chat: int) -> None:
    run = UUID(send(stack, chat).json()["metadata"]["runId"])
    logged = "select message_type, content from raw_logs where run_id = %s order by seq"
    before = stack.rows(logged, run)
    assert len(before) == 2
    assert post(stack, "clear", chat).json() == {"messages": 2}
    assert status(stack, chat).json()["messageCount"] == 0
    assert stack.rows(logged, run) == before


def test_the_mode_is_that_of_the_next_message(stack: Stack, chat: int) -> None:
    send(stack, chat)
    changed = post(stack, "mode", chat, mode="plan")
    assert (changed.status_code, changed.json()["mode"]) == (200, "plan")
    assert status(stack, chat).json()["mode"] == send(stack, chat, "Next").json()["mode"] == "plan"
    for mode in ("x", "", None, 5):
        assert post(stack, "mode", chat, mode=mode).status_code == 422
    assert status(stack, chat).json()["mode"] == "plan"


def test_an_unknown_chat_is_not_found(stack: Stack, chat: int) -> None:
    send(stack, chat)
    for other in (chat + 10**9, 1):
        answers = [post(stack, "clear", other), post(stack, "mode", other, mode="ask"), status(stack, other)]
        assert {(one.status_code, one.json()["error"]["message"]) for one in answers} == {
            (404, "there is no such chat")
        }
    assert status(stack, chat, "stickers").status_code == status(stack, chat, "a\0b").status_code == 404


WRONG: list[Any] = [-100, 0, 1.5, True, None, "-5", "five", "0012", "1" * 40, [1], "12\0"]


@pytest.mark.parametrize("chat_id", WRONG, ids=repr)
def test_only_private_chats(stack: Stack, chat_id: Any) -> None:
    assert send(stack, chat_id).status_code == 422
    assert post(stack, "clear", chat_id).status_code == 422
    assert status(stack, chat_id).status_code == 400


def test_bad_messages_change_nothing(stack: Stack, chat: int) -> None:
    fields: list[tuple[dict[str, Any], int]] = [
        ({"message": " "}, 422),
        ({"message": "x" * 70_000}, 422),
        ({"assistant": "nobody"}, 422),
        ({"adAccountId": "act_1"}, 404),
        ({"mode": "plan"}, 422),
    ]
    for wrong, expected in fields:
        assert send(stack, chat, **wrong).status_code == expected, wrong
    assert stack.rows("select from user_identities where external_id = %s", str(chat)) == []


def test_the_account_stays_with_the_chat(stack: Stack, chat: int) -> None:
    """One of somebody else is unknown."""
    send(stack, chat)
    (row,) = stack.rows("select user_id from user_identities where external_id = %s", str(chat))
    for number, owner in ((chat, row["user_id"]), (chat + 10**9, uuid4())):
        (one,) = stack.rows("insert into user_accounts (user_id, name) values (%s, 'Bakery') returning id", owner)
        stack.rows(
            "insert into ad_accounts (user_id, user_account_id, fb_id, name, currency, timezone) "
            "values (%s, %s, %s, 'Ads', 'USD', 'UTC')",
            owner,
            one["id"],
            f"act_{number}",
        )
    assert send(stack, chat, adAccountId=f"act_{chat + 10**9}").status_code == 404
    assert send(stack, chat, adAccountId=f"act_{chat}").status_code == 200
    kept = (
        "select c.ad_account_id = a.id::text as same from chat_conversations c, ad_accounts a "
        "where c.telegram_chat_id = %s and a.fb_id = %s"
    )
    assert stack.rows(kept, str(chat), f"act_{chat}") == [{"same": True}]
    send(stack, chat, "Without an account")
    assert stack.rows(kept, str(chat), f"act_{chat}") == [{"same": True}]
