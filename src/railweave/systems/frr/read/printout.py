"""Conversion of a configuration that FRR has printed into the statements that an operator would enter.

``show running-config``, and the file that ``write memory`` writes, leave out FRR's defaults, and express some settings
by different lines than an operator enters. These lines were observed on FRR 10.3 and 10.6 (``tests/systems/frr/printed``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, has, select
from railweave.systems.frr.meaning.igp import ISIS_METRIC
from railweave.systems.frr.statements import unprinted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

PRINTED = "frr version *"
"""The pattern of a line that shows that FRR printed the text. Files of ``railweave build`` do not have this line."""

_OF_10_6 = "use-underlays-nexthop-weight"
"""The statement that FRR 10.6 prints for every BGP instance. Older releases do not have it."""

_INFINITE = str(0xFFFFFFFF)


def as_given(sections: Sequence[Section]) -> list[Section]:
    """Return the sections of a text that FRR printed, rewritten as railweave writes them. Other texts are returned unchanged."""
    if not has(sections, PRINTED):
        return list(sections)
    converted = [_section(section) for section in sections if not (_is_general(section) or _says_nothing(section))]
    _distinguish([section for section in converted if section.line.startswith("router bgp ")])
    return [*_general(sections), *converted]


def _is_general(section: Section) -> bool:
    return section.line.startswith("frr version ") or section.line.removeprefix("no ") in {
        "ip forwarding",
        "ipv6 forwarding",
    }


def _distinguish(instances: Sequence[Section]) -> None:
    """Add FRR's default route distinguisher to VRFs without a route distinguisher.

    The default consists of the router id and the number of the instance; the default instance has the number 1. FRR does not print
    a configured route distinguisher that equals this default (FRRouting/frr bgpd/bgp_evpn_vty.c, `bgp_evpn_vrf_rd`).
    """
    for number, instance in enumerate(instances, 1):
        router_id = next((inner["id"] for inner in select(instance.body or (), "bgp router-id <id>")), "")
        for family in select([instance], "router bgp * vrf *", "address-family l2vpn evpn"):
            if router_id and not has(family.below, "rd *"):
                family.below.insert(0, Section(f"rd {router_id}:{number}"))


def _says_nothing(section: Section) -> bool:
    """Return True if a section is a VRF without settings, which FRR prints because the VRF exists on the Linux host."""
    return section.line.startswith("vrf ") and not section.body


def _general(sections: Sequence[Section]) -> list[Section]:
    """Return the statements about forwarding.

    FRR prints ``no ipv6 forwarding`` and ``no ip forwarding``, but not the same lines without ``no``. The line for IPv4 is left out if FRR
    does not route IPv4.
    """
    lines = [section for section in sections if section.line == "no ipv6 forwarding"] or [Section("ipv6 forwarding")]
    if _routes_ipv4(sections):
        lines += [section for section in sections if section.line == "no ip forwarding"] or [Section("ip forwarding")]
    return lines


def _routes_ipv4(sections: Sequence[Section]) -> bool:
    return has(sections, "router bgp **", "address-family ipv4 **") or any(
        has(section.body or (), "ip address|router **")
        for section in sections
        if section.line.startswith("interface ") and section.line != "interface lo"
    )


def _section(section: Section) -> Section:
    given = next((body for word, body in _BODIES.items() if section.line.startswith(word)), None)
    return (
        section
        if given is None or section.body is None
        else Section(section.line, list(given(section.body)), section.at)
    )


def _interface(body: list[Section]) -> Iterable[Section]:
    yield from map(_prefix_option, body)
    lines = {line.line for line in body}
    if any("ipv6 nd " in line for line in lines) and not has(body, "ipv6 nd ra-interval **"):
        yield Section(f"ipv6 nd ra-interval {unprinted('gateways.advertisements.max_interval')}")
    if has(body, "ip|ipv6 router isis *") and "isis passive" not in lines and not has(body, "isis metric **"):
        yield Section(f"isis metric {ISIS_METRIC}")


def _prefix_option(section: Section) -> Section:
    """Return a line about an advertised prefix, completed with both lifetimes in seconds. FRR does not print default lifetimes."""
    words = section.line.split()
    if words[:3] != ["ipv6", "nd", "prefix"]:
        return section
    kinds, options = ("valid", "preferred"), [_INFINITE if word == "infinite" else word for word in words[4:]]
    if not (options and options[0].isdecimal()):
        options = [*(str(unprinted(f"gateways.advertisements.prefix_{kind}_lifetime")) for kind in kinds), *options]
    return Section(" ".join([*words[:4], *options]), at=section.at)


def _bfd(body: list[Section]) -> Iterable[Section]:
    interval = unprinted("bgp.bfd.minimum_interval")
    usual = {
        "detect-multiplier": unprinted("bgp.bfd.multiplier"),
        "receive-interval": interval,
        "transmit-interval": interval,
    }
    for line in body:
        if not line.line.startswith("profile "):
            yield line
            continue
        inner = line.body or []
        more = [Section(f"{word} {value}") for word, value in usual.items() if not has(inner, f"{word} *")]
        yield Section(line.line, [*inner, *more], line.at)


def _bgp(body: list[Section]) -> Iterable[Section]:
    """Yield the lines of a BGP instance (``body``) as railweave writes them.

    FRR prints the AS number and the group of a neighbor on an interface in one line; the result has separate lines. FRR
    prints BFD twice for a neighbor with a profile; the line without the profile is left out.
    """
    on_interfaces = {
        words[1] for line in body if (words := line.line.split())[0] == "neighbor" and words[2:3] == ["interface"]
    }
    lines = {line.line for line in body}
    as_numbers = {
        words[1]: Section(f"neighbor {words[1]} interface remote-as {words[3]}", at=line.at)
        for line in body
        if (words := line.line.split())[0] == "neighbor" and words[2:3] == ["remote-as"] and words[1] in on_interfaces
    }
    for line in body:
        match line.line.split():
            case ["neighbor", name, "bfd"] if any(line.startswith(f"neighbor {name} bfd profile ") for line in lines):
                pass
            case ["neighbor", name, "interface", *v6only, "peer-group", group]:
                if v6only:
                    yield Section(f"neighbor {name} interface v6only", at=line.at)
                if name in as_numbers:  # before the group: without the AS number, FRR has no such neighbor
                    yield as_numbers.pop(name)
                yield Section(f"neighbor {name} peer-group {group}", at=line.at)
            case ["neighbor", name, "remote-as", _] if name in on_interfaces:
                if name in as_numbers:
                    yield as_numbers.pop(name)
            case ["address-family", "l2vpn", "evpn"] if line.body is not None:
                yield Section(line.line, [*line.body, *_next_hops_kept(line.body)], line.at)
            case [word] if word == _OF_10_6:
                pass
            case _:
                yield line


def _next_hops_kept(body: list[Section]) -> Iterable[Section]:
    """Yield ``neighbor NAME attribute-unchanged next-hop`` for each EVPN neighbor, if the switch has no VNIs.

    The next hop of routes to these neighbors stays unchanged. FRR accepts the statement, but never prints it. ``body`` has the lines of the
    EVPN address family.
    """
    if not has(body, "advertise-all-vni"):
        for line in select(body, "neighbor <name> activate"):
            yield Section(f"neighbor {line['name']} attribute-unchanged next-hop")


def _isis(body: list[Section]) -> Iterable[Section]:
    yield from body
    if not has(body, "metric-style *"):
        yield Section("metric-style wide")


_BODIES: Mapping[str, Callable[[list[Section]], Iterable[Section]]] = {
    "interface ": _interface,
    "bfd": _bfd,
    "router bgp ": _bgp,
    "router isis ": _isis,
}
"""The function that rewrites the lines of a section, by the first words of its header."""
