"""``railweave init``."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from railweave.cli.output import print_json

LACKING = (
    "management: root_password (Junos refuses a commit without) and users (else nobody can log in over SSH)",
    "inventory: the MAC address of every NIC (until then SLAAC addresses are placeholders)",
    "cabling: the cable lengths (until then 10 m to servers and 50 m between switches; PFC headroom follows from them)",
)
"""What a sized file leaves to the operator, because nobody else knows it."""


def init(
    folder: Path = typer.Argument(..., help="Folder to make, or an empty one."),
    example: str | None = typer.Option(None, help="Example to start from; `list` names them."),
    gpus: str | None = typer.Option(None, metavar="NUMBER", help="Size a fabric for this many GPUs."),
    nic: str = typer.Option(
        "cx7", help="With --gpus: the NIC or server model, as the catalog names it or a part of it."
    ),
    switch: str = typer.Option("qfx5240-64", help="With --gpus: the switch model, or how its name begins."),
    oversubscription: str = typer.Option(
        "1", metavar="RATIO", help="With --gpus: server bandwidth over uplink bandwidth of a leaf, as 3:1 or 3."
    ),
    growth: str = typer.Option(
        "1x", metavar="FACTOR", help="With --gpus: the factor that GPUs may grow by without a cable moving, as 2x."
    ),
    shape: str | None = typer.Option(
        None, help="With --gpus: one-leaf, two-tier, rail-planes or super-spine in place of the first that fits."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the sizing as JSON."),
) -> None:
    """Start a fabric file: from an example, or sized for a number of GPUs.

    Sizing prints the shape chosen with its alternatives: switches, optics and cables, spare ports, what growth costs, and
    limits met.
    """
    from railweave.errors import InputError, Option, Problem

    if (example is None) == (gpus is None):
        raise InputError(
            [Problem(Option("init"), "nothing to start from", "give --example NAME or --gpus NUMBER, one of them")]
        )
    if gpus is None:
        _example(folder, example or "")
        return
    numbers = (
        _number("--gpus", gpus, r"([0-9]{1,9})", "a number of GPUs", "write a whole number, at least 1, as 512"),
        _number("--oversubscription", oversubscription, rf"({_RATIO})(?::1)?", "an oversubscription", _AS_RATIO),
        _number("--growth", growth, rf"({_RATIO})x?", "a growth", "write a factor, at least 1, as 2x"),
    )
    _sized(folder, int(numbers[0]), (nic, switch), numbers[1:], shape, as_json=as_json)


_RATIO = r"[0-9]{1,3}(?:\.[0-9]{1,3})?"
"""At most six digits, which is what a fabric file gets (``fabric_text``)."""

_AS_RATIO = "write server bandwidth over uplink bandwidth, at least 1, as 3:1, 3 or 1.5"


def _number(option: str, text: str, pattern: str, what: str, fix: str) -> float:
    """A number of the command line, at least 1. Raises ``InputError``."""
    from railweave.errors import InputError, Option, Problem

    match = re.fullmatch(pattern, text.strip())
    if match is None or float(match[1]) < 1:
        raise InputError([Problem(Option(option), f"{text!r:.60} is not {what}", fix)])
    return float(match[1])


def _example(folder: Path, example: str) -> None:
    from railweave.examples import copy_example, example_names

    if example == "list":
        for name in example_names():
            typer.echo(name)
        return
    for path in copy_example(example, folder):
        typer.echo(f"wrote {path}")
    typer.echo(f"next: railweave build {folder / example}.yaml -o {folder / 'out'}")


def _sized(
    folder: Path, gpus: int, models: tuple[str, str], ratios: tuple[float, float], shape: str | None, *, as_json: bool
) -> None:
    from railweave.catalog import catalog
    from railweave.errors import InputError, Option, Problem
    from railweave.examples import write_new
    from railweave.sizing.fabric_file import fabric_text, servers_named, switches_named
    from railweave.sizing.report import Sized, to_json, words
    from railweave.sizing.shapes import choose, sizes
    from railweave.sizing.size import Size, Wanted

    known = catalog()
    servers, switches = servers_named(known, models[0]), switches_named(known, models[1])
    if not servers:
        names = ", ".join(name for name, one in known.servers.items() if "gpu" in one.nics)
        raise InputError([Problem(Option("--nic"), f"no server has a NIC {models[0]!r}", f"server models are {names}")])
    if not switches:
        names = ", ".join(known.switches)
        raise InputError(
            [Problem(Option("--switch"), f"no switch model begins with {models[1]!r}", f"models are {names}")]
        )
    try:
        found = sizes(known, Wanted(gpus, servers[0], switches[0], *ratios))
    except ValueError as error:
        raise InputError([Problem(Option("--switch"), str(error), "choose another switch or NIC")]) from None
    if shape is not None and shape not in found:
        raise InputError([Problem(Option("--shape"), f"there is no shape {shape!r}", f"shapes are {', '.join(found)}")])
    asked = found if shape is None else dict(item for item in found.items() if item[0] == shape)
    best = choose(asked)
    if not isinstance(best, Size):
        why = "; ".join(f"{name}: {one.why}" for name, one in asked.items() if not isinstance(one, Size))
        fix = "take a larger switch, or fewer GPUs"
        if shape is not None and (other := choose(found)):
            fix = f"{other.shape} takes them: leave --shape out"
        raise InputError([Problem(Option("--gpus"), f"{gpus} GPUs fit no shape ({why})", fix)])
    path = folder / f"rail-{gpus}.yaml"
    write_new(folder, {path.name: fabric_text(known, best).encode()})
    sized = Sized(asked, best, servers[1:], switches[1:])
    if as_json:
        print_json({"wrote": str(path), **to_json(known, sized)})
        return
    for line in words(known, sized):
        typer.echo(line)
    typer.echo(f"wrote {path}")
    typer.echo("the file still lacks, for switches that take it and servers that answer:")
    for line in LACKING:
        typer.echo(f"  {line}")
    typer.echo(f"next: railweave build {path} -o {folder / 'out'}")
