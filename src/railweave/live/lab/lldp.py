"""LLDP in a lab: an lldpd for each switch and server, so that cables are compared as on real devices.

lldpd is in the same root folder as FRR, and each lldpd has a separate ``/run`` and ``/etc/lldpd.d``. A lab recognizes
its processes by a mark in their environment, but lldpd overwrites its environment. Therefore each lldpd runs in a
process namespace (pid_namespaces(7)) whose first process keeps the mark. When that process ends, lldpd ends too.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.frr.rootfs import BUILD, Frr
from railweave.live.lab.kernel.namespace import entered
from railweave.live.lab.names import MARK, namespace
from railweave.model.device.bgp import ends_of
from railweave.model.device.port_model import switch_port_names
from railweave.tool_roots import INSIDE
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.live.lab.plan import Plan
    from railweave.live.lab.state import Place

INTERVAL_S = 5
"""Seconds between two announcements of a port.

lldpd also announces a port as soon as the port comes up, and forgets the neighbor of a port that goes down.
"""

DAEMON = Path("usr/sbin/lldpd")

_ENTER = """
mkdir -p "$ROOT/etc/lldpd.d"
mount --bind "$STATE/run" "$ROOT/run"
mount --bind "$STATE/etc" "$ROOT/etc/lldpd.d"
[ "$ROOT" = / ] || mount --bind /proc "$ROOT/proc"
chroot "$ROOT" /usr/sbin/lldpd -d
"""
_ASK = """#!/bin/sh
exec nsenter --mount=/proc/{pid}/ns/mnt --net=/proc/{pid}/ns/net chroot {root} /usr/sbin/lldpcli "$@"
"""

_CONTAINER = """#!/bin/sh
[ "$1 $2 $3" = "exec lldp lldpctl" ] || exit 127
shift 3
exec "$(dirname "$0")/lldpcli" "$@" show neighbors details
"""
"""A script that replaces ``docker`` on a switch. SONiC's command runs in the container of lldpd, but a lab has no containers.

The script runs ``lldpcli`` with details, which prints the same as ``lldpctl`` (lldpctl(8)).
"""


def missing(frr: Frr, suite: str) -> str:
    """Return a sentence if the root folder of ``frr`` has no LLDP, with the command that installs it; empty if it has LLDP.

    ``suite`` is the Debian suite of the root folder.
    """
    if os.environ.get(INSIDE):
        return (
            "no LLDP in this lab, so `check --lab` does not compare cables: lldpd needs root, because it changes users"
        )
    if (frr.root / DAEMON).exists():
        return ""
    how = "apt-get install -y lldpd" if frr.root == Path("/") else f"bash {BUILD} {frr.root} {suite}"
    return (
        f"no LLDP in this lab, so `check --lab` does not compare cables: there is no {frr.root / DAEMON} (sudo {how})"
    )


def start(place: Place, plan: Plan, frr: Frr) -> None:
    """Start an lldpd for every switch and server. Do nothing if the root folder of ``frr`` has no lldpd.

    The function returns at once; LLDP neighbors appear within about a second. ``place`` has the paths of the lab's files, ``frr`` is the
    lab's FRR.
    """
    if missing(frr, ""):
        return
    for device in plan.devices():
        folder = place.lldp(device)
        for name in ("run", "etc"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        write_file(folder / "etc/lab.conf", "\n".join(_lines(plan, device)) + "\n")
        environment = {**os.environ, MARK: place.lab, "ROOT": str(frr.root), "STATE": str(folder)}
        words = ["unshare", "--mount", "--pid", "--fork", "sh", "-euc", _ENTER]
        with (folder / "log").open("wb") as log, entered(namespace(place.lab, device)):
            running = subprocess.Popen(  # noqa: S603 - no shell but our own text
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        running.returncode = 0  # it outlives this process, and is not waited for
        ask = _ASK.format(pid=running.pid, root=shlex.quote(str(frr.root)))
        for name, text in (("lldpcli", ask), ("docker", _CONTAINER)):
            write_file(commands(place, device) / name, text)
            (commands(place, device) / name).chmod(0o755)


def commands(place: Place, device: str) -> Path:
    """Return the folder with programs that query a device's lldpd. It must be the first folder in ``PATH``.

    ``place`` has the paths of the lab's files.
    """
    return place.lldp(device) / "bin"


def configure(place: Place, plan: Plan, device: str) -> None:
    """Set the port names of a device's lldpd again, after some of the ports were created again.

    Raises ``LabError`` if ``lldpcli`` fails. ``place`` has the paths of the lab's files.
    """
    words = [str(commands(place, device) / "lldpcli")]
    lines = "\n".join(_lines(plan, device)) + "\n"
    done = subprocess.run(words, input=lines, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise LabError(f"{device}: lldpcli: {done.stderr.strip()}")


def _lines(plan: Plan, device: str) -> Iterator[str]:
    """Yield a device's lldpd configuration: its name, and its ports as its designed system announces them.

    SONiC announces alias and description. Other systems announce the design's port names, which Linux interfaces cannot have
    (``et-0/0/0:0``).
    """
    network = plan.network
    switches = {switch.name for switch in network.switches}
    yield f"configure system hostname {device}"
    yield "configure lldp portidsubtype ifname"
    yield f"configure lldp tx-interval {INTERVAL_S}"
    for cable in network.cables_of(device):
        interface = plan.interface(device, cable.name)
        if plan.space(device, interface) != device:
            continue  # a port in a tenant's VRF is in another namespace
        end, far, _ = ends_of(cable, device)
        name, alias, description = switch_port_names(network, end, far) if device in switches else (end.port, "", "")
        if alias:
            yield f'configure ports {interface} lldp portidsubtype local "{alias}"'
        yield f'configure ports {interface} lldp portdescription "{description if alias else name}"'
