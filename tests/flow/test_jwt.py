"""MAAS_AUTH=jwt: tokens of an identity provider, over HTTP and by a real JWKS server."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any
from uuid import UUID, uuid4

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pytest_httpserver import HTTPServer
from starlette.requests import Request

from maas.http.auth import KeyAuthenticator, Principal, Unauthenticated
from maas.http.auth.jwt import JWKS_MIN_INTERVAL_S, JWKS_TTL_S, JwksCache, JwtAuthenticator, SharedSecret, SigningKeys
from maas.settings import load_settings
from maas.users import NewKey, create_key
from shared.bounded_http import MAX_KEY_SET_BYTES, open_bounded
from shared.db import open_database
from tests.polling import apoll, poll
from tests.stack import Stack

SECRET = "a secret of thirty-two bytes or more"
RSA = rsa.generate_private_key(65537, 2048)
EC = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that believes tokens of one secret, and nobody who answers."""
    folder = tmp_path_factory.mktemp("stack")
    with Stack(fresh_database, folder, MAAS_AUTH="jwt", MAAS_JWT_SECRET=SECRET) as running:
        running.start_server()
        yield running


def supabase(user: UUID | str, **claims: Any) -> dict[str, Any]:
    """What Supabase puts into the token of a user who has logged in."""
    now = int(time.time())
    return {
        "iss": "https://project.supabase.co/auth/v1",
        "sub": str(user),
        "aud": "authenticated",
        "exp": now + 3600,
        "iat": now,
        "email": "ann@example.org",
        "phone": "",
        "role": "authenticated",
        "aal": "aal1",
        "app_metadata": {"provider": "email", "providers": ["email"]},
        "user_metadata": {},
        "is_anonymous": False,
        "amr": [{"method": "password", "timestamp": now}],
        "session_id": str(uuid4()),
    } | claims


def project_key(role: str) -> dict[str, Any]:
    """What a Supabase project's own keys hold."""
    now = int(time.time())
    return {"iss": "supabase", "ref": "abcdefghijklmnopqrst", "role": role, "iat": now, "exp": now + 315_360_000}


def signed(claims: Mapping[str, Any], secret: str = SECRET) -> dict[str, str]:
    return {"authorization": f"Bearer {jwt.encode(dict(claims), secret, 'HS256')}"}


def get(stack: Stack, path: str, headers: dict[str, str], **params: str) -> int:
    return stack.client.get(path, headers=headers, params=params).status_code


def test_a_user_of_supabase_has_their_own_memory(stack: Stack) -> None:
    """`sub` is the user_id, whatever else the token says."""
    user, other = uuid4(), uuid4()
    mine = signed(supabase(user))
    body = {"user_id": str(user), "query": "hello"}
    posted = stack.client.post("/v1/runs", json=body, headers=mine)
    assert posted.status_code == 202
    run = posted.json()["poll_url"]
    assert (get(stack, run, mine), get(stack, run, signed(supabase(other)))) == (200, 404)
    assert stack.client.post("/v1/runs", json=body | {"user_id": str(other)}, headers=mine).status_code == 404
    assert get(stack, "/v1/memories", mine, user_id=str(other)) == 404
    assert (get(stack, f"{run}/trace", mine), get(stack, "/metrics", mine)) == (403, 403)
    assert get(stack, "/v1/runs", signed(supabase(user, role="editor"))) == 200
    del (without := supabase(user))["role"]
    assert get(stack, "/v1/runs", signed(without)) == 200


def test_keys_of_the_project(stack: Stack) -> None:
    """service_role is an admin who is bound to nobody; anon is nobody."""
    assert get(stack, "/v1/runs", signed(project_key("service_role")), status="NEW") == 200
    assert get(stack, "/metrics", signed(project_key("service_role"))) == 200
    assert get(stack, "/v1/runs", signed(project_key("anon")), status="NEW") == 401


def test_a_user_who_is_an_admin(stack: Stack) -> None:
    """A row of user_roles is in force, and out of it, within a second."""
    user, anybody = uuid4(), str(uuid4())
    token = signed(supabase(user))
    assert get(stack, "/v1/memories", token, user_id=anybody) == 404
    stack.rows("insert into user_roles (user_id, role) values (%s, 'admin')", user)
    poll(lambda: get(stack, "/v1/memories", token, user_id=anybody) == 200, what="the user is an admin")
    assert get(stack, "/v1/memories", token, user_id=str(user)) == 200
    seen = stack.rows("select user_id from v_audit where action = 'user_access' and actor = %s", f"jwt:{user}")
    assert [str(row["user_id"]) for row in seen] == [anybody]  # what is their own is nobody else's
    stack.rows("delete from user_roles where user_id = %s", user)
    poll(lambda: get(stack, "/v1/memories", token, user_id=anybody) == 404, what="the user is none any more")


def test_a_subject_that_is_no_uuid_is_refused(stack: Stack) -> None:
    for subject in ("ann@example.org", "", "7"):
        reply = stack.client.get("/v1/runs", headers=signed(supabase(subject)))
        assert reply.status_code == 401 and "`sub` must be a UUID" in reply.json()["error"]["message"]


def tampered(user: UUID) -> str:
    header, _, signature = jwt.encode(supabase(uuid4()), SECRET, "HS256").split(".")
    return f"{header}.{jwt.encode(supabase(user), 'x' * 32, 'HS256').split('.')[1]}.{signature}"


def test_what_is_no_valid_token_gets_one_answer(stack: Stack) -> None:
    user, now = uuid4(), int(time.time())
    claims = supabase(user)
    without_end = {name: value for name, value in claims.items() if name != "exp"}
    tokens = [
        jwt.encode(claims, "", "none"),
        jwt.encode(claims, "another secret of thirty-two bytes", "HS256"),
        jwt.encode(claims, SECRET * 2, "HS512"),
        jwt.encode(claims, RSA, "RS256"),
        jwt.encode(supabase(user, exp=now - 60), SECRET, "HS256"),
        jwt.encode(supabase(user, nbf=now + 3600), SECRET, "HS256"),
        jwt.encode(supabase(user, exp="never"), SECRET, "HS256"),
        jwt.encode(without_end, SECRET, "HS256"),
        tampered(user),
        "a.b.c",
        "...",
        "eyJhbGciOiJub25lIn0.e30.",
        SECRET,
    ]
    plain = stack.client.get("/v1/runs")
    assert plain.status_code == 401
    for token in tokens:
        reply = stack.client.get("/v1/runs", headers={"authorization": f"Bearer {token}"})
        assert (reply.status_code, reply.content) == (401, plain.content), token
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert token not in stack.log()


def test_clocks_may_differ_a_little(stack: Stack) -> None:
    assert get(stack, "/v1/runs", signed(supabase(uuid4(), exp=int(time.time()) - 3))) == 200


def test_keys_work_beside_tokens(stack: Stack) -> None:
    async def create() -> str:
        async with open_database(stack.dsn, 2, "test") as db:
            return await create_key(db, NewKey("prometheus", ("metrics",)), "test")

    key = asyncio.run(create())
    assert get(stack, "/metrics", {"authorization": f"Bearer {key}"}) == 200
    assert get(stack, "/metrics", {"x-api-key": f"{key[:-1]}x"}) == 401


def test_a_server_reads_the_keys_of_its_provider(fresh_database: str, stack: Stack, httpserver: HTTPServer) -> None:
    """The whole way: settings, process, JWKS, a token that is signed by ES256."""
    serve(httpserver, {"one": EC})
    issuer = "https://accounts.example"
    names = {"MAAS_JWKS_URL": httpserver.url_for("/jwks"), "MAAS_JWT_ISSUER": issuer}
    with Stack(fresh_database, stack.folder, MAAS_AUTH="jwt", **names) as running:
        running.start_server()
        for key, status in ((EC, 200), (ec.generate_private_key(ec.SECP256R1()), 401)):
            token = jwt.encode(supabase(uuid4(), iss=issuer), key, "ES256", {"kid": "one"})
            assert get(running, "/v1/runs", {"authorization": f"Bearer {token}"}) == status
        refused = running.client.post("/mcp", json={})
        shown = re.fullmatch(r'Bearer realm="maas", resource_metadata="(.+)"', refused.headers["www-authenticate"])
        assert refused.status_code == 401 and shown is not None
        metadata = running.client.get(shown[1]).json()
        assert metadata["authorization_servers"] == [issuer]
        assert metadata["resource"] == str(running.client.base_url.join("/mcp"))


def test_a_server_that_names_no_issuer_has_no_metadata(stack: Stack) -> None:
    assert stack.client.get("/.well-known/oauth-protected-resource/mcp").status_code == 404
    assert stack.client.post("/mcp", json={}).headers["www-authenticate"] == 'Bearer realm="maas"'


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def serve(server: HTTPServer, keys: Mapping[str, Any], *more: dict[str, Any]) -> None:
    """Let the JWKS server hold these, and count from anew who reads them."""
    server.clear()
    public = []
    for name, key in keys.items():
        kind = jwt.get_algorithm_by_name("RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256")
        public.append(json.loads(kind.to_jwk(key.public_key())) | {"kid": name})
    server.expect_request("/jwks").respond_with_json({"keys": [*public, *more]})


Show = Callable[[str], Awaitable[Principal]]


def with_authenticator(
    dsn: str,
    work: Callable[[Show], Awaitable[None]],
    signing_keys: Callable[[httpx2.AsyncClient], SigningKeys],
    **settings: Any,
) -> None:
    """Run `work` with a function that sends a token to an authenticator."""

    async def run() -> None:
        async with (
            open_database(dsn, 2, "test") as db,
            open_bounded(MAX_KEY_SET_BYTES, trust_env=False, verify=False) as client,
            asyncio.TaskGroup() as group,
        ):
            secret = {} if "jwks_url" in settings else {"jwt_secret": SECRET}
            found = load_settings(auth="jwt", **settings | secret)
            authenticator = JwtAuthenticator(db, found.access, signing_keys(client), KeyAuthenticator(db, group))

            async def show(token: str) -> Principal:
                headers = [(b"authorization", b"Bearer " + token.encode())]
                return await authenticator.authenticate(Request({"type": "http", "headers": headers}))

            await work(show)

    asyncio.run(run())


async def refused(show: Show, token: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await show(token)
    return caught.value.cause


async def is_refused(show: Show, token: str) -> bool:
    try:
        await show(token)
    except Unauthenticated:
        return True
    return False


def test_audience_and_issuer(fresh_database: str) -> None:
    user = uuid4()
    token = jwt.encode(supabase(user), SECRET, "HS256")

    def expect(cause: str | None, **settings: str) -> None:
        async def work(show: Show) -> None:
            if cause is None:
                assert (await show(token)).user_id == user
            else:
                assert await refused(show, token) == cause

        with_authenticator(fresh_database, work, lambda _: SharedSecret(SECRET), **settings)

    expect(None, jwt_audience="authenticated", jwt_issuer="https://project.supabase.co/auth/v1")
    expect("claims", jwt_audience="another")
    expect("claims", jwt_issuer="https://another.supabase.co/auth/v1")


def test_keys_rotate(fresh_database: str, httpserver: HTTPServer) -> None:
    """A new key is found when a token names it, an old one is forgotten, a provider that is silent changes nothing."""
    clock, url, after = Clock(), httpserver.url_for("/jwks"), rsa.generate_private_key(65537, 2048)
    old, new = (
        jwt.encode(supabase(uuid4()), key, "RS256", {"kid": kid}) for kid, key in (("old", RSA), ("new", after))
    )

    async def work(show: Show) -> None:
        serve(httpserver, {"old": RSA})
        await asyncio.gather(*(show(old) for _ in range(20)))
        assert len(httpserver.log) == 1
        serve(httpserver, {"old": RSA, "new": after})
        assert await refused(show, new) == "unknown"  # read a moment ago: strangers must not make us ask each time
        assert len(httpserver.log) == 0
        clock.now += JWKS_MIN_INTERVAL_S
        await show(new)
        assert len(httpserver.log) == 1
        clock.now += JWKS_MIN_INTERVAL_S
        for name in ("no", "such", "keys"):
            stranger = jwt.encode(supabase(uuid4()), after, "RS256", {"kid": name})
            assert await refused(show, stranger) == "unknown"
        assert len(httpserver.log) == 2
        httpserver.clear()
        httpserver.expect_request("/jwks").respond_with_data("out of order", status=503)
        clock.now += JWKS_TTL_S
        await show(old)
        await show(new)
        serve(httpserver, {"new": after})
        clock.now += JWKS_TTL_S
        await show(new)
        await apoll(lambda: httpserver.log, what="the keys are read again")
        await apoll(lambda: is_refused(show, old), what="the old key is forgotten")

    with_authenticator(fresh_database, work, lambda client: JwksCache(url, client, clock), jwks_url=url)


def test_nonsense_for_keys_is_no_keys(fresh_database: str, httpserver: HTTPServer) -> None:
    """What was read last stays, and nobody gets an error of ours."""
    clock, url = Clock(), httpserver.url_for("/jwks")
    token = jwt.encode(supabase(uuid4()), RSA, "RS256", {"kid": "one"})
    stranger = jwt.encode(supabase(uuid4()), RSA, "RS256", {"kid": "two"})

    async def work(show: Show) -> None:
        for body in ("", "<html>", "{}", "[]", "7", '{"keys": 5}', '{"keys": [5]}', '{"keys": {"a": 1}}'):
            httpserver.clear()
            httpserver.expect_request("/jwks").respond_with_data(body)
            clock.now += JWKS_MIN_INTERVAL_S
            assert await refused(show, stranger) == "unknown"
            assert len(httpserver.log) == 1
        broken: list[dict[str, Any]] = [
            {"kty": "RSA", "kid": "two", "n": "!", "e": "AQAB"},
            {"kty": "EC", "kid": "two"},
            {"kty": "EC", "crv": 5},
        ]
        serve(httpserver, {"one": RSA}, *broken)
        clock.now += JWKS_MIN_INTERVAL_S
        await show(token)
        httpserver.clear()
        clock.now += JWKS_MIN_INTERVAL_S
        assert await refused(show, stranger) == "unknown"
        await show(token)

    with_authenticator(fresh_database, work, lambda client: JwksCache(url, client, clock), jwks_url=url)


def test_the_kind_of_key_pins_the_algorithm(fresh_database: str, httpserver: HTTPServer) -> None:
    """A public key is no secret, a secret in a JWKS is no key, and a token says nothing about its own algorithm."""
    url = httpserver.url_for("/jwks")
    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    shared = {"kty": "oct", "kid": "shared", "alg": "HS256", "k": "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyBvciBtb3Jl"}
    unknown = {"kty": "new", "kid": "unknown"}
    serve(httpserver, {"rsa": RSA, "ec": EC}, shared, unknown)
    claims = supabase(uuid4())
    header, payload, _ = jwt.encode(claims, SECRET, "HS256", {"kid": "rsa"}).split(".")
    seal = hmac.new(pem, f"{header}.{payload}".encode(), hashlib.sha256).digest()
    forged = f"{header}.{payload}.{base64.urlsafe_b64encode(seal).rstrip(b'=').decode()}"

    async def work(show: Show) -> None:
        assert await show(jwt.encode(claims, RSA, "RS256", {"kid": "rsa"}))
        assert await show(jwt.encode(claims, EC, "ES256", {"kid": "ec"}))
        assert await refused(show, forged) == "malformed"
        assert await refused(show, jwt.encode(claims, RSA, "RS512", {"kid": "rsa"})) == "malformed"
        assert await refused(show, jwt.encode(claims, EC, "ES256", {"kid": "rsa"})) == "malformed"
        assert await refused(show, jwt.encode(claims, SECRET, "HS256", {"kid": "shared"})) == "unknown"
        assert await refused(show, jwt.encode(claims, RSA, "RS256")) == "unknown"
        assert await refused(show, jwt.encode(claims, "", "none", {"kid": "rsa"})) == "malformed"

    with_authenticator(fresh_database, work, lambda client: JwksCache(url, client), jwks_url=url)
