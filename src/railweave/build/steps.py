"""``build``: read, design, render, write; the lock last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.build.extra import check_extra
from railweave.build.outputs import outputs
from railweave.build.write import write_folder
from railweave.design import design
from railweave.errors import InputError, Problem
from railweave.spec.document import read_document
from railweave.spec.source import companion, read_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from railweave.design.network import Network
    from railweave.findings import Finding
    from railweave.spec.lock import Lock


@dataclass(frozen=True)
class Built:
    """What a build made: the network, every finding, and which output files changed."""

    network: Network
    findings: list[Finding]
    changed: list[str]
    files: int


def build(
    fabric: Path,
    out: Path,
    *,
    secrets: Path | None = None,
    compact: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Built:
    """Build ``fabric`` into ``out``. ``compact`` frees slots of names that are gone before designing.

    Raises ``InputError`` for bad input and ``OutputError`` where the output cannot be written; the old output and the
    lock are then as they were.
    """
    progress(f"reading and designing {fabric}")
    network, lock = design_file(fabric)
    if compact:
        network, lock = design_file(fabric, lock.compacted())
    files, findings = outputs(network, list(network.findings), _read_secrets(secrets), progress)
    progress(f"writing {len(files)} files to {out}")
    changed = write_folder(out, files, also={companion(fabric, "lock"): lock.to_text().encode()})
    return Built(network, findings, changed, len(files))


def design_file(fabric: Path, lock: Lock | None = None) -> tuple[Network, Lock]:
    """Read a fabric file with its inventory and lock (or the ``lock`` given) and design it.

    Raises ``InputError`` with file and line of everything that is wrong.
    """
    source = read_source(fabric, lock)
    check_extra(source)
    return design(source)


def _read_secrets(path: Path | None) -> dict[str, str]:
    if path is None:
        return {}
    content: object = read_document(path).value
    entries = cast("dict[str, Any]", content) if isinstance(content, dict) else {"": None}
    if not all(isinstance(value, str | int) for value in entries.values()):
        raise InputError([Problem(str(path), 1, "not a list of secrets", "write NAME: value, one a line")])
    return {str(name): str(value) for name, value in entries.items()}
