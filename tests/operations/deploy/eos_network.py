"""Networks of stand-ins for EOS that are changed; see ``network`` for those of Junos."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from railweave import api
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.live.check.said import eos
from tests.live.reach.stand_ins import USER, StandIn, stand_ins
from tests.operations.deploy.eos_box import EosBox
from tests.operations.deploy.network import State


class EosState(State):
    """The state of a network whose switches run what boxes for EOS hold."""

    said = eos
    protocol = "eapi"

    @staticmethod
    def texts(box: EosBox) -> dict[str, str]:
        """The files of what a box runs."""
        return {"eos.conf": box.running}

    @staticmethod
    def printed(texts: Mapping[str, str]) -> dict[str, str]:  # asked of the box
        """What a switch prints of its configuration, by command."""
        return {}


@dataclass
class _Device:
    """A switch by eAPI: what it says of its state; what it does not say, its box is asked, and told."""

    name: str
    state: EosState
    box: EosBox

    def __call__(self, commands: Sequence[Any], form: str) -> list[Any] | str:
        words = [one if isinstance(one, str) else str(one["cmd"]) for one in commands]
        said = self.state.answers(self.name)
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
