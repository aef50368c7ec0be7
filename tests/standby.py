"""Two Postgres servers of the project's own programs: a primary, and a hot standby that follows it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Self

from shared.postgres.installation import choose_data_dir, find_binaries
from tests.stack import free_port

SETTINGS = {"fsync": "off", "shared_buffers": "16MB", "listen_addresses": "127.0.0.1", "unix_socket_directories": ""}


class Pair:
    """A primary and its standby in `folder`; both have ended after the block."""

    def __init__(self, folder: Path, bin_dir: Path | None) -> None:
        self._home = choose_data_dir(folder, print)
        self._programs = find_binaries(bin_dir, self._home.account, print).folder
        self._ports = {"primary": free_port(), "standby": free_port()}

    def __enter__(self) -> Self:
        self._run("initdb", "-N", "-U", "maas", "-E", "UTF8", "--locale=C", "-D", self._data("primary"))
        self._start("primary")
        source = f"host=127.0.0.1 port={self._ports['primary']} user=maas"
        self._run("pg_basebackup", "-R", "-c", "fast", "-d", source, "-D", self._data("standby"))
        self._start("standby")
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._ports:
            self._run("pg_ctl", "stop", "-m", "immediate", "-D", self._data(name), check=False)

    def dsn(self, name: str) -> str:
        """The address of a database on the `primary` or the `standby`."""
        return f"postgresql://maas@127.0.0.1:{self._ports[name]}/postgres"

    def fail_over(self) -> None:
        """End the primary without a word to its standby, which takes over."""
        self._run("pg_ctl", "stop", "-m", "immediate", "-D", self._data("primary"))
        self._run("pg_ctl", "promote", "-w", "-D", self._data("standby"))

    def _data(self, name: str) -> str:
        return str(self._home.home / name)

    def _start(self, name: str) -> None:
        options = " ".join(f"-c {key}={value!r}" for key, value in SETTINGS.items())
        log = f"{self._data(name)}.log"
        self._run("pg_ctl", "start", "-w", "-D", self._data(name), "-l", log, "-o", f"-p {self._ports[name]} {options}")

    def _run(self, program: str, *arguments: str, **options: Any) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._home.home,
            stdout=subprocess.DEVNULL,
            **self._home.account.process,
            **{"check": True} | options,
        )
