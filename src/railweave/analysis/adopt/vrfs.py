"""Rules behind numbers of VRFs: route distinguishers, and loopbacks of tenants, as formulas of the fabric file."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from math import gcd
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.model.device.model import DeviceConfig

LEAST_STEP = 10
"""Numbers of route distinguishers that are all multiples of so much are no slots, but slots times that."""


def slots_of(numbers: Mapping[str, int], draft: Draft) -> dict[str, int]:
    """The slots of tenants by the numbers in their route distinguishers; where these are multiples, the formula is noted."""
    step = gcd(*numbers.values()) if numbers else 1
    if step < LEAST_STEP:
        return dict(numbers)
    draft.at("overlay")["route_distinguisher"] = f"{{router_id}}:{{tenant*{step}}}"
    return {name: number // step for name, number in numbers.items()}


def loopbacks(
    draft: Draft, made: Mapping[str, dict[str, Any]], leaves: Sequence[str], configs: Mapping[str, DeviceConfig]
) -> None:
    """``loopbacks`` of tenants: formulas that give the addresses by the numbers of leaves."""
    found: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for number, leaf in enumerate(leaves, 1):
        for vrf in configs[leaf].vrfs:
            for one in vrf.loopbacks:
                address = ipaddress.ip_address(one.partition("/")[0])
                found[vrf.name, one.family][number] = int(address)
    for (tenant, family), by_leaf in found.items():
        bits = 32 if family == "ipv4" else 128
        width, form = (8, "d") if bits == 32 else (16, "x")
        heads = {value >> width for value in by_leaf.values()}
        offsets = {(value & ((1 << width) - 1)) - number for number, value in by_leaf.items()}
        if len(heads) > 1 or len(offsets) > 1 or tenant not in made:
            draft.note(f"loopbacks of tenant {tenant} do not follow from the numbers of leaves: they are left out")
            continue
        offset = offsets.pop()
        more = f"+{offset}" if offset > 0 else str(offset) if offset else ""
        whole = heads.pop() << width
        text = ipaddress.IPv4Address(whole) if bits == 32 else ipaddress.IPv6Address(whole)
        head = str(text) if bits == 32 else text.exploded
        mark = "." if bits == 32 else ":"
        parts = head.split(mark)[:-1]
        if bits == 128:
            parts = [format(int(part, 16), form) for part in parts]
        made[tenant].setdefault("loopbacks", []).append(f"{mark.join(parts)}{mark}{{leaf{more}}}/{bits}")
