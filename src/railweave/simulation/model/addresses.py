"""Addresses of NICs, numbered, and which of them a queue pair uses.

Queue pair i of a connection takes the source NIC's address i mod P and the destination's address of the same path color,
as ``routes.paths`` has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.network.model import Network
    from railweave.simulation.model.wiring import Wiring

NONE = -1


@dataclass(frozen=True, eq=False)
class Addresses:
    """All addresses. ``owner`` is the host that has one, ``prefix`` its subnet, as a place in ``Routes.prefixes``.

    ``places`` has a row for each host with the addresses it has, in their order, as numbers (-1: it has no more), and
    ``color`` one for each host with its address of each color.
    """

    text: tuple[str, ...]
    owner: NDArray[np.int64]
    prefix: NDArray[np.int64]
    places: NDArray[np.int64]
    color: NDArray[np.int64]
    color_of: NDArray[np.int64]

    def pairs(self, src: NDArray[np.uint32], dst: NDArray[np.uint32], qp: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Rows of src, dst, to, back, as ``PacketEngine`` takes queue pairs, for queue pair ``qp`` of each connection."""
        counts = (self.places != NONE).sum(axis=1)
        back = self.places[src, qp % counts[src]]
        same = self.color[dst, self.color_of[back]]
        to = np.where(same == NONE, self.places[dst, qp % counts[dst]], same)
        return np.stack([src, dst, to, back], axis=1).astype(np.uint32)


def addresses(network: Network, wiring: Wiring, index: dict[str, int]) -> Addresses:
    """The addresses of every NIC, with dual stack those of the family that jobs use; ``index`` is ``Routes.index``."""
    text: list[str] = []
    rows: list[tuple[int, int, int]] = []
    colors: dict[tuple[str, int | None], int] = {}
    places: list[list[int]] = [[] for _ in wiring.nics]
    for server in network.servers:
        for nic in server.nics:
            host = wiring.node.get(f"{server.name}:{nic.name}")
            if host is None:
                continue
            segment = network.segment_of(server.name, nic)
            subnets = {(subnet.color, subnet.family): subnet.routed_by for subnet in segment.subnets}
            for one in nic.addresses_of(network.hosts.job.address_family):
                places[host].append(len(text))
                text.append(one.address)
                color = colors.setdefault((nic.fabric, one.color), len(colors))
                rows.append((host, index[subnets[one.color, one.family]], color))
    owner, prefix, color_of = np.array(rows, np.int64).reshape(-1, 3).T
    width = max(map(len, places), default=0)
    padded = np.array([row + [NONE] * (width - len(row)) for row in places], np.int64).reshape(len(places), width)
    by_color = np.full((len(places), max(len(colors), 1)), NONE, np.int64)
    by_color[owner[::-1], color_of[::-1]] = np.arange(len(text))[::-1]  # of two of a color, the first
    return Addresses(tuple(text), owner, prefix, padded, by_color, color_of)
