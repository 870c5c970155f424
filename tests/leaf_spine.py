"""Arguments of a packet engine: a network of two leaves and two spines, and writes across it."""

from __future__ import annotations

from typing import Any

import numpy as np

from railweave import _sim
from railweave._sim import ONE_PORT

LEAVES, SPINES, HOSTS = 2, 2, 4
"""Hosts are those of each leaf."""

MESSAGES = [(0, 5, 3_000_000), (1, 5, 1_000_000), (6, 2, 2_000_000), (7, 5, 100_001)]


def network(balance: int = _sim.ECMP) -> dict[str, Any]:
    """leaf-spine:leaves=2,spines=2,hosts=4, as the engine's own shape lays it out."""
    total = LEAVES * HOSTS
    leaf, spine = total, total + LEAVES
    cables = [(host, leaf + host // HOSTS, 400_000, 1_000_000) for host in range(total)]
    cables += [(leaf + one, spine + two, 400_000, 1_000_000) for one in range(LEAVES) for two in range(SPINES)]
    group = np.zeros((LEAVES + SPINES, total), np.uint32)  # group 0: a leaf's spines
    for host in range(total):
        group[host // HOSTS, host] = ONE_PORT | host % HOSTS
        group[LEAVES:, host] = ONE_PORT | host // HOSTS
    return {
        "kinds": np.array([_sim.HOST] * total + [_sim.SWITCH] * (LEAVES + SPINES), np.uint8),
        "cables": np.array(cables, np.uint64),
        "group": group,
        "groups": np.array([(0, SPINES, balance)], np.uint32),
        "members": np.arange(HOSTS, HOSTS + SPINES, dtype=np.uint16),
    }


def traffic(messages: list[tuple[int, int, int]] = MESSAGES) -> dict[str, Any]:
    """A queue pair and a write for each of them."""
    return {
        "queue_pairs": np.array([(src, dst, dst, src) for src, dst, _ in messages], np.uint32),
        "messages": np.array([(qp, one[2], 0, _sim.WRITE) for qp, one in enumerate(messages)], np.uint64),
    }


def arguments(**changed: Any) -> dict[str, Any]:
    return {**network(), **traffic(), **changed}


def flow_file(messages: list[tuple[int, int, int]] = MESSAGES) -> str:
    """The same as a file for ``railweave flows --flows``."""
    return "src,dst,bytes,start_us\n" + "".join(f"h{src},h{dst},{size},0\n" for src, dst, size in messages)
