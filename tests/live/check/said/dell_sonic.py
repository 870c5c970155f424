"""The answers of an Enterprise SONiC switch that is in a given state: OpenConfig's trees by RESTCONF."""

from __future__ import annotations

import json
from typing import Any

from railweave.model.state.device_state import DeviceState
from railweave.model.state.protocols import BgpSession, Route

_FAMILIES = {"ipv4": "IPV4_UNICAST", "ipv6": "IPV6_UNICAST", "evpn": "L2VPN_EVPN"}


def _static(one: Route) -> dict[str, Any]:
    hops = [{"index": each.address, "state": {"next-hop": each.address}} for each in one.next_hops]
    if one.drops:
        hops = [{"index": "DROP", "state": {"index": "DROP", "openconfig-local-routing-ext:blackhole": True}}]
    return {"prefix": one.prefix, "next-hops": {"next-hop": hops}}


def answers(state: DeviceState) -> dict[str, str]:
    """Every answer that the state has something for."""
    return {name: json.dumps(value) for name, value in _values(state).items()}


def _values(state: DeviceState) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if state.identity is not None:
        one = state.identity
        found["system"] = {"openconfig-system:state": {"hostname": one.host_name, "software-version": one.version}}
        found["components"] = {
            "openconfig-platform:components": {
                "component": [{"name": "System Eeprom", "state": {"part-no": one.model, "serial-no": one.serial}}]
            }
        }
    if state.neighbors is not None:
        found["lldp-neighbors"] = {
            "openconfig-lldp:interfaces": {
                "interface": [
                    {
                        "name": port,
                        "neighbors": {
                            "neighbor": [
                                {"id": str(number), "state": {"system-name": one.system, "port-id": one.port}}
                                for number, one in enumerate(heard)
                            ]
                        },
                    }
                    for port, heard in state.neighbors.items()
                ]
            }
        }
    if state.interfaces is not None:
        found["interfaces"] = {
            "openconfig-interfaces:interfaces": {
                "interface": [
                    {
                        "name": name,
                        "state": {
                            "admin-status": "UP" if one.admin_up else "DOWN",
                            "oper-status": "UP" if one.oper_up else "DOWN",
                            "mtu": one.mtu,
                            "counters": {"in-errors": str(one.errors.in_errors or 0)},
                        },
                        "openconfig-if-ethernet:ethernet": {
                            "state": {
                                "openconfig-if-ethernet-ext2:port-fec": {
                                    "rs-544": "FEC_RS",
                                    "none": "FEC_DISABLED",
                                }.get(one.fec.mode or "", one.fec.mode)
                            }
                        },
                    }
                    for name, one in state.interfaces.items()
                ]
            }
        }
    if state.bgp is not None:
        found["bgp"] = {
            "openconfig-network-instance:network-instances": {
                "network-instance": [
                    {
                        "name": "default",
                        "protocols": {
                            "protocol": [
                                {
                                    "identifier": "BGP",
                                    "name": "bgp",
                                    "bgp": {"neighbors": {"neighbor": [_session(one) for one in state.bgp]}},
                                },
                                {
                                    "identifier": "STATIC",
                                    "name": "static",
                                    "static-routes": {
                                        "static": [
                                            _static(one) for one in state.routes or () if one.protocol == "static"
                                        ]
                                    },
                                },
                            ]
                        },
                    }
                ]
            }
        }
    if state.queues is not None:
        found["queues"] = {
            "openconfig-qos:interfaces": {
                "interface": [
                    {
                        "interface-id": name,
                        "output": {
                            "queues": {
                                "queue": [
                                    {
                                        "name": f"{name}:{number}",
                                        "state": {
                                            "name": f"{name}:{number}",
                                            "traffic-type": "UC",
                                            "transmit-pkts": str(one.sent),
                                            "dropped-pkts": str(one.dropped),
                                            "ecn-marked-pkts": str(one.ecn_marked),
                                        },
                                    }
                                    for number, one in port.egress.items()
                                ]
                            }
                        },
                    }
                    for name, port in state.queues.items()
                ]
            }
        }
    return found


def _session(one: BgpSession) -> dict[str, Any]:
    unnumbered = one.interface and (one.peer or "fe80").startswith("fe80")
    return {
        "neighbor-address": one.interface if unnumbered else one.peer,
        "state": {"session-state": (one.state or "").upper(), "peer-as": one.peer_as},
        "afi-safis": {
            "afi-safi": [
                {
                    "afi-safi-name": f"openconfig-bgp-types:{_FAMILIES[family]}",
                    "state": {
                        "prefixes": {"received": each.accepted, "received-pre-policy": each.received, "sent": each.sent}
                    },
                }
                for family, each in one.families.items()
            ]
        },
    }
