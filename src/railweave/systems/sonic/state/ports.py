"""Ports of a SONiC switch: links, errors, FEC, optics."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic
from railweave.systems.sonic.state.database import objects, under

if TYPE_CHECKING:
    from railweave.model.state.values import Value
    from railweave.systems.sonic.state.database import Tables


def interfaces(
    ports: Tables | None, state: Tables | None, names: Tables | None, counters: Tables | None
) -> dict[str, InterfaceState] | None:
    """Ports of ``PORT_TABLE`` with their counters."""
    if ports is None:
        return None
    counts = dict(objects(names, "COUNTERS_PORT_NAME_MAP", counters, "COUNTERS"))
    negotiated = dict(under(state, "PORT_TABLE|"))
    found: dict[str, InterfaceState] = {}
    for name, one in under(ports, "PORT_TABLE:"):
        if "admin_status" not in one.keys and "oper_status" not in one.keys:  # PortConfigDone, PortInitDone
            continue
        now = negotiated.get(name)
        speed = (now.one("speed").integer() if now else None) or one.one("speed").integer()
        lanes = one.one("lanes").text()
        up = one.one("oper_status").flag()
        found[name] = InterfaceState(
            name,
            admin_up=one.one("admin_status").flag(),
            oper_up=up,
            description=one.one("description").text(),
            speed_gbps=speed / 1000 if speed else None,
            lanes=lanes.count(",") + 1 if lanes else None,
            mtu=one.one("mtu").integer(),
            flaps=one.one("flap_count").integer(),
            errors=_errors(counts[name]) if name in counts else Errors(),
            fec=_fec(one, now, counts.get(name)),
            in_bytes=counts[name].one("SAI_PORT_STAT_IF_IN_OCTETS").integer() if name in counts else None,
            out_bytes=counts[name].one("SAI_PORT_STAT_IF_OUT_OCTETS").integer() if name in counts else None,
        )
    return found


def with_addresses(
    ports: dict[str, InterfaceState] | None, kernel: dict[str, InterfaceState] | None
) -> dict[str, InterfaceState] | None:
    """Ports with the addresses that the kernel has on them, and the kernel's other interfaces, as those of VLANs."""
    if kernel is None:
        return ports
    found = dict(ports or {})
    for name, one in kernel.items():
        found[name] = replace(found[name], addresses=one.addresses) if name in found else one
    return found


def _errors(counts: Value) -> Errors:
    return Errors(
        in_errors=counts.one("SAI_PORT_STAT_IF_IN_ERRORS").integer(),
        out_errors=counts.one("SAI_PORT_STAT_IF_OUT_ERRORS").integer(),
        in_discards=counts.one("SAI_PORT_STAT_IF_IN_DISCARDS").integer(),
        out_discards=counts.one("SAI_PORT_STAT_IF_OUT_DISCARDS").integer(),
    )


def _fec(port: Value, now: Value | None, counts: Value | None) -> Fec:
    mode = (now.one("fec").lower() if now else None) or port.one("fec").lower()
    mode = None if mode == "n/a" else mode
    if counts is None:
        return Fec(mode)
    return Fec(
        mode,
        counts.one("SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES").integer(),
        counts.one("SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES").integer(),
    )


def optics(answer: Tables | None, ports: Tables | None = None) -> dict[str, Optic] | None:
    """Optics by port, of ``TRANSCEIVER_INFO``, ``TRANSCEIVER_DOM_SENSOR`` and ``TRANSCEIVER_DOM_THRESHOLD``.

    Where any port has one, those of ``ports`` (``PORT_TABLE``) that are not in ``TRANSCEIVER_INFO`` have none.
    """
    if answer is None:
        return None
    sensors = dict(under(answer, "TRANSCEIVER_DOM_SENSOR|"))
    limits = dict(under(answer, "TRANSCEIVER_DOM_THRESHOLD|"))
    found: dict[str, Optic] = {}
    for name, one in under(answer, "TRANSCEIVER_INFO|"):
        sensor, limit = sensors.get(name), limits.get(name)
        found[name] = Optic(
            present=True,
            kind=one.one("type").text(),
            vendor=one.first("manufacturer", "vendor_name").text(),
            part=one.one("model").text(),
            serial=one.one("serial").text(),
            temperature_c=_number(sensor, "temperature"),
            voltage_v=_number(sensor, "voltage"),
            lanes=_lanes(sensor),
            rx_low_dbm=_number(limit, "rxpowerlowalarm"),
            tx_low_dbm=_number(limit, "txpowerlowalarm"),
            cable_m=_cable(one),
        )
    for name, one in under(ports, "PORT_TABLE:") if found else ():
        if name not in found and "oper_status" in one.keys:
            found[name] = Optic(present=False)
    return found


_ASSEMBLY = "length cable assembly(m)"
_LONGEST_M = 255
"""What modules of SFF-8636 write for lengths that do not fit into a byte."""


def _cable(module: Value) -> float | None:
    """The length of the cable that a module is part of; the lengths of other types of cable are how far light reaches."""
    length = _number(module, "cable_length") if module.one("cable_type").lower() == _ASSEMBLY else None
    return length if length is not None and 0 < length < _LONGEST_M else None


def _lanes(sensor: Value | None) -> tuple[Lane, ...]:
    numbers = sorted(
        {int(one[1]) for key in (sensor.keys if sensor else ()) if (one := re.fullmatch(r"rx(\d{1,2})power", key))}
    )
    return tuple(
        Lane(
            number,
            _number(sensor, f"tx{number}power"),
            _number(sensor, f"rx{number}power"),
            _number(sensor, f"tx{number}bias"),
        )
        for number in numbers
    )


def _number(row: Value | None, field: str) -> float | None:
    """A number of a sensor; ``N/A`` is absent, and no light is minus infinity."""
    text = row.one(field).lower() if row else None
    if row is None or text is None or text in {"n/a", "none"}:
        return None
    return float("-inf") if text == "-inf" else row.one(field).number()
