"""What Enterprise SONiC's command line does with a changed line, and what that disrupts.

The user guides are not public. The ``no`` forms follow what the Ansible collection dellemc.enterprise_sonic and the tests of
sonic-net/sonic-mgmt send; where neither has one, ``no`` stands before the whole line. None has been tried on a switch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.row_disruptions import disruption, disruptions
from railweave.model.config.section_tree import LineRules, SectionTree, section_tree
from railweave.systems.dell_sonic.statements import TABLES
from railweave.systems.dell_sonic.statements.effects import BUFFERS, SHUT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section

ONE_VALUE = (
    "hostname ...",
    "snmp-server location ...",
    "username * ...",
    "interface breakout port * ...",
    "description ...",
    "mtu ...",
    "speed ...",
    "fec ...",
    "switchport access Vlan ...",
    "scheduler-policy ...",
    "qos-map dscp-tc ...",
    "qos-map tc-queue ...",
    "qos-map tc-pg ...",
    "qos-map pfc-priority-queue ...",
    "queue * wred-policy ...",
    "priority-flow-control watchdog action ...",
    "priority-flow-control watchdog on detect-time ...",
    "priority-flow-control watchdog restore-time ...",
    "priority-flow-control watchdog polling-interval ...",
    "buffer priority-group * ...",
    "ipv6 nd ra-interval ...",
    "ipv6 nd ra-lifetime ...",
    "ipv6 nd ra-hop-limit ...",
    "ipv6 nd min-ra-interval ...",
    "ipv6 nd prefix * ...",
    "source-ip ...",
    "detect-multiplier ...",
    "receive-interval ...",
    "transmit-interval ...",
    "router-id ...",
    "remote-as ...",
    "maximum-paths ...",
    "timers connect ...",
    "bfd profile ...",
    "bfd check-control-plane-failure profile ...",
    "password ...",
    "ttl-security hops ...",
    "login lockout period ...",
    "login lockout max-retries ...",
    "login exec-timeout ...",
    "storm-control * ...",
    "spanning-tree mode ...",
    "spanning-tree port type ...",
    "spanning-tree bpduguard ...",
    "update-source ...",
    "ebgp-multihop ...",
    "send-community ...",
    "rd ...",
    "redistribute connected ...",
    "set local-preference ...",
    "set ars-object ...",
    "weight ...",
    "type ...",
)
"""Lines of one value, which ``no`` takes away without it."""

_LINES = LineRules(
    replaced=(
        *ONE_VALUE,
        "route-map = in",
        "route-map = out",
        "match ip address prefix-list ...",
        "match ipv6 address prefix-list ...",
        "match community ...",
        "green minimum-threshold ...",
        "buffer pool * ...",
        "buffer profile * ...",
        "map vni * vlan ...",
        "map vni * vrf ...",
        "sampling-interval ...",
        "load-past-weight ...",
        "mode ...",
        "idle-time ...",
        "max-flows ...",
    ),
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
)
RULES = replace(
    _LINES,
    disruptions=(
        *disruptions(TABLES, _LINES),
        *(disruption(r"interface (?!Eth|Vlan)[^/]+ / shutdown$", effect) for effect in SHUT),
        *(disruption(r"buffer (init|pool) (?!lossless$|ingress_lossless_pool)", effect) for effect in BUFFERS),
    ),
)
"""The rules of lines, with the disruptions of statement tables, and those of statements that no row has."""


def config_tree(sections: Iterable[Section]) -> SectionTree:
    """The commands of a file as a tree that can be compared."""
    return section_tree(sections, RULES)
