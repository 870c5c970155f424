"""Configuration as a tree of named statements, whatever the syntax, and the steps that lead from one to another.

A system's own folder turns what it prints (Junos statements, sections of lines, tables) into such a tree: it knows which
words name a statement, what is a list, and where order counts. ``compare`` knows only this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Name = tuple[str, ...]
"""The words that tell a statement from its siblings."""

Command = str | dict[str, object]
"""A command for a system: a line for its command line, or an operation of a JSON patch."""


@dataclass(frozen=True, slots=True)
class Node:
    """One statement. Two of the same name under one parent are the same statement.

    ``values`` follow the name and are replaced together; ``listed`` marks them as a list, even of one. ``children`` is None
    for what holds no statements. A list whose members come and go one by one has them as children, each with a name only.
    ``ordered``: its place among the siblings that have a place counts. ``anew``: where its values change, or its children
    cannot be brought in order by appending, it is removed and given again, because the system only appends to what stands.
    ``at`` is the line of the text that it was read from, 1-based; 0: it was not read. Two that differ by it alone are equal.
    """

    name: Name
    values: tuple[str, ...] = ()
    children: tuple[Node, ...] | None = None
    listed: bool = False
    ordered: bool = False
    anew: bool = False
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do to a tree. ``above`` has the names from the top down to the parent.

    ``node`` is what is removed, what is added (behind its siblings), what takes the place of ``old`` with other values, or
    what moves to stand before the sibling named ``before``. ``place`` says where it stands, as indexes from the top: in the
    old tree for what is removed, in the new one otherwise; systems that take one command after another order by it.
    """

    kind: Literal["remove", "add", "replace", "move"]
    above: tuple[Name, ...]
    node: Node
    place: tuple[int, ...]
    old: Node | None = None
    before: Name = ()

    @property
    def path(self) -> str:
        """Where it is: the names of each level, with `` / `` between levels."""
        return path((*self.above, self.node.name))


@dataclass(frozen=True)
class Disruption:
    """The disruption that changing a statement causes; one row of a system's table.

    - ``statement``: a regular expression for the start of ``Step.path``, or of the path of anything below. A group ``of`` in the
      expression is what is disrupted; if no statement has it before the change, nothing is. A group ``port`` is a port: nothing
      else on the device is disrupted.
    - ``when``: the kinds of steps that disrupt. For example, an added session resets none.
    - ``source``: who reports the disruption.
    - ``itself``: not if the statement comes or goes with what is around it.
    - ``value``: only if the statement gets this value, by itself.
    """

    statement: str
    what: str
    why: str
    source: str
    when: tuple[str, ...] = ("remove", "replace")
    itself: bool = False
    value: str = ""


@dataclass(frozen=True)
class Refusal:
    """A step that the system does not take as a command: why, and what leads there ``instead``. ``source`` says who has it."""

    step: Step
    why: str
    instead: str
    source: str


class ConfigTree(Protocol):
    """The configuration in one file of a device, and the commands by which its system takes a change."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The statements at the top."""
        ...

    @property
    def keeps_empty(self) -> bool:
        """True if a statement remains when the last statement below it is gone."""
        ...

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The disruptions that changes of this file cause."""
        ...

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the lines to type or operations to send, in the order in which the system takes them."""
        ...

    def refused(self, steps: Sequence[Step]) -> Sequence[Refusal]:
        """Return the steps that the system would refuse."""
        ...


def path(names: Sequence[Name]) -> str:
    """Names from the top down as one line."""
    return " / ".join(" ".join(filter(None, name)) for name in names)


def paths(node: Node, above: tuple[Name, ...]) -> Iterator[str]:
    """The path of a statement and of everything below it."""
    here = (*above, node.name)
    yield path(here)
    for child in node.children or ():
        yield from paths(child, here)


def disrupted(step: Step, table: Sequence[Disruption], before: Sequence[Node] = ()) -> list[Disruption]:
    """The rows of a table that apply to a step of a change of what stands ``before``."""
    rows = [row for row in table if step.kind in row.when and row.value in {"", " ".join(step.node.values)}]
    if not rows:
        return []
    below = list(paths(step.node, step.above))
    return [
        row
        for row in rows
        if any(
            _applies(row, statement, step, before) for statement in (below[:1] if row.itself or row.value else below)
        )
    ]


def _applies(row: Disruption, below: str, step: Step, before: Sequence[Node]) -> bool:
    match = _compiled(row.statement).match(below)
    if match is None:
        return False
    of = match.groupdict().get("of")
    return (
        of is None
        or step.kind != "add"
        or any(f"{statement} ".find(f"{of} ") >= 0 for node in before for statement in paths(node, ()))
    )


def ports_of(row: Disruption, step: Step) -> tuple[str, ...]:
    """The ports that a step disrupts by a row, where nothing else of the device is; empty otherwise."""
    matches = [match for path in paths(step.node, step.above) if (match := _compiled(row.statement).match(path))]
    ports = [matched.groupdict().get("port") or "" for matched in matches]
    return tuple(dict.fromkeys(ports)) if all(ports) else ()


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
