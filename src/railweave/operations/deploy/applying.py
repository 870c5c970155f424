"""Application of plans: run a plan on a network as a revision in the journal, resume it, fill in secrets, and change the operator's files."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import Argument, FileLine, InputError, Option, OutputError, Problem
from railweave.model.catalog import in_force
from railweave.operations.deploy.conflicts import described, since
from railweave.operations.deploy.device import Device
from railweave.operations.deploy.drain import plan_drain, plan_undrain
from railweave.operations.deploy.gate import Check
from railweave.operations.deploy.journal import opened
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.plan import text_of
from railweave.operations.deploy.recovery import releases, truths, unfinished
from railweave.operations.deploy.rollout import Rollout, StoppedError
from railweave.operations.deploy.traffic import IdleLimit, still
from railweave.operations.deploy.upgrading import UpgradeTimeouts, Upgrading
from railweave.outputs.folder.rendering import with_secrets
from railweave.outputs.folder.sources import designed_with
from railweave.reading import parse_json
from railweave.systems.transaction import ChangeRequest
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence

    from railweave.live.site.site import Site
    from railweave.model.config.tree import Command
    from railweave.model.network.model import Network
    from railweave.operations.deploy.changes import DeviceChange
    from railweave.operations.deploy.drain import DrainWait
    from railweave.operations.deploy.journal import Journal, Revision
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.planning import RunningFabric
    from railweave.operations.deploy.recovery import DeviceCondition


@dataclass(frozen=True)
class FileChange:
    """A file with its text before and after a change. An empty text means that the file does not exist.

    ``called`` is the name of the file in messages.
    """

    path: Path
    before: str
    after: str
    called: str


def change_of(plan: Plan) -> FileChange | None:
    """Return the change of the operator's file that a plan makes: the fabric file for a drain, the inventory for a replacement.

    Return None if the plan changes no such file.
    """
    if plan.drain is not None:
        return FileChange(Path(plan.fabric), plan.drain.before, plan.drain.after, "the fabric file")
    if plan.replacement is not None:
        replacement = plan.replacement
        return FileChange(Path(replacement.file), replacement.before, replacement.after, "the inventory")
    return None


def check(change: FileChange, later: str = "") -> None:
    """Raise ``InputError`` if the present text of the file is neither the ``before`` nor the ``after`` of ``change``.

    The error ends with ``later``, a clause about the revisions applied since the plan was made.
    """
    if text_of(change.path) not in {change.before, change.after}:
        description = f"{change.called} has changed since the plan was made{later}"
        raise InputError([Problem(FileLine(str(change.path)), description, "make a new plan")])


def network_of_plan(fabric: RunningFabric, plan: Plan | None) -> Network:
    """Return the network after a plan: the network of the fabric file, with the plan's changes to the fabric file or the inventory.

    Raises ``InputError`` if a file has changed since the plan was made, or if the network cannot be designed.
    """
    if plan is None or (change := change_of(plan)) is None:
        return fabric.network()
    with opened(fabric.path) as rows:
        check(change, since(rows, plan))
    if plan.drain is not None:
        return fabric.designed_as(plan.drain.after)
    return designed_with(fabric.path, change.after, fabric.hardware)


def write(change: FileChange) -> None:
    """Write the text ``after`` to the file. Raises ``InputError`` if the file has changed, and ``OutputError`` if it cannot be written."""
    _written(change, change.after)


def put_back(change: FileChange) -> None:
    """Write the text ``before`` to the file. Raises ``InputError`` if the file has changed, and ``OutputError`` if it cannot be written."""
    _written(change, change.before)


def _written(change: FileChange, text: str) -> None:
    check(change)
    if text_of(change.path) == text:
        return
    if text:
        write_file(change.path, text)
    else:
        change.path.unlink()


def change_request(
    change: DeviceChange, label: str, secrets: Mapping[str, str], before: Mapping[str, str]
) -> ChangeRequest:
    """Return the change to send to a device, with secrets filled in.

    ``label`` is the name of the change on the device. ``before`` has the present texts of the device, by file. Raises
    ``InputError`` for a secret whose value cannot be written in the device's configuration.
    """

    def filled(file: str, text: str) -> str:
        return with_secrets(f"devices/{change.device}/{file}", text, secrets, change.system)

    def command(file: str, statement: Command) -> Command:
        return (
            filled(file, statement)
            if isinstance(statement, str)
            else parse_json(filled("patch.json", json.dumps(statement)))
        )

    return ChangeRequest(
        label,
        {file: [command(file, line) for line in lines] for file, lines in change.commands.items()},
        {file: filled(file, text) for file, text in change.target.items()},
        before,
    )


DRY_RUN_LABEL = "railweave-_dry-run-{number}-{digest}"
"""The label of a dry run's revision. By this label, ``resume`` recognizes a dry run that was killed, and does not apply its plan."""
FAULT_LABEL = "railweave-_fault-{number}-{digest}"
"""The label of the revision for one turn of a campaign: the faults that are injected together.

A network's name begins with a letter, so no other revision has such a label.
"""


@dataclass(frozen=True)
class ApplySettings:
    """The settings for applying a plan.

    - ``confirm_within``: seconds that a device waits for its confirmation before it reverts.
    - ``settle``: seconds that the network may take to converge.
    - ``say``: a function that receives progress lines.
    - ``wait_for``: a function that is called before each wave that affects servers (``Wave.servers``).
    - ``idle_limit``: the traffic limit below which a port counts as idle after a drain.
    - ``upgrade_timeouts``: the time limits of an upgrade.
    - ``shift``: a function that drains switches for an upgrade, or returns them to service if its second argument is
      True.
    """

    confirm_within: int
    settle: float
    say: Callable[[str], None]
    wait_for: DrainWait | None = None
    idle_limit: IdleLimit | None = None
    upgrade_timeouts: UpgradeTimeouts | None = None
    shift: Callable[[Sequence[str], bool], None] | None = None


def check_not_refused(plan: Plan) -> None:
    """Raise ``InputError`` if a plan is refused. This function is called before the operator is asked for the digest."""
    if plan.refused:
        description = f"the plan is refused: {'; '.join(plan.refused[:3])}"
        raise InputError([Problem(Argument("plan"), description, "fix this, and make a new plan")])


def may_be_applied(plan: Plan, secrets: Mapping[str, str]) -> None:
    """Raise ``InputError`` if a plan is refused, or if values of its secrets are missing."""
    check_not_refused(plan)
    if missing := [name for name in plan.secrets if name not in secrets]:
        fix = "give --secrets FILE with NAME: value for each"
        raise InputError([Problem(Argument("plan"), f"values are missing for {', '.join(missing)}", fix)])


def interrupted(rows: Journal, revision: Revision, place: Argument | Option) -> InputError:
    """Return the error for a command that cannot run because a revision was interrupted.

    ``place`` is the argument or option that the error names.
    """
    fix = "see its state with railweave deploy status FABRIC, and end it with railweave deploy resume FABRIC"
    return InputError([Problem(place, f"revision {revision.number} was interrupted: {described(rows, revision)}", fix)])


def apply(
    rows: Journal,
    plan: Plan,
    network: Network,
    site: Site,
    how: ApplySettings,
    secrets: Mapping[str, str],
    *,
    dry_run: bool,
    part_of: int | None = None,
) -> Revision:
    """Apply a plan, and return its revision (its record in the journal ``rows``). If ``dry_run`` is True, only test the changes on the devices.

    - ``how``: the settings, such as timers. ``secrets``: the values of secrets, by name.
    - ``part_of``: the number of the upgrade revision that this plan belongs to.

    Raises ``InputError`` if the plan does not fit the present state, and ``StoppedError`` if a device refuses its change or a
    wave fails.
    """
    for last in rows.under_way():
        if last.number != part_of:
            raise interrupted(rows, last, Argument("plan"))
    if plan.upgrade is not None and dry_run:
        description = "an upgrade has no dry run"
        raise InputError([Problem(Option("--dry-run"), description, "read the commands for each switch in the plan")])
    if plan.back_to is None and hashlib.sha256(site.network.to_json()).hexdigest() != plan.design:
        description = f"the fabric file has changed since the plan was made{since(rows, plan)}"
        raise InputError([Problem(Argument("plan"), description, "make a new plan")])
    label = DRY_RUN_LABEL if dry_run else f"railweave-{network.name}-{{number}}-{{digest}}"
    revision = rows.begin(plan, label.format(number="{number}", digest=plan.digest[:6]))
    if plan.upgrade is not None:
        return _upgraded(rows, revision, site, how)
    rollout = rollout_of(rows, revision, site, how, secrets)
    _ended(rows, revision.number, rollout.rehearse() if dry_run else _carried_out(rollout, rows, site, how))
    rows.end(revision.number, "done", "tried only (--dry-run)" if dry_run else "")
    if not dry_run:
        if plan.back_to is not None:
            rows.end(plan.back_to, "rolled back", f"by revision {revision.number}")
        if site.remember is not None and not _left(Path(plan.fabric), site):
            site.remember()
    return rows.revision(revision.number)


def resume(rows: Journal, site: Site, how: ApplySettings, secrets: Mapping[str, str], *, back: bool) -> Revision:
    """Complete the newest interrupted revision and return it. If ``back`` is True, only end its unfinished wave (``recovery.unfinished``).

    A wave is the devices that are changed together. ``how`` has the settings, such as timers, and ``secrets`` the values of secrets by
    name. If the revision is a turn of a campaign or a trial, it is always rolled back. Raises ``InputError`` if no revision was
    interrupted, and ``StoppedError`` if a wave fails.
    """
    newest = next(iter(rows.under_way()), None)
    if newest is None:
        fix = "see the state of all revisions with railweave deploy status FABRIC"
        raise InputError([Problem(Argument("resume"), "no apply was interrupted", fix)])
    dry_run = newest.label.startswith(DRY_RUN_LABEL.partition("{")[0])
    if newest.label.startswith(FAULT_LABEL.partition("{")[0]):
        back = True  # what a campaign broke is never broken again, nor kept
    elif dry_run:
        back = True  # a dry run that was killed is never completed by a real apply
    else:
        may_be_applied(rows.plan(newest.number), secrets)
    if rows.plan(newest.number).upgrade is not None:
        return _upgraded(rows, newest, site, how, finish=back)
    rollout = rollout_of(rows, newest, site, how, secrets)
    trial = rollout.plan.trial
    _ended(rows, newest.number, _resumed(rollout, rows, site, how, again=not (back or trial)))
    if trial:
        rows.end(newest.number, "rolled back", f"a trial ({trial}), taken back after an interruption")
    else:
        why = "tried only (--dry-run), ended after an interruption" if dry_run else "ended after an interruption"
        rows.end(newest.number, "stopped" if back else "done", why if back else "")
    return rows.revision(newest.number)


def resume_all(
    fabric: RunningFabric, rows: Journal, how: ApplySettings, secrets: Mapping[str, str], *, back: bool
) -> Revision:
    """Complete the interrupted revision, then the upgrade to which it belongs. Return the last of these revisions.

    If ``back`` is True, only end the unfinished wave (devices changed together) of each. ``how`` and ``secrets`` are explained at
    ``resume``. Raises ``InputError`` if no revision was interrupted, and ``StoppedError`` if a wave fails.
    """
    while True:
        newest = next(iter(rows.under_way()), None)
        network = network_of_plan(fabric, None if newest is None else rows.plan(newest.number))
        with in_force(network.catalog):
            shifts = with_shifts(fabric, rows, how, secrets)
            ended = resume(rows, fabric.site_of(network), shifts, secrets, back=back)
        if not rows.under_way():  # otherwise it was a part of an upgrade
            return ended


def with_shifts(fabric: RunningFabric, rows: Journal, how: ApplySettings, secrets: Mapping[str, str]) -> ApplySettings:
    """Return the settings ``how`` with a function ``shift`` that drains switches during an upgrade, or returns them to service.

    Each call of ``shift`` makes a plan and applies it as a revision. It does nothing if the switches are already in the requested
    state. It raises ``InputError`` if the drain is refused, and ``StoppedError`` if a wave of the drain fails. ``secrets`` has the
    values of secrets by name.
    """

    def shift(names: Sequence[str], back: bool) -> None:
        number = next(row.number for row in rows.under_way() if rows.plan(row.number).upgrade is not None)
        drained = fabric.network().drained
        wanted = [name for name in names if name in drained]
        upgrade = rows.plan(number).upgrade
        plan = (
            plan_undrain(fabric, wanted or names, again=True)
            if back
            else plan_drain(fabric, names, force=bool(upgrade and upgrade.force))
        )
        if back and not wanted and not plan.changed and not plan.refused:
            return
        may_be_applied(plan, secrets)
        network = network_of_plan(fabric, plan)
        with in_force(network.catalog):
            site = fabric.site_of(network)
            apply(rows, plan, network, site, replace(how, wait_for=None), secrets, dry_run=False, part_of=number)

    return replace(how, shift=shift)


def conditions(rows: Journal, revision: Revision, site: Site) -> list[DeviceCondition]:
    """Return the actual state of the devices of a revision; for an upgrade, the release that each switch runs."""
    if (upgrade := rows.plan(revision.number).upgrade) is not None:
        return list(asyncio.run(releases(site, upgrade)))
    return asyncio.run(truths(devices(rows, revision, site, {}), at_once=site.at_once))


def devices(rows: Journal, revision: Revision, site: Site, secrets: Mapping[str, str]) -> dict[str, Device]:
    """Return the devices that a revision changes, each with its change, in which the values of ``secrets`` are filled in.

    If the journal has a device's earlier configuration, the result includes it.
    """
    return {
        name: Device(
            change,
            change_request(change, revision.label, secrets, rows.kept(revision.number, name, "before")),
            site.open_to_change,
            site.attempts,
        )
        for name, change in rows.plan(revision.number).changed.items()
    }


def _upgraded(rows: Journal, revision: Revision, site: Site, how: ApplySettings, *, finish: bool = False) -> Revision:
    """Carry out the upgrade of ``revision``, or the batches that remain of an interrupted upgrade. Return the ended revision.

    A batch is the switches that are upgraded together. If ``finish`` is True, complete only the batch in progress.
    """
    number = revision.number
    assert how.shift is not None  # noqa: S101 - whoever applies plans says how a switch is drained

    def say(line: str) -> None:
        rows.note(number, line)
        how.say(line)

    work = Upgrading(
        rows.plan(number), rows, number, site, how.upgrade_timeouts or UpgradeTimeouts(), how.shift, say, how.wait_for
    )
    if not finish:
        with _ending(rows, number):
            work.run()
        rows.end(number, "done")
        return rows.revision(number)
    try:
        work.run(finish=True)
    except StoppedError as stopped:
        rows.note(number, str(stopped))
        rows.end(number, "stopped", str(stopped))
        raise
    rows.end(number, "stopped", "ended after an interruption")
    return rows.revision(number)


def rollout_of(
    rows: Journal, revision: Revision, site: Site, how: ApplySettings, secrets: Mapping[str, str]
) -> Rollout:
    """Return the rollout (the change of devices in waves) that applies a revision or rolls it back.

    ``how`` has the settings, such as timers, and ``secrets`` the values of secrets by name.
    """

    def say(line: str) -> None:
        rows.note(revision.number, line)
        how.say(line)

    return Rollout(
        rows.plan(revision.number),
        devices(rows, revision, site, secrets),
        rows,
        revision.number,
        how.confirm_within,
        site.at_once,
        Check(site, how.settle),
        say,
        how.wait_for,
    )


async def _carried_out(rollout: Rollout, rows: Journal, site: Site, how: ApplySettings) -> None:
    """Carry out the plan of ``rollout``: change the operator's file, run the waves, and wait until drained ports are idle.

    The file is the fabric file (its ``status:``) or the inventory. Raises ``StoppedError`` if a wave fails or a port does
    not become idle.
    """
    change = change_of(rollout.plan)
    if change is None:
        await rollout.run()
        return
    await rollout.rehearse()
    write(change)
    try:
        await rollout.waves()
    except StoppedError as stopped:
        _put_back(rollout, rows, back=stopped.back)
        raise
    await _wait_until_idle(rollout, site, how)


async def _resumed(rollout: Rollout, rows: Journal, site: Site, how: ApplySettings, *, again: bool) -> None:
    """Complete the interrupted plan of ``rollout`` if ``again`` is True, or else roll it back. Raises ``StoppedError`` if that fails."""
    change = change_of(rollout.plan)
    if change is not None and again:
        write(change)
    try:
        await unfinished(rollout, rows.steps(rollout.revision), again=again)
    except StoppedError as stopped:
        _put_back(rollout, rows, back=stopped.back)
        raise
    if again:
        await _wait_until_idle(rollout, site, how)
    else:
        _put_back(rollout, rows, back=True)


def _put_back(rollout: Rollout, rows: Journal, *, back: bool) -> None:
    """Restore the file that a plan changes (the fabric file or the inventory), if the plan's rollout was rolled back.

    ``back`` is True after a rollback. The file is not restored if a device has confirmed its change.
    """
    change = change_of(rollout.plan)
    kept = any(step.verb == "confirm" for step in rows.steps(rollout.revision))
    if change is not None and back and not kept:
        put_back(change)


async def _wait_until_idle(rollout: Rollout, site: Site, how: ApplySettings) -> None:
    """Wait until the ports that the plan of ``rollout`` drains are idle. Raises ``StoppedError`` if some ports are not; the drain stays in force."""
    drain = rollout.plan.drain
    if drain is None or drain.back or not drain.ports:
        return
    idle_limit = how.idle_limit or IdleLimit()
    busy = await still(site, drain.ports, idle_limit, rollout.say)
    if busy:
        why = f"routing has left {', '.join(drain.names)}, and traffic has not: {'; '.join(busy[:5])}"
        raise StoppedError(
            f"{why}; the drain stays in force: repeat `deploy drain` to measure again, or end it with `deploy undrain`",
            len(rollout.plan.waves),
            back=True,
        )
    rollout.say(f"{', '.join(drain.names)}: less than {idle_limit.below_mbps:g} Mb/s on every port")


def _ended(rows: Journal, number: int, work: Coroutine[Any, Any, None]) -> None:
    """Run ``work``, the coroutine of revision ``number``. If it stops with an error, record the reason in the journal."""
    with _ending(rows, number):
        asyncio.run(work)


@contextmanager
def _ending(rows: Journal, number: int) -> Generator[None]:
    """Record in the journal why a revision stopped in this context, and whether it must be resumed.

    If the journal cannot be written either, raise ``OutputError`` with both reasons. The revision must then be
    resumed.
    """
    try:
        yield
    except (StoppedError, InputError) as stopped:
        try:
            if isinstance(stopped, StoppedError):
                rows.note(number, str(stopped))
            rows.end(
                number, "running" if isinstance(stopped, StoppedError) and not stopped.back else "stopped", str(stopped)
            )
        except sqlite3.Error as error:
            path = rows.folder / "journal.db"
            why = (
                f"{stopped}; {path} cannot be written: {error}. Make room, then `railweave deploy resume FABRIC --back`"
            )
            raise OutputError(why) from None
        raise


def _left(fabric: Path, site: Site) -> bool:
    """Return True if any switch runs a configuration that differs from its design, or did not answer."""
    running, silent = site.running(list(site.asked), lambda _: None)
    plan = make_plan(fabric, site.network, Answers(running, silent=silent), configs=site.configs)
    return bool(plan.changed or silent)
