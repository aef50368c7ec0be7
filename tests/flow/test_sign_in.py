"""MAAS_AUTH=local: sign-up, sessions, passwords and administrators, over HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import jwt
import pytest

from tests.logins import login
from tests.people import PASSWORD, Person, new_email, post, refresh, refusal, signed_up
from tests.polling import poll
from tests.programs import run_maas
from tests.stack import Stack, maas

SECRET = "a secret of thirty-two bytes or more"


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server that owns no table, whose secret is in the database; all requests come from one address."""
    settings = {"MAAS_AUTH": "local", "MAAS_SIGN_IN_ADDRESS_RATE": "100000"}
    with (
        login(fresh_database, "maas_server") as address,
        Stack(fresh_database, tmp_path_factory.mktemp("stack"), **settings) as running,
    ):
        running.start_server(DATABASE_URL=address)
        yield running


@pytest.fixture
def ann(stack: Stack) -> Person:
    return signed_up(stack, name="Ann")


def test_a_session_opens_the_memory_of_its_user(stack: Stack, ann: Person) -> None:
    session, now = ann.session, time.time()
    assert session["token_type"] == "bearer" and session["expires_in"] == 900
    assert abs(session["expires_at"] - now - 900) < 30
    user = session["user"]
    assert (user["email"], user["user_metadata"], user["aud"], user["role"]) == (
        ann.email,
        {"name": "Ann"},
        "authenticated",
        "authenticated",
    )
    assert user["app_metadata"] == {"provider": "email", "providers": ["email"], "is_admin": False}
    posted = stack.client.post("/v1/runs", json={"user_id": ann.id, "query": "hello"}, headers=ann.headers)
    assert posted.status_code == 202
    other = {"user_id": str(uuid4()), "query": "hello"}
    assert stack.client.post("/v1/runs", json=other, headers=ann.headers).status_code == 404
    assert ann.get("/v1/caller").json()["user_id"] == ann.id
    assert ann.get().json()["id"] == ann.id
    claims = jwt.decode(session["access_token"], options={"verify_signature": False})
    assert claims["sub"] == ann.id and claims["email"] == ann.email and UUID(claims["session_id"])


def test_nothing_in_the_database_signs_in(stack: Stack, ann: Person) -> None:
    """Passwords and tokens are hashes, and no log line holds one, or the email."""
    tables = ("auth_users", "auth_sessions", "auth_refresh_tokens", "auth_links", "audit")
    text = "".join(str(stack.rows(f"select * from {table}")) for table in tables)
    for secret in (PASSWORD, ann.session["refresh_token"], ann.session["access_token"]):
        assert secret not in text and secret not in stack.log()
    assert ann.email not in stack.log()
    assert stack.rows("select password_hash from auth_users where user_id = %s", ann.id)[0]["password_hash"].startswith(
        "scrypt$32768$8$3$"
    )


def test_an_email_has_one_account_in_whatever_case(stack: Stack, ann: Person) -> None:
    twice = Person(stack, f" {ann.email.upper()}")
    assert refusal(twice.sign_up()) == (422, "user_already_exists")
    assert twice.sign_in().status_code == 200 and twice.id == ann.id


def test_an_unknown_email_is_refused_like_a_wrong_password(stack: Stack, ann: Person) -> None:
    """The same words, and a hash is computed for both."""
    wrong, unknown = ann.sign_in("another password"), Person(stack).sign_in()
    assert wrong.content == unknown.content and refusal(wrong) == (401, "invalid_credentials")

    def fastest(email: str) -> float:
        times = []
        for _ in range(3):
            began = time.perf_counter()
            assert post(stack, "token?grant_type=password", {"email": email, "password": "x"}).status_code == 401
            times.append(time.perf_counter() - began)
        return min(times)

    known_s, unknown_s = fastest(ann.email), fastest(new_email())
    assert unknown_s > 0.03 and known_s / 3 < unknown_s < known_s * 3


def test_keyboards_compose_letters_differently(stack: Stack) -> None:
    person = Person(stack, password="e\u0301te\u0301 \u00e0 Lisbonne")
    assert person.sign_up().status_code == 200
    assert person.sign_in("\u00e9t\u00e9 a\u0300 Lisbonne").status_code == 200


def test_a_refresh_token_is_replaced(stack: Stack, ann: Person) -> None:
    first = dict(ann.session)
    assert ann.refresh().status_code == 200
    assert ann.session["refresh_token"] != first["refresh_token"] and ann.id == first["user"]["id"]
    assert ann.get("/v1/caller").status_code == 200
    for token in ("x" * 43, first["access_token"], "", "\ud800"):
        assert refresh(stack, token).status_code == 400


def test_two_tabs_may_refresh_at_once(stack: Stack, ann: Person) -> None:
    """Each gets a token of its own; the session goes on with the one that is used first."""
    token = ann.session["refresh_token"]
    tabs = [refresh(stack, token) for _ in range(2)]
    assert [tab.status_code for tab in tabs] == [200, 200]
    first, second = (tab.json()["refresh_token"] for tab in tabs)
    assert first != second
    assert refresh(stack, first).status_code == 200
    assert refresh(stack, second).status_code == 200  # still at the same moment


def is_refused(person: Person) -> bool:
    return person.get("/v1/caller").status_code == 401


def age(stack: Stack, person: Person, seconds: float) -> None:
    """Let time go by for the sessions of a person."""
    stack.rows(
        """update auth_sessions set rotated_at = rotated_at - make_interval(secs => %s),
           created_at = created_at - make_interval(secs => %s) where user_id = %s""",
        seconds,
        seconds,
        person.id,
    )


def test_a_stolen_token_ends_the_session(stack: Stack, ann: Person) -> None:
    """Whoever uses it second, thief or owner: both are out, and the access tokens, too. Other sessions go on."""
    elsewhere = Person(stack, ann.email)
    elsewhere.sign_in()
    stolen = ann.session["refresh_token"]
    assert ann.refresh().status_code == 200
    age(stack, ann, 11)
    assert refusal(refresh(stack, stolen)) == (400, "refresh_token_already_used")
    assert refusal(ann.refresh()) == (400, "refresh_token_not_found")
    poll(lambda: is_refused(ann), what="the access token is refused")
    assert refusal(ann.get()) == (403, "session_not_found")
    assert elsewhere.refresh().status_code == 200
    notes = stack.rows("select details from audit where action = 'session_reuse' and user_id = %s", ann.id)
    assert len(notes) == 1


def test_a_token_stolen_within_the_grace_is_noticed_later(stack: Stack, ann: Person) -> None:
    """The thief's sibling is of the generation that the owner replaces next."""
    stolen = ann.session["refresh_token"]
    assert ann.refresh().status_code == 200
    thief = refresh(stack, stolen).json()["refresh_token"]
    age(stack, ann, 11)
    assert ann.refresh().status_code == 200
    age(stack, ann, 11)
    assert refusal(refresh(stack, thief)) == (400, "refresh_token_already_used")
    assert refusal(ann.refresh()) == (400, "refresh_token_not_found")


def test_a_token_of_two_generations_ago_has_no_grace(stack: Stack, ann: Person) -> None:
    oldest = ann.session["refresh_token"]
    assert ann.refresh().status_code == ann.refresh().status_code == 200
    assert refusal(refresh(stack, oldest)) == (400, "refresh_token_already_used")


def test_a_session_that_is_not_used_expires(stack: Stack, ann: Person) -> None:
    stack.rows("update auth_sessions set expires_at = now() - interval '1 s' where user_id = %s", ann.id)
    assert refusal(ann.refresh()) == (400, "session_expired")
    assert refusal(ann.get()) == (403, "session_not_found")
    assert ann.sign_in().status_code == 200
    assert len(stack.rows("select from auth_sessions where user_id = %s", ann.id)) == 1


@pytest.mark.parametrize(("scope", "left"), [(None, ()), ("global", ()), ("local", ("other",)), ("others", ("this",))])
def test_signing_out(stack: Stack, ann: Person, scope: str | None, left: tuple[str, ...]) -> None:
    """A refresh token of a session that ended is refused, and within a second its access token."""
    people = {"this": ann, "other": Person(stack, ann.email)}
    people["other"].sign_in()
    reply = ann.sign_out(scope)
    assert (reply.status_code, reply.content) == (204, b"")
    for name, person in people.items():
        if name in left:
            assert person.refresh().status_code == person.get("/v1/caller").status_code == 200
        else:
            assert refusal(person.refresh()) == (400, "refresh_token_not_found")
            poll(partial(is_refused, person), what="the access token is refused")
    assert refusal(ann.sign_out("everywhere")) == (400, "validation_failed")


def test_a_new_password_ends_all_other_sessions(stack: Stack, ann: Person) -> None:
    other = Person(stack, ann.email)
    other.sign_in()
    assert ann.change(password="another cello", current_password=PASSWORD).status_code == 200
    assert refusal(other.refresh()) == (400, "refresh_token_not_found")
    assert ann.refresh().status_code == 200
    assert refusal(ann.sign_in()) == (401, "invalid_credentials")
    assert ann.sign_in("another cello").status_code == 200


def test_an_old_session_must_show_the_present_password(stack: Stack, ann: Person) -> None:
    age(stack, ann, 301)
    assert refusal(ann.change(password="another cello")) == (400, "reauthentication_needed")
    wrong = ann.change(password="another cello", current_password="wrong")
    assert refusal(wrong) == (401, "invalid_credentials")
    assert refusal(ann.change(password=PASSWORD, current_password=PASSWORD)) == (422, "same_password")
    assert refusal(ann.change(password="short", current_password=PASSWORD)) == (422, "weak_password")
    assert ann.sign_in().status_code == 200  # nothing has changed
    assert ann.change(password="another cello").status_code == 200  # signed in just now


def test_a_name_may_change(ann: Person) -> None:
    assert ann.change(data={"name": "Ann of Lisbon"}).json()["user_metadata"] == {"name": "Ann of Lisbon"}
    assert ann.get().json()["user_metadata"] == {"name": "Ann of Lisbon"}
    assert ann.change(email=ann.email.upper()).status_code == ann.change().status_code == 200
    assert refusal(ann.change(email=new_email(), data={"name": "Ben"})) == (400, "validation_failed")
    assert ann.get().json()["user_metadata"] == {"name": "Ann of Lisbon"}


def test_the_account_needs_a_token_of_a_person(stack: Stack, ann: Person) -> None:
    get = stack.client.get
    assert refusal(get("/auth/v1/user")) == (401, "no_authorization")
    forged = jwt.encode({"sub": ann.id, "exp": time.time() + 99, "session_id": str(uuid4())}, SECRET, "HS256")
    for token in ("x", forged, f"maas_{'0' * 12}_{'0' * 64}", ann.session["access_token"][:-3]):
        assert refusal(get("/auth/v1/user", headers={"authorization": f"Bearer {token}"})) == (403, "bad_jwt")
    assert get("/v1/runs", headers={"authorization": f"Bearer {forged}"}).status_code == 401
    assert get("/v1/runs").json()["error"]["code"] == "unauthenticated"


def test_an_erased_user_is_signed_out_and_may_return_as_another(stack: Stack, ann: Person) -> None:
    before = ann.id
    stack.rows("select maas_erase(%s)", before)
    assert refusal(ann.refresh()) == (400, "refresh_token_not_found")
    poll(lambda: is_refused(ann), what="the access token is refused")
    assert refusal(ann.sign_in()) == (401, "invalid_credentials")
    assert ann.sign_up().status_code == 200 and ann.id != before


BODIES: tuple[object, ...] = (
    None,
    [],
    "x",
    5,
    {},
    {"email": "a@b.c"},
    {"password": PASSWORD},
    {"email": 5, "password": PASSWORD},
    {"email": None, "password": None},
    {"email": "a@b.c", "password": ["x" * 9]},
)
EMAILS = (
    "", " ", "ann", "@", "a@", "@b", "a@b@c", "a b@c", "a@b c", "a\x00@b", "a\n@b.c", "a@b\r\nbcc:x@y", "\ud800@b.c",
    "a@" + "b" * 254, "a" * 65 + "@b.c", "a\u200b@b.c", "a\u202e@b.c", "\x7f@b.c", "<a@b.c>\t",
)  # fmt: skip


@pytest.mark.parametrize("path", ["signup", "token?grant_type=password"])
def test_hostile_bodies_get_one_clear_error(stack: Stack, path: str) -> None:
    for body in (*BODIES, *({"email": email, "password": PASSWORD} for email in EMAILS)):
        assert refusal(post(stack, path, body)) == (400, "validation_failed"), body
    for password in ("x" * 1001, "x" * 8 + "\0", "x" * 8 + "\ud800"):
        assert refusal(post(stack, path, {"email": new_email(), "password": password})) == (400, "validation_failed")
    for raw, kind, expected in (
        (b"{", "application/json", (400, "bad_json")),
        (b'{"email": "a@b.c", "email": "d@e.f"}', "application/json", (400, "bad_json")),
        (b"\xff", "application/json", (400, "bad_json")),
        (b"email=a@b.c", "application/x-www-form-urlencoded", (415, "unsupported_media_type")),
        (b'"' + b"x" * (1 << 20) + b'"', "application/json", (413, "too_large")),
    ):
        reply = stack.client.post(f"/auth/v1/{path}", content=raw, headers={"content-type": kind})
        assert refusal(reply) == expected


@pytest.mark.parametrize("name", ["x" * 201, "a\nb", "a\x00b", "a\u202eb", ["Ann"]])
def test_hostile_names_are_refused(stack: Stack, name: object) -> None:
    body = {"email": new_email(), "password": PASSWORD, "data": {"name": name}}
    assert refusal(post(stack, "signup", body)) == (400, "validation_failed")


def test_short_passwords_are_refused(stack: Stack) -> None:
    reply = Person(stack, password="1234567").sign_up()
    assert refusal(reply) == (422, "weak_password") and reply.json()["weak_password"] == {"reasons": ["length"]}
    for password in ("12345678", "password", " " * 8):
        reply = Person(stack, password=password).sign_up()
        assert refusal(reply) == (422, "weak_password") and reply.json()["weak_password"] == {"reasons": ["pwned"]}
    person = Person(stack)
    person.password = person.email
    assert refusal(person.sign_up()) == (422, "weak_password")
    assert Person(stack, password="kX9$mvQ2").sign_up().status_code == 200


def test_an_email_cannot_look_like_another(stack: Stack) -> None:
    assert refusal(Person(stack, "x@ex\u0430mple.org").sign_up()) == (400, "validation_failed")


def test_the_token_of_an_ended_session_ends_no_other(stack: Stack, ann: Person) -> None:
    elsewhere = Person(stack, ann.email)
    assert elsewhere.sign_in().status_code == 200
    assert ann.sign_out("local").status_code == 204
    for scope in ("global", "others", "local"):
        assert refusal(ann.sign_out(scope)) == (403, "session_not_found")
    assert elsewhere.get().status_code == 200


def test_other_methods_grants_and_paths(stack: Stack) -> None:
    assert refusal(post(stack, "token?grant_type=magic", {})) == (400, "validation_failed")
    assert refusal(post(stack, "token", {})) == (400, "validation_failed")
    assert refusal(post(stack, "token?grant_type=refresh_token", {})) == (400, "refresh_token_not_found")
    assert refusal(stack.client.get("/auth/v1/token")) == (405, "method_not_allowed")
    assert refusal(stack.client.get("/auth/v1/admin/users")) == (404, "not_found")
    settings = stack.client.get("/auth/v1/settings")
    assert settings.json()["disable_signup"] is False and settings.json()["external"]["email"] is True
    assert settings.json()["password_min_length"] == 8 and settings.headers["cache-control"] == "no-store"
    assert stack.client.get("/auth/v1/health").json()["name"] == "MaaS"


def test_other_modes_have_no_sign_in(fresh_database: str, stack: Stack) -> None:
    with Stack(fresh_database, stack.folder, MAAS_AUTH="keys") as running:
        running.start_server()
        assert refusal(Person(running).sign_up()) == (404, "not_found")
        assert "MAAS_AUTH=local" in running.client.get("/auth/v1/settings").json()["msg"]


def codes(stack: Stack) -> list[str]:
    """The codes that servers have printed."""
    return re.findall(r"sign up with the code ([0-9a-f]{20})", stack.log())


def test_the_first_administrator(stack: Stack) -> None:
    """By the code that the server prints, once, even where sign-up is closed; then there is no code any more."""
    (code,) = codes(stack)
    with Stack(stack.dsn, stack.folder, MAAS_AUTH="local", MAAS_SIGNUP="closed", MAAS_JWT_SECRET=SECRET) as closed:
        closed.start_server()
        second = codes(closed)[-1]
        assert second != code
        assert refusal(Person(closed).sign_up()) == (422, "signup_disabled")
        assert refusal(Person(closed).sign_up(admin_code="0" * 20)) == (400, "validation_failed")
        admin = Person(closed)
        assert admin.sign_up(admin_code=f" {code.upper()}").status_code == 200
        assert admin.session["user"]["app_metadata"]["is_admin"] is True
        poll(lambda: admin.get("/metrics").status_code == 200, what="the person is an administrator")
        assert jwt.decode(admin.session["access_token"], SECRET, ["HS256"], audience="authenticated")["sub"] == admin.id
        for again in (code, second):
            assert refusal(Person(closed).sign_up(admin_code=again)) == (400, "validation_failed")
        printed = len(codes(closed))
        closed.start_server()
        assert len(codes(closed)) == printed
        assert closed.client.get("/auth/v1/settings").json()["disable_signup"] is True


def add_user(stack: Stack, *words: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DATABASE_URL": stack.dsn}
    return run_maas("users", "add", *words, environment=environment, folder=stack.folder, text=f"{password}\n")


def test_accounts_of_the_command_line(stack: Stack) -> None:
    email, user = new_email(), uuid4()
    added = add_user(stack, email, "--admin", "--name", "Ben", "--user", str(user))
    assert (added.returncode, added.stdout.strip()) == (0, str(user)), added.stderr
    ben = Person(stack, email)
    assert ben.sign_in().status_code == 200 and ben.id == str(user)
    assert ben.session["user"]["app_metadata"]["is_admin"] is True
    listed = maas(stack, "users", "list").stdout
    assert email in listed and str(user) in listed and "admin" in listed and "scrypt" not in listed
    for arguments, message in (
        ((email,), "has an account"),
        (("nobody",), "must be an address"),
        ((new_email(), "--user", "x"), "not a UUID"),
    ):
        refused = add_user(stack, *arguments)
        assert refused.returncode == 1 and message in refused.stderr and PASSWORD not in refused.stderr
    short = add_user(stack, new_email(), password="short")
    assert short.returncode == 1 and "at least 8 characters" in short.stderr


def test_the_command_line_blocks_by_email_or_id(stack: Stack, ann: Person) -> None:
    assert maas(stack, "users", "block", ann.email).returncode == 0
    assert refusal(ann.sign_in()) == (403, "user_banned")
    listed = maas(stack, "users", "blocked").stdout
    assert ann.id in listed and ann.email in listed
    assert maas(stack, "users", "unblock", ann.id).returncode == 0
    assert ann.sign_in().status_code == 200 and ann.id not in maas(stack, "users", "blocked").stdout
    changes = stack.rows("select actor from audit where user_id = %s and action = 'role_change'", ann.id)
    assert [row["actor"] for row in changes] == ["cli", "cli"]
    for who, message in ((new_email(), "there is no account"), ("nobody", "is not a UUID")):
        refused = maas(stack, "users", "block", who)
        assert refused.returncode == 1 and message in refused.stderr


def test_an_administrator_ends_sessions_and_blocks(stack: Stack, ann: Person) -> None:
    """Sessions, tokens and keys of a blocked user are refused, and a link for a new password lets nobody in."""
    key = maas(stack, "keys", "create", "office", "--scope", "admin").stdout.strip()
    own_key = maas(stack, "keys", "create", "ann", "--user", ann.id).stdout.strip()
    path = f"/v1/admin/users/{ann.id}"

    def as_admin(method: str, suffix: str, **body: bool) -> Any:
        headers = {"x-api-key": key}
        reply = stack.client.request(method, path + suffix, headers=headers, json=body or None)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def caller_status(headers: dict[str, str]) -> int:
        return stack.client.get("/v1/caller", headers=headers).status_code

    phone = Person(stack, ann.email)
    phone.sign_in()
    sessions = as_admin("GET", "/sessions")["results"]
    assert [one["method"] for one in sessions] == ["password", "password"]
    assert sessions[0].keys() == {"id", "method", "created_at", "refreshed_at", "expires_at"}
    assert as_admin("DELETE", "/sessions") == {"ended": 2}
    assert refusal(phone.refresh()) == (400, "refresh_token_not_found")
    assert ann.sign_in().status_code == 200
    assert as_admin("PUT", "/roles", is_blocked=True)["is_blocked"] is True
    assert as_admin("GET", "/sessions") == {"results": []}
    poll(partial(is_refused, ann), what="the access token is refused")
    poll(lambda: caller_status({"x-api-key": own_key}) == 403, what="the key is refused")
    assert refusal(ann.sign_in()) == (403, "user_banned")
    assert refusal(ann.sign_in("a wrong one")) == (401, "invalid_credentials")
    token = maas(stack, "users", "reset", ann.email).stdout.strip().partition("=")[2]
    assert refusal(post(stack, "verify", {"type": "recovery", "token_hash": token})) == (403, "otp_expired")
    assert as_admin("PUT", "/roles", is_blocked=False)["is_blocked"] is False
    poll(lambda: caller_status({"x-api-key": own_key}) == 200, what="the key is accepted")
    assert ann.sign_in().status_code == 200
    changes = stack.rows("select details from audit where user_id = %s and action = 'role_change' order by id", ann.id)
    assert [(one["details"]["role"], one["details"]["how"]) for one in changes] == [
        ("blocked", "insert"),
        ("blocked", "delete"),
    ]
    assert as_admin("PUT", "/roles", is_admin=True)["is_admin"] is True
    poll(lambda: ann.get("/metrics").status_code == 200, what="she is an administrator")
    ben = Person(stack)
    ben.sign_up(name="Ben")
    assert ann.get(f"/v1/users/{ben.id}/memory").status_code == 200
    row, *_ = ann.get(f"/v1/admin/audit?user_id={ben.id}&action=user_access").json()["results"]
    assert (row["actor"], row["actor_name"], row["user_name"]) == (f"jwt:{ann.id}", "Ann", "Ben")
    names = {one["name"]: one["user_name"] for one in ann.get("/v1/admin/keys").json()["results"]}
    assert (names["ann"], names["office"]) == ("Ann", None)
    own = stack.client.put(f"{path}/roles", json={"is_blocked": True}, headers=ann.headers)
    assert (own.status_code, own.json()["error"]["code"]) == (409, "conflict")


def test_a_forgotten_password(stack: Stack, ann: Person) -> None:
    """The link works once; the new password ends what the old one began."""
    first, path = (maas(stack, "users", "reset", ann.email).stdout.strip() for _ in range(2))
    match = re.fullmatch(r"/ui/reset#token=([\w-]{43})", path)
    assert match is not None
    helped = Person(stack, ann.email, "another cello")
    old = post(stack, "verify", {"type": "recovery", "token_hash": first.partition("=")[2]})
    assert refusal(old) == (403, "otp_expired")
    verified = helped._keep(post(stack, "verify", {"type": "recovery", "token_hash": match[1]}))
    assert verified.status_code == 200 and helped.id == ann.id
    again = post(stack, "verify", {"type": "recovery", "token_hash": match[1]})
    assert refusal(again) == (403, "otp_expired")
    age(stack, helped, 3600)
    assert helped.change(password="another cello").status_code == 200
    assert refusal(ann.refresh()) == (400, "refresh_token_not_found")
    assert helped.sign_in().status_code == 200
    age(stack, helped, 3600)
    assert refusal(helped.change(password="a third cello")) == (400, "reauthentication_needed")
    assert refusal(post(stack, "verify", {"type": "signup", "token_hash": "x"})) == (400, "validation_failed")
    unknown = maas(stack, "users", "reset", new_email())
    assert unknown.returncode == 1 and "there is no account" in unknown.stderr


def test_an_administrator_invites_a_person(stack: Stack, ann: Person) -> None:
    """The account has no password that anybody knows; its link sets one, once. Others invite nobody."""

    def invite(who: Person, **body: Any) -> Any:
        return stack.client.post("/v1/admin/accounts", json=body, headers=who.headers)

    eve = Person(stack, new_email(), "yet another cello")
    assert invite(ann, email=eve.email).status_code == 403
    stack.rows("insert into user_roles (user_id, role) values (%s, 'admin')", ann.id)
    poll(lambda: ann.get("/metrics").status_code == 200, what="she is an administrator")
    made = invite(ann, email=f" {eve.email.upper()} ", name="Eve")
    assert made.status_code == 201
    assert refusal(eve.sign_in()) == (401, "invalid_credentials")
    token = made.json()["url_path"].removeprefix("/ui/reset#token=")
    assert eve._keep(post(stack, "verify", {"type": "recovery", "token_hash": token})).status_code == 200
    assert (eve.id, eve.session["user"]["user_metadata"]) == (made.json()["user_id"], {"name": "Eve"})
    assert eve.session["user"]["app_metadata"]["is_admin"] is False
    assert eve.change(password=eve.password).status_code == eve.sign_in().status_code == 200
    assert refusal(post(stack, "verify", {"type": "recovery", "token_hash": token})) == (403, "otp_expired")
    notes = stack.rows("select action, actor from audit where user_id = %s order by id limit 2", eve.id)
    assert notes == [{"action": one, "actor": f"jwt:{ann.id}"} for one in ("account_create", "password_link")]
    for body, code in (({"email": eve.email}, "conflict"), ({"email": "nobody"}, "invalid_request")):
        assert invite(ann, **body).json()["error"]["code"] == code
    stack.rows("delete from user_roles where user_id = %s", ann.id)


def test_an_expired_link_is_refused(stack: Stack, ann: Person) -> None:
    token = maas(stack, "users", "reset", ann.email).stdout.strip().partition("=")[2]
    stack.rows("update auth_links set expires_at = now() where user_id = %s", ann.id)
    assert refusal(post(stack, "verify", {"type": "recovery", "token_hash": token})) == (403, "otp_expired")


def test_the_doctor_says_who_may_call(stack: Stack, ann: Person) -> None:
    people = stack.rows("select count(*) as n from auth_users")[0]["n"]
    report = maas(stack, "doctor", MAAS_AUTH="local", MAAS_SIGNUP="closed").stdout
    assert f"{people} people who sign in" in report and "sign-up is closed" in report


def test_keys_work_beside_people(stack: Stack) -> None:
    key = maas(stack, "keys", "create", "prometheus", "--scope", "metrics").stdout.strip()
    assert stack.client.get("/metrics", headers={"x-api-key": key}).status_code == 200
