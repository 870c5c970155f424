"""What the tools say of a port's QoS: mlnx_qos, niccli, or dcb, in one form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..machine import CannotTellError
from . import reading

if TYPE_CHECKING:
    from .server import Server, WantedNic


@dataclass(frozen=True)
class Qos:
    """What a tool says of a port's QoS. None: it does not say."""

    tool: str
    trust: str | None
    priority_of: dict[int, int] | None
    pause: frozenset[int] | None
    class_of: dict[int, int] | None
    kind_of: dict[int, str] | None
    share_of: dict[int, int] | None
    cable_m: int | None = None


def qos_of(server: Server, nic: WantedNic) -> Qos:
    """QoS by the vendor's tool where it is there, else by dcb. Raises CannotTellError."""
    return server.machine.once(("QoS", nic.netdev), lambda: _qos(server, nic))


def _qos(server: Server, nic: WantedNic) -> Qos:
    machine = server.machine
    try:
        if nic.mlx5 and machine.has("mlnx_qos"):
            return _mlnx_qos(machine.output("mlnx_qos", "-i", nic.netdev))
        if nic.bnxt and machine.has("niccli"):
            address = reading.pci_of(machine, nic.netdev)
            return _niccli(machine.output("niccli", "--dev", address, "qos", "--ets", "--show"))
    except CannotTellError:
        if not machine.has("dcb"):
            raise
    return _dcb(server, nic)


def _mlnx_qos(text: str) -> Qos:
    trust = re.search(r"Priority trust state: (\w+)", text)
    priorities: dict[int, int] = {}
    for line in re.findall(r"prio:(\d) dscp:([\d,]*)", text):
        priorities.update(dict.fromkeys(reading.list_of_numbers(line[1]), int(line[0])))
    pause = re.search(r"^\s*enabled((?:\s+[01]){8})", text, re.MULTILINE)
    cable = re.search(r"^Cable len: (\d+)", text, re.MULTILINE)
    classes: dict[int, int] = {}
    kinds: dict[int, str] = {}
    shares: dict[int, int] = {}
    now = 0
    for line in text.splitlines():
        head = re.match(r"\s*tc: (\d) ratelimit: .*?tsa: (\w+)(?:, bw: (\d+)%)?", line)
        members = re.match(r"\s*priority:((?:\s+\d)+)", line)
        if head:
            now = int(head[1])
            kinds[now] = head[2]
            if head[3]:
                shares[now] = int(head[3])
        elif members:
            classes.update(dict.fromkeys(reading.list_of_numbers(members[1]), now))
    return Qos(
        "mlnx_qos",
        trust[1] if trust else None,
        priorities or None,
        frozenset(i for i, one in enumerate(reading.list_of_numbers(pause[1])) if one) if pause else None,
        classes or None,
        kinds or None,
        shares or None,
        int(cable[1]) if cable else None,
    )


def _niccli(text: str) -> Qos:
    lines = {name.upper().replace("_", " "): value for name, value in reading.pairs(text).items()}
    classes = {int(a): int(b) for a, b in re.findall(r"(\d):(\d)", lines.get("PRIO MAP", ""))}
    kinds = {int(a): b for a, b in re.findall(r"(\d):(\w+)", lines.get("TSA MAP", ""))}
    shares = dict(enumerate(reading.list_of_numbers(lines.get("TC BANDWIDTH", ""))))
    pause = lines.get("PFC ENABLED")
    priorities = {
        int(dscp): int(priority) for priority, dscp in re.findall(r"Priority: (\d)\s+Sel: 5\s+DSCP: (\d+)", text)
    }
    return Qos(
        "niccli",
        "dscp" if priorities else None,
        priorities or None,
        None if pause is None else frozenset(reading.list_of_numbers(pause)),
        classes or None,
        kinds or None,
        shares or None,
    )


def _dcb(server: Server, nic: WantedNic) -> Qos:
    parts: dict[str, Any] = {}
    for part in ("pfc", "app", "ets"):
        for one in server.machine.rows("dcb", "-j", part, "show", "dev", nic.netdev):
            parts.update({key.replace("-", "_"): value for key, value in one.items()})
    if not parts:
        raise CannotTellError("the driver tells dcb nothing")
    priorities = {a: b for a, b, *_ in _lists(parts.get("dscp_prio"))} or None
    pause, classes, kinds, shares = (_list(parts.get(one)) for one in ("prio_pfc", "prio_tc", "tc_tsa", "tc_bw"))
    return Qos(
        "dcb",
        "dscp" if priorities else None,
        priorities,
        frozenset(i for i, one in enumerate(pause) if one) if pause else None,
        {i: int(one) for i, one in enumerate(classes)} or None,
        {i: str(one) for i, one in enumerate(kinds)} or None,
        {i: int(one) for i, one in enumerate(shares)} or None,
        parts.get("delay") or None,
    )


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _lists(value: object) -> list[list[Any]]:
    """``[[26, 3], …]``, as dcb prints a map."""
    return [_list(one) for one in _list(value) if len(_list(one)) > 1]
