"""The check after each wave's change and before its confirmation: the wave's devices and their neighbors must work as expected.

The expected state follows from the configurations that devices run at that moment, when perhaps only half of the
network has changed. It does not follow from the end of the plan.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from railweave.analysis.drift.running import running_configs
from railweave.analysis.routing.control_plane import pair_sessions
from railweave.live.check.check import check
from railweave.live.collect.collect import captured
from railweave.model.state.capture import Capture, read_capture
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding

    Texts = Mapping[str, Mapping[str, str]]

AGAIN_S = 1.0
"""The shortest pause in seconds between two checks of the network. If a check takes longer, the pause after it is as long as the check."""


@dataclass
class Check:
    """The check of a network, made once before each wave and once after it.

    ``settle_s`` is the number of seconds to wait for the network to converge.
    """

    site: Site
    settle_s: float
    _read: dict[object, DeviceConfig] = field(default_factory=dict[object, "DeviceConfig"], init=False)
    _last: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"], init=False)
    """The errors of each device when it was last checked."""

    async def before(self, devices: Sequence[str], now: Texts, then: Texts) -> None:
        """Record the present errors of the devices that will change and of their neighbors.

        ``now`` and ``then`` have the texts of all devices before and after the wave, by device and file.
        """
        near = self._near(devices, self._configs_of(now), self._configs_of(then))
        await self._look([name for name in near if name not in self._last], self._configs_of(now))

    async def after(self, devices: Sequence[str], now: Texts, then: Texts) -> list[str]:
        """Return the errors that are new since ``before``. Waits up to ``settle_s`` seconds for them to disappear.

        ``now`` and ``then`` have the texts of all devices before and after the wave, by device and file.
        """
        configs = self._configs_of(then)
        near = self._near(devices, self._configs_of(now), configs)
        known = {error for name in near for error in self._last.get(name, ())}
        end = monotonic() + self.settle_s
        while True:
            began = monotonic()
            await self._look(near, configs)
            wrong = [error for name in near for error in self._last[name] if error not in known]
            if not wrong or monotonic() >= end:
                return wrong
            await asyncio.sleep(max(AGAIN_S, monotonic() - began))

    def _configs_of(self, texts: Texts) -> dict[str, DeviceConfig]:
        """Return the configurations of all switches. A switch that ``texts`` lacks is assumed to run its design.

        Each text is parsed only once.
        """
        wanted = {name: (name, *sorted(files.items())) for name, files in texts.items() if name in self.site.configs}
        if new := {name: dict(texts[name]) for name, key in wanted.items() if key not in self._read}:
            read = running_configs(self.site.network, new, self.site.configs)
            self._read |= {wanted[name]: read[name] for name in new}
        return self.site.configs | {name: self._read[key] for name, key in wanted.items()}

    def _near(
        self, devices: Sequence[str], now: Mapping[str, DeviceConfig], then: Mapping[str, DeviceConfig]
    ) -> list[str]:
        """Return these devices and their neighbors by cable. If only a device's management settings change, its neighbors are left out.

        ``now`` and ``then`` have the configurations before and after the wave, by device.
        """
        nearby = dict.fromkeys(devices)
        for device in devices:
            if device in now and replace(now[device], management=then[device].management) == then[device]:
                continue
            for cable in self.site.network.cables_of(device):
                nearby |= dict.fromkeys((cable.a.device, cable.b.device))
        return [name for name in nearby if name in self.site.asked and name not in self.site.network.absent]

    async def _look(self, names: Sequence[str], configs: Mapping[str, DeviceConfig]) -> None:
        """Query devices, and store the errors of each in ``_last``. An error is a difference from the state under ``configs``."""
        if not names:
            return
        with TemporaryDirectory() as place:
            folder = Path(place) / "capture"
            site = self.site
            questions = [site.asked[name].of_state() for name in names]
            outcomes = await captured(questions, folder, {}, at_once=site.at_once, attempts=1, open_by=site.ask_by)
            silent = {
                outcome.device: f"{outcome.device}: {outcome.error}" for outcome in outcomes if not outcome.answered
            }
            answered = [name for name in names if name not in silent]
            findings = self._wrong(read_capture(folder), configs, answered) if answered else ()
        self._last |= {name: [silent[name]] if name in silent else [] for name in names}
        for finding in findings:
            if finding.severity == "error":
                for name in answered:
                    if re.match(rf"{re.escape(name)}\b", finding.where):
                        self._last[name].append(f"{finding.where}: {finding.what}")

    def _wrong(
        self, capture: Capture, configs: Mapping[str, DeviceConfig], devices: Collection[str]
    ) -> Sequence[Finding]:
        """Return the findings on the devices of a capture, compared with the expected state under ``configs``."""
        visible = self.site.visible
        return check(
            self.site.network,
            capture,
            configs=two_sided(configs),
            devices=devices,
            visible=replace(visible, not_asked={**visible.not_asked, "configurations": "deploy reads them by itself"}),
            progress=silent,
        ).findings


def two_sided(configs: Mapping[str, DeviceConfig]) -> dict[str, DeviceConfig]:
    """Return configurations without those BGP sessions that cannot come up while only one of their two ends has changed.

    A session is left out if only one end has it, if its ends do not accept each other's AS number or address, or if
    they have no address family in common.
    """
    peers = pair_sessions(configs)
    families = {name: set(config.bgp.families) if config.bgp else set[str]() for name, config in configs.items()}
    up = {peer.session.link for name, of in peers.items() for peer in of if families[name] & families[peer.device]}
    ends = {
        (session.local_address, session.peer_address)
        for config in configs.values()
        for session in (config.overlay.neighbors if config.overlay else ())
    }
    asns = {name: config.bgp.asn for name, config in configs.items() if config.bgp}
    trimmed: dict[str, DeviceConfig] = {}
    for name, config in configs.items():
        bgp, overlay = config.bgp, config.overlay
        if bgp is not None:
            groups = [
                replace(group, sessions=tuple(session for session in group.sessions if session.link in up))
                for group in bgp.groups
            ]
            bgp = replace(bgp, groups=tuple(group for group in groups if group.sessions))
        if overlay is not None:
            both = tuple(
                session
                for session in overlay.neighbors
                if (session.peer_address, session.local_address) in ends
                and session.peer_as in {0, asns.get(session.peer, session.peer_as)}
            )
            overlay = replace(overlay, neighbors=both)
        trimmed[name] = replace(config, bgp=bgp, overlay=overlay)
    return trimmed
