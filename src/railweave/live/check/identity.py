"""Checks that devices answer and match the design, and checks of their clocks and alarms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from railweave.live.check.living import Deviation, NetworkStates, Part
from railweave.live.check.ports import short
from railweave.model.findings.registry import Rule
from railweave.model.state.question import not_running

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.state.device_state import Note

NOT_ASKED = "it was not asked"
"""The reason given for a device that the capture left out."""

SILENT = Rule(
    "device-silent",
    "error",
    "living",
    "A device of the design did not answer.",
    why="its state is not known, and links and sessions with it are probably down",
    fix="look at its power and its management port; give it `status: planned` or `failed` in the fabric file while it is not there",
    sometimes="info",
)
UNREAD = Rule(
    "answer-not-read",
    "info",
    "living",
    "A part of a device's answer was not understood.",
    why="this part was not compared with the design",
    fix="compare it by hand; report the answer if its form is that of a supported release",
    sometimes="error",
)
UNANSWERED = Rule(
    "question-not-answered",
    "warning",
    "living",
    "A device did not answer a question that it was asked.",
    why="the part of the design that the answer would show was not compared",
    fix="collect again (`railweave collect`), and check whether the login is allowed to run the command",
)
NAME = Rule(
    "host-name-differs",
    "error",
    "living",
    "A device has another host name than the design gives to its address.",
    why="it may be another device than the one that was meant",
    fix="compare serial numbers, then load the configuration that belongs to it",
)
MODEL = Rule(
    "model-differs",
    "error",
    "living",
    "A device is of another model than the design has.",
    why="port names, buffers and limits follow from the model: the designed configuration does not fit another one",
    fix="swap the device, or set its model under `overrides` and build again",
)
SERIAL = Rule(
    "serial-differs",
    "warning",
    "living",
    "A device has another serial number than the inventory has.",
    why="two devices may have been swapped, or one was replaced",
    fix="compare with its label; `railweave inventory fill` writes the new number",
)
RELEASE = Rule(
    "release-differs",
    "warning",
    "living",
    "A device runs another release than the design names.",
    why="which features the design may use follows from the release",
    fix="install the release of the design, or write the one that runs into the fabric file (`release`) and build again",
)
CLOCK = Rule(
    "clock-not-synchronized",
    "warning",
    "living",
    "A device's clock follows none of its time servers.",
    why="logs of several devices cannot be compared, and certificates may seem out of date",
    fix="look at the way to the time servers, and whether control-plane protection lets them answer",
)
ALARM = Rule(
    "alarm",
    "warning",
    "living",
    "A device has an alarm.",
    why="the device itself says that something is wrong",
    fix="follow the device's own manual for this alarm",
    sometimes="info",
)


def identity(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about devices that did not answer, and about the identity, clock and alarms that each device reports."""
    yield from _silent(living)
    for server, host in living.servers():
        if host.host_name and short(host.host_name) != short(server.device):
            yield Deviation(NAME, server.device, f"calls itself {host.host_name}", server.because)
        yield from _asked(living, server.device, host.notes)
    for expected, state in living.pairs():
        wanted, reported = expected.identity, state.identity
        if reported is None:
            continue
        keys = wanted.because
        if reported.host_name and short(reported.host_name) != short(expected.device):
            yield Deviation(NAME, expected.device, f"calls itself {reported.host_name}", keys)
        if reported.model and not _same_model(reported.model, wanted.model):
            yield Deviation(MODEL, expected.device, f"is a {reported.model}, the design has a {wanted.model}", keys)
        if reported.serial and wanted.serial and reported.serial != wanted.serial:
            description = f"has serial number {reported.serial}, the inventory has {wanted.serial}"
            yield Deviation(SERIAL, expected.device, description, keys)
        if reported.version and not same_release(reported.version, wanted.release):
            yield Deviation(
                RELEASE, expected.device, f"runs {reported.version}, the design names {wanted.release}", keys
            )
    for expected, state in living.pairs():
        if expected.clock and state.clock and state.clock.synchronized is False:
            servers = ", ".join(expected.clock.servers)
            yield Deviation(CLOCK, expected.device, f"its clock follows none of {servers}", expected.clock.because)
        for alarm in state.alarms or ():
            severity = "info" if alarm.severity in {"minor", "info", "informational"} else None
            yield Deviation(
                ALARM,
                expected.device,
                f"alarm{f' ({alarm.severity})' if alarm.severity else ''}: {alarm.text}",
                severity=severity,
            )
        yield from _asked(living, expected.device, state.notes, None if state.answered else "error")


def _silent(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for every device that should have answered but did not, or that was not asked."""
    because = {device: expected.identity.because for device, expected in living.expected.items()}
    because |= {device: server.because for device, server in living.servers_expected.items()}
    for device, keys in because.items():
        if device not in living.states and device not in living.hosts:
            why = living.silent.get(device, "")
            if why == NOT_ASKED:
                yield Deviation(SILENT, device, f"nothing is known of {device}: {why}", keys, severity="info")
                continue
            description = f"{device} did not answer{f': {why}' if why else ''}"
            broken: frozenset[Part] = frozenset([("device", device)])
            yield Deviation(SILENT, device, description, keys, breaks=broken)


def _asked(
    living: NetworkStates, device: str, notes: Iterable[Note], severity: Literal["error"] | None = None
) -> Iterator[Deviation]:
    """Yield a finding for each question that a device did not answer, and for each part of an answer that could not be read.

    ``severity`` replaces the usual severity of unread parts: it is "error" if no part of the answers was read.
    """
    for question, why in living.unanswered.get(device, {}).items():
        needs: frozenset[Part] = frozenset([("daemon", f"{device} {daemon}")] if (daemon := not_running(why)) else ())
        yield Deviation(UNANSWERED, device, f"{question}: {why}", needs=needs)
    for note in notes:
        where = ", ".join(filter(None, (note.question, note.place)))
        broken: frozenset[Part] = frozenset([("answers", device)] if severity else ())
        description = f"{where}: {note.what}" if where else note.what
        yield Deviation(UNREAD, device, description, breaks=broken, severity=severity)


def _same_model(reported: str, designed: str) -> bool:
    """Return whether two model names match if case and punctuation are ignored: ``DCS-7060X6-64PE`` matches ``7060x6-64pe``."""
    plain, wanted = (re.sub(r"[^a-z0-9]", "", word.lower()) for word in (reported, designed))
    return wanted in plain or plain in wanted


def same_release(reported: str, designed: str) -> bool:
    """Return whether a reported release is the designed one. Devices report more detail: 25.4R1 matches 25.4R1.12-EVO, not 25.4R10."""
    return not designed or re.search(rf"(?<![0-9A-Za-z]){re.escape(designed)}(?![0-9])", reported) is not None
