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
    from railweave.prediction.simulation.job_run import JobPrediction

DEVICE = Opt(
    "Replace the switch model or operating system (NOS) of the fabric file, which stays unchanged. Form: [[NAME/]ROLE=][MODEL][:NOS][:RELEASE], for example leaf=qfx5240-64od or leaf=:eos. ROLE is leaf, spine, super-spine or dci; without ROLE=, the change applies to all switches. NAME is the name of a fabric, if the file has several. NOS is junos, eos, sonic, dell_sonic or frr, and RELEASE its release, for example 25.4R1. With only NOS, the most similar model that runs it is chosen, if needed. May be repeated.",
    metavar="[ROLE=]MODEL",
)
HARDWARE = Opt(
    "Folder of YAML files that describe your own switches, NICs, servers and optics (docs/hardware.md). Default: only the models of `railweave hardware list`, and those under `hardware:` in the fabric file.",
    metavar="FOLDER",
)
RUNNING = Opt(
    "Folder of configurations saved from switches, one subfolder per switch: DEVICE/configuration.txt (docs/collect.md). Each is used instead of the designed configuration of its switch. Default: use the designed configurations.",
    metavar="FOLDER",
)
PRICES = Opt(
    "YAML file with the price of each item in the bill of materials (docs/hardware.md). The output then includes the cost of the design. Default: no costs.",
    metavar="FILE",
)
COLLECTIVE = Opt(
    "Collective to simulate: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all or send-recv. Default: the collectives of --scenario, else all-reduce.",
    metavar="COLLECTIVE",
)
SIZE = Opt(
    "Size of the collective in bytes, counted as in nccl-tests: one size (8G), a list (1M,16M,1G) or a range (8..16G). 16M, 16MB and 16MiB all mean 16 x 2^20 bytes. Default: 1G.",
    kind=str | None,
    metavar="SIZE",
)
MEASURED = Opt(
    "With --compare: CSV file of measured results, to show next to the predictions. Its columns are the names of the compared settings, and time_us (microseconds) or bus_bandwidth_GBps (GB/s). Default: no measured results.",
    metavar="FILE",
)
LB = Opt(
    "Load balancing: ecmp (static hash), dlb (by the load of the links), spray (each packet may take a different link) or rlb (each queue pair has its own path); parameters may follow (MODE:name=value,...; docs/engine.md). Default: as in the design.",
    metavar="MODE",
)
SET = Opt(
    "Parameter of the simulation engine, for example host.post-cost=750ns; `railweave flows --help-parameters` lists the names. May be repeated.",
    name="--set",
    kind=list[str],
    metavar="NAME=VALUE",
)
BACKGROUND = Opt(
    "Other traffic during the simulation (docs/simulation-files.md). For example, share=30%,ports=*:gpu0_eth,to=intra-stripe: port gpu0_eth of every server sends 30% of its line rate to a server of the same stripe (a group of leaves with its servers). Join several ports with +. Default: no other traffic.",
    metavar="NAME=VALUE,…",
)
ON = Opt(
    "Name of the fabric to simulate, if the fabric file has several; default: the fabric of the NICs that belong to GPUs.",
    metavar="NAME",
)
HOSTS = Opt(
    "Servers that take part, in the order of their ranks: names (A,B,C-[1-4]), a number N for the first N servers, or the word stripes-alternate: all servers, alternating between stripes (a stripe is a group of leaves with its servers). Default: all servers.",
    metavar="SERVERS",
)
LAB = Opt(
    "Use the lab (the network as FRR routers on this machine, started by `railweave lab up`) instead of the real devices. Needs root, unless you started the lab without."
)
SUDO = Opt(
    "Run railweave on the servers as root, with `sudo -n`; sudo must not ask for a password. Default: run as the login user."
)
SERVERS = Opt(
    "Query servers too, by SSH. Default: servers are queried in labs, and if access.yaml has a login for servers (under `roles: server`, or a server's name under `devices`).",
    name="--servers/--no-servers",
)
ACCESS = Opt(
    "File access.yaml with addresses, users and keys for the devices (docs/collect.md). Default: connect as the current user with ssh-agent, to switches at their designed management address and to servers by name.",
    metavar="FILE",
)
_FABRIC_HELP = "Fabric file (YAML), or a folder that `railweave build` wrote."
FABRIC = Argument(_FABRIC_HELP)
CSV = Opt("Also write the result as a table to this file (.csv).", metavar="FILE")
SARIF = Opt(
    "Also write the findings to this file (.sarif), in the form that code scanning reads (SARIF 2.1.0).", metavar="FILE"
)
GITHUB = Opt(
    "Also print errors and warnings as annotations of GitHub Actions. They appear beside the lines of a pull request.",
    name="--github",
)
HTML = Opt("Also write the result as a page to this file (.html).", letter="-o", metavar="FILE")


@dataclass(frozen=True)
class Source:
    """The network to work on: a fabric file, a build folder or a designed network.

    ``device`` replaces the switch models and operating systems in it; ``hardware`` adds hardware models.
    """

    source: Annotated[
        Network | Path | str,
        Argument(_FABRIC_HELP, "fabric"),
    ]
    _: KW_ONLY
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None

    def network(self) -> Network:
        """Return the designed network. Raises the errors of ``load``."""
        from railweave.outputs.folder.sources import network_of

        return network_of(self.source, self.device, self.hardware)


@dataclass(frozen=True, kw_only=True)
class ForPipelines:
    """Options of verbs whose findings a pipeline shows."""

    sarif: Annotated[Path | None, SARIF] = None
    github: Annotated[bool, GITHUB] = False


@dataclass(frozen=True)
class Build:
    """Options of ``build``."""

    fabric: Annotated[
        Path | str,
        Argument(
            "Fabric file (NAME.yaml), which describes the network. Two files next to it are read if they exist: NAME.inventory.csv, the list of delivered hardware, and NAME.lock, which an earlier build wrote."
        ),
    ]
    out: Annotated[
        Path | str,
        Opt(
            "Output folder: new, empty, or written by an earlier build. All files of an earlier build are replaced; if the new build fails, they stay unchanged.",
            letter="-o",
            metavar="FOLDER",
        ),
    ]
    _: KW_ONLY
    secrets: Annotated[
        Path | str | None,
        Opt(
            "YAML file of secrets, with lines of the form NAME: value. Each value replaces secret:NAME in device files. No other user may have read access to the file. Default: secret:NAME stays in the device files.",
            metavar="FILE",
        ),
    ] = None
    compact: Annotated[
        bool,
        Opt(
            "Remove from NAME.lock the numbers (ports, addresses, AS numbers) of items that are no longer in the fabric file, such as servers or spines. New items can then use these numbers. Default: such numbers stay reserved."
        ),
    ] = False
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
            "Fabric file or build folder to compare with OLD. If NEW is a fabric file, its design uses the lock file of OLD, so that unchanged parts keep their ports and addresses (docs/day-two.md#change-the-design-diff-lock-status). If NEW has no inventory and OLD is a fabric file, OLD's inventory is used."
        ),
    ]
    _: KW_ONLY
    device: Annotated[
        Sequence[str],
        Opt(
            "Replace the switch model or operating system (NOS) of both fabric files: [[NAME/]ROLE=][MODEL][:NOS][:RELEASE], for example leaf=qfx5240-64od or leaf=:eos (`railweave build --help` explains the parts). May be repeated.",
            metavar="[ROLE=]MODEL",
        ),
    ] = ()
    old_device: Annotated[
        Sequence[str],
        Opt("Like --device, for OLD only. May be repeated.", metavar="[ROLE=]MODEL"),
    ] = ()
    new_device: Annotated[
        Sequence[str],
        Opt(
            "Like --device, for NEW only. To see the effect of a replacement, give the same file as OLD and NEW. May be repeated.",
            metavar="[ROLE=]MODEL",
        ),
    ] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class Paths(Source):
    """Options of ``paths``."""

    src: Annotated[
        str,
        Opt(
            "Source NIC: SERVER:NIC, for example H100-01:gpu0_eth. For a NIC with several ports: SERVER:PORT+PORT.",
            metavar="SERVER:NIC",
        ),
    ]
    dst: Annotated[
        str,
        Opt(
            "Destination NIC: SERVER:NIC, for example H100-03:gpu0_eth. For a NIC with several ports: SERVER:PORT+PORT.",
            metavar="SERVER:NIC",
        ),
    ]
    qps: Annotated[int, Opt("Number of queue pairs between the two NICs.")] = 1
    down: Annotated[
        Sequence[str],
        Opt(
            "Link, switch or server to treat as down; a link is LEAF:PORT--SPINE:PORT. Default: nothing is down. May be repeated.",
            metavar="PART",
        ),
    ] = ()
    _: KW_ONLY
    family: Annotated[
        str | None,
        Opt(
            "Address family of the GIDs if NICs have both (dual stack): 4 or 6. Default: the family that jobs use.",
            metavar="4|6",
        ),
    ] = None
    running: Annotated[Path | str | None, RUNNING] = None
    configs: Mapping[str, DeviceConfig] | None = None


@dataclass(frozen=True)
class Connection(Paths):
    """Options of ``connection``."""

    _: KW_ONLY
    headers: Annotated[
        bool,
        Opt(
            "Also show the packet headers on each link (addresses, tunnel, TTL, DSCP), the queue, where switches mark ECN, and the path of the congestion notification packets."
        ),
    ] = False


@dataclass(frozen=True)
class Verify(Source):
    """Options of ``verify``."""

    _: KW_ONLY
    yang: Annotated[
        Path | str | None,
        Opt(
            "Folder of Juniper's published YANG models (conf-with-extensions). Default: Junos files are not checked against YANG models.",
            envvar="RAILWEAVE_YANG",
            metavar="FOLDER",
        ),
    ] = None
    frr_root: Annotated[
        Path | str | None,
        Opt(
            "Root folder of an FRR installation, whose vtysh checks FRR files. Default: the vtysh of this machine, else that of .validators/frr (from `make validators`), else no check by vtysh.",
            envvar="RAILWEAVE_FRR_ROOT",
            metavar="FOLDER",
        ),
    ] = None
    netplan_root: Annotated[
        Path | str | None,
        Opt(
            "Root folder of a netplan installation, which checks netplan files. Default: the netplan of this machine, else that of .validators/netplan (from `make validators`), else no check by netplan.",
            envvar="RAILWEAVE_NETPLAN_ROOT",
            metavar="FOLDER",
        ),
    ] = None
    sonic_yang: Annotated[
        Path | str | None,
        Opt(
            "Folder of published SONiC YANG models (src/sonic-yang-models of sonic-buildimage): the models of one branch, or a subfolder for each branch (202505, master). Default: SONiC files are not checked against YANG models.",
            envvar="RAILWEAVE_SONIC_YANG",
            metavar="FOLDER",
        ),
    ] = None
    every: Annotated[
        bool,
        Opt(
            "Check every file with every third-party validator. Default: if a slow validator has more than 64 files to check, it checks 64 of them, at least one of each kind."
        ),
    ] = False
    running: Annotated[Path | str | None, RUNNING] = None
    design_only: Annotated[
        bool, Opt("If FABRIC is a build folder: check only its design, not the device files in the folder.")
    ] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Traffic(Source):
    """Options that a prediction and a grid of predictions share: the traffic, the fabric, the servers and the engine."""

    _: KW_ONLY
    qps: Annotated[
        int | None,
        Opt(
            "Number of queue pairs (RDMA connections) between each two NICs that communicate. Default: qps_per_connection under `hosts: job:` of the fabric file, else one per path color (a group of uplinks, by destination address; docs/load-balancing.md)."
        ),
    ] = None
    nccl: Annotated[
        Iterable[str] | Mapping[str, str],
        Opt(
            "NCCL parameter, for example NCCL_BUFFSIZE=8M. May be repeated.",
            kind=list[str],
            metavar="NAME=VALUE",
        ),
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
    scenario: Annotated[
        Path | str | None,
        Opt(
            "Scenario file: the collectives to run, background traffic, changed parameters and faults (docs/simulation-files.md). Default: no scenario, and no faults.",
            metavar="FILE",
        ),
    ] = None
    hosts: Annotated[
        str | None,
        HOSTS,
    ] = None
    per_host: Annotated[
        int | None,
        Opt(
            "Number of ranks (processes) per server; they share the server's GPUs equally. Default: one per GPU.",
            least=1,
        ),
    ] = None
    fib: Annotated[
        Path | str | None,
        Opt(
            "File of forwarding tables that `railweave lab fib` wrote, to use instead of those computed from the design.",
            metavar="FILE",
        ),
    ] = None
    tenant: Annotated[
        str | None,
        Opt("Name of the tenant whose servers take part. Required if the network has several tenants.", metavar="NAME"),
    ] = None
    fabric: Annotated[
        str | None,
        ON,
    ] = None
    engine: Annotated[
        Literal["auto", "packet", "flow"],
        Opt(
            "Simulation engine: `packet` simulates each packet; `flow` simulates only the rates of flows, and is faster; `auto` selects `packet` if an estimate is at most 200 million packet hops (packets times links crossed), else `flow`.",
            kind=str,
            metavar="auto|packet|flow",
        ),
    ] = "auto"
    exact: Annotated[
        bool,
        Opt(
            "Simulate every round (repeated step) of a collective. Default: if the rounds of a long collective take equal times, stop the simulation and extrapolate."
        ),
    ] = False
    running: Annotated[Path | str | None, RUNNING] = None
    configs: Mapping[str, DeviceConfig] | None = None
    html: Annotated[Path | str | None, HTML] = None
    csv: Annotated[Path | str | None, CSV] = None

    def asked(self, network: Network, collective: str | None, size: int | str | None) -> dict[str, Any]:
        """Return the options as keyword arguments for the simulation. ``network`` is the designed network.

        Raises ``InputError`` if a setting does not have the form KEY=VALUE.
        """
        from railweave.outputs.folder.sources import path_of
        from railweave.prediction.simulation.settings import by_name

        configs = self.configs
        if self.running is not None:
            from railweave.api.saved import running  # imports renderers

            configs = running(network, self.running)
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
            "configs": configs,
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
            "Number of random seeds. With several seeds, the simulation runs once per seed, in parallel, and the result shows the median and the range.",
            least=1,
        ),
    ] = 1
    watch: bool = True
    progress: Callable[[str, int, int], None] | None = None


@dataclass(frozen=True)
class SimulateSizes(Simulate):
    """Options of ``simulate_sizes``."""

    _: KW_ONLY
    each: Callable[[JobPrediction], None] = silent
    say: Callable[[str], None] = silent
    announce: Callable[[str], None] | None = None


@dataclass(frozen=True)
class SimulateVariants(Traffic):
    """Options of ``simulate_variants``."""

    compare: str
    collective: Annotated[str | None, COLLECTIVE] = None
    size: Annotated[int | str | None, SIZE] = None
    _: KW_ONLY
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class SimulateGrid(Traffic):
    """Options of ``simulate_grid``."""

    varied: Mapping[str, Iterable[int | str]] | str
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
    qps: Annotated[
        int | None,
        Opt(
            "Number of queue pairs between each two NICs that communicate, for jobs whose file does not set the number."
        ),
    ] = None
    settings: Annotated[Iterable[str] | Mapping[str, str] | None, SET] = None
    scenario: Annotated[
        Path | str | None,
        Opt(
            "Scenario file. Its background traffic and its faults apply, with the forwarding after routing has converged."
        ),
    ] = None
    others: Annotated[Path | str | None, Opt("File of other jobs that run at the same time.")] = None
    background: Annotated[str | None, BACKGROUND] = None
    engine: Annotated[
        str,
        Opt(
            "Simulation engine: `flow`, or `packet`, which simulates the packets of each transfer without other transfers."
        ),
    ] = "flow"
    check_packets: Annotated[bool, Opt("Simulate packets as well as flows (``checked``).")] = False
    fabric: Annotated[str | None, ON] = None
    html: Annotated[Path | str | None, HTML] = None
    csv: Annotated[Path | str | None, CSV] = None
    seeds: Annotated[int, Opt("Number of random seeds. With more than one, the result is that of the median seed.")] = 1
    chakra_out: Annotated[
        Path | str | None,
        Opt(
            "Folder for the execution trace of each rank, in the format of MLCommons Chakra. Default: none is written."
        ),
    ] = None
    progress: Callable[[str], None] = silent

    def asked(self, whole: Network) -> dict[str, Any]:
        """Return the options as keyword arguments of ``predict_training``. ``whole`` is the designed network.

        Raises ``InputError`` if a setting does not have the form KEY=VALUE.
        """
        from railweave.outputs.folder.sources import path_of
        from railweave.prediction.simulation.question import background
        from railweave.prediction.simulation.settings import by_name

        return {
            "whole": whole,
            "changes": self.changes,
            "lb": self.lb,
            "qps": self.qps,
            "settings": by_name(self.settings, "--set"),
            "scenario": path_of(self.scenario),
            "others": path_of(self.others),
            "background": None if self.background is None else background(self.background),
            "engine": self.engine,
            "check": self.check_packets,
        }


@dataclass(frozen=True)
class SimulateTrainingVariants(SimulateTraining):
    """Options of ``simulate_training_variants``."""

    compare: str
    _: KW_ONLY
    designed: Network | None = None


@dataclass(frozen=True)
class Check(Source):
    """Options of ``check``."""

    capture: Annotated[
        Path | str | None,
        Argument("Folder written by `railweave collect`. Exactly one of CAPTURE, --live and --lab is required."),
    ] = None
    _: KW_ONLY
    live: Annotated[bool, Opt("Query the devices now, like `railweave collect`, instead of reading CAPTURE.")] = False
    access: Annotated[Path | str | None, ACCESS] = None
    ask: Annotated[
        Sequence[str],
        Opt("With --live: query only this switch or server; default: all switches. May be repeated.", metavar="NAME"),
    ] = ()
    servers: Annotated[bool | None, SERVERS] = None
    output: Annotated[
        Path | str | None,
        Opt(
            "With --live: save the answers in this folder, like `railweave collect`. Default: the answers are not kept.",
            letter="-o",
            metavar="FOLDER",
        ),
    ] = None
    redact: Annotated[
        bool,
        Opt(
            "With --live: remove keys, password hashes and SNMP communities from the saved answers.",
            name="--redact/--no-redact",
        ),
    ] = True
    lab: Annotated[bool, LAB] = False
    since: Annotated[
        Path | str | None,
        Opt(
            "Folder that `railweave collect` wrote earlier. Counters that have increased since then are reported. Default: counters are not compared.",
            metavar="FOLDER",
        ),
    ] = None
    only: Annotated[
        Sequence[str],
        Opt(
            "Report only findings with this id, for example device-silent (docs/findings.md); default: all findings. May be repeated.",
            metavar="ID",
        ),
    ] = ()
    all_routes: Annotated[
        bool,
        Opt(
            "Compare every route; with --live or --lab, query complete routing tables for this. Default: in fabrics with more than 512 prefixes, compare only example routes and the number of routes."
        ),
    ] = False
    allow_unseen: Annotated[
        Sequence[str],
        Opt(
            "Accept that devices do not report this kind of state, for example bfd-sessions (docs/check.md lists the kinds). Default: state that the design expects and no device reports is an error. May be repeated.",
            metavar="KIND",
        ),
    ] = ()
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class Collect(Source):
    """Options of ``collect``."""

    folder: Annotated[
        Path | str | None,
        Opt(
            "Folder to write the capture into; it replaces an earlier capture there. Required, except with --questions.",
            letter="-o",
            name="--output",
            metavar="FOLDER",
        ),
    ] = None
    _: KW_ONLY
    access: Annotated[Path | str | None, ACCESS] = None
    only: Annotated[
        Sequence[str], Opt("Query only this switch or server; default: all switches. May be repeated.", metavar="NAME")
    ] = ()
    servers: Annotated[bool | None, SERVERS] = None
    tables: Annotated[
        bool,
        Opt(
            "Query complete routing tables. Default: in fabrics with more than 512 prefixes, query only example routes and the number of routes.",
            name="--all-routes",
        ),
    ] = False
    redact: Annotated[
        bool,
        Opt(
            "Remove keys, password hashes and SNMP communities from the saved answers.",
            name="--redact/--no-redact",
        ),
    ] = True
    lab: Annotated[bool, LAB] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class DriftOptions(Source):
    """Options of ``drift``."""

    capture: Annotated[
        Path | str,
        Argument(
            "Folder of configurations saved from switches, one subfolder per switch: DEVICE/configuration.txt (docs/collect.md)."
        ),
    ]
    _: KW_ONLY
    only: Annotated[
        Sequence[str], Opt("Compare only this switch; default: all switches. May be repeated.", metavar="SWITCH")
    ] = ()
    adopt: Annotated[
        bool,
        Opt(
            "Adopt the differences: add to the fabric file each configuration statement that switches have and the design lacks. Statements of all switches of a role (for example leaf) go under `extra:` of the role, "
            "others under `overrides:`. Default: the fabric file is not changed."
        ),
    ] = False
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class FillInventory:
    """Options of ``fill_inventory``."""

    fabric: Annotated[
        Path | str, Argument("Fabric file (NAME.yaml). The inventory next to it, NAME.inventory.csv, is filled in.")
    ]
    capture: Annotated[
        Path | str | None,
        Argument(
            "Folder written by `railweave collect`. Default: no values; the command adds an empty row for each switch, server and NIC that the inventory lacks."
        ),
    ] = None
    _: KW_ONLY
    write: Annotated[bool, Opt("Write the changed inventory; default: only show how it would change.")] = False
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


@dataclass(frozen=True)
class FleetCheck(Source):
    """Options of ``fleet_check``."""

    _: KW_ONLY
    generic: Annotated[
        bool,
        Opt(
            "Check servers without a design, and compare servers of the same kind with each other. Give the servers in place of FABRIC: names such as H100-[01-04], or a file with a name on each line."
        ),
    ] = False
    hosts: Annotated[
        str | None, Opt("Servers to check, for example H100-[01-04]; default: all servers.", metavar="SERVERS")
    ] = None
    access: Annotated[Path | str | None, ACCESS] = None
    lab: Annotated[bool, LAB] = False
    only: Annotated[
        Sequence[str],
        Opt(
            "Run only the check with this id, or the group of checks with this name, for example link (docs/checks.md). Default: all checks. May be repeated.",
            metavar="ID",
        ),
    ] = ()
    allow_unseen: Annotated[
        Sequence[str],
        Opt(
            "Do not fail if the check with this id, or a check of the group with this name, cannot read its values. Default: such a check counts as failed. May be repeated.",
            metavar="ID",
        ),
    ] = ()
    sudo: Annotated[bool, SUDO] = False
    at_once: Annotated[int, Opt("Largest number of servers that are checked at the same time.", least=1, most=512)] = 64
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class FleetMesh(Source):
    """Options of ``fleet_mesh``."""

    _: KW_ONLY
    hosts: Annotated[
        str | None,
        Opt(
            "Servers that send probes, for example H100-[01-04]. Probes may go to any server. Default: all servers.",
            metavar="SERVERS",
        ),
    ] = None
    access: Annotated[Path | str | None, ACCESS] = None
    lab: Annotated[bool, LAB] = False
    sudo: Annotated[bool, SUDO] = False
    at_once: Annotated[int, Opt("Largest number of servers that send probes at the same time.", least=1, most=512)] = 64
    progress: Callable[[str], None] = silent
