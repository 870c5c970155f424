"""The writer of a training step as MLCommons Chakra execution traces, so that other simulators can run the same step.

Each rank has its own file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from railweave.prediction.jobs.build import build
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph, Op
from railweave.prediction.jobs.traces.chakra_read import COLLECTIVES, EXACT, GROUPS, LABEL, NODE_TYPES, framed, messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.prediction.jobs.plan import JobPlan

VERSION = "0.0.4"
"""The version of Chakra's schema that the traces use."""
_TYPE = {name: number for number, name in NODE_TYPES.items()}
_OF = {
    "all-reduce": "ALL_REDUCE",
    "all-gather": "ALL_GATHER",
    "reduce-scatter": "REDUCE_SCATTER",
    "all-to-all": "ALL_TO_ALL",
    "broadcast": "BROADCAST",
}


@dataclass
class _Numbers:
    """The numbers of process groups, shared by the files of all ranks.

    ``groups`` maps (kind, ranks) of a group to its number. Numbers begin at 1, because ASTRA-sim has no group 0.
    """

    groups: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict[tuple[str, tuple[int, ...]], int])

    def group(self, kind: str, ranks: tuple[int, ...]) -> int:
        return self.groups.setdefault((kind, ranks), len(self.groups) + 1)


def of_model(plan: JobPlan, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each trace file of a step that was planned from a model. ``name`` begins the file names (``chakra_files``)."""
    graph = build(plan, lambda _: None)
    layout = plan.layout
    ranks = [
        tuple(sorted(rank for group in layout.groups("TP", stage) for rank in group))
        for stage in range(layout.pipeline)
    ]
    return chakra_files(graph, ranks, name)


def chakra_files(graph: Graph, classes: Sequence[tuple[int, ...]], name: str) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each trace file: ``NAME.RANK.et`` for each rank, and ``NAME.comm_group.json``.

    - ``graph``: the operations of the step. Every communication must be an operation, including those inside servers.
    - ``classes``: the ranks of each rank class (ranks with the same work).

    Chakra has no streams, so every node also waits for the previous node on its stream. Durations in Chakra are whole
    microseconds, rounded so that their sum is right. An additional attribute of railweave has the exact durations.
    Raises ``OutputError`` if protobuf is not installed.
    """
    numbers = _Numbers()
    before = _waits(graph)
    group_of = _group_of(graph, numbers)
    by_class = _nodes_by_class(graph, classes)
    for class_ops, ranks in zip(by_class, classes, strict=True):
        for rank in ranks:
            yield f"{name}.{rank}.et", _Writing(graph, before, group_of, numbers, rank).file(class_ops)
    groups = [f'"{number}": {json.dumps(ranks)}' for (_, ranks), number in numbers.groups.items()]
    yield f"{name}.{GROUPS}", ("{\n" + ",\n".join(groups) + "\n}\n").encode()


def _waits(graph: Graph) -> list[tuple[int, ...]]:
    """Return, for each operation, the numbers of the operations that it waits for, including the previous operation on its stream.

    ``graph`` has the operations of the step.
    """
    waits: list[tuple[int, ...]] = []
    last: dict[tuple[int, str], int] = {}
    for number, op in enumerate(graph.ops):
        previous = last.get((op.rank_class, op.stream))
        waits.append(tuple(dict.fromkeys([*op.after, *(() if previous is None else (previous,))])))
        last[op.rank_class, op.stream] = number
    return waits


def _nodes_by_class(graph: Graph, classes: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """Return, for each rank class, the operations in its ranks' traces: operations of the class, and messages from other classes.

    ``graph`` has the operations of the step.
    """
    class_of = {rank: number for number, ranks in enumerate(classes) for rank in ranks}
    by_class: list[list[int]] = [[] for _ in classes]
    for number, op in enumerate(graph.ops):
        by_class[op.rank_class].append(number)
        communication = None if op.communication is None else graph.communications[op.communication]
        to = (
            class_of[communication.groups[0][1]]
            if communication is not None and communication.collective == "send-recv"
            else op.rank_class
        )
        if to != op.rank_class:
            by_class[to].append(number)
    return by_class


def _group_of(graph: Graph, numbers: _Numbers) -> list[dict[int, tuple[int, ...]]]:
    """Return, for each communication, a dict from each rank to the ranks of its group.

    Also give every group of a collective a number in ``numbers``. Collectives of the same kind among the same ranks share a group, and so a
    number. ``graph`` has the operations of the step.
    """
    groups: list[dict[int, tuple[int, ...]]] = []
    for communication in graph.communications:
        groups.append({rank: group for group in communication.groups for rank in group})
        if communication.collective != "send-recv":
            for group in communication.groups:
                numbers.group(communication.kind, group)
    return groups


@dataclass
class _Writing:
    """The writer of one rank's file.

    - ``before``: for each operation, the operations that it waits for.
    - ``group_of``: for each communication, a dict from each rank to the ranks of its group.
    - ``numbers``: the numbers of process groups, shared by all files.
    """

    graph: Graph
    before: list[tuple[int, ...]]
    group_of: list[dict[int, tuple[int, ...]]]
    numbers: _Numbers
    rank: int
    _late_ps: int = 0

    def file(self, ops: list[int]) -> bytes:
        known = messages()
        head = known.metadata(version=VERSION)
        own_ops = set(ops)
        parts = [framed(head.SerializeToString())]
        for number in ops:
            op = self.graph.ops[number]
            communication = None if op.communication is None else self.graph.communications[op.communication]
            node = known.node(
                id=number,
                name=f"{communication.kind} {communication.collective} {op.label}" if communication else op.label,
            )
            node.attr.add(name="is_cpu_op", bool_val=False)
            receives = (
                communication is not None and communication.collective == "send-recv" and self._pair(op)[1] == self.rank
            )
            node.ctrl_deps.extend(() if receives else (before for before in self.before[number] if before in own_ops))
            if communication is None:
                self._computing(node, op)
            elif communication.collective == "send-recv":
                self._message(node, op, communication, receives=receives)
            else:
                self._collective(node, op, communication)
            parts.append(framed(node.SerializeToString()))
        return b"".join(parts)

    def _computing(self, node: Any, op: Op) -> None:  # noqa: ANN401 - protobuf
        node.type = _TYPE["COMP"] if op.stream == COMPUTE else _TYPE["INVALID"]
        wanted = op.time_ps + self._late_ps
        node.duration_micros = max(round(wanted / 10**6), 0)
        self._late_ps = wanted - node.duration_micros * 10**6
        node.attr.add(name=EXACT, uint64_val=op.time_ps)

    def _pair(self, op: Op) -> tuple[int, ...]:
        return self.group_of[op.communication or 0][self.rank]

    def _message(self, node: Any, op: Op, communication: Communication, *, receives: bool) -> None:  # noqa: ANN401 - protobuf
        source, target = self._pair(op)
        node.type = _TYPE["COMM_RECV" if receives else "COMM_SEND"]
        node.attr.add(name="comm_src", int32_val=source)
        node.attr.add(name="comm_dst", int32_val=target)
        node.attr.add(name="comm_tag", int32_val=0)
        node.attr.add(name="comm_size", int64_val=communication.size_bytes)
        node.attr.add(name=LABEL, string_val=communication.kind)

    def _collective(self, node: Any, op: Op, communication: Communication) -> None:  # noqa: ANN401 - protobuf
        group = self.group_of[op.communication or 0][self.rank]
        size = communication.size_bytes
        if communication.collective == "all-gather":  # of one rank, as PyTorch's converter and ASTRA-sim have it
            size = -(-size // len(group))
        node.type = _TYPE["COMM_COLL"]
        node.attr.add(name="comm_type", int64_val=COLLECTIVES.index(_OF[communication.collective]))
        node.attr.add(name="comm_size", int64_val=size)
        node.attr.add(name="pg_name", string_val=str(self.numbers.group(communication.kind, group)))
        node.attr.add(name=LABEL, string_val=communication.kind)
