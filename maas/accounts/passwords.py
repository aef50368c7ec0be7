"""Passwords: their rules, and their hashes by scrypt, which are computed in threads of their own."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import TypeVar

from shared.errors import MaasError
from shared.json import is_storable

MAX_PASSWORD_CHARS = 1000
COST, BLOCK_SIZE, PARALLELISM = 2**15, 8, 3  # 32 MiB and about 0.3 s
SALT_BYTES, HASH_BYTES = 16, 32
MAX_CONCURRENT_HASHES = 2
MAX_WAITING_HASHES = 32
RETRY_AFTER_S = 2
Result = TypeVar("Result")


def check_password(password: str, min_chars: int) -> None:
    """Raises MaasError: weak_password for a short one, validation_failed for one that cannot be typed again."""
    if len(password) < min_chars:
        raise MaasError("weak_password", f"password: must have at least {min_chars} characters")
    if len(password) > MAX_PASSWORD_CHARS or not is_storable(password):
        raise MaasError("validation_failed", f"password: must be a text of at most {MAX_PASSWORD_CHARS} characters")


def hash_password(password: str) -> str:
    """Return `scrypt$N$r$p$salt$hash`."""
    salt = secrets.token_bytes(SALT_BYTES)
    digest = _scrypt(password, salt, COST, BLOCK_SIZE, PARALLELISM)
    return f"scrypt${COST}${BLOCK_SIZE}${PARALLELISM}${b64encode(salt).decode()}${b64encode(digest).decode()}"


def is_password_of(stored: str | None, password: str) -> bool:
    """Whether `stored` is the hash of this password; takes the same time when there is none."""
    _, cost, block_size, parallelism, salt, digest = (stored or _NO_PASSWORD).split("$")
    computed = _scrypt(password, b64decode(salt), int(cost), int(block_size), int(parallelism))
    return hmac.compare_digest(computed, b64decode(digest)) and stored is not None


def _scrypt(password: str, salt: bytes, cost: int, block_size: int, parallelism: int) -> bytes:
    text = unicodedata.normalize("NFKC", password).encode()  # keyboards differ in how they compose letters
    needed_bytes = 128 * block_size * (cost + parallelism + 2)
    return hashlib.scrypt(
        text, salt=salt, n=cost, r=block_size, p=parallelism, dklen=HASH_BYTES, maxmem=2 * needed_bytes
    )  # fmt: skip


_NO_PASSWORD = f"scrypt${COST}${BLOCK_SIZE}${PARALLELISM}${'A' * 22}==${'A' * 43}="


class PasswordHasher:
    """Hashes passwords beside the event loop, MAX_CONCURRENT_HASHES at a time; close it when it is no longer used."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_HASHES, "password")
        self._places = BoundedSemaphore(MAX_CONCURRENT_HASHES + MAX_WAITING_HASHES)

    async def hash(self, password: str) -> str:
        """Return the hash of a password. Raises MaasError('busy')."""
        return await self._run(hash_password, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether `stored` is the hash of this password; None takes as long. Raises MaasError('busy')."""
        return await self._run(is_password_of, stored, password)

    def close(self) -> None:
        """End the threads once they have finished what they compute."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, compute: Callable[..., Result], *args: object) -> Result:
        if not self._places.acquire(blocking=False):
            raise MaasError("busy", "too many people sign in at this moment; try again", {"retry_after": RETRY_AFTER_S})
        future = self._threads.submit(compute, *args)
        future.add_done_callback(lambda _: self._places.release())  # it goes on when its client has gone
        return await asyncio.wrap_future(future)
