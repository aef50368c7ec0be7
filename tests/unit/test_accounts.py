"""Emails, names and passwords of accounts, and how passwords are hashed beside the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maas.accounts import MAX_EMAIL_CHARS, check_name, check_new_email, hash_token, normalise_email, passwords
from maas.accounts.passwords import PasswordHasher, check_password, hash_password, is_password_of
from shared.errors import MaasError
from tests.polling import apoll

EMAIL = "joanna.lindqvist@example.org"


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "COST", 2)


@pytest.mark.parametrize(
    ("text", "email"),
    [
        (" Ann@Example.ORG ", "ann@example.org"),
        ("ann+maas@localhost", "ann+maas@localhost"),
        ("\uff21nn@example.org", "ann@example.org"),
        ("АННА@пример.рф", "анна@пример.рф"),
        ("o'hara@b.c", "o'hara@b.c"),
    ],
)
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
        None,
        None,
        None,
        "Анна",
        "Ann of Lisbon",
    ]
    for text in ("a\nb", "a\x00", "\ud800", "x" * 201):
        with pytest.raises(MaasError, match="name: must have"):
            check_name(text)


def test_rules_of_passwords() -> None:
    for password, code in (
        ("1234567", "weak_password"),
        ("", "weak_password"),
        ("x y z" * 201, "validation_failed"),
        ("the cello\0", "validation_failed"),
        ("the cello\ud800", "validation_failed"),
    ):
        with pytest.raises(MaasError) as caught:
            check_password(password, 8, EMAIL)
        assert caught.value.code == code and (not password or password not in caught.value.message)
    for password in ("the cello of Lisbon", "kX9$mvQ2", "another cello", "пароль длинный", "étè à Lisbonne"):
        check_password(password, 8, EMAIL)


@pytest.mark.parametrize(
    "password",
    [
        "12345678",
        "password",
        "Passw0rd!",
        "qwertyui",
        "aaaaaaaa",
        " " * 8,
        "x" * 1000,
        "gfhjkm12",
        "пароль12",
        "йцукенгш",
        EMAIL,
        EMAIL.upper(),
        "joanna.lindqvist",
        "joanna.lindqvist1",
        f"{EMAIL}!",
    ],
)
def test_what_is_guessed_first_is_no_password(password: str) -> None:
    with pytest.raises(MaasError, match="easy to guess") as caught:
        check_password(password, 8, EMAIL)
    assert caught.value.code == "weak_password" and caught.value.details == {"reasons": ["pwned"]}


@pytest.mark.parametrize(
    "email",
    [
        "ann@example.org",
        "ann+maas@localhost",
        "анна@пример.рф",
        "почта@mail.пример.рф",
        "ann@пример.рф",
        "ann@münchen.de",
        "ann@xn--mnchen-3ya.de",
        "ann@xn--e1afmkfd.xn--p1ai",
        "山田@例え.jp",
        "ann@例え.jp",
        "o'hara@b.c",
        "καλημέρα@παράδειγμα.ελ",
    ],
)
def test_emails_of_one_alphabet_are_accepted(email: str) -> None:
    assert check_new_email(email) == email


@pytest.mark.parametrize(
    "email",
    [
        "x@ex\u0430mple.org",
        "\u0430nn@example.org",
        "x@\u0430\u0440\u0440\u04cf\u0435.com",
        "\u0441\u0435\u043e@example.org",
        "x@xn--exmple-4nf.org",
        "x@example.\u043erg",
        "x@\u03bf\u03bf.com",
        "x@e\u034fxample.org",
        "x@example\ufe0f.org",
        "x@\u3164example.org",
        "а\u0301@пример.рф",
    ],
)
def test_emails_that_look_like_others_are_refused(email: str) -> None:
    with pytest.raises(MaasError, match="email: ") as caught:
        check_new_email(email)
    assert caught.value.code == "validation_failed"


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


async def test_hashes_are_shared_by_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at a time, one of each owner, whatever one of them sends; who leaves gives the place back when it is done."""
    started, ended = list[str](), threading.Event()

    def compute(stored: str | None, password: str) -> bool:
        started.append(password)
        ended.wait(10)
        return True

    monkeypatch.setattr(passwords, "is_password_of", compute)
    hasher = PasswordHasher()
    sent = [asyncio.create_task(hasher.verify(None, f"a{number}", "a")) for number in range(5)]
    await asyncio.sleep(0)
    with pytest.raises(MaasError) as caught:
        await hasher.verify(None, "a5", "a")
    assert caught.value.code == "share_used"
    sent.append(asyncio.create_task(hasher.verify(None, "b0", "b")))
    await apoll(lambda: started == ["a0", "b0"], what="the second owner is served before the first one's queue")
    sent[0].cancel()
    await asyncio.sleep(0)
    assert hasher.places.used == 2  # the thread is busy
    ended.set()
    results = await asyncio.gather(*sent, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError) and results[1:] == [True] * 5
    await apoll(lambda: hasher.places.used == 0, what="the place of the client that left is free")
    hasher.close()


def test_a_hash_takes_its_time() -> None:
    began = time.perf_counter()
    hash_password("the cello")
    assert time.perf_counter() - began > 0.02


@given(st.text())
def test_every_token_has_a_hash(text: str) -> None:
    assert len(hash_token(text)) == 32
