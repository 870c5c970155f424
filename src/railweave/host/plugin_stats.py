"""``plugin stats``: what the net plugin's processes on this server did, from the pages they keep in ``/dev/shm``.

The layout is that of ``plugin/src/stats.h``, version 1.
"""

from __future__ import annotations

import os
import stat
import struct
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from . import files

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = struct.Struct("<8sIIQQII64s")
_ENTRY = struct.Struct("<64s64s64s32siI4I8Q4Q")
_MAGIC, _VERSION, _TRIES = b"RWSTATS\0", 1, 100

COUNTERS = ("bytes", "messages", "pieces", "clear_to_sends", "resent", "deaths", "recoveries", "errors")

_HELP = {
    "queue_pairs": "Queue pairs.",
    "live": "Queue pairs that carry data.",
    "suspect": "Queue pairs whose path may be dead.",
    "bytes": "Bytes of data.",
    "messages": "Messages of NCCL.",
    "pieces": "Pieces of messages posted.",
    "clear_to_sends": "Clear-to-send messages posted.",
    "resent": "Pieces that a path did not deliver and others sent again.",
    "deaths": "Times that a queue pair was declared dead.",
    "recoveries": "Times that a dead queue pair came back.",
    "errors": "Work requests that ended with an error.",
}


@dataclass(frozen=True)
class Way:
    """Sums over one way: direction, NIC, path color, leaf of the other end. Latencies in ns, from posting to completion."""

    device: str
    leaf: str
    peer_leaf: str
    color_name: str
    color: int
    direction: str
    queue_pairs: int
    live: int
    suspect: int
    connections: int
    bytes: int
    messages: int
    pieces: int
    clear_to_sends: int
    resent: int
    deaths: int
    recoveries: int
    errors: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What tells ways apart."""
        return self.direction, self.device, self.color, self.peer_leaf


@dataclass(frozen=True)
class Page:
    """What one process says."""

    host: str
    pid: int
    written_ns: int
    paths: tuple[Way, ...]


def _text(raw: bytes) -> str:
    """A name; what would end a line or a label in what is printed is not shown."""
    text = raw.split(b"\0", 1)[0].decode(errors="replace")
    return "".join(one if one.isprintable() and one not in '"\\' else "?" for one in text)


def parse(data: bytes) -> Page | None:
    """A page; None where it is being written just now, is of another version, or none of ours."""
    if len(data) < _HEADER.size:
        return None
    magic, version, entry_bytes, sequence, written_ns, pid, n, host = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or entry_bytes != _ENTRY.size or sequence % 2:
        return None
    if len(data) < _HEADER.size + n * _ENTRY.size:
        return None
    paths: list[Way] = []
    for i in range(n):
        device, leaf, peer_leaf, color_name, color, sends, *numbers = _ENTRY.unpack_from(
            data, _HEADER.size + i * _ENTRY.size
        )
        names = _text(device), _text(leaf), _text(peer_leaf), _text(color_name)
        paths.append(Way(*names, color, "send" if sends else "receive", *numbers))
    return Page(_text(host), pid, written_ns, tuple(paths))


def _content(file: Path) -> bytes:
    """A page as it stands. Anyone can put something into that folder: links are not followed, and no pipe is waited for."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as page:
        return page.read(files.MOST_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def read(folder: Path) -> list[Page]:
    """The pages of all processes that run; each is read again until it holds still."""
    pages: list[Page] = []
    for file in sorted(folder.glob("railweave-net-*")):
        for _ in range(_TRIES):
            try:
                first, second = _content(file), _content(file)
            except OSError:
                break
            page = parse(first)
            if page and first[:24] == second[:24]:
                pages.append(page)
                break
            time.sleep(0.001)
    return pages


def total(pages: list[Page]) -> list[Way]:
    """One entry per way over all processes: sums, and the worst of latencies."""
    sums: dict[tuple[str, str, int, str], Way] = {}
    for page in pages:
        for one in page.paths:
            before = sums.get(one.key)
            sums[one.key] = _add(before, one) if before else one
    return [sums[key] for key in sorted(sums)]


def _add(a: Way, b: Way) -> Way:
    added = {
        name: getattr(a, name) + getattr(b, name)
        for name in ("queue_pairs", "live", "suspect", "connections", *COUNTERS)
    }
    worst = {name: max(getattr(a, name), getattr(b, name)) for name in ("p50_ns", "p90_ns", "p99_ns", "max_ns")}
    return replace(a, **added, **worst)


def rates(before: list[Page], after: list[Page]) -> dict[tuple[str, str, int, str], float]:
    """Bytes per second of each way between two readings, of the processes that are in both."""
    old = {page.pid: page for page in before}
    found: dict[tuple[str, str, int, str], float] = {}
    for page in after:
        then = old.get(page.pid)
        if not then or page.written_ns <= then.written_ns:
            continue
        bytes_then = {one.key: one.bytes for one in then.paths}
        for one in page.paths:
            rate = (one.bytes - bytes_then.get(one.key, 0)) * 1e9 / (page.written_ns - then.written_ns)
            found[one.key] = found.get(one.key, 0.0) + rate
    return found


def table(paths: list[Way], speed: dict[tuple[str, str, int, str], float]) -> str:
    """For people: a line per way. A share is of what its NIC sends or receives."""
    rows = [
        ["direction", "device", "color", "peer leaf", "live", "MB/s", "share", "bytes", "resent", "deaths", "p99 us"]
    ]
    for one in paths:
        same = [other for other in paths if (other.direction, other.device) == (one.direction, one.device)]
        measured = [speed.get(other.key, 0.0) for other in same]
        parts = measured if sum(measured) else [float(other.bytes) for other in same]
        mine = parts[same.index(one)]
        rows.append([one.direction, one.device, one.color_name or str(one.color), one.peer_leaf or "-",
                     f"{one.live}/{one.queue_pairs}" + (f" ({one.suspect} suspect)" if one.suspect else ""),
                     f"{speed.get(one.key, 0.0) / 1e6:.1f}", f"{mine / sum(parts):.2f}" if sum(parts) else "-",
                     str(one.bytes), str(one.resent), str(one.deaths), f"{one.p99_ns / 1e3:.1f}"])  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)


def document(pages: list[Page], speed: dict[tuple[str, str, int, str], float]) -> dict[str, object]:
    """For programs."""
    return {"pids": [page.pid for page in pages], "paths": [
        {**asdict(one), "bytes_per_s": round(speed.get(one.key, 0.0))} for one in total(pages)
    ]}  # fmt: skip


def prometheus(paths: list[Way]) -> str:
    """The textfile format of node_exporter, summed over processes: labels do not grow with them."""
    lines: list[str] = []
    for name in (one.name for one in fields(Way)):
        counter = name in COUNTERS
        if not counter and name not in {"queue_pairs", "live", "suspect"}:
            continue
        metric = f"railweave_net_{name}" + ("_total" if counter else "")
        lines.append(f"# HELP {metric} {_HELP[name]}")
        lines.append(f"# TYPE {metric} {'counter' if counter else 'gauge'}")
        for one in paths:
            labels = (
                f'direction="{one.direction}",device="{one.device}",color="{one.color}",peer_leaf="{one.peer_leaf}"'
            )
            lines.append(f"{metric}{{{labels}}} {getattr(one, name)}")
    return "\n".join(lines) + "\n"
