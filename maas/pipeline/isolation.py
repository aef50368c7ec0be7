"""Processes that each execute one suspect after another, alone: a run that kills its process then kills no other's."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import suppress

import structlog

from shared.parent import VARIABLE as PARENT

PROCESSES = 2
PATIENCE = 10.0
log = structlog.get_logger()


class Isolation:
    """Starts such processes by `command`, a few at a time; each ends by itself when no suspect is left."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._command = command
        self._environment = os.environ | environment | {PARENT: str(os.getpid())}
        self._processes: list[Process] = []

    async def start(self, suspects: int) -> None:
        """See that suspects are being executed."""
        self._processes = [process for process in self._processes if process.returncode is None]
        for _ in range(min(suspects, PROCESSES) - len(self._processes)):
            process = await asyncio.create_subprocess_exec(*self._command, env=self._environment)
            log.warning("isolation_started", pid=process.pid, suspects=suspects)
            self._processes.append(process)

    async def close(self) -> None:
        """Let them hand back what they have and end."""
        for process in self._processes:
            with suppress(ProcessLookupError):
                process.terminate()
        for process in self._processes:
            try:
                async with asyncio.timeout(PATIENCE):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
