"""Tags of an exchange: names, technologies, topics, activities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from shared.models.extractive.words import STOP, content, stem, words

_WRITTEN = """
Python JavaScript TypeScript Java Kotlin Swift Go Rust C++ C# PHP Ruby Scala Bash SQL HTML CSS PostgreSQL MySQL SQLite
MongoDB Redis Kafka RabbitMQ ClickHouse Elasticsearch Docker Kubernetes Terraform Ansible Linux Windows macOS Android
iOS Git GitHub GitLab Nginx React Vue Angular Svelte Node.js Django Flask FastAPI Starlette Spring Laravel Rails
GraphQL REST gRPC WebSocket OAuth JWT AWS Azure GCP OpenAI ChatGPT Claude Gemini Llama PyTorch TensorFlow NumPy Pandas
LangChain Telegram Slack Jira Notion Figma Excel Airflow Spark Hadoop pytest Jenkins Prometheus Grafana pgvector
asyncpg LLM RAG API
"""
TECHNOLOGIES = {name.lower(): name for name in _WRITTEN.split()} | {
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
_MOST = 8


def names_in(texts: Iterable[str]) -> list[str]:
    """Words written with a capital letter within a sentence, each once, most frequent first."""
    found: Counter[str] = Counter()
    for text in texts:
        for name in _CAPITAL.findall(text):
            plain = name.lower().replace("’", "'").removesuffix("'s")
            if plain not in _SKIP_NAMES and plain not in STOP and not plain.startswith(("i'", "you'")):
                found[name.replace("’", "'").removesuffix("'s")] += 1
    return [name for name, _ in found.most_common()]


def tags_of(texts: Sequence[str]) -> list[str]:
    """One to eight tags: names as written, technologies, topics, then what was done."""
    written = " ".join(texts)
    said = words(written)
    held = set(map(stem, said))
    names = names_in(texts)
    technologies = [TECHNOLOGIES[word] for word in dict.fromkeys(said) if _is_technology(word, written)]
    topics = _called_for(held, _TOPIC_STEMS)
    activity = (_called_for(held, _ACTIVITY_STEMS) or ["Discussion"])[0]
    found = [*[name for name in names if name.lower() not in TECHNOLOGIES][:3], *technologies[:3], *topics[:2]]
    if not found:
        found = [word for word, _ in Counter(content(written)).most_common(2)]
    return list(dict.fromkeys([*found, activity]))[:_MOST]


def _is_technology(word: str, written: str) -> bool:
    return word in TECHNOLOGIES and (
        word not in _AMBIGUOUS or re.search(rf"\b{TECHNOLOGIES[word]}\b", written) is not None
    )


def _compile(roots: dict[str, str]) -> dict[str, tuple[frozenset[str], tuple[str, ...]]]:
    """For each tag the stems that call for it: whole ones, and beginnings of four letters or more."""
    return {
        tag: (frozenset(all_.split()), tuple(r for r in all_.split() if len(r) >= 4)) for tag, all_ in roots.items()
    }


_TOPIC_STEMS = _compile(_TOPICS)
_ACTIVITY_STEMS = _compile(_ACTIVITIES)


def _called_for(held: set[str], stems: dict[str, tuple[frozenset[str], tuple[str, ...]]]) -> list[str]:
    return [
        tag
        for tag, (whole, beginnings) in stems.items()
        if not whole.isdisjoint(held) or any(term.startswith(beginnings) for term in held)
    ]
