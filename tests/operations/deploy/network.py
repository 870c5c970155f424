"""Networks of stand-ins that are changed: every switch of a fabric runs what another fabric file has it run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from railweave import api
from railweave.analysis.drift.running import running_configs
from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.live.collect.plan import questions
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.state.device_state import DeviceState
from railweave.model.state.question import Protocol
from railweave.systems import system
from tests.live.check.captures import OTHERS
from tests.live.check.perfect import perfect
from tests.live.check.said import junos
from tests.live.reach.stand_ins import USER, StandIn, stand_ins
from tests.operations.deploy.junos_box import JunosBox, as_set


class Said(dict[str, str]):
    """What a stand-in answers about its state: that all is as what every stand-in runs would have it."""

    def __init__(self, state: State, name: str) -> None:
        super().__init__()
        self._state, self._name = state, name

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        return self._state.answers(self._name).get(key, default)


class State:
    """The state of a network whose switches run what boxes hold."""

    said: ModuleType = junos
    """The words of a system in which ``said`` says a state."""
    protocol: Protocol = "netconf"

    def __init__(self, fabric: Path, boxes: Mapping[str, Any]) -> None:
        self._network = api.load(fabric)
        self._boxes = boxes
        self._guard = threading.Lock()
        self.spoiled: Callable[[str, DeviceState], DeviceState] = lambda _, state: state
        """What is otherwise on a device than everything should be."""
        self.moving = False
        """Whether counters go on between two questions: each is asked anew then."""
        self._running: dict[str, tuple[str, ...]] = {}
        self._texts: dict[str, dict[str, str]] = {}
        self._configs: dict[str, DeviceConfig] = {}
        self._expected: Callable[[DeviceConfig], Any]
        self._answers: dict[str, dict[str, str]] = {}

    def answers(self, name: str) -> dict[str, str]:
        """By what is asked of a device. Only what has changed since the last question is worked out again."""
        with self._guard:
            running = {one: tuple(box.running) for one, box in self._boxes.items()}
            changed = [one for one, lines in running.items() if lines != self._running.get(one)]
            if changed:
                self._running, self._answers = running, {}
                texts = {one: self.texts(self._boxes[one]) for one in changed}
                read = running_configs(self._network, texts)
                self._texts |= texts
                self._configs |= {one: read[one] for one in read if one in texts or one not in self._configs}
                routes = ControlPlane(self._configs.values(), self._network.absent).routes()
                self._expected = lambda config: expected(self._network, config, routes)
            if self.moving or name not in self._answers:
                config = self._configs[name]
                state = self.spoiled(name, perfect(self._expected(config)))
                said = OTHERS.get(config.nos, {}) | self.said.answers(state)
                asked = questions(self._network, config)
                self._answers[name] = {
                    one.asked[self.protocol]: said[one.name] for one in asked if one.name in said
                } | self.printed(self._texts[name])
            return self._answers[name]

    def forget(self) -> None:
        """Work all out anew at the next question."""
        with self._guard:
            self._running = {}

    @staticmethod
    def texts(box: Any) -> dict[str, str]:
        """The files of what a box runs."""
        return {"junos.conf": "\n".join(box.running)}

    @staticmethod
    def printed(texts: Mapping[str, str]) -> dict[str, str]:
        """What a switch prints of its configuration, by what is asked."""
        return {"get-configuration set": texts["junos.conf"]}


@dataclass
class Changing:
    """A fabric file, its stand-ins by name, and how they are reached."""

    fabric: Path
    access: Path
    boxes: dict[str, JunosBox]
    state: State
    devices: dict[str, StandIn] = field(default_factory=dict)


def runs(fabric: Path) -> dict[str, list[str]]:
    """What every switch of a fabric file runs, as set lines."""
    network = api.load(fabric)
    found: dict[str, list[str]] = {}
    for one in network.switches:
        config = device_config(network, one.name)
        found[one.name] = as_set(system("junos").files(config)["junos.conf"])
    return found


@contextmanager
def changing(
    fabric: Path, running: dict[str, list[str]], scale: float = 60, files: Path | None = None
) -> Iterator[Changing]:
    """The switches of a fabric file as stand-ins that run given set lines; files are copied to a folder each of ``files``."""
    with stand_ins() as devices:
        boxes: dict[str, JunosBox] = {}
        state = State(fabric, boxes)
        found = Changing(fabric, fabric.with_name("access.yaml"), boxes, state)
        for name, lines in running.items():
            box = found.boxes[name] = JunosBox(lines, scale)
            own = files and files / name
            found.devices[name] = devices.ssh(Said(state, name), calls=box, files=own)
        access_to(fabric, found.devices)
        yield found


def access_to(fabric: Path, devices: dict[str, StandIn]) -> None:
    """Write access.yaml and known_hosts beside a fabric file, which reach its switches."""
    login = {"user": USER, "password": "env:READER", "known_hosts": "known_hosts", "protocols": ["netconf"]}
    entries = {
        name: {"address": "127.0.0.1", "ports": {"netconf": one.port, "ssh": one.port}} for name, one in devices.items()
    }
    found = {"defaults": login, "devices": entries, "attempts": 2, "connect_seconds": 5}
    fabric.with_name("access.yaml").write_text(yaml.safe_dump(found))
    fabric.with_name("known_hosts").write_text("".join(f"{one.known()}\n" for one in devices.values()))
