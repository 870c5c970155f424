"""Enterprise SONiC Distribution by Dell Technologies: commands for its ``sonic-cli``.

``prepare.cli`` has what takes effect in a new session or restarts the switch, and so comes once and first; ``sonic.cli`` has the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import flat, line, merge
from railweave.systems.dell_sonic.render.access import spanning_tree
from railweave.systems.dell_sonic.render.control_plane import control_plane
from railweave.systems.dell_sonic.render.gaps import gaps
from railweave.systems.dell_sonic.render.interfaces import anycast, breakouts, interfaces
from railweave.systems.dell_sonic.render.qos import balancing, qos
from railweave.systems.dell_sonic.render.routing import routing
from railweave.systems.dell_sonic.render.system import identity, services, tunnel
from railweave.systems.dell_sonic.tree import LOSSLESS_BUFFERS, parse, to_text
from railweave.systems.sonic.render.qos import lossless

if TYPE_CHECKING:
    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig

__all__ = ["check_extra", "files", "gaps", "lines", "tree"]


def tree(config: DeviceConfig) -> list[Section]:
    """The commands of a device, the operator's own merged in. Raises ``RenderError`` where those cannot be read."""
    sections = [
        *identity(config),
        *services(config),
        *breakouts(config),
        *qos(config),
        *balancing(config),
        *anycast(config),
        *spanning_tree(config),
        *control_plane(config),
        *interfaces(config),
        *tunnel(config),
        *routing(config),
    ]
    merge(sections, parse(config.extra))
    return sections


def prepare(config: DeviceConfig) -> list[Section]:
    """Commands that come first: names of ports take effect in the next session; lossless buffers restart the switch."""
    wanted = [line("interface-naming standard")]
    if config.qos is not None and lossless(config.qos):
        wanted.append(line(LOSSLESS_BUFFERS))
    return wanted


def files(config: DeviceConfig) -> dict[str, str]:
    """``prepare.cli`` and ``sonic.cli``."""
    return {"prepare.cli": to_text(prepare(config)), "sonic.cli": to_text(tree(config))}


def lines(config: DeviceConfig) -> list[str]:
    """Every command with the sections above it."""
    return flat([*prepare(config), *tree(config)])


def check_extra(text: str) -> None:
    """Raises ``RenderError`` with the line where the operator's own commands cannot be read."""
    parse(text)
