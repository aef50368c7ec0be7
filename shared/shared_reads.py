"""Reads that concurrent callers share: one execution for equal queries, one statement for calls of one moment."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Protocol

from shared.group_commit import GroupCommit
from shared.query import AnyQuery, Args, Query, Row

MAX_VERSIONED_RESULTS = 1000
MAX_GROUPED_CALLS = 32


class Read(Protocol):
    """What executes a query and returns its rows."""

    async def __call__(self, query: Query[Row, *Args], /, *args: *Args) -> list[Row]: ...


class SharedReads:
    """Rows of a database that callers share; `read` executes a query."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._locks: dict[tuple[object, ...], asyncio.Lock] = {}
        self._next_results: dict[tuple[object, ...], asyncio.Task[list[Any]]] = {}
        self._results: dict[tuple[object, ...], tuple[str, list[Any]]] = {}
        self._groups: dict[str, GroupCommit[tuple[object, ...], list[Any]]] = {}

    async def rows(self, query: Query[Row, *Args], *args: *Args, version: str | None = None) -> list[Row]:
        """Return rows; concurrent callers share one execution, which begins after each of them has called.

        Arguments must be hashable. With `version`, the number of the last change that the caller knows of, rows read
        for that version are returned.
        """
        key = (query, *args)
        if version is None:
            return await self._share(key, query, *args)
        known = self._results.get(key)
        if known is not None and known[0] == version:
            return known[1]
        rows = await self._share(key, query, *args)
        if len(self._results) >= MAX_VERSIONED_RESULTS:
            self._results.clear()
        self._results[key] = (version, rows)
        return rows

    async def _share(self, key: tuple[object, ...], query: Query[Row, *Args], *args: *Args) -> list[Row]:
        task = self._next_results.get(key)
        if task is None:
            task = self._next_results[key] = asyncio.create_task(self._run_shared(key, query, *args))
        return await asyncio.shield(task)

    async def _run_shared(self, key: tuple[object, ...], query: Query[Row, *Args], *args: *Args) -> list[Row]:
        async with self._locks.setdefault(key, asyncio.Lock()):
            del self._next_results[key]  # later callers need a newer result than this one
            return await self._read(query, *args)

    async def grouped_rows(self, query: Query[Row, *tuple[Any, ...]], *args: object) -> list[Row]:
        """Return the rows of one call; the calls that wait at one moment are one statement.

        Its arguments are arrays, with one element for each call; its rows have the column `place`, the number of their
        call from 1. Calls are made one statement after another, so it must be a short one.
        """
        group = self._groups.get(query)
        if group is None:
            group = self._groups[query] = GroupCommit(partial(self._read_group, query), MAX_GROUPED_CALLS)
        return await group.submit(args)

    async def _read_group(self, query: AnyQuery, calls: list[tuple[object, ...]]) -> list[list[Any]]:
        results: list[list[Any]] = [[] for _ in calls]
        for row in await self._read(query, *map(list, zip(*calls, strict=True))):
            results[row["place"] - 1].append(row)
        return results
