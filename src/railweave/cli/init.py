"""``railweave init``."""

from __future__ import annotations

from pathlib import Path

import typer


def init(
    folder: Path = typer.Argument(..., help="Folder to make, or an empty one."),
    example: str = typer.Option(..., help="Example to start from; `list` names them."),
) -> None:
    """Start a fabric file from an example."""
    from railweave.examples import copy_example, example_names

    if example == "list":
        for name in example_names():
            typer.echo(name)
        return
    for path in copy_example(example, folder):
        typer.echo(f"wrote {path}")
    typer.echo(f"next: railweave build {folder / example}.yaml -o {folder / 'out'}")
