"""``railweave init``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Argument, Opt
from railweave.api.verbs import HARDWARE, PRICES
from railweave.cli.command import command
from railweave.cli.output import print_findings, print_json, waiting
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.sizing.request import Answer
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network
    from railweave.outputs.report.bom import Item, Prices

LACKING = (
    "management: logins of the switches, time and log servers",
    "inventory: the MAC address of every NIC, a row for each (until then SLAAC addresses are placeholders)",
    "cabling: the cable lengths (until then 10 m to servers and 50 m between switches; PFC headroom follows from them)",
)
"""The parts of a sized fabric file that the operator must fill in."""


_OF_GPUS = "With --gpus: "

LIST = "list"
"""The word for ``--example`` that prints the names of the examples."""
PREDICT = "predict"
"""The word that replaces a number of queue pairs, to have the number predicted."""


def _examples() -> list[str]:
    from railweave.examples import example_names

    return example_names()


def _switches() -> list[str]:
    from railweave.model.catalog import catalog

    return list(catalog().switches)


def _servers() -> list[str]:
    from railweave.model.catalog import catalog

    return list(catalog().servers)


@dataclass(frozen=True, kw_only=True)
class Init:
    """Options of ``railweave init``."""

    folder: Annotated[
        Path | None,
        Argument("Folder for the new files; it must be new or empty. Required, except with --example list."),
    ] = None
    example: Annotated[
        str | None,
        Opt(
            "Name of the example to copy; `list` prints the names of all examples. Exactly one of --example and --gpus is required.",
            words=_examples,
        ),
    ] = None
    gpus: Annotated[
        str | None,
        Opt("Number of GPUs to size a fabric for. Exactly one of --example and --gpus is required.", metavar="NUMBER"),
    ] = None
    nic: Annotated[
        str,
        Opt(
            f"{_OF_GPUS}server model, or model of its NICs: a name in `railweave hardware list`, or part of the name; the first match is taken.",
            words=_servers,
        ),
    ] = "cx7"
    switch: Annotated[
        str,
        Opt(
            f"{_OF_GPUS}switch model: a name in `railweave hardware list`, or the beginning of the name; the first match is taken.",
            words=_switches,
        ),
    ] = "qfx5240-64"
    oversubscription: Annotated[
        str,
        Opt(
            f"{_OF_GPUS}bandwidth of a leaf to its servers divided by its bandwidth to spines, for example 3:1 or 3; at least 1.",
            metavar="RATIO",
        ),
    ] = "1"
    growth: Annotated[
        str,
        Opt(
            f"{_OF_GPUS}factor by which the number of GPUs can increase later without moving a cable, for example 2x.",
            metavar="FACTOR",
        ),
    ] = "1x"
    shape: Annotated[
        str | None,
        Opt(
            f"{_OF_GPUS}topology: one-leaf, two-tier, rail-planes (no path between rails), super-spine, or port-planes (a separate fabric for each port of the NICs). Default: the first topology that fits."
        ),
    ] = None
    gpus_per_server: Annotated[
        int | None, Opt("With --gpus: GPUs per server; default: as many as the server model has.", least=1, most=64)
    ] = None
    nics_per_server: Annotated[
        int | None,
        Opt(
            "With --gpus: NICs per server that carry GPU traffic; default: as many as the server model has.",
            least=1,
            most=64,
        ),
    ] = None
    hardware: Annotated[Path | None, HARDWARE] = None
    prices: Annotated[Path | None, PRICES] = None
    stripes: Annotated[
        str | None,
        Opt(
            f"{_OF_GPUS}number of stripes; a stripe is a group of leaves with the servers connected to them. Default: the fewest stripes that can hold all servers.",
            metavar="NUMBER",
        ),
    ] = None
    qps: Annotated[
        str | None,
        Opt(
            f"{_OF_GPUS}queue pairs per connection of two NICs, or `predict` for the number with the fastest collectives in simulation. Default: one per path color (a class of uplinks; docs/path-colors.md).",
            metavar="NUMBER|predict",
        ),
    ] = None
    tenants: Annotated[
        str | None,
        Opt(
            f"{_OF_GPUS}number of tenants, isolated by an EVPN-VXLAN overlay, that share the servers equally. Default: no tenants and no overlay.",
            metavar="NUMBER",
        ),
    ] = None
    html: Annotated[
        Path | None, Opt(f"{_OF_GPUS}also write a page (.html) that draws the chosen fabric and its alternatives.")
    ] = None


@command(Init)
def init(options: Init, *, as_json: bool, quiet: bool) -> None:
    """Write a new fabric file: a copy of an example (--example), or a fabric sized for a number of GPUs (--gpus).

    Next to the fabric file, `init` writes fabric.schema.json, with which editors validate and complete the file, and an inventory to fill in.

    With --gpus, the output compares the chosen topology with its alternatives: switches, optics, cables, spare ports, cost of growth, limits
    reached. It also lists the errors and warnings that `build` will report. Exits 1 if one of these is an error.
    """
    if (options.example is None) == (options.gpus is None):
        raise InputError(
            [Problem(Option("init"), "nothing to start from", "give --example NAME or --gpus NUMBER, one of them")]
        )
    folder = options.folder
    if folder is None and options.example != LIST:
        fix = "name the folder to create: `railweave init FOLDER ...`"
        raise InputError([Problem(Option("init"), "there is no folder for the files", fix)])
    if folder is None or options.gpus is None:
        _example(folder or Path(), options.example or "", as_json=as_json, quiet=quiet or as_json)
        return
    from railweave.design.sizing.request import Request, answer
    from railweave.design.sizing.words import TITLES
    from railweave.examples import check_new
    from railweave.model.catalog import packaged
    from railweave.model.catalog.hardware_files import own_hardware
    from railweave.outputs.folder.starting import bills, designed, sized, start_sized, to_be_reported
    from railweave.outputs.report.bom import cost, read_prices
    from railweave.prediction.simulation.queue_pairs import queue_pairs
    from railweave.writing import check_writable

    check_new(folder)  # before minutes of work
    if options.html is not None:
        check_writable(options.html)
    known = None if options.prices is None else read_prices(options.prices)
    request = Request(
        gpus=_count("--gpus", options.gpus, "a number of GPUs", "write a whole number, at least 1, as 512"),
        nic=options.nic,
        switch=options.switch,
        oversubscription=_oversubscription(options.oversubscription),
        growth=_growth(options.growth),
        shape=options.shape,
        gpus_per_server=options.gpus_per_server,
        nics_per_server=options.nics_per_server,
        stripes=_count("--stripes", options.stripes, "a number of stripes", "write a whole number, 1 to 4096"),
        qps=0
        if options.qps == PREDICT
        else _count(
            "--qps", options.qps, "a number of queue pairs per connection", "write a whole number, 1 to 128", 128
        ),
        tenants=_count("--tenants", options.tenants, "a number of tenants", "write a whole number, 1 to 4096"),
    )
    with waiting(f"sizing a fabric for {request.gpus:,} GPUs", quiet=quiet or as_json):
        sizing = answer(packaged().with_hardware(own_hardware(options.hardware).hardware), request)
        bought = bills(sizing, options.hardware) if known or options.html else {}
    if options.qps == PREDICT:
        with waiting("predicting with each number of queue pairs", quiet=quiet or as_json):
            chosen = queue_pairs(designed(sizing.fabric(), options.hardware))
        sizing = replace(sizing, request=replace(sizing.request, qps=chosen.count))
        for line in chosen.lines:
            typer.echo(line, err=as_json)
    elif not request.qps and sizing.sized.best.colors > 1 and not as_json:
        typer.echo(
            f"queue pairs: one per path color ({sizing.sized.best.colors}); --qps {PREDICT} chooses by prediction, with what each number gets"
        )
    with waiting(f"designing and checking {sizing.sized.best.gpus:,} GPUs", quiet=quiet or as_json):
        network = sized(sizing, options.hardware)
        findings = to_be_reported(network)
    written = start_sized(sizing, folder)
    if options.html is not None:
        _draw(options.html, sizing, network, {str(shape): items for shape, items in bought.items()}, known)
        written.append(options.html)
    paid = {TITLES[shape]: str(cost(items, known)) for shape, items in bought.items()} if known else {}
    _print(sizing, written, paid, findings, as_json=as_json)
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _draw(
    html: Path,
    sizing: Answer,
    network: Network,
    bought: Mapping[str, Sequence[Item]],
    prices: Prices | None,
) -> None:
    """Write the HTML page of a sizing."""
    from railweave.design.sizing.report import to_json, words
    from railweave.outputs.report.sized import sized_html
    from railweave.writing import write_file

    told = to_json(sizing.catalog, sizing.sized), list(words(sizing.catalog, sizing.sized))
    write_file(html, sized_html(network, *told, bought, prices))


def _count(option: str, text: str | None, expected: str, fix: str, most: int = 999_999_999) -> int:
    """Return a number from the command line, from 1 to ``most``; 0 if none is given. Raises ``InputError`` if the text is not valid."""
    if text is None:
        return 0
    given = text.strip()
    if not (given.isascii() and given.isdecimal() and len(given) < 10 and 1 <= int(given) <= most):
        raise InputError([Problem(Option(option), f"{text!r:.60} is not {expected}", fix)])
    return int(given)


def _oversubscription(text: str) -> float:
    from railweave.model.config.quantities import RATIO_FIX, ratio

    try:
        factor = ratio(text)
    except ValueError as error:
        raise InputError([Problem(Option("--oversubscription"), str(error), RATIO_FIX)]) from None
    if factor < 1:
        fix = f"{RATIO_FIX}; a fabric is sized for at least 1"
        raise InputError([Problem(Option("--oversubscription"), f"{text!r:.60} is not an oversubscription", fix)])
    return factor


def _growth(text: str) -> float:
    from railweave.model.config.quantities import ratio

    try:
        factor = ratio(text.strip().removesuffix("x"))
    except ValueError:
        factor = 0.0
    if factor < 1 or ":" in text:
        raise InputError(
            [Problem(Option("--growth"), f"{text!r:.60} is not a growth", "write a factor, at least 1, as 2x")]
        )
    return factor


def _example(folder: Path, example: str, *, as_json: bool, quiet: bool) -> None:
    from railweave.examples import example_names

    if example == LIST:
        if as_json:
            print_json(example_names())
        for name in [] if as_json else example_names():
            typer.echo(name)
        return
    from railweave.outputs.folder.starting import start_from_example

    with waiting(f"designing {example} for its inventory", quiet=quiet):
        written = start_from_example(example, folder)
    if as_json:
        print_json({"wrote": str(written[0]), "files": [str(path) for path in written]})
        return
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: railweave build {written[0]} -o {folder / 'out'}")


def _print(
    sizing: Answer, written: list[Path], costs: dict[str, str], findings: Sequence[Finding], *, as_json: bool
) -> None:
    from railweave.design.sizing.report import to_json, words

    path = written[0]
    if as_json:
        files = {"wrote": str(path), "files": [str(file) for file in written]}
        told = {**files, **to_json(sizing.catalog, sizing.sized), **({"costs": costs} if costs else {})}
        print_json({**told, "findings": [finding.to_json() for finding in findings]})
        return
    for line in words(sizing.catalog, sizing.sized):
        typer.echo(line)
    for name, cost in costs.items():
        typer.echo(f"cost as {name}: {cost}")
    for file in written:
        typer.echo(f"wrote {file}")
    typer.echo("the files still lack:")
    for line in LACKING:
        typer.echo(f"  {line}")
    if findings:
        typer.echo("build will report:")
        print_findings(findings)
    typer.echo(f"next: railweave build {path} -o {path.parent / 'out'}")
