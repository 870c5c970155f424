"""Configuration of any syntax as a tree of named statements, and the steps that turn one tree into another.

A system's own folder turns its syntax (Junos statements, sections of lines, tables) into such a tree. Only the folder
knows which words name a statement, which statements are lists, and where order matters. ``compare`` needs only the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Name = tuple[str, ...]
"""The words that distinguish a statement from other statements under the same parent."""

Command = str | dict[str, object]
"""A command for a system: a line for its command line, or one operation of a JSON patch."""


@dataclass(frozen=True, slots=True)
class Node:
    """One statement. Two nodes with the same name under one parent are the same statement.

    - ``values``: the words after the name. A change replaces all of them together.
    - ``listed``: True if the values are a list, even with one value.
    - ``children``: the statements below; None if the statement cannot hold any. If the members of a list can change one
      by one, they are children, each with only a name.
    - ``ordered``: True if the position among ordered siblings matters.
    - ``anew``: True if the system can only append values or children. The statement is removed and set again if its
      values change, or if appending would give the wrong order of children.
    - ``stays``: True if the system or its host creates the statement, so that no change removes it.
    - ``at``: the line number in the source text, from 1; 0 if not read from a text. Comparisons ignore it.
    """

    name: Name
    values: tuple[str, ...] = ()
    children: tuple[Node, ...] | None = None
    listed: bool = False
    ordered: bool = False
    anew: bool = False
    stays: bool = field(default=False, compare=False)
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a change to a tree: a statement is removed, added, replaced or moved.

    - ``above``: the names from the top down to the parent.
    - ``node``: the statement. It is removed, added after its siblings, set in place of ``old``, or moved before the
      sibling ``before``.
    - ``place``: the position in the tree, as one index per level from the top. Removals use positions in the old tree, other
      steps those in the new tree. Systems that execute commands one after another sort the steps by ``place``.
    """

    kind: Literal["remove", "add", "replace", "move"]
    above: tuple[Name, ...]
    node: Node
    place: tuple[int, ...]
    old: Node | None = None
    before: Name = ()

    @property
    def path(self) -> str:
        """The path of the statement: the names from the top level to this statement, joined by `` / ``."""
        return path((*self.above, self.node.name))


UNKNOWN_DISRUPTION = "unknown"
"""The value of ``Disruption.what`` for statements whose disruption no source describes."""


@dataclass(frozen=True)
class Disruption:
    """A disruption that the change of a statement causes: what is disrupted (``what``), and the reason (``why``).

    An empty ``what`` states that the change disrupts nothing. A disruption whose ``what`` is ``UNKNOWN_DISRUPTION`` applies
    only to statements that no other disruption describes.

    - ``statement``: a regular expression that must match the start of the path of the changed statement, or of a statement below it. The
      group ``of`` captures the disrupted object; if no statement names this object before the change, nothing is disrupted. The group
      ``port`` captures a port; then nothing else on the device is disrupted. In a statement table, the row determines the statement, so
      ``statement`` is empty or only captures a group.
    - ``when``: the kinds of steps that disrupt. For example, adding a session resets no other session.
    - ``source``: the document that reports the disruption.
    - ``itself``: True if the disruption applies only to a change of the statement itself, not if the statement is added or removed
      together with its parent.
    - ``value``: if set, the disruption applies only if the statement itself gets this value.
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
    """A step that the system does not accept as a command.

    ``why`` is the reason, ``instead`` the alternative, and ``source`` the document that describes both.
    """

    step: Step
    why: str
    instead: str
    source: str


class ConfigTree(Protocol):
    """The configuration in one file of a device, as a tree of statements, and the commands that change it."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The top-level statements."""
        ...

    @property
    def keeps_empty(self) -> bool:
        """True if a parent statement remains in the configuration after the last statement below it is removed."""
        ...

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The disruptions that changes of this file can cause."""
        ...

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the commands that make the changes ``steps``: lines to type or operations to send, in the order that the system needs."""
        ...

    def refused(self, steps: Sequence[Step]) -> Sequence[Refusal]:
        """Return those of ``steps`` that the system would refuse as commands, each with the reason and an alternative."""
        ...


def path(names: Sequence[Name]) -> str:
    """Return the path of a statement: its names from the top level down, joined by `` / ``."""
    return " / ".join(" ".join(filter(None, name)) for name in names)


def paths(node: Node, above: tuple[Name, ...]) -> Iterator[str]:
    """Yield the path of the statement ``node``, then the paths of all statements below it. ``above`` holds the names of its parents."""
    here = (*above, node.name)
    yield path(here)
    for child in node.children or ():
        yield from paths(child, here)


def disrupted(step: Step, table: Sequence[Disruption], before: Sequence[Node] = ()) -> list[Disruption]:
    """Return the disruptions in ``table`` that a step causes. Of equal disruptions, only the first is returned.

    ``before`` holds the statements before the change.
    """
    rows = [row for row in table if step.kind in row.when and row.value in {"", " ".join(step.node.values)}]
    if not rows:
        return []
    below = list(paths(step.node, step.above))
    if any(row.what == UNKNOWN_DISRUPTION for row in rows):
        known = [_compiled(row.statement) for row in table if row.what != UNKNOWN_DISRUPTION]
        undescribed = [statement for statement in below if not any(pattern.match(statement) for pattern in known)]
    else:
        undescribed = []
    applied: dict[tuple[str, str, str, tuple[str, ...]], Disruption] = {}
    for row in (row for row in rows if row.what):
        described = below[:1] if row.itself or row.value else below
        statements = undescribed if row.what == UNKNOWN_DISRUPTION else described
        if any(_applies(row, statement, step, before) for statement in statements):
            applied.setdefault((row.what, row.why, row.source, ports_of(row, step)), row)
    return list(applied.values())


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
    """Return the ports that a step disrupts according to ``row``. Return an empty tuple if the disruption is not limited to ports."""
    matches = [match for path in paths(step.node, step.above) if (match := _compiled(row.statement).match(path))]
    ports = [matched.groupdict().get("port") or "" for matched in matches]
    return tuple(dict.fromkeys(ports)) if all(ports) else ()


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
