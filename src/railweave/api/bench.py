"""Results of benchmarks: kept in a store, and looked through for what went wrong."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.sources import network_of
from railweave.errors import FileLine, Problem, SpecError
from railweave.model.network.model import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.bench.beside import Row
    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.read import Read
    from railweave.operations.bench.triage.triage import Triaged
    from railweave.operations.store.records import Run

MOST_BYTES = 512 << 20
"""Of a file: a log of 4,096 ranks with every subsystem takes 300 MB."""


@dataclass(frozen=True)
class Imported:
    """What was read of each file, the runs that are new in the store, how many were there before, and of logs what they say beside the model."""

    files: tuple[Read, ...]
    runs: tuple[Run, ...]
    known: int
    beside: dict[str, tuple[Row, ...]]


def bench_import(
    files: Sequence[Path | str],
    store: Path | str,
    *,
    fabric: Network | Path | str | None = None,
    gbits: bool | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> Imported:
    """Read outputs of benchmarks (docs/bench.md has the forms) and keep their runs, all or none.

    - ``store``: a file, made where it is not there, or a ``postgresql://`` address.
    - ``fabric``: the network that they ran on: its name and the digest of its design are kept with each run, and logs of NCCL are laid
      beside what predictions assume.
    - ``gbits``: whether perftest's JSON was written with ``--report_gbits``; None: its message rate decides.
    - ``device``, ``hardware``: see ``load``.

    A file that is read again adds nothing. Raises ``SpecError`` where a file cannot be read or is no output of a benchmark, and nothing is
    kept then; ``OutputError`` where the store cannot be written.
    """
    from railweave.operations.bench.read import read
    from railweave.operations.bench.runs import runs_of
    from railweave.operations.store.records import Environment
    from railweave.operations.store.store import opened

    network = None if fabric is None else network_of(fabric, device, hardware)
    environment = Environment()
    if network is not None:
        name = network.name if isinstance(fabric, Network) else str(fabric)
        environment = Environment(fabric=name, design_digest=hashlib.sha256(network.to_json()).hexdigest())
    kept = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    found: list[Read] = []
    runs: list[Run] = []
    beside: dict[str, tuple[Row, ...]] = {}
    for file in files:
        text, path = _text(file), str(Path(file).absolute())
        one = read(text, path, gbits=gbits)
        if one.empty:
            what = one.notes[0].what if one.notes else "the file is empty"
            raise SpecError([Problem(FileLine(str(file)), what, "docs/bench.md says what is read")])
        found.append(one)
        runs += runs_of(one, hashlib.sha256(text.encode(errors="replace")).hexdigest(), kept, environment)
        if network is not None and one.log is not None and (rows := _beside(one.log, network)):
            beside[path] = rows
    with opened(store, make=True) as opened_store:
        new = opened_store.add(runs)
    return Imported(tuple(found), tuple(new), len(runs) - len(new), beside)


def bench_triage(
    files: Sequence[Path | str],
    *,
    fabric: Network | Path | str | None = None,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
) -> list[Triaged]:
    """Look through outputs of runs for what went wrong: plugin, GIDs, GPUDirect, interfaces, affinity, retries and more.

    - ``fabric``: the network that they ran on: its addresses tell a wrong GID.
    - ``device``, ``hardware``: see ``load``.

    Gives for each file what was read and its findings, each with the line that shows it. Raises ``SpecError`` where a file cannot be read.
    """
    from railweave.operations.bench.triage.triage import triage

    network = None if fabric is None else network_of(fabric, device, hardware)
    there = frozenset(
        ipaddress.ip_interface(f"{one.address}/{one.prefix_length}").network
        for server in (network.servers if network is not None else ())
        for nic in server.nics
        for one in nic.addresses
    )
    return [triage(_text(file), str(file), there) for file in files]


def _text(file: Path | str) -> str:
    """The text of an output. Bytes that are no UTF-8 are replaced: a log may hold anything."""
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(file)), f"cannot be read: {error.strerror}")]) from None
    if len(data) > MOST_BYTES:
        what = f"larger than {MOST_BYTES >> 20} MiB, the most that is read"
        raise SpecError([Problem(FileLine(str(file)), what, "give the log of one rank for each server")])
    return data.decode("utf-8", "replace")


def _beside(log: NcclLog, network: Network) -> tuple[Row, ...]:
    """A log beside the model, where its servers are those of the network by name."""
    from railweave.model.catalog import in_force
    from railweave.operations.bench.beside import laid_beside
    from railweave.prediction.simulation.conditions import bed_of

    names = {server.name.lower(): server.name for server in network.servers}
    hosts = [names.get(host.lower().partition(".")[0]) for host in log.hosts]
    order = [host for host in hosts if host is not None]
    if not order or len(order) < len(hosts):
        return ()
    with in_force(network.catalog):
        return laid_beside(log, bed_of(network, order=",".join(order)).job)
