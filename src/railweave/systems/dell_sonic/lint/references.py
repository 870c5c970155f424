"""Rules that a name must be defined if a command uses it, and rules about numbers that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, has, select
from railweave.model.findings.registry import check
from railweave.systems.dell_sonic.statements import TABLES
from railweave.systems.statement_tables import References, undefined

if TYPE_CHECKING:
    from collections.abc import Iterator


REFERENCES: References = {
    **{
        kind: (((f"qos map {kind} <name>",),), (("interface **", f"qos-map {kind} <name>"),))
        for kind in ("dot1p-tc", "tc-dscp", "tc-dot1p", "pfc-priority-pg")
    },
    "profile": ((("buffer profile <name> **",),), (("interface **", "buffer queue * <name>"),)),
}
"""Patterns of lines that define a name, and of lines that use it, by kind of name. They are not in the statement tables."""


@check(
    "dell-reference",
    why="a reference to something undefined is rejected, or has no effect",
    fix="define the name first, or use a defined name",
)
def references(root: list[Section]) -> Iterator[str]:
    """Every name that a command uses is defined."""
    yield from (f"{name.path}: there is no {name.kind} {name.name}" for name in undefined(root, TABLES, REFERENCES))


@check(
    "dell-dscp",
    why="the switch rejects the map, or puts packets into the wrong class",
    fix="list each DSCP from 0 to 63 once",
)
def code_points(root: list[Section]) -> Iterator[str]:
    """A DSCP map contains only code points 0 to 63, and puts each one into only one traffic class."""
    for mapping in select(root, "qos map dscp-tc *"):
        owners: dict[int, str] = {}
        for line in select(mapping.below, "dscp <values> traffic-class <class>"):
            for dscp in spread(line["values"]):
                if dscp > 63:
                    yield f"{mapping.line}: there is no DSCP {dscp}"
                elif owners.setdefault(dscp, line["class"]) != line["class"]:
                    yield f"{mapping.line}: DSCP {dscp} is in traffic classes {owners[dscp]} and {line['class']}"


@check(
    "dell-scheduler",
    why="the queue gets more or less bandwidth than intended",
    fix="use dwrr with a weight, or strict without a weight; the sum of the weights must not exceed 100",
)
def schedulers(root: list[Section]) -> Iterator[str]:
    """A queue with a bandwidth share has a weight, a strict queue has none, and the weights of a policy add up to at most 100."""
    for policy in select(root, "qos scheduler-policy *"):
        total = 0
        for queue in policy.below:
            lines = queue.body or []
            texts = [weight_line["weight"] for weight_line in select(lines, "weight <weight>")]
            weights = [int(weight) for weight in texts if weight.isdecimal()]
            if has(lines, "type strict") == bool(weights):
                yield f"{policy.line}: {queue.line} is {'strict with' if weights else 'shared without'} a weight"
            total += sum(weights)
        if total > 100:
            yield f"{policy.line}: weights are {total} together"


@check(
    "dell-pfc",
    why="a paused priority without headroom of its own loses packets",
    fix="give the port a lossless buffer profile for the priority",
)
def pfc(root: list[Section]) -> Iterator[str]:
    """A port has a buffer profile for every priority that PFC pauses on the port."""
    for port in select(root, "interface **"):
        for paused in select(port.below, "priority-flow-control priority <priority>"):
            if not has(port.below, f"buffer priority-group {paused['priority']} **"):
                yield f"{port.line}: priority {paused['priority']} is paused and has no buffer profile"


def spread(words: str) -> list[int]:
    """Return the numbers in a list of numbers and ranges: 0, 1, 2 and 5 for ``0-2,5``. Other parts of the text are ignored."""
    values: list[int] = []
    for word in words.split(","):
        first, _, last = word.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            values += range(int(first), int(last or first) + 1)
    return values
