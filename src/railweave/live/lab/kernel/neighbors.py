"""The limits of the machine's neighbor tables. They are raised while labs exist, and are put back with the last lab.

The kernel has one table for all network namespaces, and one set of limits (Linux, Documentation/networking/ip-sysctl:
neigh/default/gc_thresh3). A lab in a network namespace of its own therefore cannot have limits of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError, SpecError
from railweave.live.lab import names
from railweave.live.lab.kernel.namespace import set_parameters
from railweave.reading import file_text, read_json
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Generator

ROOM = 65_536
"""The smallest limit of IPv6 and IPv4 neighbor entries that a lab needs. Lower limits are raised to this number.

The default is 1,024. A full table drops packets of queue pairs and of BFD.
"""

OF_A_LINK = 10
"""The approximate number of IPv6 neighbor entries per link, for both ends and including multicast groups."""

ENTRIES = "RAILWEAVE_LAB_NEIGHBORS"
"""The environment variable with the machine's limit of entries, for a process that cannot read the limit (``user_labs``)."""

SYSTEM = Path("/proc/sys")
LIMITS = [
    f"net/{family}/neigh/default/{limit}"
    for family in ("ipv6", "ipv4")
    for limit in ("gc_thresh3", "gc_thresh2", "gc_thresh1")  # the highest first: the kernel collects from the second on
]


def raise_limits(lab: str, links: int) -> None:
    """Raise the limits to what ``links`` links need, at least to ``ROOM`` entries, until ``restore`` is called. Higher limits stay.

    The values from before are recorded, for all labs together, in a file beside the labs' folders. If the limits cannot be
    read, as in a container, nothing is changed. Raises ``LabError`` if a limit cannot be set, or if the lab's user cannot
    raise a limit that is too low.
    """
    _check_entries(links)
    room = max(ROOM, OF_A_LINK * links)
    now = _values()
    if not now:
        return
    with _record() as record:
        raised = record.raised
        low = {name: room for name, value in now.items() if value < room}
        # A limit that is not as this module left it was set by someone else: that is the value from before.
        before = record.before | {name: now[name] for name in low if now[name] != raised.get(name)}
        _write(
            _Record(before, raised | low, sorted({*record.labs, lab}))
        )  # before the limits: the lab may be killed here
        set_parameters(low)


def restore(lab: str) -> None:
    """Put the limits back as they were before the first lab, if ``lab`` is the last. A limit that someone else has changed since stays.

    Raises ``LabError`` if a limit cannot be set.
    """
    if not _file().exists():
        return
    with _record() as record:
        if labs := [name for name in record.labs if name != lab]:
            _write(_Record(record.before, record.raised, labs))
            return
        now = _values()
        old = {name: value for name, value in record.before.items() if now.get(name) == record.raised.get(name)}
        set_parameters(dict(sorted(old.items())))  # the lowest first
        _file().unlink(missing_ok=True)


def entries() -> int | None:
    """Return the number of neighbor entries that this machine can have; None if the limits cannot be read."""
    return min((value for name, value in _values().items() if name.endswith("3")), default=None)


def _check_entries(links: int) -> None:
    limit, need = os.environ.get(ENTRIES, ""), OF_A_LINK * links
    if limit.isdecimal() and int(limit) < need:
        words = " ".join(f"net.{family}.neigh.default.gc_thresh3={need}" for family in ("ipv4", "ipv6"))
        raise LabError(
            f"{links:,} links need about {need:,} neighbor entries, this machine has room for {int(limit):,}, and to raise "
            f"the limit needs root: run `sudo sysctl -w {words}`; or take a part (--slice)"
        )


def _values() -> dict[str, int]:
    return {name: int(file_text(path)) for name in LIMITS if (path := SYSTEM / name).exists()}


def _file() -> Path:
    return names.FOLDER / "neighbors.json"


@dataclass(frozen=True)
class _Record:
    """The limits from before the first lab, those that the labs set, and the names of the labs."""

    before: dict[str, int] = field(default_factory=dict[str, int])
    raised: dict[str, int] = field(default_factory=dict[str, int])
    labs: list[str] = field(default_factory=list[str])


@contextmanager
def _record() -> Generator[_Record, None, None]:
    """Yield the record, and lock it until the context ends. The folder is locked, because the file comes and goes."""
    names.FOLDER.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(names.FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            record = _Record(**read_json(_file()))
        except FileNotFoundError:
            record = _Record()
        except (SpecError, TypeError) as error:
            raise LabError(f"{_file()} is damaged ({error}): remove it") from None
        yield record
    finally:
        os.close(descriptor)


def _write(record: _Record) -> None:
    write_file(_file(), json.dumps(asdict(record), indent=1))
