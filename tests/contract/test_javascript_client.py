"""The JavaScript client, as it is built, in Node against a real server."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from shared.postgres import EmbeddedPostgres
from tests.breaking_proxy import breaking_proxy
from tests.databases import copy_of
from tests.pictures import picture
from tests.stack import NOBODY, ROOT, Stack

PACKAGE = ROOT / "clients" / "typescript"
PROGRAM = ROOT / "tests" / "contract" / "client.mjs"
OLDEST_NODE = (20, 3)
MAX_BYTES = 20_000
WORDLESS = re.compile(r"^\s*(//|/\*\*|\*).*\n|^\s+", re.MULTILINE)  # what every minifier leaves out
PARAMETERS = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}


@pytest.fixture(scope="module")
def node() -> str:
    node = shutil.which("node")
    if node is None:
        pytest.skip("the JavaScript client needs Node 20.3 or newer, and there is no node")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if tuple(map(int, version.removeprefix("v").split(".")[:2])) < OLDEST_NODE:
        pytest.skip(f"the JavaScript client needs Node 20.3 or newer, and this is {version}")
    return node


@pytest.fixture(scope="module")
def stack(
    node: str, postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stack]:
    with copy_of(template, postgres.dsn) as dsn, Stack(dsn, tmp_path_factory.mktemp("stack")) as running:
        tool = "insert into tools values ('send_mail', 'mail', 'Send it.', %s, 'dangerous', 'v2', false)"
        running.rows(tool, json.dumps(PARAMETERS))
        running.start_server()
        running.start_orchestrator()
        yield running


@pytest.fixture
def name() -> str:
    """A user whom nobody knows."""
    return f"ann {uuid4().hex} / Аня"


def client(stack: Stack, user: object, step: str, *words: object, url: str | None = None) -> Any:
    """What a step of client.mjs gives."""
    command = ["node", str(PROGRAM), url or f"http://127.0.0.1:{stack.port}", str(user), step, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def propose(stack: Stack, user: UUID) -> str:
    """A tool call that a finished run of the user has proposed."""
    run_id = stack.ask(user, "Mail it to Ann.")
    stack.answer(run_id)
    query = "select maas_propose_action(%s, 'c1', 'send_mail', '{\"to\": \"Ann\"}', 'dangerous', 'v2', 'mentor') as id"
    return str(stack.rows(query, run_id)[0]["id"])


def unclaimed(stack: Stack, status: str) -> UUID:
    """A run that no orchestrator claims."""
    run_id = uuid4()
    stack.rows(
        f"""begin;
        insert into pipeline_runs (id, user_id, user_query) values ('{run_id}', '{run_id}', 'nobody claims me');
        update pipeline_runs set queue_state = 2, status = '{status}', error_code = 'tired', error_message = 'too tired'
        where id = '{run_id}';
        commit"""
    )
    return run_id


def test_it_is_small_and_needs_nothing() -> None:
    package = json.loads((PACKAGE / "package.json").read_text())
    assert package.keys().isdisjoint({"dependencies", "peerDependencies", "optionalDependencies"})
    programs = sorted((PACKAGE / "dist").glob("*.js"))
    size = sum(len(WORDLESS.sub("", path.read_text()).encode()) for path in programs)
    assert 5_000 < size < MAX_BYTES
    imports = {name for path in programs for name in re.findall(r'(?:from|import) "([^"]+)"', path.read_text())}
    assert imports and all(name.startswith("./") for name in imports)


def test_it_asks_and_streams(stack: Stack, name: str) -> None:
    got = client(stack, name, "ask")
    assert got["answer"]["status"] == "COMPLETED" and "Pixel" in got["answer"]["final_answer"]
    events = got["events"]
    assert (events[0]["type"], events[-1]["type"]) == ("status", "done")
    whole = events[-1]["data"]["final_answer"]
    assert "Pixel" in whole and "".join(event["text"] for event in events) in ("", whole)
    assert len(stack.rows("select from user_identities where external_id = %s", name)) == 1
    scheduled = stack.client.get(f"/v1/runs/{got['later']}").json()
    assert (scheduled["priority"], scheduled["attributes"], got["scheduled"]) == ("low", {"batch": 7}, "timeout")
    assert scheduled["run_at"].startswith("2100-01-02T00:00:00")


def test_it_remembers_corrects_and_forgets(stack: Stack, name: str) -> None:
    got = client(stack, name, "memories")
    assert got["memory"]["memory"] == "My sister Alma moved to Lisbon." and len(got["added"]["raw_log_ids"]) == 2
    assert "Porto" in got["context"]["context"] and got["corrected"]["id"]
    assert len(got["history"]["results"]) >= 2 and got["listed"]["results"]
    assert got["forgotten"]["logs"] >= 1 and got["gone"]["code"] == "not_found"


def test_it_knows_facts(stack: Stack, name: str) -> None:
    got = client(stack, name, "facts")
    assert [one["fact"] for one in got["wrong"]["results"]] == ["I love jazz."]
    assert "I live in Voss." in [one["fact"] for one in got["now"]["results"]]
    assert "I live in Voss." in [one["fact"] for one in got["anns"]["results"]] and got["before"]["results"] == []


def test_it_keeps_schedules(stack: Stack, name: str) -> None:
    seen = client(stack, name, "schedules")
    assert seen["made"]["query"] == "What is due?" and seen["made"]["next_at"] is not None
    assert seen["paused"]["paused_at"] is not None
    assert [one["id"] for one in seen["listed"]["results"]] == [seen["made"]["id"]]
    assert seen["left"]["results"] == []


def test_it_holds_conversations(stack: Stack, name: str) -> None:
    got = client(stack, name, "conversations")
    assert got["changed"]["title"] == got["now"]["title"] == "Cats / Кошки"
    assert [one["id"] for one in got["listed"]["results"]] == [got["opened"]["id"]]
    assert got["found"]["results"] == got["listed"]["results"] and not got["missed"]["results"]
    assert got["messages"]["results"][0]["role"] == "assistant" and got["messages"]["next"]
    assert got["cleared"] == {"messages": 2}


def test_it_decides_actions_as_they_were_shown(stack: Stack) -> None:
    user = uuid4()
    first, second = propose(stack, user), propose(stack, user)
    got = client(stack, user, "actions", first, second)
    assert {one["id"] for one in got["pending"]["results"]} == {first, second}
    assert (got["changed"]["isOurs"], got["changed"]["code"], got["changed"]["status"]) == (True, "changed", 409)
    assert got["approved"]["status"] in ("approved", "executing", "done")  # what executes it may be quicker
    assert got["approved"]["arguments"] == {"to": "Ben"}
    assert got["outcome"]["kind"] == "action" and got["outcome"]["status"] == "COMPLETED"
    assert got["rejected"]["status"] == "rejected" and got["turned"]["code"] == "already_decided"
    assert got["turned"]["details"] == {"status": "rejected"}


def test_it_sends_files(stack: Stack, name: str) -> None:
    got = client(stack, name, "files", base64.b64encode(picture("PNG")).decode())
    assert (got["image"]["media_type"], got["image"]["width"]) == ("image/png", 40)
    assert [one["name"] for one in got["documents"]["results"]] == ["canteen.md"]
    assert got["passages"]["results"][0]["heading"] == "Canteen" and got["removed"]["total"] == 0


def test_errors_have_a_code_and_a_status(stack: Stack) -> None:
    got = client(stack, uuid4(), "errors", unclaimed(stack, "FAILED"), unclaimed(stack, "NEW"))
    stopped = [got.pop(name) for name in ("stopped", "stoppedStream")]
    assert stopped == ["AbortError", "TimeoutError"]
    assert all(one["isOurs"] for one in got.values())
    assert {name: (one["code"], one["status"]) for name, one in got.items()} == {
        "missing": ("not_found", 404),
        "invalid": ("unknown_assistant", 422),
        "failed": ("tired", None),
        "streamed": ("tired", None),
        "noStream": ("not_found", 404),
        "away": ("unreachable", 0),
        "late": ("timeout", None),
    }


def test_lost_replies_make_nothing_twice(stack: Stack) -> None:
    user = uuid4()
    action = propose(stack, user)
    with breaking_proxy(f"http://127.0.0.1:{stack.port}") as proxy:
        proxy.faults += ["lost", "unsent", "limited"]
        run_id = client(stack, user, "submit", url=proxy.url)
        assert proxy.seen == ["POST /v1/runs"] * 4
        keyed = {client(stack, user, "keyed", url=proxy.url) for _ in range(2)}
        assert len(keyed) == 1 and run_id not in keyed
        proxy.faults += ["lost"]
        assert client(stack, user, "reject", action, url=proxy.url)["status"] == "rejected"
        proxy.seen.clear()
        proxy.faults += ["lost"]
        assert client(stack, user, "open", url=proxy.url)["code"] == "unreachable"
        assert proxy.seen == ["POST /v1/conversations"]
        (log,) = stack.rows("select id from raw_logs where run_id = %s and content like 'My cat%%'", UUID(run_id))
        stack.answer(UUID(run_id))
        stack.wait_archived(UUID(run_id))
        proxy.faults += ["lost"]
        assert client(stack, user, "forget", log["id"], url=proxy.url) is None
    asked = stack.rows("select from pipeline_runs where user_id = %s and kind = 'ask'", user)
    assert len(asked) == 3  # the one that proposed, and two


def test_a_stream_goes_on_where_it_broke(stack: Stack) -> None:
    run_id = stack.ask(uuid4(), "My cat is called Pixel.")
    stack.answer(run_id)
    whole = client(stack, NOBODY, "follow", run_id)
    assert (whole[0]["type"], whole[-1]["type"]) == ("status", "done")
    assert client(stack, NOBODY, "follow", run_id, whole[2]["id"]) == whole[3:]
    assert client(stack, NOBODY, "follow", run_id, whole[-1]["id"]) == []
    with breaking_proxy(f"http://127.0.0.1:{stack.port}") as proxy:
        proxy.faults += ["lost", "busy"]
        assert client(stack, NOBODY, "follow", run_id, url=proxy.url) == whole
        assert len(proxy.seen) == 3
    got = client(stack, NOBODY, "broken", run_id)
    assert got == {"events": whole, "asked": ["", whole[1]["id"], whole[3]["id"]]}


def test_the_types_are_those_of_the_server(tmp_path: Path) -> None:
    tools = ROOT / "ui" / "node_modules"
    if not tools.exists():
        pytest.skip("ui/node_modules is not installed: run `npm ci` in ui")
    (tmp_path / "good.ts").write_text(
        f"""import {{ MaaS }} from "{PACKAGE}/dist/index.js";
        const maas = new MaaS({{ url: "http://127.0.0.1:8000" }});
        const run = await maas.ask({{ user_id: "ann", query: "Who am I?" }});
        const text: string | null = run.final_answer;
        console.log(text);
        """
    )
    (tmp_path / "bad.ts").write_text(
        f"""import {{ MaaS }} from "{PACKAGE}/dist/index.js";
        await new MaaS().ask({{ user_id: "ann", question: "Who am I?" }});
        """
    )
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--types", ""]
    for name, is_good in (("good.ts", True), ("bad.ts", False)):
        command = [str(tools / ".bin" / "tsc"), *options, name]
        (tmp_path / "package.json").write_text('{"type": "module"}')
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is is_good, done.stdout
    assert "question" in done.stdout
