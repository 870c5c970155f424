"""Options of verbs that design, predict and compare, each with its help, unit and default. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from railweave.api.options import Argument, Opt
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

DEVICE = Opt(
    "Replace switch models and operating systems: ROLE=MODEL:NOS. Without MODEL, models stay if possible: leaf=:eos. Without ROLE=, all roles change. May be repeated."
)
HARDWARE = Opt(
    "Folder of hardware files with your own models (docs/hardware.md); a fabric file may also contain such models."
)
RUNNING = Opt(
    "Folder of configurations saved from switches (DEVICE/configuration.txt), to use instead of the designed configurations."
)
PRICES = Opt(
    "Price file: a price for each name in the bill of materials (docs/hardware.md). Adds the cost of the design."
)
COLLECTIVE = Opt("Collective: all-reduce (default), all-gather, reduce-scatter, broadcast, all-to-all or send-recv.")
SIZE = Opt(
    "Size in bytes, as in nccl-tests: one size (8G), a list (1M,16M,1G) or a range (8..16G); default 1G. Units are binary (unlike in `railweave flows`): 16M, 16MB and 16MiB are all 16 x 2^20.",
    kind=str | None,
)
MEASURED = Opt(
    "With --compare: CSV file of measured points; its columns are the compared names, and time_us or bus_bandwidth_GBps."
)
LB = Opt("Load balancing of the switches: ecmp, dlb, spray or rlb, with parameters (MODE:name=value,...).")
SET = Opt("Engine parameter, NAME=VALUE; may be repeated.", name="--set", kind=list[str])
BACKGROUND = Opt(
    "Background traffic, for example share=30%,ports=*:gpu0_eth,qps=4,packet=9000,to=intra-stripe; join several ports with +."
)
ON = Opt(
    "Fabric to use, if the network has several fabrics that connect GPUs; default: the fabric of the GPUs' own NICs."
)
HOSTS = Opt(
    "Servers in rank order: A,B,C-[1-4]; a number N for the first N; or stripes-alternate (one server of each stripe in turn). Default: all servers."
)
DEVICE_ACCESS = Opt("access.yaml, which defines how to reach devices (docs/collect.md).")
FABRIC = Argument("Fabric file or build folder.")
CSV = Opt("Write the table of the result to this CSV file.")
HTML = Opt("Write the result as an HTML page to this file.", letter="-o")


@dataclass(frozen=True)
class Source:
    """The network to work on: a fabric file, a build folder or a designed network, with optional replacements of its hardware."""

    source: Annotated[Network | Path | str, Argument("Fabric file or build folder.", "fabric")]
    _: KW_ONLY
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None

    def network(self) -> Network:
        """Return the designed network. Raises as ``load`` does."""
        from railweave.api.sources import network_of

        return network_of(self.source, self.device, self.hardware)


@dataclass(frozen=True)
class Build:
    """Options of ``build``."""

    fabric: Annotated[
        Path | str, Argument("Fabric file (NAME.yaml); NAME.inventory.csv and NAME.lock next to it are used.")
    ]
    out: Annotated[Path | str, Opt("Output folder; it is replaced completely or not at all.", letter="-o")]
    _: KW_ONLY
    secrets: Annotated[
        Path | str | None,
        Opt(
            "YAML file of secrets, with lines of the form NAME: value. Each value replaces secret:NAME in device files."
        ),
    ] = None
    compact: Annotated[bool, Opt("Free the slots of removed names, so that new names can use them.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    prices: Annotated[Path | str | None, PRICES] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Diff:
    """Options of ``diff``."""

    old: Annotated[Network | Path | str, FABRIC]
    new: Annotated[
        Network | Path | str,
        Argument(
            "Fabric file or build folder; a fabric file is designed with OLD's lock; if NEW has no inventory, also with OLD's inventory."
        ),
    ]
    _: KW_ONLY
    device: Annotated[
        Sequence[str],
        Opt("Replace switch models or systems in both files, as for `build`, to show the change on those switches."),
    ] = ()
    old_device: Annotated[Sequence[str], Opt("Replace switch models or systems in OLD only.")] = ()
    new_device: Annotated[
        Sequence[str], Opt("Replace switch models or systems in NEW only; NEW may then be the same file as OLD.")
    ] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class Paths(Source):
    """Options of ``paths``."""

    src: Annotated[str, Opt("Source NIC: SERVER:NIC, or SERVER:PORT+PORT for a NIC with several ports.")]
    dst: Annotated[str, Opt("Destination NIC: SERVER:NIC, or SERVER:PORT+PORT for a NIC with several ports.")]
    qps: Annotated[int, Opt("Number of queue pairs of the connection.")] = 1
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
            "Root folder that contains FRR (`make validators`), if vtysh is not installed.",
            envvar="RAILWEAVE_FRR_ROOT",
        ),
    ] = None
    netplan_root: Annotated[
        Path | str | None,
        Opt(
            "Root folder that contains netplan (`make validators`), if it is not installed.",
            envvar="RAILWEAVE_NETPLAN_ROOT",
        ),
    ] = None
    sonic_yang: Annotated[
        Path | str | None,
        Opt(
            "Folder of published SONiC YANG models (src/sonic-yang-models of sonic-buildimage): either a folder for each branch (202505, master), or the models of a single branch.",
            envvar="RAILWEAVE_SONIC_YANG",
        ),
    ] = None
    every: Annotated[
        bool,
        Opt(
            "Validate every file. Default: if a slow validator has more than 64 files, it validates a sample of 64 with every kind of file."
        ),
    ] = False
    running: Annotated[Path | str | None, RUNNING] = None
    design_only: Annotated[bool, Opt("Check only the design of a build folder, not its files.")] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Traffic(Source):
    """Options that a prediction and a grid of predictions share: the traffic, the fabric, the servers and the engine."""

    _: KW_ONLY
    qps: Annotated[
        int | None,
        Opt("Queue pairs per connection; default: the number in the fabric file (hosts.job), else one per path color."),
    ] = None
    nccl: Annotated[
        Iterable[str] | Mapping[str, str], Opt("NCCL parameter, KEY=VALUE; may be repeated.", kind=list[str])
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
    scenario: Annotated[Path | str | None, Opt("Scenario file: traffic, background, overrides, faults.")] = None
    hosts: Annotated[
        str | None,
        HOSTS,
    ] = None
    per_host: Annotated[
        int | None, Opt("Processes per server; they share the server's GPUs. Default: one process per GPU.", least=1)
    ] = None
    fib: Annotated[
        Path | str | None, Opt("File of exported forwarding tables (`lab fib`), to use instead of the computed tables.")
    ] = None
    tenant: Annotated[str | None, Opt("Tenant that owns the job (multi-tenant networks).")] = None
    fabric: Annotated[
        str | None,
        ON,
    ] = None
    engine: Annotated[
        Literal["auto", "packet", "flow"],
        Opt("Engine: packet, flow, or auto (packet up to an estimated 200 million packet hops, flow above).", kind=str),
    ] = "auto"
    exact: Annotated[
        bool,
        Opt(
            "Simulate all packets. Default: a long run stops as soon as its rounds repeat, and the remaining time is extrapolated."
        ),
    ] = False
    configs: Mapping[str, DeviceConfig] | None = None

    def asked(self, collective: str | None, size: int | str | None) -> dict[str, Any]:
        """Return the options as ``questions`` and ``answer`` take them (``given``). Raises ``InputError`` if a setting is not KEY=VALUE."""
        from railweave.api.sources import path_of
        from railweave.prediction.simulation.settings import by_name

        return {
            "collective": collective,
            "size": size,
            "qps": self.qps,
            "nccl": by_name(self.nccl, "--nccl"),
            "lb": self.lb,
            "settings": by_name(self.settings, "--set"),
            "background": self.background,
            "scenario": path_of(self.scenario),
            "hosts": self.hosts,
            "per_host": self.per_host,
            "fib": path_of(self.fib),
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
        Opt(
            "Number of seeds to simulate in parallel; the result shows the median and the range over all seeds.",
            least=1,
        ),
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
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class SimulateTraining(Source):
    """Options of ``simulate_training``."""

    job: Path | str
    _: KW_ONLY
    changes: Mapping[str, str] | None = None
    lb: Annotated[str | None, LB] = None
    qps: Annotated[int | None, Opt("Queue pairs per connection, for jobs that do not set it.")] = None
    settings: Annotated[Iterable[str] | Mapping[str, str] | None, SET] = None
    scenario: Annotated[
        Path | str | None,
        Opt("Scenario file; its background traffic counts, and its faults, after routing has converged."),
    ] = None
    others: Annotated[Path | str | None, Opt("File of other jobs that run at the same time.")] = None
    background: Annotated[str | None, BACKGROUND] = None
    engine: Annotated[
        str,
        Opt("Engine: flow, or packet (each transfer takes the time that its packets take without other transfers)."),
    ] = "flow"
    check_packets: Annotated[bool, Opt("Simulate packets as well as flows (``checked``).")] = False
    fabric: Annotated[str | None, ON] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Check(Source):
    """Options of ``check``."""

    capture: Annotated[
        Path | str | None, Argument("Folder written by `railweave collect`; omit it with --live or --lab.")
    ] = None
    _: KW_ONLY
    live: Annotated[bool, Opt("Query the devices now, like `railweave collect`.")] = False
    access: Annotated[
        Path | str | None, Opt("With --live: access.yaml, which defines how to reach devices (docs/collect.md).")
    ] = None
    ask: Annotated[Sequence[str], Opt("With --live: query only this device; may be repeated.")] = ()
    servers: Annotated[bool, Opt("With --live: query servers too.")] = False
    output: Annotated[
        Path | str | None, Opt("With --live: save the answers as a capture in this folder.", letter="-o")
    ] = None
    redact: Annotated[
        bool,
        Opt(
            "With --live: remove keys, hashes and communities from the saved answers; this is the default.",
            name="--redact/--no-redact",
        ),
    ] = True
    lab: Annotated[bool, Opt("Query the running lab of FABRIC instead of real devices. Needs root.")] = False
    since: Annotated[Path | str | None, Opt("Earlier capture; check compares its counters with the new counters.")] = (
        None
    )
    only: Annotated[Sequence[str], Opt("Report only findings with this id; may be repeated.")] = ()
    all_routes: Annotated[
        bool,
        Opt("Compare every route, not only example routes; with --live or --lab, also query complete routing tables."),
    ] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Collect(Source):
    """Options of ``collect``."""

    folder: Annotated[
        Path | str | None, Opt("Folder for the capture; an earlier capture is replaced.", letter="-o", name="--output")
    ] = None
    _: KW_ONLY
    access: Annotated[Path | str | None, DEVICE_ACCESS] = None
    only: Annotated[Sequence[str], Opt("Query only this switch or server; may be repeated.")] = ()
    servers: Annotated[bool, Opt("Query servers too.")] = False
    tables: Annotated[bool, Opt("Query complete routing tables, not only example routes.", name="--all-routes")] = False
    redact: Annotated[
        bool,
        Opt(
            "Remove keys, hashes and communities from the saved answers; this is the default.",
            name="--redact/--no-redact",
        ),
    ] = True
    lab: Annotated[bool, Opt("Query the running lab of FABRIC instead of real devices. Needs root.")] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DriftOptions(Source):
    """Options of ``drift``."""

    capture: Annotated[Path | str, Argument("Folder of configurations saved from switches (DEVICE/configuration.txt).")]
    _: KW_ONLY
    only: Annotated[Sequence[str], Opt("Compare only this switch; may be repeated.")] = ()
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class FillInventory:
    """Options of ``fill_inventory``."""

    fabric: Annotated[Path | str, Argument("Fabric file; NAME.inventory.csv next to it is filled in.")]
    capture: Annotated[Path | str, Argument("Folder written by `railweave collect`.")]
    _: KW_ONLY
    write: Annotated[bool, Opt("Write the inventory; default: only show how it would change.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
