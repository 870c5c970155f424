"""A lab's namespaces and links (veth pairs for cables, bridges for VLANs), and a test of the kernel's features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import (
    entered,
    existing,
    ip,
    ip_batch,
    set_parameters,
    spaces_of,
    vrf_space,
)
from railweave.live.lab.names import namespace
from railweave.outputs.rendering.network import EMULATION
from railweave.systems.frr.host import OTHER_END, alias, parameters, vrf_by_interface

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.live.lab.plan import Plan, Plug
    from railweave.model.device.model import DeviceConfig, Gateway


NEEDED = {
    "pairs of virtual Ethernet interfaces (veth)": ["link add name one mtu 9216 type veth peer name two mtu 9216"],
    "bridges": ["link add name irb.2 type bridge mcast_snooping 0 stp_state 0"],
    "IPv6": ["link set two up", "addr add fd00::1/64 dev two"],
    "routing tables and rules of IPv6": [
        "link set one up",
        "-6 route add fd01::/64 dev two table 4000",
        "-6 rule add from fd00::1 table 4000",
    ],
}
"""The features that every lab needs, each with commands of ``ip`` that fail if the kernel lacks the feature.

Each command runs in the same namespace as the commands before it.
"""


def probe(lab: str) -> None:
    """Test the features that every lab needs. Raise ``LabError`` that names the missing feature if this kernel lacks one."""
    name = f"{lab}-probe"
    if name in existing(name):  # of a run that was killed
        ip(["netns", "del", name])
    try:
        ip(["netns", "add", name])
    except LabError as error:
        raise LabError(f"this system gives no network namespaces: {error}") from None
    try:
        for feature, lines in NEEDED.items():
            try:
                for line in lines:
                    ip(line.split(), inside=name)
            except LabError as error:
                raise LabError(f"this kernel has no {feature}: {error}") from None
    finally:
        ip(["netns", "del", name])


ROUTER = {
    "net/ipv6/conf/default/accept_dad": 0,
    "net/ipv6/conf/all/accept_dad": 0,
    "net/ipv6/conf/all/keep_addr_on_down": 1,
    "net/ipv6/conf/default/keep_addr_on_down": 1,
    "net/ipv4/conf/all/rp_filter": 0,
    "net/ipv4/conf/default/rp_filter": 0,
}
"""Kernel parameters of a router that are not part of its design. With them, the router keeps addresses on links that go down."""

SERVER = {
    "net/ipv6/conf/default/accept_dad": 0,
    "net/ipv6/conf/all/accept_dad": 0,
}
"""Kernel parameters of a server, besides its configuration. Without duplicate address detection, addresses work at once."""


def make(lab: str, plan: Plan) -> None:
    """Create namespaces, cables and bridges, and bring up the interfaces of routers. ``hosts.prepare`` brings up the servers' NICs.

    Raises ``LabError`` with the message of ``ip`` if the kernel refuses a command.
    """
    ip_batch(f"netns add {namespace(lab, space)}" for space in plan.spaces())
    designed = {space: parameters(config) for config in plan.configs.values() for space in spaces_of(config)}
    for space in plan.spaces():
        with entered(namespace(lab, space)):
            set_parameters(SERVER if space in plan.hosts else designed[space] | ROUTER)
    ip_batch(f"link add {_end(lab, plan, wire.a)} type veth peer {_end(lab, plan, wire.b)}" for wire in plan.wires)
    for config in plan.configs.values():
        for vrf in ("", *(vrf.name for vrf in config.vrfs)):
            ip_batch(router_lines(config, vrf), inside=namespace(lab, vrf_space(config.name, vrf)))
        answering = [gateway.port for gateway in config.gateways if gateway.proxy_arp and not gateway.vrf]
        with entered(namespace(lab, config.name)):
            set_parameters({f"net/ipv4/conf/{port}/proxy_arp": 1 for port in answering})


def _end(lab: str, plan: Plan, plug: Plug) -> str:
    mac = f" address {plug.mac}" if plug.mac else ""
    space = plan.space(plug.device, plug.interface)
    return f"name {plug.interface} netns {namespace(lab, space)} mtu {plug.mtu}{mac}"


def router_lines(config: DeviceConfig, vrf: str = "") -> Iterator[str]:
    """Yield the commands of ``ip`` that set up a router's main namespace, or the namespace of ``vrf``.

    They create bridges for server VLANs, set MTUs, and bring up ports and bridges.
    """
    of_vrf = vrf_by_interface(config)
    gateways = [gateway for gateway in config.gateways if gateway.vrf == vrf]
    ports = [port for port in config.interfaces if of_vrf.get(port.name, "") == vrf]
    used = {port.vlan for port in ports}
    yield "link set lo up"
    for gateway in gateways:
        if gateway.vlan is not None and gateway.vlan_name not in used:
            # A switch's gateway without a port is down. A bridge without ports has a carrier all the same, and zebra sets up
            # whatever has an address: so this is an interface without a carrier, for its other end stays down.
            yield f"link add name {gateway.name}{_shared(gateway)} mtu {gateway.mtu} type veth peer name {gateway.name}{OTHER_END}"
        elif gateway.vlan is not None:
            # Snooping would drop neighbor discovery that no querier asked for; nothing loops here.
            yield f"link add name {gateway.name}{_shared(gateway)} mtu {gateway.mtu} type bridge mcast_snooping 0 stp_state 0"
    for vrf_config in config.vrfs:
        if (
            vrf_config.name == vrf and vrf_config.unit is not None
        ):  # not every kernel has dummy devices; a bridge without ports is up as well
            yield f"link add name lo{vrf_config.unit} type bridge mcast_snooping 0 stp_state 0"
            yield f"link set lo{vrf_config.unit} up"
    for port in ports:
        if port.kind == "server" and port.outside:  # an edge port, of which the lab has the end on the leaf
            yield f"link add name {port.name} type veth peer name {port.name}{OTHER_END}"
            yield f"link set {port.name}{OTHER_END} up"
    vlans = {gateway.vlan_name: gateway.name for gateway in gateways}
    for port in ports:
        if port.vlan is not None:
            yield f"link set {port.name} master {vlans[port.vlan]}"
    for gateway in gateways:
        yield f"link set {gateway.name} mtu {gateway.mtu}{' up' if gateway.vlan is not None else ''}"
    for port in ports:
        if port.enabled:
            yield f"link set {port.name} up"
    yield from (f'link set {port.name} alias "{alias(port)}"' for port in ports if alias(port))
    if config.nos != EMULATION and not vrf:
        yield from _addresses(config)


def _shared(gateway: Gateway) -> str:
    """Return the option of ``ip`` that sets the MAC address shared by a layer-2 network's gateways; empty if they share none.

    The option is needed because frr.conf cannot set this address.
    """
    return f" address {gateway.mac}" if gateway.mac else ""


def _addresses(config: DeviceConfig) -> Iterator[str]:
    """Yield the commands of ``ip`` that add addresses which a switch's operating system sets itself, outside ``frr.conf``."""
    for address in config.loopbacks():
        yield f"address add {address} dev lo"
    for interface in (*config.fabric_interfaces(), *config.gateways):
        for address in interface.addresses:
            yield f"address add {address} dev {interface.name}"


def remove(lab: str) -> list[str]:
    """Remove every namespace of a lab with all its contents, and return their names."""
    namespaces = existing(f"{lab}-")
    ip_batch(f"netns del {name}" for name in namespaces)
    return namespaces
