"""Values of fabric file fields that a rule computes from the design: PFC headroom, thresholds, XON offsets, watchdogs.

Each rule computes a range, and shows the arithmetic. A value within the range is kept; any other value is replaced by
the nearest limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.design.limits.headroom_terms import Headroom, headrooms
from railweave.errors import OutputError
from railweave.json_values import JsonObject
from railweave.model.catalog.shares import MOST_THRESHOLD, alpha
from railweave.model.intent.reading.source import read_source
from railweave.operations.tune.patch import amended, at_path, read_plain, unified
from railweave.prediction.collectives.nccl import NUMBERS, RCCL_NUMBERS
from railweave.prediction.simulation.model.retries import BASE_PS
from railweave.reading import file_text
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from railweave.model.intent.qos import Qos, Watchdog
    from railweave.model.network.devices import Fabric, RoleName
    from railweave.model.network.model import Network

DEFAULT_THRESHOLD = 7
"""The default index of the dynamic threshold: alpha = 2^(index - 7) (facts of Broadcom's switches)."""
LONGEST_PAUSES = 10
"""The factor between the longest pause in a healthy network and the shortest pause on which a watchdog may act.

The value is assumed, because no source states one.
"""
MOST_DETECTION = 10
"""The largest number of consecutive polls that a fabric file can require before the watchdog acts."""
MOST_RECOVERY_MS = 1500


_LIKE: dict[RoleName, tuple[str, ...]] = {
    "leaf": ("leaf",),
    "spine": ("spine", "leaf"),
    "super-spine": ("super_spine", "spine", "leaf"),
    "dci": ("dci", "spine", "leaf"),
}
"""For each role of a switch, the keys of a fabric in the fabric file that may set the role's values. The first key that the file has applies."""


@dataclass(frozen=True, slots=True)
class Derived(JsonObject):
    """A field of the fabric file, and the range that a rule computes for it.

    - ``path``: the path of the field below the fabric.
    - ``have``: the file's value, or None for the system's default.
    - ``least``, ``most``: the ends of the range; None means no limit.
    - ``wanted``: the proposed value; None if ``have`` is None.
    - ``steps``: the arithmetic, line by line.
    """

    JSON = ("fabric", "role", "field", "have", "least", "most", "wanted", "unit", "steps")

    fabric: str
    role: RoleName
    path: tuple[str, ...]
    have: int | None
    least: int | None
    most: int | None
    wanted: int | None
    unit: str
    steps: tuple[str, ...]

    @property
    def name(self) -> str:
        """The field's name: its fabric, its role, and its path with dots."""
        return f"{self.fabric} {self.role} {'.'.join(self.path)}"

    @property
    def field(self) -> str:
        """The path of the field, with dots."""
        return ".".join(self.path)


def _derived(
    at: tuple[Fabric, RoleName],
    path: str,
    have: int | None,
    least: int | None,
    most: int | None,
    unit: str,
    steps: list[str],
) -> Derived:
    wanted = have
    if have is not None and most is not None and have > most:
        wanted = most
    if have is not None and least is not None and have < least:
        wanted = least
    return Derived(at[0].name, at[1], tuple(path.split(".")), have, least, most, wanted, unit, tuple(steps))


def _roles(network: Network) -> Iterator[tuple[Fabric, RoleName, Qos, Headroom]]:
    """Yield (fabric, role, QoS, headroom) for each role of switches, such as ``leaf``, that sends PFC pauses.

    The headroom is that of the role's fullest switch: the switch that uses the largest share of its headroom.
    """
    for fabric in network.fabrics:
        for role in _LIKE:
            most = max(headrooms(network, fabric, role), key=lambda candidate: candidate.used, default=None)
            if most is not None and most.terms:
                yield fabric, role, fabric.intent(network.switch(most.device)).qos, most


def headroom(network: Network) -> list[Derived]:
    """Return the computed ranges of headroom, ingress thresholds and XON offsets, for every role that sends PFC pauses."""
    derived: list[Derived] = []
    for fabric, role, qos, worst in _roles(network):
        at: tuple[Fabric, RoleName] = fabric, role
        shared, source = _shared(worst)
        derived += _shares(at, qos, worst, shared, source)
        derived += _thresholds(at, qos, worst, shared)
    return derived


def _shared(worst: Headroom) -> tuple[float, str]:
    """Return (bytes of the buffer that is divided into lossless, lossy and headroom shares, source of this number).

    ``worst`` is the headroom of the switch that uses the largest share of its headroom.
    """
    if worst.published_bytes is not None:
        return worst.published_bytes * 100 / max(
            1, worst.partition_percent
        ), "what dedicated buffers leave, by published figures"
    return worst.shared_mb * 1e6, "the whole packet buffer of the model"


def _shares(at: tuple[Fabric, RoleName], qos: Qos, worst: Headroom, shared: float, source: str) -> list[Derived]:
    steps = [
        f"{term.ports} {term.kind} ports of {term.port.speed_gbps}G, {term.port.length_m:g} m, MTU {term.port.mtu_bytes}: {term.port.words}"
        for term in worst.terms
    ]
    percent = math.ceil(100 * worst.need_bytes / shared)
    steps.append(
        f"{worst.device}: {worst.need_bytes:,} bytes for {worst.priorities} lossless class(es), of {shared:,.0f} bytes shared ({source}): {percent} %"
    )
    buffers = qos.buffers
    most = 100 - buffers.lossy - 1
    derived_headroom = _derived(at, "qos.buffers.headroom", buffers.headroom, min(percent, most), most, "%", steps)
    left = 100 - buffers.lossy - (derived_headroom.wanted or 0)
    why = f"what headroom ({derived_headroom.wanted} %) and lossy classes ({buffers.lossy} %) leave: {left} %"
    return [derived_headroom, _derived(at, "qos.buffers.lossless", buffers.lossless, None, left, "%", [why])]


def _thresholds(at: tuple[Fabric, RoleName], qos: Qos, worst: Headroom, shared: float) -> Iterator[Derived]:
    pool = shared * qos.buffers.lossless / 100
    ports = worst.priorities * sum(term.ports for term in worst.terms)
    largest = max((term.port for term in worst.terms), key=lambda port: port.need_bytes)
    idle = largest.need_bytes
    loop = idle - 2 * largest.mtu_bytes
    steps = [
        f"lossless pool {pool:,.0f} bytes; alpha = 2^(index - 7); with n queues over it each has alpha x pool / (1 + n x alpha) (Choudhury and Hahne, 1998)"
    ]
    marks = [
        (name, traffic_class)
        for name, traffic_class in qos.classes.items()
        if traffic_class.lossless and traffic_class.ecn is not None
    ]
    least = 0
    while least < MOST_THRESHOLD and _limit(least, pool, ports) < idle:
        least += 1
    steps.append(
        f"index {least}: with all {ports} at once {_limit(least, pool, ports):,.0f} bytes; a port that is paused must have {idle:,} left, or its link idles until XON is heard"
    )
    for name, traffic_class in marks:
        assert traffic_class.ecn is not None  # noqa: S101 - chosen so
        egress = shared * qos.buffers.egress_lossless / 100
        index = DEFAULT_THRESHOLD if traffic_class.dynamic_threshold is None else traffic_class.dynamic_threshold
        mark = traffic_class.ecn.min_fill / 100 * _limit(index, egress, 1)
        while least < MOST_THRESHOLD and _limit(least, pool, 1) < mark:
            least += 1
        steps.append(
            f"class {name} is marked from {mark:,.0f} bytes on ({traffic_class.ecn.min_fill} % of what one queue may have); one port that feeds it is paused from {_limit(least, pool, 1):,.0f} on at index {least}: ECN comes first"
        )
    yield _derived(
        at,
        "qos.buffers.ingress_dynamic_threshold",
        qos.buffers.ingress_dynamic_threshold,
        least,
        MOST_THRESHOLD,
        "",
        steps,
    )
    index = max(least, qos.buffers.ingress_dynamic_threshold)
    highest = round(max(0.0, _limit(index, pool, ports) - loop))
    lowest = 2 * largest.mtu_bytes
    steps = [f"at least 2 MTU, {lowest:,} bytes: one packet on the way must not pause again at once",
             f"at most {highest:,} bytes: XOFF with all {ports} ports at once ({_limit(index, pool, ports):,.0f}) less what drains until the peer sends again ({loop:,})"]  # fmt: skip
    if qos.pfc.xon_offset is None:
        steps.append(
            "the file leaves it to the system's default, which is not public for every system: nothing is proposed"
        )
    yield _derived(at, "qos.pfc.xon_offset", qos.pfc.xon_offset, lowest, max(lowest, highest), "bytes", steps)


def _limit(index: int, pool: float, queues: int) -> float:
    share = alpha(index)
    return share * pool / (1 + queues * share)


def watchdog(network: Network) -> list[Derived]:
    """Return the computed ranges of the PFC watchdog's detection and recovery times, for every role that has a watchdog.

    Roles that send no pauses are left out.
    """
    derived: list[Derived] = []
    rows = list(_roles(network))
    for fabric, role, qos, _ in rows:
        dog = qos.pfc.watchdog
        if dog is None:
            continue
        mine: list[tuple[RoleName, Qos, Headroom]] = [
            (each, other_qos, worst) for other, each, other_qos, worst in rows if other.name == fabric.name
        ]
        derived += _of_watchdog((fabric, role), dog, *_longest_pause_ms(mine))
    return derived


def _longest_pause_ms(rows: Sequence[tuple[RoleName, Qos, Headroom]]) -> tuple[float, list[str]]:
    """Return (longest pause in ms in a network without faults, lines of the arithmetic). ``rows`` has the roles that send pauses.

    The bound assumes that every switch of a path drains its whole lossless pool through one port.
    """
    steps: list[str] = []
    total = 0.0
    for role, qos, worst in rows:
        shared, _ = _shared(worst)
        pool = shared * qos.buffers.lossless / 100
        slowest = min(term.port.speed_gbps for term in worst.terms)
        each = pool * 8 / (slowest * 1e9) * 1e3
        times = 2 if role == "leaf" and len(rows) > 1 else 1
        total += times * each
        steps.append(
            f"{times} x {role}: {pool:,.0f} bytes of lossless pool by one port of {slowest}G: {each:.2f} ms each"
        )
    steps.append(f"the longest honest pause: {total:.1f} ms")
    return total, steps


def _of_watchdog(at: tuple[Fabric, RoleName], dog: Watchdog, pause_ms: float, steps: list[str]) -> Iterator[Derived]:
    least_ms = math.ceil(LONGEST_PAUSES * pause_ms)
    exponent = min(int(NUMBERS["NCCL_IB_TIMEOUT"].default), RCCL_NUMBERS["NCCL_IB_TIMEOUT"])
    ack_ms = (BASE_PS << exponent) / 1e9
    most_ms = int(ack_ms) - dog.recovery
    have_ms = dog.poll_interval * dog.detection
    all_steps = [
        *steps,
        f"detection ({dog.poll_interval} ms x {dog.detection} = {have_ms} ms) lasts at least {LONGEST_PAUSES} such pauses (assumed): {least_ms} ms",
        f"and with recovery ({dog.recovery} ms) less than an ACK timeout of a NIC, 4.096 us x 2^{exponent} = {ack_ms:,.0f} ms (RCCL's, the shorter), so that a job feels one retry at most: {most_ms} ms",
    ]
    lowest = math.ceil(least_ms / dog.poll_interval)
    highest = max(1, min(MOST_DETECTION, most_ms // dog.poll_interval))
    if lowest > MOST_DETECTION:
        poll = math.ceil(least_ms / MOST_DETECTION)
        yield _derived(at, "qos.pfc.watchdog.poll_interval", dog.poll_interval, poll, None, "ms", all_steps)
        lowest = MOST_DETECTION
    yield _derived(at, "qos.pfc.watchdog.detection", dog.detection, min(lowest, highest), highest, "polls", all_steps)
    why = "at least as long as detection: while a storm lasts, its queue is held open for half of the time or more"
    yield _derived(
        at,
        "qos.pfc.watchdog.recovery",
        dog.recovery,
        min(max(have_ms, least_ms), MOST_RECOVERY_MS),
        MOST_RECOVERY_MS,
        "ms",
        [why],
    )


def in_file(document: Any, derived: Sequence[Derived]) -> dict[tuple[str, ...], int]:  # noqa: ANN401 - plain YAML
    """Return the values that ``derived`` proposes, by their path in the fabric file. If roles share a field, the largest value applies."""
    values: dict[tuple[str, ...], int] = {}
    for value in derived:
        if value.wanted is None or value.wanted == value.have:
            continue
        path = place_in_file(document, value.fabric, value.role, value.path)
        values[path] = max(value.wanted, values.get(path, value.wanted))
    return values


def place_in_file(document: Any, fabric: str, role: RoleName, path: tuple[str, ...]) -> tuple[str, ...]:  # noqa: ANN401 - plain YAML
    """Return the full path of a role's field in a fabric file. ``path`` is the path below the role.

    The path leads to the section of the role, or of the role from which it inherits. If this section is missing or has no ``qos:``, the
    path leads to the fabric.
    """
    return ("fabrics", fabric, *_stated(at_path(document, ("fabrics", fabric)), role), *path)


def _stated(fabric: Any, role: RoleName) -> tuple[str, ...]:  # noqa: ANN401 - plain YAML
    for key in _LIKE[role]:
        section = at_path(fabric, (key,))
        if section is not None:
            return (key,) if at_path(section, ("qos",)) is not None else ()
    return ()


@dataclass(frozen=True)
class RuleResult(JsonObject):
    """The values that a rule derives for a fabric file.

    - ``patch``: a diff of the fabric file for ``patch -p0``.
    - ``amended``: the whole text of the file with the patch applied.

    ``patch`` and ``amended`` are empty if every value of the file is within its range.
    """

    JSON = ("values", "patch")

    fabric: Path
    values: tuple[Derived, ...]
    patch: str
    amended: str

    def to_text(self) -> str:
        """Return the text that the command prints: each value with its range and the arithmetic."""
        lines: list[str] = []
        for value in self.values:
            have = "the system's default" if value.have is None else _with_unit(value.have, value.unit)
            line = f"{value.name}: {have}, by rule {_range(value)}"
            lines.append(
                line if value.wanted == value.have else f"{line}: proposed {_with_unit(value.wanted or 0, value.unit)}"
            )
            lines += [f"    {step}" for step in value.steps]
        if not self.values:
            lines.append("nothing: no switch of this design pauses anything")
        elif not self.patch:
            lines.append("every value of the file is within its range")
        return "\n".join(lines)


def _with_unit(number: int, unit: str) -> str:
    return f"{number:,} {unit}".rstrip()


def _range(value: Derived) -> str:
    if value.least is None or value.most is None:
        return (
            f"at most {_with_unit(value.most or 0, value.unit)}"
            if value.least is None
            else f"at least {_with_unit(value.least, value.unit)}"
        )
    return f"{value.least:,} to {_with_unit(value.most, value.unit)}"


def ruled(fabric: Path, document: Any, text: str, values: Sequence[Derived]) -> RuleResult:  # noqa: ANN401 - plain YAML
    """Return the values, with the patch that writes them into the fabric file. Raises ``InputError`` if the fabric file cannot be patched.

    ``document`` is the parsed file, and ``text`` its text.
    """
    wanted = in_file(document, values)
    new = amended(text, str(fabric), wanted) if wanted else text
    changed = new != text
    return RuleResult(fabric, tuple(values), unified(text, new, str(fabric)) if changed else "", new if changed else "")


def by_rule(network: Network, fabric: Path, rule: Callable[[Network], list[Derived]], *, apply: bool) -> RuleResult:
    """Return the values that a rule derives for a fabric file. If ``apply`` is True, write them into the file.

    Raises ``OutputError`` if the file cannot be written.
    """
    source = read_source(fabric).path
    text = file_text(source)
    result = ruled(source, read_plain(text, str(source)), text, rule(network))
    if apply and result.patch:
        if file_text(source) != text:
            raise OutputError(f"{source} has changed since it was read; nothing was written to it")
        write_file(source, result.amended)
    return result
