"""Who a client says that it is: what it has registered, or the document whose address is its id.

A document of the draft "OAuth Client ID Metadata Document" says what a registration would. It is read again after
DOCUMENT_TTL_S, from public addresses only, without redirects, and up to MAX_DOCUMENT_BYTES.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
import structlog

from maas.accounts.apps import MAX_REDIRECTS, AppClient, check_redirect, clean_client_name, find_client
from maas.http.auth import TTLCache
from shared.bounded_http import open_bounded
from shared.db import Database
from shared.errors import MaasError
from shared.json import is_storable, parse_json
from shared.pinned_requests import AddressRefused, PinnedRequests
from shared.public_addresses import Network

MAX_CLIENT_ID_CHARS = 500
MAX_DOCUMENT_BYTES = 16 * 1024
DOCUMENT_TTL_S = 300.0
TIMEOUT_S = 5.0
MAX_READS = 8  # at a time
_DOCUMENT = re.compile(r"https://[a-z0-9.\[\]:-]+/[A-Za-z0-9._~%!$&'()*+,;=:@/?-]+", re.ASCII)
_DOT_SEGMENT = re.compile(r"/\.{1,2}(?=[/?]|$)")
log = structlog.get_logger()


class ClientDocuments:
    """Reads documents of clients; `networks` may be reached although they are not public."""

    def __init__(self, networks: Sequence[Network] = (), verify: ssl.SSLContext | bool = True) -> None:
        self._networks = networks
        self._verify = verify
        self._places = asyncio.Semaphore(MAX_READS)
        self._known = TTLCache(self._read, ttl_s=DOCUMENT_TTL_S)

    async def get(self, client_id: str) -> AppClient:
        """Return the client of a document. Raises MaasError('invalid_request'), which says what is wrong with it."""
        return await self._known.get(client_id)

    async def _read(self, client_id: str) -> AppClient:
        try:
            async with asyncio.timeout(TIMEOUT_S), self._places:
                document = await self._fetch(client_id)
            return to_client(client_id, document)
        except AddressRefused as error:
            cause: str = error.code
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError) as error:
            cause = type(error).__name__
        except ValueError as error:
            cause = str(error)
        log.info("client_document_refused", cause=cause[:200])
        raise MaasError("invalid_request", f"client_id: its document cannot be used: {cause[:200]}")

    async def _fetch(self, client_id: str) -> Any:
        requests = PinnedRequests(self._networks)
        limits = httpx2.Limits(max_keepalive_connections=0)  # a connection belongs to one host, whatever its address
        http = open_bounded(
            MAX_DOCUMENT_BYTES, verify=self._verify, limits=limits, trust_env=False, follow_redirects=False
        )
        try:
            async with http:
                request = http.build_request("GET", client_id, headers={"accept": "application/json"})
                reply = await http.send(await requests.pin(request))
        finally:
            requests.close()
        if reply.status_code != 200:
            raise ValueError(f"the status is {reply.status_code}")
        return parse_json(reply.content, unique_names=True)


def is_document(client_id: str) -> bool:
    """Whether an id is the address of a document."""
    return client_id.startswith("https://")


def check_address(client_id: str) -> None:
    """Raise ValueError for an address that may not be the id of a client."""
    if len(client_id) > MAX_CLIENT_ID_CHARS or not _DOCUMENT.fullmatch(client_id) or _DOT_SEGMENT.search(client_id):
        raise ValueError("it must be https with a host in lower case and a path, without a user or a fragment")


def to_client(client_id: str, document: Any) -> AppClient:
    """Return what a document says. Raises ValueError."""
    if not isinstance(document, dict) or document.get("client_id") != client_id:
        raise ValueError("it must be an object whose client_id is its own address")
    if document.get("token_endpoint_auth_method", "none") != "none" or "client_secret" in document:
        raise ValueError("token_endpoint_auth_method must be none")
    addresses = document.get("redirect_uris")
    if not isinstance(addresses, list) or not 1 <= len(addresses) <= MAX_REDIRECTS:
        raise ValueError(f"redirect_uris must be a list of 1 to {MAX_REDIRECTS}")
    for address in addresses:
        problem = check_redirect(address) if isinstance(address, str) else "must be a text"
        if problem is not None:
            raise ValueError(f"redirect_uris: {problem}")
    name = document.get("client_name")
    if name is not None and not (isinstance(name, str) and is_storable(name)):
        raise ValueError("client_name must be a text")
    return AppClient(client_id, clean_client_name(name), tuple(addresses))


def host_of(client_id: str) -> str | None:
    """Return the host that answers for the name of a client; None where nobody does."""
    return urlsplit(client_id).netloc if is_document(client_id) else None


async def get_client(db: Database, documents: ClientDocuments, client_id: str) -> AppClient | None:
    """Return the client of an id, None for an unknown one. Raises MaasError('invalid_request')."""
    if not is_document(client_id):
        return await find_client(db, client_id)
    try:
        check_address(client_id)
    except ValueError as error:
        raise MaasError("invalid_request", f"client_id: {error}") from error
    return await documents.get(client_id)
