"""Quality of service: maps, schedulers, marking, buffers, and what a port has of them; all called ROCE, as in the guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.sections import Section, line, section
from railweave.systems.sonic.render.qos import (
    DSCPS,
    PRIORITIES,
    lossless,
    lossless_profile,
    pauses,
    profile_name,
    weight,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from railweave.model.device.model import DeviceConfig, Interface, QosConfig

NAME = "ROCE"
LOSSY_GROUP = 7
"""The priority group of all lossy classes (Thor2 guide, section 2.5.2: ``traffic-class 0-2,5-7 priority-group 7``), unless priority 7
is paused: the group of a lossless class has the number of its priority."""

MAPS = ("dscp-tc", "tc-queue", "tc-pg", "pfc-priority-queue")


def numbers(values: Iterable[int]) -> str:
    """Numbers as ranges: ``0-2,5``."""
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def qos(config: DeviceConfig) -> Iterator[Section]:
    """Everything that ports refer to."""
    found = config.qos
    if found is None:
        return
    ordered = sorted(found.classes.items(), key=lambda item: item[1].queue)
    for name, _ in ordered:
        if name in found.marking:
            one = found.marking[name]
            low, high = one.first // 1000, one.last // 1000
            marking = f"green minimum-threshold {low} maximum-threshold {high} drop-probability {one.probability}"
            yield section(f"qos wred-policy {marking_name(found, name)}", marking, "ecn green")
    yield section(f"qos scheduler-policy {NAME}", [_served(found, name) for name, _ in ordered])
    yield from _maps(found)
    if found.watchdog and lossless(found):
        yield line(f"priority-flow-control watchdog polling-interval {found.watchdog.poll_interval}")
    yield from _buffers(config, found)


def marking_name(found: QosConfig, name: str) -> str:
    """The WRED policy of a class: ROCE where there is one."""
    return NAME if len(found.marking) == 1 else f"{NAME}-{name}"


def _served(found: QosConfig, name: str) -> Section:
    one = found.classes[name]
    if one.priority == "strict-high":
        return section(f"queue {one.queue}", "type strict")
    return section(f"queue {one.queue}", "type dwrr", f"weight {weight(found, one)}")


def _maps(found: QosConfig) -> Iterator[Section]:
    classes = {dscp: one.queue for one in found.classes.values() for dscp in one.dscp}
    rest = found.classes[found.default_class].queue if found.default_class in found.classes else 0
    by_class: dict[int, list[int]] = {}
    for dscp in DSCPS:
        by_class.setdefault(classes.get(dscp, rest), []).append(dscp)
    yield section(
        f"qos map dscp-tc {NAME}",
        [f"dscp {numbers(dscps)} traffic-class {number}" for number, dscps in sorted(by_class.items())],
    )
    yield section(f"qos map tc-queue {NAME}", [f"traffic-class {number} queue {number}" for number in PRIORITIES])
    held = {one.queue: priority for priority, one in lossless(found).items()}
    others = [number for number in PRIORITIES if number not in held]
    yield section(
        f"qos map tc-pg {NAME}",
        [f"traffic-class {queue} priority-group {group}" for queue, group in sorted(held.items())],
        [f"traffic-class {numbers(others)} priority-group {lossy_group(held.values())}"] if others else [],
    )
    queues = {priority: one.queue for priority, one in lossless(found).items()}
    yield section(
        f"qos map pfc-priority-queue {NAME}",
        [f"pfc-priority {number} queue {queues.get(number, number)}" for number in PRIORITIES],
    )


def _buffers(config: DeviceConfig, found: QosConfig) -> Iterator[Section]:
    """Headroom: the pool's, and for each speed and cable length the design's own. The rest is as ``buffer init`` makes it."""
    model = catalog().switches.get(config.model)
    if model is None or not lossless(found):  # a text may name hardware that nobody knows: sizes are in its cells
        return
    cell = model.buffer.cell_bytes
    shared = int(model.buffer.shared_mb * 1e6 * found.buffers.headroom / 100) // cell * cell
    yield line(f"buffer pool ingress_lossless_pool shared-headroom-size {shared}")
    made: set[str] = set()
    for port in config.interfaces:
        profile = next((one for one in found.profiles if port.name in one.ports), None)
        if profile is None or profile_name(port, profile) in made:
            continue
        name = profile_name(port, profile)
        made.add(name)
        row = lossless_profile(profile, found, model)
        size, alpha, xoff = row["size"], row["dynamic_th"], row["xoff"]
        words = f"dynamic-threshold {alpha} pause pause-threshold {xoff}"
        yield line(f"buffer profile {name} ingress_lossless_pool {size} {words}")


def lossy_group(paused: Collection[int]) -> int:
    """The priority group of lossy classes: the highest that no paused priority has, the last if every group has one."""
    return next((group for group in range(LOSSY_GROUP, -1, -1) if group not in paused), LOSSY_GROUP)


def bound(config: DeviceConfig, port: Interface) -> list[str]:
    """What a port has: marking, scheduler, maps, PFC and its watchdog, headroom."""
    found = config.qos
    if found is None or port.name not in found.ports:
        return []
    held = lossless(found) if pauses(found, port) else {}
    body = [
        f"queue {one.queue} wred-policy {marking_name(found, name)}"
        for name, one in found.classes.items()
        if name in found.marking
    ]
    body.append(f"scheduler-policy {NAME}")
    body += [f"qos-map {kind} {NAME}" for kind in MAPS]
    body += [f"priority-flow-control priority {priority}" for priority in held]
    if found.watchdog and held:
        detection = found.watchdog.poll_interval * found.watchdog.detection
        body += [
            f"priority-flow-control watchdog action {found.watchdog.action}",
            f"priority-flow-control watchdog on detect-time {detection}",
            f"priority-flow-control watchdog restore-time {found.watchdog.recovery}",
        ]
    profile = next((one for one in found.profiles if port.name in one.ports), None)
    body += [f"buffer priority-group {priority} {profile_name(port, profile)}" for priority in held if profile]
    return [*body, *(["ars bind ROCE"] if adaptive(config) and port.kind == "fabric" else [])]


def adaptive(config: DeviceConfig) -> bool:
    """Whether next-hop groups are shared by load."""
    return config.balancing.group_mode in {"dlb-flowlet", "dlb-per-packet"}


def balancing(config: DeviceConfig) -> Iterator[Section]:
    """Adaptive routing (ARS), and the fields of the static hash."""
    intent = config.balancing
    if adaptive(config):
        knobs = intent.dlb
        flowlets = config.balancing.group_mode == "dlb-flowlet"
        interval = f"sampling-interval {max(1, round(1e6 / knobs.sampling_rate))}" if knobs.sampling_rate else None
        yield section(f"ars profile {NAME}", interval)
        weights = f"load-past-weight {knobs.egress_quantization.rate_weightage}"
        yield section(f"ars port-profile {NAME}", "enable", weights)
        sizes = [f"idle-time {knobs.inactivity_interval}", f"max-flows {knobs.flowset_table_size}"]
        yield section(
            f"ars object {NAME}", f"mode {'flowlet' if flowlets else 'packet'}-quality", sizes if flowlets else []
        )
        yield line(f"ars bind profile {NAME}")
    if intent.hash.seed is not None:
        yield line(f"ip load-share hash seed {intent.hash.seed}")
    for family in config.balancing.ether_types:
        words = ["src-ip", "dst-ip"] if intent.hash.layer3 else []
        words += (
            ["ip-proto" if family == "ipv4" else "next-hdr", "l4-src-port", "l4-dst-port"] if intent.hash.layer4 else []
        )
        for word in words:
            yield line(f"ip load-share hash {family} {family}-{word}")
