"""The `maas` command as a person types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest
import typer
from typer.testing import CliRunner

from bench.processes import children_of
from maas.cli import COMMANDS, Entry, commands_of_plugins, execute
from maas.prompting.prompts import prompt_files
from main import commands
from tests.polling import poll
from tests.programs import MAAS
from tests.stack import ROOT, Stack, free_port, maas

HISTORY = [
    ("user", "Ann", "2024-03-01T10:00:00Z", "I finally adopted a greyhound, she is called Comet."),
    ("assistant", "Ben", "2024-03-01T10:01:00Z", "Lovely! How old is she?"),
    ("user", "Ann", "2024-03-01T10:02:00Z", "Four years, she used to race in Dublin."),
    ("user", "Ann", "2024-04-02T09:00:00Z", "В апреле я ездила в Казань на поезде."),
    ("assistant", "Ben", "2024-04-02T09:01:00Z", "И как тебе Казань?"),
]

ALL_COMMANDS = (*COMMANDS, *commands_of_plugins())


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.ndjson"
    lines = [
        {"role": role, "speaker": speaker, "at": at, "content": text, "conversation": at[:7], "external_id": str(n)}
        for n, (role, speaker, at, text) in enumerate(HISTORY)
    ]
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    return path


def test_import_then_ask(stack: Stack, user: UUID, history: Path) -> None:
    """A chat history becomes memory that is quoted with its date."""
    imported = maas(stack, "import", str(history), "--user", str(user))
    assert imported.returncode == 0, imported.stderr
    assert "5 messages imported, 0 already known" in imported.stdout
    assert "messages summarized" in imported.stderr
    answer = maas(stack, "ask", "What is the name of the greyhound?", "--user", str(user))
    assert answer.returncode == 0, answer.stderr
    assert "Comet" in answer.stdout and "2024-03-01" in answer.stdout and "does not reason" in answer.stdout
    russian = maas(stack, "ask", "Куда я ездила на поезде?", "--user", str(user))
    assert "Казань" in russian.stdout and "не рассуждает" in russian.stdout
    logs = stack.rows("select * from raw_logs where user_id = %s and external_id is not null order by seq", user)
    assert [log["content"] for log in logs] == [text for _, _, _, text in HISTORY]
    assert [log["speaker"] for log in logs] == ["Ann", "Ben", "Ann", "Ann", "Ben"]
    assert logs[0]["occurred_at"].isoformat() == logs[0]["known_at"].isoformat() == "2024-03-01T10:00:00+00:00"
    assert all(log["archived_at"] for log in logs)
    records = stack.rows("select * from lsm_storage where user_id = %s and run_id is null order by occurred_at", user)
    assert [str(record["time_bucket_start"]) for record in records] == ["2024-03-01", "2024-03-01", "2024-04-02"]
    covered = [log for record in records for log in record["raw_log_ids"]]
    assert sorted(covered) == sorted(log["id"] for log in logs)


def test_the_example_answers_what_the_documents_ask(stack: Stack, user: UUID) -> None:
    """The first question of a newcomer: no message says that it is the name, and one says whose cat it is."""
    assert maas(stack, "import", str(ROOT / "docs/example.ndjson"), "--user", str(user)).returncode == 0
    assert "Miso" in maas(stack, "ask", "What is my cat called?", "--user", str(user)).stdout


def test_import_again_adds_nothing(stack: Stack, user: UUID, history: Path) -> None:
    maas(stack, "import", str(history), "--user", str(user))
    again = maas(stack, "import", str(history), "--user", str(user))
    assert "0 messages imported, 5 already known" in again.stdout
    assert len(stack.rows("select from raw_logs where user_id = %s", user)) == 5


def test_import_goes_on_after_a_stop(stack: Stack, user: UUID, tmp_path: Path) -> None:
    """Killed in the middle; the second run adds what is missing and nothing twice."""
    path = tmp_path / "long.ndjson"
    path.write_text("\n".join(json.dumps({"role": "user", "content": f"line {n} about {n * 7}"}) for n in range(6000)))
    command = subprocess.Popen(
        [MAAS, "import", str(path), "--user", str(user), "--no-wait"],
        env=os.environ | {"DATABASE_URL": stack.dsn},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    poll(lambda: stack.rows("select from raw_logs where user_id = %s limit 1", user))
    command.kill()
    command.wait()
    assert maas(stack, "import", str(path), "--user", str(user), "--no-wait").returncode == 0
    row = stack.rows("select count(*) as n, count(distinct content) as d from raw_logs where user_id = %s", user)[0]
    assert row == {"n": 6000, "d": 6000}


def test_search_runs_and_trace(stack: Stack, user: UUID, history: Path) -> None:
    maas(stack, "import", str(history), "--user", str(user))
    found = maas(stack, "search", "greyhound", "--user", str(user))
    assert "Comet" in found.stdout.splitlines()[1]
    assert "nothing found" in maas(stack, "search", "zeppelin", "--user", str(user)).stdout
    for bound in (("--to", "2000-01-01"), ("--as-of", "2000-01-01"), ("--from", "2999-12-31"), ("--tag", "none")):
        assert "nothing found" in maas(stack, "search", "greyhound", *bound, "--user", str(user)).stdout
    assert "greyhound" in maas(stack, "search", "greyhound", "--scope", "cold", "--user", str(user)).stdout
    for city in ("Bergen", "Porto"):
        body = {"user_id": str(user), "memory": f"The kennel is in {city}.", "metadata": {"city": city}}
        assert stack.client.post("/v1/memories", json=body).status_code == 202
    fitting = ("--filters", '{"NOT": {"metadata": {"city": "Porto"}}, "keywords": {"icontains": "KENNEL"}}')
    found = maas(stack, "search", "Where is the kennel?", *fitting, "--user", str(user))
    assert "Bergen" in found.stdout and "Porto" not in found.stdout and "greyhound" not in found.stdout
    for wrong in ("[]", "{", '{"city": "Porto"}', '{"user_id": "ann"}', '{"created_at": {"gte": "20260101"}}'):
        refused = maas(stack, "search", "kennel", "--filters", wrong, "--user", str(user))
        assert refused.returncode == 1 and "filters" in refused.stderr, wrong
    run_id = stack.ask(user, "Which dog did I adopt?")
    stack.wait_archived(run_id)
    assert str(run_id) in maas(stack, "runs", "--user", str(user)).stdout
    page = maas(stack, "trace", str(run_id)).stdout
    repeated = UUID(maas(stack, "again", str(run_id)).stdout.strip())
    assert repeated != run_id
    stack.wait_archived(repeated)
    (row,) = stack.rows("select user_id, user_query, source, status from pipeline_runs where id = %s", repeated)
    assert row == {"user_id": user, "user_query": "Which dog did I adopt?", "source": "cli", "status": "COMPLETED"}
    assert "there is no run" in maas(stack, "again", str(user)).stderr
    for word in ("analyzer", "ARCHIVED", "extractive:builtin", "FinalResponder v1", "Comet"):
        assert word in page
    trace = json.loads(maas(stack, "trace", str(run_id), "--json").stdout)
    assert trace["run"]["status"] == "COMPLETED"
    assert len(trace["calls"]) == 4


def test_pause_cancel_and_retry(stack: Stack, user: UUID) -> None:
    """Operators see what is counted before it changes; `maas top` shows what is paused."""
    paused = maas(stack, "pause", "user", str(user), "--reason", "a loop")
    assert "paused; 0 runs left the queue" in paused.stderr
    later = maas(stack, "ask", "Later?", "-u", str(user), "--at", "2100-01-01", "--attribute", "batch=7").stdout.strip()
    now = stack.ask(user, "Now?")
    poll(
        lambda: stack.rows("select paused, scheduled from v_queue") == [{"paused": 1, "scheduled": 1}], what="both wait"
    )
    done = maas(stack, "top", "--once")
    assert done.returncode == 0, done.stderr
    page = done.stdout
    assert "paused 1  scheduled 1" in page and "a loop" in page
    assert "a loop" in maas(stack, "pause").stdout
    listed = maas(stack, "runs", "--user", str(user), "--attribute", "batch=7").stdout
    assert later in listed and str(now) not in listed and "not before 01-01" in listed

    chosen = ("--user", str(user), "--attribute", "batch=7")
    unasked = maas(stack, "cancel", *chosen)  # without a terminal nobody can say yes
    assert unasked.returncode == 1 and "1 runs match" in unasked.stderr and "cancelled" not in unasked.stderr
    assert "1 cancelled" in maas(stack, "cancel", *chosen, "--yes").stderr
    assert stack.answer(UUID(later))["error_code"] == "cancelled"
    assert "1 tried again" in maas(stack, "retry", *chosen, "--error-code", "cancelled", "--yes").stderr
    assert "1 cancelled" in maas(stack, "cancel", later).stderr
    assert "1 runs are back" in maas(stack, "resume", "user", str(user)).stderr
    assert stack.answer(now)["status"] == "COMPLETED"


def test_schedules_are_added_listed_paused_and_deleted(stack: Stack, user: UUID) -> None:
    whose = ("--user", str(user))
    added = maas(stack, "schedules", "add", "30 8 * * 1-5", "What is due?", *whose, "--timezone", "Europe/Lisbon")
    assert added.returncode == 0, added.stderr
    schedule = added.stdout.strip()
    listed = maas(stack, "schedules", "list", *whose).stdout
    assert schedule in listed and "08:30" in listed and "active" in listed
    assert maas(stack, "schedules", "pause", schedule).stdout == "paused\n"
    assert "paused" in maas(stack, "schedules", "list", *whose).stdout
    assert "next: " in maas(stack, "schedules", "resume", schedule).stdout
    refused = maas(stack, "schedules", "add", "8:30", "hello", *whose)
    assert refused.returncode == 1 and "cron: must have five fields" in refused.stderr
    assert maas(stack, "schedules", "delete", schedule).stdout == "deleted\n"
    gone = maas(stack, "schedules", "delete", schedule)
    assert (gone.returncode, gone.stderr) == (1, f"maas: there is no schedule {schedule}\n")
    assert stack.rows("select from audit where user_id = %s and action = 'schedule'", user)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("cancel",), "either by their ids or by options"),
        (("retry", "--attribute", "batch"), "must look like NAME=VALUE"),
        (("pause", "user", "ann"), "a user is named by a UUID"),
        (("pause", "weather", "rain"), "one of assistant, key, model, user"),
        (("resume", "assistant", "mentor"), "is not paused"),
        (("ask", "hi", "--priority", "urgent"), "one of high, normal, low"),
        (("ask", "  "), "blank"),
        (("ask", "hi", "--user", "me"), "--user: 'me' is not a UUID"),
        (("ask", "hi", "--assistant", "nobody"), "no active assistant"),
        (("trace", "7"), "not a UUID"),
        (("trace", str(uuid4())), "there is no run"),
    ],
)
def test_bad_words_get_one_line(stack: Stack, words: tuple[str, ...], part: str) -> None:
    done = maas(stack, *words)
    assert done.returncode == 1
    assert part in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_wrong_setting_and_wrong_database_get_one_line(stack: Stack) -> None:
    wrong = maas(stack, "runs", MAAS_PORT="eighty")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert "MAAS_PORT" in wrong.stderr
    for address in ("postgresql://nobody:secret99@127.0.0.1:1/x", "http://nonsense"):
        lost = maas(stack, "runs", DATABASE_URL=address)
        assert (lost.returncode, lost.stderr.count("\n")) == (1, 1), lost.stderr
        assert "secret99" not in lost.stderr


def test_doctor(stack: Stack) -> None:
    """Settings are printed with their source, every part is checked, secrets are hidden."""
    stack.rows(
        """with asked as (insert into pipeline_runs (user_id, user_query)
             select gen_random_uuid(), 'q' from generate_series(1, 5) returning id)
           insert into llm_calls (run_id, try, stage, round, attempt, provider, model, role_name, prompt_version,
             finish, attempts, tokens_in, tokens_out, ms)
           select id, 1, 'final_responder', 7, 1, 'openai', 'slow', 'Mentor', 1, 'stop', 1, 9, 100, 10000 from asked"""
    )
    well = maas(stack, "doctor", OPENAI_API_KEY="sk-very-secret-key-123", MAAS_TIMEZONE="Europe/Moscow")
    assert "openai:slow writes 10 tokens a second" in well.stdout
    assert "set MAAS_RESPONDER_ATTEMPT_TIMEOUT to 260 or lower MAAS_MAX_TOKENS" in " ".join(well.stdout.split())
    assert well.returncode == 0, well.stdout + well.stderr
    assert "all checks passed" in well.stdout and "very-secret" not in well.stdout
    for part in ("database", "migrations", "listen", "prompts", "models", "orchestrators"):
        assert f"{part}:" in well.stdout
    line = next(line for line in well.stdout.splitlines() if line.startswith("MAAS_TIMEZONE"))
    assert line.split() == ["MAAS_TIMEZONE", "Europe/Moscow", "environment"]
    assert "MAAS_PORT" not in well.stdout and well.stdout.index("MAAS_TIMEZONE") < well.stdout.index("ok    database")
    assert "MAAS_PORT" in maas(stack, "doctor", "--all").stdout
    ill = maas(stack, "doctor", MAAS_MODEL="openai:gpt-4o", MAAS_RESPONDR_MODEL="openai:gpt-4o")
    assert ill.returncode == 1
    lines = ill.stdout.splitlines()
    assert lines[0] == "wrong settings: MAAS_RESPONDR_MODEL is not a setting; did you mean MAAS_RESPONDER_MODEL?"
    assert lines[1].startswith("wrong models: openai:gpt-4o needs OPENAI_API_KEY") and lines[2] == ""
    assert "checks failed: 2" in ill.stdout
    lost = maas(stack, "doctor", DATABASE_URL="postgresql://127.0.0.1:1/none")
    assert lost.returncode == 1 and lost.stdout.startswith("wrong database: ") and "DATABASE_URL" in lost.stdout


def test_doctor_names_logins_that_have_no_rights(stack: Stack) -> None:
    stack.rows("create role a_neighbour login")
    try:
        assert "a_neighbour" in maas(stack, "doctor").stdout
        stack.rows("revoke connect on database {} from public".format(stack.dsn.rpartition("/")[2].partition("?")[0]))
        assert "no other login may connect" in maas(stack, "doctor").stdout
    finally:
        stack.rows("drop role a_neighbour")


def test_doctor_names_the_image_models(stack: Stack) -> None:
    assert "image model: not configured (set MAAS_IMAGE_MODEL)" in maas(stack, "doctor").stdout
    draws = {"MAAS_IMAGE_MODEL": "openai:gpt-image-1", "OPENAI_API_KEY": "sk-very-secret-key-123"}
    assert "image model: openai:gpt-image-1\n" in maas(stack, "doctor", **draws).stdout
    ill = maas(stack, "doctor", **draws, MAAS_IMAGE_FALLBACK="gemini:gemini-2.5-flash-image")
    assert ill.returncode == 1
    assert "wrong image model: gemini:gemini-2.5-flash-image needs GEMINI_API_KEY" in ill.stdout


def test_doctor_shows_brackets_as_they_are(stack: Stack) -> None:
    ill = maas(stack, "doctor", MAAS_EMBEDDING_MODEL="[vectors]:any")
    assert "wrong embedding model: model '[vectors]:any' names the unknown provider '[vectors]'" in ill.stdout


def test_help_names_every_command() -> None:
    page = subprocess.run([MAAS, "--help"], capture_output=True, text=True, check=True).stdout
    for entry in ALL_COMMANDS:
        assert f" {entry.name} " in page
    groups = [page.index(f"─ {name} ─") for name in ("Start", "Talk", "Memory", "Operate", "Access", "Plugins")]
    assert groups == sorted(groups)
    assert "─ Commands ─" not in page


@pytest.mark.parametrize("entry", ALL_COMMANDS, ids=lambda entry: entry.name)
def test_every_command_loads_and_shows_its_help(entry: Entry) -> None:
    done = CliRunner().invoke(commands(), [entry.name, "--help"], prog_name="maas")
    assert done.exit_code == 0, done.output
    assert f"Usage: maas {entry.name} " in done.stdout
    assert " ".join(entry.help.split()) in " ".join(done.stdout.split())


def test_help_loads_neither_commands_nor_settings() -> None:
    program = "import sys; from main import run; assert run(['--help']) == 0; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "maas.cli" in loaded
    assert not {"pydantic", "asyncpg", "structlog", "maas.composition", "maas.terminal.invocation"} & set(
        loaded.split()
    )


def test_an_unexpected_error_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback is printed with its control characters escaped; the exit status is 1."""
    app = typer.Typer()

    @app.command()
    def fail() -> None:
        raise ValueError("\x1b[2Jgone")

    assert execute(app, []) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("Traceback") and printed.endswith("ValueError: \\x1b[2Jgone\n") and "\x1b" not in printed


def test_up_does_everything_and_ends(reachable_tmp: Path, pg_bin: Path | None) -> None:
    """One command on an empty folder: database, migrations, server, orchestrator; one Ctrl-C ends them all."""
    folder = reachable_tmp / f"up {uuid4().hex[:8]}"
    folder.mkdir()
    port = free_port()
    nobody = f"http://127.0.0.1:{free_port()}"  # whatever runs on this machine
    elsewhere = {"OLLAMA_HOST": nobody, "MAAS_LMSTUDIO_URL": nobody, "MAAS_LLAMA_URL": nobody}
    settings = {"MAAS_PORT": str(port), "MAAS_DATA_DIR": str(folder / "data")} | elsewhere
    up = subprocess.Popen(
        [MAAS, "up"],
        cwd=folder,
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    assert up.stdout is not None
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=40, trust_env=False, verify=False) as client:
            poll(lambda: _is_ready(client), 40)
            body = {"user_id": str(uuid4()), "query": "My tent is green."}
            url = client.post("/v1/runs", json=body).json()["poll_url"]
            assert client.get(url, params={"wait": 30}).json()["status"] == "COMPLETED"
            lines = [up.stdout.readline()]
            while "MaaS answers at" not in lines[-1]:
                lines.append(up.stdout.readline())
            address = f"http://127.0.0.1:{port}"
            assert lines[-1] == f"MaaS answers at {address}/\n"
            assert lines[-2] == f"API reference: {address}/docs; Ctrl-C stops everything\n"
            started = "".join(lines)
            assert (
                "Found" not in started
                and "readyz" not in started
                and "assistant_not_configured" not in started
                and len(lines) <= 12
            ), started
    finally:
        os.killpg(up.pid, signal.SIGINT)
        output = up.communicate(timeout=30)[0]
    assert up.returncode == 0, output
    poll(lambda: not _is_listening(port))
    poll(lambda: not any((folder / "data").rglob("postmaster.pid")))


def test_up_starts_a_dead_process_again(database: str, tmp_path: Path) -> None:
    """kill -9 of orchestrator and server: `maas up` goes on with new ones."""
    port = free_port()
    environment = os.environ | {"DATABASE_URL": database, "MAAS_PORT": str(port)}
    with (tmp_path / "log").open("wb") as output:
        up = subprocess.Popen([MAAS, "up"], cwd=tmp_path, env=environment, stdout=output, stderr=output)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=40, trust_env=False, verify=False) as client:
            poll(lambda: "MaaS answers at" in (tmp_path / "log").read_text(), 40)
            for child in children_of(up.pid):
                os.kill(child, signal.SIGKILL)
            poll(lambda: (tmp_path / "log").read_text().count("starting it again") == 2)
            poll(lambda: _is_ready(client))
            url = client.post("/v1/runs", json={"user_id": str(uuid4()), "query": "Still there?"}).json()["poll_url"]
            assert client.get(url, params={"wait": 30}).json()["status"] == "COMPLETED"
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(30)


def test_up_that_is_killed_takes_its_children_along(reachable_tmp: Path) -> None:
    """kill -9 of `maas up`: no process and no server is left behind."""
    folder = reachable_tmp / f"killed-{uuid4().hex[:8]}"
    folder.mkdir()
    port = free_port()
    environment = os.environ | {"MAAS_PORT": str(port), "MAAS_DATA_DIR": str(folder / "data")}
    with (folder / "log").open("wb") as output:
        up = subprocess.Popen([MAAS, "up"], cwd=folder, env=environment, stdout=output, stderr=output)
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=40, trust_env=False, verify=False) as client:
        poll(lambda: _is_ready(client), 40)
    up.kill()
    up.wait()
    poll(lambda: not _is_listening(port))
    poll(lambda: not any((folder / "data").rglob("postmaster.pid")))


def test_up_refuses_open_access(stack: Stack) -> None:
    done = maas(stack, "up", MAAS_HOST="0.0.0.0", MAAS_PORT=str(free_port()))
    assert done.returncode == 1
    assert "MAAS_AUTH=none" in done.stderr


def test_migrate_prepares_any_database(stack: Stack) -> None:
    name = f"empty_{uuid4().hex[:8]}"
    dsn = stack.dsn.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(stack.dsn, autocommit=True) as admin:
        admin.execute(f"create database {name}".encode())
        try:
            before = maas(stack, "runs", DATABASE_URL=dsn)
            assert before.returncode == 1 and "maas migrate" in before.stderr
            steps = json.loads(maas(stack, "migrate", "--plan", "--json", DATABASE_URL=dsn).stdout)["steps"]
            assert steps[0]["file"].startswith("schema/") and steps[0]["locks"] == []
            assert f"{len(prompt_files())} prompts seeded" in maas(stack, "migrate", DATABASE_URL=dsn).stdout
            assert maas(stack, "migrate", DATABASE_URL=dsn).stdout == "up to date\n"
            idle = maas(stack, "ask", "hi", DATABASE_URL=dsn)
            assert idle.returncode == 1 and "make run" in idle.stderr
        finally:
            admin.execute(f"drop database {name} with (force)".encode())


def _is_ready(client: httpx2.Client) -> bool:
    try:
        return bool(client.get("/readyz").json().get("orchestrators"))
    except httpx2.TransportError:
        return False


def _is_listening(port: int) -> bool:
    try:
        httpx2.get(f"http://127.0.0.1:{port}/healthz", trust_env=False, verify=False)
    except httpx2.TransportError:
        return False
    return True
