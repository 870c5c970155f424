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

_ADJACENCY = r"(?=(?P<of>interface \S+(?: vrf \S+)? / isis) )"
"""A pattern of IS-IS statements about an interface. An interface without IS-IS has no adjacency that a change could disrupt."""
_PROCESS = r"(?=(?P<of>router isis \S+) / )"
_CIRCUIT = "FRRouting/frr isisd/isis_circuit.c, isis_circuit_circ_type_set and isis_circuit_passive_set"
_HELLOS = "ISO/IEC 10589, 9.5 to 9.7: every hello has its sender's identifier, circuit type and holding time"
HELD = (Disruption("", "", "the adjacency stays", _HELLOS, ANY),)
"""Changes of timers: the receiver takes the holding time from each hello."""
FLOODED = (
    Disruption(
        "", "", "the adjacency stays", "RFC 5305, section 3: metrics are in link-state PDUs, not in hellos", ANY
    ),
)
LOGGED = (Disruption("", "", "the adjacency stays", "FRR manual, ISIS", ANY),)
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
LEVELLED = (Disruption("", "", "the adjacency at level 2 stays", "seen on FRR 10.3: level 1 beside level 2", ANY),)
SHAPED = (Disruption(_ADJACENCY, "IS-IS adjacency", "it resets", _CIRCUIT, ANY),)
SIGNED = (
    Disruption(
        _ADJACENCY,
        "IS-IS adjacency",
        "it goes after the holding time, and comes up when both ends have the key",
        "RFC 5304, section 2: a PDU with a wrong digest is discarded",
        ANY,
    ),
)
BFD_WATCHED = (
    Disruption(
        "",
        "",
        "the adjacency stays",
        "RFC 5880, section 6.8.3: timers change within the BFD session; RFC 5882, section 3.2: its administrative end is no failure",
        ANY,
    ),
)
ISIS_INSTANCE = (Disruption("", "every IS-IS adjacency", "the process goes", _HELLOS, ("remove",)),)
NAMED = (
    Disruption(
        _PROCESS,
        "every IS-IS adjacency",
        "they reset if the system identifier changes",
        f"{_HELLOS}; seen on FRR 10.3: with another area only, adjacencies at level 2 stay",
        ANY,
    ),
)
DATABASE_KEYED = (
    Disruption(
        _PROCESS,
        "routes of IS-IS",
        "link-state PDUs with a different key are discarded until all switches have the key",
        "RFC 5304, section 2: a PDU with a wrong digest is discarded",
        ANY,
    ),
)
WITHOUT_LEVEL = (
    Disruption(
        r"(?P<of>interface \S+(?: vrf \S+)? / isis) circuit-type level-1$",
        "IS-IS adjacency",
        "it goes: the interface has level 1 only",
        _HELLOS,
        ANY,
    ),
    Disruption(
        r"(?P<of>router isis \S+) / is-type level-1$",
        "every IS-IS adjacency",
        "they go: the switch has level 1 only",
        _HELLOS,
        ANY,
    ),
)
ISIS_UNDESCRIBED = Disruption(
    r"(?=(?P<of>interface \S+(?: vrf \S+)? / isis|router isis \S+)( |$))",
    UNKNOWN_DISRUPTION,
    "whether the IS-IS adjacencies stay up",
    "no source is known",
    ANY,
)
"""Statements about IS-IS that no row describes."""
