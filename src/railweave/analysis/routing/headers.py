"""Headers on each link of a queue pair's path, and of the congestion notifications that come back.

A packet of RDMA data leaves its NIC as RoCEv2 (UDP 4791). On a fabric with tenants the first leaf puts the packet into VXLAN
(UDP 4789), and spines forward it by the outer address. The last leaf takes the outer headers off. These are the packet walks of the
EVPN test report ("How DCQCN was tested", tables 3 to 8). If queues are long, a switch marks the packet (ECN). The receiver answers with
a congestion notification packet (CNP), which takes the same path back in the same VNI.

A prefix of a tenant is routed (EVPN type 5, RFC 9136): both leaves take one from the TTL of the inner packet, and the inner
Ethernet header is from leaf to leaf. A layer-2 network is bridged (type 2): the inner packet stays as the NIC sent it. The
outer ECN bits are copied from the inner ones, and a mark in the outer ones back into the inner ones (RFC 6040, section 4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from railweave.analysis.routing.paths import LinkShare, QueuePairPath, find_ports, ways
from railweave.json_values import JsonObject
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.host_model import HostQos
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Nic, Subnet
    from railweave.model.network.model import Network

HOP_LIMIT = 255
"""TTL or hop limit of queue pairs, and of what answers them: NCCL and perftest set it so."""

TUNNEL_TTL = 64
"""TTL of a tunnel's outer header (assumed: no document of the switches says otherwise)."""

ROCE_PORT, VXLAN_PORT = 4791, 4789
"""UDP ports (InfiniBand specification, annex A17; RFC 7348)."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """The headers of VXLAN around a packet: ``src`` and ``dst`` are tunnel endpoints.

    ``inner_from``, ``inner_to`` are the owners of the MAC addresses of the inner Ethernet header: NICs where the network is
    bridged, leaves where it is routed.
    """

    src: str
    dst: str
    vni: int
    ttl: int
    inner_from: str
    inner_to: str


@dataclass(frozen=True, slots=True)
class Wire:
    """A packet on one link, as ``sender`` puts it there.

    ``of`` is how many links share what goes there. ``eth_from``, ``eth_to`` are the owners of the MAC addresses of the outermost
    Ethernet header. ``traffic_class`` and ``queue`` are where it waits at the sender; of a NIC, ``queue`` is its priority.
    ``marks`` is the header that a full queue of the sender marks, and ``copies`` what the sender copied of ECN bits.
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
        """The documented JSON object (docs/cli/paths.md)."""
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


@dataclass(frozen=True, slots=True)
class Walk(JsonObject):
    """A queue pair's data on each link, and the congestion notification that answers it; both empty without a path.

    Each is also empty if the configuration of a leaf on its path lacks what a tunnel needs, such as a VRF with the prefix.
    """

    data: tuple[Wire, ...]
    cnp: tuple[Wire, ...]


def walk(
    network: Network,
    routes: Routes,
    path: QueuePairPath,
    src: str,
    dst: str,
    configs: Mapping[str, DeviceConfig] | None = None,
) -> Walk:
    """The packets of a queue pair's path between two NICs (``SERVER:NIC``), as ``queue_pair_paths`` found it.

    Of several links that share the traffic, the first is followed. ``configs`` are configurations of switches in place of the
    designed ones.
    """
    here, there = path.src_gid, path.dst_gid
    source, target = _with(network, src, here), _with(network, dst, there)
    scene = _Scene(network, routes, configs or {})
    qos = next(host_qos for host_qos in host_config(network, source[0]).qos if host_qos.fabric == source[1].fabric)
    answers = next(host_qos for host_qos in host_config(network, target[0]).qos if host_qos.fabric == target[1].fabric)
    color_dscp = _own_dscp(network, source[0], here)
    data = scene.walk(source, target, (here, there), path.hops, qos.dscp if color_dscp is None else color_dscp, qos)
    back = ways(network, routes, target, source, here)
    return Walk(data, scene.walk(target, source, (there, here), back, answers.cnp_dscp, answers) if data else ())


def _with(network: Network, name: str, address: str) -> tuple[str, Nic]:
    """The port of a NIC that has an address, with its server's name."""
    server, ports = find_ports(network, name)
    return server, next(nic for nic in ports if any(nic_address.address == address for nic_address in nic.addresses))


def _own_dscp(network: Network, server: str, address: str) -> int | None:
    """The DSCP of a path color, where the file gives the color one."""
    for nic in host_config(network, server).nics:
        for nic_address in nic.addresses:
            if nic_address.address == address and nic_address.traffic_class is not None:
                return nic_address.traffic_class // 4
    return None


@dataclass(frozen=True)
class _Scene:
    """A network and what its switches are configured to do."""

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
        """One way, link after link; empty if a leaf cannot put the packet into a tunnel."""
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
        """Each link of one way through the hops: its name, how many share, and its ends in the direction travelled."""
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
        """Return whether both NICs are on one layer-2 network: switches then leave the packet as the NIC sent it."""
        if source[1].network or target[1].network:
            return (source[1].tenant, source[1].network) == (target[1].tenant, target[1].network)
        same = source[1].leaf == target[1].leaf and source[1].vlan == target[1].vlan is not None
        return same and self._subnet(source, addresses[0]).prefix == self._subnet(target, addresses[1]).prefix

    def _has_network(self, leaf: str, target: tuple[str, Nic]) -> bool:
        config = self.config(leaf)
        return config.mac_vrf is not None and any(vlan.vni == self._vni(target) for vlan in config.mac_vrf.vlans)

    def _vni(self, nic: tuple[str, Nic]) -> int:
        """The VNI of the layer-2 network that a NIC is on."""
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
        """The tunnel that a leaf puts a packet into, and the leaf where it ends; None if a configuration lacks what it needs.

        ``ahead`` is where the packet then comes by.
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
    """The first tunnel endpoint of a leaf; with ``prefix``, the endpoint by which the leaf advertises it: that of its path color.

    None if the leaf has no endpoint, or no gateway with the prefix.
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
    """The class of a DSCP on a switch, its queue, and whether its packets are marked where the queue is long."""
    if config.qos is None:
        return "", None, False
    classes = config.qos.classes
    name = next(
        (name for name, traffic_class in classes.items() if dscp in traffic_class.dscp), config.qos.default_class
    )
    chosen_class = classes.get(name)
    return name, chosen_class.queue if chosen_class else None, chosen_class is not None and chosen_class.ecn is not None
