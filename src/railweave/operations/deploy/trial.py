"""Temporary changes of a network, which are always rolled back.

Each device has a rollback timer from its commit on. When the work ends, fails or is interrupted with Ctrl-C, every wave
is rolled back, last wave first. If the process is killed, the timers roll the devices back, and ``deploy resume``
records the rollback in the journal.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import signal
import threading
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from railweave.errors import Argument, InputError, Problem
from railweave.operations.deploy.applying import ApplySettings, interrupted, may_be_applied, rollout_of
from railweave.operations.deploy.recovery import taken_back
from railweave.operations.deploy.rollout import Rollout, StoppedError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from railweave.live.site.site import Site
    from railweave.operations.deploy.journal import Journal
    from railweave.operations.deploy.plan import Plan

T = TypeVar("T")


def with_plan_applied(
    rows: Journal, plan: Plan, site: Site, how: ApplySettings, secrets: Mapping[str, str], work: Callable[[], T]
) -> T:
    """Apply a plan on all its devices, run ``work``, roll the plan back, and return the result of ``work``.

    - ``plan.trial``: the name of the trial. ``site``: the running network with the plan's design.
    - ``how.confirm_within``: must be longer than the whole trial. ``secrets``: the values of secrets by name.

    Raises ``StoppedError`` if a device refuses the change, a check after a wave fails, or the trial takes too long. ``back`` of
    this error is True if everything was rolled back. Raises ``InputError`` if the plan is refused. Errors of ``work`` are
    passed on.
    """
    last = next(iter(rows.revisions()), None)
    if last is not None and last.state == "running":
        raise interrupted(rows, last, Argument("plan"))
    may_be_applied(plan, secrets)
    digest = hashlib.sha256(site.network.to_json()).hexdigest()
    if plan.design != digest:
        raise InputError([Problem(Argument("plan"), "the plan belongs to another design", "make a new plan")])
    revision = rows.begin(plan, f"railweave-{site.network.name}-{{number}}-{plan.digest[:6]}")
    rollout = rollout_of(rows, revision, site, how, secrets)
    began = monotonic()
    try:
        asyncio.run(_in_force(rollout))
        result = work()
        lasted = monotonic() - began
    except BaseException as error:
        why = str(error) or ("Ctrl-C" if isinstance(error, KeyboardInterrupt) else type(error).__name__)
        _end(rows, rollout, why)
        raise
    _end(rows, rollout, "the trial is over")
    if lasted >= how.confirm_within:
        why = f"it took longer than the {how.confirm_within} s after which devices go back by themselves: the rest was not of the trial"
        raise StoppedError(why, len(plan.waves), back=True)
    return result


async def _in_force(rollout: Rollout) -> None:
    """Change and check every wave of ``rollout``, without confirming any. Each step is in the journal. Raises ``StoppedError`` if a wave fails."""
    await rollout.rehearse()
    for number, wave in enumerate(rollout.plan.waves, 1):
        now, then = rollout.texts(number, done=False), rollout.texts(number, done=True)
        await rollout.gate.before(wave.devices, now, then)
        rollout.say(f"wave {number}: {', '.join(wave.devices)}")
        if wrong := await rollout.changed(number, wave):
            raise StoppedError(wrong, number, back=True)


def _end(rows: Journal, rollout: Rollout, why: str) -> None:
    """Roll back the trial ``rollout``, all waves, and write its end to the journal with the reason ``why``.

    Raises ``StoppedError`` if a wave cannot be rolled back; the trial is then still recorded as running.
    """
    number = rollout.revision
    with _uninterrupted(rollout.say):
        try:
            asyncio.run(taken_back(rollout, rows.steps(number), why))
        except BaseException as error:
            rows.end(number, "running", f"{why}; {error}")
            raise
        rows.end(number, "rolled back", f"a trial ({rollout.plan.trial}): {why}")


@contextlib.contextmanager
def _uninterrupted(say: Callable[[str], None]) -> Generator[None]:
    """Ignore Ctrl-C within the context, and report it through ``say``.

    An interrupted rollback would be left to the rollback timers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def later(number: int, _: object) -> None:
        came.append(number)
        say("the trial is being taken back; it ends after that")

    before = signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
