"""Counters of SONiC's COUNTERS_DB: PFC, queues, priority groups, pools, the watchdog.

A counter that is not polled is not there (``counterpoll``): it is absent, not zero.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Pool, Watchdog
from railweave.model.state.ports import PfcCounters, PortQueues, PriorityGroup, Queue
from railweave.systems.sonic.state.database import numbered, objects

if TYPE_CHECKING:
    from railweave.systems.sonic.state.database import Tables

_PFC = re.compile(r"SAI_PORT_STAT_PFC_([0-7])_RX_PKTS")
_GROUP = "SAI_INGRESS_PRIORITY_GROUP_STAT"


def pfc(names: Tables | None, counters: Tables | None) -> dict[str, dict[int, PfcCounters]] | None:
    """PFC frames by port and priority."""
    if counters is None or names is None:
        return None
    found: dict[str, dict[int, PfcCounters]] = {}
    for port, row in objects(names, "COUNTERS_PORT_NAME_MAP", counters, "COUNTERS"):
        for priority in sorted(int(one[1]) for key in row.keys if (one := _PFC.fullmatch(key))):
            found.setdefault(port, {})[priority] = PfcCounters(
                row.one(f"SAI_PORT_STAT_PFC_{priority}_RX_PKTS").integer(),
                row.one(f"SAI_PORT_STAT_PFC_{priority}_TX_PKTS").integer(),
            )
    return found


def queues(names: Tables | None, counters: Tables | None, watermarks: Tables | None) -> dict[str, PortQueues] | None:
    """Queues and priority groups by port, with the peaks that they reached since somebody cleared them."""
    if names is None or (counters is None and watermarks is None):
        return None
    egress: dict[str, dict[int, Queue]] = {}
    ingress: dict[str, dict[int, PriorityGroup]] = {}
    for name, row in objects(names, "COUNTERS_QUEUE_NAME_MAP", counters, "COUNTERS"):
        if (at := numbered(name)) is not None:
            egress.setdefault(at[0], {})[at[1]] = Queue(
                None,
                row.one("SAI_QUEUE_STAT_PACKETS").integer(),
                row.one("SAI_QUEUE_STAT_DROPPED_PACKETS").integer(),
                row.one("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS").integer(),
            )
    for name, row in objects(names, "COUNTERS_QUEUE_NAME_MAP", watermarks, "USER_WATERMARKS"):
        if (at := numbered(name)) is not None:
            here = egress.setdefault(at[0], {})
            peak = row.one("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES").integer()
            here[at[1]] = replace(here.get(at[1], Queue()), peak_bytes=peak)
    for name, row in objects(names, "COUNTERS_PG_NAME_MAP", counters, "COUNTERS"):
        if (at := numbered(name)) is not None:
            ingress.setdefault(at[0], {})[at[1]] = PriorityGroup(row.one(f"{_GROUP}_DROPPED_PACKETS").integer())
    for name, row in objects(names, "COUNTERS_PG_NAME_MAP", watermarks, "USER_WATERMARKS"):
        if (at := numbered(name)) is not None:
            groups = ingress.setdefault(at[0], {})
            groups[at[1]] = replace(
                groups.get(at[1], PriorityGroup()),
                peak_bytes=row.one(f"{_GROUP}_SHARED_WATERMARK_BYTES").integer(),
                peak_headroom_bytes=row.one(f"{_GROUP}_XOFF_ROOM_WATERMARK_BYTES").integer(),
            )
    return {port: PortQueues(egress.get(port, {}), ingress.get(port, {})) for port in sorted({*egress, *ingress})}


def pools(names: Tables | None, watermarks: Tables | None) -> dict[str, Pool] | None:
    """The most that was used of each pool of the packet buffer."""
    if names is None or watermarks is None or "COUNTERS_BUFFER_POOL_NAME_MAP" not in names:
        return None
    rows = objects(names, "COUNTERS_BUFFER_POOL_NAME_MAP", watermarks, "USER_WATERMARKS")
    return {name: Pool(peak_bytes=row.one("SAI_BUFFER_POOL_STAT_WATERMARK_BYTES").integer()) for name, row in rows}


def watchdog(names: Tables | None, counters: Tables | None) -> dict[str, dict[int, Watchdog]] | None:
    """The PFC watchdog by port and queue, of those queues that it watches."""
    if names is None or counters is None:
        return None
    found: dict[str, dict[int, Watchdog]] = {}
    for name, row in objects(names, "COUNTERS_QUEUE_NAME_MAP", counters, "COUNTERS"):
        at = numbered(name)
        if at is not None and "PFC_WD_STATUS" in row.keys:
            found.setdefault(at[0], {})[at[1]] = Watchdog(
                row.one("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED").integer(),
                row.one("PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED").integer(),
                row.one("PFC_WD_STATUS").lower() == "stormed",
            )
    return found
