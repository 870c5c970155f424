"""Effects of changed lines on Enterprise SONiC's command line: which lines a line replaces, and what a change disrupts.

The user guides are not public. The ``no`` forms follow what the Ansible collection dellemc.enterprise_sonic and the
tests of sonic-net/sonic-mgmt send; if neither has such a form, ``no`` is put before the whole line. No form has been
tried on a switch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.row_changes import with_rows
from railweave.model.config.section_tree import LineRules, SectionTree, section_tree
from railweave.systems.dell_sonic.statements import TABLES
from railweave.systems.dell_sonic.statements.effects import BUFFERS, SHUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

ONE_VALUE = (
    "username * ...",
    "interface breakout port * ...",
    "fec ...",
    "ipv6 nd prefix * ...",
    "timers connect ...",
    "ttl-security hops ...",
    "spanning-tree mode ...",
    "spanning-tree port type ...",
    "spanning-tree bpduguard ...",
    "ebgp-multihop ...",
    "send-community ...",
    "redistribute connected ...",
)
"""Lines with one value, such as ``fec rs``. To remove such a line, ``no`` is followed by the line without its value.

The statement tables describe further lines of this kind. The lines here must be listed, because they have no value in the tables, or
only a part of the value.
"""

_LINES = LineRules(
    replaced=(*ONE_VALUE, "buffer pool * ...", "buffer profile * ...", "map vni * vlan ...", "map vni * vrf ..."),
    cut=ONE_VALUE,
    emptied=("interface Eth", "interface Management"),
    defined=(
        "route-map *",
        "ip prefix-list *",
        "ipv6 prefix-list *",
        "bgp community-list standard *",
        "ip access-list *",
        "ipv6 access-list *",
        "ip vrf *",
        "interface Vlan *",
        "qos wred-policy *",
        "qos scheduler-policy *",
        "ars object *",
        "ars profile *",
        "ars port-profile *",
        "buffer profile *",
    ),
    anew_with=("ip vrf forwarding ",),
    without=("shutdown",),
    disruptions=(
        replace(SHUT[0], statement=r"interface (?!Eth|Vlan)[^/]+ / shutdown$"),
        replace(BUFFERS[0], statement=r"buffer (init|pool) (?!lossless$|ingress_lossless_pool)"),
    ),
)
RULES = with_rows(_LINES, TABLES)
"""The rules about lines: how to remove them, and what they replace and disrupt.

They are derived from the statement tables; the rules in ``_LINES`` add to them or replace them.
"""


def config_tree(sections: Iterable[Section]) -> SectionTree:
    """Return the commands of a file as a tree that can be compared with another tree to find changed lines."""
    return section_tree(sections, RULES)
