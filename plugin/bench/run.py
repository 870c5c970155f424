"""Measures the plugin over fake verbs and draws docs/images/plugin: rate over queue pairs, a path dying and returning, CPU time.

run.py BUILD
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import page

mpl.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images" / "plugin"
SLOW_PATHS_MBYTES = 20
PATH_MBYTES = 25  # per second and path, low enough for two cores
REROUTE_MS = 1500
DOWN_S, UP_S, END_S = 3, 8, 14
SIZES, SHARES = (4096, 16384, 65535, 262144, 1048576), (0.05, 0.1, 0.5)


def main() -> int:
    """Measure all, draw all, print the figures."""
    build = Path(sys.argv[1]).resolve()
    IMAGES.mkdir(parents=True, exist_ok=True)
    draw_scaling({qps: sustained(build, qps) for qps in (1, 2, 3, 4)})
    draw_fault(rates(build, 4, END_S, ["--reroute", str(REROUTE_MS), "--recover", "300",
                                       "--fault", f"{DOWN_S * 1000}:down:1", "--fault", f"{UP_S * 1000}:up:1"]))  # fmt: skip
    draw_cpu(cpu(build))
    page.write("slow path", slow_rows({(size, share): slow(build, size, share) for size in SIZES for share in SHARES}))
    return 0


def rates(build: Path, qps: int, seconds: int, more: list[str]) -> list[tuple[float, float]]:
    """Seconds since connecting, and MB/s received by a rank, each 50 ms."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rates"
        words = ["./harness", "--gids", "4", "--qps", str(qps), "--rate", str(PATH_MBYTES), "--seconds", str(seconds),
                 "--largest", "400000", "--window", "8", "--split", "1", "--rates", str(file), *more]  # fmt: skip
        subprocess.run(words, cwd=build, check=True)
        return [(float(a), float(b)) for a, b in (line.split() for line in file.read_text().splitlines())]


def mean(samples: list[tuple[float, float]], start: float, end: float) -> float:
    """Mean rate between two times."""
    chosen = [rate for at, rate in samples if start <= at < end]
    return sum(chosen) / len(chosen)


def sustained(build: Path, qps: int) -> float:
    """MB/s in the last seconds of a short run."""
    return mean(rates(build, qps, 4, []), 1, 4)


def slow(build: Path, size: int, share: float) -> float:
    """Part of what four paths carry together while one is slow, messages of up to size bytes."""
    left = round(SLOW_PATHS_MBYTES * share)
    more = ["--largest", str(size), "--split", "-1", "--rate", str(SLOW_PATHS_MBYTES), "--fault", f"100:slow:1:{left}"]
    return mean(rates(build, 4, 7, more), 3, 7) / (3 * SLOW_PATHS_MBYTES + left)


def slow_rows(parts: dict[tuple[int, float], float]) -> list[str]:
    """A table of them."""
    rows = ["| messages up to | " + " | ".join(f"one path at {share * 100:g} %" for share in SHARES) + " |"]
    rows.append("|---" * (1 + len(SHARES)) + "|")
    rows += [
        f"| {(size + 1023) >> 10} KiB | " + " | ".join(f"{parts[size, share]:.0%}" for share in SHARES) + " |"
        for size in SIZES
    ]
    return rows


def draw_scaling(by_qps: dict[int, float]) -> None:
    """Rate over the number of queue pairs."""
    figure, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axes.bar([str(n) for n in by_qps], list(by_qps.values()), color="#4878a8", width=0.6)
    axes.plot(
        range(len(by_qps)), [n * PATH_MBYTES for n in by_qps], "k_", markersize=40, label=f"N x {PATH_MBYTES} MB/s"
    )
    axes.set(xlabel="queue pairs, each on its own path", ylabel="MB/s received")
    axes.legend(frameon=False)
    figure.savefig(IMAGES / "scaling.png", dpi=110)
    print("MB/s by queue pairs:", {n: round(rate, 1) for n, rate in by_qps.items()})


def draw_fault(samples: list[tuple[float, float]]) -> None:
    """Rate while one of four paths is dead."""
    smooth = [(at, mean(samples, at - 0.2, at + 0.001)) for at, _ in samples if at > 0.3]
    before, after = mean(samples, 1, DOWN_S), mean(samples, DOWN_S + REROUTE_MS / 1000 + 1, UP_S)
    back = mean(samples, UP_S + 3, END_S - 0.3)
    reached = next(at for at, rate in smooth if at > DOWN_S + 0.5 and rate > 0.95 * 0.75 * before and after > 0)
    full = next(at for at, rate in smooth if at > UP_S and rate > 0.95 * before)
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    axes.plot(*zip(*smooth, strict=True), color="#4878a8", linewidth=1)
    for share, text in ((1, "4 paths"), (0.75, "3 of 4")):
        axes.axhline(share * 4 * PATH_MBYTES, color="black", linewidth=0.6, linestyle=":")
        axes.text(END_S, share * 4 * PATH_MBYTES, text, va="bottom", ha="right", fontsize=8)
    axes.axvspan(DOWN_S, UP_S, color="#d65f5f", alpha=0.15, label="one path dead")
    axes.axvline(
        DOWN_S + REROUTE_MS / 1000 + 1, color="#d65f5f", linewidth=0.8, linestyle="--", label="reroute time + 1 s"
    )
    axes.set(xlabel="s", ylabel="MB/s received", ylim=(0, 4.6 * PATH_MBYTES), xlim=(0, END_S))
    axes.legend(frameon=False, loc="lower right", fontsize=8)
    figure.savefig(IMAGES / "path-death.png", dpi=110)
    print(
        f"before {before:.1f} MB/s, one path dead {after:.1f} ({after / before:.2f} of it), after its return {back:.1f}"
    )
    print(
        f"3/4 reached {reached - DOWN_S:.2f} s after the fault; full rate {full - UP_S:.2f} s after the path's return"
    )


def cpu(build: Path) -> list[dict[str, str]]:
    """Rows of cpu-bench."""
    with tempfile.TemporaryDirectory() as folder:
        fabric = f"{folder}/fabric"
        subprocess.run(["./fake-fabric", fabric, "create", "1", "1", "4"], cwd=build, check=True)
        more = {"RAILWEAVE_FAKE_FABRIC": fabric, "RAILWEAVE_FAKE_HOST": "0", "RAILWEAVE_FAKE_DIRECT": "1",
                "RAILWEAVE_NET_ANY_NAMESPACE": "1",
                "NCCL_IBVERBS_LIB": str(build / "libfakeverbs.so"), "NCCL_SOCKET_IFNAME": "lo",
                "RAILWEAVE_NET_HOST_FILE": "/nonexistent"}  # fmt: skip
        done = subprocess.run(
            ["./cpu-bench"], cwd=build, check=True, env=os.environ | more, stdout=subprocess.PIPE, text=True
        )
    print(done.stdout)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def draw_cpu(rows: list[dict[str, str]]) -> None:
    """CPU time per message over the number of queue pairs."""
    figure, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")

    def total(row: dict[str, str]) -> float:
        return sum(float(row[name]) for name in ("isend_ns", "irecv_ns", "test_send_ns", "test_recv_ns"))

    for mode, style in (("one queue pair per message", "o-"), ("split over all", "s-")):
        chosen = [row for row in rows if row["mode"] == mode]
        axes.plot([int(row["qps"]) for row in chosen], [total(row) for row in chosen], style, label=mode)
    plain = next(row for row in rows if row["mode"] == "plain")
    axes.axhline(total(plain), color="black", linestyle=":", label="plain verbs, one queue pair")
    axes.set(xscale="log", yscale="log", xlabel="queue pairs", ylabel="ns of CPU per message, both ends")
    axes.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(IMAGES / "cpu.png", dpi=110)


if __name__ == "__main__":
    raise SystemExit(main())
