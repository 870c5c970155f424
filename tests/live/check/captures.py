"""Captures of a network as lldpd on FRRouting devices would answer: every cable where the design has it."""

from __future__ import annotations

import json
from pathlib import Path

from railweave.model.network.devices import End
from railweave.model.network.model import Network

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


def write_capture(folder: Path, network: Network, ports: Heard, meta: dict[str, object] | None = None) -> Path:
    """A capture with ``lldp-neighbors.json`` of every switch that hears something."""
    for switch in network.switches:
        mine = {port: said for (device, port), said in ports.items() if device == switch.name}
        if not mine:
            continue
        interfaces = [
            {
                port: {
                    "chassis": {name: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}},
                    "port": {"id": {"type": kind, "value": there}},
                }
            }
            for port, (name, there, kind) in mine.items()
        ]
        (folder / switch.name).mkdir(parents=True, exist_ok=True)
        answer = folder / switch.name / "lldp-neighbors.json"
        answer.write_text(json.dumps({"lldp": {"interface": interfaces}}))
    if meta is not None:
        (folder / "meta.json").write_text(json.dumps(meta))
    return folder
