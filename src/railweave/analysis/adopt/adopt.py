"""Import a network: find its fabric file, design it, and compare the design with what was read."""

from __future__ import annotations

import copy
import csv
import io
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.draft import Note
from railweave.analysis.adopt.fabric_file import fabric_text
from railweave.analysis.adopt.importing import Files, files
from railweave.analysis.adopt.own import extra
from railweave.analysis.adopt.score import Score, nothing_of, score
from railweave.analysis.adopt.texts import read_devices, read_lldp
from railweave.design import design
from railweave.errors import FileLine, InputError, Problem, RenderError
from railweave.model.device.build import device_config
from railweave.model.intent.inventory import TO_FILL_IN
from railweave.model.intent.lock import Lock
from railweave.model.intent.reading.source import companion, read_source
from railweave.model.state.capture import read_capture
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.analysis.adopt.wiring import Lldp
    from railweave.model.config.tree import ConfigTree
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Imported:
    """A network as a fabric file: its three texts, what could not be taken into them, and how well they give it back.

    ``network`` is the design of the file, and ``scores`` compares it with what was read, switch by switch.
    """

    fabric: str
    lock: str
    inventory: str
    notes: tuple[str, ...]
    network: Network
    scores: tuple[Score, ...]

    def differences(self) -> list[str]:
        """Statements that are lost or new, and policies in another order, each once with its switches."""
        seen: dict[tuple[str, str], list[str]] = {}
        for one in self.scores:
            moved = [f"terms of policy {name} are in another order" for name in one.reordered]
            for sign, lines in (("-", one.lost), ("+", one.extra), ("~", moved)):
                for line in lines:
                    seen.setdefault((sign, line), []).append(one.device)
        return [
            f"{sign} {line} ({devices[0]}{f' and {len(devices) - 1} more' if len(devices) > 1 else ''})"
            for (sign, line), devices in seen.items()
        ]

    def write(self, file: Path) -> list[Path]:
        """Write the fabric file, its lock and its inventory beside it. The files written."""
        written = {
            file: self.fabric,
            companion(file, "lock"): self.lock,
            companion(file, "inventory.csv"): self.inventory,
        }
        for path, text in written.items():
            write_file(path, text)
        return list(written)

    def to_json(self) -> dict[str, Any]:
        """What was found, as plain values."""
        return {
            "switches": len(self.scores),
            "equal": sum(one.equal for one in self.scores),
            "equivalent": sum(one.equivalent for one in self.scores),
            "extra": sum(len(one.extra) for one in self.scores),
            "lost": sum(len(one.lost) for one in self.scores),
            "notes": list(self.notes),
            "devices": [one.to_json() for one in self.scores],
        }


def imported(
    name: str,
    configs: Mapping[str, DeviceConfig],
    *,
    lldp: Lldp | None = None,
    trees: Mapping[str, Mapping[str, ConfigTree]] | None = None,
    models: Mapping[str, str] | None = None,
    draft: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Imported:
    """A network's configurations as a fabric file.

    ``trees`` are those of the texts that they were read from, by switch and file; ``models`` the switch models by role. Raises
    ``InputError`` where the fabric file that was found cannot be designed; it is then written to ``draft``, to be mended by hand.
    """
    progress("finding out who is joined with whom")
    found = files(name, configs, lldp or {}, models)
    configs = found.configs
    progress("designing what was found")
    try:
        network, lock, found = _settled(found, configs)
    except InputError as error:
        if draft is None:
            raise
        write_file(draft, fabric_text(found.document))
        write_file(
            companion(draft, "lock"), Lock({pool: slots for pool, slots in found.lock.items() if slots}).to_text()
        )
        write_file(companion(draft, "inventory.csv"), _inventory(found))
        raise InputError([_in_file(one, draft) for one in error.problems]) from None
    scores = _scores(network, found, trees or {})
    kept = _with_extra(found, network, configs, trees or {}, scores)
    if kept is not None:
        found, network, lock = kept
        scores = _scores(network, found, trees or {})
    there = {one.device for one in scores}
    found.notes.extend(Note(f"{name}: no switch of the design stands for it") for name in configs if name not in there)
    scores.extend(nothing_of(name, configs[name], (trees or {}).get(name)) for name in configs if name not in there)
    parts = {field.field.partition(".")[0] for one in scores for field in one.fields}
    notes = tuple(one.text for one in found.notes if not one.part or one.part in parts)
    return Imported(fabric_text(found.document), lock.to_text(), _inventory(found), notes, network, tuple(scores))


def _in_file(problem: Problem, file: Path) -> Problem:
    """The same problem in the file that was written."""
    place = problem.place
    return replace(problem, place=FileLine(str(file), place.line)) if isinstance(place, FileLine) else problem


def _scores(network: Network, found: Files, trees: Mapping[str, Mapping[str, ConfigTree]]) -> list[Score]:
    there = {one.name for one in network.switches}
    return [
        score(config, device_config(network, name), trees.get(name), found.ports.get(name))
        for name, config in found.configs.items()
        if name in there
    ]


def _with_extra(
    found: Files,
    network: Network,
    configs: Mapping[str, DeviceConfig],
    trees: Mapping[str, Mapping[str, ConfigTree]],
    scores: list[Score],
) -> tuple[Files, Network, Lock] | None:
    """The files with statements under ``extra`` of each role that all of its switches have and the design has not; None: there are none.

    They are left out again where the fabric file is refused with them, or less of what was read is there afterwards.
    """
    document = copy.deepcopy(found.document)
    added = False
    for fabric in network.fabrics:
        by_role: dict[tuple[str, str], list[str]] = {}
        for one in network.switches:
            if one.fabric == fabric.name and one.name in trees and one.name in configs:
                by_role.setdefault((one.role, one.nos), []).append(one.name)
        for (role, nos), names in by_role.items():
            designed = {name: device_config(network, name) for name in names}
            text = extra(nos, {name: trees[name] for name in names}, designed)
            if text.strip():
                part = document["fabrics"][fabric.name].setdefault(role.replace("-", "_"), {})
                part["extra"] = {nos: text}
                added = True
    if not added:
        return None
    made = replace(found, document=document)
    try:
        other, lock = _design(made)
        again = _scores(other, found, trees)
    except (InputError, RenderError):
        return None
    better = sum(len(one.lost) + len(one.extra) for one in again) < sum(
        len(one.lost) + len(one.extra) for one in scores
    )
    return (made, other, lock) if better else None


def imported_folder(
    name: str,
    folder: Path,
    models: Mapping[str, str],
    draft: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Imported:
    """The same from a folder of saved configurations. What no reader understood is among the notes, and lost.

    Raises ``InputError`` for a folder that is no capture, with file and line of a text that cannot be read, and as ``imported`` does.
    """
    progress(f"reading {folder}")
    capture = read_capture(folder)
    devices = read_devices(capture)
    configs = {one.name: replace(one.reading.config, name=one.name, nos=one.nos) for one in devices}
    if len(configs) < len(devices):
        names = Counter(one.name for one in devices)
        twice = next(one for one in devices if names[one.name] > 1)
        what = f"two devices call themselves {twice.name!r}"
        raise InputError(
            [Problem(FileLine(str(next(iter(twice.paths.values())))), what, "keep one configuration of each device")]
        )
    lldp = read_lldp(capture, devices)
    trees = {one.name: one.trees() for one in devices}
    found = imported(name, configs, lldp=lldp, trees=trees, models=models, draft=draft, progress=progress)
    unknown = [
        f"{one.paths[said.file].name if said.file in one.paths else said.file}:{said.line} of {one.name} is not understood: {said.path}"
        for one in devices
        for said in one.not_understood
    ]
    return replace(found, notes=(*found.notes, *unknown))


def _design(found: Files) -> tuple[Network, Lock]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "imported.yaml"
        write_file(file, fabric_text(found.document))
        write_file(companion(file, "inventory.csv"), _inventory(found))
        pools = {pool: dict(slots) for pool, slots in found.lock.items() if slots}
        return design(read_source(file, Lock(pools)))


def _settled(found: Files, configs: Mapping[str, DeviceConfig]) -> tuple[Network, Lock, Files]:
    """The design, with the fields set whose default it shows not to be what switches have."""
    network, lock = _design(found)
    changed = False
    for fabric in network.fabrics:
        part = found.document["fabrics"][fabric.name]
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
        network, lock = _design(found)
    return network, lock, found


def _inventory(found: Files) -> str:
    text = io.StringIO()
    rows = csv.DictWriter(text, TO_FILL_IN, lineterminator="\n")
    rows.writeheader()
    for (device, port), metres in sorted(found.lengths.items()):
        rows.writerow({"device": device, "interface": port, "length": metres})
    return text.getvalue()
