"""Each stage alone, on a row that was written by hand."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.rows import DictRow

from maas import queries
from maas.builtin_model import BuiltinModel
from maas.engine.drafts import MARKS_RULE, Draft, Payload
from maas.engine.run import ClaimCache, Run
from maas.engine.stages import Deps, RoleModels
from maas.engine.states import Status
from maas.prompting.trimming import NEAREST
from maas.settings import load_settings
from maas.settings.models import ROLES
from shared import tokens
from shared.db import open_database
from shared.errors import MaasError
from shared.marks import number_line
from shared.models import Piece, Reply, Request
from tests.sql.engine import Engine
from workers import analyzer, archivist, assembler, draft_builder, final_responder


@pytest.fixture
async def deps(database: str) -> AsyncIterator[Deps]:
    """What a process with the built-in model hands to its stages."""
    settings = load_settings(history_rows=4)
    rules = BuiltinModel()
    async with open_database(database, 2, "test") as db:
        yield Deps(db, settings, RoleModels({role: rules for role in ROLES}, rules))


class FixedModel:
    """A model that gives one reply to everything."""

    provider, name = "openai", "fixed"

    def __init__(self, text: str) -> None:
        self.text = text

    async def complete(self, request: Request, timeout: float) -> Reply:
        return Reply(self.text)

    async def stream(self, request: Request, timeout: float) -> AsyncGenerator[Piece, None]:
        yield Reply(self.text)

    async def close(self) -> None:
        pass


def a_run(**fields: Any) -> Run:
    values: dict[str, Any] = {
        "id": uuid4(),
        "attempt": 1,
        "seq": 10**9,
        "kind": "ask",
        "status": Status.NEW,
        "user_id": uuid4(),
        "user_query": "Where does Alma live?",
        "assistant": "mentor",
        "conversation_id": None,
        "created_at": datetime.now(UTC),
    } | fields
    return Run(**values)


async def drafted(run: Run, deps: Deps) -> Draft:
    draft = (await draft_builder.run(run, deps)).draft
    assert draft is not None
    return draft


async def assembled(run: Run, deps: Deps) -> Payload:
    payload = (await assembler.run(run, deps)).payload
    assert payload is not None
    return payload


async def imported(deps: Deps, run: Run, *texts: str) -> None:
    turns = [{"role": "user", "content": text, "at": f"2024-05-0{n + 1}T10:00:00Z"} for n, text in enumerate(texts)]
    await deps.db.rows(queries.import_turns, run.user_id, "by hand", turns, "test")


async def test_analyzer_alone(deps: Deps) -> None:
    run = a_run(user_query="Do you remember where Alma lives?")
    await imported(deps, run, "Alma lives in Lisbon.")
    outcome = await analyzer.run(run, deps)
    assert outcome.analysis is not None and outcome.analysis["needs_context"]
    assert [call["stage"] for call in run.log.calls] == ["analyzer"]


async def test_a_draft_shows_what_the_analyzer_has_read(deps: Deps, connection: psycopg.Connection[DictRow]) -> None:
    """What was said since then is not read; what was erased since then is not shown. Another process reads again."""
    run = a_run(user_query="Do you remember where Alma lives?")
    texts = ("Alma lives in Lisbon.", "Alma lives by the sea.", *("It rains." for _ in range(5)))
    await imported(deps, run, *texts)
    outcome = await analyzer.run(run, deps)
    connection.execute("delete from raw_logs where content = 'Alma lives by the sea.'")
    turn = {"role": "user", "content": "Alma lives in Porto now.", "at": "2024-04-01T10:00:00Z"}
    await deps.db.rows(queries.import_turns, run.user_id, "later", [turn], "test")
    advanced = run.advanced(Status.ANALYZED, outcome)
    recovered = replace(advanced, cache=ClaimCache())

    async def focus(run: Run) -> str:
        return "\n".join((await drafted(run, deps)).focus)

    drafts = [await focus(one) for one in (advanced, recovered)]
    assert ["Lisbon" in text for text in drafts] == [True, True]
    assert ["Porto" in text for text in drafts] == [False, True]
    assert not any("sea" in text for text in drafts)
    assert advanced.cache.evidence is None, "evidence is not kept while the answer is written"


@pytest.mark.parametrize(("keywords", "is_found"), [(["beagle", "Rex"], True), (["submarine"], False), ([], False)])
async def test_the_analyzer_searches_again_by_the_keywords_of_its_model(
    deps: Deps, connection: psycopg.Connection[DictRow], keywords: list[str], is_found: bool
) -> None:
    """The question shares no word with the record, and the model picked none of the candidates."""
    engine, user = Engine(connection), uuid4()
    connection.execute(
        "insert into pipeline_runs (user_id, user_query) values (%s, 'Rex, our beagle, sleeps on the sofa.')", (user,)
    )
    engine.finish(engine.claim()[0], summary="The user has a beagle called Rex.")
    reply = {"needs_context": True, "context_type": "SPECIFIC_HISTORY", "search_keywords": keywords}
    deps = deps.with_models({"Analyzer": FixedModel(json.dumps(reply))})
    outcome = await analyzer.run(a_run(user_id=user, user_query="Кто спит на диване?"), deps)
    assert outcome.analysis is not None and outcome.analysis["search_keywords"] == keywords
    found = outcome.analysis["context_found"]
    assert found["summary"] == ("The user has a beagle called Rex." if is_found else None)
    assert (found["lsm_record_id"] is not None, found["relevance_score"] >= 0.3) == (is_found, is_found)


async def test_draft_builder_alone(deps: Deps) -> None:
    """N is a setting; focus only when needed; no model."""
    run = a_run(status=Status.ANALYZED, analysis={"needs_context": True, "time_scope": "cold", "context_found": {}})
    await imported(deps, run, *(f"Alma said {n} things." for n in range(6)))
    draft = await drafted(run, deps)
    assert [line[-9:] for line in draft.recent] == [f"{n} things." for n in (2, 3, 4, 5)]
    assert draft.focus[0] == NEAREST and len(draft.focus) == 3, "none of them says where she lives"
    assert run.log.calls == []
    run = replace(run, analysis={"needs_context": False})
    assert (await drafted(run, deps)).focus == ()


def with_settings(deps: Deps, **settings: Any) -> Deps:
    return replace(deps, settings=deps.settings.replace(**settings))


async def test_all_of_the_last_rows_stand_in_a_draft_however_long(deps: Deps) -> None:
    """Long ones are cut to the same length, short ones are whole, and together they fit into the payload."""
    run = a_run(status=Status.ANALYZED, analysis={"needs_context": True, "time_scope": "cold", "context_found": {}})
    long = "Alma told me of the ferry, the harbour and the weather. "
    await imported(deps, run, *(f"Day {n}. {long * 200 * (n % 3 > 0)}" for n in range(9)))
    draft = await drafted(run, with_settings(deps, history_rows=9))
    assert [line.partition("user: ")[2][:6] for line in draft.recent] == [f"Day {n}." for n in range(9)]
    cut = [len(line) for line in draft.recent if line.endswith("…")]
    assert len(cut) == 6 and min(cut) > 0.9 * max(cut) > 2000
    payload = await assembled(replace(run, draft=draft), deps)
    assert all(line in payload.memory for line in [*draft.recent, *draft.focus])
    narrow = await drafted(run, with_settings(deps, history_rows=9, payload_tokens=1000))
    assert [line.partition("user: ")[2][:6] for line in narrow.recent] == [f"Day {n}." for n in range(9)]


async def test_what_is_cut_of_a_dialogue_is_in_its_summary(deps: Deps, connection: psycopg.Connection[DictRow]) -> None:
    """The exchange before the last message too; an exchange that is shown whole is not summarised as well."""
    engine, user, conversation = Engine(connection), uuid4(), uuid4()
    run = a_run(status=Status.ANALYZED, analysis={"needs_context": False}, user_id=user, conversation_id=conversation)
    for n, words in enumerate(["Short.", "Long words stand here. " * 2000, "Longer words stand here. " * 2000]):
        connection.execute(
            "insert into pipeline_runs (user_id, user_query, conversation_id) values (%s, %s, %s)",
            (user, words, conversation),
        )
        engine.finish(engine.claim()[0], summary=f"About {n}.")
    for _ in range(2):
        earlier, *recent = (await drafted(run, with_settings(deps, history_rows=6))).recent
        assert earlier == "Earlier in this conversation: About 1. About 2."
        assert [line.endswith("…") for line in recent] == [False, False, True, False, True, False]
    connection.execute("update chat_messages set is_folded = false")
    connection.execute("update chat_conversations set rolling_summary = ''")
    replayed = await drafted(replace(run, as_of=datetime.now(UTC)), with_settings(deps, history_rows=6))
    assert "Earlier" not in replayed.render()


RECENT = tuple(f"- [2026-01-{day:02} 10:00] user: Small talk{', of nothing much' * 6}." for day in range(1, 11))
EVIDENCE = tuple(f"- [2024-0{month}-01] user: Alma lives in Lisbon{', by the river' * 6}." for month in range(1, 4))


HEADED = "\n".join(["Recent messages:", *RECENT, "Remembered:", *EVIDENCE])


@pytest.mark.parametrize("reply", [None, HEADED, "\n".join([*RECENT, *EVIDENCE]), "\n".join([*EVIDENCE, *RECENT])])
async def test_little_room_keeps_evidence_and_the_newest(deps: Deps, reply: str | None) -> None:
    """By the rules, and where a model says more than fits."""
    deps = with_settings(deps, payload_tokens=350)
    if reply is not None:
        deps = deps.with_models({"Assembler": FixedModel(reply)})
    draft = Draft("Where does Alma live?", RECENT, EVIDENCE, "A role.", "Condense {memory} for {user_query}.")
    payload = await assembled(a_run(status=Status.ASSEMBLING, draft=draft), deps)
    assert tokens.count(payload.render()) <= 350
    memory = payload.memory.split("\n")
    assert [line for line in memory if line in EVIDENCE] == list(EVIDENCE)
    whole = [line for line in memory if line in RECENT]
    assert 2 <= len(whole) < 10 and whole == list(RECENT[-len(whole) :])


@pytest.mark.parametrize(
    ("instruction", "has_all"), [("Choose the lines that are needed.", False), ("Condense {memory} for it.", True)]
)
async def test_only_what_stands_in_the_payload_was_given(
    deps: Deps, connection: psycopg.Connection[DictRow], instruction: str, has_all: bool
) -> None:
    """Where the lines were chosen. A text that a model made of them may hold any of them."""
    lines = [number_line(line, n) for n, line in enumerate((*RECENT, *EVIDENCE), 1)]
    sources = [{"id": str(uuid4()), "kind": "turn", "score": 1.0, "number": n} for n in range(1, len(lines) + 1)]
    run = a_run(
        status=Status.ASSEMBLING,
        draft=Draft("Where does Alma live?", tuple(lines[:10]), tuple(lines[10:]), MARKS_RULE, instruction),
    )
    connection.execute("insert into pipeline_runs (id, user_id, user_query) values (%s, %s, '?')", (run.id, uuid4()))
    connection.execute("update pipeline_runs set sources = %s where id = %s", (json.dumps(sources), run.id))
    outcome = await assembler.run(run, with_settings(deps, payload_tokens=400))
    assert outcome.payload is not None
    shown = [source for source in sources if f"- [{source['number']}] " in outcome.payload.memory]
    assert 0 < len(shown) < len(sources)
    assert outcome.sources == (None if has_all else shown)


@pytest.mark.parametrize("word", ["слово ", "word ", "漢字", "😀", "if (x) { y[0] += 1; }\n", "\u202e"])
async def test_assembler_alone(deps: Deps, word: str) -> None:
    """A hand-written draft of 30,000 tokens comes out within 8000."""
    line = f"- [2024-01-01 10:00] user: {' '.join((word * 150).split()) or word * 150}"
    lines = (line,) * (30_000 // tokens.count(line) + 1)
    draft = Draft("What now?", lines[:10], lines[10:], "A role.", "Condense {memory} for {user_query}.")
    assert tokens.count(draft.render()) >= 30_000
    payload = await assembled(a_run(status=Status.ASSEMBLING, draft=draft), deps)
    assert 4000 < tokens.count(payload.render()) <= 8000
    assert (payload.system, payload.query) == ("A role.", "What now?")


@pytest.mark.parametrize(
    ("definition", "provider"),
    [
        ("{}", "extractive"),
        ('{"model": "anthropic:claude-x"}', "anthropic"),
        (
            '{"model": "openai:gpt-x", "agents": [{"name": "a", "model": "anthropic:claude-x"}, {"name": "b"}]}',
            "anthropic",
        ),
        ('{"model": "openai:gpt-x", "agents": []}', "openai"),
    ],
)
async def test_a_payload_is_sized_for_whoever_answers(
    deps: Deps, connection: psycopg.Connection[DictRow], definition: str, provider: str
) -> None:
    """The model of the assistant and those of its agents, whatever the configured one is."""
    insert = "insert into assistants (name, role_name, definition) values ('clerk', 'Mentor', %s)"
    connection.execute(insert, (definition,))
    lines = tuple(f"- [2024-01-01 10:00] user: {'word ' * 150}{n}" for n in range(100))
    draft = Draft("What now?", lines[:50], lines[50:], "A role.", "Condense {memory} for {user_query}.")
    payload = await assembled(a_run(status=Status.ASSEMBLING, assistant="clerk", draft=draft), deps)
    limit = tokens.within(8000, provider)
    assert limit * 0.9 < tokens.count(payload.render()) <= limit


async def test_a_claim_that_begins_with_texts_reads_what_they_say(deps: Deps) -> None:
    """Another process has made them, or an operator has edited them; a value and its text lead to one payload."""
    draft = Draft("Where does Alma live?", RECENT, EVIDENCE, "A <role>.", "Condense.", 3, 4, "Be <brief>.", ("- a",))
    run = a_run(status=Status.ASSEMBLING, draft=draft)
    payload = await assembled(run, deps)
    assert Payload.parse(payload.render()) == payload
    text = draft.render()
    assert await assembled(replace(run, draft=text), deps) == payload
    edited = await assembled(replace(run, draft=text.replace("lives in Lisbon", "lives in Porto")), deps)
    assert edited.memory == payload.memory.replace("Lisbon", "Porto") != payload.memory
    texts = [payload.render().replace("in Lisbon", "in Porto"), edited]
    runs = [a_run(status=Status.RESPONDING, draft=draft, payload=one, id=run.id) for one in texts]
    first, second = [(await final_responder.run(one, deps)).answer for one in runs]
    assert first == second and "Porto" in (first or "")


@pytest.mark.parametrize("broken", ["", "<draft></draft>"])
async def test_a_draft_that_somebody_broke_is_named(deps: Deps, broken: str) -> None:
    with pytest.raises(MaasError) as caught:
        await assembler.run(a_run(status=Status.ASSEMBLING, draft=broken), deps)
    assert caught.value.code == "bad_draft"


async def test_the_ledger_names_the_prompt_that_was_used(deps: Deps, connection: psycopg.Connection[DictRow]) -> None:
    """An UPDATE between the draft and its stages does not change the version that they note."""
    run = a_run(status=Status.ANALYZED, analysis={"needs_context": False})
    run = replace(run, draft=await drafted(run, deps))
    connection.execute("update system_prompts set prompt_template = prompt_template || ' New.'")
    run = replace(run, payload=await assembled(run, deps))
    await final_responder.run(run, deps)
    assert [(call["stage"], call["prompt_version"]) for call in run.log.calls] == [
        ("assembler", 1),
        ("final_responder", 1),
    ]


async def test_assembler_refuses_what_cannot_fit(deps: Deps) -> None:
    draft = Draft("why? " * 9000, (), (), "A role.", "x")
    with pytest.raises(MaasError) as caught:
        await assembler.run(a_run(status=Status.ASSEMBLING, draft=draft), deps)
    assert caught.value.code == "query_too_long"


async def test_final_responder_alone(deps: Deps) -> None:
    """From the payload alone: nothing else of the row or the user is looked at."""
    memory = "Remembered:\n- [2024-05-01 10:00] user: Alma lives in Lisbon &amp; likes it."
    payload = Payload("A role.", memory, "Where does Alma live?").render()
    outcome = await final_responder.run(
        a_run(status=Status.RESPONDING, payload=payload, user_query="not looked at"), deps
    )
    assert outcome.answer is not None
    assert "Alma lives in Lisbon & likes it." in outcome.answer


async def test_archivist_alone(deps: Deps) -> None:
    """Imported turns, an exchange at a time."""
    run = a_run()
    await imported(deps, run, "My kiln is set up in the barn.", "The first glaze was cobalt.")
    rows = await deps.db.rows(queries.list_runs, run.user_id, None, None, None, 1, *[None] * 7)
    row = rows[0]
    outcome = await archivist.run(a_run(id=row["id"], kind="archive", status=Status.COMPLETED), deps)
    assert outcome.has_more and outcome.record is not None
    assert "kiln" in outcome.record["summary"] and len(outcome.record["log_ids"]) == 1


async def test_archivist_of_a_run_without_words(deps: Deps) -> None:
    """Its user was erased between claim and stage: there is nothing to record and nobody to ask."""
    run = a_run(status=Status.COMPLETED)
    assert (await archivist.run(run, deps)).record is None
    assert run.log.calls == []
