"""The disruptions that changed statements of Enterprise SONiC cause. None has been tried on a switch."""

from __future__ import annotations

from railweave.model.config.statements import Effect

ANY = ("remove", "add", "replace")
_OPEN = "RFC 4271, section 4.2: AS number and identifier are said when a session opens"

RESETS = (Effect("BGP session", "it resets", _OPEN),)
GOES = (Effect("BGP session", "it goes", _OPEN, ("remove",)),)
KEYED = (
    Effect(
        "BGP session",
        "it resets, and comes up when both ends have the key",
        "RFC 2385, section 2.0: a segment without the right digest is dropped",
        ANY,
    ),
)
GRACEFUL = (
    Effect(
        "BGP session",
        "it takes effect when the session opens anew",
        "RFC 4724, section 3: the capability is said when a session opens",
        ANY,
    ),
)
IDENTIFIED = (Effect("every BGP session of the VRF", "they reset", _OPEN),)
INSTANCE = (Effect("every BGP session of the VRF", "the process goes", _OPEN, ("remove",)),)
CAGE = (
    Effect(
        "every port of the cage",
        "the ports are made anew",
        "sonic-utilities config/main.py, breakout: the ports that stand are removed first",
    ),
)
LINK = (
    Effect(
        "the port", "its link trains anew", "IEEE 802.3: both ends must run the same rate and code", ANY, itself=True
    ),
)
EMPTIED = (
    Effect(
        "the interface",
        "it loses its configuration",
        "dellemc.enterprise_sonic: `no` takes away every line of it",
        ("remove",),
        itself=True,
    ),
)
SHUT = (
    Effect(
        "the interface",
        "it is shut down",
        "dellemc.enterprise_sonic, sonic_interfaces",
        ("add", "replace"),
        value="shutdown",
    ),
)
BUFFERS = (
    Effect(
        "every port",
        "the switch restarts for it, or its buffers are divided anew",
        "dellemc.enterprise_sonic, sonic_qos_buffer: `buffer init lossless` reloads the switch",
        ANY,
    ),
)
