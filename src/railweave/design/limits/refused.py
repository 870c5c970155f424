"""Values of the fabric file that an operating system of its switches does not take: the design stops at them, with the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.catalog.systems import System, WatchdogTimes
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.intent.qos import Qos, Watchdog
    from railweave.intent.reading.document import Location


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
