"""Names that are used must be defined: the schema checks none of these."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, select
from railweave.model.findings.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator


Forms = tuple[str, ...]
BGP = ("router bgp *", "**")
"""Lines of BGP, in VRFs and address families too."""

REFERENCES: dict[str, tuple[tuple[Forms, ...], tuple[Forms, ...]]] = {
    "route map": (
        (("route-map <name> permit|deny *",),),
        ((*BGP, "** route-map <name>"), (*BGP, "** route-map <name> in|out")),
    ),
    "prefix list": (
        (("ip|ipv6 prefix-list <name> **",),),
        (("route-map **", "match ip|ipv6 address prefix-list <name>"),),
    ),
    "community list": (
        (("ip community-list|large-community-list <name> permit **",),),
        (("route-map **", "match community|large-community <name>"),),
    ),
    "peer filter": (
        (("peer-filter <name>",),),
        ((*BGP, "neighbor interface ** peer-filter <name>"),),
    ),
    "peer group": (
        (("router bgp *", "neighbor <name> peer group"),),
        (
            ("router bgp *", "neighbor interface * peer-group <name> **"),
            ("router bgp *", "neighbor * peer group <name>"),
        ),
    ),
    "QoS profile": (
        (("qos profile <name>",),),
        (("interface *", "service-profile <name>"),),
    ),
    "queue profile": (
        (("platform trident mmu queue profile <name>",),),
        (("platform trident mmu queue profile <name> apply",),),
    ),
    "VLAN": (
        (("vlan <name>",),),
        (
            ("interface *", "switchport access vlan <name>"),
            ("interface Vlan<name>",),
            ("interface Vxlan1", "vxlan vlan <name> vni *"),
            ("router bgp *", "vlan <name>"),
        ),
    ),
    "VRF": (
        (("vrf instance <name>",),),
        (
            ("interface *", "vrf <name>"),
            ("router bgp *", "vrf <name>"),
            ("interface Vxlan1", "vxlan vrf <name> vni *"),
            ("ip|ipv6 route vrf <name> **",),
            ("ntp server vrf <name> **",),
            ("logging vrf <name> **",),
            ("ip name-server vrf <name> **",),
            ("lldp management-address vrf <name> **",),
        ),
    ),
    "interface": (
        (("interface <name>",),),
        (
            (*BGP, "** update-source <name>"),
            ("interface Vxlan1", "vxlan source-interface <name>"),
            ("router bgp *", "neighbor interface <name> **"),
        ),
    ),
    "MACsec profile": (
        (("mac security", "profile <name>"),),
        (("interface *", "mac security profile <name>"),),
    ),
    "IS-IS instance": (
        (("router isis <name>",),),
        (("interface *", "isis enable <name>"),),
    ),
    "SSL profile": (
        (("management security", "ssl profile <name>"),),
        (("management api **", "**", "ssl profile <name>"),),
    ),
}
"""By kind of name: the lines that define one, and those that use one."""


@check(
    "eos-undefined",
    "error",
    applies="eos",
    why="EOS takes the line and does nothing, or denies everything",
    fix="define it, or leave it out",
)
def undefined(root: list[Section]) -> Iterator[str]:
    """Every name that is used is there."""
    for kind, (defining, using) in REFERENCES.items():
        known = {one["name"] for forms in defining for one in select(root, *forms)}
        for forms in using:
            for one in select(root, *forms):
                if one["name"] not in known:
                    yield f"{kind} {one['name']} is not defined: {one.path}"


@check(
    "eos-inactive-group",
    "error",
    applies="eos",
    why="with `no bgp default ipv4-unicast` a session without a family carries nothing",
    fix="activate the peer group in its address family",
)
def inactive_group(root: list[Section]) -> Iterator[str]:
    """Every peer group has a family."""
    active = {one["name"] for one in select(root, *BGP, "address-family **", "neighbor <name> activate")}
    for one in select(root, "router bgp *", "neighbor <name> peer group"):
        if one["name"] not in active:
            yield f"peer group {one['name']} is active in no address family"
