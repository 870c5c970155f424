"""Stand-ins that take another release and restart: for Junos, EOS and SONiC, beside what they do with configurations.

They prove our client, not the systems. A restart takes no time but that of a timer; what a device comes back as, a test says.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from railweave.model.state.device_state import DeviceState
from tests.live.reach.stand_ins import StandIn
from tests.operations.deploy.eos_network import EosNetwork
from tests.operations.deploy.network import Changing, State
from tests.operations.deploy.sonic_network import SonicNetwork

OLD, NEW = "24.4R1", "25.4R2"
AWAY_S = 0.15


@dataclass
class Restarting:
    """One device: what it runs, what its next start runs, when it started. ``comes_back_as`` is in the place of the image, where a test says so.

    ``fewer``: it comes back without its first BGP session. ``stays_away``: it does not come back.
    """

    name: str
    stand_in: StandIn
    state: State
    version: str = OLD
    next: str = OLD
    boot: int = 1_700_000_000
    comes_back_as: str = ""
    fewer: bool = False
    stays_away: bool = False
    images: list[str] = field(default_factory=list[str])
    refuses: bool = False
    before: Callable[[str], None] = lambda _: None
    """Called with the name of each call that is about a release, before it is carried out."""

    def install(self, source: str) -> bool:
        """Take an image; False where it is refused."""
        self.before("install")
        if self.refuses:
            return False
        self.images.append(source)
        self.next = NEW
        return True

    def restart(self) -> None:
        """Go away, and come back."""
        self.before("restart")
        self.stand_in.gone = True
        if not self.stays_away:
            timer = threading.Timer(AWAY_S, self._back)
            timer.daemon = True
            timer.start()

    def _back(self) -> None:
        self.version, self.boot = self.comes_back_as or self.next, self.boot + 300
        self.state.forget()
        self.stand_in.gone = False

    def seen(self, state: DeviceState) -> DeviceState:
        """Its state with its release; and with what went missing in its restart."""
        if state.identity is not None:
            state = replace(state, identity=replace(state.identity, version=self.version))
        if self.fewer and self.boot > 1_700_000_000 and state.bgp:
            state = replace(state, bgp=state.bgp[1:])
        return state


Fleet = dict[str, Restarting]


def _fleet(state: State, devices: dict[str, StandIn]) -> Fleet:
    fleet = {name: Restarting(name, one, state) for name, one in devices.items()}
    state.spoiled = lambda name, found: fleet[name].seen(found)
    return fleet


def of_junos(network: Changing) -> Fleet:
    """The calls of Juniper's client for packages and reboots."""
    fleet = _fleet(network.state, network.devices)

    def calls(one: Restarting, inner: Callable[[ET.Element], str | None]) -> Callable[[ET.Element], str | None]:
        def answer(asked: ET.Element) -> str | None:
            name = asked.tag.rpartition("}")[2]
            if name == "get-system-uptime-information":
                booted = f'<system-booted-time><date-time seconds="{one.boot}">x</date-time></system-booted-time>'
                return (inner(asked) or "").replace(
                    "</system-uptime-information>", f"{booted}</system-uptime-information>"
                )
            if name == "get-sha256-checksum-information":
                there = Path(f"{one.stand_in.files}/{''.join(asked.itertext()).strip()}")
                found = hashlib.sha256(there.read_bytes()).hexdigest()
                return f"<checksum-information><file-checksum><checksum>{found}</checksum></file-checksum></checksum-information>"
            if name == "request-package-add":
                good = one.install("".join(asked.itertext()).strip())
                said = "" if good else "<output>ERROR: validation failed</output>"
                return f"{said}<package-result>{0 if good else 1}</package-result>"
            if name == "request-shutdown-reboot":
                one.restart()
                return (
                    "<request-reboot-results><request-reboot-status>x</request-reboot-status></request-reboot-results>"
                )
            return inner(asked)

        return answer

    for name, box in network.boxes.items():
        network.devices[name].calls = calls(fleet[name], box)
    return fleet


def of_eos(network: EosNetwork) -> Fleet:
    """``copy``, ``boot system``, ``reload now``."""
    fleet = _fleet(network.state, network.devices)

    def commands(
        one: Restarting, inner: Callable[[list[str], str], list[Any] | str]
    ) -> Callable[[list[str], str], list[Any] | str]:
        def answer(asked: list[Any], form: str) -> list[Any] | str:
            words = [one if isinstance(one, str) else str(one["cmd"]) for one in asked]
            if words == ["show version"]:
                found = inner(asked, form)
                if form == "json" and isinstance(found, list):
                    found[0]["bootupTimestamp"] = one.boot + 0.25
                return found
            if words[0].startswith("copy "):
                return [{"output": "Copy completed successfully."}] if one.install(words[0]) else "copy failed"
            if words[0] == "configure":
                return [{"output": ""} for _ in words]
            if words == ["show boot-config"]:
                return [{"output": f"Software image: flash:/{one.images[-1].rpartition(':')[2]}"}]
            if words == ["reload now"]:
                one.restart()
                return [{"output": ""}]
            return inner(asked, form)

        return answer

    for name, device in network.devices.items():
        assert device.commands is not None
        device.commands = commands(fleet[name], device.commands)
    return fleet


def of_sonic(network: SonicNetwork) -> Fleet:
    """``sonic-installer`` and ``reboot``, as programs of the box: never those of this machine."""
    fleet = _fleet(network.state, network.devices)
    for name, box in network.boxes.items():
        one = fleet[name]

        def program(words: list[str], one: Restarting = one) -> str | None:
            if words[0] == "reboot":
                one.restart()
                return ""
            if words[:2] == ["sonic-installer", "list"]:
                return (
                    f"Current: SONiC-OS-{one.version}\nNext: SONiC-OS-{one.next}\nAvailable:\nSONiC-OS-{one.version}\n"
                )
            if words[0] == "sonic-installer":
                return "Done\n" if one.install(words[-1]) else None
            return None

        box.more = program
        network.devices[name].answers = _Booted(one, network.devices[name].answers)
    return fleet


class _Booted(dict[str, str]):
    """What a stand-in answers, and which boot it is."""

    def __init__(self, one: Restarting, inner: dict[str, str]) -> None:
        super().__init__()
        self._one, self._inner = one, inner

    def __contains__(self, key: object) -> bool:
        return key == "cat /proc/sys/kernel/random/boot_id" or key in self._inner

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        if key == "cat /proc/sys/kernel/random/boot_id":
            return f"boot-{self._one.boot}\n"
        return self._inner.get(key, default)


def releases(fleet: Fleet) -> dict[str, str]:
    """What every device runs."""
    return {name: one.version for name, one in fleet.items()}
