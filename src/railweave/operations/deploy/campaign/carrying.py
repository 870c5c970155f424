"""Execution of a campaign's turns: inject faults with a rollback timer on each switch, measure packets and drops, restore, and check.

Each turn is recorded as a revision in the journal. Its configuration changes are committed but never confirmed. If the program ends
early for any reason, the timer on the switch reverts these changes. ``deploy status`` then shows an interrupted
revision, and ``deploy resume`` reverts the changes at once.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import FileLine, InputError, Option, Problem
from railweave.live.fleet import rdma
from railweave.live.fleet.meshed import rdma_programs
from railweave.live.fleet.probes import plan, probe_file
from railweave.live.fleet.running import Task, probe
from railweave.live.reach.failure import ReachError, reason
from railweave.live.site.protocol import PacketLoss, Packets
from railweave.model.catalog import in_force
from railweave.operations.deploy import applying, journal
from railweave.operations.deploy.gate import Check
from railweave.operations.deploy.recovery import states
from railweave.operations.deploy.rollout import StoppedError
from railweave.pages.table import Table, columns
from railweave.reading import file_text, parse_json
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from railweave.design.fault_targets import FaultTarget
    from railweave.live.fleet.rdma import Pair, PairOutput
    from railweave.live.site.site import Site
    from railweave.operations.deploy.campaign.plan import Campaign, PlannedTurn
    from railweave.operations.deploy.device import Device
    from railweave.operations.deploy.journal import Journal, Revision
    from railweave.operations.deploy.planning import RunningFabric
    from railweave.systems.outage import Outage
    from railweave.systems.transaction import Session


BEFORE_S = 1.0
"""The duration in seconds of sending test packets before faults are injected."""


@dataclass(frozen=True)
class Limits:
    """The limits of a campaign, in seconds.

    - ``restore_within``: the time after the planned end of a turn (faults injected together) at which a switch removes the
      faults by itself.
    - ``settle``: the time in which the network may converge.
    """

    restore_within: int = 120
    settle: float = 120


@dataclass
class Result:
    """The result of a turn: faults that are injected together.

    - ``planned``: the turn as planned. ``seen``: the test packets sent and lost.
    - ``back_s``: the seconds until the checks gave the same results as before the turn; None if they did not.
    - ``drops``: the packets that switches counted as dropped; None if unknown.
    - ``wrong``: the differences from the state before the turn that remained.
    - ``note``: a sentence about sessions that the emulation had to repair; empty if there were none.
    """

    planned: PlannedTurn
    seen: PacketLoss = field(default_factory=PacketLoss)
    drops: int | None = None
    back_s: float | None = None
    wrong: tuple[str, ...] = ()
    note: str = ""

    @property
    def good(self) -> bool:
        """True if the network returned to its earlier state."""
        return self.back_s is not None and not self.wrong

    def to_json(self) -> dict[str, Any]:
        """Return the result of the turn as the JSON object that ``deploy campaign`` prints."""
        return {
            **{key: value for key, value in self.planned.body().items() if key != "changes"},
            "predicted": vars(self.planned.predicted),
            "measured": vars(self.seen) | {"drops": self.drops},
            "back_s": self.back_s,
            "wrong": list(self.wrong),
            "note": self.note,
        }


def run_campaign(fabric: RunningFabric, campaign: Campaign, limits: Limits) -> list[Result]:
    """Carry out a campaign, turn by turn (faults injected together). The campaign ends if the network has not recovered after a turn.

    ``limits`` has the time limits. Raises ``InputError`` if the campaign is refused, ``StoppedError`` if a switch could not be
    restored, and ``OutputError`` if another operator is at work.
    """
    if campaign.refused:
        message = f"the campaign is refused: {'; '.join(campaign.refused[:3])}"
        raise InputError([Problem(Option("campaign"), message, "fix this, or name what may be lost with --force")])
    network = fabric.network()
    results: list[Result] = []
    with in_force(network.catalog), journal.at_work(fabric.path) as rows, ExitStack() as stack:
        last = next(iter(rows.revisions()), None)
        if last is not None and last.state == "running":
            raise applying.interrupted(rows, last, Option("campaign"))
        site = fabric.site_of(network)
        running, _ = site.running(list(site.asked), lambda _: None)
        if site.emulation is not None:
            stack.callback(site.emulation.close)
        sent = packets(site)
        for turn in campaign.turns:
            results.append(carried_out(rows, turn, site, running, sent, limits, fabric.say))
            fabric.say(f"{turn.turn.name}: {results[-1].seen.line()}")
            if not results[-1].good:
                fabric.say(f"{turn.turn.name}: the network is not as before: {'; '.join(results[-1].wrong[:3])}")
                break
    return results


def carried_out(
    rows: Journal,
    planned: PlannedTurn,
    site: Site,
    running: Mapping[str, Mapping[str, str]],
    sent: Packets,
    limits: Limits,
    say: Callable[[str], None],
) -> Result:
    """Run the turn ``planned`` (faults injected together) and return its result: inject its faults, wait, restore, and check.

    - ``running``: the configuration texts of every switch, by switch and file.
    - ``sent``: the sender of test packets. ``limits``: the time limits.

    In an emulated network, the emulation starts the faults that are commands, and ends them when everything is
    restored. Raises ``StoppedError`` if something could not be restored, and any error that interrupts the turn.
    """
    turn, names = planned.turn, _near(site, planned)
    revision = rows.begin(planned.plan, applying.FAULT_LABEL.format(number="{number}", digest=planned.plan.digest[:6]))
    devices = applying.devices(rows, revision, site, {})
    check = Check(site, limits.settle)
    texts = {name: running[name] for name in names if name in running}
    asyncio.run(check.before(names, texts, texts))
    counted = counted_drops(site)
    result = Result(planned)
    undo: list[Callable[[], None]] = []
    began = False
    sent.start(BEFORE_S + turn.seconds + limits.settle / 2)
    try:
        time.sleep(BEFORE_S)
        say(f"breaking: {turn.name}")
        began = True
        within = int(turn.seconds + limits.restore_within)
        asyncio.run(_break(rows, revision.number, devices, within))
        asyncio.run(_shut(site, planned.ports, revision.label, within))
        for target in turn.commands:
            if site.emulation is not None:
                undo.append(site.emulation.broken(target))
            else:
                asyncio.run(_command(site, target))
        time.sleep(turn.seconds)
    except BaseException as error:
        rows.note(revision.number, f"interrupted: {type(error).__name__}: {error}")
        try:
            why = str(error) or type(error).__name__
            _restored(rows, revision, devices, site, planned, undo, began=began, why=why)
        finally:
            sent.drop()
        raise
    say(f"restoring: {turn.name}")
    _restored(rows, revision, devices, site, planned, undo, began=True, why=f"campaign: {turn.name}")
    ended = time.monotonic()
    result.note = site.emulation.released(limits.settle) if site.emulation is not None else ""
    result.wrong = tuple(_looked(check, names, texts))
    result.back_s = None if result.wrong else time.monotonic() - ended
    result.seen = sent.stop()
    after = counted_drops(site)
    result.drops = None if counted is None or after is None else max(after - counted, 0)
    return result


def _near(site: Site, planned: PlannedTurn) -> list[str]:
    """Return the switches on which the turn ``planned`` (faults injected together) acts, and their neighbors by cable."""
    nearby = dict.fromkeys(planned.touched)
    for name in planned.touched:
        nearby |= dict.fromkeys(
            end for cable in site.network.cables_of(name) for end in (cable.a.device, cable.b.device)
        )
    return [switch for switch in nearby if switch in site.asked and switch not in site.network.absent]


def _looked(check: Check, names: list[str], texts: Mapping[str, Mapping[str, str]]) -> list[str]:
    return asyncio.run(check.after(names, texts, texts))


async def _break(rows: Journal, number: int, devices: Mapping[str, Device], within: int) -> None:
    """Test the change on every switch, then commit it on all of them. ``within`` is the duration of the rollback timer in seconds."""

    async def tried(name: str, device: Device) -> Device:
        running = await device.running()
        rows.keep(number, name, "before", running)
        ready = device.from_now(running)
        await ready.rehearse()
        return ready

    async def committed(name: str, device: Device) -> None:
        with rows.step(number, 1, name, "commit"):
            await device.commit(within)

    ready = await asyncio.gather(*(tried(name, device) for name, device in devices.items()))
    await asyncio.gather(*(committed(name, device) for name, device in zip(devices, ready, strict=True)))


async def _shut(site: Site, ports: Mapping[str, tuple[str, ...]], label: str, within: int) -> None:
    """Shut ports with a command of the operating system. After ``within`` seconds, each device opens them again by itself.

    ``ports`` has the names of the ports by switch. ``label`` is the name of the outage on the device, which ``_opened`` uses to end it.
    """

    async def shut_ports(name: str, device_ports: tuple[str, ...]) -> None:
        outage, session = await _outage(site, name)
        try:
            await outage.shut(session, label, device_ports, within)
        finally:
            await session.close()

    await asyncio.gather(*(shut_ports(name, device_ports) for name, device_ports in ports.items()))


async def _opened(site: Site, ports: Mapping[str, tuple[str, ...]], label: str) -> list[str]:
    """Open the ports that ``_shut`` shut under ``label``. Return a line with the reason for each port that could not be opened."""

    async def open_ports(name: str) -> str:
        try:
            outage, session = await _outage(site, name)
            try:
                await outage.open(session, label)
            finally:
                await session.close()
        except Exception as error:  # noqa: BLE001 - whatever one device answers, the ports of the others are opened
            return f"{name}: {reason(error)}"
        return ""

    return [failure for failure in await asyncio.gather(*map(open_ports, ports)) if failure]


async def _outage(site: Site, device: str) -> tuple[Outage, Session]:
    """Return (module with the outage commands of a device's operating system, session that may change the device)."""
    nos = system(site.configs[device].nos)
    outage, transaction = nos.outage, nos.transaction
    assert outage is not None  # noqa: S101 - refused before
    assert transaction is not None  # noqa: S101
    return outage, await site.open_to_change(device, transaction.PROTOCOL)


async def _command(site: Site, target: FaultTarget) -> None:
    """Carry out the fault ``target``, which is a command: restart a device, or end a process on it."""
    outage, session = await _outage(site, target.fault.device or "")
    try:
        if target.fault.kind == "daemon-kill":
            await outage.end(session, target.fault.daemon or "")
        else:
            await outage.reboot(session)
    except ReachError:
        if target.fault.kind == "daemon-kill":
            raise  # a device that restarts may well not answer
    finally:
        await session.close()


def _restored(
    rows: Journal,
    revision: Revision,
    devices: Mapping[str, Device],
    site: Site,
    planned: PlannedTurn,
    undo: list[Callable[[], None]],
    *,
    began: bool,
    why: str,
) -> None:
    """End all faults of the turn ``planned`` and restore the devices, then record the end of the revision in the journal.

    - ``undo``: functions that end faults of the emulation.
    - ``began``: True if any device was changed. ``why``: the reason to record.

    Raises ``StoppedError`` if a switch is left to its own timer.
    """
    for restore in undo:
        restore()
    number = revision.number
    failed = asyncio.run(_back(rows, number, devices)) if began else []
    failed += asyncio.run(_opened(site, planned.ports, revision.label)) if began else []
    if failed:
        text = f"not restored: {'; '.join(failed)}; each switch does so itself when its timer ends, and `deploy resume` at once"
        rows.end(number, "running", text)
        raise StoppedError(text, 1, back=False)
    rows.end(number, "stopped", why)


async def _back(rows: Journal, number: int, devices: Mapping[str, Device]) -> list[str]:
    """Restore each switch, whether or not its change was committed. Return a line with the reason for each switch that could not be restored."""

    async def bring_back(name: str, device: Device) -> str:
        before = rows.kept(number, name, "before")
        if not before:
            return ""  # it was not begun
        try:
            with rows.step(number, 1, name, "revert"):
                await device.from_now(before).go_back()
        except Exception as error:  # noqa: BLE001 - whatever one device answers, the others are restored
            return f"{name}: {reason(error)}"
        return ""

    return [
        failure
        for failure in await asyncio.gather(*(bring_back(name, device) for name, device in devices.items()))
        if failure
    ]


def lab_results(path: Path | str | None) -> list[dict[str, Any]]:
    """Return the results of ``lab fault --json`` or of ``deploy campaign --rehearse --json`` from a file with this output.

    Return an empty list if ``path`` is None. Raises ``InputError`` if the file cannot be read or contains no such
    results.
    """
    if path is None:
        return []
    try:
        document = parse_json(file_text(Path(path)))
        return list(document["faults"] if "faults" in document else document["lab"])
    except (OSError, ValueError, KeyError, TypeError):
        fix = "give what `railweave lab fault --scenario FILE --json` printed"
        raise InputError([Problem(FileLine(str(path)), "there are no measured faults in it", fix)]) from None


INTERVAL_MS = 10
"""The milliseconds between two RDMA writes on a path. This is the resolution of the measured times."""


class NoPackets:
    """A sender that sends nothing, for sites where no packets can be measured. Its result contains the reason."""

    def __init__(self, why: str) -> None:
        self._why = why

    def start(self, seconds: float) -> None:
        """Do nothing. ``seconds`` is ignored."""
        del seconds

    def stop(self) -> PacketLoss:
        """Return a packet loss without numbers that has only the reason why nothing was sent."""
        return PacketLoss(why=self._why)

    def drop(self) -> None:
        """Do nothing, because there is no sender to abandon."""


class RdmaPings:
    """A sender of test packets between servers: it runs ``railweave-rdma-ping`` over SSH, on every path color."""

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
        """Wait for the last RDMA write, and return the total packet loss."""
        if self._thread is not None:
            self._thread.join()
        return summed(self._said)

    def drop(self) -> None:
        """Do nothing. The thread and its logins end with the program."""


def summed(replies: Collection[PairOutput]) -> PacketLoss:
    """Return the total packet loss, from what ``railweave-rdma-ping`` printed on each server."""
    sent = lost = worst = 0
    wrong: list[str] = []
    for reply in replies:
        try:
            rows = parse_json(reply.text)
            for row in rows:
                sent, lost = sent + int(row["sent"]), lost + int(row["lost"])
                worst = max(worst, int(row["lost"]))
                wrong += [f"a path of {reply.pair.server} is dead: {row['reason']}"] if row["dead"] else []
        except (ValueError, KeyError, TypeError, OverflowError):
            wrong.append(f"{reply.pair.server} to {reply.pair.peer}: {reply.error or 'it did not print what it does'}")
    if not sent:
        return PacketLoss(why=wrong[0] if wrong else "no server sent packets")
    total = PacketLoss(sent, lost, worst * INTERVAL_MS / 1000)
    return replace(total, why=f"{total.line()}; {wrong[0]}") if wrong else total


def packets(site: Site) -> Packets:
    """Return the sender of test packets for a network.

    The sender is the emulation, or RDMA pings between servers that have the program ``railweave-rdma-ping``. If neither
    exists, the sender sends nothing and reports the reason.
    """
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


def counted_drops(site: Site) -> int | None:
    """Return the number of dropped and damaged packets over all switch ports so far; None if no switch reports a count."""
    names = [name for name in site.asked if name not in site.network.absent]
    device_states, _ = asyncio.run(states(site, names))
    counts = [
        count
        for state in device_states.values()
        for port in (state.interfaces or {}).values()
        for count in (port.errors.in_discards, port.errors.out_discards, port.errors.in_errors)
        if count is not None
    ]
    return sum(counts) if counts else None


TURN_COLUMNS = columns("broken", "predicted", "lab", "measured", "whole again")


def turn_table(results: Sequence[Result], lab: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table with a row for each turn (faults injected together).

    ``lab`` has the results of ``lab fault`` for the same faults, in the same order.
    """
    rows = [
        (
            result.planned.turn.name,
            result.planned.predicted.line(),
            _lab(lab[place]) if place < len(lab) else "-",
            result.seen.line() + ("" if result.drops is None else f"; switches dropped {result.drops:,}"),
            "; ".join(
                filter(
                    None,
                    ["; ".join(result.wrong[:2]) if result.back_s is None else f"{result.back_s:.0f} s", result.note],
                )
            ),
        )
        for place, result in enumerate(results)
    ]
    return Table(TURN_COLUMNS, rows)


def _lab(measurement: Mapping[str, Any]) -> str:
    """Return a table cell with a measurement of ``lab fault``, such as ``2 of 900 lost, 0.03 s to switch; 96 of 96 kept a path``."""
    switch = measurement.get("switch_s")
    time = "it did not switch" if switch is None else f"{switch:.2f} s to switch"
    return f"{measurement['lost']:,} of {measurement['sent']:,} lost, {time}; {measurement['kept']:,} of {measurement['asked']:,} kept a path"
