"""Guardrails: counters of the switches while a trial is on hardware, read again and again, each beside what it may rise by."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.errors import InputError, RailweaveError
from railweave.live.check.rises import rises, total, worst
from railweave.live.collect.collect import captured
from railweave.model.state.capture import read_capture
from railweave.model.state.question import asked_about
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.expect import Expected
    from railweave.live.check.rises import Kind, Rise
    from railweave.live.site.site import Site
    from railweave.model.intent.study import Guardrails, StudyFile
    from railweave.model.state.device_state import DeviceState

TITLES: dict[Kind, str] = {
    "drops": "packets of lossless classes dropped",
    "pauses": "PFC frames",
    "errors": "errors of links",
}
"""What guardrails are about."""


class GuardrailError(RailweaveError):
    """A counter rose further than its guardrail; the text has the counter."""


@dataclass(frozen=True)
class Reading:
    """What switches said at a time, and those that did not answer, with the reason."""

    states: Mapping[str, DeviceState]
    silent: Mapping[str, str]


class Counters:
    """The counters of a site's switches, and the guardrails of a study on them."""

    def __init__(self, site: Site, rails: Guardrails) -> None:
        self._site, self._rails = site, rails
        network = site.network
        routes = ControlPlane(site.configs.values(), network.absent).routes()
        self._expected: dict[str, Expected] = {
            name: expected(network, site.configs[name], routes) for name in site.asked if name not in network.absent
        }

    async def read(self) -> Reading:
        """Ask every switch. Nothing is changed on any."""
        chosen = [
            replace(
                one,
                questions=tuple(
                    each for each in one.questions if not each.of_configuration and asked_about(each.name) is None
                ),
            )
            for name, one in self._site.asked.items()
            if name in self._expected
        ]
        with TemporaryDirectory() as place:
            folder = Path(place) / "capture"
            site = self._site
            outcomes = await captured(
                chosen, folder, {}, at_once=site.at_once, attempts=site.attempts, open_by=site.ask_by
            )
            silent = {one.device: one.error or "no answer" for one in outcomes if not one.answered}
            systems = {one.target.name: one.system for one in chosen if one.target.name not in silent}
            states = read_states(read_capture(folder), systems) if systems else {}
        missing = {name: "no answer that is understood" for name in systems if name not in states}
        return Reading(states, {**silent, **missing})

    def rises(self, then: Reading, now: Reading) -> list[Rise]:
        """By how much counters of switches rose that answered both times."""
        return [
            rise
            for name, one in self._expected.items()
            if name in then.states and name in now.states
            for rise in rises(one, then.states[name], now.states[name])
        ]

    def broken(self, then: Reading, now: Reading) -> str:
        """Which guardrail is broken, with the counter that is the evidence; empty where none is. A switch that fell silent breaks them all."""
        if now.silent:
            name, why = next(iter(now.silent.items()))
            return f"{name} does not say its counters any more: {why}"
        found = self.rises(then, now)
        for kind, most in self._limits().items():
            count, evidence = total(found, kind), worst(found, kind)
            if count is not None and evidence is not None and count > most:
                return f"{count:,} {TITLES[kind]}, at most {most:,}: {evidence}"
        return ""

    async def watch(self, then: Reading) -> None:
        """Read on and on. Raises ``GuardrailError`` when a guardrail is broken."""
        while True:
            await asyncio.sleep(self._rails.every)
            if why := self.broken(then, await self.read()):
                raise GuardrailError(why)

    def check(self, file: StudyFile, reading: Reading) -> None:
        """Raise ``InputError`` at the line of the study where a guardrail is on a counter that a switch does not say."""
        at = ("bench", "guardrails")
        if reading.silent:
            name, why = next(iter(reading.silent.items()))
            raise InputError([file.document.problem(at, f"{name} does not say its counters: {why}", "mend that first")])
        own = self.rises(reading, reading)
        for kind in self._limits():
            whole = {one.device for one in own if one.kind == kind}
            known = {one.device for one in own if one.kind == kind and one.count is not None}
            if blind := sorted(whole - known) or ([] if whole else ["no switch"]):
                what = f"{', '.join(blind[:5])} {'says' if not whole else 'do not say'} {TITLES[kind]}: a guardrail on them would watch nothing"
                fix = f"write `{kind}: null` below `guardrails:` to go without"
                raise InputError([file.document.problem((*at, kind), what, fix)])

    def _limits(self) -> dict[Kind, int]:
        rails = self._rails
        found: dict[Kind, int | None] = {"drops": rails.drops, "errors": rails.errors, "pauses": rails.pauses}
        return {kind: most for kind, most in found.items() if most is not None}
