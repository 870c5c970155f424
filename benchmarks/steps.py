"""How long the steps take: design, configurations, routes, a single fault, build. Run with ``make bench``.

Each figure is the median of several runs. Beside it stands its ratio to a fixed piece of pure Python timed in the same
run, so that figures from different machines, or from a busy one, can be compared.
"""

from __future__ import annotations

import json
import platform
import resource
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.build.steps import build, design_file
from railweave.device.build import device_config
from railweave.routes.control_plane import ControlPlane

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
RUNS = 5
GENERATED = {  # name: (stripes, spines, servers)
    "rail-1k": (2, 64, 128),
    "rail-2k": (4, 64, 256),
    "rail-4k": (8, 64, 512),
    "rail-8k": (16, 64, 1024),
}
DESIGNED = ("scale-32k-planes", "scale-32k-superspine")
"""Examples that only design is timed of: the rest takes minutes and gigabytes."""


def fabric_file(folder: Path, name: str) -> Path:
    """An example, or a generated fabric of 64 servers a stripe with eight path colors."""
    if name not in GENERATED:
        return ROOT / "examples" / f"{name}.yaml"
    stripes, spines, servers = GENERATED[name]
    text = f"""
name: {name}
fabrics:
  backend:
    topology: {{stripes: {stripes}, spines: {spines}}}
    leaf: {{device: qfx5240-64od}}
    paths_per_nic: 8
servers: [{{names: "gpu-[0001-{servers:04d}]", model: h100-8gpu-cx7}}]
"""
    path = folder / f"{name}.yaml"
    path.write_text(text)
    return path


def timed(function: Callable[[], object], runs: int) -> float:
    """Median wall time of a function, seconds."""
    times: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def baseline() -> int:
    """A fixed piece of pure Python: two million additions and dictionary stores."""
    table: dict[int, int] = {}
    total = 0
    for number in range(2_000_000):
        total += number
        table[number & 1023] = total
    return total


def measure(name: str, runs: int) -> dict[str, float]:
    """Seconds of each step for one fabric."""
    with TemporaryDirectory() as place:
        folder = Path(place)
        path = fabric_file(folder, name)
        if name in DESIGNED:
            return {"design": timed(lambda: design_file(path), 1)}
        network, _ = design_file(path)
        configs = [device_config(network, switch.name) for switch in network.switches]
        plane = ControlPlane(configs)
        plane.routes()
        link = next(cable.name for cable in network.cables if cable.kind == "fabric")
        leaf, spine = (next(s.name for s in network.switches if s.role == role) for role in ("leaf", "spine"))
        copy = folder / f"{name}-copy.yaml"
        copy.write_text(path.read_text())
        count = iter(range(1000))
        return {
            "design": timed(lambda: design_file(path), runs),
            "configurations": timed(lambda: [device_config(network, s.name) for s in network.switches], runs),
            "routes": timed(lambda: ControlPlane(configs).routes(), runs),
            "link fault": timed(lambda: plane.routes([link]), runs),
            "spine fault": timed(lambda: plane.routes([spine]), runs),
            "leaf fault": timed(lambda: plane.routes([leaf]), runs),
            "build": timed(lambda: build(copy, folder / f"out{next(count)}"), runs),
            "build for EOS": timed(lambda: build(copy, folder / f"out{next(count)}", device=[":eos"]), runs),
        }


def main() -> None:
    """Measure and print, and write out/bench/steps.json."""
    names = sys.argv[1:] or ["h100-rlb", *GENERATED, *DESIGNED]
    result: dict[str, object] = {"machine": f"{platform.machine()}, Python {platform.python_version()}", "runs": RUNS}
    for name in names:
        unit = timed(baseline, RUNS)
        runs = RUNS if name not in GENERATED or GENERATED[name][2] < 1000 else 3
        figures = measure(name, runs)
        result[name] = {"baseline_s": unit, **figures}
        print(f"{name} (median of {runs}; baseline {unit:.3f} s)")
        for step, seconds in figures.items():
            print(f"  {step:15} {seconds:8.3f} s   {seconds / unit:7.2f} x baseline")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")
    folder = ROOT / "out" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "steps.json").write_text(json.dumps({**result, "peak_memory_mb": peak}, indent=1) + "\n")


if __name__ == "__main__":
    main()
