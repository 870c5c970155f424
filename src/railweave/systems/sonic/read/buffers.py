"""Packet buffer: shares of pools, headroom of lossless groups, thresholds of queues."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.device.classes import Buffers
from railweave.model.device.qos_model import PfcProfile, pfc_profiles
from railweave.systems.sonic.render.buffers import (
    EGRESS_LOSSLESS,
    EGRESS_LOSSY,
    LOSSLESS,
    LOSSY,
    NO_OFFSET,
    reserve_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.model import Interface
    from railweave.systems.sonic.read.rows import Row, Rows

_PROFILE = re.compile(r"pg_lossless_(\d{1,7})_(\d{1,7})m(?:_(\d{1,6}))?_profile")
_OWN_THRESHOLD = re.compile(r"egress_queue\d+_profile")
_MOST_PERCENT = 100
SERVER_PORT = 9216
"""The MTU of a server's port, frame and all, where a fabric file does not say."""


@dataclass
class Buffering:
    """What buffer tables say. ``thresholds`` are those of queues that have one of their own."""

    buffers: Buffers
    profiles: tuple[PfcProfile, ...] = ()
    xon_offset_cells: int | None = None
    thresholds: dict[int, int] = field(default_factory=dict[int, int])
    lossless_queues: list[int] = field(default_factory=list[int])


def buffering(tables: Rows, interfaces: Sequence[Interface], model: SwitchModel | None) -> Buffering:
    """Everything that buffer tables say."""
    found = Buffering(_pools(tables, model))
    _queues(tables, found)
    _groups(tables, interfaces, model, found)
    return found


def _pools(tables: Rows, model: SwitchModel | None) -> Buffers:
    """Shares of the buffer, percent; sizes that are no whole percentage of what the model has are not understood."""
    usual = Buffers()
    pool = {name: tables.row("BUFFER_POOL", name) for name in (LOSSLESS, LOSSY, EGRESS_LOSSLESS, EGRESS_LOSSY)}
    for name, row in pool.items():
        if not row.says("type", name.partition("_")[0]):
            row.leave("type")
        if not row.says("mode", "static" if name == EGRESS_LOSSLESS else "dynamic"):
            row.leave("mode")
    headroom = _percent(pool[LOSSLESS], "xoff", model) if "xoff" in pool[LOSSLESS].fields else 0
    with_headroom = _percent(pool[LOSSLESS], "size", model)
    lossy, lossless = _percent(pool[LOSSY], "size", model), _percent(pool[EGRESS_LOSSLESS], "size", model)
    egress = _percent(pool[EGRESS_LOSSY], "size", model)
    stands = pool[LOSSLESS].line > 0
    return replace(
        usual,
        lossless=usual.lossless if with_headroom is None or headroom is None else with_headroom - headroom,
        headroom=usual.headroom if headroom is None or not stands else headroom,
        lossy=usual.lossy if lossy is None else lossy,
        egress_lossless=usual.egress_lossless if lossless is None else lossless,
        egress_lossy=usual.egress_lossy if egress is None else max(0, egress - usual.egress_multicast),
    )


def _percent(row: Row, name: str, model: SwitchModel | None) -> int | None:
    size = row.number(name)
    if size is None or model is None:
        row.leave(name)
        return None
    total, cell = model.buffer.shared_mb * 1e6, model.buffer.cell_bytes
    percent = round(100 * size / total)
    if int(total * percent / 100) // cell * cell != size or percent > _MOST_PERCENT:
        row.leave(name)
    return percent


def _threshold(row: Row) -> int | None:
    """A dynamic threshold as the index that alpha has elsewhere; None where it is none."""
    try:
        return int(row.text("dynamic_th")) + NO_OFFSET if "dynamic_th" in row.fields else None
    except ValueError:
        row.leave("dynamic_th")
        return None


def _queues(tables: Rows, found: Buffering) -> None:
    """Thresholds of queues, and which are lossless, by the profile that most ports have there."""
    kinds: dict[int, dict[str, list[Row]]] = {}
    for row in tables.rows("BUFFER_QUEUE"):
        name = _name(row.text("profile"))
        low, _, high = row.parts()[-1].partition("-")
        if low.isdecimal() and (high or low).isdecimal() and len(low + high) <= 4:
            for queue in range(int(low), int(high or low) + 1):
                kinds.setdefault(queue, {}).setdefault(name, []).append(row)
    for queue, names in sorted(kinds.items()):
        most = max(names, key=lambda name: len(names[name]))
        for name, rows in names.items():
            for row in rows if name != most else ():
                row.leave("profile")
        profile = tables.row("BUFFER_PROFILE", most)
        _plain(profile)
        index = _threshold(profile)
        if index is not None and (index != NO_OFFSET or _OWN_THRESHOLD.fullmatch(most)):
            found.thresholds[queue] = index
        if _name(profile.text("pool")) == EGRESS_LOSSLESS:
            found.lossless_queues.append(queue)


def _plain(row: Row) -> None:
    """Fields of a profile that say no more than its pool does."""
    if _name(row.text("pool")) not in {LOSSY, EGRESS_LOSSLESS, EGRESS_LOSSY, LOSSLESS}:
        row.leave("pool")
    row.text("static_th")
    if row.text("size") not in {"0", ""}:
        row.leave("size")


def _name(text: str) -> str:
    """The name of a row that a field has: older releases write ``[TABLE|name]``."""
    return text.strip("[]").rpartition("|")[2]


@dataclass
class _Group:
    """Ports of one cable length, MRU and speed, with their headroom."""

    headroom: int = 0
    ports: list[str] = field(default_factory=list[str])


def _groups(tables: Rows, interfaces: Sequence[Interface], model: SwitchModel | None, found: Buffering) -> None:
    """Headroom of lossless priority groups, by the cable length in the names of profiles."""
    by_name = {one.name: one for one in interfaces}
    groups: dict[tuple[int, int, int], _Group] = {}
    for row in tables.rows("BUFFER_PG"):
        name = _name(row.text("profile"))
        profile = tables.row("BUFFER_PROFILE", name)
        named = _PROFILE.fullmatch(name)
        port = by_name.get(row.parts()[0])
        if named is None or port is None or int(named[1]) != port.speed_gbps * 1000:
            if "xoff" in profile.fields or named is not None or not profile.line:
                row.leave("profile")
            else:
                _plain(profile)
                profile.text("dynamic_th")
            continue
        mru = int(named[3]) if named[3] else _mru(profile, port, int(named[2]), interfaces, model)
        group = groups.setdefault((int(named[2]), mru, port.speed_gbps), _Group())
        if port.name not in group.ports:
            group.ports.append(port.name)
        _lossless(profile, mru, model, found, group)
    found.profiles = pfc_profiles({need: (group.headroom, group.ports) for need, group in groups.items()})


def _mru(row: Row, port: Interface, length: int, interfaces: Sequence[Interface], model: SwitchModel | None) -> int:
    """The MRU of a port whose profile's name has none: the port's MTU, frame and all.

    Of a port that routes by itself the text has that of its gateway alone: then it is one that comes to the cells that the
    profile has, of other ports or as servers' ports have it.
    """
    size, xoff = row.number("size"), row.number("xoff")
    if model is None or size is None or port.vlan is not None or port.kind != "server":
        return port.mtu
    others = [one.mtu for one in interfaces if one.vlan is not None or one.kind != "server"]
    for mru in (*dict.fromkeys(others), SERVER_PORT, port.mtu):
        needed = port_headroom(catalog(), model, length, port.speed_gbps, mru).limit_bytes
        if (reserve_bytes(mru, model), needed) == (size, xoff):
            return mru
    return port.mtu


def _lossless(row: Row, mru: int, model: SwitchModel | None, found: Buffering, group: _Group) -> None:
    """A lossless profile and its headroom."""
    if _name(row.text("pool")) != LOSSLESS:
        row.leave("pool")
    row.text("xon")
    size, xoff, offset = row.number("size"), row.number("xoff"), row.number("xon_offset")
    index = _threshold(row)
    if index is not None:
        found.buffers = replace(found.buffers, ingress_dynamic_threshold=index)
    group.headroom = max(group.headroom, xoff or 0)
    if model is None or xoff is None:
        return
    platform, cell = model.sonic, model.buffer.cell_bytes
    if size != reserve_bytes(mru, model):
        row.leave("size")
    if offset is not None and offset != (platform.xon_offset_bytes if platform else 0):
        found.xon_offset_cells = offset // cell
