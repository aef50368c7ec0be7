"""Plays many scenarios against one MaaS, some at a time, and makes the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from learning_agent.emulator import office
from learning_agent.emulator.days import utc_now
from learning_agent.emulator.errors import EmulatorError
from learning_agent.emulator.language_model import base_url_of, open_model
from learning_agent.emulator.memory import StoredMemory
from learning_agent.emulator.player import Player, Scene
from learning_agent.emulator.recorder import Recorder
from learning_agent.emulator.recording import Recording, read_recording
from learning_agent.emulator.results import Report, Result
from learning_agent.emulator.scenario import Scenario
from learning_agent.emulator.system import System, given_system, start_system
from maas.client import MaaS

BUILTIN = "extractive:builtin"
ROLES = ("analyzer", "assembler", "responder", "archivist")
AT_ONCE = 4
PATIENT = {  # for a slow model: its own limits are what is measured elsewhere
    "MAAS_ANALYZER_TIMEOUT": "600",
    "MAAS_ASSEMBLER_TIMEOUT": "600",
    "MAAS_ARCHIVIST_TIMEOUT": "600",
    "MAAS_RESPONDER_TIMEOUT": "600",
    "MAAS_ATTEMPT_TIMEOUT": "600",
}
REPLAYED = {"OPENAI_API_KEY": "recorded", "MAAS_RETRY_DELAY": "0.05"}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be played, and with what. `roles`: those that the model plays; rules play the others."""

    scenarios: Sequence[Scenario]
    model: str = BUILTIN
    roles: tuple[str, ...] = ()
    judge: str | None = None
    person: str | None = None
    url: str | None = None
    dsn: str | None = None
    record: Path | None = None
    replay: Path | None = None
    at_once: int = AT_ONCE
    purge_given: bool = False


def play(order: Order, on_result: Callable[[Result], None] = lambda result: None) -> Report:
    """Play an order from the start of a MaaS to its report. Raises EmulatorError."""
    with ExitStack() as stack:
        recording, recorder = _recording(order, stack)
        if order.replay is not None and recording is not None:
            known = [one for one in order.scenarios if one.name in recording.scenarios]
            order = replace(
                order,
                model=recording.model,
                roles=recording.roles,
                scenarios=known,
                judge=recording.judge,
                person=recording.person,
            )
            if not known:
                raise EmulatorError(f"{order.replay} holds none of these scenarios: {', '.join(recording.scenarios)}")
        environment = dict(os.environ) | ({"OPENAI_BASE_URL": recorder.url} if recorder else {})
        if order.replay is not None:
            environment |= REPLAYED
        system = stack.enter_context(_system(order, environment))
        memory = stack.enter_context(StoredMemory(system.dsn))
        client = stack.enter_context(MaaS(system.url, os.environ.get("MAAS_API_KEY")))
        scene = Scene(
            client,
            memory,
            system.compact,
            order.model,
            order.model == BUILTIN,
            open_model(order.judge, environment) if order.judge else None,
            open_model(order.person, environment) if order.person else None,
            recording.day if recording is not None and order.replay is not None else None,
        )
        results = play_scenarios(
            scene,
            order.scenarios,
            at_once=order.at_once,
            on_result=on_result,
            may_purge=(system.is_own or order.purge_given),
        )
        if recording is not None and order.record is not None:
            recording.scenarios = [one.name for one in results if one.outcome != "left out"]
            recording.write(order.record)
        return make_report(
            scene, results, recording.missed if recording is not None else (), str(order.replay or order.record or "")
        )


def play_scenarios(
    scene: Scene,
    scenarios: Sequence[Scenario],
    *,
    at_once: int = AT_ONCE,
    may_purge: bool = True,
    on_result: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """The results, in the order of the scenarios. Retention deletes for all users: what uses it comes last, alone."""
    results: dict[str, Result] = {}

    def perform(scenario: Scenario) -> None:
        reason = _left_out(scene, scenario, may_purge)
        results[scenario.name] = Result.left_out(scenario, reason) if reason else Player(scene, scenario).play()
        on_result(results[scenario.name])

    purging = [one for one in scenarios if purges(one)]
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(perform, [one for one in scenarios if not purges(one)]))
    for one in purging:
        perform(one)
    return [results[one.name] for one in scenarios]


def make_report(scene: Scene, results: Sequence[Result], missed: Sequence[str] = (), recording: str = "") -> Report:
    """The report of what was played."""
    at = utc_now().isoformat(timespec="seconds")
    judge = f"openai:{scene.judge.name}" if scene.judge else None
    return Report(scene.model, judge, at, tuple(results), tuple(missed), recording)


def purges(scenario: Scenario) -> bool:
    """Whether it deletes what is old."""
    return any(step.retention is not None for _, step in scenario.steps())


def _left_out(scene: Scene, scenario: Scenario, may_purge: bool) -> str:
    if scene.is_builtin and not scenario.builtin:
        return "needs a model"
    if scene.person is None and any(step.person is not None for _, step in scenario.steps()):
        return "a model plays this person: --person"
    if purges(scenario) and not may_purge:
        return "deletes old messages of all users: --purge"
    return ""


def _recording(order: Order, stack: ExitStack) -> tuple[Recording | None, Recorder | None]:
    """The recording that is written or read, and the server of it."""
    if order.record is None and order.replay is None:
        return None, None
    if order.url is not None:
        raise EmulatorError("a MaaS that runs already has its models: record and replay without --url")
    if order.replay is not None:
        recording = read_recording(order.replay)
        return recording, stack.enter_context(Recorder(recording))
    if not order.model.startswith("openai:"):
        raise EmulatorError(f"{order.model}: models of OpenAI's protocol are recorded: openai:NAME (OPENAI_BASE_URL)")
    recording = Recording(order.model, order.roles, f"{utc_now():%Y-%m-%d}", judge=order.judge, person=order.person)
    key = os.environ.get("OPENAI_API_KEY", "")
    return recording, stack.enter_context(Recorder(recording, base_url_of(os.environ), key))


@contextmanager
def _system(order: Order, environment: Mapping[str, str]) -> Iterator[System]:
    if order.url is not None and order.dsn is not None:
        with given_system(order.url, order.dsn) as system:
            yield system
        return
    if order.url is not None or order.dsn is not None:
        raise EmulatorError("name both --url and --dsn, or neither: then a MaaS is started")
    with_tools = any(one.assistant == office.ASSISTANT for one in order.scenarios)
    settings = models_of(order.model, order.roles)
    settings |= {name: environment[name] for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY") if name in environment}
    settings |= {name: text for name, text in REPLAYED.items() if order.replay is not None}
    settings |= {} if order.model == BUILTIN else PATIENT
    settings |= {name: text for name, text in os.environ.items() if name.startswith("MAAS_") and name != "MAAS_MODEL"}
    with start_system(settings, with_tools=with_tools and order.model != BUILTIN) as system:
        yield system


def models_of(model: str, roles: Sequence[str]) -> dict[str, str]:
    """The settings with which this model plays these roles, or all of them if none is named."""
    if not roles:
        return {"MAAS_MODEL": model}
    unknown = [role for role in roles if role not in ROLES]
    if unknown:
        raise EmulatorError(f"there is no role {unknown[0]!r}; there are: {', '.join(ROLES)}")
    return {"MAAS_MODEL": BUILTIN} | {f"MAAS_{role.upper()}_MODEL": model for role in roles}
