"""Rules about interfaces, VLANs with their gateways, and router advertisements."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_interface
from typing import TYPE_CHECKING

from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.findings.registry import check
from railweave.systems.junos.lint.words import Words, vlans

if TYPE_CHECKING:
    from collections.abc import Iterator


ADVERTISED = ("protocols", "router-advertisement", "interface")
MOST_MTU = 9216
LEAST_MTU = {"inet": 256, "inet6": 1280}
_CHANNEL = re.compile(r"([a-z]+-\d+/\d+/\d+):(\d+)")


def _network(text: str) -> IPv4Network | IPv6Network | None:
    """Return the network of a prefix, or of an address with a prefix length. Return None for any other text."""
    try:
        return ip_interface(text).network
    except ValueError:
        return None


@check(
    "junos-ra-prefix-on-interface",
    why="commit rejects a prefix that matches no address of the interface, and servers would have no router in it",
    fix="give the interface an address in the prefix, or remove the prefix",
)
def ra_prefix_on_interface(root: Words) -> Iterator[str]:
    """A prefix in an interface's router advertisements is the prefix of one of the interface's addresses.

    A commit checks this, but no model contains the rule.
    """
    for interface, words in root.at(*ADVERTISED).below.items():
        name, _, unit = interface.rpartition(".")
        addresses = root.names("interfaces", name, "unit", unit, "family", "inet6", "address")
        networks = [_network(address) for address in addresses]
        for prefix in words.names("prefix"):
            if _network(prefix) not in networks:
                yield f"{interface} advertises {prefix}, which none of its addresses is in"


@check(
    "junos-ra-timers",
    why="a host would lose its router or its address between two advertisements",
    fix=(
        "set the minimum interval to at most 0.75 of the maximum, the lifetime to 0 or at least the maximum, and "
        "the preferred lifetime to at most the valid lifetime"
    ),
)
def ra_timers(root: Words) -> Iterator[str]:
    """The timers of router advertisements are in the order that RFC 4861 requires (sections 6.2.1 and 4.6.2)."""
    for interface, words in root.at(*ADVERTISED).below.items():
        least, most = words.number("min-advertisement-interval"), words.number("max-advertisement-interval")
        lifetime = words.number("default-lifetime")
        if least is not None and most is not None and 4 * least > 3 * most:
            yield f"{interface} has a minimum interval of {least} s and a maximum of {most} s"
        if lifetime and most is not None and lifetime < most:
            yield f"{interface} has a default lifetime of {lifetime} s and advertises every {most} s"
        for prefix, times in words.at("prefix").below.items():
            preferred, valid = times.number("preferred-lifetime"), times.number("valid-lifetime")
            if preferred is not None and valid is not None and preferred > valid:
                yield f"{interface} prefix {prefix} is preferred for {preferred} s and valid for {valid} s"


@check(
    "junos-vlan-l3",
    why="commit rejects it: a VLAN with a gateway needs a vlan-id, and its unit must exist",
    fix="give the VLAN a vlan-id and define the unit under interfaces",
)
def vlan_l3(root: Words) -> Iterator[str]:
    """The gateway of a VLAN is an existing unit that no other VLAN uses, and the VLAN has an id.

    Source: ``junos:must`` of vlans/vlan/l3-interface.
    """
    owners: dict[str, str] = {}
    for name, vlan in vlans(root):
        gateway = vlan.value("l3-interface")
        if gateway is None:
            continue
        interface, _, unit = gateway.rpartition(".")
        if vlan.value("vlan-id") in {None, "all", "inner-all"} and not vlan.has("vlan-tags"):
            yield f"vlan {name} has l3-interface {gateway} and no vlan-id of its own"
        if not root.has("interfaces", interface, "unit", unit):
            yield f"vlan {name} has l3-interface {gateway}, which is not defined"
        if owners.setdefault(gateway, name) != name:
            yield f"vlans {owners[gateway]} and {name} share l3-interface {gateway}"


@check(
    "junos-vlan-id-twice",
    why="two VLANs with the same id on one switch form one broadcast domain, or commit fails",
    fix="give each VLAN a different id",
)
def vlan_id_twice(root: Words) -> Iterator[str]:
    """Every VLAN id occurs only once on a switch (IEEE 802.1Q)."""
    owners: dict[str, str] = {}
    for name, vlan in vlans(root):
        number = vlan.value("vlan-id") or ""
        if number.isdecimal() and owners.setdefault(number, name) != name:
            yield f"vlans {owners[number]} and {name} both have vlan-id {number}"


@check(
    "junos-vlan-interface",
    why="commit rejects an interface that has interface-mode or members and is also listed under vlans",
    fix="name the VLAN only at the interface",
)
def vlan_interface(root: Words) -> Iterator[str]:
    """If a VLAN lists an interface, the interface itself sets neither a VLAN nor a mode.

    Source: ``junos:must`` of vlans/vlan/interface.
    """
    for (vlan, _, interface), _ in root.at("vlans").every("*", "interface", "*"):
        name, _, unit = interface.rpartition(".")
        family = root.at("interfaces", name, "unit", unit, "family", "ethernet-switching")
        if family.has("interface-mode") or family.has("vlan", "members"):
            yield f"vlan {vlan} lists {interface}, which names its VLAN itself"


@check("junos-family", why="commit rejects it: a unit either switches or routes", fix="use an irb unit for routing")
def family(root: Words) -> Iterator[str]:
    """A unit with ``ethernet-switching`` has neither ``inet`` nor ``inet6``, and a unit whose ``inet6`` is unnumbered has no ``inet6`` address.

    Source: ``junos:must`` of interfaces/interface/unit/family.
    """
    for (name, _, unit, _), families in root.at("interfaces").every("*", "unit", "*", "family"):
        if families.has("ethernet-switching"):
            for other in ("inet", "inet6"):
                if families.has(other):
                    yield f"{name}.{unit} has family ethernet-switching and family {other}"
        if families.has("inet6", "address") and families.has("inet6", "unnumbered-address"):
            yield f"{name}.{unit} has an inet6 address and an unnumbered-address"


@check(
    "junos-mtu",
    why=(
        "the packets of a family must fit into the frame, IPv6 needs 1280 bytes (RFC 8200), and the switch "
        "supports frames of up to 9216 bytes"
    ),
    fix=(
        "set the interface MTU to at most 9216 bytes, and the MTU of a family to at most 14 bytes less (the "
        "Ethernet header)"
    ),
)
def mtu(root: Words) -> Iterator[str]:
    """The MTU of an interface is in the switch's range, and the MTU of each address family fits into it.

    The models have no range for ``mtu``. An interface's MTU includes the Ethernet header, a family's MTU does not.
    """
    for name, words in root.at("interfaces").below.items():
        frame = words.number("mtu")
        if frame is not None and not LEAST_MTU["inet"] <= frame <= MOST_MTU:
            yield f"{name} has MTU {frame}"
        for (_, unit, _, kind, _, size), _ in words.every("unit", "*", "family", "*", "mtu", "*"):
            if not size.isdecimal() or int(size) < LEAST_MTU.get(kind, 0):
                yield f"{name}.{unit} family {kind} has MTU {size}"
            elif frame is not None and int(size) > frame - ETHERNET_HEADER:
                yield f"{name}.{unit} family {kind} has MTU {size}, more than the frame of {frame} bytes carries"


@check(
    "junos-breakout",
    "warning",
    why="a channel exists only if its port is split into enough channels, and a split port itself carries no traffic",
    fix="set number-of-sub-ports and speed on the port, and put units on its channels",
)
def breakout(root: Words) -> Iterator[str]:
    """The number of a channel is below its port's ``number-of-sub-ports``, and only channels have units, not the split port itself.

    In Junos OS Evolved, et-0/0/0 is split, and et-0/0/0:0 and so on carry traffic.
    """
    interfaces = root.at("interfaces")
    for name, words in interfaces.below.items():
        match = _CHANNEL.fullmatch(name)
        if match:
            port, channel = match.group(1), int(match.group(2))
            if channel >= (interfaces.number(port, "number-of-sub-ports") or 0):
                yield f"{name} is no channel: {port} is split into {interfaces.value(port, 'number-of-sub-ports') or 'none'}"
        elif words.has("number-of-sub-ports") and words.has("unit"):
            yield f"{name} is split and has a unit"


@check(
    "junos-address-twice",
    why="an address can belong to only one interface of a routing instance",
    fix="give each interface a different address",
)
def address_twice(root: Words) -> Iterator[str]:
    """An address is on only one unit of a routing instance (addresses are compared as text)."""
    instances = {path[-1]: path[0] for path, _ in root.at("routing-instances").every("*", "interface", "*")}
    owners: dict[tuple[str, str], str] = {}
    for (name, _, unit, *_, address), _ in root.at("interfaces").every("*", "unit", "*", "family", "*", "address", "*"):
        here = f"{name}.{unit}"
        owner = owners.setdefault((instances.get(here, ""), address), here)
        if owner != here:
            yield f"{owner} and {here} both have {address}"
