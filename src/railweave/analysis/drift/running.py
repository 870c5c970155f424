"""The running configurations in a capture (a folder of device outputs), which replace the designed configurations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.analysis.checks.devices import DeviceCheck, Texts, saved
from railweave.analysis.checks.subject import Subject
from railweave.errors import FileLine, InputError, Problem
from railweave.model.device.build import device_config
from railweave.model.state.capture import read_capture
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


def running_configs(
    network: Network, captured: Mapping[str, Texts], configs: dict[str, DeviceConfig] | None = None
) -> dict[str, DeviceConfig]:
    """Return the configuration of every switch: the captured configuration, or the designed configuration if none was captured.

    If ``configs`` is given, it replaces the network's designed configurations, for example in a lab. Raises ``InputError`` if a
    captured configuration cannot be read.
    """
    designed = Subject.of(network).configs if configs is None else configs
    return designed | {name: state.config for name, state in running_states(designed, captured).items() if state.config}


def running_states(
    designed: Mapping[str, DeviceConfig],
    captured: Mapping[str, Texts],
    known: Mapping[str, DeviceCheck] | None = None,
) -> dict[str, DeviceCheck]:
    """Compare each switch that has captured files with the design. Return the comparisons, without causes of differences, by switch.

    ``designed`` holds the designed configurations, and ``captured`` the captured files by switch. ``known`` holds the comparisons of
    switches that were compared before. Raises ``InputError`` if a configuration cannot be read.
    """
    before = {name: state for name, state in (known or {}).items() if name in captured}
    new = {name: texts for name, texts in captured.items() if name not in before}
    states = before | (saved(designed, new, why=False) if new else {})
    unreadable = [finding for stands in states.values() for finding in stands.unreadable]
    if unreadable:
        raise InputError(
            [
                Problem(FileLine(finding.file, finding.line), finding.what, "save the file from the device again")
                for finding in unreadable
            ]
        )
    return states


def captured_texts(network: Network, capture: Path | str) -> dict[str, dict[str, str]]:
    """Return the configuration files of each switch in a capture (a folder of device outputs), by switch and path.

    Servers are left out.
    """
    capture_files = read_capture(Path(capture))
    files = {
        switch.name: tuple(system(switch.nos).trees(device_config(network, switch.name))) for switch in network.switches
    }
    servers = {server.name for server in network.servers}
    return {
        name: {str(path): text for path, text in capture_files.configurations(name, files.get(name, ())).items()}
        for name in capture_files.devices
        if name not in servers
    }
