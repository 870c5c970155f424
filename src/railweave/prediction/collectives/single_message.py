"""Collectives of very large jobs, with one message for all the bytes of a connection, for the flow engine.

A ring over 32,768 ranks sends 65,534 chunks on each of its connections. So many messages do not fit in memory. Therefore, there are no
chunks that wait for each other, and a time is added in place of these waits:

- In a ring, all servers advance step by step at the same pace. The time of the collective is the time of its bytes or
  the time of its steps, whichever is longer (``Program.floor_ps``).
- In a tree, chunks follow one another up and down. The time of one chunk's path is therefore added
  (``Program.tail_ps``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.channels import Collective, Pace, channel_count, ring_hops
from railweave.prediction.collectives.collective import RINGS, loads
from railweave.prediction.collectives.program import Program, cut
from railweave.prediction.collectives.queue_pairs import parts_of
from railweave.prediction.collectives.tree import (
    TREES,
    chunk_bytes,
    inside_ps,
    latency_us,
    step_ps,
    streams,
)
from railweave.prediction.collectives.tuning import Choice, choose

if TYPE_CHECKING:
    from railweave.prediction.collectives.job import Job
    from railweave.prediction.collectives.nccl import Parameters


def messages(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> int:
    """Return about how many messages on queue pairs the function ``program`` would make with credit messages (reports of free buffers).

    A data message uses all queue pairs of its connection, and a credit message uses one. There is one credit message for each data message,
    except for the first data messages, which fill the receive buffer. The result is 0 with one server, and for collectives not in
    ``RINGS``. ``nccl`` has NCCL's parameters.
    """
    if len(job.servers) == 1 or collective not in RINGS:
        return 0
    choice = choose(job, nccl, collective, size_bytes, channel_count(job, nccl))
    how = cut(nccl, choice.protocol, ring=choice.algorithm == "Ring")
    if choice.algorithm == "PAT":
        loops = max(1, -(-size_bytes // (job.ranks * choice.channels * how.chunk)))
        connections, each = choice.channels * job.ranks, loops * (job.ranks - 1)
    elif choice.algorithm == "Ring":
        connections = choice.channels * len(job.servers)
        each = ring_loops(job, size_bytes, choice, how.chunk) * ring_steps(job, collective) * how.slices
    else:
        trees = len(streams(job, choice)[0])
        connections = trees * 2 * (len(job.servers) - 1)
        each = -(-size_bytes // (trees * chunk_bytes(job, choice, how.chunk, -(-size_bytes // trees))))
    over = parts_of(
        nccl["NCCL_IB_QPS_PER_CONNECTION"], split_data=bool(nccl["NCCL_IB_SPLIT_DATA_ON_QPS"]), ports=job.ports
    )
    return connections * (each * over + max(0, each - how.window))


def single_message_program(job: Job, collective: Collective, size_bytes: int, nccl: Parameters) -> Program:
    """Return the messages of an all-reduce, all-gather or reduce-scatter, with one message per connection.

    ``nccl`` has NCCL's parameters. Raises the errors of ``program``.
    """
    load = loads(job, collective, size_bytes, nccl)
    choice = load.choice
    pace = Pace.of(job, choice)
    count = len(load.bytes)
    tree = choice.algorithm in TREES
    chain = ring_ps(job, nccl, collective, size_bytes, choice) if choice.algorithm == "Ring" else 0
    if choice.algorithm == "PAT":
        chain = round(latency_us(len(job.servers), choice.network_hop_ps / 1e6) * 1e6)
    return Program(
        connections=load.connections,
        credit=np.zeros(count, np.bool_),
        connection=np.arange(count, dtype=np.uint32),
        bytes=load.bytes,
        delay_ps=np.full(count, choice.launch_ps, np.uint64),
        after_start=np.zeros(count + 1, np.uint64),
        after=np.zeros(0, np.uint32),
        after_delay_ps=np.zeros(0, np.uint64),
        tail_ps=_tree_ps(job, nccl, choice) if tree else pace.network_hop_ps,
        floor_ps=max(load.floor_ps, choice.launch_ps + chain),
        size_bytes=size_bytes,
        bus_factor=load.bus_factor,
        algorithm=choice.algorithm,
        protocol=choice.protocol,
        channels=choice.channels,
    )


def ring_steps(job: Job, collective: Collective) -> int:
    """Return the number of steps that one loop of a ring takes, from each rank to the next."""
    return (job.ranks - 1) * (2 if collective == "all-reduce" else 1)


def ring_loops(job: Job, size_bytes: int, choice: Choice, chunk: int) -> int:
    """Return the number of loops in which a ring processes ``size_bytes``. In each loop, every rank contributes one chunk per channel.

    ``choice`` has the algorithm, protocol and number of channels. ``chunk`` is the size of a chunk in bytes.
    """
    share = -(-size_bytes // choice.channels)
    return max(1, -(-share // (job.ranks * chunk)))


def ring_ps(job: Job, nccl: Parameters, collective: Collective, size_bytes: int, choice: Choice) -> int:
    """Return the time in ps of a ring's steps if no link is ever full.

    ``nccl`` has NCCL's parameters, and ``choice`` the algorithm, protocol and channels of the collective. In each step, a server waits for
    the data that it receives.
    """
    how, pace = cut(nccl, choice.protocol, ring=True), Pace.of(job, choice)
    loops = ring_loops(job, size_bytes, choice, how.chunk)
    chunk = min(how.chunk, -(-size_bytes // (choice.channels * job.ranks * loops)))
    piece = max(-(-chunk // how.slices), min(chunk, how.least_slice))
    turns = -(-ring_steps(job, collective) // job.gpus_per_server)
    inside = pace.hops(ring_hops(job, nccl), piece)
    return loops * turns * (pace.crossing(piece) + inside + wire_ps(job, piece))


def _tree_ps(job: Job, nccl: Parameters, choice: Choice) -> int:
    """Return the time in ps that a chunk takes up and down a tree of servers, including the GPUs of the servers at both ends.

    ``nccl`` has NCCL's parameters, and ``choice`` has the algorithm, protocol and channels.
    """
    chunk, pace = cut(nccl, choice.protocol, ring=False).chunk, Pace.of(job, choice)
    levels = len(job.servers).bit_length() - 1
    chunks = np.array([chunk])
    level = int(step_ps(choice, pace, chunks)[0]) + wire_ps(job, chunk)
    return 2 * levels * level + 2 * int(inside_ps(job, choice, pace, chunks)[0])


def wire_ps(job: Job, size_bytes: int) -> int:
    """Return the time in ps that a NIC needs to send ``size_bytes`` bytes at line rate."""
    return size_bytes * 8_000_000 // job.servers[0].nics[0].rate_mbps
