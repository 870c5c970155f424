"""The check between a change and its confirmation: are the devices of a wave, and those beside them, as the running configurations have it?

What must hold follows from what each device runs at that moment, not from the end of the plan: half of a network may be changed.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from railweave.collect.collect import captured
from railweave.drift.running import running_configs
from railweave.state.capture import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from railweave.collect.asking import Open
    from railweave.collect.plan import Asked
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.network.model import Network
    from railweave.state.capture import Capture

    Texts = Mapping[str, Mapping[str, str]]
    Compare = Callable[[Capture, Mapping[str, DeviceConfig], Collection[str]], Sequence[Finding]]
    """What is wrong with some devices of a capture, by what switches run."""

AGAIN_S = 1.0
"""How long it waits before it looks again."""


@dataclass
class Check:
    """``configs`` are what the switches of a network should run, ``asked`` their questions, ``open_by`` how they are reached to be asked.

    ``compare`` says what is wrong with the devices of a capture where switches run given configurations. ``settle_s`` is how long the network
    may take to be as it must be.
    """

    network: Network
    configs: dict[str, DeviceConfig]
    asked: Mapping[str, Asked]
    open_by: Open
    compare: Compare
    settle_s: float
    at_once: int
    _read: dict[object, DeviceConfig] = field(default_factory=dict[object, "DeviceConfig"], init=False)
    _last: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"], init=False)
    """What was wrong with each device when it was last looked at."""

    async def before(self, devices: Sequence[str], now: Texts, then: Texts) -> None:
        """Remember what is wrong already with devices that will be changed and those that the change touches; see ``Gate``."""
        near = self._near(devices, self._configs_of(now), self._configs_of(then))
        await self._look([name for name in near if name not in self._last], self._configs_of(now))

    async def after(self, devices: Sequence[str], now: Texts, then: Texts) -> list[str]:
        """What is wrong that was not before, when the network has had its time; empty where all is well."""
        configs = self._configs_of(then)
        near = self._near(devices, self._configs_of(now), configs)
        known = {one for name in near for one in self._last.get(name, ())}
        end = monotonic() + self.settle_s
        while True:
            await self._look(near, configs)
            wrong = [one for name in near for one in self._last[name] if one not in known]
            if not wrong or monotonic() >= end:
                return wrong
            await asyncio.sleep(AGAIN_S)

    def _configs_of(self, texts: Texts) -> dict[str, DeviceConfig]:
        """What switches run, where those that were asked run ``texts``. Each text is read once."""
        wanted = {name: (name, *sorted(one.items())) for name, one in texts.items() if name in self.configs}
        if new := {name: dict(texts[name]) for name, key in wanted.items() if key not in self._read}:
            read = running_configs(self.network, new, self.configs)
            self._read |= {wanted[name]: read[name] for name in new}
        return self.configs | {name: self._read[key] for name, key in wanted.items()}

    def _near(
        self, devices: Sequence[str], now: Mapping[str, DeviceConfig], then: Mapping[str, DeviceConfig]
    ) -> list[str]:
        """Devices and those cabled to them; switches alone where nothing but their own management changes."""
        found = dict.fromkeys(devices)
        for device in devices:
            if device in now and replace(now[device], management=then[device].management) == then[device]:
                continue
            for cable in self.network.cables_of(device):
                found |= dict.fromkeys((cable.a.device, cable.b.device))
        return [name for name in found if name in self.asked and name not in self.network.absent]

    async def _look(self, names: Sequence[str], configs: Mapping[str, DeviceConfig]) -> None:
        """Ask devices, and remember what is wrong with each."""
        if not names:
            return
        with TemporaryDirectory() as place:
            folder = Path(place) / "capture"
            questions = [self.asked[name].of_state() for name in names]
            outcomes = await captured(questions, folder, {}, at_once=self.at_once, attempts=1, open_by=self.open_by)
            silent = {one.device: f"{one.device}: {one.error}" for one in outcomes if not one.answered}
            answered = [name for name in names if name not in silent]
            found = self.compare(read_capture(folder), two_sided(configs), answered) if answered else ()
        self._last |= {name: [silent[name]] if name in silent else [] for name in names}
        for one in found:
            if one.severity == "error":
                for name in answered:
                    if re.match(rf"{re.escape(name)}\b", one.where):
                        self._last[name].append(f"{one.where}: {one.what}")


def two_sided(configs: Mapping[str, DeviceConfig]) -> dict[str, DeviceConfig]:
    """Configurations without the sessions of which the other end has no half yet: they cannot be up before it is changed, too."""
    ends = Counter(
        one.link for config in configs.values() if config.bgp for group in config.bgp.groups for one in group.sessions
    )
    peers = {
        name: {one.peer for one in config.overlay.neighbors} if config.overlay else set[str]()
        for name, config in configs.items()
    }
    found: dict[str, DeviceConfig] = {}
    for name, config in configs.items():
        bgp, overlay = config.bgp, config.overlay
        if bgp is not None:
            groups = [replace(one, sessions=tuple(s for s in one.sessions if ends[s.link] > 1)) for one in bgp.groups]
            bgp = replace(bgp, groups=tuple(one for one in groups if one.sessions))
        if overlay is not None:
            both = tuple(one for one in overlay.neighbors if name in peers.get(one.peer, ()))
            overlay = replace(overlay, neighbors=both)
        found[name] = replace(config, bgp=bgp, overlay=overlay)
    return found
