"""The answers of an EOS switch that is in a given state, in the forms that ANTA, NAPALM and Meta's health checks read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from railweave.model.state.device_state import DeviceState
from railweave.model.state.protocols import BgpSession, Path, Route
from railweave.model.state.question import about

_FAMILIES = {"ipv4": "ipv4Unicast", "ipv6": "ipv6Unicast", "evpn": "l2VpnEvpn"}


def answers(state: DeviceState) -> dict[str, str]:
    """Every answer that the state has something for."""
    shown = _values(state)
    found = {name: json.dumps(value) for name, value in shown.items()}
    if state.clock is not None:
        found["ntp"] = "synchronised to NTP server\n" if state.clock.synchronized else "unsynchronised\n"
    return found


def _type_5(prefixes: Mapping[str, Sequence[str]], mark: str) -> dict[str, Any]:
    """The type-5 routes to prefixes of one address family, in which the mark is."""
    keys = (f"RD: {distinguisher} ip-prefix {prefix}" for distinguisher, each in prefixes.items() for prefix in each)
    return {"evpnRoutes": {key: {"evpnRoutePaths": []} for key in keys if mark in key.rpartition(" ")[2]}}


def _values(state: DeviceState) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if state.identity is not None:
        one = state.identity
        found["version"] = {"modelName": one.model, "serialNumber": one.serial, "version": one.version}
    if state.alarms is not None:
        found["temperature"] = {"systemStatus": "temperatureOk"}
        found["power"] = {"powerSupplies": {"1": {"state": "powerLoss" if state.alarms else "ok"}}}
    if state.neighbors is not None:
        found["lldp-neighbors"] = {
            "lldpNeighbors": {
                port: {
                    "lldpNeighborInfo": [
                        {
                            "chassisId": "001c.73a0.fc18",
                            "systemName": one.system,
                            "neighborInterfaceInfo": {
                                "interfaceIdType": "interfaceName",
                                "interfaceId": f'"{one.port}"',
                                "interfaceId_v2": one.port,
                            },
                        }
                        for one in heard
                    ]
                }
                for port, heard in state.neighbors.items()
            }
        }
    found |= _ports(state)
    if state.bgp is not None:
        found["bgp"] = {"vrfs": {"default": {"asn": "1", "peers": {_peer(one): _summary(one) for one in state.bgp}}}}
        found["bgp-neighbors"] = {
            "vrfs": {
                "default": {
                    "peerList": [
                        {
                            "peerAddress": _peer(one),
                            **({"ifName": one.interface} if one.interface else {}),
                            "state": (one.state or "").title(),
                            "asn": str(one.peer_as),
                        }
                        for one in state.bgp
                    ]
                }
            }
        }
    if state.bfd is not None:
        found["bfd"] = {
            "vrfs": {
                "default": {
                    "ipv6Neighbors": {
                        f"{one.peer}%{_short(one.interface)}" if one.interface else one.peer: {
                            "peerStats": {
                                one.interface or "": {
                                    "status": one.state,
                                    "l3intf": one.interface or "",
                                    "peerStatsDetail": {
                                        "operTxInterval": int(1000 * (one.tx_ms or 0)),
                                        "detectMult": one.multiplier,
                                    },
                                }
                            }
                        }
                        for one in state.bfd
                    }
                }
            }
        }
    if state.isis is not None:
        neighbors: dict[str, dict[str, list[dict[str, object]]]] = {}
        for place, each in enumerate(state.isis):
            neighbors[f"0000.0000.{place:04}"] = {
                "adjacencies": [
                    {
                        "hostname": each.system,
                        "interfaceName": each.interface,
                        "state": each.state,
                        "level": f"level-{each.level}",
                    }
                ]
            }
        found["isis"] = {"vrfs": {"default": {"isisInstances": {"core": {"neighbors": neighbors}}}}}
    if state.vrfs is not None:
        found["vrfs"] = {
            "vrfs": {
                one.name: {
                    "routeDistinguisher": one.route_distinguisher,
                    "vrfState": "up" if one.up else "down",
                    "interfaces": [],
                }
                for one in state.vrfs.values()
            }
        }
    if state.evpn is not None and state.evpn.type5_prefixes is not None:
        prefixes = state.evpn.type5_prefixes
        found |= {"evpn-prefixes": _type_5(prefixes, ":"), "evpn-prefixes-ipv4": _type_5(prefixes, ".")}
    if state.vnis is not None:
        found["vnis"] = {
            "vxlanIntfs": {
                "Vxlan1": {"vniBindingsToVrf": {str(one.vni): {"vrfName": one.vrf} for one in state.vnis.values()}}
            }
        }
    for one in state.routes or ():
        if one.paths is None and one.protocol != "static":
            continue
        family = "ipv6" if ":" in one.prefix else "ipv4"
        off = "all" in (state.not_forwarding or {}).get(family, ())
        name = f"static-{family}@{one.vrf}" if one.protocol == "static" else about("route", one.vrf, one.prefix)
        table = found.setdefault(name, {"vrfs": {one.vrf: {"routes": {}, "routingDisabled": off}}})
        table["vrfs"][one.vrf]["routes"] |= _route(one)
        if one.paths:
            rows = [_path(path, state) for path in one.paths]
            found[about("path", one.vrf, one.prefix)] = {
                "vrfs": {one.vrf: {"bgpRouteEntries": {one.prefix: {"bgpRoutePaths": rows}}}}
            }
    found |= _tables(state)
    return found


def _ports(state: DeviceState) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if state.interfaces is not None:
        found["interfaces"] = {
            "interfaces": {
                name: {
                    "name": name,
                    "lineProtocolStatus": "up" if one.oper_up else "down",
                    "interfaceStatus": "disabled" if not one.admin_up else "connected" if one.oper_up else "notconnect",
                    "bandwidth": int(1e9 * (one.speed_gbps or 0)),
                    "mtu": one.mtu,
                    "interfaceCounters": {
                        "linkStatusChanges": one.flaps,
                        "inOctets": one.in_bytes,
                        "outOctets": one.out_bytes,
                    },
                }
                for name, one in state.interfaces.items()
            }
        }
        found["addresses-ipv6"] = {
            "interfaces": {
                name: {
                    "addresses": [
                        {"address": text.partition("/")[0], "subnet": text} for text in one.addresses if ":" in text
                    ]
                }
                for name, one in state.interfaces.items()
                if one.addresses is not None
            }
        }
        found["addresses-ipv4"] = {
            "interfaces": {
                name: {
                    "interfaceAddress": {
                        "primaryIp": {"address": text.partition("/")[0], "maskLen": int(text.partition("/")[2])},
                        "secondaryIpsOrderedList": [],
                    }
                }
                for name, one in state.interfaces.items()
                for text in one.addresses or ()
                if ":" not in text
            }
        }
        found["interface-errors"] = {
            "interfaceErrorCounters": {
                name: {"inErrors": one.errors.in_crc, "outErrors": 0, "fcsErrors": one.errors.in_crc}
                for name, one in state.interfaces.items()
            }
        }
        found["phy"] = {
            "interfacePhyStatuses": {
                name: {
                    "phyStatuses": [
                        {
                            "fec": {
                                "uncorrectedCodewords": {"value": one.fec.uncorrected},
                                "correctedCodewords": {"value": 9},
                            }
                        }
                    ]
                }
                for name, one in state.interfaces.items()
                if one.fec.uncorrected is not None
            }
        }
        found["chip-drops"] = {
            "ethernet": {
                name: {"count": {"drop": {"rxMmuDrop": one.errors.in_resource}}}
                for name, one in state.interfaces.items()
            }
        }
    if state.optics is not None:
        found["optics"] = {
            "interfaces": {
                name: {"displayName": name} | ({"mediaType": one.kind or "OSFP"} if one.present else {})
                for name, one in state.optics.items()
            }
        }
        found["optics-thresholds"] = {
            "interfaces": {
                name: {
                    "parameters": {
                        power: {
                            "channels": {str(lane.number): _dbm(level) for lane, level in levels},
                            "threshold": {"lowAlarm": low},
                        }
                        for power, levels, low in (
                            ("rxPower", [(lane, lane.rx_dbm) for lane in one.lanes], one.rx_low_dbm),
                            ("txPower", [(lane, lane.tx_dbm) for lane in one.lanes], one.tx_low_dbm),
                        )
                    }
                }
                for name, one in state.optics.items()
                if one.present
            }
        }
    if state.queues is not None:
        found["queues"] = {
            "egressQueueCounters": {
                "interfaces": {
                    name: {
                        "ucastQueues": {
                            "trafficClasses": {
                                f"TC{number}": {
                                    "dropPrecedences": {
                                        "DP0": {"droppedPackets": one.dropped, "enqueuedPackets": one.sent}
                                    }
                                }
                                for number, one in port.egress.items()
                            }
                        }
                    }
                    for name, port in state.queues.items()
                }
            }
        }
        found["ecn"] = {
            "intfQueueCounters": {
                name: {"queueCounters": {str(number): str(one.ecn_marked) for number, one in port.egress.items()}}
                for name, port in state.queues.items()
            }
        }
    if state.pfc is not None:
        found["pfc"] = {
            "interfaces": {
                name: {
                    "priorities": {
                        str(priority): {"rxFrames": one.received, "txFrames": one.sent}
                        for priority, one in port.items()
                    }
                }
                for name, port in state.pfc.items()
            }
        }
    if state.watchdog is not None:
        found["watchdog"] = {
            "interfaces": {
                name: {
                    "txQueues": {
                        str(queue): {"stuckCount": one.detected, "recoveryCount": one.recovered}
                        for queue, one in port.items()
                    }
                }
                for name, port in state.watchdog.items()
            }
        }
    return found


def _tables(state: DeviceState) -> dict[str, Any]:
    """Whole tables of routes, and bound access lists."""
    found: dict[str, Any] = {}
    for vrf in ("default", *(state.vrfs or {})) if state.routes is not None else ():
        for family in ("ipv6", "ipv4"):
            off = "all" in (state.not_forwarding or {}).get(family, ())
            here = [one for one in state.routes or () if one.vrf == vrf and (":" in one.prefix) == (family == "ipv6")]
            routes = {prefix: row for one in here for prefix, row in _route(one).items()}
            found[f"routes-{family}@{vrf}"] = {"vrfs": {vrf: {"routes": routes, "routingDisabled": off}}}
    if state.filters is not None:
        lists = [
            {
                "name": one.name,
                "configuredIngressIntfs": [{"name": port} for port in one.ports],
                "configuredEgressIntfs": [],
            }
            for one in state.filters
        ]
        found |= {"filters-ipv6": {"aclList": lists}, "filters-ipv4": {"aclList": []}}
    return found


def _dbm(value: float | None) -> float | None:
    """A dark lane has the least that EOS prints."""
    return -30.0 if value == float("-inf") else value


def _short(name: str) -> str:
    return name.replace("Ethernet", "Et").replace("Vlan", "Vl")


def _peer(one: BgpSession) -> str:
    return (
        f"{one.peer}%{_short(one.interface)}"
        if one.interface and (one.peer or "").startswith("fe80")
        else str(one.peer)
    )


def _summary(one: BgpSession) -> dict[str, Any]:
    return {
        "peerState": (one.state or "").title(),
        "peerAsn": str(one.peer_as),
        **{
            _FAMILIES[family]: {
                "afiSafiState": "negotiated",
                "nlrisReceived": each.received,
                "nlrisAccepted": each.accepted,
            }
            for family, each in one.families.items()
        },
    }


def _route(one: Route) -> dict[str, Any]:
    if one.drops:
        hops = [{"interface": one.drops}] if one.drops == "Null0" else []
        action = "forward" if hops else one.drops
        return {
            one.prefix: {"routeType": one.protocol, "routeAction": action, "hardwareProgrammed": True, "vias": hops}
        }
    if not one.next_hops:
        return {}
    return {
        one.prefix: {
            "routeType": {"bgp": "eBGP", "isis": "ISISLevel2"}.get(one.protocol or "", one.protocol),
            "hardwareProgrammed": one.installed is not False,
            "vias": [{"nexthopAddr": hop.address, "interface": hop.interface} for hop in one.next_hops],
        }
    }


def _path(path: Path, state: DeviceState) -> dict[str, Any]:
    sessions = (session for session in state.bgp or () if path.peer in {session.interface, session.peer})
    peer = next(map(_peer, sessions), f"fe80::1%{_short(path.peer or '')}")
    return {
        "peerEntry": {"peerAddr": peer},
        "localPreference": path.local_preference,
        "asPathEntry": {"asPath": "65101 i" if path.as_path is None else path.as_path},
        "routeType": {"valid": True, "active": True},
        "routeDetail": {"largeCommunityList": list(path.large_communities)},
    }
