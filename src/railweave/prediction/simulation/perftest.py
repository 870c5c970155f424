"""perftest's ``ib_write_bw`` between two NICs of a designed network, packet by packet.

No library is above it: a NIC takes the messages that the program has posted, one after another over its queue pairs, and
what it can take a second is a figure of the NIC (``nics.yaml`` of its vendor). Left out: ``--tx-depth``, which with 128
messages a queue pair does not bind inside a building, and the time before the first and after the last completion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import WRITE, PacketEngine

if TYPE_CHECKING:
    from railweave.prediction.simulation.model.fabric import PacketFabric

FEWEST, MOST = 4, 1_000
"""Messages of a queue pair."""
BYTES = 8 << 20
"""Of a queue pair, between these: enough that what the first and last message wait does not count."""


def write_bandwidth_gbps(
    fabric: PacketFabric,
    src: str,
    dst: str,
    size_bytes: int,
    *,
    qps: int,
    post_cost_ps: int,
    both_ways: bool = False,
    places: tuple[int, int] | None = None,
) -> float:
    """Payload in 10^9 bit/s, both directions together where they are (``-b``), as perftest prints the average.

    ``src`` and ``dst`` are ``SERVER:NIC``; ``post_cost_ps`` is what a NIC takes for a message. ``places``: all queue pairs go
    between the addresses in these places of the two NICs, as between the GIDs that perftest is given; None: between addresses of
    each path color in turn. Raises ``InputError`` for an unknown NIC.
    """
    ends = [(src, dst), (dst, src)] if both_ways else [(src, dst)]
    # Queue pair i of a connection goes from its source's address i mod P.
    numbers = [range(qps)] * 2 if places is None else [[place] * qps for place in places]
    pairs = fabric.queue_pairs([(*end, qp) for end, own in zip(ends, numbers, strict=False) for qp in own])
    each = min(max(BYTES // size_bytes, FEWEST), MOST)
    number = each * len(pairs)
    messages = np.zeros((number, 4), np.uint64)
    messages[:, 0] = np.tile(np.arange(len(pairs)), each)  # the program posts to its queue pairs in turn
    messages[:, 1] = size_bytes
    messages[:, 3] = WRITE
    arguments = fabric.arguments(pairs)
    arguments["parameters"] = arguments["parameters"] | {"host.post-cost": f"{post_cost_ps}ps"}
    engine = PacketEngine(**arguments, messages=messages)
    engine.run(10**13)
    return number * size_bytes * 8e3 / int(engine.arrivals().max())
