"""The process that keeps one Postgres server alive as long as anybody uses it, and not a second longer.

`shared.postgres` starts it; nobody starts it by hand. It holds a lock on the folder, makes the cluster when there is
none, is the parent of the server, restarts a server that died, and ends it when the last guest at the door is gone.
One thread, because the kernel ends the server (PR_SET_PDEATHSIG) when the *thread* that started it ends.
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

from shared.errors import MaasError
from shared.postgres.cluster import ENVIRONMENT, Cluster, port_is_free
from shared.postgres.door import Door
from shared.postgres.log import ServerLog, log, log_to
from shared.postgres.process import dies_with_parent, drop_to, end

GRACE = 1.0
START_PATIENCE = 100.0
FIRST_PATIENCE = 10.0
PORT_PATIENCE = 1.0
TERMINATE_PATIENCE = 10.0
WATCH = 2.0
SLOWEST_RETRY = 5.0


class Supervisor:
    """Keeps the server of one cluster. All times in seconds."""

    def __init__(self, cluster: Cluster, door: Door, lock: int) -> None:
        self.cluster = cluster
        self.door = door
        self.lock = lock
        self.pid: int | None = None
        self.port = 0
        self.ready = False
        self.terminated_at: float | None = None
        self.log: ServerLog | None = None
        self.trouble = ""
        self._delay = 0.0
        self._next_try = 0.0
        self._down_since = 0.0
        self._selector = selectors.DefaultSelector()
        self._selector.register(door.listener, selectors.EVENT_READ)
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
        """Serve until nobody needs the server. Raises MaasError when it does not start at all."""
        try:
            self.cluster.ensure()
            self._first_start()
            self._serve()
        except MaasError as error:
            self._complain(error.code, error.message)
        except OSError as error:
            log.exception("the supervisor gives up")
            self._complain("data_dir_not_writable", _advice(self.cluster.home, error))
        finally:
            self._stop()

    def _complain(self, code: str, message: str) -> None:
        log.error("%s: %s", code, message)
        self._turn(0)
        self.door.tell({"error": {"code": code, "message": message}}, *self.door.present)

    def _first_start(self) -> None:
        deadline = time.monotonic() + FIRST_PATIENCE
        while not self._start():
            passing = any(each in self.trouble for each in ("still in use", "already exists", "already in use"))
            if not passing or time.monotonic() > deadline:
                raise MaasError(
                    "postgres_start_failed",
                    f"Postgres does not start on {self.cluster.home}; correct what it says and start again "
                    f"(whole log: {self.cluster.home / 'log' / 'server.log'}):\n{self.trouble}",
                )
            self._turn(0.1)

    def _serve(self) -> None:
        while self._is_home():
            self._turn(0.1 if self._impatient() else WATCH)
            if self.pid is None and time.monotonic() >= self._next_try:
                self._start()
            if self._unwanted():
                self._stop()
                self._turn(0)
                if not self.door.present or self.terminated_at is not None:
                    return
                log.info("somebody came while the server went down; starting it again")

    def _impatient(self) -> bool:
        return self.pid is None or not self.door.present or self.terminated_at is not None

    def _unwanted(self) -> bool:
        now = time.monotonic()
        if self.terminated_at is not None and now > self.terminated_at + TERMINATE_PATIENCE:
            return True
        if self.door.present:
            return False
        return bool(self.door.leaving) or self.terminated_at is not None or now > self.door.empty_since + GRACE

    def _is_home(self) -> bool:
        """Whether the locked folder is still the one at its path: somebody may remove it under a running server."""
        try:
            return os.stat(self.cluster.home / "lock").st_ino == os.fstat(self.lock).st_ino
        except OSError:
            return False

    def _start(self) -> bool:
        """One attempt. What stands in the way (an old backend, the port) may need a moment, so attempts repeat."""
        self.cluster.clear_the_way()
        now = time.monotonic()
        self._down_since = self._down_since or now
        self.port = self.cluster.choose_port(fresh=False)
        if not port_is_free(self.port):
            if now < self._down_since + PORT_PATIENCE:
                return self._again(f"port {self.port} is already in use")
            log.warning("port %s stays occupied by another program; taking a new one", self.port)
            self.port = self.cluster.choose_port(fresh=True)
        self._close_log()
        self.log = output = ServerLog()
        self._selector.register(output, selectors.EVENT_READ)
        process = subprocess.Popen(
            self.cluster.command(self.door.folder, self.port),
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=output.writing,
            stderr=output.writing,
            preexec_fn=dies_with_parent(signal.SIGINT),
        )
        output.started()
        process.returncode = 0  # reaped by _reap, like every other child
        self.pid = process.pid
        deadline = now + START_PATIENCE
        while self.pid is not None and time.monotonic() < deadline:
            if self.cluster.ready_pid() == self.pid:
                self.ready, self._delay, self._down_since = True, 0.0, 0.0
                log.info("server %s listens on port %s", self.pid, self.port)
                self.door.tell(self._hello(), *self.door.present)
                return True
            self._turn(0.01)
        self._stop()
        return self._again("\n".join(output.tail) or "the server did not start")

    def _again(self, why: str) -> bool:
        self._delay = min(SLOWEST_RETRY, max(0.1, 2 * self._delay))
        self._next_try = time.monotonic() + self._delay
        self.trouble = why
        log.warning("%s; next attempt in %.1f s", why, self._delay)
        return False

    def _stop(self) -> None:
        if self.pid is not None:
            self.ready = False
            log.info("ending server %s", self.pid)
            end(self.pid, self._runs)
            self.cluster.clear_the_way()

    def _runs(self) -> bool:
        self._turn(0)
        return self.pid is not None

    def _turn(self, wait: float) -> None:
        """Whatever happened, or nothing within `wait` seconds."""
        for key, _ in self._selector.select(wait):
            if key.fileobj is self.door.listener:
                while (guest := self.door.accept()) is not None:
                    self._selector.register(guest, selectors.EVENT_READ)
                    if self.ready:
                        self.door.tell(self._hello(), guest)
            elif key.fileobj is self._wake:
                self._wake.recv(4096)
            elif key.fileobj is self.log:
                self._read_log()
            else:
                self._hear(key.fileobj)
        self._reap()
        self.door.refresh()

    def _hear(self, guest: Any) -> None:
        self._selector.unregister(guest)
        if self.door.hear(guest):
            self._selector.register(guest, selectors.EVENT_READ)

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
                self.pid, self.ready, self._next_try = None, False, 0.0
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

    def _hello(self) -> dict[str, Any]:
        return {
            "port": self.port,
            "password": self.cluster.password,
            "socket_dir": str(self.door.folder),
            "pid": self.pid,
            "supervisor": os.getpid(),
            "major": self.cluster.major,
        }

    def _terminate(self, *_: object) -> None:
        self.terminated_at = self.terminated_at or time.monotonic()


def main() -> None:
    """Detach, lock, say on stderr how that went, and supervise."""
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
        door = Door(options.home)
        _report({"state": "listening"})
    except OSError as error:
        return _report({"code": "data_dir_not_writable", "message": _advice(options.home, error)})
    try:
        Supervisor(Cluster(options.home, options.bin_dir, options.major), door, lock).run()
    except Exception:
        log.exception("the supervisor failed")
    finally:
        door.close()
    return None


def _lock(home: Path) -> int | None:
    """Lock the folder for the life of this process; None when another supervisor has it."""
    lock = os.open(home / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    return lock


def _report(answer: dict[str, str]) -> None:
    """The last words to the process that started this one; its terminal is let go."""
    with contextlib.suppress(OSError):
        os.write(2, json.dumps(answer).encode() + b"\n")
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
