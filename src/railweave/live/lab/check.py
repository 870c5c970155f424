"""The check of a lab as a running network: its devices' answers are compared with the design, as for real devices."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, LabError, Problem
from railweave.live.check import check as live
from railweave.live.check.living import Visibility
from railweave.live.lab import life, slicing
from railweave.live.lab.capture import collect_lab
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.plan import Plan, make_plan
from railweave.model.network.status import present
from railweave.model.state.capture import Capture, LabEntry, read_capture
from railweave.model.state.device_state import Identity
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from railweave.live.check.check import CheckResult
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState


def plan_of(network: Network, capture: Capture) -> Plan:
    """Return the plan of the lab from which a capture was taken: the part of the network that ran, its configurations and timers.

    Raises ``InputError`` if the capture is not of a lab of this network.
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
    criteria: live.Criteria = live.USUAL,
    *,
    servers: bool | None = None,
    progress: Callable[[str], None] = silent,
) -> CheckResult:
    """Query the switches and servers of a fabric file's lab, and compare their answers with the design.

    If ``servers`` is False, the servers are left out; None and True query them. Raises ``LabError`` if the lab is not
    running, ``InputError`` for an unknown id in the criteria.
    """
    with TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        collect_lab(fabric, folder, servers=servers, tables=criteria.all_routes or None, progress=progress)
        with life.attach(fabric)[1] as lab:
            return compared(lab.plan, read_capture(folder), criteria, progress=progress)


def check_capture(
    network: Network,
    capture: Capture,
    criteria: live.Criteria = live.USUAL,
    *,
    progress: Callable[[str], None] = silent,
) -> CheckResult:
    """Compare a capture of a lab with the design. The lab may have run on any machine. ``criteria`` select and adjust the checks.

    Raises ``InputError`` if the capture is not of a lab of this network.
    """
    return compared(plan_of(network, capture), capture, criteria, progress=progress)


def compared(
    plan: Plan,
    capture: Capture,
    criteria: live.Criteria = live.USUAL,
    *,
    configs: dict[str, DeviceConfig] | None = None,
    devices: Collection[str] | None = None,
    progress: Callable[[str], None] = silent,
) -> CheckResult:
    """Compare a capture of a lab with its design.

    ``criteria`` and ``devices`` (the devices to compare; None compares all) are as in ``live.check.check.check``.

    ``configs`` are the configurations that routers run now; None means the configurations with which the lab was started.
    """
    return live.check(
        plan.network,
        capture,
        criteria,
        configs=configs or plan.configs,
        devices=devices,
        visible=IN_A_LAB,
        progress=progress,
    )


def as_in_a_lab(state: DeviceState) -> DeviceState:
    """Return a switch's state without the values of the host machine: release, clock, and the speed of virtual links."""
    interfaces = state.interfaces and {
        name: replace(interface, speed_gbps=None) for name, interface in state.interfaces.items()
    }
    identity = state.identity and Identity(host_name=state.identity.host_name)
    return replace(state, identity=identity, clock=None, interfaces=interfaces)


def server_as_in_a_lab(state: HostState) -> HostState:
    """Return a server's state without the values of the host machine: name, speed of virtual links, GIDs and RDMA devices."""
    interfaces = state.interfaces and {
        name: replace(interface, speed_gbps=None) for name, interface in state.interfaces.items()
    }
    return replace(state, host_name=None, interfaces=interfaces, gids=None, rdma=None)


IN_A_LAB = Visibility(
    as_in_a_lab,
    server_as_in_a_lab,
    {
        "releases": "a router of a lab runs FRR, not the designed release",
        "port-speeds": "links of a lab have no speed",
        "nic-speeds": "links of a lab have no speed",
        "gids": "a lab has no RDMA devices",
        "counters-damaged-frames": "links of a lab damage no frames, and ports of VRFs are in namespaces of their own",
    },
)
"""The states that a lab can report: everything except the listed subjects (kinds of state). FRR's answers lack further values."""
