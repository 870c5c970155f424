"""Options of the commands `bench`, `tune` and `deploy`. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from railweave.api.options import Argument, Opt
from railweave.api.verbs import ACCESS, DEVICE, HARDWARE, HOSTS, LAB, Source
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Memory, Plan
    from railweave.operations.bench.running.pair import Launcher
    from railweave.operations.deploy.planning import RunningFabric
    from railweave.operations.deploy.traffic import IdleLimit
    from railweave.operations.deploy.upgrading import UpgradeTimeouts

FABRIC_FILE = Argument("Fabric file (YAML).")
ONE_SWITCH = Opt("Include only this switch; default: all switches. May be repeated.", metavar="SWITCH")
ONE_DEVICE = Opt("Include only this device; default: all devices. May be repeated.", metavar="DEVICE")
APPLY = Opt(
    "Write the proposed values into the fabric file. Default: show the values as a patch, and leave the fabric file unchanged."
)
RAN_ON = Opt(
    "Fabric file or build folder of the network that was benchmarked. With it, the outputs are also compared with the design.",
    metavar="PATH",
)
SECRETS = Opt(
    "YAML file with lines of the form NAME: value. Each value replaces secret:NAME in the plan. Required if the plan contains secret:NAME. No other user may have read access to the file.",
    metavar="FILE",
)
WHAT = Argument(
    "One or more parts of the network, separated by spaces. A part is a switch, a server, a link (A--B or SERVER:NIC, with the names in the cabling.csv of `railweave build`), or a path color (a group of uplinks, by destination address; docs/load-balancing.md).",
    kind=list[str],
)
WAVE_SHARE = Opt(
    "Largest share of the network (0 to 1) that one wave may take out of service; a wave is a group of devices that change together.",
    least=0,
    most=1,
    metavar="SHARE",
)
ALSO_PENDING = Opt(
    "Also plan the other changes that the affected switches need to match their design. Default: only list these changes.",
)
CONFIRM = Opt(
    "Rollback timer: seconds after which a device reverts its change on its own, unless railweave has confirmed the change.",
    least=60,
    most=86_000,
    metavar="SECONDS",
)
SETTLE = Opt(
    "Longest time to wait, after each wave, until the network has converged, in seconds.", least=0, metavar="SECONDS"
)
WAIT_FOR = Opt(
    "Shell command that railweave runs before each wave that changes servers or cuts off NICs, for example to move jobs away. The wave starts only if the command exits with 0. Default: no command.",
    metavar="COMMAND",
)
WAIT_FOR_S = Opt("Time limit of the command of --wait-for, in seconds.", least=0, metavar="SECONDS")
PREDICTED_WITH = Opt(
    "Fabric file or build folder of the network that was benchmarked. With it, runs without a stored prediction are predicted, and NICs get names instead of GIDs (RDMA addresses).",
    metavar="PATH",
)
TOLERANCE = Opt(
    "Fraction by which a result may be worse than expected, for example 0.05 for 5%. Default: 0.05; for comparisons with predictions, the tolerance in the benchmark plan.",
    metavar="FRACTION",
)
STORE = Opt(
    "Store of benchmark runs: an SQLite file (created if missing), or a database postgresql://USER@HOST/NAME.",
    kind=str,
    metavar="STORE",
)

RUNS_STORE = Argument("Store of benchmark runs: an SQLite file, or a database postgresql://USER@HOST/NAME.", kind=str)


@dataclass(frozen=True)
class TuneRun:
    """Options of ``tune_run``."""

    study: Annotated[
        Path | str,
        Argument(
            "Study file (YAML): the goal and the limits of the search, and the fields of the fabric file to vary (docs/predict.md)."
        ),
    ]
    _: KW_ONLY
    output: Annotated[
        Path | str | None,
        Opt(
            "Folder for the results of the trials; default: NAME.tune next to the study file.",
            letter="-o",
            metavar="FOLDER",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Opt(
            "Number of processes that simulate in parallel; the result does not depend on it. Default: one per processor core.",
            least=1,
            most=1024,
        ),
    ] = None
    ray: Annotated[
        str | None,
        Opt(
            "Simulate on the Ray cluster at this address: auto, HOST:PORT or ray://HOST:PORT. The word local starts a cluster on this machine. Default: no Ray; simulate in processes on this machine.",
            metavar="ADDRESS",
        ),
    ] = None
    trials: Annotated[
        int | None,
        Opt("Number of trials (combinations of values to try); default: as in the study file.", least=1, most=100_000),
    ] = None
    take: Annotated[
        int | None,
        Opt(
            "Propose the values of the trial with this number, for example of a different trade-off between several goals. Default: the best trial.",
            least=0,
        ),
    ] = None
    apply: Annotated[bool, APPLY] = False
    fresh: Annotated[
        bool, Opt("Discard the trials of an earlier run and start over. Default: continue the earlier run.")
    ] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    access: Annotated[
        Path | str | None,
        Opt(
            "For trials on the network: file access.yaml with addresses, users and keys for the devices (docs/collect.md). Default: connect as the current user with ssh-agent, to switches at their designed management address and to servers by name.",
            metavar="FILE",
        ),
    ] = None
    lab: Annotated[
        bool,
        Opt(
            "For trials on the network: use the lab that `railweave lab up` started for the study's fabric file, instead of the real devices. Needs root."
        ),
    ] = False
    secrets: Annotated[
        Path | str | None,
        Opt(
            "For trials on the network: YAML file with lines of the form NAME: value. Each value replaces secret:NAME in configurations. No other user may have read access to the file.",
            metavar="FILE",
        ),
    ] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class TuneDiagnose:
    """Options of ``tune_diagnose``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    capture: Annotated[Path | str, Argument("Folder that `railweave collect` wrote after the jobs ran.")]
    _: KW_ONLY
    since: Annotated[
        Path | str,
        Opt(
            "Folder that `railweave collect` wrote before the jobs ran; the counters of the two folders are compared.",
            metavar="FOLDER",
        ),
    ]
    slow_jobs: Annotated[
        bool,
        Opt("Also treat ECN marks without PFC pauses as a symptom. Use this option if jobs are slower than predicted."),
    ] = False
    rehearse: Annotated[
        bool,
        Opt(
            "Simulate a collective with the present values and with the proposed change, and compare the results.",
            name="--rehearse/--no-rehearse",
        ),
    ] = True
    collective: Annotated[str, Opt("Collective that --rehearse simulates.", metavar="COLLECTIVE")] = "all-to-all"
    size: Annotated[
        int | str,
        Opt(
            "Size of the collective that --rehearse simulates, in bytes, counted as in nccl-tests: 16M means 16 x 2^20 bytes.",
            kind=str,
            metavar="SIZE",
        ),
    ] = "16M"
    servers: Annotated[
        int | None,
        Opt(
            "Number of servers that --rehearse simulates. Default: as many servers as have at most 64 GPUs together, but at least 2.",
            least=2,
        ),
    ] = None
    tenant: Annotated[
        str | None,
        Opt("Tenant whose servers --rehearse simulates; default: the tenant with the most NICs.", metavar="NAME"),
    ] = None
    apply: Annotated[
        bool,
        Opt(
            "Write the proposed change into the fabric file, unless --rehearse predicts a worse result. Default: show the change as a patch, and leave the fabric file unchanged."
        ),
    ] = False
    allow_unseen: Annotated[
        Sequence[str],
        Opt(
            "Accept that devices do not report this kind of counter, for example counters-marks (docs/check.md lists the kinds). Default: if a device does not report a counter, the exit code is 1. May be repeated.",
            metavar="KIND",
        ),
    ] = ()
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
        Opt(
            "Fabric file or build folder of the planned network. Default: the path that is recorded in the plan.",
            kind=Path | None,
            metavar="PATH",
        ),
    ] = None
    access: Annotated[Path | str | None, ACCESS] = None
    only: Annotated[
        Sequence[str],
        Opt(
            "Run only the run with this name, or the runs of this part of the plan, for example mesh or 'pairs/*'. Default: all runs, except those for which you must first change settings of switches or NICs. May be repeated.",
            metavar="RUNS",
        ),
    ] = ()
    again: Annotated[bool, Opt("Also repeat runs that are already in the store. Default: these runs are skipped.")] = (
        False
    )
    failed: Annotated[
        bool, Opt("Also repeat runs whose result in the store is a failure. Default: these runs are skipped.")
    ] = False
    launcher: Annotated[
        Launcher,
        Opt(
            "Program that starts the processes of collectives on the servers.",
            kind=str,
            metavar="mpirun|srun",
        ),
    ] = "mpirun"
    launch_on: Annotated[
        str | None,
        Opt(
            "Server on which mpirun or srun is started, or `here` for this machine. Default: for mpirun, the first server of the run; for srun, this machine.",
            metavar="SERVER",
        ),
    ] = None
    ranks: Annotated[
        str | None,
        Opt(
            "Command that starts the benchmark program of each rank (process); the program and its arguments are appended. Default: `railweave host env`, which sets the environment variables.",
            metavar="COMMAND",
        ),
    ] = None
    mpi_script: Annotated[
        Path | str | None,
        Opt("Script that starts mpirun. Default: the mpirun.sh that `railweave build` writes.", metavar="FILE"),
    ] = None
    srun_options: Annotated[
        Sequence[str],
        Opt(
            "Option for srun, for example --srun-option=--partition=gpu. May be repeated.",
            name="--srun-option",
            metavar="OPTION",
        ),
    ] = ()
    perftest: Annotated[
        str,
        Opt(
            "Folder on the servers that contains the perftest programs. Default: the PATH of each server is searched.",
            metavar="FOLDER",
        ),
    ] = ""
    nccl_tests: Annotated[
        str,
        Opt(
            "Folder on the servers that contains the programs of nccl-tests or rccl-tests. Default: the PATH of each server is searched.",
            metavar="FOLDER",
        ),
    ] = ""
    at_once: Annotated[int, Opt("Largest number of runs at the same time.", least=1, most=4096)] = 256
    timeout_s: Annotated[
        float | None,
        Opt(
            "Time limit of each run, in seconds. Default: the limit in the plan.",
            name="--timeout",
            least=1,
            metavar="SECONDS",
        ),
    ] = None
    host_check: Annotated[
        bool,
        Opt(
            "First run `railweave host check` on the servers, and store its result with the runs. If the check finds faults, the runs start nevertheless.",
            name="--host-check/--no-host-check",
        ),
    ] = True
    sudo: Annotated[
        bool,
        Opt(
            "Run `railweave host check` as root, with `sudo -n`; sudo must not ask for a password. Default: run it as the login user."
        ),
    ] = False
    outputs: Annotated[
        Path | str | None,
        Opt(
            "Folder on this machine for the output of the benchmark programs. Default: STORE.outputs; if the store is a database, PLAN.outputs.",
            metavar="FOLDER",
        ),
    ] = None
    dry_run: Annotated[bool, Opt("Only show the commands. No server is contacted and nothing is written.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    meanwhile: Callable[[], Awaitable[None]] | None = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class BenchPlan(Source):
    """Options of ``bench_plan``."""

    suite: Annotated[
        str,
        Opt(
            "Set of runs. quick: a first look. acceptance: all NICs, leaves and path colors (groups of uplinks, by destination address), and five collectives. knobs: NCCL settings and load balancing, changed one at a time. pairs-of-servers: all-reduce of two servers at a time, to find a slow server. table12, table1.3 and fifty-km: repeat published tests (docs/bench.md).",
            metavar="SUITE",
        ),
    ] = "quick"
    _: KW_ONLY
    hosts: Annotated[
        str | None,
        HOSTS,
    ] = None
    memory: Annotated[
        Memory | None,
        Opt(
            "Memory that perftest uses for its buffers: host (server memory), cuda (NVIDIA GPU) or rocm (AMD GPU). Default: GPU memory if both NICs have GPUs of the same vendor, else host.",
            kind=str | None,
            metavar="host|cuda|rocm",
        ),
    ] = None
    fabric: Annotated[
        str | None,
        Opt(
            "Name of the fabric to measure, if the fabric file has several; default: the fabric of the NICs that belong to GPUs.",
            metavar="NAME",
        ),
    ] = None
    parts: Annotated[
        Sequence[str],
        Opt(
            "Plan only this part of the suite. May be repeated. Parts of quick: loops (each NIC sends to itself), pairs (two NICs on one leaf), mesh (two NICs on two leaves), servers (each server alone), cluster (all servers). Parts of acceptance: these, stripes (the servers of each group of leaves alone), across (one server of each such group), queue-pairs. Parts of knobs: queue-pairs, buffers, channels, load-balancing. Parts of fifty-km: distance (perftest between sites), designed and ecmp (all-reduce with that load balancing). Other suites have one part. Default: all parts.",
            name="--part",
            metavar="PART",
        ),
    ] = ()
    predict: Annotated[bool, Opt("Predict the result of each run by simulation.", name="--predict/--no-predict")] = True
    progress: Callable[[str], None] = silent


@dataclass(frozen=True, kw_only=True)
class Reaching:
    """Options of verbs that connect to a network's devices: a lab, an access file, and hardware models."""

    lab: Annotated[bool, LAB] = False
    access: Annotated[Path | str | None, ACCESS] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None

    def running(self, fabric: Path | str, progress: Callable[[str], None] = silent) -> RunningFabric:
        """Return the network of a fabric file together with the access to its devices. Raises the errors of ``running_fabric``."""
        from railweave.api.sites import running_fabric

        return running_fabric(fabric, lab=self.lab, access=self.access, hardware=self.hardware, progress=progress)


@dataclass(frozen=True, kw_only=True)
class Rollout(Reaching):
    """Options for carrying out a plan: its timers, its conditions for waiting, and its secrets."""

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
    what: Annotated[
        str,
        Argument("The part that was replaced: a switch, a server, or a NIC (SERVER:NIC), as named in the inventory."),
    ]
    _: KW_ONLY
    serial: Annotated[
        str,
        Opt("Serial number of the new part. Required for a switch or server; optional for a NIC.", metavar="SERIAL"),
    ] = ""
    mac: Annotated[
        str,
        Opt(
            "MAC address of the new NIC, for example a0:88:c2:3b:50:66. Required for a NIC; not allowed for a switch or server.",
            metavar="MAC",
        ),
    ] = ""
    also_pending: Annotated[bool, ALSO_PENDING] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployDrain(Reaching):
    """Options of ``deploy_drain``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[Sequence[str], WHAT]
    _: KW_ONLY
    force: Annotated[
        bool,
        Opt(
            "Allow a drain after which a path color, tenant, NIC or plane (the switches of one port of every NIC) has no path. The plan lists these losses. Default: `deploy apply` refuses such a plan."
        ),
    ] = False
    also_pending: Annotated[bool, ALSO_PENDING] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployUndrain(Reaching):
    """Options of ``deploy_undrain``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[Sequence[str], WHAT]
    _: KW_ONLY
    again: bool = False
    also_pending: Annotated[bool, ALSO_PENDING] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployUpgrade(Reaching):
    """Options of ``deploy_upgrade``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    release: Annotated[
        str,
        Opt(
            "Release of the operating system to install, for example 25.4R1. Switches that already run it are left out.",
            metavar="RELEASE",
        ),
    ]
    _: KW_ONLY
    image: Annotated[
        str,
        Opt(
            "Image to install: a file on this machine, which `deploy apply` copies to each switch, or a URL that the switches can reach. Required, except for real switches with FRR. With --lab: root folder of an FRR installation of a different version.",
            metavar="IMAGE",
        ),
    ] = ""
    only: Annotated[Sequence[str], ONE_SWITCH] = ()
    batch: Annotated[int, Opt("Largest number of switches that are upgraded at the same time.", least=1)] = 1
    max_unavailable: Annotated[
        float,
        Opt(
            "Largest share of the network (0 to 1) that the switches of one batch may take out of service.",
            least=0,
            most=1,
            metavar="SHARE",
        ),
    ] = 0.5
    force: Annotated[
        bool,
        Opt(
            "Allow an upgrade during which a path color (group of uplinks, by destination address), tenant, NIC or plane (the switches of one port of every NIC) has no path. The plan lists these losses. Default: `deploy apply` refuses such a plan."
        ),
    ] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployAcknowledge(Reaching):
    """Options of ``deploy_acknowledge``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    what: Annotated[Sequence[str], Argument("One or more switches to compare, separated by spaces.", kind=list[str])]
    _: KW_ONLY
    allow_unseen: Annotated[
        Sequence[str],
        Opt(
            "Accept that a switch does not report this fact: host-name, model, serial-number, cables (to switches) or server-cables (to servers). Default: a switch must report all of these facts. May be repeated.",
            metavar="FACT",
        ),
    ] = ()
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployZtp:
    """Options of ``deploy_ztp``."""

    fabric: Annotated[
        Path | str,
        Argument(
            "Fabric file (NAME.yaml). The inventory next to it, NAME.inventory.csv, contains the serial numbers of switches."
        ),
    ]
    out: Annotated[
        Path | str,
        Opt(
            "Folder to write. It contains secrets, so only you can read it.",
            name="--output",
            letter="-o",
            metavar="FOLDER",
        ),
    ]
    url: Annotated[str, Opt("URL at which switches find the output folder: http://ADDRESS:PORT.", metavar="URL")]
    _: KW_ONLY
    whole: Annotated[
        bool,
        Opt(
            "Write the full configuration of each switch. Default: only the part with which `deploy apply` can reach the switch."
        ),
    ] = False
    image: Annotated[
        Sequence[str],
        Opt(
            "Image that switches with this operating system install at first boot. SYSTEM is junos, eos, sonic or dell_sonic. May be repeated. Default: switches keep the release that they were delivered with.",
            metavar="SYSTEM=FILE",
        ),
    ] = ()
    only: Annotated[Sequence[str], ONE_SWITCH] = ()
    interface: Annotated[
        str,
        Opt(
            "Network interface on which the DHCP server (Kea or dnsmasq) listens, on the machine where it runs; * means all interfaces.",
            metavar="INTERFACE",
        ),
    ] = "*"
    secrets: Annotated[
        Path | str | None,
        Opt(
            "YAML file with lines of the form NAME: value. Each value replaces secret:NAME in configurations. Required if they contain secret:NAME. No other user may have read access to the file.",
            metavar="FILE",
        ),
    ] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class DeployPlan(Reaching):
    """Options of ``deploy_plan``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    capture: Annotated[
        Path | str | None,
        Argument(
            "Folder of configurations saved from switches, as `railweave collect` writes it: DEVICE/configuration.txt (docs/collect.md). Exactly one of CAPTURE, --live and --lab is required."
        ),
    ] = None
    _: KW_ONLY
    live: Annotated[
        bool,
        Opt(
            "Query the configuration of every switch now, instead of reading CAPTURE. If secrets were removed from CAPTURE (the default of `railweave collect`), `deploy apply` refuses the plan; with --live or --lab, it accepts the plan."
        ),
    ] = False
    only: Annotated[Sequence[str], ONE_DEVICE] = ()
    max_unavailable: Annotated[float, WAVE_SHARE] = 0.5
    canary: Annotated[
        bool,
        Opt(
            "Change only one switch in the first wave (the canary), to limit the effect of a mistake.",
            name="--canary/--no-canary",
        ),
    ] = True
    allow_cut: Annotated[
        Sequence[str],
        Opt(
            "Accept that this tenant, VNI ('VNI 100') or fabric loses connections after one wave (a group of devices that change together), until a later wave restores them. Default: `deploy apply` refuses such a plan, and the output names the values of --step that avoid the loss. May be repeated.",
            metavar="NAME",
        ),
    ] = ()
    step: Annotated[
        int,
        Opt(
            "Bring devices only to an intermediate step on the way to the design, so that no wave cuts connections. 1: devices accept old and new values (route targets, prefixes, gateway addresses, AS numbers, DSCPs, MTU). 2: devices also offer the new values. 0: the design itself.",
            least=0,
            most=2,
            metavar="0|1|2",
        ),
    ] = 0
    servers: Annotated[
        bool,
        Opt(
            "Also plan the changes of servers: compare the designed host.json of each server (its routes, rules and job environment) with the file that is installed there. Needs --live or --lab, and root on the servers.",
            name="--servers/--no-servers",
        ),
    ] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployApply(Rollout):
    """Options of ``deploy_apply``."""

    plan: Annotated[
        Path | str,
        Argument("Plan file that `deploy plan`, `drain`, `undrain`, `upgrade`, `replace` or `rollback` wrote."),
    ]
    _: KW_ONLY
    dry_run: Annotated[
        bool,
        Opt(
            "Stop after the test in which every device checks and discards its change. Nothing is committed, and no digest is needed."
        ),
    ] = False


@dataclass(frozen=True)
class DeployStatus(Reaching):
    """Options of ``deploy_status``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    _: KW_ONLY
    at_work: Callable[[str], None] = silent


@dataclass(frozen=True)
class DeployResume(Rollout):
    """Options of ``deploy_resume``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    _: KW_ONLY
    back: Annotated[
        bool,
        Opt(
            "Only end the unfinished wave, and start no later wave: confirm the wave if it had passed its checks, else roll it back. An unfinished batch of an upgrade is finished. Confirmed waves stay in place."
        ),
    ] = False


@dataclass(frozen=True)
class DeployRollback(Reaching):
    """Options of ``deploy_rollback``."""

    fabric: Annotated[Path | str, FABRIC_FILE]
    revision: Annotated[
        int,
        Argument(
            "Number of the revision to undo, as `deploy history` lists it. Changes that later revisions made to the same devices are undone too."
        ),
    ]
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
        Path | str,
        Argument(
            "Store of benchmark runs: an SQLite file, a database postgresql://USER@HOST/NAME, or STORE#RUN for a single run (RUN: the beginning of its id).",
            kind=str,
        ),
    ]
    _: KW_ONLY
    baseline: Annotated[
        Path | str | None,
        Opt(
            "Earlier results to compare with: a store, STORE#RUN, or the id of a run in this store. Default: no comparison.",
            kind=str | None,
            metavar="RESULTS",
        ),
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
        Argument(
            "Earlier results: a store, or STORE#RUN for a single run (RUN: the beginning of its id). With --predicted: the results to compare with their predictions.",
            kind=str,
        ),
    ]
    b: Annotated[
        Path | str | None,
        Argument(
            "New results to compare with A: a store, STORE#RUN, or the id of a run in A's store. Either B or --predicted is required, not both.",
            kind=str | None,
        ),
    ] = None
    _: KW_ONLY
    predicted: Annotated[bool, Opt("Compare A with its predictions, instead of with B.")] = False
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
            "One or more output files of perftest, nccl-tests, rccl-tests, NCCL or RCCL (with NCCL_DEBUG=INFO), MLPerf, OSU micro-benchmarks, ucx_perftest, TransferBench or nvbandwidth, tables of results as CSV files, or folders of such files. Files with .gz are decompressed; - is standard input.",
            kind=list[Path],
        ),
    ]
    store: Annotated[Path | str, STORE]
    _: KW_ONLY
    fabric: Annotated[Network | Path | str | None, RAN_ON] = None
    gbits: Annotated[
        bool | None,
        Opt(
            "Unit of the bandwidths in perftest's JSON output: Gbit/s or MiB/s. Default: derived from the message rate in the output.",
            name="--report-gbits/--report-mib",
        ),
    ] = None
    operation: Annotated[
        str | None,
        Opt(
            "Collective operation, such as all-reduce or alltoall, of nccl-tests outputs that do not name their operation. Default: such runs are stored without an operation.",
            metavar="COLLECTIVE",
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class BenchTriage:
    """Options of ``bench_triage``."""

    files: Annotated[
        Sequence[Path | str],
        Argument(
            "One or more output files of benchmark runs, or folders of such files; .gz files are decompressed, and - is standard input. Their NCCL logs are read if NCCL ran with NCCL_DEBUG=INFO.",
            kind=list[Path],
        ),
    ]
    _: KW_ONLY
    fabric: Annotated[Network | Path | str | None, RAN_ON] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class BenchCheck:
    """Options of ``bench_check``."""

    files: Annotated[
        Sequence[Path | str],
        Argument(
            "One or more output files of nccl-tests, rccl-tests or perftest, or folders of such files; .gz files are decompressed, and - is standard input.",
            kind=list[Path],
        ),
    ]
    gpus: Annotated[int, Opt("Number of GPUs per server.", least=1, most=64)]
    _: KW_ONLY
    nic: Annotated[
        str,
        Opt(
            "Model of the servers, or of their NICs: a name in `railweave hardware list`, or part of the name; the first match is used.",
            metavar="MODEL",
        ),
    ] = "cx7"
    nics: Annotated[
        int | None, Opt("Number of NICs per server that carry GPU traffic. Default: one per GPU.", least=1, most=64)
    ] = None
    nvlink: Annotated[
        float | None,
        Opt(
            "Rate of a GPU's link to the other GPUs of its server (NVLink, xGMI), in GB/s for each direction. Default: the rate of the server model.",
            metavar="GB/S",
        ),
    ] = None
    operation: Annotated[
        str | None,
        Opt(
            "Collective operation, such as all-reduce or alltoall, of nccl-tests outputs that do not name their operation. Default: such outputs cannot be compared.",
            metavar="COLLECTIVE",
        ),
    ] = None
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class BenchShow:
    """Options of ``bench_show``."""

    store: Annotated[Path | str, RUNS_STORE]
    _: KW_ONLY
    run: Annotated[
        Sequence[str],
        Opt(
            "Show only the run whose id begins with this text, with all details; default: a table of all runs. May be repeated.",
            metavar="ID",
        ),
    ] = ()


@dataclass(frozen=True)
class BenchExport:
    """Options of ``bench_export``."""

    store: Annotated[Path | str, RUNS_STORE]
    output: Annotated[
        Path | str, Opt("File to write. Its extension (.csv or .json) selects the format.", letter="-o", metavar="FILE")
    ]
    _: KW_ONLY
    run: Annotated[
        Sequence[str],
        Opt("Export only the run whose id begins with this text; default: all runs. May be repeated.", metavar="ID"),
    ] = ()
