"""Checks of each NIC's QoS against the design: trust in DSCP, priorities, PFC, scheduling, congestion notification."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ..machine import CannotTellError
from . import outcome
from .link import announcements
from .outcome import alike, failed, not_applicable, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .outcome import Outcome
    from .server import Server, Traffic, WantedNic


@dataclass(frozen=True)
class Qos:
    """The QoS of a port as a tool such as ``mlnx_qos`` reports it. A field is None if the tool does not report it.

    - ``tool``: the name of the tool. ``trust``: the packet field that sets the priority, such as ``dscp``.
    - ``priority_of``: the priority of each DSCP.
    - ``pause``: the priorities with PFC.
    - ``class_of``: the traffic class of each priority.
    - ``kind_of`` and ``share_of``: the scheduling (such as ``ets`` or ``strict``) and the bandwidth percentage of each traffic class.
    - ``cable_m``: the cable length that is set in the driver, in metres.
    """

    tool: str
    trust: str | None
    priority_of: dict[int, int] | None
    pause: frozenset[int] | None
    class_of: dict[int, int] | None
    kind_of: dict[int, str] | None
    share_of: dict[int, int] | None
    cable_m: int | None = None


def qos_of(server: Server, nic: WantedNic) -> Qos:
    """Return the QoS of a NIC, by the vendor's tool if installed, or else by dcb. Raises CannotTellError if neither tool shows the QoS."""
    return server.machine.once(("QoS", nic.netdev), lambda: _qos(server, nic))


def _qos(server: Server, nic: WantedNic) -> Qos:
    machine = server.machine
    try:
        if nic.mlx5 and machine.has("mlnx_qos"):
            return _mlnx_qos(machine.output("mlnx_qos", "-i", nic.netdev))
        if nic.bnxt and machine.has("niccli"):
            address = outcome.pci_of(machine, nic.netdev)
            return _niccli(machine.output("niccli", "--dev", address, "qos", "--ets", "--show"))
    except CannotTellError:
        if not machine.has("dcb"):
            raise
    return _dcb(server, nic)


def _mlnx_qos(text: str) -> Qos:
    trust = re.search(r"Priority trust state: (\w+)", text)
    priorities: dict[int, int] = {}
    for line in re.findall(r"prio:(\d) dscp:([\d,]*)", text):
        priorities.update(dict.fromkeys(outcome.list_of_numbers(line[1]), int(line[0])))
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
            classes.update(dict.fromkeys(outcome.list_of_numbers(members[1]), now))
    return Qos(
        "mlnx_qos",
        trust[1] if trust else None,
        priorities or None,
        frozenset(i for i, enabled in enumerate(outcome.list_of_numbers(pause[1])) if enabled) if pause else None,
        classes or None,
        kinds or None,
        shares or None,
        int(cable[1]) if cable else None,
    )


def _niccli(text: str) -> Qos:
    lines = {name.upper().replace("_", " "): value for name, value in outcome.pairs(text).items()}
    classes = {int(a): int(b) for a, b in re.findall(r"(\d):(\d)", lines.get("PRIO MAP", ""))}
    kinds = {int(a): b for a, b in re.findall(r"(\d):(\w+)", lines.get("TSA MAP", ""))}
    shares = dict(enumerate(outcome.list_of_numbers(lines.get("TC BANDWIDTH", ""))))
    pause = lines.get("PFC ENABLED")
    priorities = {
        int(dscp): int(priority) for priority, dscp in re.findall(r"Priority: (\d)\s+Sel: 5\s+DSCP: (\d+)", text)
    }
    return Qos(
        "niccli",
        "dscp" if priorities else None,
        priorities or None,
        None if pause is None else frozenset(outcome.list_of_numbers(pause)),
        classes or None,
        kinds or None,
        shares or None,
    )


def _dcb(server: Server, nic: WantedNic) -> Qos:
    parts: dict[str, Any] = {}
    for part in ("pfc", "app", "ets"):
        for row in server.machine.rows("dcb", "-j", part, "show", "dev", nic.netdev):
            parts.update({key.replace("-", "_"): value for key, value in row.items()})
    if not parts:
        raise CannotTellError("the driver tells dcb nothing")
    priorities = {a: b for a, b, *_ in _lists(parts.get("dscp_prio"))} or None
    pause, classes, kinds, shares = (_list(parts.get(key)) for key in ("prio_pfc", "prio_tc", "tc_tsa", "tc_bw"))
    return Qos(
        "dcb",
        "dscp" if priorities else None,
        priorities,
        frozenset(i for i, enabled in enumerate(pause) if enabled) if pause else None,
        {i: int(class_number) for i, class_number in enumerate(classes)} or None,
        {i: str(kind) for i, kind in enumerate(kinds)} or None,
        {i: int(share) for i, share in enumerate(shares)} or None,
        parts.get("delay") or None,
    )


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _lists(value: object) -> list[list[Any]]:
    """Return the rows of a table such as ``[[26, 3], …]`` in dcb's JSON, without rows that have fewer than two members."""
    return [_list(row) for row in _list(value) if len(_list(row)) > 1]


_REMEDY = "sudo ./nic-qos.sh apply"
_FIRMWARE = f"{_REMEDY}; if it does not stay, DCBX or LLDP of the firmware is on: sudo ./nic-nvm.sh apply, reboot"


T = TypeVar("T")


def _wanted(nic: WantedNic) -> Traffic:
    if nic.traffic is None:
        raise CannotTellError("host.json has no QoS for its fabric")
    return nic.traffic


def _known(value: T | None, tool: str, setting: str) -> T:
    if value is None:
        raise CannotTellError(f"{tool} does not show {setting}")
    return value


_ALIKE = "set all NICs of one kind alike: mlnx_qos -i NIC, niccli --dev PCI qos, or dcb; a design gives nic-qos.sh"


def _part(server: Server, name: str, setting: str) -> Callable[[WantedNic], object]:
    """Return a function that reads the field ``name`` of a NIC's ``Qos``.

    The returned function raises CannotTellError if the tool does not report the field. ``setting`` is the field's name in
    that error.
    """

    def read(nic: WantedNic) -> object:
        qos = qos_of(server, nic)
        return _known(getattr(qos, name), qos.tool, setting)

    return read


def _map(values: Mapping[Any, object]) -> str:
    return ", ".join(f"{key}:{value}" for key, value in sorted(values.items())) or "none"


def _dscps(values: Mapping[int, int]) -> str:
    """Return the priorities of DSCPs as text, such as ``DSCP 24, 26-28 in priority 3``. ``values`` has the priority of each DSCP."""
    texts: list[str] = []
    for priority in sorted(set(values.values())):
        members = sorted(dscp for dscp, value in values.items() if value == priority)
        starts = [dscp for dscp in members if dscp - 1 not in members]
        ends = [dscp for dscp in members if dscp + 1 not in members]
        ranges = [str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends)]
        texts.append(f"DSCP {', '.join(ranges)} in priority {priority}")
    return "; ".join(texts)


def _on_for(priorities: Iterable[int]) -> str:
    return f"on for {', '.join(map(str, sorted(priorities))) or 'none'}"


def _pauses(server: Server, nic: WantedNic) -> bool:
    try:
        return bool(qos_of(server, nic).pause)
    except CannotTellError:
        return False


def _congestion_control(server: Server, nic: WantedNic) -> dict[str, str]:
    """Return a NIC's congestion control settings in the kernel, by name: for example, ``1`` (on) for the name ``roce_np/enable/3``.

    Raises CannotTellError if the driver shows none.
    """
    machine = server.machine
    if nic.mlx5:
        folder = f"/sys/class/net/{nic.netdev}/ecn"
        names = [
            f"{side}/enable/{priority}"
            for side in ("roce_np", "roce_rp")
            for priority in machine.names(f"{folder}/{side}/enable")
        ]
        have = {name: machine.text(f"{folder}/{name}") or "" for name in names}
    else:
        text = machine.text(f"/sys/kernel/debug/bnxt_re/{outcome.pci_of(machine, nic.netdev)}/cc_config/enable_cc")
        have = {"enable_cc": text} if text else {}
    if not have:
        raise CannotTellError("this driver does not show it")
    return have


def _mlx5_notification(server: Server, nic: WantedNic) -> list[int | None]:
    folder = f"/sys/class/net/{nic.netdev}/ecn/roce_np"
    debug = f"/sys/kernel/debug/mlx5/{outcome.pci_of(server.machine, nic.netdev)}/cc_params"
    return [
        _either(server, f"{folder}/cnp_dscp", f"{debug}/np_cnp_dscp"),
        _either(server, f"{folder}/cnp_802p_prio", f"{debug}/np_cnp_prio"),
    ]


def _notification_of(server: Server, nic: WantedNic) -> Sequence[int | None]:
    have = _mlx5_notification(server, nic)
    if not nic.mlx5 or None in have:
        raise CannotTellError("this driver does not show it")
    return have


def _dscp_and_priority(pair: Sequence[int | None]) -> str:
    return f"DSCP {pair[0]}, priority {pair[1]}"


def _traffic_class(server: Server, nic: WantedNic) -> str | None:
    return server.machine.text(f"/sys/class/infiniband/{nic.rdma}/tc/{nic.plan.rdma_port}/traffic_class")


_OTHERS = re.compile(r"Junos|Juniper|Arista|EOS|Dell|Cisco|NX-OS|Huawei|H3C|Edgecore|Celestica|Ruijie", re.IGNORECASE)


def _other_vendor(server: Server, nic: WantedNic) -> str:
    """Return the description that the NIC's switch announces by LLDP, if it names a vendor other than NVIDIA; otherwise empty."""
    try:
        systems = [neighbor["system"] for neighbor in announcements(server.machine, nic.netdev)]
    except CannotTellError:
        return ""
    return next((text.splitlines()[0][:80] for text in systems if text and _OTHERS.search(text)), "")


def _adaptive(server: Server, nic: WantedNic) -> bool:
    machine = server.machine
    tool = next((name for name in ("mlxreg", "mstreg") if machine.has(name)), "mstreg")
    text = machine.output(tool, "-d", outcome.pci_of(machine, nic.netdev), "--reg_name", "ROCE_ACCL", "--get")
    match = re.search(r"^adaptive_routing_forced_en\s*\|\s*(0x[0-9a-fA-F]+|\d+)", text, re.MULTILINE)
    if not match:
        raise CannotTellError("the firmware has no adaptive_routing_forced_en")
    return int(match[1], 0) != 0


@of_nic(
    "qos-trust",
    rule="The NIC classifies packets by their DSCP.",
    why="A NIC that uses the VLAN tag instead puts all RDMA data into priority 0, which is never paused.",
    how="mlnx_qos -i NIC; niccli --dev PCI qos --ets --show; dcb app show dev NIC",
    source="Thor2 guide, section 2.2.1; NVIDIA, mlnx_qos (Priority trust state)",
)
def trust(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC trusts DSCP."""
    if server.generic:
        yield from alike(server, nic, _part(server, "trust", "a DSCP map"), remedy=_ALIKE)
        return
    _wanted(nic)
    qos = qos_of(server, nic)
    seen = _known(qos.trust, qos.tool, "a DSCP map")
    if seen == "dscp":
        yield ok("dscp")
    else:
        yield failed(seen, "dscp", "the design sorts by DSCP", _REMEDY)


@of_nic(
    "qos-dscp",
    rule="The DSCPs of RDMA data, congestion notification and other lossless classes have their planned "
    "priorities, and no other DSCP has a priority that is paused.",
    why="Switches and NICs must agree on the paused priority; a congestion notification in this priority waits "
    "behind the traffic that it should slow down.",
    how="as qos-trust",
    source="Thor2 guide, section 2.6, check 2; host.json fabrics",
)
def dscp(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that each DSCP has the planned priority."""
    if server.generic:
        yield from alike(server, nic, _part(server, "priority_of", "a DSCP map"), _dscps, remedy=_ALIKE)
        return
    wanted, qos = _wanted(nic), qos_of(server, nic)
    have = _known(qos.priority_of, qos.tool, "a DSCP map")
    pairs = {wanted.cnp_dscp: wanted.cnp_priority}
    if wanted.lossless:
        pairs = dict.fromkeys((wanted.dscp, *wanted.other_dscp), wanted.priority) | pairs
    pairs |= {dscp: other.priority for other in wanted.others.values() for dscp in other.dscp}
    wrong = [
        f"DSCP {code_point} in priority {have.get(code_point, 'none')}"
        for code_point, priority in pairs.items()
        if have.get(code_point) != priority
    ]
    wrong += [
        f"DSCP {code_point} in priority {priority}, which is paused"
        for code_point, priority in sorted(have.items())
        if priority in wanted.paused and code_point not in pairs
    ]
    right = ", ".join(f"DSCP {code_point} in priority {priority}" for code_point, priority in pairs.items())
    if wrong:
        yield failed(
            ", ".join(wrong), f"{right}, no other DSCP in these", f"host.json fabrics.{nic.plan.fabric}", _REMEDY
        )
    else:
        yield ok(right)


@of_nic(
    "qos-pfc",
    rule="Priority flow control (PFC) is on for the priority of RDMA data and of other lossless classes, and for no other.",
    why="Without PFC, the lossless class loses packets; PFC on a different priority stops traffic that should not "
    "be stopped.",
    how="as qos-trust",
    source="Thor2 guide, section 2.6, check 2; host.json fabrics.NAME.roce",
)
def pfc(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that PFC is on for exactly the planned priorities."""
    if server.generic:
        yield from alike(server, nic, _part(server, "pause", "PFC"), _on_for, remedy=_ALIKE)
        return
    wanted, qos = _wanted(nic), qos_of(server, nic)
    have = _known(qos.pause, qos.tool, "PFC")
    right = wanted.paused
    seen, should = (", ".join(map(str, sorted(priorities))) or "none" for priorities in (have, right))
    if have == right:
        yield ok(f"on for {seen}")
    else:
        origin = f"host.json fabrics.{nic.plan.fabric}.roce.priority, lossless"
        yield failed(f"on for {seen}", f"on for {should}", origin, _FIRMWARE)


@of_nic(
    "qos-cable-length",
    rule="The driver sizes the NIC's buffer of lossless classes for a cable at least as long as the planned one.",
    why="Packets that arrive after the NIC has sent a pause are lost if they do not fit. The driver's default is 7 m.",
    how="mlnx_qos -i NIC (Cable len); dcb pfc show dev NIC (delay)",
    source="Linux, drivers/net/ethernet/mellanox/mlx5/core/en/port_buffer.h; host.json nics[].cable_m",
    unless=lambda _, nic: (
        ""
        if nic.mlx5 and nic.cable_m and nic.traffic is not None and nic.traffic.paused
        else "only mlx5 goes by a length, where a class is paused and the cable's length is planned"
    ),
    design=True,
)
def cable_length(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the cable length configured in the driver is at least the planned length."""
    qos = qos_of(server, nic)
    have = _known(qos.cable_m, qos.tool, "the length of cable that the driver goes by")
    if have >= nic.cable_m:
        yield ok(f"{have} m")
    else:
        yield failed(f"{have} m", f"{nic.cable_m} m", f"host.json {nic.key}.cable_m", _REMEDY)


@of_nic(
    "qos-scheduling",
    rule="RDMA data and each other lossless class have a separate traffic class with a bandwidth share, and "
    "congestion notification has strict priority.",
    why="In a shared class, RDMA data waits for other traffic; a congestion notification that waits comes too late.",
    how="as qos-trust; /sys/kernel/debug/bnxt_re/DEVICE/info (fw_service_prof_type_sup: older firmware of Broadcom has no class for it)",
    source="Thor2 guide, section 2.6, check 2; host.json fabrics.NAME.roce.bandwidth_percent",
)
def scheduling(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the traffic classes, their scheduling and their bandwidth shares."""
    if server.generic:
        parts = [
            _part(server, name, "traffic classes and their shares") for name in ("class_of", "kind_of", "share_of")
        ]
        yield from alike(
            server,
            nic,
            lambda other: tuple(read(other) for read in parts),
            lambda values: f"classes {_map(values[0])}; scheduling {_map(values[1])}; shares {_map(values[2])}",
            remedy=_ALIKE,
        )
        return
    wanted, qos = _wanted(nic), qos_of(server, nic)
    classes = _known(qos.class_of, qos.tool, "traffic classes")
    kinds = _known(qos.kind_of, qos.tool, "how classes are scheduled")
    wrong: list[str] = []
    cnp = classes.get(wanted.cnp_priority, -1)
    no_class = kinds.get(cnp) != "strict" and _has_notification_class(server, nic) is False
    if kinds.get(cnp) != "strict" and not no_class:
        wrong.append(f"congestion notification in class {cnp}, {kinds.get(cnp, 'of no kind')}")
    alone = {"data": (wanted.priority, wanted.bandwidth_percent)} if wanted.lossless else {}
    alone |= {name: (other.priority, other.bandwidth_percent) for name, other in wanted.others.items()}
    for name, (priority, percent) in alone.items():
        class_number = classes.get(priority, -1)
        others = [other for other, number in classes.items() if number == class_number and other != priority]
        share = (qos.share_of or {}).get(class_number)
        if others:
            wrong.append(f"{name} shares class {class_number} with priorities {', '.join(map(str, others))}")
        if share is not None and share != percent:
            wrong.append(f"{name} has {share} %")
    if wrong:
        designed = (f"{name} alone in its class with {percent} %" for name, (_, percent) in alone.items())
        right = ", ".join((*designed, "congestion notification strict"))
        yield failed("; ".join(wrong), right, f"host.json fabrics.{nic.plan.fabric}", _FIRMWARE)
    elif no_class:
        yield ok("as planned; firmware has no class for congestion notification")
    else:
        yield ok("as planned")


def _has_notification_class(server: Server, nic: WantedNic) -> bool | None:
    """Return True if Broadcom firmware has a service type for congestion notifications; None if the driver does not show it."""
    if not nic.bnxt:
        return None
    for name in (nic.rdma, outcome.pci_of(server.machine, nic.netdev)):
        text = server.machine.text(f"/sys/kernel/debug/bnxt_re/{name}/info") or ""
        match = re.search(r"fw_service_prof_type_sup\D*(\d)", text)
        if match:
            return match[1] != "0"
    return None


@of_nic(
    "qos-global-pause",
    rule="The pause of the whole link (IEEE 802.3x) is off.",
    why="A link pause stops every class, also those that PFC does not pause, and turns PFC off on some NICs.",
    how="ethtool -a NIC",
    source="Thor2 guide, section 2.2.1; IEEE 802.1Qbb (PFC and link pause exclude each other)",
)
def global_pause(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that global pause is off in both directions."""
    have = outcome.pairs(server.machine.output("ethtool", "-a", nic.netdev))
    on = [direction for direction in ("RX", "TX") if have.get(direction) == "on"]
    if not any(direction in have for direction in ("RX", "TX")):
        raise CannotTellError("ethtool shows no pause settings")
    if server.generic and on and not _pauses(server, nic):
        yield ok(f"on for {' and '.join(on)}, and PFC is off")
    elif on:
        yield failed(
            f"on for {' and '.join(on)}", "off", "IEEE 802.1Qbb", f"sudo ethtool -A {nic.netdev} rx off tx off"
        )
    else:
        yield ok("off")


@of_nic(
    "qos-congestion-control",
    rule="The NIC answers marked packets, and slows down when it is notified (DCQCN), in exactly those classes in "
    "which the design marks packets. Broadcom NICs have one setting for all classes: it is on if packets of "
    "any class are marked.",
    why="Otherwise only PFC limits congestion, and spreads it over the fabric.",
    how="/sys/class/net/NIC/ecn/roce_{np,rp}/enable/PRIORITY; /sys/kernel/debug/bnxt_re/PCI/cc_config/enable_cc",
    source="DCQCN (SIGCOMM 2015); host.json fabrics.NAME.roce.ecn, other_lossless.CLASS.ecn",
    root=True,
)
def congestion_control(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that congestion control is on or off for each priority as designed."""
    if server.generic:
        yield from alike(server, nic, lambda other: _congestion_control(server, other), _map, remedy=_ALIKE)
        return
    wanted, machine = _wanted(nic), server.machine
    should: dict[str, bool] = {}
    if nic.mlx5:
        folder, sides = f"/sys/class/net/{nic.netdev}/ecn", ("roce_np", "roce_rp")
        have = {side: machine.text(f"{folder}/{side}/enable/{wanted.priority}") for side in sides}
        for other in wanted.others.values():
            more = {
                f"{side} of priority {other.priority}": machine.text(f"{folder}/{side}/enable/{other.priority}")
                for side in sides
            }
            have |= more
            should |= dict.fromkeys(more, other.ecn)
    elif nic.bnxt:
        address = outcome.pci_of(machine, nic.netdev)
        have = {"enable_cc": machine.text(f"/sys/kernel/debug/bnxt_re/{address}/cc_config/enable_cc")}
        should = {"enable_cc": wanted.slows_down}
    else:
        raise CannotTellError("no public document shows where this family has it")
    if None in have.values():
        raise CannotTellError("this driver does not show it")
    on = {name: str(value).split()[-1] not in {"0", "0x0"} for name, value in have.items()}
    say = {True: "on", False: "off"}
    seen = ", ".join(f"{name} {say[value]}" for name, value in on.items())
    right = {name: should.get(name, wanted.ecn) for name in on}
    if on == right:
        yield ok(seen)
    else:
        planned = ", ".join(f"{name} {say[value]}" for name, value in right.items())
        yield failed(
            seen,
            planned if wanted.others else say[wanted.ecn],
            f"host.json fabrics.{nic.plan.fabric}.roce.ecn",
            _REMEDY,
        )


@of_nic(
    "qos-notification",
    rule="Congestion notification packets have the planned DSCP and priority.",
    why="Switches treat packets with an unknown DSCP as best effort, where notifications are late or lost.",
    how="/sys/class/net/NIC/ecn/roce_np/cnp_*; /sys/kernel/debug/mlx5/PCI/cc_params/np_cnp_*; /etc/bnxt_re/bnxt_re.conf",
    source="Thor2 guide, section 2.2.1.3; host.json fabrics.NAME.cnp",
    root=True,
)
def notification(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the DSCP and the priority of congestion notification packets."""
    if server.generic and nic.bnxt:
        yield not_applicable("one file has it for all NICs of the family")
        return
    if server.generic:
        yield from alike(server, nic, lambda other: _notification_of(server, other), _dscp_and_priority, remedy=_ALIKE)
        return
    wanted, machine = _wanted(nic), server.machine
    if nic.mlx5:
        have = _mlx5_notification(server, nic)
    elif nic.bnxt:
        text = machine.text("/etc/bnxt_re/bnxt_re.conf")
        values = dict(re.findall(r"^(\w+)=(\S+)", text or "", re.MULTILINE))
        if text is None:
            yield failed("no /etc/bnxt_re/bnxt_re.conf", "one", "Thor2 guide, section 2.6, check 2", _REMEDY)
            return
        have = [int(values[name]) if values.get(name, "").isdigit() else None for name in ("CNP_DSCP", "CNP_PRI")]
    else:
        raise CannotTellError("no public document shows where this family has it")
    if None in have:
        raise CannotTellError("this driver does not show it")
    right = [wanted.cnp_dscp, wanted.cnp_priority]
    seen, should = map(_dscp_and_priority, (have, right))
    if have == right:
        yield ok(seen)
    else:
        yield failed(seen, should, f"host.json fabrics.{nic.plan.fabric}.cnp", _REMEDY)


@of_server(
    "qos-driver-file",
    rule="The file from which a NIC's driver sets QoS when it is loaded is identical to the planned one.",
    why="After a reboot, every NIC with this driver has the settings of this file, whatever a script has set before.",
    how="/etc/bnxt_re/bnxt_re.conf",
    source="Thor2 guide, section 2.2.1.3; host.json driver_files",
    unless=lambda server: "" if server.driver_files else "no driver reads such a file here",
    design=True,
)
def driver_file(server: Server) -> Iterator[Outcome]:
    """Check that the driver's configuration files contain exactly the planned settings."""
    for path, wanted in server.driver_files.items():
        text = server.machine.text(path)
        if text is None:
            yield failed(f"no {path}", "one", "host.json driver_files", _REMEDY, path)
            continue
        have = dict(re.findall(r"^[ \t]*(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", text, re.MULTILINE))
        wrong = [
            f"{key} is {have[key]}, not {value}" if key in have else f"no {key}"
            for key, value in wanted.items()
            if have.get(key) != value
        ]
        wrong += [f"{key}={value} is not planned" for key, value in have.items() if key not in wanted]
        if wrong:
            remedy = f"{_REMEDY}; then reboot"
            yield failed("; ".join(wrong), f"{len(wanted)} settings", "host.json driver_files", remedy, path)
        else:
            yield ok(f"{len(wanted)} settings", path)


def _either(server: Server, path: str, other: str) -> int | None:
    number = server.machine.number(path)
    return server.machine.number(other) if number is None else number


@of_nic(
    "qos-traffic-class",
    rule="Queue pairs get the planned traffic class, even if their application requests a different one (NVIDIA's "
    "own driver). With several lossless classes, they get the class that they request.",
    why="If a program does not set the class, its RDMA traffic is best effort instead of lossless.",
    how="/sys/class/infiniband/DEVICE/tc/PORT/traffic_class",
    source="NVIDIA, RoCE: tclass; host.json fabrics.NAME.roce.traffic_class",
)
def traffic_class(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check the traffic class that the driver sets for all queue pairs, if the driver has such a setting."""
    text = _traffic_class(server, nic)
    if text is None:
        yield not_applicable("this driver has none for all queue pairs; NCCL_IB_TC sets it for jobs")
        return
    if server.generic:
        yield from alike(server, nic, lambda other: _traffic_class(server, other), remedy=_ALIKE)
        return
    wanted = _wanted(nic)
    numbers = outcome.list_of_numbers(text)
    origin = f"host.json fabrics.{nic.plan.fabric}.roce.traffic_class"
    if wanted.others:
        if "Global tclass=" in text:
            yield failed(
                text,
                "none: applications ask for theirs",
                origin.replace("roce.traffic_class", "other_lossless"),
                _REMEDY,
            )
        else:
            yield ok("applications ask for theirs")
    elif numbers[:1] == [wanted.traffic_class]:
        yield ok(numbers[0])
    else:
        yield failed(text or "none", wanted.traffic_class, origin, _REMEDY)


@of_nic(
    "qos-adaptive-routing",
    rule="The NIC uses adaptive routing if the fabric may deliver packets out of order, and only then.",
    why="Without it, packets that arrive out of order count as lost; with it, on a fabric that keeps the order, "
    "small messages are slower.",
    how="mlxreg -d PCI --reg_name ROCE_ACCL --get (mstreg)",
    source="long-haul article (firmware 28.39 and newer); host.json fabrics.NAME.roce.adaptive_routing",
    root=True,
    unless=lambda _, nic: "" if nic.mlx5 else "this family has no such register",
)
def adaptive_routing(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that adaptive routing in the NIC's register is on or off as designed."""
    say = {True: "on", False: "off"}
    if server.generic:
        yield from alike(server, nic, lambda other: _adaptive(server, other), say.__getitem__, remedy=_ALIKE)
        return
    wanted, on = _wanted(nic), _adaptive(server, nic)
    if on and wanted.adaptive_routing and (switch := _other_vendor(server, nic)):
        remedy = "try one pair of leaves first, or use mode dlb-flowlet in the fabric file: no document has this switch with it"
        yield warning(
            f"on, and the switch is {switch}", "a switch of NVIDIA", "adaptive-routing-undocumented (verify)", remedy
        )
    elif on == wanted.adaptive_routing:
        yield ok(say[on])
    else:
        origin = f"host.json fabrics.{nic.plan.fabric}.roce.adaptive_routing"
        level = failed if wanted.adaptive_routing else warning
        yield level(say[on], say[wanted.adaptive_routing], origin, _REMEDY)
