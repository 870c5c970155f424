"""Options of the verbs for the first steps: listing hardware models, and creating a fabric file. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated

from railweave.api.options import Argument, Opt
from railweave.api.verbs import HARDWARE, PRICES

_OF_GPUS = "With --gpus: "


def _examples() -> list[str]:
    from railweave.examples import example_names

    return example_names()


def _switches() -> list[str]:
    from railweave.model.catalog import catalog

    return [*catalog().switches, *catalog().systems]


def _servers() -> list[str]:
    from railweave.model.catalog import catalog

    return list(catalog().servers)


@dataclass(frozen=True)
class HardwareList:
    """Options of ``hardware_list``."""

    section: Annotated[
        str | None, Argument("Kind of models to list: switches, nics, servers or optics; default: all kinds.")
    ] = None
    _: KW_ONLY
    hardware: Annotated[Path | str | None, HARDWARE] = None
    fabric: Annotated[
        Path | str | None,
        Opt("Fabric file; also list the models that its section `hardware:` describes.", metavar="FILE"),
    ] = None


@dataclass(frozen=True)
class HardwareShow:
    """Options of ``hardware_show``."""

    model: Annotated[str, Argument("Model name, as listed by `hardware list`.")]
    _: KW_ONLY
    hardware: Annotated[Path | str | None, HARDWARE] = None
    fabric: Annotated[
        Path | str | None, Opt("Fabric file; also find models that its section `hardware:` describes.", metavar="FILE")
    ] = None


@dataclass(frozen=True)
class Init:
    """Options of ``init_sized`` and of ``init_example``."""

    folder: Annotated[
        Path | str | None,
        Argument("Folder for the new files; it must be new or empty. Required, except with --example list."),
    ] = None
    _: KW_ONLY
    example: Annotated[
        str | None,
        Opt(
            "Name of the example to copy; `list` prints the names of all examples. Exactly one of --example and --gpus is required.",
            words=_examples,
            metavar="NAME",
        ),
    ] = None
    gpus: Annotated[
        int | str | None,
        Opt(
            "Number of GPUs to size a fabric for. Exactly one of --example and --gpus is required.",
            metavar="NUMBER",
            kind=str | None,
        ),
    ] = None
    nic: Annotated[
        str,
        Opt(
            f"{_OF_GPUS}model of the servers, of their NICs or of their GPUs: a name, or part of the name; the first match is used. `list` prints all names.",
            words=_servers,
            metavar="MODEL",
        ),
    ] = "cx7"
    switch: Annotated[
        str,
        Opt(
            f"{_OF_GPUS}switch model: a name in `railweave hardware list`, part of the name, or a vendor. The name of an operating system (sonic, eos, junos, frr, dell_sonic) chooses a model that runs it, MODEL:NOS chooses both. The first match is taken.",
            words=_switches,
            metavar="MODEL",
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
            f"{_OF_GPUS}topology: one-leaf, two-tier, rail-planes (no path between rails), super-spine, or port-planes (a separate fabric for each port of the NICs). Default: the first topology that fits.",
            metavar="SHAPE",
        ),
    ] = None
    gpus_per_server: Annotated[
        int | None,
        Opt("With --gpus: number of GPUs per server; default: as many as the server model has.", least=1, most=64),
    ] = None
    nics_per_server: Annotated[
        int | None,
        Opt(
            "With --gpus: number of NICs per server that carry GPU traffic; default: as many as the server model has.",
            least=1,
            most=64,
        ),
    ] = None
    lb: Annotated[
        str | None,
        Opt(
            f"{_OF_GPUS}load balancing over the uplinks: dlb (switches move flowlets to less loaded links), ecmp (static hash), or rlb (each queue pair has its own path; needs the NCCL plugin, more addresses and routing tables on servers). Default: dlb if the switches have it, otherwise ecmp.",
            metavar="dlb|ecmp|rlb",
        ),
    ] = None
    name: Annotated[
        str | None, Opt(f"{_OF_GPUS}name of the network and of its files. Default: rail-NUMBER.", metavar="NAME")
    ] = None
    addresses: Annotated[
        Path | str | None,
        Opt(
            f"{_OF_GPUS}YAML file of address ranges and names, with sections of a fabric file: pools, addressing, naming, management; and servers, a host list. The first and the last address of each kind are shown before anything is written.",
            metavar="FILE",
        ),
    ] = None
    yes: Annotated[
        bool,
        Opt(
            "Ask nothing; use the default of each question. Default: on a terminal, ask if neither --gpus nor --example is given."
        ),
    ] = False
    hardware: Annotated[Path | str | None, HARDWARE] = None
    prices: Annotated[Path | str | None, PRICES] = None
    stripes: Annotated[
        int | str | None,
        Opt(
            f"{_OF_GPUS}number of stripes; a stripe is a group of leaves with the servers connected to them. Default: the fewest stripes that can hold all servers.",
            metavar="NUMBER",
            kind=str | None,
        ),
    ] = None
    qps: Annotated[
        int | str | None,
        Opt(
            f"{_OF_GPUS}queue pairs per connection of two NICs, or `predict` for the number with the fastest collectives in simulation. Default: one per path color with --lb rlb (a class of uplinks; docs/load-balancing.md), otherwise one.",
            metavar="NUMBER|predict",
            kind=str | None,
        ),
    ] = None
    tenants: Annotated[
        int | str | None,
        Opt(
            f"{_OF_GPUS}number of tenants, isolated by an EVPN-VXLAN overlay, that share the servers equally. Default: no tenants and no overlay.",
            metavar="NUMBER",
            kind=str | None,
        ),
    ] = None
    html: Annotated[
        Path | str | None,
        Opt(f"{_OF_GPUS}also write a page (.html) that draws the chosen fabric and its alternatives.", metavar="FILE"),
    ] = None
