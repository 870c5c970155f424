"""``railweave sim``: a collective on a designed network; or raw flows, which the engine's own parser reads."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from railweave.cli.options import DEVICE, RUNNING
from railweave.cli.output import done, print_json, progress
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.network.model import Network
    from railweave.simulation.job_run import JobPrediction


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
    collective: str | None = typer.Option(
        None, help="all-reduce (the default), all-gather, reduce-scatter, broadcast, all-to-all, send-recv."
    ),
    size: str | None = typer.Option(None, help="Bytes as nccl-tests has them: 8G, 1M,16M,1G or 8..16G; default 1G."),
    qps: int | None = typer.Option(None, help="Queue pairs per connection; default: one per path color."),
    nccl: list[str] = typer.Option([], help="A parameter of NCCL, KEY=VALUE; may be repeated."),
    lb: str | None = typer.Option(
        None, help="How switches share: ecmp, dlb, spray, rlb, with knobs (MODE:knob=value,...)."
    ),
    setting: list[str] = typer.Option([], "--set", help="A parameter of the engine, NAME=VALUE; may be repeated."),
    background: str | None = typer.Option(
        None, help="Traffic of others: share=30%,ports=*:gpu0_eth,qps=4,packet=9000 (ports joined by +)."
    ),
    scenario: Path | None = typer.Option(None, help="A scenario file: traffic, background, overrides, faults."),
    on: str | None = typer.Option(
        None, "--fabric", help="The fabric it runs on, where several connect GPUs; else that of the GPUs' own NICs."
    ),
    tenant: str | None = typer.Option(None, help="Whose job it is, where the network has several tenants."),
    fib: Path | None = typer.Option(None, help="Forwarding tables as exported, instead of those that are computed."),
    running: Path | None = RUNNING,
    device: list[str] = DEVICE,
    compare: str | None = typer.Option(
        None, help="NAME=a,b,c: run all of these side by side (lb, qps, size, NCCL_…, host.…); say which wins, and why."
    ),
    html: Path | None = typer.Option(None, "--html", "-o", help="Draw the result as one HTML page, into this file."),
    as_json: bool = typer.Option(
        False, "--json", help="Print JSON: an object, or a list where there are several sizes."
    ),
    engine: str = typer.Option("auto", help="packet, flow, or auto: flows above 200 M estimated packet hops."),
    exact: bool = typer.Option(False, "--exact", help="Run packets to the end: do not stop when every round is alike."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress."),
) -> int:
    """Predict what a collective gets on a designed network, packet by packet or as flows, and what binds it."""
    from railweave.api import load
    from railweave.api import running as saved
    from railweave.garbage import uncollected
    from railweave.simulation.job_fabric import job_network
    from railweave.simulation.settings import by_name

    given: dict[str, Any] = {
        "collective": collective,
        "size": size,
        "qps": qps,
        "nccl": by_name(nccl, "--nccl"),
        "lb": lb,
        "settings": by_name(setting, "--set"),
        "background": background,
        "scenario": scenario,
        "fib": fib,
        "tenant": tenant,
        "engine": engine,
        "exact": exact,
    }
    with uncollected():
        whole = load(fabric, device=device)
        network = job_network(whole, on)
        given["configs"] = saved(whole, running) if running is not None else None
        return _answered(network, given, compare, html, as_json=as_json, quiet=quiet)


def _answered(
    network: Network, given: dict[str, Any], compare: str | None, html: Path | None, *, as_json: bool, quiet: bool
) -> int:
    """Run what is asked, print and draw it; the exit code."""
    from railweave.simulation.compare import comparison, variants
    from railweave.simulation.question import answer, questions

    if compare is not None:
        say = progress(quiet=quiet)
        name = compare.partition("=")[0]
        result = comparison(network, variants(network, compare, given), name, watch=html is not None, progress=say)
        done(quiet=quiet)
        if html is not None:
            from railweave.report.prediction.comparison import comparison_html

            write_file(html, comparison_html(network, result))
        if as_json:
            print_json(result.to_json())
        else:
            typer.echo(result.to_text())
        return 0 if result.complete else 1
    found: list[JobPrediction] = []
    for asked in questions(network, given):
        found.append(answer(network, asked, watch=html is not None, progress=_message_progress(quiet=quiet)))
        done(quiet=quiet)
        if not as_json:
            typer.echo(found[-1].to_text())
    if html is not None:
        from railweave.report.prediction.page import prediction_html

        write_file(html, prediction_html(network, found))
    if as_json:
        values = [one.to_json() for one in found]
        print_json(values if len(values) > 1 else values[0])
    return 0 if all(one.complete for one in found) else 1


def _message_progress(*, quiet: bool) -> Callable[[str, int, int], None]:
    """A function that says how many messages arrived: every half second on a terminal, every ten in a log."""
    say = progress(quiet=quiet)
    every = 0.5 if sys.stderr.isatty() else 10.0
    last = time.monotonic()

    def show(what: str, arrived: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            say(f"{what}: {arrived} of {of} messages")

    return show
