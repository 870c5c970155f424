"""Networks of stand-ins for SONiC that are changed; see ``network`` for those of Junos."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from railweave import api
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.live.check.said import sonic
from tests.live.reach.stand_ins import USER, StandIn, stand_ins
from tests.operations.deploy.network import Said, State
from tests.operations.deploy.sonic_box import SonicBox


class SonicState(State):
    """The state of a network whose switches run what boxes for SONiC hold."""

    said = sonic
    protocol = "ssh"

    @staticmethod
    def texts(box: SonicBox) -> dict[str, str]:
        """The files of what a box runs."""
        return {"config_db.json": json.dumps(box.tables), "frr.conf": box.frr}

    @staticmethod
    def printed(texts: Mapping[str, str]) -> dict[str, str]:
        """What a switch prints of its configuration, by command."""
        return {
            "sonic-cfggen -d --print-data": texts["config_db.json"],
            "vtysh -c 'show running-config'": (
                f"Building configuration...\n\nCurrent configuration:\n!\n{texts['frr.conf']}"
            ),
        }


class SonicSaid(Said):
    """What a stand-in answers; what it does not, its box is asked."""

    def __contains__(self, key: object) -> bool:
        return key in self._state.answers(self._name)


@dataclass
class SonicNetwork:
    """A fabric file, its stand-ins by name, and how they are reached."""

    fabric: Path
    access: Path
    state: SonicState
    boxes: dict[str, SonicBox]
    devices: dict[str, StandIn] = field(default_factory=dict)

    def running(self) -> dict[str, tuple[str, str]]:
        """What every switch runs."""
        return {name: box.running for name, box in self.boxes.items()}


def of_sonic(text: str) -> str:
    """A fabric file of Junos as one of SONiC."""
    return text.replace("qfx5240-64od, nos: junos", "z9864f-on, nos: sonic")


def runs(fabric: Path) -> dict[str, dict[str, str]]:
    """What every switch of a fabric file runs that has its design."""
    network = api.load(fabric)
    return {one.name: system("sonic").files(device_config(network, one.name)) for one in network.switches}


@contextmanager
def sonic_network(fabric: Path, running: dict[str, dict[str, str]]) -> Iterator[SonicNetwork]:
    """The switches of a fabric file as stand-ins that run given files."""
    boxes = {name: SonicBox(json.loads(one["config_db.json"]), one["frr.conf"]) for name, one in running.items()}
    try:
        with stand_ins() as devices:
            state = SonicState(fabric, boxes)
            found = SonicNetwork(fabric, fabric.with_name("access.yaml"), state, boxes)
            for name, box in boxes.items():
                found.devices[name] = devices.ssh(SonicSaid(state, name), shell=box.shell)
            login = {"user": USER, "password": "env:READER", "known_hosts": "known_hosts", "protocols": ["ssh"]}
            entries = {
                name: {"address": "127.0.0.1", "ports": {"ssh": one.port}} for name, one in found.devices.items()
            }
            access = {"defaults": login, "devices": entries, "attempts": 2, "connect_seconds": 5}
            found.access.write_text(yaml.safe_dump(access))
            fabric.with_name("known_hosts").write_text("".join(f"{one.known()}\n" for one in found.devices.values()))
            yield found
    finally:
        for box in boxes.values():
            box.close()
