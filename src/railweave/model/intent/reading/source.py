"""The three input files of a network, read together, and fields of a file changed before it is read."""

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
    """Put values into what a file holds, by path: ``topology.spines``, ``servers.0.stripe``; texts are read as YAML has them.

    What is not there is made, of maps alone. Where a path leads through something that has no such part nothing is changed: the model says what is wrong.
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
    """A fabric file with its inventory and lock, and where each part stands."""

    path: Path
    spec: FabricFile
    document: Document
    inventory: Inventory
    lock: Lock
    as_written: Mapping[tuple[str, str], Role] = field(default_factory=dict[tuple[str, str], "Role"])
    """By fabric and role, what the file says of switches that are to be others here."""


def companion(path: Path, suffix: str) -> Path:
    """``NAME.yaml`` to ``NAME.<suffix>`` beside it."""
    return path.with_name(f"{path.name.removesuffix('.yaml').removesuffix('.yml')}.{suffix}")


def read_source(
    path: Path,
    lock: Lock | None = None,
    *,
    inventory_of: Path | None = None,
    changes: Mapping[str, str] | None = None,
) -> Source:
    """Read ``NAME.yaml``, ``NAME.inventory.csv`` and ``NAME.lock`` (or use the ``lock`` given).

    Where there is no inventory, that of the fabric file ``inventory_of`` is read. ``changes``: fields of the
    fabric file by path (``fabrics.backend.topology.spines``) and what they are to be. Raises ``SpecError`` with file and line of everything that is wrong.
    """
    document = read_document(path)
    changed(document.value, changes or {})
    spec = validate(FabricFile, document)
    inventory = companion(path, "inventory.csv")
    if inventory_of is not None and not inventory.exists():
        inventory = companion(inventory_of, "inventory.csv")
    return Source(path, spec, document, read_inventory(inventory), lock or read_lock(companion(path, "lock")))
