"""Import of a network: derive a fabric file from its configurations, design the file, and compare the design with the configurations."""

from __future__ import annotations

import copy
import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

import yaml
from pydantic import BaseModel

from railweave.analysis.adopt.draft import Note
from railweave.analysis.adopt.importing import Files, files
from railweave.analysis.adopt.texts import read_devices, read_lldp
from railweave.design import design
from railweave.errors import FileLine, InputError, Option, Problem, RenderError
from railweave.model.catalog import catalog
from railweave.model.config.apply import alone, merged
from railweave.model.config.compare import compare
from railweave.model.config.gate import named
from railweave.model.config.secret_words import alike
from railweave.model.config.spelling import plainly
from railweave.model.device.build import device_config
from railweave.model.device.fields import FieldDifference, differences
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.inventory import TO_FILL_IN
from railweave.model.intent.lock import Lock
from railweave.model.intent.reading.source import companion, read_source
from railweave.model.state.capture import read_capture
from railweave.pages.table import Table, columns
from railweave.progress import silent
from railweave.systems import system
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from railweave.analysis.adopt.wiring import Lldp
    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.model import BgpGroup, DeviceConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Score:
    """The comparison of a switch's saved configuration with the configuration that railweave designs for it.

    - ``equal``: the number of statements in both.
    - ``equivalent``: the number of saved statements that differ from the design only in names or descriptions, or that the
      switch's system writes by itself.
    - ``extra``: the statements that only the design has.
    - ``lost``: the statements that only the saved configuration has.
    - ``fields``: the configuration fields that differ.
    """

    device: str
    equal: int
    equivalent: int
    extra: tuple[str, ...]
    lost: tuple[str, ...]
    fields: tuple[FieldDifference, ...] = field(default=())

    @property
    def percent(self) -> float:
        """The percentage of the saved statements that the design also has."""
        kept = self.equal + self.equivalent
        return 100 * kept / (kept + len(self.lost)) if kept or self.lost else 100.0

    @property
    def reordered(self) -> tuple[str, ...]:
        """The names of policies whose terms have a different order in the design."""
        return tuple(
            difference.place[2] for difference in self.fields if difference.field == "bgp.policies.terms.order"
        )

    @property
    def whole(self) -> bool:
        """True if the design has exactly the saved statements (equal or equivalent), with policy terms in the same order."""
        return not (self.lost or self.extra or self.reordered)

    def to_json(self) -> dict[str, Any]:
        """Return the score as a JSON object: the counts, the statements that differ, and each differing field with its two values."""
        return {
            "device": self.device,
            "equal": self.equal,
            "equivalent": self.equivalent,
            "extra": list(self.extra),
            "lost": list(self.lost),
            "fields": [
                {"place": list(difference.place), "read": difference.old, "designed": difference.new}
                for difference in self.fields
            ],
        }


_NOT_SAID = (
    *("role", "model", "release", "left_out", "extra", "schema"),
    *("interfaces.link", "interfaces.lanes", "interfaces.length_m"),
    *("bgp.groups.sessions.link", "isis.ports.link", "vrfs.external.session.link", "qos.moved"),
)
"""Fields that no operating system's configuration text contains."""


def score(
    read: DeviceConfig,
    designed: DeviceConfig,
    trees: Mapping[str, ConfigTree] | None = None,
    ports: Mapping[str, str] | None = None,
) -> Score:
    """Compare a switch's saved configuration (``read``) with its designed configuration, statement by statement.

    - ``trees``: the saved files as trees of statements. Default: trees are made from ``read``.
    - ``ports``: a map from port names in the saved files to port names in the design. Statements that differ only in
      mapped port names are equivalent. The map has no effect without ``trees``.
    """
    read_system = system(read.nos)
    statements = list(
        _all(trees if trees is not None else read_system.trees(replace(read, model=read.model or designed.model)))
    )
    moved = _moved(statements, ports or {}) if trees is not None else {}
    old = Counter(moved.get(line, line) for line in statements)
    new = Counter(_all(read_system.trees(designed)))
    both = old & new
    equivalent = sum(both[line] for line in {*moved.values()} if line in both)
    equal = sum(both.values()) - equivalent
    left, come = list((old - new).elements()), list((new - old).elements())
    secret = _take(left, come, _alike_secret)
    words = _renames(read, designed)
    equivalent += _take(left, come, partial(_renamed, words)) if left and come else 0
    equivalent += _take(left, come, _without_text) if left and come else 0
    reads = catalog().systems[read.nos].reads
    equivalent += _take(left, come, partial(plainly, spelled=reads.spelled)) if left and come and reads.spelled else 0
    written = [line for line in left if any(re.fullmatch(pattern, line) for pattern in reads.by_itself)]
    left = [line for line in left if line not in set(written)]
    equivalent += len(written)
    unsaid = (*reads.unsaid, *_NOT_SAID)
    fields = tuple(differences(read, designed, without=unsaid))
    return Score(read.name, equal + secret, equivalent, tuple(come), tuple(left), fields)


def nothing_of(name: str, read: DeviceConfig, trees: Mapping[str, ConfigTree] | None = None) -> Score:
    """Return the score of a switch that is missing from the design: every statement of its saved configuration counts as lost.

    ``read`` is the saved configuration, and ``trees`` its statements by file. Default: trees are made from ``read``.
    """
    return Score(name, 0, 0, (), tuple(_all(trees if trees is not None else system(read.nos).trees(read))))


def _moved(lines: Iterable[str], ports: Mapping[str, str]) -> dict[str, str]:
    """Return a map from each statement in ``lines`` that names a renamed port to the same statement with the new port name.

    ``ports`` maps old port names to new port names.
    """
    names = {old: new for old, new in ports.items() if old != new}
    if not names:
        return {}
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w:/-])({either})(?![\w:/-])")
    made = {line: pattern.sub(lambda match: names[match[0]], line) for line in lines}
    return {line: text for line, text in made.items() if text != line}


def _take(left: list[str], come: list[str], form: Callable[[str], str]) -> int:
    """Remove pairs of matching statements from both lists, and return the number of pairs.

    ``left`` holds statements of the saved configuration, and ``come`` statements of the design. Two statements match if
    ``form`` returns the same text for both.
    """
    there: dict[str, list[str]] = {}
    for line in come:
        there.setdefault(form(line), []).append(line)
        if form(line) != line:
            there.setdefault(line, []).append(line)
    pairs = 0
    for line in list(left):
        for key in (form(line), line):
            match = next((candidate for candidate in there.get(key, ()) if candidate in come), None)
            if match is not None:
                left.remove(line)
                come.remove(match)
                pairs += 1
                break
    return pairs


_SECRET = re.compile(r"<(?:secret|hidden)(?:[-:][^<>]*)?>")


def _alike_secret(line: str) -> str:
    return _SECRET.sub("<secret>", line)


_TEXT = re.compile(r"(\bdescription\b)(.*)$")


def _without_text(line: str) -> str:
    """Return a statement without the text of a description, because descriptions have no effect."""
    return _TEXT.sub(r"\1", line)


def _renamed(words: Mapping[str, str], line: str) -> str:
    return re.sub(r"[^\s/;\"]+", lambda match: words.get(match[0], match[0]), line)


def _all(trees: Mapping[str, ConfigTree]) -> Iterator[str]:
    for tree in trees.values():
        yield from _lines(tree.nodes, "")


def _lines(nodes: Iterable[Node], above: str) -> Iterator[str]:
    for node in nodes:
        here = f"{above}{' '.join(node.name)}"
        if node.values:
            yield f"{here} {' '.join(node.values)}"
        elif not node.children:
            yield here
        if node.children:
            yield from _lines(node.children, f"{here} / ")


def _renames(read: DeviceConfig, designed: DeviceConfig) -> dict[str, str]:
    """Return a map from names in the saved configuration (``read``) to the names of the same objects in the design (``designed``).

    The objects are VLANs, BGP groups, policies, policy terms, prefix lists, AS lists and communities.
    """
    renames: dict[str, str] = {}
    vlans = {gateway.vlan: gateway.vlan_name for gateway in designed.gateways}
    renames |= {gateway.vlan_name: vlans[gateway.vlan] for gateway in read.gateways if gateway.vlan in vlans}
    read_bgp, other = read.bgp, designed.bgp
    if read_bgp is None or other is None:
        return renames
    groups = {_sessions(group): group for group in other.groups}
    policies = {policy.name: policy for policy in other.policies}
    for group in read_bgp.groups:
        there = groups.get(_sessions(group))
        if there is None:
            continue
        renames |= {
            group.name: there.name,
            group.import_policy: there.import_policy,
            group.export_policy: there.export_policy,
        }
        if group.peer_as_list and there.peer_as_list:
            renames[group.peer_as_list] = there.peer_as_list
    for policy in read_bgp.policies:
        named = policies.get(renames.get(policy.name, policy.name))
        if named is not None and len(named.terms) == len(policy.terms):
            renames |= {a.name: b.name for a, b in zip(policy.terms, named.terms, strict=True) if a.name != b.name}
    lists = {prefixes: name for name, prefixes in other.prefix_lists.items()}
    renames |= {name: lists[prefixes] for name, prefixes in read_bgp.prefix_lists.items() if prefixes in lists}
    values = {community.value: community.name for community in other.communities}
    renames |= {
        community.name: values[community.value] for community in read_bgp.communities if community.value in values
    }
    return {name: word for name, word in renames.items() if name and word and name != word}


def _sessions(group: BgpGroup) -> tuple[str, ...]:
    return tuple(sorted(session.interface or str(session.peer_address) for session in group.sessions))


def secrets_alike(statement: str, other: str) -> bool:
    """Return True if two statements are equal. A secret in plain text counts as equal to a reference such as ``secret:NAME``."""
    return alike(statement, other) is not False


def fabric_text(document: Mapping[str, Any]) -> str:
    """Return the fabric file as YAML text. Mappings and lists without nested ones are written on one line."""
    return yaml.dump(
        _ordered(document, FabricFile),
        Dumper=_Plain,
        sort_keys=False,
        allow_unicode=True,
        width=120,
        default_flow_style=None,
    )


class _Plain(yaml.SafeDumper):
    """A YAML dumper that writes shared values in full instead of using aliases, and multi-line text as blocks."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401 - PyYAML's
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    represent = cast("Callable[..., yaml.ScalarNode]", dumper.represent_scalar)  # pyright: ignore[reportUnknownMemberType]
    return represent("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def _ordered(value: Any, model: type[BaseModel]) -> Any:  # noqa: ANN401 - YAML values
    """Return a section of the fabric file with its keys sorted as in the file's reference documentation, at every depth.

    ``model`` is the class that defines the section.
    """
    if not isinstance(value, dict):
        return value
    part = cast("dict[str, Any]", value)
    made: dict[str, Any] = {}
    for name, known in model.model_fields.items():
        if name not in part:
            continue
        inner, child = _inner(known.annotation), part[name]
        if inner is not None and isinstance(child, dict) and get_origin(known.annotation) is dict:
            made[name] = {key: _ordered(each, inner) for key, each in cast("dict[str, Any]", child).items()}
        else:
            made[name] = _ordered(child, inner) if inner is not None and isinstance(child, dict) else child
    return made | {key: unordered for key, unordered in part.items() if key not in made}


def _inner(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - a type
    """Return the first model class in a field's type annotation, or None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for argument in get_args(annotation) if (model := _inner(argument)) is not None), None)


def extra(nos: str, read: Mapping[str, Mapping[str, ConfigTree]], designed: Mapping[str, DeviceConfig]) -> str:
    """Return the statements that all the given switches have and their designs lack, in the syntax of the operating system ``nos``.

    Return "" if there are none.

    ``read`` maps each switch to its saved configuration, as one tree per file. ``designed`` maps each switch to its designed
    configuration. A statement for which the design has a different value is left out, because a switch can have only one of the two
    values.
    """
    reader = system(nos).reader
    if reader is None or not read:
        return ""
    for file in next(iter(read.values())):
        shared: list[Node] | None = None
        for name, trees in read.items():
            there = system(nos).trees(designed[name])
            if file not in trees or file not in there:
                return ""
            added = _added(there[file], trees[file])
            shared = added if shared is None else [node for node in shared if node in added]
        if not shared:
            continue
        text = named(reader.printed(file, merged(shared)))
        try:
            system(nos).check_extra(text)
        except RenderError:
            continue  # another file of the system takes no statements of an operator
        return text
    return ""


def _added(designed: ConfigTree, read: ConfigTree) -> list[Node]:
    """Return the statements of ``read`` that the design (``designed``) lacks. Each is a tree with only the statement and its parents."""
    return [alone(step.node, step.above, read.nodes) for step in compare(designed, read).steps if step.kind == "add"]


_SCORES = ("equal", "equivalent", "extra", "lost")


@dataclass(frozen=True)
class ImportedNetwork:
    """The result of an import: the text of the fabric file (``fabric``), of its lock file and of its inventory.

    ``notes`` lists the facts that these files cannot express. ``network`` is the design of the fabric file. ``scores`` compares this
    design with the saved configurations, with one score per switch.
    """

    fabric: str
    lock: str
    inventory: str
    notes: tuple[str, ...]
    network: Network
    scores: tuple[Score, ...]

    @property
    def table(self) -> Table:
        """A table of statement counts (equal, equivalent, extra, lost): one row per switch with differences, and a total."""
        counts = [(score.equal, score.equivalent, len(score.extra), len(score.lost)) for score in self.scores]
        rows = [(score.device, *row) for score, row in zip(self.scores, counts, strict=True) if not score.whole]
        return Table(
            columns("switch", *_SCORES, numbers=_SCORES), [*rows, ("all", *map(sum, zip(*counts, strict=True)))]
        )

    def differences(self) -> list[str]:
        """Return one line per difference, such as ``- STATEMENT (leaf1 and 3 more)``.

        The sign is ``-`` for a lost statement, ``+`` for an extra statement, and ``~`` for a policy whose terms have a different order.
        """
        seen: dict[tuple[str, str], list[str]] = {}
        for switch_score in self.scores:
            moved = [f"terms of policy {name} have a different order" for name in switch_score.reordered]
            for sign, lines in (("-", switch_score.lost), ("+", switch_score.extra), ("~", moved)):
                for line in lines:
                    seen.setdefault((sign, line), []).append(switch_score.device)
        return [
            f"{sign} {line} ({devices[0]}{f' and {len(devices) - 1} more' if len(devices) > 1 else ''})"
            for (sign, line), devices in seen.items()
        ]

    def write(self, file: Path) -> list[Path]:
        """Write the fabric file, with its lock and its inventory next to it. Return the paths of all three."""
        written = {
            file: self.fabric,
            companion(file, "lock"): self.lock,
            companion(file, "inventory.csv"): self.inventory,
        }
        for path, text in written.items():
            write_file(path, text)
        return list(written)

    def to_json(self) -> dict[str, Any]:
        """Return the result as a JSON object: total counts, notes, and the score of each switch."""
        return {
            "switches": len(self.scores),
            "equal": sum(switch_score.equal for switch_score in self.scores),
            "equivalent": sum(switch_score.equivalent for switch_score in self.scores),
            "extra": sum(len(switch_score.extra) for switch_score in self.scores),
            "lost": sum(len(switch_score.lost) for switch_score in self.scores),
            "notes": list(self.notes),
            "devices": [switch_score.to_json() for switch_score in self.scores],
        }


def imported(
    name: str,
    configs: Mapping[str, DeviceConfig],
    *,
    lldp: Lldp | None = None,
    trees: Mapping[str, Mapping[str, ConfigTree]] | None = None,
    models: Mapping[str, str] | None = None,
    draft: Path | None = None,
    progress: Callable[[str], None] = silent,
) -> ImportedNetwork:
    """Derive a network's fabric file from its switches' configurations, and return the file with its design.

    - ``configs``: the configuration of each switch, by name.
    - ``lldp``: the LLDP neighbors, if the capture has them.
    - ``trees``: the saved configuration files as trees, by switch and file.
    - ``models``: the switch models by role.

    If no network can be designed from the derived fabric file, the file is written to ``draft``, to be fixed by hand, and
    ``InputError`` is raised.
    """
    progress("finding the links between switches")
    fabric_files = files(name, configs, lldp or {}, models)
    configs = fabric_files.configs
    progress("designing the imported network")
    try:
        network, lock, fabric_files = _settled(fabric_files, configs)
    except InputError as error:
        if draft is None:
            raise
        write_file(draft, fabric_text(fabric_files.document))
        write_file(
            companion(draft, "lock"),
            Lock({pool: slots for pool, slots in fabric_files.lock.items() if slots}).to_text(),
        )
        write_file(companion(draft, "inventory.csv"), _inventory(fabric_files))
        raise InputError([_in_file(problem, draft) for problem in error.problems]) from None
    scores = _scores(network, fabric_files, trees or {})
    kept = _with_extra(fabric_files, network, configs, trees or {}, scores)
    if kept is not None:
        fabric_files, network, lock = kept
        scores = _scores(network, fabric_files, trees or {})
    there = {switch_score.device for switch_score in scores}
    fabric_files.notes.extend(Note(f"{name}: the design has no switch for it") for name in configs if name not in there)
    scores.extend(nothing_of(name, configs[name], (trees or {}).get(name)) for name in configs if name not in there)
    parts = {field.field.partition(".")[0] for switch_score in scores for field in switch_score.fields}
    notes = tuple(note.text for note in fabric_files.notes if not note.part or note.part in parts)
    return ImportedNetwork(
        fabric_text(fabric_files.document), lock.to_text(), _inventory(fabric_files), notes, network, tuple(scores)
    )


def _in_file(problem: Problem, file: Path) -> Problem:
    """Return the problem with ``file`` as the file in which it is located. The line number stays the same."""
    place = problem.place
    return replace(problem, place=FileLine(str(file), place.line)) if isinstance(place, FileLine) else problem


def _scores(network: Network, fabric_files: Files, trees: Mapping[str, Mapping[str, ConfigTree]]) -> list[Score]:
    there = {switch.name for switch in network.switches}
    return [
        score(config, device_config(network, name), trees.get(name), fabric_files.ports.get(name))
        for name, config in fabric_files.configs.items()
        if name in there
    ]


def _with_extra(
    fabric_files: Files,
    network: Network,
    configs: Mapping[str, DeviceConfig],
    trees: Mapping[str, Mapping[str, ConfigTree]],
    scores: list[Score],
) -> tuple[Files, Network, Lock] | None:
    """Return (files, design, lock) with statements of the saved configurations added under ``extra``, or None if this brings nothing.

    A statement is added to a role if all switches of the role have it and the design lacks it. The result is None if there is no such
    statement, if the additions make the fabric file invalid, or if the new design is no closer to the saved configurations than the
    present design, whose comparison is ``scores``. ``trees`` holds the saved statements by switch and file.
    """
    document = copy.deepcopy(fabric_files.document)
    added = False
    for fabric in network.fabrics:
        by_role: dict[tuple[str, str], list[str]] = {}
        for switch in network.switches:
            if switch.fabric == fabric.name and switch.name in trees and switch.name in configs:
                by_role.setdefault((switch.role, switch.nos), []).append(switch.name)
        for (role, nos), names in by_role.items():
            designed = {name: device_config(network, name) for name in names}
            text = extra(nos, {name: trees[name] for name in names}, designed)
            if text.strip():
                part = document["fabrics"][fabric.name].setdefault(role.replace("-", "_"), {})
                part["extra"] = {nos: text}
                added = True
    if not added:
        return None
    made = replace(fabric_files, document=document)
    try:
        other, lock = _design(made)
        again = _scores(other, fabric_files, trees)
    except (InputError, RenderError):
        return None
    better = sum(len(switch_score.lost) + len(switch_score.extra) for switch_score in again) < sum(
        len(switch_score.lost) + len(switch_score.extra) for switch_score in scores
    )
    return (made, other, lock) if better else None


def refuse_to_replace(out: Path) -> None:
    """Raise ``InputError`` if ``out``, the path of a new fabric file, or its lock or inventory already exists.

    The operator may have corrected the existing file.
    """
    there = [path for path in (out, companion(out, "lock"), companion(out, "inventory.csv")) if path.exists()]
    if there:
        description = (
            f"{' and '.join(str(path) for path in there)} would be overwritten, including any corrections made there"
        )
        raise InputError([Problem(Option("-o"), description, "give a different file, or --force to overwrite")])


def imported_folder(
    name: str,
    folder: Path,
    models: Mapping[str, str],
    draft: Path | None = None,
    progress: Callable[[str], None] = silent,
) -> ImportedNetwork:
    """Create a fabric file from a folder of saved configurations. Unknown statements are left out and listed in ``notes`` of the result.

    ``models`` holds switch models by role. If no network can be designed from the fabric file, the file is written to ``draft``. Raises
    ``InputError`` if the folder has no saved configurations, if a file cannot be read (with file and line), or if two devices have the
    same name. Also raises the errors of ``imported``.
    """
    progress(f"reading {folder}")
    capture = read_capture(folder)
    devices = read_devices(capture)
    configs = {device.name: replace(device.reading.config, name=device.name, nos=device.nos) for device in devices}
    if len(configs) < len(devices):
        names = Counter(device.name for device in devices)
        twice = next(device for device in devices if names[device.name] > 1)
        message = f"two devices have the name {twice.name!r}"
        raise InputError(
            [
                Problem(
                    FileLine(str(next(iter(twice.paths.values())))), message, "keep only one configuration per device"
                )
            ]
        )
    lldp = read_lldp(capture, devices)
    trees = {device.name: device.trees() for device in devices}
    result = imported(name, configs, lldp=lldp, trees=trees, models=models, draft=draft, progress=progress)
    unknown = [
        f"{device.paths[statement.file].name if statement.file in device.paths else statement.file}:{statement.line} of {device.name} is not understood: {statement.path}"
        for device in devices
        for statement in device.not_understood
    ]
    return replace(result, notes=(*result.notes, *unknown))


def _design(fabric_files: Files) -> tuple[Network, Lock]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "imported.yaml"
        write_file(file, fabric_text(fabric_files.document))
        write_file(companion(file, "inventory.csv"), _inventory(fabric_files))
        pools = {pool: dict(slots) for pool, slots in fabric_files.lock.items() if slots}
        return design(read_source(file, Lock(pools)))


def _settled(fabric_files: Files, configs: Mapping[str, DeviceConfig]) -> tuple[Network, Lock, Files]:
    """Design a reconstructed fabric file (``fabric_files``). Return (design, lock, fabric file as designed).

    If the default of ``maximum_ecmp`` or of ``path_color`` contradicts the configurations, this field is added to the file, and the
    design is repeated.
    """
    network, lock = _design(fabric_files)
    changed = False
    for fabric in network.fabrics:
        part = fabric_files.document["fabrics"][fabric.name]
        widths: dict[bool, int] = {}
        forms: set[tuple[bool, bool]] = set()
        for switch in network.switches:
            if switch.fabric != fabric.name or switch.name not in configs:
                continue
            old, new = configs[switch.name], device_config(network, switch.name)
            if old.maximum_ecmp() and old.maximum_ecmp() != new.maximum_ecmp():
                widths[True] = old.maximum_ecmp() or 0
            if old.bgp and new.bgp:
                forms.add((any(g.fabric_color for g in old.bgp.groups), any(g.fabric_color for g in new.bgp.groups)))
        if widths:
            part.setdefault("underlay", {})["maximum_ecmp"] = widths[True]
            changed = True
        if (False, True) in forms:
            part.setdefault("underlay", {})["path_color"] = "local-preference"
            changed = True
    if changed:
        network, lock = _design(fabric_files)
    return network, lock, fabric_files


def _inventory(fabric_files: Files) -> str:
    lengths = (
        {"device": device, "interface": port, "length": metres}
        for (device, port), metres in sorted(fabric_files.lengths.items())
    )
    return Table(columns(*TO_FILL_IN), [[row.get(column) for column in TO_FILL_IN] for row in lengths]).as_csv()
