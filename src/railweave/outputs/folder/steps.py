"""The steps of ``build``: read, design, render and write. The lock is written last."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from railweave.analysis.checks.checks import checks, run_checks
from railweave.analysis.checks.subject import Subject
from railweave.counting import counted
from railweave.errors import OutputError, RailweaveError
from railweave.garbage import uncollected
from railweave.manifest import digest
from railweave.model.catalog import in_force
from railweave.model.findings import Finding, by_severity, summed
from railweave.model.findings.registry import Rule
from railweave.model.intent.lock import Lock, read_lock
from railweave.model.intent.reading.source import companion
from railweave.nearest import nearest
from railweave.outputs.folder.designing import LOCK, design_file
from railweave.outputs.folder.rendering import joined, read_secrets, rendering_servers, rendering_switches
from railweave.outputs.folder.write import locked, making, reading_earlier, write_folder
from railweave.outputs.rendering.tables import tables_of
from railweave.outputs.report.body import Body, body_of
from railweave.outputs.report.bom import Prices, read_prices
from railweave.outputs.report.page import report_html
from railweave.outputs.report.topology.picture import topology_svg
from railweave.outputs.runbook.network import runbook
from railweave.progress import silent
from railweave.reading import file_text
from railweave.workers import spreading

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.outputs.folder.rendering import RenderedFiles, Secrets


SECRET_OPEN = Rule(
    id="secret-open",
    severity="info",
    applies="build",
    fault="device files contain references instead of secrets",
    why="the files can be shared and committed, but cannot be loaded as they are",
    fix="to get files for devices, build with --secrets FILE (one NAME: value per line)",
)
SECRET_MISSING = Rule(
    id="secret-missing",
    severity="error",
    applies="build",
    fault="the file of --secrets lacks a value for a secret in device files",
    why="the files contain <secret:NAME> instead: a switch that loads them uses this text as the value",
)
SECRET_UNUSED = Rule(
    id="secret-unused",
    severity="warning",
    applies="build",
    fault="the file of --secrets has a value that no device file uses",
    why="if the name is misspelled, the secret has no value in device files",
)


def secret_findings(network: Network, made: RenderedFiles, secrets: Secrets | None, fabric: Path) -> list[Finding]:
    """Return the findings about secrets in the rendered files ``made``. ``secrets`` is None if no file of secrets is given.

    They are about secrets without a value, unused secrets and, without a file of secrets, files that contain references.
    """
    if secrets is not None:
        return [*_missing(made.open_names, secrets, fabric), *_unused(made.used_names, secrets)]
    if not made.open_secrets:
        return []
    message = f"{made.open_secrets} device files hold references such as <secret:NAME> in place of secrets"
    return [SECRET_OPEN.finding(network.name, message)]


def _missing(names: Collection[str], secrets: Secrets, fabric: Path) -> Iterator[Finding]:
    text = file_text(fabric)
    for name in sorted(names):
        match = re.search(rf"secret:{re.escape(name)}(?![\w./:@-])", text)
        line = text.count("\n", 0, match.start()) + 1 if match else 0
        fix = f"write `{name}: VALUE` into the file of secrets{_nearest(name, secrets.keys() - names)}"
        message = f"the file of secrets has no {name!r}"
        yield SECRET_MISSING.finding(f"secret {name}", message, file=str(fabric), line=line, fix=fix)


def _unused(names: Collection[str], secrets: Secrets) -> Iterator[Finding]:
    for name in sorted(secrets.keys() - names):
        place = secrets.lines[name]
        fix = f"take it out, or correct its name{_nearest(name, names)}"
        message = f"no device file holds the secret {name!r}"
        yield SECRET_UNUSED.finding(f"secret {name}", message, file=place.file, line=place.line, fix=fix)


def _nearest(name: str, known: Collection[str]) -> str:
    close = nearest(name, sorted(known))
    return f" ({close!r} is the nearest name)" if close else ""


def files_of(network: Network) -> dict[str, Callable[[Network], bytes]]:
    """Return functions by file name of the output folder. Each function returns the content of its file, computed from the network only."""

    def encoded(write: Callable[[Network], str]) -> Callable[[Network], bytes]:
        return lambda network: write(network).encode()

    texts = {**tables_of(network), "topology.svg": topology_svg}
    return {
        "design.json": lambda network: network.to_json(),
        **{name: encoded(writer) for name, writer in texts.items()},
    }


def outputs(
    network: Network,
    written: Callable[[], tuple[dict[str, str], Body]],
    rendered: Sequence[Callable[[], RenderedFiles]],
    progress: Callable[[str], None],
    checked: Sequence[Finding],
    secrets: Secrets | None,
    fabric: Path,
) -> tuple[dict[str, bytes], RenderedFiles, list[Finding]]:
    """Return (the files by path below the output folder, the rendered files, all findings of design, checks and rendering).

    - ``written``: a function that waits for the runbooks and the body of the report, and returns them.
    - ``rendered``: functions that wait for the rendering of servers and of switches.
    - ``checked``: the findings of the checks.
    - ``secrets``: the secrets, or None if no file of secrets is given.
    - ``fabric``: the path of the fabric file.
    """
    progress("finishing the files of switches and servers")
    made = joined([pending() for pending in rendered])
    findings = summed([*network.findings, *checked, *made.gaps])
    findings += secret_findings(network, made, secrets, fabric)
    progress("finishing runbooks and the report")
    runbooks, body = written()
    files = {name: text.encode() for name, text in runbooks.items()}
    ran = [name for name, rule in checks().items() if not rule.slow]
    files["report.html"] = report_html(network, findings, body, digest(made.files["design.json"])[:12], ran).encode()
    files["findings.json"] = (
        json.dumps([finding.to_json() for finding in by_severity(findings)], indent=1) + "\n"
    ).encode()
    return {**files, **made.files}, made, findings


LOCK_MISSING = Rule(
    id="lock-missing",
    severity="warning",
    applies="build",
    fault="the fabric file has no lock file, and the build folder that is replaced has other assigned numbers",
    why="servers, ports, addresses and cables of the replaced build folder may have moved",
    fix="if the new file is a changed version of the old one, give it the old file's name so that its lock file "
    "applies, and build again; `railweave diff OLD NEW` shows the changes",
)


def earlier_lock(fabric: Path, out: Path) -> Lock | None:
    """Return the lock in the build folder ``out`` if the fabric file has no lock of its own, otherwise None."""
    try:
        if companion(fabric, "lock").exists() or not (out / LOCK).is_file():
            return None
        return read_lock(out / LOCK)
    except (RailweaveError, OSError):
        return None  # a folder that is replaced may be incomplete; errors in names are reported where these are read


def lock_missing(fabric: Path, out: Path, before: Lock | None, now: Lock) -> list[Finding]:
    """Return a finding if the fabric file has no lock and names therefore got different numbers than in the earlier build.

    The result is a list with one finding or none. ``before`` is the lock of the earlier build in the folder ``out``, or None, and
    ``now`` the new lock. A lock has the numbers allocated to names.
    """
    if before is None:
        return []
    moved = [
        name for pool, slots in now.pools.items() for name, slot in slots.items() if _moved(before, pool, name, slot)
    ]
    if not moved:
        return []
    message = (
        f"{companion(fabric, 'lock').name} is missing, so all numbers were assigned again: "
        f"{len(moved)} of the names in the {LOCK} that {out} had before have another place now, {moved[0]} among them"
    )
    return [LOCK_MISSING.finding(str(fabric), message, file=str(fabric))]


def _moved(before: Lock, pool: str, name: str, slot: int) -> bool:
    """Return True if ``name`` had a different number in the lock ``before``, in ``pool`` or in another pool of the same family.

    A lock has pools of names with their allocated numbers (slots). ``slot`` is the present number.
    """
    had = before.pools.get(pool, {}).get(name)
    return had != slot if had is not None else any(name in slots for slots in _siblings(before, pool))


def _siblings(lock: Lock, pool: str) -> list[dict[str, int]]:
    """Return the other pools of the same family, each with the allocated numbers by name.

    The family of a pool is its name without the last part. For example, the servers of all stripes are a family of pools.
    """
    family = pool.rpartition("/")[0]
    return [
        slots
        for other_pool, slots in lock.pools.items()
        if family and other_pool != pool and other_pool.rpartition("/")[0] == family
    ]


@contextlib.contextmanager
def pages(
    network: Network, configs: Mapping[str, DeviceConfig], routes: Routes, prices: Prices | None = None
) -> Generator[Callable[[], tuple[dict[str, str], Body]]]:
    """Start writing the pages. Yield a function that waits for them and returns (runbooks by path, body of the report).

    ``prices`` has the prices of items in the bill of materials; None for a bill without costs.
    """

    def write(device: str) -> str | Body:
        return runbook(network, configs[device], routes) if device else body_of(network, routes, prices)

    with spreading(write, ["", *configs]) as results:

        def collect() -> tuple[dict[str, str], Body]:
            body, *texts = results()
            runbooks = {f"runbook/{name}.md": cast("str", text) for name, text in zip(configs, texts, strict=True)}
            return {path: text for path, text in runbooks.items() if text}, cast("Body", body)

        yield collect


@dataclass(frozen=True)
class Built:
    """The result of a build: the network, all findings, and the output files that changed."""

    network: Network
    findings: list[Finding]
    """The findings of design, rendering and the fast checks, errors first. ``verify`` also runs the slow checks."""
    changed: list[str]
    """The files that are new, changed or removed, by path in the folder."""
    files: int
    """The number of files in the folder after the build."""


def build(
    fabric: Path,
    out: Path,
    *,
    secrets: Path | None = None,
    compact: bool = False,
    device: Sequence[str] = (),
    hardware: Path | None = None,
    prices: Path | None = None,
    progress: Callable[[str], None] = silent,
) -> Built:
    """Build the fabric file ``fabric`` into the folder ``out``, and return the result.

    - ``secrets``: a file of secrets, whose values replace references in the files.
    - ``compact``: True to free the numbers of names that no longer exist, before designing.
    - ``device``: switches that replace those of the file, as ``leaf=MODEL:NOS`` (``railweave.design.retarget``).
    - ``hardware``: a folder of hardware files.
    - ``prices``: a file of prices for the report's bill of materials.

    Raises ``InputError`` for wrong input, and ``OutputError`` if the output cannot be written. The old output and the
    lock are then unchanged.
    """
    with uncollected(), _to_be_written(out):
        return _build(fabric, out, secrets, progress, compact=compact, device=device, hardware=hardware, prices=prices)


@contextlib.contextmanager
def _to_be_written(out: Path) -> Generator[None]:
    """Create the output folder if it is missing, and keep it locked during a ``with`` statement."""
    with contextlib.ExitStack() as stack:
        if not out.exists() or out.is_dir():  # anything else is refused when the files are written
            try:
                stack.enter_context(making(out))
            except OSError as error:
                raise OutputError(
                    f"cannot write {out}: {error.strerror or error}; what was there is unchanged"
                ) from error
            stack.enter_context(locked(out))
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
    with contextlib.ExitStack() as beside:  # work in other processes; each begins as soon as its input exists
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
    findings = by_severity([*findings, *lock_missing(fabric, out, replaced, lock)])
    return Built(network, findings, changed, count)
