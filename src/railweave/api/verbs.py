"""Options of verbs that design, predict and compare, each with its help, unit and default: see ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from railweave.api.options import Argument, Opt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

DEVICE = Opt("Other switches than the file's: ROLE=MODEL:NOS, as leaf=:eos, or :eos for every role; may be repeated.")
HARDWARE = Opt(
    "Folder of hardware files with models of your own (docs/hardware.md); a fabric file may have them itself."
)
RUNNING = Opt("Folder of configurations saved from switches (DEVICE/configuration.txt), in place of the designed ones.")
PRICES = Opt("File of prices by the names of the bill of materials (docs/hardware.md): what a design costs.")
COLLECTIVE = Opt("all-reduce (the default), all-gather, reduce-scatter, broadcast, all-to-all, send-recv.")
SIZE = Opt(
    "Bytes as nccl-tests has them: 8G, 1M,16M,1G or 8..16G; default 1G. Binary, other than for `railweave flows`: 16M, 16MB and 16MiB are all 16 x 2^20.",
    kind=str | None,
)
MEASURED = Opt("With --compare: a CSV file of measured points, the names compared and time_us or bus_bandwidth_GBps.")
LB = Opt("Load balancing of the switches: ecmp, dlb, spray or rlb, with its parameters (MODE:name=value,...).")
SET = Opt("A parameter of the engine, NAME=VALUE; may be repeated.", name="--set", kind=list[str])
BACKGROUND = Opt(
    "Background traffic: share=30%,ports=*:gpu0_eth,qps=4,packet=9000,to=intra-stripe (ports joined by +)."
)
ON = Opt("The fabric it runs on, where several connect GPUs; else that of the GPUs' own NICs.")
HTML = Opt("Draw the result as one HTML page, into this file.", letter="-o")


def silent(_: str) -> None:
    """Say nothing: where nobody wants to hear of progress."""


@dataclass(frozen=True)
class Source:
    """A network to work on: a fabric file, a build folder, or a network that is designed already, and other hardware than its own."""

    source: Annotated[Network | Path | str, Argument("Fabric file or build folder.", "fabric")]
    _: KW_ONLY
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None

    def network(self) -> Network:
        """The network, designed. Raises as ``load`` does."""
        from railweave.api.sources import network_of

        return network_of(self.source, self.device, self.hardware)


@dataclass(frozen=True)
class Build:
    """Options of ``build``."""

    fabric: Annotated[
        Path | str, Argument("Fabric file (NAME.yaml); NAME.inventory.csv and NAME.lock beside it are used.")
    ]
    out: Annotated[Path | str, Opt("Folder to write; replaced as a whole or not at all.", letter="-o")]
    _: KW_ONLY
    secrets: Annotated[
        Path | str | None, Opt("YAML file of NAME: value that replaces secret:NAME in device files.")
    ] = None
    compact: Annotated[bool, Opt("Free the slots of names that are gone, for new names to use.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    prices: Annotated[Path | str | None, PRICES] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Diff:
    """Options of ``diff``."""

    old: Annotated[Network | Path | str, Argument("Fabric file or build folder.")]
    new: Annotated[
        Network | Path | str,
        Argument(
            "Fabric file or build folder; a file is designed with OLD's lock, and its inventory where it has none."
        ),
    ]
    _: KW_ONLY
    device: Annotated[
        Sequence[str], Opt("Other switches for both files, as for `build`: shows the change on those switches.")
    ] = ()
    old_device: Annotated[Sequence[str], Opt("Other switches for OLD alone.")] = ()
    new_device: Annotated[
        Sequence[str], Opt("Other switches for NEW alone, which may then be the same file as OLD.")
    ] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class Paths(Source):
    """Options of ``paths``."""

    src: Annotated[str, Opt("Source NIC, as SERVER:NIC; SERVER:PORT+PORT for the ports of one NIC.")]
    dst: Annotated[str, Opt("Destination NIC, as SERVER:NIC or SERVER:PORT+PORT.")]
    qps: Annotated[int, Opt("Queue pairs of the connection.")] = 1
    down: Annotated[Sequence[str], Opt("A link (leaf:port--spine:port) or device that is down; may be repeated.")] = ()
    _: KW_ONLY
    configs: Mapping[str, DeviceConfig] | None = None


@dataclass(frozen=True)
class Verify(Source):
    """Options of ``verify``."""

    _: KW_ONLY
    yang: Annotated[
        Path | str | None,
        Opt("Folder of published Junos YANG models (conf-with-extensions).", envvar="RAILWEAVE_YANG"),
    ] = None
    frr_root: Annotated[
        Path | str | None,
        Opt(
            "Root folder with FRR in it (`make validators`), where vtysh is not installed.",
            envvar="RAILWEAVE_FRR_ROOT",
        ),
    ] = None
    netplan_root: Annotated[
        Path | str | None,
        Opt(
            "Root folder with netplan in it (`make validators`), where it is not installed.",
            envvar="RAILWEAVE_NETPLAN_ROOT",
        ),
    ] = None
    sonic_yang: Annotated[
        Path | str | None,
        Opt(
            "Folder of published SONiC YANG models (src/sonic-yang-models of sonic-buildimage), one folder for each branch in it (202505, master), or one set.",
            envvar="RAILWEAVE_SONIC_YANG",
        ),
    ] = None
    every: Annotated[
        bool,
        Opt(
            "Have validators read every file; by default, of more than 64 files they read one of each kind and a sample."
        ),
    ] = False
    running: Annotated[Path | str | None, RUNNING] = None
    design_only: Annotated[bool, Opt("Check only the design of a build folder, not its files.")] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Traffic(Source):
    """What is the same of a prediction and of a grid of them: what runs, on which fabric and servers, by which engine."""

    _: KW_ONLY
    qps: Annotated[
        int | None,
        Opt("Queue pairs per connection; default: the fabric file's (hosts.job), or one per path color."),
    ] = None
    nccl: Annotated[
        Iterable[str] | Mapping[str, str], Opt("A parameter of NCCL, KEY=VALUE; may be repeated.", kind=list[str])
    ] = ()
    lb: Annotated[
        str | None,
        LB,
    ] = None
    settings: Annotated[
        Iterable[str] | Mapping[str, str] | None,
        SET,
    ] = ()
    background: Annotated[
        str | None,
        BACKGROUND,
    ] = None
    scenario: Annotated[Path | str | None, Opt("A scenario file: traffic, background, overrides, faults.")] = None
    hosts: Annotated[
        str | None,
        Opt("Servers in the order of their ranks: A,B,C-[1-4]; the first N; or stripes-alternate. Default: all."),
    ] = None
    per_host: Annotated[
        int | None, Opt("Processes on each server, which share its GPUs; default: one a GPU.", least=1)
    ] = None
    fib: Annotated[
        Path | str | None, Opt("A file of exported forwarding tables, used instead of the computed ones.")
    ] = None
    tenant: Annotated[str | None, Opt("Whose job it is, where the network has several tenants.")] = None
    fabric: Annotated[
        str | None,
        ON,
    ] = None
    engine: Annotated[
        Literal["auto", "packet", "flow"],
        Opt("packet, flow, or auto: flows above 200 M estimated packet hops.", kind=str),
    ] = "auto"
    exact: Annotated[bool, Opt("Run packets to the end: do not stop when every round is alike.")] = False
    configs: Mapping[str, DeviceConfig] | None = None

    def asked(self, collective: str | None, size: int | str | None) -> dict[str, Any]:
        """Return what is predicted, by the names of ``prediction.simulation.question``. Raises ``InputError`` for words without a value."""
        from railweave.prediction.simulation.settings import by_name

        return {
            "collective": collective,
            "size": size,
            "qps": self.qps,
            "nccl": by_name(self.nccl, "--nccl"),
            "lb": self.lb,
            "settings": by_name(self.settings or (), "--set"),
            "background": self.background,
            "scenario": self.scenario if self.scenario is None else Path(self.scenario),
            "hosts": self.hosts,
            "per_host": self.per_host,
            "fib": self.fib if self.fib is None else Path(self.fib),
            "tenant": self.tenant,
            "engine": self.engine,
            "exact": self.exact,
            "configs": self.configs,
        }


@dataclass(frozen=True)
class Simulate(Traffic):
    """Options of ``simulate``."""

    collective: Annotated[str | None, COLLECTIVE] = None
    size: Annotated[int | str | None, SIZE] = None
    _: KW_ONLY
    seeds: Annotated[
        int,
        Opt("Run so many seeds in parallel processes: the median is shown, and what the others got.", least=1),
    ] = 1
    watch: bool = True
    progress: Callable[[str, int, int], None] | None = None


@dataclass(frozen=True)
class SimulateGrid(Traffic):
    """Options of ``simulate_grid``."""

    varied: Mapping[str, Iterable[int | str]]
    collective: Annotated[str | None, COLLECTIVE] = None
    size: Annotated[int | str | None, SIZE] = None
    _: KW_ONLY
    measured: Annotated[Path | str | None, MEASURED] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class SimulateTraining(Source):
    """Options of ``simulate_training``."""

    job: Path | str
    _: KW_ONLY
    changes: Mapping[str, str] | None = None
    lb: Annotated[str | None, LB] = None
    qps: Annotated[int | None, Opt("Queue pairs per connection of jobs that say none.")] = None
    settings: Annotated[Iterable[str] | Mapping[str, str] | None, SET] = None
    scenario: Annotated[
        Path | str | None,
        Opt(
            "A scenario file of which faults, which have happened before and routes have followed, and background traffic count."
        ),
    ] = None
    others: Annotated[Path | str | None, Opt("A file of jobs that run beside these.")] = None
    background: Annotated[str | None, BACKGROUND] = None
    engine: Annotated[str, Opt("flow, or packet: what is sent takes as long as its packets alone did.")] = "flow"
    check_packets: Annotated[bool, Opt("Run packets too, beside flows (``checked``).")] = False
    fabric: Annotated[str | None, ON] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Check(Source):
    """Options of ``check``."""

    capture: Annotated[
        Path | str | None, Argument("Folder that `railweave collect` wrote; left out with --live and --lab.")
    ] = None
    _: KW_ONLY
    live: Annotated[bool, Opt("Ask the devices now, as `railweave collect` does.")] = False
    access: Annotated[
        Path | str | None, Opt("With --live, how devices are reached: access.yaml (docs/collect.md).")
    ] = None
    ask: Annotated[Sequence[str], Opt("With --live, ask this device alone; may be repeated.")] = ()
    servers: Annotated[bool, Opt("With --live, ask servers too.")] = False
    output: Annotated[
        Path | str | None, Opt("With --live, keep what devices said in this folder, as a capture.", letter="-o")
    ] = None
    redact: Annotated[
        bool, Opt("With --live, take keys, hashes and communities out of what is kept.", name="--redact/--no-redact")
    ] = True
    lab: Annotated[bool, Opt("Ask the routers of the lab of this file, which is up. Needs root.")] = False
    since: Annotated[
        Path | str | None, Opt("An earlier capture, to see by how much counters have risen since then.")
    ] = None
    only: Annotated[Sequence[str], Opt("Keep findings of this id alone; may be repeated.")] = ()
    all_routes: Annotated[bool, Opt("Compare every route that the capture has, not only examples.")] = False
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class Collect(Source):
    """Options of ``collect``."""

    folder: Annotated[
        Path | str | None, Opt("Folder for the capture; an earlier one is replaced.", letter="-o", name="--output")
    ] = None
    _: KW_ONLY
    access: Annotated[Path | str | None, Opt("How devices are reached: access.yaml (docs/collect.md).")] = None
    only: Annotated[Sequence[str], Opt("Ask this switch or server alone; may be repeated.")] = ()
    servers: Annotated[bool, Opt("Ask servers too.")] = False
    tables: Annotated[bool, Opt("Ask for whole tables of routes, not only for examples.", name="--all-routes")] = False
    redact: Annotated[
        bool, Opt("Take keys, hashes and communities out of what is written.", name="--redact/--no-redact")
    ] = True
    lab: Annotated[bool, Opt("Ask the devices of the lab of this file, which is up. Needs root.")] = False
    progress: Callable[[str], None] | None = None
