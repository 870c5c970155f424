"""``railweave sim``: a collective on a designed network; or raw flows, which the engine's own parser reads."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.output import done, print_json, progress
from railweave.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.simulate.collective import Prediction


def sim(ctx: typer.Context) -> None:
    """Predict what a collective gets on a network; or run raw flows."""
    words = ctx.args
    if words and not words[0].startswith("-"):
        raise typer.Exit(_collective(words))
    from railweave._sim import command

    if set(words) & {"--help", "-h"}:
        _collective(["--help"])  # and then the engine's own, of raw flows
        typer.echo()
        sys.stdout.flush()
    raise typer.Exit(command("railweave sim", words))


def _collective(words: list[str]) -> int:
    from typer.main import get_command

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(collective)
    return get_command(app).main(words, "railweave sim", standalone_mode=False) or 0


def collective(
    fabric: Path = typer.Argument(..., help="Fabric file or build folder."),
    collective: str = typer.Option(
        "all-reduce", help="all-reduce, all-gather, reduce-scatter, broadcast, all-to-all, send-recv."
    ),
    size: str = typer.Option("1G", help="Bytes as nccl-tests has them: 8G, 1M,16M,1G or 8..16G."),
    qps: int | None = typer.Option(None, help="Queue pairs per connection; default: one per path color."),
    nccl: list[str] = typer.Option([], help="A parameter of NCCL, KEY=VALUE; may be repeated."),
    lb: str | None = typer.Option(
        None, help="How switches share: ecmp, dlb, spray, rlb, with knobs (MODE:knob=value,...)."
    ),
    setting: list[str] = typer.Option([], "--set", help="A parameter of the engine, NAME=VALUE; may be repeated."),
    as_json: bool = typer.Option(
        False, "--json", help="Print JSON: an object, or a list where there are several sizes."
    ),
    engine: str = typer.Option("auto", help="packet, flow, or auto: flows above 200 M estimated packet hops."),
    exact: bool = typer.Option(False, "--exact", help="Run packets to the end: do not stop when every round is alike."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> int:
    """Predict what a collective gets on a designed network, packet by packet or as flows, and what binds it."""
    from railweave.api import load
    from railweave.collectives.sizes import sizes
    from railweave.simulate.collective import predict

    settings: dict[str, str] = {}
    for word in setting:
        name, equals, value = word.partition("=")
        if not equals:
            raise InputError([Problem("--set", 0, f"{word!r} is no NAME=VALUE", "write --set host.post-cost=750ns")])
        settings[name] = value
    network = load(fabric)
    found: list[Prediction] = []
    for one in sizes(size):
        told = _told(f"{collective} of {one} bytes", quiet=quiet)
        found.append(
            predict(
                network,
                collective,
                one,
                qps=qps,
                nccl=nccl,
                lb=lb,
                settings=settings,
                engine=engine,
                exact=exact,
                progress=told,
            )
        )
        done(quiet=quiet)
        if not as_json:
            typer.echo(found[-1].to_text())
    if as_json:
        values = [one.to_json() for one in found]
        print_json(values if len(values) > 1 else values[0])
    return 0 if all(one.complete for one in found) else 1


def _told(what: str, *, quiet: bool) -> Callable[[int, int], None]:
    """A function that says how many messages arrived: every half second on a terminal, every ten in a log."""
    say = progress(quiet=quiet)
    every = 0.5 if sys.stderr.isatty() else 10.0
    last = time.monotonic()

    def tell(arrived: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            say(f"{what}: {arrived} of {of} messages")

    return tell
