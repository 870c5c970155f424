"""Answers that no device gives, for every reader: none may raise. ``python -m tests.model.state.fuzz 1000000`` tries so many.

Texts are taken apart and put together again: bytes changed, pieces repeated or cut out, values of JSON swapped for others.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from typing import Any

from railweave.analysis.expect.hosts import expected_host
from railweave.model.state.host_state import read_host
from railweave.systems import systems
from railweave.systems.reading import read_state
from tests.conftest import example
from tests.live.check.said.host import answer

_ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1 << 70,
    1e400,
    float("nan"),
    "",
    "-Inf",
    "N/A",
    "%",
    ":",
    "\x00",
    "٣",
    [],
    {},
    [[]],
    [None],
    [{}],
]
_ODD += [{"data": []}, {"attributes": 3}, {"": {}}, ["x", "y"], "9" * 5000, "a" * 4000, "fe80::1%Et1+9", "RD: x"]
_PIECES = [
    "<",
    ">",
    "</",
    "{",
    "}",
    "[",
    "]",
    '"',
    ":",
    ",",
    "\\",
    "&",
    "<!DOCTYPE x>",
    "]]>",
    "\ud800",
    "\0",
    "\n",
    "9" * 400,
]
MOST = 4096


def _swap(value: Any, dice: random.Random, chance: float) -> Any:
    if dice.random() < chance:
        return dice.choice(_ODD)
    if isinstance(value, dict):
        found = {key: _swap(one, dice, chance) for key, one in value.items()}
        if found and dice.random() < chance:
            found[str(dice.choice(_ODD))] = found.pop(dice.choice(list(found)))
        return found
    return [_swap(one, dice, chance) for one in value] if isinstance(value, list) else value


def mutated(text: str, dice: random.Random) -> str:
    """One answer made odd."""
    if text[:1] in "{[" and dice.random() < 0.6:
        return json.dumps(_swap(json.loads(text), dice, dice.choice((0.02, 0.1, 0.4))))
    at = dice.randrange(max(1, len(text) - MOST)) if len(text) > MOST and dice.random() < 0.3 else 0
    text = text[at : at + MOST]
    for _ in range(dice.choice((1, 1, 2, 5, 20))):
        if not text:
            break
        begin = dice.randrange(len(text))
        end = min(len(text), begin + dice.choice((0, 1, 3, 30, 300)))
        middle = dice.choice(("", dice.choice(_PIECES), text[begin:end] * 2, str(dice.choice(_ODD))[:300]))
        text = text[:begin] + middle + text[end:]
    return text[: 2 * MOST]


def run(count: int, seed: int) -> None:
    """Read so many odd answers, each once, beside the others of its device as they should be. Raises what a reader raises."""
    dice = random.Random(seed)  # noqa: S311 - repeatable
    network = example("h100-rlb")
    samples = {"server": {"host": answer(expected_host(network, network.servers[0].name))}}
    samples |= {nos: importlib.import_module(f"tests.model.state.samples.{nos}").ANSWERS for nos in systems()}
    for _ in range(count):
        nos = dice.choice(list(samples))
        names = dice.sample(list(samples[nos]), k=min(len(samples[nos]), dice.choice((1, 2, 3))))
        texts = {
            name: mutated(samples[nos][dice.choice((name, name, dice.choice(list(samples[nos]))))], dice)
            for name in names
        }
        try:
            found = read_host("leaf1", texts) if nos == "server" else read_state("leaf1", nos, texts)
            hash(found.notes)
        except Exception:
            print(nos, json.dumps(texts), file=sys.stderr)
            raise


if __name__ == "__main__":
    wanted, seed, begun = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, time.monotonic()
    run(wanted, seed)
    print(f"{wanted} odd answers read in {time.monotonic() - begun:.0f} s")
