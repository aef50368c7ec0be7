"""amoCRM's API, version 4: leads with the phone of their contact, stages of pipelines, moving a lead to a stage."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Generic, TypeVar

import httpx2
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, TypeAdapter

from shared.text import clean, one_line
from shared.vendors import Vendor, VendorError
from shared.vendors.service import DEFAULT_LIMITS, MAX_PAGES, Limits, Name, Refusal, Service, refusal_of_status

VENDOR = Vendor("amocrm", "amoCRM")
LEADS_A_PAGE = 250
CONTACTS_A_REQUEST = 125  # more would make the URL too long for some servers
PHONE_FIELD = "PHONE"
UTM_FIELDS = frozenset({"UTM_CONTENT", "UTM_TERM", "UTM_CAMPAIGN", "UTM_MEDIUM", "UTM_SOURCE"})
MAX_PHONE_CHARS, MAX_MARK_CHARS = 50, 300
MAX_CONTACTS, MAX_PHONES = 5, 10  # of a lead
_OPTIONS = [("with", "contacts")]
M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class CrmLead:
    """A lead. `phone` is the first one of its main contact as it was typed, `other_phones` are all the others.

    `price` has the currency of the CRM; `utm_marks` are the values of its UTM fields.
    """

    crm_id: int
    name: str
    pipeline_id: int
    status_id: int
    price: Decimal
    phone: str | None
    created_at: datetime
    updated_at: datetime
    is_deleted: bool
    utm_marks: tuple[str, ...] = ()
    other_phones: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a pipeline; pipelines share the ids of the two last ones, 142 won and 143 lost."""

    pipeline_id: int
    pipeline_name: str
    stage_id: int
    name: str
    sort: int


def token_ends_at(token: str) -> datetime | None:
    """Return when a long-lived token ends, which it says itself (JWT); None: it does not say."""
    try:
        padded = token.split(".")[1] + "=="
        ends_at = json.loads(base64.urlsafe_b64decode(padded))["exp"]
        return datetime.fromtimestamp(ends_at, UTC)
    except (ValueError, LookupError, TypeError, OverflowError, OSError, RecursionError):
        return None


class AmoCrmClient:
    """The API of one account of amoCRM, at `base_url`. All methods raise VendorError."""

    def __init__(self, http: httpx2.AsyncClient, base_url: str, token: str, limits: Limits = DEFAULT_LIMITS) -> None:
        header = ("authorization", "Bearer ")
        self._service = Service(http, VENDOR, f"{base_url.rstrip('/')}/api/v4", header, token, _read_refusal, limits)

    async def leads(self, updated_since: datetime | None) -> AsyncIterator[list[CrmLead]]:
        """Yield pages of the leads that were updated since then, the oldest update first.

        A lead that is updated meanwhile moves to the end, comes again, and would shift the pages. So the next request
        begins at the last update of this page, and pages are counted only within one second. Deleted leads are left
        out.
        """
        since = int(updated_since.timestamp()) if updated_since else 0
        page, seen = 1, set[tuple[int, int]]()
        for _ in range(MAX_PAGES):
            params = [*_OPTIONS, ("limit", str(LEADS_A_PAGE)), ("page", str(page)), ("order[updated_at]", "asc")]
            if since:
                params.append(("filter[updated_at][from]", str(since)))
            found = await self._service.read("/leads", _LEADS, params=params)
            if fresh := [one for one in found.items if one.version not in seen]:
                yield await self._with_phones(fresh)
            if not found.has_next or not found.items:
                return
            seen.update(one.version for one in found.items)
            _, last = found.items[-1].version
            if last > since:
                since, page = last, 1
            else:
                page += 1
        raise self._service.error("bad_reply", "its list of pages has no end")

    async def deleted_leads(self, since: datetime | None) -> list[int]:
        """Return the ids of the leads that were deleted since then and are still in the trash."""
        found: list[int] = []
        for page in range(1, MAX_PAGES + 1):
            params = [("with", "only_deleted"), ("limit", str(LEADS_A_PAGE)), ("page", str(page))]
            if since is not None:
                params.append(("filter[updated_at][from]", str(int(since.timestamp()))))
            leads = await self._service.read("/leads", _DELETED, params=params)
            found += [one.id for one in leads.items if one.is_deleted]
            if not leads.has_next or not leads.items:
                return found
        raise self._service.error("bad_reply", "its list of pages has no end")

    async def lead(self, crm_id: int) -> CrmLead | None:
        """Return a lead, None if there is none of this id."""
        try:
            found = await self._service.read(f"/leads/{int(crm_id)}", _one_lead, params=_OPTIONS)
        except VendorError as error:
            if error.code == "not_found":
                return None
            raise
        return (await self._with_phones([found]))[0] if found else None

    async def currency(self) -> str:
        """Return the currency that prices of leads are in, three letters."""
        return (await self._service.read("/account", _Account.model_validate)).currency

    async def check_leads(self) -> None:
        """Raise VendorError if the token may not read leads."""
        await self._service.read("/leads", _LEADS, params=[*_OPTIONS, ("limit", "1")])

    async def stages(self) -> list[Stage]:
        """Return the stages of all pipelines in their order."""
        found = await self._service.read("/leads/pipelines", _PIPELINES)
        return [
            Stage(pipeline.id, pipeline.name, status.id, status.name, status.sort)
            for pipeline in sorted(found.items, key=lambda one: (one.sort, one.id))
            for status in sorted(pipeline.embedded.statuses, key=lambda one: (one.sort, one.id))
        ]

    async def set_stage(self, crm_id: int, stage_id: int, pipeline_id: int | None = None) -> None:
        """Move a lead to a stage of its pipeline or of another one."""
        change = {"status_id": int(stage_id)} | ({} if pipeline_id is None else {"pipeline_id": int(pipeline_id)})
        await self._service.write("PATCH", f"/leads/{int(crm_id)}", _Changed.model_validate, json=change)

    async def _with_phones(self, leads: Sequence[_Lead]) -> list[CrmLead]:
        ids = sorted({contact for lead in leads for contact in lead.contact_ids})
        phones: dict[int, list[str]] = {}
        for first in range(0, len(ids), CONTACTS_A_REQUEST):
            some = ids[first : first + CONTACTS_A_REQUEST]
            params = [("limit", str(LEADS_A_PAGE)), *(("filter[id][]", str(one)) for one in some)]
            found = await self._service.read("/contacts", _CONTACTS, params=params)
            phones |= {one.id: one.phones for one in found.items}
        return [one.shown(phones) for one in leads]


def _read_refusal(status: int, headers: Mapping[str, str], body: Any) -> Refusal:
    """Errors are problem+json: a title, a detail, and the fields that are wrong."""
    if not isinstance(body, dict):
        return refusal_of_status(status, headers)
    texts = [body.get("detail") or body.get("title")]
    try:
        wrong = body["validation-errors"][0]["errors"][0]
        texts.append(f"{wrong['path']}: {wrong['detail']}")
    except (KeyError, IndexError, TypeError):
        pass
    return refusal_of_status(status, headers, " ".join(text for text in texts if isinstance(text, str)))


Id = Annotated[int, Field(ge=1, lt=2**63)]
OptionalName = Annotated[Name, BeforeValidator(lambda value: "" if value is None else value)]
OptionalList = BeforeValidator(lambda value: [] if value is None else value)
Flag = Annotated[bool, BeforeValidator(lambda value: value is not None)]


class _Links(BaseModel):
    has_next: Annotated[Flag, Field(alias="next")] = False


class _ContactLink(BaseModel):
    id: Id
    is_main: bool = False


class _OfLead(BaseModel):
    contacts: Annotated[list[_ContactLink], OptionalList] = []


class _Value(BaseModel):
    value: Any = None


class _Field(BaseModel):
    field_code: str | None = None
    values: Annotated[list[_Value], OptionalList] = []

    def texts(self, codes: Collection[str], max_chars: int) -> list[str]:
        """The texts of a field with one of these codes, none of another one."""
        if self.field_code not in codes:
            return []
        found = (one_line(clean(str(one.value)))[:max_chars] for one in self.values if isinstance(one.value, str | int))
        return [one for one in found if one]


class _Lead(BaseModel):
    id: Id
    name: OptionalName = ""
    price: Annotated[Decimal, Field(ge=0, lt=10**15), BeforeValidator(lambda value: value or 0)] = Decimal(0)
    status_id: Id
    pipeline_id: Id
    created_at: AwareDatetime
    updated_at: AwareDatetime
    is_deleted: bool = False
    custom_fields_values: Annotated[list[_Field], OptionalList] = []
    embedded: Annotated[_OfLead, Field(alias="_embedded")] = _OfLead()

    @property
    def version(self) -> tuple[int, int]:
        """The id and the second of the last update."""
        return self.id, int(self.updated_at.timestamp())

    @property
    def contact_ids(self) -> list[int]:
        """The main contact comes first."""
        contacts = sorted(self.embedded.contacts, key=lambda one: not one.is_main)
        return [one.id for one in contacts[:MAX_CONTACTS]]

    def shown(self, phones: Mapping[int, Sequence[str]]) -> CrmLead:
        known = list(dict.fromkeys(phone for one in self.contact_ids for phone in phones.get(one, ())))
        return CrmLead(
            self.id,
            self.name,
            self.pipeline_id,
            self.status_id,
            self.price,
            known[0] if known else None,
            self.created_at,
            self.updated_at,
            self.is_deleted,
            tuple(text for field in self.custom_fields_values for text in field.texts(UTM_FIELDS, MAX_MARK_CHARS)),
            tuple(known[1:MAX_PHONES]),
        )


class _DeletedLead(BaseModel):
    """A lead in the trash: the API gives no more of it."""

    id: Id
    is_deleted: bool = False


def _one_lead(body: Any) -> _Lead | None:
    """Read a lead; a reply without content (204) means that there is none."""
    return None if body is None else _Lead.model_validate(body)


class _Contact(BaseModel):
    id: Id
    custom_fields_values: Annotated[list[_Field], OptionalList] = []

    @property
    def phones(self) -> list[str]:
        fields = (field.texts((PHONE_FIELD,), MAX_PHONE_CHARS) for field in self.custom_fields_values)
        return [text for texts in fields for text in texts]


class _Status(BaseModel):
    id: Id
    name: OptionalName = ""
    sort: int = 0


class _OfPipeline(BaseModel):
    statuses: list[_Status] = []


class _Pipeline(BaseModel):
    id: Id
    name: OptionalName = ""
    sort: int = 0
    embedded: Annotated[_OfPipeline, Field(alias="_embedded")] = _OfPipeline()


class _Account(BaseModel):
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


class _Changed(BaseModel):
    id: Id


class _Collection(BaseModel):
    links: Annotated[_Links, Field(alias="_links")] = _Links()
    embedded: Annotated[dict[str, Any], Field(alias="_embedded")]


@dataclass(frozen=True, slots=True)
class _Found(Generic[M]):
    items: list[M]
    has_next: bool


def _list_of(name: str, model: type[M]) -> Callable[[Any], _Found[M]]:
    """Return a reader of replies with a list of this name; a reply without content (204) is an empty list."""
    items = TypeAdapter(list[model])  # type: ignore[valid-type]

    def read(body: Any) -> _Found[M]:
        if body is None:
            return _Found([], False)
        collection = _Collection.model_validate(body)
        return _Found(items.validate_python(collection.embedded.get(name)), collection.links.has_next)

    return read


_LEADS, _DELETED, _CONTACTS, _PIPELINES = (
    _list_of("leads", _Lead),
    _list_of("leads", _DeletedLead),
    _list_of("contacts", _Contact),
    _list_of("pipelines", _Pipeline),
)
