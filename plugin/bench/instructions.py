"""Counts instructions of a message in this plugin and in NCCL's own transport, over the same fake verbs.

instructions.py BUILD [NCCL]    NCCL: a build of NCCL without a GPU (make test-nccl), with libnccl.so.2

Valgrind's callgrind counts instructions of this process alone, by library; two runs of different length give those of a message. What the
fake verbs themselves take is left out. The least that verbs allow is a receive posted, a write and a clear-to-send, and their completions.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import page

SHORT, LONG = 800, 4800
CASES = [("64 B", 64, 1), ("4 KiB", 4096, 1), ("32 KiB", 32768, 1), ("4 KiB, 8 receives in one request", 4096, 8)]


def main() -> int:
    """Print a table of instructions for each message: one queue pair of the plugin, four, and NCCL's own transport."""
    build = Path(sys.argv[1]).resolve()
    ours = (str(build / "libnccl-net-railweave.so"), "ncclNetPlugin_v12")
    ways = [
        ("plugin, 1 queue pair", ours, {"NCCL_IB_QPS_PER_CONNECTION": "1"}),
        ("plugin, 4 queue pairs", ours, {"NCCL_IB_QPS_PER_CONNECTION": "4", "NCCL_IB_SPLIT_DATA_ON_QPS": "0"}),
    ]
    if len(sys.argv) > 2:
        ways.append(
            ("NCCL's own", (str(Path(sys.argv[2]).resolve() / "libnccl.so.2"), "ncclNetIb"), {"NCCL_IB_GID_INDEX": "1"})
        )
    rows = ["| message | " + " | ".join(name for name, _, _ in ways) + " |", "|---" * (len(ways) + 1) + "|"]
    for name, size, group in CASES:
        counts = [per_message(build, way, more, size, group) for _, way, more in ways]
        rows.append(f"| {name} | " + " | ".join(f"{count:.0f}" for count in counts) + " |")
        print(rows[-1], flush=True)
    if len(ways) > 2:
        page.write("instructions", rows)
    return 0


def per_message(build: Path, way: tuple[str, str], more: dict[str, str], size: int, group: int) -> float:
    """Instructions of a message, those of the fake verbs left out."""
    short, long = (counted(build, way, more, size, count, group) for count in (SHORT, LONG))
    return (long - short) / (LONG - SHORT)


def counted(build: Path, way: tuple[str, str], more: dict[str, str], size: int, messages: int, group: int) -> int:
    """Instructions of a run, but for those of the fake verbs and of the program that calls."""
    with tempfile.TemporaryDirectory() as folder:
        fabric, out = f"{folder}/fabric", f"{folder}/out"
        subprocess.run([build / "fake-fabric", fabric, "create", "1", "1", "4"], check=True)
        Path(folder, "libibverbs.so.1").symlink_to(build / "libfakeverbs.so")  # NCCL's own transport loads this name
        libraries = f"{folder}:{Path(way[0]).parent}"
        variables = {"RAILWEAVE_FAKE_FABRIC": fabric, "RAILWEAVE_FAKE_HOST": "0", "RAILWEAVE_FAKE_DIRECT": "1",
                     "RAILWEAVE_NET_ANY_NAMESPACE": "1", "RAILWEAVE_NET_STATS": "0", "NCCL_SOCKET_IFNAME": "lo",
                     "RAILWEAVE_NET_HOST_FILE": "/nonexistent", "NCCL_IBVERBS_LIB": str(build / "libfakeverbs.so"),
                     "LD_LIBRARY_PATH": libraries}  # fmt: skip
        words = ["valgrind", "--tool=callgrind", "--dump-instr=no", f"--callgrind-out-file={out}",
                 build / "messages", *way, str(size), str(messages), str(group)]  # fmt: skip
        done = subprocess.run(words, env=os.environ | variables | more, capture_output=True, text=True, check=False)
        if "sent" not in done.stdout:
            sys.exit(f"{way[1]}: {done.stderr[-2000:]}")
        costs = by_object(Path(out).read_text())
    if os.environ.get("LOUD"):
        print(costs, file=sys.stderr)
    return sum(cost for name, cost in costs.items() if name not in {"libfakeverbs.so", "messages"})


def by_object(text: str) -> Counter[str]:
    """Instructions of a callgrind output by the file name of the library in which they are."""
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    current, called = "", False
    for line in text.splitlines():
        if found := re.match(r"ob=(\(\d+\))(?: (.*))?$", line):
            names.setdefault(found[1], Path(found[2]).name if found[2] else "")
            current = names[found[1]]
        elif found := re.match(r"cob=(\(\d+\)) (.*)$", line):
            names.setdefault(found[1], Path(found[2]).name)
        elif line.startswith("calls="):
            called = True
        elif found := re.match(r"[+\-*\d]+ (\d+)$", line):
            if not called:
                costs[current] += int(found[1])
            called = False
    return costs


if __name__ == "__main__":
    raise SystemExit(main())
