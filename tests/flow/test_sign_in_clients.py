"""The sign-in as Supabase's own clients use it, that of JavaScript and that of Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.aimock import FOLDER, missing
from tests.people import Person, new_email
from tests.stack import Stack, maas


@pytest.fixture(scope="module")
def stack(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(fresh_database, tmp_path_factory.mktemp("stack"), MAAS_AUTH="local") as running:
        running.start_server()
        yield running


def test_the_client_of_supabase_signs_in(stack: Stack) -> None:
    if reason := missing():
        pytest.skip(reason)
    forgetful = Person(stack)
    assert forgetful.sign_up().status_code == 200
    link = maas(stack, "users", "reset", forgetful.email).stdout.strip().partition("=")[2]
    email = new_email()
    done = subprocess.run(
        ["node", "sign_in.mjs", f"http://127.0.0.1:{stack.port}", email, link],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout.splitlines()[-1])
    person = got["signUp"]
    assert (person["email"], person["name"]) == (email, "Ann")
    assert got["weak"] == {"weak": True, "reasons": ["length"]}
    for name in ("signIn", "refreshed", "getUser"):
        assert got[name] == person, name
    assert got["tokensDiffer"] and got["tabs"] == [person, person]
    assert got["claims"] == {"sub": person["id"], "role": "authenticated", "aal": "aal1"}
    assert got["renamed"] == got["password"] == person | {"name": "Ann of Lisbon"}
    assert got["signOut"] == {"error": None} and got["runs"] == 200 and got["elsewhereHasNoSession"]
    assert got["verified"]["id"] == forgetful.id
    for name, status, code in (
        ("again", 422, "user_already_exists"),
        ("wrong", 401, "invalid_credentials"),
        ("same", 422, "same_password"),
        ("elsewhereIsOut", 400, "refresh_token_not_found"),
        ("afterwards", 400, "refresh_token_not_found"),
        ("usedLink", 403, "otp_expired"),
    ):
        assert got[name] == {"api": True, "status": status, "code": code}, name


def test_the_client_of_supabase_for_python_signs_in(stack: Stack) -> None:
    supabase_auth = pytest.importorskip("supabase_auth")
    url, email, password = f"http://127.0.0.1:{stack.port}/auth/v1", new_email(), "the cello of Lisbon"

    def refused(call: Callable[[], object]) -> tuple[int, str]:
        with pytest.raises(supabase_auth.errors.AuthApiError) as caught:
            call()
        return caught.value.status, caught.value.code

    def sign_in(word: str) -> Any:
        return other.sign_in_with_password({"email": email, "password": word})

    with (
        supabase_auth.SyncGoTrueClient(url=url, auto_refresh_token=False) as client,
        supabase_auth.SyncGoTrueClient(url=url, auto_refresh_token=False) as other,
    ):
        with pytest.raises(supabase_auth.errors.AuthWeakPasswordError):
            client.sign_up({"email": email, "password": "short"})
        signed_up = client.sign_up({"email": email, "password": password, "options": {"data": {"name": "Ann"}}})
        user = signed_up.user.id
        assert signed_up.user.user_metadata == {"name": "Ann"} and signed_up.session.expires_in == 900
        assert refused(lambda: sign_in("wrong password")) == (401, "invalid_credentials")
        assert sign_in(password).user.id == user
        assert client.refresh_session().session.refresh_token != signed_up.session.refresh_token
        assert client.get_user().user.email == email and client.get_claims()["claims"]["sub"] == user
        assert client.update_user({"password": "another cello", "current_password": password}).user.id == user
        assert refused(other.refresh_session) == (400, "refresh_token_not_found")
        client.sign_out()
        assert client.get_session() is None and sign_in("another cello").user.id == user
