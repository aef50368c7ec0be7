"""One Postgres cluster: its files, its server processes and their logs. Standard library only.

The files are created completely or not at all; the configuration is written at every start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path

from shared.errors import MaasError
from shared.process import dies_with_parent

log = logging.getLogger("supervisor")
server_log = logging.getLogger("postgres")
USER = "maas"
DATABASE = "maas"
ENVIRONMENT = {"LC_ALL": "C", "PATH": os.defpath}
_PROC = Path("/proc")

_CONFIGURATION = """\
# Written at every start. Change a value with ALTER SYSTEM, which wins over this file.
max_connections = 200
shared_buffers = 128MB
fsync = on
synchronous_commit = on
wal_level = replica
wal_compression = on
max_wal_size = 1GB
checkpoint_timeout = 10min
random_page_cost = 1.1
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_checkpoints = off
log_line_prefix = '%m [%p] %q%d '
"""
if sys.platform == "linux":  # recovery syncs by one call instead of one for each file
    _CONFIGURATION += "recovery_init_sync_method = syncfs\n"


@dataclass(frozen=True, slots=True)
class Cluster:
    """One cluster in `home`, and the Postgres programs of version `major` that serve it."""

    home: Path
    bin_dir: Path
    major: int

    @property
    def data(self) -> Path:
        """The data directory of Postgres."""
        return self.home / "cluster" / "data"

    @property
    def password(self) -> str:
        """The password of the superuser, which the cluster was created with."""
        return (self.home / "cluster" / "password").read_text().strip()

    def ensure(self) -> None:
        """Create the cluster unless it exists. Raises MaasError: data_dir_version, postgres_init_failed."""
        whole, part = self.home / "cluster", self.home / "cluster.part"
        if whole.exists():
            self._check_version()
            return
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        password = part / "password"
        password.touch(0o600)
        password.write_text(secrets.token_urlsafe(24) + "\n")
        self._initdb(part)
        with (part / "data" / "postgresql.conf").open("a") as file:
            file.write("include_if_exists = 'maas.conf'\n")
        self._run("postgres", "--single", "-D", str(part / "data"), "template1", stdin=f"create database {DATABASE}\n")
        for path in (part / "data" / "postgresql.conf", password, part):
            _sync(path)
        part.rename(whole)
        _sync(self.home)

    def command(self, socket_dir: Path, port: int) -> list[str]:
        """Write the configuration; return the command line of the server."""
        configuration = self.data / "maas.conf"
        if not configuration.exists() or configuration.read_text() != _CONFIGURATION:
            configuration.write_text(_CONFIGURATION)
        for stale in socket_dir.glob(".s.PGSQL.*"):
            stale.unlink(missing_ok=True)
        return [
            str(self.bin_dir / "postgres"),
            "-D",
            str(self.data),
            "-p",
            str(port),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            f"unix_socket_directories={socket_dir}",
            "-c",
            "unix_socket_permissions=0700",
            "-c",
            "logging_collector=off",
            "-c",
            "log_destination=stderr",
        ]

    def ready_pid(self) -> int | None:
        """Return the process id of the server if it reports that it accepts connections."""
        lines = self._pid_file()
        return int(lines[0]) if len(lines) > 7 and lines[7].strip() == "ready" else None

    def end_leftovers(self) -> None:
        """End processes of a server whose supervisor was killed, and remove a stale pid file.

        A backend of a killed server keeps its shared memory, and may run on for minutes before it notices.
        """
        lines = self._pid_file()
        if not lines:
            return
        pid = int(lines[0])
        if is_postmaster(pid, self.data):
            end(pid, lambda: is_postmaster(pid, self.data))
        for number in (signal.SIGQUIT, signal.SIGKILL):
            deadline = time.monotonic() + 1
            while (left := list(backends(self.data))) and time.monotonic() < deadline:
                for each in left:
                    with contextlib.suppress(OSError):
                        os.kill(each, number)
                time.sleep(0.01)
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def choose_port(self, *, fresh: bool) -> int:
        """Return the port of the last start, so that URLs stay valid, or a new one below the ephemeral ports.

        Raises MaasError('postgres_start_failed') when none is free.
        """
        file = self.home / "port"
        if not fresh and file.exists() and (text := file.read_text().strip()).isdigit():
            return int(text)
        candidates = [15432 + secrets.randbelow(16000) for _ in range(50)]
        port = next((each for each in candidates if port_is_free(each)), None)
        if port is None:
            raise MaasError("postgres_start_failed", "no free TCP port on 127.0.0.1 between 15432 and 31432; free some")
        part = file.with_suffix(".part")
        part.write_text(f"{port}\n")
        part.rename(file)
        return port

    def _check_version(self) -> None:
        file = self.data / "PG_VERSION"
        version = file.read_text().strip() if file.exists() else "unknown"
        if version != str(self.major):
            raise MaasError(
                "data_dir_version",
                f"{self.home} was made by Postgres {version}, these programs are {self.major}; set MAAS_DATA_DIR to a "
                f"new folder, or start Postgres {version} on it and copy the data with pg_dump",
            )

    def _initdb(self, part: Path) -> None:
        locale = (
            ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            if self.major >= 17
            else ["--locale-provider=libc", "--locale=C.UTF-8"]
        )
        self._run(
            "initdb",
            "-D",
            str(part / "data"),
            "-U",
            USER,
            "--encoding=UTF8",
            *locale,
            "--data-checksums",
            "--auth-local=trust",
            "--auth-host=scram-sha-256",
            f"--pwfile={part / 'password'}",
            "--no-instructions",
        )

    def _run(self, program: str, *arguments: str, stdin: str = "") -> None:
        done = subprocess.run(
            [str(self.bin_dir / program), *arguments],
            input=stdin,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            errors="replace",
            preexec_fn=dies_with_parent(signal.SIGTERM),
        )
        if done.returncode or "ERROR:" in done.stderr:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
            raise MaasError(
                "postgres_init_failed",
                f"{program} could not make the database in {self.home}; check free space and that the disk is a local "
                f"one, or set MAAS_DATA_DIR to another folder. It said:\n{last}",
            )

    def _pid_file(self) -> list[str]:
        """Return the lines of the pid file, `["0"]` if the first is no process id: a crash may leave the file empty."""
        try:
            lines = (self.data / "postmaster.pid").read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []
        return lines if lines and lines[0].strip().isdigit() else ["0"]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def port_is_free(port: int) -> bool:
    """Return whether a server could listen on 127.0.0.1 at `port` now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def backends(data: Path) -> Iterator[int]:
    """Yield the ids of all server processes of the cluster `data` (Linux; none elsewhere)."""
    for folder in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if Path(os.readlink(folder / "cwd")) == data and b"postgres" in (folder / "cmdline").read_bytes():
                yield int(folder.name)


def is_postmaster(pid: int, data: Path) -> bool:
    """Return whether `pid` is a live server of the cluster `data`, not a zombie or another program with its old id."""
    if not (_PROC / "self").exists():
        ps = subprocess.run(["ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True)
        return str(data) in ps.stdout and not ps.stdout.startswith("Z")
    try:
        state = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        arguments = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return state not in ("Z", "X") and os.fsencode(data) in arguments


def end(pid: int, is_running: Callable[[], bool]) -> None:
    """End a postmaster: fast shutdown, then immediate, then kill; at most 9 s."""
    for number, timeout_s in ((signal.SIGINT, 5.0), (signal.SIGQUIT, 2.0), (signal.SIGKILL, 2.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + timeout_s
        while is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not is_running():
            return


class ServerLog:
    """The reading end of a pipe with a server's output. `tail` holds its last lines."""

    def __init__(self) -> None:
        self.tail: deque[str] = deque(maxlen=12)
        self._rest = b""
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def fileno(self) -> int:
        """Return the descriptor that the server writes to."""
        return self.reading

    def close_writing(self) -> None:
        """Close this process's copy of the writing end, after the server has started with its own."""
        os.close(self.writing)

    def drain(self) -> bool:
        """Log the output that has arrived; return False at its end."""
        while True:
            try:
                data = os.read(self.reading, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                text = line.decode(errors="replace")
                self.tail.append(text)
                server_log.info("%s", text)

    def close(self) -> None:
        """Stop reading; a process that still writes gets an error, which Postgres ignores."""
        os.close(self.reading)


def log_to(folder: Path) -> None:
    """Write both logs into `folder`; a full disk loses lines, but stops no server. Raises OSError at the start."""
    folder.mkdir(exist_ok=True)
    logging.raiseExceptions = False
    for logger, name, size, form in (
        (server_log, "server.log", 5_000_000, "%(message)s"),
        (log, "supervisor.log", 500_000, "%(asctime)s [%(process)d] %(levelname)s %(message)s"),
    ):
        handler = RotatingFileHandler(folder / name, maxBytes=size, backupCount=2, encoding="utf-8")
        handler.setFormatter(logging.Formatter(form))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
