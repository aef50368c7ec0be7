"""The way in by an import: files of a user's own that name rows of somebody else, in every place for an id.

What came in is forgotten, folded and merged afterwards. Nothing of the owners may be read, changed, lost or added.
"""

from __future__ import annotations

import base64
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2
import psycopg
from psycopg.rows import DictRow, dict_row

from tests.fuzz.residents import Resident
from tests.notes import ADD_NOTE
from tests.pictures import picture
from tests.programs import Process
from tests.stack import Stack

CONTROL = 10  # one file in so many is honest, and must come in
WORKERS = 4
AT = "2024-01-01T00:00:00Z"
PLANTED = "planted"
TABLES = (
    "raw_logs",
    "lsm_storage",
    "chat_conversations",
    "chat_messages",
    "facts",
    "attachments",
    "knowledge_documents",
)
NOT_COMPARED = ("api_keys", "counted_users")  # when a key was used; how many turns were counted
# Shorter than the five seconds of the server: a request on a connection that it is just closing would be reset.
KEPT_ALIVE = httpx2.Limits(keepalive_expiry=2)
Connection = psycopg.Connection[DictRow]
Ids = dict[str, list[str]]


@dataclass(slots=True)
class Planted:
    """Files by what they hold; `findings` are ways that came through, `shut` honest files that did not come in."""

    files: Counter[tuple[str, int]] = field(default_factory=Counter)
    controls: int = 0
    findings: list[str] = field(default_factory=list)
    shut: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        taken = sum(count for (_, status), count in self.files.items() if status == 202)
        return not self.findings and not self.shut and taken > 0 and self.controls > 0

    def to_json(self) -> dict[str, object]:
        """The same figures."""
        return {
            "attempts": self.files.total(),
            "findings": self.findings[:100],
            "controls": self.controls,
            "controls_shut": self.shut[:100],
            "by_file": {f"{name} {status}": count for (name, status), count in sorted(self.files.items())},
        }


def plant(
    stack: Stack,
    orchestrator: Process,
    residents: Sequence[Resident],
    attempts: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Planted:
    """Half of the residents try, the others have a run that waits: the orchestrator is stopped, and started again."""
    half = len(residents) // 2
    thieves, owners = residents[:half], residents[half:]
    for owner in owners:
        _furnish(stack, owner)
    stack.stop(orchestrator)
    waiting = [
        UUID(stack.client.post("/v1/runs", headers=one.headers, json=_asking(one)).json()["request_id"])
        for one in owners
    ]
    planted, lock = Planted(), threading.Lock()

    def work(number: int) -> None:
        draw = random.Random(seed * WORKERS + number)
        with (
            httpx2.Client(
                base_url=f"http://127.0.0.1:{stack.port}", timeout=120, trust_env=False, limits=KEPT_ALIVE
            ) as client,
            psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection,
        ):
            for count in range(number, attempts, WORKERS):
                thief, owner = draw.choice(thieves), draw.choice(owners)
                name, status, findings = _attempt(draw, client, connection, thief, owner)
                is_in = count % CONTROL or _comes_in(draw, client, thief)
                with lock:
                    planted.files[name, status] += 1
                    planted.findings += findings
                    planted.controls += count % CONTROL == 0
                    planted.shut += [] if is_in else [f"an honest file of {thief.user_id}"]
                on_progress(1)

    with psycopg.connect(stack.dsn, autocommit=True, row_factory=dict_row) as connection:
        before = [_rows(connection, one.user_id) for one in owners]
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(work, range(WORKERS)))
        for owner, was in zip(owners, before, strict=True):
            planted.findings += [f"a row of {owner.user_id}: {row}" for row in was ^ _rows(connection, owner.user_id)]
        stack.start_orchestrator()
        stack.wait_archived(*waiting, seconds=60)
        planted.findings += [one for run_id in waiting for one in _ended(connection, run_id)]
    return planted


def _asking(owner: Resident) -> dict[str, str]:
    return {"user_id": str(owner.user_id), "query": "Which word opens my safe?"}


def _furnish(stack: Stack, owner: Resident) -> None:
    """A note, a document, a drawing, and records of which one was merged; all of it tells the secret."""
    run, user, words = owner.things["run"], owner.user_id, f"about {owner.secret}"
    document = {"name": "safe", "media_type": "text/plain", "sha256": "", "bytes": 1, "track_id": "t"}
    passages = [{"heading": "", "page": None, "position": 0, "text": words}]
    add = "select maas_add_document(%s, %s, %s)"
    stack.rows(add, user, json.dumps(document | {"status": "processed"}), json.dumps(passages))
    stack.rows(ADD_NOTE, user, words, run)
    stack.rows("select maas_store_attachment(%s, %s, 'image/png', 1, 1, %s)", user, run, owner.secret.encode())
    stack.rows(
        """with parent as (
             insert into lsm_storage (user_id, level, time_bucket_start, time_bucket_end, tags, summary, raw_log_ids)
             select user_id, 1, time_bucket_start, time_bucket_end, tags, %s, raw_log_ids from lsm_storage
             where user_id = %s and run_id = %s returning id
           )
           update lsm_storage l set superseded_by = p.id, superseded_at = now(), summary = %s from parent p
           where l.user_id = %s and l.run_id = %s""",
        words,
        user,
        run,
        words,
        user,
        run,
    )


def _attempt(
    draw: random.Random, client: httpx2.Client, connection: Connection, thief: Resident, owner: Resident
) -> tuple[str, int, list[str]]:
    """One file and all that may be done with what it brought: what it held, the status, what came through."""
    theirs, mine = _ids(connection, owner.user_id), _ids(connection, thief.user_id)
    name, lines = _file(draw, theirs, mine)
    header = {"maas": "export", "version": 1, "user_id": str(draw.choice((thief, thief, owner)).user_id)}
    reply = _send(client, thief, [header, *lines])
    findings, texts = [], [reply.text]
    if reply.status_code not in (202, 422):
        findings.append(f"{name}: status {reply.status_code} {reply.text[:200]}")
    named = {one for line in lines for one in _named(line)} - {one for ids in mine.values() for one in ids}
    kept = {one for ids in _ids(connection, thief.user_id).values() for one in ids} & named
    if kept:
        findings.append(f"{name}: ids of a file were kept: {sorted(kept)}")
    texts += [str(row) for row in _use(connection, thief.user_id)]
    texts += [*_read(draw, client, connection, thief), *_forget(client, connection, thief)]
    findings += [f"{name}: showed {owner.user_id}'s secret" for text in texts if owner.secret in text]
    return name, reply.status_code, findings


def _file(draw: random.Random, theirs: Ids, mine: Ids) -> tuple[str, list[dict[str, Any]]]:
    everything = [one for ids in theirs.values() for one in ids]

    def named(kind: str) -> str:
        ways = (theirs[kind], theirs[kind], theirs[kind], everything, mine[kind], ())
        return draw.choice(draw.choice(ways) or (str(UUID(int=draw.getrandbits(128), version=4)),))

    def line(what: str, table: str, **fields: Any) -> dict[str, Any]:
        return {"type": what, "id": named(table), "created_at": AT, **fields}

    record = line(
        "record",
        "lsm_storage",
        run_id=draw.choice((None, named("run"))),
        level=draw.choice((0, 0, 1)),
        time_bucket_start="2024-01-01",
        time_bucket_end="2024-01-01",
        tags=["T"],
        summary=PLANTED,
        words_gone=True,
        raw_log_ids=[named("raw_logs") for _ in range(draw.randrange(3))],
        occurred_at=AT,
        known_at=AT,
        superseded_by=draw.choice((None, named("lsm_storage"))),
        superseded_at=draw.choice((None, AT)),
    )
    logs = [
        line(
            "log",
            "raw_logs",
            run_id=named("run"),
            turn_no=draw.choice((0, 0, 1)),
            content=PLANTED,
            speaker=None,
            role=draw.choice(("user", "assistant")),
            conversation="c",
            external_id=None,
            metadata=None,
            at=AT,
            known_at=AT,
            archived_at=AT if draw.random() < 0.95 else None,
            archived_run_id=draw.choice((None, named("run"))),
            record_id=draw.choice((None, record["id"])),
        )
        for _ in range(draw.randrange(1, 3))
    ]
    talk = line("conversation", "chat_conversations", assistant="mentor", mode="auto", title=None)
    messages = [
        line(
            "message",
            "chat_messages",
            run_id=named("run"),
            role=role,
            content=PLANTED,
            is_folded=draw.random() < 0.3,
            conversation_id=draw.choice((talk["id"], talk["id"], named("chat_conversations"))),
            attachment_ids=[named("attachments") for _ in range(draw.randrange(2))],
        )
        for role in ("user", "assistant")
    ]
    image = line("attachment", "attachments", run_id=named("run"), kind="generated", content=_IMAGE)
    note = line("note", "facts", run_id=named("run"), content=f"{PLANTED} {draw.random()}")
    document = line(
        "document",
        "knowledge_documents",
        name=f"{PLANTED} {draw.random()}",
        media_type="text/plain",
        sha256="",
        bytes=1,
        pages=None,
        summary=PLANTED,
        track_id="t",
    )
    passages = [
        {
            "type": "passage",
            "document_id": draw.choice((document["id"], named("knowledge_documents"))),
            "number": number,
            "heading": PLANTED,
            "page": None,
            "position": 0,
            "text": PLANTED,
        }
        for number in range(1, 3)
    ]
    files = {
        "a document": [document, *passages],
        "passages": passages,
        "words": [log | {"record_id": None} for log in logs],
        "a record": [record],
        "words and a record": [*logs, record],
        "a dialogue": [talk, *messages],
        "messages": messages,
        "an image": [image],
        "a note": [note],
        "everything": [*logs, record, talk, *messages, note, document, *passages, image],
    }
    name = draw.choice(list(files))
    return name, files[name]


def _named(line: dict[str, Any]) -> Iterator[str]:
    for name, value in line.items():
        if name == "id" or name.endswith(("_id", "superseded_by")):
            yield from [value] if value else []
        elif name.endswith("_ids"):
            yield from value


def _send(client: httpx2.Client, who: Resident, lines: Sequence[dict[str, Any]]) -> httpx2.Response:
    content = "\n".join(json.dumps(line) for line in lines).encode()
    headers = who.headers | {"content-type": "application/x-ndjson"}
    while True:  # a server takes two imports at a time, one of each user
        reply = client.post(f"/v1/users/{who.user_id}/import", content=content, headers=headers)
        if reply.status_code not in (429, 503):
            return reply


def _comes_in(draw: random.Random, client: httpx2.Client, who: Resident) -> bool:
    """An honest file: ids that are nobody's."""
    nobodys: Ids = {name: [] for name in (*TABLES, "run")}
    name, lines = _file(draw, nobodys, nobodys)
    while name != "words":
        name, lines = _file(draw, nobodys, nobodys)
    header = {"maas": "export", "version": 1, "user_id": str(who.user_id)}
    reply = _send(client, who, [header, lines[0]])
    return reply.status_code == 202 and reply.json()["added"] == 1


def _use(connection: Connection, user: UUID) -> list[DictRow]:
    """What the engine does with what came in: folds its dialogues, merges its records."""
    return (
        connection.execute(
            """select c.id, maas_fold_conversation(c.id, 0),
             (select d.rolling_summary from chat_conversations d where d.id = c.id) as summary
           from chat_conversations c where c.user_id = %s order by c.created_at desc limit 3""",
            (user,),
        ).fetchall()
        + connection.execute(
            """with g as (
             select array_agg(id) as ids from maas_bucket_records(%s, 1, '2024-01-01') having bool_or(level = 0))
           select maas_compact(%s, 1, '2024-01-01', g.ids, %s, false, '{}') from g where g.ids is not null""",
            (user, user, PLANTED),
        ).fetchall()
    )


def _read(draw: random.Random, client: httpx2.Client, connection: Connection, who: Resident) -> Iterator[str]:
    whose = {"user_id": str(who.user_id)}
    talk = connection.execute(
        "select id from chat_conversations where user_id = %s order by created_at desc limit 1", (who.user_id,)
    ).fetchone()
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", f"/v1/users/{who.user_id}/export", {}),
        ("GET", "/v1/memories", {"params": whose}),
        ("POST", "/v1/memories/search", {"json": whose | {"query": f"{PLANTED} word that opens the safe"}}),
        ("GET", "/v1/knowledge/search", {"params": whose | {"q": f"{PLANTED} word that opens the safe"}}),
        ("POST", "/v1/context", {"json": whose | {"query": f"{PLANTED} word that opens the safe"}}),
    ]
    if talk is not None:
        ways.append(("GET", f"/v1/conversations/{talk['id']}/messages", {}))
        ways.append(("GET", f"/v1/conversations/{talk['id']}", {}))
    for method, path, options in draw.sample(ways, 2):
        yield client.request(method, path, headers=who.headers, **options).text


def _forget(client: httpx2.Client, connection: Connection, who: Resident) -> Iterator[str]:
    """The newest of what came in; dialogues, notes and images have no endpoint for it."""
    rows = connection.execute(
        """(select id from lsm_storage where user_id = %s and summary = %s limit 8)
           union all (select id from raw_logs where user_id = %s and content = %s order by seq desc limit 4)""",
        (who.user_id, PLANTED, who.user_id, PLANTED),
    ).fetchall()
    for row in rows:
        for part in ("/history", "/sources"):
            yield client.get(f"/v1/memories/{row['id']}{part}", headers=who.headers).text
        yield client.delete(f"/v1/memories/{row['id']}", headers=who.headers).text
    for table in ("chat_conversations", "facts", "attachments", "knowledge_documents"):
        connection.execute(f"delete from {table} where user_id = %s and created_at = %s".encode(), (who.user_id, AT))


def _ids(connection: Connection, user: UUID) -> Ids:
    ids: Ids = {
        table: [
            str(row["id"])
            for row in connection.execute(f"select id from {table} where user_id = %s".encode(), (user,)).fetchall()
        ]
        for table in TABLES
    }
    runs = connection.execute(
        """select id from pipeline_runs where user_id = %s union select run_id from raw_logs where user_id = %s
           union select run_id from chat_messages where user_id = %s and run_id is not null""",
        (user, user, user),
    ).fetchall()
    return ids | {"run": [str(row["id"]) for row in runs]}


def _rows(connection: Connection, user: UUID) -> set[str]:
    tables = connection.execute("select name::text, condition from maas_user_tables()").fetchall()
    return {
        f"{table['name']} {row['row']}"
        for table in tables
        if table["name"] not in NOT_COMPARED
        for row in connection.execute(
            f"select t::text as row from {table['name']} t where {table['condition'].replace('$1', '%s')}".encode(),
            (user,) * table["condition"].count("$1"),
        ).fetchall()
    }


def _ended(connection: Connection, run_id: UUID) -> list[str]:
    """What is wrong with the end of a run that waited meanwhile."""
    (row,) = connection.execute(
        """select r.status, r.archive_status, coalesce(r.final_context_payload, '') as payload,
             (select count(*) from raw_logs g where g.run_id = r.id and g.user_id = r.user_id) as words,
             (select count(*) from lsm_storage l where l.run_id = r.id and l.user_id = r.user_id and l.raw_log_ids
                <@ array(select g.id from raw_logs g where g.run_id = r.id and g.user_id = r.user_id)) as records
           from pipeline_runs r where r.id = %s""",
        (run_id,),
    ).fetchall()
    found = (row["status"], row["archive_status"], row["words"], row["records"], PLANTED in row["payload"])
    return [] if found == ("COMPLETED", "ARCHIVED", 2, 1, False) else [f"run {run_id} ended as {found}"]


_IMAGE = base64.b64encode(picture()).decode()
