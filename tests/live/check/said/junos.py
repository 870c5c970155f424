"""The answers of a Junos Evolved switch that is in a given state, in the forms of Juniper's published models."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from railweave.model.state.device_state import DeviceState
from railweave.model.state.ports import InterfaceState, Optic
from railweave.model.state.protocols import BgpSession, Path, Route
from railweave.model.state.question import DEFAULT_VRF, about
from tests.model.state.samples.junos import reply

TABLES = {"ipv4": "inet.0", "ipv6": "inet6.0", "evpn": "bgp.evpn.0"}


def el(tag: str, *inner: object, **attributes: object) -> str:
    """An element; nothing where all that is in it is None."""
    if inner and all(one is None for one in inner):
        return ""
    words = "".join(f' junos:{name}="{value}"' for name, value in attributes.items())
    text = "".join(
        one if isinstance(one, str) and one.startswith("<") else escape(str(one)) for one in inner if one is not None
    )
    return f"<{tag}{words}>{text}</{tag}>"


def answers(state: DeviceState) -> dict[str, str]:
    """Every answer that the state has something for."""
    found: dict[str, str] = {}
    if state.identity is not None:
        one = state.identity
        found["version"] = reply(
            el(
                "software-information",
                el("host-name", one.host_name),
                el("product-model", one.model),
                el("junos-version", one.version),
            )
        )
        found["hardware"] = reply(
            el("chassis-inventory", el("chassis", el("serial-number", one.serial), *_modules(state.optics or {})))
        )
    if state.clock is not None:
        source = "NTP CLOCK" if state.clock.synchronized else "LOCAL CLOCK"
        found["uptime"] = reply(
            el(
                "system-uptime-information",
                el("current-time", el("date-time", "now", seconds=1_800_000_000)),
                el("time-source", source),
            )
        )
    if state.alarms is not None:
        found["alarms-system"] = reply(el("alarm-information"))
        found["alarms"] = reply(
            el(
                "alarm-information",
                *(
                    el(
                        "alarm-detail",
                        el("alarm-class", (one.severity or "minor").title()),
                        el("alarm-description", one.text),
                    )
                    for one in state.alarms
                ),
            )
        )
    if state.neighbors is not None:
        found["lldp-neighbors"] = reply(
            el(
                "lldp-neighbors-information",
                *(
                    el(
                        "lldp-neighbor-information",
                        el("lldp-local-port-id", port),
                        el("lldp-remote-port-id-subtype", "Interface name"),
                        el("lldp-remote-port-id", one.port),
                        el("lldp-remote-system-name", one.system),
                    )
                    for port, heard in state.neighbors.items()
                    for one in heard
                ),
            )
        )
    if state.interfaces is not None:
        found["interfaces"] = reply(el("interface-information", *(_port(name, state) for name in _physical(state))))
    if state.optics is not None:
        found["optics"] = reply(
            el("interface-information", *(_optic(name, one) for name, one in state.optics.items() if one.present))
        )
    if state.advertising is not None:
        found["advertising"] = reply(
            el(
                "ipv6-ra-information",
                *(
                    el(
                        "ipv6-ra-interface",
                        el("interface-name", _unit(name)),
                        el("ipv6-ra-advertisements-sent", one.sent),
                        el("ipv6-ra-advertisements-received", 0),
                        *(
                            el(
                                "ipv6-ra-advertisement",
                                el("ipv6-source-address", heard.source),
                                *(f"<{conflict}-conflict/>" for conflict in heard.conflicts),
                            )
                            for heard in one.heard
                        ),
                    )
                    for name, one in state.advertising.items()
                ),
            )
        )
    if state.bgp is not None:
        found["bgp-neighbors"] = reply(el("bgp-information", *(_session(one) for one in state.bgp)))
    if state.bfd is not None:
        found["bfd"] = reply(
            el(
                "bfd-session-information",
                *(
                    el(
                        "bfd-session",
                        el("session-neighbor", one.peer),
                        el("session-state", (one.state or "").title()),
                        el("session-interface", _unit(one.interface) if one.interface else None),
                        el("session-transmission-interval", f"{(one.tx_ms or 0) / 1000:.3f}"),
                        el("session-adaptive-multiplier", one.multiplier),
                    )
                    for one in state.bfd
                ),
            )
        )
    if state.isis is not None:
        found["isis"] = reply(
            el(
                "isis-adjacency-information",
                *(
                    el(
                        "isis-adjacency",
                        el("interface-name", _unit(one.interface)),
                        el("system-name", one.system),
                        el("level", one.level),
                        el("adjacency-state", (one.state or "").title()),
                        el("holdtime", 23),
                    )
                    for one in state.isis
                ),
            )
        )
    if state.vrfs is not None:
        found["vrfs"] = reply(
            el(
                "evpn-l3-context-information",
                *(
                    el(
                        "evpn-l3-context",
                        el("context-name", one.name),
                        el("context-vni", one.vni),
                        el("route-distinguisher", one.route_distinguisher),
                    )
                    for one in state.vrfs.values()
                ),
            )
        )
        found["instances"] = reply(
            el(
                "instance-information",
                *(
                    el(
                        "instance-core",
                        el("instance-name", one.name),
                        el(
                            "instance-vrf",
                            *(
                                el(f"vrf-{way}-target", f"[ {' '.join(f'target:{each}' for each in targets)} ]")
                                for way, targets in (("import", one.import_targets), ("export", one.export_targets))
                                if targets is not None
                            ),
                        ),
                    )
                    for one in state.vrfs.values()
                ),
            )
        )
    if state.evpn is not None and state.evpn.type5_prefixes is not None:
        found["evpn-prefixes"] = reply(
            el(
                "evpn-ip-prefix-database-information",
                *(
                    el(
                        "evpn-pfxdb-l3-context",
                        el("context-name", vrf),
                        el(
                            "evpn-pfxdb-evpn-ip-table",
                            *(el("evpn-pfxdb-evpn-ip-entry", el("entry-prefix", one)) for one in prefixes),
                        ),
                    )
                    for vrf, prefixes in state.evpn.type5_prefixes.items()
                ),
            )
        )
    return found | _asked(state) | _tables(state)


def _asked(state: DeviceState) -> dict[str, str]:
    """Routes that were asked for by themselves, and static ones."""
    answered: dict[str, list[Route]] = {}
    for one in state.routes or ():
        if one.paths is None and one.protocol not in {"static", "aggregate"} and state.route_counts is None:
            continue
        name = f"{one.protocol}-{'ipv6' if ':' in one.prefix else 'ipv4'}@{one.vrf}"
        name = name if one.protocol in {"static", "aggregate"} else about("route", one.vrf, one.prefix)
        answered.setdefault(name, []).append(one)
    return {name: _routes(routes) for name, routes in answered.items()}


def _tables(state: DeviceState) -> dict[str, str]:
    """Firewall filters, and whole tables of routes or the numbers of routes in their place."""
    found: dict[str, str] = {}
    if state.filters is not None:
        names = [f"{one.name}-{_unit(port)}-i" for one in state.filters for port in one.ports or ("",)]
        names = [name.replace("-.0-i", "") for name in names]
        found["filters"] = reply(
            el("firewall-information", *(el("filter-information", el("filter-name", name)) for name in names))
        )
    if state.route_counts is not None:
        tables = [(TABLES[family], number) for family, number in state.route_counts["default"].items()]
        found["route-counts"] = reply(el("route-summary-information", *(_counted(*each) for each in tables)))
    elif state.routes is not None:
        for vrf in (DEFAULT_VRF, *(state.vrfs or {})):
            for family in ("ipv4", "ipv6"):
                here = [one for one in state.routes if one.vrf == vrf and (":" in one.prefix) == (family == "ipv6")]
                empty = el("route-information", el("route-table", el("table-name", TABLES[family])))
                found[f"routes-{family}@{vrf}"] = _routes(here) if here else reply(empty)
    return found


def _counted(table: str, number: int) -> str:
    rows = [("Direct", 9), ("BGP", number)]
    return el(
        "route-table",
        el("table-name", table),
        *(
            el(
                "protocols",
                el("protocol-name", name),
                el("protocol-route-count", count),
                el("active-route-count", count),
            )
            for name, count in rows
        ),
    )


def _unit(name: str) -> str:
    return name if "." in name else f"{name}.0"


def _physical(state: DeviceState) -> list[str]:
    return list(dict.fromkeys(name.partition(".")[0] for name in state.interfaces or {}))


def _port(name: str, state: DeviceState) -> str:
    interfaces = state.interfaces or {}
    one = interfaces.get(name, InterfaceState(name, True, True))
    units = {
        _unit(key): each
        for key, each in interfaces.items()
        if key.partition(".")[0] == name and each.addresses is not None
    }
    queues = (state.queues or {}).get(name)
    counted = (state.pfc or {}).get(name, {})
    dogs = (state.watchdog or {}).get(name, {})
    return el(
        "physical-interface",
        el("name", name),
        el("admin-status", "up" if one.admin_up else "down"),
        el("oper-status", "up" if one.oper_up else "down"),
        el("mtu", one.mtu),
        el("speed", f"{one.speed_gbps:g}Gbps" if one.speed_gbps else None),
        el("ethernet-fec-mode", el("enabled_fec_mode", _FEC.get(one.fec.mode or "", one.fec.mode)))
        if one.fec.mode
        else "",
        el("ethernet-fec-statistics", el("fec_ccw_count", 5), el("fec_nccw_count", one.fec.uncorrected)),
        el("traffic-statistics", el("input-bytes", one.in_bytes), el("output-bytes", one.out_bytes)),
        el(
            "input-error-list",
            el("input-errors", 0),
            el("input-drops", one.errors.in_discards),
            el("input-resource-errors", one.errors.in_resource),
        ),
        el("output-error-list", el("carrier-transitions", one.flaps), el("output-drops", one.errors.out_discards)),
        el("ethernet-mac-statistics", el("input-crc-errors", one.errors.in_crc)),
        el(
            "ethernet-mac-pfc-statistics",
            *(
                el("mac-pfc-dot1p", priority)
                + el("input-mac-pfc-frames", each.received)
                + el("output-mac-pfc-frames", each.sent)
                for priority, each in counted.items()
            ),
        )
        if counted
        else "",
        el(
            "ethernet-pfcwd-statistics",
            *(
                el("queue-number", queue) + el("detected", each.detected) + el("recovered", each.recovered)
                for queue, each in dogs.items()
            ),
        )
        if dogs
        else "",
        el(
            "queue-counters",
            *(
                el(
                    "queue",
                    el("queue-number", number),
                    el("queue-counters-trans-packets", each.sent),
                    el("queue-counters-ecn-ce-packets", each.ecn_marked),
                    el("queue-counters-total-drop-packets", each.dropped),
                )
                for number, each in queues.egress.items()
            ),
        )
        if queues
        else "",
        *(
            el(
                "logical-interface",
                el("name", key),
                el("admin-status", "up" if each.admin_up else "down"),
                el("oper-status", "up" if each.oper_up else "down"),
                el(
                    "address-family",
                    el("address-family-name", "inet6"),
                    *(
                        el("interface-address", el("ifa-local", address.partition("/")[0]))
                        for address in each.addresses or ()
                    ),
                ),
            )
            for key, each in units.items()
        ),
    )


_FEC = {"rs-544": "FEC119", "none": "NONE"}


def _optic(name: str, one: Optic) -> str:
    def dbm(value: float | None) -> str | None:
        return None if value is None else "- Inf" if value == float("-inf") else f"{value:.2f}"

    lanes = [
        el(
            "optics-diagnostics-lane-values",
            el("lane-index", lane.number),
            el("laser-output-power-dbm", dbm(lane.tx_dbm)),
            el("laser-rx-optical-power-dbm", dbm(lane.rx_dbm)),
        )
        for lane in one.lanes
    ]
    return el(
        "physical-interface",
        el("name", name),
        el(
            "optics-diagnostics",
            el("module-temperature", "33 degrees C / 92 degrees F"),
            *lanes,
            *(el(alarm, "on") for alarm in one.alarms),
            el("laser-rx-power-low-alarm-threshold-dbm", dbm(one.rx_low_dbm)),
            el("laser-tx-power-low-alarm-threshold-dbm", dbm(one.tx_low_dbm)),
        ),
    )


def _modules(optics: dict[str, Optic]) -> list[str]:
    """The modules of ``show chassis hardware``: one for all channels of a port."""
    cages = dict.fromkeys(name.partition("-")[2].partition(":")[0] for name, one in optics.items() if one.present)
    places = [one.split("/") for one in cages if one.count("/") == 2]
    return [
        el(
            "chassis-module",
            el("name", f"FPC {fpc}"),
            el(
                "chassis-sub-module", el("name", f"PIC {pic}"), el("chassis-sub-sub-module", el("name", f"Xcvr {port}"))
            ),
        )
        for fpc, pic, port in places
    ]


def _session(one: BgpSession) -> str:
    zone = f"%{_unit(one.interface)}" if one.interface and (one.peer or "").startswith("fe80") else ""
    return el(
        "bgp-peer",
        el("peer-address", f"{one.peer}{zone}+179"),
        el("peer-as", one.peer_as),
        el("peer-state", (one.state or "").title()),
        el("last-error", one.last_error),
        *(
            el(
                "bgp-rib",
                el("name", TABLES[family]),
                el("received-prefix-count", each.received),
                el("accepted-prefix-count", each.accepted),
                el("advertised-prefix-count", each.sent),
            )
            for family, each in one.families.items()
        ),
    )


def _routes(routes: list[Route]) -> str:
    table = "inet6.0" if ":" in routes[0].prefix else "inet.0"
    name = table if routes[0].vrf == DEFAULT_VRF else f"{routes[0].vrf}.{table}"
    return reply(el("route-information", el("route-table", el("table-name", name), *map(_route, routes))))


def _route(one: Route) -> str:
    destination, _, length = one.prefix.partition("/")
    hops = [
        el("nh", el("to", hop.address), el("via", _unit(hop.interface) if hop.interface else None))
        for hop in one.next_hops
    ]
    protocol = {"bgp": "BGP", "isis": "IS-IS"}.get(one.protocol or "", (one.protocol or "").title())
    kind = el("nh-type", one.drops.title() if one.drops else None)
    entry = el("rt-entry", el("active-tag", "*"), el("protocol-name", protocol), kind, *hops)
    if one.paths:
        paths = [_path(path, hops if number == 0 else []) for number, path in enumerate(one.paths)]
        entry = "".join(paths) if protocol == "BGP" else entry + "".join(paths)
    there = one.next_hops or one.drops
    return el("rt", el("rt-destination", destination), el("rt-prefix-length", length), entry) if there else ""


def _path(path: Path, hops: Iterable[str]) -> str:
    """A path of ``show route … exact detail``; the first one is the active one. Link-local neighbors have a zone."""
    zone = (
        f"fe80::1%{_unit(path.peer)}"
        if path.peer and ":" not in path.peer.partition("/")[0] and path.peer[:1].isalpha()
        else path.peer
    )
    marks = [
        el(
            "extended-community" if mark.startswith("color:") else "community",
            mark if mark.startswith("color:") else f"large:{mark}",
        )
        for mark in path.large_communities
    ]
    return el(
        "rt-entry",
        el("active-tag", "*") if hops else "",
        el("protocol-name", "BGP"),
        el("local-preference", path.local_preference),
        el("learned-from", zone),
        el("rt-aigp", path.aigp),
        el("communities", *marks) if marks else "",
        *hops,
    )
