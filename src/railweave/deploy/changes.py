"""What will change on one device: from what it runs to what is wanted, without what is its own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from railweave.checks.causes import statement
from railweave.checks.differ_rules import EXTRA
from railweave.config.apply import apply
from railweave.config.compare import Change, compare
from railweave.config.secret import hidden
from railweave.device.fields import differences
from railweave.errors import NetworkPart, Problem, RenderError, SpecError
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.checks.devices import Stands
    from railweave.config.tree import Command, ConfigTree, Node, Step
    from railweave.device.model import DeviceConfig
    from railweave.systems.protocol import Reader


@dataclass(frozen=True)
class Disruptive:
    """Something that a change disrupts: ``what`` goes, for ``why``; ``statement`` does it, by ``source``."""

    statement: str
    what: str
    why: str
    source: str


@dataclass(frozen=True)
class DeviceChange:
    """What is done to one device. Dictionaries are by file.

    ``before`` are digests of what it runs, ``commands`` make the change, ``target`` is its whole configuration afterwards. Of ``shown``
    each is a statement that goes (``-``), comes (``+``) or changes (``~``). ``kept`` are statements of its own that stay; ``refused``
    says why the device would not take the change, or why nothing here makes it.
    """

    device: str
    system: str
    before: Mapping[str, str] = field(default_factory=dict[str, str])
    commands: Mapping[str, tuple[Command, ...]] = field(default_factory=dict[str, "tuple[Command, ...]"])
    target: Mapping[str, str] = field(default_factory=dict[str, str])
    shown: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    disrupts: tuple[Disruptive, ...] = ()
    refused: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self.commands.values())

    def to_json(self) -> dict[str, Any]:
        """Its form in a plan's file."""
        return {
            "system": self.system,
            "before": dict(self.before),
            "commands": {file: list(lines) for file, lines in self.commands.items()},
            "target": dict(self.target),
            "shown": list(self.shown),
            "kept": list(self.kept),
            "disrupts": [vars(one) for one in self.disrupts],
            "refused": list(self.refused),
        }

    @classmethod
    def of_json(cls, device: str, found: Mapping[str, Any]) -> DeviceChange:
        """The other way. Raises ``KeyError`` and ``TypeError`` for what is none."""
        return cls(
            device,
            found["system"],
            dict(found["before"]),
            {file: tuple(lines) for file, lines in found["commands"].items()},
            dict(found["target"]),
            tuple(found["shown"]),
            tuple(found["kept"]),
            tuple(Disruptive(**one) for one in found["disrupts"]),
            tuple(found["refused"]),
        )


def change(
    device: str, nos: str, running: Mapping[str, str], wanted: Mapping[str, str], own: Stands | None
) -> DeviceChange:
    """What turns the running texts of a device into those wanted, by file.

    ``own`` says which statements are the device's own; without it nothing is kept. Raises ``SpecError`` for a text that cannot be read.
    """
    reader, transaction = system(nos).reader, system(nos).transaction
    if reader is None or transaction is None:
        return DeviceChange(
            device, nos, refused=(f"nothing here changes a device of {nos}: load the files of `build` by hand",)
        )
    extra = {cause.found for cause, finding in own.causes if finding.id == EXTRA.id} if own else set[str]()
    files = [file for file in wanted if file in running]
    refused = [f"the device did not say its {file}" for file in wanted if file not in running]
    before, commands, target = dict[str, str](), dict[str, tuple["Command", ...]](), dict[str, str]()
    shown, kept, disrupts = list[str](), list[str](), list[Disruptive]()
    for file in files:
        old, new = read(reader, device, file, running[file]), read(reader, device, file, wanted[file])
        change, stay = _without_own(reader, running, file, old, compare(old, new), extra)
        before[file] = digest(old)
        if not change:
            continue
        commands[file] = tuple(change.commands)
        target[file] = reader.printed(file, apply(old.nodes, change.steps))
        shown += _shown(change)
        kept += stay
        disrupts += [Disruptive(hidden(step.path), row.what, row.why, row.source) for step, row in change.disrupts]
        refused += [f"{hidden(one.step.path)}: {one.why}; {one.instead}" for one in change.refused]
    return DeviceChange(
        device, nos, before, commands, target, tuple(shown), tuple(kept), tuple(dict.fromkeys(disrupts)), tuple(refused)
    )


def read(reader: Reader, device: str, file: str, text: str) -> ConfigTree:
    """A text of a device as a tree. Raises ``SpecError``."""
    try:
        return reader.parsed(file, text)
    except RenderError as error:
        what = f"{file} cannot be read: {error.what}"
        raise SpecError(
            [Problem(NetworkPart(device), what, "see what the device shows for its configuration")]
        ) from None


def _without_own(
    reader: Reader, running: Mapping[str, str], file: str, old: ConfigTree, change: Change, extra: set[str]
) -> tuple[Change, list[str]]:
    """A change without the removal of statements of the device's own, and those: they mean nothing for what is designed, here or there."""
    candidates = [one for one in change.steps if one.kind == "remove" and statement(one, one.node) in extra]
    if not candidates:
        return change, []
    base = reader.read(running).config
    stay = [one for one in candidates if _means_nothing(reader, running, file, old, one, base)]
    steps = tuple(one for one in change.steps if one not in stay)
    return Change(change.tree, steps, (), change.not_compared), [statement(one, one.node) for one in stay]


def _means_nothing(
    reader: Reader, running: Mapping[str, str], file: str, old: ConfigTree, step: Step, base: DeviceConfig
) -> bool:
    text = reader.printed(file, apply(old.nodes, [step]))
    try:
        return not any(differences(base, reader.read({**running, file: text}).config))
    except RenderError:
        return False


def digest(tree: ConfigTree) -> str:
    """A digest of what stands in a tree: the same for the same statements, wherever those stand whose place does not count."""
    return hashlib.sha256(repr(_plain(tree.nodes)).encode()).hexdigest()


def _plain(nodes: tuple[Node, ...]) -> list[object]:
    rows = [(one.name, one.values, one.children is not None, _plain(one.children or ())) for one in nodes]
    ordered = [row for one, row in zip(nodes, rows, strict=True) if one.ordered]
    return [*sorted((row for one, row in zip(nodes, rows, strict=True) if not one.ordered), key=repr), ordered]


def _shown(change: Change) -> list[str]:
    gone = {(one.above, one.node.name): one for one in change.steps if one.kind == "remove"}
    come = {(one.above, one.node.name) for one in change.steps if one.kind == "add"}
    lines: list[str] = []
    for one in change.steps:
        at = (one.above, one.node.name)
        if one.kind == "remove" and at not in come:
            lines.append(f"- {statement(one, one.node)}")
        elif one.kind == "add":
            lines.append(f"{'~' if at in gone else '+'} {statement(one, one.node)}")
        elif one.kind == "replace":
            old = " ".join(one.old.values) if one.old else ""
            lines.append(f"~ {statement(one, one.node)} (was {hidden(old)})")
        elif one.kind == "move":
            lines.append(f"~ {statement(one, one.node)} (moves before {' '.join(one.before)})")
    return lines
