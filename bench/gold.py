"""The gold of a benchmark: the evidence as its annotators named it and, beside that, as a file corrects it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bench.conversations import Conversation, Question
from bench.report import print_table
from bench.scoring import Score, mean, score
from shared.errors import MaasError, problems_of

MEASURES = {"turn R@5": "turns_5", "turn R@10": "turns_10", "nDCG@10": "ndcg_10", "session R@5": "sessions_5"}
ALL = "all"
_FORMAT = TypeAdapter(dict[str, list[str]])


def read_corrections(path: Path, conversations: Sequence[Conversation]) -> dict[str, list[str]]:
    """Return the corrected evidence, ids of turns by that of the question, of the questions that are asked.

    Raises MaasError('bad_data') for a file of another form, and for one that has none of these questions.
    """
    try:
        corrections = _FORMAT.validate_json(path.read_bytes())
    except OSError as error:
        raise MaasError("bad_data", f"--corrections {path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = problems_of(error)[0]
        where = first.field or "the file"
        raise MaasError("bad_data", f"--corrections {path}: {where}: {first.message}") from error
    asked = {question.id for conversation in conversations for question in conversation.questions}
    if asked.isdisjoint(corrections):
        raise MaasError("bad_data", f"--corrections {path} has no question of the conversations that are asked")
    return {id_: turns for id_, turns in corrections.items() if id_ in asked}


def correct(conversations: Sequence[Conversation], corrections: Mapping[str, Sequence[str]]) -> list[Conversation]:
    """Return the conversations with corrected questions; of their evidence, turns that are not there are left out."""
    return [one.model_copy(update={"questions": _corrected(one, corrections)}) for one in conversations]


def _corrected(conversation: Conversation, corrections: Mapping[str, Sequence[str]]) -> list[Question]:
    homes = conversation.homes
    return [
        question
        if (turns := corrections.get(question.id)) is None
        else question.model_copy(update={"evidence": [one for one in turns if one in homes], "evidence_sessions": []})
        for question in conversation.questions
    ]


def score_rankings(
    conversations: Sequence[Conversation], ranked: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[tuple[str, str], list[Score]]:
    """Return the scores of each family and category; `ranked` has the turns found by conversation and question.

    `all` is a category, too, without the adversarial questions. A question whose evidence names no turn has no score.
    """
    scores: dict[tuple[str, str], list[Score]] = defaultdict(list)
    for conversation in conversations:
        homes = conversation.homes
        for question in conversation.questions:
            if question.evidence:
                found = score(ranked[conversation.name][question.id], question, homes)
                for category in {question.category} if question.is_adversarial else {ALL, question.category or ALL}:
                    scores[conversation.family, category].append(found)
    return scores


def print_scores(
    conversations: Sequence[Conversation],
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    corrections: Mapping[str, Sequence[str]],
) -> None:
    """Print each measure in percent, and with corrections beside it what it is by the corrected evidence."""
    golds = [score_rankings(conversations, ranked)]
    if corrections:
        golds.append(score_rankings(correct(conversations, corrections), ranked))
    columns = [name for measure in MEASURES for name in (measure, "corrected")[: len(golds)]]
    rows = [
        (
            " / ".join(group),
            len(scores),
            *(100 * getattr(mean(gold.get(group, ())), field) for field in MEASURES.values() for gold in golds),
        )
        for group, scores in sorted(golds[0].items())
    ]
    if rows:
        changed = f"; the evidence of {len(corrections)} questions is corrected" if corrections else ""
        print_table(f"recall, percent{changed}", ("family / category", "questions", *columns), rows)
