"""``railweave init``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from railweave.cli.options import HARDWARE, JSON, PRICES, QUIET
from railweave.cli.output import print_json, waiting
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.catalog.models import Catalog
    from railweave.sizing.report import Sized
    from railweave.sizing.size import Refused, Shape, Size

LACKING = (
    "management: root_password (Junos refuses a commit without) and users (else nobody can log in over SSH)",
    "inventory: the MAC address of every NIC, a row for each (until then SLAAC addresses are placeholders)",
    "cabling: the cable lengths (until then 10 m to servers and 50 m between switches; PFC headroom follows from them)",
)
"""What a sized file leaves to the operator, because nobody else knows it."""

SCHEMA = "fabric.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA}\n"
"""What tells an editor's YAML language server which fields there are."""

_OF_GPUS = "With --gpus: "


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of a sizing, as they are meant."""

    gpus: int
    oversubscription: float
    growth: float
    stripes: int
    qps: int
    tenants: int


def _examples() -> list[str]:
    from railweave.examples import example_names

    return example_names()


def _switches() -> list[str]:
    from railweave.catalog import catalog

    return list(catalog().switches)


def _servers() -> list[str]:
    from railweave.catalog import catalog

    return list(catalog().servers)


def init(
    folder: Path = typer.Argument(..., help="Folder to make, or an empty one."),
    example: str | None = typer.Option(
        None, help="Example to start from; `list` names them.", autocompletion=_examples
    ),
    gpus: str | None = typer.Option(None, metavar="NUMBER", help="Size a fabric for this many GPUs."),
    nic: str = typer.Option(
        "cx7",
        help=f"{_OF_GPUS}the NIC or server model, as the catalog names it or a part of it.",
        autocompletion=_servers,
    ),
    switch: str = typer.Option(
        "qfx5240-64", help=f"{_OF_GPUS}the switch model, or how its name begins.", autocompletion=_switches
    ),
    oversubscription: str = typer.Option(
        "1", metavar="RATIO", help=f"{_OF_GPUS}server bandwidth over uplink bandwidth of a leaf, as 3:1 or 3."
    ),
    growth: str = typer.Option(
        "1x", metavar="FACTOR", help=f"{_OF_GPUS}the factor that GPUs may grow by without a cable moving, as 2x."
    ),
    shape: str | None = typer.Option(
        None, help=f"{_OF_GPUS}one-leaf, two-tier, rail-planes or super-spine in place of the first that fits."
    ),
    gpus_per_server: int | None = typer.Option(
        None, min=1, max=64, help="With --gpus: GPUs of each server, where not as many as the model has."
    ),
    nics_per_server: int | None = typer.Option(
        None, min=1, max=64, help="With --gpus: NICs of each server for its GPUs, where not as many as the model has."
    ),
    hardware: Path | None = HARDWARE,
    prices: Path | None = PRICES,
    stripes: str | None = typer.Option(
        None, metavar="NUMBER", help=f"{_OF_GPUS}how many stripes to spread the servers over; default: as few as fit."
    ),
    qps: str | None = typer.Option(
        None, metavar="NUMBER", help=f"{_OF_GPUS}queue pairs per connection; default: one per path color."
    ),
    tenants: str | None = typer.Option(
        None, metavar="NUMBER", help=f"{_OF_GPUS}how many tenants share the servers equally; default: none, no overlay."
    ),
    as_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Start a fabric file: from an example, or sized for a number of GPUs.

    Sizing prints the shape chosen with its alternatives: switches, optics and cables, spare ports, what growth costs, and
    limits met. Beside the file it writes fabric.schema.json, with which editors check and complete the file, and an
    inventory with a row for each MAC address to fill in.
    """
    if (example is None) == (gpus is None):
        raise InputError(
            [Problem(Option("init"), "nothing to start from", "give --example NAME or --gpus NUMBER, one of them")]
        )
    if gpus is None:
        _example(folder, example or "", as_json=as_json)
        return
    numbers = _Numbers(
        _count("--gpus", gpus, "a number of GPUs", "write a whole number, at least 1, as 512"),
        _oversubscription(oversubscription),
        _growth(growth),
        _count("--stripes", stripes, "a number of stripes", "write a whole number, 1 to 4096"),
        _count("--qps", qps, "a number of queue pairs per connection", "write a whole number, 1 to 128", 128),
        _count("--tenants", tenants, "a number of tenants", "write a whole number, 1 to 4096"),
    )
    with waiting(f"sizing a fabric for {numbers.gpus:,} GPUs", quiet=quiet or as_json):
        known, sized, path, written, costs = _sized(
            folder, numbers, (nic, switch), shape, (gpus_per_server, nics_per_server), (hardware, prices)
        )
    _print(known, sized, path, written, costs, as_json=as_json)


def _count(option: str, text: str | None, what: str, fix: str, most: int = 999_999_999) -> int:
    """A whole number of the command line, at least 1; 0 where none is given. Raises ``InputError``."""
    if text is None:
        return 0
    given = text.strip()
    if not (given.isascii() and given.isdecimal() and len(given) < 10 and 1 <= int(given) <= most):
        raise InputError([Problem(Option(option), f"{text!r:.60} is not {what}", fix)])
    return int(given)


def _oversubscription(text: str) -> float:
    from railweave.config.quantities import RATIO_FIX, ratio

    try:
        found = ratio(text)
    except ValueError as error:
        raise InputError([Problem(Option("--oversubscription"), str(error), RATIO_FIX)]) from None
    if found < 1:
        fix = f"{RATIO_FIX}; a fabric is sized for at least 1"
        raise InputError([Problem(Option("--oversubscription"), f"{text!r:.60} is not an oversubscription", fix)])
    return found


def _growth(text: str) -> float:
    from railweave.config.quantities import ratio

    try:
        found = ratio(text.strip().removesuffix("x"))
    except ValueError:
        found = 0.0
    if found < 1 or ":" in text:
        raise InputError(
            [Problem(Option("--growth"), f"{text!r:.60} is not a growth", "write a factor, at least 1, as 2x")]
        )
    return found


def _example(folder: Path, example: str, *, as_json: bool) -> None:
    from railweave.examples import copy_example, example_names

    if example == "list":
        if as_json:
            print_json(example_names())
        for name in [] if as_json else example_names():
            typer.echo(name)
        return
    written = copy_example(example, folder, SCHEMA_LINE, {SCHEMA: _schema()})
    if as_json:
        print_json({"wrote": str(written[0]), "files": [str(path) for path in written]})
        return
    for path in written:
        typer.echo(f"wrote {path}")
    typer.echo(f"next: railweave build {folder / example}.yaml -o {folder / 'out'}")


def _schema() -> bytes:
    import json

    from railweave.intent.reference import fabric_schema

    return f"{json.dumps(fabric_schema(), indent=1)}\n".encode()


def _sized(
    folder: Path,
    numbers: _Numbers,
    models: tuple[str, str],
    shape: str | None,
    per_server: tuple[int | None, int | None],
    given: tuple[Path | None, Path | None],
) -> tuple[Catalog, Sized, Path, list[Path], dict[str, str]]:
    """Size and write; the catalog, what was found, the fabric file, all files, what each shape costs. Raises ``InputError``.

    ``given`` are the folder of hardware files and the file of prices.
    """
    from railweave.catalog import packaged
    from railweave.catalog.hardware import Hardware
    from railweave.catalog.hardware_files import own_hardware
    from railweave.catalog.server_shapes import with_shape
    from railweave.catalog.words import servers_named, switches_named, unknown_server, unknown_switch
    from railweave.examples import write_new
    from railweave.sizing.fabric_file import fabric_text, inventory_text
    from railweave.sizing.report import Sized
    from railweave.sizing.shapes import choose, sizes
    from railweave.sizing.size import Size, Wanted

    known, gpus = packaged().with_hardware(own_hardware(given[0]).hardware), numbers.gpus
    servers, switches = servers_named(known, models[0]), switches_named(known, models[1])
    if not servers:
        raise InputError([Problem(Option("--nic"), *unknown_server(known, models[0]))])
    if not switches:
        raise InputError([Problem(Option("--switch"), *unknown_switch(known, models[1]))])
    server, words_of_server = servers[0], f"model: {servers[0]}"
    if per_server != (None, None):
        server, model = with_shape(servers[0], known.servers[servers[0]], *per_server)
        known = known.with_hardware(Hardware(servers={server: model}))
        counts = zip(("gpus", "gpu_nics"), per_server, strict=True)
        words_of_server += "".join(f", {key}: {count}" for key, count in counts if count is not None)
    try:
        wanted = Wanted(gpus, server, switches[0], numbers.oversubscription, numbers.growth, numbers.stripes)
        found = sizes(known, wanted)
    except ValueError as error:
        raise InputError([Problem(Option("--switch"), str(error), "choose another switch or NIC")]) from None
    if shape is not None and shape not in found:
        raise InputError([Problem(Option("--shape"), f"there is no shape {shape!r}", f"shapes are {', '.join(found)}")])
    asked = found if shape is None else dict(item for item in found.items() if item[0] == shape)
    best = choose(asked)
    if not isinstance(best, Size):
        why = "; ".join(f"{name}: {one.why}" for name, one in asked.items() if not isinstance(one, Size))
        fix = "take a larger switch, or fewer GPUs"
        if numbers.stripes and choose(sizes(known, replace(wanted, stripes=0))):
            fix = "leave --stripes out, or give another number"
        if shape is not None and (other := choose(found)):
            fix = f"{other.shape} takes them: leave --shape out"
        raise InputError([Problem(Option("--gpus"), f"{gpus} GPUs fit no shape ({why})", fix)])
    if numbers.tenants > best.servers:
        what = f"{numbers.tenants} tenants of {best.servers} servers"
        raise InputError([Problem(Option("--tenants"), what, "a tenant has at least a server: ask for fewer")])
    path = folder / f"rail-{gpus}.yaml"
    text = SCHEMA_LINE + fabric_text(known, best, numbers.qps, numbers.tenants, words_of_server)
    files = {
        path.name: text.encode(),
        f"rail-{gpus}.inventory.csv": inventory_text(known, best).encode(),
        SCHEMA: _schema(),
    }
    costs = _costs(known, asked, words_of_server, given)
    return known, Sized(asked, best, servers[1:], switches[1:]), path, write_new(folder, files), costs


def _costs(
    known: Catalog, found: Mapping[Shape, Size | Refused], server: str, given: tuple[Path | None, Path | None]
) -> dict[str, str]:
    """What each shape costs that fits, by its design's bill of materials; nothing where no prices are given."""
    from tempfile import TemporaryDirectory

    from railweave.outputs.steps import design_file
    from railweave.report.bom import bill
    from railweave.report.prices import cost, read_prices
    from railweave.sizing.fabric_file import fabric_text
    from railweave.sizing.size import Size as Fits
    from railweave.sizing.words import TITLES
    from railweave.writing import write_file

    hardware, prices = given
    if prices is None:
        return {}
    told = read_prices(prices)
    costs: dict[str, str] = {}
    with TemporaryDirectory() as place:
        for shape, size in found.items():
            if isinstance(size, Fits):
                file = Path(place) / f"{shape}.yaml"
                write_file(file, fabric_text(known, size, server=server))
                costs[TITLES[shape]] = str(cost(bill(design_file(file, hardware=hardware)[0]), told))
    return costs


def _print(
    known: Catalog, sized: Sized, path: Path, written: list[Path], costs: dict[str, str], *, as_json: bool
) -> None:
    from railweave.sizing.report import to_json, words

    if as_json:
        files = {"wrote": str(path), "files": [str(one) for one in written]}
        print_json({**files, **to_json(known, sized), **({"costs": costs} if costs else {})})
        return
    for line in words(known, sized):
        typer.echo(line)
    for name, cost in costs.items():
        typer.echo(f"cost as {name}: {cost}")
    for one in written:
        typer.echo(f"wrote {one}")
    typer.echo("the files still lack, for switches that take them and servers that answer:")
    for line in LACKING:
        typer.echo(f"  {line}")
    typer.echo(f"next: railweave build {path} -o {path.parent / 'out'}")
