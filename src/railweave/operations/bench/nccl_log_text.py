"""Parser of the lines of ``NCCL_DEBUG=INFO``. Most lines of such a log are not needed and are skipped."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench import nccl_log as log
from railweave.operations.bench.lines import Line, Notes, address, number, raw_gid
from railweave.operations.bench.messages import errno_of
from railweave.operations.bench.nccl_log import FailedCall, FailedCompletion, RankSeen
from railweave.operations.bench.nccl_tests import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Parts:
    """The objects read so far, under the names of ``NcclLog``. ``line`` and ``host`` belong to the message that is being read."""

    line: int = 0
    host: str = ""
    library: Literal["NCCL", "RCCL", ""] = ""
    messages: int = 0
    versions: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    bootstrap: list[log.Interface] = field(default_factory=list[log.Interface])
    networks: list[log.LogMessage] = field(default_factory=list[log.LogMessage])
    plugins: list[log.Plugin] = field(default_factory=list[log.Plugin])
    devices: list[log.RdmaDevice] = field(default_factory=list[log.RdmaDevice])
    gpu_direct: list[log.GpuDirect] = field(default_factory=list[log.GpuDirect])
    channels: list[log.Channel] = field(default_factory=list[log.Channel])
    rings: dict[int, tuple[int, ...]] = field(default_factory=dict[int, "tuple[int, ...]"])
    ring_links: list[log.RingLink] = field(default_factory=list[log.RingLink])
    tree_links: list[log.TreeLink] = field(default_factory=list[log.TreeLink])
    ranks: dict[tuple[str, str, int], log.RankSeen] = field(default_factory=dict[tuple[str, str, int], log.RankSeen])
    counts: list[log.ChannelCounts] = field(default_factory=list[log.ChannelCounts])
    searches: list[log.Search] = field(default_factory=list[log.Search])
    choices: list[log.Choice] = field(default_factory=list[log.Choice])
    queue_pairs: list[log.QueuePair] = field(default_factory=list[log.QueuePair])
    plugin_paths: list[log.PluginPath] = field(default_factory=list[log.PluginPath])
    affinities: list[log.Affinity] = field(default_factory=list[log.Affinity])
    failed: list[log.FailedCompletion] = field(default_factory=list[log.FailedCompletion])
    calls: list[log.FailedCall] = field(default_factory=list[log.FailedCall])
    events: list[log.LogMessage] = field(default_factory=list[log.LogMessage])
    warnings: list[log.LogMessage] = field(default_factory=list[log.LogMessage])
    init_seconds: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    settings: list[log.Setting] = field(default_factory=list[log.Setting])
    version_lines: list[log.LogMessage] = field(default_factory=list[log.LogMessage])
    speeds: list[log.NicSpeed] = field(default_factory=list[log.NicSpeed])
    distances: list[log.Distance] = field(default_factory=list[log.Distance])
    communicators: set[str] = field(default_factory=set[str])
    sources: dict[int, tuple[str, str, str]] = field(default_factory=dict[int, tuple[str, str, str]])
    ranks_of: dict[tuple[str, str, str], set[int]] = field(
        default_factory=lambda: defaultdict[tuple[str, str, str], set[int]](set)
    )
    """The ranks that a process reported as its own, by (host, process number, GPU)."""

    def rank(self, seen: RankSeen) -> None:
        """Store ``seen``, a rank of a communicator. If earlier lines reported the same rank, store both merged."""
        key = seen.host, seen.communicator, seen.rank
        had = self.ranks.get(key)
        self.ranks[key] = (
            seen
            if had is None
            else replace(
                had,
                nodes=had.nodes if seen.nodes is None else seen.nodes,
                local_ranks=had.local_ranks if seen.local_ranks is None else seen.local_ranks,
                gpu=had.gpu if seen.gpu is None else seen.gpu,
            )
        )

    def whole(self, file: str) -> log.NcclLog:
        """Return everything read so far as an ``NcclLog``."""
        return log.NcclLog(
            file=file,
            library=self.library or ("NCCL" if self.messages else ""),
            versions=tuple(self.versions),
            variables=tuple(self.variables.items()),
            bootstrap=tuple(self.bootstrap),
            networks=tuple(self.networks),
            plugins=tuple(self.plugins),
            devices=tuple(self.devices),
            gpu_direct=tuple(self.gpu_direct),
            channels=tuple(self.channels),
            rings=tuple(sorted(self.rings.items())),
            ring_links=tuple(self.ring_links),
            tree_links=tuple(self.tree_links),
            ranks=tuple(self.ranks.values()),
            counts=tuple(self.counts),
            searches=tuple(self.searches),
            choices=tuple(self.choices),
            queue_pairs=tuple(self.queue_pairs),
            plugin_paths=tuple(self.plugin_paths),
            affinities=tuple(self.affinities),
            failed=tuple(self.failed),
            calls=tuple(self.calls),
            events=tuple(self.events),
            warnings=tuple(self.warnings),
            init_seconds=tuple(self.init_seconds),
            messages=self.messages,
            settings=tuple(self.settings),
            version_lines=tuple(self.version_lines),
            speeds=tuple(self.speeds),
            distances=tuple(self.distances),
            communicators=frozenset(self.communicators),
            sources=tuple((line, self._source(*key)) for line, key in sorted(self.sources.items())),
        )

    def _source(self, host: str, process: str, gpu: str) -> log.Source:
        ranks = self.ranks_of.get((host, process, gpu), set())
        return log.Source(host, process, gpu, min(ranks) if len(ranks) == 1 else None)


STATUSES = (
    "IBV_WC_SUCCESS",
    "IBV_WC_LOC_LEN_ERR",
    "IBV_WC_LOC_QP_OP_ERR",
    "IBV_WC_LOC_EEC_OP_ERR",
    "IBV_WC_LOC_PROT_ERR",
    "IBV_WC_WR_FLUSH_ERR",
    "IBV_WC_MW_BIND_ERR",
    "IBV_WC_BAD_RESP_ERR",
    "IBV_WC_LOC_ACCESS_ERR",
    "IBV_WC_REM_INV_REQ_ERR",
    "IBV_WC_REM_ACCESS_ERR",
    "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR",
    "IBV_WC_RNR_RETRY_EXC_ERR",
    "IBV_WC_LOC_RDD_VIOL_ERR",
    "IBV_WC_REM_INV_RD_REQ_ERR",
    "IBV_WC_REM_ABORT_ERR",
    "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR",
    "IBV_WC_FATAL_ERR",
    "IBV_WC_RESP_TIMEOUT_ERR",
    "IBV_WC_GENERAL_ERR",
    "IBV_WC_TM_ERR",
    "IBV_WC_TM_RNDV_INCOMPLETE",
)
"""The names of ``enum ibv_wc_status``, indexed by number (rdma-core, ``libibverbs/verbs.h``)."""

_VERBS = re.compile(r"Got completion (?:from peer (?P<peer>\S*) *)?with\b")
_STATUS = re.compile(
    r"\b(?:status ?[=:]? ?|error[ =:]{1,2})"
    r"(?:\(?(?P<name>[A-Z][A-Z0-9_]{2,40})\b\)? ?(?:\(?(?P<beside>[0-9]{1,9})\b)?|\(?(?P<number>[0-9]{1,9})\b)"
)
_VENDOR = re.compile(r"\bvendor[_ ]err(?:or)?[ =:]{1,2}(0[xX][0-9a-fA-F]{1,8}|-?[0-9]{1,10})\b")
_GIDS = re.compile(r"localGid +(\S+?)(?: +remoteGids? *(\S+?))?(?: |$)")
_HCA = re.compile(r" hca (\S+)")
_OFI = re.compile(
    r"\b(?:Request|Remote write|Operation)\b.* completed with error"
    r"(?:(?:\. RC|: err): ?-?(?P<error>[0-9]{1,9})\b)?"
    r"(?:.*?(?:Error|prov_errno): ?(?P<vendor>-?[0-9]{1,10})\b)?"
)
_OFI_TEXT = re.compile(r"(?:Error: (?:-?[0-9]+ \()?|strerror: )(.*?)\)?(?:\. Completed length|, len: |$)")
_CALL = re.compile(r"\bCall to .*\bfailed\b|\w\(\) failed\b")


def is_completion(text: str) -> bool:
    """Return True if an NCCL message reports a work completion, of verbs or of the OFI plugin."""
    return "completed with error" in text or ("completion" in text and _VERBS.search(text) is not None)


def failed_completion(line: int, host: str, text: str) -> FailedCompletion | None:
    """Return the failed completion that a message reports, or None if the completion succeeded.

    ``NCCL_DEBUG=TRACE`` reports successful completions too.
    """
    if "completed with error" in text:
        return _of_ofi(line, host, text)
    begin, status_match = _VERBS.search(text), _STATUS.search(text)
    status = _number(status_match) if status_match else None
    if status == 0:
        return None
    vendor, gids, hca = _VENDOR.search(text), _GIDS.search(text), _HCA.search(text)
    return FailedCompletion(
        line,
        host,
        (begin["peer"] or "") if begin else "",
        status,
        int(vendor[1], 0) % (1 << 32) if vendor else None,  # unsigned, and printed as signed up to NCCL 2.26
        address(gids[1]) if gids else "",
        address(gids[2]) if gids else "",
        hca[1] if hca else "",
    )


def _number(match: re.Match[str]) -> int | None:
    """Return the number of the completion status that ``match`` found in a message; None if it has neither number nor known name.

    If the message has only the status's name, return the index of the name in ``STATUSES``.
    """
    digits = match["beside"] or match["number"]
    if digits:
        return int(digits)
    return STATUSES.index(match["name"]) if match["name"] in STATUSES else None


def _of_ofi(line: int, host: str, text: str) -> FailedCompletion:
    match, text_match = _OFI.search(text), _OFI_TEXT.search(text)
    error, vendor = (match["error"], match["vendor"]) if match else (None, None)
    return FailedCompletion(
        line,
        host,
        "",
        None,
        int(vendor) if vendor else None,
        "",
        "",
        "",
        error=int(error) if error else None,
        text=text_match[1][:200] if text_match else "",
    )


def failed_call(line: int, host: str, text: str) -> FailedCall | None:
    """Return the failed call that a warning reports; None if the warning reports something else."""
    error = errno_of(text)
    if error is None and not _CALL.search(text):
        return None
    return FailedCall(line, host, error, text[:400])


if TYPE_CHECKING:
    Take = Callable[[Parts, re.Match[str]], None]

MESSAGE = re.compile(r"\bNCCL (INFO|WARN|TRACE|CALL|VERSION) ?(.*)$")
VERSION = re.compile(r"^\s*(NCCL|RCCL) version ?:? ?(\d\S*)")
_N = r"(-?[0-9]{1,9})"

_RING = re.compile(r"^Channel ([0-9]{1,4})/([0-9]{1,4}) :((?: +[0-9]{1,9})+ *)(\.\.\.)?$")
_CHANNEL = re.compile(
    rf"^Channel ([0-9]{{1,4}})(?:/([0-9]{{1,4}}))? : {_N}\[\w+\] -> {_N}\[\w+\](?: \[(send|receive)\])? via (\w+)(.*?)(?: comm 0x.*)?$"
)
_NET = re.compile(r"/([^/]+)/([0-9]{1,4})(?:\(([0-9]{1,9})\))?((?:/GDRDMA(?:\(\w+\))?)?)((?:/Shared)?)\s*")
_TREE = re.compile(rf"\[([0-9]{{1,4}})\] {_N}/{_N}/{_N}->{_N}->{_N}")
_DEVICE = re.compile(r"\[([0-9]{1,4})\]([^\s:\]]+):([0-9]{1,4})/(\w+)")


def _variable(parts: Parts, match: re.Match[str]) -> None:
    if kept(match[1]):
        value = match[2].rstrip().removesuffix(".")
        parts.variables.setdefault(match[1], value)
        parts.settings.append(log.Setting(parts.line, parts.host, match[1], value))


def _bootstrap(parts: Parts, match: re.Match[str]) -> None:
    for name, where in re.findall(r"(?:\[\d+\])?([^\s:\[\]]+):(\S+?)<\d+>", match[1]):
        parts.bootstrap.append(log.Interface(parts.line, parts.host, name, where.strip("[]")))


def _network(parts: Parts, match: re.Match[str]) -> None:
    parts.networks.append(log.LogMessage(parts.line, parts.host, match[1]))


def _loaded(parts: Parts, match: re.Match[str]) -> None:
    parts.plugins.append(log.Plugin(parts.line, parts.host, match[1].upper(), match[2], match[3] or "", loaded=True))


def _missing(parts: Parts, match: re.Match[str]) -> None:
    names = (match[2] or "libnccl-net.so").partition(". ")[0].strip().rstrip(".")
    parts.plugins.append(log.Plugin(parts.line, parts.host, match[1], names, "", loaded=False))


def _devices(parts: Parts, match: re.Match[str]) -> None:
    for index, name, port, layer in _DEVICE.findall(match[1]):
        parts.devices.append(log.RdmaDevice(parts.line, parts.host, int(index), name, int(port), layer))


def _gpu_direct(parts: Parts, match: re.Match[str]) -> None:
    parts.gpu_direct.append(log.GpuDirect(parts.line, parts.host, match[2], enabled=match[1] == "Enabled"))


def _ring(parts: Parts, match: re.Match[str]) -> None:
    whole = () if match[4] else tuple(map(int, match[3].split()))
    parts.rings.setdefault(int(match[1]), whole)


def _channel(parts: Parts, match: re.Match[str]) -> None:
    net = _NET.fullmatch(match[7]) if match[6] == "NET" else None
    if match[6] == "NET" and net is None:
        return  # cut off
    sides: dict[str, Literal["send", "receive", ""]] = {"send": "send", "receive": "receive"}
    parts.channels.append(
        log.Channel(
            parts.line,
            parts.host,
            int(match[1]),
            int(match[2] or 0),
            int(match[3]),
            int(match[4]),
            direction=sides.get(match[5] or "", ""),
            transport=match[6],
            through=net[1] if net else match[7].strip("/"),
            device=int(net[2]) if net else None,
            gdr=net is not None and bool(net[4]),
            shared=net is not None and bool(net[5]),
            proxy=int(net[3]) if net and net[3] else None,
        )
    )


def _ring_link(parts: Parts, match: re.Match[str]) -> None:
    parts.ring_links.append(log.RingLink(parts.line, *map(int, match.groups())))


def _trees(parts: Parts, match: re.Match[str]) -> None:
    for channel, *three, rank, parent in _TREE.findall(match[0]):
        children = tuple(child for child in map(int, three) if child >= 0)
        parts.tree_links.append(log.TreeLink(parts.line, int(channel), int(rank), int(parent), children))


def _init(parts: Parts, match: re.Match[str]) -> None:
    parts.rank(log.RankSeen(parts.line, parts.host, match[1], int(match[2]), int(match[3]), None, None, int(match[4])))


def _communicator(parts: Parts, match: re.Match[str]) -> None:
    parts.communicators.add(match[1])


def _rank(parts: Parts, match: re.Match[str]) -> None:
    key = parts.sources.get(parts.line)
    if key is not None:
        parts.ranks_of[key].add(int(match[1]))


def _speed(parts: Parts, match: re.Match[str]) -> None:
    megabits = number(match[2])
    if megabits is not None:
        parts.speeds.append(log.NicSpeed(parts.line, parts.host, match[1], megabits / 1000))


def _speed_of_graph(parts: Parts, match: re.Match[str]) -> None:
    gigabytes = number(match[1])
    if gigabytes is not None:
        parts.speeds.append(log.NicSpeed(parts.line, parts.host, f"NET/{match[2]}", gigabytes * 8))


def _distance(parts: Parts, match: re.Match[str]) -> None:
    gdr = match[1] == "Enabled"
    parts.distances.append(log.Distance(parts.line, parts.host, match[2], match[3], match[4].strip(), gdr))


def _comm(parts: Parts, match: re.Match[str]) -> None:
    numbers = [int(match[place]) for place in range(2, 6)]
    parts.rank(log.RankSeen(parts.line, parts.host, match[1], numbers[0], numbers[1], numbers[2], numbers[3], None))


def _counts(parts: Parts, match: re.Match[str]) -> None:
    counts = log.ChannelCounts(parts.line, int(match[1]), int(match[2] or 0), int(match[3]), int(match[4]))
    if not any(
        (counts.collective, counts.point_to_point) == (had.collective, had.point_to_point) for had in parts.counts
    ):
        parts.counts.append(counts)


def _search(parts: Parts, match: re.Match[str]) -> None:
    pattern, cross, channels = (int(match[place]) for place in (1, 2, 3))
    parts.searches.append(
        log.Search(parts.line, pattern, cross, channels, number(match[4]) or 0.0, number(match[5]) or 0.0, match[6])
    )


def _choice(parts: Parts, match: re.Match[str]) -> None:
    def named(text: str, names: Sequence[str]) -> str:
        if text.isdigit():
            return names[int(text)] if int(text) < len(names) else text
        plain = text.replace("_", "").lower()
        return next((name for name in names if name.lower() == plain), text)

    channels = [int(digits) if digits else None for digits in (match[5], match[6])]
    algorithm, protocol = named(match[3], log.ALGORITHMS), named(match[4], log.PROTOCOLS)
    parts.choices.append(
        log.Choice(parts.line, match[1] or "", int(match[2]), algorithm, protocol, channels[0], channels[1])
    )


def _queue_pair(parts: Parts, match: re.Match[str]) -> None:
    device, port, mtu, index = (int(match[place]) for place in (1, 2, 3, 4))
    parts.queue_pairs.append(
        log.QueuePair(parts.line, parts.host, device, port, index, raw_gid(match[5], match[6]), mtu)
    )


def _path(parts: Parts, match: re.Match[str]) -> None:
    parts.plugin_paths.append(log.PluginPath(parts.line, parts.host, int(match[1]), int(match[2]), match[3], match[4]))


def _mask(parts: Parts, match: re.Match[str]) -> None:
    parts.affinities.append(
        log.Affinity(parts.line, parts.host, int(match[1]), match[2], is_mask=True, near_gpu="", allowed="")
    )


def _affinity(parts: Parts, match: re.Match[str]) -> None:
    processors = "" if match[2].startswith("empty") else match[2].strip()
    near, allowed = (match[3] or "").strip(), (match[4] or "").strip()
    parts.affinities.append(
        log.Affinity(parts.line, parts.host, int(match[1]), processors, is_mask=False, near_gpu=near, allowed=allowed)
    )


def _completion(parts: Parts, text: str, notes: Notes) -> None:
    completion = failed_completion(parts.line, parts.host, text)
    if completion is None:
        return
    if completion.status is None and completion.error is None:
        notes.add(parts.line, "a failed completion without a status that can be read", text)
    parts.failed.append(completion)


def _event(parts: Parts, match: re.Match[str]) -> None:
    parts.events.append(log.LogMessage(parts.line, parts.host, match.string.strip()[:300]))


def _seconds(parts: Parts, match: re.Match[str]) -> None:
    seconds = number(match[2])
    if seconds is not None:
        parts.init_seconds.append((int(match[1]), seconds))


_KNOWN: tuple[tuple[str, str, Take], ...] = (
    ("set by environment to", r"^(\w+) set by environment to (.*?)\.?$", _variable),
    (" set to ", r"^((?:NCCL|RCCL)_\w+) set to (.*)$", _variable),
    ("Bootstrap", r"^Bootstrap ?: Using ?(.*)$", _bootstrap),
    ("Using network", r"^Using network (\S.*)$", _network),
    (
        "/Plugin",
        r"^(NET|TUNER|PROFILER)/Plugin ?: Loaded (?:net|tuner|profiler) plugin (.+?)(?: \((v\d+)\))?$",
        _loaded,
    ),
    ("/Plugin", r"^(NET|TUNER)/Plugin ?: Could not find:(.*)$", _missing),
    ("/Plugin", r"^(NET)/Plugin ?: No plugin found(?: \((\S+)\))?", _missing),
    ("NET/IB", r"^NET/IB ?: Using(.*)$", _devices),
    (
        "GPU Direct RDMA",
        r"^GPU Direct RDMA (Enabled|Disabled) for (?:GPU|rank) (\S+) / HCA (\S+) \(distance ([^)]*)\)",
        _distance,
    ),
    (" speed=", r"^NET/IB ?: \[\d+\] ([^\s:]+):\S+ .*?\bspeed=([0-9]{1,9})\b", _speed),
    ("NET[", r"^\s*\+ NET\[([0-9.]{1,12})\] - (?:NET|NIC)/(\S+)", _speed_of_graph),
    ("commId", r"\bcommId (0x[0-9a-f]+)", _communicator),
    (" rank ", r"(?:^|\s)comm 0x[0-9a-f]+ rank ([0-9]{1,9}) ", _rank),
    ("GPU Direct RDMA", r"^NET/\w+ ?: GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '([^']*)'", _gpu_direct),
    ("No device found", r"^NET/IB ?: No device found", _event),
    ("Plugin load", r"^(NET)/Plugin ?: Plugin load (?:\(\S+\) )?returned \d+ ?:? ?(\S+?):? ", _missing),
    ("Ring ", rf"^Ring ([0-9]{{1,4}}) : {_N} -> {_N} -> {_N}", _ring_link),
    ("Trees", r"^Trees .*$", _trees),
    (
        "cudaDev",
        rf"(?:^|\s)comm (0x[0-9a-f]+) rank {_N} nranks {_N} cudaDev {_N} .*Init COMPLETE",
        _init,
    ),
    ("nNodes", rf"^comm (0x[0-9a-f]+) rank {_N} nRanks {_N} nNodes {_N} localRanks {_N} ", _comm),
    (
        "coll channels",
        (
            r"^([0-9]{1,4}) coll channels,(?: [0-9]{1,4} collnet channels,)?(?: ([0-9]{1,4}) nvls channels,)? "
            r"([0-9]{1,4}) p2p channels, ([0-9]{1,4}) p2p channels per peer"
        ),
        _counts,
    ),
    ("Pattern", rf"^Pattern {_N}, crossNic {_N}, nChannels {_N}, (?:bw|speed) (\S+)/(\S+), type (\S+),", _search),
    (
        "Bytes -> Algo",
        r"^(?:(\w+): )?([0-9]{1,18}) Bytes -> Algo (\w+) proto (\w+)(?: channel\{Lo\.\.Hi\}=\{([0-9]{1,4})\.\.([0-9]{1,4})\})?",
        _choice,
    ),
    (
        " GID ",
        rf"^NET/IB ?: .*?(?:\bIb|\b)Dev {_N} Port {_N} \S+ \d+ mtu {_N} .*\bGID {_N} \(([0-9A-Fa-f]{{1,16}})/([0-9A-Fa-f]{{1,16}})\)",
        _queue_pair,
    ),
    ("sends: QP", r"^NET/railweave: sends: QP ([0-9]{1,4}) color ([0-9]{1,4}) (\S+) -> (\S+)", _path),
    ("Setting affinity", r"^Setting affinity for GPU ([0-9]{1,4}) to (\S+)", _mask),
    (
        "Affinity for GPU",
        r"Affinity for GPU ([0-9]{1,4}) is ([^(]*?)\.? \(GPU affinity = ([^;)]*)(?:; CPU affinity = ([^)]*))?\)",
        _affinity,
    ),
    ("Init timings", r"^Init timings - \w+: rank ([0-9]{1,9}) nranks [0-9]+ total (\S+)", _seconds),
    ("async", r"async (?:fatal )?event|unknown event type", _event),
    ("GID table change", r"GID table change", _event),
    ("speed change", r"speed change detected", _event),
)
_TAKEN = tuple((needle, re.compile(pattern), take) for needle, pattern, take in _KNOWN)
_SHAPES = ("Channel ", "Ring ", "Trees ", "Using network")
"""The beginnings of messages that the parser must be able to read. If it cannot read such a message, it adds a note."""


_BEGIN = re.compile(
    r"(?<![^\s:\[\]<>()|\"'])(?P<host>[^\s:\[\]<>()|\"']{1,255}):(?P<process>[0-9]{1,10}):(?P<thread>[0-9]{1,10}) (?:\[(?P<gpu>[^\]]{0,12})\] )?"
    r"(?=(?:[^\s:\[\]]{1,255}:[0-9]{1,6} (?:\([^)\s]{1,255}\) )?|[0-9.]{1,20} \S{1,255}:[0-9]{1,6} )?NCCL (?:INFO|WARN|TRACE|CALL)\b)"
)
"""The pattern of the beginning of an NCCL message, up to its file and level (``debug.cc``).

A time of day has the same form and is recognized by ``_TIME``.
"""
_TIME = re.compile(r"(?:[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T_-]|[0-9]{2}/\w{3,9}/[0-9]{4}[-_T])?[0-9]{1,2}")
_REPEATED = re.compile(r"\s*\[repeated [0-9]+x across cluster\].*$")


def _pieces(line: Line) -> list[tuple[str, str, str, str, bool]]:
    """Split a line into its messages. Each is (host, process, GPU, text from ``NCCL INFO`` on, True if the host begins a word).

    Ranks write at the same time, so a line may contain several messages. The first of them may be cut off.
    """
    begins = [match for match in _BEGIN.finditer(line.text) if not _time(match)]
    if not begins:
        return [("", "", "", line.text, True)]
    pieces: list[tuple[str, str, str, str, bool]] = []
    if MESSAGE.search(line.text[: begins[0].start()]):
        pieces.append(("", "", "", line.text[: begins[0].start()], True))
    for match, end in zip(begins, [*(match.start() for match in begins[1:]), len(line.text)], strict=True):
        before = line.text[: match.start()]
        whole = not before or before[-1] in " \t:)|>]\"'" or not before.strip()
        whole &= match is begins[0]
        pieces.append((match["host"], match["process"], match["gpu"] or "", line.text[match.end() : end], whole))
    return pieces


def _time(match: re.Match[str]) -> bool:
    clock = match["process"], match["thread"]
    return all(len(text) == 2 and text < "61" for text in clock) and _TIME.fullmatch(match["host"]) is not None


def _hosts(lines: Sequence[Line]) -> dict[str, set[str]]:
    """Return, by host, the process numbers in the messages of this host that begin a line."""
    hosts: dict[str, set[str]] = defaultdict(set)
    first = lines[0].number if lines else 0
    cut: list[tuple[str, str]] = []
    for line in lines:
        for host, process, _, _, whole in _pieces(line):
            if host and whole and line.number != 1:
                hosts[host].add(process)
            elif host and whole and line.number == first:
                cut.append((host, process))
    for host, process in cut:  # the first line of a file may be cut off
        if not any(name != host and name.endswith(host) and process in numbers for name, numbers in hosts.items()):
            hosts[host].add(process)
    return hosts


def _named(host: str, process: str, *, whole: bool, hosts: dict[str, set[str]]) -> str:
    """Return the known host that a message names, or an empty string if no known host fits.

    Messages may overlap. So ``host`` may be the end of a host's name, or have other text before the name.

    ``whole`` is True if the host begins a word. ``hosts`` holds the process numbers of known hosts.
    """
    if host in hosts and (whole or process in hosts[host]):
        return host
    ends = [name for name, numbers in hosts.items() if host.endswith(name) and process in numbers]
    ends += [name for name, numbers in hosts.items() if name.endswith(host) and process in numbers]
    return max(ends, key=len) if ends else ""


def read_nccl_log(lines: Sequence[Line], notes: Notes) -> log.NcclLog | None:
    """Return the NCCL log in these lines, or None if no line is a message of NCCL. Never raises an error.

    ``notes`` collects the messages that cannot be read.
    """
    parts = Parts()
    hosts = _hosts(lines)
    for line in lines:
        version = VERSION.match(line.text)
        if version:
            parts.host = ""
            _version(parts, line.number, version)
            continue
        for host, process, gpu, text, whole in _pieces(line):
            message = MESSAGE.search(text)
            if message is None:
                continue
            named = _named(host, process, whole=whole, hosts=hosts) if host else ""
            parts.line, parts.host = line.number, named or ("" if host else line.host)
            parts.sources[line.number] = parts.host, process or line.source, gpu
            if line.rank is not None:
                parts.ranks_of[parts.sources[line.number]].add(line.rank)
            parts.messages += 1
            _message(parts, message[1], _REPEATED.sub("", message[2]).rstrip(), notes)
    return parts.whole(notes.file) if parts.messages or parts.versions else None


def _version(parts: Parts, line: int, match: re.Match[str]) -> None:
    parts.library = parts.library or ("NCCL" if match[1] == "NCCL" else "RCCL")
    parts.version_lines.append(log.LogMessage(line, parts.host, match[2]))
    if match[2] not in {text for _, text in parts.versions}:
        parts.versions.append((line, match[2]))


def _message(parts: Parts, level: str, text: str, notes: Notes) -> None:
    if level == "WARN":
        parts.warnings.append(log.LogMessage(parts.line, parts.host, text[:400]))
    if is_completion(text):
        _completion(parts, text, notes)
    elif version := VERSION.match(text):
        _version(parts, parts.line, version)
    elif match := _RING.match(text):
        _ring(parts, match)
    elif match := _CHANNEL.match(text):
        _channel(parts, match)
    else:
        taken = False
        for needle, pattern, take in _TAKEN:
            if needle in text and (match := pattern.search(text)):
                take(parts, match)
                taken = True
        if not taken and level == "WARN" and (call := failed_call(parts.line, parts.host, text)):
            parts.calls.append(call)
        elif not taken and text.startswith(_SHAPES):
            notes.add(parts.line, "a message of a known kind in another form", text)
