"""Which warnings of NCCL, RCCL and their plugins triage knows: all formats in checkouts of their sources, filled with values.

``make trial NAME=messages`` with ``--source DIR``, whose folders are checkouts named after the library and version, such as
``nccl-v2.27.7``, ``rccl-rocm-6.2.2``, ``sharp-v2.7.x``, ``ofi-v1.17.3``. Prints a table, the formats without a rule (``--unknown``),
and those whose kind does not fit the file that prints them (``FITTING``).
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from railweave.operations.bench.messages import kind_of
from railweave.operations.bench.triage.triage import RULES, triage

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = re.compile(r"\b(?:WARN|NCCL_OFI_WARN|WARN_INSPECTOR)\s*\(")
LEFT_OUT = re.compile(
    r"(?:^|/)(?:tests?|examples?|ext-\w+|contrib|bindings|tools|docs|docs_src)(?:/|$)|windows|param/|npkit|clique/|msccl"
)
"""Files whose messages a user does not meet on Linux servers with a release: tests, examples, Windows, parts of RCCL that are off or gone."""
_VALUE = re.compile(r"%[-+ #0-9.*]*(?:hh|h|ll|l|z|j)?([diuxXscpfm%])|<(\w+)>")
_WORDS = {
    "d": "3",
    "i": "3",
    "u": "3",
    "x": "7f",
    "X": "7F",
    "p": "0x7f12",
    "f": "1.5",
    "c": ">",
    "%": "%",
    "m": "No such device",
}
_CALLS = {"nvml": "nvmlInit", "ibv": "ibv_modify_qp", "mlx5dv": "mlx5dv_create_qp"}
FITTING = {
    r"ibvwrap|mlx5dvwrap|ibvsymbols": "call-failed library-missing memory-locked peer-memory",
    r"misc/socket|sharp.*socket|include/socket": "call-failed peer-ended bootstrap-interface foreign-connection internal arguments ranks-disagree",
    r"nvmlwrap|cudawrap|rocmwrap|rocm_smi|alt_rsmi": "gpu-failed library-missing out-of-memory",
    r"shmutils|ipcsocket|transport/shm": "shared-memory arguments out-of-memory",
    r"argcheck": "arguments ranks-disagree",
    r"gdrwrap": "no-gpudirect library-missing gpu-failed",
    r"src/graph/": "topology bad-setting nvlink offload out-of-memory internal gpu-failed",
    r"p2p_resiliency": "nic-failed completion-failed internal arguments out-of-memory",
    r"src/proxy": "peer-ended internal ranks-disagree call-failed gpu-failed shared-memory topology out-of-memory arguments",
    r"bootstrap\.cc": "bootstrap-interface ranks-disagree call-failed internal gpu-failed out-of-memory arguments nvlink bad-setting",
    r"net_socket": "bootstrap-interface ranks-disagree bad-setting out-of-memory peer-ended internal call-failed",
    r"transport/net_ib|ib_plugin|p2p_plugin": "call-failed completion-failed link-event no-rdma-device mixed-rails nic-failed library-missing bad-setting ranks-disagree "
    "internal topology out-of-memory no-gpudirect offload bootstrap-interface peer-ended arguments",
    r"sharp_plugin|coll_net": "offload out-of-memory ranks-disagree plugin-failed no-gpudirect",
}
"""Kinds, without ``run-``, that fit the messages of a file."""


class Format(NamedTuple):
    """A format of a warning: the library, the newest file that prints it, and the format."""

    library: str
    file: str
    text: str


def _calls(source: str) -> Iterator[str]:
    """The first arguments of warnings: their literals joined, names of macros as values."""
    for match in CALL.finditer(source):
        before = source[source.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if before.startswith(("#define", "//", "*")):
            continue
        place, depth, pieces = match.end(), 1, list[str]()
        while place < len(source) and depth:
            sign = source[place]
            if sign == '"':
                end = place + 1
                while end < len(source) and source[end] != '"':
                    end += 2 if source[end] == "\\" else 1
                pieces.append(source[place + 1 : end])
                place = end + 1
                continue
            depth += (sign == "(") - (sign == ")")
            if sign == "," and depth == 1:
                break
            if name := re.match(r"[A-Za-z_]\w*", source[place : place + 80]):
                macros = {"PRIu64": "lu", "PRIx64": "lx", "PRId64": "ld", "PRIu32": "u", "PRIu16": "u"}
                pieces.append(macros.get(name[0], "%s" if name[0].isupper() else f"<{name[0]}>"))
                place += len(name[0])
                continue
            place += 1
        yield "".join(pieces)


def formats(folder: Path) -> list[Format]:
    """All formats in the checkouts of a folder, each once."""
    found: dict[str, Format] = {}
    for checkout in sorted(path for path in folder.iterdir() if path.is_dir()):
        library = checkout.name.partition("-")[0]
        for file in sorted(checkout.rglob("*")):
            name = file.relative_to(checkout).as_posix()
            if file.suffix not in {".cc", ".c", ".h", ".cpp", ".cu", ".hpp"} or LEFT_OUT.search(name):
                continue
            for text in _calls(file.read_text(encoding="utf-8", errors="replace")):
                plain = " ".join(text.replace("\\n", " ").replace('\\"', '"').split())
                if plain not in {"", "%s"}:
                    found.setdefault(plain, Format(library, name, plain))
    return list(found.values())


def filled(format_: Format) -> str:
    """The format with values, as a user sees it."""

    def value(match: re.Match[str]) -> str:
        before = format_.text[: match.start()]
        if match[2]:
            return next((name for part, name in _CALLS.items() if part in format_.file), "bind")
        if match[1] != "s":
            return _WORDS[match[1]]
        errors = re.search(r"(?:error|failed|ERROR|Error|returned \d+\(?|errno \d+\()\W*$", before)
        return "Invalid argument" if errors else "mlx5_0"

    text = _VALUE.sub(value, format_.text)
    return f"NET/OFI {text}" if format_.library == "ofi" else text


def main(words: list[str]) -> int:
    """Print the table; 1 if fewer than nine of ten formats of a library have a rule."""
    if "--source" not in words:
        print(__doc__)
        return 2
    rules = {rule.id for rule in RULES}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    unknown: list[Format] = []
    odd: list[tuple[str, Format]] = []
    for format_ in formats(Path(words[words.index("--source") + 1])):
        line = f"n1:1:2 [0] {format_.file.rpartition('/')[2]}:7 NCCL WARN {filled(format_)}\n"
        found = [diagnosis.finding for diagnosis in triage(line, "x").diagnoses]
        kind = found[0].id if found else "silent"
        known = kind in rules and kind != "run-unknown-warning" and all(one.where == "n1" for one in found)
        counts[format_.library][kind if known else "unknown"] += 1
        if not known:
            unknown.append(format_)
        fits = next((kinds.split() for pattern, kinds in FITTING.items() if re.search(pattern, format_.file)), None)
        if known and fits is not None and kind.removeprefix("run-") not in {*fits, "retries-exceeded"}:
            odd.append((kind, format_))
    for library, kinds in counts.items():
        total = kinds.total()
        print(f"| {library} | {total} | {total - kinds['unknown']} | {1 - kinds['unknown'] / total:.1%} |")
    print("; ".join(f"{kind} {number}" for kind, number in sum(counts.values(), Counter()).most_common()))
    print(f"{len(odd)} kinds do not fit their file")
    for kind, format_ in odd:
        print(f"    {kind}: {format_.file}: {format_.text[:120]}")
    if "--unknown" in words:
        for format_ in unknown:
            print(
                f"    {kind_of(filled(format_)) or 'unknown'}: {format_.library}: {format_.file}: {format_.text[:120]}"
            )
    return int(any(kinds["unknown"] * 10 > kinds.total() for kinds in counts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
