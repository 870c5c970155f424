"""A trace from whatever file holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError
from railweave.prediction.jobs.traces.chakra_read import FILE, read_chakra
from railweave.prediction.jobs.traces.nccl_read import read_nccl

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.prediction.jobs.traces.trace import Trace


def read_trace(path: Path, groups: Path | None = None) -> Trace:
    """Read a trace: execution traces of Chakra as ``chakra_read`` has them, else a log of NCCL: a file, or a folder with one of each process.

    ``groups``: the process groups of execution traces. Raises ``SpecError``, ``OutputError``.
    """
    try:
        folder = path if path.is_dir() else path.parent
        names = [one.name for one in folder.iterdir()]
        logs = sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror or error}")]) from None
    if any(FILE.fullmatch(one) for one in names if path.is_dir() or one.startswith(path.name)):
        return read_chakra(path, groups)
    if not path.exists() or not logs:
        what = "no execution trace: no file is called NAME.RANK.et"
        raise SpecError(
            [Problem(FileLine(str(path)), what, "give a folder, folder and name before the ranks, or a log of NCCL")]
        )
    if groups is not None:
        what = "a log of NCCL says itself which ranks form groups"
        raise SpecError([Problem(FileLine(str(groups)), what, "leave out trace_groups")])
    return read_nccl(logs, path)
