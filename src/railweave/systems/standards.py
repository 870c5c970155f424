"""Facts from standards about BGP sessions and IS-IS adjacencies, which more than one system cites as the source of a ``Disruption``."""

from __future__ import annotations

ANY = ("remove", "add", "replace")
"""All kinds of changes of a statement: it is removed, added or replaced (``Disruption.when``)."""

OPEN = "RFC 4271, section 4.2: AS number and identifier are said when a session opens"
KEYED = "RFC 2385, section 2.0: a segment without the right digest is dropped"
FAMILIES = "RFC 4760, section 8: families are agreed when a session opens"
GRACEFUL = "RFC 4724, section 3: the capability is said when a session opens"
SELECTED = "RFC 4271, section 9.1: policies select among the routes that a session has brought"
BFD_TIMERS = (
    "RFC 5880, section 6.8.3: timers change within the BFD session; RFC 5882, section 3.2: its administrative end is no "
    "failure"
)
HELLOS = "ISO/IEC 10589, 9.5 to 9.7: every hello has its sender's identifier, circuit type and holding time"
HELLOS_OF_LINKS = "ISO/IEC 10589, 9.5 to 9.7: links of two switches have other hellos than LANs"
SIGNED = "RFC 5304, section 2: a PDU with a wrong digest is discarded"
METRICS = "RFC 5305, section 3: metrics are in link-state PDUs, not in hellos"

UNTIL_BOTH_HAVE_IT = "it resets, and comes up when both ends have the key"
AFTER_HOLDING_TIME = "it goes after the holding time, and comes up when both ends have the key"
