"""What one user does while another is watched: everything that takes what both need."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from subprocess import Popen
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from bench.http_load import Caller
from bench.processes import ROOT, Deadline, Processes
from bench.sentences import sentence
from bench.system import ENGINES, Bench, free_port, is_ready, wait_for_port
from maas.users import NewKey, create_key
from shared.db import connect, open_database

TIMEOUT_S = 300.0
MEMORY_MB, QUICK_MEMORY_MB = 40, 4
MESSAGE_BYTES = 20_000  # each of the large memory
ERASED, QUICK_ERASED = 20_000, 2_000
INSERTED, QUICK_INSERTED = 20_000, 2_000
EXPORTS, READERS, WRITERS, WAITING_USERS, DOCUMENTS = 40, 32, 16, 70, 4
SLOW_MODEL_S, QUICK_SLOW_MODEL_S = 25, 5
TAGS = 300_000  # of a hostile document, none of them closed
HOSTILE = b"<p>" + b"<b>" * TAGS + b"</u>" * TAGS
UNFINISHED = "select exists (select from pipeline_runs where queue_state < 2)"
LIARS_TOOL, LIARS_REPLY_S = "liar__endless_json", 30
CLERK = {"toolset": ["liar"]}
ADD_ASSISTANT = "insert into assistants (name, role_name, definition) values ($1, 'Mentor', $2)"
HAS_TOOL = "select exists (select from tools where name = $1)"
FILL_RUNS = """
with runs as (
  insert into pipeline_runs (id, user_id, queue_key, user_query, status, archive_status, queue_state, seq,
    completed_at, archived_at)
  select gen_random_uuid(), $1, $1, 'Request ' || n, 'COMPLETED', 'ARCHIVED', 2, nextval('run_seq'), now(), now()
  from generate_series(1, $2::int) n returning id, user_id, user_query
)
insert into raw_logs (user_id, run_id, message_type, content, conversation, archived_at)
select user_id, id, 'user_query', user_query || ' about the garden and the boat', 'talk', now() from runs"""
INSERT_RUNS = (
    "insert into pipeline_runs (user_id, user_query) select $1, 'Request ' || n from generate_series(1, $2::int) n"
)


@dataclass(frozen=True, slots=True)
class Person:
    """A user and the key that opens their memory."""

    user_id: UUID
    key: str


@dataclass(frozen=True, slots=True)
class House:
    """One server and one orchestrator over one database: `ann` acts, `bob` is watched, `app` serves everybody."""

    bench: Bench
    processes: Processes
    connection: asyncpg.Connection
    dsn: str
    port: int
    server: Popen[bytes]
    orchestrator: Popen[bytes]
    ann: Person
    bob: Person
    app: str

    def check(self) -> None:
        """Raise MaasError when a process has ended by itself."""
        self.processes.check()

    async def wait_idle(self) -> None:
        """Return when no run waits any more. Raises MaasError after TIMEOUT_S."""
        deadline = Deadline(TIMEOUT_S, "the end of all runs")
        while await self.connection.fetchval(UNFINISHED):
            deadline.check()
            self.check()
            await asyncio.sleep(0.1)


@asynccontextmanager
async def open_house(bench: Bench) -> AsyncIterator[House]:
    """A fresh database with its processes, a slow model, and what ann remembers. Raises MaasError."""
    port, model_port, liar_port = free_port(), free_port(), free_port()
    liar = {
        "url": f"http://127.0.0.1:{liar_port}/mcp",
        "effects": {"endless_json": "read"},
        "timeout": LIARS_REPLY_S,
    }
    settings = {
        "MAAS_MODEL": "extractive:builtin",
        "MAAS_AUTH": "keys",
        "MAAS_PORT": str(port),
        "OPENAI_API_KEY": "sk-bench",
        "OPENAI_BASE_URL": f"http://127.0.0.1:{model_port}/v1",
        "MAAS_MCP_SERVERS": json.dumps({"mcpServers": {"liar": liar}}),
    }
    with bench.sandbox.database() as dsn, Processes(bench.sandbox.folder, dsn, bench.settings, **settings) as processes:
        connection = await connect(dsn)
        try:
            seconds = bench.pick(SLOW_MODEL_S, QUICK_SLOW_MODEL_S)
            slow = {"model": f"openai:slow-{seconds}", "memory": "light"}
            await connection.execute(ADD_ASSISTANT, "slow", slow)
            await connection.execute(ADD_ASSISTANT, "clerk", CLERK)
            processes.spawn("model", "-m", "bench.model_server", str(model_port), PYTHONPATH=str(ROOT))
            processes.spawn("liar", "-m", "tests.lying_mcp", str(liar_port), PYTHONPATH=str(ROOT))
            await wait_for_port(liar_port, processes)
            orchestrator, server = processes.start("main.py"), processes.start("server.py")
            deadline = Deadline(TIMEOUT_S, "the start of the processes")
            await wait_for_port(model_port, processes)
            while not (
                await connection.fetchval(ENGINES, [orchestrator.pid])
                and await connection.fetchval(HAS_TOOL, LIARS_TOOL)
                and await is_ready(port)
            ):
                deadline.check()
                processes.check()
                await asyncio.sleep(0.05)
            async with open_database(dsn, 2, "maas bench") as db:
                ann, bob = uuid4(), uuid4()
                keys = [await create_key(db, NewKey("bench", user_id=user), "bench") for user in (ann, bob)]
                app = await create_key(db, NewKey("app", ("ask", "read", "admin")), "bench")
            house = House(
                bench,
                processes,
                connection,
                dsn,
                port,
                server,
                orchestrator,
                Person(ann, keys[0]),
                Person(bob, keys[1]),
                app,
            )
            await fill_memory(house)
            yield house
        finally:
            await connection.close(timeout=5)


async def fill_memory(house: House) -> None:
    """Import what ann remembers, as one file."""
    megabytes = house.bench.pick(MEMORY_MB, QUICK_MEMORY_MB)
    lines = []
    for number in range(megabytes * 1_000_000 // MESSAGE_BYTES):
        words = " ".join(sentence(number * 300 + one) for one in range(MESSAGE_BYTES // 100))
        content = words.encode()[:MESSAGE_BYTES].decode(errors="ignore")
        message = {"role": "user", "content": content, "conversation": f"talk {number // 50}"}
        lines.append(json.dumps(message, ensure_ascii=False))
    reply = await send(
        house,
        house.ann.key,
        "POST",
        f"/v1/users/{house.ann.user_id}/import",
        "\n".join(lines).encode(),
        "application/x-ndjson",
    )
    assert b" 202 " in reply[:20], reply[:300]
    await house.wait_idle()


async def send(house: House, key: str, method: str, path: str, body: bytes, media_type: str) -> bytes:
    """The beginning of the reply to a request of any type; its connection is closed then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", house.port)
    try:
        writer.write(
            f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\nconnection: close\r\n"
            f"content-type: {media_type}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        async with asyncio.timeout(TIMEOUT_S):
            await writer.drain()
            return await reader.read(2000)
    finally:
        writer.close()


async def again(house: House, count: int, ask: Callable[[Caller, int], Awaitable[object]]) -> None:
    """So many connections of ann's that ask again and again; what is refused is asked again a moment later."""

    async def keep_asking(number: int) -> None:
        while True:
            with suppress(OSError, EOFError, TimeoutError):
                async with Caller(house.port, house.ann.key) as caller:
                    while True:
                        if await ask(caller, number) in (429, 503):
                            await asyncio.sleep(0.1)
                        number += count

    async with asyncio.TaskGroup() as group:
        for first in range(count):
            group.create_task(keep_asking(first))


async def nothing(_: House) -> None:
    """An act that needs no preparation."""


async def read_no_export(house: House) -> None:
    """Open exports, read nothing of them."""
    request = (
        f"GET /v1/users/{house.ann.user_id}/export HTTP/1.1\r\nhost: localhost\r\n"
        f"authorization: Bearer {house.ann.key}\r\n\r\n"
    )
    async with AsyncExitStack() as stack:
        for _ in range(EXPORTS):
            _, writer = await asyncio.open_connection("127.0.0.1", house.port, limit=1024)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            stack.callback(writer.close)
            writer.write(request.encode())
        await asyncio.Event().wait()


async def ask_for_contexts(house: House) -> None:
    """POST /v1/context over the large memory."""
    user = str(house.ann.user_id)
    await again(house, READERS, lambda caller, n: caller.post("/v1/context", {"user_id": user, "query": sentence(n)}))


async def search_memory(house: House) -> None:
    """Search the large memory."""
    user = str(house.ann.user_id)
    body = {"user_id": user}
    await again(house, READERS, lambda caller, n: caller.post("/v1/memories/search", body | {"query": sentence(n)}))


async def search_runs(house: House) -> None:
    """List runs by words."""
    path = f"/v1/runs?user_id={house.ann.user_id}&q=garden+boat"

    async def ask(caller: Caller, _: int) -> int:
        return (await caller.get(path))[0]

    await again(house, READERS // 2, ask)


async def search_documents(house: House) -> None:
    """Search documents of one's own."""
    path = f"/v1/knowledge/search?user_id={house.ann.user_id}&q=garden+boat+river"

    async def ask(caller: Caller, _: int) -> int:
        return (await caller.get(path))[0]

    await again(house, READERS, ask)


async def add_documents(house: House) -> None:
    """Keep some documents that can be searched."""
    for number in range(20):
        text = " ".join(sentence(number * 500 + one) for one in range(500))
        body = {"user_id": str(house.ann.user_id), "name": f"{number}.txt", "text": text}
        async with Caller(house.port, house.ann.key) as caller:
            await caller.post("/v1/knowledge/texts", body)


async def post_runs(house: House) -> None:
    """Post small requests without a pause."""
    user = str(house.ann.user_id)
    await again(house, WRITERS, lambda caller, n: caller.post("/v1/runs", {"user_id": user, "query": sentence(n)}))


async def open_conversations(house: House) -> None:
    """Open conversations without a pause."""
    await again(house, WRITERS, lambda caller, _: caller.post("/v1/conversations", {"user_id": str(house.ann.user_id)}))


async def upload_hostile_documents(house: House) -> None:
    """Upload HTML of which no tag is ever closed, again and again."""
    head = "--7b1f2e\r\ncontent-disposition: form-data; name="
    body = f'{head}"user_id"\r\n\r\n{house.ann.user_id}\r\n{head}"name"\r\n\r\nlist.html\r\n'.encode()
    body += f'{head}"file"; filename="list.html"\r\n\r\n'.encode() + HOSTILE + b"\r\n--7b1f2e--\r\n"
    form = "multipart/form-data; boundary=7b1f2e"

    async def upload() -> None:
        while True:
            with suppress(OSError, TimeoutError):
                await send(house, house.ann.key, "POST", "/v1/knowledge", body, form)
            await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as group:
        for _ in range(DOCUMENTS):
            group.create_task(upload())


LARGE_ACCOUNT, INSERTER = uuid4(), uuid4()


async def fill_account(house: House) -> None:
    """An account with many finished runs."""
    async with house.connection.transaction():
        await house.connection.execute("set local session_replication_role = replica")
        await house.connection.execute(FILL_RUNS, LARGE_ACCOUNT, house.bench.pick(ERASED, QUICK_ERASED))
    await house.connection.execute("analyze pipeline_runs, raw_logs")


async def erase_account(house: House) -> None:
    """Erase the large account."""
    await send(house, house.app, "DELETE", f"/v1/users/{LARGE_ACCOUNT}", b"", "application/json")


async def insert_by_sql(house: House) -> None:
    """Insert requests by SQL, as a user whom claims name."""
    connection = await connect(house.dsn)
    try:
        claims = json.dumps({"sub": str(INSERTER)})
        await connection.execute("select set_config('request.jwt.claims', $1, false)", claims)
        await connection.execute("set role authenticated")
        with suppress(asyncpg.PostgresError):  # refused where the number of waiting requests is limited
            await connection.execute(INSERT_RUNS, INSERTER, house.bench.pick(INSERTED, QUICK_INSERTED))
    finally:
        await connection.close(timeout=5)


async def erase_inserted(house: House) -> None:
    """Erase the user who inserted by SQL; else their requests would be answered for many minutes."""
    await send(house, house.app, "DELETE", f"/v1/users/{INSERTER}", b"", "application/json")


async def wait_for_slow_model(house: House) -> None:
    """Many users ask an assistant whose model needs long."""
    async with Caller(house.port, house.app) as caller:
        for number in range(WAITING_USERS):
            body = {"user_id": str(uuid4()), "query": sentence(number), "assistant": "slow"}
            await caller.post_for("/v1/runs", body)


async def call_liar(house: House) -> None:
    """Call a tool whose reply has 1.5 GB, again and again."""
    body = {"user_id": str(house.ann.user_id), "assistant": "clerk", "tool": LIARS_TOOL}
    while True:
        async with Caller(house.port, house.ann.key) as caller:
            run = await caller.post_for("/v1/tool_calls", body)
        with suppress(TimeoutError):
            async with Caller(house.port, house.ann.key, LIARS_REPLY_S) as caller:
                await caller.get(f"/v1/runs/{run['request_id']}?wait={LIARS_REPLY_S}")


@dataclass(frozen=True, slots=True)
class Act:
    """`run` goes on beside the neighbour, watched after `warm_up_s`; `prepare` and `tidy` run before and after it."""

    name: str
    run: Callable[[House], Coroutine[Any, Any, None]]
    prepare: Callable[[House], Awaitable[None]] = nothing
    tidy: Callable[[House], Awaitable[None]] = nothing
    warm_up_s: float = 0.5
    has_documents: bool = False


ACTS = (
    Act("40 exports that nobody reads", read_no_export),
    Act("32 x POST /v1/context", ask_for_contexts),
    Act("32 x search of memory", search_memory),
    Act("32 x search of documents", search_documents, add_documents),
    Act("16 x runs?q=", search_runs),
    Act("16 x POST /v1/runs", post_runs),
    Act("16 x POST /v1/conversations", open_conversations),
    Act("4 hostile documents", upload_hostile_documents, has_documents=True, warm_up_s=2),
    Act("an account of 20,000 runs is erased", erase_account, fill_account, warm_up_s=0),
    Act("20,000 runs by one SQL INSERT", insert_by_sql, tidy=erase_inserted, warm_up_s=0),
    Act("an MCP server replies with 1.5 GB", call_liar),
    Act("70 users wait for a model of 25 s", wait_for_slow_model, warm_up_s=1),
)
