"""The running lab of a fabric file, as a site: a network whose devices can be queried and changed."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np

from railweave.counting import counted
from railweave.errors import LabError
from railweave.live.collect.access_file import AccessFile, read_access
from railweave.live.collect.plan import plan
from railweave.live.fleet.running import Fleet, fleet_of
from railweave.live.lab import life, slicing, state
from railweave.live.lab.capture import changer, opener
from railweave.live.lab.check import IN_A_LAB
from railweave.live.lab.faults.kinds import effect
from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import queue_pairs, spread
from railweave.live.lab.frr import held_sessions, rootfs, routers
from railweave.live.lab.kernel.processes import alive
from railweave.live.lab.names import namespace
from railweave.live.lab.plan import make_plan
from railweave.live.reach.change_session import opened as opened_to_change
from railweave.live.reach.command import Command
from railweave.live.reach.failure import ReachError
from railweave.live.reach.opening import opened as opened_to_ask
from railweave.live.site.protocol import PacketLoss
from railweave.live.site.site import RunningDevices, Site, listed
from railweave.model.network.devices import InactivePart
from railweave.model.network.status import present, reachable
from railweave.outputs.rendering.host.host_json import host_json
from railweave.reading import file_text
from railweave.systems.transaction import RefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Mapping

    from railweave.design.fault_targets import FaultTarget
    from railweave.live.fleet.running import Machine
    from railweave.live.lab.running import Running
    from railweave.live.reach.target import Target
    from railweave.model.network.model import Network
    from railweave.systems.installation import Image


_END_S = 20.0
"""The seconds that daemons may take to end."""


@dataclass(frozen=True)
class Router:
    """A router of a lab, as a device whose release can be changed (``operations.deploy.upgrading``)."""

    lab: Running
    device: str

    async def boot(self) -> str:
        """Return a text that changes at each start: process id and start time of zebra. Raises ``ReachError`` if zebra does not run."""
        pid = routers.daemon_pid(self.lab.place, self.device, "zebra")
        if pid is None:
            raise ReachError("unreachable", f"no zebra of {self.device} runs")
        began = file_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[19]
        return f"zebra {pid} {began}"

    async def install(self, image: Image) -> None:
        """Record the root folder ``image`` from which the router's daemons start next time.

        Raises ``RefusedError`` if the folder does not hold FRRouting of the image's release.
        """
        try:
            frr = rootfs.given(Path(image.source))
        except LabError as error:
            raise RefusedError(str(error)) from None
        if not frr.version.startswith(image.release):
            raise RefusedError(f"{image.source} holds FRR {frr.version}, not {image.release}")
        routers.write_root(self.lab.place, self.device, frr)

    async def restart(self) -> None:
        """Stop the router's daemons, and start them from the recorded root folder. Raise RefusedError if they do not start."""
        try:
            await asyncio.to_thread(again, self.lab, self.device)
        except LabError as error:
            raise RefusedError(str(error)) from None


def again(lab: Running, device: str) -> None:
    """Restart the daemons of a router with its saved configuration. Raises ``LabError`` if a daemon does not end."""
    place, config = lab.place, lab.plan.configs[device]
    pids = [pid for daemon in rootfs.DAEMONS if (pid := routers.daemon_pid(place, device, daemon)) is not None]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    end = monotonic() + _END_S
    while any(alive(pid) for pid in pids):
        if monotonic() > end:
            raise LabError(f"{device}: its daemons have not ended after {_END_S:g} s")
        sleep(0.05)
    frr = routers.frr_of(place, lab.frr, device)
    for folder in routers.FOLDERS:
        for path in (place.router(device) / folder, *(place.router(device) / folder).rglob("*")):
            if not path.is_symlink():
                shutil.chown(path, frr.user, frr.group)
    routers.start(place, lab.frr, [config], lambda _: None)
    routers.solicit(place, [config])


FLOWS = 128
"""The largest number of queue pairs that send packets. If there are more, they are taken from the list of all queue pairs at equal distances."""


class LabTraffic:
    """A sender of test packets between the servers of a lab. The packets look like those of queue pairs. The object can also start faults."""

    def __init__(self, lab: Running) -> None:
        self._lab = lab
        self._open = ExitStack()
        self._prober: Prober | None = None

    def start(self, seconds: float) -> None:
        """Start sending packets, in a separate process, until ``stop`` is called. ``seconds`` is ignored."""
        del seconds
        pairs, _ = queue_pairs(self._lab, self._lab.control_plane.routes())
        self._prober = self._open.enter_context(Prober(self._lab, spread(pairs, FLOWS)))

    def stop(self) -> PacketLoss:
        """Stop sending, and return the numbers of packets that were sent and lost."""
        assert self._prober is not None  # noqa: S101 - `start` was called
        with self._open.pop_all():
            probed = self._prober.stop()
        lost = ~probed.arrived
        longest = 0
        for row in lost:
            edges = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
            longest = max(longest, int((edges[1::2] - edges[::2]).max(initial=0)))
        return PacketLoss(lost.size, int(lost.sum()), longest * self._prober.interval_s)

    def drop(self) -> None:
        """End the sending process without a result."""
        self._open.close()

    def broken(self, target: FaultTarget) -> Callable[[], None]:
        """Start the fault ``target`` in the same way as ``lab fault``, and return the function that ends the fault."""
        made = effect(self._lab, target)
        made.begin()
        return made.end

    def released(self, seconds: float) -> str:
        """Wait at most ``seconds`` until every kernel forwards as designed, and release sessions that FRR does not restore.

        Return a sentence with the number of released sessions; empty if there were none.
        """
        before = len(self._lab.released)
        held_sessions.wait_and_release(self._lab, self._lab.control_plane.routes(), seconds)
        count = len(self._lab.released) - before
        return f"FRR did not take back {counted(count, 'session')} by itself" if count else ""

    def close(self) -> None:
        """Close the sockets in the lab's namespaces."""
        self._lab.close()


RARELY_S = 10.0
"""The seconds between two queries of a lab's router for state that changes rarely. The interval is short, because lab queries are cheap."""


def lab_devices(fabric: Path, *, only: Collection[str] = (), servers: bool | None = None) -> RunningDevices:
    """Return the devices of a running lab, with its servers unless ``servers`` is False. Raises ``LabError`` if the lab is not running.

    ``only`` names the devices to keep; empty keeps all.
    """
    running = life.attach(fabric)[1]
    asked = plan(running.plan.network, read_access(None), only=only, servers=servers is not False, nos=_system(running))
    return RunningDevices(
        network=running.plan.network,
        configs=running.plan.configs,
        asked={device.target.name: device for device in asked},
        ask_by=opener(running),
        visible=IN_A_LAB,
        rarely_s=RARELY_S,
    )


class LabServer:
    """A server of a running lab, as a machine on which ``railweave host`` can run. Commands run in the server's namespace."""

    def __init__(self, lab: Running, name: str, limit_s: float) -> None:
        # Unlike nsenter, this mounts /sys of the namespace, which has the server's NICs (ip-netns(8)).
        self._command = Command({"": ["ip", "netns", "exec", namespace(lab.place.lab, name)]}, limit_s)

    async def run(self, line: str) -> tuple[int, str, str]:
        """Run a line of shell, and return its exit status, output and error output."""
        return await self._command.ran(f"sh -c {shlex.quote(line)}")

    async def put(self, files: Mapping[str, bytes]) -> None:
        """Write files on the server: content by path. All servers of a lab have the file system of this machine."""
        for path, content in files.items():
            await asyncio.to_thread(Path(path).write_bytes, content)


LAB_CHECKS = ("network", "link-carrier", "link-mtu")
"""The checks that a server of a lab can pass.

Such a server has links, addresses, tables and a firewall, but no RDMA devices, and its ports have no speed.
"""


def fleet(fabric: Path, hosts: str | None) -> Fleet:
    """Return the servers of a running lab as machines on which ``railweave host`` can run.

    ``hosts`` selects servers as a list such as ``H100-[01-04]``; None means all servers of the lab. Raises ``LabError`` if the
    lab is not running, and ``InputError`` for an unknown server or an invalid list.
    """
    running = life.attach(fabric)[1]

    @asynccontextmanager
    async def opened(target: Target) -> AsyncGenerator[Machine]:
        yield LabServer(running, target.name, target.answer_s)

    known = fleet_of(running.plan.network, read_access(None), hosts)
    return replace(known, configs=running.plan.hosts, open_by=opened, checks=LAB_CHECKS, rdma=False)


_LACKING = "the lab was brought up without it, so its cables and its ports of leaves are not in this plan: take the lab down, and bring it up with it"


def site(fabric: Path, network: Network, access: AccessFile | None = None) -> Site:
    """Return the network's lab as a site, without the servers that the lab lacks.

    If ``access`` is given, the devices in it are reached by SSH. Raises ``LabError`` if the lab is not running, or lacks
    switches of the network.
    """
    record, running = life.attach(fabric)
    whole = present(reachable(network))
    part = slicing.sliced(whole, slicing.parse(record.slice)) if record.slice else whole
    lacking = [server.name for server in part.servers if server.name not in record.devices]
    if lacking:
        planned = (InactivePart(name, "planned") for name in lacking)
        part = present(replace(part, not_active=(*part.not_active, *planned)))
    wanted = make_plan(part, record.timers())
    if missing := [name for name in wanted.devices() if name not in record.devices]:
        raise LabError(f"the lab was brought up without {', '.join(missing)}: take it down, and bring it up with them")
    nos = _system(running)
    known = access or read_access(None)
    asked = {device.target.name: device for device in plan(part, read_access(None), nos=nos)}
    lab_site = Site(
        network=part,
        configs=wanted.configs,
        asked=asked,
        ask_by=opener(running),
        visible=IN_A_LAB,
        change_by=changer(running, wanted.configs),
        at_once=16,
        attempts=1,
        servers={name: known.target(name, "server", "", name, ("ssh",)) for name in wanted.hosts},
        host_file=lambda name: host_json(wanted.hosts[name]),
        former=lambda name, protocol: known.target(name, "", nos, name, (protocol,)),
        remember=lambda: state.write(running.place, record, part),
        machine=lambda name: Router(running, name),
        emulation=LabTraffic(running),
        lacking=dict.fromkeys(lacking, _LACKING),
    )
    if access is None:
        return lab_site
    return replace(  # the file may name machines that this design does not have
        lab_site,
        asked={
            name: replace(
                device, target=access.target(name, part.switch(name).role, nos, name, device.target.protocols)
            )
            for name, device in asked.items()
        },
        ask_by=opened_to_ask,
        change_by=opened_to_change,
        at_once=access.access.at_once,
        attempts=access.access.attempts,
        former=listed(access),
    )


def _system(lab: Running) -> str:
    """Return the operating system of a lab's routers. All routers of a lab run the same system."""
    return next(iter(lab.plan.configs.values())).nos
