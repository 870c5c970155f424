"""A plain simulation of a program: every NIC sends one message at a time, first ready first, over links without delay."""

from __future__ import annotations

import heapq

import numpy as np

from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.program import Program


def seconds(job: Job, program: Program, *, delay_ps: int = 0) -> float:
    """How long it takes, from the first moment to the tail. ``delay_ps``: of every link, one way."""
    arrivals = arrival_ps(job, program, delay_ps)
    return max(int(arrivals.max(initial=0)) + program.tail_ps, program.floor_ps) / 1e12


def arrival_ps(job: Job, program: Program, delay_ps: int = 0) -> np.ndarray:
    """When each message has arrived. Fails where one never is."""
    rate = np.array([job.servers[s].nics[n].rate_mbps for s, n in job.nics])
    sender = program.connections[program.connection, 0].astype(int)
    cost = (program.bytes.astype(float) * 8e6 / rate[sender]).astype(int)
    waits = np.diff(program.after_start.astype(int))
    left = waits.copy()
    word = program.credit[program.connection]
    ready = np.where(waits == 0, program.delay_ps.astype(np.int64), 0)
    order = np.argsort(program.connection, kind="stable")
    following = np.full(program.messages, -1)
    same = program.connection[order[1:]] == program.connection[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    head = np.r_[True, ~same] if program.messages else np.zeros(0, bool)
    first = np.zeros(program.messages, bool)
    first[order[head]] = True  # at the head of its connection: nothing before it is unsent
    of = {m: [] for m in range(program.messages)}
    for m in range(program.messages):
        for entry in range(int(program.after_start[m]), int(program.after_start[m + 1])):
            of[int(program.after[entry])].append((m, int(program.after_delay_ps[entry])))
    free = np.zeros(len(job.nics), np.int64)
    arrived = np.full(program.messages, -1, np.int64)
    heap = [(int(ready[m]), int(ready[m]), m) for m in np.flatnonzero(first & (left == 0))]
    heapq.heapify(heap)
    while heap:
        at, since, m = heapq.heappop(heap)
        nic = sender[m]
        if word[m]:  # credit messages go between the packets of others
            arrived[m] = at + cost[m] + delay_ps
        elif free[nic] > at:
            heapq.heappush(heap, (int(free[nic]), since, m))
            continue
        else:
            free[nic] = at + cost[m]
            arrived[m] = free[nic] + delay_ps
        for other, delay in of[m]:
            left[other] -= 1
            ready[other] = max(ready[other], arrived[m] + delay)
            if not left[other] and first[other]:
                heapq.heappush(heap, (int(ready[other]), int(ready[other]), other))
        if (after := following[m]) >= 0:
            first[after] = True
            if not left[after]:
                heapq.heappush(heap, (max(int(ready[after]), at), max(int(ready[after]), at), after))
    assert (arrived >= 0).all(), "some messages are never sent"
    return arrived


def check(job: Job, program: Program) -> None:
    """What holds for every program: shapes, waits at the sender's server, no circle."""
    messages, connections = program.messages, program.connections
    assert program.connection.shape == program.bytes.shape == program.delay_ps.shape == (messages,)
    assert program.after_start.shape == (messages + 1,)
    assert program.after_start[-1] == len(program.after) == len(program.after_delay_ps)
    assert program.credit.shape == (len(connections),)
    if not messages:
        return
    server = np.array([s for s, _ in job.nics])
    assert (server[connections[:, 0]] != server[connections[:, 1]]).all()
    waiting = np.repeat(np.arange(messages), np.diff(program.after_start.astype(int)))
    at = server[connections[program.connection[program.after], 1]]
    assert (at == server[connections[program.connection[waiting], 0]]).all()
    if not program.credit.any():
        assert (program.after_delay_ps == program.delay_ps[waiting]).all()
    arrival_ps(job, program)


def sent_by_nic(job: Job, program: Program) -> np.ndarray:
    """Payload that each NIC sends, without credit messages."""
    data = ~program.credit[program.connection]
    sender = program.connections[program.connection, 0]
    return np.bincount(sender[data], program.bytes[data], len(job.nics)).astype(np.int64)


def received_by_nic(job: Job, program: Program) -> np.ndarray:
    """Payload that each NIC receives, without credit messages."""
    data = ~program.credit[program.connection]
    receiver = program.connections[program.connection, 1]
    return np.bincount(receiver[data], program.bytes[data], len(job.nics)).astype(np.int64)
