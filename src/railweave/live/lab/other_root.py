"""A router of a lab moved to another FRRouting: its daemons end and start again from another root folder, with the configuration that they saved."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.frr import rootfs, routers
from railweave.live.lab.kernel.processes import alive
from railweave.live.reach.failure import ReachError
from railweave.systems.transaction import RefusedError

if TYPE_CHECKING:
    from railweave.live.lab.running import Running
    from railweave.systems.installation import Image

_END_S = 20.0
"""How long daemons may take to end."""


@dataclass(frozen=True)
class Router:
    """A router of a lab as a machine that is upgraded; see ``operations.deploy.upgrading``."""

    lab: Running
    device: str

    async def boot(self) -> str:
        """The process of its zebra and when that began. Raises ``ReachError`` where it does not run."""
        pid = routers.daemon_pid(self.lab.place, self.device, "zebra")
        if pid is None:
            raise ReachError("unreachable", f"no zebra of {self.device} runs")
        began = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19]
        return f"zebra {pid} {began}"

    async def install(self, image: Image) -> None:
        """Note the folder from which its daemons are started next. Raises ``RefusedError`` where there is no FRRouting of that release."""
        try:
            found = rootfs.given(Path(image.source))
        except LabError as error:
            raise RefusedError(str(error)) from None
        if not found.version.startswith(image.release):
            raise RefusedError(f"{image.source} holds FRR {found.version}, not {image.release}")
        routers.write_root(self.lab.place, self.device, found)

    async def restart(self) -> None:
        """End its daemons, and start them from the folder that was noted."""
        try:
            await asyncio.to_thread(again, self.lab, self.device)
        except LabError as error:
            raise RefusedError(str(error)) from None


def again(lab: Running, device: str) -> None:
    """End the daemons of a router, and start them with the configuration that is saved. Raises ``LabError``."""
    place, config = lab.place, lab.plan.configs[device]
    pids = [pid for one in rootfs.DAEMONS if (pid := routers.daemon_pid(place, device, one)) is not None]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    end = monotonic() + _END_S
    while any(alive(pid) for pid in pids):
        if monotonic() > end:
            raise LabError(f"{device}: its daemons have not ended after {_END_S:g} s")
        sleep(0.05)
    frr = routers.frr_of(place, lab.frr, device)
    for folder in routers.FOLDERS:
        for one in (place.router(device) / folder, *(place.router(device) / folder).rglob("*")):
            if not one.is_symlink():
                shutil.chown(one, frr.user, frr.group)
    routers.start(place, lab.frr, [config], lambda _: None)
    routers.solicit(place, [config])
