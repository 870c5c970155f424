"""``railweave deploy`` of one statement on every switch of a large network: stand-ins in a process of their own are changed by NETCONF.

``python -m benchmarks.deploy [FABRIC]`` prints how long plan and apply took, and how much memory the process needed that works. Stand-ins and
the program share the machine, so that a part of the time is theirs. What the stand-ins say of their state is right throughout.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from railweave import api
from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.api import deploying
from railweave.live.collect.plan import questions
from railweave.model.device.build import device_config
from railweave.writing import write_file

ROOT = Path(__file__).parents[1]
ADDED = "ntp: [192.0.2.123], "
"""The statement: what the design has, and the switches do not."""


def serve(fabric: Path) -> None:
    """Be every switch of a network until standard input ends; access.yaml and known_hosts beside the file say how they are reached."""
    from tests.live.check.perfect import perfect
    from tests.live.check.said import junos
    from tests.live.reach.stand_ins import stand_ins
    from tests.operations.deploy.junos_box import JunosBox
    from tests.operations.deploy.network import access_to, runs

    start = fabric.with_name("start.yaml")
    write_file(start, fabric.read_text().replace(ADDED, ""))
    network = api.load(fabric)
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    routes = ControlPlane(configs.values(), network.absent).routes()
    with stand_ins() as devices:
        found = {}
        for name, lines in runs(start).items():
            said = junos.answers(perfect(expected(network, configs[name], routes)))
            asked = questions(network, configs[name])
            answers = {one.asked["netconf"]: said[one.name] for one in asked if one.name in said}
            found[name] = devices.ssh(answers, calls=JunosBox(lines, normal=list))
        access_to(fabric, found)
        print("ready", flush=True)
        sys.stdin.read()


def main() -> None:
    """Start the stand-ins, plan, apply, print the figures."""
    from tests.live.reach.stand_ins import PASSWORD

    if len(sys.argv) > 2:
        serve(Path(sys.argv[2]))
        return
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "examples" / "scale-8k.yaml"
    os.environ["READER"] = PASSWORD
    with tempfile.TemporaryDirectory() as name:
        fabric = Path(name) / source.name
        fabric.write_text(source.read_text().replace("management: {", f"management: {{{ADDED}"))
        if source.with_suffix(".lock").exists():
            fabric.with_suffix(".lock").write_bytes(source.with_suffix(".lock").read_bytes())
        command = [sys.executable, "-m", "benchmarks.deploy", "serve", str(fabric)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as servers:
            if servers.stdout is not None:
                servers.stdout.readline()
            access, path = fabric.with_name("access.yaml"), fabric.with_name("plan.json")
            begun = time.monotonic()
            plan = deploying.deploy_plan(fabric, live=True, access=access)
            planned = time.monotonic()
            write_file(path, json.dumps(plan.to_json()), private=True)
            print(
                f"{len(plan.changed)} switches in {len(plan.waves)} waves, planned in {planned - begun:.1f} s",
                flush=True,
            )
            revision = deploying.deploy_apply(
                path,
                access=access,
                settle=0,
                progress=lambda line: print(f"  {time.monotonic() - planned:6.1f} {line}"[:200], flush=True),
            )
            ended = time.monotonic()
            servers.terminate()
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(f"{revision.state}: applied in {ended - planned:.1f} s, {used.ru_maxrss / 1024:.0f} MB at most")
        print(f"{used.ru_utime + used.ru_stime:.0f} s of a processor, without those of the stand-ins")


if __name__ == "__main__":
    main()
