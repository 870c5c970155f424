"""Values of the fabric file that an operating system of its switches does not take: the design stops at them, with the line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.systems import Range, System, WatchdogTimes
    from railweave.model.intent.qos import Qos, Watchdog
    from railweave.model.intent.reading.document import Location


def check_flowsets(context: Context, layout: Layout) -> None:
    """Note a problem if the flowset table of DLB is larger than a system of the fabric takes."""
    wanted = layout.spec.load_balancing
    if wanted.group_mode() != "dlb-flowlet":
        return
    size = wanted.dlb.flowset_table_size
    for nos in dict.fromkeys(kind.role.nos for kind in layout.kinds()):
        system = context.catalog.systems[nos]
        if system.maximum_flowsets is not None and size > system.maximum_flowsets:
            context.problem(
                ("fabrics", layout.name, "load_balancing", "dlb", "flowset_table_size"),
                f"flowset_table_size {size} exceeds the {system.maximum_flowsets} of {system.description}",
                f"use at most {system.maximum_flowsets}",
            )


def check_ranges(context: Context, layout: Layout) -> None:
    """Note a problem for each number of a fabric that a system of its switches does not take; those of QoS are its role's.

    BFD that is off has no timers, and a fabric without tenants has no sessions of an overlay.
    """
    spec = layout.spec
    timed = {"underlay": spec.underlay.bfd, "overlay": spec.overlay.bfd if spec.overlay and spec.tenants else None}
    unused = {name for name, bfd in timed.items() if bfd is None or not bfd.enabled}
    for nos in dict.fromkeys(kind.role.nos for kind in layout.kinds()):
        system = context.catalog.systems[nos]
        for field, takes in system.ranges.items():
            part, *rest = field.split(".")
            if takes.protocol not in {"", spec.underlay.protocol} or (part in unused and rest[:1] == ["bfd"]):
                continue
            if part != "qos":
                _check_range(context, system, spec, field, takes, ("fabrics", layout.name))


def check_qos_ranges(context: Context, system: System, qos: Qos, base: Location) -> None:
    """Note a problem for each number of a role's QoS that a system does not take."""
    for field, takes in system.ranges.items():
        part, _, rest = field.partition(".")
        if part == "qos":
            _check_range(context, system, qos, rest, takes, base)


def _check_range(context: Context, system: System, part: object, field: str, takes: Range, base: Location) -> None:
    for place, value in _numbers(part, field.split(".")):
        if not takes.least <= value <= takes.most:
            what = f"{place[-1]} is {value}, which must be {takes.least} to {takes.most} on {system.description}"
            context.problem((*base, *place), what, "choose a value in that range")


def _numbers(part: object, field: list[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """The numbers of a field, each with its place; ``*`` is every name, and what is not given has none."""
    if not field:
        if isinstance(part, int):
            yield (), part
        return
    step, *rest = field
    if isinstance(part, Mapping):
        named = cast("Mapping[str, object]", part)
        inner = named.items() if step == "*" else [(step, named.get(step))]
    else:
        inner = [(step, getattr(part, step, None))]
    for name, one in inner:
        for place, value in _numbers(one, rest):
            yield (name, *place), value


def check_watchdog(context: Context, system: System, qos: Qos, base: Location, release: str | None) -> None:
    """Note a problem for each timer of the PFC watchdog that a system does not take."""
    dog, takes = qos.pfc.watchdog, system.watchdog_times
    lossless = any(one.lossless for one in qos.classes.values())
    if dog is None or takes is None or not lossless or not system.has("pfc-watchdog", release):
        return
    for key, what, fix in _refused(dog, takes):
        context.problem((*base, "pfc", "watchdog", key), f"{what} on {system.description}", fix)


def _refused(dog: Watchdog, takes: WatchdogTimes) -> Iterator[tuple[str, str, str]]:
    """The fields that are refused, each with what is wrong and what is right."""
    timeout = dog.poll_interval * dog.detection
    times = (
        ("poll_interval", "poll_interval", dog.poll_interval, takes.poll_ms, 1),
        ("poll_interval", "poll_interval x detection", timeout, takes.timeout_ms, takes.step_ms),
        ("recovery", "recovery", dog.recovery, takes.recovery_ms, takes.step_ms),
    )
    for key, name, time, (least, most), step in times:
        if not least <= time <= most or time % step:
            steps = f", in steps of {step} ms" if step > 1 else ""
            yield key, f"{name} is {time} ms, which must be {least} to {most} ms{steps}", "choose a value in that range"
    if dog.detection < takes.polls:
        yield (
            "detection",
            f"detection {dog.detection} is below the {takes.polls} polls that a timeout holds",
            f"use {takes.polls} or more",
        )
    if dog.recovery < takes.polls * dog.poll_interval:
        what = f"recovery {dog.recovery} ms is shorter than {takes.polls} polls of {dog.poll_interval} ms"
        yield "recovery", what, f"use at least {takes.polls * dog.poll_interval} ms, or a shorter poll_interval"
