"""A log of NCCL as a trace: the collectives and messages of a real run, one after another as it made them.

Calls of a rank on one CUDA stream wait for each other; those of a group (one opCount) do not. What GPUs computed in between a log does not say. Where its
lines have fractions of a second, a call is made no sooner after the one before than the log has it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError
from railweave.prediction.jobs.traces.nccl_lines import Call, Member, calls_of
from railweave.prediction.jobs.traces.trace import Node, RankTrace, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from railweave.prediction.collectives.bus_bandwidth import Collective

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
"""What is run, and whether its count is of one rank, where nccl-tests counts all."""
STANDS_FOR = {"Reduce", "Gather", "Scatter"}
UNTIMED = "the log has no times: what GPUs compute between calls is not known, and a step is what its communication takes at least"
TIMED = "calls are made no sooner after one another than the log has it; what GPUs compute in between is not known, only when calls were made"


def read_nccl(files: Sequence[Path], where: Path) -> Trace:
    """Read a log, of one file or of one for each process. Raises ``SpecError`` with file and line."""
    calls = calls_of(files)
    if not calls:
        what = "no call of NCCL is in it, and it is no execution trace"
        raise SpecError([Problem(FileLine(str(where)), what, "log with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL")])
    ranks = _ranks(calls)
    groups = _groups(calls, ranks)
    own: list[list[Call]] = [[] for _ in ranks]
    for call in calls:
        own[ranks[call.member.host, call.member.gpu]].append(call)
    notes: dict[str, None] = {}
    timed = all(call.time_ps is not None for call in calls)
    notes[TIMED if timed else UNTIMED] = None
    made = [_Reading(groups, ranks, notes, timed=timed).nodes(one) for one in own]
    traces, lost = _even(made)
    if lost:
        notes[f"{lost:,} calls that not every rank of their group made are left out: the log begins or ends within them"] = None  # fmt: skip
    text = [RankTrace(one[0].file if one else str(where), tuple(nodes), text=True) for one, nodes in zip(own, traces, strict=True)]  # fmt: skip
    return Trace(tuple(text), tuple(groups.ranks), tuple(notes), tuple(ranks))


def _ranks(calls: Sequence[Call]) -> dict[tuple[str, int], int]:
    """The number of each GPU: by its rank in the largest communicator that it is in, servers and GPUs where that does not say."""
    largest: dict[tuple[str, int], tuple[int, int]] = {}
    for call in calls:
        one = call.member
        key = one.host, one.gpu
        if key not in largest or one.ranks > largest[key][0]:
            largest[key] = one.ranks, one.rank
    first: dict[str, tuple[int, int]] = {}
    for (host, _), (size, rank) in largest.items():
        first[host] = min(first.get(host, (-size, rank)), (-size, rank))
    order = sorted(largest, key=lambda key: (first[key[0]], key[0], largest[key][1], key[1]))
    return {key: number for number, key in enumerate(order)}


@dataclass
class _Groups:
    """The communicators: the place of each, and its ranks in order."""

    place: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])
    ranks: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])


def _groups(calls: Sequence[Call], ranks: dict[tuple[str, int], int]) -> _Groups:
    members: dict[tuple[str, int], dict[int, Member]] = defaultdict(dict)
    seen: dict[tuple[str, int], Call] = {}
    for call in calls:
        members[call.member.communicator].setdefault(call.member.rank, call.member)
        seen.setdefault(call.member.communicator, call)
    found = _Groups()
    for name, own in members.items():
        call = seen[name]
        size = call.member.ranks
        if absent := next((rank for rank in range(size) if rank not in own), None):
            what = f"its communicator has {size} ranks, and the log has no call of rank {absent}"
        elif 0 not in own:
            what = f"its communicator has {size} ranks, and the log has no call of rank 0"
        elif len({(one.host, one.gpu) for one in own.values()}) < size:
            what = "two ranks of its communicator are on one GPU"
        else:
            found.place[name] = len(found.ranks)
            found.ranks.append(tuple(ranks[own[rank].host, own[rank].gpu] for rank in range(size)))
            continue
        fix = "give the logs of all processes, as one file or as a folder (NCCL_DEBUG_FILE=DIR/nccl.%h.%p.log)"
        raise SpecError([Problem(FileLine(call.file, call.line), what, fix)])
    return found


@dataclass
class _Reading:
    """The calls of a rank while they become nodes. ``_ends``: of each stream the nodes that its next calls wait for."""

    groups: _Groups
    ranks: dict[tuple[str, int], int]
    notes: dict[str, None]
    timed: bool
    _made: list[Node] = field(default_factory=list[Node])
    _ends: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def nodes(self, calls: Sequence[Call]) -> list[Node]:
        before: int | None = None
        last = calls[0].time_ps if calls else None
        for (_, _, stream), together in groupby(calls, key=lambda one: (one.member.communicator, one.turn, one.stream)):
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
        """A group of calls, where messages to and from all others as one all-to-all."""
        peers = {name: {one.root for one in calls if one.name == name} for name in ("Send", "Recv")}
        messages = [one for one in calls if one.name in peers]
        if not messages or len(messages) < len(calls):
            return calls
        first = messages[0]
        everybody = set(range(first.member.ranks))
        sizes = {one.size_bytes for one in messages}
        others = everybody - {first.member.rank}
        whole = first.member.ranks > 2 and len(sizes) == 1 and all(others <= one for one in peers.values())
        return [replace(first, name="AlltoAll")] if whole else calls

    def _take(self, call: Call, waits: tuple[int, ...]) -> None:
        group = self.groups.place[call.member.communicator]
        members = self.groups.ranks[group]
        if call.name in {"Send", "Recv"}:
            if not 0 <= call.root < len(members):
                what = f"its communicator has no rank {call.root}"
                raise SpecError([Problem(FileLine(call.file, call.line), what)])
            if call.root != call.member.rank:  # else to itself: a copy
                kind = "send" if call.name == "Send" else "receive"
                size, peer = call.size_bytes, members[call.root]
                self._made.append(Node(call.line, call.name, kind, 0, waits, "send-recv", size, peer=peer, tag=group))
            return
        if call.name not in _OF:
            self.notes[f"calls of {call.name[:40]} are passed over: what they send is not known"] = None
            return
        if call.name in STANDS_FOR:
            self.notes[f"{call.name} is run as a broadcast of as many bytes"] = None
        collective, of_one = _OF[call.name]
        size = call.size_bytes * (len(members) if of_one else 1)
        self._made.append(Node(call.line, call.name, "collective", 0, waits, collective, size, group))


def _even(ranks: list[list[Node]]) -> tuple[list[list[Node]], int]:
    """Without calls that not every rank of their group made; and how many these are."""

    def key(rank: int, node: Node) -> tuple[object, ...] | None:
        if node.kind == "collective":
            return "collective", node.group
        pair = (rank, node.peer) if node.kind == "send" else (node.peer, rank)
        return ("message", *pair, node.tag) if node.kind in {"send", "receive"} else None

    counts: dict[tuple[object, ...], list[int]] = defaultdict(list)
    sides: dict[tuple[object, ...], int] = {}
    for rank, nodes in enumerate(ranks):
        for (name, _), count in Counter((key(rank, one), one.kind) for one in nodes).items():
            if name is not None:
                counts[name].append(count)
                sides[name] = 2
    least = {
        name: min(own) if name[0] == "collective" or len(own) == sides[name] else 0 for name, own in counts.items()
    }
    found: list[list[Node]] = []
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
        found.append(kept)
    return found, lost
