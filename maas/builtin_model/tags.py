"""Tags of an exchange, found by rules: names, technologies, topics, activities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from maas.builtin_model.language import STOP_WORDS, content_words, stem, words

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
