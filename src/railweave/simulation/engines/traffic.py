"""A collective's messages as an engine takes them: queue pairs of NICs, and what each carries and waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import WRITE, WRITE_WITH_IMMEDIATE
from railweave.collectives.queue_pairs import waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.collectives.program import Program
    from railweave.collectives.queue_pairs import Split
    from railweave.simulation.model.addresses import Addresses


@dataclass(frozen=True, eq=False)
class Traffic:
    """Arrays as the engines have them (``_sim.pyi``), with addresses as ``simulate.addresses`` counts them.

    ``data`` says which queue pairs carry data; the others carry receivers' credit messages. Where ``after_of`` is None, message
    m waits for list m.
    """

    pairs: NDArray[np.uint32]
    messages: NDArray[np.uint64]
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    after_delay_ps: NDArray[np.uint64]
    data: NDArray[np.bool_]
    after_of: NDArray[np.uint32] | None = None
    limits: NDArray[np.uint32] | None = None


def traffic_of(
    addresses: Addresses, hosts: NDArray[np.uint32], program: Program, parts: Split, *, alone: bool = False
) -> Traffic:
    """The traffic of a program that is split over queue pairs. ``hosts``: the engine's host of each NIC of the job.

    ``alone``: nothing waits, for those who find out themselves what does.
    """
    many = int(parts.queue_pair.max(initial=0)) + 1
    wanted, place = np.unique(parts.connection.astype(np.int64) * many + parts.queue_pair, return_inverse=True)
    ends = hosts[program.connections[wanted // many, :2]]
    pairs = addresses.pairs(ends[:, 0], ends[:, 1], (wanted % many).astype(np.uint32))
    none = np.zeros(0, np.uint64)
    nothing = np.zeros(program.messages + 1, np.uint64), none.astype(np.uint32), none
    after_start, after, after_delay = nothing if alone else waits(program, parts)
    free = (np.diff(program.after_start.astype(np.int64)) == 0)[parts.message]
    messages = np.zeros((len(parts.message), 4), np.uint64)
    messages[:, 0] = place.reshape(-1)
    messages[:, 1] = parts.bytes
    messages[:, 2] = np.where(free, program.delay_ps[parts.message], 0)
    data = ~program.credit[wanted // many]
    messages[:, 3] = np.where(data[place.reshape(-1)], WRITE_WITH_IMMEDIATE, WRITE)
    return Traffic(pairs, messages, after_start, after, after_delay, data, parts.message)
