"""The prefix by which a collective library finds the GIDs of a job (``NCCL_IB_ADDR_RANGE``)."""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.host_model import HostAddress


def address_range(pools: Iterable[str], addresses: Iterable[HostAddress]) -> str:
    """The first of the pools that holds the addresses; else, as on layer-2 networks and other links, the longest prefix that does."""
    prefixes = list(dict.fromkeys(str(one.prefix) for one in addresses))
    own = [_network(one) for one in prefixes]
    for pool in pools:
        whole = _network(pool)
        if all(_holds(whole, one) for one in own):
            return pool
    around = own[0]
    while not all(_holds(around, one) for one in own):
        around = around.supernet()
    return str(around)


@lru_cache(maxsize=1 << 14)  # servers of a stripe share their prefixes
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text)


def _holds(
    whole: ipaddress.IPv4Network | ipaddress.IPv6Network, part: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    return (
        whole.version == part.version
        and whole.prefixlen <= part.prefixlen
        and int(part.network_address) >> (whole.max_prefixlen - whole.prefixlen)
        == int(whole.network_address) >> (whole.max_prefixlen - whole.prefixlen)
    )
