"""Rendering of every server, and of every switch for each operating system that is needed."""

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
"""The system that the lab runs in place of systems without an ``frr.conf``."""


def targets(switch: Switch) -> tuple[str, ...]:
    """Return the systems for which a switch is rendered: its own, and the system that the lab runs in its place, if different."""
    return tuple(dict.fromkeys((switch.nos, emulation(switch))))


def emulation(switch: Switch) -> str:
    """Return the system whose ``frr.conf`` the lab runs for a switch."""
    return switch.nos if catalog().systems[switch.nos].frr_conf else EMULATION


def switch_configs(network: Network, config: DeviceConfig) -> list[DeviceConfig]:
    """Return the configurations of a switch, one for each system in ``targets``. ``config`` is the configuration for the switch's own system."""
    wanted = targets(network.switch(config.name))
    return [config if target == config.nos else device_config(network, config.name, target) for target in wanted]


def switch_files(config: DeviceConfig) -> dict[str, str]:
    """Return the rendered files of a configuration by path (``devices/<device>/<file>``). Each secret is a placeholder ``<secret:NAME>``."""
    return {f"devices/{config.name}/{file}": text for file, text in system(config.nos).files(config).items()}


def config_file(config: DeviceConfig) -> dict[str, str]:
    """Return the file ``config.json`` of a switch by path. Its format is the same for every system, and it never contains secrets."""
    return {f"devices/{config.name}/{CONFIG_FILE}": to_json(config)}


def switch_gaps(configs: Sequence[DeviceConfig]) -> list[Finding]:
    """Return findings about features in these configurations that the configuration's operating system cannot express."""
    return [gap for config in configs for gap in system(config.nos).gaps(config)]


def server_files(config: HostConfig) -> dict[str, str]:
    """Return the texts of a server's files, by path: ``hosts/<server>/<file>``."""
    return {f"hosts/{config.name}/{file}": text for file, text in host.files(config).items()}


def shared_files(network: Network) -> dict[str, str]:
    """Return the texts of the files that all servers share, by path: ``hosts/<file>``."""
    return {f"hosts/{name}": text for name, text in cluster_files(network).items()}


def render_network(network: Network, by_switch: Mapping[str, DeviceConfig]) -> tuple[dict[str, str], list[Finding]]:
    """Return (texts of every switch's files by path, findings about features that the operating systems cannot express).

    ``by_switch`` has the configuration of every switch for its own system.
    """

    def render(name: str) -> tuple[dict[str, str], list[Finding]]:
        configs = switch_configs(network, by_switch[name])
        files = {path: text for config in configs for path, text in switch_files(config).items()}
        return files | config_file(by_switch[name]), switch_gaps(configs)

    rendered = spread(render, [switch.name for switch in network.switches])
    return {path: text for files, _ in rendered for path, text in files.items()}, [g for _, gs in rendered for g in gs]


def render_hosts(network: Network) -> dict[str, str]:
    """Return the files of every server, and the files that servers share."""
    files = shared_files(network)
    names = [server.name for server in network.servers]
    for texts in spread(lambda name: server_files(host_config(network, name)), names):
        files |= texts
    return files
