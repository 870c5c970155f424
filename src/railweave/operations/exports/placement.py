"""The places of GPU servers in a network, as schedulers need them: pods, stripes and NVLink domains."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.network.nvlink import nvlink_domains

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.model.network.model import Network

LEVELS = ("fabric", "site", "pod", "stripe")
"""The levels of a network, the widest first. Servers of one stripe reach each other through their leaves only."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of a GPU server in the network.

    - ``fabric``: the fabric of its GPUs' NICs.
    - ``pod``: its pod, or an empty string in a network without super-spines.
    - ``domain``: its NVLink domain, or an empty string if NVLink ends at the server.
    - ``gpu`` and ``vendor``: the GPU model and its vendor, such as ``H100`` and ``NVIDIA``.
    - ``status``: ``drained`` or ``failed`` if the fabric file marks the server so under ``status:``, or an empty string.
    """

    server: str
    fabric: str
    site: str
    pod: str
    stripe: str
    domain: str
    gpus: int
    gpu: str
    vendor: str
    status: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of servers at one level of the network, such as a stripe. It has either smaller groups or servers.

    ``name`` is unique among all groups of a network.
    """

    name: str
    level: str
    groups: tuple[Group, ...] = ()
    servers: tuple[str, ...] = ()


def placements(network: Network) -> list[Placement]:
    """Return the placement of each GPU server, in the network's order.

    Left out are servers that are only planned, and servers without a NIC that belongs to a GPU. Raises ``InputError`` if no server
    is left.
    """
    fabrics = {fabric.name for fabric in network.fabrics if fabric.nics == "gpu"}
    pods = {(switch.fabric, switch.stripe): switch.pod for switch in network.switches if switch.role == "leaf"}
    domains = nvlink_domains(network)
    statuses = {part.name: part.status for part in network.not_active}
    result: list[Placement] = []
    for server in network.servers:
        nic = next((nic for nic in server.nics if nic.fabric in fabrics), None)
        model = network.catalog.servers.get(server.model)
        if nic is None or model is None or not model.gpus or statuses.get(server.name) == "planned":
            continue
        status = statuses.get(server.name, "")
        result.append(
            Placement(
                server.name,
                nic.fabric,
                server.site,
                pods.get((nic.fabric, nic.stripe), ""),
                nic.stripe,
                domains.get(server.name, ""),
                model.gpus,
                model.gpu,
                model.gpu_vendor,
                "drained" if status == "draining" else status,
            )
        )
    if not result:
        fix = "export a fabric with `nics: gpu`, and do not mark all of its servers planned under `status:`"
        raise InputError([Problem(NetworkPart(network.name), "has no server with a NIC that belongs to a GPU", fix)])
    return result


def used_levels(places: Sequence[Placement]) -> list[str]:
    """Return the levels of ``LEVELS`` that divide the servers, the widest first: always the stripe, and each wider level that has fewer groups than the next.

    Of several levels with the same groups the widest is used: without super-spines, fabrics divide the servers and pods have no names.
    """
    used: list[str] = []
    most = 1
    for depth, level in enumerate(LEVELS, 1):
        groups = {tuple(getattr(place, wider) for wider in LEVELS[:depth]) for place in places}
        if len(groups) > most:
            used.append(level)
            most = len(groups)
    if LEVELS[-1] not in used:
        used[-1:] = [LEVELS[-1]]
    return used


def tree(network: Network, places: Sequence[Placement]) -> list[Group]:
    """Return the groups of the widest level, each with its smaller groups: one for each fabric of GPUs, because fabrics have no path to each other.

    A group has the name that the design gives it. If several groups have the name, that of the fabric or site is put before it.
    """
    levels = [level for level in used_levels(places) if level != "fabric"]
    fabrics = list(dict.fromkeys(place.fabric for place in places))
    keys = {
        tuple(getattr(place, level) for level in LEVELS[: LEVELS.index(deep) + 1])
        for place in places
        for deep in levels
    }
    common = {name for name, count in Counter(key[-1] for key in keys).items() if count > 1}

    def name_of(place: Placement, level: str) -> str:
        name = getattr(place, level)
        wider = [place.fabric] * (len(fabrics) > 1) + [place.site] * (level != "site" and "site" in levels)
        return "-".join([*wider, name]) if name in common else name

    def divided(members: Sequence[Placement], remaining: Sequence[str]) -> tuple[Group, ...]:
        level, *narrower = remaining
        if narrower and not any(
            getattr(place, level) for place in members
        ):  # such as pods, which only another fabric has
            return divided(members, narrower)
        by_value: dict[str, list[Placement]] = {}
        for place in members:
            by_value.setdefault(getattr(place, level), []).append(place)
        return tuple(
            Group(name_of(group[0], level), level, groups=divided(group, narrower))
            if narrower
            else Group(name_of(group[0], level), level, servers=tuple(place.server for place in group))
            for group in by_value.values()
        )

    result: list[Group] = []
    for fabric in fabrics:
        groups = divided([place for place in places if place.fabric == fabric], levels)
        name = fabric if len(fabrics) > 1 else network.name
        taken = {group.name for group in walk(groups)} | {group.name for group in walk(result)}
        while name in taken:  # the network has the name of a stripe
            name = f"{name}-network"
        result.append(Group(name, "fabric", groups=groups))
    return result


def walk(groups: Iterable[Group]) -> Iterator[Group]:
    """Yield every group, each before the groups inside it."""
    for group in groups:
        yield group
        yield from walk(group.groups)
