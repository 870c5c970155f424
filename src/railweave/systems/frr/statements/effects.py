"""The disruptions that changed statements of FRR cause. They also apply to the BGP sessions of Enterprise SONiC, which is based on FRR."""

from __future__ import annotations

from dataclasses import replace

from railweave.model.config.tree import UNKNOWN_DISRUPTION, Disruption

ANY = ("remove", "add", "replace")
_OPEN = "RFC 4271, section 4.2: AS number and identifier are said when a session opens"
_INTERFACE = r"(?=interface (?P<of>(?P<port>et-\d\S*)|\S+))"
"""A pattern that captures an interface and, if it is a designed port, the port."""

RESETS = (Disruption("", "BGP session", "it resets", _OPEN),)
GOES = (replace(RESETS[0], why="it goes", when=("remove",)),)
KEYED = (
    Disruption(
        "",
        "BGP session",
        "it resets, and comes up when both ends have the key",
        "RFC 2385, section 2.0: a segment without the right digest is dropped",
        ANY,
    ),
)
_FLAGS = "FRRouting/frr bgpd/bgpd.c, peer_flag_action_list and peer_af_flag_action_list"
KEPT = (Disruption("", "", "the session stays", _FLAGS, ANY),)
"""Changes that do not reset the session. FRR asks the peer to send its routes again, or announces its own routes again."""
CAPABLE = (Disruption("", "BGP session", "it resets", _FLAGS, ANY),)
"""Changes that reset the session: changes of capabilities, of route reflection, and of the way a neighbor on an interface is found."""
CONNECTED = (
    Disruption(
        "",
        "BGP session",
        "it resets",
        "FRRouting/frr bgpd/bgpd.c, peer_ebgp_multihop_set and peer_update_source_if_set",
        ANY,
    ),
)
WATCHED = (
    Disruption(
        "",
        "BGP session",
        "it may reset",
        "seen on FRR 10.3: BFD that is taken away and given again resets the session",
    ),
)
UNDESCRIBED = Disruption(
    r"router bgp [^/]+ / (?=.*(?P<of>neighbor (interface )?\S+) )",
    UNKNOWN_DISRUPTION,
    "whether the BGP session stays up",
    "no source is known",
    ANY,
)
"""The unknown effect of statements about a neighbor for which there is no row."""
SECURED = (Disruption("", "BGP session", "it resets", "FRRouting/frr bgpd/bgpd.c, peer_ttl_security_hops_set", ANY),)
GRACEFUL = (
    Disruption(
        "",
        "BGP session",
        "it takes effect when the session opens again",
        "RFC 4724, section 3: the capability is said when a session opens",
        ANY,
    ),
)
GROUPED = (
    Disruption(
        "",
        "BGP session",
        "it may reset",
        "FRRouting/frr tools/frr-reload.py: lines of peer groups are taken away and given again",
    ),
)
ACTIVATED = (
    Disruption(
        r"(?=.* / (?P<of>neighbor \S+) activate)",
        "BGP session",
        "it resets",
        "RFC 4760, section 8: families are agreed when a session opens",
        ANY,
    ),
)
_OF_PEER = r"(?=.* / (?P<of>(neighbor (interface )?|peer-group )\S+)( /)? %s( |$))"
"""A pattern of statements about a neighbor or a group, on the same line or below it.

If the neighbor is new, there is no session that a change could disrupt.
"""
STOPPED = (
    Disruption(_OF_PEER % "shutdown", "BGP session", "it is shut down", "FRR manual, BGP, neighbor shutdown", ("add",)),
)
STOPPED_ALL = (
    Disruption(
        "", "every BGP session of the VRF", "they are shut down", "FRR manual, BGP, bgp shutdown", ("add",), itself=True
    ),
)
RENUMBERED = (Disruption(_OF_PEER % "local-as", "BGP session", "it resets", _OPEN, ANY),)
IDENTIFIED = (Disruption("", "every BGP session of the VRF", "they reset", _OPEN),)
INSTANCE = (Disruption("", "every BGP session of the VRF", "the process goes", _OPEN, ("remove",)),)
SHUT = (Disruption(_INTERFACE, "the interface", "it is shut down", "FRRouting documentation, zebra", ("add",)),)
EMPTIED = (
    Disruption(
        _INTERFACE,
        "the interface",
        "it loses its addresses, and the sessions from them go",
        "FRRouting documentation, zebra",
        ("remove",),
    ),
)
