"""The change of a device from its running to its wanted configuration, and the kinds of devices in a plan."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.checks.causes import edits, is_by_itself, statement
from railweave.analysis.checks.differs import EXTRA
from railweave.errors import NetworkPart, Problem, RenderError, SpecError
from railweave.json_values import JsonObject
from railweave.live.fleet import host_tree
from railweave.live.fleet import transaction as of_server
from railweave.live.fleet.host_tree import TABLES
from railweave.model.catalog import catalog
from railweave.model.config.apply import apply
from railweave.model.config.compare import Change, compare
from railweave.model.config.gate import hidden
from railweave.model.config.tree import Command, ConfigTree, Disruption, Node, Step, ports_of
from railweave.model.device.fields import differences
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.analysis.checks.devices import DeviceCheck
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.protocol import Reader
    from railweave.systems.transaction import Transaction


SERVER = "server"
"""The kind of a server among the devices of a plan."""


def transaction(kind: str) -> Transaction | None:
    """Return the module that changes devices of a kind (an operating system, or ``server``); None if railweave cannot change them."""
    return cast("Transaction", of_server) if kind == SERVER else system(kind).transaction


def tree(kind: str, device: str, file: str, text: str) -> ConfigTree:
    """Parse a configuration text of a device into a tree. Raises ``SpecError`` if it cannot be read.

    ``kind`` is the device's operating system, or ``server``.
    """
    try:
        if kind == SERVER:
            return host_tree.parsed(text)
        reader = system(kind).reader
        assert reader is not None  # noqa: S101 - a plan has no device of such a system
        return reader.parsed(file, text)
    except RenderError as error:
        description = f"{file} cannot be read: {error.what}"
        raise SpecError(
            [Problem(NetworkPart(device), description, "see what the device shows for its configuration")]
        ) from None


@dataclass(frozen=True)
class Disruptive:
    """A disruption that a change causes.

    - ``statement``: the statement that causes the disruption, according to ``source``.
    - ``what``: the traffic or service that is interrupted; ``why``: the reason.
    - ``ports``: the ports that are disrupted; empty if the whole device is disrupted.
    """

    statement: str
    what: str
    why: str
    source: str
    ports: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeviceChange(JsonObject):
    """The change of a device. Mappings are by file name.

    - ``before``: digests of the running texts; ``after``: digests after the change.
    - ``commands``: the commands that make the change; ``target``: the whole configuration after the change.
    - ``as_designed``: True if the device runs exactly its design after the change.
    - ``shown``: the statements removed (``-``), added (``+``) and changed (``~``).
    - ``kept``: statements outside the design that stay on the device.
    - ``pending``: differences from the design that this change leaves alone, as in ``shown``.
    - ``disrupts``: the disruptions that the change causes.
    - ``refused``: the reasons why the device would reject the change or railweave cannot make it.
    """

    JSON = (
        "system",
        "before",
        "commands",
        "target",
        "after",
        "as_designed",
        "shown",
        "kept",
        "disrupts",
        "refused",
        "pending",
    )

    device: str
    system: str
    before: Mapping[str, str] = field(default_factory=dict[str, str])
    commands: Mapping[str, tuple[Command, ...]] = field(default_factory=dict[str, "tuple[Command, ...]"])
    target: Mapping[str, str] = field(default_factory=dict[str, str])
    after: Mapping[str, str] = field(default_factory=dict[str, str])
    as_designed: bool = False
    shown: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    disrupts: tuple[Disruptive, ...] = ()
    refused: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self.commands.values())

    @classmethod
    def of_json(cls, device: str, document: Mapping[str, Any]) -> DeviceChange:
        """Return the change from the JSON object of a plan file. Raises ``KeyError`` or ``TypeError`` if the object is invalid."""
        return cls(
            device,
            document["system"],
            dict(document["before"]),
            {file: tuple(lines) for file, lines in document["commands"].items()},
            dict(document["target"]),
            dict(document["after"]),
            bool(document["as_designed"]),
            tuple(document["shown"]),
            tuple(document["kept"]),
            tuple(
                Disruptive(**disruption | {"ports": tuple(disruption["ports"])}) for disruption in document["disrupts"]
            ),
            tuple(document["refused"]),
            tuple(document.get("pending", ())),
        )


def change(
    device: str,
    nos: str,
    running: Mapping[str, str],
    wanted: Mapping[str, str],
    own_statements: Callable[[], DeviceCheck] | None,
) -> DeviceChange:
    """Return the change from a device's running texts to the wanted texts, both by file.

    ``own_statements`` is a function that finds the statements that belong to the device and not to the design; they are
    kept. The function is slow, so it is called only if the change would remove a statement. If it is None, no such
    statement is kept. Raises ``SpecError`` for a text that cannot be read.
    """
    reader, transaction = system(nos).reader, system(nos).transaction
    if reader is None or transaction is None:
        return DeviceChange(device, nos, refused=(system(nos).by_hand(device),))
    files = [file for file in wanted if file in running]
    refused = [f"the device did not say its {file}" for file in wanted if file not in running]
    before, after, target = dict[str, str](), dict[str, str](), dict[str, str]()
    commands = dict[str, tuple["Command", ...]]()
    shown, kept, disrupts = list[str](), list[str](), list[Disruptive]()
    for file in files:
        old, new = tree(nos, device, file, running[file]), tree(nos, device, file, wanted[file])
        change, stay = _without_own(nos, running, file, old, compare(old, new), own_statements)
        before[file] = digest(old.nodes)
        kept += stay
        if not change:
            continue
        commands[file] = tuple(change.commands)
        nodes = apply(old.nodes, change.steps)
        target[file], after[file] = reader.printed(file, nodes), digest(nodes)
        shown += statements(change)
        disrupts += [_disruptive(step, row) for step, row in change.disrupts]
        if change.refused and file in transaction.WHOLE:
            commands[file] = (transaction.WHOLE[file],)
        else:
            refused += [f"{hidden(refusal.step.path)}: {refusal.why}; {refusal.instead}" for refusal in change.refused]
    return DeviceChange(
        device,
        nos,
        before,
        commands,
        target,
        after,
        as_designed=own_statements is not None and not kept,
        shown=tuple(shown),
        kept=tuple(kept),
        disrupts=tuple(dict.fromkeys(disrupts)),
        refused=tuple(refused),
    )


def partial_change(
    device: str,
    nos: str,
    running: Mapping[str, str],
    designs: tuple[Mapping[str, str], Mapping[str, str]],
    own_statements: Callable[[Mapping[str, str]], DeviceCheck],
) -> DeviceChange:
    """Return the change that applies only the difference between two designs to a device. Its other differences from the design remain.

    The change is refused if part of it does not fit the device, for example if it replaces a value that the device does not have.
    Raises ``SpecError`` for a text that cannot be read.

    - ``running``: the running texts by file.
    - ``designs``: (texts of the former design by file, texts of the wanted design by file).
    - ``own_statements``: a function that finds the device's own statements (see ``change``) in the texts after this change.
    """
    former, wanted = designs
    reader = system(nos).reader
    if reader is None or system(nos).transaction is None:
        return change(device, nos, running, wanted, None)
    target, conflicts = dict(wanted), list[str]()
    for file in [file for file in wanted if file in running]:
        here, old, new = (tree(nos, device, file, texts[file]) for texts in (running, former, wanted))
        nodes, clashes = _carried(here.nodes, compare(old, new).steps)
        conflicts += clashes
        target[file] = reader.printed(file, nodes)
    refused = (
        f"{clash} is different on the device: `deploy plan` first, or take all differences with --also-pending"
        for clash in conflicts
    )
    made = change(device, nos, running, target, None)
    rest = change(device, nos, target, wanted, lambda: own_statements(target))
    as_designed = not rest.shown and not rest.kept
    return replace(made, refused=(*made.refused, *refused), pending=rest.shown, kept=rest.kept, as_designed=as_designed)


def _carried(nodes: tuple[Node, ...], steps: Sequence[Step]) -> tuple[tuple[Node, ...], list[str]]:
    """Apply ``steps`` to ``nodes``, the statements of a device. Each step adds, removes, replaces or moves a statement.

    Return (new statements, texts of the steps that do not fit the device). A step whose result the device already has is skipped.
    A step does not fit, for example, if it replaces a value that the device does not have.
    """
    clashes: list[str] = []
    for step in steps:
        siblings: Sequence[Node] | None = nodes
        for name in step.above:
            parent = next((node for node in siblings or () if node.name == name), None)
            siblings = None if parent is None else parent.children or ()
        node = next((node for node in siblings or () if node.name == step.node.name), None)
        done = (
            node is None
            if step.kind == "remove"
            else step.kind != "move" and node is not None and _same(node, step.node)
        )
        if done:
            continue
        if step.kind == "add":
            fits = node is None
        elif step.kind == "replace":
            fits = node is not None and (step.old is None or node.values == step.old.values)
        else:
            fits = node is not None and (not step.before or any(other.name == step.before for other in siblings or ()))
        if siblings is not None and fits:
            nodes = apply(nodes, [step])
        else:
            clashes.append(f"`{statement(step, step.node)}`")
    return nodes, clashes


def _same(node: Node, other: Node) -> bool:
    return digest([node]) == digest([other])


def server_change(server: str, running: Mapping[str, str], wanted: Mapping[str, str]) -> DeviceChange:
    """Return the change of a server from its running ``host.json`` to the wanted ``host.json``. Raises ``SpecError`` if a text cannot be read."""
    before, after, target = dict[str, str](), dict[str, str](), dict[str, str]()
    commands = dict[str, tuple["Command", ...]]()
    shown, disrupts = list[str](), list[Disruptive]()
    for file, text in wanted.items():
        old, new = (tree(SERVER, server, file, content) for content in (running[file], text))
        change = compare(old, new)
        before[file] = digest(old.nodes)
        if change:
            commands[file], target[file], after[file] = tuple(change.commands), text, digest(new.nodes)
            shown += statements(change)
            disrupts += [_disruptive(step, row) for step, row in change.disrupts]
    return DeviceChange(
        server, SERVER, before, commands, target, after, shown=tuple(shown), disrupts=tuple(dict.fromkeys(disrupts))
    )


def _disruptive(step: Step, row: Disruption) -> Disruptive:
    return Disruptive(hidden(step.path), row.what, row.why, row.source, ports_of(row, step))


def _without_own(
    nos: str,
    running: Mapping[str, str],
    file: str,
    old: ConfigTree,
    change: Change,
    own_statements: Callable[[], DeviceCheck] | None,
) -> tuple[Change, list[str]]:
    """Return (``change`` without removals of the device's own statements, these statements as texts).

    The operator or the system itself added these statements, and they have no effect on the design. ``running`` has the running
    texts by file, and ``old`` is the tree of ``file``. For a tree of a server's settings, the change is returned unmodified, because
    the field ``Node.stays`` already marks the settings to keep.
    """
    if any(node.stays for node in old.nodes):
        return change, []
    reader, by_itself = system(nos).reader, catalog().systems[nos].reads.by_itself
    gone = [step for step in change.steps if step.kind == "remove"]
    unpaired = any(len(edit) == 1 and edit[0].kind == "add" for edit in edits(change.back)) if gone else False
    extra = (
        {cause.found for cause, finding in own_statements().causes if finding.id == EXTRA.id}
        if own_statements and unpaired  # no other statement can be extra, and asking takes most of the time
        else set[str]()
    )
    candidates = [
        step
        for step in gone
        if own_statements and (statement(step, step.node) in extra or is_by_itself(step, by_itself))
    ]
    if not candidates or reader is None:
        return change, []
    base = reader.read(running).config
    by_themselves = [candidate for candidate in candidates if is_by_itself(candidate, by_itself)]
    together = by_themselves if _means_nothing(reader, running, file, old, by_themselves, base) else []
    stay = [
        candidate
        for candidate in candidates
        if candidate in together or _means_nothing(reader, running, file, old, [candidate], base)
    ]
    steps = tuple(step for step in change.steps if step not in stay)
    return Change(change.tree, steps, (), change.not_compared, change.before), [
        statement(step, step.node) for step in stay
    ]


def _means_nothing(
    reader: Reader, running: Mapping[str, str], file: str, old: ConfigTree, steps: Sequence[Step], base: DeviceConfig
) -> bool:
    text = reader.printed(file, apply(old.nodes, steps))
    try:
        return not any(differences(base, reader.read({**running, file: text}).config))
    except RenderError:
        return False


def loses_only(change: DeviceChange) -> bool:
    """Return True if a server's change only removes routes or rules."""
    kinds = {(line[0], line[2:].partition(" ")[0]) for line in change.shown}
    return bool(kinds & {("-", table) for table in TABLES}) and not kinds & {
        (sign, table) for sign in "+~" for table in TABLES
    }


def digest(nodes: Sequence[Node]) -> str:
    """Return a digest of the statements ``nodes`` and of all statements below them.

    The order of statements changes the digest only for statements whose field ``ordered`` is True.
    """
    rows = [
        (node.ordered, node.name, node.values, None if node.children is None else digest(node.children))
        for node in nodes
    ]
    texts = [repr(row) for row in rows]
    free = sorted(text for text, row in zip(texts, rows, strict=True) if not row[0])
    ordered = [text for text, row in zip(texts, rows, strict=True) if row[0]]
    return hashlib.sha256("\n".join([*free, *ordered]).encode()).hexdigest()


def statements(change: Change) -> list[str]:
    """Return a change as lines for removed (``-``), added (``+``) and changed (``~``) statements. The values of secrets are hidden."""
    gone = {(step.above, step.node.name): step for step in change.steps if step.kind == "remove"}
    come = {(step.above, step.node.name) for step in change.steps if step.kind == "add"}
    lines: list[str] = []
    for step in change.steps:
        at = (step.above, step.node.name)
        if step.kind == "remove" and at not in come:
            lines.append(f"- {statement(step, step.node)}")
        elif step.kind == "add":
            lines.append(f"{'~' if at in gone else '+'} {statement(step, step.node)}")
        elif step.kind == "replace":
            old = " ".join(step.old.values) if step.old else ""
            lines.append(f"~ {statement(step, step.node)} (was {hidden(old)})")
        elif step.kind == "move":
            lines.append(f"~ {statement(step, step.node)} (moves before {' '.join(step.before)})")
    return lines


def innermost(step: Step) -> list[str]:
    """Return the statements without children below a step's statement, each with its parents. The values of secrets are hidden."""
    if not step.node.children:
        return [statement(step, step.node)]
    above = (*step.above, step.node.name)
    return [line for child in step.node.children for line in innermost(replace(step, above=above, node=child))]
