"""Collectives by ``mpirun`` over a lab: ranks in the namespaces of its servers, messages through its routers, servers reached by OpenSSH.

railweave logs in to the first server of a run, as it does to a real one, and starts the ``mpirun.sh`` of the build folder there; Open MPI logs in
from there to the other servers.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.live.lab import life, logins
from railweave.live.lab.kernel.namespace import RUN
from railweave.live.lab.names import namespace
from railweave.live.lab.overlay import Overlay
from railweave.model.network.model import Network
from tests.conftest import frr_root
from tests.operations.bench.trial import common
from tests.operations.bench.trial.common import OWN, collectives, judged, ran, say, stalling, stopped

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
POOL = "10.0.0.0/8"
NIC = "gpu0_eth"
CONFIG = """HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
ListenAddress {address}
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
SetEnv TMPDIR={folder}/{name} PATH=/usr/local/bin:/usr/bin:/bin
"""
HOST = """Host {name}
  HostName {address}
  User root
  IdentityFile {folder}/key
  HostKeyAlias trial
  UserKnownHostsFile {folder}/known_hosts
"""
OPTIONS = "--mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include {nic} --mca oob_tcp_if_include {nic}"


@contextmanager
def between(network: Network, lab: str, folder: Path) -> Generator[Path]:
    """Let servers log in to each other over the fabric; gives their ssh_config. Each server has a name of its own, and a folder for MPI."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "key")], check=True)
    (folder / "known_hosts").write_text(f"trial {(folder / 'key.pub').read_text()}")
    Path("/run/sshd").mkdir(exist_ok=True)
    running: list[subprocess.Popen[bytes]] = []
    hosts: list[str] = []
    try:
        for server in network.servers:
            nic = server.nics[0]
            address, inside = nic.addresses[0], ["nsenter", f"--net={RUN / namespace(lab, server.name)}"]
            gateway = address.address.rpartition(".")[0] + ".1"
            (folder / server.name).mkdir()
            config = folder / f"{server.name}.conf"
            config.write_text(CONFIG.format(folder=folder, address=address.address, name=server.name))
            # What a server's management network does for ssh and MPI's own messages.
            subprocess.run([*inside, "ip", "route", "replace", POOL, "via", gateway, "dev", nic.netdev], check=True)
            words = [*inside, "unshare", "--uts", "sh", "-c", f"hostname {server.name} && exec {SSHD} -D -f {config}"]
            running.append(subprocess.Popen(words))
            hosts.append(HOST.format(name=server.name, address=address.address, folder=folder))
        found = folder / "ssh_config"
        found.write_text("".join(hosts))
        yield found
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(30)


def script(built: Path, ssh_config: Path, folder: Path) -> Path:
    """The ``mpirun.sh`` of a build folder with other transports: these servers have no UCX over RDMA."""
    text = (built / "hosts" / "mpirun.sh").read_text()
    before, _, rest = text.partition("OPTIONS=(")
    options = f"{OPTIONS.format(nic=NIC)} --mca plm_rsh_agent 'ssh -F {ssh_config}' --oversubscribe"
    found = folder / "mpirun.sh"
    found.write_text(f"{before}OPTIONS=({options}){rest.partition(')')[2]}")
    return found


def tried(work: Path) -> dict[str, object]:
    """Everything; gives the figures."""
    fabric, plan, store, built = work / "fabric.yaml", work / "plan.json", work / "runs.db", work / "out"
    shutil.copy2(OWN / "mpi.yaml", fabric)
    common.compiled(work / "programs")
    ran("build", fabric, "-o", built)
    network = api.load(fabric)
    planned = collectives(fabric, plan)
    try:
        life.up(fabric, network, overlay=Overlay(), frr_root=frr_root())
        record, lab = life.attach(fabric)
        with lab:
            access, name = logins.listen(lab), lab.place.lab
        del record
        with between(network, name, work) as ssh_config:
            line = ["bench", "run", plan, "--store", store, "--access", access, "--nccl-tests", work / "programs"]
            line += ["--mpi-script", script(built, ssh_config, work)]
            begin = time.monotonic()
            out = ran(*line, "--ranks", "env", good=(0, 1))
            say(out.strip())
            took = time.monotonic() - begin
            for one in common.runs(store).values():
                if one.failures:
                    say(Path(one.file).read_text()[-1500:])
            times = judged(planned, store)
            for one in planned:
                found = common.runs(store)[one.name]
                said = [
                    name
                    for name in ("node-01", "node-02", "node-03", "node-04")
                    if name in Path(found.file).read_text()
                ]
                assert tuple(said) == found.hosts, (said, found.hosts)
                say(f"  {one.name}: {found.ranks} ranks, {times[one.name]:,.0f} us")
            stopped([*line, "--no-host-check"], planned[-2].name, store, stalling(work / "stalling"))
            version = dict(common.runs(store)[planned[0].name].environment.versions).get("mpirun", "")
            return {"took_s": took, "runs": len(planned), "times_us": times, "mpi": version}
    finally:
        life.down(fabric)


def main() -> int:
    """``over_mpi OUT``."""
    with TemporaryDirectory() as folder:
        common.told(Path(sys.argv[1]), tried(Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
