"""What the Linux kernel and lldpd under FRRouting and SONiC say: ``ip -j`` (iproute2), ``lldpcli -f json``, the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.state.device_state import Clock
from railweave.state.ports import Errors, InterfaceState
from railweave.state.protocols import Ipv6Neighbor, LldpNeighbor

if TYPE_CHECKING:
    from railweave.state.values import Answers, Value


def links(answer: Value | None) -> dict[str, InterfaceState] | None:
    """The interfaces of ``ip -j -s link``."""
    if answer is None:
        return None
    found: dict[str, InterfaceState] = {}
    for one in answer.each():
        name = one.one("ifname").text()
        if name is None:
            continue
        words = {word for flag in one.all("flags") if (word := flag.text())}
        state = one.one("operstate").text()
        received, sent = one.one("stats64", "rx"), one.one("stats64", "tx")
        found[name] = InterfaceState(
            name,
            admin_up="UP" in words if words else None,
            oper_up={"UP": True, "DOWN": False, "LOWERLAYERDOWN": False}.get(state or ""),
            mtu=one.one("mtu").integer(),
            mac=one.one("address").mac(),
            errors=Errors(
                in_errors=received.one("errors").integer(),
                out_errors=sent.one("errors").integer(),
                in_discards=received.one("dropped").integer(),
                out_discards=sent.one("dropped").integer(),
            ),
        )
    return found


def ipv6_neighbors(answer: Value | None) -> tuple[Ipv6Neighbor, ...] | None:
    """The neighbor cache of ``ip -j -6 neigh``; entries that failed have no ``mac``."""
    if answer is None:
        return None
    return tuple(
        Ipv6Neighbor(
            address,
            one.one("dev").text(),
            one.one("lladdr").mac(),
            next((text for state in one.all("state") if (text := state.lower())), None),
            "router" in one.keys,
        )
        for one in answer.each()
        if (address := one.one("dst").text()) is not None
    )


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


def clock(answers: Answers) -> Clock | None:
    """The clock of ``date -u +%s``."""
    text = answers.text("clock")
    if text is None:
        return None
    word = text.strip()
    if not word.isascii() or not word.isdecimal() or len(word) > 12:
        answers.note("clock", "", f"seconds since 1970 were expected, and it is {word[:60]!r}")
        return None
    return Clock(float(word))
