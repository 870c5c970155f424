"""``railweave sim``: a collective on a designed network; or raw flows (``cli.raw_flows``)."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from railweave.cli import raw_flows
from railweave.cli.output import (
    DEVICE,
    HARDWARE,
    JSON,
    PATIENCE_S,
    QUIET,
    RUNNING,
    print_json,
    progress,
    telling,
    waiting,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction


def sim(
    fabric: Path | None = typer.Argument(None, help="Fabric file or build folder; none for raw flows."),
    collective: str | None = typer.Option(
        None, help="all-reduce (the default), all-gather, reduce-scatter, broadcast, all-to-all, send-recv."
    ),
    size: str | None = typer.Option(
        None,
        help="Bytes as nccl-tests has them: 8G, 1M,16M,1G or 8..16G; default 1G. Binary, other than for raw flows: 16M, 16MB and 16MiB are all 16 x 2^20.",
    ),
    qps: int | None = typer.Option(
        None, help="Queue pairs per connection; default: the fabric file's (hosts.job), or one per path color."
    ),
    nccl: list[str] = typer.Option([], help="A parameter of NCCL, KEY=VALUE; may be repeated."),
    lb: str | None = typer.Option(
        None, help="Load balancing of the switches: ecmp, dlb, spray or rlb, with its parameters (MODE:name=value,...)."
    ),
    setting: list[str] = typer.Option([], "--set", help="A parameter of the engine, NAME=VALUE; may be repeated."),
    background: str | None = typer.Option(
        None,
        help="Background traffic: share=30%,ports=*:gpu0_eth,qps=4,packet=9000,to=intra-stripe (ports joined by +).",
    ),
    scenario: Path | None = typer.Option(None, help="A scenario file: traffic, background, overrides, faults."),
    job: Path | None = typer.Option(
        None, "--job", help="A job file: the time of a training step, and what it waits for (docs/jobs.md)."
    ),
    chakra_out: Path | None = typer.Option(
        None,
        "--chakra-out",
        help="With --job: write what each rank computes and sends, as execution traces of Chakra, into this folder.",
    ),
    check_packets: bool = typer.Option(
        False, "--check-packets", help="With --job: run what a step sends by packets too, beside the flows."
    ),
    on: str | None = typer.Option(
        None, "--fabric", help="The fabric it runs on, where several connect GPUs; else that of the GPUs' own NICs."
    ),
    tenant: str | None = typer.Option(None, help="Whose job it is, where the network has several tenants."),
    hosts: str | None = typer.Option(
        None, help="Servers in the order of their ranks: A,B,C-[1-4]; the first N; or stripes-alternate. Default: all."
    ),
    per_host: int | None = typer.Option(
        None, min=1, help="Processes on each server, which share its GPUs; default: one a GPU."
    ),
    fib: Path | None = typer.Option(
        None, help="A file of exported forwarding tables, used instead of the computed ones."
    ),
    running: Path | None = RUNNING,
    device: list[str] = DEVICE,
    hardware: Path | None = HARDWARE,
    compare: str | None = typer.Option(
        None,
        help="NAME=a,b,c: run all of these side by side (lb, qps, size, hosts, per-host, NCCL_…, host.…); say which wins, and why. "
        "Values that have commas are parted by semicolons. Several in one word, 'size=4G..16G hosts=2,4', are a grid; "
        "with --job each value is tried alone (docs/jobs.md).",
    ),
    measured: Path | None = typer.Option(
        None,
        help="With --compare: a CSV file of measured points, the names compared and time_us or bus_bandwidth_GBps.",
    ),
    html: Path | None = typer.Option(None, "--html", "-o", help="Draw the result as one HTML page, into this file."),
    engine: str = typer.Option("auto", help="packet, flow, or auto: flows above 200 M estimated packet hops."),
    exact: bool = typer.Option(False, "--exact", help="Run packets to the end: do not stop when every round is alike."),
    seeds: int | None = typer.Option(
        None, min=1, help="Run so many seeds in parallel processes: the median is shown, and what the others got."
    ),
    topology: str | None = raw_flows.TOPOLOGY,
    flows: str | None = raw_flows.FLOWS,
    traffic: str | None = raw_flows.TRAFFIC,
    cc: str | None = raw_flows.CC,
    dcqcn: str | None = raw_flows.DCQCN,
    mtu: str | None = raw_flows.MTU,
    window: str | None = raw_flows.WINDOW,
    buffer: str | None = raw_flows.BUFFER,
    lossy: bool = raw_flows.LOSSY,
    seed: str | None = raw_flows.SEED,
    until: str | None = raw_flows.UNTIL,
    output: str | None = raw_flows.OUTPUT,
    verb: str | None = raw_flows.VERB,
    fault: list[str] = raw_flows.FAULT,
    reroute: str | None = raw_flows.REROUTE,
    series: str | None = raw_flows.SERIES,
    queue_series: str | None = raw_flows.QUEUE_SERIES,
    flow_series: str | None = raw_flows.FLOW_SERIES,
    series_every: str | None = raw_flows.SERIES_EVERY,
    series_of: str | None = raw_flows.SERIES_OF,
    help_parameters: bool = raw_flows.HELP_PARAMETERS,
    version: bool = raw_flows.VERSION,
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Predict how fast a collective runs on a designed network and what limits it, packet by packet or with flows.

    Without a fabric file, --topology with --flows or --traffic runs raw flows on a network that is not designed.
    Exits 1 where a collective or a flow did not finish.
    """
    words: dict[str, Any] = {name: value for name, value in locals().items() if name != "fabric"}
    if fabric is None:
        raise typer.Exit(raw_flows.run(words))
    raw_flows.check_none(words)
    from railweave.writing import check_writable

    if html is not None:
        check_writable(html)
    from railweave.api import load
    from railweave.api import running as saved
    from railweave.errors import InputError, Option, Problem
    from railweave.garbage import uncollected
    from railweave.model.catalog import in_force
    from railweave.model.network.status import absent_sentence
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.settings import by_name

    given: dict[str, Any] = {
        "collective": collective,
        "size": size,
        "qps": qps,
        "nccl": by_name(nccl, "--nccl"),
        "lb": lb,
        "settings": by_name(setting, "--set"),
        "background": background,
        "scenario": scenario,
        "hosts": hosts,
        "per_host": per_host,
        "fib": fib,
        "tenant": tenant,
        "engine": engine,
        "exact": exact,
    }
    with uncollected():
        with waiting(f"reading and designing {fabric}", quiet=quiet or as_json):
            whole = load(fabric, device=device, hardware=hardware)
            network = job_network(whole, on)
            given["configs"] = saved(whole, running) if running is not None else None
        if said := absent_sentence(whole):
            typer.echo(said, err=True)
        with in_force(whole.catalog):
            if job is not None:
                from railweave.cli.sim_job import run

                def designed(changes: Mapping[str, str]) -> tuple[Network, Network]:
                    other = load(fabric, device=device, hardware=hardware, changes=changes)
                    return job_network(other, on), other

                raise typer.Exit(
                    run(
                        network,
                        whole,
                        job,
                        words,
                        None if fabric.is_dir() else designed,
                        as_json=as_json,
                        quiet=quiet or as_json,
                    )
                )
            if check_packets:
                raise InputError(
                    [
                        Problem(
                            Option("--check-packets"), "goes with --job", "--engine packet is the like of a collective"
                        )
                    ]
                )
            if measured is not None and compare is None:
                fix = "name what the points vary, as --compare 'size=4G..16G hosts=2,4', or leave it out"
                raise InputError([Problem(Option("--measured"), "goes with --compare", fix)])
            if compare is not None and (len(compare.split()) > 1 or measured is not None):
                code = _grid(network, given, compare, measured, html, as_json=as_json, quiet=quiet or as_json)
                _say_written(html, as_json=as_json)
                raise typer.Exit(code)
            code = _answered(network, given, compare, html, seeds=seeds or 1, as_json=as_json, quiet=quiet or as_json)
    _say_written(html, as_json=as_json)
    raise typer.Exit(code)


def _say_written(html: Path | None, *, as_json: bool) -> None:
    """Name the page that was written, where the output is for people."""
    if html is not None and not as_json:
        typer.echo(f"wrote {html}")


def _answered(
    network: Network,
    given: dict[str, Any],
    compare: str | None,
    html: Path | None,
    *,
    seeds: int,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run what is asked, print and draw it; the exit code."""
    from railweave.prediction.simulation.compare import comparison
    from railweave.prediction.simulation.question import answer, questions
    from railweave.prediction.simulation.seeds import by_size, over_seeds
    from railweave.prediction.simulation.varied import variants
    from railweave.writing import write_file

    if compare is not None:
        name = compare.partition("=")[0]
        with telling(quiet=quiet) as say:
            result = comparison(network, variants(network, compare, given), name, watch=html is not None, progress=say)
        if html is not None:
            from railweave.outputs.report.prediction.comparison import comparison_html

            write_file(html, comparison_html(network, result))
        if as_json:
            print_json(result.to_json())
        else:
            typer.echo(result.to_text())
        return 0 if result.complete else 1
    found: list[JobPrediction] = []
    for one in by_size(given) if seeds > 1 else ():
        with telling(quiet=quiet) as tell:
            found.append(over_seeds(network, one, seeds, watch=html is not None, progress=tell))
        if not as_json:
            typer.echo(found[-1].to_text())
    say = None if quiet else partial(typer.echo, err=True)
    for asked in questions(network, given) if seeds == 1 else ():
        with waiting("making the network ready", quiet=quiet):
            found.append(
                answer(network, asked, watch=html is not None, progress=_message_progress(quiet=quiet), announce=say)
            )
        if not as_json:
            typer.echo(found[-1].to_text())
    if html is not None:
        from railweave.outputs.report.prediction.page import prediction_html

        write_file(html, prediction_html(network, found))
    if as_json:
        values = [one.to_json() for one in found]
        print_json(values if len(values) > 1 else values[0])
    return 0 if all(one.complete for one in found) else 1


def _grid(
    network: Network,
    given: dict[str, Any],
    compare: str,
    measured: Path | None,
    html: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run a grid, print and draw it; the exit code."""
    from railweave.prediction.simulation.grid import dimensions, grid
    from railweave.writing import write_file

    with telling(quiet=quiet) as say:
        found = grid(network, dimensions(compare), given, measured=measured, progress=say)
    if html is not None:
        from railweave.outputs.report.prediction.comparison import grid_html

        write_file(html, grid_html(network, found))
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
    return 0 if found.complete else 1


def _message_progress(*, quiet: bool) -> Callable[[str, int, int], None]:
    """A function that says how many messages arrived: every half second on a terminal, in a log after two seconds and every ten."""
    say = progress(quiet=quiet)
    every = 0.5 if sys.stderr.isatty() else 10.0
    following = time.monotonic() + min(every, PATIENCE_S)

    def show(what: str, arrived: int, of: int) -> None:
        nonlocal following
        if time.monotonic() >= following:
            following = time.monotonic() + every
            say(f"{what}: {arrived} of {of} messages")

    return show
