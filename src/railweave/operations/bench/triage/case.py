"""What a rule of triage looks at: the text, what was read in it, and what a design says of addresses."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.operations.bench.lines import Line
    from railweave.operations.bench.nccl_log import NcclLog
    from railweave.operations.bench.read import Read


Network = IPv4Network | IPv6Network


@dataclass(frozen=True)
class Case:
    """One text. ``networks`` are those of the design's GPU NICs, empty where there is no design."""

    read: Read
    lines: tuple[Line, ...]
    networks: frozenset[Network] = frozenset()

    @property
    def file(self) -> str:
        """Where the text is from."""
        return self.read.file

    @property
    def log(self) -> NcclLog | None:
        """The log of NCCL in it."""
        return self.read.log

    def found(self, line: int, what: str, where: str = "", *, fix: str | None = None) -> Found:
        """What a rule found, with the line that shows it; ``where`` is a host, else the file."""
        return Found(where or self.file.rpartition("/")[2] or self.file, what, self.file, line, fix=fix)


def once(seen: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Each thing that was seen with the first line of it and how often it was seen."""
    found: dict[str, tuple[int, int]] = {}
    for name, line in seen:
        first, often = found.get(name, (line, 0))
        found[name] = first, often + 1
    for name, (line, often) in found.items():
        yield name, line, often


def times(often: int) -> str:
    """``, 12 times`` of what was seen more than once."""
    return f", {often} times" if often > 1 else ""
