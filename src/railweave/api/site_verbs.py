"""Options of verbs that work on labs, or that watch networks. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from railweave.api.options import Argument, Opt
from railweave.api.verbs import ACCESS, CSV, DEVICE, FABRIC, HARDWARE, LAB, RUNNING, Source
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.operations.watch.watching import WatchedNetwork


@dataclass(frozen=True)
class LabUp:
    """Options of ``lab_up``."""

    fabric: Annotated[Path | str, FABRIC]
    _: KW_ONLY
    part: Annotated[
        str,
        Opt(
            "Part of the network to start, for example rails=1-2,stripes=2,spines=4,servers=1-8. A range A-B selects items A to B; a number N selects the first N items. A stripe is a group of leaves with its servers; rail N is NIC number N of every server, with its leaves. Default: the whole network.",
            name="--slice",
            metavar="NAME=ITEMS,…",
        ),
    ] = ""
    design_timers: Annotated[
        bool,
        Opt(
            "Use the timers of the design for BFD and router advertisements. Default: timers that suit a lab: 100 ms for BFD (longer if more than 128 links connect switches), and 4 s for router advertisements."
        ),
    ] = False
    running: Annotated[Path | str | None, RUNNING] = None
    room_for: Annotated[
        Path | str | None,
        Opt(
            "Fabric file of a larger network, to which `railweave deploy` is to expand the lab later. All devices and cables of the larger network are created; those that FABRIC lacks stay unconfigured. Default: only the devices of FABRIC.",
            metavar="FILE",
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    frr_root: Annotated[
        Path | str | None,
        Opt(
            "Root folder of an FRR installation. Default: .validators/frr (from `make validators`), else a cached copy (downloaded if needed), else the FRR of this machine.",
            envvar="RAILWEAVE_FRR_ROOT",
            metavar="FOLDER",
        ),
    ] = None
    progress: Callable[[str], None] = silent
    announce: Callable[[str], None] = silent


@dataclass(frozen=True)
class LabStatus:
    """Options of ``lab_status``."""

    fabric: Annotated[
        Path | str | None,
        Argument("Fabric file or build folder that the lab was started from. Default: all labs on this machine."),
    ] = None


@dataclass(frozen=True)
class LabDown:
    """Options of ``lab_down``."""

    fabric: Annotated[
        Path | str,
        Argument(
            "Fabric file or build folder that the lab was started from (the file may have been deleted), or the name of the lab, as `lab status` shows it."
        ),
    ]


@dataclass(frozen=True)
class LabTest:
    """Options of ``lab_test``."""

    fabric: Annotated[Path | str, FABRIC]
    _: KW_ONLY
    only: Annotated[
        Sequence[str],
        Opt(
            "Test only the assertion with this id; the output without --only shows all ids. Default: all assertions. May be repeated.",
            metavar="ID",
        ),
    ] = ()
    sweep: Annotated[
        bool,
        Opt(
            "Also take down each link, one at a time, and compare the routers' forwarding tables with those computed from the design."
        ),
    ] = False
    retry_for: Annotated[
        float,
        Opt(
            "Longest time to repeat a failed assertion, in seconds; it counts as failed only if it has not passed by then.",
            least=0,
            metavar="SECONDS",
        ),
    ] = 15.0
    junit: Annotated[
        Path | str | None, Opt("Also write the results of the assertions as a JUnit file (XML).", metavar="FILE")
    ] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class LabFault:
    """Options of ``lab_fault``."""

    fabric: Annotated[Path | str, FABRIC]
    _: KW_ONLY
    scenario: Annotated[
        Path | str | None,
        Opt(
            "Scenario file (docs/simulation-files.md); each fault is injected at its time in the file. Exactly one of --scenario, --fault and --all-single is required.",
            metavar="FILE",
        ),
    ] = None
    faults: Annotated[
        Sequence[str],
        Opt(
            'Fault to inject, written as in a scenario file (docs/simulation-files.md), for example "link-down link=A--B for=2s". May be repeated; the faults are injected one after another.',
            name="--fault",
            metavar="FAULT",
        ),
    ] = ()
    all_single: Annotated[
        bool,
        Opt(
            "Take down each link, NIC, switch and plane (the switches of one port of every NIC), one at a time. Then inject each other kind of fault once, at a leaf, a spine or a link between them."
        ),
    ] = False
    html: Annotated[Path | str | None, Opt("Also write the measurements as a page (.html).", metavar="FILE")] = None
    csv: Annotated[Path | str | None, CSV] = None
    progress: Callable[[str], None] = silent
    announce: Callable[[str], None] = silent


@dataclass(frozen=True)
class LabFib:
    """Options of ``lab_fib``."""

    fabric: Annotated[Path | str, FABRIC]
    out: Annotated[Path | str, Opt("File to write; `railweave sim --fib` reads it.", letter="-o", metavar="FILE")]
    _: KW_ONLY


class Form(StrEnum):
    """The topology format that ``lab_export`` writes."""

    containerlab = "containerlab"


@dataclass(frozen=True)
class LabExport:
    """Options of ``lab_export``."""

    form: Annotated[Form, Argument("Format of the topology: containerlab, the only format.")]
    fabric: Annotated[Path | str, FABRIC]
    out: Annotated[
        Path | str, Opt("Folder to write the topology file and the configurations into.", letter="-o", metavar="FOLDER")
    ]
    _: KW_ONLY
    part: Annotated[
        str,
        Opt(
            "Part of the network to write, for example rails=1-2,stripes=2,spines=4,servers=1-8. A range A-B selects items A to B; a number N selects the first N items. A stripe is a group of leaves with its servers; rail N is NIC number N of every server, with its leaves. Default: the whole network.",
            name="--slice",
            metavar="NAME=ITEMS,…",
        ),
    ] = ""
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    image: Annotated[
        Sequence[str],
        Opt(
            "Container image to use instead of the default. KIND is linux (FRR), juniper_vjunosevolved (Junos) or server. May be repeated.",
            metavar="KIND=IMAGE",
        ),
    ] = ()


@dataclass(frozen=True)
class LabAccess:
    """Options of ``lab_access``."""

    fabric: Annotated[Path | str, FABRIC]


@dataclass(frozen=True)
class Watch:
    """Options of ``watch``."""

    fabric: Annotated[Path | str, FABRIC]
    _: KW_ONLY
    listen: Annotated[
        str,
        Opt(
            "Address and port of the web server: it serves the console (pages for browsers), /metrics (for Prometheus) and JSON. The word none starts no server.",
            metavar="ADDRESS:PORT",
        ),
    ] = "127.0.0.1:8484"
    store: Annotated[
        Path | str | None,
        Opt(
            "SQLite file in which samples of the last 48 hours and anomalies of the last 90 days are kept. Default: nothing is kept, so the console shows no history.",
            metavar="FILE",
        ),
    ] = None
    store_limit: Annotated[
        int | None,
        Opt(
            "Largest size of the file of --store in MiB: beyond it, the oldest samples are deleted early. Default: no limit (a day of 192 switches takes 660 MB).",
            least=16,
            metavar="MIB",
        ),
    ] = None
    interval: Annotated[
        float, Opt("Time between two samples of a switch, in seconds.", least=1, most=300, metavar="SECONDS")
    ] = 10.0
    access: Annotated[Path | str | None, ACCESS] = None
    only: Annotated[
        Sequence[str], Opt("Watch only this switch; default: all switches. May be repeated.", metavar="SWITCH")
    ] = ()
    servers: Annotated[
        bool | None,
        Opt(
            "Query servers too, once a minute, with `railweave-host` over SSH (docs/collect.md). Default: servers are queried in labs, and if access.yaml has a login for servers.",
            name="--servers/--no-servers",
        ),
    ] = None
    lab: Annotated[bool, LAB] = False
    syslog: Annotated[
        str | None,
        Opt(
            "Address and port of this machine on which to receive syslog messages of the devices, by UDP and TCP, for example 10.0.0.5:514. Default: syslog is not received.",
            metavar="ADDRESS:PORT",
        ),
    ] = None
    inspector: Annotated[
        Path | str | None,
        Opt(
            "Folder in which NCCL's Inspector of running jobs writes (NCCL_INSPECTOR_DUMP_DIR, or the folder above those of the jobs), on a shared file system. Each communicator is shown beside its prediction. Default: none is read.",
            metavar="FOLDER",
        ),
    ] = None
    webhook: Annotated[
        str | None,
        Opt(
            "URL to which anomalies are sent as JSON, or env:NAME or file:PATH, which hold it. Default: none are sent.",
            metavar="URL",
        ),
    ] = None
    alertmanager: Annotated[
        str | None,
        Opt(
            "URL of an Alertmanager to which anomalies are sent, for example http://HOST:9093/api/v2/alerts, or env:NAME or file:PATH. Default: none are sent.",
            metavar="URL",
        ),
    ] = None
    otlp: Annotated[
        str | None,
        Opt(
            "Base URL of an OpenTelemetry receiver (OTLP over HTTP, protobuf) to which metrics and anomalies are sent, for example http://HOST:4318 (a Collector) or http://HOST:9090/api/v1/otlp (Prometheus). Headers, such as tokens, come from the variable OTEL_EXPORTER_OTLP_HEADERS. Default: nothing is sent.",
            metavar="URL",
        ),
    ] = None
    otlp_ca: Annotated[
        Path | str | None,
        Opt(
            "PEM file with the certificates of the authorities that sign the certificate of the --otlp receiver. Default: OTEL_EXPORTER_OTLP_CERTIFICATE, or the authorities that this machine trusts.",
            metavar="FILE",
        ),
    ] = None
    password: Annotated[
        str | None,
        Opt(
            "Source of the password that users of the web server must enter: env:NAME (an environment variable) or file:PATH. If --listen is not a loopback address, --password or --proxy is required.",
            metavar="SOURCE",
        ),
    ] = None
    proxy: Annotated[
        str | None,
        Opt(
            "Web proxy that authenticates users: requests from ADDRESS are accepted without --password, and their HTTP header HEADER names the user. Default: no proxy.",
            metavar="ADDRESS=HEADER",
        ),
    ] = None
    write_token: Annotated[
        str | None,
        Opt(
            "Source of the token with which anomalies can be acknowledged and silenced, in the console and by `railweave anomalies`: env:NAME or file:PATH. Default: nothing can be changed.",
            metavar="SOURCE",
        ),
    ] = None
    runs: Annotated[
        str | None,
        Opt(
            "Store of benchmark runs (of `railweave bench`; docs/bench.md) that the console shows on its time axis. Default: no runs.",
            metavar="STORE",
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    ready: Callable[[WatchedNetwork], None] = silent
    progress: Callable[[str], None] = silent


EXPORTED = Opt(
    "Folder to write the files into. Existing files with the same names are replaced; other files of an earlier export of this target are removed.",
    letter="-o",
    metavar="FOLDER",
)


EXPORTS = {
    "acceptance": "CVS, gcm, NVSentinel, l8k: predicted bandwidths as thresholds.",
    "ansible": "Ansible: inventory, and playbooks that load a build folder.",
    "slurm": "Slurm: topology, nodes, GPUs, prologs, health check, batch script.",
    "topograph": "NVIDIA Topograph: cluster model, requests that read it.",
    "kueue": "Kueue: topology, resource flavors, labels of nodes.",
    "kubernetes": "Kubernetes: NIC settings, node addresses, pod networks, test job.",
    "air": "NVIDIA DSX Air: topology of a simulation, table of its ports.",
}
"""The tools for which `export` writes files, each with its help. Each has a module of the same name in ``operations.exports``."""


@dataclass(frozen=True)
class ExportFiles(Source):
    """Options of ``export``."""

    output: Annotated[Path | str, EXPORTED]
    target: str = ""


@dataclass(frozen=True)
class ExportPrometheus:
    """Options of ``export_prometheus``."""

    fabric: Annotated[Path | str, FABRIC]
    output: Annotated[Path, EXPORTED]
    _: KW_ONLY
    watch: Annotated[
        str,
        Opt(
            "Address and port (--listen) of the `railweave watch` from which Prometheus reads the metrics.",
            metavar="ADDRESS:PORT",
        ),
    ] = "127.0.0.1:8484"
    alertmanager: Annotated[
        str | None,
        Opt(
            "Address and port of Alertmanager, for example HOST:9093. Default: no Alertmanager in the Prometheus configuration.",
            metavar="ADDRESS:PORT",
        ),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None


_INVENTORY_TAG = Opt(
    "Tag of the objects that railweave makes. Objects without the tag are not changed.",
    metavar="NAME",
)
_INVENTORY_SITE = Opt(
    "Name of the site on the server. Default: the name of the site in the fabric file.",
    metavar="NAME",
)
_INVENTORY_TOKEN = Opt(
    "File with the API token, which only its owner can read (mode 600). Default: the environment variable NETBOX_TOKEN or NAUTOBOT_TOKEN.",
    metavar="FILE",
)
_INVENTORY_CA = Opt(
    "File of certificates (PEM) of the authority that signed the server's certificate. Default: the authorities of this machine.",
    metavar="FILE",
)
_APPLY = Opt("With --url: create and change the objects; default: only show them. Nothing is ever deleted.")
_ADOPT = Opt(
    "With --url: also change objects of the same name that railweave did not make, and give them the tag. Default: they are used as they are, and their differences are reported."
)
_INVENTORY_URL = Opt(
    "URL of the server (NetBox 4.2, Nautobot 3.2, or later), for example https://inventory.example.net.", metavar="URL"
)


@dataclass(frozen=True)
class ExportNetbox(Source):
    """Options of ``export_netbox``."""

    _: KW_ONLY
    output: Annotated[
        Path | str | None,
        Opt(
            "Folder to write import files into: CSV files for NetBox's import pages, and device types in YAML. Existing files with the same names are replaced. Exactly one of --output and --url is required.",
            letter="-o",
            metavar="FOLDER",
        ),
    ] = None
    url: Annotated[
        str | None,
        Opt(
            "URL of a NetBox server (4.2 or later), for example https://netbox.example.net. The command shows the objects to create and to change there.",
            metavar="URL",
        ),
    ] = None
    apply: Annotated[bool, _APPLY] = False
    adopt: Annotated[bool, _ADOPT] = False
    site: Annotated[str, _INVENTORY_SITE] = ""
    tag: Annotated[str, _INVENTORY_TAG] = "railweave"
    token_file: Annotated[Path | str | None, _INVENTORY_TOKEN] = None
    ca: Annotated[Path | str | None, _INVENTORY_CA] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class ExportNautobot(Source):
    """Options of ``export_nautobot``."""

    _: KW_ONLY
    url: Annotated[str, _INVENTORY_URL]
    apply: Annotated[bool, _APPLY] = False
    adopt: Annotated[bool, _ADOPT] = False
    site: Annotated[str, _INVENTORY_SITE] = ""
    tag: Annotated[str, _INVENTORY_TAG] = "railweave"
    token_file: Annotated[Path | str | None, _INVENTORY_TOKEN] = None
    ca: Annotated[Path | str | None, _INVENTORY_CA] = None
    progress: Callable[[str], None] = silent


@dataclass(frozen=True)
class ServerInventory:
    """Options of ``netbox_inventory`` and ``nautobot_inventory``."""

    fabric: Annotated[
        Path | str, Argument("Fabric file (NAME.yaml). The inventory next to it, NAME.inventory.csv, is filled in.")
    ]
    _: KW_ONLY
    url: Annotated[str, _INVENTORY_URL]
    write: Annotated[bool, Opt("Write the changed inventory; default: only show how it would change.")] = False
    site: Annotated[str, _INVENTORY_SITE] = ""
    token_file: Annotated[Path | str | None, _INVENTORY_TOKEN] = None
    ca: Annotated[Path | str | None, _INVENTORY_CA] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | str | None, HARDWARE] = None
    progress: Callable[[str], None] = silent
