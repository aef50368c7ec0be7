"""The local embedding model makes no system call that the systemd units forbid."""

from __future__ import annotations

import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shared.models.e5 import is_installed

ROOT = Path(__file__).resolve().parents[2]
RESOURCES = {  # the group @resources of systemd, with the numbers of Linux on x86-64
    "ioprio_set": 251,
    "mbind": 237,
    "migrate_pages": 256,
    "move_pages": 279,
    "sched_setaffinity": 203,
    "sched_setattr": 314,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "set_mempolicy": 238,
    "setpriority": 141,
    "setrlimit": 160,
}
PROGRAM = """
import asyncio, ctypes, struct, sys
from shared.models.e5 import E5Embedder

def forbid(numbers):  # BPF: load the number of the call; kill if it is one of these, else allow
    code = [(0x20, 0, 0, 0)]
    for number in numbers:
        code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x80000000)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *one) for one in code))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(code), ctypes.addressof(program)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, header) == 0

async def main():
    embedder = E5Embedder()
    for purpose in ("document", "question"):
        found = await embedder.embed(["a text"], purpose, 60)
        assert len(found.vectors[0]) == 384
    await embedder.close()

forbid(map(int, sys.argv[1:]))
asyncio.run(main())
"""

pytestmark = pytest.mark.skipif(
    not is_installed() or platform.machine() != "x86_64", reason="the local embedding model is not installed"
)


def embed_without(*calls: str) -> int:
    """Exit status of a program that embeds and is killed by any of these calls."""
    numbers = [str(RESOURCES[name]) for name in calls]
    return subprocess.run([sys.executable, "-c", PROGRAM, *numbers], cwd=ROOT, check=False).returncode


@pytest.mark.parametrize("unit", ["maas-server", "maas-orchestrator"])
def test_what_the_units_forbid_is_not_needed(unit: str) -> None:
    lines = (ROOT / "deploy" / f"{unit}.service").read_text().splitlines()
    filters = [line.partition("=")[2].split() for line in lines if line.startswith("SystemCallFilter=")]
    assert filters[1] == ["~@privileged", "@resources"]
    allowed = {name for names in filters[2:] for name in names}
    assert allowed < RESOURCES.keys()
    assert embed_without(*sorted(RESOURCES.keys() - allowed)) == 0


def test_what_the_units_allow_is_needed() -> None:
    assert embed_without("setpriority") == -signal.SIGSYS
