"""Three Postgres servers that Patroni keeps, of the project's own programs, with etcd: one leads, two follow.

etcd is that of the system (Debian and Ubuntu: `apt-get install etcd-server`); Patroni has an environment of its own
(`make .venv-patroni/made`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, LiteralString, Self
from urllib.parse import urlsplit

import httpx2
import psycopg
import yaml

from shared.errors import MaasError
from shared.postgres.installation import choose_data_dir, find_binaries
from shared.process import dies_with_parent
from tests.cable import Cable
from tests.polling import poll
from tests.stack import ROOT, free_port

PATRONI = ROOT / ".venv-patroni" / "bin" / "patroni"
NODES = ("one", "two", "three")
RUNNING = ("running", "streaming")
STARTING_S = 60.0
CHANGING_S = 60.0
POSTGRES = {"fsync": "off", "shared_buffers": "64MB", "wal_keep_size": "256MB", "unix_socket_directories": ""}


def missing_programs() -> list[str]:
    """What a cluster needs and this machine lacks, and what brings it."""
    found = {"etcd (package etcd-server)": shutil.which("etcd"), "Patroni (make .venv-patroni/made)": PATRONI.exists()}
    return [name for name, is_there in found.items() if not is_there]


class Node:
    """A Patroni with its Postgres; `cable` is its way to etcd."""

    def __init__(self, name: str, cluster: Cluster) -> None:
        self.name = name
        self.port, self.api = free_port(), free_port()
        self.cable = Cable(f"http://127.0.0.1:{cluster.etcd_port}")
        self.process: subprocess.Popen[bytes] | None = None
        self._cluster = cluster
        self._settings = cluster.folder / f"{name}.json"
        self._settings.write_text(json.dumps(self._to_patroni()))

    def start(self) -> None:
        with (self._cluster.logs / f"{self.name}.log").open("ab") as output:
            self.process = subprocess.Popen(
                [str(PATRONI), str(self._settings)],
                cwd=self._cluster.folder,
                stdout=output,
                stderr=output,
                preexec_fn=dies_with_parent(signal.SIGTERM),
                **self._cluster.account,
            )

    def state(self) -> dict[str, Any]:
        """What Patroni says of this node; nothing while it is away."""
        with suppress(httpx2.HTTPError):
            reply = self._cluster.http.get(f"http://127.0.0.1:{self.api}/patroni")
            found: dict[str, Any] = reply.json()
            return found
        return {}

    def signal(self, number: int) -> None:
        """Send a signal to Patroni and to every process of its Postgres."""
        for pid in self._pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self) -> None:
        """End Patroni and its Postgres by kill -9."""
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Within the block it says nothing, and its connections stay open."""
        self.signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.signal(signal.SIGCONT)

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Within the block its Patroni does not reach etcd."""
        self.cable.cut()
        try:
            yield
        finally:
            self.cable.mend()

    @contextmanager
    def behind(self) -> Iterator[None]:
        """Within the block this standby replays nothing."""
        self._execute("select pg_wal_replay_pause()")
        try:
            yield
        finally:
            self._execute("select pg_wal_replay_resume()")

    def takes_writes(self) -> bool:
        """Whether it is there and no standby."""
        with suppress(psycopg.Error):
            return self._execute("select not pg_is_in_recovery()") is True
        return False

    def _execute(self, statement: LiteralString) -> object:
        dsn = f"postgresql://maas@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(dsn, connect_timeout=1, autocommit=True) as connection:
            row = connection.execute(statement).fetchone()
        return row and row[0]

    def _pids(self) -> list[int]:
        """Patroni first, so that it starts nothing anew; then the postmaster and its children."""
        found = [] if self.process is None or self.process.poll() is not None else [self.process.pid]
        with suppress(FileNotFoundError, IndexError):
            postmaster = int((self._data / "postmaster.pid").read_text().split()[0])
            children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
            found += [postmaster, *map(int, children)]
        return found

    @property
    def _data(self) -> Path:
        return self._cluster.folder / self.name

    def _to_patroni(self) -> dict[str, Any]:
        """The file of deploy/ with the addresses and folders of this machine."""
        settings: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "patroni.yml").read_text())
        host, api = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.api}"
        server = settings["postgresql"]
        settings |= {
            "name": self.name,
            "etcd3": {"hosts": urlsplit(self.cable.dsn).netloc, "use_proxies": True},  # it would find the way around
            "restapi": {"listen": api, "connect_address": api},
        }
        settings["bootstrap"]["dcs"]["postgresql"]["parameters"] |= POSTGRES
        server["authentication"]["superuser"]["username"] = "maas"
        server |= {
            "listen": host,
            "connect_address": host,
            "data_dir": str(self._data),
            "bin_dir": str(self._cluster.programs),
            "pgpass": str(self._cluster.folder / f"{self.name}.pass"),
            "pg_hba": [f"host {what} all 127.0.0.1/32 trust" for what in ("all", "replication")],
        }
        return settings


class Cluster:
    """Starts everything and waits for a leader with a synchronous standby; all has ended after the block."""

    def __init__(self, folder: Path) -> None:
        home = choose_data_dir(folder, lambda note: None)
        self.folder, self.account = home.home, home.account.process
        self.programs = find_binaries(None, home.account, lambda note: None).folder
        self.logs = folder
        self.etcd_port = free_port()
        self.http = httpx2.Client(trust_env=False, verify=False, timeout=1)
        self._open = ExitStack()
        self.nodes: list[Node] = []

    def __enter__(self) -> Self:
        self._open.enter_context(self.http)
        self._start_etcd()
        for name in NODES:
            node = Node(name, self)
            self.nodes.append(node)
            self._open.callback(node.cable.close)
            self._open.callback(node.kill)
        for node in self.nodes:
            node.start()
        self.wait_whole(STARTING_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def dsn(self) -> str:
        """All nodes, and that the one that takes writes is meant."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://maas@{hosts}/postgres?target_session_attrs=read-write"

    def roles(self) -> dict[str, Node]:
        """The `leader`, the `sync` standby and the `other` one, as far as they are there."""
        reply: dict[str, Any] = {"members": []}
        for node in self.nodes:
            with suppress(httpx2.HTTPError):
                reply = self.http.get(f"http://127.0.0.1:{node.api}/cluster").json()
                break
        by_name = {node.name: node for node in self.nodes}
        kinds = {"leader": "leader", "sync_standby": "sync", "replica": "other"}
        return {
            kinds[member["role"]]: by_name[member["name"]]
            for member in reply["members"]
            if member["role"] in kinds and member.get("state") in RUNNING
        }

    def wait_whole(self, deadline_s: float) -> dict[str, Node]:
        """The roles, as soon as one leads and both others follow. Raises NotWithin."""
        found: dict[str, Node] = {}

        def is_whole() -> bool:
            found.clear()
            found.update(self.roles())
            return len(found) == len(NODES) and all(node.state().get("state") in RUNNING for node in self.nodes)

        poll(is_whole, deadline_s, f"a leader with two standbys; the logs of Patroni are in {self.logs}")
        return found

    def leader(self, but: Node | None = None) -> Node:
        """The node that takes writes, another one than `but`, as soon as there is one. Raises NotWithin."""
        found: list[Node] = []

        def is_there() -> bool:
            found[:] = [node for node in self.nodes if node is not but and node.takes_writes()]
            return bool(found)

        poll(is_there, CHANGING_S, "another node leads")
        return found[0]

    def switch_over(self) -> None:
        """Ask the leader to hand over to the synchronous standby."""
        found = self.roles()
        body = {"leader": found["leader"].name, "candidate": found["sync"].name}
        reply = self.http.post(f"http://127.0.0.1:{found['leader'].api}/switchover", json=body, timeout=CHANGING_S)
        if reply.status_code not in (200, 202):
            raise MaasError("no_switchover", f"Patroni: {reply.status_code} {reply.text}")

    def _start_etcd(self) -> None:
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{free_port()}"
        data = self.logs / "etcd"
        data.mkdir(mode=0o700)
        with (self.logs / "etcd.log").open("wb") as output:
            etcd = subprocess.Popen(
                [
                    "etcd",
                    f"--data-dir={data}",
                    f"--listen-client-urls={client}",
                    f"--advertise-client-urls={client}",
                    f"--listen-peer-urls={peer}",
                    f"--initial-advertise-peer-urls={peer}",
                    f"--initial-cluster=default={peer}",
                ],
                stdout=output,
                stderr=output,
                preexec_fn=dies_with_parent(signal.SIGKILL),
            )
        self._open.callback(etcd.wait)
        self._open.callback(etcd.kill)
        poll(lambda: self._is_healthy(client), STARTING_S, "etcd answers")

    def _is_healthy(self, url: str) -> bool:
        with suppress(httpx2.HTTPError):
            return self.http.get(f"{url}/health").status_code == 200
        return False
