"""The embedded server: shared by processes, ended with the last of them, back after every kill."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from shared.errors import MaasError
from shared.postgres import _spawn, acquire
from shared.postgres.installation import choose_data_dir
from shared.postgres.supervisor_socket import connect_supervisor
from tests.fault.holder import NOBODY, Holder, alive, left_of
from tests.polling import poll

Start = Callable[..., Holder]


@pytest.fixture(scope="module")
def prepared(reachable_tmp: Path, pg_bin: Path | None) -> Path:
    """A data folder with a database in it, to be copied: making one anew takes longer than most tests."""
    path = reachable_tmp / "prepared"
    acquire(path, bin_dir=pg_bin).close(wait=True)
    poll(lambda: not left_of(path))
    (path / "postgres" / "port").unlink()
    return path


@pytest.fixture
def folder(reachable_tmp: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A data folder, not made yet, with a space in its path; no process may be left of it."""
    path = reachable_tmp / "with space" / request.node.name
    yield path
    poll(lambda: not left_of(path), what=f"processes end that use {path}")
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def known(folder: Path, prepared: Path) -> Path:
    """The same folder with a database in it."""
    folder.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", prepared, folder], check=True)
    return folder


@pytest.fixture
def hold(folder: Path, pg_bin: Path | None) -> Iterator[Start]:
    holders: list[Holder] = []

    def start(data_dir: Path | None = folder, bin_dir: Path | None = pg_bin, **options: Any) -> Holder:
        holders.append(Holder(data_dir, bin_dir, **options))
        return holders[-1]

    yield start
    for each in holders:
        each.end()


def rows(dsn: str) -> list[int]:
    with psycopg.connect(dsn, connect_timeout=5) as connection:
        return [n for (n,) in connection.execute("select n from kept order by n")]


def keep(dsn: str, n: int) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("create table if not exists kept (n int)")
        connection.execute("insert into kept values (%s)", (n,))


def comes_back(dsn: str) -> list[int]:
    def attempt() -> list[int] | None:
        try:
            return rows(dsn)
        except psycopg.OperationalError:
            return None

    return poll(attempt, what="the server answers again") or []


def gone(*pids: int) -> None:
    poll(lambda: not any(map(alive, pids)), what=f"processes {pids} end")


def ended(holder: Holder) -> Holder:
    """The same, after it and its server ended in peace."""
    pids = holder.said["pid"], holder.said["supervisor"]
    holder.end()
    gone(*pids)
    return holder


def owner(folder: Path) -> int:
    """The user that runs a server on this folder."""
    return (folder / "postgres").stat().st_uid


def test_a_server_as_promised(folder: Path, pg_bin: Path | None) -> None:
    with acquire(folder, bin_dir=pg_bin) as server:
        with psycopg.connect(server.dsn) as connection:
            shown = {
                name: connection.execute(f"show {name}").fetchone()
                for name in ("fsync", "listen_addresses", "timezone", "jit", "max_connections", "server_encoding")
            }
            lower = connection.execute("select lower('ПРИВЕТ')").fetchone()
        assert [value for (value,) in filter(None, shown.values())] == ["on", "127.0.0.1", "UTC", "off", "200", "UTF8"]
        assert lower == ("привет",)
        with psycopg.connect(server.socket_dsn) as connection:
            assert connection.info.user == connection.info.dbname == "maas"
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(server.dsn.replace("@", "x@"))
        assert Path(f"/proc/{server.pid}").stat().st_uid == owner(folder) != 0
        server.close(wait=True)
        assert not alive(server.pid)


def test_a_known_folder_keeps_its_address(folder: Path, pg_bin: Path | None) -> None:
    with acquire(folder, bin_dir=pg_bin) as server:
        first = server.dsn
        keep(server.dsn, 1)
        server.close(wait=True)
    with acquire(folder, bin_dir=pg_bin) as server:
        assert server.dsn == first
        assert rows(server.dsn) == [1]
        server.close(wait=True)


@pytest.mark.usefixtures("known")
def test_two_processes_share_one_server_until_both_are_killed(hold: Start) -> None:
    one, two = hold(), hold()
    assert one.said == two.said
    one.kill()
    keep(two.said["dsn"], 1)
    two.kill()
    gone(two.said["pid"], two.said["supervisor"])


def test_eight_at_once_get_one_server(hold: Start) -> None:
    holders = [hold() for _ in range(8)]
    assert len({(each.said["pid"], each.said["dsn"]) for each in holders}) == 1


@pytest.mark.usefixtures("known")
def test_the_supervisor_is_no_part_of_the_terminal(hold: Start) -> None:
    first, second = hold(), hold()
    supervisor = second.said["supervisor"]
    assert first.said["supervisor"] == supervisor
    assert os.getsid(supervisor) not in (os.getsid(first.process.pid), os.getsid(0))
    os.killpg(first.process.pid, signal.SIGINT)
    first.process.wait()
    assert first.process.stdout is not None
    assert first.process.stdout.read() == ""  # ends although the supervisor, which this process started, lives on
    keep(second.said["dsn"], 1)
    assert alive(supervisor)


@pytest.mark.usefixtures("known")
def test_a_forked_child_does_not_keep_the_server(hold: Start) -> None:
    parent = hold(fork=True)
    child = parent.said["child"]
    parent.kill()
    try:
        gone(parent.said["pid"])
        assert alive(child)
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.usefixtures("known")
def test_a_killed_server_is_back_with_its_rows(hold: Start, busy: bool) -> None:
    said = hold().said
    keep(said["dsn"], 1)
    with psycopg.connect(said["dsn"], autocommit=True) as other:
        computing = threading.Thread(target=_compute, args=(other,))
        if busy:
            computing.start()
            poll(lambda: _busy_backends(said["dsn"]))
        os.kill(said["pid"], signal.SIGKILL)
        assert comes_back(said["dsn"]) == [1]
        if busy:
            computing.join()
    assert not alive(said["pid"])
    assert alive(said["supervisor"])


def _compute(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute("select count(*) from generate_series(1, 100000000000) n")


def _busy_backends(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "select count(*) from pg_stat_activity where query like '%generate_series%'"
        ).fetchone()
    return int(row[0]) - 1 if row else 0


@pytest.mark.usefixtures("known")
def test_a_killed_supervisor_is_replaced_by_those_who_live(hold: Start) -> None:
    one, two = hold(), hold()
    keep(one.said["dsn"], 1)
    os.kill(one.said["supervisor"], signal.SIGKILL)
    gone(one.said["pid"])
    assert comes_back(two.said["dsn"]) == [1]
    assert hold().said["dsn"] == one.said["dsn"]


def test_acquire_follows_a_new_server(known: Path, pg_bin: Path | None) -> None:
    with acquire(known, bin_dir=pg_bin) as server:
        first, supervisor = server.pid, server.supervisor_pid
        os.kill(first, signal.SIGKILL)
        second = poll(lambda: server.pid if server.pid != first else 0)
        assert server.supervisor_pid == supervisor
        os.kill(supervisor, signal.SIGKILL)
        poll(lambda: server.supervisor_pid != supervisor)
        assert server.pid not in (first, second)
        keep(server.dsn, 1)
        server.close(wait=True)


@pytest.mark.usefixtures("known")
def test_no_process_is_left_when_supervisor_and_user_are_killed(hold: Start) -> None:
    first = hold()
    keep(first.said["dsn"], 1)
    first.process.kill()
    os.kill(first.said["supervisor"], signal.SIGKILL)
    gone(first.said["pid"])
    assert rows(hold().said["dsn"]) == [1]


@pytest.mark.usefixtures("known")
def test_everything_killed_at_once(hold: Start) -> None:
    first = hold()
    keep(first.said["dsn"], 1)
    for pid in (first.process.pid, first.said["supervisor"], first.said["pid"]):
        os.kill(pid, signal.SIGKILL)
    assert rows(hold().said["dsn"]) == [1]


def test_a_newcomer_during_a_slow_shutdown_is_served(hold: Start, known: Path) -> None:
    first = hold()
    keep(first.said["dsn"], 1)
    os.kill(first.said["pid"], signal.SIGSTOP)  # neither a fast nor an immediate shutdown gets through
    first.kill()
    log = known / "postgres" / "log" / "supervisor.log"
    poll(lambda: f"ending server {first.said['pid']}" in log.read_text())
    assert rows(hold().said["dsn"]) == [1]
    assert not alive(first.said["pid"])


@pytest.mark.usefixtures("known")
def test_terminating_the_supervisor_waits_for_its_users(hold: Start) -> None:
    first = hold()
    os.kill(first.said["supervisor"], signal.SIGTERM)
    keep(first.said["dsn"], 1)
    ended(first)


@pytest.mark.parametrize("zombie", [False, True])
def test_a_number_in_the_pid_file_that_belongs_to_another_process(known: Path, hold: Start, zombie: bool) -> None:
    first = hold()
    keep(first.said["dsn"], 1)
    ended(first)
    switch: dict[str, Any] = {"user": owner(known)} if os.geteuid() == 0 else {}
    with subprocess.Popen(["sleep", "0" if zombie else "60"], **switch) as stranger:
        poll(lambda: alive(stranger.pid) is not zombie)
        stale = known / "postgres" / "cluster" / "data" / "postmaster.pid"
        stale.write_text(f"{stranger.pid}\n{stale.parent}\n1700000000\n5432\n/tmp\n127.0.0.1\n  1 2\nready\n")
        assert rows(hold().said["dsn"]) == [1]
        stranger.kill()


def test_killed_in_the_middle_of_the_first_start(folder: Path, hold: Start) -> None:
    first = hold()
    home = folder / "postgres"
    poll(lambda: (home / "cluster.part" / "data" / "base").exists())
    supervisor = int((home / "supervisor.json").read_text().rpartition('"pid": ')[2].rstrip("}"))
    first.process.kill()
    os.kill(supervisor, signal.SIGKILL)
    assert not (home / "cluster").exists()
    keep(hold().said["dsn"], 1)
    assert not (home / "cluster.part").exists()


def test_the_port_is_taken_meanwhile(known: Path, hold: Start) -> None:
    first = ended(hold())
    port = psycopg.conninfo.conninfo_to_dict(first.said["dsn"])["port"]
    with socket.create_server(("127.0.0.1", int(port or 0))):
        assert hold().said["dsn"] != first.said["dsn"]


def test_a_copied_folder_gets_a_server_of_its_own(known: Path, hold: Start) -> None:
    first = hold()
    keep(first.said["dsn"], 1)
    ended(first)
    copy = known.with_name(f"{known.name}-copy")
    subprocess.run(["cp", "-a", known, copy], check=True)
    first = hold()
    keep(first.said["dsn"], 2)
    for name in ("supervisor.json", "cluster/data/postmaster.pid"):  # as if copied while the server ran
        subprocess.run(["cp", "-a", known / "postgres" / name, copy / "postgres" / name], check=True)
    second = hold(copy)
    assert rows(second.said["dsn"]) == [1]
    assert second.said["pid"] != first.said["pid"]
    assert rows(first.said["dsn"]) == [1, 2]


def test_a_removed_folder_ends_its_server(known: Path, hold: Start) -> None:
    first = hold()
    pids = first.said["pid"], first.said["supervisor"]
    shutil.rmtree(known)
    gone(*pids)
    assert "Postgres has stopped" in first.next_note()
    assert not known.exists()


def test_a_server_that_does_not_start_says_why(known: Path, hold: Start) -> None:
    ended(hold())
    (known / "postgres" / "cluster" / "data" / "global" / "pg_control").write_bytes(b"broken")
    said = hold().said
    assert said["code"] == "postgres_start_failed"
    assert "pg_control" in said["message"]


def test_an_ordinary_user(folder: Path, hold: Start, pg_bin: Path | None) -> None:
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    folder.mkdir(parents=True)
    if os.geteuid() == 0:
        os.chown(folder, user, user)
    me = user if os.geteuid() == 0 else None
    one, two = hold(user=me), hold(user=me)
    assert one.said == two.said
    assert Path(f"/proc/{one.said['pid']}").stat().st_uid == user
    assert Path(f"/proc/{one.said['supervisor']}").stat().st_uid == user
    keep(one.said["dsn"], 1)


def test_a_place_that_cannot_be_written(reachable_tmp: Path, folder: Path, hold: Start) -> None:
    (file := reachable_tmp / "file").write_text("")
    said = hold(file / "below").said
    assert said["code"] in ("data_dir_not_writable", "data_dir_unreachable")
    assert "MAAS_DATA_DIR" in said["message"]


def test_programs_that_are_not_there(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(MaasError, match="has no program postgres") as caught:
        acquire(folder, bin_dir=tmp_path)
    assert caught.value.code == "postgres_missing"


def test_the_programs_of_an_older_postgres(folder: Path, hold: Start) -> None:
    found = [bin_dir for n in (15, 16) if (bin_dir := Path(f"/usr/lib/postgresql/{n}/bin")).exists()]
    if not found:
        pytest.skip("neither Postgres 15 nor 16 is installed in /usr/lib/postgresql")
    old = hold(bin_dir=found[0])
    with psycopg.connect(old.said["dsn"]) as connection:
        assert connection.info.server_version // 10_000 in (15, 16)
        assert connection.execute("select lower('ПРИВЕТ')").fetchone() == ("привет",)
    keep(old.said["dsn"], 1)
    assert hold(bin_dir=None).said["dsn"] == old.said["dsn"]
    os.kill(old.said["pid"], signal.SIGKILL)
    assert comes_back(old.said["dsn"]) == [1]


def test_a_folder_of_another_version(known: Path, hold: Start) -> None:
    ended(hold())
    (known / "postgres" / "cluster" / "data" / "PG_VERSION").write_text("12\n")
    said = hold().said
    assert said["code"] == "data_dir_version"
    assert "Postgres 12" in said["message"]


def test_an_error_waits_for_a_process_that_connects_late(known: Path, hold: Start, pg_bin: Path | None) -> None:
    ended(hold())
    (known / "postgres" / "cluster" / "data" / "PG_VERSION").write_text("12\n")
    folder = choose_data_dir(known, print)
    assert _spawn(folder, pg_bin, print)
    time.sleep(0.5)
    connection = connect_supervisor(folder, 5)
    assert connection is not None
    with pytest.raises(MaasError, match="Postgres 12") as caught:
        connection.read(5)
    connection.drop()
    assert caught.value.code == "data_dir_version"
