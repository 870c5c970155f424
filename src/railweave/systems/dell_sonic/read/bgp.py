"""``router bgp`` as its lines have it: peers, peer groups, address families, of the default VRF and of tenants' ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address, Prefix
from railweave.systems.dell_sonic.read.words import address, after, interface, number, prefix, secret

if TYPE_CHECKING:
    from railweave.model.config.sections import Section
    from railweave.model.config.taking import Taking

UNICAST = {"ipv4 unicast": "ipv4", "ipv6 unicast": "ipv6", "l2vpn evpn": "evpn"}


@dataclass(slots=True)
class PeerFamily:
    """An address family of a peer or of a group."""

    active: bool = False
    imports: str = ""
    exports: str = ""
    next_hop_unchanged: bool = False


@dataclass(slots=True)
class Peer:
    """A neighbor, or a peer group; ``address`` or ``interface`` is a neighbor's. ``asn`` 0 is any but its own."""

    name: str
    address: Address | None = None
    interface: str = ""
    is_group: bool = False
    asn: int | None = None
    local_as: int | None = None
    group: str = ""
    description: str = ""
    bfd: str | None = None
    ttl_security: bool = False
    password: str | None = None
    source: str = ""
    families: dict[str, PeerFamily] = field(default_factory=dict[str, PeerFamily])


@dataclass(slots=True)
class Evpn:
    """``address-family l2vpn evpn``, or a VNI in it."""

    distinguisher: str = ""
    imports: list[str] = field(default_factory=list[str])
    exports: list[str] = field(default_factory=list[str])
    vnis: dict[int, Evpn] = field(default_factory=dict[int, "Evpn"])


@dataclass(slots=True)
class Router:
    """A BGP instance. ``redistributes`` are families by the route-map that connected routes go through; empty: through none."""

    asn: int
    vrf: str = ""
    router_id: Address | None = None
    graceful_restart: bool = False
    redistributes: dict[str, str] = field(default_factory=dict[str, str])
    networks: list[Prefix] = field(default_factory=list[Prefix])
    maximum_paths: dict[str, int] = field(default_factory=dict[str, int])
    families: list[str] = field(default_factory=list[str])
    evpn: Evpn = field(default_factory=Evpn)
    groups: dict[str, Peer] = field(default_factory=dict[str, Peer])
    neighbors: dict[str, Peer] = field(default_factory=dict[str, Peer])

    def peers(self) -> tuple[Peer, ...]:
        """Peer groups and neighbors."""
        return (*self.groups.values(), *self.neighbors.values())

    def whole(self, one: Peer) -> Peer:
        """A neighbor with what it has of its group."""
        group = self.groups.get(one.group)
        if group is None:
            return one
        return replace(
            one,
            asn=group.asn if one.asn is None else one.asn,
            local_as=group.local_as if one.local_as is None else one.local_as,
            bfd=group.bfd if one.bfd is None else one.bfd,
            ttl_security=one.ttl_security or group.ttl_security,
            password=one.password or group.password,
            source=one.source or group.source,
            families={**group.families, **one.families},
        )


def routers(taking: Taking) -> list[Router]:
    """Every instance."""
    found: dict[str, Router] = {}
    for header in taking.sections:
        match header.line.split():
            case ["router", "bgp", value] if (asn := _as(value)) is not None:
                vrf = ""
            case ["router", "bgp", value, "vrf", vrf] if (asn := _as(value)) is not None:
                vrf = "" if vrf == "default" else vrf
            case _:
                continue
        taking.take(header)
        here = found.setdefault(vrf, Router(asn, vrf))
        here.asn = asn
        for one in header.body or ():
            _instance(taking, one, here)
    return list(found.values())


def _as(text: str) -> int | None:
    """An AS number, in either notation (RFC 5396)."""
    high, dot, low = text.partition(".")
    first, second = number(high), number(low) if dot else 0
    if first is None or second is None:
        return None
    return first << 16 | second if dot else first


def _instance(taking: Taking, line: Section, here: Router) -> None:
    match line.line.split():
        case ["router-id", value] if (found := address(value)) is not None:
            here.router_id = found
        case ["graceful-restart", "enable"]:
            here.graceful_restart = True
        case ["graceful-restart", "preserve-fw-state"]:
            pass
        case ["log-neighbor-changes"]:
            pass
        case ["bestpath", "as-path", "multipath-relax"]:
            pass
        case ["address-family", *words] if (family := UNICAST.get(" ".join(words))) is not None:
            _family(taking, line, here, family)
        case ["peer-group", name]:
            _peer(taking, line, _found(here, Peer(name, is_group=True)))
        case ["neighbor", "interface", *words] if (name := interface(" ".join(words))) is not None:
            _peer(taking, line, _found(here, Peer(name, interface=name)))
        case ["neighbor", value] if (found := address(value)) is not None:
            _peer(taking, line, _found(here, Peer(found, address=found)))
        case ["neighbor", *words] if (name := interface(" ".join(words))) is not None:
            _peer(taking, line, _found(here, Peer(name, interface=name)))
        case _:
            return
    taking.take(line)


def _found(router: Router, made: Peer) -> Peer:
    """The peer of a name, as it is said of so far."""
    return (router.groups if made.is_group else router.neighbors).setdefault(made.name, made)


def _family(taking: Taking, line: Section, here: Router, family: str) -> None:
    if family != "evpn" and family not in here.families:
        here.families.append(family)
    for one in line.body or ():
        match one.line.split():
            case ["redistribute", "connected"] if family != "evpn":
                here.redistributes[family] = ""
            case ["redistribute", "connected", "route-map", name] if family != "evpn":
                here.redistributes[family] = name
            case ["network", value] if family != "evpn" and (found := prefix(value)) is not None:
                here.networks.append(found)
            case ["maximum-paths", value] if (found := number(value)) is not None:
                here.maximum_paths[family] = found
            case ["advertise-all-vni"] | ["advertise", "ipv4" | "ipv6", "unicast"] if family == "evpn":
                pass
            case ["vni", value] if family == "evpn" and (found := number(value)) is not None:
                vni = here.evpn.vnis.setdefault(found, Evpn())
                for inner in one.body or ():
                    if _target(inner.line.split(), vni):
                        taking.take(inner)
            case words if family == "evpn" and _target(words, here.evpn):
                pass
            case _:
                continue
        taking.take(one)


def _target(words: list[str], here: Evpn) -> bool:
    match words:
        case ["rd", value]:
            here.distinguisher = value
        case ["route-target", "import", value]:
            here.imports.append(value)
        case ["route-target", "export", value]:
            here.exports.append(value)
        case ["route-target", "both", value]:
            here.imports.append(value)
            here.exports.append(value)
        case _:
            return False
    return True


def _peer(taking: Taking, line: Section, here: Peer) -> None:
    for one in line.body or ():
        words = one.line.split()
        family = UNICAST.get(" ".join(words[1:])) if words[0] == "address-family" else None
        if family is not None:
            _peer_family(taking, one, here.families.setdefault(family, PeerFamily()))
        elif not _who(one.line, words, here) and not _how(words, here):
            continue
        taking.take(one)


def _who(line: str, words: list[str], here: Peer) -> bool:
    match words:
        case ["remote-as", "external" | "internal"]:
            here.asn = 0
        case ["remote-as", value] if (found := _as(value)) is not None:
            here.asn = found
        case ["local-as", value] if (found := _as(value)) is not None:
            here.local_as = found
        case ["peer-group", name]:
            here.group = name
        case ["description", *_]:
            here.description = after(line, 1)
        case _:
            return False
    return True


def _how(words: list[str], here: Peer) -> bool:
    """How a session is watched, kept and keyed."""
    match words:
        case ["bfd"]:
            here.bfd = here.bfd or ""
        case ["bfd", "profile", name] | ["bfd", "check-control-plane-failure", "profile", name]:
            here.bfd = name
        case ["ttl-security", "hops", value] if number(value) is not None:
            here.ttl_security = value == "1"
        case ["password", value, *rest] if rest in ([], ["encrypted"]):
            here.password = secret(value)
        case ["update-source", *value]:
            here.source = " ".join(value).removeprefix("interface ")
        case ["timers", "connect", value] | ["ebgp-multihop", value] if number(value) is not None:
            pass
        case ["capability", "extended-nexthop"]:
            pass
        case _:
            return False
    return True


def _peer_family(taking: Taking, line: Section, here: PeerFamily) -> None:
    for one in line.body or ():
        match one.line.split():
            case ["activate"]:
                here.active = True
            case ["route-map", name, "in"]:
                here.imports = name
            case ["route-map", name, "out"]:
                here.exports = name
            case ["attribute-unchanged", "next-hop"] | ["next-hop-unchanged"]:
                here.next_hop_unchanged = True
            case ["send-community", "both"]:
                pass
            case _:
                continue
        taking.take(one)
