"""``railweave import``: create a fabric file from an existing network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.api.verbs import HARDWARE
from railweave.cli.command import command
from railweave.cli.output import print_json, telling
from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.analysis.adopt.adopt import ImportedNetwork

_MOST_LINES = 20
"""The maximum number of statements, and of notes, that are printed of each kind. ``--json`` prints all of them."""


@dataclass(frozen=True, kw_only=True)
class Import:
    """Options of ``railweave import``."""

    folder: Annotated[
        Path,
        Argument(
            "Folder of configurations saved from switches, one subfolder per switch: DEVICE/configuration.txt (docs/collect.md)."
        ),
    ]
    out: Annotated[
        Path,
        Opt(
            "Fabric file to write (NAME.yaml). NAME.lock, which records assigned numbers, and NAME.inventory.csv are written next to it.",
            letter="-o",
            metavar="FILE",
        ),
    ]
    device: Annotated[
        Sequence[str],
        Opt(
            "Switch model of a role (leaf, spine, super-spine or dci), for example leaf=qfx5240-64od. Needed if the model cannot be derived from the port names. May be repeated.",
            metavar="ROLE=MODEL",
        ),
    ] = ()
    hardware: Annotated[Path | None, HARDWARE] = None
    force: Annotated[
        bool, Opt("Replace an existing fabric file, lock file and inventory. Default: refuse to replace them.")
    ] = False
    name: Annotated[
        str, Opt("Name of the network in the fabric file; default: the name of the file without .yaml.", metavar="NAME")
    ] = ""


@command(Import)
def import_(options: Import, *, as_json: bool, quiet: bool) -> None:
    """Create a fabric file from the configurations of an existing network, and report how completely the fabric file reproduces them.

    If no network can be designed from the fabric file, the file is written nevertheless. It then contains the reason, so
    that you can correct it by hand.

    Exits 0 if a build from the fabric file has the same configuration statements as the switches. Exits 1 if statements
    are lost, added or in a different order. Exits 2 if the folder contains no network.
    """
    from railweave.api import adopt

    with telling(quiet=quiet or as_json) as say:
        imported = adopt(
            options.folder,
            name=options.name or options.out.stem,
            device=options.device,
            hardware=options.hardware,
            draft=options.out,
            force=options.force,
            progress=say,
        )
    written = imported.write(options.out)
    if as_json:
        print_json({**imported.to_json(), "written": [str(path) for path in written]})
    else:
        _print(imported, written)
    if not all(score.whole for score in imported.scores):
        raise typer.Exit(1)


def _print(imported: ImportedNetwork, written: list[Path]) -> None:
    for path in written:
        typer.echo(f"wrote {path}")
    for line in imported.table.to_text():
        typer.echo(line)
    same = [score for score in imported.scores if score.whole]
    if same:
        typer.echo(f"{counted(len(same), 'switch gets', 'switches get')} every statement back, and no other")
    for title, lines in (
        ("not in the file:", imported.notes),
        ("statements that are lost, new or in another order:", imported.differences()),
    ):
        if lines:
            typer.echo(title)
        for line in lines[:_MOST_LINES]:
            typer.echo(f"  {line}")
        if len(lines) > _MOST_LINES:
            typer.echo(f"  and {len(lines) - _MOST_LINES} more: --json has them all")
