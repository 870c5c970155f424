"""Which statements make a device's configuration another than the designed one, and what each changes.

Each statement that differs is put into the designed configuration by itself, and the result is read: the fields that are
then otherwise are what that statement changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.apply import alone, apply
from railweave.model.config.compare import compare
from railweave.model.config.gate import hidden
from railweave.model.config.tree import ConfigTree, Node, Step
from railweave.model.device.fields import FieldDifference, differences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.systems.protocol import Reader

EACH_ALONE = 48
"""So many statements of a file are tried by themselves; a file with more is another configuration, and is read once."""


GUESSED = ("role", "model", "release")
"""What readers guess from all else that stands in a text."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A statement that is not as designed, on its line, and the fields that are otherwise by it.

    ``designed`` and ``found`` are its words with what it stands in; the empty text where it is not there. ``alone`` is a statement
    that was added, with what it stands in and nothing else.
    """

    file: str
    line: int
    kind: str
    designed: str
    found: str
    fields: tuple[FieldDifference, ...]
    alone: Node | None = None


def causes(
    reader: Reader,
    file: str,
    designed: Mapping[str, str],
    found: str,
    unsaid: Sequence[str],
    by_itself: Collection[str] = (),
) -> tuple[list[Cause], tuple[str, ...]]:
    """What one file says otherwise than the ``designed`` files of its device, and statements in which only a secret's value differs.

    ``unsaid`` are names that the system does not print (``model.device.fields``), ``by_itself`` patterns of statements that it
    writes by itself: these are left out.
    Raises ``RenderError`` with the line where the text found cannot be read.
    """
    before, after = reader.parsed(file, designed[file]), reader.parsed(file, found)
    change = compare(before, after)
    if not change:
        return [], change.not_compared
    base, unsaid = reader.read(designed).config, (*unsaid, *GUESSED)
    edits = [
        one
        for one in _edits(change.steps)
        if not (len(one) == 1 and one[0].kind == "add" and is_by_itself(one[0], by_itself))
    ]
    each = len(edits) <= EACH_ALONE
    whole = () if each else tuple(differences(base, reader.read({**designed, file: found}).config, unsaid))
    made: list[Cause] = []
    for edit in edits:
        first, last = edit[0], edit[-1]
        fields = (
            _changed_by(reader, file, designed, before, edit, base, unsaid)
            if each
            else tuple(one for one in whole if _mentions(last, one))
        )
        designed_as = "" if last is first and last.kind == "add" else statement(first, first.old or first.node)
        found_as = "" if last.kind == "remove" else statement(last, last.node)
        if designed_as == found_as:
            designed_as, found_as = _told_apart(first, last, found_as)
        made.append(
            Cause(
                file,
                _line(last, after),
                "replace" if len(edit) > 1 else last.kind,
                designed_as,
                found_as,
                fields,
                alone(last.node, last.above, after.nodes) if last is first and last.kind == "add" else None,
            )
        )
    return made, change.not_compared


def _edits(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps, those of a removed statement and of one like it that stands in its place together: an address that was changed."""
    added = {id(one): one for one in steps if one.kind == "add"}
    edits: list[list[Step]] = []
    for step in steps:
        if step.kind == "remove":
            like = next((one for one in added.values() if _alike(step, one)), None)
            edits.append([step] if like is None else [step, added.pop(id(like))])
    taken = {id(one) for edit in edits for one in edit}
    return [*edits, *([one] for one in steps if id(one) not in taken)]


def is_by_itself(step: Step, patterns: Collection[str]) -> bool:
    """Return whether a step is about nothing but what the system writes by itself (``reads.by_itself`` of its system.yaml)."""
    return all(any(re.fullmatch(pattern, one) for pattern in patterns) for one in _leaves(step, step.node))


def _leaves(step: Step, node: Node) -> Iterator[str]:
    """The statements of a node that have none below them, each with what it stands in."""
    if not node.children:
        yield statement(step, node)
    for one in node.children or ():
        yield from _leaves(Step("add", (*step.above, node.name), one, ()), one)


def _alike(removed: Step, added: Step) -> bool:
    """Whether a statement stands in the place of one that was removed: of the same name, or with one word of it changed."""
    if removed.above != added.above:
        return False
    if removed.node.name == added.node.name:
        return True
    if (removed.node.children or ()) != (added.node.children or ()):
        return False
    one, other = (re.split(r"[\s|]+", statement(step, step.node)) for step in (removed, added))
    same = [word == there for word, there in zip(one, other, strict=False)]
    return len(one) == len(other) and same[0] and same.count(False) == 1


def _changed_by(
    reader: Reader,
    file: str,
    designed: Mapping[str, str],
    before: ConfigTree,
    steps: Sequence[Step],
    base: DeviceConfig,
    unsaid: Sequence[str],
) -> tuple[FieldDifference, ...]:
    try:
        text = reader.printed(file, apply(before.nodes, steps))
        return tuple(differences(base, reader.read({**designed, file: text}).config, unsaid))
    except (KeyError, RenderError):  # it stands in what another statement makes, or says nothing by itself
        return ()


def _mentions(step: Step, difference: FieldDifference) -> bool:
    text = f" {statement(step, step.node)} "
    names = [one for one in difference.place if not one.replace("_", "").isalpha()]
    return bool(names) and all(one in text for one in names[:2])


def statement(step: Step, node: Node) -> str:
    """A statement with what it stands in, in one line, without the values of secrets."""
    above = [name[0] if len(name) == 1 else " ".join(filter(None, name)) for name in step.above]
    own = " ".join(filter(None, node.name))
    values = " ".join(node.values)
    inner = values if values.startswith((own, f"no {own}")) else f"{own} {values}".strip()
    return hidden(" / ".join([*above, inner]))


def _told_apart(old: Step, new: Step, words: str) -> tuple[str, str]:
    """A statement as it was and as it is, where only what stands in it differs: each with the first such that the other has not."""
    was, now = (one.children or () for one in (old.old or old.node, new.node))
    above = (*new.above, new.node.name)
    found = [next((one for one in here if one not in there), None) for here, there in ((was, now), (now, was))]
    lost, come = (words if one is None else statement(Step("add", above, one, ()), one) for one in found)
    return lost, come


def _line(step: Step, after: ConfigTree) -> int:
    """The line of a statement in the text found; of one that is gone, that of what stood before it, or of what it stood in."""
    if step.kind != "remove" and step.node.at:
        return step.node.at
    line, nodes = 1, after.nodes
    for name in step.above:
        inner = next((one for one in nodes if one.name == name), None)
        if inner is None:
            break
        line, nodes = inner.at or line, inner.children or ()
    return line
