"""The design of a fabric file, and those checks of the file that depend on operating systems or on the files of a build."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.design import design
from railweave.design.retarget import retargeted
from railweave.errors import FileLine, Problem, RenderError, SpecError
from railweave.model.catalog import in_force, packaged
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.catalog.server_shapes import shaped
from railweave.model.intent.reading.source import Source, read_source
from railweave.systems import system, systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.lock import Lock
    from railweave.model.network.model import Network

LOCK = "fabric.lock"
"""The name of the lock in an output folder: a copy of the numbers that the design allocated to names.

With this copy, `diff` can design a changed fabric file with the same allocations.
"""


def design_file(
    fabric: Path,
    lock: Lock | None = None,
    *,
    compact: bool = False,
    inventory_of: Path | None = None,
    device: Sequence[str] = (),
    hardware: Path | None = None,
    changes: Mapping[str, str] | None = None,
) -> tuple[Network, Lock]:
    """Read a fabric file with its inventory and lock, and design it. Return (network, new lock).

    - ``lock``: a lock (the numbers allocated to names) to use instead of the file's own.
    - ``inventory_of``: a different fabric file. Its inventory is used if ``fabric`` has none.
    - ``compact``: free the numbers of names that the file no longer has, so that new names can use them.
    - ``device``: switch models and systems that replace those of the file, as for ``--device``.
    - ``hardware``: a folder of hardware files (``railweave.model.catalog.hardware_files``).
    - ``changes``: values that replace fields of the file, as in ``read_source``.

    Raises ``InputError`` with file and line of every mistake.
    """
    source = read_source(fabric, lock, inventory_of=inventory_of, changes=changes)
    return design_source(source, compact=compact, device=device, hardware=hardware)


def design_source(
    source: Source, *, compact: bool = False, device: Sequence[str] = (), hardware: Path | None = None
) -> tuple[Network, Lock]:
    """Design the fabric file ``source``, which was already read. Return (network, new lock).

    ``compact``, ``device`` and ``hardware`` are options of the design, explained at ``design_file``. Raises ``InputError``
    with file and line of every mistake.
    """
    user_hardware = own_hardware(hardware, source.document)
    known = packaged().with_hardware(user_hardware.hardware)
    spec, shapes = shaped(source.spec, known)
    with in_force(known.with_hardware(shapes)):
        source = retargeted(replace(source, spec=spec), device)
        check_extra(source)
        check_reserved(source)
        source.lock.compacting |= compact
        return design(source, user_hardware.places)


_CLUSTER_FILES = re.compile(r"hostfile(\..*)?|mpirun(-.*)?\.sh|tuner\.json", re.IGNORECASE)


def is_cluster_file(name: str) -> bool:
    """Return True if a name in the output folder ``hosts`` is reserved for a file that all servers share. Case is ignored."""
    return _CLUSTER_FILES.fullmatch(name) is not None


def check_reserved(source: Source) -> None:
    """Raise ``SpecError`` if a server of the fabric file ``source`` has a name that is reserved in the output folder ``hosts``.

    The error has file and line of each such server.
    """
    problems = [
        Problem(
            FileLine(str(source.path), source.document.line(("servers", index, "names"))),
            f"a server cannot have the name {name!r}: a file that all servers share has this name",
            "rename the server",
        )
        for index, group in enumerate(source.spec.servers)
        for name in group.names
        if is_cluster_file(name)
    ]
    if problems:
        raise SpecError(problems)


def check_extra(source: Source) -> None:
    """Raise ``SpecError`` if an ``extra:`` (further statements for switches) of the fabric file ``source`` cannot be read.

    The error has file and line of each such ``extra:``.
    """
    problems = [
        problem
        for where, texts in _given(source)
        for nos, text in texts.items()
        for problem in _wrong(source, where, nos, text)
    ]
    if problems:
        raise SpecError(problems)


def _given(source: Source) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield every ``extra:`` of the fabric file ``source`` as (key path, statements by operating system)."""
    for name, fabric in source.spec.fabrics.items():
        roles = {"leaf": fabric.leaf, "spine": fabric.spine, "super_spine": fabric.super_spine, "dci": fabric.dci}
        for key, role in roles.items():
            if role is not None:
                yield ("fabrics", name, key, "extra"), role.extra
    for name, device in source.spec.overrides.devices.items():
        yield ("overrides", "devices", name, "extra"), device.extra


def _wrong(source: Source, where: tuple[str, ...], nos: str, text: str) -> Iterator[Problem]:
    at = source.document.line((*where, nos))
    place = FileLine(str(source.path), at)
    if nos not in systems():
        near = difflib.get_close_matches(nos, systems(), 1)
        fix = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(systems())}"
        yield Problem(place, f"extra: there is no operating system {nos!r}", fix)
        return
    try:
        system(nos).check_extra(text)
    except RecursionError:
        yield Problem(place, f"extra {nos}: nested too deeply", "")
    except RenderError as error:
        line = at + (error.line if "\n" in text else 0)
        fix = f"write it as {nos} itself would print it"
        yield Problem(FileLine(str(source.path), line), f"extra {nos} statement: {error.what}", fix)
