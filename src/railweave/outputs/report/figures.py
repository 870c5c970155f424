"""Figures that summarize a network: GPUs, servers, switches, links, oversubscription, and the groups of devices in stripes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.devices import Cable, Fabric, RoleName, Server, Switch
    from railweave.model.network.model import Network


LISTED = 4
"""The largest number of names that are all listed although they are not consecutive. Longer lists are abbreviated."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """A stripe of a fabric: its leaves, its servers in file order, and the cables from its leaves to spines.

    If one object represents several stripes, ``names`` has the names of them all.
    """

    name: str
    leaves: tuple[Switch, ...]
    servers: tuple[Server, ...]
    uplinks: tuple[Cable, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """The totals of a network or of one fabric.

    - ``oversubscription``: the oversubscription of the worst leaf; None if there are no spines.
    - ``fabric_links``: the number of links between leaves and spines.
    - ``upper_links``: the number of links between spines and the tier above.
    - ``long_links``: the number of links between sites.
    - ``dci``: the number of interconnect routers.
    - ``colors``: the largest number of path colors (classes of uplinks) in a fabric.
    """

    gpus: int
    servers: int
    leaves: int
    spines: int
    super_spines: int
    server_links: int
    fabric_links: int
    upper_links: int
    colors: int
    oversubscription: float | None
    dci: int = 0
    long_links: int = 0


def figures(network: Network, fabric: Fabric | None = None) -> Figures:
    """Return the totals of the whole network, or only of ``fabric`` if it is given.

    The number of colors is not added up: it is the largest number of path colors (classes of uplinks) in a fabric.
    """
    fabrics = network.fabrics if fabric is None else (fabric,)
    names = {fabric.name for fabric in fabrics}
    servers = [server for server in network.servers if any(nic.fabric in names for nic in server.nics)]
    switches = [switch for switch in network.switches if switch.fabric in names]
    cables = [cable for cable in network.cables if cable.fabric in names]
    count = Counter[str](switch.role for switch in switches)
    leaves = {switch.name for switch in switches if switch.role == "leaf"}
    long = [cable for cable in cables if network.between_sites(cable)]
    cables = [cable for cable in cables if not network.between_sites(cable)]
    lower = Counter(cable.a.device in leaves for cable in cables if cable.kind == "fabric")
    return Figures(
        gpus=gpus(servers),
        servers=len(servers),
        leaves=count["leaf"],
        spines=count["spine"],
        super_spines=count["super-spine"],
        server_links=sum(cable.kind == "server" for cable in cables),
        fabric_links=lower[True],
        upper_links=lower[False],
        colors=max((len(fabric.colors) for fabric in fabrics), default=0),
        oversubscription=oversubscription(cables),
        dci=count["dci"],
        long_links=len(long),
    )


def roles(network: Network, fabric: Fabric) -> list[RoleName]:
    """Return the roles of a fabric's switches, leaves first."""
    return list(dict.fromkeys(switch.role for switch in network.switches if switch.fabric == fabric.name))


def switches_of(network: Network, fabric: Fabric, role: RoleName) -> list[Switch]:
    """Return the switches of a fabric that have a role."""
    return [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == role]


def port_planes(network: Network, fabric: Fabric) -> list[str]:
    """Return the names of the planes of a fabric in which each NIC port has its own plane.

    Return an empty list for all other fabrics, including fabrics with a plane per rail.
    """
    if not fabric.adapters:
        return []
    return list(dict.fromkeys(leaf.plane for leaf in switches_of(network, fabric, "leaf") if leaf.plane))


def models_of(network: Network, fabric: Fabric, role: RoleName) -> list[str]:
    """Return the switch models of a role in a fabric, in the order of the switches."""
    return list(dict.fromkeys(switch.model for switch in switches_of(network, fabric, role)))


def plural(role: str) -> str:
    """Return the plural of a role: ``leaves``, ``spines``, ``super-spines`` or ``routers between sites``."""
    return {"leaf": "leaves", "dci": "routers between sites"}.get(role, f"{role}s")


def gpus(servers: Sequence[Server]) -> int:
    """Return the total number of GPUs of ``servers``, by their models in the catalog.

    A server whose model is not in the catalog counts one GPU for each NIC.
    """
    models = catalog().servers
    return sum(models[server.model].gpus if server.model in models else len(server.nics) for server in servers)


def oversubscription(cables: Sequence[Cable]) -> float | None:
    """Return the highest ratio of server bandwidth to uplink bandwidth among leaves, or None if no leaf has uplinks."""
    down: dict[str, int] = {}
    up: dict[str, int] = {}
    for cable in cables:
        if cable.kind == "server":
            down[cable.b.device] = down.get(cable.b.device, 0) + cable.speed_gbps
        else:
            up[cable.a.device] = up.get(cable.a.device, 0) + cable.speed_gbps
    return max((down.get(leaf, 0) / capacity for leaf, capacity in up.items() if capacity), default=None)


def stripes(network: Network, fabric: Fabric) -> list[Stripe]:
    """Return the stripes (groups of leaves) of a fabric in the order of leaf numbers, with their leaves, servers and uplinks."""
    leaves: dict[str, list[Switch]] = {}
    for switch in network.switches:
        if switch.fabric == fabric.name and switch.role == "leaf":
            leaves.setdefault(switch.stripe, []).append(switch)
    servers: dict[str, list[Server]] = {}
    for server in network.servers:
        home = next((nic.stripe for nic in server.nics if nic.fabric == fabric.name), None)
        if home is not None:
            servers.setdefault(home, []).append(server)
    return [
        Stripe(
            name=name,
            leaves=tuple(members),
            servers=tuple(servers.get(name, ())),
            uplinks=tuple(
                c
                for leaf in members
                for c in network.cables_of(leaf.name)
                if c.kind == "fabric" and not network.between_sites(c)
            ),
        )
        for name, members in leaves.items()
    ]


def span(names: Sequence[str]) -> str:
    """Return a short form of an ordered list of names.

    - If the names are consecutive, it has the first and the last name.
    - Otherwise, up to ``LISTED`` names are all listed.
    - Of more names, it has the first two, the last one and the count.

    Without names it is ``none``.
    """
    if not names:
        return "none"
    if len(names) == 1:
        return names[0]
    if _consecutive(names):
        return f"{names[0]} … {names[-1]}"
    if len(names) <= LISTED:
        return ", ".join(names)
    return f"{names[0]}, {names[1]}, … {names[-1]} ({len(names):,} in all)"


def _consecutive(names: Sequence[str]) -> bool:
    """Return True if names differ only in their numbers, and the numbers count up without gaps.

    If names have several numbers, the last one counts up fastest: ``a1-1``, ``a1-2``, ``a2-1``, ``a2-2``.
    """
    if len({re.sub(r"\d+", "0", name) for name in names}) > 1:
        return False
    numbers = [[int(digits) for digits in re.findall(r"\d+", name)] for name in names]
    lowest, highest = [list(map(edge, zip(*numbers, strict=True))) for edge in (min, max)]
    for before, after in pairwise(numbers):
        expected, place = list(before), len(before) - 1
        while place >= 0 and expected[place] == highest[place]:
            expected[place] = lowest[place]
            place -= 1
        if place < 0:
            return False
        expected[place] += 1
        if after != expected:
            return False
    return True


def rail_label(rails: Sequence[int]) -> str:
    """Return a label such as ``rail 3`` or ``rails 1–2``."""
    return f"rail {rails[0]}" if len(rails) == 1 else f"rails {rails[0]}–{rails[-1]}"


def subscription_word(ratio: float | None) -> str:
    """Return the word for a ratio of server bandwidth to uplink bandwidth: "undersubscribed" below 1, otherwise "oversubscription"."""
    return "undersubscribed" if ratio is not None and ratio < 1 else "oversubscription"
