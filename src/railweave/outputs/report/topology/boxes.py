"""Spines, leaves and servers of a fabric that is drawn device by device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.outputs.report.figures import rail_label
from railweave.outputs.report.topology.frame import (
    BAR_GAP,
    BAR_HEIGHT,
    LEAF_HEIGHT,
    PAD,
    SPINE_HEIGHT,
    nics_of,
    two_lines,
)
from railweave.outputs.report.topology.tenants import ROOM, letters
from railweave.pages.markup import element, text

if TYPE_CHECKING:
    from railweave.model.network.devices import Server, Switch
    from railweave.model.network.fabric import Fabric
    from railweave.outputs.report.topology.frame import Frame


def spine_box(spine: Switch, left: float, wide: float) -> str:
    """A spine as a box at the top of the drawing."""
    middle = left + wide / 2
    return element(
        "g",
        element("title", text(_about(spine))),
        element("rect", x=left, y=0.0, width=wide, height=SPINE_HEIGHT, rx=8.0, class_="box"),
        element("text", text(spine.name), x=middle, y=19.0, class_="name middle", font_size=14),
        element("text", text(f"AS {spine.asn}"), x=middle, y=34.0, class_="muted small middle"),
        class_="device spine",
        data_device=spine.name,
    )


def leaf_box(leaf: Switch, left: float, wide: float, top: float) -> str:
    """A leaf as a box over the rails that it serves."""
    middle = left + wide / 2
    first, last = two_lines(leaf.name)
    return element(
        "g",
        element("title", text(_about(leaf))),
        element("rect", x=left, y=top, width=wide, height=LEAF_HEIGHT, rx=7.0, class_="box"),
        element(
            "text",
            element("tspan", text(first), class_="muted small", x=middle, y=top + 16) if first else "",
            element("tspan", text(last), class_="name", x=middle, y=top + 31, font_size=12.5),
            class_="middle",
        ),
        element("text", text(rail_label(leaf.rails)), x=middle, y=top + 47, class_="muted small middle"),
        class_="device leaf",
        data_device=leaf.name,
    )


def _about(switch: Switch) -> str:
    lines = [
        switch.name,
        f"{switch.model}, {switch.nos} {switch.release}",
        f"AS {switch.asn}, router id {switch.router_id}",
    ]
    if switch.rails:
        lines.insert(1, f"{switch.stripe}, {rail_label(switch.rails)}")
    return "\n".join(lines)


def server_bar(fabric: Fabric, frame: Frame, left: float, place: tuple[int, int], server: Server) -> str:
    """A server as a bar across its stripe; ``place`` is its row there, and how many rows there are."""
    row, rows = place
    top = frame.bars_top + row * (BAR_HEIGHT + BAR_GAP)
    nics: list[str] = []
    marked = letters(fabric)
    for nic in nics_of(server, fabric):
        letter, edge = marked.get(nic.tenant, ("", ""))
        x = frame.rail_x(left, nic.rail)
        lines = [
            f"{server.name} {nic.name} ({nic.rdma}), {rail_label((nic.rail,))}",
            f"{nic.leaf} {nic.leaf_port}" + (f", VLAN {nic.vlan}" if nic.vlan else ""),
        ]
        lines += [f"tenant {nic.tenant}"] if letter else []
        lines += [f"{fabric.color_name(one.color)}: {one.address}/{one.prefix_length}" for one in nic.addresses]
        nics.append(
            element(
                "g",
                element("title", text("\n".join(lines))),
                element(
                    "rect",
                    x=x + 5,
                    y=top + 6,
                    width=frame.column - 10,
                    height=BAR_HEIGHT - 12,
                    rx=4.0,
                    class_=f"nic {edge}".rstrip(),
                ),
                element(
                    "text",
                    text(nic.name),
                    x=x + (frame.column - (ROOM if letter else 0)) / 2,
                    y=top + 18.5,
                    class_="nic-name middle",
                ),
                element("text", text(letter), x=x + frame.column - 14, y=top + 18.5, class_="name small middle")
                if letter
                else "",
                element("circle", cx=frame.cable_x(left, nic.rail, row, rows), cy=top, r=2.4, class_="port"),
            )
        )
    return element(
        "g",
        element("title", text(f"{server.name}\n{server.model}")),
        element(
            "rect",
            x=left + PAD - 6,
            y=top,
            width=frame.stripe_width - 2 * PAD + 10,
            height=BAR_HEIGHT,
            rx=7.0,
            class_="box",
        ),
        element("text", text(server.name), x=left + PAD + 4, y=top + 19, class_="name"),
        *nics,
        class_="device server",
        data_device=server.name,
    )
