"""Lines of ``NCCL_DEBUG=INFO`` taken apart. Most lines of such a log mean nothing here and are passed over."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from railweave.operations.bench import nccl_log as log
from railweave.operations.bench.gids import raw_gid
from railweave.operations.bench.lines import Notes, number
from railweave.operations.bench.nccl_failures import failed_call, failed_completion, is_completion
from railweave.operations.bench.nccl_log_parts import Parts
from railweave.operations.bench.nccl_tests import kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.bench.lines import Line

    Take = Callable[[Parts, re.Match[str]], None]

MESSAGE = re.compile(r"\bNCCL (INFO|WARN|TRACE|CALL|VERSION) ?(.*)$")
VERSION = re.compile(r"^\s*(NCCL|RCCL) version ?:? ?(\d\S*)")
_WHO = re.compile(r"(?:^|\s)([^\s:\[\]]+):\d+:\d+ (?:\[\d+\] )?")
_N = r"(-?[0-9]{1,9})"

_RING = re.compile(r"^Channel ([0-9]{1,4})/([0-9]{1,4}) :((?: +[0-9]{1,9})+ *)(\.\.\.)?$")
_CHANNEL = re.compile(
    rf"^Channel ([0-9]{{1,4}})(?:/([0-9]{{1,4}}))? : {_N}\[\w+\] -> {_N}\[\w+\](?: \[(send|receive)\])? via (\w+)(\S*)"
)
_NET = re.compile(r"^/([^/]+)/([0-9]{1,4})(?:\(([0-9]{1,9})\))?((?:/GDRDMA(?:\(\w+\))?)?)((?:/Shared)?)")
_TREE = re.compile(rf"\[([0-9]{{1,4}})\] {_N}/{_N}/{_N}->{_N}->{_N}")
_DEVICE = re.compile(r"\[([0-9]{1,4})\]([^\s:\]]+):([0-9]{1,4})/(\w+)")


def _variable(parts: Parts, found: re.Match[str]) -> None:
    if kept(found[1]):
        parts.variables.setdefault(found[1], found[2].rstrip())


def _bootstrap(parts: Parts, found: re.Match[str]) -> None:
    for name, where in re.findall(r"(?:\[\d+\])?([^\s:\[\]]+):(\S+?)<\d+>", found[1]):
        parts.bootstrap.append(log.Interface(parts.line, parts.host, name, where.strip("[]")))


def _network(parts: Parts, found: re.Match[str]) -> None:
    parts.networks.append(log.Said(parts.line, parts.host, found[1]))


def _loaded(parts: Parts, found: re.Match[str]) -> None:
    parts.plugins.append(log.Plugin(parts.line, parts.host, found[1].upper(), found[2], found[3] or "", loaded=True))


def _missing(parts: Parts, found: re.Match[str]) -> None:
    names = (found[2] or "libnccl-net.so").partition(". ")[0].strip().rstrip(".")
    parts.plugins.append(log.Plugin(parts.line, parts.host, found[1], names, "", loaded=False))


def _devices(parts: Parts, found: re.Match[str]) -> None:
    for index, name, port, layer in _DEVICE.findall(found[1]):
        parts.devices.append(log.RdmaDevice(parts.line, parts.host, int(index), name, int(port), layer))


def _gpu_direct(parts: Parts, found: re.Match[str]) -> None:
    parts.gpu_direct.append(log.GpuDirect(parts.line, parts.host, found[2], enabled=found[1] == "Enabled"))


def _ring(parts: Parts, found: re.Match[str]) -> None:
    whole = () if found[4] else tuple(map(int, found[3].split()))
    parts.rings.setdefault(int(found[1]), whole)


def _channel(parts: Parts, found: re.Match[str]) -> None:
    net = _NET.match(found[7]) if found[6] == "NET" else None
    sides: dict[str, Literal["send", "receive", ""]] = {"send": "send", "receive": "receive"}
    parts.channels.append(
        log.Channel(
            parts.line,
            parts.host,
            int(found[1]),
            int(found[2] or 0),
            int(found[3]),
            int(found[4]),
            direction=sides.get(found[5] or "", ""),
            transport=found[6],
            through=net[1] if net else found[7].strip("/"),
            device=int(net[2]) if net else None,
            gdr=net is not None and bool(net[4]),
            shared=net is not None and bool(net[5]),
            proxy=int(net[3]) if net and net[3] else None,
        )
    )


def _ring_link(parts: Parts, found: re.Match[str]) -> None:
    parts.ring_links.append(log.RingLink(parts.line, *map(int, found.groups())))


def _trees(parts: Parts, found: re.Match[str]) -> None:
    for channel, *three, rank, parent in _TREE.findall(found[0]):
        children = tuple(one for one in map(int, three) if one >= 0)
        parts.tree_links.append(log.TreeLink(parts.line, int(channel), int(rank), int(parent), children))


def _init(parts: Parts, found: re.Match[str]) -> None:
    parts.rank(log.RankSeen(parts.line, parts.host, found[1], int(found[2]), int(found[3]), None, None, int(found[4])))


def _comm(parts: Parts, found: re.Match[str]) -> None:
    numbers = [int(found[place]) for place in range(2, 6)]
    parts.rank(log.RankSeen(parts.line, parts.host, found[1], numbers[0], numbers[1], numbers[2], numbers[3], None))


def _counts(parts: Parts, found: re.Match[str]) -> None:
    one = log.ChannelCounts(parts.line, int(found[1]), int(found[2] or 0), int(found[3]), int(found[4]))
    if not any((one.collective, one.point_to_point) == (had.collective, had.point_to_point) for had in parts.counts):
        parts.counts.append(one)


def _search(parts: Parts, found: re.Match[str]) -> None:
    pattern, cross, channels = (int(found[place]) for place in (1, 2, 3))
    parts.searches.append(
        log.Search(parts.line, pattern, cross, channels, number(found[4]) or 0.0, number(found[5]) or 0.0, found[6])
    )


def _choice(parts: Parts, found: re.Match[str]) -> None:
    def named(text: str, names: Sequence[str]) -> str:
        if text.isdigit():
            return names[int(text)] if int(text) < len(names) else text
        plain = text.replace("_", "").lower()
        return next((name for name in names if name.lower() == plain), text)

    channels = [int(one) if one else None for one in (found[5], found[6])]
    algorithm, protocol = named(found[3], log.ALGORITHMS), named(found[4], log.PROTOCOLS)
    parts.choices.append(
        log.Choice(parts.line, found[1] or "", int(found[2]), algorithm, protocol, channels[0], channels[1])
    )


def _queue_pair(parts: Parts, found: re.Match[str]) -> None:
    device, port, mtu, index = (int(found[place]) for place in (1, 2, 3, 4))
    parts.queue_pairs.append(
        log.QueuePair(parts.line, parts.host, device, port, index, raw_gid(found[5], found[6]), mtu)
    )


def _path(parts: Parts, found: re.Match[str]) -> None:
    parts.plugin_paths.append(log.PluginPath(parts.line, parts.host, int(found[1]), int(found[2]), found[3], found[4]))


def _mask(parts: Parts, found: re.Match[str]) -> None:
    parts.affinities.append(
        log.Affinity(parts.line, parts.host, int(found[1]), found[2], is_mask=True, near_gpu="", allowed="")
    )


def _affinity(parts: Parts, found: re.Match[str]) -> None:
    processors = "" if found[2].startswith("empty") else found[2].strip()
    near, allowed = (found[3] or "").strip(), (found[4] or "").strip()
    parts.affinities.append(
        log.Affinity(parts.line, parts.host, int(found[1]), processors, is_mask=False, near_gpu=near, allowed=allowed)
    )


def _completion(parts: Parts, text: str, notes: Notes) -> None:
    found = failed_completion(parts.line, parts.host, text)
    if found is None:
        return
    if found.status is None and found.error is None:
        notes.add(parts.line, "a failed completion without a status that can be read", text)
    parts.failed.append(found)


def _event(parts: Parts, found: re.Match[str]) -> None:
    parts.events.append(log.Said(parts.line, parts.host, found.string.strip()[:300]))


def _seconds(parts: Parts, found: re.Match[str]) -> None:
    seconds = number(found[2])
    if seconds is not None:
        parts.init_seconds.append((int(found[1]), seconds))


_KNOWN: tuple[tuple[str, str, Take], ...] = (
    ("set by environment to", r"^(\w+) set by environment to (.*?)\.?$", _variable),
    (" set to ", r"^((?:NCCL|RCCL)_\w+) set to (.*)$", _variable),
    ("Bootstrap", r"^Bootstrap ?: Using ?(.*)$", _bootstrap),
    ("Using network", r"^Using network (\S+)", _network),
    (
        "/Plugin",
        r"^(NET|TUNER|PROFILER)/Plugin ?: Loaded (?:net|tuner|profiler) plugin (.+?)(?: \((v\d+)\))?$",
        _loaded,
    ),
    ("/Plugin", r"^(NET|TUNER)/Plugin ?: Could not find:(.*)$", _missing),
    ("/Plugin", r"^(NET)/Plugin ?: No plugin found(?: \((\S+)\))?", _missing),
    ("NET/IB", r"^NET/IB ?: Using(.*)$", _devices),
    ("GPU Direct RDMA", r"^NET/\w+ ?: GPU Direct RDMA (Enabled|Disabled) for HCA \d+ '([^']*)'", _gpu_direct),
    ("No device found", r"^NET/IB ?: No device found", _event),
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
        rf"^NET/IB: .*IbDev {_N} Port {_N} \S+ \d+ mtu {_N} .*GID {_N} \(([0-9A-Fa-f]{{1,16}})/([0-9A-Fa-f]{{1,16}})\)",
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
    ("async event", r"async (?:fatal )?event", _event),
    ("GID table change", r"GID table change", _event),
    ("speed change", r"speed change detected", _event),
)
_TAKEN = tuple((needle, re.compile(pattern), take) for needle, pattern, take in _KNOWN)
_SHAPES = ("Channel ", "Ring ", "Trees ", "Using network")
"""Messages that begin so are always read: one that is not, is noted."""


def read_nccl_log(lines: Sequence[Line], notes: Notes) -> log.NcclLog | None:
    """The log among these lines; None where there is no message of NCCL. Never raises."""
    parts = Parts()
    for line in lines:
        version = VERSION.match(line.text)
        if version:
            _version(parts, line.number, version)
            continue
        message = MESSAGE.search(line.text)
        if message is None:
            continue
        who = _WHO.search(line.text[: message.start()])
        parts.line, parts.host = line.number, who[1] if who else ""
        parts.messages += 1
        _message(parts, message[1], message[2].rstrip(), notes)
    return parts.whole(notes.file) if parts.messages or parts.versions else None


def _version(parts: Parts, line: int, found: re.Match[str]) -> None:
    parts.library = parts.library or ("NCCL" if found[1] == "NCCL" else "RCCL")
    if found[2] not in {text for _, text in parts.versions}:
        parts.versions.append((line, found[2]))


def _message(parts: Parts, level: str, text: str, notes: Notes) -> None:
    if level == "WARN":
        parts.warnings.append(log.Said(parts.line, parts.host, text[:300]))
    if is_completion(text):
        _completion(parts, text, notes)
    elif level == "WARN" and (call := failed_call(parts.line, parts.host, text)):
        parts.calls.append(call)
    elif version := VERSION.match(text):
        _version(parts, parts.line, version)
    elif found := _RING.match(text):
        _ring(parts, found)
    elif found := _CHANNEL.match(text):
        _channel(parts, found)
    else:
        taken = False
        for needle, pattern, take in _TAKEN:
            if needle in text and (found := pattern.search(text)):
                take(parts, found)
                taken = True
        if not taken and text.startswith(_SHAPES):
            notes.add(parts.line, "a message of a known kind in another form", text)
