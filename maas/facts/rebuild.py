"""Facts of a user found again in the words that are kept: by the rules of today, and by a model if one is asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from typing import Any, Self, TypeAlias
from uuid import UUID, uuid4

from maas import queries
from maas.builtin_model.language import stems_of
from maas.engine.run import StageLog
from maas.engine.stages import Deps, Prompt
from maas.facts.exchanges import (
    MAX_CHARS_BEFORE,
    MAX_EXCHANGE_MESSAGES,
    MAX_KNOWN,
    MAX_MESSAGES_BEFORE,
    ExchangeLine,
    exchange_request,
    exchange_text,
    facts_of,
    first_exchange,
)
from maas.facts.replies import KnownFact
from maas.prompt_rows import is_filled
from maas.prompting.model_calls import ask
from maas.prompting.now import now_line, zone_of_user
from maas.prompting.prompts import read_prompts
from shared import tokens
from shared.errors import MaasError
from shared.json import json_object
from shared.models import ModelError, Request, spec_of

STAGE = "facts"
TOKENS_OF_KNOWN = 200  # that the facts take which the model is shown
Message: TypeAlias = "queries.ArchivedMessagesRow"


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the calls of a rebuild cost at most; `price` is in millionths of a dollar, None where it is unknown."""

    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    price: int | None


@dataclass(frozen=True, slots=True)
class FactLine:
    """A fact as a diff shows it: the day on which it was said, who found it, and what it says of what."""

    day: date
    subject: str
    statement: str
    change: str
    origin: str

    def __str__(self) -> str:
        change = "" if self.change == "states" else f", {self.change}"
        return f"[{self.day}, {self.origin}{change}] {self.subject}: {self.statement}"


@dataclass(frozen=True, slots=True)
class FactChanges:
    """What a rebuild would change. `failed` says why exchanges were left as they are; nothing is written yet.

    `gone_ids` and `items` are the rows that go and those that come; of these `gone` and `new` are the lines.
    """

    kept: int
    gone: tuple[FactLine, ...]
    new: tuple[FactLine, ...]
    failed: tuple[str, ...]
    gone_ids: tuple[UUID, ...] = field(repr=False)
    items: tuple[Mapping[str, Any], ...] = field(repr=False)


@dataclass(slots=True)
class FactRebuild:
    """The exchanges of a user that are in memory, read once, and what finds facts in them."""

    deps: Deps
    user_id: UUID
    zone: tzinfo
    exchanges: Sequence[Sequence[Message]]
    prompts: Mapping[str, Prompt]
    has_model: bool
    id: UUID = field(default_factory=uuid4)
    attempt: int = 1
    log: StageLog = field(default_factory=StageLog)
    _known: dict[tuple[str, str], tuple[KnownFact, set[str]]] = field(default_factory=dict)
    _before: dict[str, deque[ExchangeLine]] = field(default_factory=dict)

    @classmethod
    async def open(cls, deps: Deps, user_id: UUID) -> Self:
        """Read what is in memory; the model of the Archivist is asked where it is no rule.

        Raises MaasError('bad_setting') where the prompt of the Archivist leaves no place for facts.
        """
        prompts = await read_prompts(deps.db, "Archivist", "Facts", language=deps.settings.answers.prompt_language)
        has_model = not deps.is_by_rule("Archivist")
        if has_model and is_filled("Archivist", prompts["Archivist"].text):
            raise MaasError(
                "bad_setting", "the prompt of Archivist is one message with its words in place: it asks for no facts"
            )
        messages = await deps.db.rows(queries.archived_messages, user_id)
        zone = await zone_of_user(user_id, deps)
        return cls(deps, user_id, zone, _exchanges(messages), prompts, has_model)

    async def estimate(self) -> Estimate:
        """What the calls cost at most, without one of them."""
        model = self.deps.models["Archivist"]
        tokens_in = tokens_out = 0
        for exchange in self.exchanges if self.has_model else ():
            request = self._request(exchange, self._lines(exchange), [], [])
            texts = (request.system or "", *(message.text for message in request.messages))
            tokens_in += sum(map(tokens.count, texts)) + TOKENS_OF_KNOWN
            tokens_out += request.max_tokens
        price = await self.deps.db.value(queries.price, model.provider, model.name, tokens_in, 0, tokens_out)
        calls = len(self.exchanges) if self.has_model else 0
        return Estimate(spec_of(model), calls, tokens_in, tokens_out, price if calls else 0)

    async def find(self, on_progress: Callable[[int, int], None] = lambda done, total: None) -> FactChanges:
        """Find the facts of every exchange, the oldest first, and compare them with those that are stored.

        An exchange whose call fails keeps its facts.
        """
        items: list[Mapping[str, Any]] = []
        read: set[UUID] = set()
        failed = []
        for done, exchange in enumerate(self.exchanges, 1):
            try:
                items += await self._find(exchange)
                read |= {one["id"] for one in exchange}
            except MaasError as error:
                failed.append(f"{exchange[0]['occurred_at']:%Y-%m-%d}: {error}")
            on_progress(done, len(self.exchanges))
        return await self._compare(items, read, failed)

    async def write(self, changes: FactChanges, actor: str) -> None:
        """Put the new facts in the place of those that go. What a person entered or decided stays."""
        await self.deps.db.value(
            queries.rebuild_facts, self.user_id, list(changes.gone_ids), list(changes.items), actor
        )

    async def _find(self, exchange: Sequence[Message]) -> list[dict[str, Any]]:
        """Raises MaasError."""
        lines, ids = self._lines(exchange), [str(one["id"]) for one in exchange]
        before = self._before.setdefault(exchange[0]["conversation"], deque(maxlen=MAX_MESSAGES_BEFORE))
        known = self._nearest(lines) if self.has_model else []
        raw = await self._ask(exchange, lines, list(before), known) if self.has_model else ()
        items = facts_of(raw, lines, list(before), ids, known, spec_of(self.deps.models["Archivist"]))
        before.extend(ExchangeLine.of(one, self.zone, MAX_CHARS_BEFORE) for one in exchange if not _is_foreign(one))
        for item in items:
            slot = item["subject"].casefold(), item["attribute"]
            self._known.pop(slot, None)
            if item["change"] != "ends":
                fact = KnownFact(item["statement"], item["subject"], item["attribute"], item["kind"])
                self._known[slot] = fact, stems_of(fact.statement)
        return items

    async def _ask(
        self,
        exchange: Sequence[Message],
        lines: Sequence[ExchangeLine],
        before: Sequence[ExchangeLine],
        known: Sequence[KnownFact],
    ) -> Any:
        """The facts of the model's reply as it wrote them. Raises MaasError."""
        request = self._request(exchange, lines, before, known)
        budget = self.deps.settings.models.archivist_timeout
        calls = len(self.log.calls)
        try:
            reply = await ask(self, self.deps, STAGE, self.prompts["Archivist"], request, budget)
        finally:
            for call in self.log.calls[calls:]:
                usage = (call[name] for name in ("provider", "model", "tokens_in", "tokens_out"))
                await self.deps.db.value(queries.add_usage, self.user_id, *usage)
        body = json_object(reply.text)
        if body is None or not isinstance(body.get("facts"), list):
            raise ModelError("malformed", "the reply has no list of facts")
        return body["facts"]

    def _request(
        self,
        exchange: Sequence[Message],
        lines: Sequence[ExchangeLine],
        before: Sequence[ExchangeLine],
        known: Sequence[KnownFact],
    ) -> Request:
        language = self.deps.settings.answers.prompt_language
        now = now_line(lines[0].at, self.zone, language)
        system = "\n\n".join([self.prompts["Archivist"].text, self.prompts["Facts"].text, now])
        return exchange_request(system, exchange_text(before, lines, known, language), exchange, lines, has_facts=True)

    def _lines(self, exchange: Sequence[Message]) -> list[ExchangeLine]:
        return [ExchangeLine.of(one, self.zone) for one in exchange]

    def _nearest(self, lines: Sequence[ExchangeLine]) -> list[KnownFact]:
        """The known facts that share most words with an exchange, of equal ones the newest."""
        said = stems_of(" ".join(one.text for one in lines if one.is_users))
        newest_first = reversed(self._known.values())
        ranked = sorted(newest_first, key=lambda one: -len(one[1] & said))
        return [fact for fact, _ in ranked[:MAX_KNOWN]]

    async def _compare(self, items: Sequence[Mapping[str, Any]], read: set[UUID], failed: Sequence[str]) -> FactChanges:
        stored = await self.deps.db.rows(queries.found_facts, self.user_id)
        old = {_signature(row): row for row in stored if read.issuperset(row["raw_log_ids"])}
        new = {_signature(item): item for item in items}
        gone = [row for signature, row in old.items() if signature not in new]
        come = [item for signature, item in new.items() if signature not in old]
        days = {str(one["id"]): one["occurred_at"] for exchange in self.exchanges for one in exchange}
        return FactChanges(
            kept=len(stored) - len(gone),
            gone=tuple(_line(row, days, self.zone) for row in gone),
            new=tuple(_line(item, days, self.zone) for item in come),
            failed=tuple(failed),
            gone_ids=tuple(row["id"] for row in gone),
            items=tuple(come),
        )


def _exchanges(messages: Sequence[Message]) -> list[Sequence[Message]]:
    """Messages of one conversation after another, as exchanges in the order in which they began."""
    found, start = [], 0
    while start < len(messages):
        exchange = first_exchange(messages[start : start + MAX_EXCHANGE_MESSAGES + 1])
        found.append(exchange)
        start += len(exchange)
    return sorted(found, key=lambda one: one[0]["occurred_at"])


def _is_foreign(message: Message) -> bool:
    """Whether a message holds words of a tool or a document, which no other one may lean on."""
    return any(one["kind"] in ("tool", "document") for one in message["origins"])


def _signature(fact: Mapping[str, Any]) -> tuple[object, ...]:
    """Equal for two facts that say the same of the same messages."""
    named = (str(fact[name]) for name in ("statement", "subject", "attribute", "kind", "change", "origin"))
    return *named, frozenset(fact["depends_on"]), frozenset(map(str, _logs(fact)))


def _logs(fact: Mapping[str, Any]) -> Sequence[UUID | str]:
    ids: Sequence[UUID | str] = fact["log_ids"] if "log_ids" in fact else fact["raw_log_ids"]
    return ids


def _line(fact: Mapping[str, Any], said_at: Mapping[str, datetime], zone: tzinfo) -> FactLine:
    day = min(said_at[str(one)] for one in _logs(fact)).astimezone(zone).date()
    return FactLine(day, fact["subject"], fact["statement"], fact["change"], fact["origin"])
