"""Thresholds: ECN before PFC and the reverse; PFC before drop and the reverse."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .engine import run

SENDERS = 8
BYTES = 32_000_000
FULL = 4096 + 62 + 20  # what a full packet takes on the wire
PAUSE = 84  # a PFC frame, with preamble and gap
LIGHT = 0.66 * 299_792_458  # in a fiber, m/s


@dataclass(frozen=True)
class Outcome:
    """What a run with this first threshold of marking gave."""

    k_min: int  # bytes
    marked: int
    pauses: int
    dropped: int
    goodput: float  # Gb/s


def sweep(pool: int, thresholds: list[int]) -> list[Outcome]:
    """An incast of eight 400G hosts into one, with marking from each threshold on (to four times it, 20 %).

    The egress queue may hold what eight ingress ports may before they are paused and more, so that only the order of
    marking and pausing is at stake.
    """
    outcomes = []
    for k_min in thresholds:
        settings = {
            "switch.ingress-pool-lossless": pool,
            "ecn": f"{k_min}B..{4 * k_min}B@20%",
        }
        topology = f"star:hosts={SENDERS + 1},speed=400G,delay=1us"
        ran = run(topology, f"incast:degree={SENDERS},bytes={BYTES}", settings)
        goodput = SENDERS * BYTES * 8 / (float(str(ran.result["time_us"])) * 1e3)
        outcomes.append(
            Outcome(
                k_min,
                ran.count("ecn_marked_packets"),
                ran.count("pfc_pauses"),
                ran.count("dropped_packets"),
                goodput,
            )
        )
    return outcomes


def pause_queue(pool: int) -> float:
    """What the queue holds when eight ingress ports meet their share (alpha 1, 4 KiB reserved each), bytes.

    Each may take what is free: x = pool - 8 x.
    """
    return SENDERS * (pool / (SENDERS + 1) + 4096)


def headroom(length: float, rate: float, *, response: float = 0.0) -> int:
    """What headroom has to take: the wire twice, a packet at each end, the pause itself, and the peer's response.

    A third packet is the one that meets XOFF: the engine takes it into headroom whole. ``length`` in m, ``rate`` in
    bit/s, ``response`` in s (the engine's hosts and switches have none).
    """
    return round((2 * length / LIGHT + response) * rate / 8) + 3 * FULL + PAUSE


def drops(length: int, gigabits: int, room: int, seed: int) -> int:
    """Packets dropped of an incast at this headroom, in the worst case that the engine knows.

    Sixteen hosts send to one, so that hardly anything leaves the buffer while a pause is under way; each also receives
    at line rate, so that a pause waits for a packet that has just begun.
    """
    draw = random.Random(seed)  # noqa: S311 -- traffic, no secret
    senders = 16
    size = 600_000
    incast = [(f"h{place}", "to", size, draw.randrange(0, 1_000_000) / 1e6) for place in range(senders)]
    back = [(f"r{place}", f"h{place}", size * senders, draw.randrange(0, 1_000_000) / 1e6) for place in range(senders)]
    lines = [f"default link speed={gigabits}G length={length}m", "switch switch"]
    lines += [f"host {name}\nlink {name} switch" for name in ["to", *(flow[0] for flow in incast + back)]]
    settings = {
        "switch.ingress-pool-lossless": 1_000_000,
        "switch.egress-pool-lossless": 1_000_000_000,
        "switch.headroom": room,
        "ecn": "off",
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "star.txt"
        file.write_text("\n".join(lines) + "\n")
        return run(str(file), incast + back, settings, "--cc", "none").count("dropped_packets")


def least(length: int, gigabits: int, seeds: range) -> int:
    """The least headroom (to 50 bytes) with which nothing is dropped."""
    low, high = 0, 2 * headroom(length, gigabits * 1e9)
    while high - low > 50:
        middle = (low + high) // 2
        if any(drops(length, gigabits, middle, seed) for seed in seeds):
            low = middle
        else:
            high = middle
    return high
