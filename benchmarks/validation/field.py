"""Published results that no constant was fitted on: outputs of nccl-tests and rccl-tests on other clusters.

``python -m benchmarks.validation.field`` reads ``field.csv`` beside this module, predicts every row at its own size, and writes all rows
into docs/validation-field.csv and the errors by set into docs/validation.md. A row is one size. Its published time is the mean of both
places (in place and out of place), because NCCL does the same work for them.
"""

from __future__ import annotations

import csv
import math
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, cast

from benchmarks import training

from railweave.model.catalog import catalog, in_force
from railweave.outputs.folder.designing import design_file
from railweave.pages.table import Table, columns, csv_text
from railweave.prediction.collectives.channels import bus_factor
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.errors import Kind, marked_share, regime_of
from railweave.prediction.simulation.training.question import predict_training

from . import errors
from .engine import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.model import Network
    from railweave.prediction.collectives.channels import Collective

ROWS = Path(__file__).with_suffix(".csv")
DOCUMENT = ROOT / "docs/validation.md"
EVERY = ROOT / "docs/validation-field.csv"
BEGIN, END = "<!-- field: begin -->", "<!-- field: end -->"
LARGE = 4 << 20
SERVERS_PER_STRIPE, SPINES = 64, 8

FABRIC = """
name: field
fabrics:
  backend:
    topology: {{stripes: {stripes}, spines: {spines}, links_per_spine: {links}}}
    leaf: {{device: qfx5240-64od}}
    load_balancing: {{mode: dlb-flowlet}}
servers:
  - {{names: "host-[001-{servers:03d}]", model: {model}}}
hardware:
  servers:
    a100-16x100:
      extends: dgx-a100-aidc
      nics:
        gpu:
          nic: connectx-6dx-100
          names: [{names}]
          rdma: [{devices}]
          per_gpu: true
          source: "OCI shape BM.GPU4.8: 8 x 2 x 100G; that the NICs are ConnectX-6 Dx is assumed"
"""

RACKS = """
name: field
fabrics:
  backend:
    topology: {{stripes: {racks}, planes: 2, servers_per_stripe: 18, spines: 9, links_per_spine: 4}}
    leaf: {{device: qfx5240-64od}}
    load_balancing: {{mode: dlb-flowlet}}
servers:
  - {{names: "host-[001-{trays:03d}]", model: {model}}}
"""


@dataclass(frozen=True)
class Bed:
    """The servers of a set.

    - ``server_gbytes_per_s``: the line rate of a server's NICs together, for the closed form.
    - ``link_gbytes_per_s``: the raw rate of a GPU's links within its server, for the closed form.
    - ``processes``: the processes of a server; None: one for each GPU.
    - ``domains``: the racks that are one NVLink domain each; 0: the servers are no racks.
    """

    model: str
    server_gbytes_per_s: float = 400
    link_gbytes_per_s: float = 450
    processes: int | None = None
    domains: int = 0


BEDS = {
    "A100": Bed("a100-16x100", 200, 300),
    "H100": Bed("h100-8gpu-cx7"),
    "H200": Bed("dgx-h200", processes=1),
    "B200": Bed("dgx-b200", link_gbytes_per_s=900),
    "MI355X": Bed("mi355x-8gpu-pollara", link_gbytes_per_s=538),
    "MI355X, one server": Bed("mi355x-8gpu-pollara", link_gbytes_per_s=538, processes=1),
    "GB300, one rack": Bed("gb300-nvl72", 400, 900, domains=1),
    "GB300, two racks": Bed("gb300-nvl72", 400, 900, domains=2),
}
"""The servers, by the beginning of a set's name; the longest counts."""

STEPS = ((64, 128, 4.63), (128, 256, 4.63), (256, 512, 4.92), (512, 1024, 5.39), (592, 1184, 5.59))
"""GPUs, batch and seconds of steps of Llama 3 70B in 8 bits on B200 with 400G each, all parameters sharded (FSDP), one sequence at a time.

Activations of five layers lie in the memory of the host there, which is not modelled.
"""
STEPS_NAME = "B200, Llama 3 70B, FSDP"
STEPS_SOURCE = (
    "togethercomputer/together-dgxc-benchmarking, tests/b200/reports/Llama_70B_FP8_Scaling_Benchmark_Report.md"
)
STEP_JOB = """
model: llama3-70b
parallel: {{zero: 3}}
batch: {{global: {batch}, micro: 1}}
dtype: fp8
"""

PAYLOAD = 0.98
"""The payload in a packet of 4096 bytes, for the closed form."""
LATENCY_US = 30.0
"""The constant latency of the closed form."""


@dataclass(frozen=True)
class Row:
    """A published row: a collective of one size on ``servers`` servers."""

    group: str
    servers: int
    collective: Collective
    size: int
    published_us: float
    nccl: str
    source: str
    predicted_us: float = 0
    how: str = ""
    wall_s: float = 0
    kind: Kind | None = None
    engine: str = "packet"

    @property
    def bed(self) -> Bed:
        """The servers of the row's set."""
        return BEDS[max((name for name in BEDS if self.group.startswith(name)), key=len)]

    @property
    def closed_form_us(self) -> float:
        """The time that bytes over the line rate and a constant latency give."""
        bed, gpus = self.bed, 4 if self.bed.domains else 8
        islands = bed.domains or self.servers  # what NVLink joins
        rate, part = bed.link_gbytes_per_s, bus_factor(self.collective, gpus * self.servers)
        if islands > 1 and self.collective in {"all-to-all", "send-recv"}:
            rate = bed.server_gbytes_per_s / gpus
            part = (islands - 1) / islands if self.collective == "all-to-all" else 1
        elif islands > 1:
            rate = min(rate, bed.server_gbytes_per_s * self.servers / islands)
        return LATENCY_US + self.size * part / (rate * PAYLOAD) / 1e3

    @property
    def error(self) -> float:
        """The part by which the prediction is off; below 0: too quick."""
        return self.predicted_us / self.published_us - 1

    @property
    def closed_form_error(self) -> float:
        """The part by which the closed form is off."""
        return self.closed_form_us / self.published_us - 1


def rows() -> list[Row]:
    """The rows of ``field.csv``."""
    with ROWS.open() as lines:
        return [
            Row(
                group=r["set"],
                servers=int(r["servers"]),
                collective=cast("Collective", r["collective"]),
                size=int(r["size_bytes"]),
                published_us=(float(r["out_of_place_us"]) + float(r["in_place_us"])) / 2,
                nccl=r["nccl"],
                source=r["source"],
            )
            for r in csv.DictReader(lines)
        ]


@cache
def network(model: str, servers: int, domains: int) -> Network:
    """The network of a set: rails on one leaf each, without oversubscription.

    The published networks have as many NICs of the same rate. Their switches are not published; InfiniBand is taken as Ethernet.
    """
    nics = 16 if model == "a100-16x100" else 8
    stripes = -(-servers // SERVERS_PER_STRIPE)
    links = -(-servers // (stripes * SPINES))  # as much rate to spines as to servers
    text = (
        RACKS.format(racks=domains, trays=18 * domains, model=model)
        if domains
        else FABRIC.format(
            stripes=stripes,
            spines=SPINES,
            links=links,
            servers=servers,
            model=model,
            names=", ".join(f"gpu{nic}_eth" for nic in range(nics)),
            devices=", ".join(f"mlx5_{nic}" for nic in range(nics)),
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fabric.yaml"
        file.write_text(text)
        return design_file(file)[0]


def predicted(row: Row) -> Row:
    """The row with its prediction, at its own size: by packets if that takes seconds, else by flows."""
    bed = row.bed
    net = network(bed.model, row.servers, bed.domains)
    hosts = None
    if bed.domains:
        trays = row.servers // bed.domains
        hosts = ",".join(f"host-[{18 * rack + 1:03d}-{18 * rack + trays:03d}]" for rack in range(bed.domains))
    nccl = dict(setting.split("=") for setting in row.nccl.split())
    begin = time.monotonic()
    result = predict(
        net,
        row.collective,
        row.size,
        nccl=nccl,
        bed=bed_of(net, order=hosts, processes=bed.processes),
        engine="flow" if bed.domains else "auto",
        most_hops=MOST_HOPS,
    )
    how = f"{result.algorithm}, {result.program.protocol}, {result.program.channels} channels, {result.choice.engine}"
    gpu = catalog().servers[bed.model.replace("a100-16x100", "dgx-a100-aidc")].gpu
    islands = bed.domains or row.servers
    kind = Kind(
        "RCCL" if gpu.startswith("MI") else "NCCL",
        row.collective,
        regime_of(row.collective, row.size, islands, marked_share(result.counters)),
        gpu,
        result.algorithm,
        several=bed.processes == 1,
        alone=islands == 1,
        domains=bed.domains > 0,
    )
    seconds = time.monotonic() - begin
    return replace(
        row, predicted_us=result.time_ps / 1e6, how=how, wall_s=seconds, kind=kind, engine=result.choice.engine
    )


def compared(row: Row) -> errors.Compared:
    """The row as bands need it."""
    if row.kind is None:
        raise ValueError(row)
    off = (math.log1p(row.error),)
    return errors.Compared(row.kind, row.bed.domains or row.servers, row.size, row.engine, off, row.published_us)


MOST_HOPS = 50_000_000
"""Packet hops above which a row is run by flows, so that each takes seconds."""
COLUMNS = columns(
    "set", "servers", "collective", "bytes", "NCCL", "published, us", "predicted, us", "off by", "closed form off by", "run as", "source"
)  # fmt: skip
SUMMARY = columns("set", "what", "rows", "median, worst below 4 MiB", "from 4 MiB", "closed form: medians")


def summary(every: list[Row], steps: list[Step]) -> list[str]:
    """The errors by set and collective, as lines of the document."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in every:
        groups.setdefault((row.group, row.collective), []).append(row)
    lines = [(*key, str(len(found)), *_errors(found)) for key, found in groups.items()]
    errors = [step.error for step in steps]
    lines.append((STEPS_NAME, "steps", str(len(steps)), "", _median_and_worst(errors), ""))
    return Table(SUMMARY, lines).to_markdown()


def _errors(found: list[Row]) -> tuple[str, str, str]:
    """The errors of predictions below and from 4 MiB, and the medians of the closed form."""
    parts = [[row for row in found if (row.size >= LARGE) == large] for large in (False, True)]
    closed = [f"{median(abs(row.closed_form_error) for row in part):.1%}" for part in parts if part]
    below, above = (_median_and_worst([row.error for row in part]) for part in parts)
    return below, above, ", ".join(closed)


def _median_and_worst(errors: list[float]) -> str:
    return f"{median(map(abs, errors)):.1%}, {max(errors, key=abs):+.1%}" if errors else ""


@dataclass(frozen=True)
class Step:
    """A published training step and its prediction, in seconds."""

    gpus: int
    batch: int
    published_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """The part by which the prediction is off."""
        return self.predicted_s / self.published_s - 1


def steps() -> list[Step]:
    """The steps of ``STEPS`` with their predictions."""
    found: list[Step] = []
    for gpus, batch, seconds in STEPS:
        net = training.network(gpus, "dgx-b200")
        with tempfile.TemporaryDirectory() as folder, in_force(net.catalog):
            file = Path(folder) / "job.yaml"
            file.write_text(STEP_JOB.format(batch=batch))
            (job,) = predict_training(net, file).jobs
        found.append(Step(gpus, batch, seconds, job.step_ps / 1e12))
    return found


def step_cells(found: list[Step]) -> list[tuple[str, ...]]:
    """The cells of the steps, in the columns of the other rows."""
    return [
        (
            STEPS_NAME, str(step.gpus // 8), f"step of {step.batch} sequences", "", "", f"{step.published_s * 1e6:.6g}",
            f"{step.predicted_s * 1e6:.6g}", f"{step.error:+.1%}", "", "", STEPS_SOURCE,
        )
        for step in found
    ]  # fmt: skip


def cells(every: list[Row]) -> list[tuple[str, ...]]:
    """The cells of all rows."""
    return [
        (
            row.group, str(row.servers), row.collective, str(row.size), row.nccl, f"{row.published_us:.6g}", f"{row.predicted_us:.6g}",
            f"{row.error:+.1%}", f"{row.closed_form_error:+.1%}", row.how, row.source,
        )
        for row in every
    ]  # fmt: skip


def main(wanted: Sequence[str]) -> None:
    """Predict all rows, print the errors by set, and write both documents. With ``wanted``, words of their names, only predict these sets."""
    chosen = [row for row in rows() if not wanted or any(word in row.group for word in wanted)]
    every: list[Row] = []
    with Pool(2) as pool:
        for row in pool.imap(predicted, chosen):
            every.append(row)
            print(", ".join(cells([row])[0][:-1]), f"{row.wall_s:.1f} s", file=sys.stderr, flush=True)
    if wanted:
        return
    found = steps()
    lines = "\n".join(summary(every, found))
    print(lines)
    errors.write([compared(row) for row in every], "field")
    EVERY.write_text(csv_text(COLUMNS, [*cells(every), *step_cells(found)]))
    before, _, rest = DOCUMENT.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n{lines}\n{END}{after}")
    print(f"{len(every)} rows, {sum(row.wall_s for row in every):.0f} s of runs", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
