"""Stripes: leaves that share servers, in the order of their rails, with the slots that allocations follow from."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.analysis.adopt.order import as_number, natural, numbering
from railweave.analysis.adopt.server_models import rails_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.adopt.equipment import Place
    from railweave.analysis.adopt.wiring import End, Wiring
    from railweave.model.device.model import DeviceConfig


MOST_GAPS = 4
"""AS numbers may leave out so many times as many stripes as there are; other steps between them count nothing."""


@dataclass(slots=True)
class Stripe:
    """Leaves that share servers, in the order of their rails; ``slot`` is the number that allocations follow from.

    ``servers`` are their names by slot; ``described`` is what gateways call the stripe, where they do.
    """

    slot: int
    leaves: list[str]
    servers: dict[str, int] = field(default_factory=dict[str, int])
    described: str = ""
    name: str = ""
    pod: int = 0


def stripes_of(leaves: Sequence[str], servers: Mapping[End, End], configs: Mapping[str, DeviceConfig]) -> list[Stripe]:
    """The stripes that these leaves make up, without slots, in no order; ``servers`` are the NICs at their ports."""
    found = [Stripe(0, one) for one in _sharing(leaves, servers)]
    first = _first_rail(servers)
    for one in found:
        one.leaves.sort(key=lambda leaf: (first.get(leaf, 0), numbering(configs[leaf]), natural(leaf)))
        one.described = _described(configs[leaf] for leaf in one.leaves)
    return found


def _sharing(leaves: Sequence[str], servers: Mapping[End, End]) -> list[list[str]]:
    """Leaves that have servers in common, in sets; those whose servers have no names are a set each."""
    home = {leaf: {leaf} for leaf in leaves}
    ends_of: dict[str, set[str]] = defaultdict(set)
    for end, nic in servers.items():
        if nic.device:
            ends_of[nic.device].add(end.device)
    for ends in ends_of.values():
        whole = set[str]().union(*(home[leaf] for leaf in ends))
        for leaf in whole:
            home[leaf] = whole
    found: list[list[str]] = []
    for leaf in leaves:
        if not any(leaf in one for one in found):
            found.append([one for one in leaves if one in home[leaf]])
    return found


def _first_rail(servers: Mapping[End, End]) -> dict[str, int]:
    rail_of = rails_of(servers.values())
    found: dict[str, int] = {}
    for end, nic in servers.items():
        if nic in rail_of:
            found[end.device] = min(found.get(end.device, 1 << 16), rail_of[nic])
    return found


def _described(configs: Iterable[DeviceConfig]) -> str:
    """The stripe that all gateways name in the form of our own descriptions, ``STRIPE rail N``."""
    found = {
        text.partition(" rail ")[0] if " rail " in text else ""
        for one in configs
        for text in (g.description for g in one.gateways)
    }
    return found.pop() if len(found) == 1 else ""


def number(
    stripes: list[Stripe],
    configs: Mapping[str, DeviceConfig],
    wiring: Wiring,
    spines: Iterable[str],
    places: Mapping[tuple[str, str], Place],
) -> None:
    """Give stripes their slots: in the order of their ports on the spines, with the gaps that AS numbers show."""
    leaves = [leaf for one in stripes for leaf in one.leaves]
    on_spines: dict[str, tuple[int, int]] = {}
    for end, there in wiring.between(leaves, spines):
        place = places.get((there.device, there.port))
        if place:
            on_spines[end.device] = min(on_spines.get(end.device, place.key), place.key)
    each = max(len(one.leaves) for one in stripes)
    stripes.sort(
        key=lambda one: (
            one.pod,
            min(on_spines.get(leaf, (0, 0)) for leaf in one.leaves),
            min(numbering(configs[leaf]) for leaf in one.leaves),
            natural(one.leaves[0]),
        ),
    )
    asns = [as_number(configs[one.leaves[0]]) for one in stripes]
    steps = [asn - asns[0] for asn in asns]
    by_asn = (
        all(asns)
        and all(step % each == 0 for step in steps)
        and steps == sorted(set(steps))
        and steps[-1] < each * MOST_GAPS * max(16, len(stripes))
    )
    for rank, one in enumerate(stripes, 1):
        one.slot = steps[rank - 1] // each + 1 if by_asn else rank


def place_servers(
    stripes: Iterable[Stripe], servers: Mapping[End, End], places: Mapping[tuple[str, str], Place]
) -> None:
    """Slots of servers in their stripe, by the order of their ports on its first leaf."""
    for stripe in stripes:
        keys: dict[str, tuple[int, int]] = {}
        for end, nic in servers.items():
            place = places.get((end.device, end.port))
            if end.device in stripe.leaves and nic.device:
                key = place.key if place else (0, 0)
                keys[nic.device] = min(keys.get(nic.device, key), key)
        order = sorted(keys, key=lambda name: (keys[name], natural(name)))
        stripe.servers = {name: slot for slot, name in enumerate(order, 1)}
