"""The hardware of a network that is not the package's: it goes with the design, and its origin is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.hardware import Hardware
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.design.context import Context
    from railweave.errors import FileLine
    from railweave.model.network.devices import Cable, Server, Switch

OUTSIDE = Rule(
    "hardware-outside",
    "info",
    "design",
    says="models of hardware come from files beside the fabric file: a folder given with `--hardware`, or the user's own",
    why="the fabric file alone does not give this design: who has not these files gets an error or another design",
    fix="keep the files with the fabric file, or move what they say under its `hardware:`",
)


def used_hardware(
    context: Context, switches: Iterable[Switch], servers: Iterable[Server], cables: Iterable[Cable]
) -> Hardware:
    """Of the models that are not the package's those that the network has."""
    own = context.catalog.own
    if own.empty:
        return own
    models = {switch.model for switch in switches}
    hosts = {server.model for server in servers}
    nics = {group.nic for name in hosts for group in context.catalog.servers[name].nics.values()}
    optics = {end.optic for cable in cables for end in (cable.a, cable.b)}
    return Hardware(
        switches={name: one for name, one in own.switches.items() if name in models},
        servers={name: one for name, one in own.servers.items() if name in hosts},
        nics={name: one for name, one in own.nics.items() if name in nics},
        optics={name: one for name, one in own.optics.items() if name in optics},
    )


def note_outside(context: Context, used: Hardware, places: Mapping[tuple[str, str], FileLine]) -> None:
    """Note models that come from files other than the fabric file."""
    found = [
        f"{name} ({place.file.rpartition('/')[2]}:{place.line})"
        for section in ("switches", "servers", "nics", "optics")
        for name in getattr(used, section)
        if (place := places.get((section, name))) and place.file != context.source.document.file
    ]
    if found:
        context.finding(OUTSIDE, context.source.spec.name, (), f"from hardware files: {', '.join(found)}")
