"""What each switch is for, and which switches make up a fabric, from who is joined with whom."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from railweave.analysis.adopt.wiring import Wiring
from railweave.counting import counted
from railweave.errors import InputError, NetworkPart, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.fabric import RoleName


def routed(configs: Mapping[str, DeviceConfig]) -> tuple[dict[str, DeviceConfig], tuple[str, ...]]:
    """The switches that take part in routing, and a word on those that do not: a fabric file has no switch without routing.

    Where none does, all are taken: their routing may stand in a text that was not saved.
    """
    found = {name: one for name, one in configs.items() if one.bgp or one.isis}
    if not found or len(found) == len(configs):
        return dict(configs), ()
    left = ", ".join(name for name in configs if name not in found)
    return found, (f"{left}: no BGP and no IS-IS there; a fabric file has no such switches: left out",)


def neighbors(configs: Mapping[str, DeviceConfig], wiring: Wiring) -> dict[str, set[str]]:
    """The switches that each switch has links to."""
    found: dict[str, set[str]] = {name: set() for name in configs}
    for one, other in wiring.links:
        found[one.device].add(other.device)
        found[other.device].add(one.device)
    return found


def roles(configs: Mapping[str, DeviceConfig], wiring: Wiring, near: Mapping[str, set[str]]) -> dict[str, RoleName]:
    """The role of each switch.

    A leaf has servers, gateways or tenants, or is the end of a tree: it has links only to switches that have more than it has.
    Whatever has links to leaves is a spine, whatever else has links to spines a super-spine.
    """
    with_servers = {end.device for end in wiring.servers}
    found: dict[str, RoleName] = {
        name: "leaf"
        for name, config in configs.items()
        if name in with_servers or config.gateways or config.mac_vrf or config.vrfs or not near[name]
    }
    for component in fabrics(near):
        if not any(
            name in found for name in component
        ):  # nothing with servers: those with the fewest links are the lowest
            least = min(len(near[name]) for name in component)
            lowest = [name for name in component if len(near[name]) == least]
            named = [name for name in lowest if "spine" not in name.casefold()]
            found |= dict.fromkeys(named if len(lowest) == len(component) and named else lowest, "leaf")
    below: set[str] = set(found)
    tiers: tuple[RoleName, ...] = ("spine", "super-spine", "dci")
    for tier in tiers:
        here = {name for one in below for name in near[one]} - set(found)
        found |= dict.fromkeys(here, tier)
        below = here
    for name in configs:
        found.setdefault(name, "spine")
    for name in _between_sites(near, found):
        found[name] = "dci"
    return found


def _between_sites(near: Mapping[str, set[str]], role: Mapping[str, RoleName]) -> set[str]:
    """The switches above spines that join sites: they have links to one another, and each to spines of its own site alone."""
    below = {
        name: {far for far in near[name] if role[far] == "spine"} for name, one in role.items() if one == "super-spine"
    }
    pairs = [(one, far) for one in below for far in near[one] if far in below]
    return set() if any(below[one] & below[far] for one, far in pairs) else {name for pair in pairs for name in pair}


def between_tiers(wiring: Wiring, role: Mapping[str, RoleName]) -> tuple[Wiring, tuple[str, ...]]:
    """The wiring without links between switches of one role (a pair of leaves), which no leaf-spine fabric has.

    Links between sites stay: those of routers above the spines of each, and those of leaves without spines.
    """
    alike = [role[one.device] == role[other.device] for one, other in wiring.links]
    above = {end.device for pair, same in zip(wiring.links, alike, strict=True) if not same for end in pair}
    left = [
        pair
        for pair, same in zip(wiring.links, alike, strict=True)
        if same and role[pair[0].device] != "dci" and above.intersection(end.device for end in pair)
    ]
    if not left:
        return wiring, ()
    gone = set(left)
    kept = tuple(pair for pair in wiring.links if pair not in gone)
    pairs = dict.fromkeys(f"{one.device} and {other.device}" for one, other in left)
    shown = f"{'; '.join(list(pairs)[:4])}{'; …' if len(pairs) > 4 else ''}"
    note = f"{counted(len(left), 'link')} between switches of one role left out ({shown})"
    return Wiring(kept, wiring.servers, wiring.notes), (note,)


def joined(near: Mapping[str, set[str]]) -> tuple[list[str], tuple[str, ...]]:
    """The switches that have a link to another, and a word on those that have none. Raises ``InputError`` where none has, of several."""
    found = [name for name, others in near.items() if others]
    if len(near) == 1 or len(found) == len(near):
        return list(near), ()
    if not found:
        what = f"no link between the {len(near)} switches is found: no description, address or LLDP says who is joined with whom"
        raise InputError(
            [Problem(NetworkPart(next(iter(near))), what, "save lldp.json of each device beside its configuration")]
        )
    alone = ", ".join(name for name in near if name not in found)
    return found, (f"{alone}: nothing says what they are joined with: left out",)


def fabrics(near: Mapping[str, set[str]]) -> list[list[str]]:
    """Switches that are joined, each set in the order of their names."""
    left, found = dict.fromkeys(near), list[list[str]]()
    while left:
        reached, edge = set[str](), {next(iter(left))}
        while edge:
            reached |= edge
            edge = {far for one in edge for far in near[one]} - reached
        found.append([one for one in left if one in reached])
        for one in reached:
            del left[one]
    return found


def by_role(names: list[str], role: Mapping[str, RoleName]) -> dict[RoleName, list[str]]:
    """The switches of a fabric by their role."""
    found: dict[RoleName, list[str]] = defaultdict(list)
    for name in names:
        found[role[name]].append(name)
    return found
