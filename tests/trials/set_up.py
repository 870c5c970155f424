"""How long predictions take until their first packet, over servers, queue pairs, collectives and engines; how soon a signal ends them.

Half an hour on two cores, and 3 GB. Ends with 1 where a message takes more steps on twice the servers than it may, a prediction does not
complete, a signal is heard too late, or 512 GPUs take too long or too much memory. Times depend on what else the machine does; steps do not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from railweave._sim import FlowEngine, PacketEngine
from railweave.model.network.model import Network
from railweave.prediction.collectives.channels import COLLECTIVES
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.engines import packets, run
from tests.conftest import EXAMPLES, example

BED = "scale-8k"
SERVERS = (2, 4, 8, 16, 32, 64)
QUEUE_PAIRS = (1, 2, 8, 32)
ENGINES = ("packet", "flow")
SIZE_BYTES = 65_536

MOST = 2.3
"""How many times the steps of a message twice the servers may take, where messages wait for others on both."""
EVEN = 1.2
"""The same where each that a message waits for counts as one more."""

SOON_S = 2.0
"""How long a signal may take to end a command."""
MOMENTS = 12
"""Signals that each command is sent, spread over as long as it takes, ``LONGEST_S`` at most."""
LONGEST_S = 30.0

LARGE = (60.0, 3e6)
"""Seconds and kB that 512 GPUs may take by packets."""

MAIN = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from railweave.cli import main; main()",
]
"""The command line as in a terminal: in the background Ctrl-C is ignored."""

COMMANDS = {
    "packets": ("sim", "BED", "--hosts", "64", "--collective", "all-to-all", "--size", "16M", "--engine", "packet"),
    "flows": ("sim", "BED", "--hosts", "24", "--collective", "all-to-all", "--size", "16M", "--engine", "flow"),
    "both, side by side": ("sim", "BED", "--hosts", "24", "--collective", "all-to-all", "--size", "16M", "--engine", "packet", "--compare", "qps=4,8"),
    "raw flows": ("flows", "--topology", "fat-tree:k=32,delay=1us", "--traffic", "permutation:bytes=1GB", "--json"),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What a prediction took. ``steps``: of setting its engine up."""

    servers: int
    qps: int
    collective: str
    engine: str
    messages: int
    waits: int
    steps: int
    set_up_s: float
    whole_s: float
    complete: bool

    def __str__(self) -> str:
        each = self.steps / max(self.messages, 1)
        return (
            f"{self.collective:<15} {self.engine:<7} {self.servers:>3} servers {self.qps:>3} queue pairs  {self.messages:>9,} messages"
            f"  {each:>7.1f} steps each  set-up {self.set_up_s:>6.2f} s  whole {self.whole_s:>6.2f} s"
            f"{'' if self.complete else '  DOES NOT COMPLETE'}"
        )


def counting(module: Any, name: str, engine: type[Any], found: list[tuple[int, int, int, float]]) -> None:
    """Have engines of a module say how many messages they get and what those wait for, how many steps that takes and how long."""

    def made(**arguments: Any) -> Any:
        begin = time.process_time()
        one = engine(**arguments)
        sizes = len(arguments["messages"]), len(arguments["after"])
        found.append((*sizes, one.setup_steps, time.process_time() - begin))
        return one

    setattr(module, name, made)


def rows(network: Network) -> Iterator[Row]:
    """Every combination, the small ones first."""
    found: list[tuple[int, int, int, float]] = []
    counting(packets, "PacketEngine", PacketEngine, found)
    counting(run, "FlowEngine", FlowEngine, found)
    for servers in SERVERS:
        bed = bed_of(network, order=str(servers))
        for qps, collective, engine in product(QUEUE_PAIRS, COLLECTIVES, ENGINES):
            found.clear()
            begin = time.process_time()
            answer = predict(network, collective, SIZE_BYTES, qps=qps, engine=engine, bed=bed)
            whole_s = time.process_time() - begin
            messages, waits, steps, set_up_s = found[0]
            yield Row(servers, qps, collective, engine, messages, waits, steps, set_up_s, whole_s, answer.complete)


def grid(network: Network) -> list[str]:
    """Run every combination; what is wrong with them."""
    wrong: list[str] = []
    known: dict[tuple[int, int, str, str], Row] = {}
    for row in rows(network):
        print(row, flush=True)
        if not row.complete:
            wrong.append(f"it does not complete: {row}")
        known[row.servers, row.qps, row.collective, row.engine] = row
        half = known.get((row.servers // 2, row.qps, row.collective, row.engine))
        if half is None:
            continue
        if half.waits and row.steps / row.messages > MOST * half.steps / half.messages:
            wrong.append(f"steps of a message, of half the servers: {half}\n  and of all: {row}")
        if row.steps / (row.messages + row.waits) > EVEN * half.steps / (half.messages + half.waits):
            wrong.append(f"steps of a message and what it waits for, of half the servers: {half}\n  and of all: {row}")
    return wrong


def signals() -> list[str]:
    """Send each command a signal at one moment after another; what came too late."""
    wrong: list[str] = []
    for name, words in COMMANDS.items():
        asked = [str(EXAMPLES / f"{BED}.yaml") if word == "BED" else word for word in words]
        whole_s = ended(asked, LONGEST_S, signal.SIGKILL)[0]
        slowest, heard = 0.0, 0
        for moment in range(1, MOMENTS + 1):
            number = (signal.SIGTERM, signal.SIGINT)[moment % 2]
            after_s = whole_s * moment / (MOMENTS + 1)
            _, took_s = ended(asked, after_s, number)
            slowest, heard = max(slowest, took_s), heard + (took_s > 0)
            if took_s > SOON_S:
                wrong.append(f"{name}: {number.name} after {after_s:.1f} s ended it {took_s:.1f} s later")
        print(f"{name}: {heard} signals in {whole_s:.1f} s, the slowest ended it after {slowest:.2f} s", flush=True)
    return wrong


def ended(asked: list[str], after_s: float, number: signal.Signals) -> tuple[float, float]:
    """Run a command, and send it a signal after a time: how long it ran in all, and after the signal (0: it was over before)."""
    begin = time.monotonic()
    child = subprocess.Popen([*MAIN, *asked], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        child.wait(after_s)
        return time.monotonic() - begin, 0.0
    except subprocess.TimeoutExpired:
        sent = time.monotonic()
        child.send_signal(number)
        child.wait()
        return time.monotonic() - begin, time.monotonic() - sent


def large() -> list[str]:
    """512 GPUs by packets; what is wrong."""
    asked = [str(EXAMPLES / f"{BED}.yaml") if word == "BED" else word for word in COMMANDS["packets"]]
    begin = time.monotonic()
    child = subprocess.Popen([*MAIN, *asked], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    took = time.monotonic() - begin
    told = f"512 GPUs by packets: {took:.1f} s ({used.ru_utime + used.ru_stime:.1f} of a processor), {used.ru_maxrss / 1e6:.2f} GB"
    print(told, flush=True)
    return [told] if child.returncode or took > LARGE[0] or used.ru_maxrss > LARGE[1] else []


def main() -> int:
    """Run all of it; the exit code."""
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    wrong = [*large(), *signals(), *grid(example(BED))]
    for one in wrong:
        print(f"wrong: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
