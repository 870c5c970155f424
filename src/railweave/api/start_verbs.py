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
        Opt("Fabric file; the models under its section `hardware:` are listed too.", metavar="FILE"),
    ] = None


@dataclass(frozen=True)
class HardwareShow:
    """Options of ``hardware_show``."""

    model: Annotated[str, Argument("Model name, as listed by `hardware list`.")]
    _: KW_ONLY
    hardware: Annotated[Path | str | None, HARDWARE] = None
    fabric: Annotated[
        Path | str | None, Opt("Fabric file; models under its section `hardware:` are found too.", metavar="FILE")
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
            "Name of the example to copy; `list` prints the names of all examples. Not together with --gpus.",
            words=_examples,
            metavar="NAME",
        ),
    ] = None
    gpus: Annotated[
        int | str | None,
        Opt(
            "Number of GPUs to size a fabric for. Not together with --example.",
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
            f"{_OF_GPUS}switch model: a name in `railweave hardware list`, part of the name, or a vendor. The name of an operating system (sonic, eos, junos, frr, dell_sonic) chooses a model that runs it; MODEL:NOS chooses both. The first match is used.",
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
            f"{_OF_GPUS}factor by which the number of GPUs may grow later without moving a cable, for example 2x.",
            metavar="FACTOR",
        ),
    ] = "1x"
    shape: Annotated[
        str | None,
        Opt(
            f"{_OF_GPUS}topology: one-leaf, two-tier, rail-planes (a separate fabric for each rail, that is, for each NIC position of the servers), super-spine, or port-planes (a separate fabric for each port of the NICs). Default: the first topology that fits.",
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
            f"{_OF_GPUS}load balancing over the uplinks: dlb (switches move flowlets to less loaded links), ecmp (static hash), or rlb (each queue pair, that is, RDMA connection, has its own path; needs railweave's NCCL plugin, and more addresses and routing tables on servers). Default: dlb if the switches have it, otherwise ecmp.",
            metavar="dlb|ecmp|rlb",
        ),
    ] = None
    name: Annotated[
        str | None, Opt(f"{_OF_GPUS}name of the network and of its files. Default: rail-NUMBER.", metavar="NAME")
    ] = None
    addresses: Annotated[
        Path | str | None,
        Opt(
            f"{_OF_GPUS}YAML file of address ranges and names. It has these sections of a fabric file: pools, addressing, naming, management; and servers, a list of server names. `init` shows the first and last address of each kind before it writes files.",
            metavar="FILE",
        ),
    ] = None
    yes: Annotated[
        bool,
        Opt(
            "Ask nothing; use the default answers. Default: on a terminal, `init` asks if neither --gpus nor --example is given."
        ),
    ] = False
    hardware: Annotated[Path | str | None, HARDWARE] = None
    prices: Annotated[Path | str | None, PRICES] = None
    stripes: Annotated[
        int | str | None,
        Opt(
            f"{_OF_GPUS}number of stripes (groups of leaves with their servers). Default: the fewest stripes that hold all servers.",
            metavar="NUMBER",
            kind=str | None,
        ),
    ] = None
    qps: Annotated[
        int | str | None,
        Opt(
            f"{_OF_GPUS}number of queue pairs between each two NICs that communicate, or `predict` for the number with the fastest collectives in simulation. Default: with --lb rlb, one per path color (a group of uplinks, by destination address; docs/load-balancing.md); otherwise one.",
            metavar="NUMBER|predict",
            kind=str | None,
        ),
    ] = None
    tenants: Annotated[
        int | str | None,
        Opt(
            f"{_OF_GPUS}number of tenants that share the servers equally, isolated by an EVPN-VXLAN overlay. Default: no tenants and no overlay.",
            metavar="NUMBER",
            kind=str | None,
        ),
    ] = None
    html: Annotated[
        Path | str | None,
        Opt(f"{_OF_GPUS}also write a page (.html) that draws the chosen fabric and its alternatives.", metavar="FILE"),
    ] = None
