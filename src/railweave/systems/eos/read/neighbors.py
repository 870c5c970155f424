"""Lines ``neighbor NAME ...`` of ``router bgp`` and of a VRF in it: peer groups, neighbors, and those that are found."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.systems.eos.read.settings import Settings, forms, key_profiles
from railweave.systems.eos.read.values import address, as_number, interface_names, prefix

if TYPE_CHECKING:
    from railweave.model.config.addresses import Address, Prefix
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking

FAMILIES = ("ipv4", "ipv6", "evpn")


@dataclass
class Found:
    """A neighbor that is found on a link."""

    interface: str
    group: str
    peer_filter: str | None
    remote_as: int | None


@dataclass
class Listening:
    """Neighbors that may open a session, from addresses of a prefix."""

    prefix: Prefix
    group: str
    peer_filter: str | None
    remote_as: int | None

    def holds(self, one: Address) -> bool:
        """Whether an address is in the prefix."""
        own = ipaddress.ip_network(self.prefix)
        return one.family == self.prefix.family and ipaddress.ip_address(one) in own


@dataclass
class Neighbors:
    """What one instance of BGP says of its neighbors. ``by_default``: IPv4 is on without ``activate``."""

    groups: dict[str, Settings] = field(default_factory=dict[str, Settings])
    peers: dict[str, Settings] = field(default_factory=dict[str, Settings])
    found: list[Found] = field(default_factory=list[Found])
    listening: list[Listening] = field(default_factory=list[Listening])
    by_default: bool = True

    def effective(self, name: str) -> Settings:
        """The settings of a neighbor with those of its peer group."""
        own = self.peers[name]
        return own.over(self.groups.get(own.group))

    def is_active(self, one: Settings, family: str) -> bool:
        """Whether a session carries a family."""
        return one.active.get(family, self.by_default and family == "ipv4")

    def is_routed(self, one: Settings) -> bool:
        """Whether a session carries IPv4 or IPv6."""
        return self.is_active(one, "ipv4") or self.is_active(one, "ipv6")


def neighbors(taking: Taking, below: Selected, above: Neighbors | None = None) -> Neighbors:
    """The neighbors of a section; ``above`` are those of the process, whose peer groups its VRFs use too."""
    groups = above.groups if above else {}
    found = Neighbors(groups={name: replace(one, active=dict(one.active)) for name, one in groups.items()})
    keys = key_profiles(taking)
    for form in ("neighbor <name> peer group", "neighbor <name> peer-group"):
        for one in taking.each(form, below=below):
            found.groups.setdefault(one["name"], Settings())
    default = taking.last("** bgp default ipv4-unicast", below=below)
    usual = above is None or above.by_default
    found.by_default = usual if default is None else default.line.startswith("bgp")
    for one in taking.each("neighbor interface <ports> peer-group <group> **", below=below):
        _on_links(taking, one, found)
    for form, set_ in forms(keys).items():
        for one in taking.each(form, below=below):
            settings = _of(found, one["name"])
            if settings is None or not set_(settings, one):
                taking.leave(one)
    for one in taking.each("bgp listen range <prefix> peer-group <group> **", below=below):
        _listens(taking, one, found)
    for family in FAMILIES:
        for section in taking.each(f"address-family {family}", below=below):
            _family(taking, section, family, found)
    return found


def _of(found: Neighbors, name: str) -> Settings | None:
    """The settings of a peer group, else of the neighbor of an address."""
    if name in found.groups:
        return found.groups[name]
    own = address(name)
    return None if own is None else found.peers.setdefault(own, Settings())


def _family(taking: Taking, section: Selected, family: str, found: Neighbors) -> None:
    for one in taking.each("** neighbor <name> activate", below=section):
        settings = _of(found, one["name"])
        before = one.line.partition("neighbor ")[0].strip()
        if settings is None or before not in {"", "no", "default"}:
            taking.leave(one)
        else:
            settings.active[family] = not before
    for one in taking.each("neighbor <name> route-map <map> in|out", below=section):
        settings = _of(found, one["name"])
        if settings is None or (family == "evpn" and one.line.endswith(" in")):
            taking.leave(one)
        elif family == "evpn":
            settings.evpn_out = one["map"]
        elif one.line.endswith(" in"):
            settings.imports = settings.imports or one["map"]
        else:
            settings.exports = settings.exports or one["map"]
    for one in taking.each("neighbor <name> next-hop-unchanged", below=section):
        if settings := _of(found, one["name"]):
            settings.unchanged = True
    for one in taking.each("neighbor <name> next-hop address-family ipv6 originate", below=section):
        if settings := _of(found, one["name"]):
            settings.over_six = True


def _on_links(taking: Taking, one: Selected, found: Neighbors) -> None:
    words = one.line.split()[5:]
    word, value = words if len(words) == 2 else ("", "")
    asn = as_number(value) if word == "remote-as" else None
    if one["group"] not in found.groups or (word != "peer-filter" and asn is None):
        taking.leave(one)
        return
    for name in interface_names(one["ports"]):
        found.found.append(Found(name, one["group"], value if word == "peer-filter" else None, asn))


def _listens(taking: Taking, one: Selected, found: Neighbors) -> None:
    """Neighbors on links; where loopbacks of neighbors are, a prefix does not say."""
    word, value = words if len(words := one.line.split()[6:]) == 2 else ("", "")
    asn, where = as_number(value) if word == "remote-as" else None, prefix(one["prefix"])
    group = found.groups.get(one["group"])
    if group is None or where is None or (word != "peer-filter" and asn is None) or group.source:
        taking.leave(one)
    else:
        found.listening.append(Listening(where, one["group"], value if word == "peer-filter" else None, asn))
