"""Images over HTTP: uploaded once, bare of metadata, seen by their owner, named by runs, shown in dialogues."""

from __future__ import annotations

import hashlib
import http.client
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.pictures import FORMATS, MAKER, bomb, exif, opened, picture
from tests.stack import NOBODY, Stack, maas

Upload = dict[str, Any]


def post(stack: Stack, user: Any, data: bytes, name: str = "photo.txt") -> Any:
    return stack.client.post(
        "/v1/attachments", data={"user_id": str(user)}, files={"file": (name, data, "application/x-msdownload")}
    )


def upload(stack: Stack, user: UUID, data: bytes) -> Upload:
    reply = post(stack, user, data)
    assert reply.status_code == 201, reply.text
    return dict(reply.json())


def stored(stack: Stack, user: UUID) -> int:
    return len(stack.rows("select from attachments where user_id = %s", user))


@pytest.mark.parametrize("form", FORMATS)
def test_upload_read_delete(stack: Stack, user: UUID, form: str) -> None:
    """The type comes from the bytes, whatever the name and the header say."""
    data = picture(form)
    made = upload(stack, user, data)
    digest = hashlib.sha256(data).hexdigest()
    assert made == {
        "id": made["id"],
        "kind": "upload",
        "media_type": FORMATS[form],
        "bytes": len(data),
        "width": 40,
        "height": 20,
        "sha256": digest,
        "created_at": made["created_at"],
    }
    path, mine = f"/v1/attachments/{made['id']}", {"user_id": str(user)}
    assert stack.client.get(path, params=mine).json() == made
    content = stack.client.get(f"{path}/content", params=mine)
    assert content.content == data
    assert content.headers["content-type"] == FORMATS[form]
    assert content.headers["x-content-type-options"] == "nosniff"
    assert content.headers["etag"] == f'"{digest}"'
    assert content.headers["content-disposition"].startswith(f'inline; filename="{made["id"]}.')
    again = stack.client.get(f"{path}/content", params=mine, headers={"if-none-match": f'W/"{digest}"'})
    assert (again.status_code, again.content) == (304, b"")
    assert stack.client.delete(path, params=mine).status_code == 204
    for method, where in (("GET", path), ("GET", f"{path}/content"), ("DELETE", path)):
        assert stack.client.request(method, where, params=mine).status_code == 404
    assert stored(stack, user) == 0


def test_the_same_bytes_are_the_same_row(stack: Stack, user: UUID) -> None:
    first, again, other = upload(stack, user, picture()), upload(stack, user, picture()), uuid4()
    assert again == first
    assert upload(stack, other, picture())["id"] != first["id"]
    assert (stored(stack, user), stored(stack, other)) == (1, 1)


def test_photos_tell_no_place(stack: Stack, user: UUID) -> None:
    data = picture("JPEG", exif=exif(6))
    made = upload(stack, user, data)
    assert (made["width"], made["height"]) == (20, 40)
    kept = stack.client.get(f"/v1/attachments/{made['id']}/content", params={"user_id": str(user)}).content
    assert MAKER.encode() in data and MAKER.encode() not in kept
    assert not opened(kept).getexif()
    assert hashlib.sha256(kept).hexdigest() == made["sha256"]
    assert upload(stack, user, data) == made


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("who", ["other", "nobody", "missing", "wrong"])
def test_other_peoples_are_not_there(stack: Stack, user: UUID, method: str, who: str) -> None:
    made = upload(stack, user, picture())
    params = {
        "other": {"user_id": str(uuid4())},
        "nobody": {"user_id": str(NOBODY)},
        "missing": {},
        "wrong": {"user_id": "me"},
    }[who]
    paths = [f"/v1/attachments/{made['id']}"] + [f"/v1/attachments/{made['id']}/content"] * (method == "GET")
    for path in paths:
        reply = stack.client.request(method, path, params=params)
        assert reply.status_code == (404 if who in ("other", "nobody") else 400)
        assert reply.json()["error"]["message"]
    assert stack.client.get("/v1/attachments/no-uuid", params={"user_id": str(user)}).status_code == 404
    assert stored(stack, user) == 1


@pytest.mark.parametrize(
    ("data", "status", "word"),
    [
        (b"", 422, "is empty"),
        (b"hello", 422, "not a JPEG"),
        (b"GIF89a" + bytes(50), 422, "not a JPEG"),
        (picture("JPEG")[:-40], 422, "broken"),
        (bomb(7000, 6000), 422, "megapixels"),
        (b"\x89PNG\r\n\x1a\n" + bytes(10 * 1024 * 1024), 413, "exceeds 10485760 bytes"),
        (bytes(11 * 1024 * 1024), 413, "exceeds"),
    ],
    ids=["empty", "text", "gif", "truncated", "bomb", "a little too big", "too big"],
)
def test_what_is_no_picture_is_refused(stack: Stack, user: UUID, data: bytes, status: int, word: str) -> None:
    reply = post(stack, user, data)
    assert (reply.status_code, stored(stack, user)) == (status, 0), reply.text
    assert word in reply.json()["error"]["message"]


def form(*parts: tuple[str, bytes]) -> bytes:
    pieces = [
        b"--x\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + body + b"\r\n"
        for head, body in parts
    ]
    return b"".join(pieces) + b"--x--\r\n"


FILE = ('name="file"; filename="a.png"', picture())
FORM = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("body", "kind", "status", "word"),
    [
        (form(FILE), FORM, 422, "user_id"),
        (form(('name="user_id"', b"me"), FILE), FORM, 422, "user_id"),
        (form(('name="user_id"', b"USER\x00"), FILE), FORM, 422, "user_id"),
        (form(('name="user_id"', b"USER")), FORM, 422, "file"),
        (form(('name="user_id"', b"USER"), ('name="file"', picture())), FORM, 422, "must be a file"),
        (form(('name="user_id"', b"USER"), ('name="file"; filename="a\x00.png"', picture())), FORM, 422, "NUL"),
        (form(('name="user_id"', b"USER"), FILE, FILE), FORM, 422, "Too many files"),
        (form(('name="user_id"', b"USER"), ('name="user_id"', b"USER"), FILE), FORM, 422, "once"),
        (form(('name="user_id"', b"USER"), ('name="x"', b"1"), FILE), FORM, 422, "x: "),
        (form(('name="user_id"', b"USER"), ("", b"1"), FILE), FORM, 422, "name"),
        (form(('name="user_id"', b"USER" * 9000), FILE), FORM, 422, "Part exceeded"),
        (form(('name="user_id"', b"USER"), FILE)[:-30], FORM, 422, "file"),
        (b"nonsense", FORM, 422, "body"),
        (b"", FORM, 422, ""),
        (form(FILE), "multipart/form-data", 422, "boundary"),
        (picture(), "image/png", 415, "multipart/form-data"),
        (b"{}", "application/json", 415, "multipart/form-data"),
    ],
)
def test_a_bad_form_is_refused(stack: Stack, user: UUID, body: bytes, kind: str, status: int, word: str) -> None:
    content = body.replace(b"USER", str(user).encode())
    reply = stack.client.post("/v1/attachments", content=content, headers={"content-type": kind})
    assert (reply.status_code, stored(stack, user)) == (status, 0), reply.text
    assert word in reply.json()["error"]["message"]


def test_who_lies_about_the_length_stores_nothing(stack: Stack, user: UUID) -> None:
    """Chunked without end, or shorter than what comes: what counts is what arrives."""
    body = form(('name="user_id"', str(user).encode()), FILE)
    connection = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=20)
    huge = (bytes(1024 * 1024) for _ in range(40))
    begun = body.partition(b"\r\n--x--")[0]
    connection.putrequest("POST", "/v1/attachments")
    connection.putheader("content-type", FORM)
    connection.putheader("transfer-encoding", "chunked")
    connection.endheaders()
    try:
        for piece in (begun, *huge):
            connection.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    except OSError:
        pass  # it has hung up: enough is enough
    else:
        assert connection.getresponse().status == 413
    connection.close()
    short = http.client.HTTPConnection("127.0.0.1", stack.port, timeout=20)
    short.putrequest("POST", "/v1/attachments")
    short.putheader("content-type", FORM)
    short.putheader("content-length", str(len(body) // 2))
    short.endheaders()
    short.send(body)
    assert short.getresponse().status in (400, 422)
    short.close()
    assert stored(stack, user) == 0
    assert stack.client.get("/healthz").status_code == 200


def test_the_limit_is_a_setting(stack: Stack, user: UUID) -> None:
    data = picture("PNG", (200, 200), compress_level=0)
    with Stack(stack.dsn, stack.folder) as other:
        other.start_server(MAAS_ATTACHMENT_BYTES="2048")
        assert post(other, user, data).status_code == 413
        assert post(other, user, picture()).status_code == 201


def test_a_run_names_its_images(stack: Stack, user: UUID) -> None:
    """In the reply, in the trace, in the dialogue; a deleted one is shown no more."""
    one, two = (upload(stack, user, picture(colour=colour))["id"] for colour in ("red", "blue"))
    conversation = str(uuid4())
    run = stack.ask(user, "What is this?", attachment_ids=[two, one], conversation_id=conversation)
    plain = stack.ask(user, "And now?", conversation_id=conversation)
    stack.wait_archived(run, plain)
    assert stack.answer(run)["attachment_ids"] == [two, one]
    assert stack.answer(plain)["attachment_ids"] == []
    assert stack.client.get(f"/v1/runs/{run}/trace").json()["run"]["attachment_ids"] == [two, one]
    assert f"with images: {two}, {one}" in " ".join(maas(stack, "trace", str(run)).stdout.split())

    def shown() -> list[list[str]]:
        page = stack.client.get(f"/v1/conversations/{conversation}/messages").json()["results"]
        return [message["attachment_ids"] for message in page[::-1]]

    assert shown() == [[two, one], [], [], []]
    stack.client.delete(f"/v1/attachments/{two}", params={"user_id": str(user)})
    assert shown()[0] == [one]


def test_images_of_others_are_refused(stack: Stack, user: UUID) -> None:
    mine, theirs = upload(stack, user, picture())["id"], upload(stack, uuid4(), picture())["id"]
    for ids, status in ([[mine, theirs], 404], [[str(NOBODY)], 404], [[mine] * 11, 422], [["x"], 422], [[None], 422]):
        body = {"user_id": str(user), "query": "Look", "attachment_ids": ids}
        reply = stack.client.post("/v1/runs", json=body)
        assert (reply.status_code, "attachment_ids" in reply.json()["error"]["message"]) == (status, True), reply.text
    assert stack.rows("select from pipeline_runs where user_id = %s", user) == []


def test_a_repeated_key_means_the_same_images(stack: Stack, user: UUID) -> None:
    made = upload(stack, user, picture())["id"]
    body = {"user_id": str(user), "query": "Look", "attachment_ids": [made]}
    key = {"idempotency-key": str(uuid4())}
    first = stack.client.post("/v1/runs", json=body, headers=key).json()
    assert stack.client.post("/v1/runs", json=body, headers=key).json() == first
    assert stack.client.post("/v1/runs", json=body | {"attachment_ids": []}, headers=key).status_code == 409


def test_the_routes_are_described(stack: Stack) -> None:
    document = stack.client.get("/openapi.json").json()
    paths = document["paths"]
    schema = paths["/v1/attachments"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    assert schema == {"$ref": "#/components/schemas/NewAttachment"}
    assert set(document["components"]["schemas"]["NewAttachment"]["required"]) == {"user_id", "file"}
    content = paths["/v1/attachments/{id}/content"]["get"]["responses"]["200"]["content"]
    assert set(content) == {"image/jpeg", "image/png", "image/webp"}
