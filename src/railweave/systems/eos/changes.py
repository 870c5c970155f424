"""Effects of changed lines on EOS: which other lines a line replaces, how a line is removed, and what traffic a change disrupts.

The rules are from Arista's EOS user manual (each command's ``no`` and ``default`` forms). They have not been tried on a
switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.row_changes import with_rows
from railweave.model.config.section_tree import LineRules, SectionTree, section_tree
from railweave.model.config.tree import UNKNOWN_DISRUPTION, Disruption
from railweave.systems.eos.statements import LLDP
from railweave.systems.eos.tree import INDENT
from railweave.systems.standards import (
    AFTER_HOLDING_TIME,
    ANY,
    BFD_TIMERS,
    FAMILIES,
    GRACEFUL,
    HELLOS,
    HELLOS_OF_LINKS,
    KEYED,
    OPEN,
    SELECTED,
    SIGNED,
    UNTIL_BOTH_HAVE_IT,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

ONE_VALUE = (
    "hostname ...",
    "dns domain ...",
    "clock timezone ...",
    "logging trap ...",
    "logging format ...",
    "snmp-server location ...",
    "lldp management-address vrf ...",
    "lldp management-address ...",
    "username * ...",
    "aaa root ...",
    "aaa authentication login default ...",
    "aaa authorization exec default ...",
    "aaa authorization policy local default-role ...",
    "aaa authentication policy lockout ...",
    "idle-timeout ...",
    "storm-control * level ...",
    "spanning-tree mode ...",
    "priority-flow-control pause watchdog default timeout ...",
    "priority-flow-control pause watchdog default recovery-time ...",
    "priority-flow-control pause watchdog default polling-interval ...",
    "priority-flow-control pause watchdog action ...",
    "qos trust ...",
    "bandwidth percent ...",
    "bandwidth guaranteed ...",
    "shape rate ...",
    "name ...",
    "description ...",
    "mtu ...",
    "speed ...",
    "flowcontrol send ...",
    "flowcontrol receive ...",
    "switchport mode ...",
    "switchport access vlan ...",
    "switchport trunk native vlan ...",
    "switchport trunk allowed vlan ...",
    "service-profile ...",
    "ipv6 nd prefix * ...",
    "ipv6 nd ra interval ...",
    "ipv6 nd ra lifetime ...",
    "ipv6 nd ra hop-limit ...",
    "vxlan source-interface ...",
    "vxlan udp-port ...",
    "vxlan encapsulation ...",
    "router-id ...",
    "maximum-paths ...",
    "rd ...",
    "neighbor * description ...",
    "neighbor * bfd interval ...",
    "neighbor * maximum-routes ...",
    "neighbor * ttl maximum-hops ...",
    "neighbor * password ...",
    "neighbor * remote-as ...",
    "neighbor * update-source ...",
    "neighbor * ebgp-multihop ...",
    "redistribute connected ...",
    "match ip address prefix-list ...",
    "match ipv6 address prefix-list ...",
    "match large-community ...",
    "set local-preference ...",
)
"""Lines with one value, such as ``mtu 9214``. To remove such a line, ``no`` is followed by the line without its value."""

_BGP = r"router bgp \d+ / (vrf \S+ / )?"
_PEER = r"(?P<of>neighbor (interface )?\S+) "
"""A pattern of statements about a neighbor or a peer group. If the neighbor is new, a change disrupts nothing, because it has no session."""
_RETRAINS = "IEEE 802.3: both ends must run the same rate and code, so the link goes down and trains again"

_ON_ISIS = r"(?P<of>interface \S+ / isis) "
"""A pattern of statements about IS-IS on an interface. If IS-IS is new on the interface, a change disrupts nothing: there is no adjacency."""

_LINES = LineRules(
    replaced=(
        *ONE_VALUE,
        "priority ...",
        "random-detect ecn minimum-threshold ...",
        "priority-flow-control priority * ...",
        "qos map dscp ... to traffic-class *",
        "qos map traffic-class * to tx-queue ...",
        "qos map traffic-class * to dscp ...",
        "platform trident mmu headroom-pool limit bytes ...",
        "ingress headroom bytes ...",
        "ingress priority-group * threshold ...",
        "egress unicast queue * threshold ...",
        "ip hardware fib load-balance distribution dynamic flow-set-size ...",
        "vxlan vlan * vni ...",
        "vxlan vrf * vni ...",
        "ip address =",
        "neighbor interface * peer-group ...",
        "neighbor * route-map = in",
        "neighbor * route-map = out",
    ),
    cut=(*ONE_VALUE, "seq * ...", "qos map dscp ... to traffic-class *"),
    texts=(("banner login", "EOF"),),
    emptied=(),
    defined=(
        "route-map *",
        "ip prefix-list *",
        "ipv6 prefix-list *",
        "ip community-list *",
        "ip large-community-list *",
        "peer-filter *",
        "ip access-list *",
        "ipv6 access-list *",
        "qos profile *",
        "vrf instance *",
        "vlan *",
    ),
    anew_with=("vrf ",),
    removed_by=(("interface Ethernet", "default"), ("interface Management", "default")),
    undo_no="default",
    indent=INDENT,
    disruptions=(
        Disruption(_BGP + r"neighbor \S+ remote-as", "BGP session", "it resets", OPEN),
        Disruption(
            _BGP + r"neighbor \S+ password",
            "BGP session",
            UNTIL_BOTH_HAVE_IT,
            KEYED,
            ANY,
        ),
        Disruption(
            _BGP + "graceful-restart", "BGP session", "it takes effect when the session opens again", GRACEFUL, ANY
        ),
        Disruption(
            _BGP + _PEER + "shutdown",
            "BGP session",
            "it is shut down",
            'EOS user manual, "neighbor shutdown"',
            ("add",),
        ),
        Disruption(
            r"router bgp \d+ / shutdown$",
            "every BGP session",
            "they are shut down",
            'EOS user manual, "shutdown (BGP)"',
            ("add",),
            itself=True,
        ),
        Disruption(_BGP + _PEER + "local-as", "BGP session", "it resets", OPEN, ANY),
        Disruption(
            _BGP + _PEER + "ttl maximum-hops",
            "BGP session",
            "it resets, and comes up when the TTL of both ends suits",
            "RFC 5082, section 3: packets with a lower TTL are dropped",
            ANY,
        ),
        Disruption(_BGP + "router-id", "every BGP session of the VRF", "they reset", OPEN),
        Disruption(r"router bgp \d+$", "every BGP session", "the process goes", OPEN, ("remove",)),
        Disruption(
            _BGP + r"neighbor (interface )?\S+ peer[- ]group",
            "BGP session",
            "it goes, or comes up with the settings of another group",
            OPEN,
        ),
        Disruption(
            _BGP + r"address-family \S+ / neighbor \S+ activate",
            "BGP session",
            "it resets",
            FAMILIES,
            ANY,
        ),
        Disruption(
            _BGP + _PEER + "update-source",
            "BGP session",
            "it resets",
            "RFC 4271, section 8: a session is one TCP connection between two addresses",
            ANY,
        ),
        Disruption(_BGP + _PEER + "description", "", "the session stays", "EOS user manual", ANY),
        Disruption(
            _BGP + r"(address-family \S+ / )?" + _PEER + "route-map",
            "",
            "the session stays, and its routes are selected again",
            SELECTED,
            ANY,
        ),
        Disruption(
            _BGP + _PEER + "bfd",
            "",
            "the session stays",
            BFD_TIMERS,
            ANY,
        ),
        Disruption(
            _BGP + r"(address-family \S+ / )?" + _PEER,
            UNKNOWN_DISRUPTION,
            "whether the BGP session stays up",
            "no source is known",
            ANY,
        ),
        Disruption(r"router isis \S+$", "every IS-IS adjacency", "the process goes", HELLOS, ("remove",), itself=True),
        Disruption(
            r"(?P<of>router isis \S+) / net ",
            "every IS-IS adjacency",
            "they reset if the system identifier changes",
            HELLOS,
            ANY,
        ),
        Disruption(
            r"(?P<of>router isis \S+) / (no )?is-type( level-1$)?",
            "every IS-IS adjacency",
            "they may reset: their level changes",
            HELLOS,
            ANY,
        ),
        Disruption(
            r"(?P<of>router isis \S+) / authentication ",
            "routes of IS-IS",
            "link-state PDUs with a different key are discarded until all switches have the key",
            SIGNED,
            ANY,
        ),
        Disruption(
            r"router isis \S+ / (router-id|maximum-paths|log-adjacency-changes|is-hostname|timers|set-overload-bit|spf-interval)|"
            r"router isis \S+ / address-family \S+ unicast / (maximum-paths|bfd)",
            "",
            "the adjacencies stay",
            "RFC 5305, sections 3 and 4: link-state PDUs have it, hellos do not",
            ANY,
        ),
        Disruption(r"interface \S+ / isis enable", "IS-IS adjacency", "it goes", HELLOS),
        Disruption(
            _ON_ISIS + r"passive",
            "IS-IS adjacency",
            "it goes: no hellos are sent",
            'EOS user manual, "isis passive"',
            ("add",),
        ),
        Disruption(_ON_ISIS + r"circuit-type", "IS-IS adjacency", "it may reset: its level changes", HELLOS, ANY),
        Disruption(
            _ON_ISIS + r"network",
            "IS-IS adjacency",
            "it resets",
            HELLOS_OF_LINKS,
            ANY,
        ),
        Disruption(
            _ON_ISIS + r"authentication ",
            "IS-IS adjacency",
            AFTER_HOLDING_TIME,
            SIGNED,
            ANY,
        ),
        Disruption(
            r"interface \S+ / (no )?isis (metric|priority|hello|hello-interval|hello-multiplier|lsp)( |$)",
            "",
            "the adjacency stays",
            f"RFC 5305, section 3: metrics are in link-state PDUs; {HELLOS}",
            ANY,
        ),
        Disruption(
            r"interface \S+ / isis bfd",
            "",
            "the adjacency stays",
            "RFC 5882, section 3.2: the administrative end of a BFD session is no failure",
            ANY,
        ),
        Disruption(
            r"(?P<of>interface \S+ / isis|router isis \S+)( |$)",
            UNKNOWN_DISRUPTION,
            "whether the IS-IS adjacencies stay up",
            "no source is known",
            ANY,
        ),
        Disruption(
            r"interface Ethernet\S+ / (speed|error-correction)",
            "the port",
            "its link trains again",
            _RETRAINS,
            ANY,
            itself=True,
        ),
        Disruption(
            r"interface ((?P<port>Ethernet\S+)|\S+)$",
            "the interface",
            "it loses its configuration",
            "EOS user manual",
            ("remove",),
        ),
        Disruption(
            r"interface (?P<of>(?P<port>Ethernet\S+)|\S+)( vrf \S+)? / shutdown$",
            "the interface",
            "it is shut down",
            "EOS user manual",
            ("add",),
        ),
        Disruption(
            r"interface ((?P<port>Ethernet\S+)|\S+) vrf \S+$",
            "the interface",
            "it changes its VRF",
            "EOS user manual",
            ("remove",),
        ),
    ),
)
RULES = with_rows(_LINES, [LLDP])


def config_tree(sections: Iterable[Section]) -> SectionTree:
    """Return the lines of ``eos.conf`` as a tree that can be compared with another tree to find changed lines."""
    return section_tree(sections, RULES)
