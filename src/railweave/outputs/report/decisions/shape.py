"""Decisions about the shape of a fabric: its tiers, and which ports they use."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import (
    figures,
    models_of,
    plural,
    port_planes,
    rail_label,
    roles,
    span,
    stripes,
    switches_of,
)

if TYPE_CHECKING:
    from railweave.model.network.devices import Switch
    from railweave.model.network.fabric import Fabric, RoleName
    from railweave.model.network.model import Network
    from railweave.outputs.report.figures import Figures


def topology_decision(network: Network, fabric: Fabric) -> Decision:
    """The tiers, what is oversubscribed, and which servers are in which stripe."""
    sums, groups = figures(network, fabric), stripes(network, fabric)
    leaves = switches_of(network, fabric, "leaf")
    per_stripe = max((len(group.leaves) for group in groups), default=0)
    planes = port_planes(network, fabric)
    chosen = f"rail-optimised, {counted(len(planes), 'plane')}, " if planes else "rail-optimised, "
    chosen += f"{counted(len(groups), 'stripe')} of {counted(per_stripe, 'leaf', 'leaves')}"
    facts = _planes(fabric, planes)
    if leaves:
        facts.append(
            (
                "Rails",
                ", ".join(
                    f"{leaf.name} serves {rail_label(leaf.rails)}" for leaf in dict.fromkeys((leaves[0], leaves[-1]))
                ),
            )
        )
    if sums.spines:
        chosen += f", {counted(sums.spines, 'spine')}"
        facts.append(("Uplinks", _uplinks(network, leaves)))
    if sums.super_spines:
        chosen += f", {counted(sums.super_spines, 'super-spine')}"
    if fabric.interconnect:
        sites = ", ".join(f"{site}: {', '.join(here)}" for site, here in fabric.interconnect.sites.items())
        facts.append(("Sites", sites))
        chosen += f", {counted(sums.dci, 'router between sites', 'routers between sites')}" if sums.dci else ""
    if sums.oversubscription is not None:
        less = ", undersubscribed: more bandwidth to spines than to servers" if sums.oversubscription < 1 else ""
        facts.append(("Oversubscription", f"{sums.oversubscription:.2f}:1 on the fullest leaf{less}"))
    present = {(one.role, f"{one.nos} {one.release}") for one in network.switches if one.fabric == fabric.name}
    facts.append(("Software", ", ".join(f"{system} on {plural(role)}" for role, system in sorted(present))))
    rows = tuple(
        (g.name, str(len(g.leaves)), str(len(g.servers)), span([s.name for s in g.servers])) for g in groups[:32]
    )
    if len(groups) > len(rows):
        rows += ((f"{len(groups) - len(rows)} more", "", "", ""),)
    return Decision(
        "Topology",
        chosen,
        _ways(network, sums, leaves, of_ports=bool(planes)),
        tuple(facts),
        (Grid(("Stripe", "Leaves", "Servers", "Names"), rows),),
    )


def _planes(fabric: Fabric, planes: list[str]) -> list[tuple[str, str]]:
    """Which ports of NICs, and so which rails, each plane has."""
    each = fabric.adapters or 0
    words = [
        f"{name} has port {place} of every NIC, {rail_label(range((place - 1) * each + 1, place * each + 1))}"
        for place, name in enumerate(planes, 1)
    ]
    return [("Planes", "; ".join(words))] if words else []


def _ways(network: Network, sums: Figures, leaves: list[Switch], *, of_ports: bool) -> str:
    """Which traffic crosses one switch, and what the rest crosses. ``of_ports``: each port of a NIC is in a plane of its own."""
    if not of_ports:
        return (
            "NIC r of every server of a stripe is on that stripe's leaf of rail r: traffic within a rail of a stripe "
            f"crosses one switch.{_rest(network, sums, leaves)}"
        )
    return (
        "Each port of a NIC has a plane of its own: leaves and spines that no link joins to those of another plane. "
        "Inside a plane, traffic within a rail of a stripe crosses one switch"
        + (", and everything else crosses one spine. " if sums.spines else ". ")
        + "A port has no path to a port of another plane: NCCL and RCCL send a part of every message by each port of a NIC."
    )


def _spines_of(network: Network, leaf: Switch) -> Counter[str]:
    """The spines that a leaf has uplinks to, with how many."""
    return Counter(cable.b.device for cable in network.cables_of(leaf.name) if cable.kind == "fabric")


def _uplinks(network: Network, leaves: list[Switch]) -> str:
    found = max((_spines_of(network, leaf) for leaf in leaves), key=Counter[str].total, default=Counter[str]())
    return f"{found.total()} per leaf, {max(found.values(), default=0)} to each of {counted(len(found), 'spine')}"


def _rest(network: Network, sums: Figures, leaves: list[Switch]) -> str:
    """What traffic that leaves its leaf crosses."""
    if not sums.spines:
        return " Between sites it crosses a long link, from leaf to leaf." if sums.long_links else ""
    if sums.dci:
        return " Everything else crosses one spine inside a site, and between sites a spine and a router of each."
    if sums.super_spines:
        return " Everything else crosses one spine, or two spines and a super-spine between them."
    mine: dict[tuple[int, ...], set[str]] = {}
    for leaf in leaves:
        mine.setdefault(leaf.rails, set()).update(_spines_of(network, leaf))
    if len(mine) > 1 and not set[str].intersection(*mine.values()):
        return (
            " Each rail has spines of its own: other stripes are one spine away, other rails have no path in the "
            "network, so servers change rails inside (NVLink, PXN)."
        )
    return " Everything else crosses one spine."


def ports_decision(network: Network, fabric: Fabric) -> Decision:
    """The ports that each tier uses towards the next."""
    rows: list[tuple[str, ...]] = []
    present = roles(network, fabric)
    kinds: list[tuple[RoleName, str]] = [(role, name) for role in present for name in models_of(network, fabric, role)]
    for role, name in kinds:
        place = present.index(role)
        devices = [one for one in switches_of(network, fabric, role) if one.model == name]
        model = catalog().switches.get(name)
        # Devices of a role and model are cabled alike; the one with most cables shows every port that is in use.
        device = max(devices, key=lambda one: len(network.cables_of(one.name)))
        cables = network.cables_of(device.name)
        total = sum(group.count for group in model.ports) if model else 0
        near = [c for c in cables if c.kind == "fabric" and not network.between_sites(c)]
        far = [c for c in cables if network.between_sites(c)]
        for label, chosen in (
            ("servers", [c.b for c in cables if c.kind == "server"]),
            (plural(present[place - 1]), [c.b for c in near if c.b.device == device.name]),
            (plural((*present, "")[place + 1]), [c.a for c in near if c.a.device == device.name]),
            ("other sites", [c.a if c.a.device == device.name else c.b for c in far]),
        ):
            if chosen:
                ordered = sorted(chosen, key=lambda end: (end.physical or 0, end.channel or 0))
                used = {end.physical for end in ordered}
                rows.append(
                    (
                        device.name,
                        label,
                        str(len(ordered)),
                        span([end.port for end in ordered]),
                        f"{len(used)} of {total}",
                    )
                )
    leaves, spines = (models_of(network, fabric, role) for role in ("leaf", "spine"))
    spine = f", {' and '.join(spines)} as spine" if spines != leaves else " and spine"
    alike = "Each leaf" if len(leaves) == 1 else "Each leaf of a model"
    return Decision(
        "Ports",
        f"{' and '.join(leaves or [fabric.leaf.model])} as leaf" + (spine if spines else ""),
        f"{alike} uses the same ports for the same neighbors, so one cabling plan fits every rack; the number that a "
        "server or spine was allocated decides the port, and adding one moves no other.",
        grids=(Grid(("Fullest device", "Towards", "Cables", "Ports", "Cages used"), tuple(rows)),),
    )
