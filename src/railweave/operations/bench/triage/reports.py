"""Reports about the progress of ranks, as frameworks and NCCL's RAS and Inspector print them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from railweave.reading import parse_json

if TYPE_CHECKING:
    from railweave.operations.bench.lines import Note


@dataclass(frozen=True, slots=True)
class Waiting:
    """An operation of a process group that did not complete on a rank: its number in the group, its name, its sizes and the time waited."""

    file: str
    line: int
    group: str
    rank: int
    sequence: int
    operation: str
    sizes: str = ""
    waited_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a rank in a process group: the numbers of the operations that it enqueued and completed last.

    None means that a number is unknown.
    """

    file: str
    line: int
    group: str
    rank: int
    enqueued: int | None
    completed: int | None
    failed: int | None = None
    """The number of the operation at which the watchdog reported a timeout."""
    host: str = ""
    """The server of the rank; empty if the report does not name it."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A rank or process that, according to a report, is late or has ended. ``text`` is the text of the report. ``host`` may be empty."""

    file: str
    line: int
    rank: int | None
    host: str
    text: str
    behind: bool = True


@dataclass
class Reports:
    """All reports in texts about the progress of ranks. ``hosts`` has the hosts of ranks, and ``members`` the ranks of process groups."""

    waiting: list[Waiting] = field(default_factory=list[Waiting])
    progress: list[Progress] = field(default_factory=list[Progress])
    absent: list[Absent] = field(default_factory=list[Absent])
    hosts: dict[int, str] = field(default_factory=dict[int, str])
    members: dict[str, set[int]] = field(default_factory=dict[str, set[int]])
    notes: list[Note] = field(default_factory=list["Note"])
    """Fields and lines of RAS answers that are not known."""
    known: bool = False
    """True if the text has a form that this module reads, even if the text reports no fault."""

    def join(self, other: Reports) -> None:
        """Add the reports of another text."""
        self.waiting += other.waiting
        self.progress += other.progress
        self.absent += other.absent
        self.hosts = other.hosts | self.hosts
        for group, ranks in other.members.items():
            self.members.setdefault(group, set()).update(ranks)
        self.notes += other.notes
        self.known |= other.known


def json_object(value: object) -> dict[str, Any]:
    """Return a JSON object, or an empty one for any other value."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def parsed_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a text, or an empty one."""
    try:
        return json_object(parse_json(text))
    except ValueError:
        return {}
