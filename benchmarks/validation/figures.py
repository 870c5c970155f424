"""Drawings of what the other modules measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from . import deadlock
from .dcqcn import known

if TYPE_CHECKING:
    from pathlib import Path

    from .bed import Counts
    from .dcqcn import Incast
    from .engine import Run
    from .fluid import Course
    from .thresholds import Outcome

BLUE, ORANGE, GREEN, GREY, RED = "#0072b2", "#e69f00", "#009e73", "#777777", "#d55e00"
plt.rcParams.update({"font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
                     "axes.spines.right": False, "legend.frameon": False, "figure.dpi": 100})  # fmt: skip


def save(figure: plt.Figure, file: Path) -> None:
    """Write a figure and forget it."""
    figure.tight_layout()
    figure.savefig(file, metadata={"Software": None})
    plt.close(figure)


def convergence(file: Path, course: Course, ran: Run, starts_ms: list[float]) -> None:
    """Rates of flows to one host, the last of which begins later; ``course`` has those that begin together as one."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.1), sharey=True)
    begins = sorted(set(starts_ms))
    for place, color in enumerate((BLUE, ORANGE)):
        rates = [rate / 1e9 if time >= begins[place] * 1e-3 else None
                 for time, rate in zip(course.time, course.rates[place], strict=True)]  # fmt: skip
        axes[0].plot([time * 1e3 for time in course.time], rates, color=color, linewidth=1.6)
    for place, (begin, color) in enumerate(zip(starts_ms, (BLUE, GREEN, ORANGE), strict=True)):
        times, rates = ran.flows.of(f"h{place}>h{len(starts_ms)}", "rate_gbps")
        label = f"flow {place + 1}, from {begin:g} ms"
        axes[1].plot([time / 1e3 for time in times], rates, color=color, label=label, linewidth=0.9)
    for axis, title in zip(axes, ("fluid model, spaced CNPs", "engine (mean of each 0.5 ms)"), strict=True):
        axis.axhline(40 / len(starts_ms), color=GREY, linewidth=0.8, linestyle="--")
        axis.set(title=title, xlabel="time, ms", ylim=(0, 42))
    axes[0].set_ylabel("rate on the wire, Gb/s")
    axes[1].legend(loc="upper right")
    save(figure, file)


def incast_queue(file: Path, rows: list[Incast], chances: dict[tuple[float, int], float]) -> None:
    """Steady queue against the number of flows, for each greatest chance of marking."""
    greatest = sorted({row.p_max for row in rows})
    figure, axes = plt.subplots(1, len(greatest), figsize=(8.4, 3.3))
    for axis, p_max in zip(axes, greatest, strict=True):
        these = [row for row in rows if row.p_max == p_max]
        for receiver, name, style in (
            ("window", "model, CNPs as published", ":"),
            ("spaced", "model, spaced CNPs", "-"),
        ):
            found = [row for row in these if known(row.fixed[receiver])]
            axis.plot([row.flows for row in found], [row.fixed[receiver] / 1e3 for row in found], style,
                      color=BLUE, label=name)  # fmt: skip
        axis.plot([row.flows for row in these], [chances[p_max, row.flows] / 1e3 for row in these], "s",
                  color=GREEN, markersize=5, fillstyle="none", label="model with single events (mean)")  # fmt: skip
        axis.errorbar([row.flows for row in these], [row.mean / 1e3 for row in these],
                      yerr=[row.deviation / 1e3 for row in these], fmt="o", color=ORANGE, markersize=4, capsize=3,
                      label="engine (mean, deviation)")  # fmt: skip
        axis.set(title=f"Pmax {p_max * 100:g} %", xlabel="flows", ylim=(0, None), xticks=[row.flows for row in these])
    axes[0].set_ylabel("queue, KB")
    axes[1].legend(loc="upper left")
    save(figure, file)


def queue_course(file: Path, course: Course, ran: Run, port: str) -> None:
    """The queue of an incast over time."""
    figure, axis = plt.subplots(figsize=(8.4, 2.9))
    times, queue = ran.ports.of(port, "queued_bytes")
    axis.plot(
        [time / 1e3 for time in times], [size / 1e3 for size in queue], color=ORANGE, linewidth=0.6, label="engine"
    )
    axis.plot([time * 1e3 for time in course.time], [size / 1e3 for size in course.queue], color=BLUE, linewidth=1.6,
              label="fluid model, spaced CNPs")  # fmt: skip
    axis.set(xlabel="time, ms", ylabel="queue, KB", ylim=(0, 80))
    axis.legend(loc="upper right")
    save(figure, file)


def ecn_and_pfc(file: Path, outcomes: list[Outcome], paused_at: float) -> None:
    """Marks, pauses and goodput against the first threshold of marking."""
    figure, axes = plt.subplots(2, 1, figsize=(7.2, 4.6), sharex=True, height_ratios=(3, 2))
    place = [outcome.k_min / 1e6 for outcome in outcomes]
    axes[0].plot(place, [outcome.marked for outcome in outcomes], "o-", color=BLUE, label="packets marked (ECN)")
    axes[0].plot(place, [outcome.pauses for outcome in outcomes], "s-", color=RED, label="pauses sent (PFC)")
    axes[0].set_yscale("symlog", linthresh=10)
    axes[0].set(ylabel="in the run", ylim=(0, 1e5))
    axes[0].legend(loc="lower center")
    axes[1].plot(place, [outcome.goodput for outcome in outcomes], "o-", color=GREEN)
    axes[1].set(ylabel="goodput, Gb/s", ylim=(0, 420), xscale="log", xlabel="first threshold of marking, MB")
    for axis in axes:
        axis.axvline(paused_at / 1e6, color=GREY, linestyle="--", linewidth=1)
    axes[0].annotate("queue at which\nsenders are paused", (paused_at / 1e6, 3e4), xytext=(-6, 0), ha="right", va="center",
                     textcoords="offset points", color=GREY)  # fmt: skip
    save(figure, file)


def headroom_drops(file: Path, series: dict[str, list[tuple[float, int]]]) -> None:
    """Packets dropped against headroom, as a part of what was computed."""
    figure, axis = plt.subplots(figsize=(7.2, 3.2))
    for (name, points), color, mark in zip(series.items(), (BLUE, ORANGE, GREEN, RED, GREY), "osv^D", strict=False):
        axis.plot([part for part, _ in points], [number for _, number in points], f"{mark}-", color=color, label=name,
                  markersize=4)  # fmt: skip
    axis.axvline(1, color=GREY, linestyle="--", linewidth=1)
    axis.set_yscale("symlog", linthresh=10)
    axis.set(xlabel="headroom, part of what is computed", ylabel="packets dropped", ylim=(0, 2e4))
    axis.legend(loc="upper right")
    save(figure, file)


def bed_counts(file: Path, counts: dict[str, Counts]) -> None:
    """Marks and pauses by switch and neighbor, a column a case."""
    figure, axes = plt.subplots(2, len(counts), figsize=(9.2, 5.6), sharey="row")
    for column, (name, count) in enumerate(counts.items()):
        for row, (numbers, color) in enumerate(((count.marked, BLUE), (count.pauses, RED))):
            axis = axes[row][column]
            places = sorted(numbers, key=lambda place: (order(place), place))
            axis.bar([place.replace(">", "\nto ") for place in places], [numbers[place] for place in places], 0.7,
                     color=color)  # fmt: skip
            axis.tick_params(axis="x", labelsize=8, rotation=90)
            axis.set(yscale="log", ylim=(10, 1e6 if row == 0 else 1e5), xlim=(-0.6, 6.6))
            axis.grid(visible=False, axis="x")
        axes[0][column].set_title(f"congestion at {name}")
    axes[0][0].set_ylabel("packets marked")
    axes[1][0].set_ylabel("pauses sent")
    save(figure, file)


def order(place: str) -> int:
    """Last leaf, spines, first leaves: the way that pauses go."""
    return 0 if place.startswith("leaf2") else 1 if place.startswith("spine") else 2


def ring(file: Path, runs: dict[str, Run]) -> None:
    """Payload delivered over time on the ring."""
    figure, axis = plt.subplots(figsize=(7.6, 3.4))
    for (name, ran), color in zip(runs.items(), (RED, ORANGE, BLUE, GREEN), strict=True):
        times, total = deadlock.delivered(ran)
        axis.plot(
            [time / 1e3 for time in times], [size / 1e6 for size in total], color=color, label=name, linewidth=1.6
        )
    axis.axhline(2 * deadlock.SWITCHES * deadlock.SIZE / 1e6, color=GREY, linewidth=0.8, linestyle="--")
    axis.set(xscale="log", xlim=(0.05, 200), ylim=(0, 43), xlabel="time, ms", ylabel="delivered, MB")
    axis.legend(loc="upper left", bbox_to_anchor=(0, 0.95))
    save(figure, file)
