"""How the ports of a switch model are split for a speed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import Breakout, SwitchModel
    from railweave.model.intent.topology import PortRange


def parse_breakout(text: str) -> tuple[int, int] | None:
    """``2x400G`` as (channels, Gb/s); None where it is not of that form."""
    match = re.fullmatch(r"(\d+)x(\d+)G", text.strip())
    return (int(match[1]), int(match[2])) if match else None


def breakout_of(model: SwitchModel, ports: PortRange, speed_gbps: int) -> Breakout | None:
    """How the range's ports are split to give the speed: as asked for, else the fewest channels; None: they cannot."""
    group = model.group_of(ports.first or model.ports[0].first)
    modes = group.modes() if group else []
    if ports.breakout is not None:
        wanted = parse_breakout(ports.breakout)
        modes = [mode for mode in modes if (mode.channels, mode.speed_gbps) == wanted]
    return next((mode for mode in modes if mode.speed_gbps == speed_gbps), None)


def link_breakout(model: SwitchModel, ports: PortRange, speed_gbps: int) -> Breakout | None:
    """How the range's ports are split for links of a speed, or of the next lower one that they can do; None: of none.

    A breakout that is asked for is not lowered: it gives the speed or is a mistake.
    """
    mode = breakout_of(model, ports, speed_gbps)
    if mode is not None or ports.breakout is not None:
        return mode
    group = model.group_of(ports.first or model.ports[0].first)
    slower = [mode.speed_gbps for mode in group.modes() if mode.speed_gbps < speed_gbps] if group else []
    return breakout_of(model, ports, max(slower)) if slower else None
