"""BFD profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.device.timers import Bfd
from railweave.systems.frr.read.defaults import unprinted
from railweave.systems.frr.read.values import number

if TYPE_CHECKING:
    from railweave.config.taking import Taking


def default() -> Bfd:
    """The timers where a profile does not say."""
    return Bfd(minimum_interval=unprinted("bgp.bfd.minimum_interval"), multiplier=unprinted("bgp.bfd.multiplier"))


def profiles(taking: Taking) -> dict[str, Bfd]:
    """The profiles by name. Where a profile receives at another interval than it sends, that line is not understood."""
    found: dict[str, Bfd] = {}
    usual = default()
    for one in taking.each("bfd", "profile <name>"):
        multiplier, sent, received = usual.multiplier, None, None
        for line in taking.each("<word> <value>", below=one) if one.below else ():
            value = number(line["value"])
            match line["word"]:
                case "detect-multiplier" if value:
                    multiplier = value
                case "transmit-interval" if value:
                    sent = value
                case "receive-interval" if value:
                    received = (value, line)
                case _:
                    taking.leave(line)
        interval = sent if sent is not None else usual.minimum_interval
        if received is not None and received[0] != interval:
            taking.leave(received[1])
        found[one["name"]] = Bfd(minimum_interval=interval, multiplier=multiplier)
    return found
