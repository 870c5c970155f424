"""Options of verbs that work on what runs: fleets, benchmarks, tuning, deployment. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from railweave.api.options import Argument, Opt
from railweave.api.verbs import DEVICE, HARDWARE, Source, silent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Memory, Plan
    from railweave.operations.bench.running.pair import Launcher
    from railweave.operations.deploy.traffic import Quiet
    from railweave.operations.deploy.upgrading import Patience

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
    progress: Callable[[str], None] = silent


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
    progress: Callable[[str], None] = silent


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
