"""Decisions about a fabric, in the order of the design: topology, ports, routing, path colors (classes of uplinks), tenants."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.config.naming import target_value
from railweave.model.device.build import device_config
from railweave.model.device.policy import Form, path_color_form
from railweave.outputs.report import figures
from railweave.outputs.report.decisions.addressing import addressing_decision
from railweave.outputs.report.decisions.qos import cable_lengths_decision, long_links_decisions, qos_decisions
from railweave.outputs.report.decisions.statement import Decision, Grid

if TYPE_CHECKING:
    from railweave.model.intent.balancing import Mode
    from railweave.model.network.devices import Cable, Fabric, RoleName, Switch
    from railweave.model.network.model import Network
    from railweave.outputs.report.figures import Figures


def isis_decision(network: Network, fabric: Fabric) -> Decision:
    """Return the decision about IS-IS: area, metric, advertised prefixes, and detection of silent neighbors."""
    wanted, bfd = fabric.underlay.isis, fabric.underlay.bfd
    links = sum(cable.fabric == fabric.name and cable.kind == "fabric" for cable in network.cables)
    facts = [
        ("Area", f"{wanted.area}, level 2 only, wide metrics; {wanted.metric} on each of {counted(links, 'link')}"),
        (
            "Prefixes",
            "server ports and loopbacks are passive: they are advertised, and no neighbor is looked for there",
        ),
        ("Authentication", "of hellos and the database, by a key" if wanted.key else "none"),
    ]
    if bfd.enabled:
        silent = f"a silent neighbor is down after {bfd.detection_ms():,} ms"
        facts.append(("BFD", f"{bfd.minimum_interval} ms x {bfd.multiplier}: {silent}"))
    return Decision(
        "Routing",
        "IS-IS, an address pair per link",
        "Every switch knows every link and takes all shortest paths; there are no policies to get wrong, and none that keep a "
        "switch from carrying others' traffic when links fail.",
        tuple(facts),
    )


def tenant_decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Return the decision about tenants, as a list; empty if the fabric has no overlay."""
    overlay = fabric.overlay
    if overlay is None:
        return []
    owners = [
        (nic.tenant, nic.leaf, server.name)
        for server in network.servers
        for nic in server.nics
        if nic.fabric == fabric.name
    ]
    nics = Counter(tenant for tenant, _, _ in owners)
    rows = tuple(
        (
            tenant.name,
            str(tenant.vni),
            target_value(tenant.route_target),
            str(nics[tenant.name]),
            figures.span(list(dict.fromkeys(server for name, _, server in owners if name == tenant.name))),
            figures.span(list(dict.fromkeys(leaf for name, leaf, _ in owners if name == tenant.name))),
        )
        for tenant in fabric.tenants
    )
    bfd = overlay.bfd
    facts = [
        ("Tunnels", f"VXLAN over {'IPv6' if overlay.vtep == 'ipv6' else 'IPv4'}, from leaf to leaf"),
        (
            "Overlay sessions",
            "EBGP from loopback to loopback; spines pass routes on with the next hop unchanged"
            + (f"; BFD {bfd.minimum_interval} ms x {bfd.multiplier}" if bfd.enabled else ""),
        ),
    ]
    if nics[""]:
        facts.append(("Waiting", f"{counted(nics[''], 'NIC')} in no tenant: ports shut, no addresses"))
    return [
        Decision(
            "Tenants",
            f"{counted(len(fabric.tenants), 'tenant')}, each in a VRF of its own on the leaves that have its NICs",
            "Leaves advertise a VRF's prefixes as EVPN type-5 routes with the tenant's route target and take in "
            f"{_taken_in(fabric)}; spines know loopbacks only.",
            tuple(facts),
            (Grid(("Tenant", "VNI", "Route target", "NICs", "Servers", "Leaves"), rows),),
        )
    ]


def _taken_in(fabric: Fabric) -> str:
    """Return a phrase about the prefixes that VRFs import from other tenants: those allowed by ``leaks`` in the fabric file, or none."""
    leaks = [f"{tenant.name} and {', '.join(tenant.leaks)}" for tenant in fabric.tenants if tenant.leaks]
    if not leaks:
        return "no others, so no tenant has a route to another's NICs"
    return f"no others but where the file lets tenants reach each other (`leaks`): {'; '.join(leaks)}"


def bgp_decision(network: Network, fabric: Fabric) -> Decision:
    """Return the decision about BGP: AS numbers, prevention of transit through leaves, width of next-hop groups, detection of silent neighbors."""
    underlay, bfd = fabric.underlay, fabric.underlay.bfd
    facts: list[tuple[str, str]] = []
    pools: dict[str, tuple[int, int]] = {"leaf": fabric.leaf_asns, "spine": fabric.spine_asns}
    for role in figures.roles(network, fabric):
        used = [switch.asn for switch in figures.switches_of(network, fabric, role)]
        pool = f", from the pool {pools[role][0]} to {pools[role][1]}" if role in pools else ""
        facts.append((f"AS numbers, {role}", f"{min(used)} to {max(used)}{pool}"))
    if bfd.enabled:
        facts.append(
            (
                "BFD",
                f"{bfd.minimum_interval} ms x {bfd.multiplier}: a silent neighbor is down after {bfd.detection_ms():,} ms",
            )
        )
    else:
        facts.append(("BFD", "off: a silent neighbor is noticed by BGP's hold timer, or by loss of light"))
    facts += _guards(fabric)
    facts.append(("ECMP width", _widths(network, fabric)))
    prefixes = sum(len(segment.subnets) for segment in network.segments if segment.fabric == fabric.name)
    facts.append(
        (
            "Routes",
            f"every switch holds up to {counted(prefixes, 'server prefix', 'server prefixes')}{_limits(network, fabric)}",
        )
    )
    numbered = underlay.peering == "numbered"
    return Decision(
        "Routing",
        "eBGP with an AS number per switch, "
        + ("an address pair per link" if numbered else "neighbors found by IPv6 neighbor discovery"),
        "Each leaf advertises its own prefixes alone (policy term no-transit), and what a spine has sent down carries a "
        "community that no spine takes back, so paths go up and down once: BGP's loop check would let a path "
        "leaf-spine-leaf-spine-leaf pass. An AS number per switch shows in every route which switches it crossed; "
        + (
            "addresses on links can be monitored one by one."
            if numbered
            else "links need no addresses. A cable in the wrong port comes up all the same"
            + (", with the wrong path color" if fabric.colors else "")
            + ": LLDP, and the AS numbers in the runbook's table of sessions, show it."
        ),
        tuple(facts),
    )


def _guards(fabric: Fabric) -> list[tuple[str, str]]:
    """Return the enabled options that protect BGP sessions, or keep routes while a session restarts, as (title, explanation)."""
    underlay = fabric.underlay
    facts: list[tuple[str, str]] = []
    if underlay.graceful_restart:
        text = "routes stay in use while a neighbor's BGP restarts, unless BFD says that its forwarding is gone too"
        facts.append(("Graceful restart", text))
    if underlay.ttl_security:
        facts.append(("Hop limit", "sessions on links take packets with 255 only: nobody further away can forge them"))
    if underlay.authentication:
        name = (
            "TCP MD5" if underlay.authentication.algorithm == "md5" else f"TCP-AO, {underlay.authentication.algorithm}"
        )
        facts.append(("Authentication", f"{name}, by a key that is a secret"))
    return facts


def _limits(network: Network, fabric: Fabric) -> str:
    """Return the route table sizes of the fabric's switch models, as text to append to a sentence.

    If the catalog has none of them, the text says so.
    """
    there = dict.fromkeys(
        model for role in figures.roles(network, fabric) for model in figures.models_of(network, fabric, role)
    )
    models = {model: catalog().switches.get(model) for model in there}
    known = [
        f"{name} {switch_model.limits.ipv6_routes:,}"
        for name, switch_model in models.items()
        if switch_model and switch_model.limits.ipv6_routes
    ]
    return (
        f"; room for {', '.join(known)}" if known else f"; the catalog has no route table size for {', '.join(models)}"
    )


def _widths(network: Network, fabric: Fabric) -> str:
    """Return a sentence with the configured maximum width of next-hop groups for each role. The first switch of a role is the example."""
    firsts = {role: figures.switches_of(network, fabric, role)[0] for role in figures.roles(network, fabric)}
    widths = {role: device_config(network, switch.name).maximum_ecmp() for role, switch in firsts.items()}
    given = (
        "maximum_ecmp of the fabric file"
        if fabric.underlay.maximum_ecmp
        else "the least setting that holds the uplinks"
    )
    shown = ", ".join(f"{figures.plural(role)} {width}" for role, width in widths.items())
    return f"next-hop groups of up to so many members: {shown} ({given})"


def topology_decision(network: Network, fabric: Fabric) -> Decision:
    """Return the decision about the topology: tiers, oversubscription, and the servers of each stripe (group of leaves)."""
    sums, groups = figures.figures(network, fabric), figures.stripes(network, fabric)
    leaves = figures.switches_of(network, fabric, "leaf")
    per_stripe = max((len(group.leaves) for group in groups), default=0)
    planes = figures.port_planes(network, fabric)
    chosen = f"rail-optimised, {counted(len(planes), 'plane')}, " if planes else "rail-optimised, "
    chosen += f"{counted(len(groups), 'stripe')} of {counted(per_stripe, 'leaf', 'leaves')}"
    facts = _planes(fabric, planes)
    if leaves:
        facts.append(
            (
                "Rails",
                ", ".join(
                    f"{leaf.name} serves {figures.rail_label(leaf.rails)}"
                    for leaf in dict.fromkeys((leaves[0], leaves[-1]))
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
    present = {
        (switch.role, f"{switch.nos} {switch.release}") for switch in network.switches if switch.fabric == fabric.name
    }
    facts.append(("Software", ", ".join(f"{system} on {figures.plural(role)}" for role, system in sorted(present))))
    rows = tuple(
        (g.name, str(len(g.leaves)), str(len(g.servers)), figures.span([s.name for s in g.servers]))
        for g in groups[:32]
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
    """Return [(title, text)] with the NIC port and the rails of each plane. The list is empty if there are no planes.

    ``planes`` has the planes' names, in the order of NIC ports.
    """
    each = fabric.adapters or 0
    words = [
        f"{name} has port {place} of every NIC, {figures.rail_label(range((place - 1) * each + 1, place * each + 1))}"
        for place, name in enumerate(planes, 1)
    ]
    return [("Planes", "; ".join(words))] if words else []


def _ways(network: Network, sums: Figures, leaves: list[Switch], *, of_ports: bool) -> str:
    """Return sentences about the traffic that crosses only one switch, and about the path of all other traffic.

    ``sums`` has the fabric's totals, and ``leaves`` has its leaves. ``of_ports`` is True if each port of a NIC has its own plane.
    """
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
    """Return the number of a leaf's uplinks to each spine, by spine."""
    return Counter(cable.b.device for cable in network.cables_of(leaf.name) if cable.kind == "fabric")


def _uplinks(network: Network, leaves: list[Switch]) -> str:
    spines = max((_spines_of(network, leaf) for leaf in leaves), key=Counter[str].total, default=Counter[str]())
    return f"{spines.total()} per leaf, {max(spines.values(), default=0)} to each of {counted(len(spines), 'spine')}"


def _rest(network: Network, sums: Figures, leaves: list[Switch]) -> str:
    """Return a sentence about the switches crossed by traffic that leaves its rail or its stripe (group of leaves).

    ``sums`` has the fabric's totals, and ``leaves`` has its leaves.
    """
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
            f"network, so servers change rails inside ({_gpu_links(network)}PXN)."
        )
    return " Everything else crosses one spine."


def _gpu_links(network: Network) -> str:
    """Return the names of the GPU interconnects inside the network's servers, such as NVLink. A comma and a blank follow each name."""
    models = [network.catalog.servers[name] for name in dict.fromkeys(server.model for server in network.servers)]
    return "".join(
        f"{name}, " for name in dict.fromkeys(model.gpu_link.name for model in models if model.gpu_link is not None)
    )


def ports_decision(network: Network, fabric: Fabric) -> Decision:
    """Return the decision about ports, with a table of the ports that each role and switch model uses towards each neighboring tier."""
    rows: list[tuple[str, ...]] = []
    present = figures.roles(network, fabric)
    kinds: list[tuple[RoleName, str]] = [
        (role, name) for role in present for name in figures.models_of(network, fabric, role)
    ]
    for role, name in kinds:
        place = present.index(role)
        devices = [switch for switch in figures.switches_of(network, fabric, role) if switch.model == name]
        model = catalog().switches.get(name)
        # Devices of the same role and model have the same cabling; the one with the most cables shows every port in use.
        device = max(devices, key=lambda candidate: len(network.cables_of(candidate.name)))
        cables = network.cables_of(device.name)
        total = sum(group.count for group in model.ports) if model else 0
        near = [c for c in cables if c.kind == "fabric" and not network.between_sites(c)]
        far = [c for c in cables if network.between_sites(c)]
        for label, chosen in (
            ("servers", [c.b for c in cables if c.kind == "server"]),
            (figures.plural(present[place - 1]), [c.b for c in near if c.b.device == device.name]),
            (figures.plural((*present, "")[place + 1]), [c.a for c in near if c.a.device == device.name]),
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
                        figures.span([end.port for end in ordered]),
                        f"{len(used)} of {total}",
                    )
                )
    leaves, spines = (figures.models_of(network, fabric, role) for role in ("leaf", "spine"))
    spine = f", {' and '.join(spines)} as spine" if spines != leaves else " and spine"
    alike = "Each leaf" if len(leaves) == 1 else "Each leaf of a model"
    return Decision(
        "Ports",
        f"{' and '.join(leaves or [fabric.leaf.model])} as leaf" + (spine if spines else ""),
        f"{alike} uses the same ports for the same neighbors, so one cabling plan fits every rack; the number that a "
        "server or spine was allocated decides the port, and adding one moves no other.",
        grids=(Grid(("Fullest device", "Towards", "Cables", "Ports", "Cages used"), tuple(rows)),),
    )


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
"""A description of each load-balancing mode: (its behavior, its advantages and disadvantages)."""

INSIDE = {
    "ecmp": "inside it ({uplinks}) flows are spread by a static hash and can collide.",
    "dlb-flowlet": "inside it ({uplinks}) flows are spread by {mode} and can collide.",
    "dlb-per-packet": "inside it ({uplinks}) packets are spread by {mode}, and NICs must accept them out of order.",
    "spray": "inside it ({uplinks}) packets are sprayed, and NICs must accept them out of order.",
}
"""A sentence on how traffic is spread inside a path color (class of uplinks) that has several uplinks, by load-balancing mode."""

PATH_COLOR: dict[Form, str] = {
    "none": "not at all",
    "dpf": "by BGP deterministic path forwarding (fabric-color, fabric-advertise)",
    "aigp": "by large communities and AIGP",
    "local-preference": "by large communities and local preference",
}
"""A phrase for each mechanism by which switches announce path colors (classes of uplinks) to each other, by the mechanism's name."""


def decisions(network: Network, fabric: Fabric) -> list[Decision]:
    """Return all decisions about a fabric."""
    routing = isis_decision if fabric.underlay.protocol == "isis" else bgp_decision
    made = [topology_decision, ports_decision, addressing_decision, routing, _colors, _balancing]
    decided = [decide(network, fabric) for decide in made]
    decided += [*tenant_decisions(network, fabric), *long_links_decisions(network, fabric)]
    lengths = cable_lengths_decision(network, fabric)
    return [*decided, *qos_decisions(network, fabric), *([lengths] if lengths else [])]


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
    """Return a phrase with the mechanism by which switches announce path colors (classes of uplinks), and with the switches' releases."""
    systems = sorted(network.systems_of(fabric.name))
    names = ", ".join(f"{nos} {release}" for nos, release in systems)
    return f"{PATH_COLOR[path_color_form(fabric, systems)]}; switches run {names}"


def _uplinks_by_color(network: Network, fabric: Fabric) -> dict[int, list[Cable]]:
    """Return the uplinks of the fabric's first leaf, by index of their path color (a class of uplinks)."""
    leaf = next(iter(figures.switches_of(network, fabric, "leaf")), None)
    return _colored(network, leaf) if leaf else {}


def _colored(network: Network, leaf: Switch) -> dict[int, list[Cable]]:
    """Return the uplinks of a leaf, by index of their path color (a class of uplinks)."""
    uplinks: dict[int, list[Cable]] = {}
    for cable in network.cables_of(leaf.name):
        if cable.kind == "fabric" and cable.color is not None:
            uplinks.setdefault(cable.color, []).append(cable)
    return uplinks


def _spines_by_color(network: Network, fabric: Fabric) -> dict[int, str]:
    """Return the names of the spines of each path color (class of uplinks), such as ``spine1 to spine4``, by index of the color.

    The first leaf of every plane or pod is the example for all leaves of that plane or pod.
    """
    first: dict[tuple[str, str], Switch] = {}
    for leaf in figures.switches_of(network, fabric, "leaf"):
        first.setdefault((leaf.pod, leaf.plane), leaf)
    spines: dict[int, list[str]] = {}
    for leaf in first.values():
        for color, cables in _colored(network, leaf).items():
            spines.setdefault(color, []).append(figures.span(list(dict.fromkeys(cable.b.device for cable in cables))))
    # Spines of two planes are not a sequence, although their names count on.
    return {
        color: ", ".join(names) if len(names) <= figures.LISTED else figures.span(names)
        for color, names in spines.items()
    }


def _balancing(network: Network, fabric: Fabric) -> Decision:
    balancing = fabric.load_balancing
    chosen, why = MODES[balancing.mode]
    wide = max((len(uplink) for uplink in _uplinks_by_color(network, fabric).values()), default=0)
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
        facts.append(("Values", f"profile {balancing.profile} (docs/load-balancing.md)"))
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
