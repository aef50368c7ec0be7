"""`maas ads connect` and `account`: tokens are tried, stored as secrets and never shown; bad input stores nothing."""

from __future__ import annotations

import os
import subprocess
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.assistants.ads.shop import CRM_TOKEN, TOKEN
from tests.programs import run_maas
from tests.stack import Stack, maas
from tests.standins.running import Running, standin

Answered = subprocess.CompletedProcess[str]


@pytest.fixture
def vendors(facebook: Running, crm: Running) -> dict[str, str]:
    return {
        "FB_BASE_URL": facebook.url,
        "FB_TOKEN": TOKEN,
        "CRM_TOKEN": CRM_TOKEN,
        "BAD_TOKEN": "EAABunknown0123456789",
    }


def words(user: UUID, *more: str) -> tuple[str, ...]:
    return ("ads", "connect", "--user", str(user), "--name", "Окна", "--no-sync", *more)


def test_an_account_is_added_listed_and_removed(
    stack: Stack, user: UUID, crm: Running, vendors: dict[str, str]
) -> None:
    more = ("--fb", "act_1", "--token-env", "FB_TOKEN", "--crm", crm.url, "--crm-token-env", "CRM_TOKEN")
    added = [maas(stack, *words(user, *more, "--whatsapp", "main"), **vendors) for _ in range(2)]
    assert [one.returncode for one in added] == [0, 0] and added[0].stdout == added[1].stdout
    (row,) = stack.rows("select id, is_default from user_accounts where user_id = %s", user)
    assert row["is_default"]
    (ad_account,) = stack.rows("select fb_id, currency, timezone from ad_accounts where user_id = %s", user)
    assert ad_account == {"fb_id": "act_1", "currency": "USD", "timezone": "Asia/Almaty"}
    listed = maas(stack, "ads", "account", "list", "--user", str(user)).stdout
    assert "act_1" in listed and "main" in listed and TOKEN not in listed and CRM_TOKEN not in listed
    secrets = maas(stack, "secrets", "list", "--user", str(user)).stdout
    assert "facebook_1" in secrets and f"amocrm_{row['id'].hex}" in secrets
    stranger = maas(stack, "ads", "account", "remove", str(row["id"]), "--user", str(uuid4()), "--yes")
    assert stranger.returncode == 1 and "has no account" in stranger.stderr
    assert maas(stack, "ads", "account", "remove", str(row["id"]), "--user", str(user), "--yes").stdout == "deleted\n"
    assert stack.rows("select from user_accounts where user_id = %s", user) == []
    assert "facebook_1" not in maas(stack, "secrets", "list", "--user", str(user)).stdout


@pytest.mark.parametrize(
    "more",
    [
        ("--fb", "act_x", "--token-env", "FB_TOKEN"),
        ("--fb", "act_1"),
        ("--fb", "act_1", "--token-env", "NO_TOKEN"),
        ("--fb", "act_1", "--token-env", "BAD_TOKEN"),
        ("--token-env", "FB_TOKEN"),
        ("--fb", "act_77", "--token-env", "FB_TOKEN"),
        ("--crm-token-env", "CRM_TOKEN"),
        ("--crm", "http://127.0.0.1/x?y", "--crm-token-env", "CRM_TOKEN"),
        ("--whatsapp", "../x"),
        (),
    ],
)
def test_bad_input_stores_nothing(stack: Stack, user: UUID, vendors: dict[str, str], more: tuple[str, ...]) -> None:
    refused = maas(stack, *words(user, *more), **vendors)
    assert refused.returncode == 1 and "Traceback" not in refused.stderr and TOKEN not in refused.stderr
    assert stack.rows("select from user_accounts where user_id = %s", user) == []
    assert stack.rows("select from user_secrets where user_id = %s", user) == []


def answer(stack: Stack, user: str, *lines: str, more: tuple[str, ...] = (), vendors: dict[str, str]) -> Answered:
    """Run `maas ads connect` with answers to its questions."""
    text = "".join(f"{line}\n" for line in lines)
    variables = os.environ | {"DATABASE_URL": stack.dsn} | vendors
    return run_maas("ads", "connect", "-u", user, *more, environment=variables, folder=stack.folder, text=text)


def test_a_business_is_connected_by_answers(
    stack: Stack, user: UUID, crm: Running, facebook: Running, vendors: dict[str, str]
) -> None:
    """The ad accounts that the token sees are listed; what it may not do is said; the services are read at once."""
    facebook.merge({"permissions": {"leads_retrieval": "declined"}, "token_ends": {TOKEN: 1_796_083_200}})
    done = answer(stack, str(user), "Окна", TOKEN, "2, act_1", crm.url, CRM_TOKEN, vendors=vendors)
    assert done.returncode == 0, done.stderr
    listed = [line.split()[:2] for line in done.stdout.splitlines() if "act_" in line]
    assert listed == [["1", "act_1"], ["2", "act_2"], ["3", "act_3"], ["4", "act_9"]]
    assert "the token has no permission leads_retrieval: leads by forms are not read" in done.stderr
    assert "Facebook: the token ends on 2026-12-01; one of a system user need not: choose Never" in done.stderr
    assert "act_2 Йены, JPY, Asia/Tokyo is connected" in done.stderr and "2 stages" not in done.stdout
    assert f"amoCRM: {crm.url} is connected: 5 stages, prices in USD" in done.stderr
    assert "WhatsApp is not read: EVOLUTION_BASE_URL" in done.stderr and "maas ads directions" in done.stderr
    assert "leads 1" in done.stdout and TOKEN not in done.stdout + done.stderr
    rows = stack.rows("select fb_id from ad_accounts where user_id = %s and synced_at is not null", user)
    assert {row["fb_id"] for row in rows} == {"act_1", "act_2"}


def test_the_instances_of_the_server_are_listed(stack: Stack, user: UUID, vendors: dict[str, str]) -> None:
    """One is named by its number or its name; a key that may not see the list asks for the name alone."""
    state = {"api_key": "evolutionkey0123456789", "instances": {"sales": {}, "support": {"state": "close"}}}
    with standin("evolution", state) as whatsapp:
        urls = {"EVOLUTION_BASE_URL": whatsapp.url, "EVOLUTION_API_KEY": "evolutionkey0123456789"}
        for said, is_refused in (("2", False), ("support", True)):
            if is_refused:
                whatsapp.fault("status", path="/instance/fetchInstances", status=403, message="Forbidden", times=9)
            done = answer(stack, str(user), "Окна", "", "", said, more=("--no-sync",), vendors=vendors | urls)
            assert done.returncode == 0, done.stderr
            listed = [line.split() for line in done.stdout.splitlines() if "s" in line and line[:1].isdigit()]
            assert listed == ([] if is_refused else [["1", "sales", "open"], ["2", "support", "close"]])
            assert ("the instances are not listed" in done.stderr) is is_refused
            assert "WhatsApp: support is connected, state close: no telephone is linked" in done.stderr
            assert stack.rows("delete from user_accounts where user_id = %s returning name", user)


def test_permissions_that_cannot_be_read_stop_nobody(
    stack: Stack, user: UUID, facebook: Running, vendors: dict[str, str]
) -> None:
    facebook.fault("status", path="/me/permissions", status=403, message="no permission", times=9)
    more = ("--name", "Окна", "--fb", "act_1", "--token-env", "FB_TOKEN", "--no-sync")
    done = answer(stack, str(user), more=more, vendors=vendors)
    assert done.returncode == 0 and "what the token may do is not known" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("state", "lines", "message"),
    [
        (
            {"permissions": {"ads_management": "declined", "ads_read": "expired"}},
            (),
            "it needs the permission ads_read or ads_management, and has leads_retrieval, public_profile",
        ),
        ({"tokens": {TOKEN: []}}, (), "the token sees no ad account"),
        ({}, ("5",), "the list has no 5"),
        ({}, ("",), "the list has no such account"),
        ({}, (), "standard input ends before an answer to: Which of them?"),
    ],
)
def test_what_facebook_answers_is_said_and_nothing_is_stored(
    stack: Stack,
    user: UUID,
    facebook: Running,
    vendors: dict[str, str],
    state: Any,
    lines: tuple[str, ...],
    message: str,
) -> None:
    facebook.merge(state)
    refused = answer(stack, str(user), "Окна", TOKEN, *lines, vendors=vendors)
    assert refused.returncode == 1 and message in refused.stderr and TOKEN not in refused.stderr, refused.stderr
    assert stack.rows("select from user_accounts where user_id = %s", user) == []


def test_a_user_is_named_as_people_know_him(stack: Stack, vendors: dict[str, str]) -> None:
    """By the number of a Telegram chat, a name in the API or an email; nobody is made by a typing error."""
    named = {"telegram:4711": ("telegram", "4711"), "ann": ("api", "ann")}
    owners = {}
    for name, known in named.items():
        (row,) = stack.rows("select maas_resolve_user(%s, %s) as id", *known)
        owners[name] = row["id"]
    words = ("users", "add", "Bob@shop.example")
    created = run_maas(
        *words,
        environment=os.environ | {"DATABASE_URL": stack.dsn},
        folder=stack.folder,
        text="correct horse battery\n",
    )
    owners["bob@shop.example"] = UUID(created.stdout.strip())
    for name, owner in owners.items():
        connected = answer(
            stack,
            name,
            more=("--name", "Окна", "--fb", "act_1", "--token-env", "FB_TOKEN", "--no-sync"),
            vendors=vendors,
        )
        assert connected.returncode == 0, connected.stderr
        assert stack.rows("select from ad_accounts where user_id = %s", owner), name
    for name in ("telegram:4712", "anna", "bob@shop.test"):
        unknown = answer(stack, name, more=("--whatsapp", "main"), vendors=vendors)
        assert unknown.returncode == 1 and "there is no user" in unknown.stderr
