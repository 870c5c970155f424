"""The verbs of the command line, in workflow order."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from railweave import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

# In the list of verbs a line has room for 64 letters: what is longer is cut.
VERBS = {
    "init": "Create a fabric file from an example or a GPU count.",
    "build": "Design a network and write all of its files.",
    "diff": "Show the changes between two fabric files or builds.",
    "paths": "Show the links that each queue pair (RDMA) crosses.",
    "verify": "Find mistakes in a network, or in configuration files.",
    "sim": "Predict the speed of a collective, and its bottleneck.",
    "flows": "Simulate flows on any topology, without a fabric file.",
    "collect": "Save configuration and state of every switch.",
    "check": "Compare the running network with the design.",
    "watch": "Watch a running network: samples, anomalies, metrics.",
    "anomalies": "List, acknowledge and silence what a watch has found.",
    "drift": "Show how saved configurations differ from the design.",
    "import": "Create a fabric file from an existing network.",
    "host": "Set up and check a GPU server: routes, RDMA GIDs, jobs.",
    "schema": "Print the JSON Schema of the fabric file, for editors.",
    "lab": "Run the network as FRR routers on this machine, and test it.",
    "fleet": "Check all GPU servers of a network over SSH.",
    "bench": "Store benchmark results; find out why runs are slow.",
    "tune": "Find better values for the fabric file; print a patch.",
    "deploy": "Apply a design to running switches, and roll back.",
    "export": "Write files for Slurm, Kubernetes, NetBox and other tools.",
    "hardware": "List hardware models, including your own.",
    "inventory": "Fill in the inventory from device reports.",
}
"""The verbs with their short help, in workflow order. Each verb's module has the same name."""
PARSED_ELSEWHERE = {"flows", "host"}
"""The verbs that have their own parser. They receive their arguments unparsed."""


class Verbatim(TyperCommand):
    """A command that leaves its arguments unparsed, including ``--`` and ``--help``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - Click's Context, of which typer's release decides where it is
        """Return the arguments unparsed."""
        ctx.args = args
        return args


class Plain(TyperCommand):
    """A command whose usage names the required options, and whose help shows arguments without the Python types of their values."""

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401 - typer's own
        """Create the command."""
        super().__init__(*args, **named)
        for param in self.params:
            if param.param_type_name == "argument":
                vars(param)["display_type_rich"] = _no_type

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - typer's own
        """Return the usage: the arguments, the required options, and a placeholder for the other options."""
        pieces: list[str] = []
        for param in self.params:
            if param.param_type_name == "argument":
                name = f"{param.metavar}{'' if param.nargs == 1 else '...'}"
                pieces.append(name if param.required else f"[{name}]")
            elif param.required:
                pieces.append(f"{param.opts[-1]} {param.metavar}")
        return [*pieces, "[OPTIONS]"]


def _no_type(ctx: object) -> None:
    """Return no type to show after the name of an argument."""


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


def root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Design the network of a GPU cluster from one file, predict its speed, deploy it, and watch it."""


def app_for(words: Sequence[str]) -> typer.Typer:
    """Return the command line with only the verb that the first word names, or with all verbs if it names none.

    Importing all verbs takes longer than most commands run.
    """
    return _app(words[0] if words and words[0] in VERBS else None)


@cache
def _app(only: str | None) -> typer.Typer:
    app = typer.Typer(
        name="railweave",
        help=root.__doc__,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(root)
    for name in VERBS if only is None else [only]:
        verbatim = name in PARSED_ELSEWHERE
        called = "import_" if name == "import" else name
        module = import_module(f"railweave.cli.{called}")
        if hasattr(module, "app"):
            for registered in module.app.registered_commands:
                registered.cls = Plain
            app.add_typer(module.app, name=name, short_help=VERBS[name])
        else:
            made = app.command(
                name, cls=Verbatim if verbatim else Plain, add_help_option=not verbatim, short_help=VERBS[name]
            )
            made(getattr(module, called))
    return app


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return the command line with all verbs, created on first access to ``app``."""
        if name != "app":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return _app(None)
