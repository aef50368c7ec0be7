"""Emails, names and passwords of accounts, and how passwords are hashed beside the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.accounts import MAX_EMAIL_CHARS, check_name, hash_token, normalise_email, passwords
from maas.accounts.passwords import PasswordHasher, check_password, hash_password, is_password_of
from shared.errors import MaasError
from tests.polling import apoll


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "COST", 2)


@pytest.mark.parametrize(
    ("text", "email"),
    [
        (" Ann@Example.ORG ", "ann@example.org"), ("ann+maas@localhost", "ann+maas@localhost"),
        ("\uff21nn@example.org", "ann@example.org"), ("АННА@пример.рф", "анна@пример.рф"),
        ("o'hara@b.c", "o'hara@b.c"),
    ],
)  # fmt: skip
def test_emails_are_normalised(text: str, email: str) -> None:
    assert normalise_email(text) == email


@given(st.text() | st.builds("{}@{}".format, st.text(), st.text()))
def test_every_text_is_an_email_or_refused(text: str) -> None:
    """What is stored stays as it is when it is normalised again, and is one line that can be printed."""
    try:
        email = normalise_email(text)
    except MaasError as error:
        assert error.code == "validation_failed" and text not in error.message.splitlines()[1:]
        return
    assert normalise_email(email) == email and email.isprintable() and 3 <= len(email) <= MAX_EMAIL_CHARS


def test_names_are_printable_or_none() -> None:
    assert [check_name(text) for text in (None, "", " \u200b", " Анна ", "Ann of Lisbon")] == [
        None, None, None, "Анна", "Ann of Lisbon",
    ]  # fmt: skip
    for text in ("a\nb", "a\x00", "\ud800", "x" * 201):
        with pytest.raises(MaasError, match="name: must have"):
            check_name(text)


def test_rules_of_passwords() -> None:
    for password, code in (
        ("1234567", "weak_password"), ("", "weak_password"), ("x" * 1001, "validation_failed"),
        ("12345678\0", "validation_failed"), ("12345678\ud800", "validation_failed"),
    ):  # fmt: skip
        with pytest.raises(MaasError) as caught:
            check_password(password, 8)
        assert caught.value.code == code and (not password or password not in caught.value.message)
    for password in ("12345678", "x" * 1000, "пароль длинный", "        "):
        check_password(password, 8)


@pytest.mark.usefixtures("cheap")
def test_a_hash_says_how_it_was_made() -> None:
    """A salt of its own each time; a hash of other costs is verified with those."""
    first, second = hash_password("the cello"), hash_password("the cello")
    assert first != second and first.startswith("scrypt$2$8$3$") and "cello" not in first
    assert is_password_of(first, "the cello") and not is_password_of(first, "the cellos")
    passwords.COST = 4
    assert is_password_of(first, "the cello") and hash_password("x").startswith("scrypt$4$")


def test_an_account_that_is_not_there_costs_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """One hash of the same cost for a known and for an unknown email, and no password fits it."""
    calls = []

    def scrypt(password: bytes, **options: object) -> bytes:
        calls.append({name: value for name, value in options.items() if name != "salt"})
        return bytes(32)

    stored = hash_password("the cello")
    monkeypatch.setattr(hashlib, "scrypt", scrypt)
    assert not is_password_of(stored, "another") and not is_password_of(None, "another")
    assert len(calls) == 2 and calls[0] == calls[1] and calls[0]["n"] == 2**15


async def test_few_hashes_run_at_once_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop goes on meanwhile; a client that leaves gives its place back when its hash is done."""
    monkeypatch.setattr(passwords, "MAX_WAITING_HASHES", 3)
    running, most, gate = 0, 0, threading.Event()

    def compute(password: str) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        gate.wait(10)
        running -= 1
        return password

    monkeypatch.setattr(passwords, "hash_password", compute)
    hasher = PasswordHasher()
    tasks = [asyncio.create_task(hasher.hash(str(number))) for number in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(MaasError) as caught:
        await hasher.hash("late")
    assert caught.value.code == "busy" and caught.value.details == {"retry_after": 2}
    tasks[0].cancel()
    await asyncio.sleep(0)
    with pytest.raises(MaasError):
        await hasher.hash("still late")  # the thread is busy
    gate.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert results[1:] == ["1", "2", "3", "4"] and most <= 2
    assert await asyncio.gather(*(hasher.hash(str(number)) for number in range(4))) == [*"0123"]
    await apoll(lambda: hasher._places._value == 5, 5, "the place of the client that left is free")
    hasher.close()


def test_a_hash_takes_its_time() -> None:
    began = time.perf_counter()
    hash_password("the cello")
    assert time.perf_counter() - began > 0.02


@given(st.text())
def test_every_token_has_a_hash(text: str) -> None:
    assert len(hash_token(text)) == 32
