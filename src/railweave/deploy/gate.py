"""The check between a change and its confirmation: are the devices of a wave, and those beside them, as the running configurations have it?

What must hold follows from what each device runs at that moment, not from the end of the plan: half of a network may be changed.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING

from railweave.collect.asking import ask_all
from railweave.collect.collect import row
from railweave.collect.writing import CaptureFolder
from railweave.drift.running import running_configs
from railweave.state.capture import CONFIGURATION, read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.collect.asking import Open
    from railweave.collect.plan import Asked
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding
    from railweave.network.model import Network
    from railweave.state.capture import Capture

AGAIN_S = 1.0
"""How long it waits before it looks again."""


@dataclass
class Check:
    """``configs`` are what the switches of a network should run, ``asked`` their questions, ``open_by`` how they are reached to be asked.

    ``compare`` says what is wrong with a capture where switches run given configurations. ``settle_s`` is how long the network may take
    to be as it must be.
    """

    network: Network
    configs: dict[str, DeviceConfig]
    asked: Mapping[str, Asked]
    open_by: Open
    compare: Callable[[Capture, Mapping[str, DeviceConfig]], Sequence[Finding]]
    settle_s: float
    at_once: int

    async def __call__(
        self, devices: Sequence[str], texts: Mapping[str, Mapping[str, str]], *, wait: bool
    ) -> list[str]:
        """What is wrong with devices and those cabled to them, now or, with ``wait``, when the network has had its time; empty where all is well."""
        near = self._near(devices)
        captured = {name: dict(one) for name, one in texts.items()}
        configs = await asyncio.to_thread(running_configs, self.network, captured, self.configs)
        end = monotonic() + (self.settle_s if wait else 0)
        while True:
            wrong = await self._wrong(near, configs)
            if not wrong or monotonic() >= end:
                return wrong
            await asyncio.sleep(AGAIN_S)

    def _near(self, devices: Sequence[str]) -> list[str]:
        found = dict.fromkeys(devices)
        for device in devices:
            for cable in self.network.cables_of(device):
                found |= dict.fromkeys((cable.a.device, cable.b.device))
        return [name for name in found if name in self.asked and name not in self.network.absent]

    async def _wrong(self, near: Sequence[str], configs: Mapping[str, DeviceConfig]) -> list[str]:
        with TemporaryDirectory() as place:
            folder = Path(place) / "capture"
            with CaptureFolder(folder, redact=True) as capture:
                outcomes = await ask_all(
                    [_of_state(self.asked[name]) for name in near],
                    capture.keep,
                    at_once=self.at_once,
                    attempts=1,
                    done=lambda _: None,
                    open_by=self.open_by,
                )
                capture.finish({"schema": 1, "devices": {one.device: row(one) for one in outcomes}})
            if silent := [f"{one.device}: {one.error}" for one in outcomes if not one.answered]:
                return silent
            found = await asyncio.to_thread(self.compare, read_capture(folder), configs)
        return [
            f"{one.where}: {one.what}"
            for one in found
            if one.severity == "error" and any(re.match(rf"{re.escape(name)}\b", one.where) for name in near)
        ]


def _of_state(asked: Asked) -> Asked:
    """What is asked of a device about its state alone."""
    from dataclasses import replace

    return replace(asked, questions=tuple(one for one in asked.questions if not is_configuration(one.name)))


def is_configuration(question: str) -> bool:
    """Whether a question is for the running configuration, or a part of it."""
    return question.partition("-")[0] == CONFIGURATION
