"""The statements in which a device's configuration differs from the design, and the fields that each statement changes.

To find these fields, each statement is inserted separately into the designed configuration, and the result is read. The
fields that then differ from the design are the fields that the statement changes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.apply import alone, apply
from railweave.model.config.compare import compare
from railweave.model.config.gate import hidden
from railweave.model.config.spelling import plainly
from railweave.model.config.tree import ConfigTree, Name, Node, Step
from railweave.model.device.fields import FieldDifference, differences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.reading import Reading
    from railweave.systems.protocol import Reader

_ORDER_OF_NAMES = re.compile(r"(?!.*\bterms\b)(?!protection\b).*\.order")
"""A pattern for fields that hold the order of named objects, such as groups and route-maps. This order has no effect."""
EACH_ALONE = 48
"""The largest number of differing statements in a file that are tried one by one.

With more statements, the complete file is read once, and each statement gets the field differences that it mentions.
"""


GUESSED = ("role", "model", "release")
"""The fields that railweave infers from other parts of a configuration, so that they are not compared."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A statement that differs from the design, with its line and the fields that it changes.

    - ``kind``: ``add``, ``remove``, ``replace`` or ``move``.
    - ``designed`` and ``found``: the text of the statement with its parents, in the design and on the device;
      empty if absent.
    - ``alone``: for an added statement, a tree with only the statement and its parents.
    - ``unread``: True if railweave does not understand the statement. The values of its fields then do not come from
      the statement.
    """

    file: str
    line: int
    kind: str
    designed: str
    found: str
    fields: tuple[FieldDifference, ...]
    alone: Node | None = None
    unread: bool = False


def causes(
    reader: Reader,
    file: str,
    designed: Mapping[str, str],
    actual: str,
    unsaid: Sequence[str],
    by_itself: Collection[str] = (),
    spelled: Collection[str] = (),
) -> tuple[list[Cause], tuple[str, ...]]:
    """Return (the statements in which one file differs from the design, the statements in which only a secret's value differs).

    - ``reader``: the reader of the device's operating system.
    - ``designed``: the designed files of the device, by name. ``actual``: the device's text of ``file``.
    - ``unsaid``: names of fields that the system does not print (``model.device.fields``).
    - ``by_itself``: patterns of statements that the system adds without being configured; these are left out.
    - ``spelled``: patterns whose matched groups have no effect; statements that differ only in these groups are left out.

    The configurations may differ although no statement does, for example because of the order. The only cause is then
    the first line that differs. Raises ``RenderError``, with the line, if the file cannot be read.
    """
    before, after = reader.parsed(file, designed[file]), reader.parsed(file, actual)
    change = compare(before, after)
    unsaid = (*unsaid, *GUESSED)
    made_edits = [
        edit
        for edit in edits(change.steps)
        if not (len(edit) == 1 and edit[0].kind == "add" and is_by_itself(edit[0], by_itself))
        and not _only_spelled(edit, spelled)
    ]
    each = len(made_edits) <= EACH_ALONE
    base, reading = reader.read(designed).config, _reading(reader, {**designed, file: actual})
    whole = () if reading is None or (made_edits and each) else tuple(differences(base, reading.config, unsaid))
    if not made_edits:
        return _unexplained(file, designed[file], actual, whole), change.not_compared
    not_understood = (
        {statement.line for statement in reading.not_understood if statement.file == file} if reading else ()
    )
    made: list[Cause] = []
    for edit in made_edits:
        first, last = edit[0], edit[-1]
        fields = (
            _changed_by(reader, file, designed, before, edit, base, unsaid)
            if each
            else tuple(difference for difference in whole if _mentions(last, difference))
        )
        designed_as = "" if last is first and last.kind == "add" else statement(first, first.old or first.node)
        found_as = "" if last.kind == "remove" else statement(last, last.node)
        if designed_as == found_as or (last is not first and _without_vrf(first.node) != first.node.name):
            designed_as, found_as = _distinct_texts(first, last, found_as)
        made.append(
            Cause(
                file,
                (last is not first and _line_of_vrf(last.node)) or _line(last, after, actual),
                "replace" if len(edit) > 1 else last.kind,
                designed_as,
                found_as,
                fields,
                alone(last.node, last.above, after.nodes) if last is first and last.kind == "add" else None,
                last.kind != "remove" and last.node.at in not_understood,
            )
        )
    return made, change.not_compared


def _unexplained(file: str, designed: str, actual: str, differing: Iterable[FieldDifference]) -> list[Cause]:
    """Return a list with one cause for all ``differing`` fields of a file whose statements are all equal to the design.

    Fields that hold the order of names are ignored; the list is empty if there are no other fields. ``designed`` and ``actual`` are
    the two texts of the file. The line of the cause is the first line in which they differ.
    """
    fields = tuple(difference for difference in differing if not _ORDER_OF_NAMES.fullmatch(difference.field))
    if not fields:
        return []
    lines, other = designed.splitlines(), actual.splitlines()
    at = next(
        (place for place, (line, there) in enumerate(zip(lines, other, strict=False)) if line != there), len(lines)
    )
    at = min(at, len(other) - 1)
    return [Cause(file, at + 1, "add", "", hidden(other[at].strip()), fields)]


def _reading(reader: Reader, texts: Mapping[str, str]) -> Reading | None:
    """Return the configuration that ``reader`` reads from a device's files, or None if the files contradict each other."""
    try:
        return reader.read(texts)
    except RenderError:
        return None


def edits(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps (added, removed or replaced statements) grouped into edits.

    A removed statement and the similar statement that replaces it, for example with a new address, form one edit. Every
    other step is an edit of its own.
    """
    added = {id(step): step for step in steps if step.kind == "add"}
    pairs: list[list[Step]] = []
    for step in steps:
        if step.kind == "remove":
            like = next((candidate for candidate in added.values() if _alike(step, candidate)), None)
            pairs.append([step] if like is None else [step, added.pop(id(like))])
    taken = {id(edit_step) for edit in pairs for edit_step in edit}
    return [*pairs, *([step] for step in steps if id(step) not in taken)]


def _only_spelled(edit: Sequence[Step], spelled: Collection[str]) -> bool:
    """Return True if an edit (a removed statement and its replacement) changes only the spelling and not the meaning.

    ``spelled`` holds patterns whose matched groups have no effect.
    """
    first, last = edit[0], edit[-1]
    old = first.old or first.node
    if (last is first and first.kind != "replace") or old.children or last.node.children:
        return False
    before, after = statement(first, old), statement(last, last.node)
    return before != after and plainly(before, spelled) == plainly(after, spelled)


def is_by_itself(step: Step, patterns: Collection[str]) -> bool:
    """Return True if a step (a change of the configuration) contains only statements that the system adds by itself.

    ``patterns`` are the patterns of these statements (``reads.by_itself`` in system.yaml).
    """
    return all(any(re.fullmatch(pattern, leaf) for pattern in patterns) for leaf in _leaves(step, step.node))


def _leaves(step: Step, node: Node) -> Iterator[str]:
    """Yield the innermost statements below ``node``, each as one line that begins with its parent statements.

    ``step`` is the change of the configuration that contains ``node``.
    """
    if not node.children:
        yield statement(step, node)
    for child in node.children or ():
        yield from _leaves(Step("add", (*step.above, node.name), child, ()), child)


def _alike(removed: Step, added: Step) -> bool:
    """Return True if an added statement replaces a removed one: both have the same name, or differ in only one word."""
    if removed.above != added.above:
        return False
    if removed.node.name == added.node.name or _without_vrf(removed.node) == _without_vrf(added.node):
        return True
    if (removed.node.children or ()) != (added.node.children or ()):
        return False
    words, other = (re.split(r"[\s|]+", statement(step, step.node)) for step in (removed, added))
    same = [word == there for word, there in zip(words, other, strict=False)]
    return len(words) == len(other) and same[0] and same.count(False) == 1


def _without_vrf(node: Node) -> Name:
    """Return the name of a statement (``node``). From the name of an interface, the VRF is removed.

    Systems remove the settings of an interface that moves to a different VRF, so these settings are compared without the VRF.
    """
    if not node.name[0].startswith("interface "):
        return node.name
    return tuple(re.sub(r" vrf \S+$", "", part) for part in node.name if not re.match(r"(ip )?vrf ", part))


def _line_of_vrf(node: Node) -> int:
    """Return the line of the statement that puts an interface (``node``) into a VRF. Return 0 if the interface has no such statement."""
    inside = () if _without_vrf(node) == node.name else node.name[1:]
    return next((child.at for child in node.children or () if child.name[0] in inside), 0)


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
    names = [word for word in difference.place if not word.replace("_", "").isalpha()]
    return bool(names) and all(name in text for name in names[:2])


def statement(step: Step, node: Node) -> str:
    """Return the statement ``node`` of a change (``step``) in one line, preceded by its parent statements. Secret values are left out."""
    above = [name[0] if len(name) == 1 else " ".join(filter(None, name)) for name in step.above]
    statement_name = " ".join(filter(None, node.name))
    values = " ".join(node.values)
    inner = (
        values if values.startswith((statement_name, f"no {statement_name}")) else f"{statement_name} {values}".strip()
    )
    return hidden(" / ".join([*above, inner]))


def _distinct_texts(old: Step, new: Step, words: str) -> tuple[str, str]:
    """Return (old text, new text) for a statement whose own text is equal on both sides but whose children differ.

    ``old`` and ``new`` are the statement in the design and on the device. Each text is the first child that the other side lacks,
    preceded by its parent statements. If there is no such child, the text is ``words``.
    """
    was, now = (node.children or () for node in (old.old or old.node, new.node))
    above = (*new.above, _without_vrf(new.node))
    inner_nodes = [
        next((child for child in here if child not in there), None) for here, there in ((was, now), (now, was))
    ]
    lost, come = (words if node is None else statement(Step("add", above, node, ()), node) for node in inner_nodes)
    return lost, come


def _line(step: Step, after: ConfigTree, actual: str) -> int:
    """Return the line of a changed statement (``step``) in the device's text (``actual``).

    If the text lacks the statement, return the line of its innermost parent in the text. ``after`` is the text as a tree. The tree
    leaves out a parent with empty braces, so such a parent is searched in the text.
    """
    first = _first_line(step.node) if step.kind != "remove" else 0
    if first:
        return first
    line, nodes = 1, after.nodes
    for name in (*step.above, step.node.name):
        inner = next((node for node in nodes if node.name == name), None)
        if inner is None:
            start = sum(len(part) for part in actual.splitlines(keepends=True)[: line - 1])
            empty = re.compile(rf'^[ \t]*"?{re.escape(" ".join(name))}"?:?\s*\{{\s*\}}', re.MULTILINE).search(
                actual, start
            )
            return actual.count("\n", 0, empty.start()) + 1 if empty else line
        line, nodes = inner.at or line, inner.children or ()
    return line


def _first_line(node: Node) -> int:
    """Return the line of a statement, or else of the first statement below it that has a line. Return 0 if no statement has a line."""
    return node.at or next((line for child in node.children or () if (line := _first_line(child))), 0)
