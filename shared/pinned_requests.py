"""Requests to hosts that strangers name: each is looked up once, and only public addresses are connected to.

A name that leads into a private network, or does so at the second look, would let its owner reach what only this
machine can. So a request goes to the address that was checked, with the name in the header `Host` and in TLS.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Literal

import httpx2

from shared.public_addresses import Address, Network, is_public

MAX_LOOKUPS = 32  # at a time; the threads of asyncio would be missed by others
DEFAULT_PORTS = {"http": 80, "https": 443}


Refusal = Literal["unknown_host", "not_public", "not_https"]


class AddressRefused(Exception):
    """A host has no address that may be connected to; `code` says why and names no address."""

    def __init__(self, code: Refusal) -> None:
        super().__init__(code)
        self.code = code


class PinnedRequests:
    """Builds requests that go to checked addresses; `networks` may be reached although they are not public.

    Plain HTTP goes to these networks only.
    """

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = networks
        self._threads = ThreadPoolExecutor(MAX_LOOKUPS, "look-up")

    def close(self) -> None:
        """Wait for no look-up any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def build(
        self, http: httpx2.AsyncClient, url: str, content: bytes, headers: dict[str, str]
    ) -> httpx2.Request:
        """Build a POST to a URL. Raises AddressRefused, httpx2.InvalidURL."""
        return await self.pin(http.build_request("POST", url, content=content, headers=headers))

    async def pin(self, request: httpx2.Request) -> httpx2.Request:
        """The same request, sent to the address that was checked. Raises AddressRefused."""
        target = request.url
        if target.scheme not in DEFAULT_PORTS:
            raise AddressRefused("not_https")
        host = target.raw_host.decode()
        port = target.port or DEFAULT_PORTS[target.scheme]
        address = await self._find(host, port, is_plain=target.scheme == "http")
        request.headers["host"] = target.netloc.decode()
        request.url = target.copy_with(host=str(address))
        request.extensions = {**request.extensions, "sni_hostname": host}
        return request

    async def _find(self, host: str, port: int, *, is_plain: bool) -> Address:
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host, port)
        except (OSError, UnicodeError, OverflowError):
            raise AddressRefused("unknown_host") from None
        own = [one for one in found if any(one in network for network in self._networks)]
        if own:
            return own[0]
        if not found or not all(is_public(one) for one in found):
            raise AddressRefused("not_public")
        if is_plain:
            raise AddressRefused("not_https")
        return found[0]


def _look_up(host: str, port: int) -> list[Address]:
    infos = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
    return [ip_address(str(info[4][0]).partition("%")[0]) for info in infos]
