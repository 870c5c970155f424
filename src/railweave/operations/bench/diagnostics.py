"""Lines of NCCL's own diagnostics: ``NCCL DIAG [OK]`` and ``NCCL DIAG [INFO]``, of NCCL 2.31 and of RCCL.

They are printed with ``NCCL_RUN_DIAGNOSTICS=1`` or ``NCCL_RUN_RAS_DIAGNOSTICS=1``, and by ``ncclras -D``. Source: NVIDIA/nccl, user guide,
troubleshooting, "Diagnostics" and "RAS Diagnostics".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.operations.bench.lines import Line, Notes

DIAGNOSTIC = re.compile(r"(?:([\w.-]{1,100}):[0-9]{1,10} )?\bNCCL DIAG (?:\[(\w{1,20})\]\s+)?(.*)$")
_FRAME = re.compile(r"=== .* ===$|(?:RAS|NCCL) diagnostics completed in ")
"""The first and the last line of a report."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A result of a check. ``passed`` is False if NCCL says that it may need attention (``[INFO]``)."""

    line: int
    host: str
    passed: bool
    text: str


def read_diagnostics(lines: Sequence[Line], notes: Notes) -> Iterator[Diagnostic]:
    """Yield the results in lines that contain ``NCCL DIAG``. Lines with other tags are noted. Never raises an error."""
    for line in lines:
        match = DIAGNOSTIC.search(line.text)
        if match is None or match[2] not in {"OK", "INFO"}:
            if match is None or match[2] or not _FRAME.match(match[3]):
                notes.add(line.number, "not understood", line.text)
            continue
        yield Diagnostic(line.number, match[1] or line.host, match[2] == "OK", match[3].strip())
