"""``build``: read, design, render, write; the lock last."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.counting import counted
from railweave.design import design
from railweave.design.retarget import retargeted
from railweave.errors import OutputError
from railweave.garbage import uncollected
from railweave.model.catalog import in_force, packaged
from railweave.model.catalog.hardware_files import own_hardware
from railweave.model.catalog.server_shapes import shaped
from railweave.model.intent.reading.source import companion, read_source
from railweave.outputs.folder.contents import files_of, outputs
from railweave.outputs.folder.earlier import reading_earlier
from railweave.outputs.folder.extra import check_extra
from railweave.outputs.folder.held import held
from railweave.outputs.folder.pages import pages
from railweave.outputs.folder.rendering import rendering_servers, rendering_switches
from railweave.outputs.folder.reserved import check_reserved
from railweave.outputs.folder.secrets_file import read_secrets
from railweave.outputs.folder.unlocked import LOCK, earlier_lock, lock_missing
from railweave.outputs.folder.write import making, write_folder
from railweave.outputs.report.prices import read_prices

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.intent.lock import Lock
    from railweave.model.intent.reading.source import Source
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Built:
    """What a build made: the network, every finding, and which output files changed."""

    network: Network
    findings: list[Finding]
    """Of design, rendering and the checks that are fast enough for every build; ``verify`` has all."""
    changed: list[str]
    """Files that are new, other than before, or gone, by their place in the folder."""
    files: int
    """How many files the folder has now."""


def build(
    fabric: Path,
    out: Path,
    *,
    secrets: Path | None = None,
    compact: bool = False,
    device: Sequence[str] = (),
    hardware: Path | None = None,
    prices: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Built:
    """Build ``fabric`` into ``out``. ``compact`` frees slots of names that are gone before designing.

    ``device`` gives roles other switches than the file does: ``leaf=MODEL:NOS`` (``railweave.design.retarget``);
    ``hardware`` is a folder of hardware files, ``prices`` a file of prices for the report's bill of materials.

    Raises ``InputError`` for bad input and ``OutputError`` where the output cannot be written; the old output and the
    lock are then as they were.
    """
    with uncollected(), _to_be_written(out):
        return _build(fabric, out, secrets, progress, compact=compact, device=device, hardware=hardware, prices=prices)


@contextlib.contextmanager
def _to_be_written(out: Path) -> Generator[None]:
    """The output folder, there and held from the first look at what stands in it to the last file written."""
    with contextlib.ExitStack() as stack:
        if not out.exists() or out.is_dir():  # anything else is refused when it is written
            try:
                stack.enter_context(making(out))
            except OSError as error:
                raise OutputError(
                    f"cannot write {out}: {error.strerror or error}; what was there is unchanged"
                ) from error
            stack.enter_context(held(out))
        yield


def _build(
    fabric: Path,
    out: Path,
    secrets: Path | None,
    progress: Callable[[str], None],
    *,
    compact: bool,
    device: Sequence[str],
    hardware: Path | None,
    prices: Path | None,
) -> Built:
    replaced = earlier_lock(fabric, out)
    with contextlib.ExitStack() as beside:  # work in other processes, each begun as soon as its input is there
        earlier_build = beside.enter_context(reading_earlier(out))
        progress(f"reading and designing {fabric}")
        network, lock = design_file(fabric, compact=compact, device=device, hardware=hardware)
        beside.enter_context(in_force(network.catalog))
        hidden, earlier = read_secrets(secrets), earlier_build()
        money = None if prices is None else read_prices(prices)
        switches = counted(len(network.switches), "switch", "switches")
        progress(f"rendering {switches} and {counted(len(network.servers), 'server')}")
        hosts = beside.enter_context(rendering_servers(network, earlier, files_of(network)))
        subject = Subject.of(network)
        devices = beside.enter_context(rendering_switches(network, subject.configs, hidden, earlier))
        progress("working out routes")
        written = beside.enter_context(pages(network, subject.configs, subject.routes, money))
        checked = run_checks(subject, slow=False, progress=progress)
        files, made, findings = outputs(
            network, written, [devices, hosts], progress, checked, None if secrets is None else hidden, fabric
        )
    text = lock.to_text().encode()
    files[LOCK] = text
    count = len(files) + len(made.kept)
    progress(f"writing {counted(count, 'file')} to {out}")
    also = {companion(fabric, "lock"): text}
    changed = write_folder(out, files, also, kept=made.kept, keys=made.keys, private=secrets is not None)
    return Built(network, [*findings, *lock_missing(fabric, out, replaced, lock)], changed, count)


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
    """Read a fabric file with its inventory (or that of ``inventory_of``) and lock (or the one given) and design it.

    ``hardware`` is a folder of hardware files (``railweave.model.catalog.hardware_files``); ``changes`` are as of ``read_source``.

    ``compact`` frees the slots of names that the file no longer has, for new names to use. Raises ``InputError`` with file and line of everything that is wrong.
    """
    source = read_source(fabric, lock, inventory_of=inventory_of, changes=changes)
    return design_source(source, compact=compact, device=device, hardware=hardware)


def design_source(
    source: Source, *, compact: bool = False, device: Sequence[str] = (), hardware: Path | None = None
) -> tuple[Network, Lock]:
    """Design what was read, as ``design_file`` does; the source's lock is written to. Raises ``InputError``."""
    own = own_hardware(hardware, source.document)
    known = packaged().with_hardware(own.hardware)
    spec, shapes = shaped(source.spec, known)
    with in_force(known.with_hardware(shapes)):
        source = retargeted(replace(source, spec=spec), device)
        check_extra(source)
        check_reserved(source)
        source.lock.compacting |= compact
        return design(source, own.places)
