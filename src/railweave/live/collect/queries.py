"""Queries to many devices at once. A failing device does not stop the others, and a device that does not answer is queried again.

A query is one command or request that only reads; in the code, it is a ``Question``. Answers received before a
connection ended are kept, and only the remaining queries are sent again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from railweave.errors import OutputError, RailweaveError
from railweave.live.reach.failure import ReachError, reason
from railweave.live.reach.opening import opened
from railweave.model.state.capture import MOST_OF_DEVICE
from railweave.model.state.question import FROZEN, Protocol, Question, not_running
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from railweave.live.collect.plan import CollectTarget
    from railweave.live.reach.target import Target, Transport

    Open = Callable[[Target, Protocol], Awaitable[Transport]]
    Keep = Callable[[str, Question, str], Awaitable[None] | None]
    """A function that stores an answer, called with device, query and answer. It may raise ``ReachError`` to refuse the answer."""


@dataclass(slots=True)
class Outcome:
    """The result of querying one device.

    ``asked`` is the number of queries, and ``answered`` the number of queries that were answered. ``failed`` has the queries that failed,
    with the reason. ``error`` is the reason why the device was not reached or the connection was lost.
    """

    device: str
    system: str
    address: str
    asked: int
    answered: int = 0
    failed: dict[str, str] = field(default_factory=dict[str, str])
    absent: list[str] = field(default_factory=list[str])
    """The optional queries that the device refused because it lacks the feature. Queries to a stopped daemon are in ``failed`` instead."""
    error: str = ""
    kind: str = ""
    """The kind of the error (``live.reach.failure.Kind``)."""
    seconds: float = 0
    characters: int = 0
    """The length of all answers that are kept."""

    @property
    def status(self) -> str:
        """The status of the device: ``answered`` if it answered all queries, ``partly`` if it answered some, ``failed`` if none."""
        if self.answered and not self.error and not self.failed:
            return "answered"
        return "partly" if self.answered else "failed"


async def ask_all(
    devices: Sequence[CollectTarget],
    keep: Keep,
    *,
    at_once: int,
    attempts: int,
    done: Callable[[Outcome], None],
    open_by: Open = opened,
    complete: Callable[[CollectTarget], Awaitable[None]] | None = None,
) -> list[Outcome]:
    """Query every device, at most ``at_once`` at a time and ``attempts`` times. Return the outcomes in the order of ``devices``.

    ``keep`` is called with device, query and answer. ``complete`` is called when all answers of a device are kept, and may
    refuse them by ``ReachError``. ``done`` is called with the outcome of each device. ``open_by`` opens the connection to a device.
    """
    free = asyncio.Semaphore(at_once)

    async def ask_device(asked: CollectTarget) -> Outcome:
        async with free:
            outcome = await query_device(asked, keep, attempts=attempts, open_by=open_by)
            if complete is not None:
                try:
                    await complete(asked)
                except OutputError:
                    raise
                except Exception as error:  # noqa: BLE001 - whatever one device says, the others are kept
                    outcome.error, outcome.kind, outcome.answered = reason(error), "lost", 0
            done(outcome)
            return outcome

    tasks = [asyncio.create_task(ask_device(asked)) for asked in devices]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


async def query_device(asked: CollectTarget, keep: Keep, *, attempts: int, open_by: Open = opened) -> Outcome:
    """Send all queries to the device ``asked``, and try at most ``attempts`` times. A server that cannot be reached is tried only once.

    ``keep`` is called with device, query and answer. ``open_by`` opens the connection.
    """
    target = asked.target
    outcome = Outcome(target.name, asked.system, target.way.address, len(asked.questions))
    begun = monotonic()
    left = list(asked.questions)
    for attempt in range(attempts):
        if attempt:
            await asyncio.sleep(min(2 ** (attempt - 1), 30))
        outcome.error = outcome.kind = ""
        try:
            left = await _round(asked, left, keep, outcome, open_by)
        except ReachError as error:
            outcome.error, outcome.kind = str(error), error.kind
            left = [
                question
                for question in left
                if question.name not in outcome.failed and question.name not in outcome.absent
            ]
            if error.again and (asked.system or error.kind != "unreachable"):  # servers are often down
                continue
        except RailweaveError:  # of this machine: where answers are kept, or a library
            raise
        except Exception as error:  # noqa: BLE001 - whatever one device says, the others are asked
            outcome.error, outcome.kind = reason(error), "lost"
        break
    outcome.seconds = round(monotonic() - begun, 2)
    return outcome


async def _keep(keep: Keep, outcome: Outcome, question: Question, answer: str) -> None:
    """Store the answer to the query ``question`` with ``keep``, and count it in ``outcome``. An answer that is refused is a failed query."""
    if outcome.characters + len(answer) > MOST_OF_DEVICE:
        outcome.failed[question.name] = f"the answers of the device are longer than {MOST_OF_DEVICE >> 20} MiB"
        return
    try:
        kept = keep(outcome.device, question, answer)
        if kept is not None:
            await kept
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one answer holds, the others are kept
        outcome.failed[question.name] = reason(error)
    else:
        outcome.characters += len(answer)
        outcome.answered += 1


PATIENCE_S, PROBE_S = 10.0, 10.0
"""Two times in seconds: the wait for an answer before the device's daemons are tested, and the wait for each tested daemon."""


async def _answer(transport: Transport, question: Question, probes: Mapping[str, str], frozen: str) -> str:
    """Return the answer to the query ``question`` over the connection ``transport``.

    Raises ``ReachError``; its text names the daemon if a daemon is frozen.

    ``probes`` has, for each daemon that the query needs, a command that tests the daemon; it is empty if the query needs none. ``frozen``
    is the error text if an earlier query found a frozen daemon; then this query fails at once, because it would wait for the daemon too.
    """
    if frozen:
        raise ReachError("refused", frozen)
    asking = asyncio.ensure_future(transport.ask(question))
    try:
        done, _ = await asyncio.wait({asking}, timeout=PATIENCE_S if probes else None)
        if not done and (daemon := await _frozen(transport, probes)):
            raise ReachError("refused", f"{daemon} {FROZEN}")
        return await asking
    finally:
        if not asking.done():
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)


async def _frozen(transport: Transport, probes: Mapping[str, str]) -> str:
    """Return the first daemon that hangs while other daemons answer; empty if no daemon hangs.

    ``probes`` has the command that tests each daemon.

    A daemon that is not running does not count as frozen, because a connection to it is refused at once.
    """

    async def answers(daemon: str, command: str) -> bool:
        try:
            async with asyncio.timeout(PROBE_S):
                await transport.ask(Question(daemon, "text", {"ssh": command}))
        except TimeoutError:
            return False
        except ReachError as error:
            return error.kind != "late"
        return True

    answered = await asyncio.gather(*(answers(daemon, command) for daemon, command in probes.items()))
    mute = [daemon for daemon, in_time in zip(probes, answered, strict=True) if not in_time]
    return mute[0] if mute and len(mute) < len(answered) else ""


async def _round(
    asked: CollectTarget,
    questions: list[Question],
    keep: Keep,
    outcome: Outcome,
    open_by: Open,
) -> list[Question]:
    """Send the remaining ``questions`` to the device ``asked`` once, over a connection opened by ``open_by``.

    Return the questions that were neither answered nor refused.

    Answers go to ``keep``, and counts and errors into ``outcome``. Raise ``ReachError`` if the device is not reached or the connection is
    lost.
    """
    target = asked.target
    reader = system(asked.system).state if asked.system else None
    probes: Mapping[str, str] = reader.PROBES if reader is not None else {}
    words = {command.split()[0] for command in probes.values()}
    frozen = ""
    transports: dict[Protocol, Transport] = {}
    try:
        for question in list(questions):
            protocol: Protocol | None = next(
                (protocol for protocol in target.protocols if protocol in question.asked), None
            )
            if protocol is None:
                outcome.failed[question.name] = f"it cannot be asked by {', '.join(target.protocols)}"
                continue
            if protocol not in transports:
                transports[protocol] = await open_by(target, protocol)
            probed = protocol == "ssh" and question.asked[protocol].removeprefix("sudo ").split()[0] in words
            try:
                answer = await _answer(transports[protocol], question, probes if probed else {}, frozen * probed)
            except ReachError as error:
                frozen = str(error) if str(error).endswith(FROZEN) else frozen
                if error.kind not in {"refused", "not asked"}:
                    raise
                if question.optional and error.kind == "refused" and not not_running(str(error)):
                    outcome.absent.append(question.name)
                else:
                    outcome.failed[question.name] = str(error)
            else:
                await _keep(keep, outcome, question, answer)
            questions.remove(question)
    finally:
        for transport in transports.values():
            await transport.close()
    return questions
