"""/v1/users/{id}/ads: a business is connected over HTTP, each service answers first, and no token comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from psycopg import errors

from tests.assistants.ads.shop import AMOCRM, CRM_TOKEN, FACEBOOK, TOKEN
from tests.flow.test_access import bearer, new_key
from tests.polling import poll
from tests.stack import Stack
from tests.standins.running import Running, standin

WHATSAPP_KEY = "evolutionkey0123456789"
WHATSAPP: dict[str, Any] = {
    "api_key": WHATSAPP_KEY,
    "instances": {"sales": {"state": "open"}, "warehouse": {"state": "close"}},
}
BAD_TOKEN = "EAABunknown0123456789"


@pytest.fixture(scope="module")
def services() -> Iterator[tuple[Running, Running, Running]]:
    with (
        standin("facebook", FACEBOOK) as facebook,
        standin("amocrm", AMOCRM) as crm,
        standin("evolution", WHATSAPP) as whatsapp,
    ):
        yield facebook, crm, whatsapp


@pytest.fixture(scope="module")
def stack(
    fresh_database: str, tmp_path_factory: pytest.TempPathFactory, services: tuple[Running, Running, Running]
) -> Iterator[Stack]:
    facebook, crm, whatsapp = services
    urls = {"FB_BASE_URL": facebook.url, "AMOCRM_BASE_URL": crm.url, "EVOLUTION_BASE_URL": whatsapp.url}
    urls |= {"EVOLUTION_API_KEY": WHATSAPP_KEY}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="keys", **urls) as running:
        running.start_server()
        yield running


@pytest.fixture(autouse=True)
def facebook(services: tuple[Running, Running, Running]) -> Running:
    for one in services:
        one.reset()
    return services[0]


@pytest.fixture
def crm(services: tuple[Running, Running, Running]) -> Running:
    return services[1]


class Person:
    """A caller, by a key of their own."""

    def __init__(self, stack: Stack, user: UUID, key: str) -> None:
        self.stack, self.user, self.key = stack, user, key

    def get(self, user: UUID | None = None) -> Any:
        reply = self.stack.client.get(f"/v1/users/{user or self.user}/ads", headers=bearer(self.key))
        assert reply.status_code == 200, reply.text
        return reply.json()

    def post(self, what: str, user: UUID | None = None, **body: Any) -> httpx2.Response:
        path = f"/v1/users/{user or self.user}/ads/{what}"
        reply = self.stack.client.post(path, json=body, headers=bearer(self.key))
        for secret in (TOKEN, CRM_TOKEN, BAD_TOKEN, WHATSAPP_KEY):
            assert secret not in reply.text
        return reply

    def stored(self) -> int:
        tables = ("user_accounts", "ad_accounts", "crm_integration", "whatsapp_integration", "user_secrets")
        query = " + ".join(f"(select count(*) from {one} where user_id = %(user)s)" for one in tables)
        connection = self.stack.rows(f"select {query.replace('%(user)s', '%s')} as n", *([self.user] * len(tables)))
        return int(connection[0]["n"])


@pytest.fixture
def ann(stack: Stack, user: UUID) -> Person:
    return Person(stack, user, new_key(stack, ("ask", "read"), user))


@pytest.fixture
def operator(stack: Stack, user: UUID) -> Person:
    return Person(stack, user, new_key(stack, ("admin",)))


def test_a_token_is_tried_and_nothing_is_stored(ann: Person, facebook: Running, crm: Running) -> None:
    facebook.merge({"permissions": {"leads_retrieval": "declined"}, "token_ends": {TOKEN: 1_796_083_200}})
    found = ann.post("check", facebook={"token": TOKEN}).json()["facebook"]
    assert [one["id"] for one in found["accounts"]] == ["act_1", "act_2", "act_3", "act_9"]
    assert found["accounts"][1] | {"can_run_ads": None} == {
        "id": "act_2",
        "name": "Йены",
        "currency": "JPY",
        "timezone": "Asia/Tokyo",
        "can_run_ads": None,
    }
    assert found["missing_permissions"] == ["leads_retrieval"] and found["permissions_unknown"] is None
    assert found["token_ends_at"] == "2026-12-01T00:00:00Z"
    answer = ann.post("check", crm={"url": crm.url, "token": CRM_TOKEN}).json()
    crm_answer = {"stages": 5, "currency": "USD", "token_ends_at": None}
    assert answer == {"facebook": None, "crm": crm_answer, "whatsapp": None}
    assert ann.stored() == 0 and ann.get()["businesses"] == []


@pytest.mark.parametrize(
    ("what", "body", "status", "said"),
    [
        ("check", {"facebook": {"token": BAD_TOKEN}}, 400, "does not accept the access token"),
        ("check", {"facebook": {"token": TOKEN}, "crm": {"url": "https://a.amocrm.ru", "token": TOKEN}}, 422, "one of"),
        ("check", {}, 422, "facebook or crm or whatsapp"),
        ("check", {"whatsapp": {"instance": "sales"}}, 403, "administrator"),
        ("check", {"facebook": {"token": "short"}}, 422, "facebook.token"),
        ("check", {"facebook": {"token": f"{BAD_TOKEN}\n{BAD_TOKEN}"}}, 400, "nothing was stored"),
        ("connections", {"business": "Окна"}, 422, "facebook, crm or whatsapp"),
        ("connections", {"business": " ", "whatsapp": {"instance": "sales"}}, 422, "blank"),
        ("connections", {"business": "Окна", "facebook": {"token": TOKEN, "accounts": []}}, 422, "accounts"),
        ("connections", {"business": "Окна", "facebook": {"token": TOKEN, "accounts": ["act_77"]}}, 400, "act_77"),
        ("connections", {"business": "Окна", "facebook": {"token": BAD_TOKEN, "accounts": ["act_1"]}}, 400, "token"),
        ("connections", {"business": "Окна", "whatsapp": {"instance": "../x"}}, 422, "instance"),
        ("connections", {"business": "Окна", "whatsapp": {"instance": "sales"}}, 403, "administrator"),
    ],
)
def test_what_is_wrong_is_said_and_stores_nothing(
    ann: Person, what: str, body: dict[str, Any], status: int, said: str
) -> None:
    reply = ann.post(what, **body)
    assert reply.status_code == status and said in reply.text, reply.text
    assert ann.stored() == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://169.254.169.254",
        "https://127.0.0.1",
        "http://shop.amocrm.ru",
        "https://shop.amocrm.ru.evil.example",
        "https://evil.example#.amocrm.ru",
        "https://user@evil.example",
        "https://shop.amocrm.ru:8443",
        "https://shop.amocrm.ru@evil.example",
        "https://шоп.amocrm.ru",
    ],
)
def test_the_server_asks_no_other_host_for_anybody(ann: Person, operator: Person, url: str) -> None:
    """Neither for an operator: what is on a server of one's own is connected by the command."""
    for caller in (ann, operator):
        more: tuple[tuple[str, dict[str, Any]], ...] = (("check", {}), ("connections", {"business": "Окна"}))
        for what, body in more:
            reply = caller.post(what, **body, crm={"url": url, "token": CRM_TOKEN})
            assert reply.status_code in (400, 422) and "crm.url" in reply.text, (url, reply.text)
    assert ann.stored() == 0


def test_a_service_that_is_away_is_no_bad_token(user: UUID, database: str, tmp_path: Path) -> None:
    """Stacks have an address of Facebook that leads nowhere."""
    with Stack(database, tmp_path) as alone:
        alone.start_server()
        reply = alone.client.post(f"/v1/users/{user}/ads/check", json={"facebook": {"token": BAD_TOKEN}})
    assert (reply.status_code, reply.json()["error"]["code"], reply.headers["Retry-After"]) == (503, "busy", "10")
    assert "nothing was stored: Facebook cannot be reached" in reply.json()["error"]["message"]


def test_the_whatsapp_server_is_asked_at_once(operator: Person, services: tuple[Running, ...]) -> None:
    """Its words where it knows no such instance; whether a telephone is linked; without an answer nothing is stored."""
    whatsapp = services[2]
    for instance, state in (("sales", "open"), ("warehouse", "close")):
        found = operator.post("check", whatsapp={"instance": instance}).json()
        assert found["whatsapp"] == {"state": state, "is_linked": state == "open"}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (("check", {}), ("connections", {"business": "Окна"}))
    for what, more in calls:
        reply = operator.post(what, whatsapp={"instance": "bakery"}, **more)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_parameter")
        assert "nothing was stored: WhatsApp" in reply.text and "bakery" in reply.text, reply.text
    whatsapp.fault("status", path="/instance/connectionState", status=503, times=99)
    reply = operator.post("connections", business="Окна", whatsapp={"instance": "sales"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "busy") and operator.stored() == 0
    whatsapp.clear_faults()
    assert operator.post("connections", business="Окна", whatsapp={"instance": "warehouse"}).status_code == 201


def test_without_a_key_the_whatsapp_server_is_not_asked(user: UUID, database: str, tmp_path: Path) -> None:
    """Orchestrators have it: what they read stands beside the connection."""
    with Stack(database, tmp_path, EVOLUTION_BASE_URL="http://127.0.0.1:9", EVOLUTION_API_KEY="") as alone:
        alone.start_server()
        path, whatsapp = f"/v1/users/{user}/ads", {"whatsapp": {"instance": "sales"}}
        checked = alone.client.post(f"{path}/check", json=whatsapp).json()
        assert checked["whatsapp"] == {"state": None, "is_linked": None}
        assert alone.client.post(f"{path}/connections", json=whatsapp | {"business": "Окна"}).status_code == 201


def test_both_services_answer_before_one_is_stored(ann: Person, crm: Running) -> None:
    facebook = {"token": TOKEN, "accounts": ["act_1"]}
    reply = ann.post("connections", business="Окна", facebook=facebook, crm={"url": crm.url, "token": BAD_TOKEN})
    assert reply.status_code == 400 and "amoCRM" in reply.text and ann.stored() == 0


def test_of_another_user_nothing_is_known_and_nothing_is_done(ann: Person, stack: Stack) -> None:
    other = uuid4()
    for what, body in (
        ("check", {"facebook": {"token": TOKEN}}),
        ("connections", {"business": "Окна", "facebook": {"token": TOKEN, "accounts": ["act_1"]}}),
        ("sync", {}),
    ):
        assert ann.post(what, other, **body).status_code == 404
    assert stack.client.get(f"/v1/users/{other}/ads", headers=bearer(ann.key)).status_code == 404
    assert stack.rows("select from user_accounts where user_id = %s", other) == []


def test_the_first_hour(ann: Person, operator: Person, crm: Running, services: tuple[Running, ...]) -> None:
    """Connected by a person, the telephone by an operator; read by an orchestrator, with progress and with an error."""
    facebook, _, whatsapp = services
    accounts = {"token": TOKEN, "accounts": ["act_1", "act_2", "act_1"]}
    reply = ann.post("connections", business=" Ремонт ", facebook=accounts, crm={"url": crm.url, "token": CRM_TOKEN})
    assert reply.status_code == 201, reply.text
    state = reply.json()
    assert (state["crm_url"], state["whatsapp"]) == (crm.url, "administrators")
    (business,) = state["businesses"]
    assert business["name"] == "Ремонт" and business["missing"] == ["WhatsApp"]
    shown = [(one["service"], one["id"], one["title"], one["problems"]) for one in business["connections"]]
    assert shown == [
        ("Facebook", "act_1", "Окна", ["never_read"]),
        ("Facebook", "act_2", "Йены", ["never_read"]),
        ("amoCRM", business["id"], crm.url, ["never_read"]),
    ]
    assert all(one["is_waiting"] and not one["is_syncing"] for one in business["connections"])
    again = operator.post("connections", business="Ремонт", whatsapp={"instance": "sales"}).json()
    assert [one["id"] for one in again["businesses"]] == [business["id"]] and again["whatsapp"] == "open"
    facebook.fault("status", path="/act_2/campaigns", status=403, message="(#200) no permission", code=200, times=99)
    ann.stack.start_orchestrator(EVOLUTION_API_KEY=WHATSAPP_KEY, EVOLUTION_BASE_URL=whatsapp.url)

    def read() -> Any:
        found = {one["title"]: one for one in ann.get()["businesses"][0]["connections"]}
        ended = [one for one in found.values() if one["synced_at"] or one["error"]]
        return found if len(ended) == 4 and not any(one["is_syncing"] for one in ended) else None

    found = poll(read, 60, "all are read")
    assert found["Окна"]["problems"] == found[crm.url]["problems"] == found["sales"]["problems"] == []
    assert found["Окна"]["progress"]["ads"] >= 1 and found[crm.url]["progress"]["leads"] >= 1
    assert found["Йены"]["problems"] == ["failed", "never_read"] and "no permission" in found["Йены"]["error"]
    (business,) = ann.get()["businesses"]
    assert business["missing"] == ["directions", "stages"]
    assert not found["Окна"]["is_waiting"]
    facebook.clear_faults()
    assert ann.post("sync", business_id=str(uuid4())).status_code == 202
    assert ann.post("sync", business_id=business["id"]).status_code == 202
    poll(lambda: (now := read()) and not now["Йены"]["error"], 60, "it is read at once, whatever the interval")
    audit = ann.stack.rows("select actor, details from audit where user_id = %s and action = 'ads_connect'", ann.user)
    assert len(audit) == 4 and TOKEN not in str(audit)


def test_what_doctor_says_is_said(ann: Person, crm: Running) -> None:
    """A token that is gone, one that ends, data that is old."""
    accounts = {"token": TOKEN, "accounts": ["act_1"]}
    ann.post("connections", business="Окна", facebook=accounts, crm={"url": crm.url, "token": CRM_TOKEN})
    ann.stack.rows("delete from user_secrets where user_id = %s and name = 'facebook_1' returning name", ann.user)
    query = "update crm_integration set token_ends_at = now() + interval '{}', synced_at = now() - interval '2 days' "
    for wait, problem in (("3 days", "token_ends"), ("-3 days", "token_ended")):
        ann.stack.rows(query.replace("{}", wait) + "where user_id = %s returning 1", ann.user)
        facebook, amocrm = ann.get()["businesses"][0]["connections"]
        assert facebook["problems"] == ["no_token", "never_read"]
        assert amocrm["problems"] == [problem, "stale"]


def test_a_user_has_so_many_businesses_and_no_more(ann: Person) -> None:
    ann.stack.rows(
        "insert into user_accounts (user_id, name) select %s, 'b' || n from generate_series(1, 50) n returning 1",
        ann.user,
    )
    reply = ann.post("connections", business="Окна", facebook={"token": TOKEN, "accounts": ["act_1"]})
    assert reply.status_code == 403 and "at most 50 businesses" in reply.text
    assert ann.stack.rows("select from ad_accounts where user_id = %s", ann.user) == []


def test_the_server_sets_tokens_of_ads_and_no_other_secret(stack: Stack, user: UUID) -> None:
    with psycopg.connect(stack.dsn, autocommit=True) as connection:
        connection.execute("set role maas_server")
        with pytest.raises(errors.InvalidParameterValue):
            connection.execute("select maas.maas_set_ads_token(%s, 'github', '0123456789')", (user,))
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("select maas.maas_set_secret(%s, 'facebook_1', '0123456789')", (user,))
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("select value from maas.user_secrets")
