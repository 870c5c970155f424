"""What an Enterprise SONiC switch answers by RESTCONF: OpenConfig's own trees, with the leaves that public readers fetch."""

from __future__ import annotations

import json

_NEIGHBOR = {
    "neighbor-address": "Eth1/1",
    "state": {
        "session-state": "ESTABLISHED",
        "peer-as": 4200000001,
        "local-as": 4200001001,
        "connections-dropped": "1",
        "last-reset-reason": "HOLD_TIMER_EXPIRED",
    },
    "afi-safis": {
        "afi-safi": [
            {
                "afi-safi-name": "openconfig-bgp-types:IPV6_UNICAST",
                "state": {"prefixes": {"received": 34, "received-pre-policy": 36, "sent": 4}},
            }
        ]
    },
}

ANSWERS: dict[str, str] = {
    name: json.dumps(value)
    for name, value in {
        "system": {"openconfig-system:state": {"hostname": "stripe1-leaf1", "software-version": "4.5.0"}},
        "components": {
            "openconfig-platform:components": {
                "component": [{"name": "System Eeprom", "state": {"part-no": "0X1", "serial-no": "TH001"}}]
            }
        },
        "lldp-neighbors": {
            "openconfig-lldp:interfaces": {
                "interface": [
                    {
                        "name": "Eth1/1",
                        "neighbors": {
                            "neighbor": [
                                {
                                    "id": "1",
                                    "state": {
                                        "system-name": "spine1",
                                        "port-id": "Eth1/5",
                                        "port-description": "stripe1-leaf1 Eth1/1",
                                        "chassis-id": "00:1c:73:a0:fc:18",
                                    },
                                }
                            ]
                        },
                    },
                    {"name": "Eth1/2"},
                ]
            }
        },
        "interfaces": {
            "openconfig-interfaces:interfaces": {
                "interface": [
                    {
                        "name": "Eth1/1",
                        "state": {
                            "admin-status": "UP",
                            "oper-status": "DOWN",
                            "mtu": 9100,
                            "counters": {"in-errors": "1", "in-discards": "2", "out-discards": "3", "out-errors": "0"},
                        },
                        "openconfig-if-ethernet:ethernet": {
                            "state": {
                                "openconfig-if-ethernet-ext2:port-fec": "FEC_RS",
                                "hw-mac-address": "00:1c:73:00:00:01",
                            }
                        },
                    }
                ]
            }
        },
        "bgp": {
            "openconfig-network-instance:network-instances": {
                "network-instance": [
                    {
                        "name": "default",
                        "protocols": {
                            "protocol": [
                                {"identifier": "BGP", "name": "bgp", "bgp": {"neighbors": {"neighbor": [_NEIGHBOR]}}}
                            ]
                        },
                    }
                ]
            }
        },
        "queues": {
            "openconfig-qos:interfaces": {
                "interface": [
                    {
                        "interface-id": "Eth1/1",
                        "output": {
                            "queues": {
                                "queue": [
                                    {
                                        "name": "Eth1/1:3",
                                        "state": {
                                            "name": "Eth1/1:3",
                                            "traffic-type": "UC",
                                            "transmit-pkts": "918",
                                            "dropped-pkts": "2",
                                            "ecn-marked-pkts": "48211",
                                            "watermark": "81920",
                                        },
                                    },
                                    {"name": "Eth1/1:10", "state": {"name": "Eth1/1:10", "traffic-type": "MC"}},
                                ]
                            }
                        },
                    }
                ]
            }
        },
    }.items()
} | {"configuration": "hostname stripe1-leaf1\n"}
