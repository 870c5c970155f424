"""Output of ``railweave deploy``."""

from __future__ import annotations

import json
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import print_json
from railweave.errors import InputError, Option, Problem
from railweave.pages.table import Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.deploy.acknowledging import ComparedDevice
    from railweave.operations.deploy.journal import Revision
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.recovery import DeviceCondition


HOW_TO_END = (
    "it was interrupted: `deploy resume` rolls its last wave back and continues; `deploy resume --back` only rolls it back",
    "the upgrade was interrupted: `deploy resume` reads the state of its switches and continues; `deploy resume --back` ends the unfinished wave and stops",
)
"""The next steps after an interrupted apply and after an interrupted upgrade."""


def planned(plan: Plan, output: Path, *, lab: bool, access: Path | str | None, as_json: bool) -> None:
    """Write a plan to the file ``output``, and print the plan with the command that applies it. Exits 1 if the plan is refused."""
    from railweave.writing import write_file

    idle = bool(plan.devices) and not (plan.changed or plan.drain or plan.upgrade or plan.replacement or plan.refused)
    if idle and not plan.live:
        _nothing(plan, output, as_json=as_json)
        return
    write_file(output, json.dumps(plan.to_json(), indent=1) + "\n", private=True)
    if as_json:
        print_json(plan.to_json())
    else:
        for line in plan.lines():
            typer.echo(line)
        if (plan.changed or plan.drain or plan.replacement or (plan.upgrade and plan.waves)) and not plan.refused:
            typer.echo(f"apply it: {_apply(plan, output, lab=lab, access=access)}")
    if plan.refused:
        raise typer.Exit(1)


def _nothing(plan: Plan, output: Path, *, as_json: bool) -> None:
    """Report that a capture shows no change to make. No plan is written, because a plan made from a capture cannot be applied."""
    if as_json:
        print_json(plan.to_json())
        return
    for plan_line in plan.lines()[:-1]:  # without the digest
        typer.echo(plan_line)
    typer.echo(f"no plan is written to {os.fspath(output)}")


def _apply(plan: Plan, output: Path, *, lab: bool, access: Path | str | None) -> str:
    """Return the command that applies a plan, with the access options that the plan was made with."""
    words = ["railweave", "deploy", "apply", os.fspath(output)]
    words += ["--lab"] if lab else []
    words += ["--access", os.fspath(access)] if access is not None else []
    words += ["--secrets", "FILE"] if plan.secrets else []
    return shlex.join([*words, "--digest", plan.digest])


def confirmed(path: Path | str, digest: str, *, agreed: bool, as_json: bool) -> None:
    """Check by digest that the operator has read a plan, and prompt for the digest if it is missing.

    ``path`` is the plan file, ``agreed`` the value of --yes: if True, no digest is needed. Raises ``InputError`` if the
    digest is missing or wrong, or if the plan is refused.
    """
    from railweave.api.deploying import deploy_read

    plan = deploy_read(path)
    if agreed:
        return
    if not digest and as_json:
        fix = "give the digest that the plan shows, or --yes"
        raise InputError([Problem(Option("--digest"), f"{path} is applied only after its digest is confirmed", fix)])
    if not digest:
        for plan_line in plan.lines():
            typer.echo(plan_line)
        digest = typer.prompt("type the digest to apply this plan", default="", show_default=False)
    if digest != plan.digest:
        raise InputError(
            [Problem(Option("--digest"), f"the digest of {path} is {plan.digest}", "read the plan, and give that")]
        )


def show_revision(revision: Revision, *, as_json: bool) -> None:
    """Print the result of a ``deploy_apply``."""
    if as_json:
        print_json(vars(revision))
    else:
        typer.echo(line(revision))


def when(seconds: float) -> str:
    """Return a time in seconds since 1970 as text in the local time zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")


def revision_table(revisions: Sequence[Revision]) -> Table:
    """Return the table of revisions, the newest first."""
    heads = (
        Column("revision", "number", "number"),
        Column("state"),
        Column("began", "when"),
        Column("by", key="who"),
        Column("plan", "mono", "digest"),
        Column("back to before", "number", "back_to"),
        Column("why"),
    )
    rows = [
        (
            revision.number,
            Cell(revision.state, _state(revision)),
            Cell(revision.began, when(revision.began)),
            revision.who,
            revision.digest,
            revision.back_to,
            revision.why,
        )
        for revision in revisions
    ]
    return Table(heads, rows)


def device_table(devices: Sequence[DeviceCondition]) -> Table:
    """Return the table of devices with their states."""
    heads = (Column("device"), Column("state"))
    return Table(heads, [(device.device, Cell(device.state, device.sentence())) for device in devices])


def compared_table(devices: Sequence[ComparedDevice]) -> Table:
    """Return a table with the number of matching, differing and unseen parts of each device, by subject."""
    heads = (
        Column("device"),
        Column("compared"),
        *(Column(title, "number") for title in ("right", "wrong", "not seen")),
    )
    return Table(heads, [(device.device, *row.values()) for device in devices for row in device.subjects])


def _state(revision: Revision) -> str:
    return "interrupted" if revision.state == "running" else revision.state


def line(revision: Revision) -> str:
    """Return a revision as one line of text."""
    back = f", back to before revision {revision.back_to}" if revision.back_to else ""
    return f"revision {revision.number}: {_state(revision)}, {when(revision.began)}, {revision.who}, plan {revision.digest}{back}{f': {revision.why}' if revision.why else ''}"
