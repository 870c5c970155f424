"""Whatever stands in a text, it is read: nothing is raised but ``RenderError``, and what is read is a configuration.

``python -m tests.systems.eos.test_read_anything 1000000`` reads a million texts; a number behind it is the seed.
"""

from __future__ import annotations

import random
import sys
import time

from railweave.errors import RenderError
from railweave.model.device.config_file import from_document, to_document
from railweave.systems import system
from railweave.systems.eos import read as eos
from tests.outputs.rendering.eos.networks import config
from tests.systems.eos.texts import GENERATED_LEAF, SHOWN_SPINE

SYSTEM = system("eos")

LARGEST = 4096
SLOWEST = 2.0
"""Seconds of the processor that a text of this size may take."""

WORDS = ("0", "-1", "99999999999999999999", "a" * 300, "10.0.0.1/33", "::/0", "fe80::1%eth0", "1-4094", "4094-1", "1/0", "٣",
         "secret", "no", "default", "<secret:x>", "neighbor", "\x00", "é", "$", "65000.1", "1,2,,3", "Ethernet1-9999", "/")  # fmt: skip


def _pool() -> list[str]:
    own = [
        SYSTEM.files(config(name, device))["eos.conf"]
        for name, device in (("h100-rlb", "stripe1-leaf1"), ("evpn-functional", "leaf1"), ("dci-50km", "ptx-east"))
    ]
    return [line for one in (*own, GENERATED_LEAF, SHOWN_SPINE) for line in one.split("\n")]


def text(rng: random.Random, pool: list[str]) -> str:
    """Some lines of configurations, with words, order and indentation changed."""
    start = rng.randrange(len(pool))
    lines = pool[start : start + rng.randrange(1, 60)] + rng.sample(pool, rng.randrange(1, 30))
    if rng.random() < 0.3:
        rng.shuffle(lines)
    for _ in range(rng.randrange(12)):
        at = rng.randrange(len(lines))
        words = lines[at].split(" ")
        words[rng.randrange(len(words))] = rng.choice(WORDS)
        lines[at] = " ".join(words) if rng.random() < 0.8 else " " * rng.randrange(9) + lines[at].strip()
    found = "\n".join(lines)[:LARGEST]
    if rng.random() < 0.05:
        found = rng.choice('{["') + found
    if rng.random() < 0.02:
        found = '{"cmds": ' * rng.randrange(1, 400) + found[: rng.randrange(40)]
    return found


def read(found: str) -> None:
    try:
        tree = eos.parsed("eos.conf", found)
    except RenderError as broken:
        if not broken.line:
            raise
        return
    reading = eos.read({"eos.conf": found})
    assert from_document(to_document(reading.config)) == reading.config
    eos.parsed("eos.conf", eos.printed("eos.conf", tree.nodes))


def check(total: int, seed: int, seconds: float) -> int:
    """Read texts until there are so many of them, or the time is over; how many there were."""
    rng, pool = random.Random(seed), _pool()  # noqa: S311 - for tests
    begun = time.monotonic()
    for number in range(total):
        found = text(rng, pool)
        now, spent = time.monotonic(), time.process_time()
        if now - begun > seconds:
            return number
        read(found)
        assert time.process_time() - spent < SLOWEST, found
    return total


def test_texts_of_all_kinds_are_read() -> None:
    assert check(500, 22, seconds=3) > 20


if __name__ == "__main__":
    print(check(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, seconds=float("inf")))
