"""Names that are used must be defined: the schema checks none of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.eos.lint.registry import found, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REFERENCES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "route map": (
        (r"route-map (?P<name>\S+) (?:permit|deny) \d+(?: / .*)?",),
        (r"router bgp .* / .*\broute-map (?P<name>\S+)(?: in| out)?",),
    ),
    "prefix list": (
        (r"(?:ip|ipv6) prefix-list (?P<name>\S+)(?: / .*)?",),
        (r"route-map .* / match (?:ip|ipv6) address prefix-list (?P<name>\S+)",),
    ),
    "community list": (
        (r"ip (?:large-)?community-list (?P<name>\S+) permit .*",),
        (r"route-map .* / match (?:large-)?community (?P<name>\S+)",),
    ),
    "peer filter": (
        (r"peer-filter (?P<name>\S+) / .*",),
        (r"router bgp .* / neighbor interface .* peer-filter (?P<name>\S+)",),
    ),
    "peer group": (
        (r"router bgp \S+ / neighbor (?P<name>\S+) peer group",),
        (
            r"router bgp \S+ / neighbor interface \S+ peer-group (?P<name>\S+)(?: .*)?",
            r"router bgp \S+ / neighbor \S+ peer group (?P<name>\S+)",
        ),
    ),
    "QoS profile": (
        (r"qos profile (?P<name>\S+)(?: / .*)?",),
        (r"interface \S+ / service-profile (?P<name>\S+)",),
    ),
    "queue profile": (
        (r"platform trident mmu queue profile (?P<name>\S+) / .*",),
        (r"platform trident mmu queue profile (?P<name>\S+) apply",),
    ),
    "VLAN": (
        (r"vlan (?P<name>\d+)(?: / .*)?",),
        (
            r"interface \S+ / switchport access vlan (?P<name>\d+)",
            r"interface Vlan(?P<name>\d+)(?: / .*)?",
            r"interface Vxlan1 / vxlan vlan (?P<name>\d+) vni \d+",
            r"router bgp \S+ / vlan (?P<name>\d+) / .*",
        ),
    ),
    "VRF": (
        (r"vrf instance (?P<name>\S+)(?: / .*)?",),
        (
            r"interface [^/]+(?:/[\d.]+)? / vrf (?P<name>\S+)",
            r"router bgp \S+ / vrf (?P<name>\S+) / .*",
            r"interface Vxlan1 / vxlan vrf (?P<name>\S+) vni \d+",
            r"(?:ip|ipv6) route vrf (?P<name>\S+) .*",
            r"(?:ntp server|logging|ip name-server|lldp management-address) vrf (?P<name>\S+)(?: .*)?",
        ),
    ),
    "interface": (
        (r"interface (?P<name>\S+)(?: / .*)?",),
        (
            r"router bgp .* update-source (?P<name>\S+)",
            r"interface Vxlan1 / vxlan source-interface (?P<name>\S+)",
            r"router bgp \S+ / neighbor interface (?P<name>\S+) .*",
        ),
    ),
    "MACsec profile": (
        (r"mac security / profile (?P<name>\S+)(?: / .*)?",),
        (r"interface \S+ / mac security profile (?P<name>\S+)",),
    ),
    "IS-IS instance": (
        (r"router isis (?P<name>\S+)(?: / .*)?",),
        (r"interface \S+ / isis enable (?P<name>\S+)",),
    ),
    "SSL profile": (
        (r"management security / ssl profile (?P<name>\S+)(?: / .*)?",),
        (r"management api .* / ssl profile (?P<name>\S+)",),
    ),
}
"""By kind of name: the lines that define one, and those that use one."""


@rule(
    "eos-undefined", why="EOS takes the line and does nothing, or denies everything", fix="define it, or leave it out"
)
def undefined(lines: Sequence[str]) -> Iterator[str]:
    """Every name that is used is there."""
    for kind, (defining, using) in REFERENCES.items():
        known = {match["name"] for pattern in defining for match in found(lines, pattern)}
        for pattern in using:
            for match in found(lines, pattern):
                if match["name"] not in known:
                    yield f"{kind} {match['name']} is not defined: {match.string}"


@rule(
    "eos-inactive-group",
    why="with `no bgp default ipv4-unicast` a session without a family carries nothing",
    fix="activate the peer group in its address family",
)
def inactive_group(lines: Sequence[str]) -> Iterator[str]:
    """Every peer group has a family."""
    active = {
        match["name"] for match in found(lines, r"router bgp .* / address-family .* / neighbor (?P<name>\S+) activate")
    }
    for match in found(lines, r"router bgp \S+ / neighbor (?P<name>\S+) peer group"):
        if match["name"] not in active:
            yield f"peer group {match['name']} is active in no address family"
