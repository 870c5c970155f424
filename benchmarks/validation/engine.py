"""Runs of the real engine: ``railweave-sim``, its result and its series."""

from __future__ import annotations

import csv
import json
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BINARY = ROOT / "target/release/railweave-sim"
TOPOLOGIES = ROOT / "examples/raw"


@dataclass
class Series:
    """A column of a series by place (port or flow), a number an interval, in order of time."""

    time_us: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))

    def of(self, place: str, column: str) -> tuple[list[float], list[float]]:
        """Times (us) and values of one place."""
        return self.time_us[place], self.values[place][column]


@dataclass
class Run:
    """What a run gave: the result as ``--json`` has it, ports as ``node>peer``, flows as ``src>dst``."""

    result: dict[str, object]
    ports: Series
    flows: Series

    def count(self, name: str) -> int:
        """A counter of the whole run."""
        return int(str(self.result[name]))

    def reason(self, name: str) -> int:
        """Packets dropped for a reason."""
        reasons = self.result["dropped_by_reason"]
        return int(reasons[name]) if isinstance(reasons, dict) else 0

    def port_sum(self, place: str, column: str) -> float:
        """A counter of a port over the run."""
        return sum(self.ports.values[place][column])


def run(
    topology: str, flows: list[tuple[str, str, int, float]] | str, settings: dict[str, object], *words: str,
    every: str | None = None,
) -> Run:  # fmt: skip
    """Run flows (source, destination, bytes, start in us) or a traffic pattern.

    ``every``: the interval of the series; without it there are none.

    Raises:
        RuntimeError: where the engine refuses the input.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [str(BINARY), "--topology", topology, "--json", "--quiet", *words]
        for name, value in settings.items():
            command += ["--set", f"{name}={value}"]
        if isinstance(flows, str):
            command += ["--traffic", flows]
        else:
            file = Path(folder) / "flows.csv"
            rows = [f"{source},{to},{size},{start}" for source, to, size, start in flows]
            file.write_text("\n".join(["src,dst,bytes,start_us", *rows]) + "\n")
            command += ["--flows", str(file)]
        ports, per_flow = Path(folder) / "ports.csv", Path(folder) / "per-flow.csv"
        if every is not None:
            command += ["--series", str(ports), "--flow-series", str(per_flow), "--series-every", every]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode not in {0, 1}:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return Run(json.loads(done.stdout), read(ports, "node", "peer"), read(per_flow, "src", "dst"))


def read(file: Path, first: str, second: str) -> Series:
    """A series file, by two columns; empty where there is none."""
    series = Series()
    if not file.exists():
        return series
    with file.open() as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            place = f"{row[first]}>{row[second]}"
            series.time_us[place].append(float(row["time_us"]))
            for column, value in row.items():
                if column.endswith(("bytes", "packets", "_gbps", "_tx", "_rx", "_us")) and column != "time_us":
                    series.values[place][column].append(float(value))
    return series
