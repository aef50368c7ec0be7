"""Webhooks without a database: signatures, and addresses that are not connected to."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import threading
import time
from collections.abc import Iterator
from http.server import HTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from maas.webhooks.signatures import sign
from shared.pinned_requests import AddressRefused, PinnedRequests
from shared.public_addresses import is_public, to_networks

PRIVATE = (
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "240.0.0.1", "198.18.0.1", "::", "::1", "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "64:ff9b::a9fe:a9fe", "2001:0:4136:e378:8000:63bf:80ff:fffe",
)  # fmt: skip


def secret() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


@given(st.text())
def test_the_package_of_the_standard_verifies_what_we_sign(text: str) -> None:
    """With the new secret and with the former one; with no other."""
    new, former = secret(), secret()
    body, now = text.encode(errors="replace"), int(time.time())
    headers = sign([new, former], "msg_1", now, body)
    for valid in (new, former):
        Webhook(valid).verify(body, headers, json_parse=False)
    for one, sent, changed in (
        (secret(), body, headers),
        (new, body + b" ", headers),
        (new, body, headers | {"webhook-id": "msg_2"}),
        (new, body, headers | {"webhook-timestamp": str(now - 1)}),
        (new, body, sign([new], "msg_1", now - 600, body)),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(one).verify(sent, changed, json_parse=False)


def test_the_receiver_of_the_documents(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It takes what is signed, prints an event that arrives twice once, and refuses another signature."""
    page = (Path(__file__).parents[2] / "docs/webhooks.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    parts: dict[str, Any] = {"__name__": "receiver"}
    exec(compile(code, "docs/webhooks.md", "exec"), parts)
    monkeypatch.setenv("MAAS_WEBHOOK_SECRET", own := secret())
    with HTTPServer(("127.0.0.1", 0), parts["Receiver"]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        body = b'{"type": "run.failed", "data": {"run_id": "1"}}'
        statuses = [
            httpx2.post(
                f"http://127.0.0.1:{server.server_port}/",
                content=body,
                headers=sign([key], "msg_1", int(time.time()), body),
                trust_env=False,
            ).status_code
            for key in (own, own, secret())
        ]
        server.shutdown()
    assert statuses == [204, 204, 400]
    assert capsys.readouterr().out == "run.failed {'run_id': '1'}\n"


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111"])
def test_what_is_public(address: str) -> None:
    assert is_public(ip_address(address))


def build(url: str, networks: tuple[str, ...] = ()) -> httpx2.Request:
    async def _build() -> httpx2.Request:
        requests = PinnedRequests(to_networks(networks))
        try:
            async with httpx2.AsyncClient() as http:
                return await requests.build(http, url, b"{}", {"webhook-id": "x"})
        finally:
            requests.close()

    return asyncio.run(_build())


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[list[str]]]]:
    """What a name server says at each look-up, by name; the last answer is repeated."""
    answers: dict[str, list[list[str]]] = {}

    def look_up(host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        found = answers[host]
        addresses = found.pop(0) if len(found) > 1 else found[0]
        return [(0, 0, 0, "", (address, port)) for address in addresses]

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    yield answers


def test_a_request_goes_to_the_address_that_was_checked(names: dict[str, list[list[str]]]) -> None:
    """A name that has another address at the second look leads nowhere else."""
    names["hooks.example"] = [["93.184.216.34"], ["169.254.169.254"]]
    request = build("https://hooks.example:8443/a?b=c")
    assert str(request.url) == "https://93.184.216.34:8443/a?b=c"
    assert request.headers["host"] == "hooks.example:8443"
    assert request.extensions["sni_hostname"] == "hooks.example"
    with pytest.raises(AddressRefused, match="not_public"):
        build("https://hooks.example/")


@pytest.mark.parametrize("found", [["10.0.0.1"], ["93.184.216.34", "10.0.0.1"], ["::ffff:127.0.0.1"], []])
def test_a_name_with_a_private_address_is_refused(names: dict[str, list[list[str]]], found: list[str]) -> None:
    names["hooks.example"] = [found]
    with pytest.raises(AddressRefused, match="not_public"):
        build("https://hooks.example/")


def test_networks_that_an_operator_names(names: dict[str, list[list[str]]]) -> None:
    """They alone are reached by plain HTTP."""
    names["inner.example"], names["hooks.example"] = [["10.0.0.7"]], [["93.184.216.34"]]
    assert str(build("http://inner.example/", ("10.0.0.0/8",)).url) == "http://10.0.0.7/"
    with pytest.raises(AddressRefused, match="not_https"):
        build("http://hooks.example/", ("10.0.0.0/8",))


@pytest.mark.parametrize(
    "url", ["https://2130706433/", "https://0x7f.1/", "https://[::1]/", "https://127.0.0.1:99999/"]
)
def test_other_spellings_of_this_machine(url: str) -> None:
    with pytest.raises((AddressRefused, httpx2.InvalidURL)):
        build(url)
