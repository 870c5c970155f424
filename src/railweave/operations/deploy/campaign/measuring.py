"""Measurements during a fault: packets between servers, and the drops that switches count."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from railweave.live.collect.collect import captured
from railweave.live.fleet import rdma
from railweave.live.fleet.meshed import rdma_programs
from railweave.live.fleet.probes import plan, probe_file
from railweave.live.fleet.running import Task, probe
from railweave.live.site.protocol import PacketLoss, Packets
from railweave.model.state.capture import read_capture
from railweave.systems.reading import read_states

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from railweave.live.fleet.rdma import Pair, PairOutput
    from railweave.live.site.site import Site

INTERVAL_MS = 10
"""Milliseconds between two writes on a path. It is the resolution of the measured times."""


class NoPackets:
    """A sender that sends nothing, and reports why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def start(self, seconds: float) -> None:
        """Do nothing."""
        del seconds

    def stop(self) -> PacketLoss:
        """Return a result that only has the reason."""
        return PacketLoss(why=self._why)

    def drop(self) -> None:
        """Do nothing."""


class RdmaPings:
    """A sender of ``railweave-rdma-ping`` writes between servers, on every path color, started over SSH."""

    def __init__(self, site: Site, able: Mapping[str, str], pairs: list[Pair]) -> None:
        self._site, self._able, self._pairs = site, able, pairs
        self._said: list[PairOutput] = []
        self._thread: threading.Thread | None = None

    def start(self, seconds: float) -> None:
        """Start to send in a separate thread, for ``seconds`` seconds."""
        count = math.ceil(seconds * 1000 / INTERVAL_MS)

        def work() -> None:
            self._said = rdma.ping(
                self._pairs,
                self._site.servers,
                self._able,
                at_once=len(self._pairs),
                done=lambda _: None,
                count=count,
                interval_ms=INTERVAL_MS,
            )

        self._said = []
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def stop(self) -> PacketLoss:
        """Wait for the last write, and return the total loss."""
        if self._thread is not None:
            self._thread.join()
        return summed(self._said)

    def drop(self) -> None:
        """Do nothing: the thread ends with the program, and its logins with it."""


def summed(replies: Collection[PairOutput]) -> PacketLoss:
    """Return the total packet loss over the output of all servers."""
    sent = lost = worst = 0
    wrong: list[str] = []
    for reply in replies:
        try:
            rows = json.loads(reply.text)
            for row in rows:
                sent, lost = sent + int(row["sent"]), lost + int(row["lost"])
                worst = max(worst, int(row["lost"]))
                wrong += [f"a path of {reply.pair.server} is dead: {row['reason']}"] if row["dead"] else []
        except (ValueError, KeyError, TypeError):
            wrong.append(f"{reply.pair.server} to {reply.pair.peer}: {reply.error or 'it did not print what it does'}")
    if not sent:
        return PacketLoss(why=wrong[0] if wrong else "no server sent anything")
    total = PacketLoss(sent, lost, worst * INTERVAL_MS / 1000)
    return replace(total, why=f"{total.line()}; {wrong[0]}") if wrong else total


def packets(site: Site) -> Packets:
    """Return the sender for a site: the emulation, or pings between servers that have the program, or a sender that reports why it cannot."""
    if site.emulation is not None:
        return site.emulation
    if not site.servers:
        return NoPackets("no server is reached")
    probes = plan(site.network, list(site.servers))
    by_server = {
        name: [planned_probe for planned_probe in probes if planned_probe.server == name] for name in site.servers
    }
    tasks = [Task(site.servers[name], probe_file(given)) for name, given in by_server.items() if given]
    replies = probe(tasks, sudo=False, at_once=site.at_once, done=lambda _: None)
    able = rdma_programs(replies)
    pairs = rdma.pairs(probes, able)
    if not pairs:
        why = next((reply.error for reply in replies if reply.error), "no railweave-rdma-ping on two servers")
        return NoPackets(why)
    return RdmaPings(site, able, pairs)


async def drops(site: Site) -> int | None:
    """Return the total of dropped and erroneous packets over all switch ports; None if no switch reports a count."""
    asked = [device.of_state() for name, device in site.asked.items() if name not in site.network.absent]
    with TemporaryDirectory() as place:
        folder = Path(place) / "capture"
        outcomes = await captured(asked, folder, {}, at_once=site.at_once, attempts=1, open_by=site.ask_by)
        systems = {outcome.device: site.asked[outcome.device].system for outcome in outcomes if outcome.answered}
        states = read_states(read_capture(folder), systems) if systems else {}
    counts = [
        count
        for state in states.values()
        for port in (state.interfaces or {}).values()
        for count in (port.errors.in_discards, port.errors.out_discards, port.errors.in_errors)
        if count is not None
    ]
    return sum(counts) if counts else None


def counted_drops(site: Site) -> int | None:
    """Call ``drops`` from outside an event loop."""
    return asyncio.run(drops(site))
