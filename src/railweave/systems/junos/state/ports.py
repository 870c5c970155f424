"""Ports of a Junos switch: links, errors, FEC, optics, queues, PFC and its watchdog."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Watchdog
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.state.values import Value

_SPEED = re.compile(r"(\d{1,5})\s*([mMgG])bps")
_PORT = re.compile(r"(?:et|xe|ge)-(\d{1,3})/(\d{1,3})/(\d{1,3})(?::\d{1,2})?")
_DEGREES = re.compile(r"(-?\d{1,4}(?:\.\d{1,4})?)\s*degrees C")


def _ports(answer: Value) -> Iterator[tuple[str, Value]]:
    for one in answer.find("physical-interface"):
        name = one.one("name").text()
        if name is not None:
            yield name, one


def _digits(value: Value) -> int | None:
    """A number where there is one: words as ``Unlimited`` stand in its place."""
    text = value.text()
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


def interfaces(answer: Value | None, now: float | None) -> dict[str, InterfaceState] | None:
    """Physical and logical interfaces of ``show interfaces extensive``; ``now`` is the device's clock, for it tells how long ago."""
    if answer is None:
        return None
    found: dict[str, InterfaceState] = {}
    for name, one in _ports(answer):
        speed = _SPEED.search(one.one("speed").text() or "")
        ago = one.one("interface-flapped").attribute("seconds").number()
        up = _up(one.one("oper-status"))
        reasons = [key for key in (one.one("if-device-flags")).keys if key.startswith("ifdf-") and key not in _GOOD]
        found[name] = InterfaceState(
            name,
            admin_up=_up(one.one("admin-status")),
            oper_up=up,
            reason=", ".join(sorted(reasons)) or None if up is False else None,
            description=one.one("description").text(),
            speed_gbps=int(speed[1]) / (1 if speed[2] in "gG" else 1000) if speed else None,
            mtu=_digits(one.one("mtu")),
            mac=one.first("current-physical-address", "hardware-physical-address").mac(),
            flaps=one.one("output-error-list", "carrier-transitions").integer(),
            last_change=now - ago if now is not None and ago is not None else None,
            errors=_errors(one),
            fec=_fec(one),
            in_bytes=one.one("traffic-statistics", "input-bytes").integer(),
            out_bytes=one.one("traffic-statistics", "output-bytes").integer(),
        )
        for unit in one.all("logical-interface"):
            inner = unit.one("name").text()
            if inner is not None:
                found[inner] = _unit(inner, unit, found[name])
        routed = found.get(f"{name}.0")
        if routed is not None:  # a port that routes by itself has its addresses there
            found[name] = replace(found[name], addresses=routed.addresses)
    return found


_GOOD = {"ifdf-present", "ifdf-running"}


def _up(value: Value) -> bool | None:
    return {"up": True, "down": False}.get(value.lower() or "")


def _unit(name: str, unit: Value, port: InterfaceState) -> InterfaceState:
    admin, up = _up(unit.one("admin-status")), _up(unit.one("oper-status"))
    families = unit.all("address-family")
    mtus = [mtu for family in families if (mtu := _digits(family.one("mtu"))) is not None]
    addresses = [address.one("ifa-local").text() for family in families for address in family.all("interface-address")]
    return InterfaceState(
        name,
        admin_up=port.admin_up if admin is None else admin,
        oper_up=port.oper_up if up is None else up,
        description=unit.one("description").text(),
        mtu=min(mtus, default=None),
        addresses=tuple(one for one in addresses if one),
    )


def _errors(port: Value) -> Errors:
    received, sent, mac = (
        port.one("input-error-list"),
        port.one("output-error-list"),
        port.one("ethernet-mac-statistics"),
    )
    return Errors(
        in_errors=received.one("input-errors").integer(),
        out_errors=sent.one("output-errors").integer(),
        in_discards=received.one("input-drops").integer(),
        out_discards=sent.one("output-drops").integer(),
        in_crc=mac.one("input-crc-errors").integer(),
        in_resource=received.one("input-resource-errors").integer(),
        out_mtu=sent.one("mtu-errors").integer(),
        ecn_marked=sent.one("ecn-marked-packets").integer(),
    )


def _fec(port: Value) -> Fec:
    statistics = port.one("ethernet-fec-statistics")
    return Fec(
        port.one("ethernet-fec-mode", "enabled_fec_mode").text(),
        statistics.one("fec_ccw_count").integer(),
        statistics.one("fec_nccw_count").integer(),
    )


def optics(answer: Value | None, hardware: Value | None, ports: Iterable[str] = ()) -> dict[str, Optic] | None:
    """Optics of ``show interfaces diagnostics optics`` by port, with what ``show chassis hardware`` says of each module.

    That one lists every module, so a port of ``ports`` whose cage is not in it has none.
    """
    if answer is None and hardware is None:
        return None
    modules = dict(_modules(hardware)) if hardware else {}
    found: dict[str, Optic] = {}
    for name, port in _ports(answer) if answer else ():
        said = port.one("optics-diagnostics")
        warm = _DEGREES.search(said.one("module-temperature").text() or "")
        lanes = tuple(
            Lane(
                _digits(one.one("lane-index")) or 0,
                _dbm(one.one("laser-output-power-dbm")),
                _dbm(one.first("laser-rx-optical-power-dbm", "rx-signal-avg-optical-power-dbm")),
                _loose(one.one("laser-bias-current")),
            )
            for one in said.all("optics-diagnostics-lane-values") or [said]
        )
        alarms = tuple(
            sorted(
                {
                    key
                    for part in (said, *said.all("optics-diagnostics-lane-values"))
                    for key, one in part.entries()
                    if key.endswith("-alarm") and one.lower() == "on"
                }
            )
        )
        found[name] = Optic(
            present=True,
            temperature_c=float(warm[1]) if warm else None,
            voltage_v=_loose(said.one("module-voltage")),
            lanes=lanes,
            rx_low_dbm=_dbm(said.one("laser-rx-power-low-alarm-threshold-dbm")),
            tx_low_dbm=_dbm(said.one("laser-tx-power-low-alarm-threshold-dbm")),
            alarms=alarms,
        )
    for name in {*found, *(place for place in modules if place not in {_cage(one) for one in found})}:
        module = modules.get(_cage(name))
        if module is not None:
            found[name] = replace(
                found.get(name, Optic(present=True)),
                kind=module.one("description").text(),
                part=module.first("model-number", "part-number").text(),
                serial=module.one("serial-number").text(),
            )
    for name in ports if modules else ():
        if _PORT.fullmatch(name) and name not in found and _cage(name) not in modules:
            found[name] = Optic(present=False)
    return found


def _modules(hardware: Value) -> Iterator[tuple[str, Value]]:
    """Modules by the port whose cage they are in: ``Xcvr 5`` of ``PIC 0`` of ``FPC 0`` is in ``et-0/0/5``."""
    for fpc in hardware.find("chassis-module"):
        slot = _slot(fpc, "FPC")
        for pic in fpc.all("chassis-sub-module") if slot else ():
            place = _slot(pic, "PIC")
            for module in pic.all("chassis-sub-sub-module") if place else ():
                number = _slot(module, "Xcvr")
                if number:
                    yield f"et-{slot}/{place}/{number}", module


def _slot(module: Value, kind: str) -> str | None:
    words = (module.one("name").text() or "").split()
    return words[1] if len(words) == 2 and words[0] == kind and words[1].isdecimal() else None


def _cage(name: str) -> str:
    found = _PORT.fullmatch(name)
    return f"et-{found[1]}/{found[2]}/{found[3]}" if found else name


def _dbm(value: Value) -> float | None:
    """Light in dBm: a dark lane reads ``- Inf`` or ``-Inf``."""
    text = (value.text() or "").replace(" ", "").lower()
    return float("-inf") if text.startswith("-inf") else _loose(value)


def _loose(value: Value) -> float | None:
    """The number that a text begins with; what has none, as ``N/A``, is absent."""
    found = re.match(r"-?\d{1,6}(?:\.\d{1,6})?", value.text() or "")
    return float(found[0]) if found else None


def _rows(container: Value, *tags: str) -> Iterator[tuple[Value, ...]]:
    """The rows of a container that repeats its elements in order, without one around each row."""
    columns = [container.all(tag) for tag in tags]
    if len({len(one) for one in columns}) > 1:
        container.note("its elements do not come in equal numbers")
    yield from zip(*columns, strict=False)


def pfc(answer: Value | None) -> dict[str, dict[int, PfcCounters]] | None:
    """PFC frames by port and priority, of those ports that count any."""
    if answer is None:
        return None
    found: dict[str, dict[int, PfcCounters]] = {}
    for name, port in _ports(answer):
        for container in port.all("ethernet-mac-pfc-statistics"):
            for row in _rows(container, "mac-pfc-dot1p", "input-mac-pfc-frames", "output-mac-pfc-frames"):
                priority = _digits(row[0])
                if priority is not None:
                    found.setdefault(name, {})[priority] = PfcCounters(row[1].integer(), row[2].integer())
    return found


def watchdog(answer: Value | None) -> dict[str, dict[int, Watchdog]] | None:
    """The PFC watchdog by port and queue, of those ports that have it."""
    if answer is None:
        return None
    found: dict[str, dict[int, Watchdog]] = {}
    for name, port in _ports(answer):
        for container in port.all("ethernet-pfcwd-statistics"):
            for row in _rows(container, "queue-number", "detected", "recovered"):
                queue, detected, recovered = _digits(row[0]), row[1].integer(), row[2].integer()
                if queue is not None:
                    storming = detected > recovered if detected is not None and recovered is not None else None
                    found.setdefault(name, {})[queue] = Watchdog(detected, recovered, storming)
    return found


def queues(answers: Iterable[Value]) -> dict[str, PortQueues] | None:
    """Egress queues by port: of ``show interfaces extensive``, and of ``show interfaces queue``, which says more."""
    found: dict[str, dict[int, Queue]] = {}
    asked = list(answers)
    for answer in asked:
        for name, port in _ports(answer):
            for one in port.find("queue"):
                number = _digits(one.one("queue-number"))
                if number is None:
                    continue
                here = Queue(
                    one.one("forwarding-class-name").text(),
                    one.one("queue-counters-trans-packets").integer(),
                    one.one("queue-counters-total-drop-packets").integer(),
                    one.one("queue-counters-ecn-ce-packets").integer(),
                    one.one("queue-counters-depth-peak").integer(),
                )
                known = found.setdefault(name, {}).get(number, Queue())
                found[name][number] = Queue(
                    here.name or known.name,
                    known.sent if here.sent is None else here.sent,
                    known.dropped if here.dropped is None else here.dropped,
                    known.ecn_marked if here.ecn_marked is None else here.ecn_marked,
                    known.peak_bytes if here.peak_bytes is None else here.peak_bytes,
                )
    return {name: PortQueues(egress, {}) for name, egress in found.items()} if asked else None
