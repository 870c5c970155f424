"""Designed configurations, replaced by running ones if captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.checks.devices import Texts, saved
from railweave.analysis.checks.subject import Subject
from railweave.errors import FileLine, InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network


def running_configs(
    network: Network, captured: Mapping[str, Texts], configs: dict[str, DeviceConfig] | None = None
) -> dict[str, DeviceConfig]:
    """Return the configuration of every switch: the captured one if there is one, otherwise the designed one.

    ``configs`` are the designed configurations, if those of a lab replace them. Raises ``InputError`` if a configuration cannot be read.
    """
    designed = Subject.of(network).configs if configs is None else configs
    states = saved(designed, captured, why=False)
    unreadable = [finding for stands in states.values() for finding in stands.unreadable]
    if unreadable:
        raise InputError(
            [
                Problem(FileLine(finding.file, finding.line), finding.what, "save it from the device again")
                for finding in unreadable
            ]
        )
    return designed | {name: state.config for name, state in states.items() if state.config}
