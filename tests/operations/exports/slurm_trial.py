"""``make trial NAME=slurm``: what `railweave export slurm` writes, taken by a real Slurm. Its figures go into docs/export/slurm.md.

``python -m tests.operations.exports.slurm_trial`` (root, mmdebstrap). Every example's topology and nodes are loaded by slurmctld, and compared
with the design as ``scontrol`` shows them: the newest Slurm reads topology.yaml, the oldest topology.conf. Then four slurmd run the example
h100-rlb: jobs are placed in one stripe, get the server's variables, and a server that differs from its design is drained with its reason.
Ends with ``slurm-trial: ok``.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

import railweave
from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.operations.exports import slurm
from railweave.operations.exports.placement import placements, tree, walk
from tests.conftest import EXAMPLES, ROOT
from tests.operations.exports.page import put

SUITES = ("forky", "bookworm")
"""Debian's suites with a Slurm that reads topology.yaml, and with one that does not."""
ADDRESS = "10.255.0.1"
"""Of all nodes. Slurm does not listen where there is no address but loopback's."""
RUN = "h100-rlb"
CONF = """ClusterName=trial
MailProg=/bin/true
SlurmctldHost={host}({address})
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
{topology}
NodeName=DEFAULT CPUs={cpus}
include /etc/slurm/railweave.conf
PartitionName=gpu Nodes=ALL Default=YES OverSubscribe=FORCE:4 State=UP{tree}
{block}
"""


def say(text: str) -> None:
    """Print a line of the log."""
    print(text, flush=True)


def until(true: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.2)


def inside(root: Path, *words: str, check: bool = True) -> str:
    """Return what a command prints in the root folder, to both outputs."""
    done = subprocess.run(
        ["chroot", str(root), *words], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}"
    return done.stdout


@contextmanager
def ended(processes: list[subprocess.Popen[bytes]]) -> Generator[None]:
    """Run the block, and end the processes that it appends to the list."""
    try:
        yield
    finally:
        for process in reversed(processes):
            process.send_signal(signal.SIGTERM)
        for process in processes:
            process.wait(30)


def started(root: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a daemon in the root folder."""
    return subprocess.Popen(["chroot", str(root), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def munge(root: Path) -> Generator[None]:
    """Run munged, in the namespaces of this process."""
    for name in ("proc", "dev", "tmp", "sys"):
        subprocess.run(["mount", "--rbind", f"/{name}", str(root / name)], check=True)
    for words in ("link set lo up", f"addr replace {ADDRESS}/32 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    for name in ("etc/slurm", "var/spool/slurmctld", "var/spool/slurmd", "var/log/slurm", "run/munge"):
        (root / name).mkdir(parents=True, exist_ok=True)
    if not (root / "etc/munge/munge.key").exists():
        inside(root, "mungekey", "-c")
    own = "chown munge /run/munge /var/log/munge /var/lib/munge /etc/munge/munge.key; chmod 400 /etc/munge/munge.key"
    inside(root, "sh", "-c", own)
    running = [started_as_munge(root)]
    with ended(running):
        until(lambda: "Success" in inside(root, "sh", "-c", "munge -n | unmunge", check=False), "munge does not answer")
        yield


def started_as_munge(root: Path) -> subprocess.Popen[bytes]:
    """Start munged."""
    return subprocess.Popen(
        ["chroot", "--userspec=munge", str(root), "munged", "--force", "--foreground"], stderr=subprocess.DEVNULL
    )


def configured(root: Path, files: Mapping[str, str], names: Iterable[str], *, newest: bool, run: bool = False) -> None:
    """Write Slurm's configuration: the exported files, and what a cluster has of its own. With ``run`` each node gets a port of its own."""
    folder = root / "etc/slurm"
    shutil.rmtree(folder)
    folder.mkdir()
    host = socket.gethostname().partition(".")[0]
    (root / "etc/hosts").write_text(
        f"127.0.0.1 localhost\n{ADDRESS} {host}\n" + "".join(f"{ADDRESS} {name}\n" for name in names)
    )
    for name, text in files.items():
        if name == ("topology.conf" if newest else "topology.yaml"):
            continue
        (folder / name).write_text(text)
        (folder / name).chmod(0o755 if name.endswith(".sh") else 0o644)
    nodes = (folder / "nodes.conf").read_text()
    if run:  # all nodes are on this machine: each gets a port, and no GPU's library is here to find GPUs with
        (folder / "gres.conf").write_text("Name=gpu Type=h100 File=/srv/gpu[0-7]\n")
        for number in range(8):
            (root / f"srv/gpu{number}").touch()
        count = 0

        def placed(match: re.Match[str]) -> str:
            nonlocal count
            first = 17001 + count
            count += 2
            return f"{match[0]} NodeHostname={host} NodeAddr={ADDRESS} Port=[{first}-{first + 1}]"

        nodes = re.sub(r"(?m)^NodeName=\S+", placed, nodes)
        (folder / "nodes.conf").write_text(nodes)
    text = CONF.format(
        host=host,
        address=ADDRESS,
        cpus=os.cpu_count() if run else 96,
        topology="" if newest else "TopologyPlugin=topology/tree",
        tree=" Topology=tree" if newest else "",
        block=_blocks(files["topology.yaml"]) if newest else "",
    )
    (folder / "slurm.conf").write_text(text)
    (root / "var/log/slurm/slurmctld.log").unlink(missing_ok=True)


OF_THE_MACHINE = re.compile(
    r"not responding|Nodes .* not|_slurm_rpc_ping|pmix|High latency|job_state|state save file", re.IGNORECASE
)
"""Errors in slurmctld's log that have other causes: nodes that do not exist here, a library that Debian's package lacks, a first start, a slow machine."""


def _blocks(topology: str) -> str:
    """Return a partition for each block topology, with its nodes."""
    return "\n".join(
        f"PartitionName={entry['topology']} Nodes={','.join(block['nodes'] for block in entry['block']['blocks'])} "
        f"OverSubscribe=FORCE:4 State=UP Topology={entry['topology']}"
        for entry in yaml.safe_load(topology)
        if "block" in entry
    )


def complaints(root: Path) -> list[str]:
    """Return the errors in slurmctld's log, without those of the machine."""
    log = root / "var/log/slurm/slurmctld.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if re.search(r"\b(?:error|fatal):", line) and not OF_THE_MACHINE.search(line)]


def expanded(root: Path, names: str) -> list[str]:
    """Return the names of a host list, as Slurm itself reads it."""
    return inside(root, "scontrol", "show", "hostnames", names).split() if names else []


def shown(root: Path) -> dict[str, list[str]]:
    """Return the nodes below each switch, as ``scontrol show topology`` prints them."""
    text = inside(root, "scontrol", "show", "topology")
    return {
        match[1]: sorted(expanded(root, match[2]))
        for match in re.finditer(r"SwitchName=(\S+) Level=\d+(?: LinkSpeed=\d+)?(?: Nodes=(\S*))?", text)
    }


def designed(network: Network) -> dict[str, list[str]]:
    """Return the servers below each group of the design."""
    groups = tree(network, placements(network))
    return {group.name: sorted(server for deep in walk([group]) for server in deep.servers) for group in walk(groups)}


def loaded(root: Path, *, newest: bool) -> tuple[int, int]:
    """Load every example into slurmctld, and compare; return the numbers of examples and of nodes."""
    examples = nodes = 0
    for path in sorted(EXAMPLES.glob("*.yaml")):
        network = railweave.load(path)
        try:
            files = slurm.files(network)
        except InputError as problem:
            say(f"  {path.stem}: {problem.problems[0].what}")
            continue
        wanted = designed(network)
        names = [place.server for place in placements(network)]
        configured(root, files, names, newest=newest)
        running = [started(root, "slurmctld", "-D", "-c")]
        with ended(running):
            until(
                lambda: "UP" in inside(root, "scontrol", "ping", check=False),
                f"{path.stem}: slurmctld does not answer: {complaints(root)[:5]}",
                120,
            )
            assert shown(root) == wanted, f"{path.stem}: {shown(root)} is not {wanted}"
            assert sorted(inside(root, "sinfo", "-h", "-p", "gpu", "-N", "-o", "%N").split()) == sorted(names)
            gres = set(inside(root, "sinfo", "-h", "-o", "%G").split())
            assert gres == {f"gpu:{place.gpu.lower()}:{place.gpus}" for place in placements(network)}, gres
            wrong = complaints(root)
            assert not wrong, f"{path.stem}: {wrong[:5]}"
        examples += 1
        nodes += len(names)
        say(f"  {path.stem}: {len(names)} nodes, {len(wanted)} switches")
    return examples, nodes


def ran(root: Path) -> dict[str, str]:
    """Run jobs on four slurmd of the example; return what was seen."""
    network = railweave.load(EXAMPLES / f"{RUN}.yaml")
    names = [place.server for place in placements(network)]
    stripes = {place.server: place.stripe for place in placements(network)}
    configured(root, slurm.files(network), names, newest=True, run=True)
    folder = root / "srv/railweave"
    shutil.rmtree(folder, ignore_errors=True)
    railweave.build(EXAMPLES / f"{RUN}.yaml", folder)
    program = root / "usr/local/bin/railweave-host"
    subprocess.run(
        [sys.executable, "-m", "railweave", "host", "zipapp", str(program)], check=True, stdout=subprocess.DEVNULL
    )
    program.chmod(0o755)
    (root / "etc/railweave").mkdir(exist_ok=True)
    seen: dict[str, str] = {}
    running: list[subprocess.Popen[bytes]] = [started(root, "slurmctld", "-D", "-c")]
    with ended(running):
        until(lambda: "UP" in inside(root, "scontrol", "ping", check=False), "slurmctld does not answer")
        for name in names:
            own = f"mount -t tmpfs own {root / 'tmp'} && mount -t tmpfs own {root / 'etc/railweave'} && hostname {name} && exec chroot {root} slurmd -D -N {name} -L /var/log/slurm/{name}.log"
            running.append(
                subprocess.Popen(
                    ["unshare", "--mount", "--uts", "sh", "-c", own],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
        until(
            lambda: inside(root, "sinfo", "-h", "-p", "gpu", "-t", "idle", "-o", "%D", check=False).strip() == "4",
            "the nodes do not come up",
        )
        for stripe in sorted(set(stripes.values())):
            placed = inside(
                root,
                "timeout",
                "60",
                "srun",
                "-N2",
                f"--constraint={stripe}",
                "--gres=gpu:h100:8",
                "sh",
                "-c",
                "echo $SLURMD_NODENAME $SLURM_TOPOLOGY_ADDR",
            )
            assert "railweave: `railweave-host env` failed" in placed, placed
            rows = [line.split() for line in _printed(placed)]
            assert {stripes[node] for node, _ in rows} == {stripe}, placed
            assert all(address.endswith(f"{stripe}.{node}") for node, address in rows), placed
        nodes = _printed(
            inside(root, "timeout", "60", "srun", "-N2", "--switches=1", "sh", "-c", "echo $SLURMD_NODENAME")
        )
        assert len({stripes[node] for node in nodes}) == 1, nodes
        nodes = _printed(
            inside(
                root, "timeout", "60", "srun", "-p", "block", "-N2", "--segment=2", "sh", "-c", "echo $SLURMD_NODENAME"
            )
        )
        assert len({stripes[node] for node in nodes}) == 1, nodes
        seen["placed"] = "2 nodes of one stripe by `--constraint`, by `--switches=1` and by `--segment=2`"
        held = inside(root, "sinfo", "-h", "-o", "%T", "-n", ",".join(names)).split()
        assert set(held) == {"idle"}, f"a server without host.json is not checked, and must not be drained: {held}"
        # From here on one server has its design; this machine is none of it.
        broken = names[2]
        slurmd = next(pid for pid in _pids(f"slurmd -D -N {broken}"))
        subprocess.run(
            [
                "nsenter",
                "--mount",
                "--target",
                str(slurmd),
                "cp",
                str(folder / "hosts" / broken / "host.json"),
                str(root / "etc/railweave/host.json"),
            ],
            check=True,
        )
        job = inside(root, "timeout", "60", "srun", f"--nodelist={broken}", "--immediate=20", "true", check=False)
        until(
            lambda: "drain" in inside(root, "sinfo", "-h", "-n", broken, "-o", "%T"),
            f"the prolog did not drain {broken}: {job}",
            30,
        )
        reason = inside(root, "sinfo", "-h", "-n", broken, "-o", "%E").strip()
        assert reason.startswith("railweave: nic-present "), reason
        seen["prolog"] = reason
        inside(root, "scontrol", "update", f"nodename={broken}", "state=resume")
        until(lambda: "drain" not in inside(root, "sinfo", "-h", "-n", broken, "-o", "%T"), f"{broken} does not resume")
        words = [
            "nsenter",
            "--mount",
            "--uts",
            "--target",
            str(slurmd),
            "chroot",
            str(root),
            "env",
            f"SLURMD_NODENAME={broken}",
            "/etc/slurm/railweave-health.sh",
        ]
        subprocess.run(words, check=True)
        reason = inside(root, "sinfo", "-h", "-n", broken, "-o", "%E").strip()
        assert reason.startswith("railweave: nic-present "), reason
        seen["health"] = reason
        others = [name for name in names if name != broken]
        assert set(inside(root, "sinfo", "-h", "-o", "%T", "-n", ",".join(others)).split()) == {"idle"}
        # The variables of a task: env needs host.json and no hardware.
        inside(root, "mv", "/etc/slurm/railweave-prolog.sh", "/etc/slurm/railweave-prolog.off")
        Path(root / "etc/slurm/railweave-prolog.sh").write_text("#!/bin/sh\nexit 0\n")
        (root / "etc/slurm/railweave-prolog.sh").chmod(0o755)
        inside(root, "scontrol", "update", f"nodename={broken}", "state=resume")
        variables = inside(root, "timeout", "60", "srun", f"--nodelist={broken}", "env")
        host = dict(line.split("=", 1) for line in variables.splitlines() if "=" in line)
        text = (folder / "hosts" / broken / "nccl.env").read_text()
        written = dict(
            line.split("=", 1) for line in text.splitlines() if re.match(r"(?:NCCL|UCX|RAILWEAVE)_\w+=", line)
        )
        differing = {name: (value, host.get(name)) for name, value in written.items() if host.get(name) != value}
        assert not differing, differing
        assert host["LD_LIBRARY_PATH"].endswith("/usr/local/lib")
        seen["variables"] = f"{len(written) + 1} variables of nccl.env in the task"
    return seen


def _printed(text: str) -> list[str]:
    """Return the lines of a job's output, without that of the TaskProlog on a server without host.json."""
    return [line for line in text.splitlines() if not line.startswith("railweave: ")]


def _pids(words: str) -> list[int]:
    done = subprocess.run(["pgrep", "-f", f"^{words}"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in done.stdout.split()]


def parts() -> int:
    """Run everything, in namespaces of its own, and write the table."""
    rows = ["| | |", "|---|---|"]
    for suite in SUITES:
        root = ROOT / "build" / "trials" / f"slurm-{suite}"
        version = inside(root, "slurmctld", "-V").split()[-1]
        newest = suite == SUITES[0]
        say(f"Slurm {version}:")
        with munge(root):
            examples, nodes = loaded(root, newest=newest)
            file = "topology.yaml" if newest else "topology.conf"
            rows.append(
                f"| `{file}`, `nodes.conf` in Slurm {version} | {examples} examples, {nodes:,} nodes: loaded without an error, switches and nodes as designed |"
            )
            if newest:
                seen = ran(root)
                rows.append(f"| four slurmd of {RUN} | {seen['placed']} |")
                rows.append(f"| prolog on a server that differs from its design | drained: `{seen['prolog']}` |")
                rows.append(f"| HealthCheckProgram there | drained: `{seen['health']}` |")
                rows.append("| both on a server without host.json | not drained |")
                rows.append(f"| TaskProlog | {seen['variables']} |")
    for row in rows[2:]:
        say(row)
    put("slurm-trial", rows)
    say("slurm-trial: ok")
    return 0


def main() -> int:
    """Make the root folders, and run the parts in namespaces."""
    if sys.argv[1:] == ["inside"]:
        return parts()
    for suite in SUITES:
        folder = ROOT / "build" / "trials" / f"slurm-{suite}"
        done = subprocess.run(
            [str(Path(__file__).with_name("slurm_root.sh")), str(folder), suite],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            say(f"slurm-trial: cannot run here: {(done.stderr.strip().splitlines() or ['no root folder'])[-1]}")
            return 1
    words = (
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
        "--propagation",
        "private",
        "--",
    )
    return subprocess.run(
        [*words, sys.executable, "-m", "tests.operations.exports.slurm_trial", "inside"], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
