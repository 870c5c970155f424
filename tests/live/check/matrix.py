"""How many faults ``railweave check`` finds, drawn by a seeded die on what switches of every system answer.

``python -m tests.live.check.matrix [FAULTS [SEED]]`` draws so many for each system (600), and writes the table of docs/check.md.
Each fault changes what one device says; it is written as that system answers, read as any answer, and checked with the
whole network. It is found where a network without faults has no finding and this one has; it is named right where the first
finding has the rule, the device and the port of the fault.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from railweave.analysis.checks.subject import Subject
from railweave.analysis.expect import Expected, expected
from railweave.live.check import NetworkStates, diagnose
from railweave.model.state.device_state import DeviceState
from railweave.systems.reading import read_state
from tests.conftest import example
from tests.live.check.faults import KINDS
from tests.live.check.perfect import perfect
from tests.retarget import LONG_HAUL, retargeted

SYSTEMS = ("junos", "eos", "sonic", "dell_sonic", "frr")
NETWORKS = ("h100-rlb", "evpn-gpu-isolation", "evpn-functional")
WITHOUT_LONG_HAUL = {"eos", "dell_sonic"}
"""Systems that no model like the routers of the long-haul example has."""
PAGE = Path(__file__).parents[3] / "docs" / "check.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


@dataclass
class Row:
    """What came of the faults of one system. ``mute`` are kinds that its answers cannot show, by a form that is public."""

    drawn: int = 0
    found: int = 0
    named: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    mute: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)


@cache
def wanted(name: str, nos: str) -> tuple[Subject, dict[str, Expected], dict[str, DeviceState]]:
    """A network on one system, what must hold on it, and what its devices are like where it does."""
    subject = Subject.of(example(name) if nos == "junos" else retargeted(name, nos))
    made = {one: expected(subject.network, config, subject.routes) for one, config in subject.configs.items()}
    return subject, made, {device: perfect(one) for device, one in made.items()}


def answers(nos: str, state: DeviceState) -> dict[str, str]:
    """What a device answers that is in a state."""
    return importlib.import_module(f"tests.live.check.said.{nos}").answers(state)


@cache
def clean(name: str, nos: str) -> NetworkStates:
    """The network as its readers see it where everything is as designed."""
    subject, made, states = wanted(name, nos)
    read = {device: read_state(device, nos, answers(nos, one)) for device, one in states.items()}
    notes = [note for one in read.values() for note in one.notes]
    assert notes == [], notes[:3]
    return NetworkStates(subject.network, made, read)


def run(nos: str, count: int, seed: int) -> Row:
    """Draw faults of every kind in turn until there are so many."""
    dice, row = random.Random(seed), Row()  # noqa: S311 - repeatable
    kinds = list(KINDS)
    for turn in range(count * 20):
        if row.drawn >= count:
            break
        name = kinds[turn % len(kinds)]
        networks = NETWORKS if nos in WITHOUT_LONG_HAUL else (*NETWORKS, LONG_HAUL)
        _try(nos, networks[(turn // len(kinds)) % len(networks)], name, dice, row)
    row.mute -= row.seen
    return row


def _try(nos: str, network: str, kind: str, dice: random.Random, row: Row) -> None:
    subject, made, states = wanted(network, nos)
    fault = KINDS[kind](dice, NetworkStates(subject.network, made, states))
    if fault is None:
        return
    before = clean(network, nos)
    texts = {device: answers(nos, one) for device, one in fault.states.items()}
    if all(text == answers(nos, states[device]) for device, text in texts.items()):
        row.mute.add(kind)
        return
    row.seen.add(kind)
    row.drawn += 1
    now = before.states | {device: read_state(device, nos, text) for device, text in texts.items()}
    found = diagnose(replace(before, states=now, before=before.states if fault.counted else {}))
    if not found:
        row.missed[kind] += 1
        return
    row.found += 1
    first = found[0]
    device, _, port = first.where.partition(" ")
    if first.id in fault.rules and _same(device, port.split(" and "), fault.device, fault.port, fault.states):
        row.named += 1
    else:
        row.wrong[f"{kind}: {first.id} at {first.where}, not {fault.device} {fault.port}"] += 1


def _same(device: str, ports: list[str], wanted_device: str, port: str, states: dict[str, DeviceState]) -> bool:
    """Two swapped cables are named from the one end or from the other, where both lead to the same device."""
    if device == wanted_device:
        return not port or port in ports
    return device in states and len(states) == 2


def table(rows: dict[str, Row]) -> str:
    """The rows as a page has them."""
    lines = [
        "| system | kinds of fault | drawn | found | named with the right device and port | kinds that no public form of its answers shows |",
        "|---|---|---|---|---|---|",
    ]
    for nos, row in rows.items():
        mute = ", ".join(f"`{one}`" for one in KINDS if one in row.mute)
        share = [f"{count} ({100 * count / row.drawn:.1f} %)" for count in (row.found, row.named)]
        lines.append(f"| `{nos}` | {len(row.seen)} | {row.drawn} | {share[0]} | {share[1]} | {mute} |")
    return "\n".join(lines)


def main() -> None:
    count, seed = (int(sys.argv[1]) if len(sys.argv) > 1 else 600), (int(sys.argv[2]) if len(sys.argv) > 2 else 25)
    rows = {nos: run(nos, count, seed) for nos in SYSTEMS}
    for nos, row in rows.items():
        for what in (row.missed, row.wrong):
            for name, times in what.most_common():
                print(f"{nos}: {'missed' if what is row.missed else 'misnamed'} {times} x {name}")
    print(table(rows))
    text = PAGE.read_text()
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n\n{table(rows)}\n\n{END}{tail}")


if __name__ == "__main__":
    main()
