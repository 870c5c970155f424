"""What a SONiC switch answers: tables in the form of sonic-utilities' test data; its FRRouting is that of the lab."""

from __future__ import annotations

import json
from typing import Any

from tests.model.state.samples.frr import ANSWERS as _ROUTING
from tests.model.state.samples.frr import LINUX


def dump(tables: dict[str, dict[str, str]], *, bare: bool = False) -> str:
    """A dump of a database: each key with its kind and its fields, or with its fields alone."""
    value: dict[str, Any] = (
        tables if bare else {key: {"type": "hash", "value": fields} for key, fields in tables.items()}
    )
    return json.dumps(value, indent=1)


_LLDP = {
    "lldp": {
        "interface": [
            {
                "Ethernet0": {
                    "chassis": {"spine1": {"id": {"type": "mac", "value": "00:1c:73:a0:fc:18"}, "descr": "x"}},
                    "port": {"id": {"type": "local", "value": "Ethernet16"}, "descr": "stripe1-leaf1 Ethernet0"},
                }
            },
            {
                "Ethernet8": {
                    "chassis": {"id": {"type": "mac", "value": "00:1c:73:a0:fc:19"}},
                    "port": {"id": {"type": "mac", "value": "00:1c:73:a0:fc:19"}},
                }
            },
        ]
    }
}

ANSWERS: dict[str, str] = {
    **{name: text for name, text in _ROUTING.items() if name not in {"version", "links", "interfaces", "parameters"}},
    "version": "\nSONiC Software Version: SONiC.202505.1\nPlatform: x86_64-example\nHwSKU: Example-64x800G\nASIC: broadcom\nSerial Number: MT0001\nUptime: 1 day\n",
    "lldp-neighbors": json.dumps(_LLDP),
    "ports": dump(
        {
            "PORT_TABLE:PortConfigDone": {"count": "64"},
            "PORT_TABLE:Ethernet0": {
                "admin_status": "up",
                "oper_status": "up",
                "description": "spine1 Ethernet16",
                "speed": "400000",
                "lanes": "1,2,3,4",
                "mtu": "9100",
                "fec": "rs",
                "flap_count": "3",
            },
            "PORT_TABLE:Ethernet8": {"admin_status": "up", "oper_status": "down", "speed": "400000", "mtu": "9100"},
        }
    ),
    "addresses": json.dumps(
        [
            {
                "ifname": "Ethernet0",
                "flags": ["BROADCAST", "UP", "LOWER_UP"],
                "mtu": 9100,
                "operstate": "UP",
                "address": "00:1c:73:00:00:01",
                "addr_info": [{"family": "inet6", "local": "fe80::21c:73ff:fe00:1", "prefixlen": 64, "scope": "link"}],
            },
            {
                "ifname": "Vlan2",
                "flags": ["UP"],
                "mtu": 9100,
                "operstate": "UP",
                "addr_info": [{"family": "inet6", "local": "fc00:1:1:1::1", "prefixlen": 64, "scope": "global"}],
            },
        ]
    ),
    "ports-state": dump(
        {"PORT_TABLE|Ethernet0": {"speed": "400000", "fec": "rs544"}, "PORT_TABLE|Ethernet8": {"fec": "N/A"}}
    ),
    "optics": dump(
        {
            "TRANSCEIVER_INFO|Ethernet0": {
                "manufacturer": "Example",
                "model": "OSFP-400",
                "serial": "S1",
                "type": "OSFP 8X",
                "cable_type": "Length Cable Assembly(m)",
                "cable_length": "3.0",
            },
            "TRANSCEIVER_DOM_SENSOR|Ethernet0": {
                "temperature": "40.5",
                "voltage": "3.29",
                "rx1power": "-2.5",
                "tx1power": "N/A",
                "tx1bias": "7.2",
                "rx2power": "-inf",
            },
            "TRANSCEIVER_DOM_THRESHOLD|Ethernet0": {"rxpowerlowalarm": "-10.4", "txpowerlowalarm": "-8.0"},
        },
        bare=True,
    ),
    "health": dump({"SYSTEM_READY|SYSTEM_STATE": {"Status": "DOWN"}}),
    "counter-names": dump(
        {
            "COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1000000000001", "Ethernet8": "oid:0x1000000000002"},
            "COUNTERS_QUEUE_NAME_MAP": {"Ethernet0:3": "oid:0x15000000000001", "Ethernet0:4": "oid:0x15000000000002"},
            "COUNTERS_PG_NAME_MAP": {"Ethernet0:3": "oid:0x1a000000000001"},
            "COUNTERS_BUFFER_POOL_NAME_MAP": {"ingress_lossless_pool": "oid:0x18000000000001"},
        }
    ),
    "counters": dump(
        {
            "COUNTERS:oid:0x1000000000001": {
                "SAI_PORT_STAT_IF_IN_ERRORS": "1",
                "SAI_PORT_STAT_IF_OUT_ERRORS": "0",
                "SAI_PORT_STAT_IF_IN_DISCARDS": "4",
                "SAI_PORT_STAT_IF_OUT_DISCARDS": "0",
                "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES": "100",
                "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "0",
                "SAI_PORT_STAT_PFC_3_RX_PKTS": "8",
                "SAI_PORT_STAT_PFC_3_TX_PKTS": "9",
            },
            "COUNTERS:oid:0x15000000000001": {
                "SAI_QUEUE_STAT_PACKETS": "918",
                "SAI_QUEUE_STAT_DROPPED_PACKETS": "2",
                "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "48211",
                "PFC_WD_STATUS": "stormed",
                "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "2",
                "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": "1",
            },
            "COUNTERS:oid:0x1a000000000001": {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "6"},
        }
    ),
    "watermarks": dump(
        {
            "USER_WATERMARKS:oid:0x15000000000001": {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "81920"},
            "USER_WATERMARKS:oid:0x1a000000000001": {
                "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": "4096",
                "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "1024",
            },
            "USER_WATERMARKS:oid:0x18000000000001": {"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES": "99999"},
        }
    ),
    **LINUX,
    "filters": dump({"ACL_TABLE|DATA": {"type": "L3", "stage": "ingress", "ports@": "Ethernet0,Ethernet4"}}),
    "configuration": json.dumps({"DEVICE_METADATA": {"localhost": {"hostname": "stripe1-leaf1"}}}),
    "configuration-frr": "frr version 8.5\nhostname stripe1-leaf1\n",
}

EMPTY_TABLE = "{}"
"""A table without routes."""
