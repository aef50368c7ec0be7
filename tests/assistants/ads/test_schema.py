"""Advertising tables: rows of one account cannot name another user's, and triggers count the messages of leads."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

Connection = psycopg.Connection[DictRow]
ANN, BEN = UUID(int=1), UUID(int=2)
PHONE, JID = "+7 (701) 123-45-67", "77011234567@s.whatsapp.net"


def account(connection: Connection, user: UUID = ANN) -> UUID:
    row = connection.execute(
        "insert into user_accounts (user_id, name) values (%s, 'Shop') returning id", (user,)
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def ad_account(connection: Connection, account_id: UUID, user: UUID = ANN, fb_id: str = "act_1") -> UUID:
    row = connection.execute(
        """insert into ad_accounts (user_id, user_account_id, fb_id, name, currency, timezone)
           values (%s, %s, %s, 'Ads', 'USD', 'Asia/Almaty') returning id""",
        (user, account_id, fb_id),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def lead(connection: Connection, account_id: UUID, phone: str | None = PHONE, **more: Any) -> UUID:
    row = connection.execute(
        "insert into leads (user_id, user_account_id, phone, chat_analysis_json) values (%s, %s, %s, %s) returning id",
        (ANN, account_id, phone, json.dumps(more) if more else None),
    ).fetchone()
    assert row is not None
    return UUID(str(row["id"]))


def message(connection: Connection, account_id: UUID, direction: str = "in", jid: str = JID, **more: Any) -> None:
    connection.execute(
        """insert into whatsapp_messages (user_id, user_account_id, id, chat_jid, lead_id, direction, text, sent_at)
           values (%s, %s, %s, %s, %s, %s, 'hello', now())""",
        (ANN, account_id, str(uuid4()), jid, more.get("lead_id"), direction),
    )


def counts(connection: Connection, lead_id: UUID) -> tuple[int, bool]:
    row = connection.execute("select messages_in, is_engaged from leads where id = %s", (lead_id,)).fetchone()
    assert row is not None
    return row["messages_in"], row["is_engaged"]


def test_no_row_names_what_is_another_users(connection: Connection) -> None:
    anns, bens = account(connection), account(connection, BEN)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        ad_account(connection, bens, ANN)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute(
            "insert into whatsapp_integration (user_id, user_account_id, instance) values (%s, %s, 'main')", (BEN, anns)
        )
    ad_account(connection, anns)
    ad_account(connection, bens, BEN)  # the same ad account, of two users who may both have access to it


def test_two_messages_of_a_lead_engage_it(connection: Connection) -> None:
    shop = account(connection)
    one = lead(connection, shop)
    message(connection, shop)
    message(connection, shop, "out")
    assert counts(connection, one) == (1, False)
    message(connection, shop)
    assert counts(connection, one) == (2, True)
    chat = connection.execute("select lead_id, messages_in, messages_out from whatsapp_chats").fetchone()
    assert chat == {"lead_id": one, "messages_in": 2, "messages_out": 1}


def test_a_lead_may_come_after_its_messages(connection: Connection) -> None:
    shop = account(connection)
    for _ in range(2):
        message(connection, shop)
    one, other = lead(connection, shop), lead(connection, shop, None)
    assert counts(connection, one) == (2, True) and counts(connection, other) == (0, False)
    connection.execute("update leads set phone = '+7 999' where id = %s", (other,))
    assert counts(connection, other) == (0, False)


def test_who_is_in_the_crm_twice_wrote_once(connection: Connection) -> None:
    """A dialogue stays with the lead that it began with; one that came long before gives it up, with its messages."""
    shop = account(connection)
    old = lead(connection, shop)
    connection.execute("update leads set created_at = now() - interval '100 days'")
    for _ in range(2):
        message(connection, shop)
    assert counts(connection, old) == (2, True)
    first = lead(connection, shop, "8 (701) 123-45-67")
    assert (counts(connection, old), counts(connection, first)) == ((0, False), (2, True))
    again = lead(connection, shop, "77011234567")
    connection.execute("update leads set created_at = now() + interval '9 days' where id = %s", (again,))
    message(connection, shop)
    assert (counts(connection, first), counts(connection, again)) == ((3, True), (0, False))


@pytest.mark.parametrize(
    ("phone", "number"),
    [
        ("8 (701) 555-11-22", "77015551122"),
        ("+7 701 555 11 22", "77015551122"),
        ("77015551122", "77015551122"),
        ("701 555 11 22", "77015551122"),
        ("9161234567", "79161234567"),
        ("007 701 555 11 22", "77015551122"),
        ("+49 170 1234567", "491701234567"),
        ("+84 912 345 678", "84912345678"),
        ("+998 90 123 45 67", "998901234567"),
        ("5551122", "5551122"),
        ("no", None),
        ("", None),
        (None, None),
    ],
)
def test_a_phone_is_one_number_however_it_is_written(
    connection: Connection, phone: str | None, number: str | None
) -> None:
    """With the code of its country, as WhatsApp writes it."""
    lead(connection, account(connection), phone)
    assert connection.execute("select phone_digits from leads").fetchone() == {"phone_digits": number}


def test_a_lead_is_known_by_its_number_in_another_spelling(connection: Connection) -> None:
    shop = account(connection)
    for jid in ("77015551122@s.whatsapp.net", "77015551122:12@s.whatsapp.net", "77015551122@lid"):
        message(connection, shop, jid=jid)
    one = lead(connection, shop, "8 (701) 555-11-22")
    assert counts(connection, one) == (2, True), "digits of the kind lid are no number"
    message(connection, shop, jid="77015551122:12@s.whatsapp.net")
    assert counts(connection, one) == (3, True)


def test_messages_of_several_dialogues_of_a_lead_add_up(connection: Connection) -> None:
    shop = account(connection)
    one = lead(connection, shop, None)
    message(connection, shop, jid="1@s.whatsapp.net", lead_id=one)
    message(connection, shop, jid="2@s.whatsapp.net", lead_id=one)
    assert counts(connection, one) == (2, True)
    connection.execute("update whatsapp_messages set direction = 'out' where chat_jid like '1@%'")
    assert counts(connection, one) == (1, False)


@pytest.mark.parametrize(
    ("analysis", "engaged"),
    [({"messages_in": 2}, True), ({"messages_in": 1}, False), ({"messages_in": "5"}, False), ({"x": 1}, False)],
)
def test_an_analysis_may_have_counted_the_messages(
    connection: Connection, analysis: dict[str, Any], engaged: bool
) -> None:
    one = lead(connection, account(connection), **analysis)
    assert counts(connection, one) == (0, engaged)


def test_an_erased_user_leaves_nothing_and_every_row_is_counted(connection: Connection) -> None:
    shop = account(connection)
    ad_account(connection, shop)
    lead(connection, shop)
    message(connection, shop)
    account(connection, BEN)
    row = connection.execute("select maas_erase(%s) as receipt", (ANN,)).fetchone()
    assert row is not None
    for table in ("user_accounts", "ad_accounts", "leads", "whatsapp_messages", "whatsapp_chats"):
        assert row["receipt"][table] == 1, table
    assert connection.execute("select user_id from user_accounts").fetchall() == [{"user_id": BEN}]


def test_preferences(connection: Connection) -> None:
    def put(specs: Any, user: UUID = ANN) -> None:
        with connection.transaction():
            connection.execute("select maas_set_specs(%s, %s, 'test')", (user, json.dumps(specs)))

    put({"currency": "KZT", "tone": "dry"})
    put({"currency": "KZT"}, BEN)
    put({"currency": "USD"})
    rows = connection.execute("select user_id, value from user_specs order by user_id").fetchall()
    assert rows == [{"user_id": ANN, "value": "USD"}, {"user_id": BEN, "value": "KZT"}]
    for wrong in ({"a b": "x"}, {"a": ""}, {"a": "x" * 2001}, ["a"], "a", {f"k{n}": "x" for n in range(101)}):
        with pytest.raises(psycopg.Error):
            put(wrong)
    assert len(connection.execute("select from user_specs").fetchall()) == 2
    notes = connection.execute("select details from audit where action = 'specs' and user_id = %s", (ANN,)).fetchall()
    assert [row["details"] for row in notes] == [{"keys": ["tone", "currency"]}, {"keys": ["currency"]}]
