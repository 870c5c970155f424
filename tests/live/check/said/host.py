"""What ``railweave-host show --json`` prints on a server on which everything is as expected."""

from __future__ import annotations

import ipaddress
import json
import zlib
from typing import Any

from railweave.analysis.expect.hosts import ExpectedHost, Nic

LINK_UP = {"up": True, "carrier": True}


def document(one: ExpectedHost) -> dict[str, Any]:
    """The answer that fulfils every expectation of a server."""
    return {
        "schema": 1,
        "host": one.device,
        "time": 1_800_000_000,
        "links": [_link(nic) for nic in one.nics],
        "addresses": [
            {"dev": nic.netdev, "address": address, "prefix_length": 64, "scope": "global", "flags": []}
            for nic in one.nics
            for address in addresses(nic)
        ],
        "rules": [
            {
                "family": 6 if ":" in f"{rule.from_}{rule.to}" else 4,
                "priority": 100 if rule.priority is None else rule.priority,
                "from": str(rule.from_ or ""),
                "to": str(rule.to or ""),
                "table": rule.table,
                "plain": True,
            }
            for rule in one.rules
        ],
        "routes": [
            {
                "family": 6 if ":" in f"{route.to}{route.via}" else 4,
                "table": route.table,
                "type": "unicast",
                "to": str(route.to) if route.to != "default" else "::/0" if ":" in str(route.via) else "0.0.0.0/0",
                "dev": route.dev,
                "via": str(route.via or ""),
                "metric": 1024 if ":" in f"{route.to}{route.via}" else 0,
            }
            for route in one.routes
        ],
        "firewall": [],
        "gids": [
            {
                "device": nic.rdma,
                "port": nic.rdma_port,
                "index": 3 + index,
                "gid": address,
                "type": "RoCE v2",
                "netdev": nic.netdev,
            }
            for nic in one.nics
            for index, address in enumerate(addresses(nic))
        ],
        "rdma": [
            {
                "device": nic.rdma,
                "port": nic.rdma_port,
                "state": "4: ACTIVE",
                "rate": "400 Gb/sec (4X NDR)",
                "counters": {"packet_seq_err": 7, "port_rcv_data": 1000},
            }
            for nic in one.nics
        ],
        "lldp": {
            "lldp": {
                "interface": [
                    {
                        nic.netdev: {
                            "chassis": {nic.peer: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}},
                            "port": {"id": {"type": "ifname", "value": nic.peer_port}},
                        }
                    }
                    for nic in one.nics
                ]
            }
        },
        "notes": [],
    }


def answer(one: ExpectedHost) -> str:
    return json.dumps(document(one))


def addresses(nic: Nic) -> list[str]:
    """One address for each path: by SLAAC any in the prefix, which no other server has."""
    number = 0x1234 + zlib.crc32(f"{nic.device} {nic.name}".encode())
    return [str(path.address or ipaddress.ip_network(path.prefix)[number]) for path in nic.addresses]


def _link(nic: Nic) -> dict[str, Any]:
    counters = dict.fromkeys(("rx_errors", "rx_dropped", "rx_crc_errors", "tx_errors", "tx_dropped"), 0)
    return {
        "name": nic.netdev,
        "mac": nic.mac or "02:00:00:00:00:09",
        "mtu": nic.mtu,
        **LINK_UP,
        "speed_mbps": nic.speed_gbps * 1000,
        "carrier_changes": 1,
        "counters": counters,
    }
