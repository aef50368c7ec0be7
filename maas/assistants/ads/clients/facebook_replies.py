"""Replies of Facebook's Marketing API: the shapes that the client reads, and what its error codes mean.

Numbers of figures come as texts, budgets as texts in minor units.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, TypeAdapter

from shared.models.retry import retry_after
from shared.text import clean, one_line
from shared.vendors import ErrorCode
from shared.vendors.service import Count, Name, Refusal, refusal_of_status

# One lead comes back under several of these types; the first one that is there counts. `lead` is the sum of leads by
# forms and on sites. A conversation that was started is a lead, too, and none of these: so that ads, campaigns and the
# account add up where some ads ask for a form and others for a message.
LEAD_TYPES = (
    "lead",
    "onsite_conversion.lead_grouped",
    "leadgen_grouped",
    "offsite_conversion.fb_pixel_lead",
    "onsite_web_lead",
    "omni_lead",
)
THRUPLAY = "thruplay"
PURCHASE_TYPES = ("omni_purchase", "purchase", "offsite_conversion.fb_pixel_purchase")  # of one thing: the first counts
CONVERSATION = "onsite_conversion.messaging_conversation_started_7d"
MAX_ANSWER_CHARS = 200
MAX_WAIT_S = 6e7  # that is believed
_IN_LISTS = ("ACTIVE", "PAUSED", "ARCHIVED", "IN_PROCESS", "WITH_ISSUES")  # without them no archived ones are listed
STATUSES = {
    "campaigns": _IN_LISTS,
    "adsets": (*_IN_LISTS, "CAMPAIGN_PAUSED"),
    "ads": (
        *_IN_LISTS,
        *("CAMPAIGN_PAUSED", "ADSET_PAUSED", "PENDING_REVIEW", "DISAPPROVED", "PREAPPROVED", "PENDING_BILLING_INFO"),
    ),
}
_LEVELS = {"campaign": "campaigns", "adset": "adsets", "ad": "ads"}  # whose figures can be chosen by status
_RATE_CODES = frozenset({4, 17, 32, 613, *range(80000, 80015)})
_TOO_MUCH = "reduce the amount of data"  # an error of the number 1, which all unknown faults have
_TOKEN_CODES = frozenset({102, 190, 463, 467})
M = TypeVar("M")
B = TypeVar("B", bound=BaseModel)
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,64}$")]
Minor = Annotated[int | None, BeforeValidator(lambda value: None if value in ("0", 0, "") else value), Field(gt=0)]
Seconds = Annotated[int, Field(ge=0, lt=10**11)]  # since 1970
Flag = Annotated[bool, BeforeValidator(lambda value: value is not None)]


def read_refusal(status: int, headers: Mapping[str, str], body: Any) -> Refusal:
    """Facebook answers most errors with 400; its own code says more than the status."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return refusal_of_status(status, headers)
    cause = str(error.get("error_user_msg") or error.get("message") or "")
    number, subcode = _number(error.get("code")), _number(error.get("error_subcode"))
    code = "too_large" if number in (1, 2) and _TOO_MUCH in cause.lower() else _code_of(number, subcode)
    if code is None:
        return refusal_of_status(status, headers, cause)
    cause = f"{number}{f'/{subcode}' if subcode else ''} {cause}".rstrip()
    wait_s = _wait_s(headers) if code == "rate_limited" else None
    return Refusal(code, cause, wait_s, code == "unavailable" or status >= 500)


def _code_of(number: int, subcode: int) -> ErrorCode | None:
    code: ErrorCode | None = None
    if number in _RATE_CODES:
        code = "rate_limited"
    elif number in _TOKEN_CODES:
        code = "unauthorized"
    elif number == 803 or (number == 100 and subcode == 33):
        code = "not_found"
    elif number in (3, 10, 368) or 200 <= number <= 299:
        code = "forbidden"
    elif number in (1, 2):  # an unknown error, a temporary one
        code = "unavailable"
    elif number == 100:
        code = "invalid"
    return code


def _wait_s(headers: Mapping[str, str]) -> float | None:
    """Return the wait that is asked for: by Retry-After, else by the usage of a business, in minutes, or an account."""
    if (wait_s := retry_after(headers)) is not None:
        return wait_s
    try:
        usage = json.loads(headers.get("x-business-use-case-usage", "{}"))
        waits_s = [60 * float(one["estimated_time_to_regain_access"]) for group in usage.values() for one in group]
        account = json.loads(headers.get("x-ad-account-usage", "{}"))
        waits_s.append(float(account.get("reset_time_duration", 0)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return max(waits_s) if 0 < max(waits_s) < MAX_WAIT_S else None


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def in_any_status(level: str) -> list[tuple[str, str]]:
    """Return the parameters for figures of objects in all states: by default, those of deleted ones are left out."""
    if (edge := _LEVELS.get(level)) is None:
        return []
    chosen = {"field": f"{level}.effective_status", "operator": "IN", "value": [*STATUSES[edge], "DELETED"]}
    return [("filtering", json.dumps([chosen]))]


def by_id(model: type[B]) -> Callable[[Any], list[B]]:
    """Return a reader of replies with objects by their ids."""
    objects = TypeAdapter(dict[Id, model])  # type: ignore[valid-type]
    return lambda body: list(objects.validate_python(body).values())


def is_success(body: Any) -> bool:
    if not isinstance(body, dict) or not isinstance(success := body.get("success"), bool):
        raise ValueError("it does not say whether the change was made")
    return success


def created_id(body: Any) -> str:
    return Created.model_validate(body).id


def report_id(body: Any) -> str:
    return ReportRun.model_validate(body).report_run_id


class ReportRun(BaseModel):
    report_run_id: Id


class Report(BaseModel):
    """A report of figures that is made in the background."""

    async_status: Name
    async_percent_completion: Annotated[int, Field(ge=0, le=100)] = 0

    @property
    def is_ready(self) -> bool:
        return self.async_status == "Job Completed"

    @property
    def has_failed(self) -> bool:
        return self.async_status in ("Job Failed", "Job Skipped")


class Created(BaseModel):
    id: Id


class Account(BaseModel):
    id: Annotated[str, Field(pattern=r"^act_[0-9]{1,20}$")]
    name: Name = ""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    timezone_name: Annotated[str, Field(max_length=100)]
    account_status: int
    disable_reason: int = 0


class Permission(BaseModel):
    permission: Name
    status: Name


class TokenInfo(BaseModel):
    """What Facebook says of a token; 0 stands for never."""

    expires_at: Seconds = 0
    data_access_expires_at: Seconds = 0

    @property
    def ends_at(self) -> datetime | None:
        ends = [one for one in (self.expires_at, self.data_access_expires_at) if one > 0]
        return datetime.fromtimestamp(min(ends), UTC) if ends else None


class NewToken(BaseModel):
    access_token: Annotated[str, Field(pattern=r"^[!-~]{8,8000}$", repr=False)]
    expires_in: Seconds = 0


class TokenReply(BaseModel):
    data: TokenInfo


class Status(BaseModel):
    status: Annotated[str, Field(pattern=r"^[A-Z_]{1,50}$")]


class Budget(BaseModel):
    daily_budget: Minor = None


class Campaign(Status, Budget):
    id: Id
    name: Name = ""
    effective_status: Name = ""
    objective: Name | None = None


class Promoted(BaseModel):
    custom_event_type: Name | None = None


class AdSet(Status, Budget):
    id: Id
    campaign_id: Id
    name: Name = ""
    effective_status: Name = ""
    optimization_goal: Name | None = None
    promoted_object: Promoted | None = None


class Creative(Created):
    name: Name = ""
    video_id: Id | None = None


class Ad(Status):
    id: Id
    adset_id: Id
    campaign_id: Id
    name: Name = ""
    effective_status: Name = ""
    creative: Creative | None = None


class FormField(BaseModel):
    name: str
    values: list[str] = []


class FormLead(BaseModel):
    """What somebody wrote into a form; the names of fields are those that Facebook gives to its usual questions."""

    id: Id
    created_time: AwareDatetime
    field_data: list[FormField] = []

    def answer(self, *names: str) -> str | None:
        """The first answer to one of these questions, at most MAX_ANSWER_CHARS of it."""
        found = {one.name: one_line(clean(one.values[0])) for one in self.field_data if one.values}
        return next((found[name][:MAX_ANSWER_CHARS] for name in names if found.get(name)), None)


class Template(BaseModel):
    targeting: dict[str, Any]
    optimization_goal: str
    billing_event: str
    promoted_object: dict[str, Any] | None = None
    destination_type: str | None = None
    bid_strategy: str | None = None
    bid_amount: int | None = None


class Action(BaseModel):
    action_type: str
    value: Annotated[Decimal, Field(ge=0, lt=2**63)] = Decimal(0)


class Figures(BaseModel):
    """A row of figures: numbers are texts, and those of actions are lists of types."""

    account_id: Id | None = None
    campaign_id: Id | None = None
    adset_id: Id | None = None
    ad_id: Id | None = None
    date_start: date
    spend: Annotated[Decimal, Field(gt=-(10**15), lt=10**15)] = Decimal(0)  # money that was given back is less than 0
    impressions: Count = 0
    clicks: Count = 0
    actions: list[Action] = []
    video_play_actions: list[Action] = []
    video_thruplay_watched_actions: list[Action] = []
    video_p25_watched_actions: list[Action] = []
    video_p50_watched_actions: list[Action] = []
    video_p75_watched_actions: list[Action] = []
    video_p95_watched_actions: list[Action] = []

    @property
    def leads(self) -> int:
        return _first(self.actions, LEAD_TYPES) + _first(self.actions, (CONVERSATION,))

    @property
    def counts(self) -> dict[str, int]:
        """The actions by type, one of each; whole plays of videos, or 15 s of them, as THRUPLAY."""
        plays = watched(self.video_thruplay_watched_actions)
        counts = {one.action_type: int(one.value) for one in reversed(self.actions)}
        return counts | {THRUPLAY: plays} if plays else counts

    @property
    def video_views(self) -> int:
        return watched(self.video_play_actions) or watched(self.actions)


def watched(actions: list[Action]) -> int:
    """Return how many of these actions are those of a video."""
    return _first(actions, ("video_view",))


def _first(actions: list[Action], types: Sequence[str]) -> int:
    """Return the number of the first of `types` that is there, 0 if none is."""
    values = {one.action_type: int(one.value) for one in reversed(actions)}
    return next((values[name] for name in types if name in values), 0)


class Cursors(BaseModel):
    after: Annotated[str, Field(min_length=1, max_length=2000)] | None = None


class Paging(BaseModel):
    """Where a page ends. `next` is a URL with the token in it: nothing of it is kept but that there is one."""

    cursors: Cursors = Cursors()
    has_next: Annotated[Flag, Field(alias="next")] = False


class Page(BaseModel, Generic[M]):
    data: list[M]
    paging: Paging = Paging()
