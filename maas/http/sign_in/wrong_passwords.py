"""Wrong passwords are counted; a right one never is, so nobody is locked out by what others try from elsewhere."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from maas.accounts import hash_token
from maas.http.state import app_state
from shared.errors import MaasError

EMAIL_FACTOR = 10  # for one email from all addresses, as a multiple of those from one
IPV6_NETWORK_BITS = 64  # of which one client has all addresses
WRONG_PASSWORDS = "wrong passwords"


@contextmanager
def counting_wrong_passwords(request: Request, email: str, browser: str | None) -> Iterator[None]:
    """Count the block if it ends with invalid_credentials.

    It counts by email and address, by email, and by address; or by `browser` alone, in which somebody signed in with
    this email before. Raises MaasError('rate_limited') before the block.
    """
    state, network = app_state(request), client_network(request)
    each, of_address = state.limits["sign_in_rate"], state.limits["sign_in_address_rate"]
    name = hash_token(email).hex()
    buckets = (
        [(f"browser:{browser}", each, "one browser")]
        if browser is not None
        else [
            (f"email:{name} of {network}", each, "one address"),
            (f"email:{name}", each * EMAIL_FACTOR, "one email"),
            (address_bucket(network), of_address, "one address"),
        ]
    )
    taken: list[tuple[str, int]] = []

    def give_back() -> None:
        for bucket, per_minute in taken:
            state.rate_limiter.give_back(bucket, per_minute)

    try:  # taken before the password is looked at: many may be tried at once
        for bucket, per_minute, subject in buckets:
            state.rate_limiter.take(bucket, per_minute, subject, WRONG_PASSWORDS)
            taken.append((bucket, per_minute))
        yield
    except Exception as error:
        if not isinstance(error, MaasError) or error.code != "invalid_credentials":
            give_back()
        raise
    give_back()


def address_bucket(network: str) -> str:
    """Return the name of the bucket of an address."""
    return f"password of {network}"


def client_network(request: Request) -> str:
    """Return the address of the client, of IPv6 its network."""
    host = request.client.host if request.client is not None else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host[:100]
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(address), IPV6_NETWORK_BITS), strict=False))
    return str(address)
