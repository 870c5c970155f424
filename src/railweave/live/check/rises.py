"""How far the counters of a switch rose between two readings: what its lossless classes dropped, PFC frames, ECN marks, errors of links.

``counters`` judges such rises; this only counts them, for whoever has a limit of his own. None is a counter that the switch does not have, or that fell
meanwhile: it was cleared, or the switch restarted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.live.check.interfaces import of_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Port, Queues
    from railweave.model.state.device_state import DeviceState

Kind = Literal["drops", "pauses", "marks", "errors"]
"""Packets that lossless classes dropped; PFC frames; packets that were marked with ECN; damaged frames, codewords and resource errors."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A counter of a port. ``what`` names it for people; ``count`` is None where it is not known by how much it rose."""

    device: str
    port: str
    kind: Kind
    what: str
    count: int | None

    def __str__(self) -> str:
        return f"{self.device} {self.port}: {self.what}{'' if self.count is None else f' rose by {self.count:,}'}"


def rises(one: Expected, then: DeviceState, now: DeviceState) -> Iterator[Rise]:
    """Every counter of a switch's ports and lossless queues, zero or not."""
    queues = {each.port: each for each in one.queues}
    for port in one.ports:
        yield from _errors(one.device, port.name, then, now)
        if port.name in queues:
            yield from _lossless(one.device, queues[port.name], then, now)
            yield from _pauses(one.device, port, queues[port.name], then, now)


def total(found: Iterable[Rise], kind: Kind) -> int | None:
    """The sum of all counters of a kind; None where none of them is known."""
    known = [one.count for one in found if one.kind == kind and one.count is not None]
    return sum(known) if known else None


def worst(found: Iterable[Rise], kind: Kind) -> Rise | None:
    """The counter of a kind that rose most; None where none rose."""
    risen = [one for one in found if one.kind == kind and one.count]
    return max(risen, key=lambda one: one.count or 0, default=None)


def _rise(then: int | None, now: int | None) -> int | None:
    return None if then is None or now is None or now < then else now - then


def _errors(device: str, port: str, then: DeviceState, now: DeviceState) -> Iterator[Rise]:
    was, has = (of_port(one.interfaces or {}, port) for one in (then, now))
    if was is None or has is None:
        return
    # Some systems count CRC errors among all that arrived damaged, and not by themselves.
    crc = has.errors.in_crc is not None
    damaged = (was.errors.in_crc, has.errors.in_crc) if crc else (was.errors.in_errors, has.errors.in_errors)
    yield Rise(device, port, "errors", "CRC errors" if crc else "input errors", _rise(*damaged))
    codewords = _rise(was.fec.uncorrected, has.fec.uncorrected)
    yield Rise(device, port, "errors", "FEC codewords that were not corrected", codewords)
    yield Rise(device, port, "errors", "resource errors", _rise(was.errors.in_resource, has.errors.in_resource))


def _lossless(device: str, wanted: Queues, then: DeviceState, now: DeviceState) -> Iterator[Rise]:
    was, has = (of_port(one.queues or {}, wanted.port) for one in (then, now))
    for number, priority in wanted.lossless.items():
        old, new = (one.egress.get(number) if one else None for one in (was, has))
        dropped = _rise(old.dropped, new.dropped) if old and new else None
        marked = _rise(old.ecn_marked, new.ecn_marked) if old and new else None
        yield Rise(device, wanted.port, "drops", f"packets dropped by queue {number}", dropped)
        yield Rise(device, wanted.port, "marks", f"packets marked by queue {number}", marked)
        before, after = (one.ingress.get(priority) if one else None for one in (was, has))
        lost = _rise(before.dropped, after.dropped) if before and after else None
        yield Rise(device, wanted.port, "drops", f"packets of priority {priority} dropped on input", lost)


def _pauses(device: str, port: Port, wanted: Queues, then: DeviceState, now: DeviceState) -> Iterator[Rise]:
    """Frames that the switch sent, and those that a server sent: so each frame counts once, at the switch that knows of it."""
    was, has = (of_port(one.pfc or {}, port.name) or {} for one in (then, now))
    for priority in wanted.lossless.values():
        old, new = was.get(priority), has.get(priority)
        sent = _rise(old.sent, new.sent) if old and new else None
        yield Rise(device, port.name, "pauses", f"PFC frames of priority {priority} sent", sent)
        if port.kind == "server":
            got = _rise(old.received, new.received) if old and new else None
            yield Rise(device, port.name, "pauses", f"PFC frames of priority {priority} from the server", got)
