"""Options that several verbs have. Every verb has ``JSON`` and ``QUIET``."""

from __future__ import annotations

import typer

DEVICE = typer.Option(
    [],
    "--device",
    help="Other switches than the file's: ROLE=MODEL:NOS, as leaf=:eos, or :eos for every role; may be repeated.",
)
RUNNING = typer.Option(
    None,
    "--running",
    help="Folder of configurations saved from switches (DEVICE/configuration.txt), in place of the designed ones.",
)
PRICES = typer.Option(
    None,
    "--prices",
    help="File of prices by the names of the bill of materials (docs/hardware.md): what a design costs.",
)
HARDWARE = typer.Option(
    None,
    "--hardware",
    help="Folder of hardware files with models of your own (docs/hardware.md); a fabric file may have them itself.",
)
JSON = typer.Option(False, "--json", help="Print the result as JSON, and an error as JSON too.")
QUIET = typer.Option(False, "--quiet", "-q", help="Do not show progress.")
