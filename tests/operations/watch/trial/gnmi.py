"""A gNMI target that is subscribed to as ``railweave watch`` does, and by a client that is not ours: both see the same leaves with the same values."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

from railweave.live.reach.gnmi import Gnmi
from railweave.live.reach.gnmi_messages import elements
from railweave.live.reach.target import MachineLogin, Password, Target
from railweave.model.state import telemetry as openconfig
from railweave.model.state.telemetry import METRICS, Series, Subscription
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import Subscriber
from railweave.operations.watch.stream import Stream
from tests.conftest import ROOT
from tests.operations.watch.gnmi_target import PASSWORD, USER, certificates
from tests.operations.watch.trial.other_client import PATHS

CLIENT, REQUIREMENT = ROOT / ".validators" / "pygnmi", "pygnmi==0.8.15"
PORTS, QUEUES, EVERY_S, LIMIT_S = 4, 8, 1.0, 60


def installed() -> Path:
    """The interpreter of a virtual environment that has the client."""
    python = CLIENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(CLIENT)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIREMENT], check=True)
    return python


def by_other(python: Path, port: int, folder: Path) -> dict[Series, float]:
    """What the other client is told, by series. Raises ``AssertionError`` where it is told a path that we do not read."""
    words = [python, Path(__file__).with_name("other_client.py"), str(port), folder, USER, PASSWORD]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[Series, float] = {}
    for path, value in json.loads(done.stdout).items():
        series = openconfig.series(
            tuple((name, tuple(keys.items())) for name, keys in elements("/" + path.lstrip("/")))
        )
        assert series is not None, path
        found[series] = value
    return found


def counts(stream: Stream) -> dict[Series, float]:
    """The counters of a stream as they were last told."""
    stream.end_round(0)
    return {
        one: int(stream.counts[place])
        for place, one in enumerate(stream.layout.series)
        if METRICS[one.metric].kind == "counter" and place < len(stream.counts)
    }


async def compared(python: Path, folder: Path) -> int:
    """How many leaves both were told. Raises ``AssertionError`` where they differ."""
    words = (
        sys.executable,
        "-m",
        "tests.operations.watch.gnmi_target",
        str(folder),
        f"--ports={PORTS}",
        f"--queues={QUEUES}",
    )
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*words, cwd=ROOT, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    [port] = json.loads(await process.stdout.readline()).values()
    way = MachineLogin("127.0.0.1", USER, password=Password("env", "WATCHER"), certificates=folder / "ca.pem")
    stream = Stream("target-0", Layout(openconfig.series))
    telemetry: Any = SimpleNamespace(SUBSCRIPTIONS=[Subscription(one) for one in PATHS], ENCODING="proto")
    opened = partial(Gnmi.opened, Target("target-0", (), way, LIMIT_S, LIMIT_S), port)
    subscriber = asyncio.create_task(Subscriber(stream, telemetry, opened, every_s=EVERY_S).run())
    try:
        async with asyncio.timeout(LIMIT_S):
            while not (before := counts(stream)):
                await asyncio.sleep(0.1)
        other = await asyncio.to_thread(by_other, python, port, folder)
        async with asyncio.timeout(LIMIT_S):
            seen = stream.updates
            while stream.updates < seen + len(before):
                await asyncio.sleep(0.1)
        after = counts(stream)
    finally:
        subscriber.cancel()
        process.stdin.close()
        await asyncio.wait([subscriber])
        await process.wait()
    assert other.keys() == before.keys(), other.keys() ^ before.keys()
    wrong = {
        one: (before[one], value, after[one]) for one, value in other.items() if not before[one] <= value <= after[one]
    }
    assert not wrong, wrong
    return len(other)


def run() -> dict[str, Any]:
    """Both clients at one target, over TLS. Gives the figures."""
    python = installed()
    os.environ["WATCHER"] = PASSWORD
    with TemporaryDirectory() as place:
        certificates(Path(place))
        return {"leaves": asyncio.run(compared(python, Path(place)))}
