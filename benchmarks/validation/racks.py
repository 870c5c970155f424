"""Racks that are one NVLink domain, against published results of NCCL's all-reduce on GB200 NVL72.

``python -m benchmarks.validation.racks`` predicts the rows by flows, prints the table, puts it into the document, and
writes the groups of NVLink domains into ``errors.json``. The published networks are InfiniBand; here they are Ethernet
of the same rates.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import railweave
from railweave.prediction.collectives.channels import bus_factor

from . import errors
from .engine import ROOT

DOCUMENT = ROOT / "docs/validation.md"
MIB, GIB = 1 << 20, 1 << 30

RACKS = """
name: racks
fabrics:
  backend:
    topology: {{stripes: {stripes}, servers_per_stripe: 54, spines: 14, links_per_spine: 4}}
    leaf: {{device: qfx5240-64od}}
    load_balancing: {{mode: dlb-flowlet}}
servers:
  - {{names: "gpu-[001-{trays}]", model: gb200-nvl72}}
"""


@dataclass(frozen=True)
class Row:
    """A published row: an all-reduce on the first ``trays`` of each of ``racks`` racks, in us.

    - ``place``: ``in`` if the result replaces the data, else ``out``.
    - ``nccl``: what the source asks NCCL for.
    - ``fitted``: the usable rate of NVLink was fitted on this row.
    """

    source: str
    racks: int
    trays: int
    size: int
    published_us: float
    place: str = "out"
    algorithm: str = ""
    fitted: bool = False

    @property
    def gpus(self) -> int:
        """The number of GPUs."""
        return 4 * self.racks * self.trays


def _rows() -> list[Row]:
    """The rows, each with its source."""
    rows = [
        Row("coreweave/nccl-tests#43", 1, 18, size * MIB, us, place, fitted=size == 8192)
        for place, times in (
            ("out", {512: 1806.7, 1024: 3108.8, 2048: 5589.1, 4096: 10094, 8192: 20299}),
            ("in", {512: 1835.9, 1024: 2924.7, 2048: 5474.6, 4096: 10141, 8192: 20006}),
        )
        for size, us in times.items()
    ]
    of_8 = 16 * GIB / 811e3 * bus_factor("all-reduce", 8)
    rows.append(Row("lixueduan.com, 13-gb200-mnnvl-nccl-test (811 GB/s; size assumed)", 1, 2, 16 * GIB, of_8))
    rows += [
        Row("NVIDIA/nccl#1801 (NVLS off)", 3, trays, 16 * GIB, us, "in", algorithm)
        for trays, algorithm, us in (
            (1, "Ring", 159_983),
            (1, "Tree", 134_159),
            (2, "Ring", 83_650),
            (2, "Tree", 68_096),
        )
    ]
    return rows + [
        Row("coreweave/nccl-tests#48", 20, 18, size * MIB, us, place)
        for place, times in (
            ("out", {512: 7108.4, 1024: 9805.7, 2048: 14980, 4096: 24782}),
            ("in", {512: 7145.8, 1024: 9819.6, 2048: 15087, 4096: 24975}),
        )
        for size, us in times.items()
    ]


def predicted_us(row: Row, folder: Path) -> float:
    """The predicted time of a row."""
    file = folder / f"racks-{row.racks}.yaml"
    file.write_text(RACKS.format(stripes=-(-row.racks * 18 // 54), trays=f"{row.racks * 18:03d}"))
    hosts = ",".join(f"gpu-[{rack * 18 + 1:03d}-{rack * 18 + row.trays:03d}]" for rack in range(row.racks))
    nccl = {"NCCL_ALGO": row.algorithm} if row.algorithm else {}
    result = railweave.simulate(file, "all-reduce", row.size, hosts=hosts, nccl=nccl, engine="flow")
    return result.time_ps / 1e6


def main() -> None:
    """Predict all rows, print the table, put it into the document, and write the groups of ``errors.json``."""
    rows = _rows()
    known: dict[tuple[int, int, int, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            key = (row.racks, row.trays, row.size, row.algorithm)
            if key not in known:
                known[key] = predicted_us(row, Path(folder))
    lines = [
        "| domains | GPUs | size | algorithm named | published, us: out of place, in place | predicted, us | off by | source |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[bool, list[tuple[int, int, float]]] = {}
    conditions: dict[tuple[int, int, int, str], list[Row]] = {}
    for row in rows:
        key = (row.racks, row.trays, row.size, row.algorithm)
        conditions.setdefault(key, []).append(row)
        if not row.fitted:
            factor = max(known[key] / row.published_us, row.published_us / known[key])
            groups.setdefault(row.racks > 1, []).append((row.racks, row.size, (factor - 1) * 100))
    for key, places in conditions.items():
        row, value = places[0], known[key]
        by_place = {one.place: one for one in places}
        size = f"{row.size // GIB} GiB" if row.size >= GIB else f"{row.size // MIB} MiB"
        times = ", ".join(
            f"{by_place[place].published_us:,.0f}" if place in by_place else "–" for place in ("out", "in")
        )
        off = ", ".join(f"{value / one.published_us - 1:+.1%}" for one in places)
        lines.append(
            f"| {row.racks} | {row.gpus:,} | {size} | {row.algorithm or '–'} | {times} | {value:,.0f} | "
            f"{off}{' (fitted)' if row.fitted else ''} | {row.source} |"
        )
    text = "\n".join(lines)
    print(text)
    pattern = r"(<!-- racks: begin -->\n).*?(\n<!-- racks: end -->)"
    DOCUMENT.write_text(
        re.sub(pattern, lambda match: match[1] + text + match[2], DOCUMENT.read_text(), flags=re.DOTALL)
    )
    errors.write_domains(list(groups.values()))


if __name__ == "__main__":
    main()
