"""Setting up a run takes a message no longer on a larger network, and whoever stops it need not wait."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from railweave._sim import WRITE, FlowEngine, PacketEngine
from railweave.model.network.model import Network
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.engines import packets
from railweave.prediction.simulation.engines import run as flows
from tests.conftest import EXAMPLES, designed, example
from tests.prediction.simulation.beds import bed

MOST = 2.3
"""How many times the steps of a message twice the servers may take: in an all-to-all of many servers messages wait for more others."""

EVEN = 1.2
"""The same where each that a message waits for counts as one more."""


@pytest.fixture(scope="module")
def text() -> str:
    """The fabric file of 24 servers of 8 GPUs."""
    found = (EXAMPLES / "h100-rlb.yaml").read_text()
    for before, after in (
        ("H100-[01-02]", "H100-[01-12]"),
        ("H100-[03-04]", "H100-[13-24]"),
        ("links_per_spine: 1", "links_per_spine: 1\n      oversubscription: 4"),
    ):
        assert before in found
        found = found.replace(before, after)
    return found


@pytest.fixture(scope="module")
def network(text: str, tmp_path_factory: pytest.TempPathFactory) -> Network:
    return designed(tmp_path_factory.mktemp("servers"), text)[0]


class SetUp(Exception):  # noqa: N818 - no error: there is nothing more to see
    """An engine was set up."""


@pytest.mark.parametrize("engine", ["packet", "flow"])
@pytest.mark.parametrize("collective", ["all-to-all", "all-reduce", "send-recv"])
def test_a_message_takes_as_many_steps_on_twice_the_servers(
    monkeypatch: pytest.MonkeyPatch, network: Network, collective: str, engine: str
) -> None:
    """Rust counts what it looks at, and Python what it calls: a call for each message or queue pair would be seen."""
    found: list[tuple[int, int, int]] = []
    calls = 0

    def watched(made: type[Any]) -> Any:
        def make(**arguments: Any) -> None:
            found.append((made(**arguments).setup_steps, len(arguments["messages"]), len(arguments["after"])))
            raise SetUp

        return make

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    monkeypatch.setattr(packets, "PacketEngine", watched(PacketEngine))
    monkeypatch.setattr(flows, "FlowEngine", watched(FlowEngine))
    taken: dict[tuple[int, int], tuple[float, float, float]] = {}
    for servers in (11, 22):
        here = bed_of(network, order=str(servers))
        for qps in (1, 4):
            calls = 0
            sys.setprofile(count)
            try:
                with pytest.raises(SetUp):
                    predict(network, collective, 65_536, qps=qps, engine=engine, bed=here)
            finally:
                sys.setprofile(None)
            steps, messages, waits = found.pop()
            assert steps >= 3 * messages + 2 * waits, "no loop over messages or what they wait for is left out"
            taken[servers, qps] = (steps / messages, steps / (messages + waits), calls / messages)
    for qps in (1, 4):
        small, large = taken[11, qps], taken[22, qps]
        assert large[0] <= MOST * small[0], "steps of a message"
        assert large[1] <= EVEN * small[1], "steps of a message and of each that it waits for"
        assert large[2] <= MOST * small[2], "calls in Python"


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_two_runs_at_once_give_the_same(engine: str) -> None:
    """Each has its own seed: nothing of one goes into the other."""
    network = example("h100-rlb")
    whole = bed_of(network, "ecmp")

    def run(seed: int) -> dict[str, Any]:
        found = predict(
            network, "all-to-all", 2**20, qps=2, engine=engine, settings={"seed": str(seed)}, bed=whole
        ).to_json()
        return {name: value for name, value in found.items() if name != "wall_s"}

    alone = [run(seed) for seed in (1, 2)]
    assert alone[0] != alone[1]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, (1, 2))) == alone


class Told(Exception):  # noqa: N818 - no error either
    """What a signal's handler raises."""


def endless() -> PacketEngine:
    """A run that takes hours: many terabytes."""
    _, _, fabric = bed("h100-rlb")
    pairs = fabric.queue_pairs([("H100-01:gpu0_eth", "H100-03:gpu0_eth", 0)])
    messages = np.array([(0, 10**12, 0, WRITE)] * 10, np.uint64)
    return PacketEngine(**fabric.arguments(pairs), messages=messages)


@pytest.mark.parametrize("series", [False, True])
def test_a_signal_ends_a_run_which_can_go_on(series: bool) -> None:
    """Another thread sends it, which has the interpreter only while the run does not."""

    def told(*_: object) -> None:
        raise Told

    one = endless()
    if series:
        one.sample_every(10**6)

    def tell() -> None:
        while one.now_ps == 0:  # while it runs it cannot be asked
            pass

    def watch() -> None:
        with pytest.raises(RuntimeError, match="borrowed"):
            tell()
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, told)
    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with pytest.raises(Told):
            one.run(2**62)
        watching.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert 0 < one.now_ps < 2**62
    later = one.now_ps + 10**8
    one.run(later)
    other = endless()
    other.run(later)
    assert one.counters() == other.counters()
    assert [column.tolist() for column in one.port_counters().values()] == [
        column.tolist() for column in other.port_counters().values()
    ]


@pytest.mark.slow
def test_a_signal_ends_the_command(tmp_path: Path, text: str) -> None:
    """Before its first packet: an all-to-all of so many servers once took hours until then, deaf to all signals."""
    file = tmp_path / "fabric.yaml"
    file.write_text(text)
    asked = ["sim", str(file), "--collective", "all-to-all", "--size", "16M", "--engine", "packet", "--exact"]
    at_once = "from railweave.cli import main, output; output.PATIENCE_S = 0.0; main()"
    main = [sys.executable, "-c", at_once]
    child = subprocess.Popen([*main, *asked], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    line = ""
    while "preparing the network" not in line:
        line = child.stderr.readline()
        assert line, "it ended"
    child.terminate()
    _, wrong = child.communicate(timeout=120)
    assert child.returncode == 130
    assert "Traceback" not in wrong
