"""The pool that addresses of links between switches are of, and the links whose addresses it does not give."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.model.device.model import DeviceConfig

_Port = tuple[str, str]


def link_addresses(
    draft: Draft,
    found: Shape,
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lower: Sequence[_Port],
) -> set[_Port]:
    """Write the pool of link addresses, where links have addresses. The links whose addresses it does not give.

    ``lower`` are the lower ends of all links, by switch and port. An address follows from the number of that switch and its port;
    links of spines to what is above them have the second half of the pool, those between routers of two sites its last quarter.
    """
    tiers = [found.numbers, *({name: at for at, name in enumerate(one, 1)} for one in (found.spines, found.routers))]
    own = {
        (name, one.name): one.addresses[0]
        for tier in tiers
        for name in tier
        for one in configs[name].interfaces
        if one.addresses
    }
    known = [end for end in lower if end in own and end in found.places]
    below = tiers if found.super_spines or found.routers else tiers[:1]
    groups = [
        catalog().switches[one].ports[0]
        for one in {model[name] for tier in below for name in tier} | {draft.at("leaf")["device"]}
    ]
    widest = max(mode.channels for group in groups for mode in group.modes())
    stride = 1 << (max(group.count for group in groups) * widest - 1).bit_length()

    def start(end: _Port, number: int) -> int:
        place = found.places[end]
        at = (number - 1) * stride + place.physical * widest + (place.channel or 0)
        return int(ipaddress.ip_address(str(own[end].address))) - 2 * at

    starts = [{end: start(end, tier[end[0]]) for end in known if end[0] in tier} for tier in tiers]
    of_leaves = list(starts[0].values())
    first = max(dict.fromkeys(of_leaves), key=of_leaves.count, default=0)
    if first <= 0 or 2 * of_leaves.count(first) <= len(of_leaves):  # no rule of ours: each link has its addresses given
        return set(known)
    needed = 2 * max(found.numbers.values()) * stride * (2 if len(below) > 1 else 1)
    of_spines = list(starts[1].values())
    half = max(dict.fromkeys(of_spines), key=of_spines.count, default=0) - first
    size = 2 * half if half > 0 and not half & (half - 1) and first % (2 * half) == 0 else 1
    while first % (2 * size) == 0 and size < needed:
        size *= 2
    six = own[next(iter(starts[0]))].family == "ipv6"
    address, bits = (ipaddress.IPv6Address(first), 128) if six else (ipaddress.IPv4Address(first), 32)
    draft.at("pools")["fabric_links"] = f"{address}/{bits - size.bit_length() + 1}"
    expected = (first, first + size // 2, first + size // 2 + size // 4)
    return {end for tier, begin in zip(starts, expected, strict=True) for end, given in tier.items() if given != begin}
