"""Bringing a design onto running devices: plan, apply, and what became of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.saved import captured
from railweave.api.sources import load, path_of, silent
from railweave.catalog import in_force
from railweave.errors import Argument, InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.deploy.device import Device
    from railweave.deploy.journal import Journal, Revision
    from railweave.deploy.plan import Plan
    from railweave.deploy.recovery import Truth
    from railweave.deploy.rollout import Rollout
    from railweave.deploy.site import Site
    from railweave.network.model import Network


def deploy_plan(
    fabric: Path | str,
    capture: Path | str | None = None,
    *,
    live: bool = False,
    lab: bool = False,
    access: Path | str | None = None,
    only: Sequence[str] = (),
    max_unavailable: float = 0.5,
    canary: bool = True,
    device: Sequence[str] = (),
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """What it takes to bring switches to the design of a fabric file, and in which order. Nothing is changed anywhere.

    - ``capture``: configurations saved from switches; such a plan is to be read, not to be applied where secrets were taken out.
    - ``live``: ask every switch for its configuration now. ``lab``: those of the lab of this fabric file. ``access``: see ``collect``.
    - ``only``: these switches alone.
    - ``max_unavailable``: the share of the network (0 to 1) that may be out while a wave is changed.
    - ``canary``: change one device alone first.
    - ``device``, ``hardware``: see ``load``.

    Raises ``InputError`` for wrong input, ``LabError`` where the lab is not up.
    """
    from railweave.deploy.making import make_plan
    from railweave.state.capture import read_capture

    if (capture is not None) + live + lab != 1:
        fix = "give a folder of saved configurations, or --live to ask the switches now, or --lab"
        raise InputError([Problem(Argument("plan"), "there must be one of a capture, --live and --lab", fix)])
    fabric, say = Path(fabric), progress or silent
    network = load(fabric, device=device, hardware=hardware)
    with in_force(network.catalog):
        if capture is not None:
            running = {
                name: _by_file(network.switch(name).nos, texts)
                for name, texts in captured(network, capture).items()
                if texts and name in {one.name for one in network.switches}
            }
            silent_ones = {
                one.name: "the capture has no configuration of it"
                for one in network.switches
                if one.name not in running
            }
            whole, configs = read_capture(Path(capture)).meta.redacted is False, None
        else:
            site = _site(fabric, network, lab=lab, access=access)
            names = [name for name in site.asked if not only or name in only]
            running, silent_ones = site.running(names, lambda one: say(f"{one.device}: {one.status}"))
            whole, configs, network = True, site.configs, site.network
        return make_plan(
            fabric,
            network,
            running,
            silent=silent_ones,
            live=whole,
            only=only,
            most=max_unavailable,
            canary=canary,
            configs=configs,
            progress=say,
        )


def deploy_apply(
    plan: Path | str,
    *,
    lab: bool = False,
    access: Path | str | None = None,
    secrets: Path | str | None = None,
    confirm_within: int = 600,
    settle: float = 60,
    dry_run: bool = False,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Revision | None:
    """Carry out a plan: every device tries its change first, then wave by wave with a way back armed, a check, and a confirmation.

    - ``plan``: the file that ``deploy_plan`` was saved to. ``lab``, ``access``: how its devices are reached.
    - ``secrets``: values of the secrets that it refers to.
    - ``confirm_within``: seconds after which a device goes back by itself, unless the check was good by then.
    - ``settle``: seconds that the network may take after a wave to be as it must be.
    - ``dry_run``: stop after every device has tried its change. Nothing is changed, and there is no revision.

    Raises ``InputError`` for a plan that is refused, ``StoppedError`` where it went no further, ``OutputError`` where somebody else is at work.
    """
    from railweave.deploy.plan import read_plan

    return _carried_out(
        read_plan(Path(plan)),
        lab=lab,
        access=access,
        secrets=secrets,
        confirm_within=confirm_within,
        settle=settle,
        dry_run=dry_run,
        hardware=hardware,
        say=progress or silent,
    )


def deploy_status(
    fabric: Path | str, *, lab: bool = False, access: Path | str | None = None, hardware: Path | str | None = None
) -> tuple[Revision | None, list[Truth]]:
    """The newest revision, and what the devices of its plan turn out to run. Nothing is changed anywhere.

    Raises ``InputError`` as ``load`` does, ``LabError`` where the lab is not up.
    """
    from railweave.deploy import journal
    from railweave.deploy.recovery import truths

    fabric = Path(fabric)
    with journal.opened(fabric) as rows:
        newest = next(iter(rows.revisions()), None)
        if newest is None:
            return None, []
        network = load(fabric, hardware=hardware)
        with in_force(network.catalog):
            site = _site(fabric, network, lab=lab, access=access)
            return newest, asyncio.run(truths(_devices(rows, newest, site), at_once=site.at_once))


def deploy_history(fabric: Path | str) -> list[Revision]:
    """Every revision of a network, the newest first."""
    from railweave.deploy import journal

    with journal.opened(Path(fabric)) as rows:
        return rows.revisions()


def deploy_resume(
    fabric: Path | str,
    *,
    lab: bool = False,
    access: Path | str | None = None,
    settle: float = 60,
    confirm_within: int = 600,
    back: bool = False,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Revision:
    """End an apply that was interrupted: bring its unfinished wave back, and begin with that wave again.

    - ``back``: do not begin again; the waves that were confirmed stay.
    - ``lab``, ``access``, ``settle``, ``confirm_within``: see ``deploy_apply``.

    Raises ``InputError`` where nothing was interrupted, and as ``deploy_apply`` does.
    """
    from railweave.deploy import journal
    from railweave.deploy.recovery import unfinished
    from railweave.deploy.rollout import StoppedError

    fabric, say = Path(fabric), progress or silent
    network = load(fabric, hardware=hardware)
    with journal.at_work(fabric) as rows, in_force(network.catalog):
        newest = next(iter(rows.revisions()), None)
        if newest is None or newest.state != "running":
            fix = "railweave deploy status FABRIC says how things are"
            raise InputError([Problem(Argument("resume"), "no apply was interrupted", fix)])
        site = _site(fabric, network, lab=lab, access=access)
        rollout = _rollout(rows, newest, site, confirm_within, settle, say)
        try:
            asyncio.run(unfinished(rollout, rows.steps(newest.number), again=not back))
        except StoppedError as stopped:
            rows.end(newest.number, "stopped", str(stopped))
            raise
        rows.end(newest.number, "stopped" if back else "done", "brought back after an interruption" if back else "")
        return rows.revision(newest.number)


def deploy_rollback(
    fabric: Path | str,
    revision: int,
    *,
    lab: bool = False,
    access: Path | str | None = None,
    only: Sequence[str] = (),
    max_unavailable: float = 0.5,
    hardware: Path | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """The plan that brings devices back to what they ran before a revision; it is applied as any other.

    - ``only``: these devices alone. Others: see ``deploy_plan``.

    Raises ``InputError`` where there is no such revision, and as ``deploy_plan`` does.
    """
    from railweave.deploy import journal
    from railweave.deploy.making import plan_back

    fabric, say = Path(fabric), progress or silent
    network = load(fabric, hardware=hardware)
    with journal.opened(fabric) as rows, in_force(network.catalog):
        found = rows.revision(revision)
        names = [one.device for one in _plan_of(rows, found).changed.values() if not only or one.device in only]
        before = {name: texts for name in names if (texts := rows.kept(found.number, name, "before"))}
        site = _site(fabric, network, lab=lab, access=access)
        running, silent_ones = site.running(list(before), lambda one: say(f"{one.device}: {one.status}"))
        return plan_back(
            fabric,
            site.network,
            running,
            before,
            silent=silent_ones,
            revision=revision,
            most=max_unavailable,
            configs=site.configs,
        )


def _carried_out(
    plan: Plan,
    *,
    lab: bool,
    access: Path | str | None,
    secrets: Path | str | None,
    confirm_within: int,
    settle: float,
    dry_run: bool,
    hardware: Path | str | None,
    say: Callable[[str], None],
) -> Revision | None:
    from railweave.deploy import journal
    from railweave.deploy.rollout import StoppedError
    from railweave.outputs.secrets_file import read_secrets

    if plan.refused:
        what = f"the plan is refused: {'; '.join(plan.refused[:3])}"
        raise InputError([Problem(Argument("plan"), what, "make another plan")])
    values = read_secrets(path_of(secrets))
    if missing := [name for name in plan.secrets if name not in values]:
        fix = "give --secrets FILE with NAME: value for each"
        raise InputError([Problem(Argument("plan"), f"values are missing for {', '.join(missing)}", fix)])
    fabric = Path(plan.fabric)
    network = load(fabric, hardware=hardware)
    with in_force(network.catalog), journal.at_work(fabric) as rows:
        if (last := next(iter(rows.revisions()), None)) is not None and last.state == "running":
            what = f"revision {last.number} was interrupted"
            fix = "railweave deploy status FABRIC, then deploy resume FABRIC"
            raise InputError([Problem(Argument("plan"), what, fix)])
        site = _site(fabric, network, lab=lab, access=access)
        revision = rows.begin(plan, f"railweave-{network.name}-{{number}}-{plan.digest[:6]}")
        rollout = _rollout(rows, revision, site, confirm_within, settle, say, values)
        try:
            asyncio.run(rollout.rehearse() if dry_run else rollout.run())
        except StoppedError as stopped:
            rows.end(revision.number, "stopped", str(stopped))
            raise
        except InputError as error:
            rows.end(revision.number, "stopped", str(error))
            raise
        rows.end(revision.number, "done", "tried only (--dry-run)" if dry_run else "")
        if lab and not dry_run and not _left(fabric, site):
            site.remember()
        if plan.back_to is not None and not dry_run:
            rows.end(plan.back_to, "rolled back", f"by revision {revision.number}")
        return rows.revision(revision.number)


def _left(fabric: Path, site: Site) -> bool:
    """Whether any switch runs something else than its design."""
    from railweave.deploy.making import make_plan

    running, silent_ones = site.running(list(site.asked), lambda _: None)
    found = make_plan(fabric, site.network, running, silent=silent_ones, live=True, configs=site.configs)
    return bool(found.changed or silent_ones)


def _rollout(
    rows: Journal,
    revision: Revision,
    site: Site,
    confirm_within: int,
    settle: float,
    say: Callable[[str], None],
    secrets: Mapping[str, str] | None = None,
) -> Rollout:
    from railweave.deploy.rollout import Rollout

    plan = _plan_of(rows, revision)
    return Rollout(
        plan,
        _devices(rows, revision, site, secrets or {}),
        rows,
        revision.number,
        confirm_within,
        site.at_once,
        site.check(settle),
        say,
    )


def _plan_of(rows: Journal, revision: Revision) -> Plan:
    from railweave.deploy.plan import plan_of

    return plan_of(json.loads(rows.plan(revision.number)))


def _devices(
    rows: Journal, revision: Revision, site: Site, secrets: Mapping[str, str] | None = None
) -> dict[str, Device]:
    from railweave.deploy.device import Device
    from railweave.deploy.filling import given

    plan = _plan_of(rows, revision)
    return {
        name: Device(
            one,
            given(one, revision.label, secrets or {}, rows.kept(revision.number, name, "before")),
            site.open_to_change,
            site.attempts,
        )
        for name, one in plan.changed.items()
    }


def _by_file(nos: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Saved texts by the renderer's file names."""
    from railweave.systems import system

    changed_by = system(nos).transaction
    files: Mapping[str, str] = changed_by.FILES if changed_by else {}
    names = {path: Path(path).name for path in texts}
    return {
        name if name in files.values() else files.get(Path(path).stem, next(iter(files.values()), name)): texts[path]
        for path, name in names.items()
    }


def _site(fabric: Path, network: Network, *, lab: bool, access: Path | str | None) -> Site:
    from railweave.collect.access_file import read_access
    from railweave.deploy import site

    return site.lab(fabric, network) if lab else site.real(network, read_access(path_of(access)))
