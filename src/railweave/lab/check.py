"""A lab as a living network: its routers are asked and compared as switches are."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.collect.access_file import read_access
from railweave.collect.collect import collect
from railweave.collect.plan import plan
from railweave.errors import LabError
from railweave.lab import life
from railweave.lab.asking import opener
from railweave.live import check as live
from railweave.state.capture import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.expect.model import Keys
    from railweave.live.check import Checked
    from railweave.state.device_state import DeviceState


def check(
    fabric: Path,
    *,
    only: Sequence[str] = (),
    all_routes: bool = False,
    line: Callable[[Keys], tuple[str, int]] = lambda _: ("", 0),
    progress: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Ask the routers of the lab of a fabric file, and compare what they say with what must hold on them.

    A lab has no modules and no LLDP, and its links have no speed: nothing is said of those. Raises ``LabError`` where the lab
    is not up, ``InputError`` for an unknown id in ``only``.
    """
    if os.geteuid() != 0:
        raise LabError(f"a lab's routers are asked as root: run `sudo railweave check {fabric} --lab`")
    record, running = life.attach(fabric)
    network, configs = running.plan.network, running.plan.configs
    with running, TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        access = read_access(None)
        asked = plan(network, access, tables=all_routes, nos=next(iter(configs.values())).nos)
        collect(
            network,
            asked,
            access,
            folder,
            progress=progress,
            open_by=opener(running.place, record.frr_root),
        )
        return live.check(
            network,
            read_capture(folder),
            only=only,
            all_routes=all_routes,
            configs=configs,
            seen=_as_in_a_lab,
            line=line,
            progress=progress,
        )


def _as_in_a_lab(state: DeviceState) -> DeviceState:
    """A state without what is this machine's rather than the switch's: its name and release, and the speed of virtual links."""
    interfaces = state.interfaces and {name: replace(one, speed_gbps=None) for name, one in state.interfaces.items()}
    return replace(state, identity=None, interfaces=interfaces)
