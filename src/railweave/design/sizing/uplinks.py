"""Which ports of a switch are uplinks, how many upper switches take them, and how path colors share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.topology import Topology

MOST_COLORS = 8
"""Path colors per NIC: with more uplinks a color spans several (16 addresses are Linux's default, the link-local counts)."""

LEAST_COLORS = 4
"""Fewer would leave hashing to share what colors are there to share."""

MOST_LINKS = 64
"""Most parallel links between two switches (``links_per_spine``)."""


def colors_of(uplinks: int) -> int:
    """Path colors per NIC for so many uplinks of a leaf: one each up to eight, else the most that divide them equally."""
    return next((count for count in range(min(uplinks, MOST_COLORS), 0, -1) if uplinks % count == 0), 1)


def shared(uplinks: int) -> bool:
    """Whether path colors share so many uplinks equally, and are not too few."""
    return colors_of(uplinks) >= min(uplinks, LEAST_COLORS)


def spread(need: int, most: int, links: int, *, colored: bool = True) -> tuple[int, int]:
    """The fewest upper switches, and the fewest links to each, that carry ``need`` links of a lower switch.

    It has ports for at most ``most`` links, an upper switch for at most ``links`` of them. There are at least two upper
    switches, so that one may fail, and ``colored`` uplinks are so many as path colors share equally. Raises
    ``ValueError`` where there is no such number, which cannot be where ``most`` is one.
    """
    links = min(links, MOST_LINKS)
    for count in range(max(-(-need // links), min(2, most)), most + 1):
        for each in range(max(1, -(-need // count)), min(links, most // count) + 1):
            if not colored or shared(count * each):
                return count, each
    raise ValueError(f"{need} links of at most {most}, {links} to a switch")


def default_server_first(model: SwitchModel, topology: Topology) -> int:
    """Where server ports begin by default: uplinks take the first ports, in the proportion asked for."""
    group = model.ports[0]
    if topology.spine_names() == []:
        across = topology.interconnect  # the first ports lead to other sites
        return group.first + ((len(across.sites) - 1) * across.links if across else 0)
    return group.first + round(group.count / (1 + topology.oversubscription))
