"""What an EOS switch answers, invented in the forms that ANTA, NAPALM and Meta's health checks read."""

from __future__ import annotations

import json
from typing import Any

_JSON: dict[str, Any] = {
    "version": {
        "modelName": "DCS-7060X6-64PE",
        "serialNumber": "HBG00000001",
        "version": "4.33.2F",
        "bootupTimestamp": 1763700000.5,
        "uptime": 1000.0,
    },
    "uptime": {"upTime": 1000.0, "currentTime": 1763701000.25},
    "lldp-neighbors": {
        "lldpNeighbors": {
            "Ethernet1/1": {
                "lldpNeighborInfo": [
                    {
                        "chassisIdType": "macAddress",
                        "chassisId": "001c.73a0.fc18",
                        "systemName": "spine1.example.net",
                        "neighborInterfaceInfo": {
                            "interfaceIdType": "interfaceName",
                            "interfaceId": '"Ethernet5/1"',
                            "interfaceId_v2": "Ethernet5/1",
                            "interfaceDescription": "stripe1-leaf1 Ethernet1/1",
                        },
                    }
                ]
            },
            "Ethernet2/1": {"lldpNeighborInfo": []},
        }
    },
    "interfaces": {
        "interfaces": {
            "Ethernet1/1": {
                "name": "Ethernet1/1",
                "lineProtocolStatus": "up",
                "interfaceStatus": "connected",
                "description": "spine1 Ethernet5/1",
                "bandwidth": 400000000000,
                "lanes": 4,
                "mtu": 9200,
                "physicalAddress": "00:1c:73:00:00:01",
                "lastStatusChangeTimestamp": 1763700100.0,
                "interfaceCounters": {"linkStatusChanges": 3, "inDiscards": 0, "outDiscards": 0},
            },
            "Ethernet2/1": {
                "lineProtocolStatus": "down",
                "interfaceStatus": "errdisabled",
                "bandwidth": 0,
                "mtu": 9200,
                "interfaceCounters": {},
            },
            "Loopback0": {"lineProtocolStatus": "up", "interfaceStatus": "connected", "mtu": 65535},
        }
    },
    "addresses-ipv6": {
        "interfaces": {
            "Ethernet1/1": {
                "addresses": [{"address": "fc00:1:1:1::1", "subnet": "fc00:1:1:1::/64"}],
                "linkLocal": {"address": "fe80::21c:73ff:fe00:1", "subnet": "fe80::/64"},
            }
        }
    },
    "addresses-ipv4": {
        "interfaces": {
            "Ethernet1/1": {
                "interfaceAddress": {
                    "primaryIp": {"address": "192.0.2.1", "maskLen": 31},
                    "secondaryIpsOrderedList": [{"address": "198.51.100.1", "maskLen": 24}],
                }
            }
        }
    },
    "interface-errors": {
        "interfaceErrorCounters": {
            "Ethernet1/1": {"inErrors": 2, "outErrors": 0, "fcsErrors": 2, "symbolErrors": 0, "alignmentErrors": 0}
        }
    },
    "interface-discards": {"interfaces": {"Ethernet1/1": {"inDiscards": 7, "outDiscards": 1}}, "inDiscardsTotal": 7},
    "phy": {
        "interfacePhyStatuses": {
            "Ethernet1/1": {
                "phyStatuses": [
                    {"phyState": {"value": "linkUp"}},
                    {
                        "fec": {
                            "correctedCodewords": {"value": 1200, "changes": 4},
                            "uncorrectedCodewords": {"value": 0, "changes": 0},
                        },
                        "preFecBer": {"value": 3.2e-9},
                    },
                ]
            }
        }
    },
    "optics": {
        "interfaces": {
            "Ethernet1/1": {
                "displayName": "Ethernet1/1",
                "mediaType": "400GBASE-DR4",
                "temperature": 41.5,
                "voltage": 3.3,
                "txBias": 60.1,
                "txPower": 1.2,
                "rxPower": -2.6,
                "vendorSn": "XYZ1",
            },
            "Ethernet2/1": {"displayName": "Ethernet2/1"},
        }
    },
    "optics-thresholds": {
        "interfaces": {
            "Ethernet1/1": {
                "parameters": {
                    "rxPower": {
                        "unit": "dBm",
                        "channels": {"1": -2.6, "2": -2.7},
                        "threshold": {"lowAlarm": -9.4, "lowWarn": -8.4},
                    },
                    "txPower": {"unit": "dBm", "channels": {"1": 1.2, "2": 1.1}, "threshold": {"lowAlarm": -7.0}},
                }
            }
        }
    },
    "inventory": {
        "xcvrSlots": {
            "1": {"mfgName": "Example Optics", "modelName": "QDD-400G-DR4", "serialNum": "XYZ1", "hardwareRev": "1"}
        },
        "powerSupplySlots": {},
    },
    "temperature": {"systemStatus": "temperatureCritical"},
    "power": {"powerSupplies": {"1": {"state": "ok"}, "2": {"state": "powerLoss"}}},
    "neighbors": {
        "ipV6Neighbors": [{"address": "fe80::1", "hwAddress": "001c.7300.00aa", "interface": "Et1/1", "age": 12}]
    },
    "sessions": {"sessions": {"rw": {"state": "pendingCommitTimer"}}, "maxSavedSessions": 1},
    "bgp": {
        "vrfs": {
            "default": {
                "vrf": "default",
                "routerId": "10.255.0.1",
                "asn": "4200001001",
                "peers": {
                    "fe80::1%Et1/1": {
                        "peerState": "Established",
                        "peerAsn": "64086.59905",
                        "ipv6Unicast": {"afiSafiState": "negotiated", "nlrisReceived": 36, "nlrisAccepted": 34},
                    },
                    "fd00::5": {
                        "peerState": "Active",
                        "peerAsn": 4200000001,
                        "l2VpnEvpn": {"afiSafiState": "configured", "nlrisReceived": 0, "nlrisAccepted": 0},
                    },
                },
            }
        }
    },
    "bgp-neighbors": {
        "vrfs": {
            "default": {
                "peerList": [
                    {
                        "peerAddress": "fe80::1%Et1/1",
                        "ifName": "Ethernet1/1",
                        "state": "Established",
                        "asn": "4200000001",
                        "localAsn": "4200001001",
                        "peerGroupName": "fabric",
                        "description": "spine1",
                        "establishedTransitions": 2,
                    }
                ]
            }
        }
    },
    "isis": {
        "vrfs": {
            "default": {
                "isisInstances": {
                    "core": {
                        "neighbors": {
                            "0000.0000.0001": {
                                "adjacencies": [
                                    {
                                        "hostname": "router-b",
                                        "circuitId": "83",
                                        "interfaceName": "Ethernet1/1",
                                        "state": "up",
                                        "level": "level-2",
                                        "snpa": "P2P",
                                    }
                                ]
                            }
                        }
                    }
                }
            }
        }
    },
    "bfd": {
        "vrfs": {
            "default": {
                "ipv4Neighbors": {},
                "ipv6Neighbors": {
                    "fe80::1%Et1/1": {
                        "peerStats": {
                            "Ethernet1/1": {
                                "status": "up",
                                "l3intf": "Ethernet1/1",
                                "peerStatsDetail": {
                                    "operTxInterval": 1000000,
                                    "operRxInterval": 1000000,
                                    "detectMult": 3,
                                    "detectTime": 3000000,
                                },
                            }
                        }
                    }
                },
            }
        }
    },
    "pfc": {"interfaces": {"Ethernet1/1": {"priorities": {"3": {"rxFrames": 812, "txFrames": 0}}}}},
    "watchdog": {"interfaces": {"Ethernet1/1": {"txQueues": {"3": {"stuckCount": 2, "recoveryCount": 1}}}}},
    "ecn": {"intfQueueCounters": {"Ethernet1/1": {"queueCounters": {"0": "0", "3": "48211"}}}},
    "queues": {
        "egressQueueCounters": {
            "interfaces": {
                "Ethernet1/1": {
                    "ucastQueues": {
                        "trafficClasses": {
                            "TC3": {"dropPrecedences": {"DP0": {"droppedPackets": 5}, "DP1": {"droppedPackets": 1}}}
                        }
                    }
                }
            }
        }
    },
    "chip-drops": {"ethernet": {"Ethernet1/1": {"count": {"drop": {"rxMmuDrop": 9}, "ok": {}}}}},
    "vrfs": {
        "vrfs": {"tenant-1": {"routeDistinguisher": "10.255.0.1:1", "vrfState": "up", "interfaces": ["Vlan2", "Et3/1"]}}
    },
    "vnis": {
        "vxlanIntfs": {
            "Vxlan1": {
                "vniBindings": {"10020": {"vlan": 20, "source": "static"}},
                "vniBindingsToVrf": {"20001": {"vrfName": "tenant-1", "vlan": 4093, "source": "evpn"}},
            }
        }
    },
    "evpn-prefixes": {"evpnRoutes": {"RD: 10.255.0.3:1 ip-prefix fc00:1:2:101::/64": {"evpnRoutePaths": []}}},
    "evpn-prefixes-ipv4": {"evpnRoutes": {}},
    "evpn-macs": {"evpnRoutes": {"RD: 10.255.0.3:1 mac-ip 10020 aac1.ab4e.bec2": {"evpnRoutePaths": []}}},
    "route@default@fc00:1:2:1::_64": {
        "vrfs": {
            "default": {
                "routes": {
                    "fc00:1:2:1::/64": {
                        "routeType": "eBGP",
                        "hardwareProgrammed": True,
                        "vias": [
                            {"nexthopAddr": "fe80::1", "interface": "Ethernet1/1"},
                            {"nexthopAddr": "fe80::2", "interface": "Ethernet2/1"},
                        ],
                    }
                }
            }
        }
    },
    "path@default@fc00:1:2:1::_64": {
        "vrfs": {
            "default": {
                "bgpRouteEntries": {
                    "fc00:1:2:1::/64": {
                        "bgpRoutePaths": [
                            {
                                "nextHop": "fe80::1%Et1/1",
                                "asPathEntry": {"asPath": "4200000001 4200001003 i"},
                                "localPreference": 200,
                                "routeType": {"valid": True, "active": True, "ecmpHead": True, "ecmpContributor": True},
                                "routeDetail": {"communityList": ["65000:1"], "largeCommunityList": ["4200000001:1:2"]},
                            }
                        ]
                    }
                }
            }
        }
    },
    **{
        f"static-{family}@{vrf}": {"vrfs": {vrf: {"routes": {}, "routingDisabled": False}}}
        for family in ("ipv6", "ipv4")
        for vrf in ("default", "tenant-1", "tenant-2")
    },
    "neighbors-ipv4": {
        "ipV4Neighbors": [
            {"hwAddress": "001c.73a0.fc18", "address": "10.0.1.1", "interface": "Vlan10, Ethernet1/1", "age": 3}
        ],
        "totalEntries": 1,
    },
    "filters-ipv6": {
        "aclList": [
            {"name": "DATA", "configuredIngressIntfs": [{"name": "Ethernet1/1"}], "configuredEgressIntfs": []},
            {"name": "spare", "configuredIngressIntfs": [], "configuredEgressIntfs": []},
        ]
    },
    "filters-ipv4": {"aclList": []},
    "route@default@fc00:9::_64": {"vrfs": {"default": {"routes": {}, "routingDisabled": False}}},
}

ANSWERS: dict[str, str] = {
    **{name: json.dumps(value, indent=1) for name, value in _JSON.items()},
    "ntp": "synchronised to NTP server (192.0.2.1) at stratum 3\n   time correct to within 10 ms\n",
    "configuration": "! Command: show running-config\nhostname stripe1-leaf1\n",
}

EMPTY_TABLE = json.dumps({"vrfs": {"default": {"routes": {}, "routingDisabled": False}}})
"""A table without routes."""
