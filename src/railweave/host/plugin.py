"""Counters of the net plugin for NCCL and RCCL."""

from __future__ import annotations

import os
import stat
import struct
import time
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from . import files, show

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = struct.Struct("<8sIIQQII64sII")
_PEER = struct.Struct("<64s96s64sQQQIiiIIIII")
_PEERS_AT = _HEADER.size + 256 * 344
_ENTRY = struct.Struct("<64s64s64s32siI4I8Q4Q")
_MAGIC, _VERSION, _TRIES = b"RWSTATS\0", 2, 100

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
class PathSums:
    """The sums over all queue pairs of one path: a direction, a NIC, a path color, and the leaf of the other end.

    - ``device``, ``leaf``: the NIC and its leaf. ``peer_leaf``: the leaf of the other end.
    - ``live``, ``suspect``: the queue pairs that carry data, and those without answers, which get no new data.
    - ``pieces``: the posted parts of messages. ``resent``: the pieces that other queue pairs delivered instead.
    - ``clear_to_sends``: the posted messages that allow the other end to send.
    - ``deaths``: the times that a queue pair was declared dead. ``recoveries``: the times that a dead queue pair came back.
    - ``errors``: the work requests that ended with an error.
    - ``p50_ns`` and the following: latencies in ns, from posting to completion.
    """

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
        """The values that identify a path: direction, NIC, path color and leaf of the other end."""
        return self.direction, self.device, self.color, self.peer_leaf


@dataclass(frozen=True)
class Peer:
    """A process at the other end of open connections.

    - ``rank``, ``local_rank``: its rank in the job and on its server, which is the number of its GPU if it has one; -1 if its launcher
      does not say.
    - ``last_death_ms``: when a queue pair to it last died, in ms of the Unix epoch, or 0. ``reason``: why.
    - ``doing``: what is being done about queue pairs that carry no data, or empty.
    """

    host: str
    pid: int
    rank: int
    local_rank: int
    connections: int
    queue_pairs: int
    live: int
    suspect: int
    deaths: int
    last_death_ms: int
    reason: str
    doing: str


@dataclass(frozen=True)
class Page:
    """The counters that one process with the plugin has written to its file. ``written_ns`` is the time of writing in ns."""

    host: str
    pid: int
    written_ns: int
    paths: tuple[PathSums, ...]
    peers: tuple[Peer, ...] = ()


def _text(raw: bytes) -> str:
    """Return the name in ``raw``, a fixed-length field of a page. Characters that would end a line or a label in the output become ``?``."""
    text = raw.split(b"\0", 1)[0].decode(errors="replace")
    return "".join(character if character.isprintable() and character not in '"\\' else "?" for character in text)


def parse(data: bytes) -> Page | None:
    """Return the page in ``data``, the content of a file that a process writes its counters to.

    Return None if the process is writing at this moment, or if ``data`` is not a page of this version of the plugin.
    """
    if len(data) < _HEADER.size:
        return None
    magic, version, entry_bytes, sequence, written_ns, pid, n, host, n_peers, peer_bytes = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or entry_bytes != _ENTRY.size or sequence % 2:
        return None
    if (
        len(data) < _HEADER.size + n * _ENTRY.size
        or len(data) < _PEERS_AT + n_peers * _PEER.size
        or peer_bytes != _PEER.size
    ):
        return None
    paths: list[PathSums] = []
    for i in range(n):
        device, leaf, peer_leaf, color_name, color, sends, *numbers = _ENTRY.unpack_from(
            data, _HEADER.size + i * _ENTRY.size
        )
        names = _text(device), _text(leaf), _text(peer_leaf), _text(color_name)
        paths.append(PathSums(*names, color, "send" if sends else "receive", *numbers))
    peers = tuple(_peer(data, _PEERS_AT + i * _PEER.size) for i in range(n_peers))
    return Page(_text(host), pid, written_ns, tuple(paths), peers)


def _peer(data: bytes, at: int) -> Peer:
    host, reason, doing, _, died_ns, deaths, pid, rank, local_rank, comms, qps, live, suspect, _ = _PEER.unpack_from(
        data, at
    )
    counts = (comms, qps, live, suspect, deaths, died_ns // 10**6)
    return Peer(_text(host), pid, rank, local_rank, *counts, _text(reason), _text(doing))


def _content(file: Path) -> bytes:
    """Return the present content of a page's file. Links and pipes are refused, because any user can write to the folder."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as page:
        return page.read(files.MOST_BYTES) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def read(folder: Path) -> list[Page]:
    """Return the counters that processes with the plugin have written into ``folder``, one page for each process.

    The page of a killed process remains until the plugin starts again on this server. A page that changes during each of 100 readings is
    left out.
    """
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


def total(pages: list[Page]) -> list[PathSums]:
    """Return the counters of each path over all processes; each process has one of ``pages``.

    Counters are added; each latency is the largest of all processes.
    """
    sums: dict[tuple[str, str, int, str], PathSums] = {}
    for page in pages:
        for path in page.paths:
            before = sums.get(path.key)
            sums[path.key] = _add(before, path) if before else path
    return [sums[key] for key in sorted(sums)]


def _add(a: PathSums, b: PathSums) -> PathSums:
    added = {
        name: getattr(a, name) + getattr(b, name)
        for name in ("queue_pairs", "live", "suspect", "connections", *COUNTERS)
    }
    worst = {name: max(getattr(a, name), getattr(b, name)) for name in ("p50_ns", "p90_ns", "p99_ns", "max_ns")}
    return replace(a, **added, **worst)


def rates(before: list[Page], after: list[Page]) -> dict[tuple[str, str, int, str], float]:
    """Return the bytes per second of each path between the readings ``before`` and ``after``, by ``PathSums.key``.

    A process that is missing from one of the readings is ignored.
    """
    old = {page.pid: page for page in before}
    per_second: dict[tuple[str, str, int, str], float] = {}
    for page in after:
        then = old.get(page.pid)
        if not then or page.written_ns <= then.written_ns:
            continue
        bytes_then = {path.key: path.bytes for path in then.paths}
        for path in page.paths:
            rate = (path.bytes - bytes_then.get(path.key, 0)) * 1e9 / (page.written_ns - then.written_ns)
            per_second[path.key] = per_second.get(path.key, 0.0) + rate
    return per_second


def table(paths: list[PathSums], speed: dict[tuple[str, str, int, str], float]) -> str:
    """Return a table with a row per path. The column share is the path's fraction of its NIC's traffic in the same direction.

    ``speed`` has the bytes per second of each path, by ``PathSums.key``.
    """
    rows = [
        ["direction", "device", "color", "peer leaf", "live", "MB/s", "share", "bytes", "resent", "deaths", "p99 us"]
    ]
    for path in paths:
        same = [other for other in paths if (other.direction, other.device) == (path.direction, path.device)]
        measured = [speed.get(other.key, 0.0) for other in same]
        parts = measured if sum(measured) else [float(other.bytes) for other in same]
        mine = parts[same.index(path)]
        rows.append([path.direction, path.device, path.color_name or str(path.color), path.peer_leaf or "-",
                     f"{path.live}/{path.queue_pairs}" + (f" ({path.suspect} suspect)" if path.suspect else ""),
                     f"{speed.get(path.key, 0.0) / 1e6:.1f}", f"{mine / sum(parts):.2f}" if sum(parts) else "-",
                     str(path.bytes), str(path.resent), str(path.deaths), f"{path.p99_ns / 1e3:.1f}"])  # fmt: skip
    return "\n".join(show.aligned(rows))


def peer_table(pages: list[Page], *, everyone: bool) -> str:
    """Return a table of the processes at the other ends: those with a queue pair that died or carries no data, or ``everyone``.

    Return an empty text if there is none.
    """
    rows = [["of pid", "peer", "pid", "rank", "GPU", "live", "deaths", "last death", "why, and what is done"]]
    for page in pages:
        for peer in page.peers:
            if not everyone and peer.deaths == 0 and peer.live == peer.queue_pairs:
                continue
            died = time.localtime(peer.last_death_ms // 1000)
            when = f"{time.strftime('%H:%M:%S', died)}.{peer.last_death_ms % 1000:03}" if peer.last_death_ms else "-"
            numbers = [str(number) if number >= 0 else "-" for number in (peer.rank, peer.local_rank)]
            rows.append([str(page.pid), peer.host, str(peer.pid), *numbers, f"{peer.live}/{peer.queue_pairs}", str(peer.deaths),
                         when, "; ".join(text for text in (peer.reason, peer.doing) if text) or "-"])  # fmt: skip
    return "\n".join(show.aligned(rows)) if len(rows) > 1 else ""


def document(pages: list[Page], speed: dict[tuple[str, str, int, str], float]) -> dict[str, object]:
    """Return the counters and speed of each path over all processes as data for JSON.

    ``pages`` has the counters of one process each. ``speed`` has the bytes per second of each path, by ``PathSums.key``.
    """
    return {"pids": [page.pid for page in pages], "paths": [
        {**asdict(way), "bytes_per_s": round(speed.get(way.key, 0.0))} for way in total(pages)
    ], "peers": [{"of_pid": page.pid, **asdict(peer)} for page in pages for peer in page.peers]}  # fmt: skip


def prometheus(paths: list[PathSums]) -> str:
    """Return the metrics in node_exporter's textfile format. ``paths`` are sums over processes, so the number of labels stays small."""
    lines: list[str] = []
    for name in (field.name for field in fields(PathSums)):
        counter = name in COUNTERS
        if not counter and name not in {"queue_pairs", "live", "suspect"}:
            continue
        metric = f"railweave_net_{name}" + ("_total" if counter else "")
        lines.append(f"# HELP {metric} {_HELP[name]}")
        lines.append(f"# TYPE {metric} {'counter' if counter else 'gauge'}")
        for path in paths:
            labels = (
                f'direction="{path.direction}",device="{path.device}",color="{path.color}",peer_leaf="{path.peer_leaf}"'
            )
            lines.append(f"{metric}{{{labels}}} {getattr(path, name)}")
    return "\n".join(lines) + "\n"
