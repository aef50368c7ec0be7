"""The orchestrator as one would build it straight from the specification: a row trigger, and a handler a notification.

Bare on purpose: no logs, no records, no search indexes, no texts. Each transition is one commit; a user's next run
starts when the last one is COMPLETED.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid

import asyncpg
import uvloop

from bench.peers.work import ANALYZE, Work, begin, run_peer

CONCURRENCIES = (4, 8, 16)
RUNS = 1000
PACKAGE = None
UNIT = "run of three stages, six commits"
SETTINGS = {"driver": "asyncpg", "notify": "row trigger on every change of status", "concurrency is": "connections"}
NEXT = {
    "NEW": "ANALYZING",
    "ANALYZING": "ANALYZED",
    "ANALYZED": "ASSEMBLING",
    "ASSEMBLING": "READY",
    "READY": "RESPONDING",
    "RESPONDING": "COMPLETED",
}
CLAIMED_FROM = ("NEW", "ANALYZED", "READY")
SCHEMA = """
create table pipeline_runs (
  id uuid primary key default gen_random_uuid(),
  seq bigint generated always as identity,
  user_id uuid not null,
  user_query text not null,
  operation text not null default 'answer',
  status varchar(50) not null default 'NEW',
  updated_at timestamptz not null default now()
);
create index idx_pipeline_runs_unfinished on pipeline_runs (user_id, seq) where status <> 'COMPLETED';

create function notify_pipeline_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('pipeline_events',
    json_build_object('id', new.id, 'status', new.status, 'operation', new.operation)::text);
  return null;
end $$;
create trigger pipeline_run_inserted after insert on pipeline_runs for each row
  execute function notify_pipeline_change();
create trigger pipeline_run_changed after update of status on pipeline_runs for each row
  when (old.status is distinct from new.status) execute function notify_pipeline_change();
"""
ENQUEUE = "insert into pipeline_runs (user_id, user_query) select u, 'nothing' from unnest($1::uuid[]) u"
START = """
update pipeline_runs r set status = 'ANALYZING', updated_at = now()
where id = $1 and status = 'NEW' and not exists (
  select from pipeline_runs e where e.user_id = r.user_id and e.seq < r.seq and e.status <> 'COMPLETED')
returning id"""
MOVE = "update pipeline_runs set status = $3, updated_at = now() where id = $1 and status = $2 returning id"
NEXT_OF_USER = """
select n.id from pipeline_runs n join pipeline_runs d on d.user_id = n.user_id
where d.id = $1 and n.status <> 'COMPLETED' order by n.seq limit 1"""
DONE = "select count(*) from pipeline_runs where status = 'COMPLETED'"


class Orchestrator:
    """Claims by compare-and-set, so that a notification received twice does nothing."""

    def __init__(self, pool: asyncpg.Pool, runs: int) -> None:
        self.all_done = asyncio.Event()
        self._pool = pool
        self._left = runs
        self._handlers: set[asyncio.Task[None]] = set()

    def hear(self, _: object, __: int, ___: str, payload: object) -> None:
        """One handler a notification."""
        event = json.loads(str(payload))
        handler = asyncio.create_task(self._handle(uuid.UUID(event["id"]), event["status"]))
        self._handlers.add(handler)
        handler.add_done_callback(self._forget)

    async def _handle(self, run: uuid.UUID, status: str) -> None:
        if status in CLAIMED_FROM:
            await self._work(run, status)
        elif status == "COMPLETED":
            self._left -= 1
            if self._left == 0:
                self.all_done.set()
            elif following := await self._pool.fetchval(NEXT_OF_USER, run):
                await self._work(following, "NEW")

    async def _work(self, run: uuid.UUID, status: str) -> None:
        claimed = NEXT[status]
        async with self._pool.acquire() as connection:
            if status == "NEW":
                mine = await connection.fetchval(START, run)
            else:
                mine = await connection.fetchval(MOVE, run, status, claimed)
            if mine is not None:  # the stage itself does nothing
                await connection.fetchval(MOVE, run, claimed, NEXT[claimed])

    def _forget(self, handler: asyncio.Task[None]) -> None:
        self._handlers.discard(handler)
        if not handler.cancelled():
            handler.result()


def work_off(work: Work) -> float:
    return uvloop.run(_work_off(work))


async def _work_off(work: Work) -> float:
    users = [uuid.uuid4() for _ in range(work.users)]
    async with asyncpg.create_pool(work.dsn, min_size=work.concurrency, max_size=work.concurrency) as pool:
        await pool.execute(SCHEMA)
        orchestrator = Orchestrator(pool, work.runs)
        listener = await asyncpg.connect(work.dsn)
        await listener.add_listener("pipeline_events", orchestrator.hear)
        async with pool.acquire() as connection:
            inserting = connection.transaction()
            await inserting.start()
            await connection.execute(ENQUEUE, [users[number % work.users] for number in range(work.runs)])
            await connection.execute(ANALYZE)
            began = begin()
            await inserting.commit()
        await orchestrator.all_done.wait()
        seconds = time.time() - began
        await listener.close()
        work.check(await pool.fetchval(DONE))
    return seconds


if __name__ == "__main__":
    run_peer("spec_literal", PACKAGE, UNIT, SETTINGS, work_off)
