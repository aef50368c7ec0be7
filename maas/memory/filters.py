"""Filters of a client on memories, in the form of mem0, parsed once into a condition.

A filter may name one user. Beside that, AND, OR and NOT combine conditions on the other ids, on times and on metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from maas.memory.client_memories import ENTITIES, ClientMemory, read_client_memories
from shared.db import Database
from shared.errors import MaasError

TIMES = ("created_at", "updated_at", "timestamp")
WORDS = ("categories", "keywords")  # conditions on these need what a list does not read otherwise
LOGIC = ("AND", "OR", "NOT")
MAX_HITS = 200  # of the best hits, among which a filter chooses
MAX_DEPTH = 10
MAX_CONDITIONS = 200
MAX_SHOWN_CHARS = 60
MAX_IDS = 1000
ANY = "*"
Condition = Callable[[ClientMemory], bool]
Test = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Filters:
    """`user` is the name of the user, None where none is named; `conditions` must all hold.

    `reads_words`: some are on the text or the categories of a memory.
    """

    user: str | None = None
    conditions: tuple[Condition, ...] = ()
    reads_words: bool = False

    def fits(self, memory: ClientMemory) -> bool:
        """Return whether all conditions hold for a memory."""
        return all(condition(memory) for condition in self.conditions)


def parse_filters(value: Mapping[str, Any] | None, read_time: Callable[[str], datetime]) -> Filters:
    """Parse the filters of a request; `read_time` raises ValueError. Raises MaasError('bad_parameter')."""
    if not value:
        return Filters()
    parser = _Parser(read_time)
    condition = parser.parse(value, 1, names_user=True)
    return Filters(parser.user, (condition,), parser.reads_words)


async def fitting_memories(
    db: Database, user_id: UUID, ids: Sequence[UUID], filters: Filters
) -> dict[UUID, ClientMemory]:
    """Those of these messages of a user that fit, by the ids that were given."""
    known = await read_client_memories(db, user_id, ids)
    return {one.asked: one.memory for one in known if filters.fits(one.memory)}


@dataclass(slots=True)
class _Parser:
    read_time: Callable[[str], datetime]
    user: str | None = None
    conditions: int = field(default=0)
    reads_words: bool = False

    def parse(self, value: object, depth: int, *, names_user: bool) -> Condition:
        """Parse one object; with `names_user` every memory found must fit it, so that it may name the user."""
        if not isinstance(value, Mapping):
            raise _wrong(f"a condition must be an object such as {{'user_id': 'alice'}}, not {_shown(value)}")
        if depth > MAX_DEPTH:
            raise _wrong(f"are nested deeper than {MAX_DEPTH} levels")
        return _all([self._part(name, part, depth, names_user=names_user) for name, part in value.items()])

    def _part(self, name: str, value: object, depth: int, *, names_user: bool) -> Condition:
        self.conditions += 1
        if self.conditions > MAX_CONDITIONS:
            raise _wrong(f"have more than {MAX_CONDITIONS} conditions")
        if name in LOGIC:
            return self._logic(name, value, depth, names_user=names_user)
        if name == "user_id":
            self._name_user(value, names_user=names_user)
            return _true
        if name in ENTITIES:
            test = _test(name, value, _text)
            return lambda memory: test(memory.entities.get(name))
        if name in TIMES:
            test = _test(name, value, self._time)
            return lambda memory: test(memory.updated_at if name == "updated_at" else memory.created_at)
        if name == "metadata":
            return self._metadata(value)
        if name in WORDS:
            self.reads_words = True
            return _categories(value) if name == "categories" else _keywords(value)
        if name == "memory_ids":
            return _ids(value)
        known = ", ".join((*LOGIC, "user_id", *ENTITIES, *TIMES, "metadata", *WORDS, "memory_ids"))
        raise _wrong(f"there is no field {_shown(name)}; there are: {known}")

    def _logic(self, name: str, value: object, depth: int, *, names_user: bool) -> Condition:
        parts = [value] if name == "NOT" and isinstance(value, Mapping) else value
        if not isinstance(parts, list) or not parts:
            raise _wrong(f"{name} must be a list of conditions")
        names_user = names_user and (name == "AND" or (name == "OR" and all(map(_has_user, parts))))
        inner = [self.parse(part, depth + 1, names_user=names_user) for part in parts]
        if name == "AND":
            return _all(inner)
        if name == "OR":
            return lambda memory: any(condition(memory) for condition in inner)
        return lambda memory: not any(condition(memory) for condition in inner)

    def _name_user(self, value: object, *, names_user: bool) -> None:
        if isinstance(value, Mapping) and len(value) == 1:
            operator, operand = next(iter(value.items()))
            value = operand if operator == "eq" else value
            if operator == "in" and isinstance(operand, list) and len(operand) == 1:
                value = operand[0]
        if not names_user or not isinstance(value, str) or value == ANY or self.user not in (None, value):
            raise _wrong(
                "user_id must be the name of one user, at the top level, within AND or the same in every part of OR: "
                "memory belongs to one user"
            )
        self.user = value

    def _metadata(self, value: object) -> Condition:
        if not isinstance(value, Mapping):
            raise _wrong("metadata must be an object such as {'topic': 'travel'}")
        tests: dict[str, Test] = {}
        for key, part in value.items():
            self.conditions += 1
            tests[key] = _test(f"metadata.{key}", part, _json)
        return lambda memory: all(test((memory.metadata or {}).get(key)) for key, test in tests.items())

    def _time(self, name: str, value: object) -> datetime:
        try:
            return self.read_time(value if isinstance(value, str) else "")
        except ValueError as error:
            raise _wrong(f"{name}: {error}") from error


def _categories(value: object) -> Condition:
    """Of a memory with several, one must fit: a value or `in` the whole of it, `contains` a part; `ne` fits none."""
    if value == ANY:
        return lambda memory: bool(memory.categories)
    if isinstance(value, Mapping) and "ne" in value and len(value) == 1:
        excluded = _text("categories", value["ne"])
        return lambda memory: excluded not in memory.categories
    test = _test("categories", {"in": value} if isinstance(value, list) else value, _text)
    return lambda memory: any(test(one) for one in memory.categories)


def _keywords(value: object) -> Condition:
    """On the text: `contains` as it is written, `icontains` and a value alone in whatever case."""
    test = _test("keywords", {"icontains": value} if isinstance(value, str) and value != ANY else value, _text)
    return lambda memory: test(memory.text)


def _ids(value: object) -> Condition:
    named = value.get("in") if isinstance(value, Mapping) and value.keys() == {"in"} else value
    if not isinstance(named, list) or len(named) > MAX_IDS or not all(isinstance(one, str) for one in named):
        raise _wrong(f"memory_ids must be a list of at most {MAX_IDS} ids")
    wanted = {one.casefold() for one in named}
    return lambda memory: str(memory.id) in wanted


def _test(name: str, value: object, convert: Callable[[str, object], Any]) -> Test:
    """Return the test of one field: of equality, of being there (*), or by operators, which must all hold."""
    if value == ANY:
        return lambda found: found is not None
    if not isinstance(value, Mapping):
        return _operator(name, "eq", value, convert)
    if not value:
        raise _wrong(f"{name}: names no operator")
    tests = [_operator(name, operator, operand, convert) for operator, operand in value.items()]
    return lambda found: all(test(found) for test in tests)


def _operator(name: str, operator: str, operand: object, convert: Callable[[str, object], Any]) -> Test:
    if operator == "in":
        if not isinstance(operand, list):
            raise _wrong(f"{name}: in needs a list")
        wanted = [convert(name, one) for one in operand]
        return lambda found: any(_equal(found, one) for one in wanted)
    if operator in ("contains", "icontains"):
        return _contains(name, operand, is_exact=operator == "contains")
    if operator in ("eq", "ne"):
        value = convert(name, operand)
        return lambda found: _equal(found, value) == (operator == "eq")
    if operator in ("gt", "gte", "lt", "lte"):
        bound = convert(name, operand)
        if isinstance(bound, bool) or not isinstance(bound, str | int | float | datetime):
            raise _wrong(f"{name}: {operator} needs a number, a text or a time")
        return lambda found: _compare(found, bound, operator)
    known = "eq, ne, in, gt, gte, lt, lte, contains, icontains"
    raise _wrong(f"{name}: there is no operator {_shown(operator)}; there are: {known}")


def _contains(name: str, operand: object, *, is_exact: bool) -> Test:
    if not isinstance(operand, str) and not (is_exact and name.startswith("metadata.")):
        raise _wrong(f"{name}: contains needs a text")
    if name in TIMES:
        raise _wrong(f"{name}: contains is for texts; use gte and lte")

    def test(found: object) -> bool:
        if isinstance(found, list):
            return any(_equal(one, operand) for one in found)
        if not isinstance(found, str) or not isinstance(operand, str):
            return False
        return operand in found if is_exact else operand.casefold() in found.casefold()

    return test


def _equal(found: object, value: object) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    return isinstance(found, bool) == isinstance(value, bool) and found == value


def _compare(found: object, bound: Any, operator: str) -> bool:
    """Compare what is of one kind; a missing value, or one of another kind, fits nothing."""
    numbers = (int, float)
    value: Any = found
    is_number = isinstance(value, numbers) and not isinstance(value, bool) and isinstance(bound, numbers)
    if not is_number and not (type(value) is type(bound) and isinstance(value, str | datetime)):
        return False
    if operator in ("gt", "gte"):
        return bool(value > bound or (operator == "gte" and value == bound))
    return bool(value < bound or (operator == "lte" and value == bound))


def _all(conditions: Sequence[Condition]) -> Condition:
    return lambda memory: all(condition(memory) for condition in conditions)


def _has_user(part: object) -> bool:
    return isinstance(part, Mapping) and "user_id" in part


def _true(_: ClientMemory) -> bool:
    return True


def _text(name: str, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _wrong(f"{name}: must be a text, not {_shown(value)}")
    return value


def _json(name: str, value: object) -> object:
    return value


def _shown(value: object) -> str:
    return repr(value)[:MAX_SHOWN_CHARS]


def _wrong(problem: str) -> MaasError:
    return MaasError("bad_parameter", f"filters: {problem}"[:500])
