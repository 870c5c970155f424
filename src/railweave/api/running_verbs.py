"""Options of verbs that work on running systems: fleets, benchmarks, tuning, deployment. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from railweave.api.options import Argument, Opt
from railweave.api.verbs import DEVICE, HARDWARE, HOSTS, Source
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Memory, Plan
    from railweave.operations.bench.running.pair import Launcher
    from railweave.operations.deploy.traffic import IdleLimit
    from railweave.operations.deploy.upgrading import UpgradeTimeouts

FABRIC_FILE = Argument("Fabric file.")
LAB = Opt("Use the running lab of this network instead of the real devices. Needs root.")
ACCESS = Opt("access.yaml, which defines how to reach switches (docs/collect.md).")
ONE_SWITCH = Opt("Only this switch; may be repeated.")
ONE_DEVICE = Opt("Only this device; may be repeated.")
SERVER_ACCESS = Opt("access.yaml, which defines how to reach servers (docs/collect.md).")
SUDO = Opt("Run as root with `sudo -n`, which must not ask for a password.")
APPLY = Opt("Write the proposed values into the fabric file.")
RAN_ON = Opt("Fabric file or build folder of the network that was benchmarked.")
SECRETS = Opt("YAML file of the secrets in the plan, with lines of the form NAME: value.")
WHAT = Argument(
    "One or more switches, servers, links (A--B or SERVER:NIC, as in cabling.csv) or path colors.",
    kind=list[str],
)
WAVE_SHARE = Opt("Largest share of the network (0 to 1) that one wave may take out of service.", least=0, most=1)
CONFIRM = Opt(
    "Rollback timer: seconds after which a switch reverts on its own if the change is not confirmed.",
    least=60,
    most=86_000,
)
SETTLE = Opt("Seconds to wait for the network to converge after each wave.", least=0)
WAIT_FOR = Opt(
    "Command that must exit with 0 before each wave in which servers change or lose NICs, for example to free them of jobs."
)
WAIT_FOR_S = Opt("Time limit of --wait-for, in seconds.", least=0)
PREDICTED_WITH = Opt(
    "Fabric file or build folder, used to predict runs that have no prediction and to name NICs by their GIDs."
)
TOLERANCE = Opt(
    "Fraction by which a result may be worse, for example 0.05; default: the plan's tolerance if a run has a prediction, else 0.05."
)
STORE = Opt("Store: a file (created if missing), or postgresql://USER@HOST/NAME.", kind=str)


@dataclass(frozen=True)
class FleetCheck(Source):
    """Options of ``fleet_check``."""

    _: KW_ONLY
    hosts: Annotated[str | None, Opt("Servers to check, for example H100-[01-04]; default: all.")] = None
    access: Annotated[Path | str | None, SERVER_ACCESS] = None
    only: Annotated[
        Sequence[str], Opt("Only this check, or only the checks of a subject (docs/checks.md); may be repeated.")
    ] = ()
    sudo: Annotated[bool, SUDO] = False
    at_once: Annotated[int, Opt("Number of servers to check in parallel.", least=1, most=512)] = 32
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class FleetMesh(Source):
    """Options of ``fleet_mesh``."""

    _: KW_ONLY
    hosts: Annotated[str | None, Opt("Servers that send, for example H100-[01-04]; default: all.")] = None
    access: Annotated[Path | str | None, SERVER_ACCESS] = None
    sudo: Annotated[bool, SUDO] = False
    at_once: Annotated[int, Opt("Number of servers that send in parallel.", least=1, most=512)] = 64
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class TuneRun:
    """Options of ``tune_run``."""

    study: Annotated[Path | str, Argument("Study file: goal, limits and knobs (docs/tune.md).")]
    _: KW_ONLY
    output: Annotated[
        Path | str | None, Opt("Folder for the study's files; default: NAME.tune next to the study file.", letter="-o")
    ] = None
    workers: Annotated[
        int | None,
        Opt(
            "Number of processes; default: one per core. The number of processes does not change the result.",
            least=1,
            most=1024,
        ),
    ] = None
    ray: Annotated[
        str | None,
        Opt(
            "Simulate on the Ray cluster at this address: auto, HOST:PORT or ray://HOST:PORT. With local, start a cluster here."
        ),
    ] = None
    trials: Annotated[int | None, Opt("Number of trials; overrides the study file.", least=1, most=100_000)] = None
    take: Annotated[
        int | None,
        Opt("Number of the trial to make the patch from, for example a trial on the Pareto frontier.", least=0),
    ] = None
    apply: Annotated[bool, APPLY] = False
    fresh: Annotated[bool, Opt("Start over and discard existing trials.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    access: Annotated[
        Path | str | None,
        Opt(
            "access.yaml, which defines how to reach devices if trials run on hardware; default: by their names in the design."
        ),
    ] = None
    lab: Annotated[bool, Opt("Measure in the running lab of the study's fabric file.")] = False
    secrets: Annotated[
        Path | str | None,
        Opt("YAML file of the secrets in the configurations of a trial, with lines of the form NAME: value."),
    ] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class TuneDiagnose:
    """Options of ``tune_diagnose``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    capture: Annotated[Path | str, Argument("Folder written by `railweave collect` after the load.")]
    _: KW_ONLY
    since: Annotated[Path | str, Opt("Earlier capture, to calculate how much each counter increased.")]
    slow_jobs: Annotated[
        bool, Opt("Use this if jobs are slower than predicted: ECN marks without PFC then also count as a symptom.")
    ] = False
    rehearse: Annotated[
        bool,
        Opt("Simulate the proposed step before it is reported; this is the default.", name="--rehearse/--no-rehearse"),
    ] = True
    collective: Annotated[str, Opt("Collective to simulate.")] = "all-to-all"
    size: Annotated[int | str, Opt("Size of the collective, as in nccl-tests.", kind=str)] = "16M"
    servers: Annotated[
        int | None,
        Opt("Number of servers that take part; default: as many as have 64 GPUs together, but at least 2.", least=2),
    ] = None
    tenant: Annotated[
        str | None, Opt("Tenant that owns the servers (multi-tenant networks); default: the tenant with the most NICs.")
    ] = None
    apply: Annotated[
        bool, Opt("Write the proposed step into the fabric file, unless the simulator predicts a worse result.")
    ] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class BenchRun:
    """Options of ``bench_run``."""

    plan: Annotated[Plan | Path | str, Argument("Plan file written by `railweave bench plan`.")]
    store: Annotated[Path | str, STORE]
    _: KW_ONLY
    fabric: Annotated[
        Network | Path | str | None,
        Opt("Fabric file or build folder, if it is no longer at the path that the plan records.", kind=Path | None),
    ] = None
    access: Annotated[
        Path | str | None,
        Opt("access.yaml, which defines how to reach servers (docs/collect.md); default: connect by server name."),
    ] = None
    only: Annotated[
        Sequence[str],
        Opt(
            "Run only this run or part of the plan, for example mesh or 'pairs/*'; may be repeated. Without --only, runs that require a settings change first are skipped."
        ),
    ] = ()
    again: Annotated[bool, Opt("Repeat runs that are already in the store.")] = False
    failed: Annotated[bool, Opt("Repeat runs that are already in the store and failed.")] = False
    launcher: Annotated[Launcher, Opt("Launcher of collectives: mpirun or srun.", kind=str)] = "mpirun"
    launch_on: Annotated[
        str | None,
        Opt(
            "Server that starts the launcher, or `here` for this machine. Default: for mpirun the first server of the run, for srun `here`."
        ),
    ] = None
    ranks: Annotated[
        str | None, Opt("Command in front of PROGRAM that each rank runs; default: `railweave host env`.")
    ] = None
    mpi_script: Annotated[
        Path | str | None, Opt("Script to use instead of the mpirun.sh that `railweave build` writes.")
    ] = None
    srun_options: Annotated[
        Sequence[str], Opt("Option for srun, for example --partition=gpu; may be repeated.", name="--srun-option")
    ] = ()
    perftest: Annotated[str, Opt("Folder of perftest on the servers; default: search the PATH of each server.")] = ""
    nccl_tests: Annotated[
        str, Opt("Folder of nccl-tests or rccl-tests on the servers; default: search the PATH of each server.")
    ] = ""
    at_once: Annotated[int, Opt("Largest number of runs at the same time.", least=1, most=4096)] = 256
    timeout_s: Annotated[
        float | None, Opt("Time limit of a run, in seconds; default: the limit in the plan.", name="--timeout", least=1)
    ] = None
    host_check: Annotated[
        bool,
        Opt(
            "Run `host check` on the servers first and store its result; this is the default.",
            name="--host-check/--no-host-check",
        ),
    ] = True
    sudo: Annotated[bool, Opt("Run `host check` as root with `sudo -n`, which must not ask for a password.")] = False
    outputs: Annotated[
        Path | str | None, Opt("Folder for the output of the benchmark programs; default: STORE.outputs.")
    ] = None
    dry_run: Annotated[bool, Opt("Show the commands without running them; contacts no server and writes nothing.")] = (
        False
    )
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    meanwhile: Callable[[], Awaitable[None]] | None = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class BenchPlan(Source):
    """Options of ``bench_plan``."""

    suite: Annotated[str, Opt("Suite: quick, acceptance, knobs, table12, table1.3 or fifty-km.")] = "quick"
    _: KW_ONLY
    hosts: Annotated[
        str | None,
        HOSTS,
    ] = None
    memory: Annotated[
        Memory | None,
        Opt(
            "Memory for perftest's buffers: host, cuda or rocm. Default: GPU memory if both NICs have GPUs of the same vendor, else host.",
            kind=str | None,
        ),
    ] = None
    fabric: Annotated[
        str | None,
        Opt("Fabric to measure, if there are several; default: the fabric of the GPUs' own NICs."),
    ] = None
    parts: Annotated[
        Sequence[str],
        Opt("Only this part of the suite, for example mesh; may be repeated; default: all.", name="--part"),
    ] = ()
    predict: Annotated[
        bool, Opt("Predict the result of each run; this is the default.", name="--predict/--no-predict")
    ] = True
    progress: Callable[[str], None] = silent


@dataclass(frozen=True, kw_only=True)
class Reaching:
    """Options for reaching the devices of a network that is changed."""

    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True, kw_only=True)
class Rollout(Reaching):
    """Options for carrying out a plan: its timers, its wait conditions and its secrets."""

    secrets: Annotated[Path | str | None, SECRETS] = None
    confirm_within: Annotated[int, CONFIRM] = 600
    settle: Annotated[float, SETTLE] = 60
    wait_for: Annotated[str | None, WAIT_FOR] = None
    wait_for_timeout: Annotated[float, WAIT_FOR_S] = 3600
    idle_limit: IdleLimit | None = None
    upgrade_timeouts: UpgradeTimeouts | None = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployReplace(Reaching):
    """Options of ``deploy_replace``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[str, Argument("A switch, a server, or a NIC (SERVER:NIC), as named in the inventory.")]
    _: KW_ONLY
    serial: Annotated[str, Opt("Serial number of the replacement.")] = ""
    mac: Annotated[str, Opt("MAC address of the new NIC, for example a0:88:c2:3b:50:66.")] = ""
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployDrain(Reaching):
    """Options of ``deploy_drain``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[Sequence[str], WHAT]
    _: KW_ONLY
    force: Annotated[
        bool, Opt("Allow the plan to cut off path colors, planes, tenants or NICs; the plan lists what it cuts off.")
    ] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployUndrain(Reaching):
    """Options of ``deploy_undrain``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[Sequence[str], WHAT]
    _: KW_ONLY
    again: bool = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployUpgrade(Reaching):
    """Options of ``deploy_upgrade``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    release: Annotated[str, Opt("Release to install, for example 25.4R1.")]
    _: KW_ONLY
    image: Annotated[
        str,
        Opt(
            "Image file to copy from this machine to each switch, or a URL that the switches can reach. With --lab: root folder of a different FRR version."
        ),
    ] = ""
    only: Annotated[Sequence[str], ONE_SWITCH] = ()
    batch: Annotated[int, Opt("Largest number of switches out of service at the same time.", least=1)] = 1
    max_unavailable: Annotated[
        float, Opt("Largest share of the network (0 to 1) that a batch may take out of service.", least=0, most=1)
    ] = 0.5
    force: Annotated[
        bool, Opt("Allow the upgrade to cut off path colors, planes, tenants or NICs; the plan lists what it cuts off.")
    ] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployZtp:
    """Options of ``deploy_ztp``."""

    fabric: Annotated[Path | str, Argument("Fabric file; NAME.inventory.csv next to it contains the serial numbers.")]
    out: Annotated[
        Path | str, Opt("Output folder. It contains secrets; only you can read it.", name="--output", letter="-o")
    ]
    url: Annotated[str, Opt("URL at which switches find the folder: http://ADDRESS:PORT.")]
    _: KW_ONLY
    whole: Annotated[
        bool, Opt("Include the full configuration, not only the part that `deploy apply` needs to reach a switch.")
    ] = False
    image: Annotated[Sequence[str], Opt("Image to install, SYSTEM=FILE; may be repeated.")] = ()
    only: Annotated[Sequence[str], ONE_SWITCH] = ()
    interface: Annotated[str, Opt("Interface on which the DHCP server listens; * for all.")] = "*"
    secrets: Annotated[
        Path | str | None, Opt("YAML file of the secrets in the configuration, with lines of the form NAME: value.")
    ] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class DeployPlan(Reaching):
    """Options of ``deploy_plan``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    capture: Annotated[Path | str | None, Argument("Folder of configurations saved from switches.")] = None
    _: KW_ONLY
    live: Annotated[bool, Opt("Query the configuration of every switch now, instead of reading CAPTURE.")] = False
    only: Annotated[Sequence[str], ONE_DEVICE] = ()
    max_unavailable: Annotated[float, WAVE_SHARE] = 0.5
    canary: Annotated[bool, Opt("Change a single switch first; this is the default.", name="--canary/--no-canary")] = (
        True
    )
    servers: Annotated[
        bool,
        Opt(
            "Also plan the changes of servers, from the host.json of each server. Needs root on the servers.",
            name="--servers/--no-servers",
        ),
    ] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployApply(Rollout):
    """Options of ``deploy_apply``."""

    plan: Annotated[Path | str, Argument("Plan file written by `deploy plan`.")]
    _: KW_ONLY
    dry_run: Annotated[
        bool, Opt("Stop after every device has tested and discarded its change; nothing is committed.")
    ] = False


@dataclass(frozen=True)
class DeployStatus(Reaching):
    """Options of ``deploy_status``."""

    fabric: Annotated[Path | str, FABRIC_FILE]


@dataclass(frozen=True)
class DeployResume(Rollout):
    """Options of ``deploy_resume``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    _: KW_ONLY
    back: Annotated[bool, Opt("Roll back the unfinished wave and stop; confirmed waves stay.")] = False


@dataclass(frozen=True)
class DeployRollback(Reaching):
    """Options of ``deploy_rollback``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    revision: Annotated[int, Argument("Revision number, as listed by `deploy history`.")]
    _: KW_ONLY
    only: Annotated[Sequence[str], ONE_DEVICE] = ()
    max_unavailable: Annotated[float, WAVE_SHARE] = 0.5
    progress: Callable[[str], None] = silent


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
        Path | str, Argument("Store: a file, postgresql://USER@HOST/NAME, or STORE#RUN for a single run.", kind=str)
    ]
    _: KW_ONLY
    baseline: Annotated[
        Path | str | None,
        Opt("Earlier results, to find regressions: a store, or a run of this store.", kind=str | None),
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
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class BenchCompare:
    """Options of ``bench_compare``."""

    a: Annotated[
        Path | str,
        Argument("Baseline: a store, or STORE#RUN for a single run. With --predicted: the results to check.", kind=str),
    ]
    b: Annotated[
        Path | str | None,
        Argument("Results to compare with A: a store, STORE#RUN, or a run of A's store.", kind=str | None),
    ] = None
    _: KW_ONLY
    predicted: Annotated[bool, Opt("Compare A with its prediction.")] = False
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
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class BenchImport:
    """Options of ``bench_import``."""

    files: Annotated[
        Sequence[Path | str],
        Argument(
            "Output files of perftest, nccl-tests, rccl-tests, NCCL with NCCL_DEBUG=INFO, or MLPerf; also tables as CSV files.",
            kind=list[Path],
        ),
    ]
    store: Annotated[Path | str, STORE]
    _: KW_ONLY
    fabric: Annotated[Network | Path | str | None, RAN_ON] = None
    gbits: Annotated[
        bool | None,
        Opt(
            "Unit of the bandwidths in perftest's JSON: Gbit/s, or MiB/s with --report-mib. Default: derived from the message rate.",
            name="--report-gbits/--report-mib",
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class BenchTriage:
    """Options of ``bench_triage``."""

    files: Annotated[
        Sequence[Path | str],
        Argument("Output files of benchmark runs; for NCCL, of runs with NCCL_DEBUG=INFO.", kind=list[Path]),
    ]
    _: KW_ONLY
    fabric: Annotated[Network | Path | str | None, RAN_ON] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
