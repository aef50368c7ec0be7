"""The cookie mode of our own page: the refresh token is in a cookie that neither scripts nor other sites can use."""

from __future__ import annotations

from collections.abc import Iterator
from http.cookies import SimpleCookie

import httpx2
import pytest

from tests.people import COOKIE_MODE, PASSWORD, Person, new_email, post, refusal
from tests.stack import Stack

EVIL = "https://evil.example"
REFRESH = "token?grant_type=refresh_token"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that pages of another origin may call, too."""
    settings = {"MAAS_AUTH": "local", "MAAS_SIGN_IN_ADDRESS_RATE": "100000", "MAAS_CORS_ORIGINS": "https://app.example"}
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running:
        running.start_server()
        yield running


class Page:
    """Our own page in a browser; the cookie is sent by hand, as no test may depend on the client's rules."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.origin = f"http://127.0.0.1:{stack.port}"
        self.token = ""
        self.access_token = ""

    def post(self, path: str, body: object = None, **headers: str) -> httpx2.Response:
        cookie = {"cookie": f"maas_refresh={self.token}"} if self.token else {}
        sent = COOKIE_MODE | {"origin": self.origin} | cookie | headers
        url = f"/auth/v1/{path}"
        reply = self.stack.client.post(url, headers=sent) if body is None else post(self.stack, path, body, **sent)
        self.stack.client.cookies.clear()
        if (morsel := cookie_of(reply)) is not None:
            self.token = morsel
        if reply.status_code == 200:
            self.access_token = reply.json()["access_token"]
        return reply


@pytest.fixture
def page(stack: Stack) -> Page:
    """After a sign-up."""
    page = Page(stack)
    assert page.post("signup", {"email": new_email(), "password": PASSWORD}).status_code == 200
    return page


def cookie_of(reply: httpx2.Response) -> str | None:
    """The value that the browser stores; None if it keeps what it has."""
    cookies = cookies_of(reply)
    return cookies["maas_refresh"].value if "maas_refresh" in cookies else None


def cookies_of(reply: httpx2.Response) -> SimpleCookie:
    cookies = SimpleCookie()
    for header in reply.headers.get_list("set-cookie"):
        cookies.load(header)
    return cookies


def test_the_refresh_token_is_in_the_cookie_alone(stack: Stack) -> None:
    page, email = Page(stack), new_email()
    for path, body in (
        ("signup", {"email": email, "password": PASSWORD}),
        ("token?grant_type=password", {"email": email, "password": PASSWORD}),
        (REFRESH, None),
        (REFRESH, {}),
    ):
        before, reply = page.token, page.post(path, body)
        assert reply.status_code == 200 and reply.json()["refresh_token"] == "", path
        assert page.token not in ("", before) and page.token not in reply.text
        cookie = cookies_of(reply)["maas_refresh"]
        assert (cookie["path"], cookie["samesite"], cookie["max-age"]) == ("/auth/v1", "strict", str(30 * 86_400))
        assert cookie["httponly"] and not cookie["secure"] and not cookie["domain"]


@pytest.mark.parametrize("host", ["maas.example", "maas.example:8000", "127.0.0.1.evil.example", "192.0.2.7"])
def test_beyond_this_machine_the_cookie_needs_tls(stack: Stack, host: str) -> None:
    page = Page(stack)
    page.origin = f"https://{host}"
    reply = page.post("signup", {"email": new_email(), "password": PASSWORD}, host=host)
    assert reply.status_code == 200 and cookies_of(reply)["maas_refresh"]["secure"]
    assert page.post(REFRESH, host=host).status_code == 200


def test_a_page_that_came_over_plain_http_keeps_its_session(stack: Stack) -> None:
    """A browser would drop a cookie for TLS; one that was set over TLS is not replaced by such a page."""
    page, host = Page(stack), "maas.intern:8000"
    page.origin = f"http://{host}"
    reply = page.post("signup", {"email": new_email(), "password": PASSWORD}, host=host)
    assert reply.status_code == 200 and not cookies_of(reply)["maas_refresh"]["secure"]
    assert page.post(REFRESH, host=host).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": EVIL},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1"},
        {"origin": "http://[::1"},
        {"origin": "https://app.example"},
        {"origin": EVIL, "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_another_site_cannot_use_the_cookie(stack: Stack, page: Page, headers: dict[str, str]) -> None:
    """Not even one that CORS allows: nothing is rotated, nothing ended, no cookie set."""
    token = page.token
    for path in (REFRESH, "logout", "token?grant_type=password"):
        body = {"email": "a@b.c", "password": PASSWORD} if path.endswith("password") else None
        reply = page.post(path, body, **headers)
        assert refusal(reply) == (403, "bad_origin"), path
        assert "set-cookie" not in reply.headers
    assert page.token == token and page.post(REFRESH).status_code == 200


def test_a_form_of_another_site_has_no_header(stack: Stack, page: Page) -> None:
    """Without the header the cookie is not read; a page cannot set the header without CORS, nor read the answer."""
    cookie = {"cookie": f"maas_refresh={page.token}", "origin": page.origin}
    for headers in (cookie, cookie | {"x-maas-session": "yes"}):
        assert refusal(stack.client.post(f"/auth/v1/{REFRESH}", headers=headers)) == (400, "refresh_token_not_found")
        assert refusal(stack.client.post("/auth/v1/logout", headers=headers)) == (401, "no_authorization")
    preflight = stack.client.options(
        f"/auth/v1/{REFRESH}",
        headers={
            "origin": EVIL,
            "access-control-request-method": "POST",
            "access-control-request-headers": "x-maas-session",
        },
    )
    assert preflight.status_code == 400 and "access-control-allow-origin" not in preflight.headers
    allowed = page.post(REFRESH, origin="https://app.example")
    assert "access-control-allow-credentials" not in allowed.headers
    stack.client.cookies.clear()


def test_without_an_origin_the_cookie_is_not_read(stack: Stack, page: Page) -> None:
    """Browsers send it with every POST of a page."""
    headers = COOKIE_MODE | {"cookie": f"maas_refresh={page.token}"}
    assert refusal(stack.client.post(f"/auth/v1/{REFRESH}", headers=headers)) == (403, "bad_origin")


def test_the_browser_says_that_the_origin_is_the_same(page: Page) -> None:
    """Behind a proxy that changes the host."""
    reply = page.post(REFRESH, **{"origin": "https://maas.example", "sec-fetch-site": "same-origin"})
    assert reply.status_code == 200


def test_signing_out_clears_the_cookie(stack: Stack, page: Page) -> None:
    """With the access token, or by the cookie alone when that has expired; both tokens are refused afterwards."""
    token = page.token
    reply = page.post("logout?scope=local")
    cookie = cookies_of(reply)["maas_refresh"]
    assert reply.status_code == 204 and cookie["max-age"] == "0" and cookie["path"] == "/auth/v1" and cookie["httponly"]
    assert page.token == ""
    assert refusal(page.post(REFRESH)) == (400, "refresh_token_not_found")
    page.token = token
    assert refusal(page.post(REFRESH)) == (400, "refresh_token_not_found")
    assert page.post("logout").status_code == 204


def test_signing_out_with_the_access_token(page: Page) -> None:
    other, bearer = page.token, {"authorization": f"Bearer {page.access_token}"}
    reply = page.post("logout?scope=others", **bearer)
    assert reply.status_code == 204 and "set-cookie" not in reply.headers and page.token == other
    assert page.post(REFRESH).status_code == 200
    assert page.post("logout", **bearer).status_code == 204 and page.token == ""


def test_a_link_works_in_the_page(stack: Stack, page: Page) -> None:
    person = Person(stack)
    person.sign_up()
    stack.rows(
        """insert into auth_links (hash, kind, user_id, expires_at)
           values (sha256('a link'), 'recovery', %s, now() + interval '1 h')""",
        person.id,
    )
    reply = page.post("verify", {"type": "recovery", "token_hash": "a link"})
    assert reply.status_code == 200 and reply.json()["refresh_token"] == "" and reply.json()["user"]["id"] == person.id
    assert page.post(REFRESH).json()["user"]["id"] == person.id
