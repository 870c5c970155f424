"""The disruptions of traffic and sessions that changed statements of FRR cause.

They also apply to the BGP sessions of Enterprise SONiC, which is based on FRR.
"""

from __future__ import annotations

from dataclasses import replace

from railweave.model.config.tree import UNKNOWN_DISRUPTION, Disruption
from railweave.systems import standards

_INTERFACE = r"(?=interface (?P<of>(?P<port>et-\d\S*)|\S+))"
"""A pattern that captures an interface as ``of`` and, if it is a port in the design, also as ``port``."""

RESETS = (Disruption("", "BGP session", "it resets", standards.OPEN),)
GOES = (replace(RESETS[0], why="it goes", when=("remove",)),)
KEYED = (
    Disruption(
        "",
        "BGP session",
        standards.UNTIL_BOTH_HAVE_IT,
        standards.KEYED,
        standards.ANY,
    ),
)
_FLAGS = "FRRouting/frr bgpd/bgpd.c, peer_flag_action_list and peer_af_flag_action_list"
KEPT = (Disruption("", "", "the session stays", _FLAGS, standards.ANY),)
"""The effect of changes that do not reset the BGP session: FRR asks for the peer's routes, or sends its own routes, again."""
CAPABLE = (Disruption("", "BGP session", "it resets", _FLAGS, standards.ANY),)
"""The effect of changes that reset the BGP session.

These change capabilities, route reflection, or the discovery of a neighbor on an interface.
"""
CONNECTED = (
    Disruption(
        "",
        "BGP session",
        "it resets",
        "FRRouting/frr bgpd/bgpd.c, peer_ebgp_multihop_set and peer_update_source_if_set",
        standards.ANY,
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
    standards.ANY,
)
"""The disruption that is reported for a changed statement about a neighbor if no statement table has the statement: its effect is unknown."""
SECURED = (
    Disruption("", "BGP session", "it resets", "FRRouting/frr bgpd/bgpd.c, peer_ttl_security_hops_set", standards.ANY),
)
GRACEFUL = (
    Disruption(
        "",
        "BGP session",
        "it takes effect when the session opens again",
        standards.GRACEFUL,
        standards.ANY,
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
        standards.FAMILIES,
        standards.ANY,
    ),
)
_OF_PEER = r"(?=.* / (?P<of>(neighbor (interface )?|peer-group )\S+)( /)? %s( |$))"
"""A pattern of a statement (which replaces ``%s``) about a neighbor or a group, in the neighbor's line or in a line below it.

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
RENUMBERED = (Disruption(_OF_PEER % "local-as", "BGP session", "it resets", standards.OPEN, standards.ANY),)
IDENTIFIED = (Disruption("", "every BGP session of the VRF", "they reset", standards.OPEN),)
INSTANCE = (Disruption("", "every BGP session of the VRF", "the process goes", standards.OPEN, ("remove",)),)
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

_ADJACENCY = r"(?=(?P<of>interface \S+(?: vrf \S+)? / isis) )"
"""A pattern of IS-IS statements about an interface. An interface without IS-IS has no adjacency that a change could disrupt."""
_PROCESS = r"(?=(?P<of>router isis \S+) / )"
_CIRCUIT = "FRRouting/frr isisd/isis_circuit.c, isis_circuit_circ_type_set and isis_circuit_passive_set"
HELD = (Disruption("", "", "the adjacency stays", standards.HELLOS, standards.ANY),)
"""The effect of changed timers: none, because the receiver takes the holding time from each hello."""
FLOODED = (Disruption("", "", "the adjacency stays", standards.METRICS, standards.ANY),)
LOGGED = (Disruption("", "", "the adjacency stays", "FRR manual, ISIS", standards.ANY),)
ENABLED = (
    Disruption(
        "",
        "IS-IS adjacency",
        "it goes with the last address family of the interface",
        "FRRouting/frr isisd/isis_nb_config.c, lib_interface_isis_destroy",
        ("remove", "replace"),
    ),
)
QUIET = (Disruption(_ADJACENCY, "IS-IS adjacency", "it goes: no hellos are sent", _CIRCUIT, ("add",)),)
LEVELLED = (
    Disruption("", "", "the adjacency at level 2 stays", "seen on FRR 10.3: level 1 beside level 2", standards.ANY),
)
SHAPED = (Disruption(_ADJACENCY, "IS-IS adjacency", "it resets", _CIRCUIT, standards.ANY),)
SIGNED = (
    Disruption(
        _ADJACENCY,
        "IS-IS adjacency",
        standards.AFTER_HOLDING_TIME,
        standards.SIGNED,
        standards.ANY,
    ),
)
BFD_WATCHED = (
    Disruption(
        "",
        "",
        "the adjacency stays",
        standards.BFD_TIMERS,
        standards.ANY,
    ),
)
ISIS_INSTANCE = (Disruption("", "every IS-IS adjacency", "the process goes", standards.HELLOS, ("remove",)),)
NAMED = (
    Disruption(
        _PROCESS,
        "every IS-IS adjacency",
        "they reset if the system identifier changes",
        f"{standards.HELLOS}; seen on FRR 10.3: with another area only, adjacencies at level 2 stay",
        standards.ANY,
    ),
)
DATABASE_KEYED = (
    Disruption(
        _PROCESS,
        "routes of IS-IS",
        "link-state PDUs with a different key are discarded until all switches have the key",
        standards.SIGNED,
        standards.ANY,
    ),
)
WITHOUT_LEVEL = (
    Disruption(
        r"(?P<of>interface \S+(?: vrf \S+)? / isis) circuit-type level-1$",
        "IS-IS adjacency",
        "it goes: the interface has level 1 only",
        standards.HELLOS,
        standards.ANY,
    ),
    Disruption(
        r"(?P<of>router isis \S+) / is-type level-1$",
        "every IS-IS adjacency",
        "they go: the switch has level 1 only",
        standards.HELLOS,
        standards.ANY,
    ),
)
ISIS_UNDESCRIBED = Disruption(
    r"(?=(?P<of>interface \S+(?: vrf \S+)? / isis|router isis \S+)( |$))",
    UNKNOWN_DISRUPTION,
    "whether the IS-IS adjacencies stay up",
    "no source is known",
    standards.ANY,
)
"""The disruption that is reported for a changed IS-IS statement if no statement table has the statement: its effect is unknown."""
