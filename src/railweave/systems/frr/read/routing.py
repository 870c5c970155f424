"""Derivation of the routing configuration from FRR's statements, for every system on which FRR runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.sections import Section, SectionReader, has
from railweave.model.device import model
from railweave.model.device.overlay import MAC_VRF, MAC_VRF_NUMBER
from railweave.model.device.reading import ReadStatement, classify_statements
from railweave.systems.frr.meaning.bgp import FIRST_BRIDGED
from railweave.systems.frr.meaning.general import mark_general_unknown, passes
from railweave.systems.frr.meaning.igp import isis, mark_isis_unknown, mark_ospf_unknown, on_links, ospf
from railweave.systems.frr.meaning.policy import interface_list, lists, profiles
from railweave.systems.frr.meaning.ports import Subnets
from railweave.systems.frr.read.printout import PRINTED
from railweave.systems.frr.read.sessions import UNKNOWN, Sessions, Syntax, bgp, statements_of
from railweave.systems.frr.read.text import number, without_secrets
from railweave.systems.frr.statements.bgp import ROUTERS, Evpn
from railweave.systems.frr.statements.general import GENERAL
from railweave.systems.frr.statements.igp import IGP
from railweave.systems.frr.statements.policy import POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.config.sections import Known
    from railweave.model.device.model import Bgp, Isis, Ospf
    from railweave.systems.frr.meaning.policy import Lists
    from railweave.systems.frr.statements.bgp import Router
    from railweave.systems.frr.statements.ports import Port


_SHORT = 65535


def overlay(
    sessions: Sessions, policies: Lists, loopbacks: Sequence[Address], reader: SectionReader
) -> model.OverlayConfig | None:
    """Return the overlay of a device: the sessions between loopbacks, and the links whose sessions also carry EVPN routes.

    Return None if EVPN does not run, or if the address from which tunnels start is unknown. ``loopbacks`` are the addresses
    of the loopbacks. ``reader`` has the lines of the configuration, ``policies`` the prefix lists and route-maps.
    """
    here = sessions.here
    if here.evpn is None:
        return None
    peers = [peer for peer in sessions.peers if sessions.evpn(peer)]
    ports = {peer.name: sessions.links[peer.name].interface for peer in peers}
    links = [peer for peer in peers if ports[peer.name] and (sessions.unicast(peer) or peer.on_interface)]
    others = [peer for peer in peers if peer not in links and sessions.reaches(peer)]
    numbered = [(peer, session) for peer in others if (session := sessions.numbered(peer)) is not None]
    neighbors = tuple(session for _, session in numbered)
    sources = [at for peer, session in numbered if not ports[peer.name] and (at := session.local_address) != UNKNOWN]
    loopback = next(iter((*sources, *loopbacks)), here.router_id)
    if loopback is None:
        return None
    levels = [level for peer in peers for level in here.within(peer, "evpn")]
    mark = policies.mark({sessions.exports(peer, "evpn") or "" for peer in peers})
    if mark is None:
        for line in statements_of(here, reader, *sessions.syntax.exports):
            reader.mark_unknown(line)
    return model.OverlayConfig(
        loopback=loopback,
        neighbors=neighbors,
        endpoints=_endpoints(loopback, loopbacks) if here.evpn.all_vnis else (),
        reflects=any(level.next_hop_unchanged or level.reflected for level in levels)
        or ((has(reader.sections, PRINTED) or bool(links)) and not here.evpn.all_vnis),
        from_spine=mark or "",
        bfd=sessions.common_bfd([peer for peer, _ in numbered], reader),
        links=tuple(dict.fromkeys(ports[link.name] for link in links)),
    )


def _endpoints(loopback: Address, loopbacks: Sequence[Address]) -> tuple[model.TunnelEndpoint, ...]:
    """Return the tunnel endpoints: all loopback addresses except the first and except ``loopback``.

    ``loopback`` is the address of the overlay sessions. If there are no other addresses, tunnels end at ``loopback``.
    """
    others = [address for address in loopbacks[1:] if address != loopback]
    return tuple(model.TunnelEndpoint(address, None) for address in others or [loopback])


def evpn_maps(router: Router) -> set[str]:
    """Return the names of the route-maps that the BGP instance ``router`` applies to EVPN routes that it sends."""
    peers = (router.evpn or Evpn()).peers
    return {peer.exports for name, peer in peers.items() if peer.exports and name in router.neighbors}


def mac_vrf(here: Router) -> model.MacVrf | None:
    """Return the bridging instance of the layer-2 VNIs of the BGP instance ``here``, or None if there are no VNIs.

    Each VNI has its own route target. In railweave's files, the route distinguisher of a VNI contains the VLAN.
    """
    if here.evpn is None or not here.evpn.vnis:
        return None
    vnis = here.evpn.vnis
    vlans = tuple(
        model.BridgedVlan(_vlan(evpn.distinguisher), "", vni, _target(_targets(evpn, _automatic(here, vni))))
        for vni, evpn in vnis.items()
    )
    router = next(iter(vnis.values())).distinguisher.rpartition(":")[0] or here.router_id
    return model.MacVrf(MAC_VRF, f"{router}:{MAC_VRF_NUMBER}", "", vlans, ())


def _vlan(distinguisher: str) -> int:
    value = number(distinguisher.rpartition(":")[2])
    return value - FIRST_BRIDGED if value is not None and FIRST_BRIDGED < value <= FIRST_BRIDGED + 4094 else 0


def _targets(evpn: Evpn, automatic: str) -> str:
    """Return the route target of a VNI (``evpn``). ``automatic`` is FRR's default.

    If there are several, or if the import and export targets differ, return all of them as ``IMPORTS/EXPORTS``. No design has
    such a text, so a comparison with the design shows the difference.
    """
    imports, exports = evpn.imports or (automatic,), evpn.exports or (automatic,)
    return imports[0] if imports == exports and len(imports) == 1 else f"{'+'.join(imports)}/{'+'.join(exports)}"


def _target(text: str) -> str:
    return text if not text else f"target:{text}"


def _automatic(here: Router, vni: int) -> str:
    """Return FRR's default route target of a VNI: the lower 16 bits of the AS number of ``here``, then the VNI (RFC 8365)."""
    return f"{here.asn & _SHORT}:{vni}"


def _vrf(name: str, vni: int, sessions: Sessions | None, policies: Lists, prefixes: Sequence[Prefix]) -> model.Vrf:
    here = sessions.here if sessions else None
    evpn = (here and here.evpn) or Evpn()
    automatic = (_automatic(here, vni),) if here and vni else ()
    return model.Vrf(
        name=name,
        vni=vni,
        route_distinguisher=evpn.distinguisher,
        import_targets=tuple(map(_target, evpn.imports or automatic)),
        export_targets=tuple(map(_target, evpn.exports or automatic)),
        prefixes=tuple(prefix for prefix in prefixes if here and _advertises(here, evpn, prefix)),
        external=tuple(_external(sessions, policies)) if sessions else (),
    )


def _advertises(here: Router, evpn: Evpn, prefix: Prefix) -> bool:
    """Return True if the VRF ``here`` advertises a connected prefix as an EVPN type-5 route."""
    unicast = here.unicast.get(prefix.family)
    return (
        prefix.family in evpn.advertises
        and unicast is not None
        and (unicast.redistributes is not None or prefix in unicast.networks)
    )


def _external(sessions: Sessions, policies: Lists) -> Iterator[model.ExternalPeer]:
    """Yield the sessions with external routers among ``sessions``, with the prefixes that each session accepts and advertises.

    ``policies`` has the prefix lists and route-maps.
    """
    for peer in sessions.peers:
        session = sessions.links[peer.name]
        if session.peer_address is None or session.local_address is None or not sessions.unicast(peer):
            continue
        imports, exports = (policies.prefixes.passed(policies.terms(name)) for name in sessions.policies(peer))
        router = peer.group or session.peer
        unit = session.interface if "." in session.interface else f"{session.interface}.0"
        numbered = model.NumberedSession(
            unit, "", session.peer or router, session.peer_as, session.local_address, session.peer_address
        )
        yield model.ExternalPeer(router, numbered, imports, exports)


def external_maps(instances: Mapping[str, Sessions]) -> Iterator[str]:
    """Yield the names of the route-maps that sessions in VRFs use.

    ``instances`` has the sessions of each VRF; an empty name is the default VRF.
    """
    for name, sessions in instances.items():
        if name:
            for peer in sessions.peers:
                yield from sessions.policies(peer)


SYNTAX = Syntax(
    "frr",
    bfd=(("neighbor <name> bfd",), ("neighbor <name> bfd profile *",)),
    exports=("address-family l2vpn evpn", "neighbor * route-map * out"),
    imports=("address-family l2vpn evpn", "neighbor * route-map <map> in"),
)
_HIERARCHIES = {"router", "ip", "ipv6", "bgp", "no", "key", "line"}


class Sessioned:
    """The BGP sessions of a configuration, including EVPN sessions.

    - ``ports``: the interfaces with their addresses.
    - ``loopbacks``: the names of loopbacks.
    - ``sessions``: the sessions of each VRF; the name of the default VRF is empty.
    - ``vnis``: the VNI of each VRF; 0 means no VNI.
    """

    def __init__(
        self,
        reader: SectionReader,
        ports: Mapping[str, Port],
        loopbacks: Sequence[str],
        policies: Lists,
        sessions: Mapping[str, Sessions],
        vnis: Mapping[str, int],
    ) -> None:
        self.reader, self.ports, self.policies, self.sessions, self.vnis = reader, ports, policies, sessions, vnis
        self.loopback_names = tuple(name for name in loopbacks if name in ports and not ports[name].vrf)
        self._of_vrfs = {
            ports[name].vrf: (name, ports[name].addresses) for name in loopbacks if name in ports and ports[name].vrf
        }
        self.loopbacks = [address for name in self.loopback_names for address in ports[name].addresses]
        for vrf, main in self.sessions.items():
            _leave_unnamed(main.here, reader)
            for line in statements_of(main.here, reader, *main.syntax.imports):
                if not policies.passes_all(line["map"]):  # the route computation ignores import filters of EVPN
                    reader.mark_unknown(line)
            if vrf:  # a VRF in `DeviceConfig` has no BFD and no AS number of its own, and is not shut down
                main.mark_bfd_unknown(main.here.neighbors, reader)
                for form in ("bgp shutdown **", "shutdown **") if main.here.shut else ():
                    for line in statements_of(main.here, reader, form):
                        reader.mark_unknown(line)
                if self.default is None or main.here.asn != self.default.here.asn:
                    for line in statements_of(main.here, reader):
                        reader.mark_unknown(line)

    @property
    def default(self) -> Sessions | None:
        """The sessions of the default VRF, or None if BGP does not run in the default VRF."""
        return self.sessions.get("")

    def router_id(self) -> Address:
        """Return the router id of BGP or, if none is set, the IPv4 address of the loopback."""
        router_id = self.default.here.router_id if self.default else None
        return router_id or next(
            (loopback.address for loopback in self.loopbacks if loopback.family == "ipv4"), UNKNOWN
        )

    def loopback(self) -> Prefix:
        """Return the main address of the loopback."""
        return model.loopback_among((each.prefix for each in self.loopbacks), self.router_id())

    def bgp(self) -> Bgp | None:
        """Return the BGP configuration of the default VRF, or None if there is none."""
        main = self.default
        if main is None:
            return None
        without = {*evpn_maps(main.here), *external_maps(self.sessions)}
        levels = [level for family in main.here.unicast.values() for level in family.peers.values()]
        kept = {name for level in levels for name in (level.imports, level.exports)}
        return bgp(main, self.policies, self.reader, without - kept)

    def overlay(self) -> model.OverlayConfig | None:
        """Return the overlay, or None if EVPN does not run."""
        main = self.default
        addresses = [loopback.address for loopback in self.loopbacks]
        return overlay(main, self.policies, addresses, self.reader) if main else None

    def mac_vrf(self) -> model.MacVrf | None:
        """Return the bridging instance of the layer-2 VNIs, or None if there are no such VNIs."""
        return mac_vrf(self.default.here) if self.default else None

    def vrfs(self, prefixes: Mapping[str, Sequence[Prefix]]) -> tuple[model.Vrf, ...]:
        """Return the VRFs of tenants. ``prefixes`` has the prefixes of gateways in each VRF."""
        main, policies, advertised = self.default, self.policies, {**prefixes}
        ways = sum(main.evpn(peer) for peer in main.peers) if main else 0
        for vrf, sessions in self.sessions.items():
            if vrf:
                advertised[vrf] = self._held(vrf, sessions.here, ways, advertised.get(vrf, ()))
        names = dict.fromkeys(name for name in (*self.vnis, *self.sessions) if name)
        tenants = (
            _vrf(name, self.vnis.get(name, 0), self.sessions.get(name), policies, advertised.get(name, ()))
            for name in names
        )
        return tuple(self._with_loopback(tenant) for tenant in tenants)

    def _held(self, vrf: str, here: Router, ways: int, prefixes: Sequence[Prefix]) -> Sequence[Prefix]:
        """Return the members of ``prefixes`` (those of gateways) that the BGP instance ``here`` of a VRF advertises.

        The route-maps of ``redistribute connected`` select them. These lines are marked as not understood:

        - ``maximum-paths`` with a number less than ``ways``, the number of paths that EVPN sessions provide;
        - ``network`` with a prefix that neither a gateway nor another interface of the VRF has;
        - ``redistribute connected`` with a route-map whose result cannot be computed.
        """
        at_ports = {each.prefix for port in self.ports.values() if port.vrf == vrf for each in port.addresses}
        networks = {*map(str, prefixes), *map(str, at_ports)}
        for line in statements_of(here, self.reader, "**", "maximum-paths <width>"):
            width = number(line["width"])
            if width is not None and width < ways:
                self.reader.mark_unknown(line)
        for line in statements_of(here, self.reader, "**", "network <prefix>"):
            if line["prefix"] not in networks:
                self.reader.mark_unknown(line)
        for family, unicast in here.unicast.items():
            if not unicast.redistributes:
                continue
            passed = self.policies.prefixes.connected(self.policies.terms(unicast.redistributes), prefixes)
            if passed is None:
                for line in statements_of(
                    here, self.reader, "**", f"redistribute connected route-map {unicast.redistributes}"
                ):
                    self.reader.mark_unknown(line)
            else:
                prefixes = [each for each in prefixes if each.family != family or each in (*passed, *unicast.networks)]
        return prefixes

    def is_loopback(self, name: str) -> bool:
        """Return True if an interface is a loopback, of the device or of a VRF."""
        return name in self.loopback_names or any(name == loopback for loopback, _ in self._of_vrfs.values())

    def _with_loopback(self, vrf: model.Vrf) -> model.Vrf:
        if vrf.name not in self._of_vrfs:
            return vrf
        name, addresses = self._of_vrfs[vrf.name]
        prefixes = tuple(each.address.prefix for each in addresses)
        return replace(vrf, loopbacks=prefixes, unit=number(name.lstrip("abcdefghijklmnopqrstuvwxyzL")))

    def outside(self) -> set[str]:
        """Return the names of interfaces with BGP sessions of tenants' VRFs."""
        tenants = (sessions for vrf, sessions in self.sessions.items() if vrf)
        return {session.interface for tenant in tenants for session in tenant.links.values()} - {""}


class Routing(Sessioned):
    """The routing configuration that FRR's statements describe."""

    def __init__(self, reader: SectionReader, ports: Mapping[str, Port], loopbacks: Sequence[str]) -> None:
        stated = POLICIES.read(reader.sections, reader)
        self.profiles, policies = profiles(stated, reader), lists(stated, reader, "frr", numbered=True)
        for name, port in ports.items():
            policies.prefixes.hold(interface_list(name), dict.fromkeys(each.prefix for each in port.addresses))
        subnets = Subnets(ports)
        self.general = GENERAL.read(reader.sections, reader)
        mark_general_unknown(reader)
        routing = ROUTERS.read(reader.sections, reader)
        sessions = {
            vrf: Sessions(
                router, ports, subnets, self.profiles, SYNTAX, open_=_open(router, passes=passes(self.general))
            )
            for vrf, router in routing.routers.items()
        }
        vnis = {name: vrf.vni for name, vrf in routing.vrfs.items() if vrf.vni}
        super().__init__(reader, ports, loopbacks, policies, sessions, vnis)
        self._igp = IGP.read(reader.sections, reader)
        mark_isis_unknown(self._igp, ports, reader)
        self._ospf = ospf(self._igp.ospf.get("ospf"), ports, self.router_id(), self.loopback_names)
        if self._ospf is None:
            mark_ospf_unknown(reader)

    def isis(self) -> Isis | None:
        """Return the IS-IS configuration, or None if IS-IS does not run."""
        loopback = next(
            (loopback.address for loopback in self.loopbacks if loopback.family == "ipv4"), self.router_id()
        )
        return isis(self._igp, self.ports, self.profiles, loopback, self.loopback_names)

    def ospf(self, bgp: Bgp | None) -> Ospf | None:
        """Return the OSPF configuration, or None if OSPF does not run. ``bgp`` is the BGP configuration of the default VRF.

        If BGP also has sessions on links, the OSPF lines are marked as not understood: ``DeviceConfig`` cannot represent both.
        """
        if bgp is not None and bgp.groups and self._ospf is not None:
            mark_ospf_unknown(self.reader)
            self._ospf = None
        return self._ospf

    def on_fabric(self) -> set[str]:
        """Return the names of interfaces to other switches: those on which IS-IS, OSPF or a BGP session of the default VRF runs."""
        on_sessions = (
            {session.interface for session in self.default.links.values()} - {""} if self.default else set[str]()
        )
        running = {port.name for port, _ in on_links(self._igp, self.ports)}
        return on_sessions | running | {port.interface for port in (self._ospf.ports if self._ospf else ())}

    def fast_reroute(self) -> bool:
        """Return True if BGP ends a session as soon as the neighbor cannot be reached (``bgp fast-convergence``), or if BGP does not run."""
        return self.default.here.fast if self.default else True


def _open(router: Router, *, passes: bool) -> bool:
    return passes if router.requires_policy is None else not router.requires_policy


def _leave_unnamed(router: Router, reader: SectionReader) -> None:
    """Mark lines in address families of the BGP instance ``router`` as not understood if their neighbor is undefined. FRR rejects such lines.

    ``reader`` has the lines of the configuration.
    """
    families = (*router.unicast.values(), *([router.evpn] if router.evpn else []))
    if {name for family in families for name in family.peers} - router.neighbors.keys():
        for form in ("neighbor <name> **", "no neighbor <name> activate"):
            for line in statements_of(router, reader, "**", form):
                if line["name"] not in router.neighbors:
                    reader.mark_unknown(line)


def statements(reader: SectionReader, files: Sequence[tuple[str, Sequence[Section]]]) -> Iterator[ReadStatement]:
    """Yield every line of the files, with the information whether it was understood. Secrets are replaced by ``<secret:?>``.

    ``files`` are pairs of a file name and its sections. ``reader`` has the lines of the configuration.
    """
    of_file = {id(section): file for file, sections in files for section in sections}
    irrelevant = catalog().systems["frr"].reads.irrelevant
    lines: dict[str, list[tuple[int, str, str, Known]]] = {file: [] for file, _ in files}
    file = ""
    for section, path, understood in reader.lines():
        file = of_file.get(id(section), file)
        words = path.split(maxsplit=2)
        hierarchy = " ".join(words[:2]) if words[0] in _HIERARCHIES else words[0]
        lines[file].append((section.at, hierarchy, without_secrets(path), understood))
    for name, subjects in lines.items():
        if name:
            yield from classify_statements(name, subjects, irrelevant)
