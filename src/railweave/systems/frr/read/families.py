"""Address families of ``router bgp``: what is originated, and what neighbors have in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.frr.read.instance import EVPN, AddressFamily, Instance, InstanceFamily, Neighbor, Vni
from railweave.systems.frr.read.values import number, prefix

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking


def family(taking: Taking, line: Selected, here: Instance, words: list[str]) -> None:
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


def in_family(here: Instance, family: Family, words: list[str]) -> bool:
    """Take a line of a unicast family; False: it is not understood."""
    match words:
        case ["redistribute", "connected"]:
            here.families.setdefault(family, InstanceFamily()).connected = ""
        case ["redistribute", "connected", "route-map", name]:
            here.families.setdefault(family, InstanceFamily()).connected = name
        case ["network", text] if (found := prefix(text)) is not None:
            here.families.setdefault(family, InstanceFamily()).networks.append(found)
        case ["maximum-paths", text] | ["maximum-paths", "ibgp", text] if (value := number(text)) is not None:
            here.families.setdefault(family, InstanceFamily()).width = value
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
        case ["route-map", name, "in"]:
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


def _vni(taking: Taking, one: Selected, here: Instance, words: list[str]) -> None:
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
