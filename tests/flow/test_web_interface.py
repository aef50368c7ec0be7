"""The web interface as files: what is sent, how long it is kept, and what it may do in a browser."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from maas.http.web_interface import FOLDER
from tests.stack import Stack

FIRST_LOAD_BYTES = 200_000
FIRST_LOAD_FILES = 6  # the page, its scripts, styles and texts
EDITOR_BYTES = 72_000
SCRIPTS = re.compile(r'(?:src|href)="/ui/(assets/[^"]+)"')


def names() -> list[str]:
    """The files that the page itself names: all that the first view loads."""
    return SCRIPTS.findall((FOLDER / "index.html").read_text())


def test_the_page_is_asked_for_again_and_its_files_are_kept(stack: Stack) -> None:
    page = stack.client.get("/ui/")
    assert page.status_code == 200 and page.headers["cache-control"] == "no-cache"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert names()
    for name in names():
        file = stack.client.get(f"/ui/{name}")
        assert file.status_code == 200 and "immutable" in file.headers["cache-control"], name
        known = {"if-none-match": file.headers["etag"]}
        assert stack.client.get(f"/ui/{name}", headers=known).status_code == 304


def test_the_page_may_run_its_own_scripts_only(stack: Stack) -> None:
    page = stack.client.get("/ui/")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert page.headers["x-frame-options"] == "DENY"
    assert not re.search(r"<script(?![^>]* src=)", page.text)


@pytest.mark.parametrize("path", ["c/x", "history", "admin/prompts/FinalResponder", "runs/1", ""])
def test_places_within_the_page_are_the_page(stack: Stack, path: str) -> None:
    assert stack.client.get(f"/ui/{path}").text == (FOLDER / "index.html").read_text()


@pytest.mark.parametrize(
    "path",
    ["assets/none.js", "assets/", "none.js", "../app.py", "%2e%2e/app.py", "..%2f..%2fapp.py", "//etc/passwd", "a.b"],
)
def test_nothing_else_is_sent(stack: Stack, path: str) -> None:
    reply = stack.client.get(f"/ui/{path}")
    assert reply.status_code in (200, 404)
    assert reply.status_code == 404 or reply.text == (FOLDER / "index.html").read_text()
    assert reply.status_code == 404 or "." not in path.rpartition("/")[2]


def test_places_outside_of_it_are_not_the_page(stack: Stack) -> None:
    assert stack.client.get("/nowhere").status_code == 404
    assert stack.client.get("/v1/nowhere").status_code == 404
    assert stack.client.post("/ui/").status_code == 405
    assert stack.client.get("/ui", follow_redirects=False).headers["location"].endswith("/ui/")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_first_load_is_small(stack: Stack, language: str) -> None:
    (texts,) = FOLDER.glob(f"assets/{language}-*.js")
    sizes = {}
    for name in ("", *names(), f"assets/{texts.name}"):
        request = stack.client.build_request("GET", f"/ui/{name}", headers={"accept-encoding": "gzip"})
        reply = stack.client.send(request, stream=True)
        raw = b"".join(reply.iter_raw())
        reply.close()
        content = gzip.decompress(raw) if reply.headers.get("content-encoding") == "gzip" else raw
        assert content == (FOLDER / (name or "index.html")).read_bytes()
        sizes[name] = len(raw)
    assert sum(sizes.values()) < FIRST_LOAD_BYTES, sizes
    assert len(sizes) <= FIRST_LOAD_FILES, sizes
    for part in ("highlight", "editor"):
        later = {path.name for path in FOLDER.glob(f"assets/{part}-*.js")}
        assert later and not later & {Path(name).name for name in names()}, f"{part} is a chunk of its own"


def test_the_editor_of_prompts_is_small(stack: Stack) -> None:
    (path,) = FOLDER.glob("assets/editor-*.js")
    reply = stack.client.get(f"/ui/assets/{path.name}", headers={"accept-encoding": "gzip"})
    assert int(reply.headers["content-length"]) < EDITOR_BYTES


def test_a_client_without_gzip_gets_the_files_as_they_are(stack: Stack) -> None:
    reply = stack.client.get(f"/ui/{names()[0]}", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in reply.headers
    assert reply.content == (FOLDER / names()[0]).read_bytes()


def test_the_page_knows_how_people_sign_in(stack: Stack) -> None:
    config = stack.client.get("/ui/config.json")
    assert config.headers["cache-control"] == "no-store"
    assert config.json()["auth"] == "none" and config.json()["local_user_id"]
    assert (config.json()["attachment_bytes"], config.json()["knowledge_bytes"]) == (10 * 2**20, 50 * 2**20)


def test_another_issuer_may_sign_people_in(fresh_database: str, tmp_path: Path) -> None:
    settings = {
        "MAAS_AUTH": "jwt",
        "MAAS_JWT_SECRET": "s" * 32,
        "MAAS_SUPABASE_URL": "https://ref.supabase.co",
        "MAAS_SUPABASE_ANON_KEY": "public",
        "MAAS_TRACE_URL": "https://jaeger.example/trace/{trace_id}",
    }
    with Stack(fresh_database, tmp_path, **settings) as stack:
        stack.start_server()
        config = stack.client.get("/ui/config.json").json()
        policy = stack.client.get("/ui/").headers["content-security-policy"]
    assert config["auth_url"] == "https://ref.supabase.co/auth/v1" and config["anon_key"] == "public"
    assert config["local_user_id"] is None
    assert config["trace_url"] == "https://jaeger.example/trace/{trace_id}"
    assert "connect-src 'self' https://ref.supabase.co;" in policy


def test_it_can_be_switched_off(fresh_database: str, tmp_path: Path) -> None:
    with Stack(fresh_database, tmp_path, MAAS_UI="off") as stack:
        stack.start_server()
        assert stack.client.get("/ui/").status_code == 404
        assert stack.client.get("/", follow_redirects=False).headers["location"] == "/docs"
