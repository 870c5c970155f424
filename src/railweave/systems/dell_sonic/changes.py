"""What Enterprise SONiC's command line does with a changed line, and what that disrupts.

The user guides are not public. The ``no`` forms follow what the Ansible collection dellemc.enterprise_sonic and the tests of
sonic-net/sonic-mgmt send; where neither has one, ``no`` stands before the whole line. None has been tried on a switch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.section_tree import LineRules, SectionTree, section_tree
from railweave.model.config.tree import Disruption

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

_BGP = r"router bgp \d+( vrf \S+)? / "
_OPEN = "RFC 4271, section 4.2: AS number and identifier are said when a session opens"

RULES = LineRules(
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
    disruptions=(
        Disruption(_BGP + r"(neighbor|peer-group) .* / remote-as", "BGP session", "it resets", _OPEN),
        Disruption(
            _BGP + r"(neighbor|peer-group) [^/]*( / peer-group [^/]*)?$", "BGP session", "it goes", _OPEN, ("remove",)
        ),
        Disruption(
            _BGP + r"(neighbor|peer-group) .* / password",
            "BGP session",
            "it resets, and comes up when both ends have the key",
            "RFC 2385, section 2.0: a segment without the right digest is dropped",
            ("remove", "add", "replace"),
        ),
        Disruption(
            _BGP + "graceful-restart",
            "BGP session",
            "it takes effect when the session opens anew",
            "RFC 4724, section 3: the capability is said when a session opens",
            ("remove", "add", "replace"),
        ),
        Disruption(_BGP + "router-id", "every BGP session of the VRF", "they reset", _OPEN),
        Disruption(r"router bgp [^/]+$", "every BGP session of the VRF", "the process goes", _OPEN, ("remove",)),
        Disruption(
            "interface breakout port",
            "every port of the cage",
            "the ports are made anew",
            "sonic-utilities config/main.py, breakout: the ports that stand are removed first",
        ),
        Disruption(
            r"interface Eth\S+ / (speed|fec)",
            "the port",
            "its link trains anew",
            "IEEE 802.3: both ends must run the same rate and code",
            ("remove", "add", "replace"),
            itself=True,
        ),
        Disruption(
            r"interface ((?P<port>Eth\S+)|[A-Za-z]+ [^/]+)$",
            "the interface",
            "it loses its configuration",
            "dellemc.enterprise_sonic: `no` takes away every line of it",
            ("remove",),
            itself=True,
        ),
        Disruption(
            r"interface (?P<of>(?P<port>Eth\S+)|[^/]+) / shutdown$",
            "the interface",
            "it is shut down",
            "dellemc.enterprise_sonic, sonic_interfaces",
            ("add",),
        ),
        Disruption(
            "buffer (init|pool)",
            "every port",
            "the switch restarts for it, or its buffers are divided anew",
            "dellemc.enterprise_sonic, sonic_qos_buffer: `buffer init lossless` reloads the switch",
            ("remove", "add", "replace"),
        ),
    ),
)


def config_tree(sections: Iterable[Section]) -> SectionTree:
    """The commands of a file as a tree that can be compared."""
    return section_tree(sections, RULES)
