"""What was chosen for a fabric, and why, in the order in which design decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.device.color_form import path_color_form
from railweave.outputs.report.cable_lengths import cable_lengths_decision
from railweave.outputs.report.decisions.addressing import addressing_decision
from railweave.outputs.report.decisions.bgp import bgp_decision
from railweave.outputs.report.decisions.isis import isis_decision
from railweave.outputs.report.decisions.long_links import long_links_decisions
from railweave.outputs.report.decisions.qos import qos_decisions
from railweave.outputs.report.decisions.shape import ports_decision, topology_decision
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.decisions.tenants import tenant_decisions
from railweave.outputs.report.figures import LISTED, span, switches_of

if TYPE_CHECKING:
    from railweave.model.device.policy import Form
    from railweave.model.intent.balancing import Mode
    from railweave.model.network.devices import Cable, Switch
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network

MODES: dict[Mode, tuple[str, str]] = {
    "ecmp": (
        "static hash (ECMP): a flow stays on the uplink that a hash of its header chooses",
        "Works everywhere and keeps packets in order; few large RDMA flows may collide on one uplink.",
    ),
    "dlb-flowlet": (
        "dynamic load balancing by flowlet: after a pause a flow may move to a less loaded uplink",
        "Reacts to load and keeps packets in order where flows pause; RDMA flows seldom do.",
    ),
    "dlb-per-packet": (
        "dynamic load balancing per packet: every packet takes the least loaded uplink",
        "Fills uplinks evenly; NICs must accept packets out of order.",
    ),
    "spray": (
        "random spraying: every packet takes a random uplink",
        "Fills uplinks evenly and keeps no state; NICs must accept packets out of order.",
    ),
    "rlb": (
        "RDMA-aware (RLB): every queue pair of a connection has a path color, and so an uplink, of its own",
        (
            "RDMA flows are few, large and known before they start, so they are placed, not hashed: "
            "no collisions, and packets stay in order."
        ),
    ),
}
"""Each load-balancing mode: what it does, and what speaks for and against it."""

INSIDE = {
    "ecmp": "inside it ({uplinks}) flows are spread by a static hash and can collide.",
    "dlb-flowlet": "inside it ({uplinks}) flows are spread by {mode} and can collide.",
    "dlb-per-packet": "inside it ({uplinks}) packets are spread by {mode}, and NICs must accept them out of order.",
    "spray": "inside it ({uplinks}) packets are sprayed, and NICs must accept them out of order.",
}
"""What happens inside a path color that has several uplinks, by the mode of next-hop groups."""

PATH_COLOR: dict[Form, str] = {
    "none": "not at all",
    "dpf": "by BGP deterministic path forwarding (fabric-color, fabric-advertise)",
    "aigp": "by large communities and AIGP",
    "local-preference": "by large communities and local preference",
}
"""How switches carry path colors, by the form that all of a fabric's have."""


def decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Every decision about a fabric."""
    routing = isis_decision if fabric.underlay.protocol == "isis" else bgp_decision
    made = [topology_decision, ports_decision, addressing_decision, routing, _colors, _balancing]
    found = [decide(network, fabric) for decide in made]
    found += [*tenant_decisions(network, fabric), *long_links_decisions(network, fabric)]
    lengths = cable_lengths_decision(network, fabric)
    return [*found, *qos_decisions(network, fabric), *([lengths] if lengths else [])]


def _colors(network: Network, fabric: Fabric) -> Decision:
    if not fabric.colors:
        return Decision(
            "Path colors",
            "none",
            f"Load balancing is {fabric.load_balancing.mode}; traffic is spread over all uplinks alike.",
        )
    uplinks, spines = _uplinks_by_color(network, fabric), _spines_by_color(network, fabric)
    rows = tuple(
        (
            color.name,
            f"color:0:{color.number}",
            str(len(uplinks.get(color.index, []))),
            spines.get(color.index, "none"),
        )
        for color in fabric.colors
    )
    return Decision(
        "Path colors",
        f"{counted(len(fabric.colors), 'path color')}, and an address of every NIC in each",
        "A server chooses an uplink by the address it sends to: each address of a NIC belongs to one path color, "
        "and so does each uplink.",
        (("Carried", _carried(network, fabric)),),
        (Grid(("Path color", "Community", "Uplinks per leaf", "Spines"), rows),),
    )


def _carried(network: Network, fabric: Fabric) -> str:
    """How path colors are carried, and by which releases."""
    systems = sorted(network.systems_of(fabric.name))
    names = ", ".join(f"{nos} {release}" for nos, release in systems)
    return f"{PATH_COLOR[path_color_form(fabric, systems)]}; switches run {names}"


def _uplinks_by_color(network: Network, fabric: Fabric) -> dict[int, list[Cable]]:
    """The uplinks of the first leaf by path color."""
    leaf = next(iter(switches_of(network, fabric, "leaf")), None)
    return _colored(network, leaf) if leaf else {}


def _colored(network: Network, leaf: Switch) -> dict[int, list[Cable]]:
    """The uplinks of a leaf by path color."""
    uplinks: dict[int, list[Cable]] = {}
    for cable in network.cables_of(leaf.name):
        if cable.kind == "fabric" and cable.color is not None:
            uplinks.setdefault(cable.color, []).append(cable)
    return uplinks


def _spines_by_color(network: Network, fabric: Fabric) -> dict[int, str]:
    """The spines of each path color, in words: those of every plane or pod, as its first leaf has them."""
    first: dict[tuple[str, str], Switch] = {}
    for leaf in switches_of(network, fabric, "leaf"):
        first.setdefault((leaf.pod, leaf.plane), leaf)
    spines: dict[int, list[str]] = {}
    for leaf in first.values():
        for color, cables in _colored(network, leaf).items():
            spines.setdefault(color, []).append(span(list(dict.fromkeys(cable.b.device for cable in cables))))
    # Spines of two planes do not follow each other, though their names count on.
    return {color: ", ".join(found) if len(found) <= LISTED else span(found) for color, found in spines.items()}


def _balancing(network: Network, fabric: Fabric) -> Decision:
    balancing = fabric.load_balancing
    chosen, why = MODES[balancing.mode]
    wide = max((len(one) for one in _uplinks_by_color(network, fabric).values()), default=0)
    if balancing.mode == "rlb" and wide > 1:
        within = balancing.group_mode()
        chosen = "RDMA-aware (RLB): every queue pair of a connection has a path color"
        why = f"RDMA flows are few, large and known before they start, so each is placed on a color; {INSIDE[within]}"
        why = why.format(uplinks=f"{wide} uplinks", mode=within)
    facts: list[tuple[str, str]] = []
    if balancing.spray_opcodes:
        chosen = f"random spraying of packets with RDMA opcode {', '.join(map(str, balancing.spray_opcodes))}; others by flow"
        why = "Only writes that carry their own address may arrive in any order; acknowledgements and the rest keep theirs."
    group = balancing.group_mode()
    if balancing.mode == "rlb":
        facts.append(("Within a color", f"{group}: {MODES[group][0].partition(': ')[2]}"))
    if group.startswith("dlb"):
        dlb, bands = balancing.dlb, balancing.dlb.egress_quantization
        facts += [
            (
                "Flowlets",
                f"may move after {dlb.inactivity_interval:g} µs idle; {dlb.flowset_table_size} flowsets per group",
            ),
            (
                "Port quality",
                f"bands from {bands.min} to {bands.max} % load, rate weighs {bands.rate_weightage} %, {dlb.sampling_rate:,} samples/s",
            ),
            ("Reactive rebalancing", "on" if dlb.reassignment else "off"),
        ]
    if balancing.profile:
        facts.append(("Values", f"profile {balancing.profile} (docs/profiles.md)"))
    if balancing.selective:
        opcodes = ", ".join(map(str, balancing.selective.opcodes))
        facts.append(("Selective", f"RDMA packets of opcodes {opcodes}; all others keep the static hash"))
    if balancing.global_balancing:
        facts.append(("Global", "leaves count in how loaded the spines' links are; spines tell them"))
    seed = "the switch's default" if balancing.hash.seed is None else balancing.hash.seed
    layers = [
        name for name, used in (("addresses", balancing.hash.layer3), ("UDP ports", balancing.hash.layer4)) if used
    ]
    facts.append(
        (
            "Hash",
            f"{' and '.join(layers) or 'nothing'}, seed {seed}",
        )
    )
    facts.append(("Fast reroute", "next-hop groups are repaired in hardware" if balancing.fast_reroute else "off"))
    return Decision("Load balancing", chosen, why, tuple(facts))
