"""The answers of FRRouting, and of the Linux under it, that is in a given state."""

from __future__ import annotations

import json
from typing import Any

from railweave.model.state.device_state import DeviceState
from railweave.model.state.ports import NO_MAC
from railweave.model.state.protocols import BgpSession, LldpNeighbor, PacketFilter, Path, Route
from railweave.model.state.question import about

FAMILIES = {"ipv4": "ipv4Unicast", "ipv6": "ipv6Unicast", "evpn": "l2VpnEvpn"}


def _type_5(prefix: str) -> str:
    address, _, length = prefix.partition("/")
    return f"[5]:[0]:[{length}]:[{address}]"


def answers(state: DeviceState) -> dict[str, str]:
    """Every answer that the state has something for."""
    found = routing(state)
    if state.identity is not None:
        found["version"] = f"FRRouting {state.identity.version} ({state.identity.host_name}) on Linux(6.18).\n"
    found |= _kernel_tables(state)
    if state.kernel is not None:
        policies = [(name, value) for name, value in state.kernel.items() if "hash_policy" in name]
        found["parameters"] = "".join(f"/proc/sys/{name.replace('.', '/')}:{value}\n" for name, value in policies)
    if state.filters is not None:
        found["filters"] = json.dumps({"nftables": [{"metainfo": {"json_schema_version": 1}}, *_nft(state.filters)]})
    if state.neighbors is not None:
        found["lldp-neighbors"] = lldpd(state.neighbors)
    if state.interfaces is not None:
        shown: dict[str, Any] = {}
        for name, one in state.interfaces.items():
            shown[name] = {
                "administrativeStatus": "up" if one.admin_up else "down",
                "operationalStatus": "up" if one.oper_up else "down",
                "linkDowns": one.flaps,
                "vrfName": "default",
                "mtu": one.mtu,
                **({} if one.mac is None else _bridge(one.mac)),
                **({} if one.bridged is None else {"interfaceSlaveType": "Bridge" if one.bridged else "None"}),
                "speed": int(1000 * (one.speed_gbps or 0)),
                **(
                    {}
                    if one.addresses is None
                    else {"ipAddresses": [{"address": address, "secondary": False} for address in one.addresses]}
                ),
            }
            sending = (state.advertising or {}).get(name)
            if sending is not None:
                shown[name] |= {
                    "ndRouterAdvertisementsSent": sending.sent,
                    "ndRouterAdvertisementsRcvd": 0,
                    "ndRouterAdvertisementsIntervalSecs": sending.interval_s,
                    "ndRouterAdvertisementsLiveForSecs": sending.lifetime_s,
                    "ndAdvertisedHopCountLimitHops": sending.hop_limit,
                    "ndAdvertisedReachableTimeMsecs": sending.reachable_ms,
                    "ndAdvertisedRetransmitIntervalMsecs": sending.retransmit_ms,
                }
        found["interfaces"] = json.dumps(shown)
        found["links"] = json.dumps(
            [
                {
                    "ifname": name,
                    "flags": ["UP", "LOWER_UP"] if one.oper_up else ["UP"],
                    "mtu": one.mtu,
                    "operstate": "UP" if one.oper_up else "DOWN",
                    "stats64": {
                        "rx": {"bytes": one.in_bytes, "errors": one.errors.in_errors, "dropped": 0},
                        "tx": {"bytes": one.out_bytes, "errors": 0, "dropped": 0},
                    },
                }
                for name, one in state.interfaces.items()
            ]
        )
    return found


def _kernel_tables(state: DeviceState) -> dict[str, str]:
    """The kernel's tables, with the routes that the daemons have; or the answers about single routes."""
    if state.routes is None:
        return {}
    tables: dict[str, list[dict[str, Any]]] = {}
    if state.route_counts is None:
        tables = {f"fib-{family}@{vrf}": [] for vrf in ("default", *(state.vrfs or {})) for family in ("ipv6", "ipv4")}
    for one in state.routes:
        name = f"fib-{'ipv6' if ':' in one.prefix else 'ipv4'}@{one.vrf}"
        table = tables[name] if name in tables else tables.setdefault(about("fib", one.vrf, one.prefix), [])
        if one.installed is not False and (one.next_hops or one.drops):
            hops = [{"gateway": hop.address, "dev": hop.interface, "weight": 1, "flags": []} for hop in one.next_hops]
            how = {"type": "blackhole"} if one.drops else {"nexthops": hops}
            table.append({"dst": one.prefix, "protocol": one.protocol, "metric": 20, "flags": [], **how})
    return {name: json.dumps(table) for name, table in tables.items()}


def _bridge(mac: str) -> dict[str, str]:
    """A bridge. Zebra leaves out an address of zeros."""
    return {"interfaceType": "Bridge"} | ({} if mac == NO_MAC else {"hardwareAddress": mac})


def routing(state: DeviceState) -> dict[str, str]:
    """What FRRouting's daemons answer wherever they run."""
    found: dict[str, str] = {}
    if state.bgp is not None:
        tables: dict[str, Any] = {}
        for one in state.bgp:
            for family, each in one.families.items() or {}.items():
                table = tables.setdefault(FAMILIES[family], {"peers": {}})
                table["peers"][_key(one)] = {
                    "remoteAs": one.peer_as,
                    "pfxRcd": each.accepted,
                    "pfxSnt": each.sent,
                    "state": (one.state or "").title(),
                    "peerState": "OK",
                }
        found["bgp"] = json.dumps({"default": tables})
        found["bgp-neighbors"] = json.dumps({"default": {_key(one): _neighbor(one) for one in state.bgp}})
    if state.bfd is not None:
        found["bfd"] = json.dumps(
            [
                {
                    "peer": one.peer,
                    **({"interface": one.interface} if one.interface else {}),
                    "vrf": "default",
                    "status": one.state,
                    "transmit-interval": int(one.tx_ms or 0),
                    "detect-multiplier": one.multiplier,
                }
                for one in state.bfd
            ]
        )
    if state.isis is not None:
        found["isis"] = json.dumps(
            {
                "areas": [
                    {
                        "area": "core",
                        "circuits": [
                            {"circuit": 0},
                            *(
                                {
                                    "circuit": 0,
                                    "adj": one.system,
                                    "interface": {"name": one.interface, "state": (one.state or "").title()},
                                    "level": one.level,
                                }
                                for one in state.isis
                            ),
                        ],
                    }
                ]
            }
        )
    if state.vrfs is not None:
        found["vrfs"] = json.dumps(
            {
                "vrfs": [
                    {"vrf": one.name, "vni": one.vni, "state": "Up" if one.up else "Down"}
                    for one in state.vrfs.values()
                ]
            }
        )
        known = [one for one in state.vrfs.values() if one.import_targets is not None]
        found["evpn-prefixes"] = json.dumps(
            {
                distinguisher: {"rd": distinguisher} | {_type_5(prefix): {"paths": []} for prefix in prefixes}
                for distinguisher, prefixes in ((state.evpn.type5_prefixes if state.evpn else None) or {}).items()
            }
        )
        found["evpn-vnis"] = json.dumps(
            {
                "numL3Vnis": len(known),
                **{
                    str(one.vni): {
                        "vni": one.vni,
                        "type": "L3",
                        "rd": one.route_distinguisher,
                        "importRTs": one.import_targets,
                        "exportRTs": one.export_targets,
                    }
                    for one in known
                },
            }
        )
    if state.vnis is not None:
        found["vnis"] = json.dumps(
            [
                {
                    "vni": one.vni,
                    "type": "L3",
                    "tenantVrf": one.vrf,
                    "state": "Up",
                    **({} if one.router_mac is None else {"routerMac": one.router_mac}),
                    **({} if one.bridge is None else {"sviIntf": one.bridge}),
                }
                for one in state.vnis.values()
            ]
        )
    overriding: dict[str, dict[str, Any]] = {}
    for one in state.routes or ():
        if one.protocol in {"static", "kernel"}:
            name = f"{one.protocol}-{'ipv6' if ':' in one.prefix else 'ipv4'}"
            overriding.setdefault(name, {"default": {}}).setdefault(one.vrf, {}).update(_route(one))
        elif one.paths is not None or state.route_counts is not None:
            found[about("route", one.vrf, one.prefix)] = json.dumps(_route(one))
            if one.paths:
                found[about("path", one.vrf, one.prefix)] = json.dumps({"paths": [_path(path) for path in one.paths]})
    found |= {name: json.dumps(tables) for name, tables in overriding.items()} | _tables(state) | _forwarding(state)
    for family, number in (state.route_counts or {}).get("default", {}).items():
        rows = [{"fib": 9, "rib": 9, "type": "connected"}, {"fib": number, "rib": number, "type": "ebgp"}]
        found[f"route-count-{family}"] = json.dumps({"routes": rows, "routesTotal": number + 9})
    return found


def _tables(state: DeviceState) -> dict[str, str]:
    """Whole tables, of every VRF and both families."""
    if state.routes is None or state.route_counts is not None:  # numbers take the place of tables
        return {}
    tables: dict[str, dict[str, Any]] = {
        f"routes-{family}@{vrf}": {} for vrf in ("default", *(state.vrfs or {})) for family in ("ipv6", "ipv4")
    }
    for one in state.routes:
        tables[f"routes-{'ipv6' if ':' in one.prefix else 'ipv4'}@{one.vrf}"].update(_route(one))
    return {name: json.dumps(table) for name, table in tables.items()}


def _nft(filters: tuple[PacketFilter, ...]) -> list[dict[str, Any]]:
    """Chains of forwarded packets that drop what comes by some ports, or everything."""
    made: list[dict[str, Any]] = []
    for one in filters:
        table, _, chain = one.name.partition(", chain ")
        _, family, name = table.split()
        place = {"family": family, "table": name}
        policy = "accept" if one.ports else "drop"
        base = {"name": chain, "type": "filter", "hook": "forward", "prio": 0, "policy": policy}
        made += [{"table": {"family": family, "name": name}}, {"chain": place | base}]
        for port in one.ports:
            match = {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": port}
            made.append({"rule": place | {"chain": chain, "expr": [{"match": match}, {"drop": None}]}})
    return made


def _forwarding(state: DeviceState) -> dict[str, str]:
    found: dict[str, str] = {}
    for family, off in (state.not_forwarding or {}).items():
        names = ["all", "default", "lo", *(state.interfaces or {})]
        said: list[dict[str, Any]] = [
            {"interface": one, "forwarding": "all" not in off and one not in off}
            | {"rp_filter": "strict" if (state.kernel or {}).get(f"net.ipv4.conf.{one}.rp_filter") == "1" else "off"}
            for one in names
        ]
        found[f"forwarding-{family}"] = json.dumps(said)
        found[f"rules-{family}"] = json.dumps([{"priority": 0, "src": "all", "table": "local"}])
    return found


def lldpd(neighbors: dict[str, tuple[LldpNeighbor, ...]]) -> str:
    """``lldpcli -f json show neighbors``."""
    return json.dumps(
        {
            "lldp": {
                "interface": [
                    {
                        port: {
                            "chassis": {one.system: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}},
                            "port": {"id": {"type": "ifname", "value": one.port}},
                        }
                    }
                    for port, heard in neighbors.items()
                    for one in heard
                ]
            }
        }
    )


def _key(one: BgpSession) -> str:
    return one.interface if one.interface and (one.peer or "fe80").startswith("fe80") else str(one.peer)


def _neighbor(one: BgpSession) -> dict[str, Any]:
    return {
        "bgpNeighborAddr": one.peer,
        "remoteAs": one.peer_as,
        "bgpState": (one.state or "").title(),
        **({"lastNotificationReason": one.last_error} if one.last_error else {}),
        "addressFamilyInfo": {
            FAMILIES[family]: {"acceptedPrefixCounter": each.accepted, "sentPrefixCounter": each.sent}
            for family, each in one.families.items()
        },
    }


_DROPS = {"blackhole": "blackhole", "reject": "reject", "prohibit": "adminProhibited"}


def _route(one: Route) -> dict[str, Any]:
    if not one.next_hops and not one.drops:
        return {}
    hops: list[dict[str, Any]] = [{"fib": True, "unreachable": True, _DROPS[one.drops]: True}] if one.drops else []
    hops += [
        {"ip": hop.address, "interfaceName": hop.interface, "fib": hop.active is not False, "active": True}
        for hop in one.next_hops
    ]
    return {
        one.prefix: [
            {
                "prefix": one.prefix,
                "protocol": one.protocol,
                "selected": True,
                **({"installed": True} if one.installed is not False else {}),
                "nexthops": hops,
            }
        ]
    }


def _path(path: Path) -> dict[str, Any]:
    """A path of ``show bgp ipv6 unicast PREFIX json``; its session has no address of its own (unnumbered)."""
    return {
        "valid": True,
        "locPrf": path.local_preference,
        "largeCommunity": {"list": list(path.large_communities)},
        "aspath": {"string": path.as_path or "4200000101"},
        "peer": {"peerId": "fe80::1", "interface": path.peer},
        **({"aigpMetric": path.aigp} if path.aigp is not None else {}),
    }
