"""A folder into which the NCCL Inspector of jobs writes, followed while its files grow.

JSON lines are read from the last position. A file of Prometheus' form is read whole, because the Inspector writes it again for
each dump, and deletes it at the end (NVIDIA/nccl 2.30.7, plugins/profiler/inspector/inspector.cc). One look reads a limited number of bytes: if files grew by more, their newest lines are read and
the rest is skipped, and counted.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.operations.bench.inspector import (
    is_inspector_json,
    is_inspector_prometheus,
    read_inspector_json,
    read_inspector_prometheus,
)
from railweave.operations.bench.lines import Notes, utf8

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from railweave.operations.bench.inspector import InspectorRecord

MOST_FILES = 50_000
"""The largest number of files that are followed: one for each GPU of a large cluster."""
MOST_DEPTH = 4
"""The deepest folder below the followed one: jobs have a folder each, some by user or date."""
LOOK_BYTES = 16 << 20
"""The bytes that one look reads of all files together."""
LEAST_SHARE = 16 << 10
"""The bytes that a look reads of a grown file at least, some 35 records. Files beyond ``LOOK_BYTES`` wait for the next look."""
MOST_PROMETHEUS = 1 << 20
"""The largest file of Prometheus' form that is read: its size is bounded by the communicators of a GPU."""
FORGOTTEN_S = 900.0
"""The seconds after which an unchanged file is of an ended job. Of a file that is that old when it is first seen, nothing is read."""
MOST_NOTES = 20
_HEAD = 4096
_MARK = 64
"""The bytes before the last position that must still be the same, or the file was written again."""


@dataclass(slots=True)
class FollowedFile:
    """A file: its position, and what identifies it.

    - ``inode``: its device and inode. ``size``, ``changed_ns``: its size and time of change when it was last read.
    - ``offset``: the position up to which it was read; ``mark``: the bytes before that position.
    - ``inside``: True if that position is inside a line, whose rest is skipped.
    - ``form``: ``json``, ``prometheus``, ``other``, or empty while it is not known.
    - ``records``: the records of Prometheus' form as last written; ``seen``: when they were written.
    """

    inode: tuple[int, int]
    size: int = -1
    changed_ns: int = 0
    offset: int = 0
    mark: bytes = b""
    inside: bool = False
    form: str = ""
    seen: float = 0.0
    records: list[InspectorRecord] = field(default_factory=list["InspectorRecord"])


@dataclass
class FollowedCounts:
    """Counts since the beginning.

    ``read_bytes``, ``skipped_bytes``: bytes that were read, and skipped because files grew faster. ``records``: the number of
    records. ``not_understood``: lines, fields and labels that are not known, and were left out.
    """

    read_bytes: int = 0
    skipped_bytes: int = 0
    records: int = 0
    not_understood: int = 0


@dataclass(frozen=True, slots=True)
class Growth:
    """The new records of a JSON file: ``job``, the folder that it is in; ``at``, when they were written (seconds since 1970)."""

    job: str
    at: float
    records: list[InspectorRecord]


class Follower:
    """The files of a folder.

    - ``why``: the reason why the folder cannot be read; empty if it can.
    - ``unreadable``: the reason by path, for files and folders below it that cannot be read.
    - ``notes``: the last lines that were not understood, at most ``MOST_NOTES``.
    - ``beyond``: the number of files that are not followed, because there are more than ``MOST_FILES``.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, FollowedFile] = {}
        self.counts = FollowedCounts()
        self.why = ""
        self.unreadable: dict[str, str] = {}
        self.notes: list[str] = []
        self.beyond = 0
        self._next = ""
        """The file with which the next look begins, if this one could not read all."""

    def look(self, now: float) -> Iterator[Growth]:
        """Read what changed since the last look, and yield the new records of JSON files. Never raises an error.

        ``now`` is the time in seconds since 1970. After that, ``prometheus`` has the records of all files of Prometheus' form.
        """
        listed = self._listed()
        if self.why:  # the folder may come back, with the files that are known
            return
        for path in self.files.keys() - listed.keys():
            del self.files[path]
        changed = [path for path in sorted(listed) if self._changed(path, listed[path], now)]
        share = max(LEAST_SHARE, LOOK_BYTES // max(len(changed), 1))
        first = next((place for place, path in enumerate(changed) if path >= self._next), 0)
        end = self.counts.read_bytes + LOOK_BYTES
        self._next = ""
        for path in changed[first:] + changed[:first]:
            if self.counts.read_bytes >= end:
                self._next = path
                break
            if (growth := self._grown(path, share, now)) is not None:
                yield growth

    def prometheus(self) -> Iterator[Growth]:
        """Yield the records of each file of Prometheus' form, as last written."""
        for path, known in self.files.items():
            if known.records:
                yield Growth(self._job(path), known.seen, known.records)

    def _listed(self) -> dict[str, os.stat_result]:
        """Return the status of each file by its path. Links are not followed, except for the folder itself."""
        listed: dict[str, os.stat_result] = {}
        unreadable: dict[str, str] = {}
        folders = [(str(self.folder), 0)]
        self.why, self.beyond = "", 0
        while folders:
            folder, depth = folders.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        self._enter(entry, depth, folders, listed)
            except OSError as error:
                if depth == 0:
                    self.why = error.strerror or str(error)
                elif not isinstance(error, FileNotFoundError):
                    unreadable[folder] = error.strerror or str(error)
        self.unreadable = {path: why for path, why in self.unreadable.items() if path in listed} | unreadable
        return listed

    def _enter(
        self, entry: os.DirEntry[str], depth: int, folders: list[tuple[str, int]], listed: dict[str, os.stat_result]
    ) -> None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # it vanished
            return
        if stat.S_ISDIR(status.st_mode):
            if depth < MOST_DEPTH:
                folders.append((entry.path, depth + 1))
        elif stat.S_ISREG(status.st_mode):
            if len(listed) < MOST_FILES:
                listed[entry.path] = status
            else:
                self.beyond += 1

    def _job(self, path: str) -> str:
        folder = str(Path(path).parent.relative_to(self.folder))
        return "" if folder == "." else utf8(folder)

    def _changed(self, path: str, status: os.stat_result, now: float) -> bool:
        inode = status.st_dev, status.st_ino
        known = self.files.get(path)
        if known is None or known.inode != inode:
            self.files[path] = known = FollowedFile(inode)
            if now - status.st_mtime > FORGOTTEN_S:
                known.size, known.changed_ns, known.offset = status.st_size, status.st_mtime_ns, status.st_size
        elif status.st_size < known.size:
            known.form, known.offset, known.mark, known.inside = "", 0, b"", False
        return known.form != "other" and (known.size, known.changed_ns) != (status.st_size, status.st_mtime_ns)

    def _grown(self, path: str, share: int, now: float) -> Growth | None:
        known = self.files[path]
        first = known.size < 0
        try:
            # a file that was replaced by a link or a pipe is not opened, or does not block
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                status = os.fstat(file.fileno())
                if (status.st_dev, status.st_ino) != known.inode:
                    return None
                if not known.form:
                    known.form = _form(file.read(_HEAD))
                data = self._prometheus(path, file, status.st_size) if known.form == "prometheus" else b""
                data = self._lines(known, file, status.st_size, share) if known.form == "json" else data
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self.unreadable[path] = error.strerror or str(error)
            return None
        if data is None:
            return None
        self.unreadable.pop(path, None)
        known.size, known.changed_ns = status.st_size, status.st_mtime_ns
        if not data:
            return None
        notes = Notes(path)
        read = read_inspector_json if known.form == "json" else read_inspector_prometheus
        records = read(data.decode("utf-8", "replace"), notes)
        self.counts.records += len(records)
        self.counts.not_understood += len(notes.kept) + notes.more
        self.notes = [*self.notes, *map(str, notes.kept)][-MOST_NOTES:]
        at = min(now, status.st_mtime) if first else now
        if known.form == "json":
            return Growth(self._job(path), at, records)
        known.records, known.seen = records, at
        return None

    def _prometheus(self, path: str, file: BinaryIO, size: int) -> bytes | None:
        """Return the whole lines of a file of Prometheus' form; None if it is too large. An empty file is about to be written."""
        if size > MOST_PROMETHEUS:
            self.unreadable[path] = (
                f"larger than {MOST_PROMETHEUS >> 20} MiB, the most that is read of Prometheus' form"
            )
            return None
        file.seek(0)
        data = file.read(size)
        self.counts.read_bytes += len(data)
        return data[: data.rfind(b"\n") + 1]

    def _lines(self, known: FollowedFile, file: BinaryIO, size: int, share: int) -> bytes:
        """Return the new whole lines of a JSON file, at most its last ``share`` bytes. A half line is left for the next look."""
        if known.mark:
            file.seek(known.offset - len(known.mark))
            if file.read(len(known.mark)) != known.mark:  # it was written again, and is already longer than before
                known.offset, known.mark, known.inside = 0, b"", False
        start = max(known.offset, size - share)
        inside = known.inside or start > known.offset
        file.seek(start)
        data = file.read(size - start)
        self.counts.skipped_bytes += start - known.offset
        self.counts.read_bytes += len(data)
        begin, end = data.find(b"\n") + 1 if inside else 0, data.rfind(b"\n") + 1
        known.inside = inside and not end
        if known.inside:  # a line that is longer than the share is skipped
            begin = end = len(data)
        known.offset = start + end
        known.mark = data[max(0, end - _MARK) : end] or known.mark
        return data[begin:end]


def _form(head: bytes) -> str:
    """Return the form of a file by its beginning: ``json``, ``prometheus`` or ``other``; empty if its first line is not complete."""
    text = head.decode("utf-8", "replace")
    if is_inspector_json(text):
        return "json"
    if b"\n" not in head and len(head) < _HEAD:
        return ""
    return "prometheus" if is_inspector_prometheus(text) else "other"
