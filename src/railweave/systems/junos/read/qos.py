"""Derivation of QoS from ``class-of-service``: classes with their queues, ECN, buffers, PFC, and the ports that use them."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from railweave.model.device.model import PfcProfile, QosConfig
from railweave.model.device.qos_model import Buffers, Ecn, TrafficClass, Watchdog
from railweave.systems.junos.names import BUILT_IN_CLASSES, EGRESS_PARTITION
from railweave.systems.junos.read.ports import PORT
from railweave.systems.junos.words import Word, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_DSCPS = {
    "be": 0,
    "ef": 46,
    **{f"cs{number}": 8 * number for number in range(1, 8)},
    **{f"af{drop_class}{two}": 8 * drop_class + 2 * two for drop_class in range(1, 5) for two in range(1, 4)},
    "nc1": 48,
    "nc2": 56,
}
"""The DSCP of each name that Junos has for a code point."""


def code_point(text: str) -> int:
    """Return the DSCP in a text such as ``ef`` or ``011010``. Raises ``ValueError`` for other texts."""
    if text in _DSCPS:
        return _DSCPS[text]
    if len(text) != 6 or set(text) - {"0", "1"}:
        raise ValueError(text)
    return int(text, 2)


def profiles(
    cos: Word, classes: dict[str, TrafficClass], bound: dict[str, Word]
) -> tuple[tuple[PfcProfile, ...], Watchdog | None, int | None]:
    """Return (PFC profiles in the order of the text, the PFC watchdog or None, the XON offset or None).

    The watchdog and the XON offset are those of the first profile.

    - ``cos``: the block ``class-of-service``.
    - ``classes``: the traffic classes by name.
    - ``bound``: the class-of-service settings of each port.
    """
    chosen = {port: interface.value("congestion-notification-profile") for port, interface in bound.items()}
    pfc_profiles: list[PfcProfile] = []
    watchdogs: list[Watchdog | None] = []
    offsets: list[int | None] = []
    wanted = {point for traffic_class in classes.values() if traffic_class.lossless for point in traffic_class.dscp}
    for word in cos.block("congestion-notification-profile").below.values():
        word.mark()
        mru, xon = _input(word, wanted)
        _output(word, classes)
        length = word.number("input", "cable-length")
        watchdogs.append(_watchdog(word))
        offsets.append(xon)
        ports = tuple(port for port, name in chosen.items() if name == word.text)
        pfc_profiles.append(PfcProfile(word.text, length or 0, mru or 0, 0, ports))
    return tuple(pfc_profiles), watchdogs[0] if watchdogs else None, offsets[0] if offsets else None


def _leave_strange_units(top: Word, bound: Mapping[str, Word]) -> None:
    """Mark class-of-service settings as not understood if their unit is not configured.

    ``bound`` has the class-of-service settings of each port. ``top`` is the root of the configuration.
    """
    for name, port in bound.items():
        there = top.at_path("interfaces", name, "unit")
        for unit in port.entries("unit"):
            if there is not None and unit.text not in there.below and unit.text.isdigit():
                unit.mark_unknown()


def _input(word: Word, wanted: set[int]) -> tuple[int | None, int | None]:
    """Return (MRU in bytes, XON offset) of a PFC profile's input (``word``); a missing value is None.

    ``wanted`` are the DSCPs of lossless classes. Other code points are marked as not understood.
    """
    mru = xon = None
    for account in word.block("input").entries("pfc-account"):
        for priority in account.block("pfc-priority").below.values():
            priority.mark()
    for point in word.block("input").block("dscp").entries("code-point"):
        try:
            known = code_point(point.text) in wanted and point.flag("pfc")
        except ValueError:
            known = False
        if not known:
            point.mark_unknown()
            continue
        point.value("pfc-account-name")
        mru = point.number("mru")
        xon = point.number("xon")
    return mru, xon


def _output(word: Word, classes: dict[str, TrafficClass]) -> None:
    """Mark the queues that a PFC profile (``word``) pauses as understood, if they agree with the lossless classes.

    In the profile's output, the queue at each PFC priority must be the queue of the lossless class with this priority. Any other queue
    stays
    marked as not understood. ``classes`` has the traffic classes by name.
    """
    queues = {
        f"{traffic_class.pfc_priority:03b}": str(traffic_class.queue)
        for traffic_class in classes.values()
        if traffic_class.lossless and traffic_class.pfc_priority is not None
    }
    for point in word.block("output").block("ieee-802.1").entries("code-point"):
        for queue in point.block("flow-control-queue").below.values():
            if queues.get(point.text) == queue.text:
                queue.mark()


def _watchdog(word: Word) -> Watchdog | None:
    here = word.at_path("pfc-watchdog")
    if here is None:
        return None
    here.mark()
    plain = Watchdog()
    numbers = [here.number(name) for name in ("poll-interval", "detection", "recovery")]
    action = here.value("watchdog-action")
    if action not in {"drop", "forward", None}:
        here.block("watchdog-action").mark_unknown()
    return Watchdog(
        plain.poll_interval if numbers[0] is None else numbers[0],
        plain.detection if numbers[1] is None else numbers[1],
        plain.recovery if numbers[2] is None else numbers[2],
        "forward" if action == "forward" else "drop",
    )


_CLASS = {"queue-num": 1, "no-loss": 0, "pfc-priority": 1}
_DROP = {"loss-priority": 1, "protocol": 1, "drop-profile": 1}
_DEFAULT_CLASSES = {"expedited-forwarding": 1, "assured-forwarding": 2, **BUILT_IN_CLASSES}


def qos(top: Word, order: Sequence[str]) -> QosConfig | None:
    """Return the QoS of a device, or None if no port has class-of-service settings.

    ``order`` are the device's ports, in the order that the result must have. ``top`` is the root of the configuration.
    """
    cos = top.at_path("class-of-service")
    if cos is None:
        return None
    cos.mark()
    bound = _bound(cos, order)
    if not bound:
        return None
    classes = _classes(cos, bound)
    shared = "shared-buffer" in cos.below
    pausing, watchdog, xon = profiles(cos, classes, bound)
    _rewrites(cos, classes)
    _leave_strange_units(top, bound)
    return QosConfig(
        classes=classes,
        default_class=_default(classes),
        marking={},
        buffers=_buffers(cos),
        profiles=pausing,
        xon_offset_cells=xon,
        watchdog=watchdog,
        buffer_monitor=top.flag("chassis", "fpc", "0", "traffic-manager", "buffer-monitor-enable"),
        ports=tuple(bound),
        shared_buffer=shared,
        moved=(),
        ipv6_classifiers=any(
            unit.names("classifiers", "dscp-ipv6") for port in bound.values() for unit in (port, *port.entries("unit"))
        ),
    )


def _bound(cos: Word, order: Sequence[str]) -> dict[str, Word]:
    """Return the class-of-service settings of each port, in the order ``order``.

    A name with ``*`` applies to every matching port that has no settings of its own. If several such names match, the first applies.
    ``cos``
    is the block ``class-of-service``.
    """
    place = {name: at for at, name in enumerate(order)}
    interfaces: dict[str, Word] = {}
    for word in cos.block("interfaces").below.values():
        if "*" in word.text:
            for name in order:
                if fnmatchcase(name, word.text):
                    interfaces.setdefault(name, word.mark())
        elif PORT.fullmatch(word.text):
            interfaces[word.text] = word.mark()
    return dict(sorted(interfaces.items(), key=lambda item: place.get(item[0], len(place))))


def _default(classes: dict[str, TrafficClass]) -> str:
    """Return the name of the class of DSCP 0, or else of the first lossy class. ``classes`` has the traffic classes by name."""
    zero = next((name for name, traffic_class in classes.items() if 0 in traffic_class.dscp), None)
    lossy = next((name for name, traffic_class in classes.items() if not traffic_class.lossless), None)
    return zero or lossy or next(iter(classes), "")


def _classes(cos: Word, bound: dict[str, Word]) -> dict[str, TrafficClass]:
    """Return the traffic classes by name, in the order of the scheduler map that the ports use.

    ``bound`` has the class-of-service settings of each port. ``cos`` is the block ``class-of-service``.
    """
    maps, classifiers = _names(bound, "scheduler-map"), _names_of_classifiers(bound)
    for port in bound.values():
        _leave_undefined(port.at_path("scheduler-map") or Word(""), cos.at_path("scheduler-maps"))
        for unit in (port, *port.entries("unit")):
            for kind in ("dscp", "dscp-ipv6"):
                _leave_undefined(unit.at_path("classifiers", kind) or Word(""), cos.at_path("classifiers", kind))
    queues = _queues(cos)
    dscps = _dscps(cos, classifiers)
    classes: dict[str, TrafficClass] = {}
    for scheduler_map in cos.block("scheduler-maps").below.values():
        if scheduler_map.text not in maps:
            continue
        scheduler_map.mark()
        for entry in scheduler_map.entries("forwarding-class"):
            if entry.text not in queues:
                entry.mark_unknown()
                continue
            queue, lossless, priority = queues[entry.text]
            scheduler = cos.at_path("schedulers", entry.value("scheduler") or "") or Word("")
            name = _name(entry.text, scheduler.text)
            classes[name] = _scheduled(cos, scheduler, queue, dscps.get(entry.text, ()), lossless, priority)
    for name, (queue, lossless, priority) in queues.items():
        if name in dscps and name not in {_printed(printed, classes) for printed in classes}:
            classes.setdefault(name.lower(), TrafficClass(queue, dscps[name], lossless, priority))
    return classes


def _printed(name: str, classes: Mapping[str, TrafficClass]) -> str:
    del classes
    return name if name in BUILT_IN_CLASSES else name.upper()


def _name(printed: str, scheduler: str) -> str:
    """Return the name of a class in the design. Class names on Junos are in capitals, so the name comes from the scheduler.

    If the name of the scheduler differs in more than case, return the name on Junos (``printed``).
    """
    return scheduler if scheduler.upper() == printed.upper() else printed


def _names(bound: dict[str, Word], word: str) -> set[str]:
    return {name for interface in bound.values() for name in interface.names(word)}


def _leave_undefined(place: Word, defined: Word | None) -> None:
    """Mark references as not understood if ``defined`` does not have the name. ``place`` holds the names to which a port refers."""
    for name in place.below.values():
        if defined is None or name.text not in defined.below:
            name.mark_unknown()


def _names_of_classifiers(bound: dict[str, Word]) -> set[str]:
    """Return the names of the classifiers on ports and their units. ``bound`` has the class-of-service settings of each port."""
    return {
        name
        for port in bound.values()
        for unit in (port, *port.entries("unit"))
        for kind in ("dscp", "dscp-ipv6")
        for name in unit.names("classifiers", kind)
    }


def _queues(cos: Word) -> dict[str, tuple[int, bool, int | None]]:
    """Return (queue, True if lossless, PFC priority or None) of each class. ``cos`` is the block ``class-of-service``."""
    profiles_found = cos.block("congestion-notification-profile").below.values()
    by_account = any(profile.at_path("input", "pfc-account") is not None for profile in profiles_found)
    queues: dict[str, tuple[int, bool, int | None]] = {
        name: (queue, False, None) for name, queue in _DEFAULT_CLASSES.items()
    }
    for entry in cos.block("forwarding-classes").entries("class"):
        entry.spread(_CLASS)
        queue = entry.number("queue-num")
        if queue is not None:
            priority = entry.number("pfc-priority")
            queues[entry.text] = (queue, entry.flag("no-loss") or (by_account and priority is not None), priority)
    for number in cos.block("forwarding-classes").entries("queue"):
        for name in number.names():
            try:
                queues[name] = (whole(number.text), False, None)
            except ValueError:
                number.mark_unknown()
    return queues


def _dscps(cos: Word, names: set[str]) -> dict[str, tuple[int, ...]]:
    """Return the DSCPs of each class. ``names`` are the classifiers in use, and ``cos`` is the block ``class-of-service``.

    IPv4 classifiers are read first. An entry is marked as not understood if it gives a class different DSCPs than an earlier classifier, or
    if
    another classifier has no entry for the class.
    """
    dscps: dict[str, tuple[int, ...]] = {}
    families: list[tuple[Word, set[str]]] = []
    for kind in ("dscp", "dscp-ipv6"):
        for classifier in (cos.at_path("classifiers", kind) or Word("")).below.values():
            if classifier.text not in names:
                continue
            classifier.mark()
            classifier.value("import")
            here = {entry.text: tuple(_points(entry)) for entry in classifier.entries("forwarding-class")}
            for name, points in here.items():
                if name in dscps and sorted(dscps[name]) != sorted(points):
                    classifier.block("forwarding-class").block(name).mark_unknown()
                dscps.setdefault(name, points)
            families.append((classifier, {*here}))
    for classifier, classes in families:
        for name in [name for name in classes if any(name not in others for _, others in families)]:
            classifier.block("forwarding-class").block(name).mark_unknown()
    return dscps


def _points(entry: Word) -> list[int]:
    points: list[int] = []
    for loss in entry.entries("loss-priority"):
        if loss.text != "low":  # `DeviceConfig` has no field for drop precedence
            loss.mark_unknown()
            continue
        for point in loss.entries("code-points"):
            try:
                points.append(code_point(point.text))
            except ValueError:
                point.mark_unknown()
    return points


def _scheduled(
    cos: Word, word: Word, queue: int, dscp: tuple[int, ...], lossless: bool, priority: int | None
) -> TrafficClass:
    if word.text:
        word.mark()
    strict: Literal["low", "strict-high"] = (
        "strict-high" if word.holds("priority") and word.block("priority").below.keys() & {"strict-high"} else "low"
    )
    for entry in word.block("priority").below.values():
        if entry.text in {"low", "strict-high"}:
            entry.mark()
    marks = word.flag("explicit-congestion-notification")
    profile = ""
    word.block("drop-profile-map").spread(_DROP)
    chosen = word.block("drop-profile-map")
    if chosen.below:
        of_all = (chosen.value("loss-priority"), chosen.value("protocol")) in {
            ("any", "any"),
            ("any", None),
            (None, None),
        }
        profile = chosen.value("drop-profile") or ""
        if not of_all:
            chosen.mark_unknown()
    return TrafficClass(
        queue=queue,
        dscp=dscp,
        lossless=lossless,
        pfc_priority=priority,
        priority=strict,
        transmit_percent=word.number("transmit-rate", "percent"),
        buffer_percent=word.number("buffer-size", "percent"),
        dynamic_threshold=word.number("buffer-dynamic-threshold"),
        ecn=_ecn(cos, profile) if marks else None,
    )


def _ecn(cos: Word, name: str) -> Ecn | None:
    """Return the ECN marking of the drop profile ``name``, which must have two fill levels, the first with drop probability 0.

    Return None for any other profile; its fill levels stay marked as not understood. ``cos`` is the block ``class-of-service``.
    """
    word = cos.at_path("drop-profiles", name)
    if word is None:
        return None
    word.mark()
    levels, chances = (word.block("interpolate").block(name) for name in ("fill-level", "drop-probability"))
    try:
        fill, drop = [whole(level) for level in levels.below], [whole(chance) for chance in chances.below]
    except ValueError:
        return None
    if len(fill) != 2 or len(drop) != 2 or drop[0] != 0:
        return None
    levels.mark_all()
    chances.mark_all()
    return Ecn(fill[0], fill[1], drop[1])


def _buffers(cos: Word) -> Buffers:
    """Return the sizes of the shared buffer's partitions and of the dedicated buffers. Without statements, Junos's defaults apply.

    ``cos`` is the block ``class-of-service``.
    """
    plain = Buffers()
    if cos.at_path("shared-buffer") is not None and cos.at_path("shared-buffer", "egress") is None:
        plain = replace(plain, egress="system", **EGRESS_PARTITION)

    def part(side: str, name: str, usual: int, word: str = "percent") -> int:
        entry = cos.at_path("shared-buffer", side, "buffer-partition", name)
        number = entry.mark().number(word) if entry is not None else None
        return usual if number is None else number

    return Buffers(
        lossless=part("ingress", "lossless", plain.lossless),
        headroom=part("ingress", "lossless-headroom", plain.headroom),
        lossy=part("ingress", "lossy", plain.lossy),
        egress=plain.egress,
        egress_lossless=part("egress", "lossless", plain.egress_lossless),
        egress_lossy=part("egress", "lossy", plain.egress_lossy),
        egress_multicast=part(
            "egress",
            "multicast",
            0 if "shared-buffer" in cos.below and plain.egress == "designed" else plain.egress_multicast,
        ),
        ingress_dynamic_threshold=part("ingress", "lossless", plain.ingress_dynamic_threshold, "dynamic-threshold"),
        dedicated_ingress=cos.number("dedicated-buffer", "ingress", "percent"),
        dedicated_egress=cos.number("dedicated-buffer", "egress", "percent"),
    )


def _rewrites(cos: Word, classes: Mapping[str, TrafficClass]) -> None:
    """Read the rewrite rules. ``cos`` is the block ``class-of-service``, and ``classes`` has the traffic classes by name.

    A rule that writes the first DSCP of each class is understood, because ``overlay.tunnel_dscp`` represents it. All other rules are
    marked as not understood.
    """
    first = {
        _printed(name, classes): traffic_class.dscp[0] for name, traffic_class in classes.items() if traffic_class.dscp
    }
    for kind in ("dscp", "dscp-ipv6"):
        for rule in (cos.at_path("rewrite-rules", kind) or Word("")).below.values():
            rule.mark()
            for entry in rule.entries("forwarding-class"):
                for priority in entry.entries("loss-priority"):
                    try:
                        is_own = priority.text == "low" and code_point(priority.value("code-point") or "") == first.get(
                            entry.text
                        )
                    except ValueError:
                        is_own = False
                    if not is_own:
                        priority.mark_unknown()
    for port in cos.block("interfaces").below.values():
        for rule in (port, *port.entries("unit")):
            rule.names("rewrite-rules", "dscp")
            rule.names("rewrite-rules", "dscp-ipv6")
