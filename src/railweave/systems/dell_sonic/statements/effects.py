"""The disruptions that changed statements of Enterprise SONiC cause, in addition to the disruptions of FRR's statements.

They have not been tried on a switch.
"""

from __future__ import annotations

from railweave.model.config.tree import Disruption
from railweave.systems.standards import ANY

CAGE = (
    Disruption(
        "",
        "every port of the cage",
        "the ports are made again",
        "sonic-utilities config/main.py, breakout: the ports that stand are removed first",
    ),
)
LINK = (
    Disruption(
        "",
        "the port",
        "its link trains again",
        "IEEE 802.3: both ends must run the same rate and code",
        ANY,
        itself=True,
    ),
)
EMPTIED = (
    Disruption(
        "",
        "the interface",
        "it loses its configuration",
        "dellemc.enterprise_sonic: `no` takes away every line of it",
        ("remove",),
        itself=True,
    ),
)
SHUT = (
    Disruption(
        "",
        "the interface",
        "it is shut down",
        "dellemc.enterprise_sonic, sonic_interfaces",
        ("add", "replace"),
        value="shutdown",
    ),
)
BUFFERS = (
    Disruption(
        "",
        "every port",
        "the switch restarts for it, or its buffers are divided again",
        "dellemc.enterprise_sonic, sonic_qos_buffer: `buffer init lossless` reloads the switch",
        ANY,
    ),
)
