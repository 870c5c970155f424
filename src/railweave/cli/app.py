"""The verbs, in the order work flows."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand

from railweave import __version__
from railweave.cli import (
    bench,
    build,
    check,
    collect,
    deploy,
    diff,
    drift,
    export,
    fleet,
    flows,
    hardware,
    host,
    import_,
    init,
    inventory,
    lab,
    paths,
    schema,
    sim,
    tune,
    verify,
    watch,
)


class Verbatim(TyperCommand):
    """A command that leaves its words as they are, ``--`` and ``--help`` included."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context, of which typer's release decides where it is
        """Parse nothing."""
        ctx.args = args
        return args


app = typer.Typer(
    name="railweave",
    help="Design the network of a GPU cluster from one file; predict it, bring it up, watch it.",
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
    """Design the network of a GPU cluster from one file; predict it, bring it up, watch it."""


# In the list of verbs a line has room for 64 letters: what is longer is cut.
app.command(short_help="Create a fabric file from an example or a GPU count.")(init.init)
app.command(short_help="Design a network and write all of its files.")(build.build)
app.command(short_help="Show the changes between two fabric files or builds.")(diff.diff)
app.command(short_help="Show the links that each queue pair crosses.")(paths.paths)
app.command(short_help="Find mistakes in a network, or in configuration files.")(verify.verify)
app.command(short_help="Predict the speed of a collective, and its bottleneck.")(sim.sim)
app.command(cls=Verbatim, add_help_option=False, short_help="Simulate flows on a network that is not designed.")(
    flows.flows
)
app.command(short_help="Save configuration and state of every switch.")(collect.collect)
app.command(short_help="Compare the running network with the design.")(check.check)
app.command(short_help="Watch a running network: samples, anomalies, metrics.")(watch.watch)
app.command(short_help="Show how saved configurations differ from the design.")(drift.drift)
app.command("import", short_help="Make a fabric file of an existing network.")(import_.import_)
app.command(cls=Verbatim, add_help_option=False, short_help="On a GPU server: tables, rules, RDMA GIDs, job settings.")(
    host.host
)
app.command(short_help="Print the JSON Schema of the fabric file, for editors.")(schema.schema)
app.add_typer(lab.app, name="lab", short_help="Run the designed network on routing daemons here.")
app.add_typer(fleet.app, name="fleet", short_help="Check the GPU servers of a network, many at once.")
app.add_typer(bench.app, name="bench", short_help="Store benchmark results; find out why runs are slow.")
app.add_typer(tune.app, name="tune", short_help="Find better values and print them as a patch.")
app.add_typer(deploy.app, name="deploy", short_help="Apply a design to running switches, and roll back.")
app.add_typer(export.app, name="export", short_help="Write files for Prometheus, Grafana and gnmic.")
app.add_typer(hardware.app, name="hardware", short_help="List hardware models, including your own.")
app.add_typer(inventory.app, name="inventory", short_help="Fill in the inventory from device reports.")
