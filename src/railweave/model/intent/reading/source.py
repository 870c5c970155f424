"""The three input files of a network, read together, with optional changes to fields of the fabric file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.inventory import Inventory, read_inventory
from railweave.model.intent.lock import Lock, read_lock
from railweave.model.intent.reading.document import Document, plain, read_document, validate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from railweave.model.intent.topology import Role


def changed(value: Any, changes: Mapping[str, str]) -> None:  # noqa: ANN401 - what a file holds
    """Set fields in the plain value of a file. Keys of ``changes`` are paths such as ``topology.spines`` or ``servers.0.stripe``.

    Values are YAML text. Missing maps on a path are created. If a path cannot be followed, its field is not changed, and
    validation reports the fault.
    """
    for path, text in changes.items():
        *names, last = path.split(".")
        at = value
        for name in names:
            at = _part(at, name)
        if isinstance(at, dict):
            cast("dict[str, Any]", at)[last] = plain(text)
        elif isinstance(at, list) and last.isdecimal() and int(last) < len(cast("list[Any]", at)):
            at[int(last)] = plain(text)


def _part(at: Any, name: str) -> Any:  # noqa: ANN401 - what a file holds
    if isinstance(at, dict):
        return cast("dict[str, Any]", at).setdefault(name, {})
    if isinstance(at, list) and name.isdecimal() and int(name) < len(cast("list[Any]", at)):
        return cast("list[Any]", at)[int(name)]
    return None


@dataclass(frozen=True)
class Source:
    """A fabric file with its inventory and lock. ``document`` gives the line of each part."""

    path: Path
    spec: FabricFile
    document: Document
    inventory: Inventory
    lock: Lock
    as_written: Mapping[tuple[str, str], Role] = field(default_factory=dict[tuple[str, str], "Role"])
    """The roles, by (fabric, role), as the fabric file defines them.

    Only roles whose switches ``--device`` has replaced in this source are included.
    """


def companion(path: Path, suffix: str) -> Path:
    """Return the path of a companion file in the same folder: ``NAME.yaml`` becomes ``NAME.<suffix>``."""
    return path.with_name(f"{path.name.removesuffix('.yaml').removesuffix('.yml')}.{suffix}")


def read_source(
    path: Path,
    lock: Lock | None = None,
    *,
    inventory_of: Path | None = None,
    changes: Mapping[str, str] | None = None,
) -> Source:
    """Read ``NAME.yaml``, ``NAME.inventory.csv`` and ``NAME.lock``. A ``lock`` argument replaces the lock file.

    - ``inventory_of``: a different fabric file, whose inventory is read if there is no inventory next to ``path``.
    - ``changes``: new values for fields of the fabric file, by path (``fabrics.backend.topology.spines``).

    Raises ``SpecError`` with the file and line of every fault.
    """
    document = read_document(path)
    changed(document.value, changes or {})
    spec = validate(FabricFile, document)
    inventory = companion(path, "inventory.csv")
    if inventory_of is not None and not inventory.exists():
        inventory = companion(inventory_of, "inventory.csv")
    return Source(path, spec, document, read_inventory(inventory), lock or read_lock(companion(path, "lock")))
