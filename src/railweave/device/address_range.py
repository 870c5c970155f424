"""The prefix by which a collective library finds the GIDs of a job (``NCCL_IB_ADDR_RANGE``)."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.device.host_model import HostAddress


def address_range(pools: Iterable[str], addresses: Iterable[HostAddress]) -> str:
    """The first of the pools that holds the addresses; else, as on layer-2 networks and other links, the longest prefix that does."""
    prefixes = list(dict.fromkeys(str(one.prefix) for one in addresses))
    own = [ipaddress.ip_network(one) for one in prefixes]
    for pool in pools:
        whole = ipaddress.ip_network(pool)
        if all(_holds(whole, one) for one in own):
            return pool
    around = own[0]
    while not all(_holds(around, one) for one in own):
        around = around.supernet()
    return str(around)


def _holds(
    whole: ipaddress.IPv4Network | ipaddress.IPv6Network, part: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    return (
        whole.version == part.version
        and whole.prefixlen <= part.prefixlen
        and int(part.network_address) >> (whole.max_prefixlen - whole.prefixlen)
        == int(whole.network_address) >> (whole.max_prefixlen - whole.prefixlen)
    )
