"""Traffic classes, buffers, PFC, load balancing and MTUs of a fabric, derived from its switches."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.analysis.adopt.draft import Draft, common, given, plain
from railweave.analysis.adopt.wiring import End, Wiring
from railweave.design.limits.devices import tunnel_overhead_bytes
from railweave.errors import RailweaveError
from railweave.model.catalog import catalog
from railweave.model.device.qos import marking_of, on_queues
from railweave.model.device.qos_model import Ecn, TrafficClass, Watchdog
from railweave.model.device.reading import own_type
from railweave.model.intent.balancing import LoadBalancing
from railweave.model.intent.buffers import SYSTEM_EGRESS
from railweave.model.intent.qos import DEFAULT_CLASSES, Pfc, Qos
from railweave.model.intent.qos import Ecn as EcnIntent
from railweave.model.intent.qos import Watchdog as WatchdogIntent
from railweave.model.intent.tenants import Overlay
from railweave.model.intent.topology import Mtu

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.adopt.shape import Shape
    from railweave.model.catalog.systems import System
    from railweave.model.device.model import DeviceConfig, Interface, QosConfig
    from railweave.model.network.devices import RoleName


Kind = Literal["server", "fabric"]


def kinds_of_ports(wiring: Wiring, role: Mapping[str, str]) -> dict[End, Kind]:
    """Return the kind of each port: a port to a server, or a port between switches of different roles.

    Ports between switches of the same role are left out. Such links connect sites and have their own PFC setting.
    """
    kinds: dict[End, Kind] = dict.fromkeys(wiring.servers, "server")
    for near, far in wiring.far().items():
        if role.get(near.device) != role.get(far.device):
            kinds[near] = "fabric"
    return kinds


def ports_that_pause(configs: Iterable[DeviceConfig], kinds: Mapping[End, Kind]) -> dict[Kind, bool]:
    """Return, for each kind of port (to servers, between switches), True if PFC is on for most of these ports.

    Only switches with a lossless class count. ``configs`` are the switches of one role.
    """
    count: dict[Kind, Counter[bool]] = {"server": Counter(), "fabric": Counter()}
    for config in configs:
        for port in _bound(config) if _is_lossless(config) else ():
            if (kind := kinds.get(End(config.name, port.name))) is not None:
                count[kind][port.pauses] += 1
    return {kind: seen[True] >= seen[False] for kind, seen in count.items() if seen}


def pfc_ports(pauses: Mapping[Kind, bool], usual: str) -> str:
    """Return the value of ``pfc.ports`` that turns on PFC for exactly the kinds of ports that are True in ``pauses``.

    If several values do, ``usual`` (the value of the leaves) is preferred. Return ``all`` if no value does.
    """
    for value in (usual, "all", "server", "fabric"):
        if all(Pfc(ports=cast("Any", value)).pauses(kind) == wanted for kind, wanted in pauses.items()):
            return value
    return "all"


def only_lossy(whole: Mapping[str, Any], role_qos: Mapping[str, Any], config: DeviceConfig) -> bool:
    """Return True if a switch has the traffic classes of the fabric's ``qos``, but all of them lossy.

    ``whole`` is the fabric's ``qos``, and ``role_qos`` the ``qos`` derived for the switch's role. Apart from classes and
    PFC, both must be equal.
    """
    config_qos = config.qos
    if (
        config_qos is None
        or _is_lossless(config)
        or {**role_qos, "classes": 0, "pfc": 0} != {**whole, "classes": 0, "pfc": 0}
    ):
        return False
    try:
        wanted = Qos.model_validate(dict(whole))
    except (ValueError, RailweaveError):
        return False
    system = catalog().systems[config.nos]
    classes = {
        name: replace(own_type(TrafficClass, declared), lossless=False, pfc_priority=None)
        for name, declared in wanted.classes.items()
    }
    placed = on_queues(classes, system)
    marked = {
        name: marking_of(traffic_class.ecn, system.marking)
        for name, traffic_class in classes.items()
        if traffic_class.ecn and system.marking
    }
    here = [(traffic_class, config_qos.marking.get(name)) for name, traffic_class in config_qos.classes.items()]
    there = [(traffic_class, marked.get(name)) for name, traffic_class in placed.items()]
    return Counter(map(_form, here)) == Counter(map(_form, there))


def _form(pair: tuple[TrafficClass, object]) -> object:
    """Return a key that is equal for two pairs if their traffic classes and ECN thresholds are equal. The classes' names do not count.

    ``pair`` is (class, ECN thresholds from the switch's own marking settings, or None). If it is None, the class's ``ecn`` is compared
    instead, without its thresholds in bytes.
    """
    traffic_class, marking = pair
    return repr(
        (
            replace(traffic_class, dscp=tuple(sorted(traffic_class.dscp)), ecn=None),
            marking or (traffic_class.ecn and replace(traffic_class.ecn, **_BYTES)),
        )
    )


_BYTES: dict[str, None] = dict.fromkeys(("min_bytes", "max_bytes"))


def exceptions(
    draft: Draft,
    role: Mapping[str, Mapping[str, Any]],
    configs: Mapping[str, DeviceConfig],
    kinds: Mapping[End, Kind],
    far: Mapping[End, End],
) -> None:
    """Write overrides for ports whose QoS differs from the ``qos`` of their switch's role.

    ``role`` holds this ``qos`` for each switch. ``kinds`` holds the kind of each port (to a server, between switches).
    ``far`` is the far end of each port between switches.
    """
    exceptional: dict[End, dict[str, bool]] = {}
    for name in draft.switches:
        config = configs[name]
        if config.qos is None or name not in role:
            continue
        pfc = Pfc(ports=role[name].get("pfc", {}).get("ports", "all"))
        bound = set(config.qos.ports)
        for port in config.interfaces:
            kind = kinds.get(End(name, port.name))
            if kind is None:
                continue
            if port.name not in bound:
                exceptional[End(name, port.name)] = {"qos": False}
            elif _is_lossless(config) and port.pauses != pfc.pauses(kind):
                exceptional[End(name, port.name)] = {"pfc": port.pauses}
    for end, settings in exceptional.items():
        if end in far and far[end] not in exceptional:
            draft.note(
                f"{end.device} {end.port}: its QoS settings differ from those of its far end, {far[end].device} {far[end].port}; "
                "in a design, both ends have the same settings",
                "qos",
            )
            continue
        draft.override(end.device).setdefault("ports", {})[end.port] = settings


def _bound(config: DeviceConfig) -> Iterator[Interface]:
    ports = set(config.qos.ports) if config.qos else set[str]()
    return (interface for interface in config.interfaces if interface.name in ports)


def _is_lossless(config: DeviceConfig) -> bool:
    return config.qos is not None and any(traffic_class.lossless for traffic_class in config.qos.classes.values())


_USUAL = Qos()

NO_QOS: dict[str, Any] = {
    "classes": {name: None for name in DEFAULT_CLASSES if name != "best-effort"},
    "buffer_monitor": False,
}
"""The ``qos`` of switches without QoS: only the class ``best-effort``, because a fabric needs at least one class."""

_SAME_MTU = (0, 14, 18)
"""The differences in bytes between a port's frame size and packet size if both come from one MTU setting.

The difference is 0 if a system counts packets, 14 for an Ethernet header, and 18 for a header and its checksum.
"""


def qos(
    draft: Draft,
    tiers: Mapping[RoleName, Sequence[str]],
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    wiring: Wiring,
) -> None:
    """Write ``qos`` of the fabric and of the roles that differ from it, into the draft (the reconstructed fabric file).

    Also write buffers of single switches and overrides of single ports. ``tiers`` holds the switches by role.
    """
    by_role: dict[str, dict[str, Any]] = {}
    kinds = kinds_of_ports(wiring, {name: role for role, names in tiers.items() for name in names})
    usual = pfc_ports(ports_that_pause((configs[name] for name in tiers.get("leaf", ())), kinds), "all")
    for role, names in tiers.items():
        switch_qos = {name: _qos(config.qos, config, model[name]) for name in names if (config := configs[name]).qos}
        if not switch_qos and all(
            catalog().systems[configs[name].nos].has("qos", configs[name].release or None) for name in names
        ):
            switch_qos = dict.fromkeys(names, NO_QOS)
        if not switch_qos:
            continue
        ports = pfc_ports(ports_that_pause((configs[name] for name in names), kinds), usual)
        if ports != "all":
            switch_qos = {name: _pausing(part, ports, configs[name]) for name, part in switch_qos.items()}
        most, others = common(list(switch_qos.values()))
        by_role[role] = most
        for name, part in switch_qos.items() if others else ():
            if part == most:
                continue
            if {**part, "buffers": None} == {**most, "buffers": None}:
                draft.override(name)["buffers"] = part.get("buffers", {})
            else:
                draft.note(
                    f"{name}: its classes, PFC or ECN differ from those of the other {role} switches; it gets their settings",
                    "qos",
                )
    if not by_role:
        return
    whole, others = common(list(by_role.values()))
    if "leaf" in by_role:
        whole = by_role["leaf"]
    if whole:
        draft.fabric["qos"] = whole
    given_to = {name: whole for names in tiers.values() for name in names}
    for role, role_part in by_role.items() if others else ():
        names = tiers[cast("RoleName", role)]
        if role_part != whole and not all(only_lossy(whole, role_part, configs[name]) for name in names):
            draft.at(role.replace("-", "_"))["qos"] = role_part
            given_to |= dict.fromkeys(names, role_part)
    exceptions(draft, given_to, configs, kinds, wiring.far())


def _pausing(part: dict[str, Any], ports: str, config: DeviceConfig) -> dict[str, Any]:
    """Return a switch's ``qos`` (``part``) with ``pfc.ports`` set to ``ports`` if the switch has a lossless class.

    Otherwise return it unchanged.
    """
    lossless = config.qos is not None and any(traffic_class.lossless for traffic_class in config.qos.classes.values())
    return {**part, "pfc": {**part.get("pfc", {}), "ports": ports}} if lossless else part


def _qos(config_qos: QosConfig, config: DeviceConfig, model: str) -> dict[str, Any]:
    system = catalog().systems[config.nos]
    if not config_qos.classes:
        return NO_QOS
    made: dict[str, Any] = {}
    classes = _classes(config_qos, system)
    if classes:
        made["classes"] = classes
    buffers = given(config_qos.buffers, _USUAL.buffers) if config_qos.shared_buffer else {}
    for pool, others in (
        ("lossless", ("headroom", "lossy")),
        ("egress_lossless", ("egress_lossy", "egress_multicast")),
    ):
        rest = 100 - sum(getattr(config_qos.buffers, other) for other in others)
        if getattr(config_qos.buffers, pool) > rest:  # the text says the others only
            buffers[pool] = rest
    if config_qos.buffers.egress == "system":
        buffers = {key: value for key, value in buffers.items() if key not in SYSTEM_EGRESS}
    if buffers:
        made["buffers"] = buffers
    pfc: dict[str, Any] = {}
    if config_qos.xon_offset_cells is not None:
        pfc["xon_offset"] = config_qos.xon_offset_cells * catalog().switches[model].buffer.cell_bytes
    if system.has("pfc-watchdog", config.release or None) and any(
        traffic_class.lossless for traffic_class in config_qos.classes.values()
    ):
        if config_qos.watchdog is None:
            pfc["watchdog"] = None
        elif config_qos.watchdog != Watchdog():
            pfc["watchdog"] = given(config_qos.watchdog, WatchdogIntent())
    mtus = {interface.name: interface.mtu for interface in config.interfaces}
    rooms = {profile.mru_bytes for profile in config_qos.profiles} - {0}
    if len(rooms) == 1 and rooms - {mtus.get(port) for profile in config_qos.profiles for port in profile.ports}:
        pfc["mru"] = rooms.pop()
    if pfc:
        made["pfc"] = pfc
    if not config_qos.buffer_monitor:
        made["buffer_monitor"] = False
    return made


def _classes(config_qos: QosConfig, system: System) -> dict[str, Any]:
    """Return, by class name, the settings of each traffic class in ``config_qos`` that differ from the fabric file's defaults.

    A default class that the switch lacks is None.
    """
    usual = {name: TrafficClass(**_of_class(name)) for name in DEFAULT_CLASSES}
    placed = on_queues(usual, system)
    made: dict[str, Any] = {name: None for name in usual if name not in config_qos.classes}
    for name, traffic_class in config_qos.classes.items():
        base = usual.get(name)
        keys: dict[str, Any] = {}
        for key in ("queue", "dscp", "lossless", "pfc_priority", "priority", "buffer_percent", "dynamic_threshold"):
            expected = getattr(placed[name] if key == "queue" and name in placed else base or TrafficClass(-1), key)
            if getattr(traffic_class, key) != expected:
                keys[key] = plain(getattr(traffic_class, key))
        if traffic_class.transmit_percent != (base.transmit_percent if base else None):
            share = traffic_class.transmit_percent
            keys |= {"bandwidth": share} if share is not None and share < 100 else {"transmit_percent": share}
        ecn = _ecn(config_qos, name, traffic_class, system)
        usual_ecn = ecn == {} if base is not None and base.ecn else ecn is None
        if not usual_ecn:
            keys["ecn"] = ecn
        if keys or base is None:
            made[name] = keys
    wanted = {
        name: made.get(name, {}).get("queue", usual[name].queue if name in usual else traffic_class.queue)
        for name, traffic_class in config_qos.classes.items()
    }
    if len(set(wanted.values())) < len(wanted):  # queues that the system moved, and those of our defaults
        for name, traffic_class in config_qos.classes.items():
            made.setdefault(name, {})["queue"] = traffic_class.queue
    return made


def _of_class(name: str) -> dict[str, Any]:
    known = dict(DEFAULT_CLASSES[name])
    share = known.pop("bandwidth")
    ecn = known.pop("ecn", None)
    return {**known, "transmit_percent": share, "ecn": None if ecn is None else Ecn(**ecn)}


def _ecn(config_qos: QosConfig, name: str, traffic_class: TrafficClass, system: System) -> dict[str, Any] | None:
    marking = config_qos.marking.get(name)
    if marking is not None and system.marking is not None:
        usual = (system.marking.min_bytes, system.marking.max_bytes, system.marking.max_probability)
        if (marking.first, marking.last, marking.probability) == usual:
            return {}
        thresholds: dict[str, Any] = {"min_bytes": marking.first, "max_bytes": marking.last}
        return thresholds | ({"max_probability": marking.probability} if marking.probability != 100 else {})
    if traffic_class.ecn is None:
        return None
    return given(traffic_class.ecn, EcnIntent())


def load_balancing(draft: Draft, configs: Mapping[str, DeviceConfig], leaves: Sequence[str], *, colored: bool) -> None:
    """Write ``load_balancing`` of the reconstructed fabric file, with the settings that most leaves have.

    ``colored`` is True if the fabric has path colors.
    """
    usual = LoadBalancing()
    made: list[dict[str, Any]] = []
    for name in draft.switches:
        balancing = configs[name].balancing
        part: dict[str, Any] = {}
        if colored:
            if balancing.group_mode != usual.within_color:
                part["within_color"] = balancing.group_mode
        else:
            part["mode"] = balancing.group_mode
        dlb = given(balancing.dlb, usual.dlb)
        if dlb and balancing.group_mode.startswith("dlb"):
            part["dlb"] = dlb
        hashed = given(balancing.hash, usual.hash)
        if hashed:
            part["hash"] = hashed
        if not balancing.fast_reroute:
            part["fast_reroute"] = False
        opcodes = balancing.spray_opcodes or balancing.opcodes
        if opcodes and balancing.group_mode == "spray":
            part["spray_opcodes"] = list(opcodes)
        if balancing.selective:
            part["selective"] = {"opcodes": list(balancing.selective)}
        if balancing.global_role:
            part["global_balancing"] = True
        made.append(part)
    most, _ = common([part for part, name in zip(made, draft.switches, strict=True) if name in leaves] or made)
    others = [name for part, name in zip(made, draft.switches, strict=True) if part != most]
    if most:
        draft.fabric["load_balancing"] = most
    if others:
        draft.note(
            f"load balancing of {', '.join(others[:5])}{' and others' if len(others) > 5 else ''} differs from that of most leaves; they get the most common settings",
            "balancing",
        )


def mtus(draft: Draft, configs: Mapping[str, DeviceConfig], shape: Shape) -> None:
    """Write ``mtu`` and the usual cable lengths into the reconstructed fabric file. The switches' PFC profiles contain cable lengths."""
    far = shape.wiring.far()
    between, to_servers, gateways = Counter[int](), Counter[int](), Counter[int]()
    lengths: dict[str, Counter[int]] = {"fabric": Counter(), "server": Counter()}
    for name in draft.switches:
        config = configs[name]
        ports = {end.port for end in far if end.device == name}
        server_ports = {server.port for server in shape.wiring.servers if server.device == name}
        routed = {gateway.port: gateway.mtu for gateway in config.gateways if gateway.port}
        for interface in config.interfaces:
            if interface.mtu - routed.get(interface.name, interface.mtu - 1) in _SAME_MTU:
                continue  # a routed port has one MTU, that of its packets
            (between if interface.name in ports else to_servers if interface.name in server_ports else Counter[int]())[
                interface.mtu
            ] += 1
        gateways.update(gateway.mtu for gateway in config.gateways)
        for profile in config.qos.profiles if config.qos else ():
            for port in profile.ports:
                kind = "fabric" if port in ports else "server" if port in server_ports else ""
                if kind and profile.cable_length_m:
                    lengths[kind][profile.cable_length_m] += 1
    usual = Mtu()
    made: dict[str, int] = {
        key: counts.most_common(1)[0][0]
        for key, counts in (("fabric", between), ("server_port", to_servers), ("irb", gateways))
        if counts and counts.most_common(1)[0][0] not in {0, getattr(usual, key)}
    }
    if "irb" in made:
        made["server"] = made["irb"]
    evpn = draft.fabric.get("overlay")
    tunnel = 0 if evpn is None else tunnel_overhead_bytes(evpn.get("vtep", Overlay().vtep))
    for key, outer in (("fabric", tunnel), ("server_port", 0)):
        least = made.get("irb", usual.irb) + 14 + outer
        if made.get(key, least) < least:
            made[key] = least
            draft.note(
                f"the frame size of ports is too small for packets of {least - 14 - outer} bytes; the file sets {key} to {least}"
            )
    if made:
        draft.fabric["mtu"] = made
    for kind, counts in lengths.items():
        if counts and counts.most_common(1)[0][0] != {"fabric": 50, "server": 10}[kind]:
            draft.at("cabling")[kind] = {"length": f"{counts.most_common(1)[0][0]}m"}
