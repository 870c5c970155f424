"""A lab that is up: what it was made of, and ways to ask its kernels and daemons."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from railweave.live.lab.frr.vty import Vty
from railweave.live.lab.kernel.netlink import Netlink
from railweave.live.lab.machine import open_more_files
from railweave.live.lab.names import namespace

if TYPE_CHECKING:
    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.live.lab.frr.rootfs import Frr
    from railweave.live.lab.plan import Plan
    from railweave.live.lab.state import Place


class Running:
    """A lab. Close it, or use it as a context: it holds a socket in each namespace that was asked.

    ``released`` names sessions that FRR did not take back by itself (``held_sessions``), ``released_at`` is when that was last done.
    """

    def __init__(self, place: Place, plan: Plan, frr: Frr) -> None:
        open_more_files()
        self.place = place
        self.plan = plan
        self.frr = frr
        self.released: list[str] = []
        self.released_at = float("-inf")
        self._kernels: dict[str, Netlink] = {}
        self._interfaces: dict[str, dict[int, str]] = {}

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets."""
        for one in self._kernels.values():
            one.close()
        self._kernels.clear()

    @cached_property
    def control_plane(self) -> ControlPlane:
        """What the routers should settle on."""
        return self.plan.control_plane()

    def kernel(self, device: str) -> Netlink:
        """The kernel of a switch or server."""
        if device not in self._kernels:
            self._kernels[device] = Netlink(namespace(self.place.lab, device))
        return self._kernels[device]

    def interfaces(self, device: str) -> dict[int, str]:
        """The names of a device's interfaces by index: they stay as the lab made them."""
        if device not in self._interfaces:
            self._interfaces[device] = {index: name for index, (name, _) in self.kernel(device).interfaces().items()}
        return self._interfaces[device]

    def vty(self, device: str, daemon: str) -> Vty:
        """A session with a daemon of a router."""
        return Vty(self.place.router(device) / "run/frr", daemon)
