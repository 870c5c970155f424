"""Effects of changed lines on FRR: which lines a line replaces, how it is removed, and what traffic a change disrupts.

The rules follow FRR's own ``tools/frr-reload.py``: ``no`` is put before the whole line. Interfaces, VRFs and address
families cannot be removed; only their content can.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.row_changes import with_disruptions
from railweave.model.config.section_tree import LineRules, SectionTree, section_tree
from railweave.systems.frr.statements.effects import ACTIVATED, HELD, ISIS_UNDESCRIBED, SHUT, UNDESCRIBED, WITHOUT_LEVEL
from railweave.systems.frr.tree import closer
from railweave.systems.statement_tables import tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

_LINES = LineRules(
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
    # `no … bfd profile P` leaves BFD on, with FRR's default timers. Removing BFD removes all lines about BFD (seen on FRR 10.3 and 10.7).
    removed_as=(("neighbor * bfd profile *", "neighbor * bfd"),),
    emptied=("interface ", "vrf ", "address-family "),
    # `no router bgp N vrf V` is refused while the VRF has its VNI (seen on FRR 10.3: "Please unconfigure l3vni").
    released=("vrf ",),
    defined=(
        "route-map *",
        "ip prefix-list *",
        "ipv6 prefix-list *",
        "bgp community-list standard *",
        "bgp large-community-list standard *",
    ),
    # Removing a group removes its members, including interfaces (FRRouting/frr bgpd/bgpd.c, peer_group_delete). A member that moves to another group must leave first.
    defined_inside=("neighbor * peer-group",),
    # An interface that leaves its group is no longer a neighbor (seen on FRR 10.3: the next line about it is refused).
    taken_with=(
        ("neighbor * bfd", "neighbor * bfd"),
        ("neighbor * bfd profile *", "neighbor * bfd"),
        ("neighbor * peer-group *", "neighbor *"),
        ("neighbor * remote-as *", "neighbor *"),
        ("neighbor * interface remote-as *", "neighbor *"),
    ),
    # Removing the AS number removes the neighbor (FRRouting/frr bgpd/bgp_vty.c, no_neighbor). FRR then refuses every line about the neighbor.
    ended_by=(("neighbor * remote-as *", "neighbor *"), ("neighbor * interface remote-as *", "neighbor *")),
    # `no ip forwarding` clears the kernel parameter, which `frr.host` also sets. FRR prints the line only if forwarding is off.
    without=("ip forwarding", "ipv6 forwarding"),
    closer=closer,
    disruptions=(
        replace(SHUT[0], statement=rf"{SHUT[0].statement}interface (lo|dummy)[^/]* / shutdown$"),
        replace(ACTIVATED[0], statement=rf"{ACTIVATED[0].statement}router bgp "),
        UNDESCRIBED,
        replace(HELD[0], statement=r"interface [^/]+ / (no )?isis (hello|priority|csnp-interval|psnp-interval)"),
        replace(HELD[0], statement=r"router isis [^/]+ / (set-overload-bit|lsp-|spf-|max-lsp-lifetime|hostname )"),
        *WITHOUT_LEVEL,
        ISIS_UNDESCRIBED,
    ),
)
RULES = with_disruptions(_LINES, tables("frr").values())
"""The rules for changes of lines, including the traffic that a change disrupts.

They join the rules in ``_LINES`` with the disruptions that the statement tables give for each statement.
"""


def config_tree(sections: Iterable[Section]) -> SectionTree:
    """Return ``frr.conf`` as a tree for comparison."""
    return section_tree(sections, RULES)
