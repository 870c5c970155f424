"""A job that a trace describes. Ranks with the same work form a class, and each class is computed only once.

In contrast, jobs of ``prediction.jobs.plan`` are computed from a model by formulas.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.errors import FileLine, Problem, SpecError
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.kernels import Gpu, gpu_with, unknown_gpu
from railweave.prediction.jobs.traces.chakra_read import FILE, read_chakra
from railweave.prediction.jobs.traces.nccl_read import read_nccl
from railweave.prediction.jobs.traces.trace import Node, RankTrace, Trace, circle, sorted_by

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from pathlib import Path

    from railweave.model.intent.job_file import ReadJobs, TrainingJob


@dataclass(frozen=True)
class Classes:
    """The division of ranks into classes with the same work.

    ``of`` has the class of each rank, and ``first`` the first rank of each class.
    """

    of: tuple[int, ...]
    first: tuple[int, ...]

    def ranks(self, number: int) -> list[int]:
        """Return the ranks of a class."""
        return [rank for rank, rank_class in enumerate(self.of) if rank_class == number]


def classes_of(trace: Trace, slots: Slots) -> Classes:
    """Return the division of ranks into classes. Ranks of the same class do the same work, and their partners are of the same classes.

    ``slots`` has the partners of each rank. There are as few classes as possible. At first, ranks with the same nodes form a class. Then a
    class is split if its ranks communicate with ranks of different classes, until no class has to be split.
    """
    class_of = _numbered([_own(trace, slots, rank) for rank in range(len(trace.ranks))])
    place = [{slot: number for number, slot in enumerate(rank_slots)} for rank_slots in slots.slots]
    count = 0
    while max(class_of) + 1 > count:
        count = max(class_of) + 1
        of_groups: dict[int, Hashable] = {}
        seen: list[Hashable] = []
        for rank, own_slots in enumerate(slots.slots):
            others: list[Hashable] = []
            for kind, peer, tag in own_slots:
                if kind == "collective":
                    if peer not in of_groups:
                        of_groups[peer] = tuple(
                            sorted(
                                (class_of[group], place[group].get((kind, peer, 0), -1)) for group in trace.groups[peer]
                            )
                        )
                    others.append(of_groups[peer])
                else:
                    other = ("receive" if kind == "send" else "send"), rank, tag
                    others.append((class_of[peer], place[peer][other]))
            seen.append((class_of[rank], tuple(others)))
        class_of = _numbered(seen)
    first = [class_of.index(number) for number in range(max(class_of) + 1)]
    return Classes(tuple(class_of), tuple(first))


def _own(trace: Trace, slots: Slots, rank: int) -> Hashable:
    """Return a key of the nodes of ``rank``. Two ranks get the same key if they do the same work in the same order.

    The key ignores which ranks are the partners. It only records, for each node, the index of the node's slot (set of partners) among the
    slots of the same rank, in the order of first use. ``slots`` has these indexes.
    """
    return tuple(
        (node.kind, node.time_ps, node.after, node.collective, node.size_bytes, node.flops, node.moved_bytes, slot)
        for node, slot in zip(trace.ranks[rank].nodes, slots.of[rank], strict=True)
    )


def _numbered(values: list[Hashable]) -> list[int]:
    """Return an integer for each value, equal for equal values, counted in the order of first occurrence."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


Slot = tuple[str, int, int]
"""A communication slot: the partners with whom a rank communicates.

The slot is ``("collective", group, 0)``, ``("send", receiver, tag)`` or ``("receive", sender, tag)``. The group is its index in the
trace; sender and receiver are ranks.
"""


@dataclass(frozen=True)
class Slots:
    """The communication slots (sets of partners) of all ranks.

    - ``slots``: the slots of each rank, in the order of first use.
    - ``of``: for each node of a rank, the index of its slot; -1 for nodes that communicate with no one.
    """

    slots: tuple[tuple[Slot, ...], ...]
    of: tuple[tuple[int, ...], ...]


def slots_of(trace: Trace) -> Slots:
    """Return the communication slots (sets of partners) of all ranks of a trace.

    Raises ``SpecError`` if ranks of a group make different calls, or if a send has no receive or a receive no send.
    """
    slots: list[tuple[Slot, ...]] = []
    of: list[tuple[int, ...]] = []
    used: list[dict[Slot, list[Node]]] = []
    for rank in trace.ranks:
        places: dict[Slot, int] = {}
        nodes: dict[Slot, list[Node]] = defaultdict(list)
        slot_places: list[int] = []
        for node in rank.nodes:
            slot = _slot(node)
            slot_places.append(-1 if slot is None else places.setdefault(slot, len(places)))
            if slot is not None:
                nodes[slot].append(node)
        slots.append(tuple(places))
        of.append(tuple(slot_places))
        used.append(nodes)
    _look_at_groups(trace, used)
    _look_at_messages(trace, used)
    return Slots(tuple(slots), tuple(of))


def _slot(node: Node) -> Slot | None:
    if node.kind == "collective":
        return "collective", node.group, 0
    return (node.kind, node.peer, node.tag) if node.kind in {"send", "receive"} else None


def _look_at_groups(trace: Trace, used: list[dict[Slot, list[Node]]]) -> None:
    for place, members in enumerate(trace.groups):
        key = "collective", place, 0
        first = used[members[0]].get(key, [])
        for rank in members[1:]:
            _same(trace.ranks[members[0]], first, trace.ranks[rank], used[rank].get(key, []), "collectives of a group")


def _look_at_messages(trace: Trace, used: list[dict[Slot, list[Node]]]) -> None:
    for rank, nodes_by_slot in enumerate(used):
        for (kind, peer, tag), nodes in nodes_by_slot.items():
            if kind in {"send", "receive"}:
                other = ("receive" if kind == "send" else "send"), rank, tag
                _same(trace.ranks[rank], nodes, trace.ranks[peer], used[peer].get(other, []), "sends and receives")


def _same(first: RankTrace, ones: list[Node], second: RankTrace, others: list[Node], subject: str) -> None:
    for a, b in zip(ones, others, strict=False):
        if (a.collective, a.size_bytes) != (b.collective, b.size_bytes):
            message = f"it is {_said(b)}; the other side, {first.problem(a, '').place}{'' if first.text else f': node {a.number}'}, has {_said(a)}"
            raise SpecError(
                [second.problem(b, message, f"{subject} must be the same on both sides, in the same order")]
            )
    if len(ones) != len(others):
        longer, alone, short = (
            (first, ones[len(others)], second) if len(ones) > len(others) else (second, others[len(ones)], first)
        )
        message = f"{_said(alone)} has no counterpart in {short.file}"
        raise SpecError([longer.problem(alone, message, f"{subject} must be the same on both sides")])


def _said(node: Node) -> str:
    return f"{node.collective} of {node.size_bytes:,} bytes"


Key = tuple[str, int, int, int]
"""The key of an operation: a word and three numbers, of which the last is 0.

- ``node``: the rank class and the index of a node that does not communicate.
- ``sent``: the group of partners, and the number of the communication among them.
"""
MOST_ENDS = 12
"""The largest number of operations that a node may wait for one by one because of one earlier node.

If the earlier node ends with more operations, one added operation waits for all of them, and the later node waits only for the added
operation.
"""


def trace_graph(
    trace: Trace, gpu: Gpu, places: tuple[int, ...], inside_ps: Callable[[Communication], int | None]
) -> Graph:
    """Return the graph of a trace.

    - ``gpu``: the GPU, for nodes that have an amount of computation but no time.
    - ``places``: for each rank of the trace, the rank of the job.
    - ``inside_ps``: a function that returns the time of a communication in ps, or None if a group spans several
      servers.

    Each rank computes sequentially, in the order of ``RankTrace``. The collectives of a group are sequential too, and
    so are messages with the same tag from one rank to another. A send does not wait for its receiver. Raises
    ``SpecError`` if ranks wait for each other forever, and the errors of ``slots_of``.
    """
    slots = slots_of(trace)
    return _Making(trace, gpu, places, inside_ps, slots, classes_of(trace, slots)).graph()


@dataclass
class _Making:
    trace: Trace
    gpu: Gpu
    places: tuple[int, ...]
    inside_ps: Callable[[Communication], int | None]
    slots: Slots
    classes: Classes

    def graph(self) -> Graph:
        """Return the graph of the trace. First every operation gets a number, then the numbers of the operations that it waits for."""
        self._joined = self._join()
        self._groups, self._inside = self._grouped(), dict[Communication, int | None]()
        keys: dict[Key, list[tuple[int, int, Node]]] = {}
        self._turn: dict[tuple[int, int], int] = {}
        for number, rank in enumerate(self.classes.first):
            count: dict[int, int] = defaultdict(int)
            for place, node in enumerate(self.trace.ranks[rank].nodes):
                slot = self.slots.of[rank][place]
                self._turn[number, place] = count[slot]
                count[slot] += 1
                keys.setdefault(self._key(number, place), []).append((number, place, node))
        # a message is an operation of its sender, though a class that receives may come first
        ordered = {
            key: sorted(nodes, key=lambda occurrence: occurrence[2].kind == "receive")
            for key, nodes in keys.items()
            if nodes
        }
        self._number: dict[Key, int] = {}
        self._ends: dict[tuple[int, int], tuple[int, ...]] = {}
        self._made = Graph(len(self.classes.first))
        after: list[set[int]] = []
        for key, nodes in ordered.items():
            if nodes[0][2].kind != "none":
                self._number[key] = self._made.add(self._op(key, nodes[0][0], nodes[0][2]))
                after.append(set())
        for number, rank in enumerate(self.classes.first):
            for place, node in enumerate(self.trace.ranks[rank].nodes):
                before = {end for earlier in node.after for end in self._ends[number, earlier]}
                op_number = self._number.get(self._key(number, place))
                ends = before if op_number is None or node.kind == "receive" else set[int]()
                if op_number is not None:
                    ends = {*ends, op_number}
                    if node.kind != "receive":
                        after[op_number] |= before
                if len(ends) > MOST_ENDS:
                    joined = self._made.add(Op(number, f"joined {len(after)}", node.name, 0, ()))
                    after.append(ends)
                    ends = {joined}
                self._ends[number, place] = tuple(sorted(ends))
        ops = self._made.ops
        for place, before in enumerate(after):
            op = ops[place]
            ops[place] = Op(op.rank_class, op.stream, op.label, op.time_ps, tuple(sorted(before)), op.communication, op.inside)  # fmt: skip
        self._look_for_circles({self._number[key]: nodes[0] for key, nodes in ordered.items() if key in self._number})
        return self._made

    def _look_for_circles(self, nodes: dict[int, tuple[int, int, Node]]) -> None:
        """Raise ``SpecError`` if ranks wait for each other forever. ``nodes`` maps the number of an operation to (class, index, node)."""
        last: dict[tuple[int, str], int] = {}
        waits: list[list[int]] = []
        for number, op in enumerate(self._made.ops):
            stream = op.rank_class, op.stream
            waits.append([*op.after, *([last[stream]] if stream in last else [])])
            last[stream] = number
        _, missing = sorted_by(waits, lambda place: (place,))
        if not missing:
            return
        stuck = [nodes[op_number] for op_number in circle(missing, waits) if op_number in nodes]
        (number, _, node), *others = stuck
        other_nodes = [f"{self._rank(rank_class).file}: node {other.number}" for rank_class, _, other in others[:4]]
        message = f"it waits for itself, through {' and '.join(other_nodes) or 'nodes of other ranks'}"
        fix = "all ranks of a group must run its collectives in the same order"
        raise SpecError([self._rank(number).problem(node, message, fix)])

    def _rank(self, number: int) -> RankTrace:
        """Return the trace of the first rank of class ``number``. It represents all ranks of the class."""
        return self.trace.ranks[self.classes.first[number]]

    def _join(self) -> dict[tuple[int, int], int]:
        """Return a group number for each (class, slot index). Slots through which ranks communicate with each other have the same number."""
        parent: dict[tuple[int, int], tuple[int, int]] = {}

        def root(member: tuple[int, int]) -> tuple[int, int]:
            while parent.setdefault(member, member) != member:
                parent[member] = member = parent[parent[member]]
            return member

        met: dict[tuple[int, int, int, int], tuple[int, int]] = {}
        for rank, rank_slots in enumerate(self.slots.slots):
            for place, (kind, peer, tag) in enumerate(rank_slots):
                mine = self.classes.of[rank], place
                ends = (peer, -1, 0, 0) if kind == "collective" else (rank, peer, tag, 1)
                if kind == "receive":
                    ends = peer, rank, tag, 1
                parent[root(mine)] = root(met.setdefault(ends, mine))
        number: dict[tuple[int, int], int] = {}
        return {member: number.setdefault(root(member), len(number)) for member in list(parent)}

    def _key(self, number: int, place: int) -> Key:
        slot = self.slots.of[self.classes.first[number]][place]
        if slot < 0:
            return "node", number, place, 0
        return "sent", self._joined[number, slot], self._turn[number, place], 0

    def _op(self, key: Key, number: int, node: Node) -> Op:
        if key[0] == "node":
            stream = {"compute": COMPUTE}.get(node.kind, node.kind)
            return Op(number, stream, node.name, self._computing_ps(node), ())
        groups = self._groups[key[1]]
        kind = node.label or (node.collective or "send-recv")
        stream = f"sent {key[1]}"
        if len(groups[0]) == 1:
            return Op(number, stream, node.name, 0, ())
        sent = Communication(kind, number, node.collective or "send-recv", max(node.size_bytes, 1), groups, key[1])
        if sent not in self._inside:
            self._inside[sent] = self.inside_ps(sent)
        time = self._inside[sent]
        if time is None:
            return Op(number, stream, node.name, 0, (), self._made.communication(sent))
        return Op(number, stream, node.name, time, (), inside=((kind, time),))

    def _grouped(self) -> dict[int, tuple[tuple[int, ...], ...]]:
        """Return, for each group number of ``_join``, the groups of ranks that communicate. Ranks are the job's ranks, not the trace's."""
        by_number: dict[int, dict[tuple[int, ...], None]] = defaultdict(dict)
        for rank, rank_slots in enumerate(self.slots.slots):
            for place, (kind, peer, _) in enumerate(rank_slots):
                ranks = self.trace.groups[peer] if kind == "collective" else (rank, peer)
                if kind == "receive":
                    ranks = peer, rank
                by_number[self._joined[self.classes.of[rank], place]][tuple(self.places[rank] for rank in ranks)] = None
        return {number: tuple(groups) for number, groups in by_number.items()}

    def _computing_ps(self, node: Node) -> int:
        """Return the computing time of a node in ps: the measured time if there is one, else an estimate.

        The estimate is the longer of two times: the time of the node's operations at the GPU's rate, and the time in which the memory moves
        the node's bytes.
        """
        if node.time_ps or node.kind not in {"compute", "memory"}:
            return node.time_ps
        computing = node.flops / (self.gpu.bf16_tflops * self.gpu.gemm)
        return round(max(computing, node.moved_bytes / (self.gpu.memory_tbytes_per_s * self.gpu.memory)))


def read_trace(path: Path, groups: Path | None = None) -> Trace:
    """Read a trace. If file names match, it is read as Chakra execution traces, otherwise as an NCCL log.

    ``path`` is a file or, for a log with a file per process, a folder. ``groups`` is the file of the process groups of
    Chakra traces. Raises ``SpecError`` if the trace cannot be read, and ``OutputError`` if protobuf is needed but not
    installed.
    """
    try:
        folder = path if path.is_dir() else path.parent
        names = [child.name for child in folder.iterdir()]
        logs = sorted(child for child in path.iterdir() if child.is_file()) if path.is_dir() else [path]
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror or error}")]) from None
    if any(FILE.fullmatch(name) for name in names if path.is_dir() or name.startswith(path.name)):
        return read_chakra(path, groups)
    if not path.exists() or not logs:
        message = "no execution trace: no file is called NAME.RANK.et"
        raise SpecError(
            [
                Problem(
                    FileLine(str(path)),
                    message,
                    "give a folder, folder and name before the ranks, or a log of NCCL",
                )
            ]
        )
    if groups is not None:
        message = "an NCCL log already contains the groups of ranks"
        raise SpecError([Problem(FileLine(str(groups)), message, "leave out trace_groups")])
    return read_nccl(logs, path)


@dataclass(frozen=True)
class PlacedTrace:
    """A trace whose ranks are placed on the GPUs of a job. ``places`` has the index of the job's GPU for each rank of the trace.

    ``source`` describes the origin of the trace.
    """

    job: TrainingJob
    trace: Trace
    gpu: Gpu
    places: tuple[int, ...]
    source: str

    @property
    def ranks(self) -> int:
        """The number of GPUs that take part."""
        return len(self.trace.ranks)

    @property
    def flops(self) -> float | None:
        """None, because a trace does not contain the number of operations of its model."""
        return None

    @property
    def tokens(self) -> int | None:
        """None, because a trace does not contain the number of tokens of a step."""
        return None

    @property
    def peak(self) -> float:
        """Return the peak rate of all GPUs of the job in 16 bits, in operations per second."""
        return self.gpu.bf16_tflops * 1e12 * self.ranks

    @property
    def about(self) -> str:
        """Return the numbers of nodes and ranks, and the source of the trace: ``1,200 nodes of 8 ranks, run.et``."""
        return f"{self.trace.nodes:,} nodes of {self.ranks:,} ranks, {self.source}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the assumptions about this trace."""
        return self.trace.notes

    def described(self) -> dict[str, Any]:
        """Return the description of the trace for JSON output."""
        return {"trace": self.source, "gpus": self.ranks, "nodes": self.trace.nodes, "notes": [*self.notes]}

    def graph(self, inside_ps: Callable[[Communication], int | None]) -> Graph:
        """Return the graph of the trace. Raises the errors of ``trace_graph`` in this module.

        ``inside_ps`` is a function that returns the time in ps of a communication, or None if a group spans several servers.
        """
        return trace_graph(self.trace, self.gpu, self.places, inside_ps)


def traced(
    read: ReadJobs, number: int, gpu_name: str, gpu_count: int, servers: Sequence[str]
) -> PlacedTrace | list[Problem]:
    """Return the trace that one job of the job file ``read`` names, with the trace's ranks placed on the GPUs of ``servers``.

    ``number`` is the index of the job in the file. ``gpu_count`` is the number of GPUs of all servers, of the model ``gpu_name``. If the
    trace cannot be read or placed, return the problems with their lines in the job file. Raises the errors of ``read_trace``.
    """
    job = read.jobs[number]

    def problem(place: str, message: str, fix: str = "") -> Problem:
        return read.document.problem(read.location(number, place), message, fix)

    path, groups = read.beside(job.trace or ""), read.beside(job.trace_groups) if job.trace_groups else None
    if not path.parent.is_dir():
        return [
            problem("trace", f"there is no folder {path.parent}", "relative paths start at the folder of the job file")
        ]
    trace = read_trace(path, groups)
    each = job.ranks_per_host or gpu_count // len(servers)
    if each > gpu_count // len(servers):
        return [problem("ranks_per_host", f"the job's servers have {gpu_count // len(servers)} GPUs each")]
    if len(trace.ranks) > each * len(servers):
        reason = f"the trace has {len(trace.ranks):,} ranks; the job's servers have {each * len(servers):,} GPUs" + (
            " for it" if job.ranks_per_host else ""
        )
        return [problem("trace", reason, "name more `hosts`")]
    gpu = gpu_with(gpu_name, job.gpu)
    if gpu is None:
        return [problem("gpu", *unknown_gpu(gpu_name))]
    places = _places(trace, servers, gpu_count // len(servers), each)
    if isinstance(places, str):
        return [problem("trace", places, "give as many `hosts` as the traced run had servers")]
    return PlacedTrace(job, trace, gpu, places, job.trace or "")


def _places(trace: Trace, servers: Sequence[str], gpus_each: int, ranks_each: int) -> tuple[int, ...] | str:
    """Return the index of the job's GPU for each rank of the trace, or an error message if the ranks do not fit on the servers.

    A rank is placed on the job's server with the name of the server that the rank ran on. If no server has this name, the rank
    is placed on the next free server.
    """
    if not trace.hosts:
        return tuple(rank // ranks_each * gpus_each + rank % ranks_each for rank in range(len(trace.ranks)))
    ran_on = list(dict.fromkeys(host for host, _ in trace.hosts))
    if len(ran_on) > len(servers):
        return f"the trace was taken on {len(ran_on)} servers; the job has {len(servers)}"
    same = {host: servers.index(host) for host in ran_on if host in servers}
    left = iter([number for number in range(len(servers)) if number not in same.values()])
    at = {host: same[host] if host in same else next(left) for host in ran_on}
    if most := next((gpu for _, gpu in trace.hosts if gpu >= gpus_each), None):
        return f"the trace has GPU {most} of a server; the job's servers have {gpus_each}"
    return tuple(at[host] * gpus_each + gpu for host, gpu in trace.hosts)
