"""The calls in a log of NCCL or RCCL: what ``NCCL_DEBUG=INFO`` writes with ``NCCL_DEBUG_SUBSYS=INIT,COLL``.

Forms are those of 2.18 to 2.28 (NVIDIA/nccl, ``src/enqueue.cc`` ``ncclEnqueueCheck``, ``src/init.cc``), which RCCL has too. What else is in a log is passed over; so are calls that another process wrote into.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from railweave.errors import FileLine, Problem, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MOST_BYTES = 1 << 30
"""Of a log: four million calls."""
_WHO = r"(?P<host>[^\s:\[\]]+):(?P<pid>[0-9]{1,10}):[0-9]{1,10} (?:\[(?P<device>[0-9]{1,4})\] )?NCCL INFO "
_CALL = re.compile(
    _WHO
    + r"(?:\[[0-9]{1,9}\] )?(?P<name>\w{2,40}): opCount (?P<turn>[0-9a-f]{1,16}) sendbuff \S+ recvbuff \S+ count (?P<count>[0-9]{1,18}) "
    r"datatype (?P<type>[0-9]{1,3}) op [0-9]{1,6} root (?P<root>-?[0-9]{1,9}) comm (?P<comm>0x[0-9a-f]{1,16})"
    r" \[nranks=(?P<ranks>[0-9]{1,9})\](?: stream (?P<stream>0x[0-9a-f]{1,16}|\(nil\)))?"
)
_INIT = re.compile(
    _WHO
    + r"(?:\[Rank [0-9]+\] )?(?:\w+ )?comm (?P<comm>0x[0-9a-f]{1,16}) rank (?P<rank>[0-9]{1,9}) nranks (?P<ranks>[0-9]{1,9}) "
    r"cudaDev (?P<cuda>[0-9]{1,4})(?: nvmlDev (?P<nvml>[0-9]{1,4}))?.*?(?:commId (?P<id>0x[0-9a-f]{1,16}))?[ -]+Init COMPLETE"
)
_TIME = re.compile(r"\[([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?\]")
SIZES = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1}
"""Bytes of NCCL's types by their numbers (``nccl.h``)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A rank of a communicator, and where it is. ``communicator``: the same for all of its ranks."""

    communicator: tuple[str, int]
    ranks: int
    rank: int
    host: str
    gpu: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a rank: ``turn`` is NCCL's opCount, which calls of a group have in common; ``size_bytes`` is count times width; ``time_ps`` since the epoch, where the log has fractions of a second."""

    file: str
    line: int
    name: str
    turn: int
    size_bytes: int
    root: int
    member: Member
    stream: str
    time_ps: int | None


def calls_of(files: Iterable[Path]) -> list[Call]:
    """The calls of a log, in its order, of one file or of one for each process. Raises ``SpecError`` with the line."""
    members: dict[tuple[str, str, str], Member] = {}
    unnamed: dict[tuple[str, str, int], int] = {}
    found: list[Call] = []
    for path in files:
        for number, line in enumerate(_lines(path), 1):
            if "Init COMPLETE" in line and (init := _INIT.search(line)):
                members[init["host"], init["pid"], init["comm"]] = _member(init, unnamed)
            elif "opCount" in line:
                time = _time(line)
                for call in _CALL.finditer(line):
                    member = members.get((call["host"], call["pid"], call["comm"]))
                    found.append(_call(path, number, call, member, time))
    return found


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror or error}")]) from None
    if len(data) > MOST_BYTES:
        what = f"larger than {MOST_BYTES >> 30} GiB, the most that is read of a log"
        raise SpecError([Problem(FileLine(str(path)), what, "give the part with the step")])
    return data.decode(errors="replace").split("\n")


def _member(init: re.Match[str], unnamed: dict[tuple[str, str, int], int]) -> Member:
    """Up to 2.14 NCCL says no name of a communicator: there it is the how manieth of its size its process has made."""
    ranks = int(init["ranks"])
    name, turn = init["id"] or "", 0
    if not name:
        key = init["host"], init["pid"] + f".{init['rank']}", ranks
        turn = unnamed[key] = unnamed.get(key, 0) + 1
    gpu = int(init["nvml"] or init["cuda"])
    return Member((name or f"of {ranks} ranks", turn), ranks, int(init["rank"]), init["host"], gpu)


def _call(path: Path, number: int, call: re.Match[str], member: Member | None, time: int | None) -> Call:
    place = FileLine(str(path), number)
    if member is None:
        what = f"nothing before it says which rank communicator {call['comm']} of {call['host']} is"
        raise SpecError([Problem(place, what, "log with NCCL_DEBUG_SUBSYS=INIT,COLL, from the beginning of the job")])
    width = SIZES.get(int(call["type"]))
    if width is None:
        raise SpecError([Problem(place, f"NCCL has no datatype {call['type']}")])
    return Call(
        str(path), number, call["name"], int(call["turn"], 16), int(call["count"]) * width, int(call["root"]), member,
        call["stream"] or "", time,
    )  # fmt: skip


def _time(line: str) -> int | None:
    """When a line was written, ps; None where the log has no fractions of a second."""
    found = _TIME.search(line)
    if found is None or found[3] is None:
        return None
    try:
        whole = datetime.fromisoformat(f"{found[1]} {found[2]}").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(whole.timestamp()) * 10**12 + int(found[3][1:].ljust(12, "0"))
