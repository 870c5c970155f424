"""The switches, servers and links whose status in the fabric file (``status:``) is not ``active``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.model.intent.base import expand
from railweave.model.intent.status import Status, matcher
from railweave.model.network.devices import Cable, End, InactivePart, Server, Switch
from railweave.model.network.model import SHOWN
from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.design.context import Context

TREATED_AS_ABSENT = Rule(
    id="treated-as-absent",
    severity="info",
    applies="design",
    fault="a switch, server or link is marked planned, drained or failed under `status:`",
    why="it is designed and rendered, but routes, paths, predictions, the lab and the checks based on them leave "
    "it out",
    fix="remove the entry from `status:` when the part is in service",
)


def not_active(
    context: Context, switches: Sequence[Switch], servers: Sequence[Server], cables: Sequence[Cable]
) -> tuple[InactivePart, ...]:
    """Return every switch, server and link whose status is not ``active``: switches first, then servers, then links.

    Later lines of ``status:`` override earlier ones. Records a problem for a line that matches nothing, and a finding for each
    line that takes something out of the network.
    """
    if not context.source.spec.status:
        return ()
    devices = [device.name for device in (*switches, *servers)]
    planes = _planes(switches)
    inactive: dict[str, tuple[str, Status]] = {}
    for pattern, status in context.source.spec.status.items():
        names = list(_named(pattern, devices, cables))
        of_planes = [] if names else [plane for plane in planes if pattern in {plane, plane.rpartition("/")[2]}]
        if len(of_planes) > 1:
            message = f"several fabrics have a plane {pattern!r}"
            context.problem(("status", pattern), message, f"write {' or '.join(of_planes)}")
            continue
        names = planes[of_planes[0]] if of_planes else names
        unknown = _unknown(pattern, names)
        if unknown:
            message = f"there is no switch, server{', plane' if planes else ''} or link {unknown!r}"
            fix = _by_rdma(unknown, servers) or _near(unknown, [*devices, *_short(planes)])
            context.problem(("status", pattern), message, fix)
        for name in names:
            inactive.pop(name, None)
            if status != "active":
                inactive[name] = pattern, status
    for pattern, status in context.source.spec.status.items():
        names = [name for name, (by, _) in inactive.items() if by == pattern]
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            message = f"`status: {status}`: {', '.join(names[:SHOWN])}{more} treated as absent"
            context.finding(TREATED_AS_ABSENT, pattern, ("status", pattern), message)
    order = [*devices, *(cable.name for cable in cables)]
    return tuple(InactivePart(name, inactive[name][1]) for name in order if name in inactive)


def _planes(switches: Sequence[Switch]) -> dict[str, list[str]]:
    """Return the names of the switches of each plane, by ``FABRIC/PLANE``."""
    planes: dict[str, list[str]] = {}
    for switch in switches:
        if switch.plane:
            planes.setdefault(f"{switch.fabric}/{switch.plane}", []).append(switch.name)
    return planes


def _short(planes: Iterable[str]) -> list[str]:
    return [plane.rpartition("/")[2] for plane in planes]


def _by_rdma(pattern: str, servers: Sequence[Server]) -> str:
    """Return advice to use a NIC's name in the design, if ``pattern`` names its RDMA device or Linux interface instead.

    Return "" otherwise.
    """
    name, _, port = pattern.partition(":")
    nic = next((server.nic(port) for server in servers if server.name == name), None)
    return f"write the NIC by its name in railweave: {name}:{nic.name}" if nic else ""


def _unknown(pattern: str, names: Sequence[str]) -> str:
    """Return the part of a pattern in ``status:`` that matches nothing: the whole pattern, or a name in a host list.

    Return "" if everything matches. ``names`` are the devices or links that the pattern matches.
    """
    if "[" in pattern and not set("*:") & set(pattern) and "--" not in pattern:
        return next((name for name in expand(pattern) if name not in names), "")
    return "" if names else pattern


def _named(pattern: str, devices: Sequence[str], cables: Sequence[Cable]) -> Iterator[str]:
    if ":" not in pattern:
        there = [name for name in devices if matcher(pattern)(name)]
        if there:
            yield from there
            return
    near, dashes, far = pattern.partition("--")
    for cable in cables:
        if dashes:
            wanted = (_is(near, cable.a) and _is(far, cable.b)) or (_is(far, cable.a) and _is(near, cable.b))
        else:
            wanted = ":" in pattern and cable.kind == "server" and _is(pattern, cable.a)
        if wanted:
            yield cable.name


def _is(pattern: str, end: End) -> bool:
    device, colon, port = pattern.partition(":")
    return matcher(device)(end.device) and (not colon or matcher(port)(end.port))


def _near(pattern: str, devices: Sequence[str]) -> str:
    close = nearest(pattern, devices) if "--" not in pattern else None
    if close:
        return f"did you mean {close}?"
    return f"devices are {', '.join(devices[:SHOWN])}, …; write a link as A--B or A:port--B:port, as in cabling.csv"
