"""Published rows beside predictions: ``make validation``, or ``python -m benchmarks.validation.published``.

The rows are read from ``../shared/published`` beside the checkout (``RAILWEAVE_PUBLISHED`` names another folder); the table
goes into docs/validation.md. What was fitted on which row, and why rows are missed, is written there by hand.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.operations.bench.planning.making import write_bandwidth_gbps
from railweave.pages.table import Table, columns, csv_text
from railweave.prediction.collectives.channels import bus_factor
from railweave.prediction.simulation.agreement import agreed
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.engines.choice import MOST_PACKET_HOPS
from railweave.prediction.simulation.errors import marked_share
from railweave.prediction.simulation.job import ALTERNATE
from railweave.prediction.simulation.model.fabric import packet_fabric

from . import beds, long_haul
from .engine import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.prediction.collectives.channels import Collective as Named

FOLDER = Path(os.environ.get("RAILWEAVE_PUBLISHED", ROOT.parent / "shared/published"))
DOCUMENT = ROOT / "docs/validation.md"
ROWS = ROOT / "docs/validation.csv"
MISSED = "missed"
BEGIN, END = "<!-- published rows: begin -->", "<!-- published rows: end -->"

UNSTATED = {"all-reduce": 1 << 30, "all-to-all": 256 << 20}
"""Size where the source gives an average over sizes it does not state (assumed: large ones; these take long enough)."""
SEEDS = int(os.environ.get("RAILWEAVE_SEEDS", "20"))
"""A row is the mean time of so many runs, if the first two differ: which flows marks hit decides a run's last ones, by chance."""
SEEDS_BYTES = 20 << 30
"""An all-to-all is run with no more seeds than send so many bytes in all, but with two at least: the larger, the less chance decides."""
SPLIT = {"NCCL_IB_SPLIT_DATA_ON_QPS": "1"}
BY_PACKETS_BYTES = 2 << 30
"""Sizes up to this are run by packets, larger ones by ``auto``."""
LAB_SERVERS = 4
"""Servers of eight GPUs in both labs with H100."""
RCCL = {"NCCL_MIN_NCHANNELS": "32"}
"""What the guide's commands of four servers set."""


@dataclass(frozen=True)
class Collective:
    """A run: the network, and what of ``predict``. ``qps`` 0: the default."""

    bed: str
    of: tuple[int, ...]
    name: str
    size: int
    qps: int = 0
    nccl: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    vxlan: bool = False
    hosts: str | None = None
    processes: int | None = None
    lb: str | None = None


@dataclass(frozen=True)
class Perftest:
    """``ib_write_bw -b -q 4`` between two MI300X servers, as the guide has it."""

    size: int


@dataclass(frozen=True)
class LongHaul:
    """A number of the 50 km article."""

    quantity: str


Job = Collective | Perftest | LongHaul


@dataclass(frozen=True)
class Row:
    """A published row. ``published`` is one value, or what it lies between; ``job`` is None where nothing can be predicted.

    ``within`` is the target, a part of the published value; None: there is none for this row.
    """

    row_id: str
    what: str
    published: tuple[float, ...]
    unit: str
    job: Job | None
    within: float | None = None
    why_not: str = ""

    def error(self, predicted: float) -> float:
        """Part by which the prediction is off; 0 inside an interval."""
        low, high = min(self.published), max(self.published)
        return 0.0 if low <= predicted <= high else predicted / (low if predicted < low else high) - 1


@dataclass(frozen=True)
class Outcome:
    """A prediction: its value, the fraction of packets that were marked (None: no packets), the engine, and NCCL's algorithm."""

    value: float
    marked: float | None = None
    engine: str = "packet"
    algorithm: str = ""


def run(job: Job, seeds: Iterable[int] = (1,)) -> float:
    """The prediction: GB/s of bus bandwidth, us of RCCL's collectives, Gb/s of perftest, or what the article counts in."""
    if isinstance(job, Collective):
        return predicted(job, [run_once(job, seed).value for seed in seeds])
    if isinstance(job, LongHaul):
        return long_haul.predictions()[job.quantity][0]
    network = beds.thor2(2)
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    rate = catalog().nics["thor2"].messages_per_us
    if rate is None:
        raise ValueError("the catalog does not say how many messages a Thor2 takes")
    one, other = (next(nic for nic in fabric.wiring.nics if nic.startswith(host)) for host in ("host1:", "host2:"))
    return write_bandwidth_gbps(fabric, one, other, job.size, qps=4, post_cost_ps=round(1e6 / rate), both_ways=True)


def run_once(job: Collective, seed: int, changed: Mapping[str, str] | None = None) -> Outcome:
    """The time of a collective with a seed, us, by packets up to ``BY_PACKETS_BYTES``; ``changed`` are parameters of the engine."""
    network = getattr(beds, job.bed)(*job.of)
    settings = {"seed": str(seed), **(beds.VXLAN if job.vxlan else {}), **(changed or {})}
    asked: dict[str, Any] = {"qps": job.qps or None, "nccl": job.nccl, "settings": settings, "engine": "packet"}
    if job.size > BY_PACKETS_BYTES:
        asked |= {"engine": "auto", "most_hops": MOST_PACKET_HOPS}  # packets never take the place of flows
    bed = bed_of(network, order=job.hosts, processes=job.processes, lb=job.lb)
    found = agreed(network, job.name, job.size, **asked, bed=bed)
    return Outcome(found.time_ps / 1e6, marked_share(found.counters), found.choice.engine, found.algorithm)


def seeds_of(job: Collective, most: int) -> int:
    """With how many seeds a collective is run."""
    return most if job.name != "all-to-all" else min(most, max(2, SEEDS_BYTES // job.size))


def predicted(job: Collective, times_us: Sequence[float]) -> float:
    """What a row says, from the times of its runs: us on MI300X, else bus bandwidth."""
    mean_us = sum(times_us) / len(times_us)
    if job.bed in {"thor2", "h20"}:
        return mean_us
    ranks = 8 * LAB_SERVERS
    return job.size / mean_us / 1e3 * bus_factor(cast("Named", job.name), ranks)


def _of(file: str) -> Iterator[dict[str, str]]:
    with (FOLDER / file).open() as lines:
        yield from csv.DictReader(lines)


def rows() -> Iterator[Row]:
    """Every row of the folder."""
    for r in _of("t000_table12_busbw.csv"):
        name, qps, uplinks = r["collective"].replace("_", "-"), int(r["qps_per_connection"]), int(r["uplinks_per_leaf"])
        job = Collective("lab", (uplinks,), name, UNSTATED[name], qps, SPLIT, hosts=ALTERNATE)
        what = f"{name}, {uplinks} uplinks, {qps} queue pairs"
        yield Row(r["row_id"], what, (float(r["avg_busbw"]),), "GB/s", job, 0.03 if name == "all-reduce" else 0.15)
    for r in _of("t001_table1_3.csv"):
        name = r["workload"].replace("_", "-")
        of = (int(r["egress_q_min"]), int(r["egress_q_max"]))
        job = Collective(
            "evpn", of, name, int(r["message_size_bytes"] or UNSTATED[name]), int(r["qps"]), SPLIT, vxlan=True
        )
        what = f"{name}, DLB {of[0]}..{of[1]} %, {r['qps']} queue pairs, VXLAN"
        yield Row(r["row_id"], what, (float(r["value"]),), "GB/s", job, 0.03 if name == "all-reduce" else 0.15)
    for r in _of("t001_table2_2.csv"):
        of = (int(r["flowset_table_size"] or 256), int(r["inactivity_us"] or 256), int(r["sampling_rate_hz"] or 62500))
        job = Collective("evpn_mi300x", of, "all-reduce", UNSTATED["all-reduce"], int(r["qps"]), SPLIT, vxlan=True,
                         lb="ecmp" if r["lb"] == "ecmp" else None)  # fmt: skip
        what = f"RCCL all-reduce, {r['lb']}, {r['qps']} queue pairs, VXLAN; the testers' traffic left out"
        yield Row(r["row_id"], what, (float(r["value"]),), "GB/s", job, None)
    for r in _of("x_h20_2x8_allreduce.csv"):
        size = int(r["size_bytes"])
        job = Collective("h20", (), "all-reduce", size)
        yield Row(r["row_id"], f"H20 all-reduce, 2 servers, {size} B; NICs assumed", (float(r["time_us"]),), "us", job)
    for r in _of("t003_50km_numbers.csv"):
        yield Row(
            r["row_id"], r["quantity"].replace("_", " "), (float(r["value"]),), r["unit"], LongHaul(r["quantity"])
        )
    yield Row("km text", "one queue pair over 50 km", (32.0,), "Gb/s", LongHaul("queue_pair_rate"), 0.10)
    for r in _of("t004_perftest.csv"):
        size = int(r["message_bytes"])
        between = (float(r["bw_avg"]), float(r["bw_peak"]))
        yield Row(
            r["row_id"], f"ib_write_bw of {size} B", between, "Gb/s", Perftest(size), 0.05 if size >= 512 else None
        )
    for file in (
        "1node_allreduce",
        "4node_allreduce_4procs",
        "4node_allreduce_32procs",
        "4node_a2a_4procs",
        "4node_a2a_32procs",
    ):
        for r in _of(f"t004_rccl_{file}.csv"):
            servers, name, size = int(r["nodes"]), r["collective"].replace("_", "-"), int(r["size_bytes"])
            processes = int(r["procs"]) // servers
            nccl = RCCL if servers > 1 else {}
            job = Collective("thor2", (servers,), name, size, nccl=nccl, processes=processes)
            what = f"RCCL {name}, {servers} server{'s' * (servers > 1)}, {r['procs']} processes, {size} B, {r['placement']}"
            yield Row(r["row_id"], what, (float(r["time_us"]),), "us", job, 0.15 if size >= 4 << 20 else None)
    for file in ("2", "3", "5", "6"):
        for r in _of(f"t002_table{file}.csv"):
            what = f"{r['workload']}, {r['background_pct_of_800G']} % background"
            yield Row(
                r["row_id"], what, (float(r["value"]),), r["unit"], None, why_not="no traces of the model are published"
            )


COLUMNS = columns("row", "what", "published", "predicted", "off by", "target")


def cells(predicted: dict[Job, float]) -> list[tuple[str, ...]]:
    """The cells of every row."""
    lines: list[tuple[str, ...]] = []
    for row in rows():
        shown = "..".join(f"{value:.6g}" for value in row.published) + f" {row.unit}"
        if row.job is None:
            lines.append((row.row_id, row.what, shown, "–", "–", f"none: {row.why_not}"))
            continue
        value = predicted[row.job]
        error = row.error(value)
        off = "within" if error == 0 and len(row.published) > 1 else f"{error:+.1%}"
        target = "none" if row.within is None else f"{row.within:.0%}: {'met' if abs(error) <= row.within else MISSED}"
        lines.append((row.row_id, row.what, shown, f"{value:.4g} {row.unit}", off, target))
    return lines


def table(lines: list[tuple[str, ...]]) -> list[str]:
    """What the document has of the rows: those that miss their target, and how many meet it."""
    with_target = [line for line in lines if not line[-1].startswith("none")]
    missed = [line for line in lines if line[-1].endswith(MISSED)]
    return [
        "All rows are in [validation.csv](validation.csv). These miss their target:",
        "",
        *Table(COLUMNS, missed).to_markdown(),
        "",
        f"{len(with_target) - len(missed)} of {len(with_target)} rows with a target meet it.",
    ]


def main() -> None:
    """Predict all rows on all cores, print the rows that miss their target, put them into the document, and write ``validation.csv`` and ``errors.json``.

    What was run before with the same code is not run again (``out/validation/rows.jsonl``).
    """
    if not FOLDER.is_dir():
        print(f"{FOLDER}: no such folder; RAILWEAVE_PUBLISHED says where the published rows are", file=sys.stderr)
        return
    from . import errors, fits, runs  # they import this module

    begin = time.monotonic()
    jobs = list(dict.fromkeys(row.job for row in rows() if row.job is not None))
    outcomes = runs.all_of(jobs, SEEDS)
    found = {job: outcome.value for job, outcome in outcomes.items()}
    every = cells(found)
    wanted = list(rows())
    tried = runs.trials_of(fits.trials(wanted))
    left = fits.refitted(wanted, found, tried)
    compared = errors.compared(wanted, outcomes, left)
    lines = [*table(every), "", *fits.table(wanted, found, tried), "", *errors.by_group(compared)]
    ROWS.write_text(csv_text(COLUMNS, every))
    print("\n".join(lines))
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")
    errors.write(compared, "published")
    print(f"{len(jobs)} rows, {time.monotonic() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    from benchmarks.validation.published import main as named  # as others import it: jobs are told by their types

    named()
