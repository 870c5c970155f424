"""``railweave import``."""

from __future__ import annotations

from pathlib import Path

import typer

from railweave.cli.output import HARDWARE, JSON, QUIET, print_json, telling
from railweave.counting import counted

_MOST_LINES = 20
"""Statements and notes of a kind that are printed; ``--json`` has all."""


def import_(
    folder: Path = typer.Argument(..., help="Folder of configurations saved from switches (DEVICE/configuration.txt)."),
    out: Path = typer.Option(..., "-o", "--out", help="Fabric file to write, with its lock and inventory beside it."),
    device: list[str] = typer.Option(
        [],
        "--device",
        metavar="ROLE=MODEL",
        help="Switch model of a role, where names of ports do not show it: leaf=qfx5240-64od.",
    ),
    hardware: Path | None = HARDWARE,
    force: bool = typer.Option(False, "--force", help="Replace a fabric file, lock and inventory that are there."),
    name: str = typer.Option("", help="Name of the network; the fabric file's where it is left out."),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Make a fabric file of an existing network, and say how much of the network's configuration that file reproduces.

    A fabric file, lock or inventory that is there already is replaced with `--force` alone. Where no design comes out of the file, it is written all the same with the reason, so that you can correct it by hand. Exits 0
    where the file reproduces every statement, 1 where statements are lost or extra, 2 where the folder holds no network.
    """
    from railweave.api import adopt

    if not force:
        _refuse_to_replace(out)
    with telling(quiet=quiet or as_json) as say:
        found = adopt(
            folder,
            name=name or out.stem,
            device=device,
            hardware=hardware,
            draft=out,
            progress=say,
        )
    written = found.write(out)
    if as_json:
        print_json({**found.to_json(), "written": [str(path) for path in written]})
    else:
        _print(found, written)
    if not all(one.whole for one in found.scores):
        raise typer.Exit(1)


def _refuse_to_replace(out: Path) -> None:
    """Raise where a file that import writes is there already: somebody may have corrected it."""
    from railweave.errors import InputError, Option, Problem
    from railweave.model.intent.reading.source import companion

    there = [one for one in (out, companion(out, "lock"), companion(out, "inventory.csv")) if one.exists()]
    if there:
        what = f"{' and '.join(str(one) for one in there)} would be replaced, with what was corrected there"
        raise InputError([Problem(Option("-o"), what, "name another file, or give --force")])


def _print(found: object, written: list[Path]) -> None:
    from railweave.analysis.adopt.adopt import Imported

    assert isinstance(found, Imported)  # noqa: S101 - what the API gives
    for path in written:
        typer.echo(f"wrote {path}")
    width = max(len(one.device) for one in found.scores)
    typer.echo(f"{'switch':{width}}  equal  equivalent  extra  lost")
    for one in found.scores:
        if not one.whole:
            typer.echo(
                f"{one.device:{width}}  {one.equal:5}  {one.equivalent:10}  {len(one.extra):5}  {len(one.lost):4}"
            )
    same = [one for one in found.scores if one.whole]
    totals = found.to_json()
    typer.echo(
        f"{'all':{width}}  {totals['equal']:5}  {totals['equivalent']:10}  {totals['extra']:5}  {totals['lost']:4}"
    )
    if same:
        typer.echo(f"{counted(len(same), 'switch gets', 'switches get')} every statement back, and no other")
    for title, lines in (
        ("not in the file:", found.notes),
        ("statements that are lost, new or in another order:", found.differences()),
    ):
        if lines:
            typer.echo(title)
        for line in lines[:_MOST_LINES]:
            typer.echo(f"  {line}")
        if len(lines) > _MOST_LINES:
            typer.echo(f"  and {len(lines) - _MOST_LINES} more: --json has them all")
