"""What may reach a router itself: its ``nftables.conf``, loaded in its network namespace and in those of its VRFs."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import entered
from railweave.live.lab.kernel.spaces import spaces_of
from railweave.live.lab.names import namespace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from railweave.live.lab.state import Place
    from railweave.model.device.model import DeviceConfig

FILE = "nftables.conf"

WITHOUT = "routers are not protected here (`management.security.control_plane`): the nft command is not there; install nftables"


def load(place: Place, configs: Iterable[DeviceConfig], progress: Callable[[str], None]) -> None:
    """Load the file of every router that has one; where nft is missing, say so and go on without.

    Raises ``LabError`` with the words of nft where it takes no file of ours.
    """
    for config in configs:
        path = place.router(config.name) / "etc/frr" / FILE
        if not path.exists():
            continue
        nft = shutil.which("nft")
        if nft is None:
            progress(WITHOUT)
            return
        for space in spaces_of(config):
            with entered(namespace(place.lab, space)):
                done = subprocess.run([nft, "-f", str(path)], capture_output=True, text=True, check=False)  # noqa: S603
            if done.returncode:
                raise LabError(f"{config.name}: nft does not take {FILE}: {done.stderr.strip()[:300]}")
