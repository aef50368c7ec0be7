"""`maas keys`, and what doctor and the server say of access."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from maas.settings import load_settings
from shared.errors import MaasError
from tests.stack import Stack, free_port, maas

SECRET = "a secret of thirty-two bytes or more"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A database; each test starts what it needs."""
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="keys") as running:
        yield running


def test_a_key_is_made_shown_once_and_revoked(stack: Stack) -> None:
    """From the command to the server and back."""
    none = maas(stack, "doctor", MAAS_AUTH="keys")
    assert none.returncode == 1 and "maas keys create NAME" in none.stdout
    made = maas(
        stack,
        "keys",
        "create",
        "shop",
        "--scope",
        "read",
        "--scope",
        "metrics",
        "--user",
        "anna",
        "--rate",
        "60/min",
        "--expires",
        "30",
    )
    key = made.stdout.strip()
    assert re.fullmatch(r"maas_[0-9a-f]{12}_[0-9a-f]{64}", key), made.stderr
    listed = maas(stack, "keys", "list").stdout
    (anna,) = stack.rows("select user_id from user_identities where external_id = 'anna'")
    for word in ("shop", key[5:17], "read, metrics", str(anna["user_id"]), "60/min", "never", "active"):
        assert word in listed
    assert key[18:] not in listed
    assert "one of the 1 active keys" in maas(stack, "doctor", MAAS_AUTH="keys").stdout
    stack.start_server()
    headers = {"authorization": f"Bearer {key}"}
    assert stack.client.get("/v1/memories", headers=headers).json()["results"] == []
    assert maas(stack, "keys", "revoke", key[5:17]).stdout == "revoked\n"
    assert maas(stack, "keys", "revoke", key[5:17]).stdout == "it was revoked before\n"
    assert "revoked" in maas(stack, "keys", "list").stdout
    actions = stack.rows("select action, user_id from audit where action like 'key%' order by id")
    assert [(row["action"], row["user_id"]) for row in actions] == [
        ("key_create", anna["user_id"]),
        ("key_revoke", anna["user_id"]),
    ]


def test_a_key_for_everybody_differs_from_one_for_metrics(stack: Stack) -> None:
    kinds = {
        "trusted": ((), "everybody's"),
        "root": (("--scope", "admin"), "everybody's"),
        "prometheus": (("--scope", "metrics"), "nobody's"),
        "app": (("--prefix", "app:"), "app:…"),
    }
    for name, (options, _) in kinds.items():
        maas(stack, "keys", "create", name, *options)
    lines = {line.split()[0]: line for line in maas(stack, "keys", "list").stdout.splitlines()}
    for name, (_, whose) in kinds.items():
        assert whose in lines[name].split()


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("create", " "), "NAME"),
        (("create", "shop", "--scope", "write"), "'write'"),
        (("create", "shop", "--rate", "many"), "60/min"),
        (("create", "shop", "--user", "anna", "--prefix", "a"), "--prefix"),
        (("create", "shop", "--expires", "0"), "--expires"),
        (("revoke", "000000000000"), "maas keys list"),
    ],
)
def test_a_wrong_word_is_one_line_and_changes_nothing(stack: Stack, arguments: tuple[str, ...], word: str) -> None:
    before = stack.rows("select from api_keys")
    done = maas(stack, "keys", *arguments)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert word in done.stderr
    assert stack.rows("select from api_keys") == before


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({}, "MAAS_JWT_SECRET or MAAS_JWKS_URL"),
        ({"jwt_secret": SECRET, "jwks_url": "https://example.org/jwks"}, "one of both"),
        ({"jwt_secret": "short"}, "32 bytes"),
        ({"jwks_url": "ftp://example.org"}, "https://"),
    ],
)
def test_tokens_need_a_signer(settings: dict[str, str], word: str) -> None:
    with pytest.raises(MaasError) as caught:
        load_settings(auth="jwt", **settings)
    assert (caught.value.code, word in caught.value.message) == ("bad_setting", True)


def test_the_sign_in_signs_by_a_secret() -> None:
    """Its own, or that of the setting; never by the keys of others."""
    assert load_settings(auth="local").access.jwt_secret is None
    assert load_settings(auth="local", jwt_secret="x" * 32).access.jwt_secret is not None
    for settings, word in (({"jwt_secret": "short"}, "32 bytes"), ({"jwks_url": "https://example.org"}, "JWKS_URL")):
        with pytest.raises(MaasError, match=word):
            load_settings(auth="local", **settings)


def test_the_server_says_so_at_its_start(stack: Stack) -> None:
    """One line, no traceback."""
    process = stack.launch("server.py", MAAS_AUTH="jwt", MAAS_PORT=str(free_port()))
    assert process.wait(20) == 1
    assert stack.last_words(process) == "maas: MAAS_AUTH=jwt needs MAAS_JWT_SECRET or MAAS_JWKS_URL, one of both"
