"""`maas ads account`: tokens are tried, stored as secrets and never shown; bad input stores nothing."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest

from tests.assistants.ads.shop import CRM_TOKEN, TOKEN
from tests.stack import Stack, maas
from tests.standins.running import Running


@pytest.fixture
def vendors(facebook: Running, crm: Running) -> dict[str, str]:
    return {
        "FB_BASE_URL": facebook.url,
        "FB_TOKEN": TOKEN,
        "CRM_TOKEN": CRM_TOKEN,
        "BAD_TOKEN": "EAABunknown0123456789",
    }


def words(user: UUID, *more: str) -> tuple[str, ...]:
    return ("ads", "account", "add", "--user", str(user), "--name", "Окна", *more)


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
        ("--fb", "act_77", "--token-env", "FB_TOKEN"),
        ("--crm-token-env", "CRM_TOKEN"),
        ("--whatsapp", "../x"),
    ],
)
def test_bad_input_stores_nothing(stack: Stack, user: UUID, vendors: dict[str, str], more: tuple[str, ...]) -> None:
    refused = maas(stack, *words(user, *more), **vendors)
    assert refused.returncode == 1 and "Traceback" not in refused.stderr and TOKEN not in refused.stderr
    assert stack.rows("select from user_accounts where user_id = %s", user) == []
    assert stack.rows("select from user_secrets where user_id = %s", user) == []
