"""The verbs, in the order work flows."""

from __future__ import annotations

import typer

from railweave import __version__
from railweave.cli import (
    build,
    check,
    collect,
    diff,
    drift,
    hardware,
    host,
    import_,
    init,
    inventory,
    lab,
    paths,
    raw_flows,
    schema,
    sim,
    verify,
)
from railweave.cli.parsing import Sectioned, Verbatim

app = typer.Typer(
    name="railweave",
    help="Design, render and prove RoCEv2 GPU cluster networks from one fabric file.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Design, render and prove RoCEv2 GPU cluster networks from one fabric file."""


app.command()(init.init)
app.command()(build.build)
app.command()(diff.diff)
app.command()(paths.paths)
app.command()(verify.verify)
app.command()(collect.collect)
app.command()(check.check)
app.command()(drift.drift)
app.command("import")(import_.import_)
app.command()(schema.schema)
app.command(cls=Sectioned, epilog=raw_flows.MORE)(sim.sim)
app.command(cls=Verbatim, add_help_option=False)(host.host)
app.add_typer(lab.app, name="lab")
app.add_typer(hardware.app, name="hardware")
app.add_typer(inventory.app, name="inventory")
