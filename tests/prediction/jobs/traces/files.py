"""Execution traces for tests: nodes in few words, written by protobuf's own code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from railweave.prediction.jobs.graph import Communication, Graph
from railweave.prediction.jobs.kernels import gpus
from railweave.prediction.jobs.run import Times, run
from railweave.prediction.jobs.traces.chakra_read import COLLECTIVES, NODE_TYPES, framed, messages
from railweave.prediction.jobs.traces.traced import read_trace, trace_graph
from tests.prediction.jobs.plans import Given

TYPES = {name: number for number, name in NODE_TYPES.items()}
NUMBERS = {"comm_src", "comm_dst", "comm_tag"}


def node(number: int, kind: str, us: int = 0, after: Sequence[int] = (), **attributes: object) -> Any:
    """A node; ``comm`` names a collective."""
    made = messages().node(
        id=number, name=f"{kind.lower()}{number}", type=TYPES[kind], duration_micros=us, data_deps=list(after)
    )
    if "comm" in attributes:
        attributes["comm_type"] = COLLECTIVES.index(str(attributes.pop("comm")))
    for name, value in {"is_cpu_op": False, **attributes}.items():
        field = {bool: "bool_val", str: "string_val", int: "int32_val" if name in NUMBERS else "int64_val"}[type(value)]
        made.attr.add(name=name, **{field: value})
    return made


def write(folder: Path, ranks: Sequence[Sequence[Any]], groups: dict[str, list[int]] | None = None) -> Path:
    """Files of ranks in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    head = framed(messages().metadata(version="0.0.4").SerializeToString())
    for rank, nodes in enumerate(ranks):
        content = head + b"".join(framed(one.SerializeToString()) for one in nodes)
        (folder / f"trace.{rank}.et").write_bytes(content)
    if groups is not None:
        (folder / "comm_group.json").write_text(json.dumps(groups))
    return folder


def stepped(path: Path, time_ps: int = 0) -> tuple[Graph, Times]:
    """The step of a trace where each communication takes so long."""
    trace = read_trace(path)

    def between(_: Communication) -> None:
        """Every communication is between servers."""

    graph = trace_graph(trace, gpus()["H100"], tuple(range(len(trace.ranks))), between)
    return graph, run(graph, Given(graph, lambda _: time_ps))
