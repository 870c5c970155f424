"""FRR configuration as text, and the names of lists, route-maps and tables in it.

Each level of sections is indented by one space, and sections end with the same words as in FRR's own output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, printed

if TYPE_CHECKING:
    from collections.abc import Iterable


BFD_PROFILE = "fabric"
OVERLAY_GROUP = "overlay"
OVERLAY_BFD_PROFILE = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The name of the community list for the community that spines add to EVPN routes."""
TO_NEIGHBORS = "evpn-to-neighbors"
"""The name of the route-map for EVPN routes that are sent to neighbors."""
PROTECTION_TABLE = "railweave"
"""The name of the nftables table with the rules for packets to the host itself."""

_CLOSERS = {"address-family": "exit-address-family", "vni": "exit-vni"}


def closer(word: str) -> str:
    """Return the line that ends a section, for example ``exit-vni`` for ``vni``. ``word`` is the first word of the section's header."""
    return _CLOSERS.get(word, "exit")


def to_text(sections: Iterable[Section]) -> str:
    """Return sections as the text of a file. Top-level sections are separated by ``!``."""
    return "\n".join(printed(sections, closer)) + "\n"
