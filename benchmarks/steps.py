"""How long the steps take, and how much memory: design, configurations, routes, single faults, build, prediction.

Run with ``make bench``; names of cases as words measure these alone. Every case has a process of its own. A figure is the
median of several runs: processor time, of the main process alone, so that what others do on the machine counts for little;
and its ratio to a fixed piece of pure Python that is timed beside every run, so that figures of different machines, or of a
busy one, can be compared. Wall time stands beside those of builds, whose files are rendered by workers.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.sim import machine

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.outputs.folder.designing import design_file
from railweave.outputs.folder.steps import build
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
RUNS = 5
GENERATED = {  # name: (topology, servers)
    "two-tier-1k": ("stripes: 2, spines: 64", 128),
    "planes-1k": ("stripes: 2, planes: rail, spines: 32, links_per_spine: 2", 128),
    "planes-8k": ("stripes: 16, planes: rail, spines: 32, links_per_spine: 2", 1024),
    "super-spine-1k": ("stripes: 2, spines: 64, stripes_per_pod: 1, super_spines: 4, links_per_super_spine: 2", 128),
    "super-spine-8k": ("stripes: 16, spines: 64, stripes_per_pod: 8, super_spines: 4, links_per_super_spine: 16", 1024),
}
"""Beside the examples: the smaller sizes of the three forms, 64 servers a stripe, eight path colors."""

CASES = (
    "h100-rlb",
    *("two-tier-1k", "scale-8k"),
    *("planes-1k", "planes-8k", "scale-32k-planes"),
    *("super-spine-1k", "super-spine-8k", "scale-32k-superspine"),
)
BUILT = ("h100-rlb", "two-tier-1k", "scale-8k")
"""The cases that are built too; of the others the files would only take longer."""


def fabric_file(folder: Path, name: str) -> Path:
    """A copy of an example, or a generated file."""
    path = folder / f"{name}.yaml"
    if name in GENERATED:
        topology, servers = GENERATED[name]
        path.write_text(
            f"name: {name}\nfabrics:\n  backend:\n    topology: {{{topology}}}\n    leaf: {{device: qfx5240-64od}}\n"
            f'    paths_per_nic: 8\nservers: [{{names: "gpu-[0001-{servers:04d}]", model: h100-8gpu-cx7}}]\n'
        )
    else:
        path.write_text((ROOT / "examples" / f"{name}.yaml").read_text())
    return path


def baseline() -> int:
    """A fixed piece of pure Python: two million additions and dictionary stores."""
    table: dict[int, int] = {}
    total = 0
    for number in range(2_000_000):
        total += number
        table[number & 1023] = total
    return total


class Clock:
    """Times steps, and the baseline beside each run of them."""

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, float]] = {}

    def time(self, step: str, function: Callable[[], object], runs: int) -> None:
        """Median processor time and ratio of ``runs`` runs, and their shortest wall time."""
        rows: list[tuple[float, float, float]] = []
        for _ in range(runs):
            wall, begin = time.perf_counter(), time.process_time()
            function()
            took, wall = time.process_time() - begin, time.perf_counter() - wall
            begin = time.process_time()
            baseline()
            rows.append((took, took / (time.process_time() - begin), wall))
        seconds, ratio, _ = (statistics.median(column) for column in zip(*rows, strict=True))
        self.steps[step] = {"processor_s": seconds, "ratio": ratio, "wall_s": min(row[2] for row in rows)}


def measure(name: str, most: int, *, built: bool) -> dict[str, dict[str, float]]:
    """Every step of one case, at ``most`` so often."""
    clock = Clock()
    with TemporaryDirectory() as place:
        folder = Path(place)
        path = fabric_file(folder, name)
        large = "32k" in name
        runs = 1 if large else most
        clock.time("design", lambda: design_file(path), runs)
        network, _ = design_file(path)
        clock.time("configurations", lambda: [device_config(network, s.name) for s in network.switches], runs)
        configs = [device_config(network, switch.name) for switch in network.switches]
        clock.time("routes", lambda: ControlPlane(configs).routes(), runs)
        plane = ControlPlane(configs)
        plane.routes()
        link = next(cable.name for cable in network.cables if cable.kind == "fabric")
        leaf, spine = (next(s.name for s in network.switches if s.role == role) for role in ("leaf", "spine"))
        for kind, fault in (("link", link), ("spine", spine), ("leaf", leaf)):
            clock.time(f"{kind} fault", lambda fault=fault: plane.routes([fault]), max(most, 3))
        if name in BUILT and built:
            out = folder / "out"
            clock.time("build", lambda: build(path, out), 1)
            clock.time("build for EOS", lambda: build(path, folder / "eos", device=[":eos"]), 1)
            clock.time("the same again", lambda: build(path, out), min(runs, 3))
            text = path.read_text()
            leaves = iter(s.name for s in network.switches if s.role == "leaf")

            def change_and_build() -> None:
                path.write_text(f"{text}\noverrides: {{devices: {{{next(leaves)}: {{asn: 4200009999}}}}}}\n")
                build(path, out)

            clock.time("a leaf changed", change_and_build, min(runs, 3))
        else:
            del plane, configs
        if name != "h100-rlb":
            clock.time(
                "all-reduce of 8 GiB", lambda: predict(network, "all-reduce", 8 << 30, qps=4, bed=bed_of(network)), 1
            )
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    clock.steps["most memory of a process"] = {"GB": peak / 1e6}
    return clock.steps


def main() -> None:
    """Measure each case in a process of its own, print, and write out/bench/steps.json."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--one", choices=CASES, help="measure a case here and print it as JSON")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often each step is timed (once at 32,768 GPUs)")
    parser.add_argument("--no-build", action="store_true", help="leave out what writes thousands of files")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(given.one, given.runs, built=not given.no_build)))
        return
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores, load {where['load']}, Python {sys.version.split()[0]}", flush=True)
    result: dict[str, object] = {"machine": where, "runs": given.runs}
    folder = ROOT / "out" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    for name in given.cases or CASES:
        words = [sys.executable, "-m", "benchmarks.steps", "--one", name, "--runs", str(given.runs)]
        words += ["--no-build"] if given.no_build else []
        rows = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout)
        result[name] = rows
        print(name)
        for step, row in rows.items():
            print(f"  {step:25} " + "  ".join(f"{value:9.3f} {key}" for key, value in row.items()), flush=True)
        (folder / "steps.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
