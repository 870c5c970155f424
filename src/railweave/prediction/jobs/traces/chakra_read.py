"""MLCommons Chakra execution traces: a file ``NAME.RANK.et`` for each rank."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from railweave.errors import FileLine, Problem, SpecError
from railweave.prediction.jobs.traces.chakra_messages import COLLECTIVES, NODE_TYPES, messages
from railweave.prediction.jobs.traces.frames import frames
from railweave.prediction.jobs.traces.process_groups import EVERYBODY, ProcessGroups
from railweave.prediction.jobs.traces.trace import Node, NodeKind, RankTrace, Trace, in_order, node_problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from railweave.prediction.collectives.bus_bandwidth import Collective

FILE = re.compile(r"(.+)\.([0-9]{1,6})\.et(?:\.gz)?")
GROUPS = "comm_group.json"
"""What the file of process groups is called, beside the trace; with the trace's name before it, it counts first."""
EXACT = "railweave_duration_ps"
"""An attribute of railweave's own traces: the duration without rounding, for Chakra counts microseconds."""
LABEL = "railweave_kind"
"""The same: which kind of parallelism a communication belongs to."""
MOST_PS = 1 << 62
"""No duration reaches it: 53 days."""
MOST_SIZE = 1 << 50

_OF: dict[str, Collective] = {
    "ALL_REDUCE": "all-reduce",
    "REDUCE": "broadcast",
    "ALL_GATHER": "all-gather",
    "GATHER": "broadcast",
    "SCATTER": "broadcast",
    "BROADCAST": "broadcast",
    "ALL_TO_ALL": "all-to-all",
    "REDUCE_SCATTER": "reduce-scatter",
    "REDUCE_SCATTER_BLOCK": "reduce-scatter",
    "BARRIER": "all-reduce",
}
STANDS_FOR = {
    "REDUCE": "a reduce is run as a broadcast, which puts as many bytes on each link the other way",
    "GATHER": "a gather is run as a broadcast of all that the root receives",
    "SCATTER": "a scatter is run as a broadcast of all that the root sends",
    "BARRIER": "a barrier is run as an all-reduce of 4 bytes, as PyTorch's is",
}
_OF_ALL = {"ALL_GATHER", "GATHER", "SCATTER"}
"""Of these a node has the bytes of one rank, as PyTorch's converter and ASTRA-sim do; nccl-tests counts those of all."""


def trace_files(path: Path) -> list[Path]:
    """The files of a trace by rank: ``path`` is a folder of one trace, or folder and name before the ranks. Raises ``SpecError``."""
    folder, name = (path, None) if path.is_dir() else (path.parent, path.name)
    found: dict[str, dict[int, Path]] = {}
    for one in sorted(folder.iterdir()) if folder.is_dir() else []:
        match = FILE.fullmatch(one.name)
        if match and name in {None, match[1], one.name}:
            found.setdefault(match[1], {})[int(match[2])] = one
    if not found:
        what = "no execution trace: no file is called NAME.RANK.et" + (f" with NAME {name!r}" if name else "")
        raise SpecError([Problem(FileLine(str(path)), what, "give the folder, or folder and name before the ranks")])
    if len(found) > 1:
        what = f"several traces are in it: {', '.join(sorted(found)[:6])}"
        raise SpecError([Problem(FileLine(str(path)), what, f"give one, {folder / min(found)}")])
    (by_rank,) = found.values()
    if absent := next((rank for rank in range(len(by_rank)) if rank not in by_rank), None):
        what = f"there is no file of rank {absent}, but one of rank {max(by_rank)}"
        raise SpecError([Problem(FileLine(str(path)), what, "ranks count from 0, and each has a file")])
    if 0 not in by_rank:
        raise SpecError([Problem(FileLine(str(path)), "there is no file of rank 0", "ranks count from 0")])
    return [by_rank[rank] for rank in range(len(by_rank))]


def read_chakra(path: Path, groups: Path | None = None) -> Trace:
    """Read a trace; ``groups``: the file of its process groups, where it does not stand beside it. Raises ``SpecError`` with file and node, ``OutputError`` where protobuf is not installed."""
    files = trace_files(path)
    known = ProcessGroups(len(files))
    name = FILE.fullmatch(files[0].name)
    beside = [files[0].with_name(f"{name[1] if name else ''}.{GROUPS}"), files[0].with_name(GROUPS)]
    at = groups or next((one for one in beside if one.is_file()), None)
    if at is not None:
        try:
            known.read(at)
        except FileNotFoundError:
            raise SpecError([Problem(FileLine(str(at)), "no such file")]) from None
    notes: dict[str, None] = {}
    ranks = [_Reading(str(file), rank, known, notes).read(file) for rank, file in enumerate(files)]
    return Trace(tuple(ranks), tuple(known.members), tuple(notes))


@dataclass
class _Reading:
    """The file of a rank while it is read."""

    file: str
    rank: int
    groups: ProcessGroups
    notes: dict[str, None]
    nodes: list[Node] = field(default_factory=list[Node])
    begins: list[int] = field(default_factory=list[int])
    before: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    def read(self, path: Path) -> RankTrace:
        known = messages()
        for number, data in enumerate(frames(path)):
            message = known.metadata() if number == 0 else known.node()
            try:
                message.ParseFromString(data)
            except (known.error, ValueError):
                last = f", after node {self.nodes[-1].number} ({self.nodes[-1].name[:60]})" if self.nodes else ""
                what = f"message {number + 1}{last} is none of Chakra's"
                raise SpecError([Problem(FileLine(self.file), what, "it is damaged, or no execution trace")]) from None
            if number:
                self._take(message)
        return in_order(self.file, self.nodes, self.begins, self._after())

    def _take(self, message: Any) -> None:  # noqa: ANN401 - protobuf
        attributes = {one.name: _value(one) for one in message.attr}
        kind = NODE_TYPES.get(message.type)
        if kind is None:
            self._wrong(message, f"its type is {message.type}, which Chakra does not have")
        if kind == "METADATA":
            self._metadata(message)
        exact = attributes.get(EXACT)
        time = message.duration_micros * 10**6
        if type(exact) is int and abs(exact - time) <= 10**6:
            time = exact
        if time > MOST_PS:
            self._wrong(message, f"it takes {message.duration_micros:,} us", "53 days are the most")
        label = attributes.get(LABEL)
        name = message.name
        if kind in {"COMM_COLL", "COMM_SEND", "COMM_RECV"} and attributes.get("is_cpu_op") is not True:
            node = self._sent(message, kind or "", attributes, label if isinstance(label, str) else "")
        elif kind in {"INVALID", "METADATA"}:
            node = Node(message.id, name, "none")
        else:
            of: NodeKind = "compute"
            if attributes.get("is_cpu_op") is True:
                of = "host"
            elif kind in {"MEM_LOAD", "MEM_STORE"}:
                of = "memory"
            flops = self._number(message, attributes, "num_ops", 0, 1 << 62)
            moved = self._number(message, attributes, "tensor_size", 0, MOST_SIZE)
            node = Node(message.id, name, of, time, flops=flops, moved_bytes=moved)
        self.nodes.append(node)
        self.begins.append(message.start_time_micros)
        self.before.append((*message.ctrl_deps, *message.data_deps))

    def _metadata(self, message: Any) -> None:  # noqa: ANN401 - protobuf
        text = message.inputs.values
        if "pg_name" in text and (wrong := self.groups.of_pytorch(text)):
            self._wrong(message, wrong)

    def _sent(self, message: Any, kind: str, attributes: dict[str, Any], label: str) -> Node:  # noqa: ANN401 - protobuf
        group = self._group(message, attributes)
        size = self._number(message, attributes, "comm_size", None, MOST_SIZE)
        if kind == "COMM_COLL":
            number = self._number(message, attributes, "comm_type", None, len(COLLECTIVES) - 1)
            word = COLLECTIVES[number]
            members = self.groups.members[group]
            if self.rank not in members:
                what = (
                    f"rank {self.rank} is not in its group {attributes.get('pg_name', '')!r}, ranks {_shown(members)}"
                )
                self._wrong(message, what, "give the groups of this trace")
            if word in STANDS_FOR:
                self.notes[STANDS_FOR[word]] = None
            bytes_ = 4 if word == "BARRIER" else size * (len(members) if word in _OF_ALL else 1)
            return Node(message.id, message.name, "collective", 0, (), _OF[word], bytes_, group, label=label)
        own, other = ("comm_src", "comm_dst") if kind == "COMM_SEND" else ("comm_dst", "comm_src")
        here = self._number(message, attributes, own, self.rank, 1 << 31)
        if here != self.rank:
            self._wrong(message, f"its {own} is rank {here}, and the file is of rank {self.rank}")
        pair = [one for one in self.groups.members[group] if one != self.rank]
        peer = self._number(message, attributes, other, pair[0] if len(pair) == 1 else None, self.groups.ranks - 1)
        tag = self._number(message, attributes, "comm_tag", 0, 1 << 32)
        what = "send" if kind == "COMM_SEND" else "receive"
        return Node(message.id, message.name, what, 0, (), "send-recv", size, peer=peer, tag=tag, label=label)

    def _group(self, message: Any, attributes: dict[str, Any]) -> int:  # noqa: ANN401 - protobuf
        name = attributes.get("pg_name", EVERYBODY)
        place = self.groups.place(str(name))
        if place is not None:
            return place
        if len(self.groups.members) > 1:
            fix = f"put it into {GROUPS} beside the trace"
            self._wrong(message, f"nothing says which ranks its group {str(name)[:60]!r} has", fix)
        self.notes["nothing says which ranks form groups: all of them are taken for one"] = None
        return 0

    def _number(self, message: Any, attributes: dict[str, Any], name: str, missing: int | None, most: int) -> int:  # noqa: ANN401 - protobuf
        value = attributes.get(name, missing)
        if value is None:
            self._wrong(message, f"it has no {name}", "such a node cannot be run")
        if type(value) is not int or not 0 <= value <= most:
            self._wrong(message, f"its {name} is {str(value)[:40]}", f"a number from 0 to {most}")
        return value

    def _wrong(self, message: Any, what: str, fix: str = "") -> NoReturn:  # noqa: ANN401 - protobuf
        raise SpecError([node_problem(self.file, message.id, message.name, what, fix)])

    def _after(self) -> list[tuple[int, ...]]:
        """What each node waits for, as places."""
        places: dict[int, int] = {}
        for place, node in enumerate(self.nodes):
            if node.number in places:
                what = "another node has the same number"
                raise SpecError([node_problem(self.file, node.number, node.name, what, "numbers name nodes")])
            places[node.number] = place
        lost = sum(1 for before in self.before for one in before if one not in places)
        if lost:
            note = "dependencies on nodes that no file has are passed over"
            self.notes[note] = None
        return [tuple({places[one] for one in before if one in places}) for before in self.before]


def _value(attribute: Any) -> object:  # noqa: ANN401 - protobuf
    which = attribute.WhichOneof("value")
    return None if which is None or which.endswith("_list") else getattr(attribute, which)


def _shown(ranks: Sequence[int]) -> str:
    return ", ".join(map(str, ranks[:8])) + (", ..." if len(ranks) > 8 else "")
