#!/usr/bin/env python3
"""Compare what two checkouts answer: the JSON of 70 commands over all verbs, those that are refused included.

    tools/compare_answers.py OLD NEW                two checkouts, or files that `--save` has written
    tools/compare_answers.py OLD --save old.json    the answers of one checkout, for later

Keys and values are equal; a sentence (a text of four words or more) may differ. Inputs are this checkout's own: examples, and
what tests/earlier has. Machines, times and durations are left out (VARIES). Exits 0 where all is equal, 1 where anything differs.
A checkout needs the engine built in its `src/railweave` (`make`), or beside this script's interpreter.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from compare_outputs import called

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
COMMANDS = """
init --example h100-rlb from-example --json
init --example list --json
init --gpus 512 --lb rlb sized --json
init --gpus 4096 --tenants 4 --lb rlb sized-tenants --json
init --gpus 64 --nic no-such-nic none --json
build h100-rlb.yaml -o out --json
build evpn-gpu-isolation.yaml -o out-evpn --json
build two-planes.yaml -o out-planes --json
build h100-rlb.yaml -o out-eos --device :eos --json
build h100-rlb.yaml -o out-dell --device leaf=:no-such-system --json
build wrong.yaml -o out-wrong --json
build missing.yaml -o out-missing --json
diff h100-rlb.yaml h100-rlb-8up.yaml --json
diff h100-rlb.yaml h100-rlb-8up.yaml --as cables --json
diff h100-rlb.yaml h100-rlb.yaml --new-device :eos --json
diff out out --json
paths h100-rlb.yaml --src H100-01:gpu0_eth --dst H100-03:gpu0_eth --qps 4 --json
paths h100-rlb.yaml --src H100-01:gpu0_eth --dst H100-03:gpu0_eth --qps 4 --down spine1 --headers --json
paths h100-rlb.yaml --src H100-01:gpu9_eth --dst H100-03:gpu0_eth --json
verify h100-rlb.yaml --all --json
verify out --design-only --json
verify evpn-server-isolation.yaml --json
verify dci-50km.yaml --device :sonic --json
sim h100-rlb.yaml --collective all-reduce --size 256M --qps 4 --json
sim h100-rlb.yaml --collective all-to-all --size 1M,16M --engine packet --json
sim h100-rlb.yaml --collective all-reduce --size 16M --engine flow --json
sim h100-rlb.yaml --size 64M --compare lb=ecmp,dlb,spray --json
sim h100-rlb.yaml --size 16M --seeds 3 --json
sim two-planes.yaml --collective all-gather --size 1G --json
sim aidc-three-fabrics.yaml --fabric backend --size 1G --json
sim aidc-three-fabrics.yaml --size 1G --json
sim h100-rlb.yaml --job jobs/dense.yaml --json
sim evpn-gpu-isolation.yaml --tenant tenant-3 --size 16M --json
sim h100-rlb.yaml --lb nothing --json
flows --topology fat-tree:k=4 --traffic permutation:bytes=1MB --json
flows --topology fat-tree:k=4 --traffic incast:degree=4,bytes=1MB --cc none --json
collect h100-rlb.yaml -o captured --questions --json
check earlier/build earlier/capture --all --json
check earlier/small.yaml earlier/capture --only no-such-rule --json
watch h100-rlb.yaml --access missing.yaml --json
drift earlier/small.yaml earlier/capture --json
import earlier/capture -o imported.yaml --json
host gids --host-file earlier/host.json --sysfs sys --json
host plan --host-file earlier/host.json --json
host check --host-file missing.json --json
schema --json
lab status --json
lab fib h100-rlb.yaml -o fib.json --json
lab export containerlab h100-rlb.yaml -o clab --slice rails=1,spines=2 --json
fleet check h100-rlb.yaml --access missing.yaml --json
bench plan h100-rlb.yaml -o plan.json --suite quick --json
bench plan h100-rlb.yaml -o plan2.json --suite no-such-suite --json
bench import nccl.log --store imported.db --json
bench triage nccl.log --json
bench show earlier/runs.db --json
bench export earlier/runs.db -o runs.csv --json
bench compare earlier/runs.db#975e1fc92145f762 earlier/runs.db#2c9915f33abed5c7 --json
bench compare earlier/runs.db#39da87304c38159e --predicted --json
bench report earlier/runs.db -o runs.html --json
tune run earlier/study.yaml --workers 1 --trials 4 --fresh -o study --json
tune headroom h100-rlb.yaml --json
tune watchdog h100-rlb.yaml --json
tune diagnose earlier/small.yaml earlier/capture --since earlier/capture --no-rehearse --json
deploy plan earlier/small.yaml earlier/capture -o deploy.json --json
deploy history earlier/small.yaml --json
deploy history earlier/small.yaml 1 --json
deploy history earlier/small.yaml 99 --json
deploy ztp h100-rlb.yaml -o ztp --url http://192.0.2.1:8080 --json
deploy drain h100-rlb.yaml spine1 -o drain.json --access missing.yaml --json
export prometheus h100-rlb.yaml -o prometheus --json
hardware list --json
hardware show qfx5240-64od --json
hardware show no-such-model --json
inventory fill earlier/small.yaml earlier/capture --json
"""
"""A command a line, in an order in which later ones find what earlier ones wrote."""
LOG = """H100-01:101:101 [0] NCCL INFO NCCL version 2.26.2+cuda12.8
H100-01:101:140 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:172.20.0.1<0>
H100-01:101:151 [0] misc/ibvwrap.cc:294 NCCL WARN Call to ibv_modify_qp failed with error Connection timed out errno 110
H100-01:101:151 [0] transport/net_ib.cc:1975 NCCL WARN NET/IB: Got completion from peer 172.20.0.3<47012> with status=12 opcode=0 len=0 vendor err 129 (Send)
"""
VARIES = {
    "process_s",
    "peak_memory_MB",
    "kept",
    "made",
    "seconds",
    "wall_s",
    "cpu_s",
    "took_s",
    "memory_mb",
    "validators",
    "written",
    "created",
    "at",
    "machine",
    "version",
    "digest",
    "simulated_per_s",
}
"""Keys whose values follow from the machine, the hour or the program's own source."""
WORDS = 4
Answers = dict[str, object]


def inputs(folder: Path) -> None:
    """Copy what commands read into a folder."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "tests" / "earlier" / "7958d393", folder / "earlier")
    (folder / "wrong.yaml").write_text("name: wrong\nfabrics: 3\n")
    (folder / "nccl.log").write_text(LOG)


def meant(value: object, folder: str) -> object:
    """A value without sentences, and without what differs from run to run."""
    if isinstance(value, dict):
        return {key: "varies" if key in VARIES else meant(one, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [meant(one, folder) for one in value]
    if isinstance(value, str):
        return "a sentence" if len(value.split()) >= WORDS else value.replace(folder, "")
    return value


def answers(place: Path, only: str) -> Answers:
    """The answers of a checkout by command, or those that a file holds."""
    if place.is_file():
        return {key: one for key, one in json.loads(place.read_text()).items() if fnmatch.fnmatch(key, only)}
    found: Answers = {}
    with tempfile.TemporaryDirectory(prefix="railweave-") as folder:
        inputs(Path(folder))
        for command in filter(None, COMMANDS.splitlines()):
            if not fnmatch.fnmatch(command, only):
                continue
            done = called(place, command.split(), Path(folder))
            try:
                said = json.loads(done.stdout)
            except ValueError:
                said = f"no JSON: {done.stdout.decode()[:200]}"
            found[command] = {"exit status": done.returncode, "answer": meant(said, folder)}
            print(f"{place}: {command}: {done.returncode}", file=sys.stderr, flush=True)
    return found


def differences(old: object, new: object, at: str = "") -> Iterator[str]:
    """A line for every value that differs, with its place."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from differences(old.get(key, "missing"), new.get(key, "missing"), f"{at}/{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from differences(before, after, f"{at}/{number}")
    elif old != new:
        yield f"{at}: {str(old)[:80]} -> {str(new)[:80]}"


def main() -> int:
    """Compare, or save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the answers of OLD, and compare nothing")
    parser.add_argument("--only", default="*", metavar="GLOB", help="commands that match; default: all")
    given = parser.parse_args()
    old = answers(given.old.resolve(), given.only)
    if given.save is not None:
        given.save.write_text(json.dumps(old, indent=1) + "\n")
        return 0
    if given.new is None:
        parser.error("give a second checkout, or --save FILE")
    lines = list(differences(old, answers(given.new.resolve(), given.only)))
    print("\n".join(lines) or f"equal: {len(old)} answers")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
