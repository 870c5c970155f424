"""The answers of a SONiC switch that is in a given state: its databases, its Linux, its FRRouting."""

from __future__ import annotations

import json
from typing import Any

from railweave.model.state.device_state import DeviceState
from tests.live.check.said.frr import lldpd, routing
from tests.model.state.samples.sonic import dump

_GROUP = "SAI_INGRESS_PRIORITY_GROUP_STAT"
Rows = dict[str, dict[str, str]]


def answers(state: DeviceState) -> dict[str, str]:
    """Every answer that the state has something for."""
    found = routing(state)
    if state.identity is not None:
        one = state.identity
        found["version"] = (
            f"\nSONiC Software Version: SONiC.{one.version}\nHwSKU: {one.model}\nASIC: broadcom\nSerial Number: {one.serial}\n"
        )
    if state.alarms is not None:
        found["health"] = dump({"SYSTEM_READY|SYSTEM_STATE": {"Status": "DOWN" if state.alarms else "UP"}})
    if state.filters is not None:
        found["filters"] = dump(
            {f"ACL_TABLE|{one.name}": {"type": "L3", "ports@": ",".join(one.ports)} for one in state.filters}
        )
    if state.neighbors is not None:
        found["lldp-neighbors"] = lldpd(state.neighbors)
    if state.interfaces is not None:
        ports = {name: one for name, one in state.interfaces.items() if name.startswith("Ethernet")}
        found["ports"] = dump(
            {
                f"PORT_TABLE:{name}": _strings(
                    admin_status="up" if one.admin_up else "down",
                    oper_status="up" if one.oper_up else "down",
                    speed=int(1000 * (one.speed_gbps or 0)),
                    mtu=one.mtu,
                    fec={"rs-544": "rs"}.get(one.fec.mode or "", one.fec.mode),
                    flap_count=one.flaps,
                )
                for name, one in ports.items()
            }
        )
        found["addresses"] = json.dumps(
            [
                {
                    "ifname": name,
                    "flags": ["UP"] if one.oper_up else [],
                    "operstate": "UP" if one.oper_up else "DOWN",
                    "addr_info": [
                        {
                            "family": "inet6",
                            "local": text.partition("/")[0],
                            "prefixlen": int(text.partition("/")[2] or 128),
                        }
                        for text in one.addresses
                    ],
                }
                for name, one in state.interfaces.items()
                if one.addresses is not None
            ]
        )
    if state.optics is not None:
        found["optics"] = dump(_optics(state))
    found |= _counters(state)
    return found


def _strings(**fields: object) -> dict[str, str]:
    """Every value of a database is a text; what is not known is not there."""
    return {name: str(value) for name, value in fields.items() if value is not None}


def _optics(state: DeviceState) -> Rows:
    rows: Rows = {}
    for name, one in (state.optics or {}).items():
        if not one.present:
            continue
        rows[f"TRANSCEIVER_INFO|{name}"] = _strings(type=one.kind, serial=one.serial)
        lanes = {f"rx{lane.number}power": lane.rx_dbm for lane in one.lanes} | {
            f"tx{lane.number}power": lane.tx_dbm for lane in one.lanes
        }
        rows[f"TRANSCEIVER_DOM_SENSOR|{name}"] = _strings(**lanes)
        rows[f"TRANSCEIVER_DOM_THRESHOLD|{name}"] = _strings(
            rxpowerlowalarm=one.rx_low_dbm, txpowerlowalarm=one.tx_low_dbm
        )
    return rows


def _counters(state: DeviceState) -> dict[str, str]:
    names: dict[str, dict[str, str]] = {
        table: {} for table in ("COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP", "COUNTERS_PG_NAME_MAP")
    }
    counters: dict[str, dict[str, str]] = {}

    def count(table: str, name: str, **fields: Any) -> None:
        oid = f"oid:0x{len(counters) + 1:x}"
        names[table][name] = oid
        counters[f"COUNTERS:{oid}"] = _strings(**fields)

    for name, one in (state.interfaces or {}).items():
        if name.startswith("Ethernet"):
            frames = {
                f"SAI_PORT_STAT_PFC_{priority}_{way}_PKTS": value
                for priority, each in (state.pfc or {}).get(name, {}).items()
                for way, value in (("RX", each.received), ("TX", each.sent))
            }
            count(
                "COUNTERS_PORT_NAME_MAP",
                name,
                SAI_PORT_STAT_IF_IN_ERRORS=one.errors.in_errors,
                SAI_PORT_STAT_IF_IN_OCTETS=one.in_bytes,
                SAI_PORT_STAT_IF_OUT_OCTETS=one.out_bytes,
                SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES=one.fec.uncorrected,
                **frames,
            )
    for name, port in (state.queues or {}).items():
        dogs = (state.watchdog or {}).get(name, {})
        for number, queue in port.egress.items():
            dog = dogs.get(number)
            watched = (
                {
                    "PFC_WD_STATUS": "stormed" if dog.storming else "operational",
                    "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": dog.detected,
                    "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": dog.recovered,
                }
                if dog
                else {}
            )
            count(
                "COUNTERS_QUEUE_NAME_MAP",
                f"{name}:{number}",
                SAI_QUEUE_STAT_PACKETS=queue.sent,
                SAI_QUEUE_STAT_DROPPED_PACKETS=queue.dropped,
                SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS=queue.ecn_marked,
                **watched,
            )
        for number, group in port.ingress.items():
            count("COUNTERS_PG_NAME_MAP", f"{name}:{number}", **{f"{_GROUP}_DROPPED_PACKETS": group.dropped})
    return {"counter-names": dump(names), "counters": dump(counters)}
