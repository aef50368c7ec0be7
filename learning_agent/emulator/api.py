"""The REST API of the emulator: a run of scenarios is started, followed and read."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from learning_agent.emulator.batch import AT_ONCE, BUILTIN, Order, play
from learning_agent.emulator.errors import EmulatorError
from learning_agent.emulator.report import to_html
from learning_agent.emulator.results import Report, Result
from learning_agent.emulator.scenario import FOLDER, choose, read_scenarios

Play = Callable[[Order, Callable[[Result], None]], Report]
MAX_KEPT_RUNS = 100


class RunRequest(BaseModel):
    """The body of POST /runs; the fields are the options of the command."""

    model_config = ConfigDict(extra="forbid")

    scenarios: list[str] = []
    language: Literal["en", "ru"] | None = None
    model: str = BUILTIN
    roles: list[str] = []
    judge: str | None = None
    person: str | None = None
    url: str | None = None
    dsn: str | None = None
    purge: bool = False
    at_once: int = AT_ONCE


@dataclass(slots=True)
class StartedRun:
    """A run of scenarios in a thread of its own."""

    id: str
    names: list[str]
    state: Literal["running", "done", "error"] = "running"
    played: dict[str, str] = field(default_factory=dict)
    report: Report | None = None
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        """Its state and, at the end, its report."""
        body = {"id": self.id, "state": self.state, "scenarios": self.names, "played": self.played}
        body |= {"error": self.error} if self.error else {}
        return body | ({"report": self.report.to_json()} if self.report else {})


class Runs:
    """The runs of this process, the latest hundred; one is played at a time, the others wait for it."""

    def __init__(self, play_order: Play) -> None:
        self._play = play_order
        self._runs: OrderedDict[str, StartedRun] = OrderedDict()
        self._playing = threading.Lock()

    def start(self, order: Order) -> StartedRun:
        """Begin to play."""
        run = StartedRun(uuid4().hex, [one.name for one in order.scenarios])
        self._runs[run.id] = run
        while len(self._runs) > MAX_KEPT_RUNS:
            self._runs.popitem(last=False)
        threading.Thread(target=self._perform, args=(run, order), daemon=True).start()
        return run

    def get(self, run_id: str) -> StartedRun | None:
        """A run by its id."""
        return self._runs.get(run_id)

    def all(self) -> list[StartedRun]:
        """All of them, the newest first."""
        return list(reversed(self._runs.values()))

    def _perform(self, run: StartedRun, order: Order) -> None:
        with self._playing:
            try:
                run.report = self._play(order, lambda result: run.played.update({result.name: result.outcome}))
                run.state = "done"
            except Exception as error:
                run.error, run.state = str(error) or type(error).__name__, "error"


def make_app(folder: Path = FOLDER, play_order: Play = play) -> Starlette:
    """The application."""
    runs = Runs(play_order)

    def list_scenarios(_: Request) -> Response:
        fields = {"name", "title", "language", "kind", "builtin", "assistant"}
        return JSONResponse({"scenarios": [one.model_dump(include=fields) for one in read_scenarios(folder)]})

    async def start(request: Request) -> Response:
        if not request.headers.get("content-type", "").startswith(
            "application/json"
        ):  # a page elsewhere cannot send it
            return _error(415, "send JSON: Content-Type: application/json")
        try:
            asked = RunRequest.model_validate(json.loads(await request.body() or b"{}"))
            scenarios = choose(read_scenarios(folder), asked.scenarios, asked.language)
        except ValidationError as error:
            first = error.errors()[0]
            return _error(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
        except (ValueError, EmulatorError) as error:
            return _error(422, str(error))
        order = Order(
            scenarios,
            asked.model,
            tuple(asked.roles),
            asked.judge,
            asked.person,
            asked.url,
            asked.dsn,
            at_once=asked.at_once,
            purge_given=asked.purge,
        )
        return JSONResponse(runs.start(order).to_json(), 202)

    def list_runs(_: Request) -> Response:
        return JSONResponse({"runs": [{"id": one.id, "state": one.state} for one in runs.all()]})

    def get_run(request: Request) -> Response:
        run = runs.get(request.path_params["id"])
        return JSONResponse(run.to_json()) if run else _error(404, "there is no such run")

    def get_page(request: Request) -> Response:
        run = runs.get(request.path_params["id"])
        if run is None or run.report is None:
            return _error(404, "there is no such run" if run is None else "it is not done yet")
        return HTMLResponse(to_html(run.report))

    return Starlette(
        routes=[
            Route("/scenarios", list_scenarios),
            Route("/runs", start, methods=["POST"]),
            Route("/runs", list_runs, methods=["GET"]),
            Route("/runs/{id}", get_run),
            Route("/runs/{id}/report", get_page),
        ]
    )


def _error(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)
