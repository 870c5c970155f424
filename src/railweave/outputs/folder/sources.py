"""Functions that return networks from sources. A source is a fabric file or a build folder; two sources can be compared."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, Option, Problem
from railweave.model.intent.lock import Lock, read_lock
from railweave.model.intent.reading.source import Fields, FieldSource, companion
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import LOCK, design_file
from railweave.reading import file_bytes, file_text
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.model.intent.reading.source import Field

INVENTORY = "inventory.csv"
"""The end of an inventory's file name, ``NAME.inventory.csv``."""


def load(
    fabric: Path | str,
    lock: Lock | None = None,
    *,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    changes: Mapping[str, str] | None = None,
) -> Network:
    """Return the network of a fabric file, or of a ``build`` output folder (its ``design.json``). Nothing is written.

    - ``lock``: allocations to use in place of the lock next to the fabric file. A build folder contains its own lock.
    - ``device``: switches that replace those of the file, as for ``--device``: ``leaf=MODEL:NOS``, ``leaf=:eos``,
      ``:eos``.
    - ``hardware``: a folder of hardware files (docs/hardware.md). A build folder needs none.
    - ``changes``: values that replace fields of the fabric file, by path: ``{"fabrics.backend.topology.spines": "2"}``.

    Raises ``SpecError`` or ``DesignError`` with file and line of every problem. Raises ``InputError`` for a folder without a
    design of this version, and if ``device`` or ``changes`` is given with a folder.
    """
    path = Path(fabric)
    if path.is_dir():
        check_as_designed(path, device)
        if changes:
            message = "is a build folder, which is designed already"
            raise InputError([Problem(FileLine(str(path)), message, "give the fabric file to change what it says")])
        return _from_folder(path)
    network, _ = design_file(path, lock, device=device, hardware=path_of(hardware), changes=changes)
    return network


def load_pair(
    old: Network | Path | str,
    new: Network | Path | str,
    *,
    device: Sequence[str] = (),
    old_device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> tuple[Network, Network]:
    """Return (old network, new network) to compare. If ``new`` is a fabric file, it is designed with the allocations of ``old``.

    If the new file has no inventory, for example because it is a copy for an experiment, the old file's inventory is used.

    - ``device``, ``old_device``: switch models that replace the models of the new file and of the old file. To see
      the effect of different switches, compare a file with itself.
    - ``hardware``: a folder of hardware files for both networks.

    Raises the same errors as ``load``.
    """
    if isinstance(old, Network) or isinstance(new, Network):
        return network_of(old, old_device, hardware), network_of(new, device, hardware)
    if Path(old).is_dir():
        lock = read_lock(Path(old) / LOCK)
        return load(old, device=old_device), load(new, lock, device=device, hardware=hardware)
    hardware_folder = path_of(hardware)
    network, lock = design_file(Path(old), device=old_device, hardware=hardware_folder)
    if Path(new).is_dir():
        return network, load(new, device=device)
    return network, design_file(Path(new), lock, inventory_of=Path(old), device=device, hardware=hardware_folder)[0]


def check_as_designed(source: Network | Path, device: Sequence[str]) -> None:
    """Raise ``InputError`` if ``device`` is given and ``source`` is a network or a build folder, whose switches are already designed."""
    if device:
        statement = f"{source.name} is designed" if isinstance(source, Network) else f"{source} is built"
        fix = "give the fabric file, or build it again with --device"
        raise InputError([Problem(Option("--device", device[0]), f"{statement} for the switches it has", fix)])


def _from_folder(folder: Path) -> Network:
    from pydantic import ValidationError

    file = folder / "design.json"
    try:
        network = Network.from_json(file_bytes(file))
    except FileNotFoundError:
        raise InputError(
            [
                Problem(
                    FileLine(str(folder)),
                    "no design.json here",
                    "name a fabric file or the output folder of `railweave build`",
                )
            ]
        ) from None
    except OSError as error:
        raise InputError([Problem(FileLine(str(file)), f"cannot be read: {error.strerror}", "build again")]) from None
    except ValidationError as error:
        message = f"not a design of this version: {error.errors()[0]['msg']}"
        raise InputError([Problem(FileLine(str(file)), message, "build the folder again")]) from None
    dangling = network.dangling()
    if dangling:
        raise InputError([Problem(FileLine(str(file)), f"the design is damaged: {dangling}", "build the folder again")])
    return network


def network_of(source: Network | Path | str, device: Sequence[str] = (), hardware: Path | str | None = None) -> Network:
    """Return the network of a source: a network, a fabric file or a build folder.

    ``device`` has switch models that replace the models of the fabric file, and ``hardware`` is a folder of hardware files. Raises
    ``SpecError``, ``DesignError`` or ``InputError`` if the source cannot be read or designed.
    """
    if isinstance(source, Network):
        check_as_designed(source, device)
        return source
    return load(source, device=device, hardware=hardware)


def path_of(given: Path | str | None) -> Path | None:
    """Return the optional argument ``given`` as a path; None stays None."""
    return None if given is None else Path(given)


def designed_as(fabric: Path, text: str, hardware: Path | str | None) -> Network:
    """Return the network of a fabric file as if its text were ``text``, with the same inventory and lock. Nothing is changed on disk.

    ``hardware`` is a folder of hardware files.
    """
    with TemporaryDirectory() as folder:
        place = Path(folder) / fabric.name
        write_file(place, text)
        lock = read_lock(companion(fabric, "lock"))
        return design_file(place, lock, inventory_of=fabric, hardware=path_of(hardware))[0]


def designed_with(fabric: Path, inventory: str, hardware: Path | str | None) -> Network:
    """Return the network of a fabric file as if the text of its inventory were ``inventory``. Nothing is changed on disk.

    ``hardware`` is a folder of hardware files.
    """
    with TemporaryDirectory() as folder:
        place = Path(folder) / fabric.name
        write_file(place, file_text(fabric))
        if inventory:
            write_file(companion(place, INVENTORY), inventory)
        lock = read_lock(companion(fabric, "lock"))
        return design_file(place, lock, hardware=path_of(hardware))[0]


def fields_of(source: Network | Path | str) -> Callable[[Sequence[Field]], FieldSource]:
    """Return a function that finds the fabric-file field behind a designed value, and gives its file and line.

    The function gets the fields that may determine the value. If ``source`` is a network or a build folder, it finds no field.
    """
    if isinstance(source, Network) or Path(source).is_dir():
        return lambda _: FieldSource()
    return Fields(Path(source))
