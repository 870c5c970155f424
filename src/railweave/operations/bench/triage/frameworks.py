"""Readers of reports about ranks that did not join an operation, and the rule about such ranks.

The reports come from PyTorch's watchdog and flight recorder, and from NCCL's RAS and Inspector.

Sources: pytorch torch/csrc/distributed/c10d (ProcessGroupNCCL, TraceUtils, FlightRecorder); NVIDIA/nccl ``src/ras/client_support.cc`` and
``plugins/profiler/inspector``.
"""

from __future__ import annotations

import io
import json
import pickle  # nosec: only values without classes are loaded
import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from railweave.model.findings.registry import FindingPlace, check
from railweave.operations.bench.lines import count, words
from railweave.operations.bench.triage.ras import read_ras, read_ras_json
from railweave.operations.bench.triage.reports import Absent, Progress, Reports, Waiting, json_object, parsed_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.operations.bench.inspector import InspectorRecord
    from railweave.operations.bench.lines import Line
    from railweave.operations.bench.triage.wire import Case


_N = r"([0-9]{1,9})"
_GROUP = r"(?:PG (?:ID \S{1,80} PG GUID )?(?P<group>[^\s\]]{1,80})[^\]]{0,200}? )?"
_GLOBAL = re.compile(r"\[rank([0-9]{1,9})\]")
"""The pattern of the rank in the whole job, which precedes a message of PyTorch. "Rank" in the message itself is the rank in its process group."""
_TIMEOUT = re.compile(
    r"\[" + _GROUP + r"Rank (?P<rank>[0-9]{1,9})\][^\[]{0,40}Watchdog caught collective operation timeout: "
    r"WorkNCCL\(SeqNum=(?P<sequence>[0-9]{1,12}), OpType=(?P<operation>\w{1,40})"
    r"(?:, NumelIn=(?P<sent>[0-9]{1,18}))?(?:, NumelOut=(?P<received>[0-9]{1,18}))?"
    r"(?:, Timeout\(ms\)=[0-9]{1,12})?\)(?: ran for (?P<waited>[0-9]{1,12}) milliseconds)?"
)
_STATUS = re.compile(
    r"\[" + _GROUP + r"Rank (?P<rank>[0-9]{1,9})\].{0,200}?\bwork(?: sequence id)?: (?P<sequence>[0-9]{1,12}).{0,80}?"
    r"last enqueued (?:NCCL )?work: (?P<enqueued>-?[0-9]{1,12}).{0,80}?last completed (?:NCCL )?work: (?P<completed>-?[0-9]{1,12})"
)
_DESYNC = re.compile(
    r"\[(?P<ranks>[0-9][0-9, ]{0,400})\] (?P<text>finished collective #(?P<done>[0-9]{1,12}), but didn't join collective #[0-9]{1,12}"
    r"|joined but didn't finish collective #(?P<joined>[0-9]{1,12}))"
)
_BARRIER = re.compile(r"Ranks? ([0-9][0-9, ]{0,400}) failed to pass monitoredBarrier")
_CLIENTS = re.compile(r"[Tt]imed out after .{1,60} waiting for clients\. ([0-9]{1,9})/([0-9]{1,9}) clients joined")
_MISMATCH = re.compile(
    r"Detected mismatch between collectives on ranks\. Rank ([0-9]{1,9}) is running collective: (.{1,1000}?), but Rank ([0-9]{1,9})"
)
_STUCK = re.compile(r"\[" + _GROUP + r"Rank (?P<rank>[0-9]{1,9})\].{0,60}?(?:watchdog got stuck for|heartbeat) .{0,40}")
_DUMP_RANK = re.compile(r"([0-9]{1,9})(?:\.\w{1,8})?$")


def reports_of(text: str, lines: Sequence[Line], file: str, records: Sequence[InspectorRecord] = ()) -> Reports:
    """Return the reports about the progress of ranks in a text. Never raises an error.

    ``records`` are the Inspector's records in the text.
    """
    reports = Reports()
    begin = text.lstrip()[:1]
    if begin == "{" and ('"pg_status"' in text or '"entries"' in text):
        _dump(text, file, reports)
    elif begin == "{" and '"missing_ranks_count"' in text:
        read_ras_json(text, file, reports)
    elif records:
        _inspector(records, file, reports)
    else:
        _lines(lines, file, reports)
        if "Communicators..." in text or "Job summary" in text or "PEER_" in text or reports.absent:
            read_ras(lines, file, reports)
        for line in lines:
            if line.rank is not None and line.host:
                reports.hosts.setdefault(line.rank, line.host)
    return reports


def _lines(lines: Sequence[Line], file: str, reports: Reports) -> None:
    for line in lines:
        text = line.text
        if "Watchdog caught" in text and (match := _TIMEOUT.search(text)):
            sizes = f"{match['sent']} elements" if match["sent"] else ""
            waited = int(match["waited"]) if match["waited"] else None
            reports.waiting.append(
                Waiting(
                    file,
                    line.number,
                    match["group"] or "",
                    _rank(line, match),
                    int(match["sequence"]),
                    match["operation"],
                    sizes,
                    waited,
                )
            )
        elif "last enqueued" in text and (match := _STATUS.search(text)):
            reports.progress.append(
                Progress(
                    file,
                    line.number,
                    match["group"] or "",
                    _rank(line, match),
                    int(match["enqueued"]),
                    int(match["completed"]),
                    int(match["sequence"]),
                )
            )
        elif "collective #" in text and (match := _DESYNC.search(text)):
            for rank in match["ranks"].split(","):
                if rank.strip():
                    reports.absent.append(Absent(file, line.number, int(rank), "", match["text"]))
        elif match := _BARRIER.search(text):
            for rank in match[1].split(","):
                if rank.strip():
                    reports.absent.append(Absent(file, line.number, int(rank), "", "did not reach the barrier"))
        elif match := _CLIENTS.search(text):
            reports.absent.append(
                Absent(
                    file,
                    line.number,
                    None,
                    "",
                    f"{match[1]} of {match[2]} processes joined the job: the others did not start",
                )
            )
        elif match := _MISMATCH.search(text):
            operation = match[2] if len(match[2]) <= 160 else f"{match[2][:160]}…"
            running = f"runs {operation}, and rank {match[3]} another operation"
            reports.absent.append(Absent(file, line.number, int(match[1]), "", running))
        elif "Rank" in text and "watchdog got stuck" in text and (match := _STUCK.search(text)):
            reports.absent.append(
                Absent(file, line.number, int(match["rank"]), "", "its watchdog is stuck in a call of CUDA or NCCL")
            )
    groups = {(step.rank, step.failed): step.group for step in reports.progress}
    reports.waiting = [
        wait if wait.group else replace(wait, group=groups.get((wait.rank, wait.sequence), ""))
        for wait in reports.waiting
    ]
    reports.known |= bool(reports.waiting or reports.progress or reports.absent)


def _rank(line: Line, match: re.Match[str]) -> int:
    """Return the rank in the job, from the start of the message (``[rank3]``) or from the launcher's prefix.

    If both lack the rank, return the rank in the process group. ``match`` is the message in the line; its group ``rank`` is that rank.
    """
    overall = _GLOBAL.search(line.text[: match.start()])
    return int(overall[1]) if overall else int(match["rank"]) if line.rank is None else line.rank


def _dump(text: str, file: str, reports: Reports) -> None:
    """Read a dump of the flight recorder, as JSON. Its rank is in the dump, or at the end of the file's name."""
    dump = parsed_object(text)
    named = _DUMP_RANK.search(file)
    rank = count(dump.get("rank"))
    rank = int(named[1]) if rank is None and named else rank
    if rank is None or not dump:
        return
    reports.known = True
    host = words(dump.get("hostname") or dump.get("host_name"))
    if host:
        reports.hosts[rank] = host
    for name, group in json_object(dump.get("pg_config")).items():
        members = {int(number) for number in re.findall(r"\d{1,9}", str(json_object(group).get("ranks", "")))}
        reports.members.setdefault(str(name), set()).update(members)
    entries: dict[str, list[dict[str, Any]]] = defaultdict(list)
    listed = dump.get("entries")
    for entry in map(json_object, cast("list[object]", listed) if isinstance(listed, list) else []):
        if entry and not entry.get("is_p2p"):
            group = entry.get("process_group", entry.get("pg_id", ""))
            name = str(
                next(iter(cast("list[object]", group)), "")
                if isinstance(group, list | tuple)
                else cast("object", group)
            )
            entries[name].append(entry)
    for name, operations in entries.items():
        _group(name, operations, file, rank, reports)


def _group(name: str, operations: Sequence[Mapping[str, Any]], file: str, rank: int, reports: Reports) -> None:
    def number(entry: Mapping[str, Any]) -> int | None:
        return count(entry.get("collective_seq_id", entry.get("seq_id")))

    numbers = [sequence for entry in operations if (sequence := number(entry)) is not None]
    done = [
        sequence
        for entry in operations
        if entry.get("state") == "completed" and (sequence := number(entry)) is not None
    ]
    if not numbers:
        return
    reports.progress.append(Progress(file, 0, name, rank, max(numbers), max(done, default=min(numbers) - 1)))
    for entry in operations:
        sequence = number(entry)
        if sequence is not None and entry.get("state") in {"started", "scheduled"}:
            sizes = str(entry.get("input_sizes", ""))[:80]
            operation = words(entry.get("profiling_name")).removeprefix("nccl:")
            reports.waiting.append(Waiting(file, 0, name, rank, sequence, operation, sizes))
            return


def _inspector(records: Sequence[InspectorRecord], file: str, reports: Reports) -> None:
    """Store the last collective of each rank from the Inspector's records.

    A record has the rank in its communicator, which need not be the rank in the job. So the servers of the job's ranks
    (``Reports.hosts``) are not taken from it; each ``Progress`` has its own server.
    """
    last: dict[tuple[str, int], tuple[int, int, str]] = {}
    for record in records:
        if record.rank is None:
            continue
        reports.known = True
        if record.number is None or record.peer is not None:
            continue
        group = record.communicator
        if record.number >= last.get((group, record.rank), (-1, 0, ""))[0]:
            last[group, record.rank] = record.number, record.line, record.host
    for (group, rank), (sequence, line_number, host) in last.items():
        reports.progress.append(Progress(file, line_number, group, rank, None, sequence, host=host))


class _Plain(pickle.Unpickler):
    """A reader of pickles that hold only numbers, strings, lists, tuples and dictionaries."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - the type of pickle
        """Return the list type for PyTorch's lists of numbers. Raises ``UnpicklingError`` for any other class."""
        if module == "torch.jit._pickle" and name.startswith("build_"):
            return list
        message = f"{module}.{name} in a pickle"
        raise pickle.UnpicklingError(message)


def dump_text(data: bytes) -> str | None:
    """Return a pickled dump of PyTorch's flight recorder as JSON text, or None if the bytes are not such a dump.

    No code in the dump is executed.
    """
    if not data.startswith(b"\x80"):
        return None
    try:
        return json.dumps(_Plain(io.BytesIO(data)).load())
    except Exception:  # noqa: BLE001 - a broken pickle raises errors of any kind
        return None


@check(
    "run-rank-missing",
    "error",
    applies="run",
    sometimes="warning",
    why="ranks waited for an operation that a different rank did not join, or that did not end: the cause is on "
    "the rank that is behind",
    fix="read the log of the rank that is behind (an exception, a GPU fault, a slow data loader, a different "
    "branch of the program); if none is behind, check the network between the waiting rank's server and the "
    "others. With TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1, each rank writes a dump of "
    "its operations: pass all dumps to one `railweave bench triage`",
)
def arrived(case: Case) -> Iterator[FindingPlace]:
    """All ranks join each operation, and it ends.

    Yield a finding for each rank that a report names as late or ended, or whose progress is behind.
    """
    reports = case.reports
    if reports is None:
        return
    hosts = {rank.rank: rank.host for log in case.job for rank in log.ranks if rank.host} | reports.hosts
    size = max((rank.ranks for log in case.job for rank in log.ranks), default=0)
    named = list(_absent(reports, hosts))
    behind = [] if any(absent.behind for absent in reports.absent) else list(_behind(reports, hosts, size))
    yield from (place for place in (*named, *behind) if place.file == case.file)


def _named(rank: int, hosts: Mapping[int, str]) -> str:
    return f"rank {rank} on {hosts[rank]}" if rank in hosts else f"rank {rank}"


def _list(ranks: Iterable[int]) -> str:
    numbers = sorted(set(ranks))
    shown = ", ".join(map(str, numbers[:12])) + ", …" * (len(numbers) > 12)
    return f"rank {shown}" if len(numbers) == 1 else f"ranks {shown}"


def _absent(reports: Reports, hosts: Mapping[int, str]) -> Iterator[FindingPlace]:
    seen: set[tuple[int | None, str, str]] = set()
    for absent in reports.absent:
        key = absent.rank, absent.host, absent.text
        if key in seen:
            continue
        seen.add(key)
        host = absent.host or (hosts.get(absent.rank, "") if absent.rank is not None else "")
        who = f"rank {absent.rank} " if absent.rank is not None else ""
        where = host or (f"rank-{absent.rank}" if absent.rank is not None else absent.file.rpartition("/")[2])
        severity = None if absent.behind else "warning"
        yield FindingPlace(where, f"{who}{absent.text}", absent.file, absent.line, severity=severity)


def _behind(reports: Reports, hosts: Mapping[int, str], size: int) -> Iterator[FindingPlace]:
    named = {step.group for step in reports.progress} | {wait.group for wait in reports.waiting} - {""}
    for group in sorted(named) or [""]:
        alone = len(named) < 2
        waiting = [wait for wait in reports.waiting if alone or wait.group == group]
        progress: dict[int, Progress] = {}
        for step in reports.progress:
            before = progress.get(step.rank)
            if (alone or step.group == group) and (before is None or (step.completed or 0) >= (before.completed or 0)):
                progress[step.rank] = step
        everyone = set(range(size)) if alone or group.startswith("0") or "default_pg" in group else set[int]()
        if waiting:
            yield from _late(group, waiting, progress, hosts, reports.members.get(group) or everyone)
        elif any(step.enqueued is None for step in progress.values()):
            yield from _slower(progress, hosts)


def _late(
    group: str,
    waiting: Sequence[Waiting],
    progress: Mapping[int, Progress],
    hosts: Mapping[int, str],
    members: set[int],
) -> Iterator[FindingPlace]:
    first = min(waiting, key=lambda wait: (wait.sequence, wait.file, wait.line))
    ranks = {wait.rank for wait in waiting if wait.sequence == first.sequence}
    ranks |= {step.rank for step in progress.values() if (step.enqueued or 0) >= first.sequence > (step.completed or 0)}
    late = [step for step in progress.values() if step.enqueued is not None and step.enqueued < first.sequence]
    name = f"operation {first.sequence} ({first.operation or 'unknown'}{f', {first.sizes}' if first.sizes else ''})"
    of_group = f" of process group {group}" if group else ""
    waited = f" after {first.waited_ms / 1000:.0f} s" if first.waited_ms else ""
    for step in sorted(late, key=lambda step: step.rank):
        text = (
            f"rank {step.rank} did not join {name}{of_group}, for which {_list(ranks)} waited: the last operation that it enqueued is "
            f"{step.enqueued}, the last that it completed {step.completed}"
        )
        place = (step.file, step.line) if step.line or step.file != first.file else (first.file, first.line)
        yield FindingPlace(hosts.get(step.rank) or f"rank-{step.rank}", text, *place)
    silent = sorted(members - ranks - set(progress) - {wait.rank for wait in waiting})
    if late:
        return
    if silent:
        for rank in silent[:16]:
            text = f"rank {rank} reports nothing, and {_list(ranks)} gave up waiting at {name}{of_group}{waited}: it did not join, or it ended"
            yield FindingPlace(hosts.get(rank) or f"rank-{rank}", text, first.file, first.line)
        return
    done = sorted(step.rank for step in progress.values() if (step.completed or 0) >= first.sequence)
    if done:
        for rank in sorted(ranks)[:16]:
            text = (
                f"rank {rank} waits in {name}{of_group}{waited}, which {_list(done)} completed: it alone does not go on"
            )
            yield FindingPlace(hosts.get(rank) or f"rank-{rank}", text, first.file, first.line)
        return
    furthest = min(progress.values(), key=lambda step: step.completed or 0, default=None)
    last = (
        f"; {_named(furthest.rank, hosts)} completed {furthest.completed} and enqueued {furthest.enqueued}"
        if furthest
        else ""
    )
    text = (
        f"{_list(ranks)} gave up waiting at {name}{of_group}{waited}{last}: none of the ranks that report is behind, so that the operation began and did not "
        "end, or a rank that reports nothing did not join"
    )
    yield FindingPlace(first.file.rpartition("/")[2], text, first.file, first.line)


def _slower(progress: Mapping[int, Progress], hosts: Mapping[int, str]) -> Iterator[FindingPlace]:
    """Yield a finding for each rank whose last completed operation is at least two behind that of the fastest rank (Inspector).

    ``progress`` and ``hosts`` are by rank.
    """
    last = max((step.completed or 0 for step in progress.values()), default=0)
    for step in progress.values():
        if step.completed is not None and last - step.completed > 1:
            text = f"rank {step.rank} last completed operation {step.completed}, others {last}"
            yield FindingPlace(
                step.host or hosts.get(step.rank) or f"rank-{step.rank}", text, step.file, step.line, severity="warning"
            )
