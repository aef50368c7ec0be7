"""One user takes all that a user may take, and others are served meanwhile."""

from __future__ import annotations

import json
import os
import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from io import BytesIO
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families

from maas.http.shares import MAX_EXPORTS, MAX_SMALL_TEXT_BYTES, MIN_REQUESTS_OF_ONE
from maas.users import NewKey, create_key
from shared.db import open_database
from tests.polling import poll
from tests.stack import Stack

POOL_SIZE = 4
CONNECTIONS = 100
READS = 1  # of one user at a time
WORDS = "The cello stands in the hall beside the window that looks on the river. " * 40


@pytest.fixture(scope="module")
def server(fresh_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, int]]:
    """A server and its process id."""
    limits = {"MAAS_POOL_SIZE": str(POOL_SIZE), "MAAS_CONNECTIONS": str(CONNECTIONS)}
    with Stack(fresh_database, tmp_path_factory.mktemp("shares"), **limits) as stack:
        yield stack, stack.start_server().pid


@pytest.fixture
def stack(server: tuple[Stack, int]) -> Stack:
    return server[0]


@pytest.fixture
def ann() -> UUID:
    return uuid4()


def figure(stack: Stack, name: str, share: str) -> int:
    """A metric of a share of the server."""
    for family in text_string_to_metric_families(stack.client.get("/metrics").text):
        for sample in family.samples:
            if sample.name == f"maas_share_{name}" and sample.labels == {"share": share}:
                return int(sample.value)
    raise AssertionError(name)


def is_free(stack: Stack, share: str) -> None:
    poll(lambda: figure(stack, "used", share) == 0, what=f"{share}: every place is given back")


@contextmanager
def locked(stack: Stack, table: str) -> Iterator[None]:
    """Statements that read or write the table take as long as the block."""
    with psycopg.connect(stack.dsn) as connection:
        connection.execute(f"lock table {table} in access exclusive mode".encode())
        yield


def post(stack: Stack, path: str, body: object) -> httpx2.Response:
    url = f"{stack.client.base_url}{path}"
    return httpx2.post(url, json=body, timeout=60, trust_env=False, verify=False)


def remember(stack: Stack, user: UUID, messages: int) -> None:
    lines = (json.dumps({"role": "user", "content": f"{number}. {WORDS}"}) for number in range(messages))
    reply = stack.client.post(
        f"/v1/users/{user}/import", content="\n".join(lines), headers={"content-type": "application/x-ndjson"}
    )
    assert reply.status_code == 202, reply.text


@contextmanager
def unread(stack: Stack, path: str) -> Iterator[socket.socket]:
    """A request whose reply is not read."""
    with closing(socket.socket()) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", stack.port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        yield connection


def status_of(connection: socket.socket) -> int:
    """The status of a reply, of which nothing else is read."""
    head = connection.recv(len("HTTP/1.1 200"))
    return int(head.split()[1])


def temporary_bytes(pid: int) -> list[int]:
    """The sizes of the deleted files that a process has open."""
    folder, sizes = Path(f"/proc/{pid}/fd"), []
    for name in os.listdir(folder):
        try:
            if os.readlink(folder / name).endswith("(deleted)"):
                sizes.append((folder / name).stat().st_size)
        except FileNotFoundError:  # closed meanwhile
            continue
    return [size for size in sizes if size]


def test_unread_exports_of_one_user_delay_nobody(server: tuple[Stack, int], ann: UUID) -> None:
    """One is written, which its place bounds in time and on disk; the others are refused."""
    stack, pid = server
    bob, carl = uuid4(), uuid4()
    for user in (ann, bob):
        remember(stack, user, 2000)  # more than the kernel takes off the server's hands
    path = f"/v1/users/{ann}/export"
    with ExitStack() as readers:
        exports = [readers.enter_context(unread(stack, path)) for _ in range(40)]
        stack.ask(bob, "Who waits?")
        poll(lambda: len(select.select(exports, [], [], 0)[0]) == len(exports), 30, "all are answered")
        assert Counter(map(status_of, exports)) == {200: 1, 429: 39}
        assert figure(stack, "used", "exports") == 1 and len(temporary_bytes(pid)) == 1
        other = readers.enter_context(unread(stack, f"/v1/users/{bob}/export"))
        assert status_of(other) == 200
        assert figure(stack, "used", "exports") == len(temporary_bytes(pid)) == MAX_EXPORTS
        refused = stack.client.get(f"/v1/users/{carl}/export")
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
        refused = stack.client.get(path)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "share_used")
        assert int(refused.headers["retry-after"]) >= 1
    is_free(stack, "exports")
    assert temporary_bytes(pid) == []
    assert stack.client.get(path).status_code == 200
    is_free(stack, "exports")


def test_searches_of_one_user_leave_connections_to_others(stack: Stack, ann: UUID) -> None:
    """Thirty-two that take as long as Postgres lets them: a post of another user is answered before any of them."""
    bodies = [
        ("/v1/context", {"user_id": str(ann), "query": "Where is the cello?"}),
        ("/v1/memories/search", {"user_id": str(ann), "query": "Where is the cello?"}),
    ] * 16
    with ThreadPoolExecutor(len(bodies)) as clients:
        with locked(stack, "counted_users"):
            replies = [clients.submit(post, stack, *body) for body in bodies]
            poll(lambda: figure(stack, "waiting", "reads") == len(bodies) - READS, what="all have come")
            stack.ask(uuid4(), "Who waits?")
            assert figure(stack, "used", "reads") == READS and not any(reply.done() for reply in replies)
            poll(lambda: sum(reply.done() for reply in replies) == len(bodies) - READS, 30, "none waits for ever")
        results = [reply.result() for reply in replies]
    assert Counter(reply.status_code for reply in results) == {200: READS, 429: len(bodies) - READS}
    refused = next(reply for reply in results if reply.status_code == 429)
    assert refused.json()["error"]["code"] == "share_used" and int(refused.headers["retry-after"]) >= 1


@pytest.mark.parametrize(
    ("path", "table"),
    [("/v1/knowledge/search?user_id={}&q=cello", "knowledge_terms"), ("/v1/runs?user_id={}&q=cello", "raw_logs")],
    ids=["documents", "runs"],
)
def test_other_searches_have_the_same_places(stack: Stack, ann: UUID, path: str, table: str) -> None:
    def search(_: int) -> int:
        url = f"{stack.client.base_url}{path.format(ann)}"
        return httpx2.get(url, timeout=60, trust_env=False, verify=False).status_code

    blocked = "select from pg_stat_activity where application_name = 'maas server' and wait_event_type = 'Lock'"
    with ThreadPoolExecutor(POOL_SIZE) as clients:
        with locked(stack, table):
            replies = [clients.submit(search, number) for number in range(POOL_SIZE)]
            poll(lambda: len(stack.rows(blocked)) >= READS, what="as many as may search")
            assert stack.client.get(f"/v1/users/{uuid4()}/preferences").status_code == 200
            assert len(stack.rows(blocked)) == READS
        assert {reply.result() for reply in replies} == {200}


def test_a_small_text_does_not_stand_behind_files(stack: Stack, ann: UUID) -> None:
    bob, carl = uuid4(), uuid4()

    def upload(user: UUID) -> int:
        files = {"file": ("notes.md", b"# Notes\n\nThe cello is in the hall.", "text/markdown")}
        url = f"{stack.client.base_url}/v1/knowledge"
        form = {"user_id": str(user), "name": "notes.md"}
        return httpx2.post(url, data=form, files=files, timeout=60, trust_env=False, verify=False).status_code

    def keep(user: UUID, text: str) -> int:
        body = {"user_id": str(user), "name": "note.md", "text": text}
        return post(stack, "/v1/knowledge/texts", body).status_code

    with ThreadPoolExecutor(8) as clients:
        with locked(stack, "knowledge_documents"):
            replies = [clients.submit(upload, user) for user in (ann, ann)]
            poll(lambda: figure(stack, "waiting", "documents") == 1, what="one user has one place")
            replies += [clients.submit(upload, bob), clients.submit(keep, carl, WORDS * 30)]
            poll(lambda: figure(stack, "waiting", "documents") == 2, what="a long text waits like a file")
            replies.append(clients.submit(keep, carl, "The cello is in the hall."))
            poll(lambda: figure(stack, "used", "texts") == 1, what="a small text does not")
        assert [reply.result() for reply in replies] == [201] * 5
    assert len(WORDS * 30) > MAX_SMALL_TEXT_BYTES


def test_unread_images_of_one_user_are_few(stack: Stack, ann: UUID) -> None:
    """A reply holds its image in memory."""
    bob, size, file = uuid4(), (1500, 1500), BytesIO()
    Image.frombytes("RGB", size, os.urandom(3 * size[0] * size[1])).save(file, "PNG")  # too large for socket buffers
    paths = {}
    for user in (ann, bob):
        files = {"file": ("a.png", file.getvalue(), "image/png")}
        reply = stack.client.post("/v1/attachments", data={"user_id": str(user)}, files=files)
        paths[user] = f"/v1/attachments/{reply.json()['id']}/content?user_id={user}"
    with ExitStack() as readers:
        for _ in range(6):
            readers.enter_context(unread(stack, paths[ann]))
        poll(lambda: figure(stack, "waiting", "image_downloads") == 2, what="two wait")
        assert figure(stack, "used", "image_downloads") == 4
        assert stack.client.get(paths[bob]).status_code == 200
    is_free(stack, "image_downloads")


def test_every_user_has_a_rate(stack: Stack, ann: UUID) -> None:
    """Without a setting: 600 requests at once, and ten more in each second."""

    def ask(user: UUID) -> httpx2.Response:
        return stack.client.get("/v1/conversations", params={"user_id": str(user)})

    count, reply = 0, ask(ann)
    while reply.status_code == 200 and count < 5000:
        count, reply = count + 1, ask(ann)
    assert count >= 600 and (reply.status_code, reply.json()["error"]["code"]) == (429, "rate_limited")
    assert int(reply.headers["retry-after"]) == 1
    assert ask(uuid4()).status_code == 200


def test_imports_of_one_user_leave_places_to_others(stack: Stack, ann: UUID) -> None:
    """Two that are never sent to their end; a third is refused, and another user's import is done meanwhile."""
    head = (
        f"POST /v1/users/{ann}/import HTTP/1.1\r\nhost: localhost\r\n"
        "content-type: application/x-ndjson\r\ncontent-length: 1000\r\n\r\n{"
    )
    with ExitStack() as readers:
        for _ in range(2):
            connection = readers.enter_context(closing(socket.create_connection(("127.0.0.1", stack.port))))
            connection.sendall(head.encode())
        poll(lambda: figure(stack, "used", "import_uploads") == 2, what="both are received")
        refused = threading.Event()

        def send_third() -> httpx2.Response:
            headers = {"content-type": "application/x-ndjson"}
            url = f"{stack.client.base_url}/v1/users/{ann}/import"
            try:
                return httpx2.post(url, content="{}", headers=headers, timeout=60, trust_env=False, verify=False)
            finally:
                refused.set()

        with ThreadPoolExecutor(1) as clients:
            third = clients.submit(send_third)
            poll(lambda: figure(stack, "waiting", "import_uploads") == 1, what="the third waits")
            remember(stack, uuid4(), 1)
            assert not refused.is_set()
            assert (third.result().status_code, third.result().json()["error"]["code"]) == (429, "share_used")
    is_free(stack, "import_uploads")


async def test_requests_in_progress_of_one_user_are_a_share(database: str, tmp_path: Path, ann: UUID) -> None:
    """By bodies that are never sent to their end; /mcp has no places beside them."""
    bob = uuid4()
    async with open_database(database, 1, "test") as db:
        keys = {user: await create_key(db, NewKey("k", user_id=user), "test") for user in (ann, bob)}
        metrics = await create_key(db, NewKey("m", scopes=("metrics",)), "test")
    with Stack(database, tmp_path, MAAS_AUTH="keys", MAAS_CONNECTIONS=str(CONNECTIONS)) as stack, ExitStack() as begun:
        stack.start_server()
        stack.client.headers["authorization"] = f"Bearer {metrics}"
        head = (
            "POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer {keys[ann]}\r\ncontent-length: 1000\r\n\r\n{{"
        )
        for _ in range(MIN_REQUESTS_OF_ONE):
            connection = begun.enter_context(closing(socket.create_connection(("127.0.0.1", stack.port))))
            connection.sendall(head.encode())
        poll(lambda: figure(stack, "used", "requests") >= MIN_REQUESTS_OF_ONE, what="all have begun")
        for method, path in (("GET", f"/v1/runs?user_id={ann}"), ("POST", "/mcp")):
            refused = stack.client.request(method, path, headers={"authorization": f"Bearer {keys[ann]}"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (429, "share_used")
        of_bob = stack.client.get(f"/v1/runs?user_id={bob}", headers={"authorization": f"Bearer {keys[bob]}"})
        assert of_bob.status_code == 200
