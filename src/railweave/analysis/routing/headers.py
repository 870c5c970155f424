"""The headers of a queue pair's packets on each link of its path, and of the congestion notifications that return.

A packet of RDMA data leaves its NIC as RoCEv2 (UDP 4791). In a fabric with tenants, the first leaf puts the packet into
VXLAN (UDP 4789), spines forward it by the outer address, and the last leaf removes the outer headers. The EVPN test
report shows the same headers ("How DCQCN was tested", tables 3 to 8). If queues are long, a switch marks the packet
(ECN). The receiver answers with a congestion notification packet (CNP), which takes the same path back in the same VNI.

A tenant's prefix can be routed (EVPN type 5, RFC 9136). Both leaves then decrement the TTL of the inner packet, and the
inner Ethernet header has the MAC addresses of the two leaves. In a bridged layer-2 network (type 2), the inner
packet remains as the NIC sent it. The outer ECN bits are copied from the inner bits, and an outer mark is copied back
to the inner bits (RFC 6040, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import indent
from typing import TYPE_CHECKING, Any, Literal

from railweave.analysis.routing.paths import (
    LinkShare,
    QueuePairPath,
    find_ports,
    path_hops,
    ports_without_path,
    queue_pair_paths,
)
from railweave.json_values import JsonObject
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.model.config.addresses import Family
    from railweave.model.device.host_model import HostQos
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Nic, Subnet
    from railweave.model.network.model import Network

HOP_LIMIT = 255
"""The TTL (IPv4) or hop limit (IPv6) that NCCL and perftest set for packets of queue pairs and for their acknowledgements."""

TUNNEL_TTL = 64
"""The TTL of a tunnel's outer header. It is assumed, because no switch documentation states a value."""

ROCE_PORT, VXLAN_PORT = 4791, 4789
"""The UDP destination ports of RoCEv2 and VXLAN (InfiniBand specification, annex A17; RFC 7348)."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """The VXLAN headers around a packet. ``src`` and ``dst`` are the addresses of the tunnel endpoints.

    ``inner_from`` and ``inner_to`` are the owners of the MAC addresses in the inner Ethernet header: NICs in a bridged network,
    and leaves in a routed network.
    """

    src: str
    dst: str
    vni: int
    ttl: int
    inner_from: str
    inner_to: str


@dataclass(frozen=True, slots=True)
class Wire:
    """A packet on one link, as ``sender`` sends it.

    - ``of``: the number of links over which the traffic of this hop is distributed.
    - ``eth_from`` and ``eth_to``: the owners of the MAC addresses in the outermost Ethernet header.
    - ``traffic_class`` and ``queue``: the class and queue in which the packet waits at the sender. If the sender is a
      NIC, ``queue`` is the priority.
    - ``marks``: the header in which the sender marks the packet (ECN) if its queue is long.
    - ``copies``: the direction in which the sender copies ECN bits between the inner and the outer header.
    """

    link: str
    of: int
    sender: str
    receiver: str
    eth_from: str
    eth_to: str
    src: str
    dst: str
    ttl: int
    dscp: int
    traffic_class: str
    queue: int | None
    tunnel: Tunnel | None = None
    marks: Literal["", "ip", "inner", "outer"] = ""
    copies: Literal["", "inner to outer", "outer to inner"] = ""

    def to_json(self) -> dict[str, Any]:
        """Return the documented JSON object (docs/cli.md)."""
        around = self.tunnel
        return {
            "link": self.link,
            "of": self.of,
            "sender": self.sender,
            "receiver": self.receiver,
            "ethernet": {"from": self.eth_from, "to": self.eth_to},
            "outer": None
            if around is None
            else {"src": around.src, "dst": around.dst, "udp": VXLAN_PORT, "ttl": around.ttl, "dscp": self.dscp},
            "vni": None if around is None else around.vni,
            "inner_ethernet": None if around is None else {"from": around.inner_from, "to": around.inner_to},
            "ip": {"src": self.src, "dst": self.dst, "udp": ROCE_PORT, "ttl": self.ttl, "dscp": self.dscp},
            "class": self.traffic_class,
            "queue": self.queue,
            "ecn_marks": self.marks,
            "ecn_copies": self.copies,
        }

    def to_text(self) -> str:
        """Return a line with the link, followed by a line for each header, for the queue, and for ECN bits."""
        lines = [("Ethernet", f"{self.eth_from} -> {self.eth_to}")]
        around = self.tunnel
        if around is not None:
            outer = f"{around.src} -> {around.dst}  TTL {around.ttl}  DSCP {self.dscp}  UDP {VXLAN_PORT}"
            lines += [("outer IP", outer), ("VXLAN", f"VNI {around.vni}")]
            lines += [("inner Ethernet", f"{around.inner_from} -> {around.inner_to}")]
        name = "IP" if around is None else "inner IP"
        lines += [(name, f"{self.src} -> {self.dst}  TTL {self.ttl}  DSCP {self.dscp}  UDP {ROCE_PORT}")]
        if self.queue is not None:
            of_class = f"{self.queue} ({self.traffic_class})"
            lines += [("queue", of_class if self.traffic_class else f"priority {self.queue} of the NIC")]
        if self.copies:
            lines += [("", f"{self.sender} {_COPIES[self.copies]}")]
        if self.marks:
            lines += [("", f"where this queue is long, {self.sender} marks {_MARKS[self.marks]} (ECN: CE)")]
        shared = f"  (one of {self.of})" if self.of > 1 else ""
        width = max(len(name) for name, _ in lines)
        rows = (f"    {name:{width}}  {value}" for name, value in lines)
        return "\n".join([f"{self.sender} -> {self.receiver}: {self.link}{shared}", *rows])


_COPIES = {
    "inner to outer": "puts it into VXLAN, and copies the ECN bits of the inner header to the outer one",
    "outer to inner": "takes it out of VXLAN, and copies a mark of the outer header to the inner one",
}
_MARKS = {"ip": "the IP header", "inner": "the inner IP header", "outer": "the outer IP header"}


@dataclass(frozen=True, slots=True)
class Walk(JsonObject):
    """A queue pair's data packet (``data``) and the congestion notification that answers it (``cnp``), on each link of their path.

    Both fields are empty if there is no path. One of them is empty if a leaf's configuration lacks something that a tunnel
    needs, such as a VRF with the prefix.
    """

    data: tuple[Wire, ...]
    cnp: tuple[Wire, ...]

    def to_text(self) -> str:
        """Return the headers of data and of congestion notifications, link by link."""
        lines: list[str] = []
        for title, wires in (("data", self.data), ("congestion notification (CNP), back", self.cnp)):
            lines += [f"{title}:" if wires else f"{title}: no path", *(indent(wire.to_text(), "  ") for wire in wires)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Connection:
    """The paths of a connection's queue pairs and, if requested, the packet headers on each path (``walks``).

    ``notes`` are sentences about devices and links that are out of service, and about ports of the source NIC that have no path. Queue
    pairs of such ports use other ports of the NIC.
    """

    paths: list[QueuePairPath]
    walks: list[Walk]
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Return True if every queue pair has a path."""
        return all(path.hops for path in self.paths)

    def to_text(self) -> str:
        """Return the notes, and the lines of each path. Links that several queue pairs share are named once."""
        first: dict[tuple[tuple[LinkShare, ...], ...], QueuePairPath] = {}
        lines: list[str] = []
        for path in self.paths:
            before = first.setdefault(path.hops, path) if path.hops else path
            lines.append(path.to_text(None if before is path else before))
        if self.walks:
            both = zip(self.paths, self.walks, strict=True)
            lines = [f"{path.title()}\n{indent(walk.to_text(), '  ')}" for path, walk in both]
        return "\n".join([*self.notes, *lines])

    def to_json(self) -> list[dict[str, Any]]:
        """Return the documented JSON objects, one for each queue pair (docs/cli.md)."""
        more = [{"headers": walk.to_json()} for walk in self.walks] or [{}] * len(self.paths)
        return [{**path.to_json(), **headers} for path, headers in zip(self.paths, more, strict=True)]


def connection(
    network: Network,
    routes: Routes,
    ends: tuple[str, str],
    qps: int,
    family: Family | None = None,
    configs: Mapping[str, DeviceConfig] | None = None,
    *,
    headers: bool = False,
) -> Connection:
    """Return the paths between two NICs, with the packets on each path if ``headers`` is True.

    ``ends`` are the names of the source and the destination NIC (``SERVER:NIC``). ``qps`` is the number of queue pairs, and ``family`` the
    address family of the GIDs (see ``queue_pair_paths``). ``configs`` are switch configurations that replace the designed ones.
    """
    src, dst = ends
    paths = queue_pair_paths(network, routes, src, dst, qps, family)
    walks = [walk(network, routes, path, src, dst, configs) for path in paths] if headers else []
    others = "the NIC's other ports take its queue pairs (port failover)"
    notes = [f"{port} has no path to {dst}: {others}" for port in ports_without_path(network, routes, src, dst, family)]
    if not all(path.hops for path in paths):
        notes.append(_reason_without_path(network, routes, src, dst))
    return Connection(paths, walks, tuple(filter(None, [network.absent_sentence(), *notes])))


def _reason_without_path(network: Network, routes: Routes, src: str, dst: str) -> str:
    """Return a sentence with the reason why queue pairs from NIC ``src`` to NIC ``dst`` (``SERVER:NIC``) have no path.

    If no simple reason applies, such as separate tenants or a leaf that is down, the sentence refers to `railweave verify`.
    """
    (source, sources), (target, targets) = find_ports(network, src), find_ports(network, dst)
    here, there = sources[0], targets[0]
    fabric = network.fabric(here.fabric)
    if here.tenant != there.tenant and fabric.apart(here.tenant, there.tenant):
        return (
            f"{source} belongs to {here.tenant or 'no tenant'} and {target} to {there.tenant or 'no tenant'}: as designed, tenants do not reach "
            "each other (`leaks:` of a tenant lets prefixes through)"
        )
    joined = any(switch.role == "super-spine" and switch.fabric == here.fabric for switch in network.switches)
    above = [
        {
            cable.b.device
            for cable in network.cables_of(nic.leaf)
            if cable.kind == "fabric" and cable.a.device == nic.leaf
        }
        for nic in (here, there)
    ]
    planes = {switch.plane for switch in network.switches if switch.name in {here.leaf, there.leaf}}
    if here.leaf != there.leaf and not above[0] and not above[1] and len(planes) == 1:
        return (
            f"{source}:{here.name} is on {here.leaf} and {target}:{there.name} on {there.leaf}, and no link joins these leaves: give "
            f"`spines:` under `topology:` of {here.fabric}, or, if each rail is meant to be a network of its own, `planes: rail`"
        )
    if here.rail != there.rail and above[0].isdisjoint(above[1]) and not joined:
        return (
            f"{here.name} is on rail {here.rail} and {there.name} on rail {there.rail}: as designed, no link joins these rails; "
            "NCCL sends such traffic inside the server first (PXN)"
        )
    down = sorted({here.leaf, there.leaf} & set(routes.down))
    if down:
        return f"{' and '.join(down)} of these NICs {'is' if len(down) == 1 else 'are'} down"
    return f"the routes of {here.leaf} lead to no port of {there.leaf}: `railweave verify` names the cause"


def walk(
    network: Network,
    routes: Routes,
    path: QueuePairPath,
    src: str,
    dst: str,
    configs: Mapping[str, DeviceConfig] | None = None,
) -> Walk:
    """Return the packets on a queue pair's path from NIC ``src`` to NIC ``dst`` (``SERVER:NIC``). ``path`` comes from ``queue_pair_paths``.

    If several links share the traffic, the first link is followed. ``configs`` are switch configurations that replace
    the designed ones.
    """
    here, there = path.src_gid, path.dst_gid
    source, target = _with(network, src, here), _with(network, dst, there)
    scene = _Scene(network, routes, configs or {})
    qos = next(host_qos for host_qos in host_config(network, source[0]).qos if host_qos.fabric == source[1].fabric)
    answers = next(host_qos for host_qos in host_config(network, target[0]).qos if host_qos.fabric == target[1].fabric)
    color_dscp = _own_dscp(network, source[0], here)
    data = scene.walk(source, target, (here, there), path.hops, qos.dscp if color_dscp is None else color_dscp, qos)
    back = path_hops(network, routes, target, source, here)
    return Walk(data, scene.walk(target, source, (there, here), back, answers.cnp_dscp, answers) if data else ())


def _with(network: Network, name: str, address: str) -> tuple[str, Nic]:
    """Return (server name, NIC port) for the port with the given address. ``name`` is ``SERVER:NIC`` or ``SERVER:PORT+PORT``."""
    server, ports = find_ports(network, name)
    return server, next(nic for nic in ports if any(nic_address.address == address for nic_address in nic.addresses))


def _own_dscp(network: Network, server: str, address: str) -> int | None:
    """Return the DSCP that the fabric file sets for the path color of a server's address, or None if it sets none."""
    for nic in host_config(network, server).nics:
        for nic_address in nic.addresses:
            if nic_address.address == address and nic_address.traffic_class is not None:
                return nic_address.traffic_class // 4
    return None


@dataclass(frozen=True)
class _Scene:
    """A network with its routes. ``given`` holds switch configurations that replace the designed ones, by switch."""

    network: Network
    routes: Routes
    given: Mapping[str, DeviceConfig]

    def config(self, device: str) -> DeviceConfig:
        return self.given.get(device) or device_config(self.network, device)

    def walk(
        self,
        source: tuple[str, Nic],
        target: tuple[str, Nic],
        addresses: tuple[str, str],
        hops: tuple[tuple[LinkShare, ...], ...],
        dscp: int,
        qos: HostQos,
    ) -> tuple[Wire, ...]:
        """Return the packet on each link in one direction. Return an empty tuple if a leaf cannot put the packet into a tunnel.

        ``source`` and ``target`` are (server name, NIC). ``addresses`` are the source and destination address. ``hops`` holds the
        links of each hop. ``dscp`` and ``qos`` belong to the sending NIC.
        """
        wires: list[Wire] = []
        ttl, tunnel, end, tunnelled = HOP_LIMIT, None, "", False
        bridged = self._bridged(source, target, addresses)
        first, last = f"{source[0]}:{source[1].name}", f"{target[0]}:{target[1].name}"
        links = list(self._links(source[0], hops))
        for place, (link, of, sender, receiver) in enumerate(links):
            marks: Literal["", "ip", "inner", "outer"] = ""
            copies: Literal["", "inner to outer", "outer to inner"] = ""
            name, queue = "", qos.priorities[dscp] if not wires else None
            if wires:
                config = self.config(sender)
                name, queue, marked = _class(config, dscp)
                if tunnel is not None and sender != end:
                    tunnel, marks = replace(tunnel, ttl=tunnel.ttl - 1), "outer"
                else:
                    flat = tunnel is not None and bool(target[1].network) and tunnel.vni == self._vni(target)
                    if tunnel is not None:
                        tunnel, copies = None, "outer to inner"
                    ttl -= not (bridged or flat)
                    marks = "inner" if tunnelled else "ip"
                    if receiver != target[0] and config.overlay is not None and target[1].tenant:
                        ahead = [link[3] for link in links[place:]]
                        begun = self._tunnel(config, source, target, addresses, ahead)
                        if begun is None:
                            return ()
                        tunnel, end = begun
                        marks, copies, tunnelled = "inner", "inner to outer", True
                marks = marks if marked else ""
            whole = bridged and tunnel is None
            wires.append(
                Wire(
                    link,
                    of,
                    sender,
                    receiver,
                    first if whole or not wires else sender,
                    last if whole or receiver == target[0] else receiver,
                    *addresses,
                    ttl,
                    dscp,
                    name,
                    queue,
                    tunnel,
                    marks,
                    copies,
                )
            )
        return tuple(wires)

    def _links(self, start: str, hops: tuple[tuple[LinkShare, ...], ...]) -> Iterator[tuple[str, int, str, str]]:
        """Follow one path through the hops, and yield (link, number of links in the hop, sending device, receiving device) for each hop.

        ``start`` is the first sending device.
        """
        at = start
        for hop in hops:
            for link_share in hop:
                cable = self.network.cable(link_share.link)
                ends = (cable.a.device, cable.b.device)
                if at in ends:
                    following = ends[1] if at == ends[0] else ends[0]
                    yield link_share.link, len(hop), at, following
                    at = following
                    break

    def _subnet(self, nic: tuple[str, Nic], address: str) -> Subnet:
        nic_address = next(candidate for candidate in nic[1].addresses if candidate.address == address)
        return self.network.segment_of(*nic).subnet_of(nic_address)

    def _bridged(self, source: tuple[str, Nic], target: tuple[str, Nic], addresses: tuple[str, str]) -> bool:
        """Return True if both NICs are in one layer-2 network. Switches then do not change the packet.

        ``source`` and ``target`` are (server name, NIC). ``addresses`` are the source and destination address.
        """
        if source[1].network or target[1].network:
            return (source[1].tenant, source[1].network) == (target[1].tenant, target[1].network)
        same = source[1].leaf == target[1].leaf and source[1].vlan == target[1].vlan is not None
        return same and self._subnet(source, addresses[0]).prefix == self._subnet(target, addresses[1]).prefix

    def _has_network(self, leaf: str, target: tuple[str, Nic]) -> bool:
        config = self.config(leaf)
        return config.mac_vrf is not None and any(vlan.vni == self._vni(target) for vlan in config.mac_vrf.vlans)

    def _vni(self, nic: tuple[str, Nic]) -> int:
        """Return the VNI of a NIC's layer-2 network. ``nic`` is (server name, NIC)."""
        tenants = self.network.fabric(nic[1].fabric).tenants
        networks = next(tenant for tenant in tenants if tenant.name == nic[1].tenant).networks
        return next(network.vni for network in networks if network.name == nic[1].network)

    def _tunnel(
        self,
        config: DeviceConfig,
        source: tuple[str, Nic],
        target: tuple[str, Nic],
        addresses: tuple[str, str],
        ahead: list[str],
    ) -> tuple[Tunnel, str] | None:
        """Return (the tunnel into which a leaf puts a packet, the leaf at the tunnel's end). ``config`` is the first leaf's configuration.

        Return None if a configuration lacks a part that the tunnel needs. ``source`` and ``target`` are (server name, NIC).
        ``addresses`` are the source and destination address. ``ahead`` are the devices on the rest of the path.
        """
        own_endpoint = _endpoint(config)
        subnet, far = self._subnet(target, addresses[1]), target[1].leaf
        if own_endpoint is None:
            return None
        if target[1].network and self._has_network(config.name, target):
            same = self._bridged(source, target, addresses)
            inner_from = f"{source[0]}:{source[1].name}" if same else config.name
            inner_to = f"{target[0]}:{target[1].name}"
            return Tunnel(own_endpoint, subnet.tunnel, self._vni(target), TUNNEL_TTL, inner_from, inner_to), far
        if target[1].network:
            exits = self.routes.shared.leaves(config.name, source[1].tenant, subnet.prefix)
            far = next((device for device in ahead if device in exits), "")
            if not far:
                return None
        end = self.config(far)
        # The VNI is the one that the far leaf advertises: with routes that leak, this leaf may not have that VRF. The VRF is the
        # one that has the prefix, for a leaf that was read may name it otherwise than the design does.
        vni = next((vrf.vni for vrf in end.vrfs if subnet.prefix in vrf.own_prefixes()), None)
        to = _endpoint(end, None if target[1].network else subnet.prefix)
        if vni is None or to is None:
            return None
        return Tunnel(own_endpoint, to, vni, TUNNEL_TTL, config.name, far), far


def _endpoint(config: DeviceConfig, prefix: str | None = None) -> str | None:
    """Return the first tunnel endpoint of a leaf. With ``prefix``, return the endpoint of that prefix's path color.

    Return None if the leaf has no endpoint, or no gateway with the prefix.
    """
    ends = config.overlay.endpoints if config.overlay else ()
    number: int | None = 0
    if prefix is not None:
        number = next(
            (
                gateway.prefixes.index(prefix)
                for gateway in config.gateways
                if gateway.vrf and prefix in gateway.prefixes
            ),
            None,
        )
    return None if number is None or not ends else str(ends[number % len(ends)].address)


def _class(config: DeviceConfig, dscp: int) -> tuple[str, int | None, bool]:
    """Return (traffic class of a DSCP, its queue, ECN flag) on a switch.

    The queue is None if the class is not defined. The ECN flag is True if the switch marks packets when the queue is long.
    """
    if config.qos is None:
        return "", None, False
    classes = config.qos.classes
    name = next(
        (name for name, traffic_class in classes.items() if dscp in traffic_class.dscp), config.qos.default_class
    )
    chosen_class = classes.get(name)
    return name, chosen_class.queue if chosen_class else None, chosen_class is not None and chosen_class.ecn is not None
