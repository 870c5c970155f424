"""Packet buffer: pools, profiles with the headroom of the design's arithmetic, and which queue and group has which."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.systems.sonic.render.ports import used
from railweave.systems.sonic.render.qos import LOSSY_GROUP, lossless

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.model import DeviceConfig, Interface, PfcProfile, QosConfig
    from railweave.systems.sonic.tables import Row, Tables

NO_OFFSET = 7
"""The threshold index of alpha 1; SONiC counts from there: its 0 is alpha 1, its -1 alpha 1/2."""

LOSSLESS, LOSSY = "ingress_lossless_pool", "ingress_lossy_pool"
EGRESS_LOSSLESS, EGRESS_LOSSY = "egress_lossless_pool", "egress_lossy_pool"


def threshold(index: int | None) -> str:
    """A dynamic threshold as SONiC counts it: the power of two of alpha."""
    return str((NO_OFFSET if index is None else index) - NO_OFFSET)


def in_cells(size: float, model: SwitchModel) -> int:
    """Bytes rounded up to whole cells, the unit in which the buffer is given out."""
    cell = model.buffer.cell_bytes
    return -(-int(size) // cell) * cell


def pools(qos: QosConfig, model: SwitchModel) -> Tables:
    """``BUFFER_POOL``. A pool's size holds its headroom; unicast and multicast share the egress pool of lossy classes."""
    buffers = qos.buffers

    def share(percent: int) -> str:
        cell = model.buffer.cell_bytes
        return str(int(model.buffer.shared_mb * 1e6 * percent / 100) // cell * cell)

    found: dict[str, Row] = {}
    if lossless(qos):
        headroom: Row = {"xoff": share(buffers.headroom)} if buffers.headroom else {}
        size = share(buffers.lossless + buffers.headroom)
        found[LOSSLESS] = {"type": "ingress", "mode": "dynamic", "size": size, **headroom}
        found[EGRESS_LOSSLESS] = {"type": "egress", "mode": "static", "size": share(buffers.egress_lossless)}
    found[LOSSY] = {"type": "ingress", "mode": "dynamic", "size": share(buffers.lossy)}
    egress = share(buffers.egress_lossy + buffers.egress_multicast)
    found[EGRESS_LOSSY] = {"type": "egress", "mode": "dynamic", "size": egress}
    return {"BUFFER_POOL": found}


def profile_name(port: Interface, profile: PfcProfile) -> str:
    """The profile of lossless groups of ports of one speed, cable length and MRU, named as SONiC names its own."""
    mru = "" if profile.mru_bytes == port.mtu else f"_{profile.mru_bytes}"
    return f"pg_lossless_{port.speed_gbps * 1000}_{profile.cable_length_m}m{mru}_profile"


def reserve_bytes(mru: int, model: SwitchModel) -> int:
    """Bytes that a lossless group has for itself: so many frames of the MRU, in cells."""
    return (model.sonic.pause_reserve_frames if model.sonic else 2) * in_cells(mru, model)


def lossless_profile(profile: PfcProfile, qos: QosConfig, model: SwitchModel) -> Row:
    """Room that is the group's own, room for what arrives after XOFF, and when the pause ends."""
    cell, platform = model.buffer.cell_bytes, model.sonic
    offset = platform.xon_offset_bytes if platform else 0
    if qos.xon_offset_cells is not None:
        offset = qos.xon_offset_cells * cell
    return {
        "pool": LOSSLESS,
        "size": str(reserve_bytes(profile.mru_bytes, model)),
        "dynamic_th": threshold(qos.buffers.ingress_dynamic_threshold),
        "xon": "0",
        "xoff": str(profile.headroom_bytes),
        "xon_offset": str(offset),
    }


def buffers(config: DeviceConfig, qos: QosConfig) -> Tables:
    """``BUFFER_POOL``, ``BUFFER_PROFILE``, ``BUFFER_PG`` and ``BUFFER_QUEUE``.

    There is no ``CABLE_LENGTH``: from it SONiC would make groups of its own, with headroom from a table of its platform.
    """
    model = catalog().switches.get(config.model)
    if model is None:  # a text may name hardware that nobody knows: sizes are in its cells
        return {}
    of_port = {name: profile for profile in qos.profiles for name in profile.ports}
    profiles: dict[str, Row] = {"ingress_lossy_profile": {"pool": LOSSY, "size": "0", "dynamic_th": threshold(None)}}
    egress = _egress(qos, model, profiles)
    groups: dict[str, Row] = {}
    out: dict[str, Row] = {}
    for port in used(config):
        groups[f"{port.name}|{LOSSY_GROUP}"] = {"profile": "ingress_lossy_profile"}
        profile = of_port.get(port.name)
        for priority in lossless(qos):
            if profile is None:
                continue
            name = profile_name(port, profile)
            if name not in profiles:
                profiles[name] = lossless_profile(profile, qos, model)
            groups[f"{port.name}|{priority}"] = {"profile": name}
        out |= {f"{port.name}|{queue}": {"profile": name} for queue, name in egress.items()}
    return {**pools(qos, model), "BUFFER_PROFILE": profiles, "BUFFER_PG": groups, "BUFFER_QUEUE": out}


def _egress(qos: QosConfig, model: SwitchModel, profiles: dict[str, Row]) -> Mapping[int, str]:
    """The egress profile of every queue; what is lossless is held back at ingress, so its queues may have everything."""
    found: dict[int, str] = {}
    for one in sorted(qos.classes.values(), key=lambda one: one.queue):
        pool = EGRESS_LOSSLESS if one.lossless else EGRESS_LOSSY
        if one.dynamic_threshold is not None:
            # By the queue's number: the patch tool tunes thresholds of profiles with a digit in their names (patch_gate).
            profile, row = f"egress_queue{one.queue}_profile", {"dynamic_th": threshold(one.dynamic_threshold)}
        elif one.lossless:
            profile, row = "egress_lossless_profile", {"static_th": str(int(model.buffer.shared_mb * 1e6))}
        else:
            profile, row = "egress_lossy_profile", {"dynamic_th": threshold(None)}
        profiles[profile] = {"pool": pool, "size": "0", **row}
        found[one.queue] = profile
    return found
