"""Captures of a network on which everything is as designed, with the cables where a test has them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path

from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.model.network.devices import End
from railweave.model.network.model import Network
from railweave.model.state.device_state import DeviceState
from tests.live.check.perfect import perfect
from tests.model.state.samples import eos, junos

Heard = dict[tuple[str, str], tuple[str, str, str]]
"""By device and port, the neighbor's name, its port, and what kind of name that is."""


def heard(network: Network) -> Heard:
    """What every switch hears on every cabled port: servers too, by their NIC's designed name."""
    found: Heard = {}
    switches = {one.name for one in network.switches}
    for cable in network.cables:
        for here, there in ((cable.a, cable.b), (cable.b, cable.a)):
            if here.device in switches:
                found[end(here)] = (*end(there), "ifname")
    return found


def end(one: End) -> tuple[str, str]:
    return one.device, one.port


def whole(nos: str, state: DeviceState) -> dict[str, str]:
    """Every answer of a device in a state, those included that say nothing of what the design expects."""
    return OTHERS.get(nos, {}) | importlib.import_module(f"tests.live.check.said.{nos}").answers(state)


OTHERS = {
    "junos": {
        "commit": junos.ANSWERS["commit"],
        "neighbors": junos.ANSWERS["neighbors"],
        "neighbors-ipv4": junos.ANSWERS["neighbors-ipv4"],
        "bgp": junos.reply("<bgp-information></bgp-information>"),
    },
    "eos": {
        "uptime": eos.ANSWERS["uptime"],
        "neighbors": eos.ANSWERS["neighbors"],
        "neighbors-ipv4": eos.ANSWERS["neighbors-ipv4"],
        "interface-discards": json.dumps({"interfaces": {}, "inDiscardsTotal": 0}),
        "inventory": json.dumps({"xcvrSlots": {}, "powerSupplySlots": {}}),
    },
}
"""By system, answers of its own that a healthy device gives beside those that follow from its state."""
for _nos in ("sonic", "frr"):
    OTHERS[_nos] = {"clock": "1763701000\n", "neighbors": "[]", "neighbors-ipv4": "[]"} | {
        f"{kind}-{family}": "{}" for kind in ("static", "kernel") for family in ("ipv4", "ipv6")
    }


def write_answers(folder: Path, texts: Mapping[str, str]) -> None:
    """The answers of a device as files of its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.{'json' if text[:1] in {'{', '['} else 'txt'}").write_text(text)


def write_capture(
    folder: Path, network: Network, ports: Heard | None = None, meta: dict[str, object] | None = None, nos: str = "frr"
) -> Path:
    """A capture of every switch that hears something, with ``ports`` in place of the neighbors that it should hear."""
    configs = {switch.name: device_config(network, switch.name, nos) for switch in network.switches}
    routes = ControlPlane(configs.values(), network.absent).routes()
    for name, config in configs.items():
        texts = whole(nos, perfect(expected(network, config, routes)))
        if ports is not None:
            mine = {port: said for (device, port), said in ports.items() if device == name}
            if not mine:
                continue
            texts["lldp-neighbors"] = json.dumps({"lldp": {"interface": [_row(*each) for each in mine.items()]}})
        write_answers(folder / name, texts)
    if meta is not None:
        (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def _row(port: str, neighbor: tuple[str, str, str]) -> dict[str, object]:
    name, there, kind = neighbor
    return {
        port: {
            "chassis": {name: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}},
            "port": {"id": {"type": kind, "value": there}},
        }
    }
