"""``railweave collect`` on every switch of a large network: stand-ins in a process of their own answer by SSH.

``python -m benchmarks.collect [FABRIC]`` prints how long it took, and how much memory the process that asks needed. Stand-ins and the
program share the machine, so on two processors half of the time is theirs.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from railweave import api
from railweave.live.reach.target import PORTS

ROOT = Path(__file__).parents[1]
INTERFACES_BYTES = 1 << 20
"""Of the longest answer: ``show interfaces extensive`` of a switch with 128 channels."""


def serve(fabric: str, folder: Path) -> None:
    """Be every switch of a network until standard input ends; access.yaml and known_hosts say how they are reached."""
    from tests.live.reach.stand_ins import USER, stand_ins

    network = api.load(fabric)
    nos = network.switches[0].nos
    samples = importlib.import_module(f"tests.model.state.samples.{nos}").ANSWERS
    asked = api.questions_of(network)
    with stand_ins() as devices:
        entries: dict[str, object] = {}
        known: list[str] = []
        for name, questions in asked.items():
            answers = {one.asked["ssh"]: samples.get(one.name, "% none\n") for one in questions if "ssh" in one.asked}
            largest = next(one.asked["ssh"] for one in questions if one.name == "interfaces")
            answers[largest] += " " * INTERFACES_BYTES
            device = devices.ssh(answers)
            entries[name] = {"address": "127.0.0.1", "ports": dict.fromkeys(PORTS, device.port)}
            known.append(device.known())
        (folder / "known_hosts").write_text("\n".join(known) + "\n")
        login = {"user": USER, "password": "env:READER", "known_hosts": "known_hosts"}
        (folder / "access.yaml").write_text(json.dumps({"defaults": login, "devices": entries}))
        print("ready", flush=True)
        sys.stdin.read()


def main() -> None:
    """Start the stand-ins, collect from them, print the figures."""
    from tests.live.reach.stand_ins import PASSWORD

    if len(sys.argv) > 2:
        serve(sys.argv[1], Path(sys.argv[2]))
        return
    fabric = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "examples" / "scale-8k.yaml")
    os.environ["READER"] = PASSWORD
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "benchmarks.collect", fabric, name]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as servers:
            if servers.stdout is not None:
                servers.stdout.readline()
            begun = time.monotonic()
            network = api.load(fabric)
            designed = time.monotonic()
            result = api.collect(network, folder / "capture", access=folder / "access.yaml")
            ended = time.monotonic()
            servers.terminate()
        used = resource.getrusage(resource.RUSAGE_SELF)
        answered = sum(one.answered for one in result.outcomes)
        size = sum(one.stat().st_size for one in (folder / "capture").rglob("*") if one.is_file()) / 1e6
        whole = sum(one.status == "answered" for one in result.outcomes)
        print(f"{whole} of {len(result.outcomes)} switches, {answered} answers, {size:.0f} MB")
        print(
            f"design {designed - begun:.1f} s, collect {ended - designed:.1f} s, {used.ru_maxrss / 1024:.0f} MB at most"
        )
        print(f"{used.ru_utime + used.ru_stime:.0f} s of a processor, without those of the stand-ins")


if __name__ == "__main__":
    main()
