"""The process that runs one Postgres server as long as any process uses it.

`shared.postgres` starts it. It holds a lock on the folder, creates the cluster if there is none, is the parent of the
server, restarts a server that died, and ends it after the last connection to its socket has closed.
It has one thread, because the kernel ends the server (PR_SET_PDEATHSIG) when the *thread* that started it ends.
Standard library only: it drops root at once and may then be unable to read the folder of the packages.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import selectors
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from shared.errors import Backoff, MaasError
from shared.postgres.cluster import ENVIRONMENT, Cluster, ServerLog, end, log, log_to, port_is_free
from shared.postgres.supervisor_socket import SupervisorSocket
from shared.process import dies_with_parent, drop_to

IDLE_EXIT_S = 1.0
START_TIMEOUT_S = 100.0
FIRST_START_TIMEOUT_S = 10.0
PORT_TIMEOUT_S = 1.0
TERMINATE_TIMEOUT_S = 10.0
REPORT_TIMEOUT_S = 5.0
POLL_INTERVAL_S = 2.0
BUSY_POLL_INTERVAL_S = 0.1
FIRST_BACKOFF_S, MAX_BACKOFF_S = 0.1, 5.0


class Supervisor:
    """Runs the server of one cluster. All times in seconds."""

    def __init__(self, cluster: Cluster, listening: SupervisorSocket, lock: int) -> None:
        self.cluster = cluster
        self.socket = listening
        self.lock = lock
        self.pid: int | None = None
        self.port = 0
        self.ready = False
        self.terminated_at: float | None = None
        self.log: ServerLog | None = None
        self.failure = ""
        self._backoff = Backoff(FIRST_BACKOFF_S, MAX_BACKOFF_S, spread=lambda: 1.0)
        self._next_start_at = 0.0
        self._down_since = 0.0
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening.listener, selectors.EVENT_READ)
        wake, waker = socket.socketpair()
        for each in (wake, waker):
            each.setblocking(False)
        self._wake, self._waker = wake, waker
        self._selector.register(wake, selectors.EVENT_READ)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._terminate)

    def run(self) -> None:
        """Run the server until no process uses it; an error is logged and sent to the users."""
        try:
            self.cluster.ensure()
            self._first_start()
            self._serve()
        except MaasError as error:
            self._report_error(error.code, error.message)
        except OSError as error:
            log.exception("the supervisor gives up")
            self._report_error("data_dir_not_writable", _advice(self.cluster.home, error))
        finally:
            self._stop()

    def _report_error(self, code: str, message: str) -> None:
        log.error("%s: %s", code, message)
        deadline = time.monotonic() + REPORT_TIMEOUT_S
        self._poll(0)
        while not self.socket.users and time.monotonic() < deadline:  # who started this process may connect late
            self._poll(BUSY_POLL_INTERVAL_S)
        self.socket.send({"error": {"code": code, "message": message}}, *self.socket.users)

    def _first_start(self) -> None:
        deadline = time.monotonic() + FIRST_START_TIMEOUT_S
        while not self._start():
            is_transient = any(each in self.failure for each in ("still in use", "already exists", "already in use"))
            if not is_transient or time.monotonic() > deadline:
                raise MaasError(
                    "postgres_start_failed",
                    f"Postgres does not start on {self.cluster.home}; fix what it reports and start again "
                    f"(whole log: {self.cluster.home / 'log' / 'server.log'}):\n{self.failure}",
                )
            self._poll(BUSY_POLL_INTERVAL_S)

    def _serve(self) -> None:
        while self._is_folder_there():
            self._poll(BUSY_POLL_INTERVAL_S if self._is_changing() else POLL_INTERVAL_S)
            if self.pid is None and time.monotonic() >= self._next_start_at:
                self._start()
            if self._is_unused():
                self._stop()
                self._poll(0)
                if not self.socket.users or self.terminated_at is not None:
                    return
                log.info("a process connected while the server went down; starting it again")

    def _is_changing(self) -> bool:
        return self.pid is None or not self.socket.users or self.terminated_at is not None

    def _is_unused(self) -> bool:
        now = time.monotonic()
        if self.terminated_at is not None and now > self.terminated_at + TERMINATE_TIMEOUT_S:
            return True
        if self.socket.users:
            return False
        return (
            bool(self.socket.leaving) or self.terminated_at is not None or now > self.socket.empty_since + IDLE_EXIT_S
        )

    def _is_folder_there(self) -> bool:
        """Return whether the locked folder is still at its path: it may be removed under a running server."""
        try:
            return os.stat(self.cluster.home / "lock").st_ino == os.fstat(self.lock).st_ino
        except OSError:
            return False

    def _start(self) -> bool:
        """Try to start the server once. An old backend or the port may block it for a moment, so attempts repeat."""
        self.cluster.end_leftovers()
        now = time.monotonic()
        self._down_since = self._down_since or now
        self.port = self.cluster.choose_port(fresh=False)
        if not port_is_free(self.port):
            if now < self._down_since + PORT_TIMEOUT_S:
                return self._retry_later(f"port {self.port} is already in use")
            log.warning("port %s is in use by another program; taking a new one", self.port)
            self.port = self.cluster.choose_port(fresh=True)
        self._close_log()
        self.log = output = ServerLog()
        self._selector.register(output, selectors.EVENT_READ)
        process = subprocess.Popen(
            self.cluster.command(self.socket.folder, self.port),
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output.writing,
            stderr=output.writing,
            preexec_fn=dies_with_parent(signal.SIGINT),
        )
        output.close_writing()
        process.returncode = 0  # reaped by _reap, like every other child
        self.pid = process.pid
        deadline = now + START_TIMEOUT_S
        while self.pid is not None and time.monotonic() < deadline:
            if self.cluster.ready_pid() == self.pid:
                self.ready, self._down_since = True, 0.0
                self._backoff.reset()
                log.info("server %s listens on port %s", self.pid, self.port)
                self.socket.send(self._info(), *self.socket.users)
                return True
            self._poll(0.01)
        self._stop()
        return self._retry_later("\n".join(output.tail) or "the server did not start")

    def _retry_later(self, failure: str) -> bool:
        backoff_s = self._backoff.next_s()
        self._next_start_at = time.monotonic() + backoff_s
        self.failure = failure
        log.warning("%s; next attempt in %.1f s", failure, backoff_s)
        return False

    def _stop(self) -> None:
        if self.pid is not None:
            self.ready = False
            log.info("ending server %s", self.pid)
            end(self.pid, self._is_running)
            self.cluster.end_leftovers()

    def _is_running(self) -> bool:
        self._poll(0)
        return self.pid is not None

    def _poll(self, wait: float) -> None:
        """Handle the events of connections, signals, server log and children; wait for them at most `wait` seconds."""
        for key, _ in self._selector.select(wait):
            if key.fileobj is self.socket.listener:
                while (connection := self.socket.accept()) is not None:
                    self._selector.register(connection, selectors.EVENT_READ)
                    if self.ready:
                        self.socket.send(self._info(), connection)
            elif key.fileobj is self._wake:
                self._wake.recv(4096)
            elif key.fileobj is self.log:
                self._read_log()
            else:
                self._read_connection(key.fileobj)
        self._reap()
        self.socket.refresh()

    def _read_connection(self, connection: Any) -> None:
        self._selector.unregister(connection)
        if self.socket.read(connection):
            self._selector.register(connection, selectors.EVENT_READ)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self.pid:
                log.info("server %s ended with %s", pid, os.waitstatus_to_exitcode(status))
                self.pid, self.ready, self._next_start_at = None, False, 0.0
                self._read_log()
                self._close_log()

    def _read_log(self) -> None:
        if self.log is not None and not self.log.drain():
            self._close_log()

    def _close_log(self) -> None:
        if self.log is not None:
            self._selector.unregister(self.log)
            self.log.close()
            self.log = None

    def _info(self) -> dict[str, Any]:
        return {
            "port": self.port,
            "password": self.cluster.password,
            "socket_dir": str(self.socket.folder),
            "pid": self.pid,
            "supervisor": os.getpid(),
            "major": self.cluster.major,
        }

    def _terminate(self, *_: object) -> None:
        self.terminated_at = self.terminated_at or time.monotonic()


def main() -> None:
    """Detach, lock the folder, report the result on stderr, and supervise."""
    parser = argparse.ArgumentParser(description="Supervisor of the embedded Postgres; started by maas itself.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--bin-dir", type=Path, required=True)
    parser.add_argument("--major", type=int, required=True)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    options = parser.parse_args()
    if os.fork():
        os._exit(0)
    try:
        if options.uid is not None:
            drop_to(options.uid, options.gid)
        os.umask(0o077)
        os.chdir(options.home)
        lock = _lock(options.home)
        if lock is None:
            return _report({"state": "locked"})
        log_to(options.home / "log")
        listening = SupervisorSocket(options.home)
        _report({"state": "listening"})
    except OSError as error:
        return _report({"code": "data_dir_not_writable", "message": _advice(options.home, error)})
    try:
        Supervisor(Cluster(options.home, options.bin_dir, options.major), listening, lock).run()
    except Exception:
        log.exception("the supervisor failed")
    finally:
        listening.close()
    return None


def _lock(home: Path) -> int | None:
    """Lock the folder until this process ends; None if another supervisor holds the lock."""
    lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return lock


def _report(result: dict[str, str]) -> None:
    """Write the result to the process that started this one, and detach from its terminal."""
    with contextlib.suppress(OSError):
        os.write(2, json.dumps(result).encode() + b"\n")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    os.close(nothing)


def _advice(home: Path, error: OSError) -> str:
    return (
        f"the user who runs Postgres cannot use {home}: {error}; set MAAS_DATA_DIR to a folder on a "
        "disk that you may write, or DATABASE_URL to a server of your own"
    )


if __name__ == "__main__":
    main()
