"""The options of every verb, each with its help, unit and default: see ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from railweave.api.options import Argument, Opt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Memory, Plan
    from railweave.operations.bench.running.pair import Launcher
    from railweave.operations.deploy.traffic import Quiet
    from railweave.operations.deploy.upgrading import Patience

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
FABRIC_FILE = Argument("Fabric file.")
LAB = Opt("The devices of the lab of this fabric file, which is up; needs root.")
ACCESS = Opt("How switches are reached: access.yaml (docs/collect.md).")
ONE_SWITCH = Opt("This switch alone; may be repeated.")
ONE_DEVICE = Opt("This device alone; may be repeated.")
APPLY = Opt("Write the proposed values into the fabric file.")
RAN_ON = Opt("Fabric file or build folder of the network that it ran on.")
SECRETS = Opt("YAML file of NAME: value for the secrets that the plan refers to.")
WHAT = Argument(
    "A switch, a server, a link as A--B or SERVER:NIC, as in cabling.csv; or a path color. May be several.",
    kind=list[str],
)
WAVE_SHARE = Opt("Share of the network (0 to 1) that a wave may take out while it is changed.", least=0, most=1)
CONFIRM = Opt("Seconds after which a switch goes back by itself if nothing confirms.", least=60, most=86_000)
SETTLE = Opt("Seconds that the network may take after a wave to be as it must be.", least=0)
WAIT_FOR = Opt("Command that must end with 0 before each wave in which servers change or lose NICs.")
WAIT_FOR_S = Opt("Seconds that --wait-for may take.", least=0)
PREDICTED_WITH = Opt("Fabric file or build folder: what nothing was predicted of is predicted, GIDs become NICs.")
TOLERANCE = Opt("Part by which a number may be worse, as 0.05; default: beside a prediction as planned, else 0.05.")
STORE = Opt("A file, made where it is not there, or postgresql://USER@HOST/NAME.", kind=str)
HTML = Opt("Draw the result as one HTML page, into this file.", letter="-o")


def _none(_: str) -> None:
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
    progress: Callable[[str], None] = _none


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
    progress: Callable[[str], None] = _none


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


@dataclass(frozen=True)
class FleetCheck(Source):
    """Options of ``fleet_check``."""

    _: KW_ONLY
    hosts: Annotated[str | None, Opt("Servers to look at, as H100-[01-04]; all where absent.")] = None
    access: Annotated[Path | str | None, Opt("How servers are reached: access.yaml (docs/collect.md).")] = None
    only: Annotated[Sequence[str], Opt("This check, or all of a subject (docs/checks.md); may be repeated.")] = ()
    sudo: Annotated[bool, Opt("Run as root by `sudo -n`, which must ask for no password.")] = False
    at_once: Annotated[int, Opt("How many servers are looked at together.", least=1, most=512)] = 32
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class FleetMesh(Source):
    """Options of ``fleet_mesh``."""

    _: KW_ONLY
    hosts: Annotated[str | None, Opt("Servers that send, as H100-[01-04]; all where absent.")] = None
    access: Annotated[Path | str | None, Opt("How servers are reached: access.yaml (docs/collect.md).")] = None
    sudo: Annotated[bool, Opt("Run as root by `sudo -n`, which must ask for no password.")] = False
    at_once: Annotated[int, Opt("How many servers send together.", least=1, most=512)] = 64
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class TuneRun:
    """Options of ``tune_run``."""

    study: Annotated[Path | str, Argument("Study file: goal, limits and knobs (docs/tune.md).")]
    _: KW_ONLY
    output: Annotated[
        Path | str | None, Opt("Folder of the study's files; default: NAME.tune beside the study file.", letter="-o")
    ] = None
    workers: Annotated[
        int | None, Opt("Processes; default: one a core. The result does not depend on it.", least=1, most=1024)
    ] = None
    ray: Annotated[
        str | None, Opt("Simulate on a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, or local to start one here.")
    ] = None
    trials: Annotated[int | None, Opt("Trials in place of the study file's number.", least=1, most=100_000)] = None
    take: Annotated[int | None, Opt("Make the patch of this trial, as of one of the frontier.", least=0)] = None
    apply: Annotated[bool, APPLY] = False
    fresh: Annotated[bool, Opt("Begin again: trials that the folder has are forgotten.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    access: Annotated[
        Path | str | None, Opt("access.yaml, where the study measures on hardware; default: names as in the design.")
    ] = None
    lab: Annotated[bool, Opt("Hardware is the lab of this fabric file, which is up.")] = False
    secrets: Annotated[
        Path | str | None, Opt("Values of secrets, which switches are given with a trial: NAME: value.")
    ] = None
    progress: Callable[[str], None] = _none


@dataclass(frozen=True)
class TuneDiagnose:
    """Options of ``tune_diagnose``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    capture: Annotated[Path | str, Argument("Folder that `railweave collect` wrote after the load.")]
    _: KW_ONLY
    since: Annotated[Path | str, Opt("An earlier capture: counters are compared with it.")]
    slow_jobs: Annotated[bool, Opt("Jobs are slower than predicted: ECN marks without PFC are a symptom too.")] = False
    rehearse: Annotated[bool, Opt("Run the step in the simulator first.", name="--rehearse/--no-rehearse")] = True
    collective: Annotated[str, Opt("What is run in the simulator.")] = "all-to-all"
    size: Annotated[int | str, Opt("Its size, as nccl-tests counts it.", kind=str)] = "16M"
    servers: Annotated[int | None, Opt("How many servers take part; default: those of 64 GPUs.", least=2)] = None
    tenant: Annotated[
        str | None, Opt("Tenant that owns them (multi-tenant networks); default: the one with the most NICs.")
    ] = None
    apply: Annotated[bool, Opt("Write the step, unless the simulator says that it is worse.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] = _none


@dataclass(frozen=True)
class BenchRun:
    """Options of ``bench_run``."""

    plan: Annotated[Plan | Path | str, Argument("The file of `railweave bench plan`.")]
    store: Annotated[Path | str, STORE]
    _: KW_ONLY
    fabric: Annotated[
        Network | Path | str | None,
        Opt("Fabric file or build folder, where it is not where the plan says.", kind=Path | None),
    ] = None
    access: Annotated[
        Path | str | None, Opt("How servers are reached: access.yaml (docs/collect.md); by their names without it.")
    ] = None
    only: Annotated[
        Sequence[str],
        Opt(
            "A run or a part of the plan, as mesh or 'pairs/*'; may be repeated. Runs that need something set first are left out unless named."
        ),
    ] = ()
    again: Annotated[bool, Opt("Also runs that the store has of this plan.")] = False
    failed: Annotated[bool, Opt("Also runs that the store has of this plan, if they failed.")] = False
    launcher: Annotated[Launcher, Opt("What starts collectives: mpirun or srun.", kind=str)] = "mpirun"
    launch_on: Annotated[
        str | None,
        Opt("The server that it is started on, or here; default: mpirun on the first server of the run, srun here."),
    ] = None
    ranks: Annotated[str | None, Opt("What starts each rank, before -- PROGRAM; default: railweave host env.")] = None
    mpi_script: Annotated[
        Path | str | None, Opt("A script in the place of the mpirun.sh that `railweave build` writes.")
    ] = None
    srun_options: Annotated[
        Sequence[str], Opt("A word for srun, as --partition=gpu; may be repeated.", name="--srun-option")
    ] = ()
    perftest: Annotated[str, Opt("The folder of perftest on servers; default: on their path.")] = ""
    nccl_tests: Annotated[str, Opt("The folder of nccl-tests or rccl-tests on servers; default: on their path.")] = ""
    at_once: Annotated[int, Opt("Runs at the same time, of those that may be.", least=1, most=4096)] = 256
    timeout_s: Annotated[
        float | None, Opt("Seconds after which a run is ended; default: as planned.", name="--timeout", least=1)
    ] = None
    host_check: Annotated[
        bool, Opt("Whether `host check` runs on the servers before, and is kept.", name="--host-check/--no-host-check")
    ] = True
    sudo: Annotated[bool, Opt("`host check` as root by `sudo -n`, which must ask for no password.")] = False
    outputs: Annotated[Path | str | None, Opt("The folder for what programs print; default: STORE.outputs.")] = None
    dry_run: Annotated[bool, Opt("Show what would be run; nothing is asked, nothing is written.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    meanwhile: Callable[[], Awaitable[None]] | None = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class BenchPlan(Source):
    """Options of ``bench_plan``."""

    suite: Annotated[str, Opt("quick, acceptance, knobs, table12, table1.3 or fifty-km.")] = "quick"
    _: KW_ONLY
    hosts: Annotated[
        str | None,
        Opt("Servers in the order of their ranks: A,B,C-[1-4]; the first N; or stripes-alternate. Default: all."),
    ] = None
    memory: Annotated[
        Memory | None,
        Opt("Where perftest's buffers lie: host, cuda or rocm; default: in the GPUs beside the NICs.", kind=str | None),
    ] = None
    fabric: Annotated[
        str | None,
        Opt("The fabric that is proved, where there are several; else that of the GPUs' own NICs."),
    ] = None
    parts: Annotated[
        Sequence[str], Opt("A part of the suite, as mesh; may be repeated; default: all.", name="--part")
    ] = ()
    predict: Annotated[bool, Opt("Whether to predict what each run should give.", name="--predict/--no-predict")] = True
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployReplace:
    """Options of ``deploy_replace``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[str, Argument("A switch, a server, or a NIC as SERVER:NIC, as the inventory names it.")]
    _: KW_ONLY
    serial: Annotated[str, Opt("Serial number of the new one.")] = ""
    mac: Annotated[str, Opt("MAC address of the new NIC, as a0:88:c2:3b:50:66.")] = ""
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployDrain:
    """Options of ``deploy_drain``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[
        Sequence[str],
        WHAT,
    ]
    _: KW_ONLY
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    force: Annotated[
        bool, Opt("Though a path color, a plane, a tenant or a NIC would be gone; the plan says which.")
    ] = False
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployUndrain:
    """Options of ``deploy_undrain``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[
        Sequence[str],
        WHAT,
    ]
    _: KW_ONLY
    again: bool = False
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployUpgrade:
    """Options of ``deploy_upgrade``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    release: Annotated[str, Opt("The release that must run afterwards, as 25.4R1.")]
    _: KW_ONLY
    image: Annotated[
        str,
        Opt(
            "A file of this machine, which is copied to each switch, or a URL that the switches reach; with --lab another FRRouting's root folder."
        ),
    ] = ""
    only: Annotated[Sequence[str], ONE_SWITCH] = ()
    batch: Annotated[int, Opt("Switches that are out together, at most.", least=1)] = 1
    max_unavailable: Annotated[
        float, Opt("Share of the network (0 to 1) that a batch may take out.", least=0, most=1)
    ] = 0.5
    force: Annotated[
        bool, Opt("Though a path color, a plane, a tenant or a NIC is gone meanwhile; the plan says which.")
    ] = False
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployZtp:
    """Options of ``deploy_ztp``."""

    fabric: Annotated[Path | str, Argument("Fabric file; NAME.inventory.csv beside it has the serial numbers.")]
    out: Annotated[
        Path | str, Opt("Folder to write. It holds secrets: only you can read it.", name="--output", letter="-o")
    ]
    url: Annotated[str, Opt("Where switches find the folder: http://ADDRESS:PORT. Without it, what --serve says.")] = ""
    _: KW_ONLY
    whole: Annotated[bool, Opt("The full configuration, not only what `deploy apply` needs to reach a switch.")] = False
    image: Annotated[Sequence[str], Opt("Image to run, as SYSTEM=FILE; may be repeated.")] = ()
    only: Annotated[Sequence[str], ONE_SWITCH] = ()
    interface: Annotated[str, Opt("Where the DHCP server listens; * for every interface.")] = "*"
    secrets: Annotated[
        Path | str | None, Opt("YAML file of NAME: value for the secrets that the configuration refers to.")
    ] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class DeployPlan:
    """Options of ``deploy_plan``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    capture: Annotated[Path | str | None, Argument("Folder of configurations saved from switches.")] = None
    _: KW_ONLY
    live: Annotated[bool, Opt("Ask every switch for its configuration now.")] = False
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    only: Annotated[Sequence[str], ONE_DEVICE] = ()
    max_unavailable: Annotated[float, WAVE_SHARE] = 0.5
    canary: Annotated[bool, Opt("Change one switch alone first.", name="--canary/--no-canary")] = True
    servers: Annotated[bool, Opt("Servers too, by their host.json; as root.", name="--servers/--no-servers")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployApply:
    """Options of ``deploy_apply``."""

    plan: Annotated[Path | str, Argument("File that `deploy plan` wrote.")]
    _: KW_ONLY
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    secrets: Annotated[Path | str | None, SECRETS] = None
    confirm_within: Annotated[int, CONFIRM] = 600
    settle: Annotated[float, SETTLE] = 60
    dry_run: Annotated[bool, Opt("Stop after every switch has tried its change and discarded it.")] = False
    wait_for: Annotated[str | None, WAIT_FOR] = None
    wait_for_timeout: Annotated[float, WAIT_FOR_S] = 3600
    quiet: Quiet | None = None
    patience: Patience | None = None
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployStatus:
    """Options of ``deploy_status``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    _: KW_ONLY
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class DeployResume:
    """Options of ``deploy_resume``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    _: KW_ONLY
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    secrets: Annotated[Path | str | None, SECRETS] = None
    settle: Annotated[float, SETTLE] = 60
    confirm_within: Annotated[int, CONFIRM] = 600
    back: Annotated[bool, Opt("Bring the unfinished wave back and stop; waves that were confirmed stay.")] = False
    wait_for: Annotated[str | None, WAIT_FOR] = None
    wait_for_timeout: Annotated[float, WAIT_FOR_S] = 3600
    quiet: Quiet | None = None
    patience: Patience | None = None
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DeployRollback:
    """Options of ``deploy_rollback``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    revision: Annotated[int, Argument("Its number, as `deploy history` lists it.")]
    _: KW_ONLY
    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    only: Annotated[Sequence[str], ONE_DEVICE] = ()
    max_unavailable: Annotated[float, WAVE_SHARE] = 0.5
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class DriftOptions(Source):
    """Options of ``drift``."""

    capture: Annotated[Path | str, Argument("Folder of configurations saved from switches (DEVICE/configuration.txt).")]
    _: KW_ONLY
    only: Annotated[Sequence[str], Opt("Compare this switch alone; may be repeated.")] = ()
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class FillInventory:
    """Options of ``fill_inventory``."""

    fabric: Annotated[Path | str, Argument("Fabric file; NAME.inventory.csv beside it is filled.")]
    capture: Annotated[Path | str, Argument("Folder that `railweave collect` wrote.")]
    _: KW_ONLY
    write: Annotated[bool, Opt("Write the file; without it the difference is only shown.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class TuneByRule:
    """Options of ``tune_headroom`` and ``tune_watchdog``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    _: KW_ONLY
    apply: Annotated[bool, APPLY] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class BenchReport:
    """Options of ``bench_report``."""

    store: Annotated[
        Path | str, Argument("The store: a file, postgresql://USER@HOST/NAME, or STORE#RUN for one run.", kind=str)
    ]
    _: KW_ONLY
    baseline: Annotated[
        Path | str | None,
        Opt("Earlier results to look for regressions against: a store, or a run of this one.", kind=str | None),
    ] = None
    fabric: Annotated[
        Network | Path | str | None,
        PREDICTED_WITH,
    ] = None
    tolerance: Annotated[
        float | None,
        TOLERANCE,
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class BenchCompare:
    """Options of ``bench_compare``."""

    a: Annotated[
        Path | str, Argument("A store, or STORE#RUN: what was before, or with --predicted what is judged.", kind=str)
    ]
    b: Annotated[
        Path | str | None, Argument("What is judged: a store, STORE#RUN, or a run of the store of A.", kind=str | None)
    ] = None
    _: KW_ONLY
    predicted: Annotated[bool, Opt("Judge A by what was predicted of it.")] = False
    fabric: Annotated[
        Network | Path | str | None,
        PREDICTED_WITH,
    ] = None
    tolerance: Annotated[
        float | None,
        TOLERANCE,
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] | None = None


@dataclass(frozen=True)
class BenchImport:
    """Options of ``bench_import``."""

    files: Annotated[
        Sequence[Path | str],
        Argument(
            "Outputs of perftest, nccl-tests, rccl-tests, NCCL_DEBUG=INFO, MLPerf; tables as CSV.", kind=list[Path]
        ),
    ]
    store: Annotated[Path | str, STORE]
    _: KW_ONLY
    fabric: Annotated[Network | Path | str | None, RAN_ON] = None
    gbits: Annotated[
        bool | None,
        Opt(
            "The unit of perftest's JSON, which does not say it; where it is left out the message rate decides.",
            name="--report-gbits/--report-mib",
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class BenchTriage:
    """Options of ``bench_triage``."""

    files: Annotated[
        Sequence[Path | str], Argument("Outputs of runs, with NCCL_DEBUG=INFO where it is about NCCL.", kind=list[Path])
    ]
    _: KW_ONLY
    fabric: Annotated[Network | Path | str | None, RAN_ON] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
