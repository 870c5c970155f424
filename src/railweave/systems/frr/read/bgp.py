"""``router bgp``: what routing instances and their neighbors say, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.systems.frr.read.text import address, as_number, number, prefix
from railweave.systems.frr.statements.words import secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.model.device.timers import Bfd


EVPN = "evpn"
INTERNAL = -1
"""The AS number of a neighbor that has the device's own."""

AddressFamily = Literal["ipv4", "ipv6", "evpn"]


@dataclass
class InFamily:
    """What a neighbor or a peer group has in an address family. ``active`` None: it is not said."""

    active: bool | None = None
    imports: str | None = None
    exports: str | None = None
    next_hop_kept: bool = False
    reflected: bool = False


@dataclass
class Neighbor:
    """A neighbor, by address or interface, or a peer group, as its lines say; None: they do not say."""

    name: str
    is_group: bool = False
    group: str | None = None
    peer_as: int | None = None
    on_interface: bool = False
    description: str | None = None
    local_as: int | None = None
    multihop: bool = False
    source: str | None = None
    bfd: str | Bfd | None = None
    """BFD: the name of its profile, or its timers."""
    bfd_lines: list[SelectedLine] = field(default_factory=list["SelectedLine"])
    key: str | None = None
    one_hop: bool = False
    shut: bool = False
    passive: bool = False
    families: dict[AddressFamily, InFamily] = field(default_factory=dict[AddressFamily, InFamily])

    def within(self, family: AddressFamily) -> InFamily:
        """What it has in a family."""
        return self.families.setdefault(family, InFamily())


@dataclass
class InstanceFamily:
    """An address family of an instance. ``connected`` None: connected routes are not redistributed; empty: all of them.

    ``width`` and ``inner_width`` are the paths of a route over sessions with other AS numbers, and with its own; ``widths`` their lines.
    """

    connected: str | None = None
    networks: list[Prefix] = field(default_factory=list[Prefix])
    width: int | None = None
    inner_width: int | None = None
    widths: list[SelectedLine] = field(default_factory=list["SelectedLine"])


@dataclass
class Vni:
    """A VNI below ``address-family l2vpn evpn``."""

    number: int
    distinguisher: str = ""
    imports: list[str] = field(default_factory=list[str])
    exports: list[str] = field(default_factory=list[str])


@dataclass
class Instance:
    """A BGP instance: of the default VRF, or of another. ``distinguisher`` and targets are those of its VRF.

    ``relaxed``: paths over different AS numbers share load.
    """

    asn: int
    vrf: str = ""
    router_id: Address | None = None
    unicast_by_default: bool = True
    policy_required: bool | None = None
    compare_aigp: bool = False
    relaxed: bool = False
    fast: bool = False
    restart: bool = False
    neighbors: dict[str, Neighbor] = field(default_factory=dict[str, Neighbor])
    families: dict[Family, InstanceFamily] = field(default_factory=dict[Family, InstanceFamily])
    evpn: bool = False
    all_vnis: bool = False
    advertised: list[Family] = field(default_factory=list[Family])
    distinguisher: str = ""
    imports: list[str] = field(default_factory=list[str])
    exports: list[str] = field(default_factory=list[str])
    vnis: dict[int, Vni] = field(default_factory=dict[int, Vni])

    def neighbor(self, name: str) -> Neighbor:
        """A neighbor or peer group by its name."""
        return self.neighbors.setdefault(name, Neighbor(name))

    def groups(self) -> Iterator[Neighbor]:
        """Its peer groups."""
        return (one for one in self.neighbors.values() if one.is_group)

    def peers(self) -> Iterator[Neighbor]:
        """Its neighbors that are no groups."""
        return (one for one in self.neighbors.values() if not one.is_group)

    def group_of(self, one: Neighbor) -> Neighbor | None:
        """The peer group of a neighbor."""
        found = self.neighbors.get(one.group) if one.group else None
        return found if found and found.is_group else None

    def active(self, one: Neighbor, family: AddressFamily) -> bool:
        """Whether routes of a family go over a session."""
        group = self.group_of(one)
        for level in (one, group):
            if level and family in level.families and (said := level.families[family].active) is not None:
                return said
        return family == "ipv4" and self.unicast_by_default


def family(taking: SectionReader, line: SelectedLine, here: Instance, words: list[str]) -> None:
    """Read an address family, or leave it."""
    family: AddressFamily
    match words[1:]:
        case ["ipv4" | "ipv6" as family] | ["ipv4" | "ipv6" as family, "unicast"]:
            here.families.setdefault(family, InstanceFamily())
        case ["l2vpn", "evpn"]:
            family = EVPN
            here.evpn = True
        case _:
            taking.leave(line)
            return
    for inner in taking.each("<words...>", below=line) if line.below else ():
        words = inner["words"].split()
        if family == EVPN and words[0] == "vni" and inner.below:
            _vni(taking, inner, here, words)
        elif not (in_family(here, family, words) if family != EVPN else _in_evpn(here, words)):
            taking.leave(inner)
        elif family != EVPN and words[0] == "maximum-paths":
            here.families[family].widths.append(inner)


def in_family(here: Instance, family: Family, words: list[str]) -> bool:
    """Take a line of a unicast family; False: it is not understood."""
    match words:
        case ["redistribute", "connected"]:
            here.families.setdefault(family, InstanceFamily()).connected = ""
        case ["redistribute", "connected", "route-map", name]:
            here.families.setdefault(family, InstanceFamily()).connected = name
        case ["network", text] if (found := prefix(text)) is not None:
            here.families.setdefault(family, InstanceFamily()).networks.append(found)
        case ["maximum-paths", text] if (value := number(text)) is not None:
            here.families.setdefault(family, InstanceFamily()).width = value
        case ["maximum-paths", "ibgp", text] if (value := number(text)) is not None:
            here.families.setdefault(family, InstanceFamily()).inner_width = value
        case ["no", "neighbor", name, "activate"]:
            here.neighbor(name).within(family).active = False
        case ["neighbor", name, *rest]:
            return _of_neighbor(here.neighbors.get(name), family, rest)
        case _:
            return False
    return True


def _of_neighbor(one: Neighbor | None, family: AddressFamily, words: list[str]) -> bool:
    if one is None:  # not declared: FRR refuses such a line
        return False
    match words:
        case ["activate"]:
            one.within(family).active = True
        case ["route-map", name, "in"] if family != EVPN:  # routing does not know what tenants refuse
            one.within(family).imports = name
        case ["route-map", name, "out"]:
            one.within(family).exports = name
        case ["attribute-unchanged", "next-hop"]:
            one.within(family).next_hop_kept = True
        case ["route-reflector-client"]:
            one.within(family).reflected = True
        case _:
            return False
    return True


def _in_evpn(here: Instance, words: list[str]) -> bool:
    match words:
        case ["advertise-all-vni"]:
            here.all_vnis = True
        case ["advertise", "ipv4" | "ipv6" as family, "unicast"]:
            here.advertised.append(family)
        case ["rd" | "route-target", *_, "auto"] | ["maximum-paths", "ibgp", _]:
            pass
        case ["rd", text]:
            here.distinguisher = text
        case ["route-target", "import", *targets] if targets:
            here.imports += targets
        case ["route-target", "export", *targets] if targets:
            here.exports += targets
        case ["route-target", "both", *targets] if targets:
            here.imports += targets
            here.exports += targets
        case ["no", "neighbor", name, "activate"]:
            here.neighbor(name).within(EVPN).active = False
        case ["neighbor", name, *rest]:
            return _of_neighbor(here.neighbors.get(name), EVPN, rest)
        case _:
            return False
    return True


def _vni(taking: SectionReader, one: SelectedLine, here: Instance, words: list[str]) -> None:
    value = number(words[1]) if len(words) > 1 else None
    if value is None:
        taking.leave(one)
        return
    found = here.vnis.setdefault(value, Vni(value))
    for line in taking.each("<words...>", below=one):
        match line["words"].split():
            case ["rd" | "route-target", *_, "auto"]:
                pass
            case ["rd", text]:
                found.distinguisher = text
            case ["route-target", "import", text]:
                found.imports.append(text)
            case ["route-target", "export", text]:
                found.exports.append(text)
            case ["route-target", "both", text]:
                found.imports.append(text)
                found.exports.append(text)
            case _:
                taking.leave(line)


def instances(taking: SectionReader) -> list[Instance]:
    """The BGP instances, in the order of the text."""
    found: dict[str, Instance] = {}
    for one in taking.each("router bgp <asn> **"):
        words = one.line.split()
        asn = as_number(one["asn"])
        vrf = words[4] if len(words) > 4 and words[3] == "vrf" else ""
        if asn is None or (len(words) > 3 and not vrf):
            taking.leave(one)
            continue
        here = found.setdefault(vrf, Instance(asn, vrf))
        for line in taking.each("<words...>", below=one) if one.below else ():
            words = line["words"].split()
            if words[0] == "address-family":
                family(taking, line, here, words)
            elif not (_general(here, words) or _neighbor(here, words, line) or in_family(here, "ipv4", words)):
                taking.leave(line)
    return list(found.values())


def _general(here: Instance, words: list[str]) -> bool:
    match words:
        case ["bgp", "router-id", text] if (found := address(text)) is not None:
            here.router_id = found
        case ["no", "bgp", "default", "ipv4-unicast"]:
            here.unicast_by_default = False
        case ["bgp", "default", "ipv4-unicast"]:
            here.unicast_by_default = True
        case ["bgp", "bestpath", "as-path", "multipath-relax"]:
            here.relaxed = True
        case ["bgp", "bestpath", "aigp"]:
            here.compare_aigp = True
        case ["bgp", "fast-convergence"]:
            here.fast = True
        case ["bgp", "graceful-restart"]:
            here.restart = True
        case ["bgp", "graceful-restart", "preserve-fw-state"]:
            pass
        case ["bgp", "ebgp-requires-policy"]:
            here.policy_required = True
        case ["no", "bgp", "ebgp-requires-policy"]:
            here.policy_required = False
        case _:
            return False
    return True


def _neighbor(here: Instance, words: list[str], line: SelectedLine) -> bool:
    match words:
        case ["neighbor", name, *rest] if rest:
            one = here.neighbors.get(name) or Neighbor(name)
            if not (_identity(one, rest) or _session(one, rest, line)):
                return False
            here.neighbors[name] = one
            return True
        case _:
            return False


def _identity(one: Neighbor, words: list[str]) -> bool:
    """Who the neighbor is, and the group that it is in."""
    match words:
        case ["peer-group"]:
            one.is_group = True
        case ["peer-group", name] | ["interface", "peer-group", name] | ["interface", "v6only", "peer-group", name]:
            one.group = name
            one.on_interface = one.on_interface or words[0] == "interface"
        case ["interface"] | ["interface", "v6only"]:
            one.on_interface = True
        case ["interface", "remote-as", text] | ["interface", "v6only", "remote-as", text]:
            one.on_interface = True
            return _peer_as(one, text)
        case ["remote-as", text]:
            return _peer_as(one, text)
        case ["description", *text]:
            one.description = " ".join(text)
        case ["local-as", text, *_] if (found := as_number(text)) is not None:
            one.local_as = found
        case _:
            return False
    return True


def _peer_as(one: Neighbor, text: str) -> bool:
    """``external`` is any other AS number: 0 stands for it. ``internal`` is filled in when all is known."""
    found = {"external": 0, "internal": INTERNAL}.get(text, as_number(text))
    one.peer_as = found if found is not None else one.peer_as
    return found is not None


_SECONDS, _HOPS = re.compile(r"\d{1,5}"), re.compile(r"[1-9]\d?|1\d\d|2[0-4]\d|25[0-5]")


def _session(one: Neighbor, words: list[str], line: SelectedLine) -> bool:
    """How the session is kept up and secured."""
    match words:
        case ["timers", "connect", seconds]:
            return _SECONDS.fullmatch(seconds) is not None
        case ["capability", "extended-nexthop"] | ["bfd", "check-control-plane-failure"]:
            pass
        case ["bfd"]:
            one.bfd = one.bfd or ""
            one.bfd_lines.append(line)
        case ["bfd", "profile", name]:
            one.bfd = name
            one.bfd_lines.append(line)
        case ["ebgp-multihop", *hops]:
            one.multihop = not hops or _HOPS.fullmatch(" ".join(hops)) is not None
            return one.multihop
        case ["update-source", text]:
            one.source = text
        case ["password", text]:
            one.key = secret(text)
        case ["ttl-security", "hops", "1"]:
            one.one_hop = True
        case ["shutdown"] | ["shutdown", "message", *_]:
            one.shut = True
        case _:
            return False
    return True
