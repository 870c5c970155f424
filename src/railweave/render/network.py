"""Render every switch of a network for every system it is wanted for, and every server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.device.build import device_config
from railweave.device.host import host_configs
from railweave.render import host, renderer
from railweave.render.host.cluster import cluster_files
from railweave.render.workers import spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.design.network import Network, Switch
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding

EMULATION = "frr"
"""Every switch also gets the configuration of its emulation, which the lab runs."""


def targets(switch: Switch) -> tuple[str, ...]:
    """The systems a switch is rendered for: its own, and the emulation's."""
    return tuple(dict.fromkeys((switch.nos, EMULATION)))


def render_network(network: Network, own: Mapping[str, DeviceConfig]) -> tuple[dict[str, str], list[Finding]]:
    """Text by path (``devices/<device>/<file>``), and what the targets cannot express.

    ``own`` holds the configuration of every switch for its own system; those of the emulation are worked out here.
    Secrets stand as references, ``<secret:NAME>``.
    """

    def render(name: str) -> tuple[dict[str, str], list[Finding]]:
        switch = network.switch(name)
        files: dict[str, str] = {}
        gaps: list[Finding] = []
        for target in targets(switch):
            config = own[name] if target == switch.nos else device_config(network, name, target)
            gaps += renderer(target).gaps(config)
            files |= {f"devices/{name}/{file}": text for file, text in renderer(target).files(config).items()}
        return files, gaps

    rendered = spread(render, [switch.name for switch in network.switches])
    return {path: text for files, _ in rendered for path, text in files.items()}, [g for _, gs in rendered for g in gs]


def render_hosts(network: Network) -> dict[str, str]:
    """Text by path: ``hosts/<server>/<file>``, and ``hosts/<file>`` for what all servers share."""
    configs = host_configs(network)
    files = {f"hosts/{name}": text for name, text in cluster_files(network, configs).items()}

    def render(name: str) -> dict[str, str]:
        return {f"hosts/{name}/{file}": text for file, text in host.files(configs[name]).items()}

    for one in spread(render, list(configs)):
        files |= one
    return files
