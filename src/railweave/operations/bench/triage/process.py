"""How ranks were started: processors, versions, variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Found, check
from railweave.operations.bench.triage.case import once, times

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.operations.bench.triage.case import Case

FEW = 2
"""Processors below which NCCL's proxy threads take time from each other and from the program."""


@check(
    "run-affinity",
    "warning",
    applies="run",
    why="a launcher or Slurm bound the rank to processors far from its GPU, or to too few: NCCL's proxy threads then run across sockets or share a core",
    fix="mpirun --bind-to numa (or --bind-to none), srun --cpu-bind=none or --gpus-per-task with --cpus-per-task of 4 or more; NCCL_IGNORE_CPU_AFFINITY=1 lets NCCL choose",
)
def affinity(case: Case) -> Iterator[Found]:
    """Each rank may use several processors that are near its GPU."""
    if case.log is None:
        return
    seen: list[tuple[str, int]] = []
    for one in case.log.affinities:
        if not one.processors and one.near_gpu and one.allowed:
            what = f"a rank may use processors {one.allowed}, none of which is near its GPU ({one.near_gpu})"
            seen.append((f"{one.host}\n{what}", one.line))
        elif one.processors and 0 < (found := processors(one.processors, mask=one.is_mask)) < FEW:
            seen.append((f"{one.host}\na rank has {found} processor near its GPU", one.line))
    for key, line, often in once(seen):
        host, _, what = key.partition("\n")
        yield case.found(line, what + times(often), host)


def processors(text: str, *, mask: bool) -> int:
    """How many processors a list (``0-3,8``), or a mask in hexadecimal (``ff,ffffffff``), names; 0 where it is neither."""
    groups = text.strip().split(",")
    if mask:
        return sum(int(one, 16).bit_count() for one in groups if re.fullmatch(r"[0-9a-fA-F]{1,8}", one))
    spans = [re.fullmatch(r"([0-9]{1,5})(?:-([0-9]{1,5}))?", one.strip()) for one in groups]
    return sum(max(0, int(one[2] or one[1]) - int(one[1])) + 1 for one in spans if one)


@check(
    "run-mixed-versions",
    "error",
    applies="run",
    why="libraries of different versions do not agree on what they send each other: the job fails or hangs at its start",
    fix="have LD_LIBRARY_PATH lead to one build of NCCL or RCCL on every server: the container's, or the host's",
)
def versions(case: Case) -> Iterator[Found]:
    """Every rank has the same version of the library."""
    if case.log is not None and len(case.log.versions) > 1:
        names = ", ".join(text for _, text in case.log.versions)
        yield case.found(case.log.versions[1][0], f"ranks have different versions: {names}")
    pattern = re.compile(r"Mismatched NCCL version detected.*")
    for what, line, often in once((found[0], one.number) for one in case.lines if (found := pattern.search(one.text))):
        yield case.found(line, what + times(often))


@check(
    "run-no-intranet",
    "info",
    applies="run",
    why="on one server GPUs reach each other without a NIC: such a run says nothing of the network",
    fix="with RCCL set RCCL_ENABLE_INTRANET=1, with NCCL NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1, to send over the NICs of one server",
)
def intranet(case: Case) -> Iterator[Found]:
    """A run on one server that is to prove NICs sends over them."""
    if case.log is None or case.log.nodes != 1 or not case.log.channels:
        return
    told = case.log.variable("RCCL_ENABLE_INTRANET")
    if told in {"", "0"} and not any(one.transport == "NET" for one in case.log.channels):
        said = f"RCCL_ENABLE_INTRANET is {told or 'not set'}" if case.log.library == "RCCL" else "P2P is on"
        yield case.found(case.log.channels[0].line, f"no connection of this run on one server goes over a NIC: {said}")


@check(
    "run-mixed-rails",
    "warning",
    applies="run",
    why="NCCL pairs the NICs of servers by their order: where one has fewer, or another order, traffic changes rails and crosses spines",
    fix="`railweave host check --only nics` on that server; NCCL_IB_HCA with the same names, in the order of rails, on all",
)
def rails(case: Case) -> Iterator[Found]:
    """Servers have as many NICs as each other, paired rail by rail."""
    pattern = re.compile(
        r"Detected mixed local Net device counts.*|mismatched physical devices.*|has a different number of devices=.*"
    )
    for what, line, often in once(
        (found[0][:200], one.number) for one in case.lines if (found := pattern.search(one.text))
    ):
        yield case.found(line, what + times(often))
