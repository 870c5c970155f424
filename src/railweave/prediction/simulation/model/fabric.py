"""A designed network in the form that the engines accept.

::

    network = railweave.load("examples/h100-rlb.yaml")
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    pairs = fabric.queue_pairs([("H100-01:gpu0_eth", "H100-03:gpu0_eth", qp) for qp in range(4)])
    engine = PacketEngine(**fabric.arguments(pairs), messages=...)
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from railweave._sim import DLB, DLB_PER_PACKET, ECMP, NO_GROUP, ROUTE, SPRAY
from railweave.design.limits.devices import tunnel_overhead_bytes
from railweave.errors import InputError, NetworkPart, Option, Problem
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW, rdma_mtu
from railweave.model.catalog.server_shapes import domain_remarks
from railweave.model.device.host import host_config
from railweave.model.device.host_job import used_addresses
from railweave.nics import vendor
from railweave.prediction.simulation.model.addresses import Addresses, addresses
from railweave.prediction.simulation.model.buffers import remarks, switch_parameters, unbound, unpaused
from railweave.prediction.simulation.model.outages import REPAIR_PS, Change, Timeline, places_down
from railweave.prediction.simulation.model.tables import Forwarding, by_address, joined_prefixes, nic_port
from railweave.prediction.simulation.model.wiring import WIRING_NOTE, Wiring, fabrics, wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.table import Routes
    from railweave.model.config.addresses import Family
    from railweave.model.device.balancing import BalancingConfig
    from railweave.model.device.host_model import HostConfig, HostNic, HostQos
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


MODES = {
    "ecmp": ECMP,
    "dlb": DLB,
    "dlb-flowlet": DLB,
    "dlb-per-packet": DLB_PER_PACKET,
    "spray": SPRAY,
}
REORDERING = {SPRAY, DLB_PER_PACKET}
"""The modes in which packets of one queue pair can overtake each other."""

KNOBS = ("inactivity", "flowsets", "period", "min", "max", "rate-weight", "reassign-chance", "quality-delta")


@dataclass(frozen=True, slots=True)
class Override:
    """The load balancing settings of a run, which replace those of the fabric file.

    - ``code``: the engine's number of the mode; None means that each switch uses its own mode.
    - ``joined``: True if traffic of a path color (class of uplinks) may use the uplinks of all colors.
    - ``knobs``: engine parameters, as (name, value).
    """

    code: int | None = None
    joined: bool = False
    knobs: tuple[tuple[str, str], ...] = ()


def override(text: str | None, colored: bool) -> Override:
    """Return the load balancing that a text of the form ``MODE[:knob=value,…]`` requests. None changes nothing.

    ``colored`` is True if the fabric has path colors (classes of uplinks). Raises ``InputError`` for an unknown mode or a knob without a
    value. The engine checks the values of knobs (parameters of the mode).
    """
    if text is None:
        return Override()
    mode, _, rest = text.partition(":")
    if mode != "rlb" and mode not in MODES:
        raise _wrong(f"{mode!r} is not a mode", f"give {', '.join((*MODES, 'rlb'))}")
    given: dict[str, str] = {}
    for item in rest.split(",") if rest else ():
        name, equals, value = item.partition("=")
        if not equals or not value:
            raise _wrong(f"{item!r} does not have the form KNOB=VALUE", "write dlb:inactivity=128us,flowsets=2048")
        if name in given:
            raise _wrong(f"{name} is given twice", "give it once")
        given[name] = value
    code = MODES.get(mode)
    if mode == "rlb":
        if not colored:
            raise _wrong("the fabric has no path colors", "set `load_balancing: {mode: rlb}` in the fabric file")
        within = given.pop("within", None)
        if within is not None and within not in MODES:
            raise _wrong(f"within={within} is not a mode", f"give {', '.join(MODES)}")
        code = None if within is None else MODES[within]
    _check_knobs(mode, code, given)
    return Override(code, mode != "rlb" and colored, tuple((f"dlb.{name}", value) for name, value in given.items()))


def _check_knobs(mode: str, code: int | None, given: dict[str, str]) -> None:
    known = KNOBS if code in {DLB, DLB_PER_PACKET, None} else ()
    for name in given:
        if name not in known:
            all_known = ("within", *known) if mode == "rlb" else known
            near = difflib.get_close_matches(name, all_known, 1)
            fix = f"did you mean {near[0]}?" if near else f"it has {', '.join(all_known) or 'none'}"
            raise _wrong(f"{mode} has no knob {name!r}", fix)


def _wrong(description: str, fix: str) -> InputError:
    return InputError([Problem(Option("--lb"), description, fix)])


def dlb_parameters(config: BalancingConfig) -> dict[str, str]:
    """Return a switch's settings of dynamic load balancing as engine parameters (value by name)."""
    dlb = config.dlb
    load = dlb.egress_quantization
    again = dlb.reassignment
    return {
        "dlb.inactivity": f"{dlb.inactivity_interval}us",
        "dlb.flowsets": str(dlb.flowset_table_size),
        "dlb.period": f"{round(10**12 / max(1, dlb.sampling_rate))}ps",
        "dlb.min": f"{load.min}%",
        "dlb.max": f"{load.max}%",
        "dlb.rate-weight": f"{load.rate_weightage}%",
        "dlb.reassign-chance": str(again.prob_threshold if again else 0),
        **({"dlb.quality-delta": str(max(1, again.quality_delta))} if again else {}),
    }


def balancing_notes(config: BalancingConfig) -> list[str]:
    """Return notes on the configured load balancing settings that the engine does not model."""
    notes: list[str] = []
    hashed = config.hash
    if not (hashed.layer3 and hashed.layer4):
        notes.append("hash: the engine always hashes addresses and UDP ports; hash.layer3 and hash.layer4 are ignored")
    if hashed.seed is not None:
        notes.append("hash: hash.seed is ignored; each switch has a separate seed, derived from the seed of the run")
    if config.spray_opcodes:
        notes.append("spraying: every data packet is sprayed, regardless of its opcode; so are acknowledgements")
    if config.dlb.reassignment and config.dlb.reassignment.quality_delta == 0:
        notes.append("DLB: quality_delta 0 is treated as 1")
    if config.selective:
        notes.append(
            f"selective DLB: opcodes are ignored; all packets are balanced by {config.group_mode}, also those that "
            "the switch hashes (acknowledgements, congestion notification)"
        )
    if config.global_role:
        notes.append("global load balancing: DLB is modelled with the load of a switch's own links only")
    return notes


FRAMES = {"ipv4": 62, "ipv6": 82}
"""The number of bytes that an Ethernet frame has in addition to RDMA data, by address family.

They are Ethernet (18 bytes with its FCS), IP, UDP, base transport header and invariant CRC.
"""

AETH, CNP_PADDING = 4, 16
"""The bytes that an acknowledgement, and a congestion notification packet, have in addition to the headers.

Source: InfiniBand architecture, annex 17.
"""

ADDITIVE_MBPS, HYPER_MBPS, STEPS_GBPS = 5, 50, 25
"""DCQCN's additive increase and hyper increase, in Mb/s, for each 25 Gb/s (the third value) of port speed. They apply to all vendors.

Source: the rule of the HPCC simulator. NVIDIA documents 5 and 50 Mb/s without a port speed. The two rules give
different losses in the 2:1 ring of docs/validation.md. With 5 and 50 Mb/s at 400G, an all-to-all of 2 GiB took one and
a half times as long as published.
"""

REORDER = 256
"""The number of later packets after which a NIC with adaptive routing requests retransmission of a missing packet (assumed)."""


@dataclass(frozen=True, slots=True)
class Transport:
    """The transport settings of hosts.

    - ``parameters``: values by the engine's parameter names.
    - ``dcqcn``: the name of the DCQCN parameter set; None if NICs do not use DCQCN.
    - ``notes``: the assumptions, as sentences.
    """

    parameters: dict[str, str]
    dcqcn: str | None
    notes: tuple[str, ...]


def transport(nic: HostNic, qos: HostQos, *, reordering: bool, family: Family | None = None) -> Transport:
    """Return the transport settings of NICs with the settings ``nic`` and ``qos``.

    - ``reordering``: True if switches spread packets of one queue pair over several links.
    - ``family``: the address family of RDMA traffic for NICs with both families; None means the family of the first
      address.
    """
    family = used_addresses(nic, family)[0].address.family if nic.addresses else "ipv4"
    header = FRAMES[family]
    parameters = {
        "host.mtu": str(rdma_mtu(nic.mtu, family)),
        "host.header": str(header),
        "host.ack-bytes": str(header + AETH),
        "host.cnp-bytes": str(header + CNP_PADDING),
        "host.data-class": str(qos.priority),
        "host.cnp-class": str(qos.cnp_priority),
    }
    vendor_transport = vendor(nic.vendor).transport(nic.model)
    parameters |= vendor_transport.parameters
    notes = ["NICs: receive buffer and retransmission timeout are the engine's defaults", vendor_transport.note]
    if vendor_transport.dcqcn is not None:
        steps = nic.speed_gbps / STEPS_GBPS
        parameters |= {
            "dcqcn.additive": f"{ADDITIVE_MBPS * steps:g}M",
            "dcqcn.hyper": f"{HYPER_MBPS * steps:g}M",
        }
        notes.append("DCQCN: rates rise by steps that grow with the port's speed (assumed)")
    if reordering:
        parameters |= {
            "host.recovery": "selective",
            "host.reorder": str(REORDER),
            "host.reth": "every",
            "host.window": str(ADAPTIVE_WINDOW),
        }
        notes.append(
            f"packets are sprayed: NICs use adaptive routing, an RDMA header on every packet, at most {ADAPTIVE_WINDOW} "
            f"packets outstanding, {REORDER} ahead (assumed)"
        )
    return Transport(parameters, vendor_transport.dcqcn, tuple(notes))


FAULTS_NOTE = (
    f"faults: links are down for both ends at once; fast reroute takes {REPAIR_PS // 10**6} us (assumed); backup groups "
    "take over with the routes, not before"
)


class Arguments(TypedDict):
    """The arguments of ``PacketEngine``, except messages: nodes, cables, forwarding tables, queue pairs, faults, parameters and ports without PFC or ECN.

    ``PacketEngine`` documents the form of each.
    """

    kinds: NDArray[np.uint8]
    cables: NDArray[np.uint64]
    group: NDArray[np.uint32]
    groups: NDArray[np.uint32]
    members: NDArray[np.uint16]
    queue_pairs: NDArray[np.uint32]
    changes: NDArray[np.uint64]
    dcqcn: str | None
    parameters: dict[str, str]
    profiles: list[dict[str, str]]
    profile: NDArray[np.uint16]
    without_pfc: NDArray[np.uint32]
    without_ecn: NDArray[np.uint32]


class FlowArguments(Arguments):
    """The arguments of ``FlowEngine``.

    Its forwarding tables have a column for each prefix, and ``column`` has the column of each address. The other arguments are those of
    ``PacketEngine``.
    """

    column: NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class PacketFabric:
    """A network in the engines' form: its numbers, routes and parameters.

    - ``balance``: the load balancing mode of each switch.
    - ``repairs``: for each switch, True if it has fast reroute.
    - ``joined``: rows of prefixes. All prefixes of a row are forwarded in the same way. None means that each prefix has its own route.
    - ``dcqcn``: the name of the DCQCN parameter set; None if NICs do not use DCQCN.
    - ``profiles``: parameter sets of switches.
    - ``profile``: for each node, the index of its set in ``profiles``. The values of hosts are not used.
    - ``without_pfc``, ``without_ecn``: the ports that do not send pauses, and the ports that do not mark packets.
    - ``notes``: the assumptions, and the features that are not modelled.
    - ``remarks``: notes that are shown with every prediction, on features of the network that the simulation ignores.
    """

    wiring: Wiring
    addresses: Addresses
    routes: Routes
    balance: tuple[int, ...]
    repairs: tuple[bool, ...]
    joined: NDArray[np.int64] | None
    parameters: dict[str, str]
    dcqcn: str | None
    profiles: tuple[dict[str, str], ...]
    profile: NDArray[np.uint16]
    without_pfc: NDArray[np.uint32]
    without_ecn: NDArray[np.uint32]
    notes: tuple[str, ...]
    remarks: tuple[str, ...]

    def queue_pairs(self, wanted: Iterable[tuple[str, str, int]]) -> NDArray[np.uint32]:
        """Return rows of queue pairs as ``PacketEngine`` takes them (see ``addresses.Addresses.pairs``).

        ``wanted`` has source NIC, destination NIC (both written ``SERVER:NIC``) and queue pair number. For many queue
        pairs use ``addresses.pairs``, which takes arrays. Raises ``InputError`` for an unknown NIC.
        """
        rows: list[tuple[int, int, int]] = []
        for src, dst, qp in wanted:
            for name in (src, dst):
                if name not in self.wiring.node or self.wiring.node[name] >= len(self.wiring.nics):
                    fix = f"NICs are {', '.join(self.wiring.nics[:4])}, …"
                    raise InputError([Problem(NetworkPart(name), "this is not a NIC of the simulated fabrics", fix)])
            rows.append((self.wiring.node[src], self.wiring.node[dst], qp))
        src, dst, qp = np.array(rows, np.uint32).reshape(-1, 3).T
        return self.addresses.pairs(src, dst, qp)

    def arguments(self, queue_pairs: NDArray[np.uint32], timeline: Timeline | None = None) -> Arguments:
        """Return all arguments of ``PacketEngine`` except ``messages``, as a dict by parameter name.

        ``queue_pairs`` are rows as the method ``queue_pairs`` returns them. The forwarding tables contain only the addresses in these rows.
        ``timeline`` has the faults during the run; None means no faults. A link or device for which ``routes`` was computed as down is down
        from the beginning of the run.
        """
        return self._arguments(*_used(queue_pairs), timeline or Timeline(), by_prefix=False)

    def flow_arguments(self, queue_pairs: NDArray[np.uint32], timeline: Timeline | None = None) -> FlowArguments:
        """Return all arguments of ``FlowEngine`` except ``messages``, as a dict by parameter name.

        ``queue_pairs`` are rows as the method ``queue_pairs`` returns them. ``timeline`` has the faults during the run; None means no
        faults. The forwarding tables are by prefix instead of by address, because there are far fewer prefixes.
        """
        pairs, used = _used(queue_pairs)
        arguments = self._arguments(pairs, used, timeline or Timeline(), by_prefix=True)
        return FlowArguments(**arguments, column=self.addresses.prefix[used].astype(np.uint32))

    def _arguments(
        self, pairs: NDArray[np.uint32], used: NDArray[np.int64], timeline: Timeline, *, by_prefix: bool
    ) -> Arguments:
        standing, entries = self._standing
        forwarding = standing.copy()
        ports = nic_port(self.wiring)

        def table(entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
            return entries if by_prefix else by_address(self.wiring, self.addresses, ports, entries, used)

        now = table(entries)
        hosts = len(self.wiring.nics)
        group = now
        changes: list[NDArray[np.uint64]] = [_rows([*self._down(), *timeline.changes])]
        for tables in timeline.tables:
            after = table(forwarding.entries(tables.routes, tables.dead))
            for name in tables.routes.down & set(
                self.wiring.switches
            ):  # what is dead keeps its tables: nothing reads them
                after[self.wiring.node[name] - hosts] = now[self.wiring.node[name] - hosts]
            for name in tables.silent:
                after[self.wiring.node[name] - hosts] = NO_GROUP
            changes.append(_reroutes(tables.at_ps, now, after, hosts))
            now = after
        groups, members = forwarding.groups()
        rows = np.concatenate(changes)
        return Arguments(
            kinds=self.wiring.kinds,
            cables=self.wiring.cables,
            group=group,
            groups=groups,
            members=members,
            queue_pairs=pairs,
            changes=np.ascontiguousarray(rows[np.argsort(rows[:, 0], kind="stable")]),
            dcqcn=self.dcqcn,
            parameters=self.parameters,
            profiles=list(self.profiles),
            profile=self.profile,
            without_pfc=self.without_pfc,
            without_ecn=self.without_ecn,
        )

    @cached_property
    def _standing(self) -> tuple[Forwarding, NDArray[np.uint32]]:
        """The forwarding state at the beginning of every run, and the engine's table for it. Both are computed once and then cached."""
        forwarding = Forwarding(self.wiring, self.balance, self.repairs, self.joined)
        entries = forwarding.entries(self.routes)
        entries.flags.writeable = False
        return forwarding, entries

    def _down(self) -> list[Change]:
        if not self.routes.down:
            return []
        known = (
            self.wiring.node.keys() | self.wiring.cable.keys() | {nic.rpartition(":")[0] for nic in self.wiring.nics}
        )
        return [change for name in sorted(self.routes.down & known) for change in places_down(self.wiring, name, 0)]


def packet_fabric(
    network: Network,
    configs: Mapping[str, DeviceConfig],
    routes: Routes,
    lb: str | None = None,
    *,
    tenant: str | None = None,
) -> PacketFabric:
    """Return a network in the engines' form. Its switches forward by ``routes``.

    - ``configs``: the configuration of each switch.
    - ``lb``: an override of the load balancing (see ``override``).
    - ``tenant``: the tenant whose NICs send, if there are several.

    Raises ``InputError`` if ``lb`` is invalid, or if the network has no NICs.
    """
    wiring = wire(network)
    if not wiring.nics:
        fix = "servers of the fabric file need NICs on a fabric"
        raise InputError([Problem(NetworkPart(network.name), "there is no NIC that can send", fix)])
    taken = [
        network.fabric(name) for name in dict.fromkeys(network.switch(switch).fabric for switch in wiring.switches)
    ]
    wanted = override(lb, colored=any(fabric.colors for fabric in taken))
    here = [configs[name] for name in wiring.switches]
    balance = tuple(_code(config, wanted) for config in here)
    host, nic = _sender(network, wiring, tenant)
    family = network.job_family(nic.fabric, nic.tenant)
    sent = transport(nic, host.qos_of(nic.fabric), reordering=bool(REORDERING & set(balance)), family=family)
    notes = dict.fromkeys((WIRING_NOTE, *sent.notes, FAULTS_NOTE))
    profiles: dict[tuple[tuple[str, str], ...], int] = {}
    profile = np.zeros(len(wiring.kinds), np.uint16)
    simulated = set(fabrics(network))
    for number, config in enumerate(here, len(wiring.nics)):
        cables = [cable for cable in network.cables_of(config.name) if cable.fabric in simulated]
        switch_settings, switch_notes = switch_parameters(config, cables, host.qos_of(nic.fabric))
        switch_settings |= dlb_parameters(config.balancing) | dict(wanted.knobs) | _tunnel(network, config)
        profile[number] = profiles.setdefault(tuple(switch_settings.items()), len(profiles))
        notes |= dict.fromkeys((*switch_notes, *balancing_notes(config.balancing)))
    notes |= dict.fromkeys(_others(network, wiring, sent))
    models = (server.model for server in network.servers)
    network_remarks = (*remarks(here, host.qos_of(nic.fabric).dscp), *domain_remarks(network.catalog, models))
    return PacketFabric(
        wiring=wiring,
        addresses=addresses(network, wiring, {prefix: place for place, prefix in enumerate(routes.prefixes)}),
        routes=routes,
        balance=balance,
        repairs=tuple(config.balancing.fast_reroute for config in here),
        joined=joined_prefixes(network, routes.index) if wanted.joined else None,
        parameters=sent.parameters,
        dcqcn=sent.dcqcn,
        profiles=tuple(dict(profile) for profile in profiles),
        profile=profile,
        without_pfc=_ports(wiring, {config.name: unpaused(config) for config in here}),
        without_ecn=_ports(wiring, {config.name: unbound(config) for config in here}),
        notes=tuple(dict.fromkeys((*network_remarks, *notes))),
        remarks=network_remarks,
    )


def _sender(network: Network, wiring: Wiring, tenant: str | None) -> tuple[HostConfig, HostNic]:
    """Return the host and the NIC whose transport settings are used for all senders.

    The NIC is the first one of the tenant that has an address, or else the first NIC of all. ``wiring`` has the numbered nodes, ports and
    cables.
    """
    nics = [(server.name, nic) for server in network.servers for nic in server.nics]
    nics = [(server, nic) for server, nic in nics if f"{server}:{nic.name}" in wiring.node]
    tenant_nics = [(server, nic) for server, nic in nics if nic.addresses and tenant in {None, nic.tenant}]
    server, first = (tenant_nics or nics)[0]
    host = host_config(network, server)
    return host, next(nic for nic in host.nics if nic.name == first.name)


def _ports(wiring: Wiring, links: Mapping[str, Iterable[str]]) -> NDArray[np.uint32]:
    """Return the switch ports on the given links, in order.

    ``links`` has the names of links by switch; unknown links are left out. ``wiring`` has the numbered nodes, ports and cables.
    """
    ports = {wiring.port(link, name) for name, switch_links in links.items() for link in switch_links}
    return np.array(sorted(port for port in ports if port is not None), np.uint32)


def _tunnel(network: Network, config: DeviceConfig) -> dict[str, str]:
    """Return the engine parameters of a switch's VXLAN tunnels if the fabric has an overlay (EVPN test report, Table 8)."""
    overlay = network.fabric(network.switch(config.name).fabric).overlay
    if overlay is None:
        return {}
    return {"switch.vxlan": "yes", "switch.vxlan-overhead": str(tunnel_overhead_bytes(overlay.vtep))}


def _code(config: DeviceConfig, wanted: Override) -> int:
    return MODES[config.balancing.group_mode] if wanted.code is None else wanted.code


def _others(network: Network, wiring: Wiring, sent: Transport) -> list[str]:
    """Return notes on NICs whose transport settings differ from ``sent``, the settings that the engine uses for all hosts.

    ``wiring`` has the numbered nodes, ports and cables.
    """
    models = {server.model: server.name for server in network.servers}
    differences: list[str] = []
    for name in models.values():
        host = host_config(network, name)
        for nic in host.nics:
            if f"{name}:{nic.name}" in wiring.node:
                reordering, family = "host.reth" in sent.parameters, network.job_family(nic.fabric, nic.tenant)
                nic_transport = transport(nic, host.qos_of(nic.fabric), reordering=reordering, family=family)
                if (nic_transport.parameters, nic_transport.dcqcn) != (sent.parameters, sent.dcqcn):
                    differences.append(
                        f"NICs of {host.model} on {nic.fabric}: all use the transport settings of the first server"
                    )
    return differences


def _used(queue_pairs: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return (the rows ``queue_pairs`` with addresses renumbered from 0; for each new address number, the old number).

    Only addresses that a queue pair uses get a number.
    """
    used, places = np.unique(queue_pairs[:, 2:], return_inverse=True)
    pairs = queue_pairs.copy()
    pairs[:, 2:] = places.reshape(-1, 2)
    return pairs, used.astype(np.int64)


def _rows(changes: Sequence[Change]) -> NDArray[np.uint64]:
    return np.array(changes, np.uint64).reshape(-1, 5)


def _reroutes(at_ps: int, now: NDArray[np.uint32], after: NDArray[np.uint32], hosts: int) -> NDArray[np.uint64]:
    """Return the route changes at the time ``at_ps``, in the engine's form: the places in which table ``after`` differs from table ``now``.

    ``hosts`` is the number of hosts, which have no tables.
    """
    switch, address = np.nonzero(now != after)
    rows = np.zeros((len(switch), 5), np.uint64)
    rows[:, 0], rows[:, 1], rows[:, 2] = at_ps, ROUTE, switch + hosts
    rows[:, 3], rows[:, 4] = address, after[switch, address]
    return rows
