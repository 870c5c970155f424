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
JSON = typer.Option(False, "--json", help="Print the result as JSON, and an error as JSON too.")
QUIET = typer.Option(False, "--quiet", "-q", help="Do not show progress.")
