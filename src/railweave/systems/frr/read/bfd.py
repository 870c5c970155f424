"""BFD profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.timers import Bfd
from railweave.systems.frr.read.defaults import unprinted
from railweave.systems.frr.read.values import number

if TYPE_CHECKING:
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking


_INTERVALS = ("transmit-interval", "receive-interval")


def default() -> Bfd:
    """The timers where a profile does not say."""
    return Bfd(minimum_interval=unprinted("bgp.bfd.minimum_interval"), multiplier=unprinted("bgp.bfd.multiplier"))


def profiles(taking: Taking) -> dict[str, Bfd]:
    """The profiles by name. Where a profile receives at another interval than it sends, that line is not understood."""
    found: dict[str, Bfd] = {}
    usual = default()
    for one in taking.each("bfd", "profile <name>"):
        multiplier = usual.multiplier
        intervals: dict[str, tuple[int, Selected]] = {}
        for line in taking.each("<word> <value>", below=one) if one.below else ():
            value, word = number(line["value"]), line["word"]
            if value and word == "detect-multiplier":
                multiplier = value
            elif value and word in _INTERVALS:
                intervals[word] = value, line
            else:
                taking.leave(line)
        sent, received = (intervals.get(word, (usual.minimum_interval, None)) for word in _INTERVALS)
        if sent[0] != received[0]:
            other = received[1] or sent[1]
            if other is not None:
                taking.leave(other)
        interval = sent[0] if received[1] is not None else received[0]
        found[one["name"]] = Bfd(minimum_interval=interval, multiplier=multiplier)
    return found
