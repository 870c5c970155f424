"""The record, the files and the status of a lab. The record is written before the lab is created, so that an unfinished lab can be removed."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from railweave.counting import counted
from railweave.errors import LabError, OutputError, SpecError
from railweave.json_values import JsonObject
from railweave.live.lab import names
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.namespace import existing
from railweave.live.lab.overlay import Overlay
from railweave.model.network.model import Network
from railweave.reading import file_bytes, file_text, read_json
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

SCHEMA = 1


@dataclass(frozen=True)
class Record:
    """The content of ``lab.json``, the record of a lab.

    ``slice`` is the part of the network, as the user gave it. ``overlay`` has the lab's timers; None means the designed
    timers. ``stage`` is ``begun`` during the start. Afterwards it is ``up``, or ``unsettled`` if the lab does not forward as
    designed.
    """

    lab: str
    fabric: str
    network: str
    slice: str
    overlay: dict[str, int] | None
    frr_root: str
    frr_version: str
    stage: str
    devices: tuple[str, ...] = field(default=())

    def timers(self) -> Overlay | None:
        """Return the lab's timers, or None if the lab uses the timers of the design."""
        return None if self.overlay is None else Overlay(**self.overlay)

    def heading(self) -> dict[str, Any]:
        """Return the first keys of JSON objects about the lab: network, slice and timers."""
        return {"network": self.network, "slice": self.slice, "timers": self.overlay}

    def timers_lines(self) -> list[str]:
        """Return a line about the lab's timers, or no line if the lab uses the timers of the design."""
        timers = self.timers()
        return [] if timers is None else [f"with the lab's own timers: {timers.sentence()}"]


@dataclass(frozen=True)
class Place:
    """The paths of a lab's files."""

    lab: str

    @property
    def folder(self) -> Path:
        """The folder with all files of the lab."""
        return names.folder(self.lab)

    @property
    def record(self) -> Path:
        """The path of the record ``lab.json``."""
        return self.folder / "lab.json"

    @property
    def design(self) -> Path:
        """The path of the file with the lab's network."""
        return self.folder / "design.json"

    def router(self, name: str) -> Path:
        """Return the folder that holds a router's /etc/frr, /run/frr and other folders that its daemons write to."""
        return self.folder / "routers" / name

    def host(self, name: str) -> Path:
        """Return the folder with the files of a server."""
        return self.folder / "hosts" / name

    def lldp(self, name: str) -> Path:
        """Return the folder with the files that the lldpd of a switch or server reads and writes."""
        return self.folder / "lldp" / name


def write(place: Place, record: Record, network: Network | None = None) -> None:
    """Write the record of a lab and, if ``network`` is not None, the lab's network. Raises ``LabError`` if a file cannot be written.

    ``place`` has the paths of the lab's files.
    """
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
        if network is not None:
            write_file(place.design, network.to_json())
        write_file(place.record, json.dumps({"schema": SCHEMA} | asdict(record), indent=1))
    except OSError as error:
        raise LabError(f"{error.filename}: {error.strerror}") from None
    except OutputError as error:
        raise LabError(str(error)) from None


def read(place: Place) -> Record | None:
    """Return the record of a lab; None if there is no lab.

    Raises ``LabError`` if the record is damaged or from a different version of railweave. ``place`` has the paths of the lab's files.
    """
    try:
        value: dict[str, Any] = read_json(place.record)
        if value.pop("schema") != SCHEMA:
            raise LabError(
                f"{place.record} is of another version of railweave: take the lab down with `railweave lab down`"
            )
        value["devices"] = tuple(value["devices"])
        return Record(**value)
    except FileNotFoundError:
        return None
    except (SpecError, TypeError, KeyError, AttributeError) as error:
        raise LabError(f"{place.record} is damaged ({error}): take the lab down with `railweave lab down`") from None


def read_network(place: Place) -> Network:
    """Return the network that a lab was built from. Raises ``LabError`` if the file is damaged.

    ``place`` has the paths of the lab's files.
    """
    try:
        return Network.from_json(file_bytes(place.design))
    except (OSError, ValidationError) as error:
        raise LabError(f"{place.design} is damaged ({error}): take the lab down with `railweave lab down`") from None


def all_labs() -> list[str]:
    """Return the names of all labs that have a folder on this machine."""
    return sorted(path.name for path in names.FOLDER.iterdir() if path.is_dir()) if names.FOLDER.is_dir() else []


@contextmanager
def locked(lab: str, command: str) -> Generator[None, None, None]:
    """Lock a lab for this process until the context ends.

    ``command`` is the name of the caller's command. If another process has the lock, raise ``LabError`` with the command and
    the id of that process. The lock is also released when this process ends.
    """
    names.FOLDER.mkdir(parents=True, exist_ok=True)
    path = names.FOLDER / f"{lab}.lock"
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            raise LabError(f"the lab is in use by {who or 'another railweave'}: let it end, or stop it") from None
        if path.exists() and path.samefile(f"/proc/self/fd/{descriptor}"):
            break
        os.close(descriptor)  # who had it before has taken it away meanwhile
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"`railweave lab {command}`, process {os.getpid()}".encode(), 0)
        yield
    finally:
        if not names.folder(lab).exists():
            path.unlink()
        os.close(descriptor)


_TICKS = 100  # of USER_HZ, in which /proc counts (proc(5)): the same on every Linux that FRR is packaged for


@dataclass(frozen=True)
class Status(JsonObject):
    """The status of a lab: its record, its namespaces, and the memory (MB) and processor time (s) of its processes.

    ``missing`` has the namespaces that should exist but do not.
    """

    lab: str
    fabric: str
    stage: str
    slice: str
    timers: str
    frr: str
    namespaces: int
    missing: tuple[str, ...]
    processes: int
    memory_mb: int
    cpu_s: float

    def to_text(self) -> str:
        """Return the status as lines of text: stage and fabric file, resources in use, timers, and missing namespaces."""
        part = f", slice {self.slice}" if self.slice else ""
        lines = [
            f"{self.lab}: {self.stage}, of {self.fabric or 'an unknown file'}{part}",
            (
                f"    {counted(self.namespaces, 'namespace')}, {counted(self.processes, 'process', 'processes')}, {self.memory_mb} MB, "
                f"{self.cpu_s:.0f} s of processor time; {self.frr}"
            ),
            f"    timers: {self.timers}",
        ]
        return "\n".join(
            [*lines, *([f"    namespaces that are gone: {', '.join(self.missing)}"] if self.missing else [])]
        )


def labs(fabric: Path | None) -> list[Status]:
    """Return the status of a fabric file's lab, or of all labs if ``fabric`` is None."""
    every = [names.lab_id(fabric)] if fabric else all_labs()
    return [status for status in (_status(lab) for lab in every) if status is not None]


def _status(lab: str) -> Status | None:
    spaces = existing(f"{lab}-")
    try:
        record = read(Place(lab))
    except LabError:
        record = None
    if record is None and not spaces and not names.folder(lab).exists():
        return None
    pids = processes.of_lab(lab)
    overlay = record.timers() if record else None
    expected = {names.namespace(lab, device) for device in record.devices} if record else set[str]()
    return Status(
        lab,
        record.fabric if record else "",
        record.stage if record else "damaged",
        record.slice if record else "",
        overlay.sentence() if overlay else "those of the design",
        f"FRR {record.frr_version} in {record.frr_root}" if record else "",
        len(spaces),
        tuple(sorted(expected - set(spaces))),
        len(pids),
        sum(_shares(pids, "smaps_rollup")) // 1000,
        round(sum(_ticks(pids)) / _TICKS, 1),
    )


def _shares(pids: Iterable[int], file: str) -> list[int]:
    """Return the memory of each process in kB, from its ``file`` below /proc/PID, such as ``smaps_rollup``.

    Shared memory is divided among the processes that share it (PSS).
    """
    sizes: list[int] = []
    for text in _read(pids, file):
        sizes += [int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")]
    return sizes


def _ticks(pids: Iterable[int]) -> list[int]:
    return [sum(map(int, text.rpartition(")")[2].split()[11:13])) for text in _read(pids, "stat")]


def _read(pids: Iterable[int], file: str) -> list[str]:
    texts: list[str] = []
    for pid in pids:
        try:
            texts.append(file_text(Path("/proc", str(pid), file), errors="replace"))
        except OSError:  # it ended meanwhile
            continue
    return texts
