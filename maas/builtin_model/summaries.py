"""The built-in Archivist and Compactor: summaries made of the sentences that carry most information, and their tags.

Tags are found by rules: names, technologies, topics, activities.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from maas.builtin_model.day_texts import count_words, cut_words, split_days
from maas.builtin_model.language import (
    PHRASES,
    STOP_WORDS,
    Phrases,
    content_words,
    is_builtin_answer,
    is_courtesy,
    is_small_talk,
    language,
    stem,
    words,
)
from maas.memory.recent_messages import fair_share
from shared.text import one_line, sentences, shorten

MARKUP = re.compile(r"```.*?(?:```|\Z)|^\s{0,3}(?:#{1,6}|[-*•>]|\d{1,2}[.)])\s+|\*\*|__|`", re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"\d")
_FIRST_PERSON_TEXT = """
я мне меня мной мы нас нам мой моя мое мои моего моей моему моим моих мою наш наша наше наши нашу нашей i i'm i've me
my we our us mine
"""
FIRST_PERSON = frozenset(_FIRST_PERSON_TEXT.split())
MIN_SENTENCES, MAX_SENTENCES = 2, 4
MAX_SENTENCE_CHARS = 300
MAX_LOG_CHARS = 8000
_CLOSINGS = frozenset(line for phrases in PHRASES.values() for line in (phrases.quoted, phrases.unanswered))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a log row: index of the row, index in the row, and how much information it carries."""

    log: int
    index: int
    text: str
    score: float

    @property
    def is_question(self) -> bool:
        return self.text.rstrip("\"'»”)").endswith("?")


def archive(inputs: Mapping[str, Any]) -> str:
    """Return the Archivist's JSON for `logs` (role, speaker, at as ISO time, text, mark of origin; oldest first)."""
    return json.dumps(summarise(inputs["logs"]), ensure_ascii=False)


def summarise(logs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the summary record of an exchange; tags and summary are empty if it holds only courtesies."""
    days = sorted(str(log["at"])[:10] for log in logs)
    record: dict[str, Any] = {
        "time_bucket_start": days[0] if days else None,
        "time_bucket_end": days[-1] if days else None,
        "tags": [],
        "summary": "",
    }
    texts = [MARKUP.sub(" ", str(log["text"])[:MAX_LOG_CHARS]) for log in logs]
    builtin = [log["role"] == "assistant" and is_builtin_answer(text) for log, text in zip(logs, texts, strict=True)]
    if all(_is_empty_talk(log, text) or own for log, text, own in zip(logs, texts, builtin, strict=True)):
        return record
    candidates = [
        [] if own else _sentences(row, text, log["role"] == "assistant")
        for row, (log, text, own) in enumerate(zip(logs, texts, builtin, strict=True))
    ]
    chosen = _choose(logs, candidates)
    if not chosen:
        return record
    phrases = PHRASES[language(" ".join(one.text for one in chosen))]
    closing = _closing(phrases, [text for text, own in zip(texts, builtin, strict=True) if own])
    record["summary"] = _with_speakers(logs, chosen, phrases, closing)
    record["tags"] = tags_of([one.text for one in chosen])
    return record


def _is_empty_talk(log: Mapping[str, Any], text: str) -> bool:
    if log["role"] != "assistant":
        return is_small_talk(text)
    return all(is_courtesy(sentence) for sentence in sentences(text))


def _sentences(log: int, text: str, is_assistant: bool) -> list[Sentence]:
    result = []
    for index, sentence in enumerate(sentences(text)):
        flat = one_line(sentence)
        if not content_words(flat) or (is_courtesy(flat) if is_assistant else is_small_talk(flat)):
            continue
        score = _score(flat) + 3.0 / (1 + index)
        if not is_assistant and not FIRST_PERSON.isdisjoint(words(flat)):
            score += 3.0
        result.append(Sentence(log, index, flat, score))
    return result


def _score(sentence: str) -> float:
    """Return how much information a sentence carries: content words, names, numbers."""
    named = 2.0 * min(len(names_in([sentence])), 3)
    return min(len(set(content_words(sentence))), 12) + named + 1.5 * bool(_NUMBER.search(sentence))


def _choose(logs: Sequence[Mapping[str, Any]], candidates: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    """Choose the users' two best sentences, each question with the start of its answer, then the best of the rest.

    Further questions are taken only if there are fewer than two sentences without them.
    """
    users = [one for log, many in zip(logs, candidates, strict=True) if log["role"] != "assistant" for one in many]
    others = [one for log, many in zip(logs, candidates, strict=True) if log["role"] == "assistant" for one in many]
    picked = sorted(users, key=_rank)[:2]
    for question in [one for one in picked if one.is_question]:
        reply = next((one for one in others if one.log > question.log and not one.is_question), None)
        if reply and reply not in picked:
            picked.append(reply)
    rest = [one for one in [*others, *users] if one not in picked]
    for one in sorted(rest, key=lambda one: (one.is_question, _rank(one))):
        if len(picked) >= (MIN_SENTENCES if one.is_question else MAX_SENTENCES):
            break
        picked.append(one)
    return sorted(picked[:MAX_SENTENCES], key=lambda one: (one.log, one.index))


def _rank(one: Sentence) -> tuple[float, int, int]:
    return (-one.score, one.log, one.index)


def _with_speakers(
    logs: Sequence[Mapping[str, Any]], chosen: Sequence[Sentence], phrases: Phrases, closing: str
) -> str:
    parts: list[str] = []
    last = ""
    for one in chosen:
        log = logs[one.log]
        speaker = log.get("speaker") or (phrases.assistant if log["role"] == "assistant" else phrases.user)
        if mark := log.get("mark"):  # each sentence names it: a merged summary has some of the sentences only
            speaker, last = f"{speaker}, {mark}", ""
        text = shorten(one.text, MAX_SENTENCE_CHARS)
        text = text if text[-1] in '.!?…»"”。！？' else text.rstrip(",;:") + "."
        parts.append(text if speaker == last else f"{speaker}: {text}")
        last = speaker
    if closing and len(parts) < MAX_SENTENCES:
        parts.append(closing)
    return " ".join(parts)


def _closing(phrases: Phrases, builtin_answers: Sequence[str]) -> str:
    """Return the sentence that says what the built-in model answered."""
    if any(known.results_heading in text for text in builtin_answers for known in PHRASES.values()):
        return phrases.quoted
    if any(known.no_result in text for text in builtin_answers for known in PHRASES.values()):
        return phrases.unanswered
    return ""


@dataclass(frozen=True, slots=True)
class DatedSentence:
    """A sentence of a summary record. `rank` is its place by score among the sentences of that record, from 0."""

    record: int
    index: int
    day: str
    text: str
    score: float
    rank: int = 0


def compact(inputs: Mapping[str, Any]) -> str:
    """Return the Compactor's JSON: `records` (day as ISO date, text; oldest first) in `limit` words, a field a day."""
    days = merge_days(inputs["records"], int(inputs["limit"]))
    return json.dumps(days if len(days) > 1 else {"summary": "".join(days.values())}, ensure_ascii=False)


def merge_days(records: Sequence[Mapping[str, Any]], limit: int) -> dict[str, str]:
    """Return the text of each day, in `limit` words together: no day pushes another out.

    A day has the best sentence of each of its records, then the second best, in order of time. There is one text at
    least.
    """
    by_day: dict[str, list[DatedSentence]] = {}
    for one in (one for number, record in enumerate(records) for one in _ranked(number, record)):
        by_day.setdefault(one.day, []).append(one)
    if not by_day:
        text = one_line(" ".join(str(record["text"]) for record in records))
        return {str(records[-1]["day"]) if records else "": cut_words(text, limit) or "…"}
    wanted = {day: {one.text: count_words(one.text) for one in found} for day, found in by_day.items()}
    share = fair_share([sum(costs.values()) for costs in wanted.values()], limit)
    return {day: _best(by_day[day], max(share, 1)) for day in sorted(by_day)}


def _best(found: Sequence[DatedSentence], room: int) -> str:
    chosen: dict[str, DatedSentence] = {}
    for one in sorted(found, key=lambda one: (one.rank, -one.score, one.record, one.index)):
        cost = count_words(one.text)
        if one.text not in chosen and (cost <= room or not chosen):
            chosen[one.text] = one
            room -= cost
    ordered = sorted(chosen.values(), key=lambda one: (one.record, one.index))
    text = " ".join(one.text for one in ordered)
    return cut_words(text, count_words(text) + room) if room < 0 else text


def _ranked(number: int, record: Mapping[str, Any]) -> list[DatedSentence]:
    by_score = sorted(_dated_sentences(number, record), key=lambda one: (-one.score, one.index))
    return [replace(one, rank=rank) for rank, one in enumerate(by_score)]


def _dated_sentences(number: int, record: Mapping[str, Any]) -> Iterator[DatedSentence]:
    lead, days = split_days(one_line(str(record["text"])))
    index = 0
    for day, text in ((str(record["day"]), lead), *days.items()):
        for sentence in sentences(text):
            if content_words(sentence) and sentence not in _CLOSINGS:
                yield DatedSentence(number, index, day, shorten(sentence, MAX_SENTENCE_CHARS), _score(sentence))
            index += 1


_TECHNOLOGY_TEXT = """
Python JavaScript TypeScript Java Kotlin Swift Go Rust C++ C# PHP Ruby Scala Bash SQL HTML CSS PostgreSQL MySQL SQLite
MongoDB Redis Kafka RabbitMQ ClickHouse Elasticsearch Docker Kubernetes Terraform Ansible Linux Windows macOS Android
iOS Git GitHub GitLab Nginx React Vue Angular Svelte Node.js Django Flask FastAPI Starlette Spring Laravel Rails
GraphQL REST gRPC WebSocket OAuth JWT AWS Azure GCP OpenAI ChatGPT Claude Gemini Llama PyTorch TensorFlow NumPy Pandas
LangChain Telegram Slack Jira Notion Figma Excel Airflow Spark Hadoop pytest Jenkins Prometheus Grafana pgvector
asyncpg LLM RAG API
"""
TECHNOLOGIES = {name.lower(): name for name in _TECHNOLOGY_TEXT.split()} | {
    "postgres": "PostgreSQL",
    "k8s": "Kubernetes",
    "питон": "Python",
    "постгрес": "PostgreSQL",
    "докер": "Docker",
}
# Words that are also everyday English count only when written as the technology is.
_AMBIGUOUS = frozenset(
    {"go", "rust", "swift", "spring", "rails", "rest", "spark", "slack", "notion", "excel", "react", "claude"}
)

_TOPICS = {
    "Architecture": "архитект микросервис модул схем architect microservice modul schema",
    "Planning": "план планир дедлайн срок расписан бюджет plan deadlin schedul roadmap budget",
    "Bug fix": "баг ошибк исправ чинит почин падает сломал bug fix error crash broken",
    "Design": "дизайн макет интерфейс design layout mockup interfac",
    "Testing": "тест тестир test",
    "Deployment": "деплой релиз разверн развертыв deploy releas",
    "Family": "семь мам пап жен муж сын доч брат сестр бабушк дедушк famil mother mom father dad wif husband son "
    "daughter brother sister",
    "Pets": "собак пес кот кошк котен щен питом dog cat puppy kitten pet",
    "Health": "здоров врач болезн боле лекарств аллерг сон health doctor ill medicin allerg therap",
    "Travel": "поездк путешеств отпуск отел билет рейс самолет travel trip vacation hotel flight ticket",
    "Food": "еда еду рецепт готов ужин обед завтрак ресторан food recip cook dinner lunch breakfast restaurant",
    "Work": "работ ваканс собеседован зарплат офис коллег work job interview salary offic colleagu career",
    "Study": "учеб университет школ экзамен курс study universit school exam cours class",
    "Money": "деньг кредит ипотек налог покупк цен money loan mortgag tax pric",
    "Sport": "спорт трениров бег футбол йог sport train run football yoga gym hik",
    "Art": "музык песн картин рисова концерт книг фильм music song paint art concert book movi film",
}
_ACTIVITIES = {
    "Decision": "реш решен договор выбр выбер decid decision agre choos chos",
    "Learning": "узн узнава изуч науч объясн выуч learn explain teach understand",
}
_CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december
"""
_SKIP_NAMES = frozenset(_CALENDAR.split()) | {
    "ok",
    "okay",
    "yes",
    "no",
    "user",
    "assistant",
    "mr",
    "mrs",
    "ms",
    "dr",
    "да",
    "нет",
    "ок",
}
_CAPITAL = re.compile(r"(?<![.!?…:«\"“(\n]\s)(?<![.!?…:«\"“(\n])(?<!^)\b[A-ZА-ЯЁ][\w'’-]*[\w]")
MAX_TAGS = 8


def names_in(texts: Iterable[str]) -> list[str]:
    """Return the words capitalised within a sentence, each once, the most frequent first."""
    counts: Counter[str] = Counter()
    for text in texts:
        for name in _CAPITAL.findall(text):
            plain = name.lower().replace("’", "'").removesuffix("'s")
            if plain not in _SKIP_NAMES and plain not in STOP_WORDS and not plain.startswith(("i'", "you'")):
                counts[name.replace("’", "'").removesuffix("'s")] += 1
    return [name for name, _ in counts.most_common()]


def tags_of(texts: Sequence[str]) -> list[str]:
    """Return one to eight tags: names as written, technologies, topics, then the activity."""
    written = " ".join(texts)
    text_words = words(written)
    text_stems = set(map(stem, text_words))
    names = names_in(texts)
    technologies = [TECHNOLOGIES[word] for word in dict.fromkeys(text_words) if _is_technology(word, written)]
    topics = _matching(text_stems, _TOPIC_STEMS)
    activity = (_matching(text_stems, _ACTIVITY_STEMS) or ["Discussion"])[0]
    tags = [*[name for name in names if name.lower() not in TECHNOLOGIES][:3], *technologies[:3], *topics[:2]]
    if not tags:
        tags = [word for word, _ in Counter(content_words(written)).most_common(2)]
    return list(dict.fromkeys([*tags, activity]))[:MAX_TAGS]


def _is_technology(word: str, written: str) -> bool:
    return word in TECHNOLOGIES and (
        word not in _AMBIGUOUS or re.search(rf"\b{TECHNOLOGIES[word]}\b", written) is not None
    )


def _compile(roots: dict[str, str]) -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    """Return for each tag its stems, and those of four letters or more, which also match as prefixes."""
    return {
        tag: (frozenset(text.split()), tuple(root for root in text.split() if len(root) >= 4))
        for tag, text in roots.items()
    }


_TOPIC_STEMS = _compile(_TOPICS)
_ACTIVITY_STEMS = _compile(_ACTIVITIES)


def _matching(text_stems: set[str], stems: dict[str, tuple[frozenset[str], tuple[str, ...]]]) -> list[str]:
    return [
        tag
        for tag, (whole, prefixes) in stems.items()
        if not whole.isdisjoint(text_stems) or any(one.startswith(prefixes) for one in text_stems)
    ]
