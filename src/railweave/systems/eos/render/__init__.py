"""Rendering of Arista EOS: ``eos.conf``, a running configuration, and ``avd.json``, the same configuration in the data model of Arista's AVD.

The two files are computed separately, so that AVD's generator can check one against the other (docs/folder.md#outside-validators).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, flat, merge, parse
from railweave.systems.eos.avd import structured_config
from railweave.systems.eos.meaning.bgp import routing_of
from railweave.systems.eos.meaning.policy import policies_of
from railweave.systems.eos.render import routing
from railweave.systems.eos.render.gaps import gaps
from railweave.systems.eos.render.keys import macsec
from railweave.systems.eos.render.management import control_plane, management, management_port
from railweave.systems.eos.render.ports import interfaces
from railweave.systems.eos.render.qos import balancing, class_of_service
from railweave.systems.eos.statements.bgp import ROUTING
from railweave.systems.eos.statements.policy import POLICIES
from railweave.systems.eos.tree import to_text

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig

__all__ = ["check_extra", "files", "gaps", "lines", "tree"]


def tree(config: DeviceConfig) -> list[Section]:
    """Return the configuration of a device, with the operator's own lines merged in.

    Raises ``RenderError`` if the operator's lines cannot be read.
    """
    sections = [
        *management(config),
        *routing.routing(config),
        *macsec(config),
        *routing.instances(config),
        *class_of_service(config),
        *interfaces(config),
        *management_port(config),
        *routing.tunnels(config),
        *routing.shared_gateways(config),
        *balancing(config),
        *(section for policies in policies_of(config) for section in POLICIES.printed(policies)),
        *control_plane(config),
        *ROUTING.printed(routing_of(config)),
        *routing.router_isis(config),
    ]
    if config.extra.strip():
        merge(sections, parse(config.extra))
    return sections


def files(config: DeviceConfig) -> dict[str, str]:
    """Return the texts of ``eos.conf`` and ``avd.json``, by file name."""
    return {"eos.conf": to_text(tree(config)), "avd.json": json.dumps(structured_config(config), indent=1) + "\n"}


def lines(config: DeviceConfig) -> list[str]:
    """Return every statement as its parent headers and the line, joined by `` / ``, for example ``interface Ethernet1 / mtu 9214``."""
    return flat(tree(config))


def check_extra(text: str) -> None:
    """Raise ``RenderError`` if the operator's lines cannot be read."""
    parse(text)
