"""Documents over HTTP and the command line: rights, replacement, resumption, and what is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest

from tests.papers import HANDBOOK, PAGE, bomb, docx, pdf
from tests.stack import Stack, maas


def add(stack: Stack, user: UUID, name: str, content: bytes) -> httpx2.Response:
    return stack.client.post(
        "/v1/knowledge", data={"user_id": str(user), "name": name}, files={"file": (name, content)}
    )


def found(stack: Stack, user: UUID, query: str, **more: Any) -> dict[str, Any]:
    reply = stack.client.get("/v1/knowledge/search", params={"user_id": str(user), "q": query, **more})
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


def listed(stack: Stack, user: UUID) -> list[dict[str, Any]]:
    return list(stack.client.get("/v1/knowledge", params={"user_id": str(user)}).json()["results"])


def test_every_format_is_found_with_its_place(stack: Stack, user: UUID) -> None:
    files = {
        "handbook.md": HANDBOOK.encode(),
        "canteen.html": PAGE.encode(),
        "travel.docx": docx(),
        "mill.pdf": pdf("Nothing here.", "The millstone is turned on Mondays."),
    }
    for name, content in files.items():
        reply = add(stack, user, name, content)
        assert reply.status_code == 201 and reply.json()["outcome"] == "added", reply.text
    first = found(stack, user, "when is the millstone turned?")["results"][0]
    assert (first["name"], first["page"], first["heading"]) == ("mill.pdf", 2, "Part 2")
    assert (
        found(stack, user, "сколько недель до отпуска подают заявление")["results"][0]["heading"] == "Handbook > Отпуск"
    )
    for mode in ("local", "global", "hybrid"):
        assert found(stack, user, "hotel limit a night", mode=mode)["results"][0]["name"] == "travel.docx"
    assert found(stack, user, "zebra")["results"] == [] and found(stack, user, "zebra")["total"] == 0
    handbook = next(one for one in listed(stack, user) if one["name"] == "handbook.md")
    assert handbook["status"] == "processed" and handbook["chunks"] == 4


def test_a_document_of_the_same_name_is_replaced(stack: Stack, user: UUID) -> None:
    first = add(stack, user, "a.txt", b"The otter lives in the pond.").json()
    assert add(stack, user, "a.txt", b"The otter lives in the pond.").json()["outcome"] == "unchanged"
    second = add(stack, user, "a.txt", b"The heron lives in the reeds.").json()
    assert (second["id"], second["outcome"]) == (first["id"], "added")
    assert found(stack, user, "otter")["results"] == [] and found(stack, user, "heron")["total"] == 1
    terms = stack.rows("select term from knowledge_terms where user_id = %s and chunks > 0", user)
    assert {"heron", "reed"} <= {row["term"] for row in terms} and "otter" not in {row["term"] for row in terms}


def test_nobody_finds_what_is_anothers(stack: Stack, user: UUID, tmp_path: Path) -> None:
    other = uuid4()
    document = add(stack, user, "secret.txt", b"The vault opens with a violin.").json()["id"]
    paper = tmp_path / "rules.txt"
    paper.write_text("Everybody may borrow a ladder.")
    assert maas(stack, "knowledge", "add", str(paper), "--everybody").returncode == 0
    assert found(stack, other, "violin vault")["results"] == [] and found(stack, other, "ladder")["total"] == 1
    assert [one["name"] for one in listed(stack, other)] == ["rules.txt"]
    params = {"user_id": str(other)}
    assert stack.client.delete(f"/v1/knowledge/{document}", params=params).status_code == 404
    shared = listed(stack, other)[0]
    assert shared["is_everybodys"]
    assert stack.client.delete(f"/v1/knowledge/{shared['id']}", params=params).status_code == 404
    assert stack.client.delete(f"/v1/knowledge/{document}", params={"user_id": str(user)}).status_code == 200
    assert found(stack, user, "violin")["total"] == 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"  \n", "it is empty"),
        ("a.exe", b"MZ", "format is not supported"),
        ("a.pdf", pdf("Secret", password="sesame"), "encrypted"),
        ("a.pdf", pdf(""), "no text"),
        ("a\nb.txt", b"text", "name"),
        ("x" * 501 + ".txt", b"text", "name"),
        ("a.txt", b"\0" * 100, "not UTF-8 text"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(
    stack: Stack, user: UUID, name: str, content: bytes, message: str
) -> None:
    reply = add(stack, user, name, content)
    assert reply.status_code == 422 and message in reply.json()["error"]["message"], reply.text
    assert found(stack, user, "text")["total"] == 0


def test_a_bomb_is_refused(stack: Stack, user: UUID) -> None:
    reply = add(stack, user, "a.docx", bomb())
    assert reply.status_code == 422 and "unpacks" in reply.json()["error"]["message"]


def test_wrong_queries_are_refused(stack: Stack, user: UUID) -> None:
    for params in ("q=ab", "q=abc&mode=naive", "q=abc&limit=0", "q=abc&limit=x", ""):
        reply = stack.client.get(f"/v1/knowledge/search?user_id={user}&{params}")
        assert reply.status_code in (400, 422), reply.text


def test_a_folder_is_added_again_where_it_was_left(stack: Stack, tmp_path: Path) -> None:
    user, folder = uuid4(), tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "handbook.md").write_text(HANDBOOK)
    (folder / "deep" / "travel.docx").write_bytes(docx())
    (folder / "deep" / "broken.pdf").write_bytes(b"%PDF nonsense")
    (folder / ".hidden.txt").write_text("nobody sees this")
    result = maas(stack, "knowledge", "add", str(folder), "--user", str(user))
    assert result.returncode == 1 and "papers/deep/broken.pdf: it is not a pdf file" in result.stderr
    assert "2 added" in result.stdout and "1 failed" in result.stdout
    (folder / "deep" / "broken.pdf").write_bytes(pdf("Now it is whole."))
    again = maas(stack, "knowledge", "add", str(folder), "--user", str(user))
    assert again.returncode == 0 and "1 added (1 chunks), 2 unchanged, 0 failed" in again.stdout
    shown = maas(stack, "knowledge", "search", "ninety euros hotel night", "--user", str(user)).stdout
    assert "papers/deep/travel.docx" in shown
    status = maas(stack, "knowledge", "status", "--user", str(user)).stdout
    assert "processed, 0 failed" in status
    document = listed(stack, user)[0]["id"]
    assert maas(stack, "knowledge", "remove", document, "--user", str(user)).returncode == 0
    assert maas(stack, "knowledge", "remove", document, "--user", str(user)).returncode == 1


def test_an_erased_user_has_no_documents(stack: Stack) -> None:
    user = uuid4()
    add(stack, user, "a.txt", b"The otter lives in the pond.")
    receipt = stack.client.delete(f"/v1/users/{user}").json()["erased"]
    assert (receipt["knowledge_documents"], receipt["knowledge_chunks"]) == (1, 1)
    assert not stack.rows("select from knowledge_terms where user_id = %s", user)
