"""Rules that a name must be defined if it is used. The schema does not check this."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, select
from railweave.model.findings.registry import check
from railweave.systems.eos.statements.bgp import ROUTING
from railweave.systems.eos.statements.policy import POLICIES
from railweave.systems.statement_tables import References, undefined

if TYPE_CHECKING:
    from collections.abc import Iterator


BGP = ("router bgp *", "**")
"""The pattern of all lines below ``router bgp``, including those in VRFs and address families."""

REFERENCES: References = {
    "QoS profile": ((("qos profile <name>",),), (("interface *", "service-profile <name>"),)),
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
    "vrf": (
        (("vrf instance <name>",),),
        (
            ("interface *", "vrf <name>"),
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
        (("interface Vxlan1", "vxlan source-interface <name>"), ("router bgp *", "neighbor interface <name> **")),
    ),
    "MACsec profile": ((("mac security", "profile <name>"),), (("interface *", "mac security profile <name>"),)),
    "IS-IS instance": ((("router isis <name>",),), (("interface *", "isis enable <name>"),)),
    "SSL profile": (
        (("management security", "ssl profile <name>"),),
        (("management api **", "**", "ssl profile <name>"),),
    ),
}
"""By kind of name: (patterns of the lines that define such a name, patterns of the lines that use it).

Lines about BGP and policies are left out: the statement tables ``ROUTING`` and ``POLICIES`` show which names they define and use.
"""


@check(
    "eos-undefined",
    why="EOS accepts the line, and then ignores it or denies everything",
    fix="define the name, or remove the line",
)
def undefined_names(root: list[Section]) -> Iterator[str]:
    """Every name that a line uses is defined."""
    for name in undefined(root, (POLICIES, ROUTING), REFERENCES):
        yield f"{name.kind} {name.name} is not defined: {name.path}"


@check(
    "eos-inactive-group",
    why="with `no bgp default ipv4-unicast`, a session without an address family exchanges no routes",
    fix="activate the peer group in its address family",
)
def inactive_group(root: list[Section]) -> Iterator[str]:
    """Every peer group is activated in at least one address family."""
    active = {line["name"] for line in select(root, *BGP, "address-family **", "neighbor <name> activate")}
    for line in select(root, "router bgp *", "neighbor <name> peer group"):
        if line["name"] not in active:
            yield f"peer group {line['name']} is active in no address family"
