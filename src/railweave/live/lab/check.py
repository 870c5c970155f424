"""A lab as a running network: what its devices say is compared with the design, as the answers of real devices are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, LabError, Problem
from railweave.live.check import check as live
from railweave.live.lab import life, slicing
from railweave.live.lab.asking import ask
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.plan import Plan, make_plan
from railweave.model.network.status import present
from railweave.model.state.capture import Capture, LabEntry, read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from railweave.live.check.check import CheckResult
    from railweave.model.device.expected import Keys
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState


def plan_of(network: Network, capture: Capture) -> Plan:
    """The plan of the lab that a capture is of: its slice of the network, on the systems and with the timers that it had.

    Raises ``InputError`` where it is no lab of this network.
    """
    of = capture.meta.lab or LabEntry()
    try:
        whole = present(network)
        part = slicing.sliced(whole, slicing.parse(of.slice)) if of.slice else whole
        return make_plan(part, None if of.timers is None else Overlay(**of.timers))
    except (InputError, LabError, TypeError) as error:
        fix = "check it against the fabric file that the lab was brought up with"
        message = f"it is of a lab that this network does not have: {error}"
        raise InputError([Problem(FileLine(str(capture.folder)), message, fix)]) from None


def check(
    fabric: Path,
    *,
    only: Sequence[str] = (),
    all_routes: bool = False,
    line: Callable[[Keys], tuple[str, int]] = lambda _: ("", 0),
    progress: Callable[[str], None] = lambda _: None,
) -> CheckResult:
    """Ask the switches and servers of the lab of a fabric file, and compare what they say with what must hold on them.

    Raises ``LabError`` where the lab is not up, ``InputError`` for an unknown id in ``only``.
    """
    with TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        ask(fabric, folder, tables=all_routes, progress=progress)
        with life.attach(fabric)[1] as lab:
            return compared(
                lab.plan, read_capture(folder), only=only, all_routes=all_routes, line=line, progress=progress
            )


def check_capture(
    network: Network,
    capture: Capture,
    *,
    before: Capture | None = None,
    only: Sequence[str] = (),
    all_routes: bool = False,
    line: Callable[[Keys], tuple[str, int]] = lambda _: ("", 0),
    progress: Callable[[str], None] = lambda _: None,
) -> CheckResult:
    """The same with a capture of a network's lab, wherever that was. Raises ``InputError`` where it is no lab of this network."""
    plan = plan_of(network, capture)
    return compared(plan, capture, before=before, only=only, all_routes=all_routes, line=line, progress=progress)


def compared(
    plan: Plan,
    capture: Capture,
    *,
    before: Capture | None = None,
    only: Sequence[str] = (),
    all_routes: bool = False,
    configs: dict[str, DeviceConfig] | None = None,
    devices: Collection[str] | None = None,
    line: Callable[[Keys], tuple[str, int]] = lambda _: ("", 0),
    progress: Callable[[str], None] = lambda _: None,
) -> CheckResult:
    """Compare a capture of a lab with what must hold in it; ``configs`` are what its routers run in place of what it was brought up with.

    ``devices`` are those that are compared where not all are.
    """
    return live.check(
        plan.network,
        capture,
        before=before,
        only=only,
        all_routes=all_routes,
        configs=configs or plan.configs,
        devices=devices,
        seen=as_in_a_lab,
        host_seen=server_as_in_a_lab,
        line=line,
        progress=progress,
    )


def as_in_a_lab(state: DeviceState) -> DeviceState:
    """A switch's state without what is this machine's: its name and release, its clock, and the speed of virtual links."""
    interfaces = state.interfaces and {
        name: replace(interface, speed_gbps=None) for name, interface in state.interfaces.items()
    }
    return replace(state, identity=None, clock=None, interfaces=interfaces)


def server_as_in_a_lab(state: HostState) -> HostState:
    """A server's state without what is this machine's: its name, the speed of virtual links, and RDMA devices."""
    interfaces = state.interfaces and {
        name: replace(interface, speed_gbps=None) for name, interface in state.interfaces.items()
    }
    return replace(state, host_name=None, interfaces=interfaces, gids=None, rdma=None)
