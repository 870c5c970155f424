"""Conversion of a device state into numbers for the store, and of streamed numbers into a state for the checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railweave.model.state.device_state import DeviceState, Watchdog
from railweave.model.state.ports import InterfaceState, PfcCounters, PortQueues, PriorityGroup, Queue
from railweave.model.state.protocols import BgpSession
from railweave.model.state.telemetry import Series, bgp_word, number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_PORT = {"flaps": "flaps", "in_octets": "in_bytes", "out_octets": "out_bytes"}
_ERRORS = {counter: counter for counter in ("in_errors", "out_errors", "in_discards", "out_discards", "in_crc", "in_resource", "out_mtu", "ecn_marked")}  # fmt: skip
_FEC = {"fec_corrected": "corrected", "fec_uncorrected": "uncorrected", "pre_fec_ber": "pre_fec_ber"}
_QUEUE = {"queue_sent": "sent", "queue_dropped": "dropped", "queue_marked": "ecn_marked", "queue_peak": "peak_bytes"}
_GROUP = {"group_dropped": "dropped", "group_peak": "peak_bytes", "group_headroom_peak": "peak_headroom_bytes"}
_PFC = {"pfc_received": "received", "pfc_sent": "sent"}
_DOG = {"storms": "detected", "storms_over": "recovered", "storming": "storming"}


def measurements(state: DeviceState) -> Iterator[tuple[Series, float]]:
    """Yield (series, number) for every number of a device's state."""
    for name, port in (state.interfaces or {}).items():
        if port.oper_up is not None:
            yield Series("port_up", name), port.oper_up
        yield from _fields(port, _PORT, name)
        yield from _fields(port.errors, _ERRORS, name)
        yield from _fields(port.fec, _FEC, name)
    for name, queues in (state.queues or {}).items():
        for number, queue in queues.egress.items():
            yield from _fields(queue, _QUEUE, name, str(number))
        for number, group in queues.ingress.items():
            yield from _fields(group, _GROUP, name, str(number))
    for name, priorities in (state.pfc or {}).items():
        for number, pfc in priorities.items():
            yield from _fields(pfc, _PFC, name, str(number))
    for name, dogs in (state.watchdog or {}).items():
        for number, dog in dogs.items():
            yield from _fields(dog, _DOG, name, str(number))
    for name, pool in (state.pools or {}).items():
        yield from _fields(pool, {"pool_used": "used_bytes", "pool_peak": "peak_bytes"}, "", name)
    for name, optic in (state.optics or {}).items():
        yield from _fields(optic, {"optic_temperature": "temperature_c"}, name)
        for lane in optic.lanes:
            yield from _fields(
                lane, {"rx_power": "rx_dbm", "tx_power": "tx_dbm", "bias": "bias_ma"}, name, str(lane.number)
            )
    yield from _of_sessions(state)


def _of_sessions(state: DeviceState) -> Iterator[tuple[Series, float]]:
    for session in state.bgp or ():
        peer = session.interface or session.peer or ""
        number = None if session.state is None else number_of("bgp_state", session.state)
        if number is not None:
            yield Series("bgp_state", "", peer), number
        yield from _fields(session, {"bgp_flaps": "flaps"}, "", peer)
        received = [family.received for family in session.families.values() if family.received is not None]
        if received:
            yield Series("bgp_received", "", peer), sum(received)
    for bfd in state.bfd or ():
        if bfd.state is not None:
            yield Series("bfd_up", "", f"{bfd.peer}%{bfd.interface}" if bfd.interface else bfd.peer), bfd.state == "up"


def _fields(of: object, metrics: Mapping[str, str], port: str, index: str = "") -> Iterator[tuple[Series, float]]:
    for metric, field in metrics.items():
        number = getattr(of, field)
        if number is not None and abs(number) != float("inf"):
            yield Series(metric, port, index), number


_OF_PORT = {
    **{metric: ("port", field) for metric, field in {"port_up": "oper_up", **_PORT}.items()},
    **{metric: ("errors", field) for metric, field in _ERRORS.items()},
    **{metric: ("fec", field) for metric, field in _FEC.items()},
}
_OF_NUMBER = {
    **{metric: ("egress", field) for metric, field in _QUEUE.items()},
    **{metric: ("ingress", field) for metric, field in _GROUP.items()},
    **{metric: ("pfc", field) for metric, field in _PFC.items()},
    **{metric: ("watchdog", field) for metric, field in _DOG.items()},
}
_FLAGS = {"port_up", "storming"}
_FLOATS = {"pre_fec_ber"}


def state_of(base: DeviceState, last: Mapping[Series, float]) -> DeviceState:
    """Return a state with streamed numbers (``last``) in place of those in ``base``. Other fields keep the values of ``base``."""
    ports: dict[tuple[str, str], dict[str, Any]] = {}
    numbered: dict[tuple[str, str, str], dict[str, Any]] = {}
    states: dict[str, str] = {}
    for series, number in last.items():
        metric = series.metric
        if metric == "bgp_state":
            states[series.index] = bgp_word(number) or ""
            continue
        value = bool(number) if metric in _FLAGS else number if metric in _FLOATS else int(number)
        if metric in _OF_NUMBER and series.index.isdecimal():
            kind, field = _OF_NUMBER[metric]
            numbered.setdefault((kind, series.port, series.index), {})[field] = value
        elif metric in _OF_PORT:
            kind, field = _OF_PORT[metric]
            ports.setdefault((series.port, kind), {})[field] = value
    egress = {name: dict(port_queues.egress) for name, port_queues in (base.queues or {}).items()}
    ingress = {name: dict(port_queues.ingress) for name, port_queues in (base.queues or {}).items()}
    pfc = {name: dict(counters) for name, counters in (base.pfc or {}).items()}
    dogs = {name: dict(watchdogs) for name, watchdogs in (base.watchdog or {}).items()}
    for (kind, port, index), fields in numbered.items():
        number = int(index)
        if kind == "egress":
            table = egress.setdefault(port, {})
            table[number] = replace(table.get(number, Queue()), **fields)
        elif kind == "ingress":
            groups = ingress.setdefault(port, {})
            groups[number] = replace(groups.get(number, PriorityGroup()), **fields)
        elif kind == "pfc":
            frames = pfc.setdefault(port, {})
            frames[number] = replace(frames.get(number, PfcCounters()), **fields)
        else:
            queues = dogs.setdefault(port, {})
            queues[number] = replace(queues.get(number, Watchdog()), **fields)
    both = {
        name: PortQueues(egress.get(name, {}), ingress.get(name, {})) for name in dict.fromkeys((*egress, *ingress))
    }
    return replace(
        base,
        interfaces=_interfaces(base, ports) or base.interfaces,
        queues=both or base.queues,
        pfc=pfc or base.pfc,
        watchdog=dogs or base.watchdog,
        bgp=_sessions(base, states),
    )


def _interfaces(base: DeviceState, streamed: Mapping[tuple[str, str], dict[str, Any]]) -> dict[str, InterfaceState]:
    interfaces = dict(base.interfaces or {})
    for (name, kind), fields in streamed.items():
        known = interfaces.get(name) or InterfaceState(name)
        if kind == "port":
            interfaces[name] = replace(known, **fields)
        elif kind == "errors":
            interfaces[name] = replace(known, errors=replace(known.errors, **fields))
        else:
            interfaces[name] = replace(known, fec=replace(known.fec, **fields))
    return interfaces


def _sessions(base: DeviceState, states: Mapping[str, str]) -> tuple[BgpSession, ...] | None:
    """Return the BGP sessions of the state ``base``, with the streamed session states by neighbor (``states``).

    The name of a neighbor may include its port as a zone, such as ``fe80::1%et-0/0/0.0``. The result is None if neither has sessions.
    """
    if not states:
        return base.bgp
    left = dict(states)
    sessions: list[BgpSession] = []
    for session in base.bgp or ():
        names = (session.peer or "", f"{session.peer}%{session.interface}", session.interface or "")
        name = next((each for each in names if each in left), None)
        sessions.append(session if name is None else replace(session, state=left.pop(name)))
    for name, state in left.items():
        peer, _, zone = name.partition("%")
        sessions.append(BgpSession(peer, interface=zone or None, state=state))
    return tuple(sessions)
