"""Collectives by ``srun`` on a Slurm of four nodes on this machine, in the trial's root folder: its daemons, its MPI, our program."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.operations.bench.trial import common
from tests.operations.bench.trial.common import FABRIC, collectives, judged, ran, say, stalling, stopped, until

CONF = """ClusterName=trial
SlurmctldHost={host}({address})
SlurmUser=root
AuthType=auth/munge
MpiDefault=pmix
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
ReturnToService=2
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd/%n
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd-%n.pid
SlurmctldLogFile=/var/log/slurm/slurmctld.log
TopologyPlugin=topology/tree
NodeName=node-[01-04] NodeHostname={host} NodeAddr={address} Port=[17001-17004] CPUs=2 State=UNKNOWN
PartitionName=gpu Nodes=ALL Default=YES OverSubscribe=FORCE:4 State=UP
"""
TOPOLOGY = """SwitchName=stripe1 Nodes=node-[01-02]
SwitchName=stripe2 Nodes=node-[03-04]
SwitchName=spine Switches=stripe[1-2]
"""
ADDRESS = "10.255.0.1"
"""Of all nodes. Slurm does not listen where there is no address but loopback's."""
NODES = ("node-01", "node-02", "node-03", "node-04")


def _inside(root: Path, *words: str, check: bool = True) -> str:
    return subprocess.run(["chroot", str(root), *words], check=check, capture_output=True, text=True).stdout


@contextmanager
def slurm(root: Path) -> Generator[None]:
    """The daemons, in the namespaces of this process."""
    for one in ("proc", "dev", "tmp", "sys"):
        subprocess.run(["mount", "--rbind", f"/{one}", str(root / one)], check=True)
    for words in ("link set lo up", f"addr add {ADDRESS}/32 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    for one in ("etc/slurm", "var/spool/slurmctld", "var/spool/slurmd", "var/log/slurm", "run/munge"):
        (root / one).mkdir(parents=True, exist_ok=True)
    host = socket.gethostname().partition(".")[0]
    hosts = root / "etc/hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{ADDRESS} {host}\n")
    for library in root.glob("usr/lib/*/pmix2/lib/libpmix.so.2"):
        # Slurm's plugin opens it by the name that Debian has in libpmix-dev alone.
        if not library.with_name("libpmix.so").exists():
            library.with_name("libpmix.so").symlink_to(library.name)
    (root / "etc/slurm/slurm.conf").write_text(CONF.format(host=host, address=ADDRESS))
    (root / "etc/slurm/topology.conf").write_text(TOPOLOGY)
    if not (root / "etc/munge/munge.key").exists():
        _inside(root, "mungekey", "-c")
    _inside(
        root,
        "sh",
        "-c",
        "chown munge /run/munge /var/log/munge /var/lib/munge /etc/munge/munge.key; chmod 400 /etc/munge/munge.key",
    )
    running = [subprocess.Popen(["chroot", "--userspec=munge", str(root), "munged", "--force", "--foreground"])]
    try:
        until(
            lambda: "Success" in _inside(root, "sh", "-c", "munge -n | unmunge", check=False), "munge does not answer"
        )
        running.append(
            subprocess.Popen(
                ["chroot", str(root), "slurmctld", "-D", "-c"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        )
        for name in NODES:
            # Each has a /tmp and a name of its own: as on one machine, ranks of two nodes would take the same files of PMIx.
            own = f"mount -t tmpfs own {root / 'tmp'} && hostname {name} && exec chroot {root} slurmd -D -N {name}"
            words = ["unshare", "--mount", "--uts", "sh", "-c", f"{own} -L /var/log/slurm/{name}.log"]
            running.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        until(
            lambda: _inside(root, "sinfo", "-h", "-t", "idle", "-o", "%D", check=False).strip() == "4",
            "the nodes do not come up",
        )
        yield
    finally:
        for one in reversed(running):
            one.terminate()
        for one in running:
            one.wait(30)


def tried(root: Path, work: Path) -> dict[str, object]:
    """Everything; gives the figures."""
    plan, store, tools = work / "plan.json", work / "runs.db", work / "bin"
    planned = collectives(FABRIC, plan)
    tools.mkdir()
    (tools / "srun").write_text(f'#!/bin/sh\nexec chroot {root} /usr/bin/srun "$@"\n')
    (tools / "srun").chmod(0o755)
    # All nodes have the one address, on loopback, which Open MPI leaves out unless it is named.
    os.environ |= {
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl": "tcp,self",
        "OMPI_MCA_btl_tcp_if_include": f"{ADDRESS}/32",
    }
    os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
    with slurm(root):
        line = [
            "bench",
            "run",
            plan,
            "--store",
            store,
            "--launcher",
            "srun",
            "--nccl-tests",
            "/srv/trial",
            "--no-host-check",
        ]
        common.compiled(root / "srv/trial")
        begin = time.monotonic()
        out = ran(*line, "--ranks", "env", good=(0, 1))
        say(out.strip())
        for one in common.runs(store).values():
            if one.failures:
                say(Path(one.file).read_text()[-1500:])
        took = time.monotonic() - begin
        times = judged(planned, store)
        for one in planned:
            found = common.runs(store)[one.name]
            text = Path(found.file).read_text()
            assert "# Collective test concluded" in text
            say(f"  {one.name}: {found.ranks} ranks, {times[one.name]:,.0f} us")
        stopped(line, planned[-2].name, store, Path("/srv/trial", stalling(root / "srv/trial/stalling").name))
        version = _inside(root, "/usr/bin/srun", "--version").split()[-1]
        return {"took_s": took, "runs": len(planned), "times_us": times, "slurm": version}


def main() -> int:
    """Run in namespaces of its own: ``over_slurm ROOT OUT``. The folder is below /tmp, which is /tmp inside too."""
    with TemporaryDirectory() as folder:
        common.told(Path(sys.argv[2]), tried(Path(sys.argv[1]), Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
