"""Numbered lines of a benchmark's output, without terminal control codes and prefixes.

Launchers and log collectors add prefixes to lines. A prefix is recognized by its structure. Some elements never begin
a line of a benchmark (a date with a time, a tag such as ``[1,0]<stdout>:``) and are always removed. Other prefixes are
learned from lines with a known beginning, such as ``# nThread`` or ``HOST:PID:TID [0] NCCL INFO``. The text before the
known beginning is a prefix. It is also removed from other lines with the same pattern.
"""

from __future__ import annotations

import csv
import ipaddress
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from railweave.reading import CONTROL, csv_rows, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LONGEST = 8_000
"""The number of characters that are read of a line; the rest is cut off. No benchmark writes longer lines, but a broken file may."""
LARGEST = 2.0**53
"""The upper limit of measured numbers. Larger values, such as 2^63 and 2^64, come from overflows or infinity."""
MOST_NOTES = 200
"""The largest number of notes that are kept for a file. A file that is not a benchmark output would otherwise have a note for each line."""

_TERMINAL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Note:
    """A note about an unknown line: its file and number, the problem (``what``), and the beginning of its text."""

    file: str
    line: int
    what: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}" + (f": {self.text}" if self.text else "")


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and the facts about its process that its prefix states.

    - ``number``: the line number, from 1.
    - ``host``: the server; empty if unknown.
    - ``rank``: the rank in the job, or None.
    - ``source``: a name of the process, equal for all of its lines; empty if the prefix does not distinguish processes.
    """

    number: int
    text: str
    host: str = ""
    rank: int | None = None
    source: str = ""


@dataclass
class Notes:
    """A collector of the notes on one file. Notes beyond ``MOST_NOTES`` are only counted."""

    file: str
    kept: list[Note] = field(default_factory=list[Note])
    more: int = 0

    def add(self, line: int, remark: str, text: str = "") -> None:
        """Add a note. ``remark`` is the problem, and ``text`` the text of the line."""
        if len(self.kept) < MOST_NOTES:
            self.kept.append(Note(self.file, line, remark, text.strip()[:120]))
        else:
            self.more += 1

    def unread(self, lines: Iterable[Line]) -> None:
        """Add a note for each nonempty line, which states that the line was not understood."""
        for line in lines:
            if line.text.strip():
                self.add(line.number, "not understood", line.text)

    def all(self) -> tuple[Note, ...]:
        """Return all kept notes, followed by a note with the number of further notes if there were more."""
        if not self.more:
            return tuple(self.kept)
        return (*self.kept, Note(self.file, 0, f"{self.more} further lines were not understood"))


_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
_DAY = r"[A-Z][a-z]{2},? "
_ZONE = r"(?: ?Z| ?[+-]\d\d:?\d\d| (?:UTC|GMT|[A-Z]{1,2}[SD]?T)\b)?"
_TIME = (
    rf"(?:(?:{_DAY})?\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}{_ZONE}"  # ISO 8601, kubectl --timestamps, CRI, GitHub
    rf"|(?:{_DAY})?[A-Z][a-z]{{2}} [ \d]?\d (?:\d{{4}} )?{_CLOCK}{_ZONE}(?: \d{{4}}(?=[\s\[<:]))?"  # syslog, ts, ctime
    rf"|{_CLOCK}(?=[\s\[]))"
)
_CERTAIN = re.compile(
    rf"(?P<time>(?:[^\t\n]{{1,100}}\t[^\t\n]{{1,100}}\t\ufeff?(?=\d{{4}}-\d\d-\d\dT))?"  # gh run view --log: job, step
    rf"(?:\[{_TIME}\]|{_TIME}(?=[\s\[<:|]|$)):?(?:[\t ]|(?=[\[<])|\||$))"
    r"(?:(?:stdout|stderr) (?P<part>[FP])(?: |$)"  # CRI
    r"|(?P<loghost>[\w.-]{1,80}) (?P<program>[\w./@()-]{1,80}\[\d{1,9}\]):(?: |$))?"  # journald, syslog
    r"|\[(?:[^\]\s,@]{1,100}@)?(?:\d{1,9},)?(?P<mpi>\d{1,7})\](?:\[(?P<mpihost>[^\]:\s]{1,80})(?::\d{1,9})?\])?<std(?:out|err|diag)>: ?"
    r'|<std(?:out|err|diag)(?: rank="(?P<xml>\d{1,7})"|(?=>:?))[^>\n]{0,40}>:? ?'  # mpirun --xml, --timestamp-output
    r"|\[pod/(?P<pod>[^\]/\s]{1,100})(?P<container>/[^\]\s]{1,100})?\](?: |$)"  # kubectl logs --prefix
    r"|\[(?P<role>(?:default|trainer|worker)(?:\d{1,5}\|)?\d{1,6})\]: ?"  # torchrun --tee
    r"|\[[Rr]ank ?(?P<rank>\d{1,7})\](?::|(?= )| ?$) ?"  # torchrun, frameworks
    r"|\((?P<actor>(?:[\w.:-]{1,80} )?pid=\d{1,9}(?:, ip=(?P<ip>[\w.:]{1,60}))?)\)(?: |$)"  # Ray, vLLM
    r"| {0,5}(?P<task>\d{1,6}):(?: |$)"  # srun --label, flux --label-io
)
_REPEATED = re.compile(r"\s*\[repeated \d{1,9}x across cluster\].*$")
_HOST_FIRST = re.compile(
    r"([A-Za-z0-9][\w.-]{0,100}):\d{1,9}:\d{1,9} (?:\[\d{1,4}\] )?(?:\S{1,80}:\d{1,5} )?NCCL [A-Z]{4}"
)
_ANCHOR = re.compile(
    r"# nThread |#  Rank +\d|# Using devices|# [nr]ccl-tests|rccl-tests: Version|# Collective test |# Out of bounds values"
    r"|# Avg bus bandwidth|#\s+size\s+count\s+type|#bytes\s+#iterations|-{60}|:::MLLOG|\+-{8,}\+-"
    r"|# OSU |# Size\s|TransferBench v\d|(?:Executor: \w+|Transfer) \d+\s|Aggregate \(CPU\)|nvbandwidth Version"
    r"|Running \w+_(?:memcpy|latency)_\w+|memcpy \w+ \w+\(row\)|SUM \w+ \d"
    rf"|{_HOST_FIRST.pattern}"
)
"""The known beginnings of lines of benchmarks and libraries. The text before such a beginning is a prefix."""
_FLUSH = re.compile(r"# nThread |#  Rank|# Using devices|# Out of bounds|# Avg bus|# [nr]ccl-tests")
"""The beginnings of lines that nccl-tests prints at the start of a line, without blanks before them."""
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)",?')
_RANK_ROW = re.compile(r"#\s+Rank\s+(\d{1,7})\s+(?:Group\s+\d{1,7}\s+)?Pid\s+\d{1,9}\s+on\s+(\S+)\s+device\s")
_NAME = re.compile(r"([A-Za-z0-9][\w.-]{0,100})(?::| *\|| [\w.-]{1,100}) ?")
_LABEL = re.compile(r"(?=[\w.-]*\d)([A-Za-z][\w.-]{0,60}):(?: |$)|\[(\d{1,7})\](?: |$)")
_SAMPLE = 20_000
"""The number of lines at the start of a file from which prefixes are learned. Of later lines, only those with ``# nThread`` are used."""
_LONGEST_PREFIX = 160
_ELEMENTS = 6
"""The largest number of elements in a prefix.

A log collector, a scheduler, a launcher and a framework may each add an element, and some of them add a time.
"""


@dataclass(frozen=True, slots=True)
class _Learned:
    """A learned prefix of lines: its pattern, and ``names``, which is True if the text of the prefix distinguishes processes."""

    pattern: re.Pattern[str]
    names: bool


@dataclass
class _Prefix:
    """The prefix of a line, as far as it has been read. ``end`` is the index after it, and ``sources`` holds names of the process.

    ``partial`` is True if a container runtime (CRI) cut the line into pieces.
    """

    end: int = 0
    host: str = ""
    rank: int | None = None
    sources: list[str] = field(default_factory=list[str])
    partial: bool = False


def lines_of(text: str) -> list[Line]:
    """Return the lines of a text without terminal colors, control characters, and the prefixes of launchers and log collectors.

    Lines keep the host and the rank that their prefix states. If NCCL's own lines name one host for a process, all
    lines of the process get this host. A process whose lines name several hosts is a launcher, and its lines get no
    host.
    """
    plain: list[Line] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw[:LONGEST].rstrip("\r")
        if CONTROL.search(line):
            line = _REPEATED.sub("", CONTROL.sub("", _TERMINAL.sub("", line)))
        plain.append(Line(number, line))
    plain = _unwrapped(plain)
    learned = _learn(plain)
    lines: list[Line] = []
    rest: dict[str, Line] = {}  # lines that CRI has cut, by their source
    for line in plain:
        prefix = _prefix(line.text, learned)
        if not prefix.end:
            lines.append(line)
            continue
        source = " ".join(prefix.sources) or line.source
        rank = line.rank if prefix.rank is None else prefix.rank
        whole = Line(line.number, line.text[prefix.end :], prefix.host or line.host, rank, source)
        if source in rest:
            begin = rest.pop(source)
            whole = replace(begin, text=(begin.text + whole.text)[:LONGEST])
        if prefix.partial:
            rest[source] = whole
        else:
            lines.append(whole)
    lines += rest.values()
    return _with_hosts(sorted(lines, key=lambda line: line.number) if rest else lines)


def _prefix(text: str, learned: Sequence[_Learned]) -> _Prefix:
    prefix = _Prefix()
    for _ in range(_ELEMENTS):
        match = _CERTAIN.match(text, prefix.end)
        if match is None or not match[0]:
            if not any(_learned(form, text, prefix) for form in learned):
                break
            continue
        prefix.end = match.end()
        rank, host, sources, partial = _element(match[0])
        prefix.rank = prefix.rank if rank is None else rank
        prefix.host = prefix.host if host is None else host
        prefix.partial = prefix.partial or partial
        prefix.sources += sources
    return prefix


@lru_cache(4096)
def _element(text: str) -> tuple[int | None, str | None, tuple[str, ...], bool]:
    """Return (rank, host, names of the process, True if a container runtime cut the line) from one element of a prefix."""
    match = _CERTAIN.match(text)
    parts = match.groupdict() if match else dict[str, str | None]()
    rank = next((parts[name] for name in ("mpi", "xml", "rank", "task") if parts.get(name)), None)
    host = next((parts[name] for name in ("mpihost", "ip", "loghost", "pod") if parts.get(name)), None)
    names = ("mpi", "xml", "rank", "task", "loghost", "program", "pod", "container", "role", "actor")
    sources = tuple(value for value in (parts.get(name) for name in names) if value)
    return None if rank is None else int(rank), host, sources, parts.get("part") == "P"


def _learned(form: _Learned, text: str, prefix: _Prefix) -> bool:
    match = form.pattern.match(text, prefix.end)
    if match is None or match.end() == prefix.end:
        return False
    prefix.end = match.end()
    name = re.sub(rf"{_TIME}|{_CLOCK}", "", match[0]).strip(" \t:|")
    if form.names and name:
        prefix.sources.append(name)
        rank, label = re.fullmatch(r"\[?(\d{1,7})\]?", name), _NAME.fullmatch(match[0])
        if rank:
            prefix.rank = int(rank[1])
        elif label and re.search(r"[\d.-]", label[1]) and re.search(r"[A-Za-z]", label[1]):
            prefix.host = label[1]
    return True


def _learn(lines: Sequence[Line]) -> list[_Learned]:
    """Return the prefixes before known beginnings of lines, the most frequent first. Prefixes that are always removed are left out."""
    anchors: list[tuple[str, str]] = []  # prefixes and their patterns
    bare = total = 0
    labels: Counter[str] = Counter()
    for place, line in enumerate(lines):
        if place >= _SAMPLE and "# nThread" not in line.text:
            continue
        if not line.text.strip():
            continue
        begin = _prefix(line.text, ()).end
        rest = line.text[begin : begin + _LONGEST_PREFIX + 200]
        total += 1
        if label := _LABEL.match(rest):
            labels["[" if label[2] else ":"] += 1
        anchor = _ANCHOR.search(rest)
        if anchor is None:
            continue
        before = rest[: anchor.start()]
        if before and _FLUSH.match(anchor[0]) and not before.strip():  # pasted as a block of code
            anchors.append((before, r"[ \t]+"))
        elif not before.strip():
            bare += 1
        elif len(before) <= _LONGEST_PREFIX and not before.lstrip().startswith(("#", "NCCL", "RCCL")):
            before = before.rstrip(" ") + " " if before.endswith(" ") else before
            if re.search(r"[\s:|>\])]$", before):
                anchors.append((before, _pattern(before)))
    forms = Counter(pattern for _, pattern in anchors)
    few = 1 if len(anchors) + bare < 3 else 2
    learned: list[_Learned] = []
    for pattern, times in forms.most_common(64):
        texts = {re.sub(rf"{_TIME}|{_CLOCK}", "", text) for text, form in anchors if form == pattern}
        if times >= few:
            learned.append(_Learned(re.compile(pattern), len(texts) <= max(1, times // 2)))
    for kind, form in (("[", r"\[\d{1,7}\](?: |$)"), (":", r"(?=[\w.-]*\d)[A-Za-z][\w.-]{0,60}:(?: |$)")):
        if labels[kind] >= max(3, 0.8 * total) and not learned:
            learned.append(_Learned(re.compile(form), names=True))
    return learned


def _pattern(prefix: str) -> str:
    """Return a pattern that matches prefixes like ``prefix``. Numbers, and the random parts of names, may differ."""
    parts: list[str] = []
    for token in re.findall(r"[A-Za-z0-9]+|[ \t]+|[^A-Za-z0-9 \t]", prefix.rstrip(" ")):
        if token.isspace():
            parts.append(r"[ \t]+")
        elif token.isdigit():
            parts.append(r"\d+")
        elif (
            token.isalnum() and len(token) >= 5 and re.search(r"\d", token) and not re.fullmatch(r"[A-Za-z]+\d+", token)
        ):
            parts.append(r"[A-Za-z0-9]+")
        else:
            parts.append(re.sub(r"\d+", r"\\d+", re.escape(token)))
    return "".join(parts) + (r"(?: |$)" if prefix.endswith(" ") else "")


_MESSAGES = ("log", "MESSAGE", "message", "msg", "line", "textPayload")
_HOSTS = ("_HOSTNAME", "hostname", "host", "node")


def _unwrapped(lines: list[Line]) -> list[Line]:
    """Return the lines with each JSON string, or JSON object of a log collector, replaced by the message in it. Other lines stay unchanged."""
    quoted = {line.number: match for line in lines if (match := _QUOTED.fullmatch(line.text))}
    if sum(_ANCHOR.match(match[1]) is not None for match in quoted.values()) >= 2:  # stdout_lines of Ansible
        return [
            replace(line, text=re.sub(r"\\([\"\\])", r"\1", quoted[line.number][1])) if line.number in quoted else line
            for line in lines
        ]
    first = next((line.text for line in lines if line.text.strip()), "")
    if not first.startswith("{") or _message(first) is None:
        return lines
    unwrapped: list[Line] = []
    for line in lines:
        entry = _message(line.text)
        unwrapped.append(line if entry is None else Line(line.number, entry[0], entry[1], source=entry[1]))
    return unwrapped


def _message(text: str) -> tuple[str, str] | None:
    """Return (message, host) from a log collector's JSON object, or None if the line is not such an object."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        document = parse_json(text)
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    entry = cast("dict[str, Any]", document)
    message = next((entry[name] for name in _MESSAGES if isinstance(entry.get(name), str)), None)
    if message is None:
        return None
    host = next((entry[name] for name in _HOSTS if isinstance(entry.get(name), str)), "")
    return CONTROL.sub("", _TERMINAL.sub("", message.rstrip("\r\n")))[:LONGEST], host


def _with_hosts(lines: list[Line]) -> list[Line]:
    """Return the lines with their hosts, from NCCL's lines of the same process, or from the table of ranks."""
    if not any(line.source for line in lines):
        return lines
    hosts: dict[str, set[str]] = {}
    tables: dict[str, set[str]] = {}
    by_rank: dict[int, set[str]] = {}
    for line in lines:
        if line.source and (named := _HOST_FIRST.match(line.text)):
            hosts.setdefault(line.source, set()).add(named[1])
        elif row := _RANK_ROW.match(line.text):
            by_rank.setdefault(int(row[1]), set()).add(row[2])
            tables.setdefault(line.source, set()).add(row[2])
    return list(_hosted(lines, hosts, tables, by_rank))


def _hosted(
    lines: Sequence[Line], hosts: dict[str, set[str]], tables: dict[str, set[str]], by_rank: dict[int, set[str]]
) -> Iterator[Line]:
    """Yield the lines with their hosts. The host comes from NCCL's own lines, or else from the prefix, or else from the table of ranks.

    The table of ranks of a process may not contain the host in the prefix. Then the launcher ran on that host, and the table's host is
    used if there is only one.

    ``hosts`` and ``tables`` hold the hosts that NCCL's lines and the tables of ranks name, by process (``source``). ``by_rank``
    holds the hosts in the tables by rank.
    """
    none = set[str]()
    for line in lines:
        named = hosts.get(line.source, none) if line.source else none
        if not named and line.host and (table := tables.get(line.source, none)) and line.host not in table:
            named = table if len(table) == 1 else {"", line.host}  # of a launcher: the job runs on other servers
        elif not named and not line.host and line.rank is not None:
            named = by_rank.get(line.rank, none)
        host = line.host if not named else next(iter(named)) if len(named) == 1 else ""
        yield line if host == line.host else replace(line, host=host)


def sources_of(lines: Sequence[Line], begins: re.Pattern[str]) -> list[list[Line]]:
    """Return the lines of each process as a separate list, if lines of at least two processes match ``begins``.

    Otherwise, return a list with one list of all lines. Lines of processes without a matching line are added to the list of the first
    process that has one.
    """
    sources = list(dict.fromkeys(line.source for line in lines if line.source and begins.search(line.text)))
    if len(sources) < 2:
        return [list(lines)]
    by_source: dict[str, list[Line]] = {source: [] for source in sources}
    for line in lines:
        by_source.get(line.source, by_source[sources[0]]).append(line)
    return list(by_source.values())


def fields(text: str) -> list[str]:
    """Return the fields of a line of comma-separated values, or an empty list if the line cannot be parsed."""
    try:
        return next(iter(csv_rows(text.replace("\0", ""))), list[str]())
    except csv.Error:
        return []


def whole(text: str) -> int | None:
    """Return the whole number in a text of at most 18 digits, or None for any other text."""
    return int(text) if _WHOLE.fullmatch(text) else None


def number(text: str) -> float | None:
    """Return the number in a text if it is below ``LARGEST``, or None for any other text, such as ``nan`` or ``N/A``."""
    if not _NUMBER.fullmatch(text):
        return None
    parsed = float(text)
    return parsed if abs(parsed) < LARGEST else None


def value(given: object) -> float | None:
    """Return ``given``, a JSON number or a number in a JSON string, if it is below ``LARGEST``; otherwise None."""
    if isinstance(given, str):
        return number(given.strip())
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        parsed = float(given)
    except OverflowError:
        return None
    return parsed if abs(parsed) < LARGEST else None


def count(given: object) -> int | None:
    """Return ``given``, a JSON number or string, as a whole number of at most 18 digits; otherwise None."""
    if isinstance(given, str):
        return whole(given.strip())
    parsed = value(given)
    return int(parsed) if parsed is not None and parsed == int(parsed) and abs(parsed) < 1e18 else None


def measured(given: object, name: str, line: int, notes: Notes) -> float | None:
    """Return a measured number, 0 or more, from text or JSON. ``name`` is its column, for notes.

    If the value is negative, too large or not a number, add a note and return None. If ``given`` is None, return None without a note.
    """
    if given is None:
        return None
    parsed = value(given)
    if parsed is not None and parsed >= 0:
        return parsed
    notes.add(line, f"{name} is {_odd(given, parsed)}", str(given)[:40])
    return None


def _odd(given: object, parsed: float | None) -> str:
    if parsed is not None:
        return "negative: left out"
    text = str(given).strip()
    large = _NUMBER.fullmatch(text) or text.lstrip("+-").lower() in {"inf", "infinity"}
    return "too large: left out" if large else "no number"


def counted(given: object, name: str, line: int, notes: Notes) -> int | None:
    """Return a measured whole number from text or JSON. ``name`` is its column, for notes.

    If the value is no whole number, add a note and return None. If ``given`` is None, return None without a note.
    """
    amount, exact = measured(given, name, line, notes), count(given)
    if amount is not None and exact is None:
        notes.add(line, f"{name} is no whole number: left out", str(given)[:40])
    return None if amount is None else exact


def words(given: object) -> str:
    """Return ``given`` if it is a string, or an empty string for any other JSON value."""
    return utf8(given) if isinstance(given, str) else ""


def utf8(text: str) -> str:
    """Return the text with ``?`` in place of lone surrogates, which cannot be encoded. JSON and names of files can have them."""
    return text.encode("utf-8", "replace").decode()


def address(text: str | None) -> str:
    """Return an IP address in its usual form; empty if the text is not an address."""
    try:
        ip = ipaddress.ip_address(text or "")
    except ValueError:
        return ""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return str(mapped or ip)


def raw_gid(prefix: str, interface: str) -> str:
    """Return the IP address of a GID that NCCL printed as two hexadecimal numbers.

    The bytes of a GID have network order, but NCCL prints them as two little-endian numbers.
    """
    packed = int(prefix, 16).to_bytes(8, "little") + int(interface, 16).to_bytes(8, "little")
    return address(str(ipaddress.IPv6Address(packed)))


def gid_address(text: str) -> str:
    """Return the IP address of a GID in perftest's format; empty if the text is not a GID.

    The format is 16 bytes separated by colons, in decimal or hexadecimal.
    """
    parts = text.strip().split(":")
    if len(parts) != 16 or not all(re.fullmatch(r"[0-9a-fA-F]{1,3}", part) for part in parts):
        return ""
    base = 16 if any(re.search("[a-fA-F]", part) for part in parts) else 10
    octets = [int(part, base) for part in parts]
    if max(octets) > 255:
        return ""
    return address(str(ipaddress.IPv6Address(bytes(octets))))
