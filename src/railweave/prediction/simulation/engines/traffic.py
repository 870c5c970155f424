"""The messages of a collective in the engines' form: queue pairs of NICs, with the messages of each and the messages they wait for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import WRITE, WRITE_WITH_IMMEDIATE
from railweave.prediction.collectives.queue_pairs import ALIGN, Split, waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.program import Program
    from railweave.prediction.simulation.model.addresses import Addresses, Way


@dataclass(frozen=True, eq=False)
class Traffic:
    """The messages of a run, as arrays in the engines' form (``_sim.pyi``). Addresses are numbered as in ``model.addresses``.

    - ``pairs``: for each queue pair, a row of source host, destination host, address of its data and address of its acknowledgements.
    - ``messages``: rows of queue pair, bytes, delay in ps and RDMA verb.
    - ``data``: for each queue pair, True if it carries data, and False if it carries a receiver's reports of free buffers (credit).
    - ``after_of``: for each message, the index of the list in ``after`` with the messages that it waits for. None means that message m
      waits for list m.
    - ``limits``: for each queue pair, a row of the payload of a full packet and the highest rate in Mb/s; 0 means the default. None means
      no limits.
    """

    pairs: NDArray[np.uint32]
    messages: NDArray[np.uint64]
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    after_delay_ps: NDArray[np.uint64]
    data: NDArray[np.bool_]
    after_of: NDArray[np.uint32] | None = None
    limits: NDArray[np.uint32] | None = None


def at_once(pairs: NDArray[np.uint32], carried: NDArray[np.float64] | int) -> Traffic:
    """Return traffic with one message on each queue pair. The messages do not wait for each other.

    ``carried`` has the bytes of each message, or one number for all.
    """
    messages = np.zeros((len(pairs), 4), np.uint64)
    messages[:, 0] = np.arange(len(pairs))
    messages[:, 1] = carried
    none = np.zeros(0, np.uint64)
    return Traffic(
        pairs,
        messages,
        np.zeros(2, np.uint64),
        none.astype(np.uint32),
        none,
        np.ones(len(pairs), np.bool_),
        np.zeros(len(pairs), np.uint32),
    )


def traffic_of(
    addresses: Addresses,
    hosts: NDArray[np.uint32],
    program: Program,
    parts: Split,
    *,
    alone: bool = False,
    ports: int = 1,
    way: Way | None = None,
    apart_ps: int = 0,
) -> Traffic:
    """Return the traffic of a program (the messages of a collective) that is split over queue pairs.

    - ``hosts``: for each NIC of the job, the number of the engine's host.
    - ``alone``: True to leave out all waits, for callers that compute them separately.
    - ``ports``: the number of ports of each NIC.
    - ``way``: a function that returns the usable ports (``Addresses.lanes``). The usable ports share the bytes equally.
    - ``apart_ps``: the shortest time after which a port of a NIC can react to an arrival at another port. The engines need it because they
      have a separate host for each port.

    ``parts`` has the messages as split over queue pairs.
    """
    many = int(parts.queue_pair.max(initial=0)) + 1
    wanted, place = np.unique(parts.connection.astype(np.int64) * many + parts.queue_pair, return_inverse=True)
    ends = hosts[program.connections[wanted // many, :2]]
    turn = (wanted % many).astype(np.uint32)
    carried = parts.bytes
    if ports == 1:
        pairs = addresses.pairs(ends[:, 0], ends[:, 1], turn)
    else:
        lanes = addresses.lanes(ends[:, 0], ends[:, 1], way)
        pairs = addresses.merged(ends[:, 0], ends[:, 1], turn, ports, lanes)
        carried = _shared(program, parts, ports, lanes[1][place.reshape(-1)])
    none = np.zeros(0, np.uint64)
    nothing = np.zeros(program.messages + 1, np.uint64), none.astype(np.uint32), none
    after_start, after, after_delay = nothing if alone else waits(program, parts)
    after_delay = np.maximum(after_delay, np.uint64(apart_ps))
    free = (np.diff(program.after_start.astype(np.int64)) == 0)[parts.message]
    messages = np.zeros((len(parts.message), 4), np.uint64)
    messages[:, 0] = place.reshape(-1)
    messages[:, 1] = carried
    messages[:, 2] = np.where(free, program.delay_ps[parts.message], 0)
    data = ~program.credit[wanted // many]
    messages[:, 3] = np.where(data[place.reshape(-1)], WRITE_WITH_IMMEDIATE, WRITE)
    return Traffic(pairs, messages, after_start, after, after_delay, data, parts.message)


def _shared(program: Program, parts: Split, ports: int, alive: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the bytes of each part of a message if only some ports of a NIC are usable. Parts on unusable ports get 0 bytes.

    ``ports`` is the number of ports of a NIC. ``alive`` has, for each part, the number of usable ports. ``program`` has the messages of the
    collective.
    """
    if (alive == ports).all():
        return parts.bytes
    message = parts.message.astype(np.int64)
    first = parts.first.astype(np.int64)
    over = np.diff(first)[message]
    turn, lane = np.divmod(np.arange(len(message)) - first[message], ports)
    left = np.maximum(over * alive // ports, 1)
    sizes = program.bytes.astype(np.int64)[message]
    share = -(-sizes // left)
    share = -(-share // ALIGN) * ALIGN
    parted = np.where(lane < alive, np.clip(sizes - (turn * alive + lane) * share, 0, share), 0)
    return np.where(over > 1, parted, parts.bytes.astype(np.int64)).astype(np.uint64)
