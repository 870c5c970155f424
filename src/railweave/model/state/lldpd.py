"""What lldpd hears, as ``lldpcli -f json show neighbors`` has it: under FRRouting, SONiC and on servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.protocols import LldpNeighbor

if TYPE_CHECKING:
    from railweave.model.state.values import Value


def lldp(answer: Value | None) -> dict[str, tuple[LldpNeighbor, ...]] | None:
    """The neighbors of ``lldpcli -f json show neighbors``, also in the form ``json0`` where everything is a list."""
    if answer is None:
        return None
    found: dict[str, tuple[LldpNeighbor, ...]] = {}
    for ports in answer.one("lldp").all("interface"):
        for port, heard in _named(ports):
            found[port] = (*found.get(port, ()), _neighbor(heard))
    return found


def _named(ports: Value) -> list[tuple[str, Value]]:
    """Ports by name: ``json`` has the name as key, ``json0`` as a field."""
    name = ports.one("name").text() if {"name", "port"} <= ports.keys else None
    return [(name, ports)] if name else ports.entries()


def _neighbor(heard: Value) -> LldpNeighbor:
    port = heard.one("port")
    system, chassis = _chassis(heard.one("chassis"))
    return LldpNeighbor(
        system,
        port.one("id").first("value", "data").text(),
        port.one("id", "type").lower(),
        _word(port.one("descr")),
        chassis.one("id").first("value", "data").text(),
    )


def _chassis(chassis: Value) -> tuple[str | None, Value]:
    """The neighbor's name and what else is said of it: the name is a key or a field, and missing where it sent none."""
    entry = chassis
    if len(chassis.keys) == 1 and not {"id", "name"} & chassis.keys:
        return chassis.entries()[0]
    return _word(entry.one("name")), entry


def _word(value: Value) -> str | None:
    below = next(iter(value.each()), value)
    return below.first("value", "data").text() if below.keys else below.text()
