"""The reader of answers of NCCL's RAS (``ncclras``): as text, as JSON, and the lines of its monitor mode.

Source: NVIDIA/nccl 2.30.7, src/ras/client_support.cc. RCCL has the same, as rcclras.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from railweave.counting import counted
from railweave.operations.bench.lines import Notes, count, words
from railweave.operations.bench.triage.reports import Absent, json_object, parsed_object

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.operations.bench.lines import Line, Note
    from railweave.operations.bench.triage.reports import Reports

_N = r"([0-9]{1,9})"
_STATE = re.compile(r"^(?:#[0-9]+-[0-9]+ \([0-9a-f]+\) )?(INCOMPLETE|DEAD|MISMATCH|ERROR|TIMEOUT)\b")
_LAUNCHED = re.compile(
    r"^\s+"
    + _N
    + r" ranks? (?:(?:has|have) (?:launched up to operation|status) (\S+)|have not launched any operations)"
)
_OF_NODE = re.compile(
    r"^\s+Rank "
    + _N
    + r"(?: has (?:launched up to operation|status) (\S+)|( has not launched any operations)|(?: .*?)?)"
    r" -- (?:GPU (\S+) managed by process [0-9]+ on node (\S+)|\[process information)"
)
_WHOLE = re.compile(r"[0-9]{1,18}")
"""The number of an operation. ``str.isdigit`` also accepts characters such as "²", and ``int`` refuses more than 4,300 digits."""
_PROCESS = re.compile(r"^\s+Process ([0-9]{1,10}) on node (\S+)(?: managing GPUs? (.*))?")
_RAS_KNOWN = re.compile(
    r"(?:NCCL|RCCL) version |(?:CUDA|HIP) runtime version |Job summary$|=+$|\s*Nodes\s|\s*\(total\)\s|\s*per node|\s*Processes\s"
    r"|\s*per process|\s*[0-9]+(?:\s+[0-9A-Z/-]+)*\s*$|\s*[0-9]+(?:\s+[0-9-]+){5}\s+\S+\s+\S+$|Communicators\.\.\. \(|Group\s+Comms\s|\s+#\s+in group"
    r"|No communicator data collected!|Errors$|Warnings$|The outlier nodes?:|\s+Node \S+ running process|\s+\[could not find information"
    r"|\s+Missing communicator data from|\s+[0-9]+ job process(?:es are| is) considered dead|\s+(?:Initialization|Asynchronous) errors? on"
    r"|\s+Encountered [0-9]+ communication timeout|\s+Communicator ranks have different|\s+[0-9]+ ranks (?:reported|have) "
    r"|\s+Rank [0-9]+ |\s+Process [0-9]+ on node |PEER_\w+: "
)
"""The lines of an answer of RAS, beside those that are read (client_support.cc of NCCL 2.30.7)."""
_EVENT = re.compile(
    r"^(PEER_(?:DEAD|TIMEOUT_DEAD|UNRESPONSIVE)): Process ([0-9]{1,10}) on node (\S+)(?: managing GPUs? (\S+))?"
)
"""A line of monitor mode (``ncclras -m``) about a process that is gone or does not answer, without its time in brackets."""
_RAS_FIELDS = {
    "": {
        *("nccl_version", "cuda_runtime_version", "cuda_driver_version", "timestamp", "communicators_count"),
        *("communicators", "ras"),
    },
    "communicator": {
        *("hash", "secondary_hash", "size", "ranks_count", "missing_ranks_count", "ranks", "missing_ranks"),
    },
    "rank": {"rank", "host", "pid", "cuda_dev", "nvml_dev", "status", "collective_counts"},
    "status": {
        *(
            "init_state",
            "async_error",
            "finalize_called",
            "destroy_flag",
            "abort_flag",
            "unresponsive",
            "considered_dead",
        ),
    },
    "ras": {"collection_time_sec", "timeouts_count"},
}
"""The fields of RAS answers as JSON, by the object that has them."""


def _short(status: str) -> str:
    return status if len(status) <= 80 else f"{status[:80]}…"


def _events(lines: Sequence[Line], file: str) -> Iterator[Absent]:
    """Yield the processes that monitor mode reports as gone or not answering."""
    for line in lines:
        if match := _EVENT.match(line.text):
            state = "does not answer" if match[1] == "PEER_UNRESPONSIVE" else "is gone"
            text = f"process {match[2]} (GPU {match[4] or '?'}) {state} ({match[1]})"
            yield Absent(file, line.number, None, match[3], text)


def read_ras(lines: Sequence[Line], file: str, reports: Reports) -> None:
    """Read the answer of NCCL's RAS client: communicators with ranks that are behind, gone or in error."""
    state, groups = "", list[tuple[str, int, list[tuple[int | None, str, int]]]]()
    alone = next((line.text for line in lines if line.text.strip()), "")
    is_answer = bool(re.match(r"(?:NCCL|RCCL) version .* compiled with |Job summary|PEER_[A-Z_]+: ", alone))
    reports.known |= is_answer or any("Job summary" in line.text for line in lines)
    notes = Notes(file)

    def close() -> None:
        values = [value for value, _, _ in groups]
        numbers = [int(value) for value in values if _WHOLE.fullmatch(value)]
        usual = max(groups, key=lambda group: group[1])[0] if groups else ""
        behind = min(numbers) if len(set(numbers)) > 1 else None
        for value, size, ranks in groups:
            whole = _WHOLE.fullmatch(value) is not None
            ahead = behind is not None and whole and int(value) > behind
            if whole:
                others = f", others only {behind} (of {counted(size, 'rank')})" if ahead else f", others {max(numbers)}"
                text = f"launched up to operation {value}{others}"
            elif value:
                text = f"has status {_short(value)}, others {_short(usual)}"
            else:
                text = f"has no data of the communicator ({state})"
            reports.absent += [Absent(file, line, rank, host, text, behind=not ahead) for rank, host, line in ranks]
        groups.clear()

    reports.absent += _events(lines, file)
    if is_answer:
        notes.unread(line for line in lines if not _RAS_KNOWN.match(line.text) and not _STATE.match(line.text))
    for line in lines:
        if match := _STATE.match(line.text):
            close()
            state = match[1]
        elif not state:
            continue
        elif not line.text.strip():
            close()
            state = ""
        elif match := _LAUNCHED.match(line.text):
            groups.append(((match[2] or "0").rstrip(","), int(match[1]), []))
        elif match := _OF_NODE.match(line.text):
            value = "0" if match[3] else match[2] or ""
            if value or not groups:
                groups.append((value, 1, []))
            groups[-1][2].append((int(match[1]), match[5] or "", line.number))
        elif match := _PROCESS.match(line.text):
            text = f"process {match[1]} (GPU {match[3] or '?'}) is {'gone' if state == 'DEAD' else 'not answering'}"
            reports.absent.append(Absent(file, line.number, None, match[2], text))
    close()
    reports.notes += notes.all()


def _listed(parent: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    values = parent.get(name)
    return [json_object(value) for value in cast("list[object]", values)] if isinstance(values, list) else []


def read_ras_json(text: str, file: str, reports: Reports) -> None:
    """Read the answer of the RAS client as JSON (``--format=json``): ranks that are missing, in error, or behind in an operation."""
    answer = parsed_object(text)
    reports.notes += _unknown_fields(answer, file)
    for communicator in _listed(answer, "communicators"):
        reports.known = True
        for rank, sentence, behind in _of_communicator(communicator):
            absent = Absent(file, 0, count(rank.get("rank")), words(rank.get("host")), sentence, behind=behind)
            reports.absent.append(absent)


def _of_communicator(communicator: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str, bool]]:
    """Yield (rank, sentence, True if the rank is behind) for each rank with a problem."""
    for rank in _listed(communicator, "missing_ranks"):
        gone = json_object(rank.get("status")).get("considered_dead") is True
        yield rank, f"(process {rank.get('pid')}) is {'gone' if gone else 'not answering'}", True
    counts: dict[str, dict[int, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for rank in _listed(communicator, "ranks"):
        if error := count(json_object(rank.get("status")).get("async_error")):
            yield rank, f"has the error {error} (ncclResult_t)", True
        for operation, number in json_object(rank.get("collective_counts")).items():
            counts[str(operation)][count(number) or 0].append(rank)
    for operation, by_number in counts.items():
        most, least = max(by_number), min(by_number)
        others = sum(map(len, by_number.values())) - len(by_number[most])
        for number, ranks in by_number.items() if most > least else ():
            if others <= len(by_number[most]) and number < most:
                yield from ((rank, f"launched up to {operation} {number}, others {most}", True) for rank in ranks)
            elif others > len(by_number[most]) and number == most:
                yield from ((rank, f"launched up to {operation} {most}, others only {least}", False) for rank in ranks)


def _unknown_fields(answer: Mapping[str, Any], file: str) -> tuple[Note, ...]:
    """Return a note for each field of an answer that this reader does not know."""
    parts = [("", answer), ("ras", json_object(answer.get("ras")))]
    for communicator in _listed(answer, "communicators"):
        parts.append(("communicator", communicator))
        for rank in (*_listed(communicator, "missing_ranks"), *_listed(communicator, "ranks")):
            parts += [("rank", rank), ("status", json_object(rank.get("status")))]
    strange = dict.fromkeys(
        f"{kind}.{name}" if kind else name for kind, part in parts for name in part if name not in _RAS_FIELDS[kind]
    )
    notes = Notes(file)
    for name in strange:
        notes.add(0, f"field {name} is not known; fields with known names were read")
    return notes.all()
