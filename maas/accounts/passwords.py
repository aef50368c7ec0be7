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
from typing import TypeVar

from shared.errors import MaasError
from shared.fair_semaphore import FairSemaphore
from shared.json import is_storable

MAX_PASSWORD_CHARS = 1000
COST, BLOCK_SIZE, PARALLELISM = 2**15, 8, 3  # 32 MiB and about 0.3 s
SALT_BYTES, HASH_BYTES = 16, 32
MAX_CONCURRENT_HASHES = 2
MAX_WAITING_HASHES = 4  # of one owner
HASH_WAIT_S = 10.0
MIN_SCORE = 2  # of zxcvbn's 0 to 4: a million guesses
MAX_JUDGED_CHARS = 72  # zxcvbn takes no more
MIN_OWN_CHARS = 4  # beside the email
_RUSSIAN_KEYS = str.maketrans("йцукенгшщзхъфывапролджэячсмитьбюё", "qwertyuiop[]asdfghjkl;'zxcvbnm,.`")
Result = TypeVar("Result")


def check_password(password: str, min_chars: int, email: str) -> None:
    """Check a new password; takes up to 0.1 s.

    Raises MaasError: weak_password for one that is short or easy to guess, with `reasons` in GoTrue's words, and
    validation_failed for one that cannot be typed again.
    """
    if len(password) < min_chars:
        message = f"password: must have at least {min_chars} characters"
        raise MaasError("weak_password", message, {"reasons": ["length"]})
    if len(password) > MAX_PASSWORD_CHARS or not is_storable(password):
        raise MaasError("validation_failed", f"password: must be text of at most {MAX_PASSWORD_CHARS} characters")
    if _is_of_email(password, email) or _is_guessed(password):
        raise MaasError(
            "weak_password",
            "password: is easy to guess; choose several words, and neither your email nor a common password",
            {"reasons": ["pwned"]},
        )


def _is_of_email(password: str, email: str) -> bool:
    """Whether a password is the email or its local part, with fewer than MIN_OWN_CHARS characters beside it."""
    text = password.casefold()
    parts = (email, email.rpartition("@")[0])
    return any(part in text and len(text) - len(part) < MIN_OWN_CHARS for part in parts if part)


def _is_guessed(password: str) -> bool:
    """Whether a million guesses find a password, on a Latin keyboard or, of its keys, on a Russian one."""
    from zxcvbn import zxcvbn  # slow to load

    start = unicodedata.normalize("NFKC", password)[:MAX_JUDGED_CHARS].lower()
    texts = {start, start.translate(_RUSSIAN_KEYS)}
    return any(zxcvbn(text)["score"] < MIN_SCORE for text in texts)


def hash_password(password: str) -> str:
    """Return `scrypt$N$r$p$salt$hash`."""
    salt = secrets.token_bytes(SALT_BYTES)
    return _to_text(salt, _scrypt(password, salt, COST, BLOCK_SIZE, PARALLELISM))


def unknown_password_hash() -> str:
    """Return what stands for a password that nobody knows, until a link sets one: random bits in place of a hash."""
    return _to_text(secrets.token_bytes(SALT_BYTES), secrets.token_bytes(HASH_BYTES))


def _to_text(salt: bytes, digest: bytes) -> str:
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
    )


_NO_PASSWORD = f"scrypt${COST}${BLOCK_SIZE}${PARALLELISM}${'A' * 22}==${'A' * 43}="


class PasswordHasher:
    """Hashes passwords beside the event loop; close it when it is no longer used.

    MAX_CONCURRENT_HASHES are computed at a time, one of each owner: a client address, or a browser that is known.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_HASHES, "password")
        self.places = FairSemaphore("passwords", MAX_CONCURRENT_HASHES, 1, HASH_WAIT_S, MAX_WAITING_HASHES)

    async def hash(self, password: str, min_chars: int, email: str, owner: str) -> str:
        """Return the hash of a new password. Raises MaasError as `check_password`, busy, share_used."""
        return await self._run(owner, _check_and_hash, password, min_chars, email)

    async def verify(self, stored: str | None, password: str, owner: str) -> bool:
        """Whether `stored` is the hash of this password; None takes as long. Raises MaasError: busy, share_used."""
        return await self._run(owner, is_password_of, stored, password)

    def close(self) -> None:
        """End the threads once they have finished what they compute."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, owner: str, compute: Callable[..., Result], *args: object) -> Result:
        await self.places.acquire(owner)
        return await asyncio.shield(asyncio.create_task(self._compute(owner, compute, *args)))

    async def _compute(self, owner: str, compute: Callable[..., Result], *args: object) -> Result:
        """Give the place back when the thread is free, which may be after the client has gone."""
        try:
            return await asyncio.wrap_future(self._threads.submit(compute, *args))
        finally:
            self.places.release(owner)


def _check_and_hash(password: str, min_chars: int, email: str) -> str:
    check_password(password, min_chars, email)
    return hash_password(password)
