"""Which addresses anybody may be connected to."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


def to_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parse networks such as 10.0.0.0/8 or 127.0.0.1. Raises ValueError."""
    return tuple(ip_network(text) for text in texts)


def is_public(address: Address) -> bool:
    """Whether anybody may be connected to at this address, also where it stands for one of the other protocol."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if inner is not None and not is_public(inner):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved and not address.is_unspecified
