"""Counters of the net plugin for NCCL and RCCL, and checks of the plugin's setup on this server."""

from __future__ import annotations

import os
import stat
import struct
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import files, gids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host_file import HostFile
    from .machine import Machine


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
class Page:
    """The counters that one process with the plugin has written to its file. ``written_ns`` is the time of writing in ns."""

    host: str
    pid: int
    written_ns: int
    paths: tuple[PathSums, ...]


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
    magic, version, entry_bytes, sequence, written_ns, pid, n, host = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION or entry_bytes != _ENTRY.size or sequence % 2:
        return None
    if len(data) < _HEADER.size + n * _ENTRY.size:
        return None
    paths: list[PathSums] = []
    for i in range(n):
        device, leaf, peer_leaf, color_name, color, sends, *numbers = _ENTRY.unpack_from(
            data, _HEADER.size + i * _ENTRY.size
        )
        names = _text(device), _text(leaf), _text(peer_leaf), _text(color_name)
        paths.append(PathSums(*names, color, "send" if sends else "receive", *numbers))
    return Page(_text(host), pid, written_ns, tuple(paths))


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
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths)).rstrip() for row in rows)


def document(pages: list[Page], speed: dict[tuple[str, str, int, str], float]) -> dict[str, object]:
    """Return the counters and speed of each path over all processes as data for JSON.

    ``pages`` has the counters of one process each. ``speed`` has the bytes per second of each path, by ``PathSums.key``.
    """
    return {"pids": [page.pid for page in pages], "paths": [
        {**asdict(way), "bytes_per_s": round(speed.get(way.key, 0.0))} for way in total(pages)
    ]}  # fmt: skip


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


_PEER_MEMORY = (
    "/sys/kernel/mm/memory_peers/nv_mem/version",
    "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "/sys/module/nvidia_peermem/version",
    "/sys/kernel/mm/memory_peers/amdkfd/version",
)
_NVIDIA_OPEN = "/sys/module/nvidia/version"
_TUNER_FILE = "/etc/railweave/tuner.json"
_RETRY_UNIT_MS = 4.096e-3
_WITHOUT_BFD_MS, _AFTER_BFD_MS = 1500, 500


@dataclass(frozen=True)
class Verdict:
    """A finding about the plugin's setup. ``level`` is ``good``, ``warning`` or ``error``; ``what`` is its topic, such as ``speed``."""

    level: str
    what: str
    text: str


def examine(plan: HostFile, raw: Mapping[str, Any], machine: Machine, variables: Mapping[str, str]) -> list[Verdict]:
    """Return all findings about the plugin's setup. ``raw`` is the content of ``host.json``, and ``variables`` the job's environment."""
    verdicts = [*speeds(raw, machine), *_mtus(plan, machine), *_addresses(plan, machine), _gpu_memory(machine)]
    return [*verdicts, *timeout(raw, variables), *variables_of_nccl(variables), *tuner(variables)]


def speeds(raw: Mapping[str, Any], machine: Machine) -> list[Verdict]:
    """Return a finding for each NIC: an error if it is slower than designed or its rate cannot be read. ``raw`` is the content of ``host.json``."""
    verdicts: list[Verdict] = []
    for nic in raw.get("nics", []):
        rdma, wanted = nic.get("rdma", ""), nic.get("speed_gbps")
        rate = machine.readable(f"{gids.DEVICES}/{rdma}/ports/{nic.get('rdma_port', 1)}/rate")
        there = float(rate.split()[0]) if rate and rate.split()[0].replace(".", "").isdigit() else None
        if there is None:
            verdicts.append(Verdict("error", "speed", f"{rdma}: no such RDMA device, or its driver tells no rate"))
        elif wanted and there < wanted:
            verdicts.append(Verdict("error", "speed", f"{rdma} runs at {there:g} Gbit/s, the design says {wanted:g}"))
        else:
            verdicts.append(Verdict("good", "speed", f"{rdma}: {there:g} Gbit/s"))
    return verdicts


def _mtus(plan: HostFile, machine: Machine) -> list[Verdict]:
    verdicts: list[Verdict] = []
    for nic in plan.nics:
        mtu = machine.readable(f"/sys/class/net/{nic.netdev}/mtu")
        if mtu and int(mtu) < nic.mtu:
            verdicts.append(
                Verdict("error", "MTU", f"{nic.netdev} has {mtu}, the design says {nic.mtu}: RoCE falls back to less")
            )
        elif mtu:
            verdicts.append(Verdict("good", "MTU", f"{nic.netdev}: {mtu}"))
    return verdicts


def _addresses(plan: HostFile, machine: Machine) -> list[Verdict]:
    missing = gids.missing(plan, gids.read(machine, plan))
    verdicts = [
        Verdict(
            "error",
            "paths",
            f"{nic.rdma}: no RoCE v2 GID in {path.prefix} in this network namespace ({path.table_name})",
        )
        for nic, path in missing
    ]
    return verdicts or [Verdict("good", "paths", "every NIC has an address on every path")]


def _gpu_memory(machine: Machine) -> Verdict:
    if any(machine.real(path) for path in _PEER_MEMORY):
        return Verdict("good", "GPU memory", "a peer memory module is loaded: GPUDirect RDMA")
    if machine.real(_NVIDIA_OPEN):
        text = "no peer memory module: GPUDirect RDMA needs DMA-BUF (open kernel modules, Linux 5.12); NCCL's log says GPU Direct RDMA Enabled"
        return Verdict("warning", "GPU memory", text)
    return Verdict(
        "warning", "GPU memory", "no GPU driver with RDMA found: data goes through host memory, at about half the rate"
    )


def timeout(raw: Mapping[str, Any], variables: Mapping[str, str]) -> list[Verdict]:
    """Return a finding if the job sets NCCL_IB_TIMEOUT: an error if the NIC stops retrying before the fabric can reroute, else a warning.

    ``raw`` is the content of ``host.json``, and ``variables`` the job's environment.
    """
    given = variables.get("NCCL_IB_TIMEOUT", "")
    if not given.isdigit():
        return []
    retries = variables.get("NCCL_IB_RETRY_CNT", "")
    lasts_ms = _RETRY_UNIT_MS * 2 ** min(int(given), 31) * (int(retries) + 1 if retries.isdigit() else 8)
    bfd = [fabric.get("bfd_detection_ms") for fabric in raw.get("fabrics", {}).values()]
    detected = max((detection_ms for detection_ms in bfd if detection_ms is not None), default=None)
    reroute_ms = int(
        variables.get("RAILWEAVE_NET_REROUTE_MS") or (_WITHOUT_BFD_MS if detected is None else detected + _AFTER_BFD_MS)
    )
    if lasts_ms < reroute_ms:
        text = f"NCCL_IB_TIMEOUT={given}: the NIC gives up after {lasts_ms:.0f} ms, before the fabric had its {reroute_ms} ms to reroute"
        return [Verdict("error", "timeout", text)]
    return [
        Verdict(
            "warning",
            "timeout",
            f"NCCL_IB_TIMEOUT={given} is not needed: a path is dead after {reroute_ms} ms all the same",
        )
    ]


def variables_of_nccl(variables: Mapping[str, str]) -> list[Verdict]:
    """Return findings about environment variables of NCCL that are harmful or missing."""
    verdicts: list[Verdict] = []
    if variables.get("NCCL_IB_GID_INDEX"):
        verdicts.append(Verdict("error", "variables", "NCCL_IB_GID_INDEX leaves one path per NIC: unset it"))
    if variables.get("NCCL_NET_PLUGIN") not in {"railweave", "libnccl-net-railweave.so", "librccl-net-railweave.so"}:
        verdicts.append(
            Verdict("warning", "variables", "NCCL_NET_PLUGIN does not name railweave: NCCL takes its own transport")
        )
    if variables.get("NCCL_NET_PLUGIN") == "railweave" and variables.get("NCCL_NET") != "railweave":
        verdicts.append(
            Verdict(
                "warning",
                "variables",
                "without NCCL_NET=railweave NCCL goes on in silence where the plugin cannot start",
            )
        )
    return verdicts


def tuner(variables: Mapping[str, str]) -> list[Verdict]:
    """Return a finding about the table from which the plugin chooses NCCL's algorithms, if the job uses that table.

    ``variables`` is the job's environment. All ranks must have the same table, because a rank without it would choose other algorithms.
    """
    if variables.get("RAILWEAVE_NET_TUNER", "0") == "0":
        return []
    table = Path(variables.get("RAILWEAVE_NET_TUNER_FILE") or _TUNER_FILE)
    try:
        rows = len(files.parsed(files.content(table))["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        text = f"RAILWEAVE_NET_TUNER is set, and {table} cannot be read: install hosts/tuner.json of the build on all servers"
        return [Verdict("error", "tuner", text)]
    return [Verdict("good", "tuner", f"{table}: {rows} rows; it must be the same on all servers")]


def load_raw(file: Path) -> dict[str, Any]:
    """Return the JSON content of a ``host.json`` that was already validated."""
    return files.parsed(files.content(file))


def lines(verdicts: list[Verdict]) -> str:
    """Return the findings ``verdicts`` as text, one per line."""
    return "\n".join(f"{verdict.level:<8} {verdict.what:<11} {verdict.text}" for verdict in verdicts)
