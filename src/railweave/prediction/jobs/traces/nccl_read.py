"""The reader of NCCL logs: the collectives and messages of a real run, in the order of the log.

A call of a rank waits for the rank's earlier calls on the same CUDA stream. Only calls of one group, which share an opCount, do not wait
for each other. The log does not show the computation between calls. If log lines have times with fractions of a second, the delay between
two calls is at least the delay in the log.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError
from railweave.prediction.jobs.traces.trace import Node, RankTrace, Trace
from railweave.reading import open_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from railweave.prediction.collectives.channels import Collective


MOST_BYTES = 1 << 30
"""The largest size of a log in bytes. This corresponds to about four million calls."""
_WHO = r"(?P<host>[^\s:\[\]]+):(?P<pid>[0-9]{1,10}):[0-9]{1,10} (?:\[(?P<device>[0-9]{1,4})\] )?NCCL INFO "
_CALL = re.compile(
    _WHO
    + r"(?:\[[0-9]{1,9}\] )?(?P<name>\w{2,40}): opCount (?P<turn>[0-9a-f]{1,16}) sendbuff \S+ recvbuff \S+ count (?P<count>[0-9]{1,18}) "
    r"datatype (?P<type>[0-9]{1,3}) op [0-9]{1,6} root (?P<root>-?[0-9]{1,9}) comm (?P<comm>0x[0-9a-f]{1,16})"
    r" \[nranks=(?P<ranks>[0-9]{1,9})\](?: stream (?P<stream>0x[0-9a-f]{1,16}|\(nil\)))?"
)
_INIT = re.compile(
    _WHO
    + r"(?:\[Rank [0-9]+\] )?(?:\w+ )?comm (?P<comm>0x[0-9a-f]{1,16}) rank (?P<rank>[0-9]{1,9}) nranks (?P<ranks>[0-9]{1,9}) "
    r"cudaDev (?P<cuda>[0-9]{1,4})(?: nvmlDev (?P<nvml>[0-9]{1,4}))?.*?(?:commId (?P<id>0x[0-9a-f]{1,16}))?[ -]+Init COMPLETE"
)
_TIME = re.compile(r"\[([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?\]")
SIZES = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1}
"""The sizes in bytes of NCCL's data types, by number (``nccl.h``)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A rank of a communicator, with the host and GPU that the rank ran on.

    ``communicator`` identifies the communicator, and ``ranks`` is the number of its ranks.
    """

    communicator: tuple[str, int]
    ranks: int
    rank: int
    host: str
    gpu: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of NCCL by one rank.

    - ``turn``: NCCL's opCount, which is equal for all calls of a group.
    - ``size_bytes``: the element count times the size of the data type.
    - ``time_ps``: the time since the epoch, or None if the log has no fractions of a second.
    """

    file: str
    line: int
    name: str
    turn: int
    size_bytes: int
    root: int
    member: Member
    stream: str
    time_ps: int | None


def calls_of(files: Iterable[Path]) -> list[Call]:
    """Return the calls of a log, in the log's order. The log is one file, or one file per process.

    Raises ``SpecError`` with the line if a file cannot be read or a line is malformed.
    """
    members: dict[tuple[str, str, str], Member] = {}
    unnamed: dict[tuple[str, str, int], int] = {}
    calls: list[Call] = []
    for path in files:
        for number, line in enumerate(_lines(path), 1):
            if "Init COMPLETE" in line and (init := _INIT.search(line)):
                members[init["host"], init["pid"], init["comm"]] = _member(init, unnamed)
            elif "opCount" in line:
                time = _time(line)
                for call in _CALL.finditer(line):
                    member = members.get((call["host"], call["pid"], call["comm"]))
                    calls.append(_call(path, number, call, member, time))
    return calls


def _lines(path: Path) -> list[str]:
    try:
        with open_file(path) as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror or error}")]) from None
    if len(data) > MOST_BYTES:
        message = f"larger than {MOST_BYTES >> 30} GiB, the limit for a log"
        raise SpecError([Problem(FileLine(str(path)), message, "give only the part of the log with the step")])
    return data.decode(errors="replace").split("\n")


def _member(init: re.Match[str], unnamed: dict[tuple[str, str, int], int]) -> Member:
    """Return the communicator member that a log line announces. ``init`` is the parsed line.

    NCCL up to 2.14 logs no communicator names. Such a communicator is identified by its size and by the number of earlier communicators of
    that size in its process. ``unnamed`` has these numbers and is updated.
    """
    ranks = int(init["ranks"])
    name, turn = init["id"] or "", 0
    if not name:
        key = init["host"], init["pid"] + f".{init['rank']}", ranks
        turn = unnamed[key] = unnamed.get(key, 0) + 1
    gpu = int(init["nvml"] or init["cuda"])
    return Member((name or f"of {ranks} ranks", turn), ranks, int(init["rank"]), init["host"], gpu)


def _call(path: Path, number: int, call: re.Match[str], member: Member | None, time: int | None) -> Call:
    place = FileLine(str(path), number)
    if member is None:
        message = f"no earlier line gives the rank of communicator {call['comm']} of {call['host']}"
        raise SpecError(
            [Problem(place, message, "log with NCCL_DEBUG_SUBSYS=INIT,COLL, from the beginning of the job")]
        )
    width = SIZES.get(int(call["type"]))
    if width is None:
        raise SpecError([Problem(place, f"NCCL has no datatype {call['type']}")])
    return Call(
        str(path), number, call["name"], int(call["turn"], 16), int(call["count"]) * width, int(call["root"]), member,
        call["stream"] or "", time,
    )  # fmt: skip


def _time(line: str) -> int | None:
    """Return the time at which a line was written, in ps since the epoch.

    Return None if the log has no fractions of a second.
    """
    match = _TIME.search(line)
    if match is None or match[3] is None:
        return None
    try:
        whole = datetime.fromisoformat(f"{match[1]} {match[2]}").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(whole.timestamp()) * 10**12 + int(match[3][1:].ljust(12, "0"))


_OF: dict[str, tuple[Collective, bool]] = {
    "AllReduce": ("all-reduce", False),
    "AllGather": ("all-gather", True),
    "ReduceScatter": ("reduce-scatter", True),
    "Broadcast": ("broadcast", False),
    "Reduce": ("broadcast", False),
    "AlltoAll": ("all-to-all", True),
    "AllToAll": ("all-to-all", True),
    "Gather": ("broadcast", True),
    "Scatter": ("broadcast", True),
}
"""For each NCCL call: (collective, True if the call has the size of one rank, but nccl-tests counts all ranks)."""
STANDS_FOR = {"Reduce", "Gather", "Scatter"}
UNTIMED = "the log has no times, so the computation between calls is not known; the step time is the least that its communication takes"
TIMED = "two calls follow each other no sooner than in the log; the log gives the times of calls, but not the computation between them"


def read_nccl(files: Sequence[Path], where: Path) -> Trace:
    """Read a log as a trace. The log is one file, or one file per process.

    Errors that concern the whole log, not one line, show the path ``where``. Raises ``SpecError`` with file and line if a file cannot be
    read or a line is malformed.
    """
    calls = calls_of(files)
    if not calls:
        message = "the file has no NCCL call, and is not an execution trace"
        raise SpecError(
            [Problem(FileLine(str(where)), message, "log with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL")]
        )
    ranks = _ranks(calls)
    groups = _groups(calls, ranks)
    calls_by_rank: list[list[Call]] = [[] for _ in ranks]
    for call in calls:
        calls_by_rank[ranks[call.member.host, call.member.gpu]].append(call)
    notes: dict[str, None] = {}
    timed = all(call.time_ps is not None for call in calls)
    notes[TIMED if timed else UNTIMED] = None
    made = [_Reading(groups, ranks, notes, timed=timed).nodes(rank_calls) for rank_calls in calls_by_rank]
    traces, lost = _even(made)
    if lost:
        notes[f"{lost:,} calls are left out, because not every rank of their group made them: the log begins or ends in between"] = None  # fmt: skip
    text = [RankTrace(rank_calls[0].file if rank_calls else str(where), tuple(nodes), text=True) for rank_calls, nodes in zip(calls_by_rank, traces, strict=True)]  # fmt: skip
    return Trace(tuple(text), tuple(groups.ranks), tuple(notes), tuple(ranks))


def _ranks(calls: Sequence[Call]) -> dict[tuple[str, int], int]:
    """Return a number for each GPU of a log's ``calls``, by (host, GPU index). Numbers count from 0, one server after another.

    Servers are ordered by the lowest rank of their GPUs in the largest communicator, and then by name. The GPUs of a server are ordered by
    rank, and then by GPU index.
    """
    largest: dict[tuple[str, int], tuple[int, int]] = {}
    for call in calls:
        member = call.member
        key = member.host, member.gpu
        if key not in largest or member.ranks > largest[key][0]:
            largest[key] = member.ranks, member.rank
    first: dict[str, tuple[int, int]] = {}
    for (host, _), (size, rank) in largest.items():
        first[host] = min(first.get(host, (-size, rank)), (-size, rank))
    order = sorted(largest, key=lambda key: (first[key[0]], key[0], largest[key][1], key[1]))
    return {key: number for number, key in enumerate(order)}


@dataclass
class _Groups:
    """The communicators of a log. ``place`` has the index of each communicator, and ``ranks`` the ranks of each, by index."""

    place: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    ranks: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])


def _groups(calls: Sequence[Call], ranks: dict[tuple[str, int], int]) -> _Groups:
    members: dict[tuple[str, int], dict[int, Member]] = defaultdict(dict)
    seen: dict[tuple[str, int], Call] = {}
    for call in calls:
        members[call.member.communicator].setdefault(call.member.rank, call.member)
        seen.setdefault(call.member.communicator, call)
    groups = _Groups()
    for name, by_rank in members.items():
        call = seen[name]
        size = call.member.ranks
        if absent := next((rank for rank in range(size) if rank not in by_rank), None):
            message = f"its communicator has {size} ranks, and the log has no call of rank {absent}"
        elif 0 not in by_rank:
            message = f"its communicator has {size} ranks, and the log has no call of rank 0"
        elif len({(member.host, member.gpu) for member in by_rank.values()}) < size:
            message = "two ranks of its communicator are on one GPU"
        else:
            groups.place[name] = len(groups.ranks)
            groups.ranks.append(tuple(ranks[by_rank[rank].host, by_rank[rank].gpu] for rank in range(size)))
            continue
        fix = "give the logs of all processes, as one file or as a folder (NCCL_DEBUG_FILE=DIR/nccl.%h.%p.log)"
        raise SpecError([Problem(FileLine(call.file, call.line), message, fix)])
    return groups


@dataclass
class _Reading:
    """The conversion of one rank's calls to trace nodes.

    ``timed`` is True if the log has exact times. ``_ends`` has, for each stream, the nodes that the next calls wait for.
    """

    groups: _Groups
    ranks: dict[tuple[str, int], int]
    notes: dict[str, None]
    timed: bool
    _made: list[Node] = field(default_factory=list[Node])
    _ends: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def nodes(self, calls: Sequence[Call]) -> list[Node]:
        before: int | None = None
        last = calls[0].time_ps if calls else None
        for (_, _, stream), together in groupby(
            calls, key=lambda grouped_call: (grouped_call.member.communicator, grouped_call.turn, grouped_call.stream)
        ):
            group = self._joined(list(together))
            waits = self._ends.get(stream, [])
            if self.timed and group and last is not None and group[0].time_ps is not None:
                gap = max(group[0].time_ps - last, 0)
                last = group[0].time_ps
                self._made.append(
                    Node(group[0].line, "between calls", "host", gap, () if before is None else (before,))
                )
                before = len(self._made) - 1
                waits = [*waits, before]
            begin = len(self._made)
            for call in group:
                self._take(call, tuple(waits))
            if len(self._made) > begin:
                self._ends[stream] = list(range(begin, len(self._made)))
        return self._made

    def _joined(self, calls: list[Call]) -> list[Call]:
        """Return the calls of one NCCL group (calls with the same opCount) of a rank.

        If these calls exchange equal messages with every other rank, return a single all-to-all instead.
        """
        peers = {name: {call.root for call in calls if call.name == name} for name in ("Send", "Recv")}
        messages = [call for call in calls if call.name in peers]
        if not messages or len(messages) < len(calls):
            return calls
        first = messages[0]
        everybody = set(range(first.member.ranks))
        sizes = {message.size_bytes for message in messages}
        others = everybody - {first.member.rank}
        whole = first.member.ranks > 2 and len(sizes) == 1 and all(others <= peer for peer in peers.values())
        return [replace(first, name="AlltoAll")] if whole else calls

    def _take(self, call: Call, waits: tuple[int, ...]) -> None:
        group = self.groups.place[call.member.communicator]
        members = self.groups.ranks[group]
        if call.name in {"Send", "Recv"}:
            if not 0 <= call.root < len(members):
                message = f"its communicator has no rank {call.root}"
                raise SpecError([Problem(FileLine(call.file, call.line), message)])
            if call.root != call.member.rank:  # else to itself: a copy
                kind = "send" if call.name == "Send" else "receive"
                size, peer = call.size_bytes, members[call.root]
                self._made.append(Node(call.line, call.name, kind, 0, waits, "send-recv", size, peer=peer, tag=group))
            return
        if call.name not in _OF:
            self.notes[f"calls of {call.name[:40]} are ignored, because the data that they send is not known"] = None
            return
        if call.name in STANDS_FOR:
            self.notes[f"{call.name} is run as a broadcast of as many bytes"] = None
        collective, of_one = _OF[call.name]
        size = call.size_bytes * (len(members) if of_one else 1)
        self._made.append(Node(call.line, call.name, "collective", 0, waits, collective, size, group))


def _even(ranks: list[list[Node]]) -> tuple[list[list[Node]], int]:
    """Return (the nodes of each rank, the number of dropped calls).

    ``ranks`` has the nodes of each rank. Calls that not all ranks of a group made are dropped, for example if the log ends earlier for some
    ranks.
    """

    def key(rank: int, node: Node) -> tuple[object, ...] | None:
        if node.kind == "collective":
            return "collective", node.group
        pair = (rank, node.peer) if node.kind == "send" else (node.peer, rank)
        return ("message", *pair, node.tag) if node.kind in {"send", "receive"} else None

    counts: dict[tuple[object, ...], list[int]] = defaultdict(list)
    sides: dict[tuple[object, ...], int] = {}
    for rank, nodes in enumerate(ranks):
        for (name, _), count in Counter((key(rank, node), node.kind) for node in nodes).items():
            if name is not None:
                counts[name].append(count)
                sides[name] = 2
    least = {
        name: min(rank_counts) if name[0] == "collective" or len(rank_counts) == sides[name] else 0
        for name, rank_counts in counts.items()
    }
    kept_nodes: list[list[Node]] = []
    lost = 0
    for rank, nodes in enumerate(ranks):
        seen: Counter[tuple[object, ...]] = Counter()
        kept: list[Node] = []
        ends: list[tuple[int, ...]] = []
        for node in nodes:
            after = tuple(sorted({end for place in node.after for end in ends[place]}))
            name = key(rank, node)
            if name is not None and seen[name] >= least[name]:
                lost += 1
                ends.append(after)
                continue
            if name is not None:
                seen[name] += 1
            kept.append(node._replace(after=after))
            ends.append((len(kept) - 1,))
        kept_nodes.append(kept)
    return kept_nodes, lost
