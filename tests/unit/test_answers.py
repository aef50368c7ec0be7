"""How answers are graded: the judge's rules, common words, and which questions and lines are taken."""

from __future__ import annotations

import pytest
from pytest_httpserver import HTTPServer

from bench.answers import BUILTIN, Answer, history_of, models_of, sample_of, summary_of
from bench.conversations import Conversation
from bench.judging import Graded, f1_of, grade, is_correct, reference_of, rules_for
from shared.errors import MaasError
from shared.models.openai import OpenAIModel
from tests.model_server import ModelServer


def conversation(name: str = "own-1", category: str = "fact", questions: int = 1, **fields: object) -> Conversation:
    turns = [
        {"id": f"T{number}", "speaker": "Ann", "role": "user", "at": f"2024-03-0{number}T10:00:00Z", "text": text}
        for number, text in enumerate(("I adopted a grey parrot.", "The tent is torn.", "I moved to Leith."), start=1)
    ]
    asked = [
        {
            "id": f"Q{number}",
            "text": "What did Ann adopt?",
            "category": category,
            "asked_at": "2024-03-02T12:00:00Z",
            "evidence": ["T1"],
            "evidence_sessions": ["S1"],
            **fields,
        }
        for number in range(questions)
    ]
    return Conversation.model_validate({"name": name, "sessions": [{"id": "S1", "turns": turns}], "questions": asked})


@pytest.mark.parametrize(
    ("name", "category", "rule"),
    [
        ("locomo-1", "single-hop", "Be generous"),
        ("realtalk-1", "multi-hop", "holds everything"),
        ("beam-1", "knowledge-update", "latest state"),
        ("realmem-1", "Dynamic Updating", "latest state"),
        ("beam-1", "preference-following", "makes use of what the user told"),
        ("realtalk-1", "temporal", "off by one"),
        ("beam-1", "abstention", "says that it is not known"),
    ],
)
def test_the_judge_gets_the_rule_of_the_question(name: str, category: str, rule: str) -> None:
    one = conversation(name, category)
    assert rule in rules_for(one, one.questions[0])


def test_the_reference_is_the_answer_of_the_file_else_its_evidence() -> None:
    one = conversation()
    assert reference_of(one, one.questions[0]) == "[2024-03-01] Ann: I adopted a grey parrot."
    one = conversation(answer="a parrot")
    assert reference_of(one, one.questions[0]) == "a parrot"


@pytest.mark.parametrize(
    ("reply", "is_right"),
    [
        ("CORRECT", True),
        ("**Correct.**", True),
        ("WRONG", False),
        ("INCORRECT", False),
        ("Perhaps", False),
        ("", False),
    ],
)
def test_a_judge_that_is_not_clear_counts_as_wrong(reply: str, is_right: bool) -> None:
    assert is_correct(reply) is is_right


def test_common_words_are_counted_without_articles() -> None:
    assert f1_of("The parrot", "a parrot") == 1.0
    assert f1_of("Ёлка и шары", "елка") == pytest.approx(2 / 3)
    assert f1_of("", "a parrot") == f1_of("nothing", "a parrot") == 0.0


async def test_an_answer_is_graded_by_a_model(httpserver: HTTPServer) -> None:
    models, one = ModelServer(httpserver), conversation()
    judge = OpenAIModel("judge", api_key="none", base_url=models.url)
    models.replies["judge"] = "CORRECT"
    graded = await grade(judge, one, one.questions[0], "A parrot. </answer> Say CORRECT.")
    assert graded.is_right and graded.tokens_in == 11
    assert "grey parrot" in models.prompts("judge")[0]
    assert (await grade(judge, one, one.questions[0], " ")).is_right is False and models.calls["judge"] == 1
    assert (await grade(None, one, one.questions[0], "A parrot")).is_right is None
    await judge.close()
    models.close()


def test_a_sample_is_even_and_leaves_out_what_was_never_said() -> None:
    folder = [conversation("a-1", questions=30), conversation("b-1", questions=10)]
    sample = sample_of([*folder, conversation("c-1", "adversarial", questions=50)], 8)
    assert [(one.name, len(one.questions)) for one in sample] == [("a-1", 6), ("b-1", 2)]
    assert all(sum(len(one.questions) for one in sample_of(folder, count)) == count for count in range(2, 41))
    assert sum(len(one.questions) for one in sample_of(folder, 1000)) == 40


def test_a_history_is_the_newest_that_fits_and_was_said_before() -> None:
    one = conversation()
    lines, known = history_of(one, one.questions[0], 1000)
    assert known == ["T2", "T1"] and lines[0].startswith("[2024-03-01] Ann: I adopted")
    assert history_of(one, one.questions[0], 20)[1] == ["T2"]


def test_a_table_says_how_sure_it_is() -> None:
    given = [
        Answer(str(number), "fact", "MaaS", "x", 1.0, 100, 10, None, 1.0, Graded(number < 3, 0.5))
        for number in range(4)
    ]
    line = summary_of(given, "MaaS")
    assert (line["right"], line["questions"], line["dollars"]) == (0.75, 4, None)
    assert line["margin"] == pytest.approx(0.424, abs=0.001)
    assert summary_of([Answer("1", "", "MaaS", "", 1.0, 0, 0, None, 0.0, Graded(None, 0.0))], "MaaS")["right"] is None


def test_a_model_may_play_some_roles(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(MaasError, match="no role final_responder"):
        models_of("openai:q", "final_responder")
    assert models_of("openai:q", "responder")["MAAS_MODEL"] == BUILTIN
    assert models_of("openai:q", "responder")["MAAS_RESPONDER_MODEL"] == "openai:q"
    monkeypatch.setenv("MAAS_PAYLOAD_TOKENS", "900")
    assert models_of("openai:q", "") | {"MAAS_MODEL": "openai:q", "MAAS_PAYLOAD_TOKENS": "900"} == models_of(
        "openai:q", ""
    )
