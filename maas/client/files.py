"""Operations on files of a user: images that requests name, and documents that are searched."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict
from uuid import UUID, uuid4

from .calls import ApiCall, Operation, read_pages
from .operations import parse_id
from .users import UserId, Users, owner_of, required_user

SearchMode: TypeAlias = Literal["mix", "local", "global", "hybrid"]


class Attachment(TypedDict):
    """A stored image, without metadata such as its place; `width` and `height` in pixels."""

    id: str
    kind: Literal["upload", "generated"]
    media_type: Literal["image/jpeg", "image/png", "image/webp"]
    bytes: int
    width: int
    height: int
    sha256: str
    created_at: str


class Document(TypedDict):
    """A document that is searched, of a user or everybody's; `chunks` is the number of pieces that are found."""

    id: str
    is_everybodys: bool
    name: str
    media_type: str
    bytes: int
    pages: int | None
    chunks: int
    summary: str
    status: Literal["pending", "processing", "processed", "failed"]
    error: str | None
    track_id: str
    created_at: str
    updated_at: str


class AddedDocument(Document):
    """A document that was read, or was known as it is."""

    outcome: Literal["added", "unchanged"]


class RemovedDocument(TypedDict):
    """The answers that were made from a removed document, at most 100; how many there are, and were forgotten."""

    answers: list[dict[str, Any]]
    total: int
    forgotten: int


class Passage(TypedDict):
    """A passage of a document, with its heading, page and position in the text, in characters."""

    document_id: str
    chunk: int
    name: str
    heading: str
    page: int | None
    position: int
    text: str
    score: float


def upload_image(users: Users, content: bytes, *, user_id: UserId) -> Operation[Attachment]:
    """Store a JPEG, PNG or WebP image for `attachment_ids` of a request; the same image again is the same one.

    Raises InvalidRequest.
    """
    user = yield from users.get_or_create(required_user(user_id))
    call = ApiCall(method="POST", path="/v1/attachments", form={"user_id": str(user)}, file=("image", content))
    reply: Attachment = (yield call).json
    return reply


def get_image(users: Users, attachment_id: UserId, *, user_id: UserId) -> Operation[Attachment]:
    """The description of an image. Raises NotFound, also if it is not of `user_id`."""
    reply: Attachment = (yield (yield from _call_of_image(users, "GET", attachment_id, user_id))).json
    return reply


def download_image(users: Users, attachment_id: UserId, *, user_id: UserId) -> Operation[bytes]:
    """The bytes of an image. Raises NotFound, also if it is not of `user_id`."""
    return (yield (yield from _call_of_image(users, "GET", attachment_id, user_id, "/content"))).content


def delete_image(users: Users, attachment_id: UserId, *, user_id: UserId) -> Operation[None]:
    """Delete an image; the message that it came with stays. Raises NotFound, also if it is not of `user_id`."""
    yield (yield from _call_of_image(users, "DELETE", attachment_id, user_id))


def add_document(users: Users, name: str, content: bytes | str, *, user_id: UserId) -> Operation[AddedDocument]:
    """Read a document and keep it for one user; one of this name is replaced.

    `name` is a name or path, as references show it, and ends with .txt, .md, .html, .docx or .pdf. Raises
    InvalidRequest.
    """
    user = yield from users.get_or_create(required_user(user_id))
    file = (name, content.encode() if isinstance(content, str) else content)
    form = {"user_id": str(user), "name": name}
    reply: AddedDocument = (yield ApiCall(method="POST", path="/v1/knowledge", form=form, file=file)).json
    return reply


def documents(users: Users, *, user_id: UserId, limit: int = 100) -> Operation[list[Document]]:
    """The documents that a user may find things in, everybody's included, newest first, at most `limit`."""
    user = yield from _reader(users, user_id)
    rows: list[Any] = yield from read_pages("/v1/knowledge", {"user_id": str(user)}, limit)
    return rows


def get_document(users: Users, document_id: UserId, *, user_id: UserId) -> Operation[Document]:
    """The state of a document. Raises NotFound, also if it is another user's."""
    path = f"/v1/knowledge/{parse_id(document_id)}"
    user = yield from owner_of(users, user_id, f"document {document_id}")
    reply: Document = (yield ApiCall(method="GET", path=path, params={"user_id": str(user)})).json
    return reply


def delete_document(
    users: Users, document_id: UserId, *, user_id: UserId, answers: bool = False
) -> Operation[RemovedDocument]:
    """Remove a document of a user; with `answers`, memory forgets the answers that were made from it, too.

    Raises NotFound, also if it is not of `user_id`.
    """
    path = f"/v1/knowledge/{parse_id(document_id)}"
    user = yield from owner_of(users, user_id, f"document {document_id}")
    params = {"user_id": str(user)} | ({"answers": "true"} if answers else {})
    reply = yield ApiCall(method="DELETE", path=path, params=params, done_code="not_found")
    removed: RemovedDocument = reply.json if reply.content else {"answers": [], "total": 0, "forgotten": 0}
    return removed


def search_documents(
    users: Users, query: str, *, user_id: UserId, limit: int = 10, mode: SearchMode = "mix"
) -> Operation[list[Passage]]:
    """The passages that answer a query of at least 3 characters, best first, at most 100, in the documents of a user
    and in everybody's."""
    user = yield from _reader(users, user_id)
    params = {"user_id": str(user), "q": query, "limit": limit, "mode": mode}
    return list((yield ApiCall(method="GET", path="/v1/knowledge/search", params=params)).json["results"])


def _reader(users: Users, user_id: UserId) -> Operation[UUID]:
    """The user who reads; an unknown one finds everybody's documents, too, and is not created by reading."""
    return (yield from users.find(required_user(user_id))) or uuid4()


def _call_of_image(
    users: Users, method: str, attachment_id: UserId, user_id: UserId, part: str = ""
) -> Operation[ApiCall]:
    path = f"/v1/attachments/{parse_id(attachment_id)}{part}"
    user = yield from owner_of(users, user_id, f"image {attachment_id}")
    done_code = "not_found" if method == "DELETE" else None
    return ApiCall(method=method, path=path, params={"user_id": str(user)}, done_code=done_code)
