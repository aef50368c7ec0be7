"""Clients of OAuth whose id is the address of a document: it is read from its host, or refused for what it says."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from structlog.testing import capture_logs

from maas.http.app import LazyMount, create_app
from maas.http.auth.selection import open_authenticator
from maas.http.client_documents import ClientDocuments, get_client, is_document
from maas.settings import load_settings
from server import load_mcp
from shared.db import Database, open_database
from shared.errors import MaasError
from tests.flow.test_mcp_apps import Browser, Storage, connected
from tests.people import PASSWORD, new_email
from tests.polling import apoll
from tests.stack import free_port

LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1"))
CALLBACK = "http://127.0.0.1/callback"


@dataclass
class Site:
    """A host over TLS with one document; `reply` is what it answers, `asked` counts."""

    port: int
    trust: ssl.SSLContext
    reply: Callable[[], Response] = lambda: Response(status_code=404)
    asked: list[str] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"https://localhost:{self.port}/client.json"

    def says(self, **fields: Any) -> None:
        document = {"client_id": self.address, "client_name": "Editor", "redirect_uris": [CALLBACK]} | fields
        self.reply = lambda: JSONResponse(document)


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of localhost that signs itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return files


@asynccontextmanager
async def served(
    app: Any, port: int, closing: Callable[[], None] = lambda: None, **options: Any
) -> AsyncIterator[None]:
    """An application on a port of this machine; `closing` is called before it ends."""
    config = uvicorn.Config(app, port=port, log_config=None, timeout_graceful_shutdown=1, **options)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await apoll(lambda: server.started)
    try:
        yield
    finally:
        closing()
        server.should_exit = True
        await serving


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    certificate, key = write_certificate(tmp_path)
    site = Site(free_port(), ssl.create_default_context(cafile=certificate))

    def answer(request: Request) -> Response:
        site.asked.append(request.headers["host"])
        return site.reply()

    app = Starlette(routes=[Route("/{path:path}", answer)])
    async with served(app, site.port, ssl_certfile=str(certificate), ssl_keyfile=str(key)):
        yield site


async def refusal(db: Database, documents: ClientDocuments, client_id: str) -> str:
    with pytest.raises(MaasError) as raised:
        await get_client(db, documents, client_id)
    assert raised.value.code == "invalid_request"
    return raised.value.message


async def test_a_client_is_what_its_document_says(db: Database, site: Site) -> None:
    documents = ClientDocuments(LOOPBACK, site.trust)
    site.says(scope="read", logo_uri="https://a.example/logo.png")
    for _ in range(2):
        client = await get_client(db, documents, site.address)
        assert client is not None and (client.name, client.redirect_uris) == ("Editor", (CALLBACK,))
    assert site.asked == [f"localhost:{site.port}"]  # once


async def test_what_a_document_must_not_say(db: Database, site: Site) -> None:
    for fields, words in (
        ({"client_id": "https://other.example/client.json"}, "its own address"),
        ({"redirect_uris": []}, "redirect_uris"),
        ({"redirect_uris": [CALLBACK] * 11}, "redirect_uris"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "redirect_uris"),
        ({"redirect_uris": [7]}, "redirect_uris"),
        ({"client_name": 7}, "client_name"),
        ({"token_endpoint_auth_method": "client_secret_post"}, "token_endpoint_auth_method"),
        ({"client_secret": "x"}, "token_endpoint_auth_method"),
    ):
        site.says(**fields)
        assert words in await refusal(db, ClientDocuments(LOOPBACK, site.trust), site.address)
    replies: list[Callable[[], Response]] = [
        lambda: Response(status_code=500),
        lambda: RedirectResponse("https://localhost/client.json"),
        lambda: Response(b"{"),
        lambda: Response(b"[]"),
        lambda: Response(b"[" * 10_000),
        lambda: Response(b" " * 20_000),
        lambda: Response(b"\xff"),
    ]
    for reply in replies:
        site.reply = reply
        assert "cannot be used" in await refusal(db, ClientDocuments(LOOPBACK, site.trust), site.address)


async def test_nothing_inside_of_the_network_is_asked(db: Database, site: Site) -> None:
    site.says()
    with capture_logs() as lines:
        assert "not_public" in await refusal(db, ClientDocuments((), site.trust), site.address)
    assert "not_public" in str(lines)
    assert "ConnectError" in await refusal(db, ClientDocuments(LOOPBACK), site.address)  # an unknown certificate
    assert "unknown_host" in await refusal(db, ClientDocuments(), "https://nobody.invalid/client.json")
    assert site.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "https://app.example",
        "https://app.example/",
        "https://ann@app.example/client.json",
        "https://APP.example/client.json",
        "https://app.example/client.json#me",
        "https://app.example/a/../client.json",
        "https://app.example/./client.json",
        "https://app.example/client json",
        "https://äpp.example/client.json",
        "https://app.example/" + "x" * 500,
    ],
)
async def test_an_address_of_another_kind_is_not_asked(db: Database, address: str) -> None:
    assert is_document(address)
    assert "client_id" in await refusal(db, ClientDocuments(LOOPBACK), address)


async def test_the_official_client_signs_in_by_its_document(database: str, site: Site) -> None:
    site.says(client_name="SDK", redirect_uris=[CALLBACK])
    settings = load_settings(auth="local")
    port, email, storage = free_port(), new_email(), Storage()
    async with open_database(database, 4, "test") as db, open_authenticator(db, settings) as authenticator:
        documents = ClientDocuments(LOOPBACK, site.trust)
        app = create_app(db, database, settings, authenticator, client_documents=documents)
        app.router.routes.append(Route("/mcp", LazyMount(load_mcp), methods=["POST"]))
        async with served(app, port, closing=lambda: app.state.maas.run_watcher.close()):
            account = {"email": email, "password": PASSWORD}
            async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as http:
                assert (await http.post("/auth/v1/signup", json=account)).status_code == 200
            browser = Browser(email)
            async with connected(port, browser, storage, site.address) as client:
                assert (await client.list_tools()).tools
    (shown,) = browser.shown
    assert (shown["name"], shown["document_host"]) == ("SDK", f"localhost:{site.port}")
    assert storage.client is not None and storage.client.client_id == site.address
