"""Networks of stand-ins for EOS that are changed; see ``network`` for those of Junos."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from railweave import api
from railweave.analysis.drift.running import running_configs
from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.live.collect.plan import questions
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.live.check.perfect import perfect
from tests.live.check.said import eos
from tests.live.reach.stand_ins import USER, StandIn, stand_ins
from tests.operations.deploy.eos_box import EosBox
from tests.operations.deploy.network import State


class EosState(State):
    """The state of a network whose switches run what boxes for EOS hold."""

    def __init__(self, fabric: Path, boxes: dict[str, EosBox]) -> None:
        super().__init__(fabric, {})
        self._eos = boxes

    def answers(self) -> dict[str, dict[str, str]]:
        """By device and by command."""
        with self._guard:
            now = tuple(box.running for box in self._eos.values())
            if self.moving or self._of[0] != now:
                self._of = (now, self._said())
            return self._of[1]

    def _said(self) -> dict[str, dict[str, str]]:
        configs = running_configs(self._network, {name: {"eos.conf": box.running} for name, box in self._eos.items()})
        routes = ControlPlane(configs.values(), self._network.absent).routes()
        found: dict[str, dict[str, str]] = {}
        for name, config in configs.items():
            said = eos.answers(self.spoiled(name, perfect(expected(self._network, config, routes))))
            asked = questions(self._network, config)
            found[name] = {one.asked["eapi"]: said[one.name] for one in asked if one.name in said}
        return found


@dataclass
class _Device:
    """A switch by eAPI: what it says of its state; what it does not say, its box is asked, and told."""

    name: str
    state: EosState
    box: EosBox

    def __call__(self, commands: Sequence[Any], form: str) -> list[Any] | str:
        words = [one if isinstance(one, str) else str(one["cmd"]) for one in commands]
        said = self.state.answers()[self.name]
        if len(words) == 1 and words[0] in said:
            return [json.loads(said[words[0]]) if form == "json" else {"output": said[words[0]]}]
        if (
            len(words) == 1
            and words[0].startswith("show ")
            and not words[0].startswith(("show running", "show conf", "show session"))
        ):
            return f"{words[0]}: not known"
        return self.box(words, form)


@dataclass
class EosNetwork:
    """A fabric file, its stand-ins by name, and how they are reached."""

    fabric: Path
    access: Path
    state: EosState
    boxes: dict[str, EosBox]
    devices: dict[str, StandIn] = field(default_factory=dict)


def of_eos(text: str) -> str:
    """A fabric file of Junos as one of EOS."""
    return text.replace("qfx5240-64od, nos: junos", "arista-7060x6-64pe, nos: eos")


def runs(fabric: Path) -> dict[str, str]:
    """What every switch of a fabric file runs that has its design."""
    network = api.load(fabric)
    return {one.name: system("eos").files(device_config(network, one.name))["eos.conf"] for one in network.switches}


@contextmanager
def eos_network(fabric: Path, running: dict[str, str]) -> Iterator[EosNetwork]:
    """The switches of a fabric file as stand-ins that run given texts."""
    boxes = {name: EosBox(text) for name, text in running.items()}
    with stand_ins() as devices:
        state = EosState(fabric, boxes)
        found = EosNetwork(fabric, fabric.with_name("access.yaml"), state, boxes)
        for name, box in boxes.items():
            found.devices[name] = devices.web({}, commands=_Device(name, state, box))
        login = {"user": USER, "password": "env:READER", "protocols": ["eapi"], "tls": False}
        entries = {name: {"address": "127.0.0.1", "ports": {"eapi": one.port}} for name, one in found.devices.items()}
        found.access.write_text(yaml.safe_dump({"defaults": login, "devices": entries, "attempts": 2}))
        yield found
