"""What FRR does with a changed line: which lines replace others, how lines are removed, and what that disrupts.

As FRR's own ``tools/frr-reload.py`` does it: ``no`` before the whole line; interfaces, VRFs and address families cannot be
removed, only what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.section_tree import LineRules, SectionTree, section_tree
from railweave.model.config.tree import Disruption
from railweave.systems.frr.tree import closer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

_BGP = r"router bgp \d+( vrf \S+)? / "
_OPEN = "RFC 4271, section 4.2: AS number and identifier are said when a session opens"

_KEYED = "RFC 2385, section 2.0: a segment without the right digest is dropped"
_GRACEFUL = "RFC 4724, section 3: the capability is said when a session opens"
_ANY = ("remove", "add", "replace")
_PORT = r"(?P<of>(?P<port>et-\d\S*)|\S+)"

RULES = LineRules(
    replaced=(
        "frr defaults ...",
        "hostname ...",
        "log syslog ...",
        "description ...",
        "ipv6 nd ra-interval ...",
        "ipv6 nd ra-lifetime ...",
        "ipv6 nd ra-hop-limit ...",
        "ipv6 nd reachable-time ...",
        "ipv6 nd ra-retrans-interval ...",
        "ipv6 nd mtu ...",
        "ipv6 nd prefix * ...",
        "detect-multiplier ...",
        "receive-interval ...",
        "transmit-interval ...",
        "ip prefix-list * seq * ...",
        "ipv6 prefix-list * seq * ...",
        "vni ...",
        "bgp router-id ...",
        "neighbor * description ...",
        "neighbor * timers connect ...",
        "neighbor * bfd profile ...",
        "neighbor * interface remote-as ...",
        "neighbor * remote-as ...",
        "neighbor * ebgp-multihop ...",
        "neighbor * password ...",
        "neighbor * ttl-security hops ...",
        "neighbor * update-source ...",
        "neighbor * route-map = in",
        "neighbor * route-map = out",
        "redistribute connected ...",
        "maximum-paths ...",
        "rd ...",
        "match ip address prefix-list ...",
        "match ipv6 address prefix-list ...",
        "match large-community ...",
        "set local-preference ...",
        "set large-community ...",
        "set community ...",
        "set as-path prepend ...",
    ),
    cut=("description ...", "neighbor * description ..."),
    # `no … bfd profile P` leaves BFD on, with the profile's usual timers; with BFD go all lines about it (seen on FRR 10.3 and 10.7).
    removed_as=(("neighbor * bfd profile *", "neighbor * bfd"),),
    emptied=("interface ", "vrf ", "address-family "),
    defined=(
        "route-map *",
        "ip prefix-list *",
        "ipv6 prefix-list *",
        "bgp community-list standard *",
        "bgp large-community-list standard *",
    ),
    # With a group go its members, interfaces too (FRRouting/frr bgpd/bgpd.c, peer_group_delete): what joins another group must have left it.
    defined_inside=("neighbor * peer-group",),
    # An interface that leaves its group is no neighbor any more (seen on FRR 10.3: the next line about it is refused).
    taken_with=(
        ("neighbor * bfd", "neighbor * bfd"),
        ("neighbor * bfd profile *", "neighbor * bfd"),
        ("neighbor * peer-group *", "neighbor *"),
        ("neighbor * remote-as *", "neighbor *"),
        ("neighbor * interface remote-as *", "neighbor *"),
    ),
    # A neighbor goes with its AS number (FRRouting/frr bgpd/bgp_vty.c, no_neighbor), and every line about it is refused afterwards.
    ended_by=(("neighbor * remote-as *", "neighbor *"), ("neighbor * interface remote-as *", "neighbor *")),
    closer=closer,
    disruptions=(
        Disruption(_BGP + r"neighbor \S+ (interface )?remote-as", "BGP session", "it resets", _OPEN),
        Disruption(
            _BGP + r"neighbor \S+ password",
            "BGP session",
            "it resets, and comes up when both ends have the key",
            _KEYED,
            _ANY,
        ),
        Disruption(
            _BGP + r"neighbor \S+ ttl-security",
            "BGP session",
            "it resets",
            "FRRouting/frr bgpd/bgpd.c, peer_ttl_security_hops_set",
            _ANY,
        ),
        Disruption(
            _BGP + r"bgp graceful-restart$",
            "BGP session",
            "it takes effect when the session opens anew",
            _GRACEFUL,
            _ANY,
        ),
        Disruption(
            _BGP + r"neighbor \S+ peer-group",
            "BGP session",
            "it may reset",
            "FRRouting/frr tools/frr-reload.py: lines of peer groups are taken away and given anew",
        ),
        Disruption(
            rf"interface {_PORT}( vrf \S+)? / shutdown$",
            "the interface",
            "it is shut down",
            "FRRouting documentation, zebra",
            ("add",),
        ),
        Disruption(
            rf"interface {_PORT}( vrf \S+)?$",
            "the interface",
            "it loses its addresses, and the sessions from them go",
            "FRRouting documentation, zebra",
            ("remove",),
        ),
        Disruption(_BGP + r"bgp router-id", "every BGP session of the VRF", "they reset", _OPEN),
        Disruption(r"router bgp [^/]+$", "every BGP session of the VRF", "the process goes", _OPEN, ("remove",)),
        Disruption(
            _BGP + r"address-family [^/]+ / (?P<of>neighbor \S+) activate",
            "BGP session",
            "it resets",
            "RFC 4760, section 8: families are agreed when a session opens",
            ("remove", "add", "replace"),
        ),
    ),
)


def config_tree(sections: Iterable[Section]) -> SectionTree:
    """``frr.conf`` as a tree that can be compared."""
    return section_tree(sections, RULES)
