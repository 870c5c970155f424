"""The contents of a lab: the devices' configurations with the lab's timers, and the cables between their interfaces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import spaces_of, vrf_space
from railweave.model.config.addresses import Address
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.status import present
from railweave.outputs.rendering.network import EMULATION, emulation
from railweave.systems.frr.host import vrf_by_interface

if TYPE_CHECKING:
    from railweave.live.lab.overlay import Overlay
    from railweave.model.device.host_model import HostConfig
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.model.network.devices import Cable, End, Nic
    from railweave.model.network.model import Network

MOST_CHARACTERS = 15
"""The largest length of an interface name, in characters (IFNAMSIZ of linux/if.h, without the final zero)."""


@dataclass(frozen=True, slots=True)
class Plug:
    """An end of a cable. ``mtu`` excludes the Ethernet header. If ``mac`` is empty, the kernel chooses the MAC address."""

    device: str
    interface: str
    mtu: int
    mac: str = ""


@dataclass(frozen=True, slots=True)
class Wire:
    """A cable of the lab. ``link`` is its name in the ``Network``.

    ``a`` is the end at the server or at the lower switch: a leaf, or a spine under a super-spine.
    """

    link: str
    a: Plug
    b: Plug


@dataclass(frozen=True)
class Plan:
    """The contents of a lab. Every switch runs FRR, and every server is a namespace.

    ``configs`` has the switches' configurations and ``hosts`` the servers' configurations, by name. ``overlay`` has the lab's
    timers; None means the designed timers. ``wires`` are the cables.
    """

    network: Network
    overlay: Overlay | None
    configs: dict[str, DeviceConfig]
    hosts: dict[str, HostConfig]
    wires: tuple[Wire, ...]

    def control_plane(self) -> ControlPlane:
        """Return the control plane of the lab's routers: a model that computes the routes they should have."""
        return ControlPlane(self.configs.values())

    def protocols(self) -> frozenset[str]:
        """Return the underlay's routing protocols: ``bgp`` or ``isis`` if all routers run the same protocol, otherwise both."""
        return frozenset("isis" if config.isis is not None else "bgp" for config in self.configs.values())

    def devices(self) -> list[str]:
        """Return the names of all switches, then of all servers."""
        return [*self.configs, *self.hosts]

    def spaces(self) -> list[str]:
        """Return the network namespaces of all devices and of the switches' VRFs."""
        return [*(space for config in self.configs.values() for space in spaces_of(config)), *self.hosts]

    def space(self, device: str, interface: str) -> str:
        """Return the namespace of a device's interface."""
        return vrf_space(device, self._vrfs.get((device, interface), ""))

    def interface(self, device: str, link: str) -> str:
        """Return the interface that connects a device to a link. Raise ``KeyError`` if the device is not on the link."""
        return self._interfaces[device, link]

    def link(self, device: str, interface: str) -> str | None:
        """Return the link on a device's interface, or None if the interface has no cable."""
        return self._links.get((device, interface))

    @cached_property
    def tenant_prefixes(self) -> frozenset[str]:
        """All prefixes in VRFs."""
        return frozenset(
            prefix for config in self.configs.values() for vrf in config.vrfs for prefix in vrf.own_prefixes()
        )

    @cached_property
    def bridged_hosts(self) -> dict[str, Nic]:
        """The NICs in layer-2 networks, by address. The addresses are written as host prefixes.

        Leaves may also advertise these prefixes (EVPN type 2).
        """
        nics = [nic for server in self.network.servers for nic in server.nics if nic.network]
        return {Address(address.address).prefix: nic for nic in nics for address in nic.addresses}

    @cached_property
    def _interfaces(self) -> dict[tuple[str, str], str]:
        return {(plug.device, wire.link): plug.interface for wire in self.wires for plug in (wire.a, wire.b)}

    @cached_property
    def _vrfs(self) -> dict[tuple[str, str], str]:
        return {
            (name, interface): vrf
            for name, config in self.configs.items()
            for interface, vrf in vrf_by_interface(config).items()
        }

    @cached_property
    def _links(self) -> dict[tuple[str, str], str]:
        return {(device, interface): link for (device, link), interface in self._interfaces.items()}


def make_plan(network: Network, overlay: Overlay | None, configs: dict[str, DeviceConfig] | None = None) -> Plan:
    """Return the plan of a network's lab.

    ``overlay`` has the lab's timers; None means the designed timers. ``configs`` are configurations of switches, in place of the designed
    ones. Devices and links that ``status:`` marks absent are left out, with their ports and sessions. Raises ``LabError`` if FRR or Linux
    cannot run the network, for example because an interface name is too long.
    """
    network = present(network)
    colored = [switch.name for switch in network.switches if len(switch.endpoints) > 1]
    if colored:
        raise LabError(
            f"{colored[0]} has a tunnel endpoint per path color, and FRR one per VNI: `railweave verify` proves such tenants"
        )
    lab_configs = (
        {switch.name: _cabled(configs[switch.name], network) for switch in network.switches}
        if configs
        else {switch.name: device_config(network, switch.name, emulation(switch)) for switch in network.switches}
    )
    outside = [config.name for config in lab_configs.values() if any(vrf.external for vrf in config.vrfs)]
    if outside:
        raise LabError(
            f"{outside[0]} has sessions with routers outside the fabric, which the lab does not have: `railweave verify` "
            "proves such tenants; a copy of the file without `external:` can be brought up"
        )
    native = [config.name for config in lab_configs.values() if config.nos != EMULATION and config.vrfs]
    if native:
        raise LabError(
            f"{native[0]} has VRFs by SONiC's names, which the lab does not make: try tenants with `--device :frr`"
        )
    if overlay is not None:
        lab_configs = {name: overlay.applied(config) for name, config in lab_configs.items()}
    # The kernel takes router advertisements itself here, whoever does so on the real servers; MAC addresses are those
    # that the lab gives, so nothing is a placeholder any more.
    by_kernel = replace(network, hosts=network.hosts.model_copy(update={"router_advertisements": "kernel"}))
    hosts = {server.name: _known(host_config(by_kernel, server.name)) for server in network.servers}
    ports = {(config.name, port.link): port for config in lab_configs.values() for port in config.interfaces}
    wires = tuple(_wire(cable, ports, hosts) for cable in network.cables)
    return Plan(network, overlay, lab_configs, hosts, _checked(wires))


def _cabled(config: DeviceConfig, network: Network) -> DeviceConfig:
    """Return a configuration without the ports and sessions on cables that the lab's network lacks."""
    cables = {cable.name for cable in network.cables}
    gone = {interface.name for interface in config.interfaces if not interface.outside and interface.link not in cables}
    if not gone:
        return config
    switches = {switch.name for switch in network.switches}
    bgp, isis, overlay = config.bgp, config.isis, config.overlay
    if bgp is not None:
        groups = (replace(group, sessions=tuple(s for s in group.sessions if s.link in cables)) for group in bgp.groups)
        bgp = replace(bgp, groups=tuple(group for group in groups if group.sessions))
    if isis is not None:
        isis = replace(isis, ports=tuple(port for port in isis.ports if port.link in cables))
    if overlay is not None:
        overlay = replace(
            overlay, neighbors=tuple(neighbor for neighbor in overlay.neighbors if neighbor.peer in switches)
        )
    return replace(
        config,
        interfaces=tuple(interface for interface in config.interfaces if interface.name not in gone),
        gateways=tuple(gateway for gateway in config.gateways if gateway.port not in gone),
        bgp=bgp,
        isis=isis,
        overlay=overlay,
    )


def _known(host: HostConfig) -> HostConfig:
    return replace(host, nics=tuple(replace(nic, mac_is_placeholder=False) for nic in host.nics))


def _wire(cable: Cable, ports: dict[tuple[str, str], Interface], hosts: dict[str, HostConfig]) -> Wire:
    return Wire(cable.name, _plug(cable, cable.a, ports, hosts), _plug(cable, cable.b, ports, hosts))


def _plug(cable: Cable, end: End, ports: dict[tuple[str, str], Interface], hosts: dict[str, HostConfig]) -> Plug:
    if end.device in hosts:
        nic = next(nic for nic in hosts[end.device].nics if end.port in {nic.name, nic.netdev})
        return Plug(end.device, nic.netdev, nic.mtu, nic.mac)
    port = ports[end.device, cable.name]
    return Plug(end.device, port.name, port.mtu - ETHERNET_HEADER)


def _checked(wires: tuple[Wire, ...]) -> tuple[Wire, ...]:
    for wire in wires:
        for plug in (wire.a, wire.b):
            if len(plug.interface) > MOST_CHARACTERS:
                raise LabError(
                    f"{plug.device}: {plug.interface} is longer than the {MOST_CHARACTERS} characters that Linux gives an "
                    "interface: give it a shorter name in the inventory"
                )
    return wires
