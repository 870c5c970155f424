"""Lanes, breakouts, VLANs of ports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.lint.files import number, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.sonic.lint.files import Files


@check(
    "sonic-lanes",
    "error",
    applies="sonic",
    why="orchagent makes a port of its lanes; a lane in two ports, or none at all, leaves ports away",
    fix="give each port lanes of its own, as the platform's port_config.ini has them",
)
def lanes(files: Files) -> Iterator[str]:
    """The lanes of a port are numbers, and a lane is in one port (sonic-port.yang has them as text)."""
    owners: dict[int, str] = {}
    for (name, *_), row in files.rows("PORT"):
        for word in text(row, "lanes").split(","):
            lane = number(word.strip())
            if lane is None:
                yield f"PORT|{name}: {word!r} is no lane"
            elif owners.setdefault(lane, name) != name:
                yield f"PORT|{name}: lane {lane} is also {owners[lane]}'s"


@check(
    "sonic-breakout",
    "error",
    applies="sonic",
    why="dynamic port breakout takes BREAKOUT_CFG for what the ports are, and would change others than meant",
    fix="let the ports after a parent be as many, and as fast, as its mode says",
)
def breakout(files: Files) -> Iterator[str]:
    """A parent's mode is what its ports are: their number by ``index``, and their speed (sonic-breakout_cfg.yang: text)."""
    by_index: dict[str, list[tuple[str, str]]] = {}
    index_of: dict[str, str] = {}
    for (name, *_), row in files.rows("PORT"):
        by_index.setdefault(text(row, "index"), []).append((name, text(row, "speed")))
        index_of[name] = text(row, "index")
    for (name, *_), row in files.rows("BREAKOUT_CFG"):
        mode = re.fullmatch(r"(\d+)x(\d+)G(?:\(\d+\))?", text(row, "brkout_mode"))
        if mode is None:
            yield f"BREAKOUT_CFG|{name}: {text(row, 'brkout_mode')!r} is no mode"
        elif name not in index_of:
            yield f"BREAKOUT_CFG|{name}: there is no such port"
        else:
            ports = by_index[index_of[name]]
            if len(ports) != int(mode[1]) or any(speed != f"{mode[2]}000" for _, speed in ports):
                yield f"BREAKOUT_CFG|{name}: {mode[0]}, but its ports are {', '.join(f'{one} {s}' for one, s in ports)}"


@check(
    "sonic-member",
    "error",
    applies="sonic",
    why="a port that is routed is no member of a VLAN, and packets of its servers go nowhere",
    fix="take it out of INTERFACE, or out of VLAN_MEMBER",
)
def members(files: Files) -> Iterator[str]:
    """A member of a VLAN is a port, in no other VLAN without a tag, and not routed (sonic-vlan.yang, in part)."""
    ports = files.names("PORT")
    routed = files.names("INTERFACE") | {name.partition(".")[0] for name in files.names("VLAN_SUB_INTERFACE")}
    untagged: dict[str, str] = {}
    for (vlan, port, *_), row in files.rows("VLAN_MEMBER"):
        if port not in ports:
            yield f"VLAN_MEMBER|{vlan}|{port}: there is no such port"
        if port in routed:
            yield f"VLAN_MEMBER|{vlan}|{port}: the port is routed"
        if text(row, "tagging_mode") == "untagged" and untagged.setdefault(port, vlan) != vlan:
            yield f"VLAN_MEMBER|{vlan}|{port}: the port is untagged in {untagged[port]} too"
