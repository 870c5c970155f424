"""All that FRR's text says of routing, put together for whichever system it runs on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.select import has
from railweave.model.device.reading import said
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.frr.read import overlay as evpn
from railweave.systems.frr.read.bfd import profiles
from railweave.systems.frr.read.bgp import instances
from railweave.systems.frr.read.defaults import unprinted
from railweave.systems.frr.read.isis import isis
from railweave.systems.frr.read.ospf import leave, ospf
from railweave.systems.frr.read.policy import policies
from railweave.systems.frr.read.ports import Subnets
from railweave.systems.frr.read.sessions import UNKNOWN, Sessions, bgp
from railweave.systems.frr.read.text import without_secrets
from railweave.systems.frr.read.values import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.config.sections import Section
    from railweave.model.config.taking import Taking
    from railweave.model.device.model import Bgp, Isis, MacVrf, Ospf, OverlayConfig, Vrf
    from railweave.model.device.reading import Said
    from railweave.systems.frr.read.instance import Instance
    from railweave.systems.frr.read.ports import Port

REQUIRES_POLICY = (7, 4)
"""The release from which on external sessions without a route-map pass nothing, unless the text says otherwise."""

_HIERARCHIES = {"router", "ip", "ipv6", "bgp", "no", "key", "line"}


class Routing:
    """Routing as its text has it. ``ports`` are the interfaces with their addresses, wherever those stand."""

    def __init__(self, taking: Taking, ports: Mapping[str, Port], loopbacks: Sequence[str]) -> None:
        self.taking, self.ports = taking, ports
        self.loopback_names = tuple(name for name in loopbacks if name in ports and not ports[name].vrf)
        self._of_vrfs = {
            ports[name].vrf: (name, ports[name].addresses) for name in loopbacks if name in ports and ports[name].vrf
        }
        self.loopbacks = [one for name in self.loopback_names for one in ports[name].addresses]
        self.profiles = profiles(taking)
        self.policies = policies(taking, ports)
        subnets = Subnets(ports)
        passes = _passes(taking)
        self.sessions = {
            one.vrf: Sessions(one, ports, subnets, self.profiles, open_=_open(one, passes=passes))
            for one in instances(taking)
        }
        self.vnis = evpn.vrf_sections(taking)
        self._ospf = ospf(taking, ports, self.router_id(), self.loopback_names)

    @property
    def default(self) -> Sessions | None:
        """The sessions of the default VRF."""
        return self.sessions.get("")

    def router_id(self) -> Address:
        """The router id: as BGP says it, else the address of the loopback."""
        own = self.default.here.router_id if self.default else None
        return own or next((one.address for one in self.loopbacks if one.family == "ipv4"), UNKNOWN)

    def loopback(self) -> Prefix:
        """The prefix of the loopback; that of the router id where the text has no loopback."""
        if self.loopbacks:
            return self.loopbacks[0].prefix
        return UNKNOWN.prefix if self.loopback_names else self.router_id().prefix

    def bgp(self) -> Bgp | None:
        """BGP of the default VRF; None where there is none."""
        own = self.default
        if own is None:
            return None
        without = {*evpn.evpn_maps(own.here), *evpn.external_maps(self.sessions)}
        kept = {
            name
            for level in own.here.neighbors.values()
            for f, x in level.families.items()
            if f != "evpn"
            for name in (x.imports, x.exports)
        }
        return bgp(own, self.policies, self.taking, without - kept)

    def isis(self) -> Isis | None:
        """IS-IS; None where it does not run."""
        loopback = next((one.address for one in self.loopbacks if one.family == "ipv4"), self.router_id())
        return isis(self.taking, self.ports, self.profiles, loopback, self.loopback_names)

    def ospf(self, bgp: Bgp | None) -> Ospf | None:
        """OSPF; None where it does not run. Beside sessions of BGP on links it is not understood: routes by both are more than a configuration holds."""
        if bgp is not None and bgp.groups and self._ospf is not None:
            leave(self.taking, self.ports)
            self._ospf = None
        return self._ospf

    def overlay(self) -> OverlayConfig | None:
        """EVPN; None where it does not run."""
        own = self.default
        addresses = [one.address for one in self.loopbacks]
        return evpn.overlay(own, self.policies, addresses, self.taking) if own else None

    def mac_vrf(self) -> MacVrf | None:
        """Bridged VNIs; None where none is named."""
        return evpn.mac_vrf(self.default.here) if self.default else None

    def vrfs(self, prefixes: Mapping[str, Sequence[Prefix]]) -> tuple[Vrf, ...]:
        """VRFs that route. ``prefixes`` are those of their gateways."""
        found = evpn.vrfs(self.vnis, self.sessions, self.policies, prefixes)
        return tuple(self._with_loopback(one) for one in found)

    def is_loopback(self, name: str) -> bool:
        """Whether an interface is a loopback, of the device or of a VRF."""
        return name in self.loopback_names or any(name == own for own, _ in self._of_vrfs.values())

    def _with_loopback(self, one: Vrf) -> Vrf:
        if one.name not in self._of_vrfs:
            return one
        name, addresses = self._of_vrfs[one.name]
        prefixes = tuple(each.address.prefix for each in addresses)
        return replace(one, loopbacks=prefixes, unit=number(name.lstrip("abcdefghijklmnopqrstuvwxyzL")))

    def on_fabric(self) -> set[str]:
        """Interfaces that a session of the default VRF, or IS-IS or OSPF, runs on."""
        own = self.default
        found = {own.session(one).interface for one, _ in own.peers()} - {""} if own else set[str]()
        running = {one.name for one in self.ports.values() if one.isis and one.isis.families and not one.isis.passive}
        return found | running | {one.interface for one in (self._ospf.ports if self._ospf else ())}

    def outside(self) -> set[str]:
        """Interfaces that sessions of other VRFs run on."""
        own = (one for vrf, one in self.sessions.items() if vrf)
        return {each.session(peer).interface for each in own for peer, _ in each.peers()} - {""}

    def fast_reroute(self) -> bool:
        """Whether next-hop groups are repaired at once; where there is no BGP, nobody says."""
        return self.default.here.fast if self.default else True


def general(taking: Taking) -> str:
    """The name of the device, with the lines at the top that are as expected."""
    for form in (
        "frr defaults *",
        "frr version *",
        "ip forwarding",
        "ipv6 forwarding",
        "no zebra nexthop kernel enable",
    ):
        taking.last(form)
    for word, family in (("ip", "ipv4"), ("ipv6", "ipv6")):
        # Where a family is not routed, that it is not forwarded changes nothing.
        for line in taking.each(f"no {word} forwarding"):
            if has(taking.sections, "router bgp **", f"address-family {family} **"):
                taking.leave(line)
    name = taking.last("hostname <name>")
    return name["name"] if name else ""


def _passes(taking: Taking) -> bool:
    """Whether an external session without a route-map passes everything where the instance does not say."""
    profile = taking.last("frr defaults <name>")
    version = taking.last("frr version <release>")
    parts = tuple(number(part) or 0 for part in version["release"].split(".")[:2]) if version else REQUIRES_POLICY
    return (profile is not None and profile["name"] == "datacenter") or parts < REQUIRES_POLICY


def _open(one: Instance, *, passes: bool) -> bool:
    return passes if one.policy_required is None else not one.policy_required


def advertisements(port: Port) -> RouterAdvertisements | None:
    """Router advertisements of an interface; None where it sends none to servers. Timers are those of FRR where it says none."""
    if not port.advertises():
        return None

    def timer(word: str, field: str) -> int:
        return port.timers.get(word, unprinted(f"gateways.advertisements.{field}"))

    option = next(iter(port.prefixes.values()), None)
    found = RouterAdvertisements(
        router_lifetime=timer("ra-lifetime", "router_lifetime"),
        max_interval=timer("ra-interval", "max_interval"),
        hop_limit=timer("ra-hop-limit", "hop_limit"),
        reachable_time=port.timers.get("reachable-time", 0),
        retransmit_timer=port.timers.get("ra-retrans-interval", 0),
        link_mtu="mtu" in port.timers,
        managed="managed-config-flag" in port.flags,
        other="other-config-flag" in port.flags,
    )
    if option is None:
        return found
    return replace(
        found,
        prefix_valid_lifetime=option.valid,
        prefix_preferred_lifetime=option.preferred,
        on_link=option.on_link,
        autonomous=option.autonomous,
    )


def prefixes(port: Port) -> tuple[Prefix, ...]:
    """The prefixes of servers behind a gateway: of IPv6 as it advertises them, else those of its addresses."""
    found = tuple(port.prefixes) if port.advertises() else ()
    own = tuple(dict.fromkeys(one.prefix for one in port.addresses))
    return (*(one for one in own if one.family == "ipv4"), *found) if found else own


def statements(taking: Taking, files: Sequence[tuple[str, Sequence[Section]]]) -> Iterator[Said]:
    """Every line of the files and what became of it, but of those without a name. No secret is in it."""
    of_file = {id(one): file for file, sections in files for one in sections}
    irrelevant = catalog().systems["frr"].reads.irrelevant
    lines: dict[str, list[tuple[int, str, str, bool]]] = {file: [] for file, _ in files}
    file = ""
    for section, path, understood in taking.lines():
        file = of_file.get(id(section), file)
        words = path.split(maxsplit=2)
        hierarchy = " ".join(words[:2]) if words[0] in _HIERARCHIES else words[0]
        lines[file].append((section.at, hierarchy, without_secrets(path), understood))
    for name, found in lines.items():
        if name:
            yield from said(name, found, irrelevant)
