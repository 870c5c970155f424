"""Comparison of two versions of one configuration file: the steps that change the old version into the new one, and the steps back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.secret_words import alike
from railweave.model.config.tree import Command, ConfigTree, Disruption, Name, Node, Refusal, Step, disrupted, path

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Change:
    """The steps that turn one configuration tree into another, in order: first removals, then settings, then moves.

    - ``back``: the steps that undo the change.
    - ``not_compared``: paths of statements that hold a secret's value in one tree and a reference to it in the other. They cannot
      be compared, so no step changes them.
    """

    tree: ConfigTree
    """The tree after the change. It determines the syntax of the commands."""
    steps: tuple[Step, ...] = ()
    back: tuple[Step, ...] = ()
    not_compared: tuple[str, ...] = ()
    before: ConfigTree | None = None
    """The tree before the change, which the steps in ``back`` restore."""

    def __bool__(self) -> bool:
        return bool(self.steps)

    @property
    def commands(self) -> list[Command]:
        """The commands with which the device is changed from the old tree to the new one."""
        return self.tree.commands(self.steps)

    @property
    def inverse(self) -> Change:
        """The change that undoes this change."""
        return Change(self.before or self.tree, self.back, self.steps, self.not_compared, self.tree)

    @property
    def refused(self) -> Sequence[Refusal]:
        """The steps that the system would reject as commands, each with an alternative.

        The system's rules from before the change apply.
        """
        return (self.before or self.tree).refused(self.steps)

    @property
    def disrupts(self) -> list[tuple[Step, Disruption]]:
        """The steps that disrupt traffic or sessions, each with its disruption.

        A refused step disrupts everything, because it requires a restart.
        """
        before = self.before.nodes if self.before else ()
        disruptions = [(step, row) for step in self.steps for row in disrupted(step, self.tree.disruptions, before)]
        rows = [
            (
                refusal.step,
                Disruption(refusal.step.path, "everything", f"{refusal.why}; {refusal.instead}", refusal.source),
            )
            for refusal in self.refused
        ]
        return [*disruptions, *rows]


def compare(old: ConfigTree, new: ConfigTree) -> Change:
    """Return the change from ``old`` to ``new``; both are trees of the same file."""
    forward, back = _Walk(new.keeps_empty), _Walk(new.keeps_empty)
    forward.siblings(old.nodes, new.nodes)
    if forward.steps:
        back.siblings(new.nodes, old.nodes)
    return Change(new, forward.steps, back.steps, tuple(forward.not_compared), old)


@dataclass
class _Walk:
    keeps_empty: bool
    removed: list[Step] = field(default_factory=list[Step])
    put: list[Step] = field(default_factory=list[Step])
    moved: list[Step] = field(default_factory=list[Step])
    not_compared: list[str] = field(default_factory=list[str])

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.removed, *self.put, *self.moved)

    def siblings(
        self,
        old: Sequence[Node],
        new: Sequence[Node],
        above: tuple[Name, ...] = (),
        places: tuple[tuple[int, ...], tuple[int, ...]] = ((), ()),
    ) -> bool:
        """Compare the statements below one parent. Return True if any of them must move.

        ``above`` names the parents from the top down. ``places`` holds the parent's indexes from the top, in the old
        tree and in the new tree.
        """
        before = {node.name: (at, node) for at, node in enumerate(old)}
        after = {node.name: (at, node) for at, node in enumerate(new)}
        gone = [placed for name, placed in before.items() if name not in after and not placed[1].stays]
        come = [placed for name, placed in after.items() if name not in before]
        if gone and come:
            self._pair_by_secret(gone, come, above)
        leaving = {node.name for _, node in gone}
        anew: set[Name] = set()
        for name, (at, statement) in before.items():
            if name in leaving:
                self.removed.append(Step("remove", above, statement, (*places[0], at)))
            elif name in after:
                to, other = after[name]
                if self._one(statement, other, above, ((*places[0], at), (*places[1], to))):
                    anew.add(name)
        self.put += [Step("add", above, node, (*places[1], at)) for at, node in come]
        moves = _moves(old, new, anew)
        for name, next_name in moves:
            at, moved_node = after[name]
            self.moved.append(Step("move", above, moved_node, (*places[1], at), before=next_name))
        return bool(moves)

    def _one(
        self, old: Node, new: Node, above: tuple[Name, ...], places: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> bool:
        """Compare the old and the new version of a statement, and record the steps from one to the other.

        ``above`` names the parents from the top down. ``places`` holds the statement's indexes from the top, in the old tree and
        in the new tree. Return True if the statement is removed and set again instead of being changed.
        """
        if old == new:
            return False
        here, inner = (*above, new.name), _Walk(self.keeps_empty)
        if (old.values, old.listed) != (new.values, new.listed):
            pairs = list(zip(old.values, new.values, strict=False))
            same = [alike(value, other) for value, other in pairs]
            if old.listed != new.listed or len(old.values) != len(new.values) or False in same:
                if new.anew or old.anew or not (old.values and new.values):
                    return self._anew(old, new, above, places)
                inner.put.append(Step("replace", above, new, places[1], old=old))
            else:
                inner.not_compared.append(path(here))
        old_children, other = old.children or (), new.children or ()
        if bool(old_children) != bool(other) and not self.keeps_empty:
            return self._anew(old, new, above, places)
        if inner.siblings(old_children, other, here, places) and new.anew:
            return self._anew(old, new, above, places)
        self.removed += inner.removed
        self.put += inner.put
        self.moved += inner.moved
        self.not_compared += inner.not_compared
        return False

    def _anew(
        self, old: Node, new: Node, above: tuple[Name, ...], places: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> bool:
        self.removed.append(Step("remove", above, old, places[0]))
        self.put.append(Step("add", above, new, places[1]))
        return True

    def _pair_by_secret(
        self, gone: list[tuple[int, Node]], come: list[tuple[int, Node]], above: tuple[Name, ...]
    ) -> None:
        """Find removed and added statements that differ only in a secret's value, and record them as not compared.

        ``gone`` and ``come`` have the removed and the added statements below ``above``, as (index among its siblings, statement).
        The paired statements are taken out of both lists.
        """
        for left in list(gone):
            for right in list(come):
                if not left[1].children and not right[1].children and _unknown(left[1].name, right[1].name):
                    gone.remove(left)
                    come.remove(right)
                    self.not_compared.append(path((*above, right[1].name)))
                    break


def _unknown(name: Name, other: Name) -> bool:
    return any("<secret:" in word for word in (*name, *other)) and alike(" ".join(name), " ".join(other)) is None


def _moves(old: Sequence[Node], new: Sequence[Node], anew: set[Name]) -> list[tuple[Name, Name]]:
    """Return the moves that bring ordered statements from the order ``old`` into the order ``new``, as (statement, sibling that it must precede).

    ``anew`` names the statements that are removed and set again. Before the first move, the statements in ``anew`` and the added statements
    are at the end.
    """
    wanted = [node.name for node in new if node.ordered]
    if not wanted:
        return []
    known = set(wanted)
    stood = [node.name for node in old if node.name in known]
    result = [name for name in stood if name not in anew] + [name for name in stood if name in anew]
    standing = set(stood)
    result += [name for name in wanted if name not in standing]
    moves: list[tuple[Name, Name]] = []
    for place, name in enumerate(wanted):
        if result[place] != name:
            moves.append((name, result[place]))
            result.remove(name)
            result.insert(place, name)
    return moves
