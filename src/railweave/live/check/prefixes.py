"""The prefixes that sessions carry: those of whoever sends the wrong number first, then what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.check.living import Seen
from railweave.live.check.sessions import by_daemons, by_end, carried, far_end, rests_on
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.live.check.living import Living, Part
    from railweave.model.device.expected import Session
    from railweave.model.device.model import Session as Peering
    from railweave.model.state.protocols import BgpSession

PREFIXES = Rule(
    "prefixes-differ",
    "error",
    "living",
    "A session carries another number of prefixes than the design has.",
    why="the session is established, so nothing looks wrong, but routes are missing or too many",
    fix="compare the policies of both ends with the designed ones: `railweave drift`",
)


def prefixes(living: Living) -> Iterator[Seen]:
    """Every established session that carries another number of prefixes than the design has.

    A leaf that lacks a prefix is told of by everybody beyond it, too: the devices that receive all they should and send less, and those
    that hold fewer than their neighbor says it sent, come first, then those that receive less from such a device, then the others.
    """
    sent = {
        (one.device, each.session.link)
        for one, state in living.pairs()
        for each, found in _established(one.sessions, by_end(state.bgp or ()))
        if any(family.sent is not None for family in found.families.values())
    }
    wrong = [
        (one.device, each, what, received)
        for one, state in living.pairs()
        for each, found in _established(one.sessions, by_end(state.bgp or ()))
        for what, received in _counts(found, each)
    ]
    short = {device for device, _, _, received in wrong if received}
    as_designed = sent - {(device, each.session.link) for device, each, _, received in wrong if not received}

    def follows(one: tuple[str, Session, str, bool]) -> int:
        device, each, _, received = one
        if received and (each.session.peer, each.session.link) in as_designed:
            return 0
        if received:
            return 2 if each.session.peer in short else 1
        return 2 if device in short else 0

    for device, each, what, received in sorted(wrong, key=follows):
        peering = each.session
        # A session that BFD watches goes down with it.
        watch: frozenset[Part] = by_daemons(peering.peer, device, "bfd") if each.bfd is not None else frozenset()
        yield Seen(
            PREFIXES,
            device,
            f"session with {peering.peer}: {what}",
            each.because,
            peering.interface,
            needs=rests_on(peering, device) | _sources(living, peering.peer if received else device, peering) | watch,
        )


def _established(wanted: list[Session], said: dict[str, BgpSession]) -> Iterator[tuple[Session, BgpSession]]:
    for each in wanted:
        found = said.get(far_end(each.session))
        if found is not None and found.established:
            yield each, found


def _counts(found: BgpSession, expected: Session) -> Iterator[tuple[str, bool]]:
    """What is wrong with the counts of prefixes; and whether it is about those received."""
    families = [one for name, one in found.families.items() if name in {"ipv4", "ipv6"}]
    before_policy = all(one.received is not None for one in families)
    received = [one.received if before_policy else one.accepted for one in families]
    right = expected.received if before_policy else expected.accepted
    color = f" of path color {expected.color}" if expected.color else ""
    if received and None not in received and (count := sum(one or 0 for one in received)) != right:
        yield f"{count} prefixes received{color}, the design has {right}", True
    sent = [one.sent for one in families]
    wanted = {expected.sent, expected.sent + expected.echoed}  # FRR sends a neighbor's own prefixes back to it
    if sent and None not in sent and (count := sum(one or 0 for one in sent)) not in wanted:
        yield f"{count} prefixes sent{color}, the design has {expected.sent}", False


def _sources(living: Living, sender: str, peering: Peering) -> frozenset[Part]:
    """What the prefixes that a device sends rest on: itself, and its other sessions with the devices at their ends."""
    others = living.expected.get(sender)
    found: set[Part] = {("device", sender), ("gateways", sender), carried(peering)}
    for one in others.sessions if others else ():
        peer = one.session.peer
        found |= {carried(one.session), ("device", peer), ("gateways", peer), ("link", one.session.link)}
    return frozenset(found)
