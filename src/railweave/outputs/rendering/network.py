"""Render every switch of a network for every system it is wanted for, and every server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.config_file import to_json
from railweave.model.device.host import host_config
from railweave.outputs.rendering import host
from railweave.outputs.rendering.host.cluster import cluster_files
from railweave.systems import system
from railweave.workers import spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.host_model import HostConfig
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.devices import Switch
    from railweave.model.network.model import Network

CONFIG_FILE = "config.json"
EMULATION = "frr"
"""The system that the lab runs in place of one that has no ``frr.conf`` of its own."""


def targets(switch: Switch) -> tuple[str, ...]:
    """The systems a switch is rendered for: its own, and the emulation's where its own is not what the lab runs."""
    return tuple(dict.fromkeys((switch.nos, emulation(switch))))


def emulation(switch: Switch) -> str:
    """The system whose ``frr.conf`` the lab runs for a switch."""
    return switch.nos if catalog().systems[switch.nos].frr_conf else EMULATION


def switch_configs(network: Network, config: DeviceConfig) -> list[DeviceConfig]:
    """The configurations that a switch is rendered from, one a target: ``config``, and the emulation's, worked out here."""
    wanted = targets(network.switch(config.name))
    return [config if target == config.nos else device_config(network, config.name, target) for target in wanted]


def switch_files(config: DeviceConfig) -> dict[str, str]:
    """The files of a target, text by path (``devices/<device>/<file>``). Secrets stand as references, ``<secret:NAME>``."""
    return {f"devices/{config.name}/{file}": text for file, text in system(config.nos).files(config).items()}


def config_file(config: DeviceConfig) -> dict[str, str]:
    """The configuration of a switch as a value, whatever its system; no secret is ever put into it."""
    return {f"devices/{config.name}/{CONFIG_FILE}": to_json(config)}


def switch_gaps(configs: Sequence[DeviceConfig]) -> list[Finding]:
    """Return the findings on features that the targets of a switch cannot express."""
    return [gap for config in configs for gap in system(config.nos).gaps(config)]


def server_files(config: HostConfig) -> dict[str, str]:
    """Text by path: ``hosts/<server>/<file>``."""
    return {f"hosts/{config.name}/{file}": text for file, text in host.files(config).items()}


def shared_files(network: Network) -> dict[str, str]:
    """Text by path of what all servers share: ``hosts/<file>``."""
    return {f"hosts/{name}": text for name, text in cluster_files(network).items()}


def render_network(network: Network, by_switch: Mapping[str, DeviceConfig]) -> tuple[dict[str, str], list[Finding]]:
    """The files of every switch, and what the targets cannot express.

    ``by_switch`` holds the configuration of every switch for its own system.
    """

    def render(name: str) -> tuple[dict[str, str], list[Finding]]:
        configs = switch_configs(network, by_switch[name])
        files = {path: text for config in configs for path, text in switch_files(config).items()}
        return files | config_file(by_switch[name]), switch_gaps(configs)

    rendered = spread(render, [switch.name for switch in network.switches])
    return {path: text for files, _ in rendered for path, text in files.items()}, [g for _, gs in rendered for g in gs]


def render_hosts(network: Network) -> dict[str, str]:
    """The files of every server, and what they share."""
    files = shared_files(network)
    names = [server.name for server in network.servers]
    for texts in spread(lambda name: server_files(host_config(network, name)), names):
        files |= texts
    return files
