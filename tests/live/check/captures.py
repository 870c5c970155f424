"""Captures of a network on which everything is as designed, with the cables where a test has them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.devices import End
from railweave.model.network.model import Network
from railweave.model.state.device_state import DeviceState
from railweave.model.state.question import CONFIGURATION, Question, asked_about
from railweave.systems import system
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


def running(config: DeviceConfig) -> dict[str, str]:
    """The running configuration of a device as designed, by question."""
    files = system(config.nos).files(config)
    first, *parts = (files[name] for name in system(config.nos).configurations(config))
    if config.nos != "sonic":  # one text, whatever loads it
        return {CONFIGURATION: "".join((first, *parts))}
    return {CONFIGURATION: first, f"{CONFIGURATION}-frr": "".join(parts)}


def answered_whole(nos: str, state: DeviceState, asked: Iterable[Question]) -> dict[str, str]:
    """The answers of a device in a state to these questions, and to no others."""
    names = [question.name for question in asked]
    about = {place[1:] for name in names if (place := asked_about(name)) is not None}
    routes = tuple(
        replace(route, paths=route.paths or ()) if (route.vrf, route.prefix) in about else route
        for route in state.routes or ()
    )
    texts = whole(nos, replace(state, routes=routes if state.routes is not None else None))
    return {name: texts[name] if name in texts else EMPTY[nos][name.partition("@")[0]] for name in names}


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


_NO_REPLY = junos.reply("<empty/>")
EMPTY: dict[str, dict[str, str]] = {
    "junos": dict.fromkeys(("system", "queues", "evpn-prefixes", "evpn-macs", "route"), _NO_REPLY)
    | dict.fromkeys(("bgp-discovered", "bgp-auto-discovered"), _NO_REPLY)
    | {f"{kind}-{family}": _NO_REPLY for kind in ("static", "aggregate") for family in ("ipv4", "ipv6")},
    "eos": dict.fromkeys(("evpn-prefixes", "evpn-prefixes-ipv4", "evpn-macs", "path", "sessions"), "{}")
    | {f"static-{family}": json.dumps({"vrfs": {"default": {"routes": {}}}}) for family in ("ipv4", "ipv6")},
    "sonic": dict.fromkeys(("evpn-macs", "path", "ports-state", "watermarks"), "{}"),
    "dell_sonic": {},
    "frr": {"evpn-macs": "{}", "path": "{}", "routes-ipv4": "{}", "fib": "[]", "fib-ipv4": "[]"},
}
"""By system and kind of question, the answer of a device that has nothing to show."""


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
        write_answers(folder / name, texts | running(config))
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
