"""Conversion of statements to BGP and the overlay (the tunnel, tenants' VRFs and layer-2 networks). It uses the types of FRR's reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.device import model
from railweave.model.device.overlay import MAC_VRF, MAC_VRF_NUMBER
from railweave.systems.dell_sonic.meaning.bgp import as_on_frr
from railweave.systems.dell_sonic.words import interface
from railweave.systems.frr.meaning.ports import Subnets
from railweave.systems.frr.read.routing import Sessioned
from railweave.systems.frr.read.sessions import Sessions, Syntax
from railweave.systems.frr.read.text import address
from railweave.systems.frr.statements.bgp import Evpn
from railweave.systems.frr.statements.ports import Port

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.config.sections import SectionReader
    from railweave.model.device.model import Gateway, Interface
    from railweave.model.device.timers import Bfd
    from railweave.systems.dell_sonic.statements.bgp import Router
    from railweave.systems.dell_sonic.statements.ports import Interfaces, Lines
    from railweave.systems.frr.meaning.policy import Lists

MARK = "Vrf-"
"""The beginning of the name of a tenant's VRF; the tenant's name follows it (sonic-vrf.yang requires ``Vrf``)."""
SYNTAX = Syntax(
    "dell_sonic",
    bfd=(("neighbor|peer-group <name...>", "bfd **"),),
    exports=("**", "address-family l2vpn evpn", "route-map * out"),
    imports=("**", "address-family l2vpn evpn", "route-map <map> in"),
)


def tenant(vrf: str) -> str:
    """Return the name of the tenant to which a VRF belongs, derived from the VRF's name."""
    return vrf.removeprefix(MARK)


class Routing(Sessioned):
    """The BGP sessions and the overlay of a switch. ``vrfs`` are the names of the defined VRFs."""

    def __init__(
        self,
        reader: SectionReader,
        interfaces: Interfaces,
        routers: Iterable[Router],
        policies: Lists,
        profiles: Mapping[str, Bfd],
        vrfs: Iterable[str],
    ) -> None:
        self._lines = interfaces.every
        self._tunnel = next(iter(interfaces.tunnels.values()), None)
        vnis = self._tunnel.vrfs if self._tunnel else {}
        ports = {
            name: Port(name, lines.vrf, lines.description, lines.shut, (*lines.addresses, *lines.anycast))
            for name, lines in self._lines.items()
        }
        subnets = Subnets(ports)
        sessions = {
            router.vrf: Sessions(as_on_frr(router), ports, subnets, profiles, SYNTAX, open_=True) for router in routers
        }
        loopbacks = sorted(interfaces.loopbacks, key=lambda name: interfaces.loopbacks[name].number)
        super().__init__(reader, ports, loopbacks, policies, sessions, {vrf: vnis.get(vrf, 0) for vrf in vrfs})

    def tenants(self, gateways: Iterable[Gateway]) -> tuple[model.Vrf, ...]:
        """Return the VRFs of tenants. ``gateways`` are the gateways of the switch."""
        prefixes: dict[str, list[Prefix]] = {vrf: [] for vrf in self.vnis}
        names = {tenant(vrf): vrf for vrf in self.vnis}
        for gateway in gateways:
            if gateway.vrf in names:
                prefixes[names[gateway.vrf]] += [address.prefix for address in gateway.addresses]
        return tuple(replace(vrf, name=tenant(vrf.name)) for vrf in self.vrfs(prefixes) if vrf.name in self.vnis)

    def tunnelled(self) -> model.OverlayConfig | None:
        """Return the overlay with the addresses of its tunnel endpoints, or None if no neighbor or group carries EVPN routes."""
        overlay, evpn = self.overlay(), self.default.here.evpn if self.default else None
        if overlay is None or evpn is None or not evpn.peers:
            return None
        source = at(self._tunnel.address or "", self._lines) if self._tunnel else None
        ends = [source] if source else []
        if not overlay.reflects:  # the loopback also has the addresses of all tunnel endpoints
            others = [loopback.address for loopback in self.loopbacks[1:]]
            ends += [end for end in others if end not in {self.loopbacks[0].address, overlay.loopback, *ends}]
        return replace(overlay, endpoints=tuple(model.TunnelEndpoint(end, None) for end in ends))

    def bridged(self, names: Mapping[int, str], ports: Iterable[Interface]) -> model.MacVrf | None:
        """Return the instance for layer-2 networks (MAC-VRF), or None if there is no layer-2 VNI. Each layer-2 VNI has its own route target.

        ``names`` are the names of VLANs, by number.
        """
        tunnel = self._tunnel
        routed = tunnel.transit() if tunnel else set[int]()
        vlans = [(vlan, vni) for vlan, vni in (tunnel.vlans if tunnel else {}).items() if vlan not in routed]
        if not vlans:
            return None
        evpn = (self.default and self.default.here.evpn) or Evpn()
        made = tuple(
            model.BridgedVlan(vlan, names.get(vlan, f"vn{vlan}"), vni, _target(evpn.vnis.get(vni, Evpn())))
            for vlan, vni in vlans
        )
        bridged, numbers = {vlan.name for vlan in made}, {vlan.vlan for vlan in made}
        return model.MacVrf(
            name=MAC_VRF,
            route_distinguisher=f"{self.router_id()}:{MAC_VRF_NUMBER}",
            route_target="",
            vlans=made,
            ports=tuple(port.name for port in ports if port.vlan in bridged or not numbers.isdisjoint(port.tagged)),
        )


def at(text: str, interfaces: Mapping[str, Lines]) -> Address | None:
    """Return the address that ``text`` states: an address, or the name of an interface, whose first address is meant.

    Return None for any other text. ``interfaces`` has the settings of interfaces by name.
    """
    name = interface(text)
    lines = interfaces.get(name) if name else None
    return lines.addresses[0].address if lines is not None and lines.addresses else address(text)


def _target(evpn: Evpn) -> str:
    """Return the route target of a VNI with the settings ``evpn``, such as ``target:65000:10``.

    If the import and export targets differ, the text has both. No design has such a text, so the difference stays visible.
    """
    if evpn.imports != evpn.exports:
        return f"target:{'+'.join(evpn.imports)}/{'+'.join(evpn.exports)}"
    return f"target:{evpn.imports[0]}" if evpn.imports else ""
