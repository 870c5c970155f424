"""How fast the packet engine is: whole processes, timed from outside: ``cargo build --release && python3 benchmarks/sim.py``.

Every figure is the median of five runs of ``railweave-sim`` from start to exit: reading the options, building the
network and printing the result are part of it. Data hops are links crossed by data packets.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RUNS = 5
CASES = [  # hosts, k of the fat tree, bytes of a flow
    (16, 4, "40MB"),
    (128, 8, "4MB"),
    (128, 8, "40MB"),
    (1024, 16, "4MB"),
]
DELAYS = ["1us", "50ns"]


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [
            line.split(":")[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.platform(), "load": load}


def run(binary: Path, words: list[str]) -> tuple[float, dict[str, object]]:
    """Wall time of a process, seconds, and its result."""
    begin = time.perf_counter()
    done = subprocess.run([binary, *words], stdout=subprocess.PIPE, check=False)
    wall = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"{binary} {' '.join(words)} ended with {done.returncode}")
    return wall, json.loads(done.stdout)


def measure(binary: Path, options: list[str]) -> list[dict[str, object]]:
    """A row for each case and delay."""
    rows: list[dict[str, object]] = []
    for delay in DELAYS:
        for hosts, k, size in CASES:
            words = ["--topology", f"fat-tree:k={k},speed=400G,delay={delay}", "--json", "--quiet"]
            words += ["--traffic", f"permutation:bytes={size}", *options]
            runs = [run(binary, words) for _ in range(RUNS)]
            if len({str(result["trace_checksum"]) for _, result in runs}) > 1:
                sys.exit(f"runs of {' '.join(words)} differ")
            result = runs[0][1]
            wall = statistics.median(one[0] for one in runs)
            hops = int(str(result["data_packet_hops"]))
            rows.append(
                {
                    "hosts": hosts,
                    "flow": size,
                    "delay": delay,
                    "data_packet_hops": hops,
                    "wall_s": round(wall, 4),
                    "fastest_s": round(min(one[0] for one in runs), 4),
                    "data_hops_per_s": round(hops / wall),
                    # the process reads it itself: what the system counts for a child begins with the parent's memory
                    "peak_memory_MB": round(max(float(str(one[1]["peak_memory_MB"])) for one in runs), 1),
                    "trace_checksum": result["trace_checksum"],
                }
            )
            print(row_text(rows[-1]), flush=True)
    return rows


def row_text(row: dict[str, object]) -> str:
    """A row of the table."""
    speed = int(str(row["data_hops_per_s"])) / 1e6
    return (
        f"| {row['hosts']} x {row['flow']} | {row['delay']} | {row['data_packet_hops']} | {row['wall_s']} s "
        f"(fastest {row['fastest_s']}) | {speed:.2f} M | {row['peak_memory_MB']} MB |"
    )


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/railweave-sim")
    parser.add_argument("--output", type=Path, default=ROOT / "out/bench/sim.json")
    parser.add_argument("options", nargs="*", help="further options of railweave-sim, after --")
    given = parser.parse_args()
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores, load {where['load']}\n")
    print(
        "| permutation | delay | data hops | median wall time | data hops/s | peak memory |\n|---|---|---|---|---|---|"
    )
    rows = measure(given.binary, given.options)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    figures = {"machine": where, "options": given.options, "runs": RUNS, "rows": rows}
    given.output.write_text(json.dumps(figures, indent=1) + "\n")
    print(f"\nwritten to {given.output}")


if __name__ == "__main__":
    main()
