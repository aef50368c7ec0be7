"""An orchestrator whose stages write texts of the usual size and compute nothing: what is left is the engine.

`python -m bench.noop` is the product's orchestrator in all else; settings come from the environment, as always.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys

import uvloop

from maas.builtin_model import BuiltinModel
from maas.engine.drafts import Draft, Payload
from maas.engine.orchestrator import Orchestrator
from maas.engine.run import Outcome, Run
from maas.engine.stages import Deps, RoleModels, Stage
from maas.engine.supervision import Quarantine
from maas.settings import load_settings
from shared import log
from shared.db import open_database
from shared.process import end_with_parent

WORDS = "A garden behind the old house, in which tomatoes grew beside the wall that the neighbours had painted. " * 130
TEXTS = itertools.cycle([WORDS[:size] for size in range(3000, 12001, 250)])
ANALYSIS = {"needs_context": False, "context_type": "GENERAL", "time_scope": "hot", "search_keywords": ["garden"]}
ANSWER = "You told me about the garden behind the old house, and about the tomatoes that grew beside its wall. " * 2
ANSWER_SECONDS = float(os.environ.get("BENCH_ANSWER_SECONDS", "0"))
RECORD = {"tags": ["Garden", "Tomatoes"], "summary": "They talked about the garden behind the house and its tomatoes."}


async def analyzer(_: Run, __: Deps) -> Outcome:
    """An analysis."""
    return Outcome(analysis=ANALYSIS)


async def draft_builder(_: Run, __: Deps) -> Outcome:
    """3 to 12 kB."""
    return Outcome(draft=Draft("", (), (next(TEXTS),), "", ""))


async def assembler(_: Run, __: Deps) -> Outcome:
    """3 to 12 kB."""
    return Outcome(payload=Payload("", next(TEXTS), ""))


async def final_responder(_: Run, __: Deps) -> Outcome:
    """Two sentences, after BENCH_ANSWER_SECONDS."""
    if ANSWER_SECONDS:
        await asyncio.sleep(ANSWER_SECONDS)
    return Outcome(answer=ANSWER)


async def archivist(_: Run, __: Deps) -> Outcome:
    """A record of all that the run said."""
    return Outcome(record=RECORD)


STAGES: dict[str, Stage] = {
    "analyzer": analyzer,
    "draft_builder": draft_builder,
    "assembler": assembler,
    "final_responder": final_responder,
    "archivist": archivist,
}


async def main() -> None:
    """Work until SIGTERM."""
    settings = load_settings()
    assert settings.database.database_url is not None
    dsn = settings.database.database_url.get_secret_value()
    isolation = Quarantine([sys.executable, __file__, "--alone"], {}) if "--alone" not in sys.argv else None
    async with open_database(dsn, settings.database.pool_size, "maas orchestrator") as db:
        deps = Deps(db, settings, RoleModels({}, BuiltinModel()))
        orchestrator = Orchestrator(deps, STAGES, dsn, isolation)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, orchestrator.stop)
        await orchestrator.run()


if __name__ == "__main__":
    log.configure("warning", "json")
    end_with_parent()
    uvloop.run(main())
