"""``congestion-notification-profile``: PFC by cable length and MRU, its watchdog, and which queues it stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.classes import Watchdog
from railweave.model.device.model import PfcProfile

if TYPE_CHECKING:
    from railweave.model.device.classes import TrafficClass
    from railweave.systems.junos.read.words import Word

_DSCPS = {
    "be": 0,
    "ef": 46,
    **{f"cs{number}": 8 * number for number in range(1, 8)},
    **{f"af{one}{two}": 8 * one + 2 * two for one in range(1, 5) for two in range(1, 4)},
    "nc1": 48,
    "nc2": 56,
}
"""Junos's own names of code points."""


def code_point(text: str) -> int:
    """A DSCP, as six bits or by its name. Raises ``ValueError``."""
    if text in _DSCPS:
        return _DSCPS[text]
    if len(text) != 6 or set(text) - {"0", "1"}:
        raise ValueError(text)
    return int(text, 2)


def profiles(
    cos: Word, classes: dict[str, TrafficClass], bound: dict[str, Word]
) -> tuple[tuple[PfcProfile, ...], Watchdog | None, int | None]:
    """PFC profiles in the order of the text, the watchdog and the XON offset that all of them have."""
    chosen = {port: one.value("congestion-notification-profile") for port, one in bound.items()}
    found: list[PfcProfile] = []
    watchdogs: list[Watchdog | None] = []
    offsets: list[int | None] = []
    wanted = {point for one in classes.values() if one.lossless for point in one.dscp}
    for word in cos.block("congestion-notification-profile").below.values():
        word.take()
        mru, xon = _input(word, wanted)
        _output(word, classes)
        length = word.number("input", "cable-length")
        watchdogs.append(_watchdog(word))
        offsets.append(xon)
        ports = tuple(port for port, name in chosen.items() if name == word.text)
        found.append(PfcProfile(word.text, length or 0, mru or 0, 0, ports))
    return tuple(found), watchdogs[0] if watchdogs else None, offsets[0] if offsets else None


def _input(word: Word, wanted: set[int]) -> tuple[int | None, int | None]:
    """MRU and XON offset of a profile; code points that no lossless class has are not understood."""
    mru = xon = None
    for one in word.block("input").entries("pfc-account"):
        for priority in one.block("pfc-priority").below.values():
            priority.take()
    for one in word.block("input").block("dscp").entries("code-point"):
        try:
            known = code_point(one.text) in wanted and one.flag("pfc")
        except ValueError:
            known = False
        if not known:
            one.leave()
            continue
        one.value("pfc-account-name")
        mru = one.number("mru")
        xon = one.number("xon")
    return mru, xon


def _output(word: Word, classes: dict[str, TrafficClass]) -> None:
    """Which queues stop at a priority: those of the lossless classes, else it is not understood."""
    queues = {
        f"{one.pfc_priority:03b}": str(one.queue)
        for one in classes.values()
        if one.lossless and one.pfc_priority is not None
    }
    for one in word.block("output").block("ieee-802.1").entries("code-point"):
        for queue in one.block("flow-control-queue").below.values():
            if queues.get(one.text) == queue.text:
                queue.take()


def _watchdog(word: Word) -> Watchdog | None:
    here = word.at_path("pfc-watchdog")
    if here is None:
        return None
    here.take()
    plain = Watchdog()
    numbers = [here.number(one) for one in ("poll-interval", "detection", "recovery")]
    action = here.value("watchdog-action")
    return Watchdog(
        plain.poll_interval if numbers[0] is None else numbers[0],
        plain.detection if numbers[1] is None else numbers[1],
        plain.recovery if numbers[2] is None else numbers[2],
        "forward" if action == "forward" else "drop",
    )
