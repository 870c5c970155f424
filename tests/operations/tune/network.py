"""A network of stand-ins that a study measures on: speed and counters follow from what the switches run at that moment."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from railweave.model.state.device_state import DeviceState
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import Changing, changing, runs

FABRIC = """\
name: small
fabrics:
  backend:
    topology: {stripes: 1, spines: 1, links_per_spine: 2, link_speed: 400G}
    leaf: {device: qfx5240-64od, nos: junos}
    spine: {device: qfx5240-64od, nos: junos}
    addressing: {server_pool: "fc00::/16"}
    qos:
      classes:
        no-loss:
          ecn: {min_fill: 10, max_fill: 95}   # far too early
servers:
  - {names: "gpu-[1-2]", model: dgx-h100-2gpu, stripe: stripe1}
"""
STUDY = """\
name: small
fabric: fabric.yaml
goal:
  collectives:
    - {collective: all-reduce, size: 1M}
space:
  fabrics.backend.qos.classes.no-loss.ecn.min_fill: [10, 40]
search: {sampler: grid}
seeds: 1
confirm: 3
evaluator: bench
bench:
  launch_on: here
  settle: 0
  max_unavailable: 1
  guardrails: {every: 0.1}
"""
LOSSY = 60
"""From this fill on the network of the tests drops packets while a benchmark runs: ECN begins too late."""

MPIRUN = """#!{python} -SE
# Stands for MPI: speed follows from where ECN begins at this moment; from the fill in the file `hold` on it does not end by itself.
import os, sys, time
folder = {folder!r}
fill = int(open(folder + "/fill").read())
with open(folder + "/ran", "a") as file:
    file.write(f"{{os.getpid()}} {{fill}} {{' '.join(sys.argv[1:])}}\\n")
if os.path.exists(folder + "/hold") and fill >= int(open(folder + "/hold").read()):
    open(folder + "/held", "w").close()
    time.sleep(300)
count = len(open(folder + "/ran").readlines())
size = int(sys.argv[sys.argv.index("-b") + 1])
speed = 100 - (fill - 40) ** 2 / 40 + count % 3 / 10
print("# nThread 1 nGpus 1 minBytes %d maxBytes %d step: 2(factor) warmup iters: 5 iters: 20 validation: 1" % (size, size))
print("#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error")
print("#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)")
print("%d %d float sum 10.0 %.2f %.2f 2e-07 10.0 %.2f %.2f 2e-07" % (size, size // 4, speed, speed, speed, speed))
print("# Out of bounds values : 0 OK")
print("# Avg bus bandwidth    : %.2f" % speed)
"""


@dataclass
class Bed:
    """A folder with a fabric file and a study, its stand-ins, and what ran."""

    folder: Path
    network: Changing
    before: dict[str, list[str]]
    fills: set[int] = field(default_factory=set[int])
    """Where ECN ever began on any switch."""
    lossy: int = 0
    """Benchmarks that ran while the network drops."""
    called: Callable[[str, str], None] = lambda _, __: None
    """Called with device and call before each: what a test breaks, it breaks there."""

    def study(self, text: str = STUDY) -> Path:
        path = self.folder / "small.yaml"
        path.write_text(text)
        return path

    def running(self) -> dict[str, list[str]]:
        return {name: sorted(box.running) for name, box in self.network.boxes.items()}

    def at_own(self) -> bool:
        """Whether every switch runs what it ran before, with no timer."""
        return self.running() == self.before and not any(box.waits for box in self.network.boxes.values())

    def ran(self) -> list[tuple[int, int, str]]:
        """Process, fill and words of every benchmark that was started."""
        file = self.folder / "ran"
        rows = [one.split(" ", 2) for one in file.read_text().splitlines()] if file.exists() else []
        return [(int(pid), int(fill), words) for pid, fill, words in rows]


def fill_of(lines: list[str]) -> int:
    """Where ECN begins by set lines."""
    return min(int(one) for line in lines for one in re.findall(r"interpolate fill-level (\d+)$", line))


@contextmanager
def bed(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = FABRIC) -> Iterator[Bed]:
    """Stand-ins that run the design, and a launcher on the path of this machine."""
    monkeypatch.setenv("READER", PASSWORD)
    tools = folder / "bin"
    tools.mkdir()
    (tools / "mpirun").write_text(MPIRUN.format(python=sys.executable, folder=str(folder)))
    (tools / "mpirun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    fabric = folder / "fabric.yaml"
    fabric.write_text(text)
    with changing(fabric, runs(fabric)) as network:
        found = Bed(folder, network, {name: sorted(box.running) for name, box in network.boxes.items()})
        network.state.spoiled = _counting(found)

        written: list[int] = []

        def before(device: str, call: str) -> None:
            fill = fill_of(network.boxes["stripe1-leaf1"].running)
            found.fills.add(fill)
            if fill not in written:
                written[:] = [fill]
                write_file(folder / "fill", str(fill))  # at once: a benchmark may read it now
            lossy = 0 if fill < LOSSY and not found.lossy else sum(one[1] >= LOSSY for one in found.ran())
            if lossy > found.lossy:
                found.lossy = lossy
                network.state.forget()
            found.called(device, call)

        for name, box in network.boxes.items():
            box.before = lambda call, name=name: before(name, call)  # type: ignore[misc]
        before("", "")
        yield found


def _counting(found: Bed) -> Callable[[str, DeviceState], DeviceState]:
    """Counters of the leaf: each benchmark that runs where ECN begins too late drops packets."""

    def spoiled(name: str, state: DeviceState) -> DeviceState:
        if name != "stripe1-leaf1" or not found.lossy:
            return state
        port, known = next(iter((state.queues or {}).items()))
        egress = {number: replace(one, dropped=182 * found.lossy) for number, one in known.egress.items()}
        return replace(state, queues={**(state.queues or {}), port: replace(known, egress=egress)})

    return spoiled
